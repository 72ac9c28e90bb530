// The bytes around metadata and segments: header, padding, offsets, checksums
// (runtime/schema/file_format.md §2, §6). Knows nothing of what is in the segments.
#ifndef BELAY_EXIR_SERIALIZE_FILE_LAYOUT_H_
#define BELAY_EXIR_SERIALIZE_FILE_LAYOUT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/schema/program.pb.h"

namespace belay::exir {

// The same message gives the same bytes.
std::string SerializeDeterministic(const google::protobuf::MessageLite& message);

// The bytes of one segment, one piece after the other. They are not copied.
struct SegmentBytes {
  std::vector<std::string_view> pieces;
  uint64_t size = 0;
};

// The next multiple of `alignment`. Precondition: it fits.
constexpr uint64_t AlignUp(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

// Appends zeros that live for ever.
void AppendZeros(std::vector<std::string_view>& pieces, uint64_t count);

// A file as pieces that are written one after the other. They point into segments' bytes, or into
// `owned`.
struct FilePieces {
  std::vector<std::string_view> pieces;
  std::vector<std::unique_ptr<std::string>> owned;
  uint64_t size = 0;
};

// The program file. metadata.segments have kind, size, alignment and digest; those in the program
// file get their offsets here, those in companion files have theirs. `segments` is parallel to
// metadata.segments; what belongs to companion files is not looked at.
FilePieces LayOutProgramFile(schema::Program metadata, absl::Span<const SegmentBytes> segments);

// A companion file that holds the segments `members` of the metadata, which get their offsets.
FilePieces LayOutCompanion(schema::Program& metadata, absl::Span<const SegmentBytes> segments,
                           absl::Span<const int> members);

}  // namespace belay::exir

#endif  // BELAY_EXIR_SERIALIZE_FILE_LAYOUT_H_
