#include "backends/cpu/aot/shared_constants.h"

#include <utility>

#include "exir/ir/mapped_pages.h"

namespace belay::cpu {

SharedConstants::Entry SharedConstants::Add(const exir::Storage& bytes) {
  const exir::ContentKey content(bytes);
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (const auto it = entries_.find(content); it != entries_.end()) return it->second;
  }
  // Hashes outside of the lock, since it takes long. Two threads may hash the same bytes.
  Entry entry = {.bytes = bytes, .sha256 = exir::Sha256InParts(bytes.bytes)};
  const std::lock_guard<std::mutex> lock(mutex_);
  return entries_.try_emplace(content, std::move(entry)).first->second;
}

}  // namespace belay::cpu
