#include "exir/serialize/file_layout.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "runtime/schema/file_format.h"

namespace belay::exir {
namespace {

constexpr char kZeros[4096] = {};

template <class T>
void Put(std::string& bytes, size_t at, T value) {
  for (size_t i = 0; i < sizeof(T); ++i) bytes[at + i] = static_cast<char>(value >> (8 * i));
}

uint32_t Crc32(std::string_view bytes) {
  return static_cast<uint32_t>(
      crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

std::unique_ptr<std::string> Header(const char (&magic)[8]) {
  auto head = std::make_unique<std::string>(kHeaderBytes, '\0');
  std::memcpy(head->data(), magic, sizeof(magic));
  Put<uint32_t>(*head, 8, kFormatMajor);
  Put<uint32_t>(*head, 12, kFormatMinor);
  return head;
}

void SealHeader(std::string& head, uint32_t content_crc) {
  Put<uint32_t>(head, 56, content_crc);
  Put<uint32_t>(head, 60, Crc32(std::string_view(head).substr(0, 60)));
}

// Appends a segment after the existing content.
void AppendSegment(const schema::Segment& segment, const SegmentBytes& bytes, FilePieces& file) {
  AppendZeros(file.pieces, segment.offset() - file.size);
  file.pieces.insert(file.pieces.end(), bytes.pieces.begin(), bytes.pieces.end());
  file.size = segment.offset() + segment.size();
}

void AppendHead(std::unique_ptr<std::string> head, FilePieces& file) {
  file.owned.push_back(std::move(head));
  file.pieces.push_back(*file.owned.back());
  file.size = file.pieces.back().size();
}

}  // namespace

std::string SerializeDeterministic(const google::protobuf::MessageLite& message) {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  message.SerializeToCodedStream(&coded);
  coded.Trim();
  return bytes;
}

void AppendZeros(std::vector<std::string_view>& pieces, uint64_t count) {
  while (count > 0) {
    const uint64_t n = std::min<uint64_t>(count, sizeof(kZeros));
    pieces.push_back(std::string_view(kZeros, n));
    count -= n;
  }
}

FilePieces LayOutProgramFile(schema::Program metadata, absl::Span<const SegmentBytes> segments) {
  // Offsets depend on the metadata's size, which depends on the offsets: iterate to a fixed point.
  // This terminates because larger offsets never encode shorter.
  std::string bytes;
  uint64_t metadata_size = 0, first = 0, end = 0;
  for (;;) {
    first = 0;
    end = kHeaderBytes + metadata_size;
    for (schema::Segment& segment : *metadata.mutable_segments()) {
      if (!segment.companion().empty()) continue;
      segment.set_offset(AlignUp(end, segment.alignment()));
      if (first == 0) first = segment.offset();
      end = segment.offset() + segment.size();
    }
    bytes = SerializeDeterministic(metadata);
    if (bytes.size() == metadata_size) break;
    metadata_size = bytes.size();
  }
  std::unique_ptr<std::string> head = Header(kMagic);
  Put<uint64_t>(*head, 16, bytes.size());
  Put<uint64_t>(*head, 24, first);
  Put<uint64_t>(*head, 32, end);
  SealHeader(*head, Crc32(bytes));
  head->append(bytes);
  FilePieces file;
  AppendHead(std::move(head), file);
  for (int i = 0; i < metadata.segments_size(); ++i) {
    if (!metadata.segments(i).companion().empty()) continue;
    AppendSegment(metadata.segments(i), segments[i], file);
  }
  return file;
}

FilePieces LayOutCompanion(schema::Program& metadata, absl::Span<const SegmentBytes> segments,
                           absl::Span<const int> members) {
  std::string digests;
  uint64_t end = kHeaderBytes + members.size() * kDigestBytes;
  for (const int i : members) {
    schema::Segment& segment = *metadata.mutable_segments(i);
    segment.set_offset(AlignUp(end, segment.alignment()));
    end = segment.offset() + segment.size();
    digests += segment.sha256();
  }
  std::unique_ptr<std::string> head = Header(kCompanionMagic);
  Put<uint64_t>(*head, 16, end);
  Put<uint64_t>(*head, 24, members.size());
  SealHeader(*head, Crc32(digests));
  head->append(digests);
  FilePieces file;
  AppendHead(std::move(head), file);
  for (const int i : members) AppendSegment(metadata.segments(i), segments[i], file);
  return file;
}

}  // namespace belay::exir
