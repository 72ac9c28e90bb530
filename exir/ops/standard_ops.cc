#include "exir/ops/standard_ops.h"

#include <utility>
#include <vector>

#include "exir/ops/families.h"
#include "runtime/core/status_macros.h"

namespace belay::exir {

absl::StatusOr<std::unique_ptr<OpRegistry>> CreateStandardOps() {
  std::vector<absl::Span<const OpDef>> tables;
#define BELAY_OP_FAMILY(family) tables.push_back(family##Ops());
#include "exir/ops/families.inc"
#undef BELAY_OP_FAMILY
  ABSL_ASSIGN_OR_RETURN(std::unique_ptr<OpRegistry> ops, OpRegistry::Create(tables));
  ABSL_RETURN_IF_ERROR(AddVariants(*ops));
  return ops;
}

}  // namespace belay::exir
