// Byte blobs by key that a program stores for its delegates.
#ifndef BELAY_RUNTIME_CORE_NAMED_DATA_MAP_H_
#define BELAY_RUNTIME_CORE_NAMED_DATA_MAP_H_

#include <cstddef>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace belay {

// Blobs stored by key at compile time. Zero-copy; valid as long as the program.
class NamedDataMap {
 public:
  virtual ~NamedDataMap() = default;
  // kNotFound.
  virtual absl::StatusOr<absl::Span<const std::byte>> Find(std::string_view key) const = 0;
};

}  // namespace belay

#endif  // BELAY_RUNTIME_CORE_NAMED_DATA_MAP_H_
