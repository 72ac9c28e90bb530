// Input of Program::FromParts: a program of another file format, converted by that format's reader
// to runtime/schema/program.proto and references to the file's bytes.
#ifndef BELAY_RUNTIME_PROGRAM_PROGRAM_PARTS_H_
#define BELAY_RUNTIME_PROGRAM_PROGRAM_PARTS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "runtime/program/program.h"

namespace belay {

struct ProgramParts {
  // A schema.Program in the wire format; only `producer` and `methods` are read. All rules of
  // runtime/schema/file_format.md §5 apply, except that arena tensors only need the alignment of
  // their element size.
  absl::Span<const std::byte> metadata;
  // Referenced by index from the metadata: segments (which hold blobs of delegates), and constants,
  // each exactly a tensor's bytes.
  std::vector<SegmentPlan> segments;
  std::vector<absl::Span<const std::byte>> constants;
  std::vector<NamedDataPlan> named_data;   // sorted by key; keys are unique and not empty
  absl::Span<const std::byte> debug_info;  // a schema.DebugInfo, or empty; for messages
  // For reports: the name of the file's format, all bytes of the file, and the number of bytes
  // outside segments.
  std::string format;
  absl::Span<const std::byte> file;
  uint64_t metadata_bytes = 0;
  // Keeps all these bytes alive, except the metadata's, which are not needed afterwards.
  std::shared_ptr<const void> owner;
};

}  // namespace belay

#endif  // BELAY_RUNTIME_PROGRAM_PROGRAM_PARTS_H_
