// Operators that copy elements to new places: copies, joins, reversals, repetitions.

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "absl/status/status.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernel/shape_rules/pad.h"
#include "runtime/kernel/shape_rules/slice.h"
#include "runtime/kernels/call/join_kernels.h"
#include "runtime/kernels/call/operands.h"
#include "runtime/kernels/call/strided_view.h"
#include "runtime/kernels/call/tensor_list.h"
#include "runtime/kernels/reference/families.h"
#include "runtime/kernels/reference/mapped_copy.h"

namespace belay {
namespace {

absl::Status Flip(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(2, 1));
  ABSL_ASSIGN_OR_RETURN(const TensorView* self, context.Tensor(0));
  ABSL_ASSIGN_OR_RETURN(const Sizes dims, context.IntList(1));
  ABSL_ASSIGN_OR_RETURN(const uint32_t mask, DimMask(dims, self->rank()));
  const TensorView from = *self;
  ABSL_ASSIGN_OR_RETURN(TensorView * out, context.Output(0, from.sizes));
  if (from.numel() == 0) return absl::OkStatus();
  return CopyMapped(from, *out,
                    [&](int d, int64_t i) { return (mask >> d) & 1 ? from.sizes[d] - 1 - i : i; });
}

// (i - shift) modulo size. Preconditions: 0 <= i < size, -size < shift < size.
int64_t Rolled(int64_t i, int64_t shift, int64_t size) {
  const int64_t source = i - shift;
  if (source < 0) return source + size;
  return source >= size ? source - size : source;
}

absl::Status Roll(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(3, 1));
  ABSL_ASSIGN_OR_RETURN(const TensorView* self, context.Tensor(0));
  ABSL_ASSIGN_OR_RETURN(const Sizes shifts, context.IntList(1));
  ABSL_ASSIGN_OR_RETURN(const Sizes dims, context.IntList(2));
  if (shifts.empty() || (dims.empty() ? shifts.size() != 1 : shifts.size() != dims.size())) {
    return absl::InvalidArgumentError(
        absl::StrCat("roll: ", shifts.size(), " shifts for ", dims.size(), " dims"));
  }
  const TensorView from = *self;
  if (dims.empty()) {  // the elements as one row
    ABSL_ASSIGN_OR_RETURN(TensorView * out, context.Output(0, from.sizes));
    if (from.dtype != out->dtype) return absl::InvalidArgumentError("roll: dtypes differ");
    const int64_t n = from.numel();
    const size_t bytes = DTypeSize(from.dtype);
    int64_t i = 0;
    for (StridedIterator<1> it(out->sizes, {out->strides}); !it.done(); it.Next(), ++i) {
      const int64_t source = ElementOffset(from, Rolled(i, shifts[0] % n, n));
      std::memcpy(ElementAddress(*out, it.offset(0)), ElementAddress(from, source), bytes);
    }
    return absl::OkStatus();
  }
  if (from.rank() == 0) {
    return absl::OutOfRangeError("roll: a scalar tensor has no dimensions to roll along");
  }
  if (dims.size() == 1 && from.numel() == 0) {  // PyTorch does not look at the dimension then
    return OutputOf(context, 0, from.dtype, from).status();
  }
  Sizes shift_of(from.rank(), 0);
  for (int k = 0; k < dims.size(); ++k) {
    ABSL_ASSIGN_OR_RETURN(const int d, NormalizeDim(dims[k], from.rank()));
    if (from.numel() == 0) continue;
    shift_of[d] = (shift_of[d] + shifts[k] % from.sizes[d]) % from.sizes[d];
  }
  ABSL_ASSIGN_OR_RETURN(TensorView * out, context.Output(0, from.sizes));
  return CopyMapped(from, *out,
                    [&](int d, int64_t i) { return Rolled(i, shift_of[d], from.sizes[d]); });
}

absl::Status Repeat(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(2, 1));
  ABSL_ASSIGN_OR_RETURN(const TensorView* self, context.Tensor(0));
  ABSL_ASSIGN_OR_RETURN(const Sizes repeats, context.IntList(1));
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> dims,
                        RepeatedShape<CheckedInt>(ToDims(self->sizes), ToDims(repeats)));
  ABSL_ASSIGN_OR_RETURN(const Sizes sizes, ToSizes(dims));
  TensorView from = *self;
  while (from.rank() < sizes.size()) {
    from.sizes.insert(0, 1);
    from.strides.insert(0, 0);
  }
  ABSL_ASSIGN_OR_RETURN(TensorView * out, context.Output(0, sizes));
  return CopyMapped(from, *out, [&](int d, int64_t i) { return i % from.sizes[d]; });
}

template <class T>
absl::Status RepeatIndices(KernelContext& context, const TensorView& repeats) {
  const auto repeat = [&](int64_t k) {
    return static_cast<int64_t>(repeats.as<const T>()[k * repeats.strides[0]]);
  };
  const int64_t count = repeats.sizes[0];
  CheckedInt total = 0;
  for (int64_t k = 0; k < count; ++k) {
    if (repeat(k) < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("repeat_interleave: element ", k, " of repeats is negative: ", repeat(k)));
    }
    total = total + CheckedInt(repeat(k));
  }
  ABSL_ASSIGN_OR_RETURN(const int64_t expected, context.IntOr(1, total.value()));
  if (!total.ok() || (count > 0 && expected != total.value())) {
    return absl::InvalidArgumentError(absl::StrCat(
        "repeat_interleave: repeats sum to ", DimToString(total), ", output_size is ", expected));
  }
  const Dims<CheckedInt> dims({total});
  ABSL_ASSIGN_OR_RETURN(TensorView * out, OutputOf(context, 0, repeats.dtype, dims));
  int64_t i = 0;
  for (int64_t k = 0; k < count; ++k) {
    for (int64_t n = repeat(k); n > 0 && i < total.value(); --n, ++i) {
      out->as<T>()[i * out->strides[0]] = static_cast<T>(k);
    }
  }
  return absl::OkStatus();
}

absl::Status RepeatInterleaveTensor(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(2, 1));
  ABSL_ASSIGN_OR_RETURN(const TensorView* repeats,
                        TensorOf(context, 0, "repeats", {DType::kInt32, DType::kInt64}));
  if (repeats->rank() != 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "repeat_interleave: repeats must be a vector, got ", FormatSizes(repeats->sizes)));
  }
  return repeats->dtype == DType::kInt32 ? RepeatIndices<int32_t>(context, *repeats)
                                         : RepeatIndices<int64_t>(context, *repeats);
}

absl::Status RepeatInterleaveSelfInt(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(4, 1));
  ABSL_ASSIGN_OR_RETURN(const TensorView* self, context.Tensor(0));
  ABSL_ASSIGN_OR_RETURN(const int64_t repeats, context.Int(1));
  TensorView from = *self;
  int d = 0;
  if (!context.is_none(2)) {
    ABSL_ASSIGN_OR_RETURN(const int64_t dim, context.Int(2));
    ABSL_ASSIGN_OR_RETURN(d, NormalizeDim(dim, from.rank()));
  }
  if (from.rank() == 0) {
    from.sizes = {1};
    from.strides = {1};
  }
  const bool flat = context.is_none(2) && from.rank() != 1;
  Dims<CheckedInt> dims = ToDims(from.sizes);
  if (flat) dims = Dims<CheckedInt>({CheckedInt(from.numel())});
  dims[d] = dims[d] * CheckedInt(repeats);
  ABSL_ASSIGN_OR_RETURN(const Sizes sizes, ToSizes(dims));
  ABSL_ASSIGN_OR_RETURN(TensorView * out, context.Output(0, sizes));
  if (!flat) {
    return CopyMapped(from, *out, [&](int e, int64_t i) { return e == d ? i / repeats : i; });
  }
  if (from.dtype != out->dtype)
    return absl::InvalidArgumentError("repeat_interleave: dtypes differ");
  const size_t bytes = DTypeSize(from.dtype);
  for (int64_t i = 0; i < sizes[0]; ++i) {
    std::memcpy(ElementAddress(*out, i * out->strides[0]),
                ElementAddress(from, ElementOffset(from, i / repeats)), bytes);
  }
  return absl::OkStatus();
}

// Keeps [.., i, j] where j - i <= diagonal (lower) or >= diagonal (upper); the others become 0.
template <bool kLower>
absl::Status Triangle(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(2, 1));
  ABSL_ASSIGN_OR_RETURN(const TensorView* self, context.Tensor(0));
  ABSL_ASSIGN_OR_RETURN(const int64_t diagonal, context.Int(1));
  const int rank = self->rank();
  if (rank < 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected at least 2 dimensions, got ", FormatSizes(self->sizes)));
  }
  ABSL_ASSIGN_OR_RETURN(TensorView * out, context.Output(0, self->sizes));
  ABSL_RETURN_IF_ERROR(CopyElements(*self, *out));
  if (out->numel() == 0) return absl::OkStatus();  // of however many rows
  const int64_t rows = out->sizes[rank - 2], columns = out->sizes[rank - 1];
  const size_t bytes = DTypeSize(out->dtype);
  Sizes batch = out->sizes;
  batch.erase(rank - 1);
  batch.erase(rank - 2);
  for (StridedIterator<1> it(batch, {out->strides}); !it.done(); it.Next()) {
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) {
        if (kLower ? j - i <= diagonal : j - i >= diagonal) continue;
        const int64_t offset =
            it.offset(0) + i * out->strides[rank - 2] + j * out->strides[rank - 1];
        std::memset(ElementAddress(*out, offset), 0, bytes);
      }
    }
  }
  return absl::OkStatus();
}

uint64_t ResizeScratch(const KernelContext& context) {
  if (context.num_arguments() < 1) return 0;
  const absl::StatusOr<const TensorView*> self = context.Tensor(0);
  if (!self.ok() || (*self)->numel() == 0) return 0;
  return (static_cast<uint64_t>(LastOffset(**self)) + 1) * DTypeSize((*self)->dtype);
}

// resize_: the elements stay in the order of the storage; those that were not there are 0.
absl::Status Resize(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(3, 1));
  ABSL_ASSIGN_OR_RETURN(TensorView * self, context.MutableTensor(0));
  ABSL_ASSIGN_OR_RETURN(const Sizes sizes, context.IntList(1));
  const std::optional<int64_t> count = NumElements(sizes);
  if (!count.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("resize_: ", FormatSizes(sizes), " are no sizes of a tensor"));
  }
  if (self->sizes == sizes) return ReturnSelf(context, *self);
  // The memory may move: the elements wait elsewhere.
  const int64_t bytes = static_cast<int64_t>(DTypeSize(self->dtype));
  const int64_t old_count = self->numel() == 0 ? 0 : LastOffset(*self) + 1;
  const int64_t kept = std::min(old_count, *count);
  ABSL_ASSIGN_OR_RETURN(std::byte * storage, ScratchArray<std::byte>(context, kept * bytes));
  if (kept > 0) std::memcpy(storage, self->data, static_cast<size_t>(kept * bytes));
  const DType dtype = self->dtype;
  ABSL_ASSIGN_OR_RETURN(TensorView * out, context.Output(0, sizes));
  if (out->dtype != dtype)
    return absl::InvalidArgumentError("resize_: the output is another tensor");
  for (StridedIterator<1> it(out->sizes, {out->strides}); !it.done(); it.Next()) {
    const int64_t place = it.offset(0);
    if (place < kept) {
      std::memcpy(ElementAddress(*out, place), storage + place * bytes, static_cast<size_t>(bytes));
    } else {
      std::memset(ElementAddress(*out, place), 0, static_cast<size_t>(bytes));
    }
  }
  return absl::OkStatus();
}

constexpr KernelEngine kReference = KernelEngine::kReference;

constexpr Kernel kKernels[] = {
    {"aten._to_copy.default", "Copy", kReference, &CopyAll<7, &CopyElements>},
    {"aten.cat.default", "Cat", kReference, &Cat<&CopyElements>},
    {"aten.clone.default", "Copy", kReference, &CopyAll<2, &CopyElements>},
    {"aten.copy.default", "CopyFrom", kReference, &Copy<&CopyElements>},
    {"aten.copy_.default", "CopyInPlace", kReference, &CopyInPlace<&CopyElements>},
    {"aten.flip.default", "Flip", kReference, &Flip},
    {"aten.pixel_shuffle.default", "PixelShuffle", kReference, &PixelShuffle<false, &CopyElements>},
    {"aten.pixel_unshuffle.default", "PixelUnshuffle", kReference,
     &PixelShuffle<true, &CopyElements>},
    {"aten.repeat.default", "Repeat", kReference, &Repeat},
    {"aten.repeat_interleave.Tensor", "RepeatInterleave", kReference, &RepeatInterleaveTensor},
    {"aten.repeat_interleave.self_int", "RepeatInterleave", kReference, &RepeatInterleaveSelfInt},
    {"aten.resize_.default", "Resize", kReference, &Resize, nullptr, &ResizeScratch},
    {"aten.roll.default", "Roll", kReference, &Roll},
    {"aten.stack.default", "Stack", kReference, &Stack<&CopyElements>},
    {"aten.tril.default", "Tril", kReference, &Triangle<true>},
    {"aten.triu.default", "Triu", kReference, &Triangle<false>},
};

}  // namespace

absl::Span<const Kernel> DataMovementKernels() { return kKernels; }

}  // namespace belay
