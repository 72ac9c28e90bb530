#include "runtime/core/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include "runtime/core/budget.h"
#include "runtime/core/status_macros.h"

namespace belay {
namespace {

void Pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield" ::: "memory");
#endif
}

// Busy-waits for some microseconds without system calls. Afterwards it yields periodically, since
// the awaited thread may need this CPU.
class Spin {
 public:
  void Once() {
    Pause();
    if (++rounds_ > kRoundsBeforeYield && rounds_ % kPerYield == 0) std::this_thread::yield();
  }
  bool IsLong() const { return rounds_ > kRoundsBeforeYield; }

 private:
  static constexpr uint32_t kRoundsBeforeYield = 2000, kPerYield = 32;
  uint32_t rounds_ = 0;
};

}  // namespace

// A call is identified by an epoch, an even 64-bit integer that never repeats; slots not used by a
// call keep an older epoch. The parts are divided among at most one slot per thread. A thread
// claims a slot by making its epoch odd: first its own, then unclaimed slots of other threads. So
// the calling thread never waits for a worker that has not started, and a late worker finds no
// slot. Consecutive calls assign the same ranges to the same threads, which keeps caches warm.
struct ThreadPool::Impl {
  struct alignas(64) Slot {
    std::atomic<uint64_t> epoch = 0;
  };

  explicit Impl(size_t threads) : slots(threads) {
    for (size_t thread = 1; thread < threads; ++thread) {
      workers.emplace_back([this, thread] { Work(thread); });
    }
  }
  ~Impl() {
    stops.store(true);
    Wake();
    for (std::thread& worker : workers) worker.join();
  }

  void Run(int parts_of_call, int threads, absl::FunctionRef<void(int)> call) {
    // All slots of the previous call are done: no thread reads these fields.
    parts = parts_of_call;
    body = &call;
    budget = Budget::Current();
    used = std::min(slots.size(), static_cast<size_t>(std::min(parts, threads)));
    done.store(0, std::memory_order_relaxed);
    const uint64_t call_epoch = epoch.load(std::memory_order_relaxed) + 2;
    for (size_t s = 0; s < used; ++s) slots[s].epoch.store(call_epoch, std::memory_order_release);
    epoch.store(call_epoch);
    if (sleepers.load() > 0) Wake();
    Take(0, call_epoch);
    for (Spin spin; done.load(std::memory_order_acquire) < used;) spin.Once();
  }

  // Claims and runs the remaining slots, the thread's own first.
  void Take(size_t thread, uint64_t call_epoch) {
    for (size_t i = 0; i < slots.size(); ++i) {
      const size_t s = (thread + i) % slots.size();
      uint64_t expected = call_epoch;
      if (!slots[s].epoch.compare_exchange_strong(expected, call_epoch + 1)) continue;
      const Budget::Scope scope(budget);
      for (int part = static_cast<int>(s); part < parts; part += static_cast<int>(used)) {
        (*body)(part);
      }
      done.fetch_add(1, std::memory_order_release);
    }
  }

  void Work(size_t thread) {
    uint64_t seen = 0;
    while (true) {
      for (Spin spin; epoch.load() == seen && !stops.load();) {
        spin.Once();
        if (spin.IsLong() && !leased.load()) Sleep(seen);
      }
      if (stops.load()) return;
      seen = epoch.load();
      Take(thread, seen);
    }
  }

  void Sleep(uint64_t seen) {
    const uint32_t ticket = wakes.load();
    sleepers.fetch_add(1);
    // Any thread that changes one of these afterwards sees the sleeper and wakes it.
    if (epoch.load() == seen && !stops.load() && !leased.load()) wakes.wait(ticket);
    sleepers.fetch_sub(1);
  }
  void Wake() {
    wakes.fetch_add(1);
    wakes.notify_all();
  }

  // State of the current call.
  int parts = 0;
  absl::FunctionRef<void(int)>* body = nullptr;
  Budget* budget = nullptr;
  size_t used = 0;  // number of slots
  std::vector<Slot> slots;
  alignas(64) std::atomic<size_t> done = 0;
  alignas(64) std::atomic<uint64_t> epoch = 0;
  std::atomic<bool> leased = false, stops = false;
  alignas(64) std::atomic<uint32_t> wakes = 0, sleepers = 0;

  // The thread that leased the pool; a default-constructed id for none.
  std::atomic<std::thread::id> owner = std::thread::id();
  std::atomic<bool> running = false;
  std::vector<std::thread> workers;  // last, since workers use all members above
};

ThreadPool::ThreadPool(int threads) : size_(threads), limit_(threads) {
  ABSL_CHECK(threads >= 1 && threads <= kMaxThreads);
  if (threads > 1) owned_ = std::make_unique<Impl>(static_cast<size_t>(threads));
  impl_ = owned_.get();
}

ThreadPool::ThreadPool(ThreadPool& pool, int threads)
    : size_(std::min(pool.size_, threads)), limit_(size_), impl_(size_ > 1 ? pool.impl_ : nullptr) {
  ABSL_CHECK(threads >= 1);
}

ThreadPool::~ThreadPool() = default;

void ThreadPool::Limit(int threads) {
  ABSL_CHECK(threads >= 1);
  limit_ = std::min(size_, threads);
}

bool ThreadPool::TryAcquire() {
  std::thread::id none;
  return impl_ != nullptr && impl_->owner.compare_exchange_strong(none, std::this_thread::get_id());
}

void ThreadPool::Release() { impl_->owner.store(std::thread::id()); }

void ThreadPool::Run(int parts, absl::FunctionRef<void(int)> body) {
  const auto serial = [&] {
    for (int part = 0; part < parts; ++part) body(part);
  };
  if (parts <= 1 || limit_ == 1) return serial();
  const bool mine = impl_->owner.load() == std::this_thread::get_id();
  // A nested call of the thread that holds the lease.
  if (mine && impl_->running.load()) return serial();
  if (!mine && !TryAcquire()) return serial();
  impl_->running.store(true);
  impl_->Run(parts, limit_, body);
  impl_->running.store(false);
  if (!mine) Release();
}

ThreadPool::Lease::Lease(ThreadPool* pool) : pool_(pool) {
  if (pool_ == nullptr) return;
  if (!pool_->TryAcquire()) {
    pool_ = nullptr;
    return;
  }
  pool_->impl_->leased.store(true);
  if (pool_->impl_->sleepers.load() > 0) pool_->impl_->Wake();
}

ThreadPool::Lease::~Lease() {
  if (pool_ == nullptr) return;
  pool_->impl_->leased.store(false);
  pool_->Release();
}

}  // namespace belay
