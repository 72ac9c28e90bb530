// Segments, and the bytes in them that the rest of the metadata refers to.
#ifndef BELAY_RUNTIME_PROGRAM_SEGMENT_VALIDATOR_H_
#define BELAY_RUNTIME_PROGRAM_SEGMENT_VALIDATOR_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/program/header.h"
#include "runtime/program/metadata_path.h"
#include "runtime/program/program.h"
#include "runtime/program/wire_reader.h"

namespace belay {

struct Segments {
  std::vector<SegmentPlan> plans;
  // What keeps the companion files' bytes alive.
  std::vector<std::shared_ptr<const void>> owners;
};

// What the messages, the metadata's segments, say. Options::companion_root is "" when there is
// none.
absl::StatusOr<Segments> ValidateSegments(const WireList& messages, const FileHeader& header,
                                          absl::Span<const std::byte> file,
                                          const Program::Options& options);

// [offset, offset + size) of a segment, which must be of this kind.
absl::StatusOr<absl::Span<const std::byte>> SegmentRange(absl::Span<const SegmentPlan> segments,
                                                         uint64_t segment, SegmentPlan::Kind kind,
                                                         uint64_t offset, uint64_t size,
                                                         const MetadataPath& path);
// All of a segment, which must be of this kind.
absl::StatusOr<absl::Span<const std::byte>> WholeSegment(absl::Span<const SegmentPlan> segments,
                                                         uint64_t segment, SegmentPlan::Kind kind,
                                                         const MetadataPath& path);

// Parallel to the messages, the metadata's constants. `named_data` is that of the program around, null
// for none; `has_feature` says whether the program declares that it uses it.
absl::StatusOr<std::vector<absl::Span<const std::byte>>> ValidateConstants(
    const WireList& messages, absl::Span<const SegmentPlan> segments,
    const NamedDataMap* named_data, bool has_feature);

absl::StatusOr<std::vector<NamedDataPlan>> ValidateNamedData(
    const WireList& messages, absl::Span<const SegmentPlan> segments);

}  // namespace belay

#endif  // BELAY_RUNTIME_PROGRAM_SEGMENT_VALIDATOR_H_
