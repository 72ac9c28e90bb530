#include <algorithm>
#include <cmath>

#include "runtime/core/status_macros.h"
#include "runtime/kernel_interface/kernel_arguments.h"
#include "runtime/kernel_interface/shape_rules/gather.h"
#include "runtime/kernel_interface/shape_rules/sort.h"
#include "runtime/kernels/element_copy/convert_run.h"
#include "runtime/kernels/element_copy/run_source.h"
#include "runtime/kernels/operands/element_access.h"
#include "runtime/kernels/operands/gather_walk.h"
#include "runtime/kernels/operands/operands.h"
#include "runtime/kernels/select/select.h"

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
  const int last = places.rank() - 1;
  const int64_t size = from.sizes[d], step = from.strides[d];
  Strides rest = from.strides;
  rest[d] = 0;
  Sizes outer = places.sizes;
  outer.erase(last);
  for (StridedIterator<3> it(outer, {places.strides, to.strides, rest}); !it.done(); it.Next()) {
    // Indices are copied before they are checked, since the index tensor may alias the result.
    RunSource source(static_cast<const std::byte*>(places.data) +
                         it.offset(0) * static_cast<int64_t>(DTypeSize(places.dtype)),
                     places.dtype, {places.sizes[last]}, {places.strides[last]}, DType::kInt64);
    RunStorage read, own;
    for (int64_t at = 0; at < places.sizes[last]; at += kRunBufferLength) {
      const int64_t n = std::min(kRunBufferLength, places.sizes[last] - at);
      const void* run = source.Next(n, read);
      if (run != read.bytes)
        ConvertRun(DType::kInt64, run, DType::kInt64, own.bytes, static_cast<size_t>(n));
      const int64_t* indices =
          reinterpret_cast<const int64_t*>(run != read.bytes ? own.bytes : read.bytes);
      const size_t outside = FirstOutside(indices, static_cast<size_t>(n), size);
      if (outside < static_cast<size_t>(n)) return IndexOutOfRange(indices[outside], size, d);
      GatherRow(ElementAddress(from, it.offset(2) + at * rest[last]), step, rest[last], indices,
                static_cast<size_t>(n), bytes,
                ElementAddress(to, it.offset(1) + at * to.strides[last]), to.strides[last]);
    }
  }
  return absl::OkStatus();
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

// Writes the first `take` elements of a row, sorted, to `best`. A heap with the worst of them at
// the top rejects most elements a block at a time.
template <class T>
void SelectTop(RunSource& source, int64_t count, int64_t take, bool largest, Entry<T>* best) {
  constexpr int64_t kBlock = 64;
  const Before<T> before = {largest};
  RunStorage buffer;
  int64_t kept = 0;
  for (int64_t start = 0; start < count; start += kRunBufferLength) {
    const int64_t n = std::min(kRunBufferLength, count - start);
    const T* x = static_cast<const T*>(source.Next(n, buffer));
    for (int64_t at = 0; at < n; at += kBlock) {
      const int64_t end = std::min(n, at + kBlock);
      if (kept == take &&
          !AnyBeats(x + at, static_cast<size_t>(end - at), best[0].value, largest)) {
        continue;
      }
      for (int64_t i = at; i < end; ++i) {
        const Entry<T> entry = {x[i], start + i};
        if (kept < take) {
          best[kept++] = entry;
          std::push_heap(best, best + kept, before);
        } else if (before(entry, best[0])) {
          std::pop_heap(best, best + kept, before);
          best[kept - 1] = entry;
          std::push_heap(best, best + kept, before);
        }
      }
    }
  }
  std::sort_heap(best, best + kept, before);
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
    ABSL_ASSIGN_OR_RETURN(Entry<T>* const best, ScratchArray<Entry<T>>(context, take));
    const Writer<decltype(written)> write(to);
    for (StridedIterator<3> it(rows, {from.strides, to.strides, places.strides}); !it.done();
         it.Next()) {
      RunSource source(ElementAddress(from, it.offset(0)), from.dtype, {from.sizes[dim]},
                       {from.strides[dim]}, type);
      SelectTop(source, from.sizes[dim], take, call.largest, best);
      for (int64_t i = 0; i < take; ++i) {
        write(it.offset(1) + i * to.strides[dim], best[i].value);
        places.as<int64_t>()[it.offset(2) + i * places.strides[dim]] = best[i].index;
      }
    }
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
  return ScratchBytesOf<Entry<int64_t>>(most);
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
