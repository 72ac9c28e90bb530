#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <type_traits>
#include <utility>

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
#include "runtime/kernels/select/select.h"
#include "runtime/kernels/sort/sort.h"

namespace belay {
namespace {

// ---- gather

absl::Status Gather(KernelContext& context, const GatherCall<KernelArguments>& call) {
  const TensorView *const self = call.self, *const index = call.index;
  ABSL_ASSIGN_OR_RETURN(const int d, call.CheckShapes());
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, self->dtype, *index));
  if (index->numel() == 0) return absl::OkStatus();
  const TensorView from = AtLeastVector(*self), places = AtLeastVector(*index),
                   to = AtLeastVector(*out);
  const size_t bytes = DTypeSize(from.dtype);
  if (bytes > sizeof(uint64_t))
    return absl::InternalError("the call changed after the kernel was chosen");
  // Runs are along the last dimension, or along the longest one if that is short.
  constexpr int64_t kShortRun = 16;
  int run_dim = places.rank() - 1;
  for (int k = run_dim - 1; k >= 0 && places.sizes[run_dim] < kShortRun; --k) {
    if (places.sizes[k] > places.sizes[run_dim]) run_dim = k;
  }
  const int64_t size = from.sizes[d], step = from.strides[d];
  Sizes outer = places.sizes;
  Strides place_strides = places.strides, to_strides = to.strides, rest = from.strides;
  rest[d] = 0;
  const int64_t place_step = place_strides[run_dim], to_step = to_strides[run_dim],
                rest_step = rest[run_dim], length = outer[run_dim];
  outer.erase(run_dim);
  for (Strides* strides : {&place_strides, &to_strides, &rest}) strides->erase(run_dim);
  const bool direct = places.dtype == DType::kInt64 && place_step == 1;
  const bool repeated = places.dtype == DType::kInt64 && place_step == 0;
  // Returns the first invalid index of the row whose indices, results and elements begin at these offsets.
  const auto gather_row = [&](int64_t place, int64_t target,
                              int64_t base) -> std::optional<int64_t> {
    const auto* const row =
        places.as<const std::byte>() + place * static_cast<int64_t>(DTypeSize(places.dtype));
    std::optional<RunSource> source;  // its setup takes as long as a short row
    RunStorage read, own;
    auto* const indices = reinterpret_cast<int64_t*>(own.bytes);
    if (repeated) {
      std::fill_n(indices, std::min(kRunBufferLength, length),
                  *reinterpret_cast<const int64_t*>(row));
    } else if (!direct) {
      source.emplace(row, places.dtype, Sizes{length}, Strides{place_step}, DType::kInt64);
    }
    for (int64_t at = 0; at < length; at += kRunBufferLength) {
      const int64_t n = std::min(kRunBufferLength, length - at);
      // Indices are copied before they are checked, since the index tensor may alias the result.
      if (!repeated) {
        std::memcpy(indices,
                    direct ? static_cast<const void*>(row + at * int64_t{sizeof(int64_t)})
                           : source->Next(n, read),
                    static_cast<size_t>(n) * sizeof(int64_t));
      }
      const size_t outside = FirstOutside(indices, static_cast<size_t>(n), size);
      if (outside < static_cast<size_t>(n)) return indices[outside];
      GatherRow(ElementAddress(from, base + at * rest_step), step, rest_step, indices,
                static_cast<size_t>(n), bytes, ElementAddress(to, target + at * to_step), to_step);
    }
    return std::nullopt;
  };
  const int inner = outer.size() - 1;
  // Gathers rows [first, end) up to the first one with an invalid index: returns that row and index.
  using Invalid = std::pair<int64_t, int64_t>;
  const auto gather_rows = [&](int64_t first, int64_t end) -> std::optional<Invalid> {
    int64_t place = 0, target = 0, base = 0;
    for (int64_t row = first; row < end; ++row) {
      if (row == first || inner < 0 || row % outer[inner] == 0) {
        place = OffsetAt(row, outer, place_strides);
        target = OffsetAt(row, outer, to_strides);
        base = OffsetAt(row, outer, rest);
      } else {  // steps are cheaper than OffsetAt
        place += place_strides[inner];
        target += to_strides[inner];
        base += rest[inner];
      }
      const std::optional<int64_t> invalid = gather_row(place, target, base);
      if (invalid.has_value()) return Invalid(row, *invalid);
    }
    return std::nullopt;
  };
  const int64_t rows = *NumElements(outer);
  if (MayOverlap(places, to)) {  // in order, since results replace indices
    const std::optional<Invalid> invalid = gather_rows(0, rows);
    return invalid.has_value() ? IndexOutOfRange(invalid->second, size, d) : absl::OkStatus();
  }
  std::atomic<int64_t> first_invalid = rows;
  RunRanges(context, rows, /*step=*/1, kElementWork * static_cast<double>(places.numel()),
            [&](int, int64_t first, int64_t end) {
              const std::optional<Invalid> invalid = gather_rows(first, end);
              int64_t before = first_invalid.load();
              while (invalid.has_value() && invalid->first < before &&
                     !first_invalid.compare_exchange_weak(before, invalid->first)) {
              }
            });
  const int64_t row = first_invalid.load();
  if (row == rows) return absl::OkStatus();
  return IndexOutOfRange(gather_rows(row, row + 1)->second, size, d);
}

bool AcceptsGather(const KernelContext& context, const GatherCall<KernelArguments>& call) {
  return DTypeSize(call.self->dtype) <= sizeof(uint64_t);
}

// ---- topk

// Float64 has more digits than the floats that are compared.
bool HasTopK(DType dtype) { return kRunTypes.contains(dtype) && dtype != DType::kFloat64; }

template <class T>
struct Entry {
  T value;
  int64_t index;
};

// Order of topk: larger (or smaller) values first; NaN is the largest; equal values by index.
template <class T>
struct Before {
  bool largest;
  static bool Less(T a, T b) { return a < b || (b != b && a == a); }
  bool operator()(const Entry<T>& a, const Entry<T>& b) const {
    if (largest ? Less(b.value, a.value) : Less(a.value, b.value)) return true;
    if (largest ? Less(a.value, b.value) : Less(b.value, a.value)) return false;
    return a.index < b.index;
  }
};

// SelectTop for rows of up to kFewElements floats, sorted by keys.
constexpr int64_t kFewElements = 16;
void SelectTopOfFew(const float* x, int64_t count, int64_t take, bool largest, Entry<float>* best) {
  SortKey keys[2 * kFewElements];
  MakeSortKeys(x, static_cast<size_t>(count), 0, largest, keys);
  const SortKey* const sorted = SortKeys(keys, keys + kFewElements, static_cast<size_t>(count));
  for (int64_t i = 0; i < take; ++i) best[i] = {x[PlaceOf(sorted[i])], PlaceOf(sorted[i])};
}

// Up to this many elements are kept in order, more in a heap.
constexpr int64_t kMostInOrder = 64;

// Keeps the first `take` of the added elements.
template <class T>
class Best {
 public:
  Best(int64_t take, bool largest, Entry<T>* entries)
      : before_{largest}, take_(take), entries_(entries) {}

  // The last of `take` elements. Precondition: full().
  const Entry<T>& last() const { return InOrder() ? entries_[kept_ - 1] : entries_[0]; }
  bool full() const { return kept_ == take_; }
  void Add(const Entry<T>& entry) {
    if (full() && !before_(entry, last())) return;
    if (InOrder()) {
      int64_t at = full() ? kept_ - 1 : kept_++;
      for (; at > 0 && before_(entry, entries_[at - 1]); --at) entries_[at] = entries_[at - 1];
      entries_[at] = entry;
      return;
    }
    if (full()) std::pop_heap(entries_, entries_ + kept_--, before_);
    entries_[kept_++] = entry;
    std::push_heap(entries_, entries_ + kept_, before_);
  }
  void Sort() {
    if (!InOrder()) std::sort_heap(entries_, entries_ + kept_, before_);
  }

 private:
  bool InOrder() const { return take_ <= kMostInOrder; }

  Before<T> before_;
  int64_t take_, kept_ = 0;
  Entry<T>* entries_;
};

// Writes the first `take` elements of a row, sorted, to `entries`. The last of them rejects most elements
// a block at a time.
template <class T>
void SelectTop(RunSource& source, int64_t count, int64_t take, bool largest, Entry<T>* entries) {
  constexpr int64_t kBlock = 64;
  Best<T> best(take, largest, entries);
  RunStorage buffer;
  if constexpr (std::is_same_v<T, float>) {
    if (count <= kFewElements) {
      const auto* const x = static_cast<const float*>(source.Next(count, buffer));
      return SelectTopOfFew(x, count, take, largest, entries);
    }
  }
  for (int64_t start = 0; start < count; start += kRunBufferLength) {
    const int64_t n = std::min(kRunBufferLength, count - start);
    const T* x = static_cast<const T*>(source.Next(n, buffer));
    for (int64_t at = 0; at < n; at += kBlock) {
      int64_t i = at;
      const int64_t end = std::min(n, at + kBlock);
      for (; i < end && !best.full(); ++i) best.Add({x[i], start + i});
      if (i == end) continue;
      // Of equal elements the first is kept.
      uint64_t beating = Beating(x + i, static_cast<size_t>(end - i), best.last().value, largest);
      for (; beating != 0; beating &= beating - 1) {
        const int64_t next = i + std::countr_zero(beating);
        best.Add({x[next], start + next});
      }
    }
  }
  best.Sort();
}

// Cost of an element of a row of topk, in multiply-adds.
constexpr double kSelectionWork = 8;

// Entries of a thread, on its own cache lines.
CheckedInt EntriesOfThread(int64_t take) {
  constexpr int64_t kLineEntries = 8;
  return FloorDiv(CheckedInt(take) + (kLineEntries - 1), kLineEntries) * kLineEntries;
}

absl::Status TopK(KernelContext& context, const TopKCall<KernelArguments>& call) {
  const TensorView* const self = call.self;
  const int dim = call.dim;
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape());
  ABSL_ASSIGN_OR_RETURN(const TensorView* values, OutputOf(context, 0, self->dtype, shape));
  ABSL_ASSIGN_OR_RETURN(const TensorView* indices, OutputOf(context, 1, DType::kInt64, shape));
  if (values->numel() == 0) return absl::OkStatus();
  const TensorView from = AtLeastVector(*self), to = AtLeastVector(*values),
                   places = AtLeastVector(*indices);
  const int64_t take = to.sizes[dim];  // k, but a scalar yields one element for any k
  Sizes rows = from.sizes;
  rows[dim] = 1;
  const auto run = [&](auto zero, auto written, DType type) -> absl::Status {
    using T = decltype(zero);
    ABSL_ASSIGN_OR_RETURN(
        Entry<T>* const memory,
        ScratchArray<Entry<T>>(context, EntriesOfThread(take) * context.num_threads()));
    const Writer<decltype(written)> write(to);
    const int64_t count = NumElements(rows).value_or(0);
    RunRanges(context, count, /*step=*/1, kSelectionWork * static_cast<double>(from.numel()),
              [&](int part, int64_t first, int64_t last) {
                Entry<T>* const best = memory + part * EntriesOfThread(take).value();
                for (int64_t row = first; row < last; ++row) {
                  RunSource source(ElementAddress(from, OffsetAt(row, rows, from.strides)),
                                   from.dtype, {from.sizes[dim]}, {from.strides[dim]}, type);
                  SelectTop(source, from.sizes[dim], take, call.largest, best);
                  const int64_t value = OffsetAt(row, rows, to.strides),
                                place = OffsetAt(row, rows, places.strides);
                  for (int64_t i = 0; i < take; ++i) {
                    write(value + i * to.strides[dim], best[i].value);
                    places.as<int64_t>()[place + i * places.strides[dim]] = best[i].index;
                  }
                }
              });
    return absl::OkStatus();
  };
  return IsFloatingPoint(from.dtype) ? run(float{}, double{}, DType::kFloat32)
                                     : run(int64_t{}, int64_t{}, DType::kInt64);
}

// A k above the maximal number of elements is rejected by the reference kernel, which needs no
// scratch memory.
bool AcceptsTopK(const KernelContext& context, const TopKCall<KernelArguments>& call) {
  return HasTopK(call.self->dtype) && call.Shape().ok();
}

uint64_t TopKScratch(const KernelContext& context, const TopKCall<KernelArguments>& call) {
  const absl::StatusOr<const TensorView*> values = context.PlannedOutput(0);
  if (!values.ok()) return 0;
  // If k is computed at run time, it is at most the length of the output.
  int64_t most = std::max<int64_t>(call.k.value(), 1);
  for (int64_t size : (*values)->sizes) most = std::max(most, size);
  return ScratchBytesOf<Entry<int64_t>>(EntriesOfThread(most) * context.num_threads());
}

constexpr Kernel kKernels[] = {
    KernelRow<&Gather, &AcceptsGather>("aten.gather.default", "self dim index sparse_grad",
                                       "GatherSimd", KernelEngine::kHighway),
    KernelRow<&TopK, &AcceptsTopK, &TopKScratch>(
        "aten.topk.default", "self k dim largest sorted -> 2", "TopKSimd", KernelEngine::kHighway),
};

}  // namespace

absl::Span<const Kernel> SelectHighwayKernels() { return kKernels; }

}  // namespace belay
