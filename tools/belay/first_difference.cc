#include "tools/belay/first_difference.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "conformance/models/compare.h"
#include "exir/interpreter/interpreter.h"
#include "exir/ir/graph_editor.h"
#include "exir/ir/lowered_backend_module.h"
#include "exir/ir/text.h"
#include "exir/pipeline.h"
#include "exir/serialize/serializer.h"
#include "runtime/core/status_macros.h"
#include "runtime/executor/method.h"
#include "runtime/program/program.h"

namespace belay::tools {
namespace {

using exir::ExportedProgram;
using exir::NodeId;
using exir::ValueId;

// Nodes that are looked at together.
constexpr size_t kTogether = 256;

// The program with the nodes' results as its last results.
ExportedProgram Tap(const ExportedProgram& program, absl::Span<const NodeId> nodes,
                    std::vector<NodeId>& node_of_tap) {
  ExportedProgram tapped = program.Clone();
  exir::GraphEditor editor(tapped.top());
  std::vector<exir::Argument> outputs(tapped.top().outputs().begin(), tapped.top().outputs().end());
  for (NodeId node : nodes) {
    for (ValueId value : tapped.top().node(node).results()) {
      if (std::holds_alternative<exir::TokenType>(tapped.top().value(value).type)) continue;
      outputs.emplace_back(value);
      tapped.signature.outputs.push_back({});
      node_of_tap.push_back(node);
    }
  }
  editor.SetOutputs(std::move(outputs));
  return tapped;
}

// Which backend has the node, by its name.
std::string BackendOf(const ExportedProgram& lowered, const std::string& node) {
  for (const auto& module : lowered.lowered_modules) {
    for (const exir::Graph& graph : module->original.graphs) {
      for (NodeId id : graph.nodes()) {
        if (graph.node(id).name == node) return module->backend_id;
      }
    }
  }
  return "";
}

class Search {
 public:
  Search(const ExportedProgram& program,
         const std::function<absl::StatusOr<std::vector<EValue>>()>& inputs, const Engine& engine,
         const Tolerances& tolerances)
      : program_(program), inputs_(inputs), engine_(engine), tolerances_(tolerances) {}

  absl::StatusOr<std::optional<NodeDifference>> Run() {
    const std::vector<NodeId> nodes = program_.top().NodeList();
    for (size_t start = 0; start < nodes.size(); start += kTogether) {
      const auto some = absl::MakeConstSpan(nodes).subspan(start, kTogether);
      ABSL_ASSIGN_OR_RETURN(std::optional<NodeDifference> found, Look(some));
      if (found.has_value()) return found;
    }
    // One at a time. Once a value is wrong, most that are computed from it are.
    std::optional<NodeDifference> first;
    size_t low = 0, high = nodes.size();
    while (low < high) {
      const size_t middle = low + (high - low) / 2;
      ABSL_ASSIGN_OR_RETURN(std::optional<NodeDifference> found,
                            Look(absl::MakeConstSpan(nodes).subspan(middle, 1)));
      if (found.has_value()) {
        first = std::move(found);
        first->alone = true;
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return first;
  }

 private:
  absl::StatusOr<std::optional<NodeDifference>> Look(absl::Span<const NodeId> nodes) {
    std::vector<NodeId> node_of_tap;
    const ExportedProgram tapped = Tap(program_, nodes, node_of_tap);

    ABSL_ASSIGN_OR_RETURN(exir::Interpreter interpreter,
                          exir::Interpreter::Create(tapped, *engine_.reference));
    ABSL_ASSIGN_OR_RETURN(const std::vector<EValue> given, inputs_());
    ABSL_ASSIGN_OR_RETURN(const std::vector<exir::OwnedValue> expected, interpreter.Run(given));

    exir::MethodPrograms methods;
    methods.emplace_back("forward", tapped.Clone());
    // Who computes what, once all rounds are done.
    ExportedProgram lowered(nullptr);
    exir::PipelineOptions pipeline;
    pipeline.partitioners = engine_.partitioners;
    pipeline.backends = engine_.aot;
    pipeline.unbounded_size = engine_.unbounded_size;
    pipeline.passes = {{"keep_lowered", [&](ExportedProgram& program) -> absl::StatusOr<bool> {
                          lowered = program.Clone();
                          return false;
                        }}};
    ABSL_ASSIGN_OR_RETURN(const exir::ProgramImage image,
                          exir::LowerPrograms(std::move(methods), pipeline));
    ABSL_ASSIGN_OR_RETURN(const exir::SerializedProgram serialized, exir::SerializeProgram(image));
    const auto bytes = std::make_shared<const std::string>(serialized.ToString());
    ABSL_ASSIGN_OR_RETURN(
        const Program file,
        Program::OpenBytes(
            bytes,
            absl::MakeConstSpan(reinterpret_cast<const std::byte*>(bytes->data()), bytes->size()),
            Program::Options()));
    ABSL_ASSIGN_OR_RETURN(Method method,
                          Method::Load(file, "forward", *engine_.kernels, *engine_.runtime));
    ABSL_ASSIGN_OR_RETURN(const std::vector<EValue> inputs, inputs_());
    for (size_t i = 0; i < inputs.size() && i < method.num_inputs(); ++i) {
      ABSL_RETURN_IF_ERROR(method.SetInput(i, inputs[i]));
    }
    ABSL_RETURN_IF_ERROR(method.Execute());

    const size_t taps = node_of_tap.size();
    if (expected.size() != method.num_outputs() || expected.size() < taps) {
      return absl::InternalError("the program lost results when it was lowered");
    }
    const size_t first = expected.size() - taps;
    for (size_t k = 0; k < taps; ++k) {
      const absl::Status status =
          CompareValues(expected[first + k].value(), method.GetOutput(first + k), tolerances_);
      if (status.ok()) continue;
      const exir::Graph& graph = program_.top();
      return std::optional<NodeDifference>(
          {.node = exir::DescribeNode(graph, node_of_tap[k]),
           .backend = BackendOf(lowered, graph.node(node_of_tap[k]).name),
           .difference = std::string(status.message())});
    }
    return std::optional<NodeDifference>();
  }

  const ExportedProgram& program_;
  const std::function<absl::StatusOr<std::vector<EValue>>()>& inputs_;
  const Engine& engine_;
  const Tolerances& tolerances_;
};

}  // namespace

absl::Status CompareValues(const EValue& want, const EValue& got, const Tolerances& tolerances) {
  const TensorView* expected = want.get_if<TensorView>();
  const TensorView* came = got.get_if<TensorView>();
  if (expected != nullptr && came != nullptr) {
    Tolerances t = tolerances;
    const auto at_least = [&](double precision) {
      t.rtol = std::max(t.rtol, precision);
      t.atol = std::max(t.atol, precision);
    };
    if (expected->dtype == DType::kFloat16) at_least(2e-3);
    if (expected->dtype == DType::kBFloat16) at_least(2e-2);
    return conformance::CompareTensors(*expected, *came, t.atol, t.rtol);
  }
  const double* number = want.get_if<double>();
  const double* other = got.get_if<double>();
  if (number != nullptr && other != nullptr) {  // rounded as tensors are
    double a = *number, b = *other;
    return conformance::CompareTensors(TensorView::Contiguous(DType::kFloat64, {}, &a),
                                       TensorView::Contiguous(DType::kFloat64, {}, &b),
                                       tolerances.atol, tolerances.rtol);
  }
  const auto same = [](const auto* a, const auto* b) { return a != nullptr && b && *a == *b; };
  if ((want.is_none() && got.is_none()) || same(want.get_if<int64_t>(), got.get_if<int64_t>()) ||
      same(want.get_if<bool>(), got.get_if<bool>()) ||
      same(want.get_if<std::string_view>(), got.get_if<std::string_view>())) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      absl::StrCat("expected ", want.KindName(), ", got another ", got.KindName()));
}

absl::StatusOr<std::optional<NodeDifference>> FindFirstDifference(
    const ExportedProgram& program,
    const std::function<absl::StatusOr<std::vector<EValue>>()>& inputs, const Engine& engine,
    const Tolerances& tolerances) {
  return Search(program, inputs, engine, tolerances).Run();
}

}  // namespace belay::tools
