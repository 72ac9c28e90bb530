// Defines zoo::scaled_swish for the compiler.
#ifndef SCALED_SWISH_OP_H_
#define SCALED_SWISH_OP_H_

#include "absl/status/status.h"
#include "exir/op_definition/op_registry.h"

namespace custom_operator {

// Must be called before programs are read: earlier programs do not know the operator. Errors as
// OpRegistry::Define.
absl::Status DefineScaledSwish(belay::exir::OpRegistry& ops);

}  // namespace custom_operator

#endif  // SCALED_SWISH_OP_H_
