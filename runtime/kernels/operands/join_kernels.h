// Kernels that copy whole tensors (copies, joins, pixel shuffles), parameterized by the copy
// function.
#ifndef BELAY_RUNTIME_KERNELS_OPERANDS_JOIN_KERNELS_H_
#define BELAY_RUNTIME_KERNELS_OPERANDS_JOIN_KERNELS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernel_interface/kernel_arguments.h"
#include "runtime/kernel_interface/shape_rules/movement.h"
#include "runtime/kernel_interface/shape_rules/slice.h"
#include "runtime/kernels/operands/strided_view.h"
#include "runtime/kernels/operands/tensor_list.h"

namespace belay {

// clone, _to_copy: the output's dtype and dim order define the conversion.
template <CopyFn kCopy>
absl::Status CopyAll(KernelContext& context, const CopyCall<KernelArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(TensorView * out, context.Output(0, call.self->sizes));
  return kCopy(context, *call.self, *out);
}

template <CopyFn kCopy>
absl::Status Copy(KernelContext& context, const CopyFromCall<KernelArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(const TensorView view, ExpandTo(*call.src, call.self->sizes));
  ABSL_ASSIGN_OR_RETURN(TensorView * out, context.Output(0, call.self->sizes));
  return kCopy(context, view, *out);
}

template <CopyFn kCopy>
absl::Status CopyInPlace(KernelContext& context, const CopyFromCall<KernelArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(TensorView * self, context.MutableTensor(call.target));
  ABSL_ASSIGN_OR_RETURN(const TensorView view, ExpandTo(*call.src, self->sizes));
  ABSL_RETURN_IF_ERROR(kCopy(context, view, *self));
  return ReturnSelf(context, *self);
}

template <CopyFn kCopy>
absl::Status Cat(KernelContext& context, const JoinCall<KernelArguments>& call) {
  const ListView tensors = call.tensors;
  const int count = static_cast<int>(tensors.elements.size());
  CatShape<CheckedInt> shape;
  for (int k = 0; k < count; ++k) {
    ABSL_ASSIGN_OR_RETURN(const TensorView* t, ListTensor(tensors, k));
    ABSL_RETURN_IF_ERROR(shape.Add(ToDims(t->sizes), call.dim));
  }
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> dims, shape.Result());
  ABSL_ASSIGN_OR_RETURN(const Sizes sizes, ToSizes(dims));
  ABSL_ASSIGN_OR_RETURN(TensorView * out, context.Output(0, sizes));
  CheckedInt start = 0;
  for (int k = 0; k < count; ++k) {
    ABSL_ASSIGN_OR_RETURN(const TensorView* t, ListTensor(tensors, k));
    if (CatShape<CheckedInt>::Skips(ToDims(t->sizes))) continue;
    const CheckedInt length = t->sizes[shape.dim()];
    ABSL_ASSIGN_OR_RETURN(const TensorView place,
                          ViewOf(*out, SliceDims(LayoutOf(*out), shape.dim(), start, length)));
    ABSL_RETURN_IF_ERROR(kCopy(context, *t, place));
    start = start + length;
  }
  return absl::OkStatus();
}

template <CopyFn kCopy>
absl::Status Stack(KernelContext& context, const JoinCall<KernelArguments>& call) {
  const ListView tensors = call.tensors;
  const int count = static_cast<int>(tensors.elements.size());
  if (count == 0) return absl::InvalidArgumentError("stack: expected at least one tensor");
  ABSL_ASSIGN_OR_RETURN(const TensorView* first, ListTensor(tensors, 0));
  ABSL_RETURN_IF_ERROR(CheckRank(first->sizes.size() + 1));
  ABSL_ASSIGN_OR_RETURN(const int d, NormalizeDim(call.dim, first->rank() + 1));
  Dims<CheckedInt> dims = ToDims(first->sizes);
  dims.insert(d, count);
  ABSL_ASSIGN_OR_RETURN(const Sizes sizes, ToSizes(dims));
  ABSL_ASSIGN_OR_RETURN(TensorView * out, context.Output(0, sizes));
  for (int k = 0; k < count; ++k) {
    ABSL_ASSIGN_OR_RETURN(const TensorView* t, ListTensor(tensors, k));
    ABSL_ASSIGN_OR_RETURN(const TensorView place,
                          ViewOf(*out, SelectDims(LayoutOf(*out), d, CheckedInt(k))));
    ABSL_RETURN_IF_ERROR(kCopy(context, *t, place));
  }
  return absl::OkStatus();
}

// Splits dimension `d` of `view` into [size / factor, factor].
inline TensorView CutDim(TensorView view, int d, int64_t factor) {
  view.sizes[d] /= factor;
  view.sizes.insert(d + 1, factor);
  view.strides.insert(d + 1, view.strides[d]);
  view.strides[d] *= factor;
  return view;
}

// Copies [.., c, r, r, h, w] to [.., c, h, r, w, r], or the inverse.
template <CopyFn kCopy>
absl::Status PixelShuffle(KernelContext& context, const PixelShuffleCall<KernelArguments>& call) {
  const TensorView from = *call.self;
  const int64_t factor = call.factor;
  const bool inverse = call.inverse;
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> dims, call.Shape());
  ABSL_ASSIGN_OR_RETURN(Sizes sizes, ToSizes(dims));
  if (inverse && from.numel() == 0) {
    // The output has the input's shape if it was known to be empty at compile time.
    ABSL_ASSIGN_OR_RETURN(const TensorView* planned, context.PlannedOutput(0));
    const int channels = from.rank() - 3;
    if (planned->rank() == from.rank() && planned->sizes[channels] == from.sizes[channels]) {
      sizes = from.sizes;
    }
  }
  ABSL_ASSIGN_OR_RETURN(TensorView * out, context.Output(0, sizes));
  if (out->numel() == 0) return absl::OkStatus();
  const int c = from.rank() - 3;
  // Views the side with few channels as [.., c, h, r, w, r] and permutes it to the other side's
  // order.
  TensorView large = CutDim(CutDim(inverse ? from : *out, c + 2, factor), c + 1, factor);
  const auto move = [&](auto& list) {
    const int64_t h = list[c + 1], rh = list[c + 2], w = list[c + 3], rw = list[c + 4];
    list[c + 1] = rh;
    list[c + 2] = rw;
    list[c + 3] = h;
    list[c + 4] = w;
  };
  move(large.sizes);
  move(large.strides);
  const TensorView small = CutDim(CutDim(inverse ? *out : from, c, factor * factor), c + 1, factor);
  return inverse ? kCopy(context, large, small) : kCopy(context, small, large);
}

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_OPERANDS_JOIN_KERNELS_H_
