// What the sources that belay_runtime writes call.
#ifndef BELAY_BAZEL_SELECTED_REGISTRIES_H_
#define BELAY_BAZEL_SELECTED_REGISTRIES_H_

#include <initializer_list>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "runtime/backend/backend_registry.h"
#include "runtime/kernel/kernel_registry.h"

namespace belay {

// The rows of the tables that have an operator: tables keep the places of those that were left out.
KernelRegistry RowsThatAreThere(std::initializer_list<absl::Span<const Kernel>> tables);

// Those of `backends` with one of these names.
BackendRegistry NamedBackends(std::initializer_list<std::string_view> ids,
                              std::initializer_list<std::vector<const BackendRuntime*>> backends);

}  // namespace belay

#endif  // BELAY_BAZEL_SELECTED_REGISTRIES_H_
