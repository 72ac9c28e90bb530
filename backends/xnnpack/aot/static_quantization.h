// Operators that XNNPACK computes on int8.
#ifndef BELAY_BACKENDS_XNNPACK_AOT_STATIC_QUANTIZATION_H_
#define BELAY_BACKENDS_XNNPACK_AOT_STATIC_QUANTIZATION_H_

#include "backends/xnnpack/aot/operation.h"
#include "exir/backend/partitioner.h"

namespace belay::xnnpack {

// Returns Partitioner::StaticQuantization for payloads of this target. Results are quantized: after
// quantization, ComputeOnInt8 (int8_form.h) accepts the nodes, provided that their scales fit.
exir::QuantizationPatterns StaticQuantizationPatterns(Target target);

}  // namespace belay::xnnpack

#endif  // BELAY_BACKENDS_XNNPACK_AOT_STATIC_QUANTIZATION_H_
