// SHA-256 (FIPS 180-4).
#ifndef BELAY_RUNTIME_CORE_SHA256_H_
#define BELAY_RUNTIME_CORE_SHA256_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"

namespace belay {

inline constexpr size_t kSha256Bytes = 32;

// Returns the 32-byte digest of the concatenation of the pieces. About 1.7 GB/s if the CPU has SHA
// instructions. Calls `done` with each piece after reading it, so that its pages can be released.
std::string Sha256(
    absl::Span<const std::string_view> pieces,
    absl::FunctionRef<void(std::string_view)> done = [](std::string_view) {});
std::string Sha256(std::string_view bytes);
std::string Sha256(absl::Span<const std::byte> bytes);

}  // namespace belay

#endif  // BELAY_RUNTIME_CORE_SHA256_H_
