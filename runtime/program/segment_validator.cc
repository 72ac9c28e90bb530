#include "runtime/program/segment_validator.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/core/annotate.h"
#include "runtime/core/checked_math.h"
#include "runtime/core/status_macros.h"
#include "runtime/program/companion_files.h"
#include "runtime/program/metadata_messages.h"
#include "runtime/program/tensor_validator.h"
#include "runtime/schema/file_format.h"

namespace belay {
namespace {

std::string_view KindName(SegmentPlan::Kind kind) {
  switch (kind) {
    case SegmentPlan::Kind::kConstants:
      return "CONSTANTS";
    case SegmentPlan::Kind::kDelegate:
      return "DELEGATE";
    case SegmentPlan::Kind::kNamedData:
      return "NAMED_DATA";
    case SegmentPlan::Kind::kDebug:
      return "DEBUG";
  }
  return "unknown";
}

bool AllZero(absl::Span<const std::byte> bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
}

// Checks the fields of a segment that can be validated independently of other segments.
absl::StatusOr<SegmentPlan> ValidateFields(const SegmentMessage& segment,
                                           const MetadataPath& path) {
  SegmentPlan plan;
  const uint32_t kind = segment.kind;
  if (kind < 1 || kind > 4) {
    return MetadataPath(path, "kind").Error(absl::StrCat(kind, " is not a segment kind"));
  }
  plan.kind = static_cast<SegmentPlan::Kind>(kind);
  plan.alignment = segment.alignment;
  if (plan.alignment < kSegmentAlignment || (plan.alignment & (plan.alignment - 1)) != 0) {
    return MetadataPath(path, "alignment")
        .Error(
            absl::StrCat(plan.alignment, " is not a power of two of at least ", kSegmentAlignment));
  }
  plan.offset = segment.offset;
  if (segment.sha256.size() != kDigestBytes) {
    return MetadataPath(path, "sha256")
        .Error(absl::StrCat("has ", segment.sha256.size(), " bytes, expected ", kDigestBytes));
  }
  plan.sha256 = std::string(reinterpret_cast<const char*>(segment.sha256.data()), kDigestBytes);
  plan.companion = std::string(segment.companion);
  if (!plan.companion.empty() && !IsCompanionName(plan.companion)) {
    return MetadataPath(path, "companion")
        .Error(absl::StrCat(Quoted(plan.companion), " is not the base name of a file"));
  }
  return plan;
}

// Assigns consecutive segments to the bytes of one file.
class FileWalk {
 public:
  // Segments begin after the first `end` bytes.
  FileWalk(absl::Span<const std::byte> bytes, uint64_t end) : bytes_(bytes), end_(end) {}

  absl::Status Place(SegmentPlan& plan, uint64_t size, const MetadataPath& path) {
    // Never overflows: a file has fewer than 2^63 bytes, and an alignment is at most 2^63.
    const uint64_t expected = CheckedAlignUp(end_, plan.alignment).value_or(UINT64_MAX);
    if (plan.offset != expected) {
      return MetadataPath(path, "offset")
          .Error(absl::StrCat("is ", plan.offset, ", expected ", expected,
                              ": the first multiple of the alignment ", plan.alignment,
                              " after the ", end_, " bytes before it"));
    }
    if (!RangeFits(plan.offset, size, bytes_.size())) {
      return path.Error(absl::StrCat(size, " bytes at ", plan.offset, " are not inside the ",
                                     bytes_.size(), " bytes of the file"));
    }
    if (!AllZero(bytes_.subspan(end_, plan.offset - end_))) {
      return path.Error(absl::StrCat("the padding before it, at ", end_, ", is not zero"));
    }
    plan.bytes = bytes_.subspan(plan.offset, size);
    end_ = plan.offset + size;  // inside the file
    return absl::OkStatus();
  }

  absl::Status Finish(const MetadataPath& path) const {
    if (end_ == bytes_.size()) return absl::OkStatus();
    return path.Error(absl::StrCat("they end at ", end_, ", the file at ", bytes_.size()));
  }

 private:
  absl::Span<const std::byte> bytes_;
  uint64_t end_;
};

// Returns the named data referenced by a constant.
absl::StatusOr<absl::Span<const std::byte>> NamedConstant(const ConstantMessage& constant,
                                                          absl::Span<const NamedDataPlan> own,
                                                          const NamedDataMap* enclosing,
                                                          const MetadataPath& path) {
  const std::string_view key = constant.named_data;
  if (constant.segment != 0 || constant.offset != 0) {
    return path.Error(absl::StrCat("is named data and has segment ", constant.segment, " at ",
                                   constant.offset, ", expected 0 and 0"));
  }
  const NamedDataPlan* const data = FindNamedData(own, key);
  const absl::StatusOr<absl::Span<const std::byte>> bytes =
      data != nullptr        ? data->bytes
      : enclosing != nullptr ? enclosing->Find(key)
                             : absl::NotFoundError("not in the program");
  if (!bytes.ok()) {
    return Annotate(bytes.status(), absl::StrCat(path.ToString(), ": named data ", Quoted(key)));
  }
  if (bytes->size() != constant.size) {
    return path.Error(absl::StrCat("named data ", Quoted(key), " has ", bytes->size(),
                                   " bytes, expected ", constant.size));
  }
  return *bytes;
}

std::string Companion(const std::string& name) {
  return absl::StrCat("companion file ", Quoted(name));
}

// A segment in a companion file.
struct Member {
  size_t segment;
  uint64_t size;
};

absl::Status PlaceInCompanion(const std::string& name, const std::vector<Member>& members,
                              const Program::Options& options, Segments& segments) {
  const MetadataPath metadata;
  if (options.companion_root.empty()) {
    return absl::NotFoundError(
        absl::StrCat("companion file ", Quoted(name),
                     ": no directory to look for it was given (Options::companion_root)"));
  }
  ABSL_ASSIGN_OR_RETURN(
      std::shared_ptr<const MappedFile> file,
      OpenCompanionFile(options.companion_root, name,
                        {.access = options.access, .max_bytes = options.limits.file_bytes}));
  const absl::StatusOr<absl::Span<const std::byte>> digests =
      ReadCompanionHeader(file->bytes(), members.size());
  if (!digests.ok()) return Annotate(digests.status(), Companion(name));
  FileWalk walk(file->bytes(), kHeaderBytes + digests->size());
  absl::Span<const std::byte> rest = *digests;
  for (size_t k = 0; k < members.size(); ++k) {
    SegmentPlan& plan = segments.plans[members[k].segment];
    const MetadataPath path(metadata, "segments", members[k].segment);
    const absl::Span<const std::byte> digest = rest.first(kDigestBytes);
    rest.remove_prefix(kDigestBytes);
    if (std::memcmp(digest.data(), plan.sha256.data(), kDigestBytes) != 0) {
      return absl::DataLossError(
          absl::StrCat("companion file ", Quoted(name), " belongs to another program: the digest ",
                       "of its segment ", k, " is not that of ", path.ToString()));
    }
    const absl::Status status = walk.Place(plan, members[k].size, path);
    if (!status.ok()) return Annotate(status, Companion(name));
  }
  const absl::Status status = walk.Finish(MetadataPath(metadata, "segments"));
  if (!status.ok()) return Annotate(status, Companion(name));
  segments.owners.push_back(std::move(file));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Segments> ValidateSegments(const WireList& messages, const FileHeader& header,
                                          absl::Span<const std::byte> file,
                                          const Program::Options& options) {
  const MetadataPath metadata;
  const MetadataPath all(metadata, "segments");
  const uint64_t count = messages.count;
  const uint64_t limit = options.limits.segments;
  if (count > limit) return all.LimitError("segments", count, limit);
  Segments segments;
  segments.plans.reserve(count);
  FileWalk walk(file, kHeaderBytes + header.metadata.size());
  // Sorted, so that errors do not depend on hashing.
  std::map<std::string, std::vector<Member>> companions;
  uint64_t first = 0;
  WireElements elements(messages);
  for (size_t i = 0; i < count; ++i) {
    const MetadataPath path(metadata, "segments", i);
    SegmentMessage segment;
    ABSL_RETURN_IF_ERROR(Read(elements.NextMessage(), path, segment));
    ABSL_ASSIGN_OR_RETURN(SegmentPlan plan, ValidateFields(segment, path));
    if (plan.companion.empty()) {
      if (first == 0) first = plan.offset;
      ABSL_RETURN_IF_ERROR(walk.Place(plan, segment.size, path));
    } else {
      companions[plan.companion].push_back({.segment = i, .size = segment.size});
    }
    segments.plans.push_back(std::move(plan));
  }
  ABSL_RETURN_IF_ERROR(walk.Finish(all));
  if (header.first_segment != first) {
    return all.Error(absl::StrCat("the first one in the file is at ", first, ", the header says ",
                                  header.first_segment));
  }
  for (const auto& [name, members] : companions) {
    ABSL_RETURN_IF_ERROR(PlaceInCompanion(name, members, options, segments));
  }
  return segments;
}

absl::StatusOr<absl::Span<const std::byte>> WholeSegment(absl::Span<const SegmentPlan> segments,
                                                         uint64_t segment, SegmentPlan::Kind kind,
                                                         const MetadataPath& path) {
  if (segment >= segments.size()) {
    return path.Error(
        absl::StrCat("segment ", segment, " does not exist, there are ", segments.size()));
  }
  if (segments[segment].kind != kind) {
    return path.Error(absl::StrCat("segment ", segment, " is of kind ",
                                   KindName(segments[segment].kind), ", expected ",
                                   KindName(kind)));
  }
  return segments[segment].bytes;
}

absl::StatusOr<absl::Span<const std::byte>> SegmentRange(absl::Span<const SegmentPlan> segments,
                                                         uint64_t segment, SegmentPlan::Kind kind,
                                                         uint64_t offset, uint64_t size,
                                                         const MetadataPath& path) {
  ABSL_ASSIGN_OR_RETURN(const absl::Span<const std::byte> bytes,
                        WholeSegment(segments, segment, kind, path));
  if (!RangeFits(offset, size, bytes.size())) {
    return path.Error(absl::StrCat(size, " bytes at ", offset, " are not inside the ", bytes.size(),
                                   " bytes of segment ", segment));
  }
  return bytes.subspan(offset, size);
}

const NamedDataPlan* FindNamedData(absl::Span<const NamedDataPlan> sorted, std::string_view key) {
  const auto it =
      std::lower_bound(sorted.begin(), sorted.end(), key,
                       [](const NamedDataPlan& data, std::string_view k) { return data.key < k; });
  return it != sorted.end() && it->key == key ? &*it : nullptr;
}

absl::StatusOr<std::vector<absl::Span<const std::byte>>> ValidateConstants(
    const WireList& messages, absl::Span<const SegmentPlan> segments,
    absl::Span<const NamedDataPlan> own, const NamedDataMap* enclosing, bool has_feature) {
  const MetadataPath metadata;
  std::vector<absl::Span<const std::byte>> constants;
  constants.reserve(messages.count);
  WireElements elements(messages);
  for (uint64_t i = 0; i < messages.count; ++i) {
    const MetadataPath path(metadata, "constants", i);
    ConstantMessage constant;
    ABSL_RETURN_IF_ERROR(Read(elements.NextMessage(), path, constant));
    if (!constant.named_data.empty()) {
      if (!has_feature) {
        return MetadataPath(path, "named_data")
            .Error(
                absl::StrCat("the program does not require the feature '", kNamedConstants, "'"));
      }
      ABSL_ASSIGN_OR_RETURN(const absl::Span<const std::byte> bytes,
                            NamedConstant(constant, own, enclosing, path));
      constants.push_back(bytes);
      continue;
    }
    if (constant.offset % kTensorAlignment != 0) {
      return MetadataPath(path, "offset")
          .Error(absl::StrCat(constant.offset, " is not a multiple of ", kTensorAlignment));
    }
    ABSL_ASSIGN_OR_RETURN(const absl::Span<const std::byte> bytes,
                          SegmentRange(segments, constant.segment, SegmentPlan::Kind::kConstants,
                                       constant.offset, constant.size, path));
    constants.push_back(bytes);
  }
  return constants;
}

absl::StatusOr<std::vector<NamedDataPlan>> ValidateNamedData(const WireList& messages,
                                                             absl::Span<const SegmentPlan> segments,
                                                             NamedTensors* tensors) {
  const MetadataPath metadata;
  std::vector<NamedDataPlan> named_data;
  named_data.reserve(messages.count);
  WireElements elements(messages);
  for (uint64_t i = 0; i < messages.count; ++i) {
    const MetadataPath path(metadata, "named_data", i);
    NamedDataMessage data;
    ABSL_RETURN_IF_ERROR(Read(elements.NextMessage(), path, data));
    if (data.key.empty()) return MetadataPath(path, "key").Error("is empty");
    if (i > 0 && data.key <= named_data.back().key) {
      return MetadataPath(path, "key")
          .Error(absl::StrCat(Quoted(data.key), " does not come after ",
                              Quoted(named_data.back().key)));
    }
    NamedDataPlan plan;
    plan.key = std::string(data.key);
    ABSL_ASSIGN_OR_RETURN(
        plan.bytes, SegmentRange(segments, data.segment, SegmentPlan::Kind::kNamedData, data.offset,
                                 data.size, path));
    plan.alignment = std::max<uint64_t>(data.alignment, 1);
    plan.replaceable = data.replaceable;
    if (data.offset % plan.alignment != 0 || plan.alignment > segments[data.segment].alignment) {
      return MetadataPath(path, "alignment")
          .Error(absl::StrCat("offset ", data.offset, " in a segment aligned to ",
                              segments[data.segment].alignment, " is not aligned to ",
                              plan.alignment));
    }
    if (data.layout.found() || plan.replaceable) {
      const MetadataPath layout_path(path, "layout");
      TensorLayoutMessage layout;
      ABSL_RETURN_IF_ERROR(Read(data.layout, layout_path, layout));
      LayoutPlan tensor;
      ABSL_RETURN_IF_ERROR(ValidateLayout(layout, layout_path, tensor));
      if (tensor.max_bytes != plan.bytes.size()) {
        return layout_path.Error(absl::StrCat("a tensor of ", tensor.max_bytes,
                                              " bytes, the data has ", plan.bytes.size()));
      }
      if (tensors != nullptr) {
        ABSL_RETURN_IF_ERROR(tensors->Choose({plan.key, tensor.dtype, tensor.sizes,
                                              tensor.dim_order, plan.replaceable, plan.bytes}));
      }
    }
    named_data.push_back(std::move(plan));
  }
  return named_data;
}

}  // namespace belay
