#include "exir/serialize/serializer.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "exir/ir/mapped_pages.h"
#include "exir/serialize/file_layout.h"
#include "runtime/core/bytes.h"
#include "runtime/core/checked_math.h"
#include "runtime/core/mapped_file.h"
#include "runtime/core/sha256.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/utf8.h"
#include "runtime/schema/companion_name.h"
#include "runtime/schema/file_format.h"

namespace belay::exir {
namespace {

SegmentBytes JoinPieces(const std::vector<Storage>& storages) {
  SegmentBytes result;
  for (const Storage& storage : storages) {
    const uint64_t start =
        (result.size + kTensorAlignment - 1) / kTensorAlignment * kTensorAlignment;
    AppendZeros(result.pieces, start - result.size);
    if (!storage.bytes.empty()) result.pieces.push_back(AsString(storage.bytes));
    result.size = start + storage.bytes.size();
  }
  return result;
}

// Returns TAG-DIGEST.data.
absl::StatusOr<std::string> CompanionName(const std::string& tag, const std::string& digests) {
  std::string name = absl::StrCat(tag, "-");
  absl::StrAppend(&name, absl::BytesToHexString(Sha256(digests).substr(0, 16)), ".data");
  if (IsCompanionName(name) && IsUtf8(name)) return name;
  return absl::InvalidArgumentError(
      absl::StrCat("companion file '", absl::CHexEscape(tag),
                   "': the tag can't be part of a file's base name, which is text in UTF-8"));
}

// Sets names and bytes of companion files, and offsets of their segments.
absl::Status LayOutCompanions(absl::Span<const SegmentBytes> segments, schema::Program& metadata,
                              SerializedProgram& result) {
  std::map<std::string, std::vector<int>> by_tag;
  for (int i = 0; i < metadata.segments_size(); ++i) {
    const std::string& tag = metadata.segments(i).companion();
    if (!tag.empty()) by_tag[tag].push_back(i);
  }
  for (const auto& [tag, members] : by_tag) {
    std::string digests;
    for (const int i : members) digests += metadata.segments(i).sha256();
    ABSL_ASSIGN_OR_RETURN(const std::string name, CompanionName(tag, digests));
    FilePieces file = LayOutCompanion(metadata, segments, members);
    for (const int i : members) metadata.mutable_segments(i)->set_companion(name);
    for (auto& owned : file.owned) result.owned.push_back(std::move(owned));
    result.companions.push_back(
        {.name = name, .pieces = std::move(file.pieces), .size = file.size});
  }
  return absl::OkStatus();
}

// Whether the path is a regular file with these bytes, without symbolic or further hard links.
bool HasSameContent(const std::string& path, const SerializedCompanion& companion) {
  struct stat info;
  if (::lstat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode) || info.st_nlink != 1) {
    return false;
  }
  const absl::StatusOr<std::shared_ptr<const MappedFile>> file = MappedFile::Open(path);
  if (!file.ok() || (*file)->bytes().size() != companion.size) return false;
  const auto* at = reinterpret_cast<const char*>((*file)->bytes().data());
  for (const std::string_view piece : companion.pieces) {
    if (!piece.empty() && std::memcmp(at, piece.data(), piece.size()) != 0) return false;
    at += piece.size();
  }
  return true;
}

}  // namespace

std::string SerializedProgram::ToString() const {
  std::string bytes;
  bytes.reserve(size);
  for (std::string_view piece : pieces) bytes.append(piece);
  return bytes;
}

Storage SerializedProgram::ToStorage() const {
  std::vector<std::byte> bytes;
  bytes.reserve(size);
  for (std::string_view piece : pieces) {
    const auto* data = reinterpret_cast<const std::byte*>(piece.data());
    bytes.insert(bytes.end(), data, data + piece.size());
  }
  return Storage::Own(std::move(bytes));
}

absl::StatusOr<SerializedProgram> SerializeProgram(const ProgramImage& image,
                                                   const SerializeOptions& options) {
  schema::Program metadata = image.metadata;
  if (metadata.segments_size() != 0) {
    return absl::InvalidArgumentError("the image's segments are laid out already");
  }
  SerializedProgram result;
  std::vector<SegmentBytes> segments;
  for (const ProgramImage::Segment& segment : image.segments) {
    std::string companion = segment.companion;
    if (companion.empty() && (segment.kind == schema::Segment::CONSTANTS ||
                              segment.kind == schema::Segment::NAMED_DATA)) {
      companion = options.constants_companion;
    }
    if (!companion.empty() && !options.companions) {
      return absl::UnimplementedError(
          absl::StrCat("companion file '", companion, "': this program must be in one piece"));
    }
    segments.push_back(JoinPieces(segment.pieces));
    schema::Segment* s = metadata.add_segments();
    s->set_kind(segment.kind);
    s->set_alignment(segment.alignment);
    s->set_companion(companion);
  }
  if (image.debug.methods_size() != 0) {
    result.owned.push_back(std::make_unique<std::string>(SerializeDeterministic(image.debug)));
    segments.push_back({{*result.owned.back()}, result.owned.back()->size()});
    schema::Segment* s = metadata.add_segments();
    s->set_kind(schema::Segment::DEBUG);
    s->set_alignment(kSegmentAlignment);
    metadata.set_debug_segment(metadata.segments_size());
  }
  for (const schema::Constant& constant : metadata.constants()) {
    if (!constant.named_data().empty()) continue;
    if (constant.segment() >= segments.size() ||
        !RangeFits(constant.offset(), constant.size(), segments[constant.segment()].size)) {
      return absl::InvalidArgumentError(
          absl::StrCat("a constant is outside segment ", constant.segment()));
    }
  }
  for (size_t i = 0; i < segments.size(); ++i) {
    schema::Segment* s = metadata.mutable_segments(static_cast<int>(i));
    s->set_size(segments[i].size);
    const bool known = i < image.segments.size() && !image.segments[i].sha256.empty();
    s->set_sha256(known ? image.segments[i].sha256 : Sha256InParts(segments[i].pieces));
  }
  ABSL_RETURN_IF_ERROR(LayOutCompanions(segments, metadata, result));
  FilePieces file = LayOutProgramFile(std::move(metadata), segments);
  result.pieces = std::move(file.pieces);
  for (auto& owned : file.owned) result.owned.push_back(std::move(owned));
  result.size = file.size;
  return result;
}

absl::Status WriteSerializedProgram(const SerializedProgram& program, const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string directory = slash == std::string::npos ? "" : path.substr(0, slash + 1);
  std::vector<std::string> added;
  absl::Status status;
  for (const SerializedCompanion& companion : program.companions) {
    const std::string companion_path = absl::StrCat(directory, companion.name);
    if (companion_path == path) {
      status = absl::InvalidArgumentError(
          absl::StrCat("the program file can't have the name of its companion file ", path));
      break;
    }
    if (HasSameContent(companion_path, companion)) continue;
    struct stat info;
    const bool replaces = ::lstat(companion_path.c_str(), &info) == 0;
    status = WriteFileInParts(companion_path, companion.pieces);
    if (!status.ok()) break;
    if (!replaces) added.push_back(companion_path);
  }
  if (status.ok()) status = WriteFileInParts(path, program.pieces);
  if (!status.ok()) {
    for (const std::string& file : added) ::unlink(file.c_str());
  }
  return status;
}

absl::Status WriteProgramFile(const ProgramImage& image, const std::string& path,
                              SerializeOptions options) {
  options.companions = true;
  ABSL_ASSIGN_OR_RETURN(const SerializedProgram program, SerializeProgram(image, options));
  return WriteSerializedProgram(program, path);
}

}  // namespace belay::exir
