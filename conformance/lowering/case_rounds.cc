#include "conformance/lowering/case_rounds.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "backends/demo/executorch_backends.h"
#include "conformance/lowering/program_json.h"
#include "conformance/lowering/recording_text.h"
#include "exir/backend/delegate_mapping_builder.h"
#include "exir/backend/introspection.h"
#include "exir/backend/named_data_store.h"
#include "exir/backend/partitioners/capability_partitioner.h"
#include "exir/backend/partitioners/tag_constants.h"
#include "exir/backend/to_backend.h"
#include "exir/ir/graph_editor.h"
#include "runtime/core/status_macros.h"

namespace belay::conformance {
namespace {

using exir::Argument;
using exir::DelegateMappingBuilder;
using exir::ExportedProgram;
using exir::Graph;
using exir::GraphId;
using exir::MethodPartitions;
using exir::MethodResults;
using exir::NodeId;
using exir::PartitionResult;
using exir::PreprocessResult;
using Result = absl::StatusOr<PreprocessResult>;
using Specs = absl::Span<const exir::CompileSpec>;

// Compiles one program for a backend. May modify it.
using Compile = std::function<Result(const CaseBackends&, ExportedProgram&, Specs)>;
// Compiles all partitions of one call.
using CompileAll = std::function<absl::StatusOr<MethodResults>(const MethodPartitions&)>;

PreprocessResult Blob(std::string_view text) {
  const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
  return {.processed = exir::Storage::Own({bytes, bytes + text.size()})};
}

std::string SpecOr(Specs specs, std::string_view key, std::string fallback) {
  for (const exir::CompileSpec& spec : specs) {
    if (spec.key == key) return spec.value;
  }
  return fallback;
}

std::vector<std::string> OpsOf(const ExportedProgram& program) {
  std::vector<std::string> ops;
  for (NodeId node : NodesOf(program.top())) ops.push_back(OpName(program.top().node(node)));
  return ops;
}

Result Record(const CaseBackends& backends, ExportedProgram& program, Specs) {
  DelegateMappingBuilder builder(DelegateMappingBuilder::Identifiers::kGenerated);
  for (NodeId node : NodesOf(program.top())) {
    if (program.top().node(node).debug_handle == 0) continue;
    ABSL_RETURN_IF_ERROR(builder.InsertNodes(program.top(), {node}).status());
  }
  PreprocessResult result = Blob(RecordingText(program, backends.fqns));
  result.debug_handle_map = builder.mapping();
  return result;
}

Result NameIds(const CaseBackends&, ExportedProgram& program, Specs) {
  std::vector<std::string> ops;
  std::map<std::string, std::vector<NodeId>> nodes;
  for (NodeId node : NodesOf(program.top())) {
    if (program.top().node(node).debug_handle == 0) continue;
    const std::string op = OpName(program.top().node(node));
    if (nodes[op].empty()) ops.push_back(op);
    nodes[op].push_back(node);
  }
  DelegateMappingBuilder builder;
  for (const auto& [op, all] : nodes) {
    ABSL_RETURN_IF_ERROR(builder.InsertNodes(program.top(), all, "op:" + op).status());
  }
  PreprocessResult result = Blob(absl::StrJoin(ops, ","));
  result.debug_handle_map = builder.mapping();
  return result;
}

Result StoreNamedData(const CaseBackends& backends, ExportedProgram& program, Specs specs) {
  exir::NamedDataStore store;
  std::vector<std::string> keys;
  exir::NamedDataOptions options;
  options.external_tag = SpecOr(specs, "external", "");
  const std::string alignment = SpecOr(specs, "alignment", "1");
  if (!absl::SimpleAtoi(alignment, &options.alignment)) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected a number as alignment, got '", alignment, "'"));
  }
  for (const exir::InputSpec& spec : program.signature.inputs) {
    if (!exir::NamesTensor(spec.kind)) continue;
    const exir::ConstantTensor* tensor = program.FindConstant(spec);
    if (tensor == nullptr) return absl::InternalError("a constant is missing");
    const std::string name = backends.fqns.contains(spec.target) ? spec.target : "lifted";
    keys.push_back(SpecOr(specs, "prefix", "") + SpecOr(specs, "key", name));
    ABSL_ASSIGN_OR_RETURN(exir::Storage bytes, tensor->Dense());
    ABSL_RETURN_IF_ERROR(store.Add(keys.back(), std::move(bytes), options));
  }
  PreprocessResult result = Blob(absl::StrJoin(keys, "\n"));
  result.named_data = store.output();
  return result;
}

Result Reject(const CaseBackends&, ExportedProgram& program, Specs specs) {
  const std::string list = SpecOr(specs, "supported", "");
  const std::set<std::string> supported = absl::StrSplit(list, ',');
  for (const std::string& op : OpsOf(program)) {
    if (supported.contains(op)) continue;
    return absl::UnimplementedError(
        absl::StrCat("call_function ", op, " is not supported in backend RejectingBackend"));
  }
  return Blob("accepted");
}

Result Mutate(const CaseBackends& backends, ExportedProgram& program, Specs) {
  exir::GraphEditor editor(program.top());
  for (NodeId node : program.top().NodeList()) {
    if (OpName(program.top().node(node)) != "aten.add.Tensor") continue;
    editor.SetTarget(node, program.ops->FindText("edge.aten.sub.Tensor"));
  }
  return Blob(RecordingText(program, backends.fqns));
}

Result Nest(const CaseBackends& backends, ExportedProgram& program, Specs specs) {
  const std::string list = SpecOr(specs, "inner_ops", "");
  const std::vector<std::string> ops = absl::StrSplit(list, ',');
  const Json round = {{"kind", "op_support"}, {"ops", ops}, {"backend_id", "RecordingBackend"}};
  Json proposals = Json::array();
  ABSL_ASSIGN_OR_RETURN(const auto partitioner, CreateCasePartitioner(round, "", proposals));
  ABSL_ASSIGN_OR_RETURN(const ExportedProgram inner,
                        exir::ToBackend(program, *partitioner, backends.set()));
  std::string text = "outer";
  for (const auto& [path, graph] : PathsOf(inner)) {
    for (const exir::DelegateCall& call : exir::DelegateCalls(inner, graph)) {
      const auto bytes = call.module->processed.bytes;
      const std::string_view blob(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      absl::StrAppend(&text, "{", blob, "}");
    }
  }
  return Blob(text == "outer" ? "outer{}" : text);
}

// Returns a result for each partition: `text`, then the partition's number.
MethodResults Replies(const MethodPartitions& methods, const std::string& text) {
  MethodResults results;
  for (const auto& [method, partitions] : methods) {
    std::vector<PreprocessResult> replies;
    for (size_t i = 0; i < partitions.size(); ++i) {
      replies.push_back(Blob(absl::StrCat(text, method, ":", i)));
    }
    results.emplace_back(method, std::move(replies));
  }
  return results;
}

absl::StatusOr<MethodResults> CompileTogether(const MethodPartitions& methods) {
  std::vector<std::string> seen;
  for (const auto& [method, partitions] : methods) {
    std::vector<std::string> texts;
    for (const exir::PartitionInput& partition : partitions) {
      std::vector<std::string> specs;
      for (const exir::CompileSpec& spec : partition.compile_specs) {
        specs.push_back(absl::StrCat(spec.key, "=", absl::BytesToHexString(spec.value)));
      }
      texts.push_back(absl::StrCat(absl::StrJoin(OpsOf(partition.program), "+"), "(",
                                   absl::StrJoin(specs, ","), ")"));
    }
    seen.push_back(absl::StrCat(method, "=", absl::StrJoin(texts, ";")));
  }
  return Replies(methods, absl::StrJoin(seen, "|") + "#");
}

absl::StatusOr<MethodResults> Reply(const MethodPartitions& methods) {
  std::string mode;
  for (const auto& [method, partitions] : methods) {
    for (const exir::PartitionInput& partition : partitions) {
      if (mode.empty()) mode = SpecOr(partition.compile_specs, "reply", "");
    }
  }
  MethodResults results = Replies(methods, "");
  if (mode == "missing_method") results.pop_back();
  if (mode == "extra_method") results.push_back({"not_a_method", {1, PreprocessResult()}});
  if (mode == "short_list") results.back().second.pop_back();
  if (mode == "long_list") results.back().second.emplace_back();
  if (mode == "reordered_methods") std::reverse(results.begin(), results.end());
  for (auto& [method, replies] : results) {
    for (PreprocessResult& reply : replies) {
      if (mode == "empty_bytes") reply.processed = exir::Storage();
    }
  }
  // Results are values, so an entry of a list cannot be missing.
  if (mode == "none_entry")
    return absl::UnimplementedError("ReplyBackend: there is no empty result");
  return results;
}

template <class Demo>
Result RunDemo(const CaseBackends&, ExportedProgram& program, Specs specs) {
  return Demo().Preprocess(std::move(program), specs);
}

Compile Always(std::string text) {
  return [text](const CaseBackends&, ExportedProgram&, Specs) { return Blob(text); };
}

class CaseBackend final : public exir::Backend {
 public:
  CaseBackend(std::string id, const CaseBackends& owner, Compile compile, CompileAll compile_all)
      : id_(std::move(id)),
        owner_(owner),
        compile_(std::move(compile)),
        compile_all_(std::move(compile_all)) {}
  std::string_view id() const override { return id_; }
  Result Preprocess(ExportedProgram program, Specs specs) const override {
    ABSL_ASSIGN_OR_RETURN(PreprocessResult result, compile_(owner_, program, specs));
    result.delegate_info = absl::StrCat(owner_.made++);
    return result;
  }
  absl::StatusOr<MethodResults> PreprocessMultimethod(MethodPartitions methods,
                                                      int threads) const override {
    if (compile_all_ == nullptr) {
      return exir::Backend::PreprocessMultimethod(std::move(methods), threads);
    }
    ABSL_ASSIGN_OR_RETURN(MethodResults results, compile_all_(methods));
    // ExecuTorch creates the modules in the order of the reply.
    for (auto& [method, replies] : results) {
      for (PreprocessResult& reply : replies) reply.delegate_info = absl::StrCat(owner_.made++);
    }
    return results;
  }

 private:
  const std::string id_;
  const CaseBackends& owner_;
  const Compile compile_;
  const CompileAll compile_all_;
};

// --- Partitioners ---

using NodePlace = std::pair<GraphId, NodeId>;

constexpr std::string_view kNotThere = "expected something that the case names";

absl::Status NotThere(std::string_view what, const Json& entry) {
  return absl::NotFoundError(absl::StrCat(kNotThere, ", ", what, ": ", entry.dump()));
}

std::set<std::string> TextsOf(const Json& list) {
  std::set<std::string> texts;
  for (const Json& text : list) texts.insert(Text(text));
  return texts;
}

absl::StatusOr<GraphId> FindGraph(const ExportedProgram& program, const Json& named) {
  for (const auto& [path, id] : PathsOf(program)) {
    if (SplitPath(path) == named.value("graph", Json::array())) return id;
  }
  return NotThere("a graph", named);
}

absl::StatusOr<NodePlace> FindNode(const ExportedProgram& program, const Json& named) {
  ABSL_ASSIGN_OR_RETURN(const GraphId id, FindGraph(program, named));
  for (const auto& [node, place] : PlacesOf(program.graphs[id])) {
    if (place["op"] == named["op"] && place["occurrence"] == named["occurrence"]) {
      return NodePlace(id, node);
    }
  }
  return NotThere("a node", named);
}

bool IsFor(const Json& entry, const std::string& method) {
  return method == (entry.contains("method") ? Text(entry, "method") : "forward");
}

absl::Status TagConstants(const ExportedProgram& program, const Json& mode,
                          const std::string& method, PartitionResult& result) {
  if (Text(mode).starts_with("auto")) exir::TagConstantData(program, result);
  if (Text(mode) == "auto+mutated") exir::TagMutatedBuffers(program, result);
  for (const Json& entry : mode) {
    if (mode.is_string() || !IsFor(entry, method)) continue;
    bool hit = false;
    int64_t nth = 0;  // index among the tensor constants
    for (size_t i = 0; i < program.signature.inputs.size(); ++i) {
      const exir::InputSpec& spec = program.signature.inputs[i];
      const bool is_constant = spec.kind == exir::InputKind::kTensorConstant;
      const bool counted = is_constant && Member(entry, "lifted") == nth++;
      const bool named = exir::NamesTensor(spec.kind) && Member(entry, "fqn") == spec.target;
      if (!named && !counted) continue;
      hit = true;
      const exir::ValueId input = program.top().inputs()[i];
      if (entry.contains("tag")) result.inputs.push_back({input, Text(entry, "tag")});
      if (Member(entry, "no_copy") == true) result.no_copy.push_back(input);
    }
    if (!hit) return NotThere("a constant", entry);
  }
  return absl::OkStatus();
}

// Converts the qualified names of PyTorch's partitioner: module prefix and operator for the edge
// dialect, `torch.ops.` for higher-order operators. Other names match no node; its default
// "torch.ops.aten.view" is not the name of an edge operator.
std::vector<std::string> ReadQualifiedNames(const Json& names) {
  constexpr std::string_view kEdge = "executorch.exir.dialects.edge._ops.", kTorch = "torch.ops.";
  std::vector<std::string> ops;
  for (const std::string& name : TextsOf(names)) {
    const std::string op = name.substr(std::min(name.size(), kTorch.size()));
    if (name.starts_with(kEdge)) ops.push_back(name.substr(kEdge.size()));
    const bool higher_order = op.starts_with("higher_order.") || op.starts_with("aten.sym_");
    if (name.starts_with(kTorch) && higher_order) ops.push_back(op);
  }
  return ops;
}

class CasePartitioner final : public exir::Partitioner {
 public:
  CasePartitioner(const Json& round, std::string method, Json& partitions)
      : round_(round),
        method_(std::move(method)),
        partitions_(partitions),
        ops_(TextsOf(Member(round, "ops"))) {}

  absl::StatusOr<PartitionResult> Partition(const ExportedProgram& program) const override {
    PartitionResult result;
    const bool tags = Text(round_, "kind") == "tags";
    ABSL_RETURN_IF_ERROR(tags ? TagNodes(program, result) : TagProposals(program, result));
    ABSL_RETURN_IF_ERROR(TagConstants(program, Member(round_, "constants"), method_, result));
    for (const Json& fqn : Member(round_, "no_copy")) {
      const Json named = {{"fqn", fqn}, {"method", method_}, {"no_copy", true}};
      ABSL_RETURN_IF_ERROR(TagConstants(program, Json::array({named}), method_, result));
    }
    if (round_.contains("tamper")) {
      ABSL_ASSIGN_OR_RETURN(const NodePlace place, FindNode(program, round_["tamper"]));
      ExportedProgram copy = program.Clone();
      exir::GraphEditor(copy.graphs[place.first]).SetOutputs({});
    }
    result.has_delegation = Member(round_, "return_no_tags") != true;
    if (!result.has_delegation) result.delegation.clear();
    return result;
  }

  exir::PreservedOps OpsToNotDecompose(const ExportedProgram& program) const override {
    exir::PreservedOps preserved;
    for (const std::string& name : TextsOf(Member(round_, "ops_to_not_decompose"))) {
      if (const exir::OpOverload* op = program.ops->Find(name)) preserved.ops.push_back(op);
    }
    const Json& filter = Member(round_, "filter");
    if (Text(filter, "kind") == "bias_present") {
      preserved.filter = [](const ExportedProgram& p, GraphId graph, NodeId node) {
        const std::vector<Argument>& arguments = p.graphs[graph].node(node).arguments;
        return arguments.size() > 2 && !arguments[2].is_none();
      };
    } else if (Text(filter, "kind") == "last_dim_at_least") {
      preserved.filter = [least = filter.value("value", int64_t{0})](const ExportedProgram& p,
                                                                     GraphId graph, NodeId node) {
        const std::vector<exir::ValueId> results = p.graphs[graph].node(node).results();
        const exir::TensorMeta* meta =
            results.size() == 1 ? p.graphs[graph].value(results[0]).tensor() : nullptr;
        return meta != nullptr && meta->rank() > 0 && meta->sizes.back().AsInt() >= least;
      };
    }
    return preserved;
  }

 private:
  absl::Status TagNodes(const ExportedProgram& program, PartitionResult& result) const {
    for (const Json& named : Member(round_, "tags")) {
      const std::string tag = Text(named, "tag"), op = Text(named, "op");
      // In Belay, results, subgraphs and modules are not nodes.
      if (!IsFor(named, method_) || op == "getitem" || op == "get_attr") continue;
      if (named.contains("output")) {
        // Graph outputs are not nodes either and have no id to tag.
        result.nodes.push_back({ExportedProgram::kTop, NodeId(), tag});
      } else if (named.contains("user_input")) {
        int64_t index = named["user_input"].get<int64_t>();
        for (size_t i = 0; i < program.signature.inputs.size(); ++i) {
          if (exir::NamesTensor(program.signature.inputs[i].kind) || index-- != 0) continue;
          result.inputs.push_back({program.top().inputs()[i], tag});
        }
        if (index >= 0) return NotThere("a user input", named);
      } else {
        ABSL_ASSIGN_OR_RETURN(const NodePlace place, FindNode(program, named));
        result.nodes.push_back({place.first, place.second, tag});
        const Graph& graph = program.graphs[place.first];
        // Scalar operands are attributes of a subgraph.
        for (const Argument& argument : graph.node(place.second).arguments) {
          if (Member(named, "with_attrs") != true) break;
          exir::ForEachValue(argument, [&](exir::ValueId value) {
            const NodeId producer = graph.value(value).producer;
            if (!producer.valid() || !IsSubgraphScalar(graph.node(producer))) return;
            result.nodes.push_back({place.first, producer, tag});
          });
        }
      }
    }
    for (const Json& tag : Member(round_, "tag_order")) {
      const Json& spec = Member(Member(round_, "specs"), Text(tag));
      if (spec.is_null()) return NotThere("the specs of a tag", tag);
      if (spec.contains("methods") && !TextsOf(spec["methods"]).contains(method_)) continue;
      ABSL_ASSIGN_OR_RETURN(exir::DelegationSpec delegation, ReadDelegation(spec));
      result.delegation.emplace_back(Text(tag), std::move(delegation));
    }
    return absl::OkStatus();
  }

  // Tags the proposals of capability and group partitioning.
  absl::Status TagProposals(const ExportedProgram& program, PartitionResult& result) const {
    std::map<GraphId, std::vector<std::vector<NodeId>>> groups;
    std::set<NodePlace> grouped;
    std::set<std::pair<GraphId, exir::ValueId>> grouped_results;
    for (const Json& group : Member(round_, "groups")) {
      std::vector<NodeId> nodes;
      GraphId graph;
      for (const Json& named : group) {
        ABSL_ASSIGN_OR_RETURN(graph, FindGraph(program, named));
        if (Text(named, "op") == "getitem") {
          const std::vector<exir::ValueId> getitems = exir::TakenResults(program.graphs[graph]);
          const auto nth = named["occurrence"].get<size_t>();
          if (nth < getitems.size()) grouped_results.emplace(graph, getitems[nth]);
          continue;
        }
        ABSL_ASSIGN_OR_RETURN(const NodePlace place, FindNode(program, named));
        nodes.push_back(place.second);
        grouped.insert(place);
      }
      groups[graph].push_back(std::move(nodes));
    }
    const std::string kind = Text(round_, "kind");
    exir::CapabilityPartitionerOptions options;
    GraphId current;
    const auto support = [&](const ExportedProgram& p, GraphId graph, NodeId node) -> std::string {
      current = graph;
      const exir::Node& n = p.graphs[graph].node(node);
      const bool known = ops_.contains(OpName(n)) && !IsSubgraphScalar(n);
      return known || grouped.contains({graph, node}) ? "" : "not supported";
    };
    options.proposal.supports_result = [&](exir::ValueId value) {
      return ops_.contains("getitem") || grouped_results.contains({current, value});
    };
    if (kind == "groups") {
      options.groups = [&](const ExportedProgram&, GraphId graph) { return groups[graph]; };
    } else if (kind == "capability") {
      options.proposal.allow_single_node = Member(round_, "allows_single_node_partition") == true;
      options.proposal.non_compute_ops = ReadQualifiedNames(Member(round_, "non_compute_ops"));
      options.proposal.allowed_single_node_ops =
          ReadQualifiedNames(Member(round_, "allowed_single_node_partition_ops"));
    }
    if (round_.contains("tag_prefix")) options.tag_prefix = Text(round_, "tag_prefix");
    options.tag_constants = false;
    ABSL_ASSIGN_OR_RETURN(exir::DelegationSpec delegation, ReadDelegation(round_));
    const exir::CapabilityPartitioner partitioner(std::move(delegation), support, options);
    ABSL_ASSIGN_OR_RETURN(result, partitioner.Partition(program));
    std::map<NodePlace, std::string> tags;
    for (const auto& [graph, node, tag] : result.nodes) tags[{graph, node}] = tag;
    std::map<std::string, Json> proposals;
    for (const auto& [path, graph] : PathsOf(program)) {
      for (const auto& [node, place] : PlacesOf(program.graphs[graph])) {
        const auto tag = tags.find({graph, node});
        if (tag == tags.end()) continue;
        Json& proposal = proposals[tag->second];
        proposal.update({{"method", method_}, {"graph", SplitPath(path)}, {"tag", tag->second}});
        proposal["nodes"].push_back(place);
      }
    }
    for (const auto& [tag, proposal] : proposals) partitions_.push_back(proposal);
    return absl::OkStatus();
  }

  const Json round_;
  const std::string method_;
  Json& partitions_;
  const std::set<std::string> ops_;
};

}  // namespace

CaseBackends::CaseBackends() {
  const auto add = [&](std::string id, Compile compile, CompileAll compile_all = nullptr) {
    backends_.push_back(std::make_unique<CaseBackend>(std::move(id), *this, std::move(compile),
                                                      std::move(compile_all)));
    ABSL_CHECK(set_.Add(backends_.back().get()).ok());
  };
  add("RecordingBackend", Record);
  add("NamedIdBackend", NameIds);
  add("EchoBackend", Always("whole"), [](const MethodPartitions& m) { return Replies(m, ""); });
  add("PreprocessAllBackend", Always("single"), CompileTogether);
  add("OtherPreprocessAllBackend", Always("single"), CompileTogether);
  add("NamedDataBackend", StoreNamedData);
  add("FailingBackend", [](const CaseBackends&, ExportedProgram&, Specs) -> Result {
    return absl::InternalError("FailingBackend: cannot compile this program");
  });
  add("RejectingBackend", Reject);
  add("MutatingBackend", Mutate);
  add("NestingBackend", Nest);
  add("ReplyBackend", Always("single"), Reply);
  add("BackendWithCompilerDemo", RunDemo<demo::CompilerDemoBackend>);
  add("BackendWithDelegateMappingDemo", RunDemo<demo::DelegateMappingDemoBackend>);
}

bool IsErrorOfCase(const absl::Status& status) {
  return FromAbsl(status.message()).find(kNotThere) != std::string_view::npos;
}

absl::StatusOr<exir::DelegationSpec> ReadDelegation(const Json& json) {
  exir::DelegationSpec delegation = {Text(json, "backend_id"), {}};
  for (const Json& spec : Member(json, "compile_specs")) {
    delegation.compile_specs.push_back({Text(spec, "key"), ""});
    const std::string base64 = Text(spec, "value_base64");
    if (!absl::Base64Unescape(base64, &delegation.compile_specs.back().value)) {
      return absl::InvalidArgumentError(absl::StrCat("expected base64, got ", base64));
    }
  }
  return delegation;
}

absl::StatusOr<std::unique_ptr<exir::Partitioner>> CreateCasePartitioner(const Json& round,
                                                                         const std::string& method,
                                                                         Json& partitions) {
  const std::string kind = Text(round, "kind"), name = Text(round, "name");
  if (kind == "demo" && name == "AddMulPartitionerDemo") return demo::CreateAddMulPartitionerDemo();
  if (kind == "demo") return NotThere("a demo partitioner", round);
  if (kind != "all_nodes") return std::make_unique<CasePartitioner>(round, method, partitions);
  ABSL_ASSIGN_OR_RETURN(exir::DelegationSpec delegation, ReadDelegation(round));
  return std::make_unique<exir::AllNodePartitioner>(std::move(delegation));
}

}  // namespace belay::conformance
