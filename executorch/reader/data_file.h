// Tensors that a program takes from another file, .ptd (docs/pte-format.md §10).
#ifndef BELAY_EXECUTORCH_READER_DATA_FILE_H_
#define BELAY_EXECUTORCH_READER_DATA_FILE_H_

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "executorch/reader/tensor_layout.h"
#include "runtime/program/limits.h"

namespace belay::pte {

// What lies under one key. Without a layout it is a backend's.
struct ExternalData {
  std::optional<TensorLayout> layout;
  absl::Span<const std::byte> bytes;  // of a tensor: at least its bytes
};

// The tensors and blobs of data files, by key. Bytes stay where they are.
class DataFiles {
 public:
  // Adds all of a file, which `owner` keeps alive; nothing was added after an error.
  //   kDataLoss, kUnimplemented, kResourceExhausted  as ReadFlatFile and VerifiedRoot; a newer
  //                     version of the format is kUnimplemented
  //   kInvalidArgument  keys that are missing, empty, no UTF-8 or there already; segments or
  //                     layouts that break a rule: all that are, the place and the numbers of each
  //   kUnimplemented    a layout of a dtype that Belay does not have
  absl::Status Add(std::shared_ptr<const void> owner, absl::Span<const std::byte> file,
                   const Limits& limits);

  // nullptr when no file has it.
  const ExternalData* Find(std::string_view key) const;
  const std::map<std::string, ExternalData, std::less<>>& entries() const { return entries_; }
  uint64_t file_bytes() const { return file_bytes_; }  // of all files together
  // What keeps the bytes alive.
  const std::vector<std::shared_ptr<const void>>& owners() const { return owners_; }

 private:
  std::map<std::string, ExternalData, std::less<>> entries_;
  std::vector<std::shared_ptr<const void>> owners_;
  uint64_t file_bytes_ = 0;
};

}  // namespace belay::pte

#endif  // BELAY_EXECUTORCH_READER_DATA_FILE_H_
