#include "exir/quantize/calibration.h"

#include <cstddef>
#include <optional>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "exir/interpreter/interpreter.h"
#include "exir/ir/mapped_pages.h"
#include "runtime/core/annotate.h"
#include "runtime/core/budget.h"
#include "runtime/core/sizes.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"

namespace belay::exir {
namespace {

// Bytes of the program's constants, by the input that names them.
using ConstantBytes = absl::flat_hash_map<ValueId, absl::Span<const std::byte>>;
ConstantBytes BytesOfConstants(const ExportedProgram& program) {
  ConstantBytes bytes;
  const absl::Span<const ValueId> inputs = program.top().inputs();
  for (size_t i = 0; i < inputs.size(); ++i) {
    const ConstantTensor* constant = program.FindConstant(program.signature.inputs[i]);
    if (constant != nullptr) bytes.emplace(inputs[i], constant->storage().bytes);
  }
  return bytes;
}

// Releases the pages of the constants that the node reads, so that the weights of all nodes are
// never in memory together.
void ReleaseConstants(const Node& node, const ConstantBytes& constants) {
  for (const Argument& argument : node.arguments) {
    ForEachValue(argument, [&](ValueId value) {
      if (const auto it = constants.find(value); it != constants.end()) ReleasePages(it->second);
    });
  }
}

// Calls `end` after the calls, unless it is empty.
absl::Status Run(const ExportedProgram& program, const KernelRegistry& kernels,
                 CalibrationData& data, const CallObserver& observer, CallProgress* progress,
                 const std::function<absl::Status(const Interpreter&)>& end) {
  const auto observe = [&](ValueId value, const EValue& result) {
    if (!observer.tensor) return;
    if (const TensorView* view = result.get_if<TensorView>(); view != nullptr) {
      observer.tensor(value, *view);
    }
  };
  const ConstantBytes constants = BytesOfConstants(program);
  InterpreterOptions options;
  options.engine = std::nullopt;
  options.observer = [&](const NodeEvent& event) {
    if (&event.program != &program || event.graph != ExportedProgram::kTop) {
      return absl::OkStatus();
    }
    const Node& node = program.top().node(event.node);
    const std::vector<ValueId> results = node.results();
    for (size_t i = 0; i < results.size(); ++i) observe(results[i], event.results[i]->value());
    ReleaseConstants(node, constants);
    return absl::OkStatus();
  };
  options.threads = data.threads;
  ABSL_ASSIGN_OR_RETURN(Interpreter interpreter, Interpreter::Create(program, kernels, options));
  for (const auto& [name, value] : data.state) {
    ABSL_RETURN_IF_ERROR(interpreter.SetState(name, *value.tensor()));
  }
  const ThreadPool::Lease lease(data.threads);
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
  return end ? end(interpreter) : absl::OkStatus();
}

}  // namespace

absl::Status RunCalls(const ExportedProgram& program, const KernelRegistry& kernels,
                      CalibrationData& data, const CallObserver& observer, CallProgress* progress) {
  return Run(program, kernels, data, observer, progress, nullptr);
}

absl::Status ShareState(absl::Span<const CalibratedProgram> methods, const KernelRegistry& kernels,
                        CallProgress* progress, size_t& failed) {
  std::map<std::string, size_t> last;  // method of each state, of those with data
  for (size_t i = 0; i < methods.size(); ++i) {
    if (methods[i].data == nullptr) continue;
    for (std::string_view name : MutatedState(methods[i].program->signature)) {
      last[std::string(name)] = i;
    }
  }
  std::map<std::string, OwnedValue> state;
  for (size_t i = 0; i < methods.size(); ++i) {
    const auto& [program, data] = methods[i];
    if (data == nullptr) continue;
    failed = i;
    std::vector<std::string> shared;
    for (std::string_view view : MutatedState(program->signature)) {
      const std::string name(view);
      if (const auto it = state.find(name); it != state.end()) data->state.insert(*it);
      if (last[name] != i) shared.push_back(name);
    }
    if (shared.empty()) continue;
    const auto keep = [&](const Interpreter& interpreter) -> absl::Status {
      for (const std::string& name : shared) {
        ABSL_ASSIGN_OR_RETURN(const TensorView value, interpreter.GetState(name));
        ABSL_ASSIGN_OR_RETURN(state[name], OwnedValue::Borrow(value, false).Copy());
      }
      return absl::OkStatus();
    };
    if (progress != nullptr) progress->planned += data->calls();
    ABSL_RETURN_IF_ERROR(Run(*program, kernels, *data, {}, progress, keep));
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
