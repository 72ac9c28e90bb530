// Reuses the memory of values that were freed, within one interpretation.
#ifndef BELAY_EXIR_INTERPRETER_BUFFER_POOL_H_
#define BELAY_EXIR_INTERPRETER_BUFFER_POOL_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/core/arena.h"

namespace belay::exir {

// Places buffers in slabs: best fit, neighbors that are free are merged. The pages of released
// buffers stay committed, so that the next buffer touches no new ones. A slab without buffers is
// freed if a request needs another one, and by Trim. Thread-safe: owners may release buffers on any
// thread.
class BufferPool : public std::enable_shared_from_this<BufferPool> {
 public:
  // Size of slabs; larger requests have slabs of their own size.
  static constexpr size_t kSlabBytes = size_t{4} << 20;

  static std::shared_ptr<BufferPool> Create();

  // Returns `bytes`, aligned to kArenaAlignment, whose slab exists as long as the buffer, also
  // without the pool. The content is unspecified: zeros, or that of earlier buffers. Cost:
  // logarithmic in the number of free blocks.
  //   kResourceExhausted  the memory can't be allocated
  absl::StatusOr<std::shared_ptr<std::byte>> Take(uint64_t bytes);

  // Frees the slabs without buffers.
  void Trim();

  // Bytes of all slabs.
  uint64_t slab_bytes() const;

 private:
  struct Slab {
    AlignedBuffer memory;
    std::map<size_t, size_t> free;  // offset → bytes
  };
  struct FreeBlock {
    size_t bytes;
    uint64_t slab;
    size_t offset;
    auto operator<=>(const FreeBlock&) const = default;
  };

  BufferPool() = default;
  void Return(uint64_t slab, size_t offset, size_t bytes);
  // Precondition of these: the caller holds `mutex_`.
  void FreeUnused();
  absl::Status AddSlab(size_t bytes);
  void AddFree(uint64_t slab, size_t offset, size_t bytes);
  void RemoveFree(const FreeBlock& block);

  mutable std::mutex mutex_;  // guards everything below
  std::map<uint64_t, std::shared_ptr<Slab>> slabs_;
  uint64_t num_slabs_ = 0;  // created so far: the next key
  std::set<FreeBlock> free_;
};

// Returns a buffer of `pool`, or, if that is null, one of its own. Errors of Take.
absl::StatusOr<std::shared_ptr<std::byte>> CreateBuffer(BufferPool* pool, uint64_t bytes);

}  // namespace belay::exir

#endif  // BELAY_EXIR_INTERPRETER_BUFFER_POOL_H_
