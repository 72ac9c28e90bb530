// The table of supported operators and their conversion to payload nodes.
#ifndef BELAY_BACKENDS_XNNPACK_AOT_OPERATION_RULES_H_
#define BELAY_BACKENDS_XNNPACK_AOT_OPERATION_RULES_H_

#include <string_view>

#include "absl/status/status.h"
#include "backends/xnnpack/aot/operation_reader.h"
#include "runtime/core/dtype.h"

namespace belay::xnnpack {

struct OperationRule {
  std::string_view op;
  // Fills in the operation, except for its type and int8 fields. kUnimplemented, with the reason,
  // for a call that payloads cannot represent.
  absl::Status (*read)(const OperationReader& reader, Operation& operation);
  NodeType type;  // NONE: the result is the first operand
  DType result = DType::kFloat32;
};

// Returns nullptr for an operator without a rule ("aten.add.Tensor").
const OperationRule* FindOperationRule(std::string_view op);

}  // namespace belay::xnnpack

#endif  // BELAY_BACKENDS_XNNPACK_AOT_OPERATION_RULES_H_
