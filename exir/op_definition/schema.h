// PyTorch's operator schema language: "aten::add.Tensor(Tensor self, Tensor other, *, Scalar
// alpha=1) -> Tensor".
//
// Source: PyTorch's aten/src/ATen/native/README.md ("func") and the schemas that torch prints.
// Supported: all base types below, optional (`?`), lists (`[]`, `[2]`), defaults, keyword-only
// arguments (after `*`), alias annotations (`(a)`, `(a!)`, `(a -> *)`), named and multiple returns.
#ifndef BELAY_EXIR_OP_DEFINITION_SCHEMA_H_
#define BELAY_EXIR_OP_DEFINITION_SCHEMA_H_

#include <complex>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/core/dtype.h"
#include "runtime/core/evalue.h"

namespace belay::exir {

enum class BaseType : uint8_t {
  kTensor,
  kInt,     // int and SymInt: the schema of every SymInt operator is compatible with ints
  kFloat,   // float and SymFloat
  kBool,    // bool and SymBool
  kScalar,  // "Scalar", also "number"
  kString,
  kScalarType,
  kLayout,
  kMemoryFormat,
  kDevice,
  kGenerator,
  kAny,  // anything else that appears only in operators Belay treats as opaque
};

struct SchemaType {
  BaseType base = BaseType::kTensor;
  bool symbolic = false;          // written SymInt, SymFloat or SymBool
  bool element_optional = false;  // Tensor?[]
  bool list = false;              // []
  std::optional<int> list_size;   // [2]: a single element is repeated to this length
  bool optional = false;          // the whole type: Tensor?, int[]?
  bool operator==(const SchemaType&) const = default;
  std::string ToString() const;
};

// A default value as written in the schema. Lists are of ints, floats or bools.
using SchemaDefault = std::variant<None, int64_t, double, bool, std::string, DType, MemoryFormat,
                                   std::vector<int64_t>, std::vector<double>, std::vector<bool>>;

struct AliasAnnotation {
  std::string set;     // "a"
  bool write = false;  // "a!"
  bool operator==(const AliasAnnotation&) const = default;
};

struct SchemaArgument {
  std::string name;
  SchemaType type;
  std::optional<SchemaDefault> default_value;
  bool keyword_only = false;
  std::optional<AliasAnnotation> alias;
};

struct SchemaReturn {
  std::string name;  // "" when unnamed
  SchemaType type;
  std::optional<AliasAnnotation> alias;
};

// Immutable once parsed.
struct FunctionSchema {
  std::string ns;        // "aten"
  std::string op;        // "add"
  std::string overload;  // "Tensor"; "default" when the text has none
  std::vector<SchemaArgument> arguments;
  std::vector<SchemaReturn> returns;

  // kInvalidArgument with the position and the expected production. Untrusted input: linear time,
  // bounded nesting.
  static absl::StatusOr<FunctionSchema> Parse(std::string_view text);

  // Returns the canonical form; Parse(ToString()) gives an equal schema.
  std::string ToString() const;
  // nullopt if no argument has this name.
  std::optional<int> ArgumentIndex(std::string_view name) const;
  bool IsMutable() const;  // some argument is written to
  // Returns whether this is a view operator: some return aliases some argument and nothing is
  // written.
  bool IsView() const;
};

}  // namespace belay::exir

#endif  // BELAY_EXIR_OP_DEFINITION_SCHEMA_H_
