#include "conformance/lowering/case_partitioner.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "absl/strings/escaping.h"
#include "backends/demo/executorch_backends.h"
#include "conformance/lowering/program_json.h"
#include "exir/backend/partitioners/capability_partitioner.h"
#include "exir/backend/partitioners/tag_constants.h"
#include "exir/ir/graph_editor.h"
#include "runtime/core/status_macros.h"

namespace belay::conformance {
namespace {

using exir::Argument;
using exir::ExportedProgram;
using exir::Graph;
using exir::GraphId;
using exir::NodeId;
using exir::PartitionResult;
using NodePlace = std::pair<GraphId, NodeId>;

constexpr std::string_view kNotThere = "expected something that the case names";

absl::Status NotThere(std::string_view what, const Json& entry) {
  return absl::NotFoundError(absl::StrCat(kNotThere, ", ", what, ": ", entry.dump()));
}

std::set<std::string> TextsOf(const Json& list) {
  std::set<std::string> texts;
  for (const Json& text : Elements(list)) texts.insert(Text(text));
  return texts;
}

absl::StatusOr<GraphId> FindGraph(const ExportedProgram& program, const Json& named) {
  for (const auto& [path, id] : PathsOf(program)) {
    if (SplitPath(path) == Elements(Member(named, "graph"))) return id;
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
  for (const Json& entry : Elements(mode)) {
    if (!IsFor(entry, method)) continue;
    bool hit = false;
    int64_t nth = 0;  // of the tensor constants
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

// Operators as PyTorch's partitioner names them: those of the edge dialect after its module, those
// of higher order after theirs. Other names are those of no node: its default "torch.ops.aten.view"
// is that of no edge operator.
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
    for (const Json& fqn : Elements(Member(round_, "no_copy"))) {
      const size_t marked = result.no_copy.size();
      for (size_t i = 0; i < program.signature.inputs.size(); ++i) {
        const bool named = program.signature.inputs[i].target == Text(fqn);
        if (named) result.no_copy.push_back(program.top().inputs()[i]);
      }
      if (result.no_copy.size() == marked) return NotThere("a constant (no_copy)", fqn);
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
      preserved.filter = [least = Member(filter, "value")](const ExportedProgram& p, GraphId graph,
                                                           NodeId node) {
        const std::vector<exir::ValueId> results = p.graphs[graph].node(node).results();
        const exir::TensorMeta* meta =
            results.size() == 1 ? p.graphs[graph].value(results[0]).tensor() : nullptr;
        if (meta == nullptr || meta->rank() == 0) return false;
        const std::optional<int64_t> last = meta->sizes.back().AsInt();
        return last.has_value() && *last >= least;
      };
    }
    return preserved;
  }

 private:
  absl::Status TagNodes(const ExportedProgram& program, PartitionResult& result) const {
    for (const Json& named : Elements(Member(round_, "tags"))) {
      const std::string tag = Text(named, "tag"), op = Text(named, "op");
      // Results, bodies and modules are not nodes in Belay.
      if (!IsFor(named, method_) || op == "getitem" || op == "get_attr") continue;
      if (named.contains("output")) {
        // Nor is what a graph returns: there is no id to tag it by.
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
        // Numbers that are operands are attributes of a body.
        for (const Argument& argument : graph.node(place.second).arguments) {
          if (Member(named, "with_attrs") != true) break;
          exir::ForEachValue(argument, [&](exir::ValueId value) {
            const NodeId producer = graph.value(value).producer;
            if (!producer.valid() || !IsNumberOfBody(graph.node(producer))) return;
            result.nodes.push_back({place.first, producer, tag});
          });
        }
      }
    }
    for (const Json& tag : Elements(Member(round_, "tag_order"))) {
      const Json& spec = Member(Member(round_, "specs"), Text(tag));
      if (spec.is_null()) return NotThere("the specs of a tag", tag);
      if (spec.contains("methods") && !TextsOf(spec["methods"]).contains(method_)) continue;
      ABSL_ASSIGN_OR_RETURN(exir::DelegationSpec delegation, ReadDelegation(spec));
      result.delegation.emplace_back(Text(tag), std::move(delegation));
    }
    return absl::OkStatus();
  }

  // Capability and group partitioning.
  absl::Status TagProposals(const ExportedProgram& program, PartitionResult& result) const {
    std::map<GraphId, std::vector<std::vector<NodeId>>> groups;
    std::set<NodePlace> grouped;
    std::set<std::pair<GraphId, exir::ValueId>> grouped_results;
    for (const Json& group : Elements(Member(round_, "groups"))) {
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
      const bool known = ops_.contains(OpName(n)) && !IsNumberOfBody(n);
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

bool IsErrorOfCase(const absl::Status& status) {
  return FromAbsl(status.message()).find(kNotThere) != std::string_view::npos;
}

absl::StatusOr<exir::DelegationSpec> ReadDelegation(const Json& json) {
  exir::DelegationSpec delegation = {Text(json, "backend_id"), {}};
  for (const Json& spec : Elements(Member(json, "compile_specs"))) {
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
