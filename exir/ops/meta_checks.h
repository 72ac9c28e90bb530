// Common argument checks of meta kernels, and adapters for shape formulas.
#ifndef BELAY_EXIR_OPS_META_CHECKS_H_
#define BELAY_EXIR_OPS_META_CHECKS_H_

#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "exir/op_definition/meta_context.h"
#include "runtime/core/dtype.h"

namespace belay::exir {

using SymDims = absl::Span<const SymInt>;

// Returns argument `i` as a tensor of one of these dtypes; otherwise kInvalidArgument naming it.
absl::StatusOr<const TensorMeta*> TensorOf(const MetaContext& context, int i, DTypeSet allowed);

// Returns a bool[`n`] argument as bits; bit k is element k.
absl::StatusOr<uint32_t> BoolMask(const MetaContext& context, int i, int n);

}  // namespace belay::exir

#endif  // BELAY_EXIR_OPS_META_CHECKS_H_
