// Who works on the library's operators: Belay's pool in place of one of libpthreadpool.
//
// XNNPACK divides an operator's work by functions pthreadpool_parallelize_…, of another shared library whose pools have
// threads of their own. library_threads.cc defines those that XNNPACK calls over ThreadPool, and the dynamic linker takes
// a program's own definitions before those of libraries. So a pthreadpool_t is a ThreadPool here, null for the calling
// thread alone. pthreadpool_create, defined as well, makes none: whoever else uses libpthreadpool in the
// process works on the calling thread, as its documentation allows.
#ifndef BELAY_BACKENDS_XNNPACK_LIBRARY_THREADS_H_
#define BELAY_BACKENDS_XNNPACK_LIBRARY_THREADS_H_

#include <pthreadpool.h>

#include <cstdint>

#include "runtime/core/thread_pool.h"

namespace belay::xnnpack {

// What the library takes for the pool, which must outlive its use. Used at once from several threads,
// and inside of its own work, it does what the pool does. Results are the same for any number of threads.
inline pthreadpool_t LibraryPool(ThreadPool* threads) {
  return reinterpret_cast<pthreadpool_t>(threads);
}

// How often the calling thread came to the functions: to any of them that works, and with work for several threads.
struct LibraryCalls {
  uint64_t all = 0;
  uint64_t divided = 0;
};
LibraryCalls LibraryCallsOfThisThread();

}  // namespace belay::xnnpack

#endif  // BELAY_BACKENDS_XNNPACK_LIBRARY_THREADS_H_
