#include "conformance/lowering/program_json.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "absl/strings/escaping.h"
#include "absl/strings/str_split.h"
#include "exir/backend/introspection.h"
#include "exir/symbolic/sym_expr.h"
#include "runtime/core/sha256.h"
#include "runtime/core/str_cat.h"

namespace belay::conformance {
namespace {

using exir::Argument;
using exir::ExportedProgram;
using exir::Graph;
using exir::GraphId;
using exir::InputKind;
using exir::InputSpec;
using exir::LoweredBackendModule;
using exir::Node;
using exir::NodeId;
using exir::SymExpr;
using exir::ValueId;

std::string HexSha256(absl::Span<const std::byte> bytes) {
  return absl::BytesToHexString(Sha256(bytes));
}
std::string HexSha256(const exir::ConstantTensor& tensor) {
  const absl::StatusOr<exir::Storage> dense = tensor.Dense();
  return dense.ok() ? HexSha256(dense->bytes) : "";
}

bool IsDelegateCall(const Node& node) {
  return node.target->name() == "higher_order.executorch_call_delegate";
}

// Returns the tensor of IsSubgraphScalar().
exir::ConstantTensor ScalarTensorOf(const Node& node) {
  const DType dtype = *node.arguments[2].get_if<DType>();
  const Argument& number = node.arguments[1];
  if (const auto* v = number.get_if<double>()) return exir::ConstantTensor::Scalar(dtype, *v);
  const auto* v = number.get_if<int64_t>();
  return exir::ConstantTensor::ScalarInt(dtype, v != nullptr ? *v : *number.get_if<bool>());
}

struct Body {
  NodeId node;  // has the subgraph as its argument `label`
  std::string label, path;
  GraphId graph;
};

// Returns the subgraphs of the nodes of the graph with this path.
std::vector<Body> SubgraphsOf(const Graph& graph, const std::string& path) {
  std::map<std::string, int> count;
  std::vector<Body> bodies;
  for (const exir::ControlFlowBody& found : exir::ControlFlowBodies(graph)) {
    const std::string op = OpName(graph.node(found.node));
    const bool second = !bodies.empty() && bodies.back().node == found.node;
    if (!second) ++count[op];
    const char* const label = op == "cond"                    ? (second ? "false" : "true")
                              : op == "while_loop" && !second ? "cond"
                                                              : "body";
    bodies.push_back(
        {found.node, label,
         absl::StrCat(path, path.empty() ? "" : ">", op, "#", count[op] - 1, "/", label),
         found.body});
  }
  return bodies;
}

class Writer {
 public:
  Writer(const ExportedProgram& program, const std::set<std::string>& fqns,
         const DelegateIndex& delegate_index)
      : program_(program), fqns_(fqns), delegate_index_(delegate_index) {}

  Json Run() {
    Json graphs = Json::object();
    for (const auto& [path, id] : PathsOf(program_)) graphs[path] = Entries(path, id);
    return {{"graphs", std::move(graphs)}, {"signature", signature_}, {"state", State()}};
  }

 private:
  // --- Types ---

  Json Dimension(const SymExpr& e) {
    if (const std::optional<int64_t> number = e.AsInt()) return *number;
    std::vector<std::string> names;
    e.CollectSymbols(names);
    for (const std::string& name : names) {
      symbols_.emplace(name, SymExpr::Symbol(absl::StrCat("d", symbols_.size())));
    }
    const auto symbol = [&](std::string_view x) {
      return std::optional(symbols_.at(std::string(x)));
    };
    return e.Substitute(symbol).ToString();
  }

  Json Type(const exir::ValueType& type) {
    if (const auto* tensor = std::get_if<exir::TensorMeta>(&type)) {
      Json shape = Json::array();
      for (const exir::SymInt& size : tensor->sizes) shape.push_back(Dimension(size));
      return {{"dtype", DTypeName(tensor->dtype)}, {"shape", std::move(shape)}};
    }
    if (const auto* sym = std::get_if<exir::SymIntType>(&type)) {
      return {{"symint", Dimension(sym->expr)}};
    }
    if (std::holds_alternative<exir::SymFloatType>(type)) return {{"sym", "SymFloat"}};
    if (std::holds_alternative<exir::SymBoolType>(type)) return {{"sym", "SymBool"}};
    const auto* constant = std::get_if<exir::ConstantType>(&type);
    constexpr const char* kNames[] = {"", "int", "float", "bool", "str"};
    if (constant == nullptr || constant->value.index() == 0) return Json();
    return {{"scalar", kNames[constant->value.index()]}};
  }

  Json ResultType(const Graph& graph, const Node& node) {
    const bool single = node.outputs.size() == 1 &&
                        node.outputs[0].kind == exir::NodeOutput::Kind::kValue &&
                        node.target->schema() != nullptr && !IsDelegateCall(node);
    if (single) return Type(graph.value(node.outputs[0].values[0]).type);
    if (node.outputs.empty() && !IsDelegateCall(node)) return Json();
    Json types = Json::array();
    for (ValueId value : node.results()) types.push_back(Type(graph.value(value).type));
    return types;
  }

  // --- References and literals ---

  static Json ContentRef(const exir::ConstantTensor& tensor) {
    const std::vector<int64_t> shape(tensor.sizes().begin(), tensor.sizes().end());
    const std::string sha256 = HexSha256(tensor);
    return {
        {"const", {{"sha256", sha256}, {"dtype", DTypeName(tensor.dtype())}, {"shape", shape}}}};
  }

  Json ConstantRef(const InputSpec& spec) const {
    if (!exir::NamesTensor(spec.kind)) return {{"custom_obj", spec.target}};
    if (spec.kind == InputKind::kParameter) return {{"param", spec.target}};
    if (fqns_.contains(spec.target)) {
      return {{spec.kind == InputKind::kBuffer ? "buffer" : "const", spec.target}};
    }
    const exir::ConstantTensor* tensor = program_.FindConstant(spec);
    return tensor == nullptr ? Json{{"const", "missing"}} : ContentRef(*tensor);
  }

  Json Ref(const Graph& graph, ValueId value) const {
    if (const auto input = inputs_.find(value); input != inputs_.end()) return input->second;
    const NodeId producer = graph.value(value).producer;
    const Node& node = graph.node(producer);
    const std::vector<ValueId> results = node.results();
    Json ref = {{"node", ids_.at(producer)}};
    // The only result of a delegate call that is not a tensor is the node itself.
    if (!IsDelegateCall(node) || results.size() != 1 || graph.value(value).tensor() != nullptr) {
      ref["out"] = std::find(results.begin(), results.end(), value) - results.begin();
    }
    return ref;
  }

  Json Arg(const Graph& graph, const Argument& argument) const {
    if (const auto* v = argument.get_if<ValueId>()) return Ref(graph, *v);
    if (const auto* v = argument.get_if<int64_t>()) return *v;
    if (const auto* v = argument.get_if<bool>()) return *v;
    if (const auto* v = argument.get_if<double>()) {
      if (std::isfinite(*v)) return *v;
      return {{"float", std::isnan(*v) ? "nan" : *v > 0 ? "inf" : "-inf"}};
    }
    if (const auto* v = argument.get_if<std::string>()) return *v;
    if (const auto* v = argument.get_if<DType>()) return {{"dtype", DTypeName(*v)}};
    if (argument.is<exir::Layout>()) return {{"layout", "strided"}};
    if (const auto* v = argument.get_if<exir::Device>()) return {{"device", v->type}};
    if (const auto* v = argument.get_if<MemoryFormat>()) {
      constexpr const char* kNames[] = {"", "contiguous_format", "channels_last",
                                        "channels_last_3d", "preserve_format"};
      return {{"memory_format", kNames[static_cast<int>(*v)]}};
    }
    if (const auto* v = argument.get_if<Argument::List>()) {
      Json list = Json::array();
      for (const Argument& element : *v) {
        if (!element.is<GraphId>()) list.push_back(Arg(graph, element));
      }
      return list;
    }
    return Json();
  }

  void AddArguments(const Graph& graph, const Node& node, Json& entry) const {
    const exir::FunctionSchema* schema = node.target->schema();
    std::vector<Json> positional;
    Json keywords = Json::object();
    size_t kept = 0;
    for (size_t i = 0; i < node.arguments.size(); ++i) {
      if (node.arguments[i].is<GraphId>() || node.arguments[i].is<exir::ModuleId>()) continue;
      Json value = Arg(graph, node.arguments[i]);
      const exir::SchemaArgument* declared = schema == nullptr ? nullptr : &schema->arguments[i];
      // The scripts that generate the cases compare defaults with Python's ==, except for bools:
      // 1.0 equals 1, but true does not.
      const bool is_default = declared != nullptr && declared->default_value.has_value() &&
                              value == Arg(graph, exir::DefaultArgument(*declared));
      if (declared == nullptr || !declared->keyword_only) {
        positional.push_back(std::move(value));
        if (!is_default) kept = positional.size();
      } else if (!is_default) {
        keywords[declared->name] = std::move(value);
      }
    }
    positional.resize(kept);
    entry["args"] = std::move(positional);
    if (!keywords.empty()) entry["kwargs"] = std::move(keywords);
  }

  // --- Graphs ---

  // Returns the signature entry of an input, which is stored in inputs_.
  Json InputJson(const InputSpec& spec, ValueId value, size_t user) {
    if (!exir::NamesTensor(spec.kind) && spec.kind != InputKind::kCustomObject) {
      inputs_[value] = {{"input", user}};
      return {{"kind", "user_input"}, {"index", user}};
    }
    const Json& ref = inputs_[value] = ConstantRef(spec);
    const std::string& key = ref.begin().key();
    Json input = {{"kind", key == "param"                    ? "parameter"
                           : spec.kind == InputKind::kBuffer ? "buffer"
                           : key == "const"                  ? "constant_tensor"
                                                             : "custom_obj"},
                  {"target", ref.front()}};
    if (spec.kind == InputKind::kBuffer) input["persistent"] = spec.persistent;
    return input;
  }

  // Returns the signature entry of an output of the top graph, whose inputs are inputs_.
  Json OutputJson(const exir::OutputSpec& spec) const {
    Json output = {{"kind", exir::OutputKindName(spec.kind)}};
    if (!spec.target.empty()) output["target"] = spec.target;
    for (const auto& [value, ref] : inputs_) {
      const bool named = program_.top().value(value).name == spec.target;
      if (named && spec.kind == exir::OutputKind::kUserInputMutation) output["target"] = ref;
    }
    return output;
  }

  Json Entries(const std::string& path, GraphId id) {
    const Graph& graph = program_.graphs[id];
    const bool top = id == ExportedProgram::kTop;
    Json entries = Json::array(), results = Json::array();
    inputs_.clear();
    ids_.clear();
    size_t users = 0;
    for (size_t i = 0; i < graph.inputs().size(); ++i) {
      const ValueId value = graph.inputs()[i];
      const Json input = InputJson(top ? program_.signature.inputs[i] : InputSpec(), value, users);
      users += input.contains("index");
      if (top) signature_["inputs"].push_back(input);
      entries.push_back(input);
      entries.back().update({{"kind", "placeholder"},
                             {"input", input["kind"]},
                             {"type", Type(graph.value(value).type)}});
    }
    const std::vector<Body> bodies = SubgraphsOf(graph, path);
    for (NodeId node_id : graph.nodes()) {
      const Node& node = graph.node(node_id);
      if (IsSubgraphScalar(node)) {
        inputs_[node.results()[0]] = ContentRef(ScalarTensorOf(node));
        continue;
      }
      const auto own = static_cast<int64_t>(ids_.size());
      Json entry = {{"kind", "op"}, {"id", own}, {"op", OpName(node)}};
      AddArguments(graph, node, entry);
      if (IsDelegateCall(node)) {
        const auto module = *node.arguments[0].get_if<exir::ModuleId>();
        entry["delegate"] = delegate_index_(*program_.lowered_modules[module]);
      }
      for (const Body& body : bodies) {
        if (body.node == node_id) entry["graphs"][body.label] = body.path;
      }
      ids_[node_id] = own;
      entry["type"] = ResultType(graph, node);
      entries.push_back(std::move(entry));
    }
    for (size_t k = 0; k < graph.outputs().size(); ++k) {
      Json result = top ? OutputJson(program_.signature.outputs[k]) : Json();
      if (top) signature_["outputs"].push_back(result);
      (top ? result["value"] : result) = Arg(graph, graph.outputs()[k]);
      results.push_back(std::move(result));
    }
    entries.push_back({{"kind", "output"}, {top ? "outputs" : "args", std::move(results)}});
    return entries;
  }

  Json State() const {
    std::set<std::string> targets;
    for (const InputSpec& spec : program_.signature.inputs) targets.insert(spec.target);
    Json state = {{"state_dict", Json::array()},
                  {"constants", Json::array()},
                  {"made_by_to_edge", 0},
                  {"unreferenced", Json::array()},
                  {"unreferenced_other", 0}};
    for (const auto* map : {&program_.state_dict, &program_.constants}) {
      for (const auto& [name, tensor] : *map) {
        const bool used = targets.contains(name), named = fqns_.contains(name);
        Json& field = state[!used    ? (named ? "unreferenced" : "unreferenced_other")
                            : !named ? "made_by_to_edge"
                            : map == &program_.constants ? "constants"
                                                         : "state_dict"];
        if (named) field.push_back(name);
        if (!named) field = field.get<int64_t>() + 1;
      }
    }
    return state;
  }

  const ExportedProgram& program_;
  const std::set<std::string>& fqns_;
  const DelegateIndex& delegate_index_;
  Json signature_ = {{"inputs", Json::array()}, {"outputs", Json::array()}};
  std::map<std::string, SymExpr> symbols_;  // d0, d1, … in order of first appearance
  std::map<ValueId, Json> inputs_;          // of the current graph
  std::map<NodeId, int64_t> ids_;
};

// --- Delegates ---

Json NamedDataJson(const exir::NamedDataOutput& data) {
  const auto entries = [&](const absl::btree_map<std::string, exir::NamedDataEntry>& map) {
    Json json = Json::object();
    for (const auto& [key, entry] : map) {
      const auto bytes = data.buffers[entry.buffer].bytes;
      json[key] = {{"buffer", entry.buffer},
                   {"alignment", entry.alignment},
                   {"size", bytes.size()},
                   {"sha256", HexSha256(bytes)}};
    }
    return json;
  };
  Json external = Json::object();
  for (const auto& [file, map] : data.external_data) external[file] = entries(map);
  return {{"buffers", data.buffers.size()},
          {"pte", entries(data.program_data)},
          {"external", std::move(external)}};
}

Json DebugMapJson(const exir::DebugHandleMap& map, const std::string& method,
                  const HandlePlaces& places) {
  Json json = {{"keys", "int"}, {"raw", Json::object()}, {"nodes", Json::object()}};
  for (const auto& [id, handles] : map) {
    const auto* text = std::get_if<std::string>(&id);
    const std::string key = text != nullptr ? *text : absl::StrCat(std::get<int64_t>(id));
    if (text != nullptr) json["keys"] = "string";
    json["raw"][key] = handles;
    Json& nodes = json["nodes"][key] = Json::array();
    for (int64_t handle : handles) {
      const auto at = places.find({method, handle});
      if (at != places.end()) nodes.insert(nodes.end(), at->second.begin(), at->second.end());
    }
  }
  return json;
}

Json DelegateJson(const LoweredBackendModule& module, const std::string& method,
                  const DocumentSource& source, const DelegateIndex& index) {
  Json specs = Json::array(), owned = Json::array();
  for (const exir::CompileSpec& spec : module.compile_specs) {
    specs.push_back({{"key", spec.key}, {"value_base64", absl::Base64Escape(spec.value)}});
  }
  for (const auto* map : {&module.original.state_dict, &module.original.constants}) {
    for (const auto& [name, tensor] : *map) {
      owned.push_back(source.fqns.contains(name) ? name : "sha256:" + HexSha256(tensor));
    }
  }
  const auto bytes = module.processed.bytes;
  const std::string blob(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return {{"backend_id", module.backend_id},
          {"compile_specs", std::move(specs)},
          {"processed_bytes_base64", absl::Base64Escape(blob)},
          {"program", ProgramJson(module.original, source.fqns, index)["graphs"]},
          {"constants_owned", std::move(owned)},
          {"named_data", NamedDataJson(module.named_data)},
          {"debug_handle_map", DebugMapJson(module.debug_handle_map, method, source.handles)}};
}

}  // namespace

std::string OpName(const Node& node) {
  std::string_view name = node.target->name();
  constexpr std::string_view kHigherOrder = "higher_order.";
  if (name.starts_with(kHigherOrder)) name.remove_prefix(kHigherOrder.size());
  if (name.starts_with("_operator.")) name.remove_prefix(1);
  return std::string(name);
}

std::vector<std::pair<std::string, GraphId>> PathsOf(const ExportedProgram& program) {
  std::vector<std::pair<std::string, GraphId>> paths;
  const auto add = [&](const auto& self, const std::string& path, GraphId id) -> void {
    paths.emplace_back(path, id);
    for (const Body& body : SubgraphsOf(program.graphs[id], path))
      self(self, body.path, body.graph);
  };
  add(add, "", ExportedProgram::kTop);
  return paths;
}

bool IsSubgraphScalar(const Node& node) {
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
    if (!IsSubgraphScalar(graph.node(node))) nodes.push_back(node);
  }
  return nodes;
}

std::vector<std::pair<NodeId, Json>> PlacesOf(const Graph& graph) {
  std::vector<std::pair<NodeId, Json>> places;
  std::map<std::string, int64_t> count;
  for (NodeId node : NodesOf(graph)) {
    const std::string op = OpName(graph.node(node));
    places.emplace_back(node, Json{{"op", op}, {"occurrence", count[op]++}});
  }
  return places;
}

Json SplitPath(std::string_view path) {
  const std::vector<std::string> parts = absl::StrSplit(ToAbsl(path), '>', absl::SkipEmpty());
  return parts;
}

Json ProgramJson(const ExportedProgram& program, const std::set<std::string>& fqns,
                 const DelegateIndex& delegate_index) {
  return Writer(program, fqns, delegate_index).Run();
}

HandlePlaces HandlesOf(const exir::MethodPrograms& programs) {
  HandlePlaces handles;
  for (const auto& [name, program] : programs) {
    for (const auto& [path, id] : PathsOf(program)) {
      for (const auto& [node, place] : PlacesOf(program.graphs[id])) {
        const int64_t handle = program.graphs[id].node(node).debug_handle;
        if (handle == 0) continue;
        Json& places = handles[{name, handle}];
        places.push_back({{"graph", SplitPath(path)}});
        places.back().update(place);
      }
    }
  }
  return handles;
}

Json LoweredDocument(const exir::MethodPrograms& programs, const DocumentSource& source) {
  std::map<int64_t, std::pair<const LoweredBackendModule*, std::string>> made;  // with their method
  const auto add = [&](const auto& self, const std::string& name,
                       const ExportedProgram& program) -> void {
    for (const auto& module : program.lowered_modules) {
      made[std::atoll(module->delegate_info.c_str())] = {module.get(), name};
      self(self, name, module->original);
    }
  };
  for (const auto& [name, program] : programs) add(add, name, program);
  const DelegateIndex index = [&](const LoweredBackendModule& module) {
    return std::distance(made.begin(), made.find(std::atoll(module.delegate_info.c_str())));
  };
  Json document = {{"methods", Json::object()}, {"delegates", Json::array()}};
  for (const auto& [name, program] : programs) {
    document["methods"][name] = ProgramJson(program, source.fqns, index);
  }
  for (const auto& [number, module] : made) {
    document["delegates"].push_back(DelegateJson(*module.first, module.second, source, index));
  }
  const absl::StatusOr<exir::NamedDataOutput> data = exir::CollectNamedData(programs);
  document["merged_named_data"] =
      data.ok() ? NamedDataJson(*data) : Json{{"error", {{"message", data.status().ToString()}}}};
  return document;
}

Json ModuleDocument(const LoweredBackendModule& module, const std::string& method,
                    const DocumentSource& source) {
  const DelegateIndex none = [](const LoweredBackendModule&) { return int64_t{-1}; };
  Json json = DelegateJson(module, method, source, none);
  json.update(ProgramJson(module.original, source.fqns, none));
  json.erase("constants_owned");  // redundant with `state`
  return ModuleDocument(json, method);
}

Json ModuleDocument(const Json& lowered_module, const std::string& method) {
  Json document = {{"delegates", Json::array({lowered_module})}};
  document["methods"][method] = {{"graphs", Json::object()},
                                 {"signature", Member(lowered_module, "signature")},
                                 {"state", Member(lowered_module, "state")}};
  return document;
}

}  // namespace belay::conformance
