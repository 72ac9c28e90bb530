#ifndef BELAY_EXIR_BACKEND_COMPILE_SPEC_CHOICE_H_
#define BELAY_EXIR_BACKEND_COMPILE_SPEC_CHOICE_H_

#include <cstddef>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "exir/ir/lowered_backend_module.h"

namespace belay::exir {

// For backends with one compile spec, `key`: which of `values` it has, by its index. Without compile
// specs 0, the default.
//   kInvalidArgument  another key, another value, or one that is there twice
absl::StatusOr<size_t> CompileSpecChoice(absl::Span<const CompileSpec> compile_specs,
                                         std::string_view key,
                                         absl::Span<const std::string_view> values);

}  // namespace belay::exir

#endif  // BELAY_EXIR_BACKEND_COMPILE_SPEC_CHOICE_H_
