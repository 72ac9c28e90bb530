#include "exir/passes/seed_random_ops.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "exir/ir/at_node.h"
#include "exir/ir/constant.h"
#include "exir/ir/graph_editor.h"
#include "exir/passes/constant_input.h"
#include "runtime/core/status_macros.h"

namespace belay::exir {
namespace {

ValueType StateType() { return TensorMeta::Contiguous(DType::kInt64, {2}); }

absl::StatusOr<ConstantTensor> StateOf(int64_t seed) {
  const int64_t state[2] = {seed, 0};
  std::vector<std::byte> bytes(sizeof(state));
  std::memcpy(bytes.data(), state, sizeof(state));
  return ConstantTensor::Contiguous(DType::kInt64, Sizes{2}, Storage::Own(std::move(bytes)));
}

class Seeder {
 public:
  explicit Seeder(ExportedProgram& program) : program_(program) {}

  // Returns the seeded variant of the node's operator; nullptr if it needs no random numbers.
  const OpOverload* SeededOf(const Node& node) const {
    if (!node.target->has_trait(kNondeterministic) || node.target->ns() != "aten") return nullptr;
    const bool* train = node.argument("train").get_if<bool>();
    if (train != nullptr && !*train) return nullptr;
    return program_.ops->Find(
        absl::StrCat("seeded.", node.target->op(), ".", node.target->overload()));
  }

  // Returns whether a node of the graph, or of a nested subgraph, needs random numbers.
  bool NeedsState(const Graph& graph) const {
    for (NodeId id : graph.nodes()) {
      const Node& node = graph.node(id);
      if (SeededOf(node) != nullptr) return true;
      for (const Argument& argument : node.arguments) {
        const GraphId* body = argument.get_if<GraphId>();
        if (body != nullptr && NeedsState(program_.graphs[*body])) return true;
      }
    }
    return false;
  }

  absl::Status Seed(GraphEditor& editor, ValueId state) {
    const Graph& graph = editor.graph();
    for (NodeId id : graph.NodeList()) {
      const Node& node = graph.node(id);
      if (const OpOverload* seeded = SeededOf(node)) {
        std::vector<Argument> arguments = {Argument(state), Argument(count_++)};
        arguments.insert(arguments.end(), node.arguments.begin(), node.arguments.end());
        editor.SetTarget(id, seeded);
        editor.SetArguments(id, std::move(arguments));
        continue;
      }
      ABSL_RETURN_IF_ERROR(SeedSubgraphs(editor, id, state));
    }
    return absl::OkStatus();
  }

  int64_t count() const { return count_; }

 private:
  // Seeds the subgraphs of the node, if any.
  absl::Status SeedSubgraphs(GraphEditor& editor, NodeId id, ValueId state) {
    std::vector<GraphId> bodies;
    for (const Argument& argument : editor.graph().node(id).arguments) {
      if (const GraphId* body = argument.get_if<GraphId>()) bodies.push_back(*body);
    }
    if (std::none_of(bodies.begin(), bodies.end(),
                     [&](GraphId body) { return NeedsState(program_.graphs[body]); })) {
      return absl::OkStatus();
    }
    const Node& node = editor.graph().node(id);
    if (node.target->name() != "higher_order.cond") {
      return AtNode(absl::UnimplementedError(absl::StrCat(
                        "random numbers in the subgraph of ", node.target->name(),
                        " are not supported: draw them before the loop, for all iterations")),
                    editor.graph(), id);
    }
    // Branches without operands may omit the list.
    const size_t position = static_cast<size_t>(*node.target->ArgumentIndex("operands"));
    std::vector<Argument> arguments = node.arguments;
    std::vector<std::string> names = node.argument_names;
    if (arguments.size() <= position) arguments.resize(position + 1, Argument(Argument::List()));
    if (!names.empty()) names.resize(arguments.size());
    Argument::List* operands = arguments[position].get_if<Argument::List>();
    if (operands == nullptr) {
      return AtNode(absl::InvalidArgumentError("expected a list of operands"), editor.graph(), id);
    }
    operands->push_back(Argument(state));
    editor.SetArguments(id, std::move(arguments), std::move(names));
    for (GraphId body : bodies) {
      GraphEditor inner(program_.graphs[body]);
      ABSL_RETURN_IF_ERROR(Seed(inner, inner.AddInput("random_state", StateType())));
    }
    return absl::OkStatus();
  }

  ExportedProgram& program_;
  int64_t count_ = 0;
};

absl::StatusOr<bool> Run(ExportedProgram& program, int64_t seed) {
  Seeder seeder(program);
  if (!seeder.NeedsState(program.top())) return false;
  const std::string name(kRandomState);
  if (program.state_dict.contains(name) || program.constants.contains(name)) {
    return absl::InvalidArgumentError(absl::StrCat("the program has a tensor '", name,
                                                   "', the name of its random numbers' generator"));
  }
  ABSL_ASSIGN_OR_RETURN(ConstantTensor initial, StateOf(seed));
  GraphEditor editor(program.top());
  const ValueId state = InsertConstantInput(program, editor, EndOfConstants(program),
                                            "random_state", name, StateType(), InputKind::kBuffer);
  program.state_dict.emplace(name, std::move(initial));
  ABSL_RETURN_IF_ERROR(seeder.Seed(editor, state));
  const ValueId advanced =
      editor.InsertOp(NodeId(),
                      {.name = "advanced_random_state",
                       .target = program.ops->Find("seeded.advance.default"),
                       .arguments = {Argument(state), Argument(seeder.count())}},
                      StateType());
  // Before the user outputs.
  std::vector<OutputSpec>& specs = program.signature.outputs;
  const auto place = std::find_if(specs.begin(), specs.end(), [](const OutputSpec& spec) {
    return spec.kind != OutputKind::kToken && spec.kind != OutputKind::kBufferMutation;
  });
  std::vector<Argument> outputs(program.top().outputs().begin(), program.top().outputs().end());
  outputs.insert(outputs.begin() + (place - specs.begin()), Argument(advanced));
  specs.insert(place, {.kind = OutputKind::kBufferMutation, .target = name});
  editor.SetOutputs(std::move(outputs));
  return true;
}

}  // namespace

Pass SeedRandomOps(int64_t seed) {
  return {"seed_random_ops", [seed](ExportedProgram& program) { return Run(program, seed); }};
}

}  // namespace belay::exir
