// The operators of ExecuTorch 1.5.1's runtime and the values of their calls: docs/pte-format.md §12
// and §13.
//
// A call has one value per argument, followed by one more if the operator has a result
// (PortableOperator::Result). Both the reader and the writer are driven by this table. Belay's own
// operators are functional; `functional` maps each row to one of them:
//
//   aten::relu.out            aten.relu.default        "out" is the default overload
//   aten::add.Scalar_out      aten.add.Scalar          "_out" is dropped
//   aten::copy_               aten.copy_.default       no overload is the default one
//   aten::add.out             aten.add.Tensor          exceptions: rows of the table say so
//
// Arguments of the functional operator have the same names. Its additional arguments (dtype,
// layout, device, pin_memory) are properties of the out tensor here.
#ifndef BELAY_EXECUTORCH_FORMAT_PORTABLE_OPERATORS_H_
#define BELAY_EXECUTORCH_FORMAT_PORTABLE_OPERATORS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"

namespace belay::pte {

// Kind of value that an argument requires: docs/pte-format.md §8, "Kinds".
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
  bool optional = false;          // Null is accepted
  bool list = false;              // IntList, DoubleList, BoolList, TensorList
  bool element_optional = false;  // OptionalTensorList
  bool written = false;           // out tensors, and the operand that an in-place operator mutates
};

struct PortableOperator {
  // Kind of the value after the arguments.
  enum class Result : uint8_t {
    kOut,    // the out tensor again, or a TensorList of them; its content is unused
    kSelf,   // the first argument again: in-place operators
    kValue,  // receives the result: prim operators, et_view
    kNone,   // no such value: et_copy_index
  };
  std::string name;        // "aten::add.out", as in programs; without overload: "aten::copy_"
  std::string functional;  // "aten.add.Tensor"; "": no equivalent in Belay
  std::vector<PortableArgument> arguments;
  Result result = Result::kOut;
  size_t outs = 0;  // number of trailing arguments that are out tensors, or one list of them

  // Exact number of values of a call.
  size_t call_size() const { return arguments.size() + (result == Result::kNone ? 0 : 1); }
};

// Returns all operators; names are unique. The span has static storage duration. Thread-safe.
absl::Span<const PortableOperator> PortableOperators();
// Finds an operator by `name`; nullptr if unknown.
const PortableOperator* FindPortable(std::string_view name);
// Finds an operator by `functional`; nullptr if unknown.
const PortableOperator* FindPortableOfFunctional(std::string_view functional);

}  // namespace belay::pte

#endif  // BELAY_EXECUTORCH_FORMAT_PORTABLE_OPERATORS_H_
