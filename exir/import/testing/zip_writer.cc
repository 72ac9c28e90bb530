#include "exir/import/testing/zip_writer.h"

#include <zlib.h>

#include <memory>
#include <utility>

namespace belay::exir {
namespace {

void Put(std::string& out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out.push_back(static_cast<char>(value >> (8 * i)));
}

std::string Deflate(const std::string& content) {
  z_stream stream = {};
  deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, content.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

uint32_t Crc(const std::string& content) {
  return static_cast<uint32_t>(
      crc32_z(0, reinterpret_cast<const Bytef*>(content.data()), content.size()));
}

// Pads like PyTorch: id "FB", filled with 'Z'.
std::string Padding(size_t data_offset, uint32_t alignment) {
  if (alignment == 0) return "";
  const size_t length = (alignment - (data_offset + 4) % alignment) % alignment;
  std::string extra = "FB";
  Put(extra, length, 2);
  return extra + std::string(length, 'Z');
}

struct Written {
  uint64_t header_offset = 0;
  uint64_t size = 0, compressed_size = 0;
  uint32_t crc = 0;
  uint16_t flags = 0, method = 0;
};

Written WriteLocal(std::string& out, const ZipWriterEntry& entry) {
  const std::string data = entry.deflate ? Deflate(entry.content) : entry.content;
  Written written;
  written.header_offset = out.size();
  written.size = entry.size.value_or(entry.content.size());
  written.compressed_size = entry.compressed_size.value_or(data.size());
  written.crc = entry.crc32.value_or(Crc(entry.content));
  written.flags = static_cast<uint16_t>(entry.more_flags | (entry.streamed ? 8 : 0));
  written.method = entry.method.value_or(entry.deflate ? 8 : 0);
  const std::string& name = entry.local_name.has_value() ? *entry.local_name : entry.name;
  const std::string extra =
      entry.local_extra +
      Padding(out.size() + 30 + name.size() + entry.local_extra.size(), entry.alignment);
  Put(out, 0x04034b50, 4);
  Put(out, 20, 2);
  Put(out, written.flags, 2);
  Put(out, entry.local_method.value_or(written.method), 2);
  Put(out, 0, 4);  // time and date
  Put(out, entry.local_crc32.value_or(entry.streamed ? 0 : written.crc), 4);
  Put(out, entry.local_compressed_size.value_or(entry.streamed ? 0 : written.compressed_size), 4);
  Put(out, entry.local_size.value_or(entry.streamed ? 0 : written.size), 4);
  Put(out, name.size(), 2);
  Put(out, extra.size(), 2);
  out += name + extra + data;
  if (entry.streamed) {
    Put(out, 0x08074b50, 4);
    Put(out, written.crc, 4);
    Put(out, written.compressed_size, 4);
    Put(out, written.size, 4);
  }
  return written;
}

void WriteCentral(std::string& out, const ZipWriterEntry& entry, const Written& written) {
  const uint64_t offset =
      entry.header_offset.value_or(static_cast<uint32_t>(written.header_offset));
  std::string extra = entry.extra;
  if (entry.zip64) {
    Put(extra, 1, 2);
    Put(extra, 24, 2);
    Put(extra, written.size, 8);
    Put(extra, written.compressed_size, 8);
    Put(extra, offset, 8);
  }
  constexpr uint32_t kSaturated = 0xffffffff;
  Put(out, 0x02014b50, 4);
  Put(out, entry.unix_mode != 0 ? 3 << 8 | 20 : 20, 2);
  Put(out, 20, 2);
  Put(out, written.flags, 2);
  Put(out, written.method, 2);
  Put(out, 0, 4);
  Put(out, written.crc, 4);
  Put(out, entry.zip64 ? kSaturated : written.compressed_size, 4);
  Put(out, entry.zip64 ? kSaturated : written.size, 4);
  Put(out, entry.name.size(), 2);
  Put(out, extra.size(), 2);
  Put(out, 0, 2);
  Put(out, entry.disk, 2);
  Put(out, 0, 2);
  Put(out, entry.unix_mode << 16, 4);
  Put(out, entry.zip64 ? kSaturated : offset, 4);
  out += entry.name + extra;
}

}  // namespace

std::string WriteZip(const std::vector<ZipWriterEntry>& entries, const ZipWriterEnd& end) {
  std::string out, directory;
  for (const ZipWriterEntry& entry : entries)
    WriteCentral(directory, entry, WriteLocal(out, entry));
  const uint64_t offset = out.size();
  out += directory;
  if (end.zip64) {
    const uint64_t record = out.size();
    const uint64_t count = end.zip64_entries.value_or(entries.size());
    Put(out, 0x06064b50, 4);
    Put(out, 44, 8);
    Put(out, 0x2d, 2);
    Put(out, 0x2d, 2);
    Put(out, 0, 8);  // disks
    Put(out, count, 8);
    Put(out, count, 8);
    Put(out, directory.size(), 8);
    Put(out, offset, 8);
    Put(out, 0x07064b50, 4);
    Put(out, 0, 4);
    Put(out, record, 8);
    Put(out, 1, 4);
  }
  const uint16_t count = end.entries.value_or(static_cast<uint16_t>(entries.size()));
  Put(out, 0x06054b50, 4);
  Put(out, end.disk, 2);
  Put(out, end.directory_disk.value_or(end.disk), 2);
  Put(out, end.entries_on_disk.value_or(count), 2);
  Put(out, count, 2);
  Put(out, end.directory_size.value_or(static_cast<uint32_t>(directory.size())), 4);
  Put(out, end.directory_offset.value_or(static_cast<uint32_t>(offset)), 4);
  Put(out, end.comment.size(), 2);
  return out + end.comment;
}

Storage ToStorage(std::string text) {
  auto owner = std::make_shared<const std::string>(std::move(text));
  const absl::Span<const std::byte> bytes(reinterpret_cast<const std::byte*>(owner->data()),
                                          owner->size());
  return Storage{std::move(owner), bytes};
}

}  // namespace belay::exir
