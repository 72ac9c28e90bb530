#include "exir/interpreter/buffer_pool.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "runtime/core/status_macros.h"

namespace belay::exir {

std::shared_ptr<BufferPool> BufferPool::Create() {
  return std::shared_ptr<BufferPool>(new BufferPool());
}

absl::StatusOr<std::shared_ptr<const AlignedBuffer>> BufferPool::Take(uint64_t bytes) {
  AlignedBuffer buffer;
  {
    const std::lock_guard lock(mutex_);
    const auto found = free_.lower_bound(static_cast<size_t>(bytes));
    if (found != free_.end() && found->first / 2 <= bytes) {
      buffer = std::move(found->second);
      free_bytes_ -= found->first;
      free_.erase(found);
    } else {
      Shrink(bytes);
    }
  }
  if (buffer.size() < bytes) {
    ABSL_ASSIGN_OR_RETURN(buffer, AlignedBuffer::Create(bytes));
  }
  {
    const std::lock_guard lock(mutex_);
    used_ += buffer.size();
    most_used_ = std::max(most_used_, used_);
  }
  // The pool owns no buffer in use, so that no cycle keeps it.
  const auto give_back = [pool = weak_from_this()](AlignedBuffer* released) {
    const std::unique_ptr<AlignedBuffer> owned(released);
    if (const std::shared_ptr<BufferPool> alive = pool.lock()) alive->Return(std::move(*owned));
  };
  return std::shared_ptr<const AlignedBuffer>(new AlignedBuffer(std::move(buffer)), give_back);
}

uint64_t BufferPool::free_bytes() const {
  const std::lock_guard lock(mutex_);
  return free_bytes_;
}

void BufferPool::Return(AlignedBuffer buffer) {
  const std::lock_guard lock(mutex_);
  const size_t size = buffer.size();
  used_ -= size;
  free_bytes_ += size;
  free_.emplace(size, std::move(buffer));
}

void BufferPool::Shrink(uint64_t bytes) {
  while (!free_.empty() && (bytes > most_used_ || used_ + free_bytes_ > most_used_ - bytes)) {
    free_bytes_ -= free_.begin()->first;
    free_.erase(free_.begin());
  }
}

absl::StatusOr<std::shared_ptr<const AlignedBuffer>> CreateBuffer(BufferPool* pool,
                                                                  uint64_t bytes) {
  if (pool != nullptr) return pool->Take(bytes);
  ABSL_ASSIGN_OR_RETURN(AlignedBuffer buffer, AlignedBuffer::Create(bytes));
  return std::make_shared<const AlignedBuffer>(std::move(buffer));
}

}  // namespace belay::exir
