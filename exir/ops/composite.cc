// Operators that have no kernel: they decompose into others. Only their schemas are known.

#include "exir/ops/families.h"

namespace belay::exir {
namespace {

constexpr OpDef kOps[] = {
#define BELAY_SCHEMA(text) {.schema = text, .traits = kComposite},
#include "exir/ops/composite.inc"
#undef BELAY_SCHEMA
};

}  // namespace

absl::Span<const OpDef> CompositeOps() { return kOps; }

}  // namespace belay::exir
