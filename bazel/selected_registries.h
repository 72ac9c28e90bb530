// Functions called by the sources that belay_runtime generates.
#ifndef BELAY_BAZEL_SELECTED_REGISTRIES_H_
#define BELAY_BAZEL_SELECTED_REGISTRIES_H_

#include <initializer_list>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "runtime/backend/backend_registry.h"
#include "runtime/kernel_interface/kernel_registry.h"

namespace belay {

// Registers the rows that have an operator: rows that were not selected are empty but keep their
// positions in the tables.
KernelRegistry SelectedRows(std::initializer_list<absl::Span<const Kernel>> tables);

// Registers the backends whose name is in `ids`.
BackendRegistry NamedBackends(std::initializer_list<std::string_view> ids,
                              std::initializer_list<std::vector<const BackendRuntime*>> backends);

}  // namespace belay

#endif  // BELAY_BAZEL_SELECTED_REGISTRIES_H_
