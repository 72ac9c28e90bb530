// Operators without kernels, which are decomposed. Declares only their schemas.

#include "exir/ops/families.h"

namespace belay::exir {
namespace {

constexpr OpDef kOps[] = {
#define BELAY_SCHEMA(text) {.schema = text, .traits = kComposite},
#define BELAY_SCHEMA_OF(text, more) {.schema = text, .traits = kComposite | (more)},
#include "exir/ops/composite.inc"
#undef BELAY_SCHEMA_OF
#undef BELAY_SCHEMA
};

}  // namespace

absl::Span<const OpDef> CompositeOps() { return kOps; }

}  // namespace belay::exir
