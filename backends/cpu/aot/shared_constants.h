// Deduplicates constants that several delegates hold.
#ifndef BELAY_BACKENDS_CPU_AOT_SHARED_CONSTANTS_H_
#define BELAY_BACKENDS_CPU_AOT_SHARED_CONSTANTS_H_

#include <mutex>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "exir/ir/constant.h"
#include "exir/ir/content_key.h"

namespace belay::cpu {

// Thread-safe. The results of Add() do not depend on the order of calls, except for the address of
// the bytes.
class SharedConstants {
 public:
  struct Entry {
    exir::Storage bytes;  // the first storage added with this content
    std::string sha256;   // 32 bytes
  };
  // Costs a hash at memory speed, and a SHA-256 digest for new content.
  Entry Add(const exir::Storage& bytes);

 private:
  std::mutex mutex_;
  absl::flat_hash_map<exir::ContentKey, Entry> entries_;  // the entries own the bytes
};

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_SHARED_CONSTANTS_H_
