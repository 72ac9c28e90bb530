#include "conformance/lowering/normal_form.h"

#include <sodium.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "runtime/core/status_macros.h"

namespace belay::conformance {
namespace {

using exir::Argument;
using exir::ExportedProgram;
using exir::Graph;
using exir::GraphId;
using exir::InputKind;
using exir::InputSpec;
using exir::Node;
using exir::NodeId;
using exir::OutputKind;
using exir::ValueId;

bool IsDelegateCall(const Node& node) {
  return node.target->name() == "higher_order.executorch_call_delegate";
}

// The tensor of IsNumberOfBody().
exir::ConstantTensor NumberOf(const Node& node) {
  const DType dtype = *node.arguments[2].get_if<DType>();
  const Argument& number = node.arguments[1];
  const double* real = number.get_if<double>();
  const int64_t* integer = number.get_if<int64_t>();
  const bool* truth = number.get_if<bool>();
  const int64_t whole = integer != nullptr ? *integer : truth != nullptr && *truth ? 1 : 0;
  if (!IsFloatingPoint(dtype)) return exir::ConstantTensor::ScalarInt(dtype, whole);
  return exir::ConstantTensor::Scalar(dtype, real != nullptr ? *real : static_cast<double>(whole));
}

std::vector<GraphId> BodiesOf(const Node& node) {
  std::vector<GraphId> bodies;
  for (const Argument& argument : node.arguments) {
    exir::ForEachGraph(argument, [&](GraphId body) { bodies.push_back(body); });
  }
  return bodies;
}

std::vector<std::string> BodyLabels(const std::string& op) {
  if (op == "cond") return {"true", "false"};
  if (op == "while_loop") return {"cond", "body"};
  return {"body"};
}

// Exact: a number that no double has is none.
std::optional<double> AsNumber(const Argument& argument) {
  constexpr int64_t kExact = int64_t{1} << 53;
  if (const auto* v = argument.get_if<double>()) return *v;
  const auto* v = argument.get_if<int64_t>();
  if (v == nullptr || *v > kExact || *v < -kExact) return std::nullopt;
  return static_cast<double>(*v);
}

// As the makers of the cases tell defaults: 1.0 is 1, but true is not.
bool IsDefault(const Argument& argument, const Argument& declared) {
  const auto* list = argument.get_if<Argument::List>();
  const auto* declared_list = declared.get_if<Argument::List>();
  if (list != nullptr && declared_list != nullptr) {
    return std::equal(list->begin(), list->end(), declared_list->begin(), declared_list->end(),
                      IsDefault);
  }
  const std::optional<double> a = AsNumber(argument), b = AsNumber(declared);
  return a.has_value() && b.has_value() ? *a == *b : argument == declared;
}

// "FloorDiv(d0 + 1, 2)" as Python prints it: "((d0 + 1)//2)", and once more in parentheses where it
// is an operand.
std::string WithPythonDivisions(const std::string& text) {
  constexpr std::string_view kCall = "FloorDiv(";
  const size_t begin = text.find(kCall);
  if (begin == std::string::npos) return text;
  size_t comma = begin, end = begin + kCall.size();
  for (int depth = 1; end < text.size(); ++end) {
    depth += text[end] == '(' ? 1 : text[end] == ')' ? -1 : 0;
    if (depth == 1 && text[end] == ',') comma = end;
    if (depth == 0) break;
  }
  const auto side = [](const std::string& operand) {
    const std::string printed = WithPythonDivisions(operand);
    const bool simple = printed[0] != '(' && printed.find_first_of(" *") == std::string::npos;
    return simple ? printed : absl::StrCat("(", printed, ")");
  };
  const std::string before = text.substr(0, begin), after = text.substr(end + 1);
  const bool is_operand = (!before.empty() && before.back() == '*') || after[0] == '*' ||
                          before.ends_with("+ ") || before.ends_with("- ") ||
                          after.starts_with(" +") || after.starts_with(" -");
  return absl::StrCat(before, is_operand ? "((" : "(",
                      side(text.substr(begin + kCall.size(), comma - begin - kCall.size())), "//",
                      side(text.substr(comma + 2, end - comma - 2)), is_operand ? "))" : ")",
                      WithPythonDivisions(after));
}

// Symbols become d0, d1, … in order of first appearance.
class Symbols {
 public:
  std::string Text(const exir::SymExpr& e) {
    std::vector<std::string> names;
    e.CollectSymbols(names);
    for (const std::string& name : names) {
      map_.emplace(name, absl::StrCat("d", map_.size()));
    }
    return WithPythonDivisions(e.Substitute([&](std::string_view name) {
                                  return std::optional(
                                      exir::SymExpr::Symbol(map_.at(std::string(name))));
                                }).ToString());
  }
  Json Dimension(const exir::SymExpr& e) {
    if (const std::optional<int64_t> number = e.AsInt()) return *number;
    return Text(e);
  }
  Json Type(const exir::ValueType& type) {
    if (const auto* tensor = std::get_if<exir::TensorMeta>(&type)) {
      Json::Array shape;
      for (const exir::SymInt& size : tensor->sizes) shape.push_back(Dimension(size));
      return Json::Object{{"dtype", DTypeName(tensor->dtype)}, {"shape", std::move(shape)}};
    }
    if (const auto* sym = std::get_if<exir::SymIntType>(&type)) {
      return Json::Object{{"symint", Dimension(sym->expr)}};
    }
    if (std::holds_alternative<exir::SymFloatType>(type)) return Json::Object{{"sym", "SymFloat"}};
    if (std::holds_alternative<exir::SymBoolType>(type)) return Json::Object{{"sym", "SymBool"}};
    if (const auto* constant = std::get_if<exir::ConstantType>(&type)) {
      constexpr const char* kNames[] = {"", "int", "float", "bool", "str"};
      if (constant->value.index() > 0) {
        return Json::Object{{"scalar", kNames[constant->value.index()]}};
      }
    }
    return Json();
  }

 private:
  std::map<std::string, std::string> map_;
};

class Builder {
 public:
  Builder(const ExportedProgram& program, const std::set<std::string>& fqns,
          const std::function<int64_t(const exir::LoweredBackendModule*)>& delegate_index)
      : program_(program), fqns_(fqns), delegate_index_(delegate_index) {}

  NormalForm Run() {
    for (const auto& [path, id] : PathsOf(program_)) BuildGraph(path, id);
    form_.signature = Signature();
    form_.state = State();
    return std::move(form_);
  }

 private:
  Json ConstantRef(const InputSpec& spec) const {
    if (spec.kind == InputKind::kParameter) return Json::Object{{"param", spec.target}};
    if (spec.kind == InputKind::kBuffer && fqns_.contains(spec.target)) {
      return Json::Object{{"buffer", spec.target}};
    }
    if (exir::NamesTensor(spec.kind)) {
      if (fqns_.contains(spec.target)) return Json::Object{{"const", spec.target}};
      const exir::ConstantTensor* tensor = program_.FindConstant(spec);
      if (tensor == nullptr) return Json::Object{{"const", "missing"}};
      return ContentRef(*tensor);
    }
    return Json::Object{{"custom_obj", spec.target}};
  }

  static Json ContentRef(const exir::ConstantTensor& tensor) {
    Json::Array shape;
    for (int64_t size : tensor.sizes()) shape.push_back(size);
    return Json::Object{{"const", Json::Object{{"sha256", TensorSha256(tensor)},
                                               {"dtype", DTypeName(tensor.dtype())},
                                               {"shape", std::move(shape)}}}};
  }

  Json Ref(const Graph& graph, ValueId value) const {
    const auto input = inputs_.find(value);
    if (input != inputs_.end()) return input->second;
    const NodeId producer = graph.value(value).producer;
    const Node& node = graph.node(producer);
    const int64_t id = ids_.at(producer);
    const std::vector<ValueId> results = node.results();
    if (IsDelegateCall(node) && results.size() == 1 && graph.value(value).tensor() == nullptr) {
      return Json::Object{{"node", id}};
    }
    const auto position = std::find(results.begin(), results.end(), value) - results.begin();
    return Json::Object{{"node", id}, {"out", static_cast<int64_t>(position)}};
  }

  Json Arg(const Graph& graph, const Argument& argument) const {
    if (const auto* v = argument.get_if<ValueId>()) return Ref(graph, *v);
    if (const auto* v = argument.get_if<int64_t>()) return *v;
    if (const auto* v = argument.get_if<bool>()) return *v;
    if (const auto* v = argument.get_if<double>()) {
      if (std::isnan(*v)) return Json::Object{{"float", "nan"}};
      if (std::isinf(*v)) return Json::Object{{"float", *v > 0 ? "inf" : "-inf"}};
      return *v;
    }
    if (const auto* v = argument.get_if<std::string>()) return *v;
    if (const auto* v = argument.get_if<DType>()) return Json::Object{{"dtype", DTypeName(*v)}};
    if (argument.is<exir::Layout>()) return Json::Object{{"layout", "strided"}};
    if (const auto* v = argument.get_if<exir::Device>()) return Json::Object{{"device", v->type}};
    if (const auto* v = argument.get_if<MemoryFormat>()) {
      const char* names[] = {"", "contiguous_format", "channels_last", "channels_last_3d",
                             "preserve_format"};
      return Json::Object{{"memory_format", names[static_cast<int>(*v)]}};
    }
    if (const auto* v = argument.get_if<Argument::List>()) {
      Json::Array list;
      for (const Argument& element : *v) {
        if (!element.is<GraphId>()) list.push_back(Arg(graph, element));
      }
      return list;
    }
    return Json();
  }

  void CallArguments(const Graph& graph, const Node& node, Json::Object& entry) const {
    const exir::FunctionSchema* schema = node.target->schema();
    Json::Array positional;
    Json::Object keywords;
    Json::Array keyword_order;
    size_t kept = 0;
    for (size_t i = 0; i < node.arguments.size(); ++i) {
      const Argument& argument = node.arguments[i];
      if (schema == nullptr) {
        if (argument.is<GraphId>() || argument.is<exir::ModuleId>()) continue;
        positional.push_back(Arg(graph, argument));
        kept = positional.size();
        continue;
      }
      const exir::SchemaArgument& declared = schema->arguments[i];
      const bool is_default = declared.default_value.has_value() &&
                              IsDefault(argument, exir::DefaultArgument(declared));
      if (declared.keyword_only) {
        if (is_default) continue;
        keywords[declared.name] = Arg(graph, argument);
        keyword_order.push_back(declared.name);
      } else {
        positional.push_back(Arg(graph, argument));
        if (!is_default) kept = positional.size();
      }
    }
    positional.resize(kept);
    entry["args"] = std::move(positional);
    if (keywords.empty()) return;
    entry["kwargs"] = std::move(keywords);
    entry["keyword_order"] = std::move(keyword_order);
  }

  // As ExecuTorch leaves it at the call: of all outputs of the delegate's program in the order of
  // the nodes that compute them, mutations included.
  Json CallType(const exir::LoweredBackendModule& module) {
    const Graph& graph = module.original.top();
    std::map<NodeId, size_t> position;
    for (NodeId node : graph.nodes()) position.emplace(node, position.size() + 1);
    std::vector<std::pair<size_t, ValueId>> outputs;
    for (const Argument& output : graph.outputs()) {
      const ValueId* value = output.get_if<ValueId>();
      if (value == nullptr) continue;
      const NodeId producer = graph.value(*value).producer;
      outputs.emplace_back(producer.valid() ? position[producer] : 0, *value);
    }
    std::stable_sort(outputs.begin(), outputs.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    Json::Array types;
    for (const auto& [place, value] : outputs) {
      types.push_back(symbols_.Type(graph.value(value).type));
    }
    return types;
  }

  Json ResultType(const Graph& graph, const Node& node) {
    const bool single = node.outputs.size() == 1 &&
                        node.outputs[0].kind == exir::NodeOutput::Kind::kValue &&
                        !IsDelegateCall(node) && node.target->schema() != nullptr;
    if (single) return symbols_.Type(graph.value(node.outputs[0].values[0]).type);
    if (node.outputs.empty() && !IsDelegateCall(node)) return Json();
    Json::Array types;
    for (ValueId value : node.results()) types.push_back(symbols_.Type(graph.value(value).type));
    return types;
  }

  void BuildGraph(const std::string& path, GraphId id) {
    const Graph& graph = program_.graphs[id];
    const bool top = id == ExportedProgram::kTop;
    Json::Array entries;
    inputs_.clear();
    ids_.clear();
    int64_t user = 0;
    for (size_t i = 0; i < graph.inputs().size(); ++i) {
      const ValueId value = graph.inputs()[i];
      Json::Object entry = {{"kind", "placeholder"}};
      const InputSpec spec = top ? program_.signature.inputs[i] : InputSpec();
      if (!exir::NamesTensor(spec.kind) && spec.kind != InputKind::kCustomObject) {
        entry["input"] = "user_input";
        entry["index"] = user;
        inputs_[value] = Json::Object{{"input", user++}};
      } else {
        inputs_[value] = ConstantRef(spec);
        const auto& [key, target] = *inputs_[value].object().begin();
        entry["input"] = key == "param"    ? "parameter"
                         : key == "buffer" ? "buffer"
                         : key == "const"  ? "constant_tensor"
                                           : "custom_obj";
        entry["target"] = target;
        if (spec.kind == InputKind::kBuffer) {
          entry["input"] = "buffer";
          entry["persistent"] = spec.persistent;
        }
      }
      entry["type"] = symbols_.Type(graph.value(value).type);
      entries.push_back(std::move(entry));
    }
    std::map<std::string, int> count;
    for (NodeId node_id : graph.nodes()) {
      const Node& node = graph.node(node_id);
      if (IsNumberOfBody(node)) {
        inputs_[node.results()[0]] = ContentRef(NumberOf(node));
        continue;
      }
      const auto own = static_cast<int64_t>(ids_.size());
      const std::string op = OpName(node);
      Json::Object entry = {{"id", own}, {"op", op}};
      const std::vector<GraphId> bodies = BodiesOf(node);
      CallArguments(graph, node, entry);
      entry["kind"] = "op";
      if (IsDelegateCall(node)) {
        entry["kind"] = "delegate";
        const exir::LoweredBackendModule* module =
            program_.lowered_modules[*node.arguments[0].get_if<exir::ModuleId>()].get();
        entry["delegate"] = delegate_index_(module);
        entry["type"] = CallType(*module);
        form_.delegates.emplace_back(path, module);
      } else if (!bodies.empty()) {
        entry["kind"] = "control";
        const int k = count[op]++;
        Json::Object graphs;
        const std::vector<std::string> labels = BodyLabels(op);
        for (size_t b = 0; b < bodies.size() && b < labels.size(); ++b) {
          graphs[labels[b]] =
              absl::StrCat(path, path.empty() ? "" : ">", op, "#", k, "/", labels[b]);
        }
        entry["graphs"] = std::move(graphs);
      }
      ids_[node_id] = own;
      if (!entry.contains("type")) entry["type"] = ResultType(graph, node);
      entries.push_back(std::move(entry));
    }
    Json::Object output = {{"kind", "output"}};
    Json::Array outputs;
    for (size_t k = 0; k < graph.outputs().size(); ++k) {
      const Json value = Arg(graph, graph.outputs()[k]);
      if (!top) {
        outputs.push_back(value);
        continue;
      }
      const exir::OutputSpec& spec = program_.signature.outputs[k];
      Json::Object entry = {{"kind", exir::OutputKindName(spec.kind)}, {"value", value}};
      if (!spec.target.empty()) entry["target"] = OutputTarget(spec);
      outputs.push_back(std::move(entry));
    }
    output[top ? "outputs" : "args"] = std::move(outputs);
    entries.push_back(std::move(output));
    form_.graphs.emplace_back(path, std::move(entries));
  }

  Json OutputTarget(const exir::OutputSpec& spec) const {
    if (spec.kind != OutputKind::kUserInputMutation) return spec.target;
    int64_t user = 0;
    for (size_t i = 0; i < program_.top().inputs().size(); ++i) {
      if (exir::NamesTensor(program_.signature.inputs[i].kind)) continue;
      if (program_.top().value(program_.top().inputs()[i]).name == spec.target) {
        return Json::Object{{"input", user}};
      }
      ++user;
    }
    return Json();
  }

  Json Signature() const {
    Json::Array inputs, outputs;
    int64_t user = 0;
    for (const InputSpec& spec : program_.signature.inputs) {
      if (!exir::NamesTensor(spec.kind) && spec.kind != InputKind::kCustomObject) {
        inputs.push_back(Json::Object{{"kind", "user_input"}, {"index", user++}});
        continue;
      }
      const Json ref = ConstantRef(spec);
      Json::Object entry = {{"kind", spec.kind == InputKind::kTensorConstant
                                         ? std::string("constant_tensor")
                                         : std::string(exir::InputKindName(spec.kind))},
                            {"target", ref.object().begin()->second}};
      if (spec.kind == InputKind::kBuffer) entry["persistent"] = spec.persistent;
      inputs.push_back(std::move(entry));
    }
    for (const exir::OutputSpec& spec : program_.signature.outputs) {
      Json::Object entry = {{"kind", exir::OutputKindName(spec.kind)}};
      if (!spec.target.empty()) entry["target"] = OutputTarget(spec);
      outputs.push_back(std::move(entry));
    }
    return Json::Object{{"inputs", std::move(inputs)}, {"outputs", std::move(outputs)}};
  }

  Json State() const {
    std::set<std::string> targets;
    for (const InputSpec& spec : program_.signature.inputs) targets.insert(spec.target);
    Json::Array state, constants, unreferenced;
    int64_t made = 0, other = 0;
    for (const bool is_state : {true, false}) {
      for (const auto& [name, tensor] : is_state ? program_.state_dict : program_.constants) {
        const bool known = fqns_.contains(name);
        if (targets.contains(name)) {
          if (known) (is_state ? state : constants).push_back(name);
          made += known ? 0 : 1;
        } else {
          if (known) unreferenced.push_back(name);
          other += known ? 0 : 1;
        }
      }
    }
    return Json::Object{{"state_dict", std::move(state)},
                        {"constants", std::move(constants)},
                        {"made_by_to_edge", made},
                        {"unreferenced", std::move(unreferenced)},
                        {"unreferenced_other", other}};
  }

  const ExportedProgram& program_;
  const std::set<std::string>& fqns_;
  const std::function<int64_t(const exir::LoweredBackendModule*)>& delegate_index_;
  NormalForm form_;
  Symbols symbols_;
  std::map<ValueId, Json> inputs_;
  std::map<NodeId, int64_t> ids_;
};

}  // namespace

std::string OpName(const Node& node) {
  std::string_view name = node.target->name();
  if (name.starts_with("higher_order."))
    name.remove_prefix(std::string_view("higher_order.").size());
  if (name.starts_with("_operator.")) name.remove_prefix(1);
  return std::string(name);
}

std::string Sha256(absl::Span<const std::byte> bytes) {
  unsigned char digest[crypto_hash_sha256_BYTES];
  crypto_hash_sha256(digest, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  std::string hex;
  for (unsigned char byte : digest) absl::StrAppend(&hex, absl::Hex(byte, absl::kZeroPad2));
  return hex;
}

std::string Sha256(std::string_view text) {
  return Sha256(absl::MakeConstSpan(reinterpret_cast<const std::byte*>(text.data()), text.size()));
}

std::string TensorSha256(const exir::ConstantTensor& tensor) {
  const absl::StatusOr<exir::Storage> dense = tensor.Dense();
  return dense.ok() ? Sha256(dense->bytes) : "";
}

GraphPaths PathsOf(const ExportedProgram& program) {
  GraphPaths paths;
  GraphPaths pending = {{"", ExportedProgram::kTop}};
  while (!pending.empty()) {
    const auto [path, id] = pending.back();
    pending.pop_back();
    paths.emplace_back(path, id);
    const Graph& graph = program.graphs[id];
    std::map<std::string, int> count;
    GraphPaths bodies;
    for (NodeId node : graph.nodes()) {
      const std::vector<GraphId> ids = BodiesOf(graph.node(node));
      if (ids.empty()) continue;
      const std::string op = OpName(graph.node(node));
      const int k = count[op]++;
      const std::vector<std::string> labels = BodyLabels(op);
      for (size_t b = 0; b < ids.size() && b < labels.size(); ++b) {
        bodies.emplace_back(absl::StrCat(path, path.empty() ? "" : ">", op, "#", k, "/", labels[b]),
                            ids[b]);
      }
    }
    pending.insert(pending.end(), bodies.rbegin(), bodies.rend());
  }
  return paths;
}

bool IsNumberOfBody(const Node& node) {
  if (!node.name.starts_with("scalar") || node.target->name() != "aten.full.default" ||
      node.arguments.size() < 3 || node.results().size() != 1 || !node.arguments[2].is<DType>()) {
    return false;
  }
  const auto* sizes = node.arguments[0].get_if<Argument::List>();
  const Argument& number = node.arguments[1];
  return sizes != nullptr && sizes->empty() &&
         (number.is<double>() || number.is<int64_t>() || number.is<bool>());
}

std::vector<NodeId> NodesOf(const Graph& graph) {
  std::vector<NodeId> nodes;
  for (NodeId node : graph.nodes()) {
    if (!IsNumberOfBody(graph.node(node))) nodes.push_back(node);
  }
  return nodes;
}

NodeId FindOccurrence(const Graph& graph, std::string_view op, int64_t occurrence) {
  for (NodeId node : NodesOf(graph)) {
    if (OpName(graph.node(node)) == op && occurrence-- == 0) return node;
  }
  return NodeId();
}

NormalForm ToNormalForm(
    const ExportedProgram& program, const std::set<std::string>& fqns,
    const std::function<int64_t(const exir::LoweredBackendModule*)>& delegate_index) {
  return Builder(program, fqns, delegate_index).Run();
}

Json::Array Normalise(const Json::Array& entries) {
  Json::Array kept;
  for (const Json& entry : entries) {
    if (entry["kind"].text() == "getitem") continue;
    Json::Object copy = entry.object();
    copy.erase("slot");
    copy.erase("keyword_order");
    copy.erase("debug_handle");
    if (entry["kind"].text() == "delegate") copy.erase("type");
    kept.push_back(std::move(copy));
  }
  return kept;
}

}  // namespace belay::conformance
