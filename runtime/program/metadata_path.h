// Where in the metadata something stands: "methods[0].values[12].tensor.sizes[1]". For error
// messages.
#ifndef BELAY_RUNTIME_PROGRAM_METADATA_PATH_H_
#define BELAY_RUNTIME_PROGRAM_METADATA_PATH_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace belay {

// One step of a path; the steps before it are found through `parent`. Making one costs nothing, so
// that the way is known at every check, and text is made of it only when a check fails.
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

  // kInvalidArgument: a rule of the format is broken here.
  absl::Status Error(std::string_view message) const;
  // kResourceExhausted: there are more than the caller allows.
  absl::Status LimitError(std::string_view limit, uint64_t got, uint64_t allowed) const;

 private:
  const MetadataPath* parent_ = nullptr;
  std::string_view field_;
  uint64_t index_ = 0;
  bool indexed_ = false;
};

// `text` from a file, in quotes, with everything escaped that a terminal might interpret, and
// shortened when it is long.
std::string Quoted(std::string_view text);

// What a message lists of many things that a file may have.
inline constexpr size_t kMostListed = 32;
// "'a', 'b'": the texts with the separator between them. When there are `total` of them, more than
// were given or than kMostListed, the message ends with how many are not shown.
std::string ListFirst(absl::Span<const std::string> texts, std::string_view separator,
                      uint64_t total = 0);

}  // namespace belay

#endif  // BELAY_RUNTIME_PROGRAM_METADATA_PATH_H_
