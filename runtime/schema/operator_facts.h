// Facts about operators that the compiler, the runtime and reports share: one row per operator
// name. A backend's private operators have no row here; their kernels' rows carry the facts
// (Kernel::facts in runtime/kernel_interface/kernel.h).
#ifndef BELAY_RUNTIME_SCHEMA_OPERATOR_FACTS_H_
#define BELAY_RUNTIME_SCHEMA_OPERATOR_FACTS_H_

#include <cstdint>
#include <span>
#include <string_view>

namespace belay {

// Whether the operator writes to an argument that is also its output: "aten.copy_.default",
// "copy_". The name without the overload ends with exactly one underscore.
constexpr bool IsInPlaceOperator(std::string_view name) {
  const std::string_view base = name.substr(0, name.rfind('.'));
  return base.ends_with('_') && !base.ends_with("__");
}

// Whether an output may be placed exactly over an argument (file_format.md §5). The compiler places
// such outputs and the reader allows them. Every kernel of such an operator reads an element before
// it writes the element at the same position.
enum class OutputOverArgument : uint8_t {
  kNever,
  // Output element i depends on argument element i. The output may be placed over an argument of
  // the same dtype, sizes, dynamic dimensions and order.
  kElementwise,
  // The output has the argument's bytes in the same order. It may be placed over an argument of the
  // same dtype, also if both are dynamic with bounds of different bytes.
  kSameBytes,
};

// The cost term of an operator that grows faster than its operands, for limits on work
// (runtime/kernel_interface/work.h). Elements are always counted. Arguments are given by their positions.
struct WorkRule {
  enum class Kind : uint8_t {
    kElements,     // no such term
    kMatmul,       // rows of argument `first` times elements of one matrix of `second`
    kPairs,        // elements of `first` times elements of `second`
    kRows,         // elements of `first` times the size of its last dimension
    kConvolution,  // output pixels times elements of argument 1
    kChain,        // pixels of `first`, an image, times elements of `second`, which may be a list
    kGradient,     // 3 * pixels of `first` times elements of argument 2
    kWindow,       // output elements times the window, given by the ints of argument `first`
    kBags,         // elements of argument 1 times row length of argument 0
    kTokens,       // elements of `first` times the larger of dimensions 1 and 2 of `second`
  };
  Kind kind = Kind::kElements;
  uint8_t first = 0, second = 1;
  uint8_t factor = 1;  // multiplies the cost of operators that are slow per element
};

// Rule for counting floating-point operations in reports (exir/flop_count.h,
// tools/profile/operations.h). Each multiply-add counts 2.
struct FlopRule {
  enum class Kind : uint8_t {
    kNone,         // 0
    kMatmul,       // outputs * last dimension of `factor`
    kConvolution,  // outputs * elements of a filter of `weight`; if `transposed`, `factor` * them
    kWindow,       // outputs * `kernel_size` * channels of `factor` / `groups` (absent: 1); if
    // `transposed`, elements of `factor` * `kernel_size` * output channels / `groups`
    kDepthwise,  // outputs * `kernel_size`
    kAttention,  // of `query`, `key` and `value`
    kChain,      // of `factor`, an image: the stages of a convolution chain, each as kWindow, or
                 // kDepthwise if its element of `out_channels` is 0
  };
  Kind kind = Kind::kNone;
  std::string_view factor = "";  // name of an argument
};

struct OperatorFacts {
  OutputOverArgument output_over = OutputOverArgument::kNever;
  WorkRule work = {};
  FlopRule flops = {};
};

// Returns the facts of an operator; an operator without a row has the defaults. O(log rows).
const OperatorFacts& FactsOf(std::string_view op);

struct OperatorRow {
  std::string_view op;  // "aten.mm.default"
  OperatorFacts facts;
};
// All rows, sorted by name.
std::span<const OperatorRow> OperatorRows();

}  // namespace belay

#endif  // BELAY_RUNTIME_SCHEMA_OPERATOR_FACTS_H_
