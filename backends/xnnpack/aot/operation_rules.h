// Which operators payloads have, and what each becomes: the table of the partitioner.
#ifndef BELAY_BACKENDS_XNNPACK_AOT_OPERATION_RULES_H_
#define BELAY_BACKENDS_XNNPACK_AOT_OPERATION_RULES_H_

#include <string_view>

#include "absl/status/status.h"
#include "backends/xnnpack/aot/operation_reader.h"
#include "runtime/core/dtype.h"

namespace belay::xnnpack {

struct OperationRule {
  std::string_view op;
  // Fills in the operation, but for its type and what it computes on. kUnimplemented, saying why, for
  // a call that no payload has.
  absl::Status (*read)(const OperationReader& reader, Operation& operation);
  NodeType type;  // NONE: the result is the first operand
  DType result = DType::kFloat32;
};

// nullptr: there is none for this operator ("aten.add.Tensor").
const OperationRule* FindOperationRule(std::string_view op);

}  // namespace belay::xnnpack

#endif  // BELAY_BACKENDS_XNNPACK_AOT_OPERATION_RULES_H_
