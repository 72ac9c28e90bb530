#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>

#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernel_interface/kernel_arguments.h"
#include "runtime/kernel_interface/shape_rules/scatter.h"
#include "runtime/kernels/element_copy/convert_run.h"
#include "runtime/kernels/element_copy/copy_strided.h"
#include "runtime/kernels/element_copy/run_source.h"
#include "runtime/kernels/operands/checked_ranges.h"
#include "runtime/kernels/operands/gather_walk.h"
#include "runtime/kernels/operands/operands.h"
#include "runtime/kernels/operands/ranges.h"
#include "runtime/kernels/operands/scalar_element.h"
#include "runtime/kernels/select/scatter.h"
#include "runtime/kernels/select/select.h"

namespace belay {
namespace {

using Call = ScatterCall<KernelArguments>;

// Combines the elements of `src` with those of `out` at the positions of `index` along `dim`, in
// order. kOutOfRange at the first index outside. Preconditions: the sizes fit (CheckGatherShapes),
// and the tensors have dimensions.
absl::Status ScatterPart(const TensorView& out, int dim, const TensorView& index,
                         const TensorView& src, const ScatterLoops& loops) {
  const int last = index.rank() - 1;
  Strides rest = out.strides;
  rest[dim] = 0;
  Sizes outer = index.sizes;
  outer.erase(last);
  ScatterRun run;
  run.step = out.strides[dim];
  run.rest = rest[last];
  run.from_step = src.strides[last];
  const int64_t size = out.sizes[dim];
  const bool direct = index.dtype == DType::kInt64 && index.strides[last] == 1;
  const bool adjacent = run.rest == 1 && (run.from_step == 0 || run.from_step == 1),
             repeated = adjacent && index.strides[last] == 0;
  for (StridedIterator<3> it(outer, {index.strides, src.strides, rest}); !it.done(); it.Next()) {
    if (repeated) {
      const int64_t place = ReadIndex(index, it.offset(0));
      if (place < 0 || place >= size) return IndexOutOfRange(place, size, dim);
      loops.adjacent(ElementAddress(out, it.offset(2) + place * run.step),
                     ElementAddress(src, it.offset(1)), run.from_step,
                     static_cast<size_t>(index.sizes[last]));
      continue;
    }
    const auto* const row = static_cast<const int64_t*>(ElementAddress(index, it.offset(0)));
    std::optional<RunSource> source;  // its setup takes as long as a short row
    if (!direct) {
      source.emplace(row, index.dtype, Sizes{index.sizes[last]}, Strides{index.strides[last]},
                     DType::kInt64);
    }
    RunStorage read, own;
    for (int64_t at = 0; at < index.sizes[last]; at += kRunBufferLength) {
      const int64_t count = std::min(kRunBufferLength, index.sizes[last] - at);
      const auto n = static_cast<size_t>(count);
      const auto* indices =
          direct ? row + at : static_cast<const int64_t*>(source->Next(count, read));
      run.to = ElementAddress(out, it.offset(2) + at * run.rest);
      run.from = ElementAddress(src, it.offset(1) + at * run.from_step);
      // Each index is read once before it is checked and used, since the index tensor may alias the
      // result. Equal indices, as those of an expanded tensor: one is enough.
      const int64_t place = *indices;
      if (adjacent && indices[n - 1] == place && AllEqual(indices, n, place)) {
        if (place < 0 || place >= size) return IndexOutOfRange(place, size, dim);
        loops.adjacent(ElementAddress(out, it.offset(2) + at + place * run.step), run.from,
                       run.from_step, n);
        continue;
      }
      if (indices != static_cast<const void*>(read.bytes)) {
        std::memcpy(own.bytes, indices, n * sizeof(int64_t));
        indices = reinterpret_cast<const int64_t*>(own.bytes);
      }
      run.index = indices;
      run.n = FirstOutside(indices, n, size);
      loops.indexed(run);
      if (run.n < n) return IndexOutOfRange(indices[run.n], size, dim);
    }
  }
  return absl::OkStatus();
}

// ScatterPart on the threads of `context`. They divide the largest other dimension: each element of
// `out` belongs to one of them.
absl::Status ScatterInto(const KernelContext& context, const TensorView& out_view, int dim,
                         const TensorView& index_view, const TensorView& src_view,
                         const ScatterLoops& loops) {
  if (index_view.numel() == 0) return absl::OkStatus();
  const TensorView out = AtLeastVector(out_view), index = AtLeastVector(index_view),
                   src = AtLeastVector(src_view);
  int widest = -1;
  for (int d = 0; d < index.rank(); ++d) {
    if (d != dim && (widest < 0 || index.sizes[d] > index.sizes[widest])) widest = d;
  }
  if (widest < 0) return ScatterPart(out, dim, index, src, loops);
  // Whole cache lines of the last dimension.
  const int64_t step = widest == index.rank() - 1 ? 16 : 1, count = index.sizes[widest];
  const double work = static_cast<double>(index.numel()) * kElementWork;
  return RunCheckedRanges(context, count, step, work, [&](int64_t first, int64_t last) {
    const auto part = [&](const TensorView& view) { return Narrowed(view, widest, first, last); };
    return ScatterPart(part(out), dim, part(index), part(src), loops);
  });
}

Update UpdateFor(ScatterReduction reduction, Update unnamed) {
  switch (reduction) {
    case ScatterReduction::kProduct:
      return Update::kMultiply;
    case ScatterReduction::kMaximum:
      return Update::kMaximum;
    case ScatterReduction::kMinimum:
      return Update::kMinimum;
    case ScatterReduction::kSum:
      return Update::kAdd;
    case ScatterReduction::kNone:
    case ScatterReduction::kMean:
      break;
  }
  return unnamed;
}

// An operand of the sizes of `index` whose elements are all `element`.
TensorView RepeatedAt(const TensorView& index, DType dtype, ScalarElement& element) {
  TensorView repeated;
  repeated.dtype = dtype;
  repeated.sizes = index.sizes;
  repeated.strides = Strides(index.rank(), 0);
  repeated.data = element.data();
  return repeated;
}

// The neutral element of an update, for a dtype with loops of all updates.
EValue NeutralElement(Update update, DType dtype) {
  if (update == Update::kMultiply) return EValue(int64_t{1});
  if (update == Update::kAdd) return EValue(int64_t{0});
  const bool maximum = update == Update::kMaximum;
  if (IsFloatingPoint(dtype)) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    return EValue(maximum ? -kInfinity : kInfinity);
  }
  const auto limits = [&](auto zero) {
    using Limits = std::numeric_limits<decltype(zero)>;
    return EValue(int64_t{maximum ? Limits::lowest() : Limits::max()});
  };
  return dtype == DType::kInt32 ? limits(int32_t{}) : limits(int64_t{});
}

template <class T>
void DivideByCounts(const TensorView& out_view, const TensorView& counts_view) {
  const TensorView out = AtLeastVector(out_view), counts = AtLeastVector(counts_view);
  const int last = out.rank() - 1;
  Sizes outer = out.sizes;
  outer.erase(last);
  for (StridedIterator<2> it(outer, {out.strides, counts.strides}); !it.done(); it.Next()) {
    T* const to = out.as<T>() + it.offset(0);
    const int64_t* const count = counts.as<const int64_t>() + it.offset(1);
    for (int64_t i = 0; i < out.sizes[last]; ++i) {
      const int64_t n = std::max<int64_t>(count[i * counts.strides[last]], 1);
      to[i * out.strides[last]] /= static_cast<T>(n);
    }
  }
}

// Divides the elements of `out`, sums, by the number of their summands.
absl::Status DivideByCounts(const KernelContext& context, const Call& call, int dim,
                            const TensorView& out) {
  ABSL_ASSIGN_OR_RETURN(int64_t* const memory, ScratchArray<int64_t>(context, out.numel()));
  std::fill_n(memory, out.numel(), call.include_self ? 1 : 0);
  const TensorView counts = TensorView::Contiguous(DType::kInt64, out.sizes, memory);
  ABSL_ASSIGN_OR_RETURN(ScalarElement one,
                        ScalarElement::Create(EValue(int64_t{1}), DType::kInt64));
  ABSL_RETURN_IF_ERROR(ScatterInto(context, counts, dim, *call.index,
                                   RepeatedAt(*call.index, DType::kInt64, one),
                                   FindScatterLoops(Update::kAdd, DType::kInt64)));
  if (out.dtype == DType::kFloat32) {
    DivideByCounts<float>(out, counts);
  } else {
    DivideByCounts<double>(out, counts);
  }
  return absl::OkStatus();
}

// Reductions of half precision are computed in float32 and rounded once.
bool IsWidened(const Call& call, Update update) {
  return update != Update::kAssign && IsFloatingPoint(call.self->dtype) &&
         DTypeSize(call.self->dtype) == 2;
}

DType ComputedType(const Call& call, Update update) {
  return IsWidened(call, update) ? DType::kFloat32 : call.self->dtype;
}

// Floats of scratch memory for copies of self and src.
CheckedInt WidenedElements(const Call& call) {
  return CheckedInt(call.self->numel()) + (call.src == nullptr ? 0 : call.src->numel());
}

absl::Status ScatterBy(KernelContext& context, const Call& call, Update update) {
  const TensorView& self = *call.self;
  const DType dtype = ComputedType(call, update);
  const ScatterLoops loops = FindScatterLoops(update, dtype);
  if (loops.indexed == nullptr)
    return absl::InternalError("the call changed after the kernel was chosen");
  ABSL_RETURN_IF_ERROR(ExpectNumbers("self", self));
  ScalarElement element;
  TensorView src;
  if (call.src != nullptr) {
    src = *call.src;
  } else {
    ABSL_ASSIGN_OR_RETURN(element, ScalarElement::Create(call.value, self.dtype));
    src = RepeatedAt(*call.index, self.dtype, element);
  }
  ABSL_ASSIGN_OR_RETURN(const int dim, call.CheckShapes());
  ABSL_ASSIGN_OR_RETURN(TensorView * out, OutputOf(context, 0, self.dtype, self));
  TensorView target = *out;
  ScalarElement wide;
  if (IsWidened(call, update)) {
    ABSL_ASSIGN_OR_RETURN(float* const floats, ScratchArray<float>(context, WidenedElements(call)));
    target = TensorView::Contiguous(DType::kFloat32, self.sizes, floats);
    if (call.src != nullptr) {
      src = TensorView::Contiguous(DType::kFloat32, call.src->sizes, floats + self.numel());
      CopyConvertible(*call.src, src);
    } else {
      ABSL_ASSIGN_OR_RETURN(wide, ScalarElement::Load(src, DType::kFloat32));
      src = RepeatedAt(*call.index, DType::kFloat32, wide);
    }
  }
  CopyConvertible(self, target);
  if (!call.include_self) {
    ABSL_ASSIGN_OR_RETURN(ScalarElement neutral,
                          ScalarElement::Create(NeutralElement(update, dtype), dtype));
    ABSL_RETURN_IF_ERROR(ScatterInto(context, target, dim, *call.index,
                                     RepeatedAt(*call.index, dtype, neutral),
                                     FindScatterLoops(Update::kAssign, dtype)));
  }
  ABSL_RETURN_IF_ERROR(ScatterInto(context, target, dim, *call.index, src, loops));
  if (dtype != self.dtype) CopyConvertible(target, *out);
  if (call.reduction != ScatterReduction::kMean) return absl::OkStatus();
  return DivideByCounts(context, call, dim, *out);
}

// Copies the next elements of `source` to the elements of a row that the mask selects; returns how
// many elements of `source` have been used then, also beyond the last one, which is repeated.
template <class T>
int64_t ScatterMaskedRow(const uint8_t* mask, int64_t mask_step, const void* source, int64_t last,
                         int64_t used, int64_t n, void* out, int64_t out_step) {
  const T* const from = static_cast<const T*>(source);
  T* const to = static_cast<T*>(out);
  for (int64_t i = 0; i < n; ++i) {  // without branches, which random masks make slow
    const bool selected = mask[i * mask_step] != 0;
    const T next = from[std::min(used, last)];
    to[i * out_step] = selected ? next : to[i * out_step];
    used += selected ? 1 : 0;
  }
  return used;
}

absl::Status MaskedScatter(KernelContext& context, const MaskedScatterCall<KernelArguments>& call) {
  const TensorView &self = *call.self, &source = *call.source;
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> dims, call.Shape());
  ABSL_ASSIGN_OR_RETURN(const Sizes sizes, ToSizes(dims));
  ABSL_ASSIGN_OR_RETURN(const TensorView base, ExpandTo(self, sizes));
  ABSL_ASSIGN_OR_RETURN(const TensorView expanded, ExpandTo(*call.mask, sizes));
  ABSL_ASSIGN_OR_RETURN(const TensorView* result, OutputOf(context, 0, self.dtype, dims));
  if (result->numel() == 0) return absl::OkStatus();
  CopyConvertible(base, *result);
  const TensorView mask = AtLeastVector(expanded), out = AtLeastVector(*result);
  const int last = out.rank() - 1;
  const int64_t n = out.sizes[last], mask_step = mask.strides[last], out_step = out.strides[last],
                available = source.numel();
  const size_t bytes = DTypeSize(out.dtype);
  const auto scatter = bytes == 1   ? &ScatterMaskedRow<uint8_t>
                       : bytes == 2 ? &ScatterMaskedRow<uint16_t>
                       : bytes == 4 ? &ScatterMaskedRow<uint32_t>
                                    : &ScatterMaskedRow<uint64_t>;
  Sizes outer = out.sizes;
  Strides mask_strides = mask.strides, out_strides = out.strides;
  outer.erase(last);
  mask_strides.erase(last);
  out_strides.erase(last);
  // Sizes that vary may make the source empty.
  constexpr uint64_t kNone = 0;
  const void* const from = available == 0 ? &kNone : source.data;
  const int64_t last_of_source = std::max<int64_t>(available, 1) - 1;
  int64_t used = 0;
  for (StridedIterator<2> it(outer, {mask_strides, out_strides}); !it.done(); it.Next()) {
    const uint8_t* const row = mask.as<const uint8_t>() + it.offset(0);
    void* const to = ElementAddress(out, it.offset(1));
    if (mask_step == 0 && row[0] == 0) continue;
    used = scatter(row, mask_step, from, last_of_source, used, n, to, out_step);
    if (used > available) break;
  }
  if (used <= available) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("masked_scatter: source ", source.ToString(),
                                                 " has fewer elements than the mask selects"));
}

// Empty sources are rare: the reference kernel checks that the mask selects nothing.
bool AcceptsMasked(const KernelContext& context, const MaskedScatterCall<KernelArguments>& call) {
  return DTypeSize(call.self->dtype) <= sizeof(uint64_t) && kRunTypes.contains(call.self->dtype) &&
         call.source->is_contiguous() && call.source->numel() > 0;
}

// `kUnnamed`: the update of calls that do not name a reduction.
template <Update kUnnamed>
absl::Status Scatter(KernelContext& context, const Call& call) {
  return ScatterBy(context, call, UpdateFor(call.reduction, kUnnamed));
}

template <Update kUnnamed>
uint64_t Scratch(const KernelContext&, const Call& call) {
  if (IsWidened(call, UpdateFor(call.reduction, kUnnamed))) {
    return ScratchBytesOf<float>(WidenedElements(call));
  }
  if (call.reduction != ScatterReduction::kMean) return 0;
  return ScratchBytesOf<int64_t>(CheckedInt(call.self->numel()));
}

// Means of integers and of half precision are rounded by the reference kernel.
template <Update kUnnamed>
bool Accepts(const KernelContext& context, const Call& call) {
  constexpr DTypeSet kMeans = {DType::kFloat32, DType::kFloat64};
  const Update update = UpdateFor(call.reduction, kUnnamed);
  return (call.reduction != ScatterReduction::kMean || kMeans.contains(call.self->dtype)) &&
         kRunTypes.contains(call.self->dtype) &&
         FindScatterLoops(update, ComputedType(call, update)).indexed != nullptr;
}

template <Update kUnnamed>
constexpr Kernel Row(std::string_view op, std::string_view signature, std::string_view name) {
  return KernelRow<&Scatter<kUnnamed>, &Accepts<kUnnamed>, &Scratch<kUnnamed>>(
      op, signature, name, KernelEngine::kHighway);
}

constexpr Kernel kKernels[] = {
    KernelRow<&MaskedScatter, &AcceptsMasked>("aten.masked_scatter.default", "self mask source",
                                              "MaskedScatterSimd", KernelEngine::kHighway),
    Row<Update::kAssign>("aten.scatter.reduce", "self dim index src reduce", "ScatterNamedSimd"),
    Row<Update::kAssign>("aten.scatter.src", "self dim index src", "ScatterSimd"),
    Row<Update::kAssign>("aten.scatter.value", "self dim index value", "ScatterValueSimd"),
    Row<Update::kAssign>("aten.scatter.value_reduce", "self dim index value reduce",
                         "ScatterValueNamedSimd"),
    Row<Update::kAdd>("aten.scatter_add.default", "self dim index src", "ScatterAddSimd"),
    Row<Update::kAdd>("aten.scatter_reduce.two", "self dim index src reduce include_self",
                      "ScatterReduceSimd"),
};

}  // namespace

absl::Span<const Kernel> ScatterHighwayKernels() { return kKernels; }

}  // namespace belay
