// Statistics of the activations of a program over its calibration data.
#ifndef BELAY_EXIR_QUANTIZE_ACTIVATION_STATISTICS_H_
#define BELAY_EXIR_QUANTIZE_ACTIVATION_STATISTICS_H_

#include <compare>
#include <map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "exir/ir/exported_program.h"
#include "exir/quantize/affine.h"
#include "exir/quantize/calibration.h"
#include "exir/quantize/column_means.h"
#include "exir/quantize/distribution.h"
#include "exir/quantize/observer.h"
#include "exir/quantize/placement.h"
#include "exir/quantize/recipe.h"
#include "runtime/kernel_interface/kernel_registry.h"

namespace belay::exir {

// Each statistic is observed once, whatever the number of placements that need it. Not thread-safe.
class ActivationStatistics {
 public:
  // Distinct values with common parameters, sorted, and QuantizedActivation::table.
  struct Group {
    std::vector<ValueId> values;
    std::vector<NodeId> table;
    auto operator<=>(const Group&) const = default;
  };

  // All must outlive this, and `program` must not change.
  ActivationStatistics(const ExportedProgram& program, const Recipe& recipe,
                       const KernelRegistry& kernels, CalibrationData& data)
      : program_(program), recipe_(recipe), kernels_(kernels), data_(data) {}

  // Plans to observe the groups of a placement, and the inputs of the anchors.
  void Plan(const Placement& placement);
  void PlanMeans(const WeightUse& anchor);
  // Whether Observe has to execute the calls.
  bool is_pending() const { return !pending_groups_.empty() || !pending_means_.empty(); }
  int calls() const { return data_.calls(); }
  // Executes the calls once and observes all that is planned; does nothing if nothing is. The range
  // of an activation that only a table uses is that of the table's result. Errors of RunCalls and
  // EvaluateTable.
  absl::Status Observe(CallProgress* progress);

  // Statistics of a group.
  struct Range {
    float low = 0, high = 0;    // the range to quantize; (0, 0) if it has no finite elements
    Distribution distribution;  // Observer::Observed
    QuantizationLoss loss;      // Observer::LossOf
  };
  // Returns the range of each group. Precondition: observed.
  std::vector<Range> RangesOf(const Placement& placement) const;
  // Returns ColumnMeans::Means of the input; empty if its geometry is unknown. Precondition:
  // observed.
  const std::vector<double>& MeansOf(NodeId anchor) const { return means_.at(anchor); }

 private:
  const ExportedProgram& program_;
  const Recipe& recipe_;
  const KernelRegistry& kernels_;
  CalibrationData& data_;
  std::map<Group, Observer> pending_groups_;
  // By anchor, with the anchor's input.
  std::map<NodeId, std::pair<ValueId, ColumnMeans>> pending_means_;
  std::map<Group, Range> ranges_;
  std::map<NodeId, std::vector<double>> means_;
};

}  // namespace belay::exir

#endif  // BELAY_EXIR_QUANTIZE_ACTIVATION_STATISTICS_H_
