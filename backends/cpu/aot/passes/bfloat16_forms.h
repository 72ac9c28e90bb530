// Convolutions that operators of bfloat16 support.
#ifndef BELAY_BACKENDS_CPU_AOT_PASSES_BFLOAT16_FORMS_H_
#define BELAY_BACKENDS_CPU_AOT_PASSES_BFLOAT16_FORMS_H_

#include <cstdint>

#include "backends/cpu/aot/constant_view.h"
#include "backends/cpu/bfloat16_calls.h"

namespace belay::cpu {

// Whether bfloat16_conv2d, bfloat16_depthwise_conv2d or bfloat16_convolution supports the channels
// of a convolution with this weight, of rank 4 or 5.
inline bool SupportsBFloat16(const ConstantView& weight, int64_t groups, bool transposed) {
  const int64_t rows = weight.sizes[0].AsInt().value_or(0);
  const int64_t columns = weight.sizes[1].AsInt().value_or(0);
  if (groups < 1 || rows < 1 || columns < 1 || rows % groups != 0) return false;
  if (weight.rank() == 4 && !transposed && groups > 1 && groups == rows && columns == 1)
    return true;
  return transposed ? HasPairsInGroups(groups, true, rows / groups, columns)
                    : HasPairsInGroups(groups, false, columns, rows / groups);
}

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_PASSES_BFLOAT16_FORMS_H_
