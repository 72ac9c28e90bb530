// Writes ZIP files for tests: valid ones in the style of PyTorch and Python, and ones with a single
// chosen fault.
#ifndef BELAY_EXIR_IMPORT_TESTING_ZIP_WRITER_H_
#define BELAY_EXIR_IMPORT_TESTING_ZIP_WRITER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "exir/ir/constant.h"

namespace belay::exir {

struct ZipWriterEntry {
  std::string name = {};
  std::string content = {};
  bool deflate = false;
  bool streamed = false;   // flag bit 3: empty local fields, and a data descriptor
  uint32_t alignment = 0;  // data alignment by a local extra field; 0: none
  bool zip64 = false;      // the directory entry stores its numbers in a zip64 field

  // Wrong values, written to both headers unless the name says which.
  uint16_t more_flags = 0;
  std::optional<uint16_t> method = {};
  std::optional<uint32_t> crc32 = {};
  std::optional<uint64_t> size = {};  // uncompressed
  std::optional<uint64_t> compressed_size = {};
  std::optional<std::string> local_name = {};
  std::optional<uint32_t> local_crc32 = {};
  std::optional<uint32_t> local_size = {};
  std::optional<uint32_t> local_compressed_size = {};
  std::optional<uint16_t> local_method = {};
  std::optional<uint32_t> header_offset = {};
  uint16_t disk = 0;
  uint32_t unix_mode = 0;        // with "made by Unix"
  std::string extra = {};        // further extra fields of the directory entry
  std::string local_extra = {};  // same, of the local header
};

struct ZipWriterEnd {
  bool zip64 = false;
  std::string comment = {};
  std::optional<uint16_t> entries = {};
  std::optional<uint32_t> directory_size = {};
  std::optional<uint32_t> directory_offset = {};
  std::optional<uint64_t> zip64_entries = {};
  uint16_t disk = 0;
  std::optional<uint16_t> directory_disk = {};
  std::optional<uint16_t> entries_on_disk = {};
};

std::string WriteZip(const std::vector<ZipWriterEntry>& entries, const ZipWriterEnd& end = {});

// Returns a storage that owns the bytes of `text`.
Storage ToStorage(std::string text);

}  // namespace belay::exir

#endif  // BELAY_EXIR_IMPORT_TESTING_ZIP_WRITER_H_
