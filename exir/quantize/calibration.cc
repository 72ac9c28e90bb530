#include "exir/quantize/calibration.h"

#include <optional>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "exir/interpreter/interpreter.h"
#include "exir/quantize/observer.h"
#include "runtime/core/annotate.h"
#include "runtime/core/budget.h"
#include "runtime/core/sizes.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/core/tensor_view.h"

namespace belay::exir {
namespace {

class Observers {
 public:
  Observers(const Placement& placement, const Recipe& recipe)
      : observers_(placement.groups, Observer(recipe.observer, recipe.percentile)) {
    for (const QuantizedActivation& activation : placement.activations) {
      groups_.emplace(activation.value, activation.group);
    }
  }

  void Observe(ValueId value, const EValue& tensor) {
    const auto it = groups_.find(value);
    const TensorView* view = tensor.get_if<TensorView>();
    if (it == groups_.end() || view == nullptr || view->dtype != DType::kFloat32) return;
    observers_[it->second].Observe(Elements(*view));
  }

  std::vector<std::pair<float, float>> Ranges() const {
    std::vector<std::pair<float, float>> ranges;
    for (const Observer& observer : observers_) {
      ranges.push_back(observer.Range().value_or(std::pair(0.0F, 0.0F)));
    }
    return ranges;
  }

 private:
  // Returns the elements in any order.
  absl::Span<const float> Elements(const TensorView& view) {
    const auto count = static_cast<size_t>(view.numel());
    if (IsDense(view.sizes, view.strides)) return absl::MakeConstSpan(view.as<float>(), count);
    copy_.clear();
    for (StridedIterator<1> it(view.sizes, {view.strides}); !it.done(); it.Next()) {
      copy_.push_back(view.as<float>()[it.offset(0)]);
    }
    return copy_;
  }

  absl::flat_hash_map<ValueId, size_t> groups_;
  std::vector<Observer> observers_;
  std::vector<float> copy_;
};

}  // namespace

absl::StatusOr<std::vector<std::pair<float, float>>> Calibrate(const ExportedProgram& program,
                                                               const Placement& placement,
                                                               const Recipe& recipe,
                                                               const KernelRegistry& kernels,
                                                               CalibrationData& data) {
  Observers observers(placement, recipe);
  InterpreterOptions options;
  options.engine = std::nullopt;
  options.observer = [&](const NodeEvent& event) {
    if (&event.program != &program || event.graph != ExportedProgram::kTop) {
      return absl::OkStatus();
    }
    const std::vector<ValueId> results = program.top().node(event.node).results();
    for (size_t i = 0; i < results.size(); ++i) {
      observers.Observe(results[i], event.results[i]->value());
    }
    return absl::OkStatus();
  };
  ABSL_ASSIGN_OR_RETURN(Interpreter interpreter, Interpreter::Create(program, kernels, options));
  for (int call = 0; call < data.calls(); ++call) {
    const auto run = [&]() -> absl::Status {
      ABSL_ASSIGN_OR_RETURN(const absl::Span<const EValue> inputs, data.Inputs(call));
      size_t next = 0;
      const Graph& graph = program.top();
      for (size_t i = 0; i < graph.inputs().size() && next < inputs.size(); ++i) {
        if (!IsProvidedByCaller(program.signature.inputs[i].kind)) continue;
        observers.Observe(graph.inputs()[i], inputs[next++]);
      }
      return interpreter.Run(inputs).status();
    };
    if (const absl::Status status = run(); !status.ok()) {
      const std::string name = data.Name(call);
      const bool is_named = FromAbsl(status.message()).find(name) != std::string_view::npos;
      return is_named ? status : Annotate(status, name);
    }
    ABSL_RETURN_IF_ERROR(CheckBudget());
  }
  return observers.Ranges();
}

}  // namespace belay::exir
