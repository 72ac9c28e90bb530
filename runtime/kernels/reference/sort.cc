// Operators that order the elements along one dimension. NaN counts as the largest number; equal
// elements keep their order.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "runtime/core/status_macros.h"
#include "runtime/kernels/call/fold.h"
#include "runtime/kernels/call/operands.h"
#include "runtime/kernels/reference/families.h"

namespace belay {
namespace {

// An element of a row and where it stood.
template <class T>
struct Entry {
  T value;
  int64_t index;
};

template <class T>
bool Less(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) return a < b || (std::isnan(b) && !std::isnan(a));
  return a < b;
}

template <class T>
void SortRow(Entry<T>* row, int64_t count, bool descending) {
  std::sort(row, row + count, [descending](const Entry<T>& a, const Entry<T>& b) {
    if (descending ? Less(b.value, a.value) : Less(a.value, b.value)) return true;
    if (descending ? Less(a.value, b.value) : Less(b.value, a.value)) return false;
    return a.index < b.index;
  });
}

// Reads each row along `dim`, sorts it in working memory, and calls fn(row, count, offset of the
// row in `values`, in `indices`). Outputs have the row's dimension, of whatever size.
template <class T, class Fn>
absl::Status ForEachSortedRow(const KernelContext& context, const TensorView& self, int dim,
                              bool descending, const Strides& values, const Strides& indices,
                              Fn&& fn) {
  const Fold fold = FoldOneDim(self, dim);
  const int64_t count = fold.count();
  if (count == 0) return absl::OkStatus();  // of however many rows
  ABSL_ASSIGN_OR_RETURN(Entry<T>* const row, ScratchArray<Entry<T>>(context, count));
  const Reader<T> in(self);
  Strides kept_values = values, kept_indices = indices;
  if (self.rank() > 0) {
    kept_values.erase(dim);
    kept_indices.erase(dim);
  }
  for (StridedIterator<3> it(fold.kept, {fold.kept_strides, kept_values, kept_indices}); !it.done();
       it.Next()) {
    int64_t next = 0;
    ForEachFolded(fold, in, it.offset(0), [&](T x) {
      row[next] = {x, next};
      ++next;
    });
    SortRow(row, count, descending);
    fn(row, count, it.offset(1), it.offset(2));
  }
  return absl::OkStatus();
}

// Writes the first `take` entries of each sorted row.
absl::Status TakeSorted(const KernelContext& context, const TensorView& self, int dim,
                        bool descending, int64_t take, const TensorView& values,
                        const TensorView& indices) {
  const int64_t value_step = self.rank() == 0 ? 0 : values.strides[dim];
  const int64_t index_step = self.rank() == 0 ? 0 : indices.strides[dim];
  const auto run = [&](auto zero) {
    using T = decltype(zero);
    const Writer<T> write_value(values);
    const Writer<int64_t> write_index(indices);
    return ForEachSortedRow<T>(
        context, self, dim, descending, values.strides, indices.strides,
        [&](const Entry<T>* row, int64_t, int64_t value_at, int64_t index_at) {
          for (int64_t i = 0; i < take; ++i) {
            write_value(value_at + i * value_step, row[i].value);
            write_index(index_at + i * index_step, row[i].index);
          }
        });
  };
  return IsFloatingPoint(self.dtype) ? run(double{}) : run(int64_t{});
}

absl::StatusOr<int> DimAt(const KernelContext& context, int i, const TensorView& self) {
  ABSL_ASSIGN_OR_RETURN(const int64_t dim, context.Int(i));
  return NormalizeDim(dim, self.rank());
}

// dim at `kDimAt`, descending after it.
template <int kDimAt>
absl::Status Sort(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(kDimAt + 2, 2));
  ABSL_ASSIGN_OR_RETURN(const TensorView* self,
                        TensorOf(context, 0, "self", kRealTypes | DTypeSet{DType::kUint16}));
  ABSL_ASSIGN_OR_RETURN(const int dim, DimAt(context, kDimAt, *self));
  ABSL_ASSIGN_OR_RETURN(const bool descending, context.Bool(kDimAt + 1));
  ABSL_ASSIGN_OR_RETURN(const TensorView* values, OutputOf(context, 0, self->dtype, *self));
  ABSL_ASSIGN_OR_RETURN(const TensorView* indices, OutputOf(context, 1, DType::kInt64, *self));
  return TakeSorted(context, *self, dim, descending, self->rank() == 0 ? 1 : self->sizes[dim],
                    *values, *indices);
}

absl::Status TopK(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(5, 2));
  ABSL_ASSIGN_OR_RETURN(const TensorView* self,
                        TensorOf(context, 0, "self", kIntegralTypes | kFloatTypes));
  ABSL_ASSIGN_OR_RETURN(const int64_t k, context.Int(1));
  ABSL_ASSIGN_OR_RETURN(const int dim, DimAt(context, 2, *self));
  ABSL_ASSIGN_OR_RETURN(const bool largest, context.Bool(3));
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape,
                        TopKShape<CheckedInt>(ToDims(self->sizes), dim, k));
  ABSL_ASSIGN_OR_RETURN(const TensorView* values, OutputOf(context, 0, self->dtype, shape));
  ABSL_ASSIGN_OR_RETURN(const TensorView* indices, OutputOf(context, 1, DType::kInt64, shape));
  // A number is taken whatever k is.
  const int64_t take = self->rank() == 0 ? 1 : k;
  return TakeSorted(context, *self, dim, largest, take, *values, *indices);
}

// One element of each row: the one that stands `place`th in ascending order, or for `kNanWins` the
// first NaN.
template <bool kNanWins>
absl::Status SelectSorted(KernelContext& context, const TensorView& self, int dim, bool keepdim,
                          int64_t place) {
  const uint32_t mask = self.rank() == 0 ? 0 : uint32_t{1} << dim;
  ABSL_RETURN_IF_ERROR(CheckNotEmpty<CheckedInt>(ToDims(self.sizes), mask));
  const Dims<CheckedInt> shape = FoldedShape<CheckedInt>(ToDims(self.sizes), mask, keepdim);
  ABSL_ASSIGN_OR_RETURN(const TensorView* values, OutputOf(context, 0, self.dtype, shape));
  ABSL_ASSIGN_OR_RETURN(const TensorView* indices, OutputOf(context, 1, DType::kInt64, shape));
  Strides value_strides = values->strides, index_strides = indices->strides;
  if (self.rank() > 0 && !keepdim) {
    value_strides.insert(dim, 0);
    index_strides.insert(dim, 0);
  }
  const auto run = [&](auto zero) {
    using T = decltype(zero);
    const Writer<T> write_value(*values);
    const Writer<int64_t> write_index(*indices);
    return ForEachSortedRow<T>(
        context, self, dim, false, value_strides, index_strides,
        [&](const Entry<T>* row, int64_t count, int64_t value_at, int64_t index_at) {
          const Entry<T>* chosen = &row[place];
          if (kNanWins && row[count - 1].value != row[count - 1].value) {
            while (chosen->value == chosen->value) ++chosen;
            while (chosen != row && chosen[-1].value != chosen[-1].value) --chosen;
          }
          write_value(value_at, chosen->value);
          write_index(index_at, chosen->index);
        });
  };
  return IsFloatingPoint(self.dtype) ? run(double{}) : run(int64_t{});
}

absl::Status Median(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(3, 2));
  ABSL_ASSIGN_OR_RETURN(const TensorView* self,
                        TensorOf(context, 0, "self", kIntegralTypes | kFloatTypes));
  ABSL_ASSIGN_OR_RETURN(const int dim, DimAt(context, 1, *self));
  ABSL_ASSIGN_OR_RETURN(const bool keepdim, context.Bool(2));
  const int64_t count = self->rank() == 0 ? 1 : self->sizes[dim];
  return SelectSorted<true>(context, *self, dim, keepdim, (count - 1) / 2);
}

absl::Status KthValue(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(4, 2));
  ABSL_ASSIGN_OR_RETURN(const TensorView* self,
                        TensorOf(context, 0, "self", kIntegralTypes | kFloatTypes));
  ABSL_ASSIGN_OR_RETURN(const int64_t k, context.Int(1));
  ABSL_ASSIGN_OR_RETURN(const int dim, DimAt(context, 2, *self));
  ABSL_ASSIGN_OR_RETURN(const bool keepdim, context.Bool(3));
  if (k == 0) return absl::InvalidArgumentError("k: expected at least 1, got 0");
  ABSL_RETURN_IF_ERROR(TopKShape<CheckedInt>(ToDims(self->sizes), dim, k).status());
  return SelectSorted<false>(context, *self, dim, keepdim, k - 1);
}

// One row along whichever dimension.
uint64_t RowScratchBytes(const KernelContext& context) {
  if (context.num_arguments() < 1) return 0;
  const absl::StatusOr<const TensorView*> self = context.Tensor(0);
  if (!self.ok()) return 0;
  int64_t longest = 1;
  for (int64_t size : (*self)->sizes) longest = std::max(longest, size);
  return ScratchBytesOf<Entry<double>>(longest);
}

constexpr KernelEngine kReference = KernelEngine::kReference;

constexpr Kernel kKernels[] = {
    {"aten.sort.default", "Sort", kReference, &Sort<1>, nullptr, &RowScratchBytes},
    {"aten.sort.stable", "SortStable", kReference, &Sort<2>, nullptr, &RowScratchBytes},
    {"aten.topk.default", "TopK", kReference, &TopK, nullptr, &RowScratchBytes},
    {"aten.kthvalue.default", "KthValue", kReference, &KthValue, nullptr, &RowScratchBytes},
    {"aten.median.dim", "MedianDim", kReference, &Median, nullptr, &RowScratchBytes},
};

}  // namespace

absl::Span<const Kernel> SortKernels() { return kKernels; }

}  // namespace belay
