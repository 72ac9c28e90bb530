// Threads for kernels: divides one call's work among the threads of a caller-owned pool.
#ifndef BELAY_RUNTIME_CORE_THREAD_POOL_H_
#define BELAY_RUNTIME_CORE_THREAD_POOL_H_

#include <memory>

#include "absl/functional/function_ref.h"

namespace belay {

// A fixed number of threads, created once. Thread-safe: several methods on several threads may
// share a pool. A caller that finds the pool in use runs serially, and so do nested calls. Results
// must not depend on how work is divided.
class ThreadPool {
 public:
  static constexpr int kMaxThreads = 256;

  // `threads` includes the calling thread: 1 creates none. Precondition: 1 <= threads <=
  // kMaxThreads.
  explicit ThreadPool(int threads);
  // A view whose calls use at most `threads` threads of `pool` at a time. Creates no threads.
  // size() is the smaller of both. `pool` must outlive it. Precondition: threads >= 1.
  ThreadPool(ThreadPool& pool, int threads);
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;
  ~ThreadPool();

  int size() const { return size_; }

  // Makes later calls use at most `threads` threads at a time; size() does not change. Only between
  // calls, by one thread. Precondition: threads >= 1.
  void Limit(int threads);

  // Calls body(part) for each part in [0, parts) on at most size() threads at a time, and returns
  // after all calls have returned. Work stealing: other threads run the parts of descheduled
  // workers. Allocates nothing. Costs about 0.2 µs while a Lease is held, otherwise the time to
  // wake a thread.
  // On Linux, if workers repeatedly come late or not at all, it moves those that share a CPU with
  // another thread of the pool to other CPUs that they may use, and then lets them use all again.
  void Run(int parts, absl::FunctionRef<void(int)> body);

  // Reserves the pool for the calling thread. During its lifetime the workers spin instead of
  // sleeping, and yield their CPUs if the wait is long. No-op for a pool that is already leased,
  // and for null.
  class Lease {
   public:
    explicit Lease(ThreadPool* pool);
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    ~Lease();

   private:
    ThreadPool* pool_;  // null if the lease is a no-op
  };

 private:
  struct Impl;
  bool TryAcquire();
  void Release();
  int size_;
  int limit_;  // threads of a call
  std::unique_ptr<Impl> owned_;
  Impl* impl_ = nullptr;  // of this pool, or of the viewed one; null for one thread
};

}  // namespace belay

#endif  // BELAY_RUNTIME_CORE_THREAD_POOL_H_
