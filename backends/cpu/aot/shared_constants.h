// Constants that several delegates hold, each content once.
#ifndef BELAY_BACKENDS_CPU_AOT_SHARED_CONSTANTS_H_
#define BELAY_BACKENDS_CPU_AOT_SHARED_CONSTANTS_H_

#include <mutex>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "exir/ir/constant.h"
#include "exir/ir/content_key.h"

namespace belay::cpu {

// Thread-safe. What Add() gives does not depend on who came first but for where the bytes lie.
class SharedConstants {
 public:
  struct Entry {
    exir::Storage bytes;  // as they were given first
    std::string sha256;   // 32 bytes
  };
  // Costs a hash at the speed of memory, and a digest for bytes that were not there.
  Entry Add(const exir::Storage& bytes);

 private:
  std::mutex mutex_;
  absl::flat_hash_map<exir::ContentKey, Entry> entries_;  // which hold the bytes
};

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_SHARED_CONSTANTS_H_
