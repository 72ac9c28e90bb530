#include "exir/quantize/mixed_precision.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <utility>

#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"

namespace belay::exir {
namespace {

struct Group {
  size_t index;  // in execution order
  const Anchor* first;
  std::vector<std::pair<size_t, NodeId>> anchors;  // and their programs
  double loss = 0;                                 // with only this group quantized

  bool IsIn(size_t program) const {
    return std::any_of(anchors.begin(), anchors.end(),
                       [&](const auto& anchor) { return anchor.first == program; });
  }
};

class Search {
 public:
  Search(absl::Span<const std::unique_ptr<ProgramQuantizer>> programs, const MaxLoss& max_loss,
         const KernelRegistry& kernels, CallProgress& progress)
      : programs_(programs),
        max_loss_(max_loss),
        kernels_(kernels),
        progress_(progress),
        references_(programs.size()) {
    for (size_t i = 0; i < programs.size(); ++i) {
      for (const Anchor& anchor : programs[i]->anchors()) {
        if (anchor.reason.empty()) Add(i, anchor);
      }
      const auto has_anchors = [&](const Group& group) { return group.IsIn(i); };
      if (std::any_of(groups_.begin(), groups_.end(), has_anchors)) measured_.push_back(i);
    }
  }

  absl::StatusOr<MixedPrecision> Run() {
    ABSL_RETURN_IF_ERROR(Prepare());
    const std::vector<KeptAnchors> none(programs_.size());
    ABSL_ASSIGN_OR_RETURN(std::vector<std::optional<double>> losses, LossesOf(none));
    MixedPrecision result{none, {}};
    for (const std::optional<double>& loss : losses) {
      result.losses.push_back({.metric = max_loss_.metric, .all_quantized = loss, .loss = loss});
    }
    if (Hold(losses)) return result;
    ABSL_RETURN_IF_ERROR(MeasureGroups());
    std::sort(groups_.begin(), groups_.end(), [&](const Group& a, const Group& b) {
      return a.loss == b.loss ? a.index < b.index : max_loss_.IsWorse(a.loss, b.loss);
    });
    // The bound does not hold with `low` groups in float32, and holds with `high`. With all groups in
    // float32 all outputs are equal.
    size_t low = 0, high = groups_.size();
    for (std::optional<double>& loss : losses) {
      if (loss.has_value()) loss = LossSums().Value(max_loss_.metric);
    }
    while (high - low > 1) {
      const size_t middle = low + (high - low) / 2;
      ABSL_ASSIGN_OR_RETURN(std::vector<std::optional<double>> measured, LossesOf(Kept(middle)));
      if (Hold(measured)) {
        high = middle;
        losses = std::move(measured);
      } else {
        low = middle;
      }
    }
    result.kept = Kept(high);
    for (size_t i = 0; i < programs_.size(); ++i) result.losses[i].loss = losses[i];
    for (const Group& group : groups_) {
      for (const auto& [program, node] : group.anchors) {
        result.losses[program].individual.emplace(
            programs_[program]->program().top().node(node).name, group.loss);
      }
    }
    return result;
  }

 private:
  void Add(size_t program, const Anchor& anchor) {
    auto it = std::find_if(groups_.begin(), groups_.end(),
                           [&](const Group& group) { return IsSameWeight(*group.first, anchor); });
    if (it == groups_.end()) {
      it = groups_.insert(it, {.index = groups_.size(), .first = &anchor, .anchors = {}});
    }
    it->anchors.emplace_back(program, anchor.use.node);
  }

  int64_t CallsOf(size_t program) const { return programs_[program]->calibration()->calls(); }

  // Observes the statistics of the whole programs and of each group, and records the reference
  // outputs.
  absl::Status Prepare() {
    for (size_t i : measured_) {
      if (programs_[i]->calibration() == nullptr) {
        return programs_[i]->Annotated(
            absl::InvalidArgumentError("measuring the loss needs calibration data"));
      }
      ABSL_RETURN_IF_ERROR(programs_[i]->Annotated(programs_[i]->Plan({})));
    }
    for (const Group& group : groups_) {
      const std::vector<KeptAnchors> others = AllExcept(group);
      for (size_t i : measured_) {
        if (!group.IsIn(i)) continue;
        ABSL_RETURN_IF_ERROR(programs_[i]->Annotated(programs_[i]->Plan(others[i])));
      }
    }
    for (size_t i : measured_) {
      const auto groups = std::count_if(groups_.begin(), groups_.end(),
                                        [&](const Group& group) { return group.IsIn(i); });
      const int64_t runs = (programs_[i]->is_pending() ? 1 : 0) + 2 + groups +
                           std::bit_width(static_cast<uint64_t>(groups_.size()));
      progress_.planned += runs * CallsOf(i);
    }
    for (size_t i : measured_) {
      ABSL_RETURN_IF_ERROR(programs_[i]->Annotated(programs_[i]->Observe(&progress_)));
      auto reference = ReferenceOutputs::Record(programs_[i]->program(), kernels_,
                                                *programs_[i]->calibration(), &progress_);
      if (!reference.ok()) return programs_[i]->Annotated(reference.status());
      references_[i] = *std::move(reference);
    }
    return absl::OkStatus();
  }

  // Returns the loss of a program with `kept` in float32.
  absl::StatusOr<double> LossOf(size_t program, const KeptAnchors& kept) {
    ProgramQuantizer& quantizer = *programs_[program];
    const auto measure = [&]() -> absl::StatusOr<double> {
      ABSL_RETURN_IF_ERROR(quantizer.Plan(kept));
      if (quantizer.is_pending()) progress_.planned += CallsOf(program);
      ABSL_RETURN_IF_ERROR(quantizer.Observe(&progress_));
      ABSL_ASSIGN_OR_RETURN(const QuantizeResult quantized, quantizer.Quantize(kept));
      return references_[program]->LossOf(quantized.program, max_loss_, &progress_);
    };
    const absl::StatusOr<double> loss = measure();
    return loss.ok() ? loss : quantizer.Annotated(loss.status());
  }

  // Returns the loss of each program; nullopt for programs without anchors.
  absl::StatusOr<std::vector<std::optional<double>>> LossesOf(
      const std::vector<KeptAnchors>& kept) {
    std::vector<std::optional<double>> losses(programs_.size());
    for (size_t i : measured_) {
      ABSL_ASSIGN_OR_RETURN(losses[i], LossOf(i, kept[i]));
    }
    return losses;
  }

  bool Hold(const std::vector<std::optional<double>>& losses) const {
    return std::all_of(losses.begin(), losses.end(), [&](const std::optional<double>& loss) {
      return !loss.has_value() || max_loss_.Holds(*loss);
    });
  }

  absl::Status MeasureGroups() {
    for (Group& group : groups_) {
      const std::vector<KeptAnchors> others = AllExcept(group);
      std::optional<double> worst;
      for (size_t i : measured_) {
        if (!group.IsIn(i)) continue;
        ABSL_ASSIGN_OR_RETURN(const double loss, LossOf(i, others[i]));
        if (!worst.has_value() || max_loss_.IsWorse(loss, *worst)) worst = loss;
      }
      group.loss = *worst;
    }
    return absl::OkStatus();
  }

  std::vector<KeptAnchors> AllExcept(const Group& quantized) const {
    std::vector<KeptAnchors> kept(programs_.size());
    for (const Group& group : groups_) {
      if (&group == &quantized) continue;
      for (const auto& [program, node] : group.anchors) kept[program].emplace(node, "");
    }
    return kept;
  }
  // The first `count` groups.
  std::vector<KeptAnchors> Kept(size_t count) const {
    std::vector<KeptAnchors> kept(programs_.size());
    for (size_t g = 0; g < count; ++g) {
      for (const auto& [program, node] : groups_[g].anchors) {
        kept[program].emplace(node,
                              absl::StrCat("kept in float32 for ", max_loss_.ToString(),
                                           ": quantizing only this weight gives ",
                                           LossMetricName(max_loss_.metric), " ", groups_[g].loss));
      }
    }
    return kept;
  }

  absl::Span<const std::unique_ptr<ProgramQuantizer>> programs_;
  const MaxLoss& max_loss_;
  const KernelRegistry& kernels_;
  CallProgress& progress_;
  std::vector<size_t> measured_;                             // programs with groups
  std::vector<std::optional<ReferenceOutputs>> references_;  // by program
  std::vector<Group> groups_;                                // in execution order, until sorted
};

}  // namespace

absl::StatusOr<MixedPrecision> ChooseMixedPrecision(
    absl::Span<const std::unique_ptr<ProgramQuantizer>> programs, const MaxLoss& max_loss,
    const KernelRegistry& kernels, CallProgress& progress) {
  return Search(programs, max_loss, kernels, progress).Run();
}

}  // namespace belay::exir
