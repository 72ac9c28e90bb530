#include "runtime/core/arena.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
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

absl::StatusOr<AlignedBuffer> AlignedBuffer::Create(uint64_t bytes) {
  AlignedBuffer buffer;
  if (bytes == 0) return buffer;
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

AlignedBuffer::AlignedBuffer(AlignedBuffer&& other) noexcept
    : allocation_(std::exchange(other.allocation_, nullptr)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

AlignedBuffer& AlignedBuffer::operator=(AlignedBuffer&& other) noexcept {
  if (this != &other) {
    std::free(allocation_);
    allocation_ = std::exchange(other.allocation_, nullptr);
    data_ = std::exchange(other.data_, nullptr);
    size_ = std::exchange(other.size_, 0);
  }
  return *this;
}

AlignedBuffer::~AlignedBuffer() { std::free(allocation_); }

}  // namespace belay
