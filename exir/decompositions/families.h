// Decomposition tables of all families, one function each (families.inc).
#ifndef BELAY_EXIR_DECOMPOSITIONS_FAMILIES_H_
#define BELAY_EXIR_DECOMPOSITIONS_FAMILIES_H_

#include "absl/types/span.h"
#include "exir/builder/decomposition_table.h"

namespace belay::exir {

#define BELAY_DECOMPOSITION_FAMILY(family) absl::Span<const Decomposition> family##Decompositions();
#include "exir/decompositions/families.inc"
#undef BELAY_DECOMPOSITION_FAMILY

}  // namespace belay::exir

#endif  // BELAY_EXIR_DECOMPOSITIONS_FAMILIES_H_
