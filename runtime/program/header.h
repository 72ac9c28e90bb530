// The first 64 bytes of a program file.
#ifndef BELAY_RUNTIME_PROGRAM_HEADER_H_
#define BELAY_RUNTIME_PROGRAM_HEADER_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/program/limits.h"

namespace belay {

struct FileHeader {
  uint32_t major = 0;
  uint32_t minor = 0;
  uint64_t first_segment = 0;  // 0: no segments in this file
  // The metadata's bytes; they lie in the file.
  absl::Span<const std::byte> metadata;
};

// kResourceExhausted  Limits::file_bytes
absl::Status CheckFileBytes(uint64_t bytes, const Limits& limits);

// Checks the header of `file`, all of its bytes, and the metadata's checksum.
//   kDataLoss           not a program file, truncated, or damaged
//   kUnimplemented      a format of another major version; names both
//   kResourceExhausted  Limits::file_bytes, Limits::metadata_bytes
absl::StatusOr<FileHeader> ReadHeader(absl::Span<const std::byte> file, const Limits& limits);

// The header of a companion file (runtime/schema/file_format.md §6), which holds `segments`
// segments.
//   kDataLoss       not a companion file, truncated, damaged, or of another number of segments
//   kUnimplemented  another major version
// Returns the digests of its segments, one after the other.
absl::StatusOr<absl::Span<const std::byte>> ReadCompanionHeader(absl::Span<const std::byte> file,
                                                                uint64_t segments);

}  // namespace belay

#endif  // BELAY_RUNTIME_PROGRAM_HEADER_H_
