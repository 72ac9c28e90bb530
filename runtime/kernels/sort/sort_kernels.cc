#include <algorithm>

#include "runtime/core/status_macros.h"
#include "runtime/kernel_interface/kernel_arguments.h"
#include "runtime/kernel_interface/shape_rules/gather.h"
#include "runtime/kernel_interface/shape_rules/sort.h"
#include "runtime/kernels/element_copy/convert_run.h"
#include "runtime/kernels/element_copy/run_source.h"
#include "runtime/kernels/operands/element_access.h"
#include "runtime/kernels/operands/gather_walk.h"
#include "runtime/kernels/operands/operands.h"
#include "runtime/kernels/operands/ranges.h"
#include "runtime/kernels/sort/sort.h"

namespace belay {
namespace {

constexpr int64_t kLongestNarrowRow = int64_t{1} << 32;

// Sort parameters: rows are read as T and sorted by keys of type Key.
template <class T, class Key>
struct SortBy {
  using Type = T;
  using KeyType = Key;
};
template <class Fn>
auto WithSort(DType dtype, Fn&& fn) {
  if (dtype == DType::kFloat64) return fn(SortBy<double, WideSortKey>{}, DType::kFloat64);
  if (dtype == DType::kInt64) return fn(SortBy<int64_t, WideSortKey>{}, DType::kInt64);
  if (IsFloatingPoint(dtype)) return fn(SortBy<float, SortKey>{}, DType::kFloat32);
  return fn(SortBy<int32_t, SortKey>{}, DType::kInt32);
}

// Gathers the elements at the positions of sorted keys to a row.
template <class T, class Key>
void TakeElements(const void* from, int64_t step, const Key* keys, int64_t n, void* to,
                  int64_t to_step) {
  const T* in = static_cast<const T*>(from);
  T* out = static_cast<T*>(to);
  for (int64_t i = 0; i < n; ++i) out[i * to_step] = in[PlaceOf(keys[i]) * step];
}

template <class Key>
void TakeElements(DType dtype, const void* from, int64_t step, const Key* keys, int64_t n, void* to,
                  int64_t to_step) {
  if (dtype == DType::kBool) {
    // Any nonzero byte is true.
    const uint8_t* in = static_cast<const uint8_t*>(from);
    bool* out = static_cast<bool*>(to);
    for (int64_t i = 0; i < n; ++i) out[i * to_step] = in[PlaceOf(keys[i]) * step] != 0;
    return;
  }
  switch (DTypeSize(dtype)) {
    case 1:
      return TakeElements<uint8_t>(from, step, keys, n, to, to_step);
    case 2:
      return TakeElements<uint16_t>(from, step, keys, n, to, to_step);
    case 4:
      return TakeElements<uint32_t>(from, step, keys, n, to, to_step);
    default:
      return TakeElements<uint64_t>(from, step, keys, n, to, to_step);
  }
}

// Cost of an element of a row, in multiply-adds.
constexpr double kSortWork = 64;

// Makes the keys of each row along a dimension, of `copies` times its length, and writes the elements
// and positions of the first `take` keys of sorted(keys). Threads divide the rows. Precondition:
// the dtypes and ranks of all tensors match.
template <class By, class Sorted>
absl::Status TakeRows(const KernelContext& context, By, DType read_as, const TensorView& from,
                      int dim, bool descending, int64_t copies, int64_t take,
                      const TensorView& values, const TensorView& indices, Sorted&& sorted) {
  using Key = typename By::KeyType;
  const int64_t count = from.sizes[dim];
  if (count >= kLongestNarrowRow)
    return absl::InternalError("the call changed after the kernel was chosen");
  ABSL_ASSIGN_OR_RETURN(
      Key * memory, ScratchArray<Key>(context, CheckedInt(copies) * count * context.num_threads()));
  Sizes rows = from.sizes;
  rows[dim] = 1;
  const bool in_place = from.dtype == read_as && from.strides[dim] == 1;
  const auto take_row = [&](int64_t index, Key* keys) {
    const void* row = ElementAddress(from, OffsetAt(index, rows, from.strides));
    if (in_place) {
      MakeSortKeys(static_cast<const typename By::Type*>(row), static_cast<size_t>(count), 0,
                   descending, keys);
    } else {
      RunSource source(row, from.dtype, {count}, {from.strides[dim]}, read_as);
      RunStorage buffer;
      for (int64_t start = 0; start < count; start += kRunBufferLength) {
        const int64_t n = std::min(kRunBufferLength, count - start);
        MakeSortKeys(static_cast<const typename By::Type*>(source.Next(n, buffer)),
                     static_cast<size_t>(n), start, descending, keys + start);
      }
    }
    const Key* const first = sorted(keys, static_cast<size_t>(count));
    TakeElements(from.dtype, row, from.strides[dim], first, take,
                 ElementAddress(values, OffsetAt(index, rows, values.strides)),
                 values.strides[dim]);
    int64_t* places = indices.as<int64_t>() + OffsetAt(index, rows, indices.strides);
    const int64_t step = indices.strides[dim];
    for (int64_t i = 0; i < take; ++i) places[i * step] = PlaceOf(first[i]);
  };
  RunRanges(context, NumElements(rows).value_or(0), /*step=*/1,
            kSortWork * static_cast<double>(from.numel()),
            [&](int part, int64_t begin, int64_t end) {
              for (int64_t row = begin; row < end; ++row) {
                take_row(row, memory + part * copies * count);
              }
            });
  return absl::OkStatus();
}

absl::Status Sort(KernelContext& context, const SortCall<KernelArguments>& call) {
  const TensorView* const self = call.self;
  ABSL_ASSIGN_OR_RETURN(const TensorView* values, OutputOf(context, 0, self->dtype, *self));
  ABSL_ASSIGN_OR_RETURN(const TensorView* indices, OutputOf(context, 1, DType::kInt64, *self));
  if (self->numel() == 0) return absl::OkStatus();
  const TensorView from = AtLeastVector(*self), to = AtLeastVector(*values),
                   places = AtLeastVector(*indices);
  return WithSort(from.dtype, [&](auto by, DType read_as) {
    return TakeRows(context, by, read_as, from, call.dim, call.descending, 2, from.sizes[call.dim],
                    to, places, [](auto* keys, size_t n) { return SortKeys(keys, keys + n, n); });
  });
}

// Selects the element at `place` of each row in ascending order; with kNanWins, the first NaN.
template <bool kNanWins, class Call>
absl::Status SelectSorted(KernelContext& context, const Call& call, int64_t place) {
  const TensorView& self = *call.self;
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape());
  ABSL_ASSIGN_OR_RETURN(const TensorView* values, OutputOf(context, 0, self.dtype, shape));
  ABSL_ASSIGN_OR_RETURN(const TensorView* indices, OutputOf(context, 1, DType::kInt64, shape));
  if (self.numel() == 0) return absl::OkStatus();
  const TensorView from = AtLeastVector(self);
  const bool nan_wins = kNanWins && IsFloatingPoint(self.dtype);
  TensorView to = *values, places = *indices;
  for (TensorView* out : {&to, &places}) {
    if (self.rank() > 0 && call.keepdim) continue;
    out->sizes.insert(call.dim, 1);
    out->strides.insert(call.dim, 1);
  }
  return WithSort(from.dtype, [&](auto by, DType read_as) {
    return TakeRows(
        context, by, read_as, from, call.dim, /*descending=*/false, 1, 1, to, places,
        [&](auto* keys, size_t n) {
          auto* chosen = keys + n;
          if (nan_wins) {
            chosen = std::find_if(keys, keys + n, [](const auto& key) { return IsLargest(key); });
          }
          *keys = chosen == keys + n ? SelectKey(keys, n, static_cast<size_t>(place)) : *chosen;
          return keys;
        });
  });
}

absl::Status Median(KernelContext& context, const MedianCall<KernelArguments>& call) {
  const int64_t count = call.self->rank() == 0 ? 1 : call.self->sizes[call.dim];
  return SelectSorted<true>(context, call, (count - 1) / 2);
}

absl::Status KthValue(KernelContext& context, const KthValueCall<KernelArguments>& call) {
  return SelectSorted<false>(context, call, (call.k - CheckedInt(1)).value());
}

template <class Call>
bool Accepts(const KernelContext& context, const Call& call) {
  const Sizes& sizes = call.self->sizes;
  return kRunTypes.contains(call.self->dtype) &&
         std::all_of(sizes.begin(), sizes.end(),
                     [](int64_t size) { return size < kLongestNarrowRow; });
}

// Scratch memory for rows of keys along any dimension.
template <class Call, uint64_t kCopies>
uint64_t KeyScratch(const KernelContext& context, const Call& call) {
  int64_t longest = 1;
  for (int64_t size : call.self->sizes) longest = std::max(longest, size);
  return WithSort(call.self->dtype, [&](auto by, DType) {
    return ScratchBytesOf<typename decltype(by)::KeyType>(
        CheckedInt(static_cast<int64_t>(kCopies)) * longest * context.num_threads());
  });
}

// ---- bucketize, searchsorted

constexpr int64_t kMostBoundaries = int64_t{1} << 30;

bool AcceptsSearch(const KernelContext& context, const SearchCall<KernelArguments>& call) {
  const TensorView &boundaries = *call.boundaries, &values = *call.values;
  return call.sorter == nullptr && boundaries.rank() == 1 && call.CheckShapes().ok() &&
         boundaries.dtype == DType::kFloat32 && values.dtype == DType::kFloat32 &&
         call.search_type == DType::kFloat32 && boundaries.sizes[0] <= kMostBoundaries &&
         (boundaries.strides[0] == 1 || boundaries.sizes[0] <= 1);
}

absl::Status Search(KernelContext& context, const SearchCall<KernelArguments>& call) {
  const TensorView &boundaries = *call.boundaries, &values = *call.values;
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, call.dtype, values));
  RunSource source(values.data, values.dtype, values.sizes, values.strides, DType::kFloat32);
  RunSink sink(out->data, out->dtype, out->sizes, out->strides, DType::kInt32);
  RunStorage read, written;
  for (int64_t left = values.numel(); left > 0;) {
    const int64_t n = std::min(left, kRunBufferLength);
    const auto* x = static_cast<const float*>(source.Next(n, read));
    FindBoundaries(boundaries.as<const float>(), static_cast<int32_t>(boundaries.sizes[0]),
                   call.right, x, static_cast<size_t>(n),
                   static_cast<int32_t*>(sink.Place(n, written)));
    sink.Commit(n, written);
    left -= n;
  }
  return absl::OkStatus();
}

constexpr KernelEngine kHighway = KernelEngine::kHighway;

template <auto kRun, class Call, uint64_t kCopies>
constexpr Kernel Row(std::string_view op, std::string_view signature, std::string_view name) {
  return KernelRow<kRun, &Accepts<Call>, &KeyScratch<Call, kCopies>>(op, signature, name, kHighway);
}

constexpr Kernel kKernels[] = {
    KernelRow<&Search, &AcceptsSearch>("aten.bucketize.Tensor", "self boundaries out_int32 right",
                                       "BucketizeSimd", kHighway),
    KernelRow<&Search, &AcceptsSearch>("aten.searchsorted.Tensor",
                                       "sorted_sequence self out_int32 right side sorter",
                                       "SearchSortedSimd", kHighway),
    Row<&Median, MedianCall<KernelArguments>, 1>("aten.median.dim", "self dim keepdim -> 2",
                                                 "MedianDimSimd"),
    Row<&KthValue, KthValueCall<KernelArguments>, 1>("aten.kthvalue.default",
                                                     "self k dim keepdim -> 2", "KthValueSimd"),
    Row<&Sort, SortCall<KernelArguments>, 2>("aten.sort.default", "self dim descending -> 2",
                                             "SortSimd"),
    Row<&Sort, SortCall<KernelArguments>, 2>("aten.sort.stable", "self stable dim descending -> 2",
                                             "SortStableSimd"),
};

}  // namespace

absl::Span<const Kernel> SortHighwayKernels() { return kKernels; }

}  // namespace belay
