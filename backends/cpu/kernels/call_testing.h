// Valid calls of the backend's operators, for tests that modify them.
#ifndef BELAY_BACKENDS_CPU_KERNELS_CALL_TESTING_H_
#define BELAY_BACKENDS_CPU_KERNELS_CALL_TESTING_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/core/evalue.h"
#include "runtime/kernel/kernel.h"
#include "runtime/kernels/kernel_comparison.h"

namespace belay::cpu {

// Values for calls. Their memory lives as long as the process; tensors are zero-filled. The layout
// is kRowMajor, kChannelsLast or kGaps.
EValue T(DType dtype, const Sizes& sizes, Layout layout = Layout::kRowMajor);
EValue Images(DType dtype, const Sizes& sizes);  // channels last
// A tensor with the same sizes, dtype and dimension order, and gaps between elements.
EValue WithGaps(const EValue& tensor);
EValue List(const std::vector<EValue>& elements);
EValue Ints(const std::vector<int64_t>& numbers);
EValue Doubles(const std::vector<double>& numbers);
inline EValue Text(std::string_view text) { return EValue(text); }
inline EValue Int(int64_t number) { return EValue(number); }

// A call of the operator's only kernel. Arguments are in the order of its signature; the result
// keeps its sizes.
class TestCall {
 public:
  TestCall(std::string_view op, std::vector<EValue> arguments, EValue result);

  std::string_view op() const { return kernel_->op; }
  const std::vector<std::string>& names() const { return names_; }
  bool Has(std::string_view name) const;
  const EValue& operator[](std::string_view name) const { return arguments_[At(name)]; }
  const EValue& result() const { return result_; }

  // Copies with one argument, or the result, replaced.
  TestCall With(std::string_view name, EValue value) const;
  TestCall WithResult(EValue result) const;

  // Runs the kernel with all the working memory that it requests, or none. Returns "" or the
  // message of the error. Allowed errors are kInvalidArgument, or kInternal without working memory,
  // and they must leave the result untouched; all else fails the test.
  std::string Run(bool scratch = true) const;
  // Whether the kernel is selected when a program is loaded.
  bool IsTaken() const;

 private:
  size_t At(std::string_view name) const;

  const Kernel* kernel_;
  EValue result_;
  std::vector<EValue> arguments_;
  std::vector<std::string> names_;
};

// Valid calls with all optional arguments present.
TestCall LinearCall();
TestCall WeightOnlyLinearCall();
TestCall DynamicLinearCall();
TestCall Conv2dCall();
TestCall BFloat16LinearCall();
TestCall BFloat16Conv2dCall();
TestCall DepthwiseConv2dCall();
TestCall Conv2dChainCall();
TestCall ConvolutionCall();
TestCall WinogradConv2dCall();
TestCall MaxPool2dCall();
TestCall AttentionCall();
TestCall RmsNormCall();
TestCall RotaryEmbeddingCall();
TestCall QuantizedLinearCall();
TestCall QuantizedConv2dCall();
TestCall QuantizedDepthwiseConv2dCall();
TestCall QuantizedAddCall();
TestCall LookupCall();
TestCall PackedEmbeddingCall();
TestCall PointwiseCall();
// One call per operator.
std::vector<TestCall> AllCalls();

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_KERNELS_CALL_TESTING_H_
