// Quantizes one program, repeatedly with different operators in float32. Internal to
// exir/quantize/quantize_program.h.
#ifndef BELAY_EXIR_QUANTIZE_PROGRAM_QUANTIZER_H_
#define BELAY_EXIR_QUANTIZE_PROGRAM_QUANTIZER_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "exir/ir/exported_program.h"
#include "exir/quantize/activation_statistics.h"
#include "exir/quantize/calibration.h"
#include "exir/quantize/channel_sites.h"
#include "exir/quantize/placement.h"
#include "exir/quantize/quantized_program.h"
#include "exir/quantize/recipe.h"
#include "exir/quantize/stored_weights.h"
#include "exir/quantize/weight_uses.h"

namespace belay::exir {

// An operator that the recipe quantizes.
struct Anchor {
  WeightUse use;
  Scheme scheme;
  ConstantTensor weight;
  std::string weight_name;  // fully qualified
  std::string reason;       // why it stays in float32; "" if it can be quantized

  bool is_static() const { return scheme.activation == ActivationNumbers::kStaticInt8; }
};

// Whether both are the same weight: the same tensor, or equal bytes under the same name. Merged
// batch norms give each method a copy.
bool IsSameWeight(const Anchor& a, const Anchor& b);

// Anchors that stay in float32, each with the reason.
using KeptAnchors = std::map<NodeId, std::string>;

// Not thread-safe.
class ProgramQuantizer {
 public:
  // Copies the program, and merges its batch norms if the recipe is static. `recipe`, `encoded`,
  // `kernels` and the calibration data must outlive the result. `kernels` may be null if there are
  // no data. `changing` names tensors that are not constant.
  //   kFailedPrecondition  the program is not an edge program
  //   errors of MatrixOf
  // Annotated with the method.
  static absl::StatusOr<std::unique_ptr<ProgramQuantizer>> Create(
      const ProgramToQuantize& from, const Recipe& recipe, const KernelRegistry* kernels,
      const absl::btree_set<std::string>& changing, EncodedWeights& encoded);
  ProgramQuantizer(const ProgramQuantizer&) = delete;
  ProgramQuantizer& operator=(const ProgramQuantizer&) = delete;

  // Returns the error with the method's name.
  absl::Status Annotated(const absl::Status& status) const;
  // The program in float32.
  const ExportedProgram& program() const { return program_; }
  // In execution order. NodeIds are those of program().
  const std::vector<Anchor>& anchors() const { return anchors_; }
  const absl::btree_set<std::string>& changing() const { return changing_; }
  // Scales channels (exir/quantize/channel_sites.h), and finds the anchors again. Precondition:
  // nothing is planned. Errors of exir::ScaleChannels and MatrixOf.
  absl::Status ScaleChannels(absl::Span<const ChannelSite> sites,
                             absl::Span<const std::vector<float>> scales, ScaledConstants& cache);
  // nullptr without calibration data.
  CalibrationData* calibration() const { return calibration_; }

  // Plans the statistics that Quantize(kept) needs.
  //   kInvalidArgument  statistics are needed, and calibration data or kernels are missing
  absl::Status Plan(const KeptAnchors& kept);
  // Whether Observe has to execute the calls.
  bool is_pending() const { return statistics_ != nullptr && statistics_->is_pending(); }
  // Errors of RunCalls.
  absl::Status Observe(CallProgress* progress);

  // Quantizes all anchors that can be quantized, except `kept`. Precondition: what Plan(kept)
  // planned is observed.
  absl::StatusOr<QuantizeResult> Quantize(const KeptAnchors& kept) const;

 private:
  ProgramQuantizer(const ProgramToQuantize& from, const Recipe& recipe,
                   const absl::btree_set<std::string>& changing, EncodedWeights& encoded)
      : method_(from.method),
        program_(from.program->Clone()),
        recipe_(recipe),
        changing_(changing),
        encoded_(encoded),
        patterns_(from.patterns),
        calibration_(from.calibration) {}

  // Merges batch norms if the recipe is static, and finds the anchors. Errors as Create.
  absl::Status FindAnchors();

  // Returns the placement of the static anchors; nullopt without static anchors.
  std::optional<Placement> PlacementOf(const KeptAnchors& kept) const;

  std::string method_;
  ExportedProgram program_;
  const Recipe& recipe_;
  absl::btree_set<std::string> changing_;
  EncodedWeights& encoded_;
  QuantizationPatterns patterns_;
  CalibrationData* calibration_;
  std::vector<Anchor> anchors_;
  std::vector<WeightRejection> rejections_;
  std::vector<std::string> notes_;
  std::unique_ptr<ActivationStatistics> statistics_;
};

}  // namespace belay::exir

#endif  // BELAY_EXIR_QUANTIZE_PROGRAM_QUANTIZER_H_
