// Operators that copy elements to other positions: copies, joins, reversals, repetitions.

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "absl/status/status.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernel_interface/kernel_arguments.h"
#include "runtime/kernel_interface/shape_rules/movement.h"
#include "runtime/kernels/operands/join_kernels.h"
#include "runtime/kernels/operands/operands.h"
#include "runtime/kernels/operands/strided_view.h"
#include "runtime/kernels/operands/tensor_list.h"
#include "runtime/kernels/reference/families.h"
#include "runtime/kernels/reference/mapped_copy.h"

namespace belay {
namespace {

absl::Status Flip(KernelContext& context, const FlipCall<KernelArguments>& call) {
  const uint32_t mask = call.mask;
  const TensorView from = *call.self;
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

absl::Status Roll(KernelContext& context, const RollCall<KernelArguments>& call) {
  const Sizes& dims = call.dims;
  const TensorView from = *call.self;
  if (dims.empty()) {  // views the elements as one row
    ABSL_ASSIGN_OR_RETURN(TensorView * out, context.Output(0, from.sizes));
    if (from.dtype != out->dtype) return absl::InvalidArgumentError("roll: dtypes differ");
    const int64_t n = from.numel();
    const size_t bytes = DTypeSize(from.dtype);
    int64_t i = 0;
    for (StridedIterator<1> it(out->sizes, {out->strides}); !it.done(); it.Next(), ++i) {
      const int64_t source = ElementOffset(from, Rolled(i, call.shifts[0].value() % n, n));
      std::memcpy(ElementAddress(*out, it.offset(0)), ElementAddress(from, source), bytes);
    }
    return absl::OkStatus();
  }
  if (dims.size() == 1 && from.numel() == 0) {  // PyTorch ignores the dimension in this case
    return OutputOf(context, 0, from.dtype, from).status();
  }
  Sizes shift_of(from.rank(), 0);
  for (int k = 0; k < dims.size(); ++k) {
    ABSL_ASSIGN_OR_RETURN(const int d, NormalizeDim(dims[k], from.rank()));
    if (from.numel() == 0) continue;
    shift_of[d] = (shift_of[d] + call.shifts[k].value() % from.sizes[d]) % from.sizes[d];
  }
  ABSL_ASSIGN_OR_RETURN(TensorView * out, context.Output(0, from.sizes));
  return CopyMapped(from, *out,
                    [&](int d, int64_t i) { return Rolled(i, shift_of[d], from.sizes[d]); });
}

absl::Status Repeat(KernelContext& context, const RepeatCall<KernelArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> dims, call.Shape());
  ABSL_ASSIGN_OR_RETURN(const Sizes sizes, ToSizes(dims));
  TensorView from = *call.self;
  while (from.rank() < sizes.size()) {
    from.sizes.insert(0, 1);
    from.strides.insert(0, 0);
  }
  ABSL_ASSIGN_OR_RETURN(TensorView * out, context.Output(0, sizes));
  return CopyMapped(from, *out, [&](int d, int64_t i) { return i % from.sizes[d]; });
}

template <class T>
absl::Status RepeatIndices(KernelContext& context,
                           const RepeatedIndicesCall<KernelArguments>& call) {
  const TensorView& repeats = *call.repeats;
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
  const CheckedInt expected = call.output_size.value_or(total);
  if (!total.ok() || (count > 0 && !(expected == total))) {
    return absl::InvalidArgumentError(absl::StrCat("repeat_interleave: repeats sum to ",
                                                   DimToString(total), ", output_size is ",
                                                   DimToString(expected)));
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

absl::Status RepeatInterleaveTensor(KernelContext& context,
                                    const RepeatedIndicesCall<KernelArguments>& call) {
  return call.repeats->dtype == DType::kInt32 ? RepeatIndices<int32_t>(context, call)
                                              : RepeatIndices<int64_t>(context, call);
}

absl::Status RepeatInterleaveSelfInt(KernelContext& context,
                                     const RepeatedElementsCall<KernelArguments>& call) {
  const int64_t repeats = call.repeats.value();
  TensorView from = *call.self;
  if (from.rank() == 0) {
    from.sizes = {1};
    from.strides = {1};
  }
  ABSL_ASSIGN_OR_RETURN(const Sizes sizes, ToSizes(call.Shape(from.numel())));
  ABSL_ASSIGN_OR_RETURN(TensorView * out, context.Output(0, sizes));
  if (!call.flat || from.rank() == 1) {
    return CopyMapped(from, *out,
                      [&](int d, int64_t i) { return d == call.dim ? i / repeats : i; });
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

// Keeps [.., i, j] if j - i <= diagonal (lower) or >= diagonal (upper); sets other elements to 0.
template <bool kLower>
absl::Status Triangle(KernelContext& context, const TriangleCall<KernelArguments>& call) {
  const int64_t diagonal = call.diagonal.value();
  const int rank = call.self->rank();
  ABSL_ASSIGN_OR_RETURN(TensorView * out, context.Output(0, call.self->sizes));
  ABSL_RETURN_IF_ERROR(CopyElements(*call.self, *out));
  if (out->numel() == 0) return absl::OkStatus();  // any number of rows
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

uint64_t ResizeScratch(const KernelContext&, const ResizeCall<KernelArguments>& call) {
  if (call.self->numel() == 0) return 0;
  return (static_cast<uint64_t>(LastOffset(*call.self)) + 1) * DTypeSize(call.self->dtype);
}

// resize_: elements keep their storage order; new elements are 0.
absl::Status Resize(KernelContext& context, const ResizeCall<KernelArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(TensorView * self, context.MutableTensor(call.target));
  ABSL_ASSIGN_OR_RETURN(const Sizes sizes, ToSizes(call.size));
  if (self->sizes == sizes) return ReturnSelf(context, *self);
  // The memory may move, so the elements are saved in a buffer.
  const int64_t bytes = static_cast<int64_t>(DTypeSize(self->dtype));
  const int64_t old_count = self->numel() == 0 ? 0 : LastOffset(*self) + 1;
  const int64_t kept = std::min(old_count, *NumElements(sizes));
  ABSL_ASSIGN_OR_RETURN(std::byte * storage, ScratchArray<std::byte>(context, kept * bytes));
  if (kept > 0) std::memcpy(storage, self->data, static_cast<size_t>(kept * bytes));
  const DType dtype = self->dtype;
  ABSL_ASSIGN_OR_RETURN(TensorView * out, context.Output(0, sizes));
  if (out->dtype != dtype)
    return absl::InvalidArgumentError("resize_: expected self as the output, got another tensor");
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
    KernelRow<&CopyAll<&CopyElements>>(
        "aten._to_copy.default", "self dtype layout device pin_memory non_blocking memory_format",
        "Copy", kReference),
    KernelRow<&Cat<&CopyElements>>("aten.cat.default", "tensors dim", "Cat", kReference),
    KernelRow<&CopyAll<&CopyElements>>("aten.clone.default", "self memory_format", "Copy",
                                       kReference),
    KernelRow<&Copy<&CopyElements>>("aten.copy.default", "self src non_blocking", "CopyFrom",
                                    kReference),
    KernelRow<&CopyInPlace<&CopyElements>>("aten.copy_.default", "self src non_blocking",
                                           "CopyInPlace", kReference),
    KernelRow<&Flip>("aten.flip.default", "self dims", "Flip", kReference),
    KernelRow<&PixelShuffle<&CopyElements>>("aten.pixel_shuffle.default", "self upscale_factor",
                                            "PixelShuffle", kReference),
    KernelRow<&PixelShuffle<&CopyElements>>("aten.pixel_unshuffle.default", "self downscale_factor",
                                            "PixelUnshuffle", kReference),
    KernelRow<&Repeat>("aten.repeat.default", "self repeats", "Repeat", kReference),
    KernelRow<&RepeatInterleaveTensor>("aten.repeat_interleave.Tensor", "repeats output_size",
                                       "RepeatInterleave", kReference),
    KernelRow<&RepeatInterleaveSelfInt>("aten.repeat_interleave.self_int",
                                        "self repeats dim output_size", "RepeatInterleave",
                                        kReference),
    KernelRow<&Resize, nullptr, &ResizeScratch>("aten.resize_.default", "self size memory_format",
                                                "Resize", kReference),
    KernelRow<&Roll>("aten.roll.default", "self shifts dims", "Roll", kReference),
    KernelRow<&Stack<&CopyElements>>("aten.stack.default", "tensors dim", "Stack", kReference),
    KernelRow<&Triangle<true>>("aten.tril.default", "self diagonal", "Tril", kReference),
    KernelRow<&Triangle<false>>("aten.triu.default", "self diagonal", "Triu", kReference),
    // For devices that share the host's memory; others have their own kernels.
    KernelRow<&CopyAll<&CopyElements>>("et_copy._d2h_copy.default", "self", "Copy", kReference),
    KernelRow<&CopyAll<&CopyElements>>("et_copy._h2d_copy.default", "self", "Copy", kReference),
};

}  // namespace

absl::Span<const Kernel> DataMovementKernels() { return kKernels; }

}  // namespace belay
