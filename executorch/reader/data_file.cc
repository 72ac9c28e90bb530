#include "executorch/reader/data_file.h"

#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "executorch/format/flat_tensor_generated.h"
#include "executorch/reader/flat_file.h"
#include "executorch/reader/problems.h"
#include "runtime/core/annotate.h"
#include "runtime/core/status_macros.h"

namespace belay::pte {
namespace {

constexpr uint32_t kVersion = 0;

absl::StatusOr<absl::Span<const std::byte>> Segment(const FlatFile& flat,
                                                    const ptd::FlatTensor& root, uint64_t segment) {
  const auto* segments = root.segments();
  const uint64_t count = segments == nullptr ? 0 : segments->size();
  if (segment >= count) {
    return absl::InvalidArgumentError(
        absl::StrCat("segment ", segment, " does not exist, there are ", count));
  }
  const ptd::DataSegment* found = segments->Get(segment);
  return SegmentBytes(flat, found->offset(), found->size());
}

absl::StatusOr<ExternalData> ReadEntry(const FlatFile& flat, const ptd::FlatTensor& root,
                                       const ptd::NamedData& named) {
  ExternalData data;
  ABSL_ASSIGN_OR_RETURN(data.bytes, Segment(flat, root, named.segment_index()));
  const ptd::TensorLayout* layout = named.tensor_layout();
  if (layout == nullptr) return data;
  ABSL_ASSIGN_OR_RETURN(data.layout,
                        ReadLayout(layout->scalar_type(), layout->sizes(), layout->dim_order()));
  if (data.layout->bytes > data.bytes.size()) {
    return absl::InvalidArgumentError(absl::StrCat("a tensor of ", data.layout->bytes,
                                                   " bytes, the segment has ", data.bytes.size()));
  }
  return data;
}

}  // namespace

absl::Status DataFiles::Add(std::shared_ptr<const void> owner, absl::Span<const std::byte> file,
                            const Limits& limits) {
  ABSL_ASSIGN_OR_RETURN(const FlatFile flat, ReadFlatFile(FlatFileKind::kData, file, limits));
  ABSL_ASSIGN_OR_RETURN(const ptd::FlatTensor* root,
                        VerifiedRoot<ptd::FlatTensor>(flat, ptd::FlatTensorIdentifier(), limits));
  if (root->version() > kVersion) {
    return absl::UnimplementedError(absl::StrCat("the data file has version ", root->version(),
                                                 ", this reader reads ", kVersion));
  }
  if (root->named_data() == nullptr) return absl::OkStatus();
  ABSL_RETURN_IF_ERROR(CheckKeys(*root->named_data(), limits));
  Problems problems;
  std::map<std::string, ExternalData, std::less<>> added;
  for (flatbuffers::uoffset_t i = 0; i < root->named_data()->size(); ++i) {
    const ptd::NamedData& named = *root->named_data()->Get(i);
    const absl::StatusOr<std::string_view> key = ReadKey(named.key(), i);
    if (!key.ok()) {
      problems.Add(key.status());
      continue;
    }
    absl::StatusOr<ExternalData> data = ReadEntry(flat, *root, named);
    if (!data.ok()) {
      problems.Add(Annotate(data.status(), EntryName(i, *key)));
    } else if (entries_.find(*key) != entries_.end()) {
      problems.Add(absl::InvalidArgumentError(
          absl::StrCat(EntryName(i, *key), ": another data file has this key")));
    } else if (!added.emplace(std::string(*key), *std::move(data)).second) {
      problems.Add(
          absl::InvalidArgumentError(absl::StrCat(EntryName(i, *key), ": the key is a duplicate")));
    }
  }
  ABSL_RETURN_IF_ERROR(problems.ToStatus());
  entries_.merge(added);
  file_bytes_ += file.size();
  owners_.push_back(std::move(owner));
  return absl::OkStatus();
}

const ExternalData* DataFiles::Find(std::string_view key) const {
  const auto it = entries_.find(key);
  return it == entries_.end() ? nullptr : &it->second;
}

}  // namespace belay::pte
