#include <cstdint>

#include "runtime/core/status_macros.h"
#include "runtime/kernel/shape_rules/view.h"
#include "runtime/kernels/elements/copy_strided.h"
#include "runtime/kernels/movement/movement.h"
#include "runtime/kernels/reference/index_select.h"
#include "runtime/kernels/reference/join_kernels.h"
#include "runtime/kernels/reference/pad_kernels.h"
#include "runtime/kernels/reference/view_kernels.h"

namespace belay {
namespace {

absl::Status CopyStridedReshaped(const TensorView& from, const TensorView& to) {
  return CopyReshapedWith(&CopyStrided, from, to);
}

constexpr CopyFn kCopy = &CopyStrided, kCopyReshaped = &CopyStridedReshaped;

void Fill(const TensorView& out, const ScalarElement& element) { FillStrided(out, element.data()); }

// (self, repeats): a copy of self with its dimensions doubled, the outer ones repeated. Calls whose
// dimensions are too many for that are refused.
bool AcceptsRepeat(const KernelContext& context) {
  if (context.num_arguments() != 2) return false;
  const absl::StatusOr<Sizes> repeats = context.IntList(1);
  return repeats.ok() && 2 * repeats->size() <= kMaxRank;
}

absl::Status Repeat(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(2, 1));
  ABSL_ASSIGN_OR_RETURN(const TensorView* self, context.Tensor(0));
  ABSL_ASSIGN_OR_RETURN(const Sizes repeats, context.IntList(1));
  const TensorView from = *self;
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> dims,
                        RepeatedShape<CheckedInt>(ToDims(from.sizes), ToDims(repeats)));
  const int rank = repeats.size(), lead = rank - from.rank();
  if (2 * rank > kMaxRank)
    return absl::InternalError("the call changed after the kernel was chosen");
  ABSL_ASSIGN_OR_RETURN(const Sizes sizes, ToSizes(dims));
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, context.Output(0, sizes));
  if (out->dtype != from.dtype) {
    return absl::InvalidArgumentError(absl::StrCat("output 0: expected ", DTypeName(from.dtype),
                                                   ", got ", DTypeName(out->dtype)));
  }
  if (out->numel() == 0) return absl::OkStatus();
  TensorView source = from, target = *out;
  source.sizes = target.sizes = {};
  source.strides = target.strides = {};
  for (int d = 0; d < rank; ++d) {
    const int64_t size = d < lead ? 1 : from.sizes[d - lead];
    source.sizes.push_back(repeats[d]);
    source.strides.push_back(0);
    source.sizes.push_back(size);
    source.strides.push_back(d < lead ? 0 : from.strides[d - lead]);
    target.strides.push_back(out->strides[d] * size);
    target.strides.push_back(out->strides[d]);
  }
  target.sizes = source.sizes;
  return CopyStrided(source, target);
}

constexpr KernelEngine kHighway = KernelEngine::kHighway;

constexpr Kernel kKernels[] = {
#define BELAY_VIEW_KERNEL(op, name, run) {op, name "Simd", kHighway, run},
#include "runtime/kernels/reference/view_kernels.inc"
    {"aten._to_copy.default", "CopySimd", kHighway, (&CopyAll<7, kCopy>)},
    {"aten.cat.default", "CatSimd", kHighway, &Cat<kCopy>},
    {"aten.clone.default", "CopySimd", kHighway, (&CopyAll<2, kCopy>)},
    {"aten.constant_pad_nd.default", "ConstantPadSimd", kHighway, (&ConstantPad<kCopy, &Fill>)},
    {"aten.copy.default", "CopyFromSimd", kHighway, &Copy<kCopy>},
    {"aten.copy_.default", "CopyInPlaceSimd", kHighway, &CopyInPlace<kCopy>},
    {"aten.index_select.default", "IndexSelectSimd", kHighway, &IndexSelect<kCopy>},
    {"aten.pixel_shuffle.default", "PixelShuffleSimd", kHighway, (&PixelShuffle<false, kCopy>)},
    {"aten.pixel_unshuffle.default", "PixelUnshuffleSimd", kHighway, (&PixelShuffle<true, kCopy>)},
    {"aten.repeat.default", "RepeatSimd", kHighway, &Repeat, &AcceptsRepeat},
    {"aten.stack.default", "StackSimd", kHighway, &Stack<kCopy>},
    {"dim_order_ops._clone_dim_order.default", "CopySimd", kHighway, (&CopyAll<3, kCopy>)},
    {"dim_order_ops._to_dim_order_copy.default", "CopySimd", kHighway, (&CopyAll<7, kCopy>)},
};

}  // namespace

absl::Span<const Kernel> MovementKernels() { return kKernels; }

}  // namespace belay
