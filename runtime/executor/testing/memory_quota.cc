#include "runtime/executor/testing/memory_quota.h"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <new>
#include <string_view>

#include "gtest/gtest.h"

// Sanitizers replace the allocator, so that glibc's is not accessible.
#if defined(__GLIBC__) && !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)
#define BELAY_TEST_HAS_QUOTA 1
#else
#define BELAY_TEST_HAS_QUOTA 0
#endif

namespace belay {

const bool kHasMemoryQuota = BELAY_TEST_HAS_QUOTA;

MemoryQuota memory_quota;

namespace {

// Live blocks with their requested sizes. Usable sizes would vary between attempts with the state
// of the allocator, but all attempts must see the same quotas. Open addressing; kRemoved is never
// reused.
struct LiveBlock {
  const void* data;
  size_t size;
};
constexpr size_t kTableSize = 4 * MemoryQuota::kMaxSteps;
LiveBlock live_blocks[kTableSize];
const char kRemoved = 0;

LiveBlock& Slot(const void* data) {
  size_t i = (reinterpret_cast<uintptr_t>(data) >> 4) % kTableSize;
  while (live_blocks[i].data != nullptr && live_blocks[i].data != data) i = (i + 1) % kTableSize;
  return live_blocks[i];
}

}  // namespace

void MemoryQuota::Start(int64_t new_limit) {
  std::fill(std::begin(live_blocks), std::end(live_blocks), LiveBlock{});
  limit = new_limit;
  live = live_objects = peak_objects = largest_block = 0;
  steps = 0;
  on = true;
}

int64_t MemoryQuota::Stop() {
  on = false;
  return live;
}

std::set<std::string> FailEachAllocation(const std::function<absl::Status()>& attempt) {
  std::set<std::string> messages;
  memory_quota.Start(INT64_MAX);
  absl::Status status = attempt();
  memory_quota.on = false;
  EXPECT_TRUE(status.ok()) << status;
  status = absl::OkStatus();
  EXPECT_EQ(memory_quota.live, 0) << "leaked";
  EXPECT_LT(memory_quota.steps, MemoryQuota::kMaxSteps);
  std::set<int64_t> quotas = {0};
  for (size_t i = 0; i < memory_quota.steps; ++i) {
    quotas.insert({memory_quota.step[i] - 1, memory_quota.step[i]});
  }
  std::string message;
  message.reserve(kMemoryForMessages);
  for (const int64_t bytes : quotas) {
    memory_quota.Start(bytes);
    status = attempt();
    message.assign(status.message().data(), status.message().size());
    const bool ok = status.ok(), exhausted = absl::IsResourceExhausted(status);
    status = absl::OkStatus();
    EXPECT_EQ(memory_quota.Stop(), 0) << "leaked, with a quota of " << bytes;
    EXPECT_TRUE(ok ? bytes >= *quotas.rbegin() - kMemoryForMessages : exhausted)
        << bytes << ": " << message;
    if (!ok) messages.insert(message);
  }
  return messages;
}

namespace {

[[maybe_unused]] bool Admits(size_t size, int64_t more = 0) {
  if (!memory_quota.on) return true;
  const int64_t needed = memory_quota.live + static_cast<int64_t>(size);
  if (memory_quota.steps < MemoryQuota::kMaxSteps) memory_quota.step[memory_quota.steps++] = needed;
  return size <= static_cast<size_t>(PTRDIFF_MAX) && needed - more <= memory_quota.limit;
}

int64_t BlockSize(void* data) { return static_cast<int64_t>(::malloc_usable_size(data)); }

[[maybe_unused]] void* Added(void* data, size_t asked, bool is_object) {
  if (!memory_quota.on || data == nullptr) return data;
  Slot(data) = {data, asked};
  memory_quota.live += static_cast<int64_t>(asked);
  const int64_t size = BlockSize(data);
  if (is_object) {
    memory_quota.live_objects += size;
    memory_quota.peak_objects = std::max(memory_quota.peak_objects, memory_quota.live_objects);
  } else {
    memory_quota.largest_block = std::max(memory_quota.largest_block, size);
  }
  return data;
}

[[maybe_unused]] void Removed(void* data, bool is_object) {
  if (!memory_quota.on || data == nullptr) return;
  LiveBlock& block = Slot(data);
  if (block.data == nullptr) return;  // allocated before the quota started
  memory_quota.live -= static_cast<int64_t>(block.size);
  block.data = &kRemoved;
  if (is_object) memory_quota.live_objects -= BlockSize(data);
}

}  // namespace
}  // namespace belay

#if BELAY_TEST_HAS_QUOTA
using belay::Added;
using belay::Admits;
using belay::kMemoryForMessages;
using belay::Removed;

extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* data, size_t size);
void* __libc_memalign(size_t alignment, size_t size);
void __libc_free(void* data);

void* malloc(size_t size) {
  if (Admits(size)) return Added(__libc_malloc(size), size, false);
  errno = ENOMEM;
  return nullptr;
}
void* calloc(size_t count, size_t size) {
  if (Admits(count * size)) return Added(__libc_calloc(count, size), count * size, false);
  errno = ENOMEM;
  return nullptr;
}
void* realloc(void* data, size_t size) {
  if (!Admits(size)) {
    errno = ENOMEM;
    return nullptr;
  }
  Removed(data, false);
  return Added(__libc_realloc(data, size), size, false);
}
int posix_memalign(void** data, size_t alignment, size_t size) {
  if (!Admits(size)) return ENOMEM;
  *data = Added(__libc_memalign(alignment, size), size, false);
  return *data == nullptr ? ENOMEM : 0;
}
void free(void* data) {
  Removed(data, false);
  __libc_free(data);
}
}  // extern "C"

void* operator new(size_t size) {
  if (!Admits(size, kMemoryForMessages)) {
    constexpr std::string_view kMessage = "an unexpected allocation failure\n";
    [[maybe_unused]] const ssize_t ignored =
        ::write(STDERR_FILENO, kMessage.data(), kMessage.size());
    std::abort();
  }
  return Added(__libc_malloc(size == 0 ? 1 : size), size, true);
}
void* operator new[](size_t size) { return operator new(size); }
void operator delete(void* data) noexcept {
  Removed(data, true);
  __libc_free(data);
}
void operator delete[](void* data) noexcept { operator delete(data); }
void operator delete(void* data, size_t) noexcept { operator delete(data); }
void operator delete[](void* data, size_t) noexcept { operator delete(data); }
#endif
