// Quantizes the weights whose schemes have error feedback.
#ifndef BELAY_EXIR_QUANTIZE_FEEDBACK_WEIGHTS_H_
#define BELAY_EXIR_QUANTIZE_FEEDBACK_WEIGHTS_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "exir/quantize/calibration.h"
#include "exir/quantize/program_quantizer.h"
#include "exir/quantize/stored_weights.h"
#include "runtime/kernel_interface/kernel_registry.h"

namespace belay::exir {

// Bytes of Gram matrices that are accumulated at once. If all need more, the calls are executed
// several times. A single matrix may be larger.
inline constexpr uint64_t kMaxGramBytes = uint64_t{1} << 30;

// Quantizes each weight of an anchor with Scheme::error_feedback once, with the inputs of all such
// anchors that share it, in all programs, and adds it to `encoded`. Weights whose inputs are
// always 0 or not finite are rounded as without feedback. `kernels` may be null if no program has
// such anchors. Deterministic.
//   kInvalidArgument  a program with such anchors has no calibration data, or `kernels` is null
//   errors of RunCalls, MatrixOf and FeedbackFactors, annotated with the method
absl::Status EncodeWithErrorFeedback(absl::Span<const std::unique_ptr<ProgramQuantizer>> programs,
                                     const KernelRegistry* kernels, EncodedWeights& encoded,
                                     CallProgress& progress,
                                     uint64_t max_gram_bytes = kMaxGramBytes);

}  // namespace belay::exir

#endif  // BELAY_EXIR_QUANTIZE_FEEDBACK_WEIGHTS_H_
