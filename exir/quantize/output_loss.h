// Loss of a quantized program: its outputs over calibration data, compared with those of float32.
#ifndef BELAY_EXIR_QUANTIZE_OUTPUT_LOSS_H_
#define BELAY_EXIR_QUANTIZE_OUTPUT_LOSS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "exir/interpreter/owned_value.h"
#include "exir/ir/exported_program.h"
#include "exir/quantize/calibration.h"
#include "exir/quantize/loss.h"
#include "runtime/kernel_interface/kernel_registry.h"

namespace belay::exir {

// Bound of the loss of each floating-point output.
struct MaxLoss {
  LossMetric metric = LossMetric::kSnr;
  double bound = 0;  // least SNR or cosine; largest MSE

  bool Holds(double value) const {
    return metric == LossMetric::kMse ? value <= bound : value >= bound;
  }
  // Whether `a` is a larger loss than `b`.
  bool IsWorse(double a, double b) const { return metric == LossMetric::kMse ? a > b : a < b; }
  // "snr >= 30", "mse <= 0.001".
  std::string ToString() const;
};
// Parses METRIC=VALUE: "snr=30", "cosine=0.999", "mse=1e-4". kInvalidArgument: another format or
// metric; a value that is not finite, a cosine above 1, a negative MSE.
absl::StatusOr<MaxLoss> ParseMaxLoss(std::string_view text);

// Floating-point outputs of the float32 program for each call.
class ReferenceOutputs {
 public:
  static constexpr uint64_t kMaxBytes = uint64_t{1} << 30;

  // Executes the calls and keeps the outputs. All must outlive this. Errors of RunCalls, and
  //   kInvalidArgument    the program has no floating-point output
  //   kResourceExhausted  the outputs of all calls have more than kMaxBytes
  static absl::StatusOr<ReferenceOutputs> Record(const ExportedProgram& program,
                                                 const KernelRegistry& kernels,
                                                 CalibrationData& data, CallProgress* progress);

  // Executes the calls with `quantized` and returns the loss of the worst output. Errors of
  // RunCalls.
  absl::StatusOr<double> LossOf(const ExportedProgram& quantized, const MaxLoss& metric,
                                CallProgress* progress) const;

 private:
  ReferenceOutputs(const KernelRegistry& kernels, CalibrationData& data)
      : kernels_(&kernels), data_(&data) {}

  const KernelRegistry* kernels_;
  CalibrationData* data_;
  std::vector<std::vector<OwnedValue>> outputs_;  // by call
};

}  // namespace belay::exir

#endif  // BELAY_EXIR_QUANTIZE_OUTPUT_LOSS_H_
