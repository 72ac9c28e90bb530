// The operators that ExecuTorch 1.5.0's runtime has, with the values that a call of each takes:
// docs/pte-format.md §12 and §13.
//
// A call holds one value per argument, then one more where the operator has a result
// (PortableOperator::Result). Reader and writer derive what they do from this table; Belay's own
// operators are functional, and `functional` says which of them an operator is:
//
//   aten::relu.out            aten.relu.default        "out" is the default overload
//   aten::add.Scalar_out      aten.add.Scalar          "_out" is dropped
//   aten::copy_               aten.copy_.default       no overload is the default one
//   aten::add.out             aten.add.Tensor          exceptions: rows of the table say so
//
// Arguments of the functional operator go by the same names. Those it has besides (dtype, layout,
// device, pin_memory) are facts of the out tensor here.
#ifndef BELAY_EXECUTORCH_FORMAT_PORTABLE_OPERATORS_H_
#define BELAY_EXECUTORCH_FORMAT_PORTABLE_OPERATORS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"

namespace belay::pte {

// What a value must be: docs/pte-format.md §8, "Kinds".
enum class ArgumentKind : uint8_t {
  kTensor,
  kScalar,  // Int, Double or Bool
  kInt,
  kFloat,  // Double, never Int
  kBool,
  kDtype,         // Int: c10::ScalarType
  kMemoryFormat,  // Int
  kString,
};

struct PortableArgument {
  std::string_view name;
  ArgumentKind kind = ArgumentKind::kTensor;
  bool optional = false;          // Null will do
  bool list = false;              // IntList, DoubleList, BoolList, TensorList
  bool element_optional = false;  // OptionalTensorList
  bool written = false;           // out tensors, and what an in-place operator changes
};

struct PortableOperator {
  // What the value behind the arguments is.
  enum class Result : uint8_t {
    kOut,    // the out tensor again, or a TensorList of them; its content is not used
    kSelf,   // the first argument again: in-place operators
    kValue,  // takes the result: prim operators, et_view
    kNone,   // there is none: et_copy_index
  };
  std::string name;        // "aten::add.out", as programs have it; overload "": "aten::copy_"
  std::string functional;  // "aten.add.Tensor"; "": Belay has no operator that is the same
  std::vector<PortableArgument> arguments;
  Result result = Result::kOut;
  size_t outs = 0;  // so many of the last arguments are out tensors, or one list of them

  // How many values a call has, exactly.
  size_t call_size() const { return arguments.size() + (result == Result::kNone ? 0 : 1); }
};

// All of them; names are unique. They live as long as the process. Thread-safe.
absl::Span<const PortableOperator> PortableOperators();
// By `name`; nullptr when there is none.
const PortableOperator* FindPortable(std::string_view name);
// By `functional`; nullptr when there is none.
const PortableOperator* FindPortableOfFunctional(std::string_view functional);

}  // namespace belay::pte

#endif  // BELAY_EXECUTORCH_FORMAT_PORTABLE_OPERATORS_H_
