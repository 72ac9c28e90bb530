// Aligned memory that is allocated once.
#ifndef BELAY_RUNTIME_CORE_ARENA_H_
#define BELAY_RUNTIME_CORE_ARENA_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace belay {

// Alignment of every arena and of every tensor in it: a cache line, and the widest vector register.
inline constexpr size_t kArenaAlignment = 64;

// Memory of an application, instead of the C library's. Called by the threads that load, execute and
// free what uses it; must outlive that.
class BlockAllocator {
 public:
  virtual ~BlockAllocator() = default;
  // Returns `bytes` > 0 bytes of any content at a multiple of `alignment`, a power of two; nullptr
  // if memory is exhausted.
  virtual void* Allocate(size_t bytes, size_t alignment) = 0;
  // `block` is a result of Allocate(bytes, …).
  virtual void Free(void* block, size_t bytes) = 0;
};

// A zeroed block of memory aligned to kArenaAlignment. The pages of a large block are committed on
// first touch; from 4 MiB on they are huge pages if the system has them. Blocks of an allocator are
// committed at once. Move-only.
class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  // kResourceExhausted if the memory can't be allocated; never throws or aborts. `allocator`: null
  // for the C library's; must outlive the result.
  static absl::StatusOr<AlignedBuffer> Create(uint64_t bytes, BlockAllocator* allocator = nullptr);
  // Reserves address space that must not be accessed before Commit(). Pages are never huge.
  // kResourceExhausted if the system lacks address space of this size. With an allocator: Create().
  static absl::StatusOr<AlignedBuffer> Reserve(uint64_t bytes, BlockAllocator* allocator = nullptr);
  AlignedBuffer(AlignedBuffer&& other) noexcept;
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept;
  ~AlignedBuffer();

  std::byte* data() const { return data_; }
  size_t size() const { return size_; }
  absl::Span<std::byte> span() const { return absl::MakeSpan(data_, size_); }

  // Makes the pages of [begin, end) of a block of Reserve() accessible; they use memory from their
  // first access on. No effect on pages that are accessible. Precondition: inside the block.
  //   kResourceExhausted  a limit of the process
  absl::Status Commit(uint64_t begin, uint64_t end);
  // Returns all pages of a block of Reserve() to the system. They must be committed again, and are
  // zero then.
  void Discard();

 private:
  void Free();

  void* allocation_ = nullptr;           // the block that contains data_
  bool is_mapped_ = false;               // allocation_ is a mapping of size_ bytes
  BlockAllocator* allocator_ = nullptr;  // that allocation_ is from; null: the C library's
  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace belay

#endif  // BELAY_RUNTIME_CORE_ARENA_H_
