#include "exir/backend/named_data_store.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <tuple>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_join.h"
#include "runtime/core/checked_math.h"
#include "runtime/core/printable.h"
#include "runtime/core/sha256.h"
#include "runtime/core/sizes.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/core/utf8.h"
#include "runtime/schema/file_format.h"

namespace belay::exir {
namespace {

constexpr size_t kFingerprintBytes = 32;

using Entries = absl::btree_map<std::string, NamedDataEntry>;

// The entries of one file in the order of their buffers, which are numbered in insertion order.
struct FileEntries {
  std::string tag;
  std::vector<const Entries::value_type*> entries;
};
FileEntries AsAdded(std::string_view tag, const Entries& map) {
  FileEntries file{std::string(tag), {}};
  for (const Entries::value_type& entry : map) file.entries.push_back(&entry);
  std::sort(file.entries.begin(), file.entries.end(), [](const auto* a, const auto* b) {
    return std::tie(a->second.buffer, a->first) < std::tie(b->second.buffer, b->first);
  });
  return file;
}

bool SameBytes(absl::Span<const std::byte> a, absl::Span<const std::byte> b) {
  if (a.size() != b.size()) return false;
  return a.empty() || a.data() == b.data() || std::memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace

size_t NamedDataStore::AddBuffer(Storage data) {
  const size_t prefix = std::min(data.bytes.size(), kFingerprintBytes);
  std::string fingerprint = absl::StrCat(data.bytes.size(), ":");
  if (prefix > 0) {
    fingerprint.append(reinterpret_cast<const char*>(data.bytes.data()), prefix);
  }
  std::vector<size_t>& candidates = candidates_[fingerprint];
  for (size_t candidate : candidates) {
    if (SameBytes(output_.buffers[candidate].bytes, data.bytes)) return candidate;
  }
  candidates.push_back(output_.buffers.size());
  output_.buffers.push_back(std::move(data));
  return output_.buffers.size() - 1;
}

NamedDataEntry* NamedDataStore::Find(std::string_view key) {
  const auto file = file_of_key_.find(std::string(key));
  if (file == file_of_key_.end()) return nullptr;
  auto& entries = file->second.empty() ? output_.program_data : output_.external_data[file->second];
  return &entries.find(std::string(key))->second;
}

absl::Status NamedDataStore::Add(std::string_view key, Storage data,
                                 const NamedDataOptions& options) {
  // Rejects entries that a program file cannot contain; they would be rejected on reading.
  if (key.empty()) return absl::InvalidArgumentError("the key of named data is empty");
  if (!IsUtf8(key)) {
    return absl::InvalidArgumentError(
        absl::StrCat("key ", absl::CHexEscape(ToAbsl(key)), " is not UTF-8"));
  }
  if (!IsUtf8(options.external_tag)) {
    return absl::InvalidArgumentError(absl::StrCat("key ", Printable(key), ": external tag ",
                                                   absl::CHexEscape(options.external_tag),
                                                   " is not UTF-8"));
  }
  if (options.alignment <= 0) {
    return absl::InvalidArgumentError(absl::StrCat("key ", Printable(key),
                                                   ": alignment must be greater than 0, received ",
                                                   options.alignment));
  }
  const auto alignment = static_cast<uint64_t>(options.alignment);
  if (NamedDataEntry* entry = Find(key)) {
    const Storage& existing = output_.buffers[entry->buffer];
    if (!SameBytes(existing.bytes, data.bytes)) {
      return absl::AlreadyExistsError(absl::StrCat(
          "Duplicate key ", Printable(key), " with different data. Existing data size: ",
          existing.bytes.size(), " bytes. New data size: ", data.bytes.size(), " bytes."));
    }
    const std::optional<uint64_t> both =
        CheckedMul(entry->alignment / std::gcd(entry->alignment, alignment), alignment);
    if (!both.has_value() || *both > static_cast<uint64_t>(INT64_MAX)) {
      return absl::InvalidArgumentError(absl::StrCat("key ", Printable(key),
                                                     ": no alignment is a multiple of ",
                                                     entry->alignment, " and ", alignment));
    }
    entry->alignment = *both;
    return absl::OkStatus();
  }
  NamedDataEntry entry{AddBuffer(std::move(data)), alignment, options.layout, options.sha256,
                       options.replaceable};
  auto& entries = options.external_tag.empty() ? output_.program_data
                                               : output_.external_data[options.external_tag];
  entries[std::string(key)] = std::move(entry);
  file_of_key_[std::string(key)] = options.external_tag;
  return absl::OkStatus();
}

absl::Status NamedDataStore::AddTensor(std::string_view key, const ConstantTensor& tensor,
                                       const NamedDataOptions& options) {
  NamedDataEntry::TensorLayout layout;
  layout.dtype = tensor.dtype();
  layout.sizes.assign(tensor.sizes().begin(), tensor.sizes().end());
  DimOrder order = ContiguousOrder(tensor.sizes().size());
  if (!tensor.is_contiguous()) {
    order = ChannelsLastOrder(tensor.sizes().size());
    if (!(DenseStrides(tensor.sizes(), order) == tensor.strides())) {
      return absl::InvalidArgumentError(absl::StrCat("key ", Printable(key), ": the tensor ",
                                                     tensor.view().ToString(),
                                                     " is neither contiguous nor channels last"));
    }
  }
  layout.dim_order.assign(order.begin(), order.end());
  if (options.layout.has_value() && !(*options.layout == layout)) {
    return absl::InvalidArgumentError(absl::StrCat("key ", Printable(key),
                                                   ": the given layout is not that of the tensor ",
                                                   tensor.view().ToString()));
  }
  ABSL_ASSIGN_OR_RETURN(Storage bytes, tensor.Dense(order));
  NamedDataOptions with_layout = options;
  with_layout.layout = std::move(layout);
  return Add(key, std::move(bytes), with_layout);
}

absl::Status AddReplaceableData(const InputSpec& spec, const ConstantTensor& tensor,
                                NamedDataStore& store) {
  ABSL_ASSIGN_OR_RETURN(Storage dense, tensor.Dense());
  ABSL_ASSIGN_OR_RETURN(
      const ConstantTensor rows,
      ConstantTensor::Contiguous(tensor.dtype(), tensor.sizes(), std::move(dense)));
  return store.AddTensor(spec.target, rows,
                         {.alignment = kTensorAlignment,
                          .external_tag = spec.file,
                          .layout = {},
                          .replaceable = true});
}

absl::Status NamedDataStore::Merge(const NamedDataOutput& output) {
  std::vector<FileEntries> files;
  for (const auto& [tag, entries] : output.external_data) {
    if (!entries.empty()) files.push_back(AsAdded(tag, entries));
  }
  std::sort(files.begin(), files.end(), [](const FileEntries& a, const FileEntries& b) {
    return std::tie(a.entries[0]->second.buffer, a.tag) <
           std::tie(b.entries[0]->second.buffer, b.tag);
  });
  files.insert(files.begin(), AsAdded("", output.program_data));
  for (const FileEntries& file : files) {
    for (const Entries::value_type* added : file.entries) {
      const auto& [key, entry] = *added;
      if (entry.buffer >= output.buffers.size()) {
        return absl::InvalidArgumentError(absl::StrCat(
            "key ", Printable(key), " names buffer ", entry.buffer, " of ", output.buffers.size()));
      }
      if (entry.alignment > static_cast<uint64_t>(INT64_MAX)) {
        return absl::InvalidArgumentError(
            absl::StrCat("key ", Printable(key), " has alignment ", entry.alignment));
      }
      ABSL_RETURN_IF_ERROR(Add(key, output.buffers[entry.buffer],
                               {static_cast<int64_t>(entry.alignment), file.tag, entry.layout,
                                entry.sha256, entry.replaceable}));
    }
  }
  return absl::OkStatus();
}

absl::Status NamedDataStore::Externalize(uint64_t cap, std::string_view prefix) {
  if (cap == 0) {
    return absl::InvalidArgumentError("external data shard cap must be a positive integer");
  }
  if (prefix.empty()) {
    return absl::InvalidArgumentError("external data tag prefix must be nonempty");
  }
  if (!IsUtf8(prefix)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "external data tag prefix ", absl::CHexEscape(ToAbsl(prefix)), " is not UTF-8"));
  }
  // The keys of a buffer are sorted, and the buffers are sorted by them, because program_data is
  // sorted.
  std::vector<std::pair<size_t, std::vector<std::string>>> groups;
  absl::flat_hash_map<size_t, size_t> group_of_buffer;
  for (const auto& [key, entry] : output_.program_data) {
    const auto [it, added] = group_of_buffer.emplace(entry.buffer, groups.size());
    if (added) groups.emplace_back(entry.buffer, std::vector<std::string>());
    groups[it->second].second.push_back(key);
  }
  std::vector<std::vector<std::string>> shards;
  uint64_t filled = 0;
  for (const auto& [buffer, keys] : groups) {
    const uint64_t size = output_.buffers[buffer].bytes.size();
    if (size > cap) {
      return absl::InvalidArgumentError(absl::StrCat(
          "buffer ", buffer, " has ", size, " bytes and exceeds external data shard cap ", cap));
    }
    if (shards.empty() || size > cap - filled) {
      shards.emplace_back();
      filled = 0;
    }
    filled += size;
    shards.back().insert(shards.back().end(), keys.begin(), keys.end());
  }
  std::vector<std::string> tags;
  for (std::vector<std::string>& keys : shards) {
    std::sort(keys.begin(), keys.end());
    const std::string joined = absl::StrJoin(keys, absl::string_view("\0", 1));
    tags.push_back(absl::StrCat(prefix, "_", absl::BytesToHexString(Sha256(joined))));
    // Keys are unique over all files, so an existing file of this tag has other content.
    if (output_.external_data.contains(tags.back())) {
      return absl::AlreadyExistsError(
          absl::StrCat("external data tag ", tags.back(), " is there with other content"));
    }
  }
  for (size_t i = 0; i < shards.size(); ++i) {
    auto& file = output_.external_data[tags[i]];
    for (const std::string& key : shards[i]) {
      const auto it = output_.program_data.find(key);
      file[key] = std::move(it->second);
      output_.program_data.erase(it);
      file_of_key_[key] = tags[i];
    }
  }
  return absl::OkStatus();
}

}  // namespace belay::exir
