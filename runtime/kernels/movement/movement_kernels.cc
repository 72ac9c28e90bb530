#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "absl/types/span.h"
#include "runtime/core/sizes.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernel_interface/shape_rules/pad.h"
#include "runtime/kernel_interface/shape_rules/view.h"
#include "runtime/kernels/element_copy/copy_strided.h"
#include "runtime/kernels/movement/movement.h"
#include "runtime/kernels/movement/padding.h"
#include "runtime/kernels/operands/checked_ranges.h"
#include "runtime/kernels/operands/index_select.h"
#include "runtime/kernels/operands/join_kernels.h"
#include "runtime/kernels/operands/operands.h"
#include "runtime/kernels/operands/ranges.h"
#include "runtime/kernels/operands/scalar_element.h"
#include "runtime/kernels/operands/strided_view.h"
#include "runtime/kernels/operands/view_kernels.h"
#include "runtime/kernels/operands/view_scatter.h"
#include "runtime/kernels/select/select.h"

namespace belay {
namespace {

// CopyStrided; large copies are divided along the target's outermost dimension.
absl::Status CopyDivided(const KernelContext& context, const TensorView& from,
                         const TensorView& to) {
  int outer = -1;
  for (int d = 0; d < to.rank(); ++d) {
    if (to.sizes[d] > 1 && (outer < 0 || to.strides[d] > to.strides[outer])) outer = d;
  }
  if (context.num_threads() == 1 || outer < 0 || !(from.sizes == to.sizes)) {
    return CopyStrided(from, to);
  }
  return RunCheckedRanges(
      context, to.sizes[outer], /*step=*/1, kElementWork * static_cast<double>(to.numel()),
      [&](int64_t first, int64_t last) {
        return CopyStrided(Narrowed(from, outer, first, last), Narrowed(to, outer, first, last));
      });
}

absl::Status CopyDividedReshaped(const KernelContext& context, const TensorView& from,
                                 const TensorView& to) {
  constexpr size_t kSmall = size_t{1} << 16;  // bytes
  const size_t bytes = static_cast<size_t>(to.numel()) * DTypeSize(to.dtype);
  if (bytes <= kSmall && from.dtype == to.dtype && from.numel() == to.numel() &&
      IsContiguous(from.sizes, from.strides) && IsContiguous(to.sizes, to.strides)) {
    if (bytes > 0) std::memmove(to.data, from.data, bytes);
    return absl::OkStatus();
  }
  return CopyReshapedWith(&CopyDivided, context, from, to);
}

constexpr CopyFn kCopy = &CopyDivided, kCopyReshaped = &CopyDividedReshaped;

// Whether the dtype has loops and the output has the same dtype.
bool IsMovable(const KernelContext& context, const TensorView& self) {
  const absl::StatusOr<const TensorView*> out = context.PlannedOutput(0);
  return out.ok() && (*out)->dtype == self.dtype && DTypeSize(self.dtype) <= 8;
}
template <class Call>
bool AcceptsMovable(const KernelContext& context, const Call& call) {
  return IsMovable(context, *call.self);
}

// view_as_complex and view_as_real. Both copy complex numbers.
absl::Status ViewAsComplex(KernelContext& context, const ViewAsComplexCall<KernelArguments>& call) {
  const TensorView& self = *call.self;
  ABSL_ASSIGN_OR_RETURN(const StridedDims<CheckedInt> layout, call.Apply(LayoutOf(self)));
  TensorView row = TensorView::Contiguous(DType::kComplex64, {}, self.data);
  row.sizes = {self.numel() == 0 ? 0 : (LastOffset(self) + 1) / 2};
  row.strides = {1};
  ABSL_ASSIGN_OR_RETURN(const TensorView view, ViewOf(row, layout));
  ABSL_ASSIGN_OR_RETURN(TensorView * out, context.Output(0, view.sizes));
  return kCopy(context, view, *out);
}
absl::Status ViewAsReal(KernelContext& context, const ViewAsRealCall<KernelArguments>& call) {
  const TensorView& self = *call.self;
  Sizes sizes = self.sizes;
  sizes.push_back(2);
  ABSL_ASSIGN_OR_RETURN(TensorView * out, context.Output(0, sizes));
  if (!out->is_contiguous())
    return absl::InternalError("the layout changed after the kernel was chosen");
  return kCopy(context, self, TensorView::Contiguous(DType::kComplex64, self.sizes, out->data));
}

template <class Call, DType kFrom, DType kTo>
bool AcceptsView(const KernelContext& context, const Call& call) {
  const absl::StatusOr<const TensorView*> out = context.PlannedOutput(0);
  return out.ok() && call.self->dtype == kFrom && (*out)->dtype == kTo && (*out)->is_contiguous() &&
         call.self->rank() < kMaxRank;
}

// Pads `in`; both tensors have the sizes of the shape rule.
void Pad(const KernelContext& context, const TensorView& in, const Padding<CheckedInt>& padding,
         const TensorView& out, PadFill fill, const void* constant) {
  if (out.numel() == 0) return;
  if (in.numel() == 0) return FillStrided(out, constant);  // constant padding only
  Sizes before;
  for (int d = 0; d < in.rank(); ++d) before.push_back(padding.before[d].value());
  CopyPadded(context, in, out, before, fill, constant);
}

absl::Status PadConstant(KernelContext& context, const ConstantPadCall<KernelArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> dims, call.Shape());
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, call.self->dtype, dims));
  ABSL_ASSIGN_OR_RETURN(const ScalarElement element,
                        ScalarElement::Create(call.value, call.self->dtype));
  Pad(context, *call.self, call.padding, *out, PadFill::kConstant, element.data());
  return absl::OkStatus();
}

template <PadMode kMode, int kSpatial>
absl::Status PadMirrored(KernelContext& context,
                         const MirroredPadCall<KernelArguments, kMode, kSpatial>& call) {
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> dims, call.Shape());
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, call.self->dtype, dims));
  Pad(context, *call.self, call.padding, *out,
      kMode == PadMode::kReflect ? PadFill::kReflect : PadFill::kReplicate, nullptr);
  return absl::OkStatus();
}

template <PadMode kMode, int kSpatial>
constexpr Kernel MirroredPadRow(std::string_view op, std::string_view name) {
  return KernelRow<&PadMirrored<kMode, kSpatial>,
                   &AcceptsMovable<MirroredPadCall<KernelArguments, kMode, kSpatial>>>(
      op, "self padding", name, KernelEngine::kHighway);
}

// Copies self as a tensor with doubled dimensions, the outer ones repeated. Calls that exceed
// kMaxRank this way are not accepted.
bool AcceptsRepeat(const KernelContext&, const RepeatCall<KernelArguments>& call) {
  return 2 * call.repeats.size() <= kMaxRank;
}

absl::Status Repeat(KernelContext& context, const RepeatCall<KernelArguments>& call) {
  const TensorView from = *call.self;
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> dims, call.Shape());
  const int rank = call.repeats.size(), lead = rank - from.rank();
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
    source.sizes.push_back(call.repeats[d].value());
    source.strides.push_back(0);
    source.sizes.push_back(size);
    source.strides.push_back(d < lead ? 0 : from.strides[d - lead]);
    target.strides.push_back(out->strides[d] * size);
    target.strides.push_back(out->strides[d]);
  }
  target.sizes = source.sizes;
  return CopyDivided(context, source, target);
}

absl::Status Flip(KernelContext& context, const FlipCall<KernelArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, context.Output(0, call.self->sizes));
  CopyFlipped(*call.self, call.mask, *out);
  return absl::OkStatus();
}

// A rolled dimension: its first `kept` elements move to the end.
struct RolledDim {
  int dim = 0;
  int64_t kept = 0;
};

// Returns the part of `t` before `at` along a dimension, or from `at` on if `second`.
TensorView PieceOf(const TensorView& t, int dim, int64_t at, bool second) {
  TensorView piece = t;
  piece.sizes[dim] = second ? t.sizes[dim] - at : at;
  if (second) {
    piece.data = t.as<std::byte>() + at * t.strides[dim] * static_cast<int64_t>(DTypeSize(t.dtype));
  }
  return piece;
}

// Copies both parts along each of the dimensions to the opposite end.
void CopyRolled(const TensorView& from, const TensorView& to, absl::Span<const RolledDim> dims) {
  if (from.numel() == 0) return;
  if (dims.empty()) return CopyConvertible(from, to);
  const auto [dim, kept] = dims[0];
  const int64_t moved = from.sizes[dim] - kept;
  CopyRolled(PieceOf(from, dim, kept, false), PieceOf(to, dim, moved, true), dims.subspan(1));
  CopyRolled(PieceOf(from, dim, kept, true), PieceOf(to, dim, moved, false), dims.subspan(1));
}

constexpr int kMaxRolledDims = 4;  // each doubles the number of pieces

bool AcceptsRoll(const KernelContext& context, const RollCall<KernelArguments>& call) {
  return IsMovable(context, *call.self) && !call.dims.empty() &&
         call.dims.size() <= kMaxRolledDims && call.self->numel() > 0;
}

// roll with `dims`.
absl::Status Roll(KernelContext& context, const RollCall<KernelArguments>& call) {
  const TensorView* const self = call.self;
  if (call.dims.empty() || call.dims.size() > kMaxRolledDims)
    return absl::InternalError("the call changed after the kernel was chosen");
  Sizes shift_of(self->rank(), 0);
  for (int k = 0; k < call.dims.size(); ++k) {
    ABSL_ASSIGN_OR_RETURN(const int d, NormalizeDim(call.dims[k], self->rank()));
    const int64_t n = std::max<int64_t>(self->sizes[d], 1);
    shift_of[d] = ((shift_of[d] + call.shifts[k].value() % n) % n + n) % n;
  }
  RolledDim rolled[kMaxRolledDims];
  size_t count = 0;
  for (int d = 0; d < self->rank(); ++d) {
    if (shift_of[d] != 0) rolled[count++] = {d, self->sizes[d] - shift_of[d]};
  }
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, context.Output(0, self->sizes));
  CopyRolled(*self, *out, absl::MakeConstSpan(rolled, count));
  return absl::OkStatus();
}

uint64_t IndexSelectScratch(const KernelContext&, const IndexSelectCall<KernelArguments>& call) {
  return ScratchBytesOf<int64_t>(call.index->numel());
}

// index_select. If the indexed dimension is the innermost one, rows are gathered; otherwise whole
// slices are copied.
absl::Status SelectIndices(KernelContext& context, const IndexSelectCall<KernelArguments>& call) {
  const TensorView &from = *call.self, &index = *call.index;
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> dims, call.Shape());
  const int64_t count = index.numel();
  const int rank = from.rank();
  if (rank == 0 || count == 0) return IndexSelect<kCopy>(context, call);
  const int d = *NormalizeDim(call.dim, rank);  // valid, since call.Shape() succeeded
  bool innermost = DTypeSize(from.dtype) <= 8;
  for (int k = 0; k < rank; ++k) {
    innermost = innermost && (from.sizes[k] == 1 || from.strides[k] >= from.strides[d]);
  }
  if (!innermost) return IndexSelect<kCopy>(context, call);
  ABSL_ASSIGN_OR_RETURN(int64_t* const indices, ScratchArray<int64_t>(context, count));
  CopyConvertible(AtLeastVector(index), TensorView::Contiguous(DType::kInt64, {count}, indices));
  if (FirstOutside(indices, static_cast<size_t>(count), from.sizes[d]) <
      static_cast<size_t>(count)) {
    return IndexSelect<kCopy>(context, call);  // returns the error
  }
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, from.dtype, dims));
  if (out->numel() == 0) return absl::OkStatus();
  Sizes outer = out->sizes;
  outer[d] = 1;
  const size_t bytes = DTypeSize(from.dtype);
  RunRanges(context, out->numel() / count, 1, kElementWork * static_cast<double>(out->numel()),
            [&](int, int64_t first, int64_t last) {
              for (int64_t r = first; r < last; ++r) {
                GatherRow(ElementAddress(from, OffsetAt(r, outer, from.strides)), from.strides[d],
                          0, indices, static_cast<size_t>(count), bytes,
                          ElementAddress(*out, OffsetAt(r, outer, out->strides)), out->strides[d]);
              }
            });
  return absl::OkStatus();
}

constexpr KernelEngine kHighway = KernelEngine::kHighway;

constexpr Kernel kKernels[] = {
#define BELAY_VIEW_KERNEL(op, signature, name, run) \
  KernelRow<run>(op, signature, name "Simd", kHighway),
#include "runtime/kernels/operands/view_kernels.inc"
    KernelRow<&CopyAll<kCopy>>("aten._to_copy.default",
                               "self dtype layout device pin_memory non_blocking memory_format",
                               "CopySimd", kHighway),
    KernelRow<&AsStridedScatter<kCopy>>("aten.as_strided_scatter.default",
                                        "self src size stride storage_offset",
                                        "AsStridedScatterSimd", kHighway),
    KernelRow<&Cat<kCopy>>("aten.cat.default", "tensors dim", "CatSimd", kHighway),
    KernelRow<&CopyAll<kCopy>>("aten.clone.default", "self memory_format", "CopySimd", kHighway),
    KernelRow<&PadConstant, &AcceptsMovable<ConstantPadCall<KernelArguments>>>(
        "aten.constant_pad_nd.default", "self pad value", "ConstantPadSimd", kHighway),
    MirroredPadRow<PadMode::kReflect, 1>("aten.reflection_pad1d.default", "ReflectionPad1dSimd"),
    MirroredPadRow<PadMode::kReflect, 2>("aten.reflection_pad2d.default", "ReflectionPad2dSimd"),
    MirroredPadRow<PadMode::kReflect, 3>("aten.reflection_pad3d.default", "ReflectionPad3dSimd"),
    MirroredPadRow<PadMode::kReplicate, 1>("aten.replication_pad1d.default",
                                           "ReplicationPad1dSimd"),
    MirroredPadRow<PadMode::kReplicate, 2>("aten.replication_pad2d.default",
                                           "ReplicationPad2dSimd"),
    MirroredPadRow<PadMode::kReplicate, 3>("aten.replication_pad3d.default",
                                           "ReplicationPad3dSimd"),
    KernelRow<&Copy<kCopy>>("aten.copy.default", "self src non_blocking", "CopyFromSimd", kHighway),
    KernelRow<&CopyInPlace<kCopy>>("aten.copy_.default", "self src non_blocking", "CopyInPlaceSimd",
                                   kHighway),
    KernelRow<&ViewScatter<DiagonalRule, kCopy>>("aten.diagonal_scatter.default",
                                                 "self src offset dim1 dim2", "DiagonalScatterSimd",
                                                 kHighway),
    KernelRow<&Flip, &AcceptsMovable<FlipCall<KernelArguments>>>("aten.flip.default", "self dims",
                                                                 "FlipSimd", kHighway),
    KernelRow<&SelectIndices, nullptr, &IndexSelectScratch>(
        "aten.index_select.default", "self dim index", "IndexSelectSimd", kHighway),
    KernelRow<&PixelShuffle<kCopy>>("aten.pixel_shuffle.default", "self upscale_factor",
                                    "PixelShuffleSimd", kHighway),
    KernelRow<&PixelShuffle<kCopy>>("aten.pixel_unshuffle.default", "self downscale_factor",
                                    "PixelUnshuffleSimd", kHighway),
    KernelRow<&Repeat, &AcceptsRepeat>("aten.repeat.default", "self repeats", "RepeatSimd",
                                       kHighway),
    KernelRow<&Roll, &AcceptsRoll>("aten.roll.default", "self shifts dims", "RollSimd", kHighway),
    KernelRow<&ViewScatter<SelectRule, kCopy>>("aten.select_scatter.default", "self src dim index",
                                               "SelectScatterSimd", kHighway),
    KernelRow<&ViewScatter<SliceRule, kCopy>>(
        "aten.slice_scatter.default", "self src dim start end step", "SliceScatterSimd", kHighway),
    KernelRow<&Stack<kCopy>>("aten.stack.default", "tensors dim", "StackSimd", kHighway),
    KernelRow<&ViewAsComplex,
              &AcceptsView<ViewAsComplexCall<KernelArguments>, DType::kFloat32, DType::kComplex64>>(
        "aten.view_as_complex.default", "self", "ViewAsComplexSimd", kHighway),
    KernelRow<&ViewAsComplex,
              &AcceptsView<ViewAsComplexCall<KernelArguments>, DType::kFloat32, DType::kComplex64>>(
        "aten.view_as_complex_copy.default", "self", "ViewAsComplexSimd", kHighway),
    KernelRow<&ViewAsReal,
              &AcceptsView<ViewAsRealCall<KernelArguments>, DType::kComplex64, DType::kFloat32>>(
        "aten.view_as_real.default", "self", "ViewAsRealSimd", kHighway),
    KernelRow<&ViewAsReal,
              &AcceptsView<ViewAsRealCall<KernelArguments>, DType::kComplex64, DType::kFloat32>>(
        "aten.view_as_real_copy.default", "self", "ViewAsRealSimd", kHighway),
    KernelRow<&ViewScatterInPlace<SelectRule, kCopy>>("belay.select_scatter_.default",
                                                      "self src dim index",
                                                      "SelectScatterInPlaceSimd", kHighway),
    KernelRow<&SetRow<kCopy>>("belay.set_row_.default", "self row index count", "SetRowSimd",
                              kHighway),
    KernelRow<&ViewScatterInPlace<SliceRule, kCopy>>("belay.slice_scatter_.default",
                                                     "self src dim start end step",
                                                     "SliceScatterInPlaceSimd", kHighway),
    KernelRow<&CopyAll<kCopy>>("dim_order_ops._clone_dim_order.default",
                               "self non_blocking dim_order", "CopySimd", kHighway),
    KernelRow<&CopyAll<kCopy>>("dim_order_ops._to_dim_order_copy.default",
                               "self dtype layout device pin_memory non_blocking dim_order",
                               "CopySimd", kHighway),
};

}  // namespace

absl::Span<const Kernel> MovementKernels() { return kKernels; }

}  // namespace belay
