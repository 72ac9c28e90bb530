// Reads the tensors of a model from an archive of any era. Source: docs/pt2-format.md §3, §4, §11.
#ifndef BELAY_EXIR_IMPORT_PAYLOADS_H_
#define BELAY_EXIR_IMPORT_PAYLOADS_H_

#include <string>
#include <string_view>

#include "absl/container/btree_map.h"
#include "absl/status/statusor.h"
#include "exir/import/byte_budget.h"
#include "exir/import/container.h"
#include "exir/import/import_options.h"
#include "exir/import/note_names.h"
#include "exir/ir/exported_program.h"

namespace belay::exir {

struct Payloads {
  ConstantMap weights;    // parameters and persistent buffers
  ConstantMap constants;  // tensor constants and non-persistent buffers
  // Payloads of the archive that cannot be used (custom objects, tensor subclasses), with the
  // reason. An error only if the program refers to them.
  absl::btree_map<std::string, absl::Status> unusable;
  NoteNames zero_filled;  // tensors with elements but an empty record
};

// Uses stored records in place without copying; names with the same record share it. Corrupt
// payloads are errors even if the program does not refer to them. `inflated` and `zero_filled` are
// the allocation budgets.
absl::StatusOr<Payloads> ReadPayloads(const Container& container, std::string_view model,
                                      const ImportOptions& options, ByteBudget& inflated,
                                      ByteBudget& zero_filled);

}  // namespace belay::exir

#endif  // BELAY_EXIR_IMPORT_PAYLOADS_H_
