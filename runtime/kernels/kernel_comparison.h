// For tests of Highway kernels: runs a call on the reference kernel and on the Highway kernel with
// every instruction set of the machine, and compares the results.
//
// Complex tensors are compared by their real and imaginary parts.
//
// A call is a table row: an operator, its arguments with the dtypes, sizes and layouts of tensors,
// and the error that its contract allows. Values are random. Outputs are surrounded by guard bytes
// and initialized with a pattern. Inputs must remain unchanged.
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
#include "runtime/kernel_interface/kernel_registry.h"

namespace belay {

// Memory layout of a tensor.
enum class Layout : uint8_t {
  kRowMajor,
  kReversed,  // dimensions in reversed memory order
  kGaps,      // row-major with stride 2 between elements
  kChannelsLast,
  kRepeated,  // one element everywhere
};

enum class Values : uint8_t {
  kNormal,    // standard deviation 2; integers below 100
  kPositive,  // not near 0
  kUnit,      // between -1 and 1
  kWide,      // thousands
  kFew,       // many equal elements
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

// Unit of an error.
enum class UlpOf : uint8_t {
  kElement,  // ULP of the expected element, in the output's dtype
  kLargest,  // ULP of the largest element of the output
  // ULP of the reference result for the operands' absolute values, if that is larger. For
  // reductions and GEMMs, whose terms may cancel. A sum of n products has an error of at most (n +
  // 1) u S, where u is half an ULP of 1 and S the sum of the products' absolute values (Higham,
  // "Accuracy and Stability of Numerical Algorithms", 2002, §3.1), and u S <= ulp(S).
  kMagnitudes,
  // ULP of the largest element of that reference result.
  kLargestMagnitude,
};

struct KernelCall {
  std::string op;
  std::vector<TestArgument> arguments;
  std::vector<DType> outputs = {DType::kFloat32};
  // Allowed error of float32 and float64 outputs. If it is not 0, half-precision outputs may differ
  // by one ULP, because of their rounding. Integers must be equal.
  double max_ulp = 0;
  UlpOf ulp_of = UlpOf::kElement;
  // For kMagnitudes: adjusts arguments for which the absolute value is not enough, such as packed
  // weights and bounds.
  std::function<void(absl::Span<EValue* const> arguments)> adjust_magnitudes;
  Layout output_layout = Layout::kRowMajor;
  // Elements of a Tensor[] output; 0 if outputs are tensors.
  int pieces = 0;
};

class KernelComparison {
 public:
  // Uses the standard kernels and those of a backend's own operators.
  explicit KernelComparison(absl::Span<const Kernel> reference = {},
                            absl::Span<const Kernel> highway = {});

  // Adds failures to the current test. Returns false if no Highway kernel accepts the call, which
  // is a failure unless `may_refuse`.
  bool Compare(const KernelCall& call, bool may_refuse = false);

  // Lengths around the sizes of all vectors and buffers.
  static std::vector<int64_t> Lengths(DType dtype);

  // A call that can be run repeatedly on both kernels, for measurements. Null, and a failure of the
  // current test or benchmark, if one of the kernels does not run.
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
  ThreadPool threads_{3};  // runs the compared kernels
};

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_KERNEL_COMPARISON_H_
