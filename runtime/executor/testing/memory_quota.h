// Memory with a quota, for tests of what happens when there is none left. Who links this library
// has its allocator: malloc and operator new count while a quota is on, and fail above it.
#ifndef BELAY_RUNTIME_EXECUTOR_TESTING_MEMORY_QUOTA_H_
#define BELAY_RUNTIME_EXECUTOR_TESTING_MEMORY_QUOTA_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>

#include "absl/status/status.h"

namespace belay {

// False under sanitizers, which have an allocator of their own: then there is no limit, and nothing
// is counted.
extern const bool kHasMemoryQuota;

// What was allocated since Start(). For one thread.
struct MemoryQuota {
  bool on = false;
  int64_t limit = INT64_MAX;
  int64_t live = 0;  // in bytes that were asked for
  // In bytes of the allocator's blocks.
  int64_t live_objects = 0;  // by operator new: what ends the process when it fails
  int64_t peak_objects = 0;
  int64_t largest_block = 0;  // by malloc: what may fail
  // The least quotas with which each of the allocations would not have failed.
  static constexpr size_t kMaxSteps = 1 << 16;
  size_t steps = 0;
  int64_t step[kMaxSteps] = {};

  void Start(int64_t new_limit);
  // What is live now was leaked.
  int64_t Stop();
};
extern MemoryQuota memory_quota;

// Objects above the quota that are forgiven: for the error message, and for the few before the
// first question whether there is memory.
inline constexpr int64_t kMemoryForMessages = 4096;

// Runs `attempt`, which must succeed, and then again with each quota at which one of its
// allocations fails: that must be kResourceExhausted, and nothing may be left. Returns the
// messages.
std::set<std::string> FailEachAllocation(const std::function<absl::Status()>& attempt);

}  // namespace belay

#endif  // BELAY_RUNTIME_EXECUTOR_TESTING_MEMORY_QUOTA_H_
