// For tests of Highway kernels: runs a call on the reference kernel and on the Highway kernel with
// every instruction set of the machine, and compares.
//
// A call is a table row: an operator, its arguments with the dtypes, sizes and layouts of tensors,
// and the error that its contract allows. Values are drawn; outputs lie between guards and begin
// filled with a pattern; inputs must come out unchanged.
#ifndef BELAY_RUNTIME_KERNELS_KERNEL_COMPARISON_H_
#define BELAY_RUNTIME_KERNELS_KERNEL_COMPARISON_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <variant>
#include <vector>

#include "absl/types/span.h"
#include "runtime/core/evalue.h"
#include "runtime/core/thread_pool.h"
#include "runtime/kernel/kernel_registry.h"

namespace belay {

// How the elements of a tensor lie.
enum class Layout : uint8_t {
  kRowMajor,
  kReversed,  // dimensions in the opposite order
  kGaps,      // row-major, each element two places after the one before
  kChannelsLast,
  kRepeated,  // one element everywhere
};

enum class Values : uint8_t {
  kNormal,    // standard deviation 2; integers below 100
  kPositive,  // not near 0
  kUnit,      // between -1 and 1
  kWide,      // thousands
  kFew,       // many are equal
  kSpecial,   // NaN, infinities, zeros, the largest and the smallest
};

struct TestTensorSpec {
  DType dtype = DType::kFloat32;
  Sizes sizes;
  Layout layout = Layout::kRowMajor;
  Values values = Values::kNormal;
  int64_t below = 0;  // if not 0, elements are integers in [0, below), or [below, -below)
};

using TestArgument =
    std::variant<EValue, TestTensorSpec, std::vector<int64_t>, std::vector<TestTensorSpec>,
                 std::vector<std::optional<TestTensorSpec>>>;

// What an error is measured in.
enum class UlpOf : uint8_t {
  kElement,  // units in the last place of the wanted element, in the output's dtype
  kLargest,  // … of the largest element of the output
  // … of what the reference kernel makes of the operands' absolute values, where that is more: for
  // sums and products of matrices, whose terms may cancel. A sum of n products has an error of at
  // most (n + 1) u S, where u is half a unit in the last place of 1 and S the sum of the products'
  // absolute values (Higham, "Accuracy and Stability of Numerical Algorithms", 2002, §3.1), and
  // u S <= ulp(S).
  kMagnitudes,
};

struct KernelCall {
  std::string op;
  std::vector<TestArgument> arguments;
  std::vector<DType> outputs = {DType::kFloat32};
  // Allowed error of float32 and float64 outputs. Half precision may differ by one unit where this
  // is not 0, because of what is rounded; integers must be equal.
  double max_ulp = 0;
  UlpOf ulp_of = UlpOf::kElement;
  // For kMagnitudes, changes arguments of which absolute values are not all that there is to take:
  // packed weights, bounds.
  std::function<void(absl::Span<EValue* const> arguments)> adjust_magnitudes;
  Layout output_layout = Layout::kRowMajor;
  // Elements of a Tensor[] output; 0 when outputs are tensors.
  int pieces = 0;
};

class KernelComparison {
 public:
  // With the standard kernels, and those of a backend's own operators.
  explicit KernelComparison(absl::Span<const Kernel> reference = {},
                            absl::Span<const Kernel> highway = {});

  // Adds failures to the current test. False when the Highway kernels do not take the call, which
  // is a failure unless `may_refuse`.
  bool Compare(const KernelCall& call, bool may_refuse = false);

  // Lengths around all vectors' sizes and the buffers' sizes.
  static std::vector<int64_t> Lengths(DType dtype);

  // A call on both kernels that can be run again and again: for measurements. Null, and a failure
  // of the current test or of the benchmark, when one of them does not run.
  class Pair {
   public:
    virtual ~Pair() = default;
    virtual void RunReference() = 0;
    virtual void RunHighway() = 0;
  };
  std::unique_ptr<Pair> Prepare(const KernelCall& call);

 private:
  struct Memory;
  class PreparedPair;
  void MakeArguments(const KernelCall& call, Memory& memory);
  bool Run(const KernelRegistry& registry, const KernelCall& call, Memory& memory,
           const std::vector<Sizes>* planned, ThreadPool* threads, std::string* error);

  std::mt19937 random_;
  KernelRegistry reference_, highway_;
  ThreadPool threads_{3};  // of what is compared
};

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_KERNEL_COMPARISON_H_
