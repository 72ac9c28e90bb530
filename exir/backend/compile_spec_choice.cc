#include "exir/backend/compile_spec_choice.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace belay::exir {

absl::StatusOr<size_t> CompileSpecChoice(absl::Span<const CompileSpec> compile_specs,
                                         std::string_view key,
                                         absl::Span<const std::string_view> values) {
  if (compile_specs.empty()) return size_t{0};
  const CompileSpec& spec = compile_specs[0];
  if (compile_specs.size() > 1 || spec.key != key) {
    return absl::InvalidArgumentError(absl::StrCat(
        "unknown compile spec '", compile_specs.back().key, "'; there is '", key, "', once"));
  }
  const auto found = std::find(values.begin(), values.end(), spec.value);
  if (found == values.end()) {
    const auto append = [](std::string* text, std::string_view value) { text->append(value); };
    return absl::InvalidArgumentError(absl::StrCat("compile spec ", key, "=", spec.value,
                                                   ", expected ",
                                                   absl::StrJoin(values, " or ", append)));
  }
  return static_cast<size_t>(found - values.begin());
}

}  // namespace belay::exir
