// Operators on given tensors that use random numbers.

#include <cstdint>

#include "runtime/core/status_macros.h"
#include "runtime/kernel/kernel_arguments.h"
#include "runtime/kernel/shape_rules/random.h"
#include "runtime/kernels/call/element_access.h"
#include "runtime/kernels/call/operands.h"
#include "runtime/kernels/reference/families.h"
#include "runtime/kernels/reference/random_stream.h"

namespace belay {
namespace {

// Each element survives with probability 1 - p and is divided by it; the mask tells which did.
absl::Status Dropout(KernelContext& context, const DropoutCall<KernelArguments>& call) {
  const TensorView* const input = call.input;
  const double p = call.p;
  ABSL_RETURN_IF_ERROR(ExpectNumbers("input", *input));
  ABSL_RETURN_IF_ERROR(call.CheckShapes());
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, input->dtype, *input));
  // Without elements PyTorch's mask is of the input's dtype.
  ABSL_ASSIGN_OR_RETURN(const TensorView* planned, context.PlannedOutput(1));
  const bool like_input = call.IsEmpty() && planned->dtype == input->dtype;
  ABSL_ASSIGN_OR_RETURN(const TensorView* mask,
                        OutputOf(context, 1, like_input ? input->dtype : DType::kBool, *input));
  if (!call.train) {
    ABSL_RETURN_IF_ERROR(CopyElements(*input, *out));
    const Writer<bool> write_mask(*mask);
    for (StridedIterator<1> it(mask->sizes, {mask->strides}); !it.done(); it.Next()) {
      write_mask(it.offset(0), true);
    }
    return absl::OkStatus();
  }
  const double scale = p == 1 ? 0 : 1 / (1 - p);
  const Reader<double> in(*input);
  const Writer<double> write(*out);
  const Writer<bool> write_mask(*mask);
  RandomStream random(out->data);
  for (StridedIterator<3> it(input->sizes, {input->strides, out->strides, mask->strides});
       !it.done(); it.Next()) {
    const double x = in(it.offset(0));
    const bool kept = random.Uniform(53) >= p;
    write(it.offset(1), x * (kept ? scale : 0));
    write_mask(it.offset(2), kept);
  }
  return absl::OkStatus();
}

constexpr Kernel kKernels[] = {
    KernelRow<&Dropout>("aten.native_dropout.default", "input p train -> 2", "Dropout",
                        KernelEngine::kReference),
};

}  // namespace

absl::Span<const Kernel> RandomKernels() { return kKernels; }

}  // namespace belay
