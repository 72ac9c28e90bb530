// Runs the library's operators on Belay's thread pool instead of libpthreadpool's.
//
// XNNPACK divides an operator's work with the pthreadpool_parallelize_… functions of
// libpthreadpool, a shared library whose pools own threads. library_threads.cc defines the
// functions that XNNPACK calls, on top of ThreadPool. The dynamic linker prefers definitions of the
// executable over those of libraries. A pthreadpool_t is therefore a ThreadPool here; null runs on
// the calling thread. pthreadpool_create is defined as well and returns null: other users of
// libpthreadpool in the process run on the calling thread, as its documentation allows.
#ifndef BELAY_BACKENDS_XNNPACK_LIBRARY_THREADS_H_
#define BELAY_BACKENDS_XNNPACK_LIBRARY_THREADS_H_

#include <pthreadpool.h>

#include <cstdint>

#include "runtime/core/thread_pool.h"

namespace belay::xnnpack {

// Converts a pool to the library's handle. The pool must outlive its use. Concurrent and nested use
// behaves as for ThreadPool. Results do not depend on the number of threads.
inline pthreadpool_t LibraryPool(ThreadPool* threads) {
  return reinterpret_cast<pthreadpool_t>(threads);
}

// Calls of the pthreadpool functions by this thread: all calls with work, and those divided among
// several threads.
struct LibraryCalls {
  uint64_t all = 0;
  uint64_t divided = 0;
};
LibraryCalls LibraryCallsOfThisThread();

}  // namespace belay::xnnpack

#endif  // BELAY_BACKENDS_XNNPACK_LIBRARY_THREADS_H_
