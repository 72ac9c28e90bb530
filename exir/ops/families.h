// The tables of all families, one function each (families.inc).
#ifndef BELAY_EXIR_OPS_FAMILIES_H_
#define BELAY_EXIR_OPS_FAMILIES_H_

#include "absl/types/span.h"
#include "exir/op/op_def.h"

namespace belay::exir {

#define BELAY_OP_FAMILY(family) absl::Span<const OpDef> family##Ops();
#include "exir/ops/families.inc"
#undef BELAY_OP_FAMILY

}  // namespace belay::exir

#endif  // BELAY_EXIR_OPS_FAMILIES_H_
