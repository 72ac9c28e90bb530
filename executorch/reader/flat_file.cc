#include "executorch/reader/flat_file.h"

#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "executorch/format/file_header.h"
#include "runtime/core/bytes.h"
#include "runtime/core/checked_math.h"
#include "runtime/core/first_bytes.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/utf8.h"
#include "runtime/program/header.h"
#include "runtime/program/metadata_path.h"

namespace belay::pte {
namespace {

constexpr size_t kIdentifierOffset = 4, kIdentifierSize = 4;
// ExecuTorch's runtime reads this many bytes to find a header.
constexpr size_t kLeastFileBytes = 64;

struct Format {
  std::string_view name, identifier, magic;
  size_t least_header;
};
constexpr Format kProgramFormat = {"program file (.pte)", "ET12", kProgramHeaderMagic,
                                   kOldProgramHeaderSize};
constexpr Format kDataFormat = {"data file (.ptd)", "FT01", kFlatTensorHeaderMagic,
                                kFlatTensorHeaderSize};

// Precondition of both: the range is inside the file.
std::string_view Text(absl::Span<const std::byte> file, size_t at, size_t size) {
  return AsString(file.subspan(at, size));
}
template <class T>
T LittleEndian(absl::Span<const std::byte> file, size_t at) {
  return flatbuffers::ReadScalar<T>(file.subspan(at).data());
}

absl::Status HeaderError(const Format& format, std::string_view message) {
  return absl::DataLossError(absl::StrCat("the ", format.name, "'s header: ", message));
}

absl::Status CheckIdentifier(const Format& format, absl::Span<const std::byte> file) {
  if (file.size() < kLeastFileBytes) {
    return absl::DataLossError(absl::StrCat("not a ", format.name, ": ", file.size(),
                                            " bytes, expected at least ", kLeastFileBytes));
  }
  const std::string_view identifier = Text(file, kIdentifierOffset, kIdentifierSize);
  if (identifier == format.identifier) return absl::OkStatus();
  if (identifier.substr(0, 2) == format.identifier.substr(0, 2)) {
    return absl::UnimplementedError(absl::StrCat("the ", format.name, " has the schema ",
                                                 Quoted(identifier), ", this reader reads ",
                                                 Quoted(format.identifier)));
  }
  return absl::DataLossError(absl::StrCat("not a ", format.name, ": ", DescribeFirstBytes(file)));
}

// Reads the size of the tables and the range of the segments.
absl::Status ReadHeader(FlatFileKind kind, const Format& format, FlatFile& flat) {
  const absl::Span<const std::byte> file = flat.bytes;
  const uint64_t size = LittleEndian<uint32_t>(file, kHeaderOffset + 4);
  if (size < format.least_header || !RangeFits(kHeaderOffset, size, file.size())) {
    return HeaderError(format, absl::StrCat("its length is ", size, ", expected at least ",
                                            format.least_header, " in a file of ", file.size()));
  }
  constexpr size_t kFields = kHeaderOffset + 8;
  if (kind == FlatFileKind::kProgram) {
    flat.table_bytes = LittleEndian<uint64_t>(file, kFields);
    flat.segment_base = LittleEndian<uint64_t>(file, kFields + 8);
    const bool has_size = size >= kProgramHeaderSize;
    if (flat.segment_base > file.size()) {
      return HeaderError(format, absl::StrCat("segments begin at ", flat.segment_base,
                                              ", the file has ", file.size(), " bytes"));
    }
    flat.segment_bytes =
        has_size ? LittleEndian<uint64_t>(file, kFields + 16) : file.size() - flat.segment_base;
    if (flat.segment_base == 0) flat.segment_bytes = 0;
  } else {
    const uint64_t offset = LittleEndian<uint64_t>(file, kFields);
    const uint64_t bytes = LittleEndian<uint64_t>(file, kFields + 8);
    const std::optional<uint64_t> end = CheckedAdd(offset, bytes);
    if (!end.has_value()) return HeaderError(format, "the tables' offset and size overflow");
    flat.table_bytes = *end;
    flat.segment_base = LittleEndian<uint64_t>(file, kFields + 16);
    flat.segment_bytes = LittleEndian<uint64_t>(file, kFields + 24);
  }
  if (flat.table_bytes < kLeastFileBytes || flat.table_bytes > file.size()) {
    return HeaderError(format, absl::StrCat("the tables end at ", flat.table_bytes,
                                            ", the file has ", file.size(), " bytes"));
  }
  if (!RangeFits(flat.segment_base, flat.segment_bytes, file.size())) {
    return HeaderError(format, absl::StrCat("segments of ", flat.segment_bytes, " bytes at ",
                                            flat.segment_base, ", the file has ", file.size()));
  }
  return absl::OkStatus();
}

}  // namespace

bool IsProgramFile(absl::Span<const std::byte> file) {
  return file.size() >= kIdentifierOffset + kIdentifierSize &&
         Text(file, kIdentifierOffset, 2) == kProgramFormat.identifier.substr(0, 2);
}

bool IsDataFile(absl::Span<const std::byte> file) {
  return file.size() >= kIdentifierOffset + kIdentifierSize &&
         Text(file, kIdentifierOffset, 2) == kDataFormat.identifier.substr(0, 2);
}

absl::StatusOr<FlatFile> ReadFlatFile(FlatFileKind kind, absl::Span<const std::byte> file,
                                      const Limits& limits) {
  const Format& format = kind == FlatFileKind::kProgram ? kProgramFormat : kDataFormat;
  ABSL_RETURN_IF_ERROR(CheckFileBytes(file.size(), limits));
  ABSL_RETURN_IF_ERROR(CheckIdentifier(format, file));
  FlatFile flat;
  flat.bytes = file;
  flat.table_bytes = file.size();
  if (Text(file, kHeaderOffset, format.magic.size()) == format.magic) {
    ABSL_RETURN_IF_ERROR(ReadHeader(kind, format, flat));
  } else if (kind == FlatFileKind::kData) {
    return HeaderError(format, "it is missing");
  }
  const uint64_t limit = std::min<uint64_t>(limits.metadata_bytes, FLATBUFFERS_MAX_BUFFER_SIZE - 1);
  if (flat.table_bytes > limit) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the tables of the ", format.name, " have ", flat.table_bytes,
                     " bytes, the limit 'metadata_bytes' is ", limit));
  }
  ABSL_ASSIGN_OR_RETURN(AlignedBuffer copy, AlignedBuffer::Create(flat.table_bytes));
  std::copy_n(file.data(), flat.table_bytes, copy.data());
  flat.tables = std::make_shared<const AlignedBuffer>(std::move(copy));
  return flat;
}

std::string EntryName(size_t i, std::string_view key) {
  return absl::StrCat("named_data[", i, "] ", Quoted(key));
}

absl::StatusOr<std::string_view> ReadKey(const flatbuffers::String* key, size_t i) {
  const std::string_view text = key == nullptr ? std::string_view() : key->string_view();
  if (!text.empty() && IsUtf8(text)) return text;
  return absl::InvalidArgumentError(
      absl::StrCat(EntryName(i, text), ": the key is missing or not UTF-8"));
}

absl::StatusOr<absl::Span<const std::byte>> SegmentBytes(const FlatFile& file, uint64_t offset,
                                                         uint64_t size) {
  if (!RangeFits(offset, size, file.segment_bytes)) {
    return absl::InvalidArgumentError(absl::StrCat(size, " bytes at ", offset,
                                                   " are not inside the file's ",
                                                   file.segment_bytes, " bytes of segments"));
  }
  // Both ranges are inside the file: the header was checked.
  return file.bytes.subspan(file.segment_base).subspan(offset, size);
}

}  // namespace belay::pte
