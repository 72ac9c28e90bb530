// Operators that sort along one dimension. NaN is the largest number; equal elements keep their
// order.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "runtime/core/status_macros.h"
#include "runtime/kernel_interface/kernel_arguments.h"
#include "runtime/kernel_interface/shape_rules/sort.h"
#include "runtime/kernels/operands/fold.h"
#include "runtime/kernels/operands/operands.h"
#include "runtime/kernels/reference/families.h"

namespace belay {
namespace {

// An element of a row and its original position.
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

// Order of entries.
template <class T>
struct Precedes {
  bool descending = false;
  bool operator()(const Entry<T>& a, const Entry<T>& b) const {
    if (descending ? Less(b.value, a.value) : Less(a.value, b.value)) return true;
    if (descending ? Less(a.value, b.value) : Less(b.value, a.value)) return false;
    return a.index < b.index;
  }
};

// Reads each row along `dim` to scratch memory and calls fn(row, count, offset of the row in
// `values`, in `indices`). Outputs have dimension `dim`, of any size.
template <class T, class Fn>
absl::Status ForEachRow(const KernelContext& context, const TensorView& self, int dim,
                        const Strides& values, const Strides& indices, Fn&& fn) {
  const Fold fold = FoldOneDim(self, dim);
  const int64_t count = fold.count();
  if (count == 0) return absl::OkStatus();  // any number of rows
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
    return ForEachRow<T>(context, self, dim, values.strides, indices.strides,
                         [&](Entry<T>* row, int64_t count, int64_t value_at, int64_t index_at) {
                           const Precedes<T> precedes = {descending};
                           if (take < count)
                             std::nth_element(row, row + take, row + count, precedes);
                           std::sort(row, row + take, precedes);
                           for (int64_t i = 0; i < take; ++i) {
                             write_value(value_at + i * value_step, row[i].value);
                             write_index(index_at + i * index_step, row[i].index);
                           }
                         });
  };
  return IsFloatingPoint(self.dtype) ? run(double{}) : run(int64_t{});
}

absl::Status Sort(KernelContext& context, const SortCall<KernelArguments>& call) {
  const TensorView* const self = call.self;
  ABSL_ASSIGN_OR_RETURN(const TensorView* values, OutputOf(context, 0, self->dtype, *self));
  ABSL_ASSIGN_OR_RETURN(const TensorView* indices, OutputOf(context, 1, DType::kInt64, *self));
  return TakeSorted(context, *self, call.dim, call.descending,
                    self->rank() == 0 ? 1 : self->sizes[call.dim], *values, *indices);
}

absl::Status TopK(KernelContext& context, const TopKCall<KernelArguments>& call) {
  const TensorView* const self = call.self;
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape());
  ABSL_ASSIGN_OR_RETURN(const TensorView* values, OutputOf(context, 0, self->dtype, shape));
  ABSL_ASSIGN_OR_RETURN(const TensorView* indices, OutputOf(context, 1, DType::kInt64, shape));
  // A tensor of rank 0 yields one element for any k.
  const int64_t take = self->rank() == 0 ? 1 : call.k.value();
  return TakeSorted(context, *self, call.dim, call.largest, take, *values, *indices);
}

// Selects one element of each row: the one at `place` in ascending order, or, with `kNanWins`, the
// first NaN.
template <bool kNanWins, class Call>
absl::Status SelectSorted(KernelContext& context, const Call& call, int64_t place) {
  const TensorView& self = *call.self;
  const int dim = call.dim;
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape());
  ABSL_ASSIGN_OR_RETURN(const TensorView* values, OutputOf(context, 0, self.dtype, shape));
  ABSL_ASSIGN_OR_RETURN(const TensorView* indices, OutputOf(context, 1, DType::kInt64, shape));
  Strides value_strides = values->strides, index_strides = indices->strides;
  if (self.rank() > 0 && !call.keepdim) {
    value_strides.insert(dim, 0);
    index_strides.insert(dim, 0);
  }
  const auto run = [&](auto zero) {
    using T = decltype(zero);
    const Writer<T> write_value(*values);
    const Writer<int64_t> write_index(*indices);
    return ForEachRow<T>(context, self, dim, value_strides, index_strides,
                         [&](Entry<T>* row, int64_t count, int64_t value_at, int64_t index_at) {
                           const auto is_nan = [](const Entry<T>& entry) {
                             return entry.value != entry.value;
                           };
                           const Entry<T>* chosen = std::find_if(row, row + count, is_nan);
                           if (!kNanWins || chosen == row + count) {
                             std::nth_element(row, row + place, row + count, Precedes<T>());
                             chosen = row + place;
                           }
                           write_value(value_at, chosen->value);
                           write_index(index_at, chosen->index);
                         });
  };
  return IsFloatingPoint(self.dtype) ? run(double{}) : run(int64_t{});
}

absl::Status Median(KernelContext& context, const MedianCall<KernelArguments>& call) {
  const int64_t count = call.self->rank() == 0 ? 1 : call.self->sizes[call.dim];
  return SelectSorted<true>(context, call, (count - 1) / 2);
}

absl::Status KthValue(KernelContext& context, const KthValueCall<KernelArguments>& call) {
  return SelectSorted<false>(context, call, (call.k - CheckedInt(1)).value());
}

// Scratch bytes of one row along any dimension, since the dimension may be known only at run time.
template <class Call>
uint64_t RowScratchBytes(const KernelContext& context, const Call& call) {
  int64_t longest = 1;
  for (int64_t size : call.self->sizes) longest = std::max(longest, size);
  return ScratchBytesOf<Entry<double>>(longest);
}

template <class Call, absl::Status (*kRun)(KernelContext&, const Call&)>
constexpr Kernel Row(std::string_view op, std::string_view signature, std::string_view name) {
  return KernelRow<kRun, nullptr, &RowScratchBytes<Call>>(op, signature, name,
                                                          KernelEngine::kReference);
}

constexpr Kernel kKernels[] = {
    Row<SortCall<KernelArguments>, &Sort>("aten.sort.default", "self dim descending -> 2", "Sort"),
    Row<SortCall<KernelArguments>, &Sort>("aten.sort.stable", "self stable dim descending -> 2",
                                          "SortStable"),
    Row<TopKCall<KernelArguments>, &TopK>("aten.topk.default", "self k dim largest sorted -> 2",
                                          "TopK"),
    Row<KthValueCall<KernelArguments>, &KthValue>("aten.kthvalue.default",
                                                  "self k dim keepdim -> 2", "KthValue"),
    Row<MedianCall<KernelArguments>, &Median>("aten.median.dim", "self dim keepdim -> 2",
                                              "MedianDim"),
};

}  // namespace

absl::Span<const Kernel> SortKernels() { return kKernels; }

}  // namespace belay
