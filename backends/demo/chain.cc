#include "backends/demo/chain.h"

#include <algorithm>
#include <deque>

#include "exir/ir/text.h"
#include "runtime/core/status_macros.h"

namespace belay::demo {
namespace {

using exir::Graph;
using exir::Node;
using exir::NodeId;
using exir::ValueId;

bool IsContiguousF32(const Graph& graph, ValueId value) {
  const exir::TensorMeta* meta = graph.value(value).tensor();
  return meta != nullptr && meta->dtype == DType::kFloat32 && meta->is_static() &&
         meta->layout == exir::Layout::kStrided && meta->is_contiguous();
}

// Whether the arguments from `first` on have their default values.
bool OthersAreDefault(const Node& node, size_t first) {
  for (size_t i = first; i < node.arguments.size(); ++i) {
    if (!(node.arguments[i] == exir::DefaultArgument(node.target->schema()->arguments[i]))) {
      return false;
    }
  }
  return true;
}

// Whether the operator has a second tensor operand.
bool IsBinary(const exir::OpOverload& op) {
  const auto& arguments = op.schema()->arguments;
  return arguments.size() > 1 && arguments[1].type == arguments[0].type;
}

}  // namespace

absl::StatusOr<Chain> ReadChain(const exir::ExportedProgram& program,
                                absl::Span<const std::string_view> ops,
                                std::string_view backend_id) {
  const Graph& graph = program.top();
  const auto unsupported = [&](NodeId node) {
    return absl::UnimplementedError(absl::StrCat("call_function ", graph.node(node).target->name(),
                                                 " is not supported in backend ", backend_id, ": ",
                                                 exir::DescribeNode(graph, node)));
  };
  const auto no_chain = [&](std::string_view why) {
    return absl::UnimplementedError(absl::StrCat(
        "backend ", backend_id, " supports only chains from the inputs to one output: ", why));
  };
  Chain chain;
  std::deque<ValueId> operands;  // not used yet
  std::vector<ValueId> user_inputs;
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    const ValueId input = graph.inputs()[i];
    if (!IsContiguousF32(graph, input)) {
      return no_chain(absl::StrCat("input %", graph.value(input).name,
                                   " is not a static contiguous f32 tensor"));
    }
    if (exir::NamesTensor(program.signature.inputs[i].kind)) {
      chain.constants.push_back(input);
    } else {
      user_inputs.push_back(input);
    }
  }
  if (user_inputs.empty()) return no_chain("it has no user inputs");
  operands.insert(operands.end(), chain.constants.begin(), chain.constants.end());
  operands.insert(operands.end(), user_inputs.begin() + 1, user_inputs.end());
  ValueId value = user_inputs[0];
  const auto is_value = [](const exir::Argument& argument, ValueId expected) {
    const ValueId* id = argument.get_if<ValueId>();
    return id != nullptr && *id == expected;
  };
  for (NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    if (std::find(ops.begin(), ops.end(), node.target->name()) == ops.end()) {
      return unsupported(id);
    }
    if (!is_value(node.arguments[0], value)) return unsupported(id);
    size_t used = 1;
    if (IsBinary(*node.target)) {
      if (operands.empty() || !is_value(node.arguments[1], operands.front())) {
        return unsupported(id);
      }
      operands.pop_front();
      used = 2;
    }
    if (!OthersAreDefault(node, used)) return unsupported(id);
    value = node.results()[0];
    if (!IsContiguousF32(graph, value)) return unsupported(id);
    chain.nodes.push_back(id);
  }
  if (!operands.empty()) {
    return no_chain(absl::StrCat("input %", graph.value(operands.front()).name, " is unused"));
  }
  if (graph.outputs().size() != 1 || !is_value(graph.outputs()[0], value)) {
    return no_chain("its output is not the last node's result");
  }
  if (program.signature.outputs[0].kind != exir::OutputKind::kUserOutput) {
    return no_chain(
        absl::StrCat("its output is a ", exir::OutputKindName(program.signature.outputs[0].kind)));
  }
  return chain;
}

exir::Storage StringStorage(std::string_view text) {
  const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
  return exir::Storage::Own({bytes, bytes + text.size()});
}

}  // namespace belay::demo
