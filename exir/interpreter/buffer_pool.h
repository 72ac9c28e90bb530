// Reuses the memory of values that were freed, within one interpretation.
#ifndef BELAY_EXIR_INTERPRETER_BUFFER_POOL_H_
#define BELAY_EXIR_INTERPRETER_BUFFER_POOL_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "absl/status/statusor.h"
#include "runtime/core/arena.h"

namespace belay::exir {

// A buffer returns to the pool when its last owner releases it, or is freed if the pool is gone.
// Never holds more memory, in use and free together, than the largest sum of buffers in use. A
// buffer is at most twice as large as its request. Thread-safe: owners may release buffers on any
// thread.
class BufferPool : public std::enable_shared_from_this<BufferPool> {
 public:
  static std::shared_ptr<BufferPool> Create();

  // Returns at least `bytes`, aligned to kArenaAlignment. The content is unspecified: zeros, or that
  // of an earlier value. Cost: logarithmic in the number of free buffers.
  //   kResourceExhausted  the memory can't be allocated
  absl::StatusOr<std::shared_ptr<const AlignedBuffer>> Take(uint64_t bytes);

  // Bytes of buffers that wait for reuse.
  uint64_t free_bytes() const;

 private:
  BufferPool() = default;
  void Return(AlignedBuffer buffer);
  // Frees buffers, the smallest first, until all memory with `bytes` more fits `most_used_`.
  // Precondition: the caller holds `mutex_`.
  void Shrink(uint64_t bytes);

  mutable std::mutex mutex_;                   // guards everything below
  std::multimap<size_t, AlignedBuffer> free_;  // by size
  uint64_t free_bytes_ = 0;
  uint64_t used_ = 0;
  uint64_t most_used_ = 0;
};

// Returns a buffer of `pool`, or, if that is null, one of zeros. Errors of Take.
absl::StatusOr<std::shared_ptr<const AlignedBuffer>> CreateBuffer(BufferPool* pool, uint64_t bytes);

}  // namespace belay::exir

#endif  // BELAY_EXIR_INTERPRETER_BUFFER_POOL_H_
