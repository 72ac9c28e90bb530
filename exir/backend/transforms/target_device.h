// The compile spec that selects the device of a delegate's tensors.
//
// Source: docs/lowering.md row 10.
#ifndef BELAY_EXIR_BACKEND_TRANSFORMS_TARGET_DEVICE_H_
#define BELAY_EXIR_BACKEND_TRANSFORMS_TARGET_DEVICE_H_

#include <optional>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "exir/ir/lowered_backend_module.h"
#include "exir/op_definition/tensor_meta.h"

namespace belay::exir {

inline constexpr std::string_view kTargetDeviceKey = "target_device";

// Parses "cuda:1" or "CPU": case-insensitive type, default index 0. Accepts any type; backends
// decide which they support. kInvalidArgument for a type with characters other than letters and
// digits, and for a non-numeric index.
absl::StatusOr<Device> ParseTargetDevice(std::string_view text);

// Returns the device of the first spec with the key; nullopt without one.
absl::StatusOr<std::optional<Device>> TargetDevice(absl::Span<const CompileSpec> compile_specs);

}  // namespace belay::exir

#endif  // BELAY_EXIR_BACKEND_TRANSFORMS_TARGET_DEVICE_H_
