#include <algorithm>
#include <cstdint>

#include "absl/types/span.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernel/shape_rules/view.h"
#include "runtime/kernels/call/index_select.h"
#include "runtime/kernels/call/join_kernels.h"
#include "runtime/kernels/call/pad_kernels.h"
#include "runtime/kernels/call/view_kernels.h"
#include "runtime/kernels/call/view_scatter.h"
#include "runtime/kernels/elements/copy_strided.h"
#include "runtime/kernels/movement/movement.h"

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

// Tensors of elements that have loops, into outputs of their dtype.
bool AcceptsElements(const KernelContext& context) {
  if (context.num_arguments() < 1 || context.num_outputs() != 1) return false;
  const TensorView* self = context.argument(0).get_if<TensorView>();
  const absl::StatusOr<const TensorView*> out = context.PlannedOutput(0);
  return self != nullptr && out.ok() && (*out)->dtype == self->dtype && DTypeSize(self->dtype) <= 8;
}

// (self, dims)
absl::Status Flip(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(2, 1));
  ABSL_ASSIGN_OR_RETURN(const TensorView* self, context.Tensor(0));
  ABSL_ASSIGN_OR_RETURN(const Sizes dims, context.IntList(1));
  ABSL_ASSIGN_OR_RETURN(const uint32_t mask, DimMask(dims, self->rank()));
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, context.Output(0, self->sizes));
  CopyFlipped(*self, mask, *out);
  return absl::OkStatus();
}

// One dimension of what rolls: its first `kept` elements go behind the others.
struct RolledDim {
  int dim = 0;
  int64_t kept = 0;
};

// The piece of `t` that is its part before (or, if `second`, from) `at` along a dimension.
TensorView PieceOf(const TensorView& t, int dim, int64_t at, bool second) {
  TensorView piece = t;
  piece.sizes[dim] = second ? t.sizes[dim] - at : at;
  if (second) {
    piece.data = t.as<std::byte>() + at * t.strides[dim] * static_cast<int64_t>(DTypeSize(t.dtype));
  }
  return piece;
}

// Copies both parts along each of the dimensions to the other end.
absl::Status CopyRolled(const TensorView& from, const TensorView& to,
                        absl::Span<const RolledDim> dims) {
  if (from.numel() == 0) return absl::OkStatus();
  if (dims.empty()) return CopyStrided(from, to);
  const auto [dim, kept] = dims[0];
  const int64_t moved = from.sizes[dim] - kept;
  ABSL_RETURN_IF_ERROR(
      CopyRolled(PieceOf(from, dim, kept, false), PieceOf(to, dim, moved, true), dims.subspan(1)));
  return CopyRolled(PieceOf(from, dim, kept, true), PieceOf(to, dim, moved, false),
                    dims.subspan(1));
}

constexpr int kMaxRolledDims = 4;  // of which each doubles the pieces

bool AcceptsRoll(const KernelContext& context) {
  if (context.num_arguments() != 3 || !AcceptsElements(context)) return false;
  const absl::StatusOr<Sizes> dims = context.IntList(2);
  const TensorView& self = *context.argument(0).get_if<TensorView>();
  return dims.ok() && dims->size() >= 1 && dims->size() <= kMaxRolledDims && self.rank() > 0 &&
         self.numel() > 0;
}

// (self, shifts, dims), with dimensions.
absl::Status Roll(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(3, 1));
  ABSL_ASSIGN_OR_RETURN(const TensorView* self, context.Tensor(0));
  ABSL_ASSIGN_OR_RETURN(const Sizes shifts, context.IntList(1));
  ABSL_ASSIGN_OR_RETURN(const Sizes dims, context.IntList(2));
  if (shifts.size() != dims.size() || dims.size() > kMaxRolledDims) {
    return absl::InvalidArgumentError(
        absl::StrCat("roll: ", shifts.size(), " shifts for ", dims.size(), " dims"));
  }
  Sizes shift_of(self->rank(), 0);
  for (int k = 0; k < dims.size(); ++k) {
    ABSL_ASSIGN_OR_RETURN(const int d, NormalizeDim(dims[k], self->rank()));
    const int64_t n = std::max<int64_t>(self->sizes[d], 1);
    shift_of[d] = ((shift_of[d] + shifts[k] % n) % n + n) % n;
  }
  RolledDim rolled[kMaxRolledDims];
  size_t count = 0;
  for (int d = 0; d < self->rank(); ++d) {
    if (shift_of[d] != 0) rolled[count++] = {d, self->sizes[d] - shift_of[d]};
  }
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, context.Output(0, self->sizes));
  return CopyRolled(*self, *out, absl::MakeConstSpan(rolled, count));
}

constexpr KernelEngine kHighway = KernelEngine::kHighway;

constexpr Kernel kKernels[] = {
#define BELAY_VIEW_KERNEL(op, name, run) {op, name "Simd", kHighway, run},
#include "runtime/kernels/call/view_kernels.inc"
    {"aten._to_copy.default", "CopySimd", kHighway, (&CopyAll<7, kCopy>)},
    {"aten.as_strided_scatter.default", "AsStridedScatterSimd", kHighway, &AsStridedScatter<kCopy>},
    {"aten.cat.default", "CatSimd", kHighway, &Cat<kCopy>},
    {"aten.clone.default", "CopySimd", kHighway, (&CopyAll<2, kCopy>)},
    KernelRow<&ConstantPad<kCopy, &Fill>>("aten.constant_pad_nd.default", "self pad value",
                                          "ConstantPadSimd", kHighway),
    {"aten.copy.default", "CopyFromSimd", kHighway, &Copy<kCopy>},
    {"aten.copy_.default", "CopyInPlaceSimd", kHighway, &CopyInPlace<kCopy>},
    {"aten.diagonal_scatter.default", "DiagonalScatterSimd", kHighway,
     (&ViewScatter<DiagonalRule<2>, kCopy>)},
    {"aten.flip.default", "FlipSimd", kHighway, &Flip, &AcceptsElements},
    KernelRow<&IndexSelect<kCopy>>("aten.index_select.default", "self dim index", "IndexSelectSimd",
                                   kHighway),
    {"aten.pixel_shuffle.default", "PixelShuffleSimd", kHighway, (&PixelShuffle<false, kCopy>)},
    {"aten.pixel_unshuffle.default", "PixelUnshuffleSimd", kHighway, (&PixelShuffle<true, kCopy>)},
    {"aten.repeat.default", "RepeatSimd", kHighway, &Repeat, &AcceptsRepeat},
    {"aten.roll.default", "RollSimd", kHighway, &Roll, &AcceptsRoll},
    {"aten.select_scatter.default", "SelectScatterSimd", kHighway,
     (&ViewScatter<SelectRule<2>, kCopy>)},
    {"aten.slice_scatter.default", "SliceScatterSimd", kHighway,
     (&ViewScatter<SliceRule<2>, kCopy>)},
    {"aten.stack.default", "StackSimd", kHighway, &Stack<kCopy>},
    {"belay.set_row_.default", "SetRowSimd", kHighway, &SetRow<kCopy>},
    {"dim_order_ops._clone_dim_order.default", "CopySimd", kHighway, (&CopyAll<3, kCopy>)},
    {"dim_order_ops._to_dim_order_copy.default", "CopySimd", kHighway, (&CopyAll<7, kCopy>)},
};

}  // namespace

absl::Span<const Kernel> MovementKernels() { return kKernels; }

}  // namespace belay
