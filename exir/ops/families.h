// The tables of all families, one function each (families.inc).
#ifndef BELAY_EXIR_OPS_FAMILIES_H_
#define BELAY_EXIR_OPS_FAMILIES_H_

#include "absl/types/span.h"
#include "exir/op_definition/op_def.h"
#include "exir/op_definition/op_registry.h"

namespace belay::exir {

#define BELAY_OP_FAMILY(family) absl::Span<const OpDef> family##Ops();
#include "exir/ops/families.inc"
#undef BELAY_OP_FAMILY

// Defines the in-place and out variants that are derived from operators of the families
// (variants.cc). Errors as OpRegistry::Lookup, DeriveVariant and OpRegistry::Define.
absl::Status AddVariants(OpRegistry& ops);

}  // namespace belay::exir

#endif  // BELAY_EXIR_OPS_FAMILIES_H_
