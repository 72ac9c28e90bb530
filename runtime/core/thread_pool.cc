#include "runtime/core/thread_pool.h"

#if defined(__linux__)
#include <pthread.h>
#include <sched.h>
#endif

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

// Where a worker runs, and what the calling thread has done about it. A real-time thread that never
// waits keeps other threads of its priority from its CPU, and the kernel leaves them there until
// another CPU becomes idle. So the calling thread moves them.
#if defined(__linux__)
class Placement {
 public:
  // By the worker, when it joins a call.
  void SetJoined(uint64_t epoch) {
    cpu_.store(sched_getcpu(), std::memory_order_relaxed);
    epoch_.store(epoch, std::memory_order_relaxed);
  }
  // By the worker, while it awaits a call. After a move, lets it use all its CPUs again, unless its
  // affinity was changed since.
  void Restore() {
    if (!moved_.load(std::memory_order_acquire)) return;
    cpu_set_t now;
    if (sched_getaffinity(0, sizeof now, &now) == 0 && CPU_EQUAL(&now, &narrowed_)) {
      sched_setaffinity(0, sizeof allowed_, &allowed_);
    }
    moved_.store(false, std::memory_order_release);
  }

  // By the calling thread, after the call `epoch`: gives workers that did not join it, or that
  // share a CPU with another thread of the pool, other CPUs if they may use them.
  static void Spread(std::vector<Placement>& placements, std::vector<std::thread>& workers,
                     uint64_t epoch) {
    cpu_set_t taken;
    CPU_ZERO(&taken);
    if (const int cpu = sched_getcpu(); cpu >= 0) CPU_SET(static_cast<size_t>(cpu), &taken);
    for (Placement& placement : placements) {
      const int cpu = placement.cpu_.load(std::memory_order_relaxed);
      placement.alone_ = placement.epoch_.load(std::memory_order_relaxed) == epoch && cpu >= 0 &&
                         !CPU_ISSET(static_cast<size_t>(cpu), &taken);
      if (placement.alone_) CPU_SET(static_cast<size_t>(cpu), &taken);
    }
    for (size_t i = 0; i < workers.size(); ++i) {
      if (!placements[i].alone_) placements[i].Move(workers[i].native_handle(), taken);
    }
  }

 private:
  // No-op if the worker may use only CPUs of `taken`, or none of them.
  void Move(pthread_t worker, const cpu_set_t& taken) {
    if (moved_.load(std::memory_order_acquire)) return;
#if defined(__BIONIC__)
    const pid_t thread = pthread_gettid_np(worker);
    const auto get = [&] { return sched_getaffinity(thread, sizeof allowed_, &allowed_); };
    const auto set = [&] { return sched_setaffinity(thread, sizeof narrowed_, &narrowed_); };
#else
    const auto get = [&] { return pthread_getaffinity_np(worker, sizeof allowed_, &allowed_); };
    const auto set = [&] { return pthread_setaffinity_np(worker, sizeof narrowed_, &narrowed_); };
#endif
    if (get() != 0) return;
    cpu_set_t both;
    CPU_AND(&both, &allowed_, &taken);
    CPU_XOR(&narrowed_, &allowed_, &both);
    if (CPU_COUNT(&narrowed_) == 0 || CPU_COUNT(&both) == 0) return;
    if (set() == 0) moved_.store(true, std::memory_order_release);
  }

  std::atomic<int> cpu_ = -1;
  std::atomic<uint64_t> epoch_ = 0;  // the last call that the worker joined
  bool alone_ = false;               // for Spread
  // Written by the calling thread while `moved_` is false, read by the worker while it is true.
  cpu_set_t allowed_, narrowed_;
  std::atomic<bool> moved_ = false;
};
#else
class Placement {
 public:
  void SetJoined(uint64_t) {}
  void Restore() {}
  static void Spread(std::vector<Placement>&, std::vector<std::thread>&, uint64_t) {}
};
#endif

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

  explicit Impl(size_t threads) : slots(threads), placements(threads - 1) {
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
    const size_t taken = Take(0, call_epoch);
    Spin spin;
    while (done.load(std::memory_order_acquire) < used) spin.Once();
    // Workers that repeatedly come late or not at all may share a CPU with another thread.
    if (taken != used && !spin.IsLong()) {
      hampered = 0;
    } else if (++hampered >= patience) {
      Placement::Spread(placements, workers, call_epoch);
      hampered = 0;
      patience = std::min(2 * patience, kMaxPatience);
    }
  }

  // Claims and runs the remaining slots, the thread's own first. Returns their number.
  size_t Take(size_t thread, uint64_t call_epoch) {
    size_t taken = 0;
    for (size_t i = 0; i < slots.size(); ++i) {
      const size_t s = (thread + i) % slots.size();
      uint64_t expected = call_epoch;
      if (!slots[s].epoch.compare_exchange_strong(expected, call_epoch + 1)) continue;
      if (taken++ == 0 && thread > 0) placements[thread - 1].SetJoined(call_epoch);
      const Budget::Scope scope(budget);
      for (int part = static_cast<int>(s); part < parts; part += static_cast<int>(used)) {
        (*body)(part);
      }
      done.fetch_add(1, std::memory_order_release);
    }
    return taken;
  }

  void Work(size_t thread) {
    Placement& placement = placements[thread - 1];
    uint64_t seen = 0;
    while (true) {
      for (Spin spin; epoch.load() == seen && !stops.load();) {
        placement.Restore();
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

  // Successive calls in which workers were absent or slow, and how many lead to Placement::Spread.
  static constexpr int kMaxPatience = 256;
  int hampered = 0, patience = 16;
  std::vector<Placement> placements;  // of workers

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
