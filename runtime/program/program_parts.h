// A program that comes from a file of another format, for Program::FromParts: what that file's
// reader made of it, in the words of runtime/schema/program.proto, and where the bytes are.
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
  // A schema.Program in the wire format, of which `producer` and `methods` are read. All rules of
  // runtime/schema/file_format.md §5 hold for it but one: tensors in the arena lie at any multiple
  // of their element's size.
  absl::Span<const std::byte> metadata;
  // What the metadata refers to by index: segments (of which delegates have a blob), and constants,
  // exactly a tensor's bytes each.
  std::vector<SegmentPlan> segments;
  std::vector<absl::Span<const std::byte>> constants;
  std::vector<NamedDataPlan> named_data;   // sorted by key, which is unique and not empty
  absl::Span<const std::byte> debug_info;  // a schema.DebugInfo, or nothing; for messages
  // The file, for reports: its name for the format, all of its bytes, and how many of them are no
  // segments.
  std::string format;
  absl::Span<const std::byte> file;
  uint64_t metadata_bytes = 0;
  // Keeps all those bytes alive, but for the metadata's, which are not needed any more afterwards.
  std::shared_ptr<const void> owner;
};

}  // namespace belay

#endif  // BELAY_RUNTIME_PROGRAM_PROGRAM_PARTS_H_
