// Lays out a file around metadata and segments: header, padding, offsets, checksums
// (runtime/schema/file_format.md §2, §6). Segment contents are opaque.
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

// Serializes equal messages to equal bytes.
std::string SerializeDeterministic(const google::protobuf::MessageLite& message);

// Consecutive pieces of one segment, not copied.
struct SegmentBytes {
  std::vector<std::string_view> pieces;
  uint64_t size = 0;
};

// Rounds up to a multiple of `alignment`. Precondition: the result fits.
constexpr uint64_t AlignUp(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

// Appends zeros with static storage duration.
void AppendZeros(std::vector<std::string_view>& pieces, uint64_t count);

// Consecutive pieces of a file. They point into segments' bytes, or into `owned`.
struct FilePieces {
  std::vector<std::string_view> pieces;
  std::vector<std::unique_ptr<std::string>> owned;
  uint64_t size = 0;
};

// Lays out the program file. metadata.segments have kind, size, alignment and digest. Offsets of
// segments in the program file are set here; those in companion files must be set already.
// `segments` is parallel to metadata.segments; entries of companion files are ignored.
FilePieces LayOutProgramFile(schema::Program metadata, absl::Span<const SegmentBytes> segments);

// Lays out a companion file with the segments `members` of the metadata, and sets their offsets.
FilePieces LayOutCompanion(schema::Program& metadata, absl::Span<const SegmentBytes> segments,
                           absl::Span<const int> members);

}  // namespace belay::exir

#endif  // BELAY_EXIR_SERIALIZE_FILE_LAYOUT_H_
