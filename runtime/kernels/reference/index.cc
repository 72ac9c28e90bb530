// Operators that read elements at positions given by index or mask tensors.

#include <algorithm>
#include <complex>
#include <cstdint>
#include <cstring>

#include "absl/status/status.h"
#include "runtime/core/element.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernel_interface/kernel_arguments.h"
#include "runtime/kernel_interface/shape_rules/gather.h"
#include "runtime/kernels/operands/element_access.h"
#include "runtime/kernels/operands/gather_walk.h"
#include "runtime/kernels/operands/index_select.h"
#include "runtime/kernels/operands/index_walk.h"
#include "runtime/kernels/operands/operands.h"
#include "runtime/kernels/operands/rounding.h"
#include "runtime/kernels/operands/strided_view.h"
#include "runtime/kernels/reference/families.h"

namespace belay {
namespace {

absl::Status Gather(KernelContext& context, const GatherCall<KernelArguments>& call) {
  const TensorView from = *call.self, places = *call.index;
  ABSL_ASSIGN_OR_RETURN(const int d, call.CheckShapes());
  ABSL_ASSIGN_OR_RETURN(TensorView * out, OutputOf(context, 0, from.dtype, places));
  const size_t bytes = DTypeSize(from.dtype);
  return WalkGather(from, d, places, *out, [&](int64_t self_offset, int64_t out_offset) {
    std::memmove(ElementAddress(*out, out_offset), ElementAddress(from, self_offset), bytes);
  });
}

absl::Status Index(KernelContext& context, const IndexCall<KernelArguments>& call) {
  const TensorView from = *call.self;
  ABSL_ASSIGN_OR_RETURN(const IndexWalk walk, IndexWalk::Create(context, call.indices, from));
  ABSL_ASSIGN_OR_RETURN(TensorView * out,
                        OutputOf(context, 0, from.dtype, ToDims(walk.result_sizes())));
  const ElementBlock block = walk.BlockFromSelf(out->strides);
  const size_t bytes = DTypeSize(from.dtype);
  return walk.Run(out->strides, [&](int64_t self_offset, int64_t out_offset) {
    block.Copy(ElementAddress(from, self_offset), ElementAddress(*out, out_offset), bytes);
  });
}

// Writes the elements of a row whose mask is not 0, at most `room` of them; returns their number. The
// next element is always written, and kept if its mask is not 0: masks are hard to predict.
template <class T>
int64_t SelectRow(const uint8_t* mask, int64_t mask_step, const void* from, int64_t step, int64_t n,
                  void* to, int64_t to_step, int64_t room) {
  const T* const x = static_cast<const T*>(from);
  T* const out = static_cast<T*>(to);
  int64_t written = 0;
  for (int64_t i = 0; i < n && written < room; ++i) {
    out[written * to_step] = x[i * step];
    written += mask[i * mask_step] != 0 ? 1 : 0;
  }
  return written;
}

absl::Status MaskedSelect(KernelContext& context, const MaskedSelectCall<KernelArguments>& call) {
  const TensorView *const self = call.self, *const mask = call.mask;
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> dims, call.Shape());
  ABSL_ASSIGN_OR_RETURN(const Sizes sizes, ToSizes(dims));
  ABSL_ASSIGN_OR_RETURN(const TensorView from, ExpandTo(*self, sizes));
  ABSL_ASSIGN_OR_RETURN(const TensorView places, ExpandTo(*mask, sizes));
  ABSL_RETURN_IF_ERROR(CheckBroadcastSteps("masked_select", sizes));
  int64_t count = 0;
  for (StridedIterator<1> it(sizes, {places.strides}); !it.done(); it.Next()) {
    count += ReadMask(places, it.offset(0)) ? 1 : 0;
  }
  const Dims<CheckedInt> result({CheckedInt(count)});
  ABSL_ASSIGN_OR_RETURN(TensorView * out, OutputOf(context, 0, from.dtype, result));
  const size_t bytes = DTypeSize(from.dtype);
  const int last = sizes.size() - 1;
  Sizes outer = sizes;
  if (last >= 0) outer.erase(last);
  const int64_t row = last < 0 ? 1 : sizes[last];
  int64_t done = 0;
  for (StridedIterator<2> it(outer, {places.strides, from.strides}); !it.done() && done < count;
       it.Next()) {
    const auto select = [&](auto element) {
      done += SelectRow<decltype(element)>(
          static_cast<const uint8_t*>(ElementAddress(places, it.offset(0))),
          last < 0 ? 0 : places.strides[last], ElementAddress(from, it.offset(1)),
          last < 0 ? 0 : from.strides[last], row, ElementAddress(*out, done * out->strides[0]),
          out->strides[0], count - done);
    };
    switch (bytes) {
      case 1:
        select(uint8_t{});
        break;
      case 2:
        select(uint16_t{});
        break;
      case 4:
        select(uint32_t{});
        break;
      case 8:
        select(uint64_t{});
        break;
      default:
        select(std::complex<double>());
    }
  }
  return absl::OkStatus();
}

absl::Status Nonzero(KernelContext& context, const NonzeroCall<KernelArguments>& call) {
  const TensorView from = *call.self;
  ABSL_RETURN_IF_ERROR(ExpectNumbers("self", from));
  const bool is_complex = IsComplex(from.dtype);
  // Complex numbers are nonzero if one of their parts is; all others are compared as double. No
  // integer becomes 0 by conversion, and NaN is not 0.
  const LoadFn<double> load = LoadAs<double>(from.dtype);
  const LoadFn<std::complex<double>> load_complex = LoadAs<std::complex<double>>(from.dtype);
  const auto is_nonzero = [&](int64_t offset) {
    if (from.dtype == DType::kBool) return ReadMask(from, offset);
    return is_complex ? load_complex(from.data, offset) != std::complex<double>()
                      : load(from.data, offset) != 0;
  };
  int64_t count = 0;
  for (StridedIterator<1> it(from.sizes, {from.strides}); !it.done(); it.Next()) {
    count += is_nonzero(it.offset(0)) ? 1 : 0;
  }
  const Dims<CheckedInt> dims({CheckedInt(count), CheckedInt(from.rank())});
  ABSL_ASSIGN_OR_RETURN(TensorView * out, OutputOf(context, 0, DType::kInt64, dims));
  int64_t* const target = out->as<int64_t>();
  const int last = from.rank() - 1;
  const int64_t length = last < 0 ? 1 : from.sizes[last], step = last < 0 ? 0 : from.strides[last];
  const int64_t out_row = out->strides[0], out_dim = out->strides[1];
  Sizes outer = from.sizes, index(std::max(last, 0), 0);
  if (last >= 0) outer.erase(last);
  int64_t row = 0;
  // The next row is always written, and kept if the element is not 0: masks are hard to predict.
  for (StridedIterator<1> it(outer, {from.strides}); !it.done() && row < count; it.Next()) {
    for (int64_t i = 0; i < length && row < count; ++i) {
      int64_t* const to = target + row * out_row;
      for (int d = 0; d < last; ++d) to[d * out_dim] = index[d];
      if (last >= 0) to[last * out_dim] = i;
      row += is_nonzero(it.offset(0) + i * step) ? 1 : 0;
    }
    for (int d = last - 1; d >= 0 && ++index[d] == from.sizes[d]; --d) index[d] = 0;
  }
  return absl::OkStatus();
}

// Number of boundaries of a row that are less than the value, or not greater if kRight. NaN is
// greater than all numbers. Without branches that depend on boundaries, which are hard to predict.
template <bool kRight, class T, class Boundary>
int64_t LowerBound(int64_t size, T value, Boundary boundary) {
  int64_t begin = 0;
  while (size > 0) {
    const int64_t half = size / 2;
    const T at = boundary(begin + half);
    const bool before = kRight ? !(at > value) : !(at >= value);
    begin = before ? begin + half + 1 : begin;
    size = before ? size - half - 1 : half;
  }
  return begin;
}

template <class T, class Boundary>
int64_t LowerBound(int64_t size, T value, bool right, Boundary boundary) {
  return right ? LowerBound<true>(size, value, boundary) : LowerBound<false>(size, value, boundary);
}

// Searches if both tensors have elements of type T, and rows of adjacent boundaries.
template <class T, DType kType>
bool SearchRows(const TensorView& boundaries, const TensorView& values, const Strides& row_of,
                bool right, const TensorView& out) {
  const int last = boundaries.rank() - 1;
  if (boundaries.dtype != kType || values.dtype != kType || boundaries.strides[last] != 1) {
    return false;
  }
  const Writer<int64_t> write(out);
  for (StridedIterator<3> it(values.sizes, {values.strides, out.strides, row_of}); !it.done();
       it.Next()) {
    const T* const row = boundaries.as<const T>() + it.offset(2);
    write(it.offset(1), LowerBound(boundaries.sizes[last], values.as<const T>()[it.offset(0)],
                                   right, [row](int64_t i) { return row[i]; }));
  }
  return true;
}

absl::Status Search(KernelContext& context, const SearchCall<KernelArguments>& call) {
  const TensorView &boundaries = *call.boundaries, &values = *call.values;
  const TensorView* const sorter = call.sorter;
  const DType common = call.search_type;
  const bool right = call.right;
  ABSL_RETURN_IF_ERROR(call.CheckShapes());
  ABSL_ASSIGN_OR_RETURN(TensorView * out, OutputOf(context, 0, call.dtype, values));
  const int last = boundaries.rank() - 1;
  const int64_t size = boundaries.sizes[last];
  // Strides of boundaries and sorter for the row of a value; 0 along the row.
  Strides row_of(values.rank(), 0), sorter_row_of(values.rank(), 0);
  for (int d = 0; d < last; ++d) {
    row_of[d] = boundaries.strides[d];
    if (sorter != nullptr) sorter_row_of[d] = sorter->strides[d];
  }
  if (sorter == nullptr &&
      (SearchRows<float, DType::kFloat32>(boundaries, values, row_of, right, *out) ||
       SearchRows<int64_t, DType::kInt64>(boundaries, values, row_of, right, *out))) {
    return absl::OkStatus();
  }
  const Writer<int64_t> write(*out);
  absl::Status status;
  const RoundFn round = RoundingTo(common);
  WithComputeType(common, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (!kIsComplex<T>) {
      const Reader<T> read_value(values), read_bound(boundaries);
      // Converts elements to the precision of the common dtype.
      const auto held = [&](T x) -> T {
        if constexpr (std::is_floating_point_v<T>) x = static_cast<T>(round(x));
        return x;
      };
      const auto read = [&](int64_t at) { return held(read_value(at)); };
      const auto read_boundary = [&](int64_t at) { return held(read_bound(at)); };
      for (StridedIterator<4> it(values.sizes,
                                 {values.strides, out->strides, row_of, sorter_row_of});
           !it.done(); it.Next()) {
        const auto boundary = [&](int64_t i) -> T {
          if (sorter != nullptr) {
            const int64_t sorted = ReadIndex(*sorter, it.offset(3) + i * sorter->strides[last]);
            if (sorted < 0 || sorted >= size) {
              if (status.ok()) status = IndexOutOfRange(sorted, size, last);
              return T{};
            }
            i = sorted;
          }
          return read_boundary(it.offset(2) + i * boundaries.strides[last]);
        };
        write(it.offset(1), LowerBound(size, read(it.offset(0)), right, boundary));
      }
    }
  });
  return status;
}

constexpr KernelEngine kReference = KernelEngine::kReference;

constexpr Kernel kKernels[] = {
    KernelRow<&Search>("aten.bucketize.Tensor", "self boundaries out_int32 right", "Bucketize",
                       kReference),
    KernelRow<&Gather>("aten.gather.default", "self dim index sparse_grad", "Gather", kReference),
    KernelRow<&Index, nullptr, &IndexScratch<IndexCall<KernelArguments>>>(
        "aten.index.Tensor", "self indices", "Index", kReference),
    KernelRow<&IndexSelect<&CopyElements>>("aten.index_select.default", "self dim index",
                                           "IndexSelect", kReference),
    KernelRow<&MaskedSelect>("aten.masked_select.default", "self mask", "MaskedSelect", kReference),
    KernelRow<&Nonzero>("aten.nonzero.default", "self", "Nonzero", kReference),
    KernelRow<&Search>("aten.searchsorted.Tensor",
                       "sorted_sequence self out_int32 right side sorter", "SearchSorted",
                       kReference),
};

}  // namespace

absl::Span<const Kernel> IndexKernels() { return kKernels; }

}  // namespace belay
