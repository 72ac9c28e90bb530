// A strict reader of ZIP files over bytes in memory. Source: docs/pt2-format.md §2;
// docs/hardening.md §3 P4, §6 item 11.
//
// All checks happen on opening. The central directory is authoritative; local headers must agree
// with it wherever they carry values. Entries may neither overlap, nor exceed the file, nor share a
// name. Nothing is ever unpacked to disk. Supported: stored and deflated entries, zip64, data
// descriptors. Rejected: encryption, multiple disks, other compression, links, absolute names,
// names that contain `..` or backslashes, bytes after the end record.
#ifndef BELAY_EXIR_IMPORT_ZIP_READER_H_
#define BELAY_EXIR_IMPORT_ZIP_READER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "exir/import/byte_budget.h"
#include "exir/ir/constant.h"

namespace belay::exir {

class ZipReader {
 public:
  struct Entry {
    std::string_view name;  // points into the file
    uint64_t size = 0;
    uint64_t compressed_size = 0;  // in the file; equal to `size` when stored
    uint64_t data_offset = 0;      // in the file
    uint32_t crc32 = 0;            // 0: unknown
    bool deflated = false;
  };

  // kDataLoss for truncated or contradictory content, kInvalidArgument for invalid names,
  // kUnimplemented for rejected features, kResourceExhausted for more than `max_entries` entries.
  // `file.owner` keeps the bytes alive and is shared with the storages of stored entries.
  // `keep_pages`: ImportOptions::keep_pages.
  static absl::StatusOr<ZipReader> Open(Storage file, uint64_t max_entries,
                                        bool keep_pages = false);

  // In the order of the central directory, without folders.
  absl::Span<const Entry> entries() const { return entries_; }
  // Returns nullptr if missing.
  const Entry* Find(std::string_view name) const;
  // Returns the content: the file's own bytes if stored, otherwise a new allocation charged to
  // `budget`. kDataLoss if the checksum or the size is wrong. The checksum is compared if
  // `verify_checksum` is set and it is not zero.
  absl::StatusOr<Storage> Read(const Entry& entry, ByteBudget& budget, bool verify_checksum) const;

 private:
  ZipReader() = default;
  Storage file_;
  bool keep_pages_ = false;
  std::vector<Entry> entries_;
  absl::flat_hash_map<std::string_view, size_t> by_name_;
};

}  // namespace belay::exir

#endif  // BELAY_EXIR_IMPORT_ZIP_READER_H_
