// Threads for kernels: one call's work is divided among the threads of a pool that the caller owns.
#ifndef BELAY_RUNTIME_CORE_THREAD_POOL_H_
#define BELAY_RUNTIME_CORE_THREAD_POOL_H_

#include <memory>

#include "absl/functional/function_ref.h"

namespace belay {

// A fixed number of threads, made once. Thread-safe: several methods may share a pool, on several
// threads; who comes second works alone, as do calls inside of a call. No result may depend on how
// work is divided.
class ThreadPool {
 public:
  // `threads` with the caller's own: 1 makes none. Precondition: 1 <= threads <= 256.
  explicit ThreadPool(int threads);
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;
  ~ThreadPool();

  int size() const { return size_; }

  // Calls body(part) for each part in [0, parts), on at most size() threads at a time, and returns
  // when all have returned. Parts of threads that do not come, since other programs have their CPUs,
  // run on those that do. Allocates nothing. Costs about 0.2 µs while a Lease is held, else what the
  // system takes to wake a thread.
  void Run(int parts, absl::FunctionRef<void(int)> body);

  // While it lives the threads wait for work in a loop instead of asleep, yielding their CPUs to other
  // threads when the wait is long, and the pool is the calling thread's. Does nothing for a pool
  // that is leased already, and for null.
  class Lease {
   public:
    explicit Lease(ThreadPool* pool);
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    ~Lease();

   private:
    ThreadPool* pool_;  // null when it holds nothing
  };

 private:
  struct Impl;
  bool TryAcquire();
  void Release();
  int size_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace belay

#endif  // BELAY_RUNTIME_CORE_THREAD_POOL_H_
