#include "exir/import/import_options.h"

#include <algorithm>

namespace belay::exir {

ImportOptions OptionsForArchive(const ImportOptions& options, uint64_t archive_bytes) {
  // torch.export.save does not compress, so content much larger than the archive is not from a
  // model.
  const uint64_t inflated = 16 * std::min(archive_bytes, uint64_t{1} << 50);
  ImportOptions resolved = options;
  if (resolved.max_json_bytes == ImportOptions::kInProportion) {
    resolved.max_json_bytes = (uint64_t{16} << 20) + inflated;
  }
  if (resolved.max_inflated_bytes == ImportOptions::kInProportion) {
    resolved.max_inflated_bytes = (uint64_t{256} << 20) + inflated;
  }
  return resolved;
}

}  // namespace belay::exir
