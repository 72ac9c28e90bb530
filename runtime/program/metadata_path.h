// Locations in the metadata for error messages: "methods[0].values[12].tensor.sizes[1]".
#ifndef BELAY_RUNTIME_PROGRAM_METADATA_PATH_H_
#define BELAY_RUNTIME_PROGRAM_METADATA_PATH_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace belay {

// One step of a path, linked to its `parent`. Cheap to construct: every check can have a path,
// which is only formatted if the check fails.
class MetadataPath {
 public:
  // The metadata itself.
  constexpr MetadataPath() = default;
  // A field of `parent`, which must outlive the result.
  constexpr MetadataPath(const MetadataPath& parent, std::string_view field)
      : parent_(&parent), field_(field) {}
  // An element of a repeated field.
  constexpr MetadataPath(const MetadataPath& parent, std::string_view field, uint64_t index)
      : parent_(&parent), field_(field), index_(index), indexed_(true) {}

  std::string ToString() const;

  // kInvalidArgument: a rule of the format is violated here.
  absl::Status Error(std::string_view message) const;
  // kResourceExhausted: more than the caller allows.
  absl::Status LimitError(std::string_view limit, uint64_t got, uint64_t allowed) const;

 private:
  const MetadataPath* parent_ = nullptr;
  std::string_view field_;
  uint64_t index_ = 0;
  bool indexed_ = false;
};

// Quotes a string from a file: escapes everything that a terminal might interpret, and shortens
// long strings.
std::string Quoted(std::string_view text);

// Maximum number of items listed in a message.
inline constexpr size_t kMostListed = 32;
// Joins strings with a separator: "'a', 'b'". If `total` exceeds the given strings or kMostListed,
// the result ends with the number of omitted ones.
std::string ListFirst(absl::Span<const std::string> texts, std::string_view separator,
                      uint64_t total = 0);

}  // namespace belay

#endif  // BELAY_RUNTIME_PROGRAM_METADATA_PATH_H_
