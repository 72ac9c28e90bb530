// Validates segments and the ranges in them that the rest of the metadata references.
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
  // Keep the companion files' bytes alive.
  std::vector<std::shared_ptr<const void>> owners;
};

// Validates `messages`, the metadata's segments. Options::companion_root is "" for none.
absl::StatusOr<Segments> ValidateSegments(const WireList& messages, const FileHeader& header,
                                          absl::Span<const std::byte> file,
                                          const Program::Options& options);

// Returns [offset, offset + size) of a segment, which must be of this kind.
absl::StatusOr<absl::Span<const std::byte>> SegmentRange(absl::Span<const SegmentPlan> segments,
                                                         uint64_t segment, SegmentPlan::Kind kind,
                                                         uint64_t offset, uint64_t size,
                                                         const MetadataPath& path);
// Returns a whole segment, which must be of this kind.
absl::StatusOr<absl::Span<const std::byte>> WholeSegment(absl::Span<const SegmentPlan> segments,
                                                         uint64_t segment, SegmentPlan::Kind kind,
                                                         const MetadataPath& path);

// Returns the constants, parallel to `messages`, the metadata's constants. `own` is the program's
// named data, `enclosing` the enclosing program's, null for none. `has_feature`: the program
// declares that it uses named constants.
absl::StatusOr<std::vector<absl::Span<const std::byte>>> ValidateConstants(
    const WireList& messages, absl::Span<const SegmentPlan> segments,
    absl::Span<const NamedDataPlan> own, const NamedDataMap* enclosing, bool has_feature);

// Passes named tensors to `tensors`, unless it is null.
absl::StatusOr<std::vector<NamedDataPlan>> ValidateNamedData(const WireList& messages,
                                                             absl::Span<const SegmentPlan> segments,
                                                             NamedTensors* tensors);

}  // namespace belay

#endif  // BELAY_RUNTIME_PROGRAM_SEGMENT_VALIDATOR_H_
