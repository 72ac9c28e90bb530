#include "runtime/kernels/operands/strided_view.h"

#include <cstddef>
#include <cstring>
#include <optional>

#include "absl/status/status.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernel_interface/shape_rules/view.h"

namespace belay {

StridedDims<CheckedInt> LayoutOf(const TensorView& view) {
  return {ToDims(view.sizes), ToDims(view.strides), CheckedInt(0)};
}

int64_t LastOffset(const TensorView& view) {
  if (view.numel() == 0) return 0;
  int64_t last = 0;
  for (int d = 0; d < view.rank(); ++d) {
    if (view.sizes[d] > 1) last += (view.sizes[d] - 1) * view.strides[d];
  }
  return last;
}

absl::StatusOr<TensorView> ViewOf(const TensorView& base, const StridedDims<CheckedInt>& layout) {
  TensorView view;
  view.dtype = base.dtype;
  ABSL_ASSIGN_OR_RETURN(view.sizes, ToSizes(layout.sizes));
  if (NumElements(view.sizes) == 0) {
    view.strides = ContiguousStrides(view.sizes);
    view.data = base.data;
    return view;
  }
  CheckedInt last = layout.offset;
  bool inside = layout.offset.ok() && layout.offset.value() >= 0 && base.numel() > 0;
  for (int d = 0; d < layout.rank(); ++d) {
    // The stride of a dimension of size 1 is never used.
    const CheckedInt stride = view.sizes[d] == 1 ? CheckedInt(1) : layout.strides[d];
    inside = inside && stride.ok() && stride.value() >= 0;
    view.strides.push_back(stride.value());
    last = last + CheckedInt(view.sizes[d] - 1) * stride;
  }
  if (!inside || !(last <= CheckedInt(LastOffset(base)))) {
    return absl::OutOfRangeError(
        absl::StrCat("sizes ", FormatDims<CheckedInt>(layout.sizes), " with strides ",
                     FormatDims<CheckedInt>(layout.strides), " at offset ",
                     DimToString(layout.offset), " reach outside of ", base.ToString()));
  }
  view.data = ElementAddress(base, layout.offset.value());
  return view;
}

absl::StatusOr<TensorView> ExpandTo(const TensorView& from, absl::Span<const int64_t> sizes) {
  const Dims<CheckedInt> dims = ToDims(sizes);
  ABSL_ASSIGN_OR_RETURN(const StridedDims<CheckedInt> layout,
                        ExpandDims<CheckedInt>(LayoutOf(from), dims));
  return ViewOf(from, layout);
}

absl::Status ReturnSelf(KernelContext& context, const TensorView& self) {
  if (context.output_slot(0) == &context.argument(0)) return absl::OkStatus();
  ABSL_ASSIGN_OR_RETURN(TensorView * out, context.Output(0, self.sizes));
  return CopyElements(self, *out);
}

namespace {

// Views `from` with the sizes of `to`, or `to` with the sizes of `from`, if that needs no copy.
std::optional<TensorView> WithSizes(const TensorView& view, const Sizes& sizes) {
  const std::optional<Dims<CheckedInt>> strides =
      ViewStrides<CheckedInt>(LayoutOf(view), ToDims(sizes));
  if (!strides.has_value()) return std::nullopt;
  absl::StatusOr<TensorView> out = ViewOf(view, {ToDims(sizes), *strides, CheckedInt(0)});
  if (!out.ok()) return std::nullopt;
  return *out;
}

}  // namespace

absl::Status CopyReshapedWith(CopyFn copy, const KernelContext& context, const TensorView& from,
                              const TensorView& to) {
  if (from.numel() != to.numel()) {
    return absl::InvalidArgumentError(absl::StrCat("cannot copy ", from.ToString(), " to ",
                                                   to.ToString(),
                                                   ": the numbers of elements differ"));
  }
  if (const std::optional<TensorView> source = WithSizes(from, to.sizes)) {
    return copy(context, *source, to);
  }
  if (const std::optional<TensorView> target = WithSizes(to, from.sizes)) {
    return copy(context, from, *target);
  }
  if (from.dtype != to.dtype) {
    return absl::UnimplementedError(absl::StrCat("cannot copy ", from.ToString(), " to ",
                                                 to.ToString(),
                                                 ": shape, memory order and dtype all differ"));
  }
  const size_t bytes = DTypeSize(from.dtype);
  StridedIterator<1> source(from.sizes, {from.strides});
  for (StridedIterator<1> it(to.sizes, {to.strides}); !it.done(); it.Next(), source.Next()) {
    std::memcpy(ElementAddress(to, it.offset(0)), ElementAddress(from, source.offset(0)), bytes);
  }
  return absl::OkStatus();
}

absl::Status CopyReshaped(const KernelContext& context, const TensorView& from,
                          const TensorView& to) {
  return CopyReshapedWith(&CopyElements, context, from, to);
}

TensorView PartsOf(const TensorView& complex, int part) {
  TensorView parts = complex;
  parts.dtype = DType::kFloat32;
  for (int64_t& stride : parts.strides) stride *= 2;
  parts.data = complex.data == nullptr ? nullptr : complex.as<float>() + part;
  return parts;
}

TensorView PairsOf(const TensorView& complex) {
  TensorView pairs = PartsOf(complex, 0);
  pairs.sizes.push_back(2);
  pairs.strides.push_back(1);
  return pairs;
}

}  // namespace belay
