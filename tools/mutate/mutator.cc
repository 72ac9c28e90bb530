#include "tools/mutate/mutator.h"

#include <zlib.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "runtime/schema/file_format.h"
#include "runtime/schema/program.pb.h"
#include "tools/mutate/wire_tree.h"

namespace belay::mutate {
namespace {

// Maximum growth of a segment whose size is edited.
constexpr uint64_t kMaxSegmentGrowth = 4096;

template <class T>
T Load(std::string_view bytes, size_t at) {
  T value = 0;
  for (size_t i = sizeof(T); i-- > 0;) {
    value = static_cast<T>(static_cast<T>(value << 8) | static_cast<uint8_t>(bytes[at + i]));
  }
  return value;
}

template <class T>
void Store(std::string& bytes, size_t at, T value) {
  for (size_t i = 0; i < sizeof(T); ++i) bytes[at + i] = static_cast<char>(value >> (8 * i));
}

uint32_t Crc32(std::string_view bytes) {
  return static_cast<uint32_t>(
      crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

std::string_view MetadataOf(std::string_view file) {
  const uint64_t size = Load<uint64_t>(file, 16);
  return file.substr(kHeaderBytes,
                     static_cast<size_t>(std::min<uint64_t>(size, file.size() - kHeaderBytes)));
}

// Moves the bytes of the old segments to the offsets in the new metadata, and updates those
// offsets. Invalid sizes are kept, so that the reader refuses them.
std::string LayOut(std::string_view file, const schema::Program& before, schema::Program& after) {
  std::string metadata = after.SerializeAsString();
  std::string result;
  for (int round = 0; round < 4; ++round) {  // offsets depend on their size
    result.assign(kHeaderBytes, '\0');
    result += metadata;
    uint64_t first = 0;
    for (int i = 0; i < after.segments_size(); ++i) {
      schema::Segment& segment = *after.mutable_segments(i);
      if (!segment.companion().empty()) continue;
      const uint64_t alignment = segment.alignment();
      if (alignment == 0 || alignment > (1 << 16)) continue;
      std::string_view content;
      if (i < before.segments_size() && before.segments(i).offset() <= file.size()) {
        content = file.substr(static_cast<size_t>(before.segments(i).offset()),
                              static_cast<size_t>(before.segments(i).size()));
      }
      if (segment.size() > content.size() + kMaxSegmentGrowth) continue;
      result.resize((result.size() + alignment - 1) / alignment * alignment, '\0');
      segment.set_offset(result.size());
      if (first == 0) first = result.size();
      result.append(content.substr(0, static_cast<size_t>(segment.size())));
      result.resize(static_cast<size_t>(segment.offset() + segment.size()), '\0');
    }
    std::copy_n(file.begin(), kHeaderBytes, result.begin());
    Store<uint64_t>(result, 16, metadata.size());
    Store<uint64_t>(result, 24, first);
    std::string again = after.SerializeAsString();
    if (again == metadata) break;
    metadata = std::move(again);
  }
  FixHeader(result);
  return result;
}

}  // namespace

std::string_view MutationKindName(MutationKind kind) {
  switch (kind) {
    case MutationKind::kFlipBits:
      return "flip_bits";
    case MutationKind::kSetNumbers:
      return "set_numbers";
    case MutationKind::kTruncate:
      return "truncate";
    case MutationKind::kSplice:
      return "splice";
    case MutationKind::kEditFields:
      return "edit_fields";
  }
  return "unknown";
}

bool IsProgramFile(std::string_view file) {
  return file.size() >= kHeaderBytes &&
         file.substr(0, sizeof(kMagic)) == std::string_view(kMagic, sizeof(kMagic));
}

void FixHeader(std::string& file) {
  if (file.size() < kHeaderBytes) return;
  const uint64_t metadata =
      std::min<uint64_t>(Load<uint64_t>(file, 16), file.size() - kHeaderBytes);
  std::copy_n(kMagic, sizeof(kMagic), file.begin());
  Store<uint64_t>(file, 16, metadata);
  Store<uint64_t>(file, 32, file.size());
  Store<uint32_t>(file, 56, Crc32(MetadataOf(file)));
  Store<uint32_t>(file, 60, Crc32(std::string_view(file).substr(0, 60)));
}

std::string EditProgramFile(Random& random, std::string_view file) {
  if (!IsProgramFile(file)) return std::string(file);
  const std::string_view metadata = MetadataOf(file);
  std::optional<std::vector<WireField>> fields = ParseWire(metadata);
  if (!fields.has_value()) return std::string(file);
  EditFields(random, *fields);
  const std::string edited = WriteWire(*fields);
  schema::Program before, after;
  if (before.ParsePartialFromArray(metadata.data(), static_cast<int>(metadata.size())) &&
      after.ParsePartialFromArray(edited.data(), static_cast<int>(edited.size())) &&
      !random.OneIn(16)) {
    return LayOut(file, before, after);
  }
  // Keeps the edited metadata verbatim, followed by the remaining bytes.
  std::string result(file.substr(0, kHeaderBytes));
  result += edited;
  result += file.substr(kHeaderBytes + metadata.size());
  Store<uint64_t>(result, 16, edited.size());
  FixHeader(result);
  return result;
}

void FlipBits(Random& random, std::string& bytes) {
  if (bytes.empty()) return;
  for (size_t flips = 1 + random.Below(8); flips > 0; --flips) {
    char& byte = bytes[random.Below(bytes.size())];
    byte = static_cast<char>(byte ^ (1 << random.Below(8)));
  }
}

void SetNumbers(Random& random, std::string& bytes) {
  for (size_t count = 1 + random.Below(3); count > 0; --count) {
    const size_t width = size_t{1} << random.Below(4);
    if (bytes.size() < width) continue;
    const size_t at = random.Below(bytes.size() - width + 1);
    const uint64_t value = random.Interesting();
    for (size_t i = 0; i < width; ++i) bytes[at + i] = static_cast<char>(value >> (8 * i));
  }
}

void Truncate(Random& random, std::string& bytes) {
  if (random.OneIn(8)) {
    bytes.append(1 + random.Below(1000), static_cast<char>(random.Next()));
  } else if (random.OneIn(2)) {
    bytes.resize(random.Below(bytes.size() + 1));
  } else {  // near the end
    bytes.resize(bytes.size() - std::min(bytes.size(), 1 + random.Below(64)));
  }
}

void Splice(Random& random, std::string_view donor, std::string& bytes) {
  const size_t to = random.Below(bytes.size() + 1);
  const size_t from = random.Below(donor.size() + 1);
  const size_t limit = random.OneIn(4) ? donor.size() : 1 + random.Below(256);
  const std::string piece(donor.substr(from, std::min(limit, bytes.size() + 65536)));
  const size_t length = random.OneIn(2) ? piece.size() : random.Below(257);
  switch (random.Below(3)) {
    case 0:
      bytes.insert(to, piece);
      break;
    case 1:
      bytes.replace(to, std::min(piece.size(), bytes.size() - to), piece);
      break;
    default:
      bytes.erase(to, std::min(length, bytes.size() - to));
  }
}

Mutator::Mutator(std::vector<std::string> files) : files_(std::move(files)) {
  if (files_.empty()) files_.emplace_back();
}

Mutation Mutator::Mutate(uint64_t seed, uint64_t index) const {
  Random random(seed, index);
  const std::string& file = files_[random.Below(files_.size())];
  const bool program = IsProgramFile(file);
  Mutation mutation;
  // Half of all mutations of programs are field edits: they reach the deepest code.
  mutation.kind = static_cast<MutationKind>(random.Below(program ? 8 : 4));
  if (mutation.kind > MutationKind::kEditFields) mutation.kind = MutationKind::kEditFields;
  if (mutation.kind == MutationKind::kEditFields) {
    mutation.bytes = EditProgramFile(random, file);
    return mutation;
  }
  mutation.bytes = file;
  // A program's metadata is small, and mutations of it are the most effective.
  const bool inside = program && !random.OneIn(4);
  std::string part = inside ? std::string(MetadataOf(file)) : std::string();
  std::string& target = inside ? part : mutation.bytes;
  switch (mutation.kind) {
    case MutationKind::kFlipBits:
      FlipBits(random, target);
      break;
    case MutationKind::kSetNumbers:
      SetNumbers(random, target);
      break;
    case MutationKind::kTruncate:
      Truncate(random, target);
      break;
    case MutationKind::kSplice: {
      const std::string& donor = files_[random.Below(files_.size())];
      Splice(random, inside && IsProgramFile(donor) ? MetadataOf(donor) : donor, target);
      break;
    }
    case MutationKind::kEditFields:
      break;
  }
  if (inside) {
    mutation.bytes.replace(kHeaderBytes, MetadataOf(file).size(), part);
    Store<uint64_t>(mutation.bytes, 16, part.size());
  }
  if (program && !random.OneIn(8)) FixHeader(mutation.bytes);
  return mutation;
}

}  // namespace belay::mutate
