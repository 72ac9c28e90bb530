#include "runtime/core/tensor_view.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "runtime/core/checked_math.h"

namespace belay {
namespace {

// Returns the bytes from the first element to the end of the last; nullopt on overflow.
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
