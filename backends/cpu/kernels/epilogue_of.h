// Builds the kernels' epilogue from a call with an allocated result.
#ifndef BELAY_BACKENDS_CPU_KERNELS_EPILOGUE_OF_H_
#define BELAY_BACKENDS_CPU_KERNELS_EPILOGUE_OF_H_

#include "absl/status/statusor.h"
#include "backends/cpu/calls.h"
#include "backends/cpu/quantized_calls.h"
#include "runtime/core/tensor_view.h"
#include "runtime/kernel_interface/kernel_arguments.h"
#include "runtime/kernels/packed/requantize.h"

namespace belay::cpu {

// kInvalidArgument unless the bias is contiguous and `other` has the strides of `out`.
// Precondition: EpilogueCall::CheckShapes. Defined for float and BFloat16.
template <class T = float>
absl::StatusOr<EpilogueOn<T>> EpilogueOf(const EpilogueCall<KernelArguments>& call,
                                         const TensorView& out);
// kInvalidArgument unless the per-channel tensors are contiguous.
absl::StatusOr<QuantizedEpilogue> EpilogueOf(const QuantizedEpilogueCall<KernelArguments>& call);

// kInvalidArgument, with the argument's name, unless the tensor is dense and row-major.
absl::Status ExpectContiguous(std::string_view name, const TensorView& tensor);
// kInvalidArgument, with the argument's name, unless the tensor is dense images or volumes, channels
// last.
absl::Status ExpectChannelsLast(std::string_view name, const TensorView& tensor);

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_KERNELS_EPILOGUE_OF_H_
