#include "exir/serialize/serializer.h"

#include <zlib.h>

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "exir/emit/constant_pool.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "runtime/core/mapped_file.h"
#include "runtime/core/status_macros.h"
#include "runtime/schema/file_format.h"

namespace belay::exir {
namespace {

uint64_t AlignUp(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

std::string_view View(const Storage& storage) {
  return std::string_view(reinterpret_cast<const char*>(storage.bytes.data()),
                          storage.bytes.size());
}

// The same message gives the same bytes: no maps in the schema, but the flag says that we rely on
// it.
std::string SerializeDeterministic(const google::protobuf::MessageLite& message) {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  message.SerializeToCodedStream(&coded);
  coded.Trim();
  return bytes;
}

template <class T>
void Put(std::string& bytes, size_t at, T value) {
  for (size_t i = 0; i < sizeof(T); ++i) bytes[at + i] = static_cast<char>(value >> (8 * i));
}

uint32_t Crc32(std::string_view bytes) {
  return static_cast<uint32_t>(
      crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

// The bytes of one segment: its pieces, each padded to the tensor alignment but for the last.
struct SegmentBytes {
  std::vector<std::string_view> pieces;
  uint64_t size = 0;
};

constexpr char kZeros[4096] = {};

void AppendZeros(std::vector<std::string_view>& pieces, uint64_t count) {
  for (; count > 0;) {
    const uint64_t n = std::min<uint64_t>(count, sizeof(kZeros));
    pieces.push_back(std::string_view(kZeros, n));
    count -= n;
  }
}

SegmentBytes JoinPieces(const std::vector<Storage>& storages) {
  SegmentBytes result;
  for (const Storage& storage : storages) {
    const uint64_t start = AlignUp(result.size, kTensorAlignment);
    AppendZeros(result.pieces, start - result.size);
    if (!storage.bytes.empty()) result.pieces.push_back(View(storage));
    result.size = start + storage.bytes.size();
  }
  return result;
}

}  // namespace

std::string SerializedProgram::ToString() const {
  std::string bytes;
  bytes.reserve(size);
  for (std::string_view piece : pieces) bytes.append(piece);
  return bytes;
}

absl::StatusOr<SerializedProgram> SerializeProgram(const ProgramImage& image) {
  schema::Program metadata = image.metadata;
  if (metadata.segments_size() != 0) {
    return absl::InvalidArgumentError("the image's segments are laid out already");
  }
  SerializedProgram result;
  std::vector<SegmentBytes> segments;
  for (const ProgramImage::Segment& segment : image.segments) {
    if (!segment.companion.empty()) {
      return absl::UnimplementedError(
          absl::StrCat("companion file '", segment.companion,
                       "': data outside the program file can't be written yet"));
    }
    segments.push_back(JoinPieces(segment.pieces));
    schema::Segment* s = metadata.add_segments();
    s->set_kind(segment.kind);
    s->set_alignment(segment.alignment);
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
    if (constant.segment() >= segments.size() ||
        constant.offset() + constant.size() > segments[constant.segment()].size) {
      return absl::InvalidArgumentError(
          absl::StrCat("a constant lies outside segment ", constant.segment()));
    }
  }
  for (size_t i = 0; i < segments.size(); ++i) {
    schema::Segment* s = metadata.mutable_segments(i);
    s->set_size(segments[i].size);
    std::string sha(32, '\0');
    const Sha256 hash = HashPieces(segments[i].pieces);
    std::memcpy(sha.data(), hash.data(), hash.size());
    s->set_sha256(sha);
  }
  // Offsets depend on the metadata's size, which depends on the offsets: repeated until it stands
  // still, which it does because larger offsets never encode shorter.
  std::string bytes;
  uint64_t metadata_size = 0;
  for (;;) {
    uint64_t at = kHeaderBytes + metadata_size;
    for (size_t i = 0; i < segments.size(); ++i) {
      schema::Segment* s = metadata.mutable_segments(i);
      at = AlignUp(at, s->alignment());
      s->set_offset(at);
      at += s->size();
    }
    bytes = SerializeDeterministic(metadata);
    if (bytes.size() == metadata_size) break;
    metadata_size = std::max<uint64_t>(bytes.size(), metadata_size);
    if (bytes.size() < metadata_size) {
      return absl::InternalError("the metadata's size does not settle");
    }
  }
  uint64_t end = kHeaderBytes + bytes.size();
  for (const schema::Segment& s : metadata.segments()) end = s.offset() + s.size();

  auto head = std::make_unique<std::string>(kHeaderBytes, '\0');
  std::memcpy(head->data(), kMagic, sizeof(kMagic));
  Put<uint32_t>(*head, 8, kFormatMajor);
  Put<uint32_t>(*head, 12, kFormatMinor);
  Put<uint64_t>(*head, 16, bytes.size());
  Put<uint64_t>(*head, 24, metadata.segments_size() == 0 ? 0 : metadata.segments(0).offset());
  Put<uint64_t>(*head, 32, end);
  Put<uint32_t>(*head, 56, Crc32(bytes));
  Put<uint32_t>(*head, 60, Crc32(std::string_view(*head).substr(0, 60)));
  head->append(bytes);
  result.owned.push_back(std::move(head));
  result.pieces.push_back(*result.owned.back());
  uint64_t at = result.pieces.back().size();
  for (size_t i = 0; i < segments.size(); ++i) {
    AppendZeros(result.pieces, metadata.segments(i).offset() - at);
    result.pieces.insert(result.pieces.end(), segments[i].pieces.begin(), segments[i].pieces.end());
    at = metadata.segments(i).offset() + segments[i].size;
  }
  result.size = at;
  return result;
}

absl::Status WriteProgramFile(const ProgramImage& image, const std::string& path) {
  ABSL_ASSIGN_OR_RETURN(const SerializedProgram program, SerializeProgram(image));
  return WriteFileAtomically(path, program.pieces);
}

}  // namespace belay::exir
