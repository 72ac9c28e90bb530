// What meta kernels check of their arguments, and how they hand shape formulas over.
#ifndef BELAY_EXIR_OPS_META_CHECKS_H_
#define BELAY_EXIR_OPS_META_CHECKS_H_

#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "exir/op/meta_context.h"
#include "runtime/core/dtype.h"

namespace belay::exir {

using SymDims = absl::Span<const SymInt>;

// Argument `i` as a tensor of one of these dtypes. kInvalidArgument naming it otherwise.
absl::StatusOr<const TensorMeta*> TensorOf(const MetaContext& context, int i, DTypeSet allowed);

// A bool[`n`] argument as bits; bit k stands for element k.
absl::StatusOr<uint32_t> BoolMask(const MetaContext& context, int i, int n);

}  // namespace belay::exir

#endif  // BELAY_EXIR_OPS_META_CHECKS_H_
