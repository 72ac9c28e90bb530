// A program file (.pte) whose tables may be walked: everything in them lies where it says, and what
// they refer to in the segments is checked when it is asked for. Rules about values and
// instructions are left to those who read methods.
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

// Values of the schema; fields that are absent are null.
class ProgramFile {
 public:
  // `file` must outlive the result.
  //   kDataLoss, kResourceExhausted  as ReadFlatFile and VerifiedRoot
  //   kUnimplemented    as ReadFlatFile; a newer version of the schema, both are named
  //   kInvalidArgument  there is no method, or no constant_segment with an entry, or segments do
  //                     not fit into the file: all that do not
  static absl::StatusOr<ProgramFile> Read(absl::Span<const std::byte> file, const Limits& limits);

  const FlatFile& flat() const { return flat_; }
  const pte::Program& root() const { return *root_; }

  // kInvalidArgument: there is no such segment.
  absl::StatusOr<absl::Span<const std::byte>> Segment(uint64_t index) const;
  // `bytes` of the constant, or of the initial content, that a tensor's data_buffer_idx names: 1 or
  // more. kInvalidArgument: there is none of this index, or it is not inside its segment.
  absl::StatusOr<absl::Span<const std::byte>> Constant(uint32_t index, uint64_t bytes) const;
  absl::StatusOr<absl::Span<const std::byte>> InitialContent(uint32_t index, uint64_t bytes) const;
  // A delegate's blob. kInvalidArgument: the reference is missing or leads nowhere.
  absl::StatusOr<absl::Span<const std::byte>> Processed(
      const BackendDelegateDataReference* reference) const;
  // Named data, sorted by key. kInvalidArgument: keys that are missing, empty, no UTF-8 or there
  // twice, segments that do not exist; all of them. kResourceExhausted: as CheckKeys.
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
