// The operators that Belay supports: core ATen, its view copies, dim_order_ops,
// quantized_decomposed, and arithmetic on scalars.
#ifndef BELAY_EXIR_OPS_STANDARD_OPS_H_
#define BELAY_EXIR_OPS_STANDARD_OPS_H_

#include <memory>

#include "absl/status/statusor.h"
#include "exir/op_definition/op_registry.h"

namespace belay::exir {

// Creates a registry of all families. Fails only if a table is invalid (OpRegistry::Create), which
// a test excludes.
absl::StatusOr<std::unique_ptr<OpRegistry>> CreateStandardOps();

}  // namespace belay::exir

#endif  // BELAY_EXIR_OPS_STANDARD_OPS_H_
