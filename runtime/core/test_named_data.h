// In-memory NamedDataMap for tests.
#ifndef BELAY_RUNTIME_CORE_TEST_NAMED_DATA_H_
#define BELAY_RUNTIME_CORE_TEST_NAMED_DATA_H_

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/core/named_data_map.h"

namespace belay {

// Serves `entries`.
class TestNamedData final : public NamedDataMap {
 public:
  std::map<std::string, std::string, std::less<>> entries;

  absl::StatusOr<absl::Span<const std::byte>> Find(std::string_view key) const override {
    const auto it = entries.find(key);
    if (it == entries.end()) return absl::NotFoundError("no such key");
    return absl::Span<const std::byte>(reinterpret_cast<const std::byte*>(it->second.data()),
                                       it->second.size());
  }
};

}  // namespace belay

#endif  // BELAY_RUNTIME_CORE_TEST_NAMED_DATA_H_
