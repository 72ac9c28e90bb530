#include "runtime/core/arena.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace belay {

namespace {

constexpr uint64_t kHugePage = uint64_t{2} << 20;

absl::Status NoMemory(uint64_t bytes) {
  return absl::ResourceExhaustedError(absl::StrCat("no memory for ", bytes, " bytes"));
}

}  // namespace

absl::StatusOr<AlignedBuffer> AlignedBuffer::Create(uint64_t bytes, BlockAllocator* allocator) {
  AlignedBuffer buffer;
  if (bytes == 0) return buffer;
  if (allocator != nullptr) {
    if (bytes > static_cast<uint64_t>(PTRDIFF_MAX)) return NoMemory(bytes);
    buffer.size_ = static_cast<size_t>(bytes);
    buffer.allocation_ = allocator->Allocate(buffer.size_, kArenaAlignment);
    if (buffer.allocation_ == nullptr) return NoMemory(bytes);
    buffer.allocator_ = allocator;
    if (reinterpret_cast<uintptr_t>(buffer.allocation_) % kArenaAlignment != 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the allocator's block: expected an address that is a multiple of ", kArenaAlignment));
    }
    buffer.data_ = static_cast<std::byte*>(buffer.allocation_);
    std::memset(buffer.data_, 0, buffer.size_);
    return buffer;
  }
  const bool huge = bytes >= 2 * kHugePage;
  const uint64_t alignment = huge ? kHugePage : kArenaAlignment;
  if (bytes > static_cast<uint64_t>(PTRDIFF_MAX) - alignment) return NoMemory(bytes);
  // calloc returns zero pages without touching them.
  buffer.allocation_ = std::calloc(1, static_cast<size_t>(bytes + alignment - 1));
  if (buffer.allocation_ == nullptr) return NoMemory(bytes);
  const auto address = reinterpret_cast<uintptr_t>(buffer.allocation_);
  const size_t shift = static_cast<size_t>((alignment - address % alignment) % alignment);
  buffer.data_ = static_cast<std::byte*>(buffer.allocation_) + shift;
  buffer.size_ = static_cast<size_t>(bytes);
  // Only a hint: systems without huge pages reject it.
  if (huge) madvise(buffer.data_, buffer.size_ / kHugePage * kHugePage, MADV_HUGEPAGE);
  return buffer;
}

absl::StatusOr<AlignedBuffer> AlignedBuffer::Reserve(uint64_t bytes, BlockAllocator* allocator) {
  if (allocator != nullptr) return Create(bytes, allocator);
  AlignedBuffer buffer;
  if (bytes == 0) return buffer;
  if (bytes > static_cast<uint64_t>(PTRDIFF_MAX)) return NoMemory(bytes);
  void* const data = mmap(nullptr, static_cast<size_t>(bytes), PROT_NONE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) return NoMemory(bytes);
  // Only a hint. A huge page would commit the neighbors of a written page.
  if (bytes >= kHugePage) madvise(data, static_cast<size_t>(bytes), MADV_NOHUGEPAGE);
  buffer.allocation_ = data;
  buffer.is_mapped_ = true;
  buffer.data_ = static_cast<std::byte*>(data);
  buffer.size_ = static_cast<size_t>(bytes);
  return buffer;
}

absl::Status AlignedBuffer::Commit(uint64_t begin, uint64_t end) {
  if (begin >= end || !is_mapped_) return absl::OkStatus();
  const uint64_t page = static_cast<uint64_t>(getpagesize());
  begin = begin / page * page;
  if (mprotect(data_ + begin, static_cast<size_t>(end - begin), PROT_READ | PROT_WRITE) != 0) {
    return NoMemory(end - begin);
  }
  return absl::OkStatus();
}

void AlignedBuffer::Discard() {
  if (allocator_ != nullptr) std::memset(data_, 0, size_);
  if (!is_mapped_) return;
  madvise(allocation_, size_, MADV_DONTNEED);
  mprotect(allocation_, size_, PROT_NONE);
}

void AlignedBuffer::Free() {
  if (is_mapped_) {
    munmap(allocation_, size_);
  } else if (allocator_ != nullptr) {
    allocator_->Free(allocation_, size_);
  } else {
    std::free(allocation_);
  }
}

AlignedBuffer::AlignedBuffer(AlignedBuffer&& other) noexcept
    : allocation_(std::exchange(other.allocation_, nullptr)),
      is_mapped_(std::exchange(other.is_mapped_, false)),
      allocator_(std::exchange(other.allocator_, nullptr)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

AlignedBuffer& AlignedBuffer::operator=(AlignedBuffer&& other) noexcept {
  if (this != &other) {
    Free();
    allocation_ = std::exchange(other.allocation_, nullptr);
    is_mapped_ = std::exchange(other.is_mapped_, false);
    allocator_ = std::exchange(other.allocator_, nullptr);
    data_ = std::exchange(other.data_, nullptr);
    size_ = std::exchange(other.size_, 0);
  }
  return *this;
}

AlignedBuffer::~AlignedBuffer() { Free(); }

}  // namespace belay
