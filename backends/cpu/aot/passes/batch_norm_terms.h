#ifndef BELAY_BACKENDS_CPU_AOT_PASSES_BATCH_NORM_TERMS_H_
#define BELAY_BACKENDS_CPU_AOT_PASSES_BATCH_NORM_TERMS_H_

#include <cstddef>
#include <optional>
#include <vector>

#include "backends/cpu/aot/constant_view.h"
#include "exir/ir/graph.h"

namespace belay::cpu {

// A batch norm as x * factor + shift per channel, with
//   factor = scale / sqrt(var + eps)    shift = bias - mean * factor
struct BatchNormTerms {
  ConstantView named_after;  // the mean
  std::vector<double> factor, shift;
};

// Returns the terms of a call of _native_batch_norm_legit_no_training over `channels` channels. nullopt
// if an operand is not constant, a term is not finite as float32, or |mean| exceeds 16 standard
// deviations: x * factor and shift would cancel out.
std::optional<BatchNormTerms> FindBatchNormTerms(const exir::Node& node, size_t channels,
                                                 const ConstantViews& views);

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_PASSES_BATCH_NORM_TERMS_H_
