#include "exir/import/zip_reader.h"

#include <zlib.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "exir/ir/mapped_pages.h"
#include "runtime/core/bytes.h"
#include "runtime/core/checked_math.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernels/checksum/crc32.h"

namespace belay::exir {
namespace {

constexpr uint32_t kLocalSignature = 0x04034b50;
constexpr uint32_t kCentralSignature = 0x02014b50;
constexpr uint32_t kEndSignature = 0x06054b50;
constexpr uint32_t kZip64EndSignature = 0x06064b50;
constexpr uint32_t kZip64LocatorSignature = 0x07064b50;
constexpr uint64_t kLocalBytes = 30;
constexpr uint64_t kCentralBytes = 46;
constexpr uint64_t kEndBytes = 22;
constexpr uint64_t kZip64EndBytes = 56;
constexpr uint64_t kZip64LocatorBytes = 20;
constexpr uint64_t kMaxCommentBytes = 0xffff;
constexpr uint64_t kMaxNameBytes = 4096;
constexpr uint16_t kZip64ExtraId = 1;
constexpr uint32_t kSaturated32 = 0xffffffff;
constexpr uint16_t kSaturated16 = 0xffff;
// General purpose flags.
constexpr uint16_t kEncrypted = 1 << 0 | 1 << 6 | 1 << 13;
constexpr uint16_t kDataDescriptor = 1 << 3;
constexpr uint16_t kPatchData = 1 << 5;
// Maximum expansion of deflate (two bits per 258 bytes).
constexpr uint64_t kMaxDeflateRatio = 1032;

using Bytes = absl::Span<const std::byte>;

// Reads little-endian numbers. Precondition: in range.
template <class T>
T Get(Bytes b, uint64_t at) {
  T value = 0;
  const Bytes number = b.subspan(at, sizeof(T));
  for (size_t i = sizeof(T); i-- > 0;) {
    value = static_cast<T>(uint64_t{value} << 8 | std::to_integer<uint64_t>(number[i]));
  }
  return value;
}
constexpr auto Get16 = Get<uint16_t>;
constexpr auto Get32 = Get<uint32_t>;
constexpr auto Get64 = Get<uint64_t>;

template <class... Args>
absl::Status Corrupt(const Args&... args) {
  return absl::DataLossError(absl::StrCat("zip: ", args...));
}

// Sanitizes an arbitrary name for messages.
std::string Printable(std::string_view name) {
  std::string out;
  for (char c : name.substr(0, 120)) out += c < 0x20 || c == 0x7f ? '?' : c;
  if (name.size() > 120) out += "...";
  return out;
}

// --- The end record: location of the central directory ---

struct Directory {
  uint64_t offset = 0;
  uint64_t size = 0;
  uint64_t entries = 0;
};

absl::StatusOr<uint64_t> FindEndRecord(Bytes file) {
  if (file.size() < kEndBytes) {
    return Corrupt("the file has ", file.size(), " bytes, fewer than an end record");
  }
  const uint64_t last = file.size() - kEndBytes;
  const uint64_t first = last - std::min(last, kMaxCommentBytes);
  for (uint64_t at = last;; --at) {
    const Bytes record = file.subspan(at, kEndBytes);
    if (Get32(record, 0) == kEndSignature && Get16(record, 20) == last - at) return at;
    if (at == first) break;
  }
  return Corrupt(
      "no end record at the end of the file: it is truncated, or something was appended");
}

// Reads the zip64 end record if its locator precedes the classic end record. `end` becomes the
// required end of the directory.
absl::StatusOr<Directory> ReadZip64End(Bytes file, uint64_t locator_at, uint64_t& end) {
  const Bytes locator = file.subspan(locator_at, kZip64LocatorBytes);
  const uint64_t at = Get64(locator, 8);
  if (Get32(locator, 4) != 0 || Get32(locator, 16) > 1) {
    return absl::UnimplementedError("zip: spread over several disks");
  }
  if (!RangeFits(at, kZip64EndBytes, locator_at) || Get32(file, at) != kZip64EndSignature) {
    return Corrupt("no zip64 end record at offset ", at, " to which its locator points");
  }
  const Bytes record = file.subspan(at, kZip64EndBytes);
  const std::optional<uint64_t> size = CheckedAdd<uint64_t>(Get64(record, 4), 12);
  if (!size.has_value() || *size != locator_at - at) {
    return Corrupt("the zip64 end record does not end where its locator begins");
  }
  if (Get32(record, 16) != 0 || Get32(record, 20) != 0 || Get64(record, 24) != Get64(record, 32)) {
    return absl::UnimplementedError("zip: spread over several disks");
  }
  end = at;
  return Directory{
      .offset = Get64(record, 48), .size = Get64(record, 40), .entries = Get64(record, 32)};
}

absl::StatusOr<Directory> FindDirectory(Bytes file) {
  ABSL_ASSIGN_OR_RETURN(const uint64_t at, FindEndRecord(file));
  const Bytes record = file.subspan(at, kEndBytes);
  const uint16_t disk = Get16(record, 4), directory_disk = Get16(record, 6);
  const uint16_t entries_here = Get16(record, 8), entries = Get16(record, 10);
  const uint32_t size = Get32(record, 12), offset = Get32(record, 16);

  Directory directory{.offset = offset, .size = size, .entries = entries};
  uint64_t end = at;
  if (at >= kZip64LocatorBytes && Get32(file, at - kZip64LocatorBytes) == kZip64LocatorSignature) {
    ABSL_ASSIGN_OR_RETURN(directory, ReadZip64End(file, at - kZip64LocatorBytes, end));
    if ((entries != kSaturated16 && entries != directory.entries) ||
        (size != kSaturated32 && size != directory.size) ||
        (offset != kSaturated32 && offset != directory.offset)) {
      return Corrupt("the two end records contradict each other");
    }
  } else if (entries == kSaturated16 || size == kSaturated32 || offset == kSaturated32) {
    return Corrupt("the end record refers to a missing zip64 end record");
  }
  if ((disk != 0 && disk != kSaturated16) ||
      (directory_disk != 0 && directory_disk != kSaturated16) || entries_here != entries) {
    return absl::UnimplementedError("zip: spread over several disks");
  }
  if (!RangeFits(directory.offset, directory.size, end) ||
      directory.size != end - directory.offset) {
    return Corrupt("the central directory (offset ", directory.offset, ", ", directory.size,
                   " bytes) does not end where the end record begins (", end, ")");
  }
  return directory;
}

// --- Entries ---

absl::Status CheckName(std::string_view name) {
  const auto refuse = [&](std::string_view why) {
    return absl::InvalidArgumentError(
        absl::StrCat("zip: the entry name '", Printable(name), "' ", why));
  };
  if (name.empty()) return refuse("is empty");
  if (name.size() > kMaxNameBytes) return refuse("is too long");
  if (name.front() == '/') return refuse("is absolute");
  for (char c : name) {
    if (c == '\\') return refuse("contains a backslash");
    if (static_cast<unsigned char>(c) < 0x20) return refuse("contains a control character");
  }
  for (size_t begin = 0; begin <= name.size();) {
    const size_t end = std::min(name.find('/', begin), name.size());
    const std::string_view part = name.substr(begin, end - begin);
    if (part == ".." || part == ".") return refuse("contains a '.' or '..' component");
    if (part.empty() && end != name.size()) return refuse("contains an empty component");
    begin = end + 1;
  }
  return absl::OkStatus();
}

// Reads from an extra field the values that the 32-bit fields delegate to zip64.
absl::Status ReadZip64Extra(Bytes extra, std::string_view name, uint64_t* size,
                            uint64_t* compressed_size, uint64_t* offset) {
  const bool need_size = *size == kSaturated32, need_compressed = *compressed_size == kSaturated32;
  const bool need_offset = offset != nullptr && *offset == kSaturated32;
  if (!need_size && !need_compressed && !need_offset) return absl::OkStatus();
  constexpr size_t kFieldHeadBytes = 4;
  while (extra.size() >= kFieldHeadBytes) {
    const uint16_t id = Get16(extra, 0), length = Get16(extra, 2);
    extra.remove_prefix(kFieldHeadBytes);
    if (length > extra.size()) break;
    Bytes field = extra.first(length);
    extra.remove_prefix(length);
    if (id != kZip64ExtraId) continue;
    for (auto [needed, target] :
         {std::pair(need_size, size), std::pair(need_compressed, compressed_size),
          std::pair(need_offset, offset)}) {
      if (!needed) continue;
      if (field.size() < sizeof(uint64_t))
        return Corrupt("'", Printable(name), "': the zip64 field is too short");
      *target = Get64(field, 0);
      field.remove_prefix(sizeof(uint64_t));
    }
    return absl::OkStatus();
  }
  return Corrupt("'", Printable(name), "': the zip64 field is missing");
}

struct CentralEntry {
  ZipReader::Entry entry;
  uint64_t header_offset = 0;
  uint16_t flags = 0;
  uint16_t method = 0;
};

// Reads the record at `at`, and advances `at` to the next one.
absl::StatusOr<CentralEntry> ReadCentral(Bytes file, uint64_t end, uint64_t& at) {
  if (!RangeFits(at, kCentralBytes, end) || Get32(file, at) != kCentralSignature) {
    return Corrupt("no directory entry at offset ", at, " where one must be");
  }
  Bytes rest = file.subspan(at, end - at);
  const Bytes record = rest.first(kCentralBytes);
  rest.remove_prefix(kCentralBytes);
  const uint16_t name_bytes = Get16(record, 28), extra_bytes = Get16(record, 30);
  const uint64_t variable_bytes = uint64_t{name_bytes} + extra_bytes + Get16(record, 32);
  if (variable_bytes > rest.size())
    return Corrupt("the directory entry at offset ", at, " does not fit");

  CentralEntry central;
  ZipReader::Entry& entry = central.entry;
  entry.name = AsString(rest.first(name_bytes));
  ABSL_RETURN_IF_ERROR(CheckName(entry.name));
  central.flags = Get16(record, 8);
  central.method = Get16(record, 10);
  entry.crc32 = Get32(record, 16);
  entry.compressed_size = Get32(record, 20);
  entry.size = Get32(record, 24);
  central.header_offset = Get32(record, 42);
  const uint16_t disk = Get16(record, 34);
  const bool from_unix = Get16(record, 4) >> 8 == 3;
  const uint32_t mode = Get32(record, 38) >> 16;
  ABSL_RETURN_IF_ERROR(ReadZip64Extra(rest.subspan(name_bytes, extra_bytes), entry.name,
                                      &entry.size, &entry.compressed_size, &central.header_offset));
  if (disk != 0 && disk != kSaturated16)
    return absl::UnimplementedError("zip: spread over several disks");
  if ((central.flags & kEncrypted) != 0) {
    return absl::UnimplementedError(
        absl::StrCat("zip: '", Printable(entry.name), "' is encrypted"));
  }
  if ((central.flags & kPatchData) != 0 || (central.method != 0 && central.method != 8)) {
    return absl::UnimplementedError(absl::StrCat("zip: '", Printable(entry.name),
                                                 "' has compression method ", central.method,
                                                 "; expected 0 (stored) or 8 (deflate)"));
  }
  if (from_unix && (mode & 0170000) == 0120000) {
    return absl::InvalidArgumentError(
        absl::StrCat("zip: '", Printable(entry.name), "' is a symbolic link"));
  }
  entry.deflated = central.method == 8;
  if (!entry.deflated && entry.size != entry.compressed_size) {
    return Corrupt("'", Printable(entry.name), "' is stored, but has ", entry.compressed_size,
                   " bytes instead of ", entry.size);
  }
  if (entry.deflated && entry.size / kMaxDeflateRatio > entry.compressed_size) {
    return Corrupt("'", Printable(entry.name), "' declares ", entry.size, " bytes, more than ",
                   entry.compressed_size, " deflated bytes can hold");
  }
  at += kCentralBytes + variable_bytes;  // at most `end`
  return central;
}

// Locates the data through the local header, and compares the two headers.
absl::Status ReadLocal(Bytes file, uint64_t end, CentralEntry& central) {
  ZipReader::Entry& entry = central.entry;
  const std::string name = Printable(entry.name);
  const uint64_t at = central.header_offset;
  if (!RangeFits(at, kLocalBytes, end) || Get32(file, at) != kLocalSignature) {
    return Corrupt("'", name, "': no local header at offset ", at);
  }
  const Bytes record = file.subspan(at, kLocalBytes);
  const uint16_t name_bytes = Get16(record, 26), extra_bytes = Get16(record, 28);
  const uint64_t header_bytes = kLocalBytes + name_bytes + extra_bytes;
  entry.data_offset = at + header_bytes;
  if (!RangeFits(at, header_bytes, end) ||
      !RangeFits(entry.data_offset, entry.compressed_size, end)) {
    return Corrupt("'", name, "': ", entry.compressed_size, " bytes at offset ", entry.data_offset,
                   " are not before the central directory (", end, ")");
  }
  const Bytes variable = file.subspan(at, header_bytes).subspan(kLocalBytes);
  if (AsString(variable.first(name_bytes)) != entry.name) {
    return Corrupt("'", name, "': the local header has another name");
  }
  const uint16_t flags = Get16(record, 6);
  if (((flags ^ central.flags) & (kEncrypted | kPatchData | kDataDescriptor)) != 0 ||
      Get16(record, 8) != central.method) {
    return Corrupt("'", name,
                   "': the local header has other flags or another method than the directory");
  }
  const uint32_t crc = Get32(record, 14);
  uint64_t compressed_size = Get32(record, 18), size = Get32(record, 22);
  // With a data descriptor, the local fields may be empty.
  const bool streamed = (flags & kDataDescriptor) != 0;
  if (streamed && (size == 0 || size == kSaturated32) &&
      (compressed_size == 0 || compressed_size == kSaturated32) &&
      (crc == 0 || crc == entry.crc32)) {
    return absl::OkStatus();
  }
  ABSL_RETURN_IF_ERROR(ReadZip64Extra(variable.subspan(name_bytes, extra_bytes), entry.name, &size,
                                      &compressed_size, nullptr));
  if (crc != entry.crc32 || size != entry.size || compressed_size != entry.compressed_size) {
    return Corrupt("'", name,
                   "': the local header has another size or checksum than the directory");
  }
  return absl::OkStatus();
}

absl::Status CheckOverlap(std::vector<CentralEntry>& entries) {
  std::vector<const CentralEntry*> order;
  order.reserve(entries.size());
  for (const CentralEntry& e : entries) order.push_back(&e);
  std::sort(order.begin(), order.end(), [](const CentralEntry* a, const CentralEntry* b) {
    return a->header_offset < b->header_offset;
  });
  for (size_t i = 1; i < order.size(); ++i) {
    const ZipReader::Entry& before = order[i - 1]->entry;
    if (!RangeFits(before.data_offset, before.compressed_size, order[i]->header_offset)) {
      return Corrupt("'", Printable(before.name), "' and '", Printable(order[i]->entry.name),
                     "' overlap");
    }
  }
  return absl::OkStatus();
}

absl::Status Inflate(Bytes from, std::byte* to, uint64_t size) {
  z_stream stream = {};
  if (inflateInit2(&stream, -15) != Z_OK)
    return absl::ResourceExhaustedError("zip: no memory to inflate");
  constexpr uint64_t kChunk = uint64_t{1} << 30;
  uint64_t read = 0, written = 0;
  int result = Z_OK;
  // One byte more than declared, to detect an overlong stream; AllocateBytes provides it. A step
  // without input and output returns Z_BUF_ERROR, so the loop terminates.
  while (result == Z_OK && written <= size) {
    const uint64_t in = std::min(kChunk, from.size() - read),
                   out = std::min(kChunk, size + 1 - written);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(from.data() + read));
    stream.avail_in = static_cast<uInt>(in);
    stream.next_out = reinterpret_cast<Bytef*>(to + written);
    stream.avail_out = static_cast<uInt>(out);
    result = inflate(&stream, Z_NO_FLUSH);
    const uint64_t consumed = in - stream.avail_in, produced = out - stream.avail_out;
    read += consumed;
    written += produced;
  }
  inflateEnd(&stream);
  if (result != Z_STREAM_END || written != size || read != from.size()) {
    return Corrupt("the deflated data are damaged, or do not have the declared size of ", size,
                   " bytes");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ZipReader> ZipReader::Open(Storage file, uint64_t max_entries, bool keep_pages) {
  const Bytes bytes = file.bytes;
  ABSL_ASSIGN_OR_RETURN(const Directory directory, FindDirectory(bytes));
  if (directory.entries > max_entries) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "zip: ", directory.entries, " entries, more than max_zip_entries = ", max_entries));
  }
  if (directory.entries > directory.size / kCentralBytes) {
    return Corrupt(directory.entries, " entries do not fit a central directory of ", directory.size,
                   " bytes");
  }
  std::vector<CentralEntry> found;
  found.reserve(directory.entries);
  const uint64_t end = directory.offset + directory.size;
  uint64_t at = directory.offset;
  for (uint64_t i = 0; i < directory.entries; ++i) {
    ABSL_ASSIGN_OR_RETURN(CentralEntry central, ReadCentral(bytes, end, at));
    ABSL_RETURN_IF_ERROR(ReadLocal(bytes, directory.offset, central));
    found.push_back(central);
  }
  if (at != end)
    return Corrupt("the central directory holds more than its ", directory.entries, " entries");
  ABSL_RETURN_IF_ERROR(CheckOverlap(found));

  ZipReader reader;
  reader.file_ = std::move(file);
  reader.keep_pages_ = keep_pages;
  reader.entries_.reserve(found.size());
  for (const CentralEntry& central : found) {
    const Entry& entry = central.entry;
    const bool folder = entry.name.back() == '/';
    if (folder && entry.size != 0) {
      return Corrupt("the folder '", Printable(entry.name), "' has ", entry.size, " bytes");
    }
    if (!reader.by_name_.emplace(entry.name, reader.entries_.size()).second) {
      return Corrupt("two entries are named '", Printable(entry.name), "'");
    }
    if (!folder) reader.entries_.push_back(entry);
    if (folder) reader.by_name_[entry.name] = static_cast<size_t>(-1);
  }
  return reader;
}

const ZipReader::Entry* ZipReader::Find(std::string_view name) const {
  const auto it = by_name_.find(name);
  return it == by_name_.end() || it->second >= entries_.size() ? nullptr : &entries_[it->second];
}

absl::StatusOr<Storage> ZipReader::Read(const Entry& entry, ByteBudget& budget,
                                        bool verify_checksum) const {
  Storage content;
  const Bytes data = file_.bytes.subspan(entry.data_offset, entry.compressed_size);
  if (!entry.deflated) {
    content = Storage{file_.owner, data};
  } else {
    ABSL_RETURN_IF_ERROR(budget.Take(entry.size, Printable(entry.name)));
    std::byte* to = nullptr;
    ABSL_ASSIGN_OR_RETURN(content, AllocateBytes(entry.size, Printable(entry.name), &to));
    const absl::Status inflated = Inflate(data, to, entry.size);
    if (!inflated.ok()) {
      return absl::Status(inflated.code(), absl::StrCat("'", Printable(entry.name),
                                                        "': ", FromAbsl(inflated.message())));
    }
  }
  if (verify_checksum && entry.crc32 != 0) {
    uint32_t crc = 0;
    for (std::string_view part : InParts(AsString(content.bytes))) {
      crc = Crc32(crc, AsBytes(part));
      if (!keep_pages_) ReleasePages(part);
    }
    if (crc != entry.crc32) {
      return Corrupt("'", Printable(entry.name), "' has checksum ", absl::Hex(crc, absl::kZeroPad8),
                     ", expected ", absl::Hex(entry.crc32, absl::kZeroPad8),
                     ": its bytes are damaged");
    }
  }
  return content;
}

}  // namespace belay::exir
