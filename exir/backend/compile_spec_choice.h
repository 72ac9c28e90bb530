#ifndef BELAY_EXIR_BACKEND_COMPILE_SPEC_CHOICE_H_
#define BELAY_EXIR_BACKEND_COMPILE_SPEC_CHOICE_H_

#include <cstddef>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "exir/ir/lowered_backend_module.h"

namespace belay::exir {

// Parses the compile specs of a backend that has a single option, `key`. Returns the index of its
// value in `values`; 0, the default, without compile specs.
//   kInvalidArgument  unknown key, unknown value, or a duplicate key
absl::StatusOr<size_t> CompileSpecChoice(absl::Span<const CompileSpec> compile_specs,
                                         std::string_view key,
                                         absl::Span<const std::string_view> values);

}  // namespace belay::exir

#endif  // BELAY_EXIR_BACKEND_COMPILE_SPEC_CHOICE_H_
