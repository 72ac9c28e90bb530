// Operators on given tensors that use random numbers.

#include <cstdint>

#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernels/call/element_access.h"
#include "runtime/kernels/call/operands.h"
#include "runtime/kernels/reference/families.h"
#include "runtime/kernels/reference/random_stream.h"

namespace belay {
namespace {

// Each element survives with probability 1 - p and is divided by it; the mask tells which did.
absl::Status Dropout(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(3, 2));
  ABSL_ASSIGN_OR_RETURN(const TensorView* input, TensorOf(context, 0, "input", kNumberTypes));
  ABSL_ASSIGN_OR_RETURN(const double p, context.Double(1));
  bool train = true;
  if (!context.is_none(2)) {
    ABSL_ASSIGN_OR_RETURN(train, context.Bool(2));
  }
  if (train && input->numel() > 0) {
    ABSL_RETURN_IF_ERROR(TensorOf(context, 0, "input", kFloatTypes).status());
    if (!(p >= 0 && p <= 1)) {
      return absl::InvalidArgumentError(absl::StrCat("p: expected a number from 0 to 1, got ", p));
    }
  }
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, input->dtype, *input));
  // Without elements PyTorch's mask is of the input's dtype.
  ABSL_ASSIGN_OR_RETURN(const TensorView* planned, context.PlannedOutput(1));
  const bool like_input = input->numel() == 0 && planned->dtype == input->dtype;
  ABSL_ASSIGN_OR_RETURN(const TensorView* mask,
                        OutputOf(context, 1, like_input ? input->dtype : DType::kBool, *input));
  if (!train) {
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
    {"aten.native_dropout.default", "Dropout", KernelEngine::kReference, &Dropout},
};

}  // namespace

absl::Span<const Kernel> RandomKernels() { return kKernels; }

}  // namespace belay
