#include "exir/ops/standard_ops.h"

#include <vector>

#include "exir/ops/families.h"

namespace belay::exir {

absl::StatusOr<std::unique_ptr<OpRegistry>> CreateStandardOps() {
  std::vector<absl::Span<const OpDef>> tables;
#define BELAY_OP_FAMILY(family) tables.push_back(family##Ops());
#include "exir/ops/families.inc"
#undef BELAY_OP_FAMILY
  return OpRegistry::Create(tables);
}

}  // namespace belay::exir
