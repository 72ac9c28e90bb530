#include "exir/emit/constant_pool.h"

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/core/status_macros.h"
#include "runtime/schema/file_format.h"

namespace belay::exir {
namespace {

uint64_t AlignUp(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

// Smallest valid segment alignment that satisfies both; nullopt above kMaxAlignment.
std::optional<uint64_t> SegmentAlignment(uint64_t a, uint64_t b) {
  if (a > kMaxAlignment || b > kMaxAlignment) return std::nullopt;
  const uint64_t wanted = std::lcm(a, b);
  if (wanted > kMaxAlignment) return std::nullopt;
  return std::max(kSegmentAlignment, std::bit_ceil(wanted));
}

}  // namespace

uint32_t ConstantPool::AddNamed(std::string key, uint64_t size) {
  const auto& features = image_->metadata.required_features();
  if (std::find(features.begin(), features.end(), kNamedConstants) == features.end()) {
    image_->metadata.add_required_features(kNamedConstants);
  }
  schema::Constant* constant = image_->metadata.add_constants();
  constant->set_size(size);
  constant->set_named_data(std::move(key));
  return static_cast<uint32_t>(image_->metadata.constants_size()) - 1;
}

absl::StatusOr<uint32_t> ConstantPool::AddTensor(const ConstantTensor& tensor,
                                                 absl::Span<const uint8_t> order,
                                                 const std::string& file) {
  ABSL_ASSIGN_OR_RETURN(const Storage dense, tensor.Dense(order));
  const auto [it, inserted] = constants_.try_emplace({ContentKey(dense), file}, 0);
  if (!inserted) return it->second;
  std::string key;
  if (name_ != nullptr) {
    ABSL_ASSIGN_OR_RETURN(key, name_(dense, file));
  }
  if (!key.empty()) {
    named_.push_back(dense);
    return it->second = AddNamed(std::move(key), dense.bytes.size());
  }
  // A nested program is in one piece.
  const std::string stored_in = name_ == nullptr ? file : "";
  const auto [segment, is_new] =
      files_.try_emplace(stored_in, Constants{static_cast<uint32_t>(image_->segments.size()), 0});
  if (is_new) {
    image_->segments.push_back(
        {.kind = schema::Segment::CONSTANTS, .pieces = {}, .companion = stored_in});
  }
  Constants& constants = segment->second;
  it->second = static_cast<uint32_t>(image_->metadata.constants_size());
  schema::Constant* constant = image_->metadata.add_constants();
  constant->set_segment(constants.segment);
  constant->set_offset(constants.size);
  constant->set_size(dense.bytes.size());
  constants.size = AlignUp(constants.size + dense.bytes.size(), kTensorAlignment);
  image_->segments[constants.segment].pieces.push_back(dense);
  return it->second;
}

absl::StatusOr<uint32_t> ConstantPool::AddReplaceable(const InputSpec& spec,
                                                      const ConstantTensor& tensor,
                                                      absl::Span<const uint8_t> order) {
  if (!std::is_sorted(order.begin(), order.end())) {
    return absl::InvalidArgumentError(absl::StrCat(
        "replaceable tensor '", spec.target, "': expected row-major order, got channels last"));
  }
  if (name_ == nullptr) {
    // Fails if another tensor has this name.
    ABSL_RETURN_IF_ERROR(AddReplaceableData(spec, tensor, replaceable_));
  }
  const auto [it, inserted] = replaceables_.try_emplace(spec.target, 0);
  if (inserted) it->second = AddNamed(spec.target, tensor.view().nbytes());
  return it->second;
}

uint32_t ConstantPool::AddDelegateBlob(const Storage& blob) {
  const auto [it, inserted] = blobs_.try_emplace(ContentKey(blob), image_->segments.size());
  if (inserted) {
    ProgramImage::Segment& segment = image_->segments.emplace_back();
    segment.kind = schema::Segment::DELEGATE;
    segment.pieces = {blob};
  }
  return it->second;
}

absl::Status ConstantPool::AddNamedData(absl::Span<const NamedDataOutput* const> outputs) {
  struct Buffer {
    Storage storage;
    uint64_t alignment = 1;
    std::string sha256;  // if known
    std::optional<uint32_t> segment = std::nullopt;
  };
  absl::flat_hash_map<Id, size_t> index;
  std::vector<Buffer> buffers;
  struct Entry {
    ContentKey content;
    const NamedDataEntry* entry;
    std::string companion;
    size_t buffer = 0;
  };
  std::map<std::string, Entry> by_key;
  const auto add = [&](const NamedDataOutput& output, const std::string& key,
                       const NamedDataEntry& entry, const std::string& companion) -> absl::Status {
    if (entry.buffer >= output.buffers.size()) {
      return absl::InternalError(absl::StrCat("named data '", key, "' has no buffer"));
    }
    const Storage& storage = output.buffers[entry.buffer];
    const ContentKey content(storage);
    const auto [it, inserted] = by_key.try_emplace(key, Entry{content, &entry, companion});
    if (!inserted && !(it->second.content == content)) {
      return absl::AlreadyExistsError(absl::StrCat(
          "named data '", key, "' exists with other content: ", it->second.content.size(),
          " bytes and ", storage.bytes.size(), " bytes"));
    }
    if (!inserted && it->second.entry->replaceable != entry.replaceable) {
      return absl::AlreadyExistsError(
          absl::StrCat("named data '", key, "' is the name of a replaceable tensor"));
    }
    if (inserted) {
      const auto [at, is_new] = index.try_emplace({content, companion}, buffers.size());
      if (is_new) buffers.push_back({.storage = storage, .sha256 = entry.sha256});
      it->second.buffer = at->second;
    }
    Buffer& buffer = buffers[it->second.buffer];
    const std::optional<uint64_t> alignment =
        SegmentAlignment(buffer.alignment, std::max<uint64_t>(entry.alignment, 1));
    if (!alignment.has_value()) {
      return absl::InvalidArgumentError(
          absl::StrCat("named data '", key, "': expected an alignment of at most ", kMaxAlignment,
                       ", with all that its bytes are aligned to, got ", entry.alignment));
    }
    buffer.alignment = *alignment;
    return absl::OkStatus();
  };
  std::vector<const NamedDataOutput*> all(outputs.begin(), outputs.end());
  all.push_back(&replaceable_.output());
  for (const NamedDataOutput* output : all) {
    for (const auto& [key, entry] : output->program_data) {
      ABSL_RETURN_IF_ERROR(add(*output, key, entry, ""));
    }
    for (const auto& [file, entries] : output->external_data) {
      for (const auto& [key, entry] : entries) {
        ABSL_RETURN_IF_ERROR(add(*output, key, entry, file));
      }
    }
  }
  for (const auto& [key, entry] : by_key) {
    Buffer& buffer = buffers[entry.buffer];
    if (!buffer.segment.has_value()) {
      buffer.segment = image_->segments.size();
      image_->segments.push_back({.kind = schema::Segment::NAMED_DATA,
                                  .pieces = {buffer.storage},
                                  .alignment = buffer.alignment,
                                  .companion = entry.companion,
                                  .sha256 = buffer.sha256});
    }
    schema::NamedData* named = image_->metadata.add_named_data();
    named->set_key(key);
    named->set_segment(*buffer.segment);
    named->set_offset(0);
    named->set_size(entry.content.size());
    named->set_alignment(entry.entry->alignment);
    named->set_replaceable(entry.entry->replaceable);
    if (entry.entry->layout.has_value()) {
      schema::TensorLayout* layout = named->mutable_layout();
      layout->set_dtype(static_cast<uint32_t>(entry.entry->layout->dtype));
      for (int64_t size : entry.entry->layout->sizes) layout->add_sizes(size);
      layout->set_dim_order(std::string(entry.entry->layout->dim_order.begin(),
                                        entry.entry->layout->dim_order.end()));
    }
  }
  return absl::OkStatus();
}

}  // namespace belay::exir
