// Parses values and lists from the front of untrusted bytes, such as the blob of a delegate:
//
//   ByteReader reader(blob);
//   ABSL_ASSIGN_OR_RETURN(const Header header, reader.Take<Header>("its header"));
//   ABSL_ASSIGN_OR_RETURN(const std::vector<Step> steps,
//                         reader.TakeList<Step>(header.steps, "its steps"));
//   ABSL_RETURN_IF_ERROR(reader.ExpectEnd());
//
// Values are stored as in memory (little endian), packed, at any alignment. Their contents may be
// anything.
#ifndef BELAY_RUNTIME_CORE_BYTE_READER_H_
#define BELAY_RUNTIME_CORE_BYTE_READER_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"

namespace belay {

// Thread-compatible. The bytes must outlive it.
class ByteReader {
 public:
  explicit ByteReader(absl::Span<const std::byte> bytes) : rest_(bytes) {}

  absl::Span<const std::byte> rest() const { return rest_; }

  // kDataLoss, naming `what`, if fewer bytes are left.
  template <class T>
  absl::StatusOr<T> Take(std::string_view what) {
    static_assert(std::is_trivially_copyable_v<T> && std::endian::native == std::endian::little);
    ABSL_ASSIGN_OR_RETURN(const absl::Span<const std::byte> bytes, TakeBytes(1, sizeof(T), what));
    T value;
    std::memcpy(&value, bytes.data(), sizeof(T));
    return value;
  }
  // As above; allocates only after checking that the bytes exist.
  template <class T>
  absl::StatusOr<std::vector<T>> TakeList(uint64_t count, std::string_view what) {
    static_assert(std::is_trivially_copyable_v<T> && std::endian::native == std::endian::little);
    ABSL_ASSIGN_OR_RETURN(const absl::Span<const std::byte> bytes,
                          TakeBytes(count, sizeof(T), what));
    std::vector<T> values(count);
    if (count != 0) std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }
  // Returns the bytes of `count` elements of `size` bytes each, without a copy. Errors as above.
  // Precondition: size > 0.
  absl::StatusOr<absl::Span<const std::byte>> TakeBytes(uint64_t count, size_t size,
                                                        std::string_view what) {
    if (count > rest_.size() / size) {
      return absl::DataLossError(absl::StrCat("expected ", count, " x ", size, " bytes of ", what,
                                              ", got ", rest_.size(), " bytes"));
    }
    const absl::Span<const std::byte> bytes = rest_.first(count * size);
    rest_.remove_prefix(bytes.size());
    return bytes;
  }
  // kDataLoss if bytes are left.
  absl::Status ExpectEnd() const {
    if (rest_.empty()) return absl::OkStatus();
    return absl::DataLossError(
        absl::StrCat("expected no more bytes, got ", rest_.size(), " bytes"));
  }

 private:
  absl::Span<const std::byte> rest_;
};

}  // namespace belay

#endif  // BELAY_RUNTIME_CORE_BYTE_READER_H_
