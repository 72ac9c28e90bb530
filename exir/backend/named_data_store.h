// Stores blobs by key for all delegates. Equal bytes are stored once.
//
// Source: docs/lowering.md §3.7, tables/named_data_store. If a key is added again, its alignment
// becomes the least common multiple of both (docs/lowering.md §7.17).
#ifndef BELAY_EXIR_BACKEND_NAMED_DATA_STORE_H_
#define BELAY_EXIR_BACKEND_NAMED_DATA_STORE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "exir/ir/constant.h"
#include "exir/ir/graph_signature.h"
#include "exir/ir/lowered_backend_module.h"

namespace belay::exir {

struct NamedDataOptions {
  int64_t alignment = 1;
  // Companion file of the blob; "" for the program file.
  std::string external_tag;
  std::optional<NamedDataEntry::TensorLayout> layout;
  std::string sha256 = {};   // NamedDataEntry::sha256
  bool replaceable = false;  // NamedDataEntry::replaceable
};

// A value type. Copies share the bytes. Thread-compatible.
class NamedDataStore {
 public:
  // Adds a blob. Keys are unique over the program file and all companion files. Adding the same key
  // with the same bytes changes only the alignment.
  //   kInvalidArgument  the key is empty, it or the tag is not UTF-8, or the alignment is not
  //                     positive
  //   kAlreadyExists    the key exists with other bytes; the store is unchanged
  absl::Status Add(std::string_view key, Storage data, const NamedDataOptions& options = {});
  // Adds the elements of a tensor as stored, with its layout. The tensor must be dense in row-major
  // or channels-last order.
  //   kInvalidArgument  it is in neither order, or options.layout differs from it
  absl::Status AddTensor(std::string_view key, const ConstantTensor& tensor,
                         const NamedDataOptions& options = {});
  // Adds all entries: those of the program file, then the external ones, in the order of their
  // buffers. On a conflict, the entries before it remain.
  absl::Status Merge(const NamedDataOutput& output);
  // Moves the program file's entries to companion files of at most `cap` bytes each; a buffer
  // counts once. Buffers are taken in the order of their keys; a new file starts when the next
  // buffer would not fit. A file's tag is `prefix`_ and the SHA-256 of its keys joined by NUL. On
  // error the store is unchanged.
  //   kInvalidArgument  cap is 0, the prefix is empty or not UTF-8, or one buffer exceeds cap
  //   kAlreadyExists    a file of this tag exists with other content
  absl::Status Externalize(uint64_t cap, std::string_view prefix);

  const NamedDataOutput& output() const { return output_; }

 private:
  size_t AddBuffer(Storage data);
  NamedDataEntry* Find(std::string_view key);

  NamedDataOutput output_;
  absl::flat_hash_map<std::string, std::string> file_of_key_;  // external tag, or ""
  // Indices of buffers by length and first bytes.
  absl::flat_hash_map<std::string, std::vector<size_t>> candidates_;
};

// Adds the elements of a replaceable tensor in row-major order under its name, in its file.
//   kAlreadyExists      another tensor has this name
//   kResourceExhausted  out of memory
absl::Status AddReplaceableData(const InputSpec& spec, const ConstantTensor& tensor,
                                NamedDataStore& store);

}  // namespace belay::exir

#endif  // BELAY_EXIR_BACKEND_NAMED_DATA_STORE_H_
