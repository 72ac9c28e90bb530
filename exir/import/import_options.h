// Options of the archive importer, and limits that bound the cost of a hostile file.
#ifndef BELAY_EXIR_IMPORT_IMPORT_OPTIONS_H_
#define BELAY_EXIR_IMPORT_IMPORT_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace belay::exir {

// Exceeding a limit is kResourceExhausted; the message names the limit as spelled here. Reading
// also obeys the calling thread's Budget (runtime/core/budget.h).
struct ImportOptions {
  // Proportional to the bytes of the archive, see docs/hardening.md §5.
  static constexpr uint64_t kInProportion = UINT64_MAX;

  // Name of the model to import. "": the model named "model", or the only one.
  std::string model_name;
  // Verifies the CRC-32 of every entry that is read, weights included. Costs one pass over them.
  bool verify_checksums = true;
  // Keeps the pages that the checksums read in memory, for callers that read all weights next. If
  // false, the process holds only pages that it uses.
  bool keep_pages = false;
  // If not null, receives non-fatal findings about an imported archive: weights without data, other
  // devices, ranges of unknown symbols (import_notes.h has the list). One line per kind, with the
  // first names and the total count; none if the import fails.
  std::vector<std::string>* notes = nullptr;

  uint64_t max_file_bytes = uint64_t{1} << 40;
  uint64_t max_zip_entries = 1 << 18;
  // Inflated size of one JSON document. Reading needs at most 20 times as much memory.
  uint64_t max_json_bytes = kInProportion;
  // Size of one pickle, which contains names and shapes, never elements.
  uint64_t max_pickle_bytes = 16 << 20;
  // Values created by one pickle. A tensor needs about 20; a one-byte instruction may create one.
  // With both default limits, reading a pickle needs at most 20 times max_pickle_bytes of memory.
  uint64_t max_pickle_values = 1 << 20;
  // Total inflated size of all compressed entries.
  uint64_t max_inflated_bytes = kInProportion;
  // Total size of all tensors that are zero-filled because their record in the archive is empty.
  uint64_t max_zero_filled_bytes = 256 << 20;
  // Nesting depth of subgraphs of higher-order operators and of dictionary arguments.
  int max_nesting = 64;
  uint64_t max_nodes = 2'000'000;  // over all graphs
};

// Returns the options with each kInProportion replaced by its value.
ImportOptions OptionsForArchive(const ImportOptions& options, uint64_t archive_bytes);

}  // namespace belay::exir

#endif  // BELAY_EXIR_IMPORT_IMPORT_OPTIONS_H_
