#include "runtime/executor/state_content.h"

#include <algorithm>
#include <cstring>

namespace belay {

void WriteContent(const std::byte* content, uint64_t bytes, bool is_zero, void* to) {
  constexpr uint64_t kPage = 4096;
  static constexpr std::byte kZeros[kPage] = {};
  std::byte* const target = static_cast<std::byte*>(to);
  for (uint64_t at = 0; at < bytes; at += kPage) {
    const auto size = static_cast<size_t>(std::min(kPage, bytes - at));
    const std::byte* const from = content == nullptr ? kZeros : content + at;
    const std::byte* const now = is_zero ? kZeros : target + at;
    if (std::memcmp(now, from, size) != 0) std::memcpy(target + at, from, size);
  }
}

void WriteInitialContent(const StatePlan& state, uint64_t bytes, bool is_zero, void* to) {
  WriteContent(state.initial.has_value() ? state.initial->data() : nullptr, bytes, is_zero, to);
}

}  // namespace belay
