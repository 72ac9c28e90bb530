#include "runtime/core/tensor_view.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <type_traits>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/core/checked_math.h"
#include "runtime/core/element.h"

namespace belay {
namespace {

constexpr DTypeSet kConvertibleTypes =
    kRealTypes | kComplexTypes | kUnsignedWideTypes | kFloat8Types;

// The distance in bytes from the first to behind the last element; nullopt on overflow.
std::optional<uint64_t> SpanBytes(const TensorView& view) {
  uint64_t last = 0;
  for (int d = 0; d < view.rank(); ++d) {
    const std::optional<uint64_t> extent = CheckedMul<uint64_t>(
        static_cast<uint64_t>(view.sizes[d] - 1), static_cast<uint64_t>(view.strides[d]));
    if (!extent.has_value()) return std::nullopt;
    const std::optional<uint64_t> sum = CheckedAdd(last, *extent);
    if (!sum.has_value()) return std::nullopt;
    last = *sum;
  }
  const std::optional<uint64_t> count = CheckedAdd<uint64_t>(last, 1);
  if (!count.has_value()) return std::nullopt;
  return CheckedMul<uint64_t>(*count, DTypeSize(view.dtype));
}

// Equal up to the strides of dimensions of size 1.
bool SameLayout(const TensorView& a, const TensorView& b) {
  for (int d = 0; d < a.rank(); ++d) {
    if (a.sizes[d] != 1 && a.strides[d] != b.strides[d]) return false;
  }
  return true;
}

// A bool in memory may be any byte: reading it as bool would be undefined.
template <class T>
T LoadElement(const void* base, int64_t offset) {
  if constexpr (std::is_same_v<T, bool>) {
    return static_cast<const uint8_t*>(base)[offset] != 0;
  } else {
    return static_cast<const T*>(base)[offset];
  }
}

// Calls fn(from_offset, to_offset, count, from_stride, to_stride) for each run along the last
// dimension.
template <class Fn>
void ForEachRun(const TensorView& from, const TensorView& to, Fn fn) {
  if (from.rank() == 0) {
    fn(0, 0, 1, 1, 1);
    return;
  }
  Sizes outer = from.sizes;
  const int last = from.rank() - 1;
  outer.erase(last);
  if (from.sizes[last] == 0) return;
  for (StridedIterator<2> it(outer, {from.strides, to.strides}); !it.done(); it.Next()) {
    fn(it.offset(0), it.offset(1), from.sizes[last], from.strides[last], to.strides[last]);
  }
}

// memcpy, because elements that are only moved need not be aligned.
template <size_t kSize>
void CopyBytes(const TensorView& from, const TensorView& to) {
  const std::byte* source = from.as<const std::byte>();
  std::byte* target = to.as<std::byte>();
  ForEachRun(from, to, [&](int64_t f, int64_t t, int64_t count, int64_t fs, int64_t ts) {
    if (fs == 1 && ts == 1) {
      // A program file may have laid the two over each other.
      std::memmove(target + t * kSize, source + f * kSize, count * kSize);
      return;
    }
    for (int64_t i = 0; i < count; ++i) {
      std::memcpy(target + (t + i * ts) * kSize, source + (f + i * fs) * kSize, kSize);
    }
  });
}

template <class From, class To>
void ConvertElements(const TensorView& from, const TensorView& to) {
  To* target = to.as<To>();
  ForEachRun(from, to, [&](int64_t f, int64_t t, int64_t count, int64_t fs, int64_t ts) {
    for (int64_t i = 0; i < count; ++i) {
      target[t + i * ts] = ConvertElement<To>(LoadElement<From>(from.data, f + i * fs));
    }
  });
}

}  // namespace

TensorView TensorView::Contiguous(DType dtype, absl::Span<const int64_t> sizes, void* data) {
  TensorView view;
  view.dtype = dtype;
  view.sizes = Sizes(sizes);
  view.strides = ContiguousStrides(sizes);
  view.data = data;
  return view;
}

int64_t TensorView::numel() const { return NumElements(sizes).value_or(0); }

std::string TensorView::ToString() const {
  std::string s = absl::StrCat(DTypeShortName(dtype), FormatSizes(sizes));
  if (!is_contiguous()) absl::StrAppend(&s, " strides ", FormatSizes(strides));
  return s;
}

bool MayOverlap(const TensorView& a, const TensorView& b) {
  if (a.numel() == 0 || b.numel() == 0) return false;
  const std::optional<uint64_t> a_bytes = SpanBytes(a);
  const std::optional<uint64_t> b_bytes = SpanBytes(b);
  if (!a_bytes.has_value() || !b_bytes.has_value()) return true;
  const uint64_t a_begin = reinterpret_cast<uintptr_t>(a.data);
  const uint64_t b_begin = reinterpret_cast<uintptr_t>(b.data);
  return a_begin <= b_begin ? b_begin - a_begin < *a_bytes : a_begin - b_begin < *b_bytes;
}

absl::Status CopyElements(const TensorView& from, const TensorView& to) {
  if (!(from.sizes == to.sizes)) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot copy ", from.ToString(), " to ", to.ToString(), ": sizes differ"));
  }
  if (from.dtype != to.dtype &&
      (!kConvertibleTypes.contains(from.dtype) || !kConvertibleTypes.contains(to.dtype))) {
    return absl::InvalidArgumentError(
        absl::StrCat("no conversion from ", DTypeName(from.dtype), " to ", DTypeName(to.dtype)));
  }
  if (from.numel() == 0) return absl::OkStatus();
  if (from.dtype != to.dtype) {
    DispatchDType<kConvertibleTypes>(from.dtype, [&](auto from_tag) {
      DispatchDType<kConvertibleTypes>(to.dtype, [&](auto to_tag) {
        ConvertElements<CppType<from_tag.value>, CppType<to_tag.value>>(from, to);
      });
    });
    return absl::OkStatus();
  }
  if (SameLayout(from, to)) {
    if (from.data == to.data) return absl::OkStatus();
    if (IsDense(from.sizes, from.strides)) {
      std::memmove(to.data, from.data, from.nbytes());
      return absl::OkStatus();
    }
  }
  switch (DTypeSize(from.dtype)) {
    case 1:
      CopyBytes<1>(from, to);
      break;
    case 2:
      CopyBytes<2>(from, to);
      break;
    case 4:
      CopyBytes<4>(from, to);
      break;
    case 8:
      CopyBytes<8>(from, to);
      break;
    case 16:
      CopyBytes<16>(from, to);
      break;
    default:
      return absl::InvalidArgumentError("cannot copy elements of an invalid dtype");
  }
  return absl::OkStatus();
}

int64_t ElementOffset(const TensorView& view, int64_t index) {
  int64_t offset = 0;
  for (int d = view.rank() - 1; d >= 0; --d) {
    const int64_t size = view.sizes[d];
    if (size <= 1) continue;
    offset += (index % size) * view.strides[d];
    index /= size;
  }
  return offset;
}

}  // namespace belay
