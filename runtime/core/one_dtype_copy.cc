#include "runtime/core/one_dtype_copy.h"

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "runtime/core/element_runs.h"

namespace belay {
namespace {

// Equal, except strides of dimensions of size 1.
bool SameLayout(const TensorView& a, const TensorView& b) {
  for (int d = 0; d < a.rank(); ++d) {
    if (a.sizes[d] != 1 && a.strides[d] != b.strides[d]) return false;
  }
  return true;
}

// memcpy, because elements need not be aligned to be copied.
template <size_t kSize>
void CopyBytes(const TensorView& from, const TensorView& to) {
  const std::byte* source = from.as<const std::byte>();
  std::byte* target = to.as<std::byte>();
  ForEachRun(from, to, [&](int64_t f, int64_t t, int64_t count, int64_t fs, int64_t ts) {
    if (fs == 1 && ts == 1) {
      // memmove, because a program file may let the two overlap.
      std::memmove(target + t * kSize, source + f * kSize, count * kSize);
      return;
    }
    for (int64_t i = 0; i < count; ++i) {
      std::memcpy(target + (t + i * ts) * kSize, source + (f + i * fs) * kSize, kSize);
    }
  });
}

}  // namespace

absl::Status CopyElementsOfOneDType(const TensorView& from, const TensorView& to) {
  if (from.dtype != to.dtype || !(from.sizes == to.sizes)) {
    return absl::InvalidArgumentError(absl::StrCat("cannot copy ", from.ToString(), " to ",
                                                   to.ToString(), ": sizes or dtypes differ"));
  }
  if (from.numel() == 0) return absl::OkStatus();
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

}  // namespace belay
