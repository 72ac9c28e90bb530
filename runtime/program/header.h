// The 64-byte header of a program file.
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
  // The metadata's bytes, within the file.
  absl::Span<const std::byte> metadata;
};

// Whether the bytes begin like a program file.
bool HasProgramMagic(absl::Span<const std::byte> file);

// kResourceExhausted  Limits::file_bytes
absl::Status CheckFileBytes(uint64_t bytes, const Limits& limits);

// Checks the header of `file`, which is the whole file, and the metadata's checksum.
//   kDataLoss           not a program file, truncated, or damaged
//   kUnimplemented      another major version of the format; names both
//   kResourceExhausted  Limits::file_bytes, Limits::metadata_bytes
absl::StatusOr<FileHeader> ReadHeader(absl::Span<const std::byte> file, const Limits& limits);

// Checks the header of a companion file (runtime/schema/file_format.md §6) with `segments`
// segments. Returns the concatenated digests of its segments.
//   kDataLoss       not a companion file, truncated, damaged, or a different number of segments
//   kUnimplemented  another major version
absl::StatusOr<absl::Span<const std::byte>> ReadCompanionHeader(absl::Span<const std::byte> file,
                                                                uint64_t segments);

}  // namespace belay

#endif  // BELAY_RUNTIME_PROGRAM_HEADER_H_
