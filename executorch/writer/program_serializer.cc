#include "executorch/writer/program_serializer.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "executorch/format/file_header.h"
#include "executorch/format/flat_tensor_generated.h"
#include "executorch/format/program_generated.h"
#include "executorch/writer/method_translation.h"
#include "exir/ir/problem_list.h"
#include "exir/serialize/file_layout.h"
#include "runtime/core/bytes.h"
#include "runtime/core/dtype.h"
#include "runtime/core/status_macros.h"

namespace belay::pte {
namespace {

using exir::AlignUp;

constexpr uint64_t kConstantAlignment = 16;
// Limit of the image's metadata: a FlatBuffer holds less than 2 GiB and takes up to ten times as
// much space.
constexpr uint64_t kMostMetadata = uint64_t{64} << 20;

// Named data of the image by key.
using NamedDataOf = absl::flat_hash_map<std::string_view, const schema::NamedData*>;

// The bytes of the image's constants, by index.
std::vector<exir::Storage> BytesOfConstants(const exir::ProgramImage& image,
                                            const NamedDataOf& named) {
  std::vector<exir::Storage> bytes;
  std::vector<size_t> next(image.segments.size(), 0);
  // Pieces are the constants in their order.
  for (const schema::Constant& constant : image.metadata.constants()) {
    const uint32_t segment = constant.named_data().empty()
                                 ? constant.segment()
                                 : named.at(constant.named_data())->segment();
    const size_t piece = constant.named_data().empty() ? next[segment]++ : 0;
    bytes.push_back(image.segments[segment].pieces[piece]);
  }
  return bytes;
}

// Returns where each constant is stored. `otherwise` is the file of those without a rule.
absl::StatusOr<std::vector<ProgramData::Stored>> StoredIn(const exir::ProgramImage& image,
                                                          const NamedDataOf& named,
                                                          const std::string& otherwise) {
  std::vector<ProgramData::Stored> stored;
  for (const schema::Constant& constant : image.metadata.constants()) {
    const std::string& name = constant.named_data();
    const uint32_t segment = name.empty() ? constant.segment() : named.at(name)->segment();
    const std::string& tag = image.segments[segment].companion;
    stored.push_back({tag.empty() ? otherwise : tag, name});
    if (!name.empty() && stored.back().file.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("replaceable tensor '", name,
                       "': a .pte file has it in a data file; choose one by "
                       "--external-constants=PATTERN=NAME"));
    }
  }
  return stored;
}

// Consecutive segments.
class Segments {
 public:
  // Returns the index.
  uint32_t Add(const exir::SegmentBytes& bytes, uint64_t alignment = 1) {
    const uint64_t offset = AlignUp(size_, std::max<uint64_t>(alignment, kSegmentAlignment));
    exir::AppendZeros(pieces_, offset - size_);
    pieces_.insert(pieces_.end(), bytes.pieces.begin(), bytes.pieces.end());
    size_ = offset + bytes.size;
    places_.push_back({offset, bytes.size});
    return static_cast<uint32_t>(places_.size() - 1);
  }
  const std::vector<std::string_view>& pieces() const { return pieces_; }
  uint64_t size() const { return size_; }
  const std::vector<std::pair<uint64_t, uint64_t>>& places() const { return places_; }

 private:
  std::vector<std::string_view> pieces_;
  uint64_t size_ = 0;
  std::vector<std::pair<uint64_t, uint64_t>> places_;  // offset, size
};

// Concatenates constants; position 0 is reserved and empty.
exir::SegmentBytes JoinConstants(const std::vector<uint32_t>& constants,
                                 absl::Span<const exir::Storage> bytes,
                                 SubsegmentOffsetsT& offsets) {
  exir::SegmentBytes joined;
  offsets.offsets = {0};
  for (uint32_t constant : constants) {
    const uint64_t start = AlignUp(joined.size, kConstantAlignment);
    exir::AppendZeros(joined.pieces, start - joined.size);
    offsets.offsets.push_back(start);
    joined.pieces.push_back(AsString(bytes[constant].bytes));
    joined.size = start + bytes[constant].bytes.size();
  }
  return joined;
}

void AppendNumber(std::string& bytes, uint64_t number, int width) {
  for (int i = 0; i < width; ++i) bytes.push_back(static_cast<char>(number >> (8 * i)));
}

// Inserts a header after the identifier of a finished FlatBuffer (docs/pte-format.md §1).
std::string InsertHeader(const flatbuffers::FlatBufferBuilder& buffer, std::string_view magic,
                         size_t length, absl::Span<const uint64_t> fields) {
  const std::string_view bytes(reinterpret_cast<const char*>(buffer.GetBufferPointer()),
                               buffer.GetSize());
  const uint64_t moved = AlignUp(length, kHeaderAlignment);
  uint32_t root = 0;
  std::memcpy(&root, bytes.data(), sizeof(root));
  std::string out;
  out.reserve(bytes.size() + moved);
  AppendNumber(out, root + moved, 4);
  out.append(bytes.substr(4, kHeaderOffset - 4));
  out.append(magic);
  AppendNumber(out, length, 4);
  for (uint64_t field : fields) AppendNumber(out, field, 8);
  out.resize(kHeaderOffset + moved, '\0');
  out.append(bytes.substr(kHeaderOffset));
  return out;
}

// Appends the head of a file, then its segments, the first at a multiple of kSegmentAlignment.
void LayOut(std::string head, const Segments& segments, std::vector<std::string_view>& pieces,
            uint64_t& size, exir::SerializedProgram& result) {
  result.owned.push_back(std::make_unique<std::string>(std::move(head)));
  pieces.push_back(*result.owned.back());
  size = pieces.back().size();
  if (segments.size() == 0) return;
  exir::AppendZeros(pieces, AlignUp(size, kSegmentAlignment) - size);
  pieces.insert(pieces.end(), segments.pieces().begin(), segments.pieces().end());
  size = AlignUp(size, kSegmentAlignment) + segments.size();
}

// A tensor or blob of an external data file.
struct ExternalEntry {
  std::string_view content;
  std::optional<exir::NamedDataEntry::TensorLayout> layout;
};

// Adds an external data file (docs/pte-format.md §10): one segment per distinct content, one key per
// entry.
void AddExternalFile(const std::string& tag, const std::map<std::string, ExternalEntry>& entries,
                     exir::SerializedProgram& result) {
  ptd::FlatTensorT flat;
  Segments segments;
  absl::flat_hash_map<std::pair<const void*, size_t>, uint32_t> contents;
  for (const auto& [key, external] : entries) {
    const auto [it, added] = contents.try_emplace(
        {external.content.data(), external.content.size()}, static_cast<uint32_t>(contents.size()));
    if (added) segments.Add({{external.content}, external.content.size()});
    auto entry = std::make_unique<ptd::NamedDataT>();
    entry->key = key;
    entry->segment_index = it->second;
    if (external.layout.has_value()) {
      entry->tensor_layout = std::make_unique<ptd::TensorLayoutT>();
      // TranslateMethod has refused dtypes without a number.
      const auto type = DTypeToC10(external.layout->dtype);
      entry->tensor_layout->scalar_type =
          static_cast<int8_t>(type.value_or(C10ScalarType{0}).value);
      for (int64_t size : external.layout->sizes) {
        entry->tensor_layout->sizes.push_back(static_cast<int32_t>(size));
      }
      entry->tensor_layout->dim_order = external.layout->dim_order;
    }
    flat.named_data.push_back(std::move(entry));
  }
  for (const auto& [offset, size] : segments.places()) {
    auto segment = std::make_unique<ptd::DataSegmentT>();
    segment->offset = offset;
    segment->size = size;
    flat.segments.push_back(std::move(segment));
  }
  flatbuffers::FlatBufferBuilder builder;
  ptd::FinishFlatTensorBuffer(builder, ptd::FlatTensor::Pack(builder, &flat));
  const uint64_t moved = AlignUp(kFlatTensorHeaderSize, kHeaderAlignment);
  const uint64_t base = AlignUp(builder.GetSize() + moved, kSegmentAlignment);
  result.companions.push_back({.name = absl::StrCat(tag, ".ptd"), .pieces = {}, .size = 0});
  exir::SerializedCompanion& file = result.companions.back();
  LayOut(InsertHeader(builder, kFlatTensorHeaderMagic, kFlatTensorHeaderSize,
                      {moved, builder.GetSize(), base, segments.size()}),
         segments, file.pieces, file.size, result);
}

// Adds everything except the methods: segments, and the offsets of their contents.
Segments AddSegments(const exir::ProgramImage& image, const ProgramData& data,
                     absl::Span<const exir::Storage> bytes, ProgramT& program) {
  Segments segments;
  program.constant_segment = std::make_unique<SubsegmentOffsetsT>();
  const exir::SegmentBytes constants =
      JoinConstants(data.constants.constants(), bytes, *program.constant_segment);
  segments.Add(constants);
  if (!data.initial.constants().empty()) {
    auto initial = std::make_unique<SubsegmentOffsetsT>();
    initial->segment_index = segments.Add(JoinConstants(data.initial.constants(), bytes, *initial));
    program.mutable_data_segments.push_back(std::move(initial));
  }
  // Payloads and named data, in the order of their first use.
  absl::flat_hash_map<uint32_t, uint32_t> places;
  const auto place = [&](uint32_t index) {
    const auto [it, added] = places.try_emplace(index, 0);
    if (added) {
      const exir::ProgramImage::Segment& segment = image.segments[index];
      const std::string_view content = AsString(segment.pieces[0].bytes);
      it->second = segments.Add({{content}, content.size()}, segment.alignment);
    }
    return it->second;
  };
  for (const auto& plan : program.execution_plan) {
    for (const auto& delegate : plan->delegates) {
      delegate->processed->index = place(delegate->processed->index);
    }
  }
  for (const schema::NamedData& named : image.metadata.named_data()) {
    if (named.replaceable() || !image.segments[named.segment()].companion.empty()) continue;
    auto entry = std::make_unique<NamedDataT>();
    entry->key = named.key();
    entry->segment_index = place(named.segment());
    program.named_data.push_back(std::move(entry));
  }
  for (const auto& [offset, size] : segments.places()) {
    auto segment = std::make_unique<DataSegmentT>();
    segment->offset = offset;
    segment->size = size;
    program.segments.push_back(std::move(segment));
  }
  return segments;
}

}  // namespace

absl::StatusOr<exir::SerializedProgram> SerializeProgram(const exir::ProgramImage& image,
                                                         const exir::OpRegistry& ops,
                                                         const SerializeOptions& options) {
  if (image.metadata.ByteSizeLong() > kMostMetadata) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a program of ", image.metadata.ByteSizeLong(),
                     " bytes of metadata: a .pte file has room for about ", kMostMetadata));
  }
  NamedDataOf named;
  for (const schema::NamedData& entry : image.metadata.named_data()) named[entry.key()] = &entry;
  const std::vector<exir::Storage> bytes = BytesOfConstants(image, named);
  ProgramData data;
  ABSL_ASSIGN_OR_RETURN(data.stored, StoredIn(image, named, options.external_constants));
  ProgramT program;
  exir::ProblemList problems;
  for (int i = 0; i < image.metadata.methods_size(); ++i) {
    program.execution_plan.push_back(TranslateMethod(image, i, bytes, ops, data, problems));
  }
  ABSL_RETURN_IF_ERROR(problems.ToStatus(absl::StatusCode::kUnimplemented,
                                         "not supported by ExecuTorch 1.5.1's runtime:"));
  for (int i = 0; i < image.metadata.methods_size(); ++i) {
    if (image.metadata.methods(i).state_size() == 0) continue;
    program.execution_plan[i]->non_const_buffer_sizes.back() =
        static_cast<int64_t>(data.state.bytes());
  }
  const Segments segments = AddSegments(image, data, bytes, program);

  flatbuffers::FlatBufferBuilder builder;
  FinishProgramBuffer(builder, Program::Pack(builder, &program));
  exir::SerializedProgram result;
  std::string head;
  if (segments.size() == 0) {
    head.assign(reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize());
  } else {
    const uint64_t size = builder.GetSize() + AlignUp(kProgramHeaderSize, kHeaderAlignment);
    head = InsertHeader(builder, kProgramHeaderMagic, kProgramHeaderSize,
                        {size, AlignUp(size, kSegmentAlignment), segments.size()});
  }
  LayOut(std::move(head), segments, result.pieces, result.size, result);
  std::map<std::string, std::map<std::string, ExternalEntry>> files;
  for (const auto& [tag, constants] : data.external_constants) {
    for (const auto& [key, constant] : constants) {
      const schema::Tensor& layout = constant.layout;
      files[tag][key] = {AsString(bytes[constant.constant].bytes),
                         {{static_cast<DType>(layout.dtype()),
                           {layout.sizes().begin(), layout.sizes().end()},
                           {layout.dim_order().begin(), layout.dim_order().end()}}}};
    }
  }
  // Data that delegates look up.
  for (const schema::NamedData& entry : image.metadata.named_data()) {
    const exir::ProgramImage::Segment& segment = image.segments[entry.segment()];
    if (entry.replaceable() || segment.companion.empty()) continue;
    files[segment.companion][entry.key()] = {AsString(segment.pieces[0].bytes), std::nullopt};
  }
  for (const auto& [tag, entries] : files) AddExternalFile(tag, entries, result);
  return result;
}

absl::StatusOr<exir::SerializedProgram> SerializeDataFile(const exir::NamedDataOutput& data) {
  exir::SerializedProgram result;
  std::map<std::string, ExternalEntry> entries;
  for (const auto& [key, entry] : data.program_data) {
    if (entry.layout.has_value() && !DTypeToC10(entry.layout->dtype).has_value()) {
      return absl::UnimplementedError(absl::StrCat("tensor '", key, "': ExecuTorch has no dtype ",
                                                   DTypeName(entry.layout->dtype)));
    }
    entries[key] = {AsString(data.buffers[entry.buffer].bytes), entry.layout};
  }
  AddExternalFile("data", entries, result);
  result.pieces = std::move(result.companions[0].pieces);
  result.size = result.companions[0].size;
  result.companions.clear();
  return result;
}

}  // namespace belay::pte
