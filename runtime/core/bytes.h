// Bytes as a string, and a string as bytes, without copies.
#ifndef BELAY_RUNTIME_CORE_BYTES_H_
#define BELAY_RUNTIME_CORE_BYTES_H_

#include <cstddef>
#include <string_view>

#include "absl/types/span.h"

namespace belay {

inline std::string_view AsString(absl::Span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
inline absl::Span<const std::byte> AsBytes(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

}  // namespace belay

#endif  // BELAY_RUNTIME_CORE_BYTES_H_
