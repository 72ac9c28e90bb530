#include "exir/decompositions/standard_decompositions.h"

#include <vector>

#include "exir/decompositions/families.h"

namespace belay::exir {

const DecompositionTable& StandardDecompositions() {
  static const DecompositionTable& table = *[] {
    std::vector<absl::Span<const Decomposition>> families;
#define BELAY_DECOMPOSITION_FAMILY(family) families.push_back(family##Decompositions());
#include "exir/decompositions/families.inc"
#undef BELAY_DECOMPOSITION_FAMILY
    return new DecompositionTable(families);
  }();
  return table;
}

}  // namespace belay::exir
