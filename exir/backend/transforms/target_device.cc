#include "exir/backend/transforms/target_device.h"

#include <charconv>
#include <string>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "runtime/core/status_macros.h"

namespace belay::exir {

absl::StatusOr<Device> ParseTargetDevice(std::string_view text) {
  const size_t colon = text.find(':');
  Device device;
  device.type = absl::AsciiStrToLower(ToAbsl(text.substr(0, colon)));
  if (device.type.empty() || !absl::c_all_of(device.type, absl::ascii_isalnum)) {
    return absl::InvalidArgumentError(
        absl::StrCat("target device '", text, "': expected a type of letters and digits"));
  }
  uint32_t index = 0;
  if (colon != std::string_view::npos) {
    const std::string_view digits = text.substr(colon + 1);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
    if (error != std::errc() || end != digits.data() + digits.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("target device '", text, "' has an index that is not a number"));
    }
  }
  device.index = index;
  return device;
}

absl::StatusOr<std::optional<Device>> TargetDevice(absl::Span<const CompileSpec> compile_specs) {
  for (const CompileSpec& spec : compile_specs) {
    if (spec.key != kTargetDeviceKey) continue;
    ABSL_ASSIGN_OR_RETURN(Device device, ParseTargetDevice(spec.value));
    return std::optional<Device>(std::move(device));
  }
  return std::optional<Device>();
}

}  // namespace belay::exir
