// Numbers of dtypes in ExecuTorch's files: those of c10::ScalarType that its runtime accepts.
#ifndef BELAY_EXECUTORCH_FORMAT_SCALAR_TYPE_H_
#define BELAY_EXECUTORCH_FORMAT_SCALAR_TYPE_H_

#include <cstdint>
#include <optional>

#include "runtime/core/dtype.h"

namespace belay::pte {

// ExecuTorch's runtime rejects this number and larger ones.
inline constexpr int kScalarTypes = 30;

// nullopt if ExecuTorch does not have the dtype.
inline std::optional<int8_t> ToScalarType(DType dtype) {
  const std::optional<C10ScalarType> type = DTypeToC10(dtype);
  if (!type.has_value() || type->value >= kScalarTypes) return std::nullopt;
  return static_cast<int8_t>(type->value);
}

}  // namespace belay::pte

#endif  // BELAY_EXECUTORCH_FORMAT_SCALAR_TYPE_H_
