// Operators that write their first argument. Only their schemas are known.

#include "exir/ops/families.h"

namespace belay::exir {
namespace {

constexpr OpDef kOps[] = {
#define BELAY_SCHEMA(text) {.schema = text, .traits = 0},
#include "exir/ops/in_place.inc"
#undef BELAY_SCHEMA
};

}  // namespace

absl::Span<const OpDef> InPlaceOps() { return kOps; }

}  // namespace belay::exir
