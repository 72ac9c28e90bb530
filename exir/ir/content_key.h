// A hash table key for byte strings.
#ifndef BELAY_EXIR_IR_CONTENT_KEY_H_
#define BELAY_EXIR_IR_CONTENT_KEY_H_

#include <cstddef>
#include <string_view>
#include <utility>

#include "absl/hash/hash.h"
#include "absl/strings/string_view.h"
#include "exir/ir/constant.h"
#include "exir/ir/mapped_pages.h"
#include "runtime/core/bytes.h"

namespace belay::exir {

// Two keys are equal if their bytes are equal. Hashes the bytes once, at construction, at memory
// speed, and releases their pages (mapped_pages.h); compares bytes only if the hashes are equal. Does
// not own the bytes.
class ContentKey {
 public:
  explicit ContentKey(const Storage& storage)
      : bytes_(ToAbsl(AsString(storage.bytes))), hash_(bytes_.size()) {
    for (std::string_view part : InParts(AsString(storage.bytes))) {
      hash_ = absl::HashOf(hash_, ToAbsl(part));
      ReleasePages(part);
    }
  }

  size_t size() const { return bytes_.size(); }

  friend bool operator==(const ContentKey& a, const ContentKey& b) {
    return a.hash_ == b.hash_ && a.bytes_.size() == b.bytes_.size() &&
           (a.bytes_.data() == b.bytes_.data() || a.bytes_ == b.bytes_);
  }
  template <class H>
  friend H AbslHashValue(H h, const ContentKey& key) {
    return H::combine(std::move(h), key.hash_);
  }

 private:
  // Not std::string_view, which Abseil may hash by the slower function of the standard library.
  absl::string_view bytes_;
  size_t hash_;
};

}  // namespace belay::exir

#endif  // BELAY_EXIR_IR_CONTENT_KEY_H_
