// A strict reader of ZIP files over bytes in memory. Source: docs/pt2-format.md §2; docs/hardening.md §3 P4,
// §6 item 11.
//
// Everything is checked when the file is opened: the central directory rules, the local headers
// must agree with it wherever they carry values, entries may neither overlap nor leave the file nor
// share a name. Nothing is ever unpacked to disk. Understood: stored and deflated entries, zip64,
// data descriptors. Refused: encryption, several disks, other compression, links, names that are
// absolute or contain `..` or backslashes, bytes after the end record.
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

  // kDataLoss for what is truncated or contradicts itself, kInvalidArgument for names that are not
  // acceptable, kUnimplemented for features that are refused, kResourceExhausted for more than
  // `max_entries` entries. `file.owner` keeps the bytes alive and is passed on to whoever reads
  // stored entries.
  static absl::StatusOr<ZipReader> Open(Storage file, uint64_t max_entries);

  // In the order of the central directory; folders are left out.
  absl::Span<const Entry> entries() const { return entries_; }
  // nullptr when there is none.
  const Entry* Find(std::string_view name) const;
  // The content: the file's own bytes when stored, otherwise a new allocation taken from `budget`.
  // kDataLoss when the checksum (compared when `verify_checksum` and it is not zero) or the size is
  // wrong.
  absl::StatusOr<Storage> Read(const Entry& entry, ByteBudget& budget, bool verify_checksum) const;

 private:
  ZipReader() = default;
  Storage file_;
  std::vector<Entry> entries_;
  absl::flat_hash_map<std::string_view, size_t> by_name_;
};

}  // namespace belay::exir

#endif  // BELAY_EXIR_IMPORT_ZIP_READER_H_
