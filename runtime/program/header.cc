#include "runtime/program/header.h"

#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/core/checked_math.h"
#include "runtime/core/first_bytes.h"
#include "runtime/core/status_macros.h"
#include "runtime/schema/file_format.h"

namespace belay {
namespace {

constexpr size_t kHeaderCrcAt = 60;

// Precondition: the integer is inside `bytes`.
template <class T>
T LittleEndian(absl::Span<const std::byte> bytes, size_t at) {
  T value = 0;
  const absl::Span<const std::byte> number = bytes.subspan(at, sizeof(T));
  for (size_t i = sizeof(T); i-- > 0;) {
    value = static_cast<T>(value << 8 | std::to_integer<T>(number[i]));
  }
  return value;
}

uint32_t Crc32(absl::Span<const std::byte> bytes) {
  return static_cast<uint32_t>(
      crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

absl::Status CheckCrc(std::string_view what, absl::Span<const std::byte> bytes, uint32_t expected) {
  const uint32_t actual = Crc32(bytes);
  if (actual == expected) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("the ", what, " is damaged: its CRC-32 is ",
                                          absl::StrFormat("%08x", actual), ", the header says ",
                                          absl::StrFormat("%08x", expected)));
}

// Checks magic, header checksum, major version and declared size.
absl::Status CheckStart(absl::Span<const std::byte> file, const char (&magic)[8],
                        std::string_view what, size_t file_size_at) {
  if (file.size() >= sizeof(magic) && std::memcmp(file.data(), magic, sizeof(magic)) != 0) {
    return absl::DataLossError(absl::StrCat("not a ", what, ": ", DescribeFirstBytes(file)));
  }
  if (file.size() < kHeaderBytes) {
    return absl::DataLossError(absl::StrCat("not a ", what, ": it has ", file.size(),
                                            " bytes, a header has ", kHeaderBytes));
  }
  ABSL_RETURN_IF_ERROR(
      CheckCrc("header", file.first(kHeaderCrcAt), LittleEndian<uint32_t>(file, kHeaderCrcAt)));
  const uint32_t major = LittleEndian<uint32_t>(file, 8);
  const uint32_t minor = LittleEndian<uint32_t>(file, 12);
  if (major != kFormatMajor) {
    return absl::UnimplementedError(absl::StrCat("the ", what, " has format version ", major, ".",
                                                 minor, ", this reader reads version ",
                                                 kFormatMajor, ".", kFormatMinor));
  }
  const uint64_t size = LittleEndian<uint64_t>(file, file_size_at);
  if (size != file.size()) {
    return absl::DataLossError(absl::StrCat("the ", what, " is ",
                                            file.size() < size ? "truncated" : "too long", ": ",
                                            file.size(), " bytes, the header says ", size));
  }
  return absl::OkStatus();
}

absl::Status CheckReserved(absl::Span<const std::byte> file, size_t at) {
  const uint64_t value = LittleEndian<uint64_t>(file, at);
  if (value == 0) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat("the header's reserved bytes at ", at, " are ", value, ", expected 0"));
}

}  // namespace

absl::Status CheckFileBytes(uint64_t bytes, const Limits& limits) {
  if (bytes <= limits.file_bytes) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      "the file has ", bytes, " bytes, the limit 'file_bytes' is ", limits.file_bytes));
}

bool HasProgramMagic(absl::Span<const std::byte> file) {
  return file.size() >= sizeof(kMagic) && std::memcmp(file.data(), kMagic, sizeof(kMagic)) == 0;
}

absl::StatusOr<FileHeader> ReadHeader(absl::Span<const std::byte> file, const Limits& limits) {
  ABSL_RETURN_IF_ERROR(CheckFileBytes(file.size(), limits));
  ABSL_RETURN_IF_ERROR(CheckStart(file, kMagic, "program file", /*file_size_at=*/32));
  ABSL_RETURN_IF_ERROR(CheckReserved(file, 40));
  ABSL_RETURN_IF_ERROR(CheckReserved(file, 48));
  FileHeader header;
  header.major = LittleEndian<uint32_t>(file, 8);
  header.minor = LittleEndian<uint32_t>(file, 12);
  const uint64_t metadata_size = LittleEndian<uint64_t>(file, 16);
  // Protocol Buffers use int for sizes.
  const uint64_t limit = std::min<uint64_t>(limits.metadata_bytes, INT32_MAX);
  if (metadata_size > limit) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "the metadata has ", metadata_size, " bytes, the limit 'metadata_bytes' is ", limit));
  }
  if (!RangeFits(kHeaderBytes, metadata_size, file.size())) {
    return absl::DataLossError(absl::StrCat("the metadata's ", metadata_size,
                                            " bytes do not fit into a file of ", file.size()));
  }
  header.metadata = file.subspan(kHeaderBytes, static_cast<size_t>(metadata_size));
  ABSL_RETURN_IF_ERROR(CheckCrc("metadata", header.metadata, LittleEndian<uint32_t>(file, 56)));
  header.first_segment = LittleEndian<uint64_t>(file, 24);
  return header;
}

absl::StatusOr<absl::Span<const std::byte>> ReadCompanionHeader(absl::Span<const std::byte> file,
                                                                uint64_t segments) {
  ABSL_RETURN_IF_ERROR(CheckStart(file, kCompanionMagic, "companion file", /*file_size_at=*/16));
  ABSL_RETURN_IF_ERROR(CheckReserved(file, 32));
  ABSL_RETURN_IF_ERROR(CheckReserved(file, 40));
  ABSL_RETURN_IF_ERROR(CheckReserved(file, 48));
  const uint64_t count = LittleEndian<uint64_t>(file, 24);
  if (count != segments) {
    return absl::DataLossError(
        absl::StrCat("it has ", count, " segments, the program file lists ", segments));
  }
  const uint64_t size = CheckedMul<uint64_t>(count, kDigestBytes).value_or(UINT64_MAX);
  if (!RangeFits(kHeaderBytes, size, file.size())) {
    return absl::DataLossError(absl::StrCat("the digests of ", count,
                                            " segments do not fit into a file of ", file.size()));
  }
  const absl::Span<const std::byte> digests = file.subspan(kHeaderBytes, static_cast<size_t>(size));
  ABSL_RETURN_IF_ERROR(CheckCrc("digest table", digests, LittleEndian<uint32_t>(file, 56)));
  return digests;
}

}  // namespace belay
