// The epilogue of a call whose result has its memory.
#ifndef BELAY_BACKENDS_CPU_KERNELS_EPILOGUE_OF_H_
#define BELAY_BACKENDS_CPU_KERNELS_EPILOGUE_OF_H_

#include "absl/status/statusor.h"
#include "backends/cpu/calls.h"
#include "backends/cpu/quantized_calls.h"
#include "runtime/core/tensor_view.h"
#include "runtime/kernel/kernel_arguments.h"
#include "runtime/kernels/packed/requantize.h"

namespace belay::cpu {

// kInvalidArgument unless the bias lies together and `other` lies like `out`. Shapes are those that
// EpilogueCall::CheckShapes allows.
// Of float and BFloat16, which both have.
template <class T = float>
absl::StatusOr<EpilogueOn<T>> EpilogueOf(const EpilogueCall<KernelArguments>& call,
                                         const TensorView& out);
// kInvalidArgument unless what has an element for each channel lies together.
absl::StatusOr<QuantizedEpilogue> EpilogueOf(const QuantizedEpilogueCall<KernelArguments>& call);

// kInvalidArgument naming the argument unless its elements lie together in row-major order.
absl::Status ExpectContiguous(std::string_view name, const TensorView& tensor);
// The same unless it is dense images, channels last.
absl::Status ExpectChannelsLast(std::string_view name, const TensorView& tensor);

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_KERNELS_EPILOGUE_OF_H_
