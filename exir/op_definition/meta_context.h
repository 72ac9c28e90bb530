// The interface of meta kernels: an operator's arguments, with tensors as metadata, and slots for
// the results.
#ifndef BELAY_EXIR_OP_DEFINITION_META_CONTEXT_H_
#define BELAY_EXIR_OP_DEFINITION_META_CONTEXT_H_

#include <complex>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "exir/op_definition/schema.h"
#include "exir/op_definition/tensor_meta.h"

namespace belay::exir {

struct MetaValue;
using MetaList = std::vector<MetaValue>;
// An argument or a result. Computed integers and booleans are expressions. Literals are constant
// int expressions, doubles and bools. A symbolic float or bool without a known value is also a
// SymExpr.
struct MetaValue {
  std::variant<None, TensorMeta, SymExpr, double, bool, std::complex<double>, std::string, DType,
               MemoryFormat, Layout, Device, MetaList>
      value;

  // Defined in the .cc: inlining the alternatives is costly for every including file.
  MetaValue();  // None
  template <class T>
  MetaValue(T v) : value(std::move(v)) {}  // NOLINT
  MetaValue(const MetaValue& other);
  MetaValue(MetaValue&& other) noexcept;
  MetaValue& operator=(const MetaValue& other);
  MetaValue& operator=(MetaValue&& other) noexcept;
  ~MetaValue();
  template <class T>
  const T* get_if() const {
    return std::get_if<T>(&value);
  }
  bool is_none() const { return std::holds_alternative<None>(value); }
};

// Creates symbols for data-dependent sizes (nonzero, item). One per program, so that names are
// unique.
class SymbolSource {
 public:
  virtual ~SymbolSource() = default;
  virtual SymExpr Fresh(SymRange range) = 0;
};

// Arguments are in schema order with defaults filled in. If the value is of another kind, accessors
// return kInvalidArgument with the argument and the actual kind. Indices are those of the schema
// (precondition: in range).
class MetaContext {
 public:
  MetaContext(const FunctionSchema& schema, std::vector<MetaValue> arguments,
              SymbolSource* symbols);
  ~MetaContext();

  const FunctionSchema& schema() const { return schema_; }
  int num_arguments() const { return static_cast<int>(arguments_.size()); }
  const MetaValue& argument(int i) const { return arguments_[i]; }
  bool is_none(int i) const { return arguments_[i].is_none(); }
  absl::StatusOr<const TensorMeta*> Tensor(int i) const;
  absl::StatusOr<const TensorMeta*> OptionalTensor(int i) const;  // nullptr for none
  absl::StatusOr<std::vector<const TensorMeta*>> TensorList(
      int i) const;  // of Tensor[] and Tensor?[]; nullptr for none
  absl::StatusOr<SymInt> Int(int i) const;
  absl::StatusOr<int64_t> StaticInt(int i) const;  // a constant, not an expression
  absl::StatusOr<std::vector<SymInt>> IntList(
      int i) const;  // a single int is repeated list_size times
  absl::StatusOr<std::vector<int64_t>> StaticIntList(int i) const;
  absl::StatusOr<double> Double(int i) const;
  absl::StatusOr<bool> Bool(int i) const;
  absl::StatusOr<std::string> String(int i) const;
  absl::StatusOr<DType> Dtype(int i) const;
  absl::StatusOr<DType> DtypeOr(int i, DType fallback) const;
  absl::StatusOr<MemoryFormat> MemoryFormatOr(int i, MemoryFormat fallback) const;
  // Returns the dtype as which a Scalar argument takes part in promotion: int64, float32 ("default
  // float"), bool or complex64.
  absl::StatusOr<DType> ScalarCategory(int i) const;

  void SetOutput(int i, MetaValue value) { outputs_[i] = std::move(value); }
  void SetTensor(int i, DType dtype, std::vector<SymInt> sizes);
  const std::vector<MetaValue>& outputs() const { return outputs_; }
  // kFailedPrecondition if the caller has no symbol source (contexts in which shapes must be
  // known).
  absl::StatusOr<SymExpr> FreshSymbol(SymRange range);

 private:
  const FunctionSchema& schema_;
  std::vector<MetaValue> arguments_;
  SymbolSource* symbols_;
  std::vector<MetaValue> outputs_;
};

}  // namespace belay::exir

#endif  // BELAY_EXIR_OP_DEFINITION_META_CONTEXT_H_
