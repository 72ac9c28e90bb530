// Memory quota for tests of allocation failures. Linking this library replaces the allocator: while
// a quota is on, malloc and operator new count their allocations and fail above it.
#ifndef BELAY_RUNTIME_EXECUTOR_TESTING_MEMORY_QUOTA_H_
#define BELAY_RUNTIME_EXECUTOR_TESTING_MEMORY_QUOTA_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>

#include "absl/status/status.h"

namespace belay {

// False under sanitizers, which replace the allocator: the quota then has no effect, and nothing is
// counted.
extern const bool kHasMemoryQuota;

// Allocations since Start(). For one thread.
struct MemoryQuota {
  bool on = false;
  int64_t limit = INT64_MAX;
  int64_t live = 0;  // in requested bytes
  // In bytes of the allocator's blocks.
  int64_t live_objects = 0;  // by operator new, whose failure ends the process
  int64_t peak_objects = 0;
  int64_t largest_block = 0;  // by malloc, which may fail
  // For each allocation, the smallest quota with which it would have succeeded.
  static constexpr size_t kMaxSteps = 1 << 16;
  size_t steps = 0;
  int64_t step[kMaxSteps] = {};

  void Start(int64_t new_limit);
  // Returns the live bytes, which were leaked.
  int64_t Stop();
};
extern MemoryQuota memory_quota;

// Bytes of objects that may exceed the quota: for the error message, and for the few allocated
// before the first memory check.
inline constexpr int64_t kMemoryForMessages = 4096;

// Runs `attempt`, which must succeed. Then runs it once with each quota at which one of its
// allocations fails, and expects kResourceExhausted without leaks. Returns the messages.
std::set<std::string> FailEachAllocation(const std::function<absl::Status()>& attempt);

}  // namespace belay

#endif  // BELAY_RUNTIME_EXECUTOR_TESTING_MEMORY_QUOTA_H_
