// The compile spec that says on which device a delegate's tensors lie.
//
// Source: docs/lowering.md row 10.
#ifndef BELAY_EXIR_BACKEND_TRANSFORMS_TARGET_DEVICE_H_
#define BELAY_EXIR_BACKEND_TRANSFORMS_TARGET_DEVICE_H_

#include <optional>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "exir/ir/lowered_backend_module.h"
#include "exir/op/tensor_meta.h"

namespace belay::exir {

inline constexpr std::string_view kTargetDeviceKey = "target_device";

// "cuda:1", "CPU": the type in any case, the index 0 when there is none. Any type: backends say which
// they support. kInvalidArgument for one that is not letters and digits, and for an index that is no
// number.
absl::StatusOr<Device> ParseTargetDevice(std::string_view text);

// What the first spec with the key says; nullopt when there is none.
absl::StatusOr<std::optional<Device>> TargetDevice(absl::Span<const CompileSpec> compile_specs);

}  // namespace belay::exir

#endif  // BELAY_EXIR_BACKEND_TRANSFORMS_TARGET_DEVICE_H_
