// Tensors that a program loads from external data files, .ptd (docs/pte-format.md §10).
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

// The data of one key. Without a layout, it is backend data.
struct ExternalData {
  std::optional<TensorLayout> layout;
  absl::Span<const std::byte> bytes;  // for a tensor: at least its size in bytes
};

// Maps keys to the tensors and blobs of data files. Bytes are not copied.
class DataFiles {
 public:
  // Adds all entries of a file; `owner` keeps its bytes alive. On error, adds nothing.
  //   kDataLoss, kUnimplemented, kResourceExhausted  as ReadFlatFile and VerifiedRoot; a newer
  //                     version of the format is kUnimplemented
  //   kInvalidArgument  missing, empty, non-UTF-8 or duplicate keys; segments or layouts that break
  //                     a rule. Lists all of them, with positions and numbers
  //   kUnimplemented    a layout of a dtype that Belay does not have
  absl::Status Add(std::shared_ptr<const void> owner, absl::Span<const std::byte> file,
                   const Limits& limits);

  // Returns nullptr if no file has the key.
  const ExternalData* Find(std::string_view key) const;
  const std::map<std::string, ExternalData, std::less<>>& entries() const { return entries_; }
  uint64_t file_bytes() const { return file_bytes_; }  // of all files
  // Owners of the bytes.
  const std::vector<std::shared_ptr<const void>>& owners() const { return owners_; }

 private:
  std::map<std::string, ExternalData, std::less<>> entries_;
  std::vector<std::shared_ptr<const void>> owners_;
  uint64_t file_bytes_ = 0;
};

}  // namespace belay::pte

#endif  // BELAY_EXECUTORCH_READER_DATA_FILE_H_
