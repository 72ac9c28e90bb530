// Reads the tensors of a model from its archive, whatever the era. Source: docs/pt2-format.md §3, §4,
// §11.
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
  // Named in the archive, but not usable (custom objects, tensor subclasses), and why: an error
  // only when the program refers to it.
  absl::btree_map<std::string, absl::Status> unusable;
  NoteNames zero_filled;  // those with elements, but an empty record
};

// Stored records are used in place and never copied; names with the same record share it. Corrupt
// payloads are errors whether or not the program refers to them. `inflated` and `zero_filled` are
// what may be allocated.
absl::StatusOr<Payloads> ReadPayloads(const Container& container, std::string_view model,
                                      const ImportOptions& options, ByteBudget& inflated,
                                      ByteBudget& zero_filled);

}  // namespace belay::exir

#endif  // BELAY_EXIR_IMPORT_PAYLOADS_H_
