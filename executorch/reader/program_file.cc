#include "executorch/reader/program_file.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "executorch/reader/problems.h"
#include "runtime/core/annotate.h"
#include "runtime/core/checked_math.h"
#include "runtime/core/memory_check.h"
#include "runtime/core/status_macros.h"
#include "runtime/program/metadata_path.h"

namespace belay::pte {
namespace {

constexpr uint32_t kVersion = 0;

// Error for an index that `list` does not have.
template <class T>
absl::Status NoSuch(std::string_view what, uint64_t index, const T* list) {
  return absl::InvalidArgumentError(absl::StrCat(what, " ", index, " does not exist, there are ",
                                                 list == nullptr ? 0 : list->size()));
}

}  // namespace

absl::StatusOr<ProgramFile> ProgramFile::Read(absl::Span<const std::byte> file,
                                              const Limits& limits) {
  ProgramFile read;
  ABSL_ASSIGN_OR_RETURN(read.flat_, ReadFlatFile(FlatFileKind::kProgram, file, limits));
  ABSL_ASSIGN_OR_RETURN(read.root_,
                        VerifiedRoot<pte::Program>(read.flat_, ProgramIdentifier(), limits));
  const pte::Program& root = *read.root_;
  if (root.version() > kVersion) {
    return absl::UnimplementedError(absl::StrCat("the program has schema version ", root.version(),
                                                 ", this reader reads ", kVersion));
  }
  Problems problems;
  if (root.execution_plan() == nullptr || root.execution_plan()->size() == 0) {
    problems.Add(absl::InvalidArgumentError("execution_plan: expected at least one method"));
  }
  const SubsegmentOffsets* constants = root.constant_segment();
  if (constants == nullptr || constants->offsets() == nullptr ||
      constants->offsets()->size() == 0) {
    problems.Add(absl::InvalidArgumentError(
        "constant_segment: expected at least one offset; constants in constant_buffer are of an "
        "older format"));
  }
  if (root.segments() == nullptr) {
    ABSL_RETURN_IF_ERROR(problems.ToStatus());
    return read;
  }
  const uint64_t count = root.segments()->size();
  if (count > limits.segments) {
    return absl::ResourceExhaustedError(
        absl::StrCat("segments: ", count, ", the limit 'segments' is ", limits.segments));
  }
  MemoryBound bound;
  bound.Add(count, sizeof(read.segments_[0]));
  ABSL_RETURN_IF_ERROR(CheckMemory(bound.bytes(), "the list of segments"));
  read.segments_.reserve(count);
  for (const DataSegment* segment : *root.segments()) {
    absl::StatusOr<absl::Span<const std::byte>> bytes =
        SegmentBytes(read.flat_, segment->offset(), segment->size());
    if (!bytes.ok()) {
      problems.Add(Annotate(bytes.status(), absl::StrCat("segments[", read.segments_.size(), "]")));
    }
    read.segments_.push_back(bytes.value_or(absl::Span<const std::byte>()));
  }
  ABSL_RETURN_IF_ERROR(problems.ToStatus());
  return read;
}

absl::StatusOr<absl::Span<const std::byte>> ProgramFile::Segment(uint64_t index) const {
  if (index < segments_.size()) return segments_[index];
  return NoSuch("segment", index, &segments_);
}

absl::StatusOr<absl::Span<const std::byte>> ProgramFile::Subsegment(
    const SubsegmentOffsets* offsets, uint32_t index, uint64_t bytes) const {
  if (offsets == nullptr || offsets->offsets() == nullptr || index >= offsets->offsets()->size()) {
    return NoSuch("entry", index, offsets == nullptr ? nullptr : offsets->offsets());
  }
  ABSL_ASSIGN_OR_RETURN(const absl::Span<const std::byte> segment,
                        Segment(offsets->segment_index()));
  const uint64_t offset = ElementAt(*offsets->offsets(), index);
  if (!RangeFits(offset, bytes, segment.size())) {
    return absl::InvalidArgumentError(absl::StrCat(bytes, " bytes at ", offset,
                                                   " are not inside the ", segment.size(),
                                                   " bytes of segment ", offsets->segment_index()));
  }
  return segment.subspan(offset, bytes);
}

absl::StatusOr<absl::Span<const std::byte>> ProgramFile::Constant(uint32_t index,
                                                                  uint64_t bytes) const {
  const absl::StatusOr<absl::Span<const std::byte>> found =
      Subsegment(root_->constant_segment(), index, bytes);
  if (found.ok()) return found;
  return Annotate(found.status(), "constant_segment");
}

absl::StatusOr<absl::Span<const std::byte>> ProgramFile::InitialContent(uint32_t index,
                                                                        uint64_t bytes) const {
  const auto* entries = root_->mutable_data_segments();
  // ExecuTorch's runtime uses only the first one.
  const absl::StatusOr<absl::Span<const std::byte>> found = Subsegment(
      entries == nullptr || entries->size() == 0 ? nullptr : entries->Get(0), index, bytes);
  if (found.ok()) return found;
  return Annotate(found.status(), "mutable_data_segments[0]");
}

absl::StatusOr<absl::Span<const std::byte>> ProgramFile::Processed(
    const BackendDelegateDataReference* reference) const {
  if (reference == nullptr) return absl::InvalidArgumentError("processed is missing");
  switch (reference->location()) {
    case DataLocation::SEGMENT:
      return Segment(reference->index());
    case DataLocation::INLINE: {
      const auto* list = root_->backend_delegate_data();
      if (list == nullptr || reference->index() >= list->size()) {
        return NoSuch("backend_delegate_data", reference->index(), list);
      }
      const auto* data = list->Get(reference->index())->data();
      if (data == nullptr) return absl::Span<const std::byte>();
      return absl::MakeConstSpan(reinterpret_cast<const std::byte*>(data->data()), data->size());
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat("processed: location ", static_cast<int>(reference->location()), " is unknown"));
}

absl::StatusOr<std::vector<NamedDataPlan>> ProgramFile::NamedData(const Limits& limits) const {
  std::vector<NamedDataPlan> sorted;
  if (root_->named_data() == nullptr) return sorted;
  ABSL_RETURN_IF_ERROR(CheckKeys(*root_->named_data(), limits));
  Problems problems;
  for (flatbuffers::uoffset_t i = 0; i < root_->named_data()->size(); ++i) {
    const pte::NamedData& named = *root_->named_data()->Get(i);
    const absl::StatusOr<std::string_view> key = ReadKey(named.key(), i);
    if (!key.ok()) {
      problems.Add(key.status());
      continue;
    }
    const absl::StatusOr<absl::Span<const std::byte>> bytes = Segment(named.segment_index());
    if (!bytes.ok()) problems.Add(Annotate(bytes.status(), EntryName(i, *key)));
    NamedDataPlan data;
    data.key = std::string(*key);
    if (bytes.ok()) data.bytes = *bytes;
    sorted.push_back(std::move(data));
  }
  std::sort(sorted.begin(), sorted.end(),
            [](const NamedDataPlan& a, const NamedDataPlan& b) { return a.key < b.key; });
  for (size_t i = 1; i < sorted.size(); ++i) {
    if (sorted[i].key == sorted[i - 1].key) {
      problems.Add(absl::InvalidArgumentError(
          absl::StrCat("named_data: the key ", Quoted(sorted[i].key), " is a duplicate")));
    }
  }
  ABSL_RETURN_IF_ERROR(problems.ToStatus());
  return sorted;
}

}  // namespace belay::pte
