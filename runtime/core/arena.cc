#include "runtime/core/arena.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace belay {

absl::StatusOr<AlignedBuffer> AlignedBuffer::Create(uint64_t bytes) {
  AlignedBuffer buffer;
  if (bytes == 0) return buffer;
  void* data = nullptr;
  if (bytes > static_cast<uint64_t>(PTRDIFF_MAX) ||
      posix_memalign(&data, kArenaAlignment, static_cast<size_t>(bytes)) != 0 || data == nullptr) {
    return absl::ResourceExhaustedError(absl::StrCat("no memory for ", bytes, " bytes"));
  }
  std::memset(data, 0, static_cast<size_t>(bytes));
  buffer.data_ = static_cast<std::byte*>(data);
  buffer.size_ = static_cast<size_t>(bytes);
  return buffer;
}

AlignedBuffer::AlignedBuffer(AlignedBuffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

AlignedBuffer& AlignedBuffer::operator=(AlignedBuffer&& other) noexcept {
  if (this != &other) {
    std::free(data_);
    data_ = std::exchange(other.data_, nullptr);
    size_ = std::exchange(other.size_, 0);
  }
  return *this;
}

AlignedBuffer::~AlignedBuffer() { std::free(data_); }

}  // namespace belay
