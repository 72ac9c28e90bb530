// A verified program file (.pte): all tables are in bounds. References to segments are checked on
// access. Rules about values and instructions are checked by the method reader.
#ifndef BELAY_EXECUTORCH_READER_PROGRAM_FILE_H_
#define BELAY_EXECUTORCH_READER_PROGRAM_FILE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "executorch/format/program_generated.h"
#include "executorch/reader/flat_file.h"
#include "runtime/program/limits.h"
#include "runtime/program/program.h"

namespace belay::pte {

// Accessors return values of the schema; absent fields are null.
class ProgramFile {
 public:
  // `file` must outlive the result.
  //   kDataLoss, kResourceExhausted  as ReadFlatFile and VerifiedRoot
  //   kUnimplemented    as ReadFlatFile; a newer version of the schema, both are named
  //   kInvalidArgument  no method; a missing or empty constant_segment; segments outside of the
  //                     file (lists all)
  static absl::StatusOr<ProgramFile> Read(absl::Span<const std::byte> file, const Limits& limits);

  const FlatFile& flat() const { return flat_; }
  const pte::Program& root() const { return *root_; }

  // kInvalidArgument: unknown segment.
  absl::StatusOr<absl::Span<const std::byte>> Segment(uint64_t index) const;
  // Returns `bytes` bytes of the constant or initial content at a tensor's data_buffer_idx, which
  // is 1 or more. kInvalidArgument: unknown index, or not inside its segment.
  absl::StatusOr<absl::Span<const std::byte>> Constant(uint32_t index, uint64_t bytes) const;
  absl::StatusOr<absl::Span<const std::byte>> InitialContent(uint32_t index, uint64_t bytes) const;
  // Returns a delegate's blob. kInvalidArgument: the reference is missing or invalid.
  absl::StatusOr<absl::Span<const std::byte>> Processed(
      const BackendDelegateDataReference* reference) const;
  // Returns named data, sorted by key. kInvalidArgument: missing, empty, non-UTF-8 or duplicate
  // keys, or unknown segments; lists all. kResourceExhausted: as CheckKeys.
  absl::StatusOr<std::vector<NamedDataPlan>> NamedData(const Limits& limits) const;

 private:
  absl::StatusOr<absl::Span<const std::byte>> Subsegment(const SubsegmentOffsets* offsets,
                                                         uint32_t index, uint64_t bytes) const;
  FlatFile flat_;
  const pte::Program* root_ = nullptr;
  std::vector<absl::Span<const std::byte>> segments_;
};

}  // namespace belay::pte

#endif  // BELAY_EXECUTORCH_READER_PROGRAM_FILE_H_
