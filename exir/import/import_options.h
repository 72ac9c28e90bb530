// What may be asked of the reader of archives, and the limits that bound what a hostile file can
// cost.
#ifndef BELAY_EXIR_IMPORT_IMPORT_OPTIONS_H_
#define BELAY_EXIR_IMPORT_IMPORT_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace belay::exir {

// Crossing a limit is kResourceExhausted; the message names the limit as it is written here.
// Besides, reading obeys the calling thread's Budget (runtime/core/budget.h).
struct ImportOptions {
  // In proportion to the bytes of the archive, as docs/hardening.md §5 says.
  static constexpr uint64_t kInProportion = UINT64_MAX;

  // Which model of the archive. "": the one called "model", or the only one.
  std::string model_name;
  // Whether to compare the CRC-32 of every entry that is read, weights included. It costs one pass
  // over them.
  bool verify_checksums = true;
  // Receives, when not null, what is no error but should be known of an archive that was imported:
  // weights without data, other devices, ranges of unknown symbols (import_notes.h has the list).
  // One line for each kind, with the first names and their count; nothing when the import fails.
  std::vector<std::string>* notes = nullptr;

  uint64_t max_file_bytes = uint64_t{1} << 40;
  uint64_t max_zip_entries = 1 << 18;
  // Of one JSON document, inflated. Reading takes at most 20 times as much memory.
  uint64_t max_json_bytes = kInProportion;
  // Of one pickle; it holds names and shapes, never elements.
  uint64_t max_pickle_bytes = 16 << 20;
  // That one pickle makes; a tensor takes about 20, an instruction of one byte may make one. With
  // both limits as here, reading a pickle takes at most 20 times max_pickle_bytes of memory.
  uint64_t max_pickle_values = 1 << 20;
  // Of all entries that are stored compressed, together.
  uint64_t max_inflated_bytes = kInProportion;
  // Of all tensors whose record in the archive is empty and that become zeros, together.
  uint64_t max_zero_filled_bytes = 256 << 20;
  // How deep bodies of higher-order operators and dictionary arguments nest.
  int max_nesting = 64;
  uint64_t max_nodes = 2'000'000;  // of all graphs
};

// The options with numbers in the place of kInProportion.
ImportOptions OptionsForArchive(const ImportOptions& options, uint64_t archive_bytes);

}  // namespace belay::exir

#endif  // BELAY_EXIR_IMPORT_IMPORT_OPTIONS_H_
