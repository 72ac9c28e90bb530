// Overloads that write their results to their last arguments. Only their schemas are known.

#include "exir/ops/families.h"

namespace belay::exir {
namespace {

constexpr OpDef kOps[] = {
#define BELAY_SCHEMA(text) {.schema = text, .traits = 0},
#include "exir/ops/out_variant.inc"
#undef BELAY_SCHEMA
};

}  // namespace

absl::Span<const OpDef> OutVariantOps() { return kOps; }

}  // namespace belay::exir
