#include "runtime/core/thread_pool.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>

#include "hwy/contrib/thread_pool/thread_pool.h"
#include "runtime/core/budget.h"
#include "runtime/core/status_macros.h"

namespace belay {

struct ThreadPool::Impl {
  explicit Impl(size_t workers) : pool(workers) {}
  hwy::ThreadPool pool;
  // The thread that the pool is leased to; the id of no thread for none.
  std::atomic<std::thread::id> owner = std::thread::id();
  std::atomic<bool> running = false;
};

ThreadPool::ThreadPool(int threads) : size_(threads) {
  ABSL_CHECK(threads >= 1 && threads <= 256);
  if (threads > 1) impl_ = std::make_unique<Impl>(static_cast<size_t>(threads));
}

ThreadPool::~ThreadPool() = default;

bool ThreadPool::TryAcquire() {
  std::thread::id none;
  return impl_ != nullptr && impl_->owner.compare_exchange_strong(none, std::this_thread::get_id());
}

void ThreadPool::Release() { impl_->owner.store(std::thread::id()); }

void ThreadPool::Run(int parts, absl::FunctionRef<void(int)> body) {
  const auto alone = [&] {
    for (int part = 0; part < parts; ++part) body(part);
  };
  if (parts <= 1 || impl_ == nullptr) return alone();
  const bool mine = impl_->owner.load() == std::this_thread::get_id();
  // A call inside of a call of the thread that holds the lease.
  if (mine && impl_->running.load()) return alone();
  if (!mine && !TryAcquire()) return alone();
  impl_->running.store(true);
  Budget* const budget = Budget::Current();
  impl_->pool.Run(0, static_cast<uint64_t>(parts), [&](uint64_t part, size_t /*thread*/) {
    const Budget::Scope scope(budget);
    body(static_cast<int>(part));
  });
  impl_->running.store(false);
  if (!mine) Release();
}

ThreadPool::Lease::Lease(ThreadPool* pool) : pool_(pool) {
  if (pool_ == nullptr) return;
  if (!pool_->TryAcquire()) {
    pool_ = nullptr;
    return;
  }
  pool_->impl_->pool.SetWaitMode(hwy::PoolWaitMode::kSpin);
}

ThreadPool::Lease::~Lease() {
  if (pool_ == nullptr) return;
  pool_->impl_->pool.SetWaitMode(hwy::PoolWaitMode::kBlock);
  pool_->Release();
}

}  // namespace belay
