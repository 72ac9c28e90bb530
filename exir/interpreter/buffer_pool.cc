#include "exir/interpreter/buffer_pool.h"

#include <algorithm>
#include <iterator>
#include <mutex>
#include <utility>

#include "absl/base/config.h"
#include "absl/strings/str_cat.h"
#include "runtime/core/status_macros.h"

#ifdef ABSL_HAVE_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#else
// Nothing to mark.
#define ASAN_POISON_MEMORY_REGION(begin, bytes) (static_cast<void>(begin))
#define ASAN_UNPOISON_MEMORY_REGION(begin, bytes) (static_cast<void>(begin))
#endif

namespace belay::exir {

std::shared_ptr<BufferPool> BufferPool::Create() {
  return std::shared_ptr<BufferPool>(new BufferPool());
}

absl::StatusOr<std::shared_ptr<std::byte>> BufferPool::Take(uint64_t bytes) {
  if (bytes == 0) return nullptr;
  if (bytes > static_cast<uint64_t>(PTRDIFF_MAX) - kArenaAlignment) {
    return absl::ResourceExhaustedError(absl::StrCat("no memory for ", bytes, " bytes"));
  }
  const size_t size =
      static_cast<size_t>(bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
  const std::lock_guard lock(mutex_);
  auto found = free_.lower_bound(FreeBlock{size, 0, 0});
  if (found == free_.end()) {
    ABSL_RETURN_IF_ERROR(AddSlab(std::max(size, kSlabBytes)));
    found = free_.lower_bound(FreeBlock{size, 0, 0});
  }
  const FreeBlock block = *found;
  RemoveFree(block);
  if (block.bytes > size) AddFree(block.slab, block.offset + size, block.bytes - size);
  const std::shared_ptr<Slab>& slab = slabs_[block.slab];
  std::byte* const data = slab->memory.data() + block.offset;
  ASAN_UNPOISON_MEMORY_REGION(data, bytes);
  return std::shared_ptr<std::byte>(
      data, [pool = weak_from_this(), slab, block, size](std::byte* released) {
        ASAN_POISON_MEMORY_REGION(released, size);
        if (const auto alive = pool.lock()) alive->Return(block.slab, block.offset, size);
      });
}

void BufferPool::Trim() {
  const std::lock_guard lock(mutex_);
  FreeUnused();
}

uint64_t BufferPool::slab_bytes() const {
  const std::lock_guard lock(mutex_);
  uint64_t bytes = 0;
  for (const auto& [id, slab] : slabs_) bytes += slab->memory.size();
  return bytes;
}

void BufferPool::Return(uint64_t slab, size_t offset, size_t bytes) {
  const std::lock_guard lock(mutex_);
  std::map<size_t, size_t>& free = slabs_[slab]->free;
  const auto next = free.find(offset + bytes);
  if (next != free.end()) {
    const size_t more = next->second;
    RemoveFree({more, slab, offset + bytes});
    bytes += more;
  }
  const auto after = free.lower_bound(offset);
  if (after != free.begin()) {
    const auto [before, length] = *std::prev(after);
    if (before + length == offset) {
      RemoveFree({length, slab, before});
      offset = before;
      bytes += length;
    }
  }
  AddFree(slab, offset, bytes);
}

void BufferPool::FreeUnused() {
  for (auto it = slabs_.begin(); it != slabs_.end();) {
    const Slab& slab = *it->second;
    const size_t size = slab.memory.size();
    const bool unused = slab.free.size() == 1 && slab.free.begin()->second == size;
    if (unused) free_.erase({size, it->first, 0});
    it = unused ? slabs_.erase(it) : std::next(it);
  }
}

absl::Status BufferPool::AddSlab(size_t bytes) {
  FreeUnused();
  ABSL_ASSIGN_OR_RETURN(AlignedBuffer memory, AlignedBuffer::Create(bytes));
  ASAN_POISON_MEMORY_REGION(memory.data(), bytes);
  slabs_[num_slabs_] = std::make_shared<Slab>(Slab{std::move(memory), {}});
  AddFree(num_slabs_++, 0, bytes);
  return absl::OkStatus();
}

void BufferPool::AddFree(uint64_t slab, size_t offset, size_t bytes) {
  slabs_[slab]->free[offset] = bytes;
  free_.insert({bytes, slab, offset});
}

void BufferPool::RemoveFree(const FreeBlock& block) {
  slabs_[block.slab]->free.erase(block.offset);
  free_.erase(block);
}

absl::StatusOr<std::shared_ptr<std::byte>> CreateBuffer(BufferPool* pool, uint64_t bytes) {
  if (pool != nullptr) return pool->Take(bytes);
  ABSL_ASSIGN_OR_RETURN(AlignedBuffer buffer, AlignedBuffer::Create(bytes));
  auto owner = std::make_shared<AlignedBuffer>(std::move(buffer));
  return std::shared_ptr<std::byte>(owner, owner->data());
}

}  // namespace belay::exir
