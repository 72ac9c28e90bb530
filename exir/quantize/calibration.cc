#include "exir/quantize/calibration.h"

#include <cstddef>
#include <optional>
#include <string_view>

#include "exir/interpreter/interpreter.h"
#include "runtime/core/annotate.h"
#include "runtime/core/budget.h"
#include "runtime/core/sizes.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"

namespace belay::exir {

absl::Status RunCalls(const ExportedProgram& program, const KernelRegistry& kernels,
                      CalibrationData& data, const CallObserver& observer, CallProgress* progress) {
  const auto observe = [&](ValueId value, const EValue& result) {
    if (const TensorView* view = result.get_if<TensorView>(); view != nullptr) {
      observer.tensor(value, *view);
    }
  };
  InterpreterOptions options;
  options.engine = std::nullopt;
  if (observer.tensor) {
    options.observer = [&](const NodeEvent& event) {
      if (&event.program != &program || event.graph != ExportedProgram::kTop) {
        return absl::OkStatus();
      }
      const std::vector<ValueId> results = program.top().node(event.node).results();
      for (size_t i = 0; i < results.size(); ++i) observe(results[i], event.results[i]->value());
      return absl::OkStatus();
    };
  }
  ABSL_ASSIGN_OR_RETURN(Interpreter interpreter, Interpreter::Create(program, kernels, options));
  for (int call = 0; call < data.calls(); ++call) {
    const auto run = [&]() -> absl::Status {
      ABSL_ASSIGN_OR_RETURN(const absl::Span<const EValue> inputs, data.Inputs(call));
      size_t next = 0;
      const Graph& graph = program.top();
      for (size_t i = 0; observer.tensor && i < graph.inputs().size() && next < inputs.size();
           ++i) {
        if (!IsProvidedByCaller(program.signature.inputs[i].kind)) continue;
        observe(graph.inputs()[i], inputs[next++]);
      }
      ABSL_ASSIGN_OR_RETURN(const std::vector<OwnedValue> outputs, interpreter.Run(inputs));
      return observer.outputs ? observer.outputs(call, outputs) : absl::OkStatus();
    };
    if (const absl::Status status = run(); !status.ok()) {
      const std::string name = data.Name(call);
      const bool is_named = FromAbsl(status.message()).find(name) != std::string_view::npos;
      return is_named ? status : Annotate(status, name);
    }
    if (progress != nullptr) progress->Count();
    ABSL_RETURN_IF_ERROR(CheckBudget());
  }
  return absl::OkStatus();
}

absl::Span<const float> ElementsOf(const TensorView& view, std::vector<float>& copy) {
  const auto count = static_cast<size_t>(view.numel());
  if (IsDense(view.sizes, view.strides)) return absl::MakeConstSpan(view.as<float>(), count);
  copy.clear();
  for (StridedIterator<1> it(view.sizes, {view.strides}); !it.done(); it.Next()) {
    copy.push_back(view.as<float>()[it.offset(0)]);
  }
  return copy;
}

}  // namespace belay::exir
