#include "conformance/differential/result_closeness.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace belay::conformance {
namespace {

using exir::Argument;
using exir::ExportedProgram;
using exir::Graph;
using exir::GraphId;
using exir::Node;
using exir::NodeId;
using exir::ValueId;

// Discontinuous operators with floating-point operands and results.
constexpr std::string_view kSteps[] = {
    "ceil",
    "copysign",
    "fake_quantize_per_channel_affine_cachemask",
    "fake_quantize_per_tensor_affine_cachemask",
    "fix",
    "floor",
    "floor_divide",
    "fmod",
    "frac",
    "hardshrink",
    "heaviside",
    "histc",
    "nextafter",
    "remainder",
    "round",
    "sgn",
    "sign",
    "special_round",
    "threshold",
    "trunc",
};

// Returns whether the results depend only on the operand's type.
bool ReadsTypesOnly(const exir::OpOverload& op) {
  return op.has_trait(exir::kCreation) || op.op() == "sym_size" || op.op() == "sym_numel" ||
         op.op() == "sym_stride" || op.op() == "sym_storage_offset";
}

bool IsReal(const exir::Value& value) {
  const exir::TensorMeta* meta = value.tensor();
  return meta == nullptr ? std::holds_alternative<exir::SymFloatType>(value.type)
                         : (kFloatTypes | kComplexTypes).contains(meta->dtype);
}

// Properties of a value.
struct Known {
  Agreement all = Agreement::kSameBits;
  Agreement from_outside = Agreement::kSameBits;  // without the contribution of its own operator
  int64_t operation = 0;                          // debug handle of its node; 0: none
};

class Analysis {
 public:
  Analysis(const ExportedProgram& program, NodeAgreement agreement)
      : program_(program), agreement_(agreement) {}

  // In the order of the outputs. `state` is the state before the call.
  std::vector<Agreement> Outputs(const std::map<std::string, Agreement>& state) {
    known_.clear();
    const Graph& graph = program_.top();
    for (size_t i = 0; i < graph.inputs().size(); ++i) {
      const auto it = state.find(program_.signature.inputs[i].target);
      if (it != state.end()) known_[graph.inputs()[i].index()] = {it->second, it->second};
    }
    for (const NodeId id : graph.nodes()) Visit(graph, graph.node(id));
    std::vector<Agreement> outputs;
    for (const Argument& output : graph.outputs()) {
      Agreement worst = Agreement::kSameBits;
      ForEachValue(output, [&](ValueId id) { worst = std::max(worst, known_[id.index()].all); });
      outputs.push_back(worst);
    }
    return outputs;
  }

 private:
  void Visit(const Graph& graph, const Node& node) {
    if (ReadsTypesOnly(*node.target)) return;
    Known result{.operation = node.debug_handle};
    bool has_bodies = false;
    Agreement own = agreement_(graph, node);
    for (const Argument& argument : node.arguments) {
      ForEachValue(argument, [&](ValueId id) {
        const Known& operand = known_[id.index()];
        const bool same = node.debug_handle != 0 && operand.operation == node.debug_handle;
        result.all = std::max(result.all, operand.all);
        result.from_outside =
            std::max(result.from_outside, same ? operand.from_outside : operand.all);
      });
      ForEachGraph(argument, [&](GraphId body) {
        has_bodies = true;
        own = std::max(own, OfBody(body));
      });
    }
    if (has_bodies) result.from_outside = std::max(result.from_outside, own);
    if (result.from_outside == Agreement::kClose && (has_bodies || IsStep(graph, node))) {
      result.from_outside = Agreement::kAny;
    }
    result.all = std::max({result.all, result.from_outside, own});
    for (const ValueId id : node.results()) known_[id.index()] = result;
  }

  Agreement OfBody(GraphId id) {
    const Graph& graph = program_.graphs[id];
    Agreement worst = Agreement::kSameBits;
    for (const NodeId node : graph.nodes()) {
      worst = std::max(worst, agreement_(graph, graph.node(node)));
      ForEachSubgraph(graph.node(node),
                      [&](GraphId body) { worst = std::max(worst, OfBody(body)); });
    }
    return worst;
  }

  const ExportedProgram& program_;
  const NodeAgreement agreement_;
  std::map<uint32_t, Known> known_;  // by value id in the top graph
};

}  // namespace

bool IsStep(const Graph& graph, const Node& node) {
  const exir::OpOverload& op = *node.target;
  if (ReadsTypesOnly(op)) return false;
  bool reads = false, writes_others = false;
  for (const Argument& argument : node.arguments) {
    ForEachValue(argument, [&](ValueId id) { reads |= IsReal(graph.value(id)); });
  }
  for (const ValueId id : node.results()) writes_others |= !IsReal(graph.value(id));
  if (reads && writes_others) return true;
  return std::find(std::begin(kSteps), std::end(kSteps), op.op()) != std::end(kSteps) ||
         !(node.argument("rounding_mode") == Argument());
}

exir::CallCloseness ClosenessOfResults(const ExportedProgram& program, const exir::Closeness& close,
                                       NodeAgreement agreement) {
  const exir::Closeness closeness[] = {exir::kSameBits, close, exir::kAnyElements};
  Analysis analysis(program, agreement);
  std::map<std::string, Agreement> state;
  std::vector<Agreement> outputs;
  for (bool changed = true; changed;) {
    changed = false;
    outputs = analysis.Outputs(state);
    for (size_t i = 0; i < outputs.size(); ++i) {
      const exir::OutputSpec& spec = program.signature.outputs[i];
      if (spec.kind != exir::OutputKind::kBufferMutation &&
          spec.kind != exir::OutputKind::kParameterMutation) {
        continue;
      }
      Agreement& known = state[spec.target];
      changed |= known < outputs[i];
      known = std::max(known, outputs[i]);
    }
  }

  std::map<std::string, size_t> user_inputs;  // by the value's name
  for (size_t i = 0; i < program.signature.inputs.size(); ++i) {
    if (program.signature.inputs[i].kind != exir::InputKind::kUserInput) continue;
    const std::string& name = program.top().value(program.top().inputs()[i]).name;
    user_inputs.emplace(name, user_inputs.size());
  }
  exir::CallCloseness result(exir::kSameBits);
  size_t position = 0;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const exir::OutputSpec& spec = program.signature.outputs[i];
    const exir::Closeness& row = closeness[static_cast<size_t>(outputs[i])];
    switch (spec.kind) {
      case exir::OutputKind::kUserOutput:
        result.outputs[position++] = row;
        break;
      case exir::OutputKind::kUserInputMutation:
        result.inputs[user_inputs.at(spec.target)] = row;
        break;
      default:
        result.state[spec.target] = row;
    }
  }
  return result;
}

}  // namespace belay::conformance
