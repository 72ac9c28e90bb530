#include "conformance/lowering/case_partitioner.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_join.h"
#include "backends/demo/executorch_backends.h"
#include "conformance/lowering/case_format.h"
#include "conformance/lowering/normal_form.h"
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

constexpr std::string_view kNotThere = "the case names something that is not there";

absl::Status NotThere(std::string_view what, const Json& entry) {
  return absl::NotFoundError(absl::StrCat(kNotThere, ": ", what, ": ", entry.Dump()));
}

std::string JoinPath(const Json& path) {
  std::vector<std::string> parts;
  for (const Json& part : path.array()) parts.push_back(part.text());
  return absl::StrJoin(parts, ">");
}

Json SplitPath(const std::string& path) {
  Json::Array parts;
  for (size_t start = 0; start < path.size();) {
    const size_t end = std::min(path.find('>', start), path.size());
    parts.push_back(path.substr(start, end - start));
    start = end + 1;
  }
  return parts;
}

absl::StatusOr<std::pair<GraphId, NodeId>> FindNode(const ExportedProgram& program,
                                                    const Json& place) {
  const std::string wanted = JoinPath(place["graph"]);
  for (const auto& [path, id] : PathsOf(program)) {
    if (path != wanted) continue;
    const NodeId node =
        FindOccurrence(program.graphs[id], place["op"].text(), place["occurrence"].number());
    if (node.valid()) return std::pair(id, node);
  }
  return NotThere("a node", place);
}

// The method that an entry of a case is about.
bool IsFor(const Json& entry, const std::string& method) {
  return method == (entry.contains("method") ? entry["method"].text() : "forward");
}

absl::Status TagConstants(const ExportedProgram& program, const Json& mode,
                          const std::string& method, PartitionResult& result) {
  if (mode.text() == "auto" || mode.text() == "auto+mutated") {
    exir::TagConstantData(program, result);
    if (mode.text() == "auto+mutated") exir::TagMutatedBuffers(program, result);
    return absl::OkStatus();
  }
  for (const Json& entry : mode.array()) {
    if (!IsFor(entry, method)) continue;
    bool hit = false;
    int64_t nth = 0;  // of the tensor constants
    for (size_t i = 0; i < program.signature.inputs.size(); ++i) {
      const exir::InputSpec& spec = program.signature.inputs[i];
      const bool is_constant = spec.kind == exir::InputKind::kTensorConstant;
      const int64_t own = is_constant ? nth++ : -1;
      const bool named = entry.contains("fqn") && spec.target == entry["fqn"].text();
      const bool counted =
          entry.contains("lifted") && is_constant && own == entry["lifted"].number();
      if (!exir::NamesTensor(spec.kind) || !(named || counted)) continue;
      const exir::ValueId input = program.top().inputs()[i];
      if (entry.contains("tag")) result.inputs.push_back({input, entry["tag"].text()});
      if (entry["no_copy"] == Json(true)) result.no_copy.push_back(input);
      hit = true;
    }
    if (!hit) {
      return NotThere("a constant", entry);
    }
  }
  return absl::OkStatus();
}

Argument ToArgument(const Json& value) {
  if (const bool* v = value.get_if<bool>()) return *v;
  if (const int64_t* v = value.get_if<int64_t>()) return *v;
  if (const double* v = value.get_if<double>()) return *v;
  if (const std::string* v = value.get_if<std::string>()) return *v;
  if (const auto* v = value.get_if<Json::Array>()) {
    Argument::List list;
    for (const Json& element : *v) list.push_back(ToArgument(element));
    return list;
  }
  return Argument();
}

// What the case's partitioner does to the graph.
absl::Status Tamper(const Json& tamper, ExportedProgram& program) {
  const std::string& action = tamper["action"].text();
  ABSL_ASSIGN_OR_RETURN(const auto place, FindNode(program, tamper));
  Graph& graph = program.graphs[place.first];
  const NodeId node = place.second;
  exir::GraphEditor editor(graph);
  std::vector<Argument> arguments = graph.node(node).arguments;
  if (action == "retarget") {
    editor.SetTarget(node, program.ops->FindText("edge.aten.sub.Tensor"));
  } else if (action == "literal" &&
             tamper["arg"].number() < static_cast<int64_t>(arguments.size())) {
    editor.SetArgument(node, static_cast<size_t>(tamper["arg"].number()),
                       ToArgument(tamper["value"]));
  } else if (action == "kwarg" && graph.node(node).target->schema() != nullptr) {
    for (const auto& [name, value] : tamper["value"].object()) {
      const std::optional<int> i = graph.node(node).target->schema()->ArgumentIndex(name);
      if (!i.has_value()) return absl::NotFoundError(absl::StrCat("no argument '", name, "'"));
      editor.SetArgument(node, static_cast<size_t>(*i), ToArgument(value));
    }
  } else if (action == "swap_args" && arguments.size() >= 2) {
    std::swap(arguments[0], arguments[1]);
    editor.SetArguments(node, std::move(arguments));
  } else if (action == "add_dead_node") {
    const exir::Node& original = graph.node(node);
    editor.InsertOp(graph.next(node),
                    {.name = original.name, .target = original.target, .arguments = arguments},
                    graph.value(original.results().at(0)).type);
  } else if (action == "rewire_output") {
    editor.SetOutputs({Argument(graph.node(node).results().at(0))});
    program.signature.outputs.resize(1);
  } else if (action == "move_before") {
    const Json other = Json::Object{{"graph", tamper["graph"]},
                                    {"op", tamper["before_op"]},
                                    {"occurrence", tamper["before_occurrence"]}};
    ABSL_ASSIGN_OR_RETURN(const auto before, FindNode(program, other));
    editor.MoveBefore(node, before.second);
  } else if (action == "meta") {
    editor.SetDebugHandle(node, graph.node(node).debug_handle + 1);
  } else {
    return absl::InvalidArgumentError(absl::StrCat("unknown tampering ", tamper.Dump()));
  }
  return absl::OkStatus();
}

class TagPartitioner final : public exir::Partitioner {
 public:
  TagPartitioner(const Json& round, std::string method)
      : round_(round), method_(std::move(method)) {}

  absl::StatusOr<PartitionResult> Partition(const ExportedProgram& program) const override {
    PartitionResult result;
    for (const Json& tag : round_["tags"].array()) {
      if (!IsFor(tag, method_)) continue;
      if (tag["output"] == Json(true)) {
        // What a graph returns is no node in Belay: there is no id to tag it by.
        result.nodes.push_back({ExportedProgram::kTop, NodeId(), tag["tag"].text()});
        continue;
      }
      if (tag.contains("user_input")) {
        int64_t index = tag["user_input"].number();
        const size_t tagged = result.inputs.size();
        for (size_t i = 0; i < program.signature.inputs.size(); ++i) {
          if (exir::NamesTensor(program.signature.inputs[i].kind) || index-- != 0) continue;
          result.inputs.push_back({program.top().inputs()[i], tag["tag"].text()});
        }
        if (result.inputs.size() == tagged) return NotThere("a user input", tag);
        continue;
      }
      // Results, bodies and modules are not nodes in Belay.
      if (tag["op"].text() == "getitem" || tag["op"].text() == "get_attr") continue;
      ABSL_ASSIGN_OR_RETURN(const auto place, FindNode(program, tag));
      result.nodes.push_back({place.first, place.second, tag["tag"].text()});
      if (tag["with_attrs"] == Json(true)) {
        TagNumbers(program.graphs[place.first], place, tag["tag"].text(), result);
      }
    }
    ABSL_RETURN_IF_ERROR(TagConstants(program, round_["constants"], method_, result));
    for (const Json& fqn : round_["no_copy"].array()) {
      const size_t marked = result.no_copy.size();
      for (size_t i = 0; i < program.signature.inputs.size(); ++i) {
        if (program.signature.inputs[i].target == fqn.text()) {
          result.no_copy.push_back(program.top().inputs()[i]);
        }
      }
      if (result.no_copy.size() == marked) return NotThere("a constant (no_copy)", fqn);
    }
    if (round_.contains("tamper")) {
      // All that it can change is a copy.
      ExportedProgram copy = program.Clone();
      ABSL_RETURN_IF_ERROR(Tamper(round_["tamper"], copy));
    }
    if (round_["return_no_tags"] == Json(true)) {
      result.has_delegation = false;
      return result;
    }
    for (const Json& tag : round_["tag_order"].array()) {
      const Json& spec = round_["specs"][tag.text()];
      if (spec.contains("methods")) {
        const Json::Array& methods = spec["methods"].array();
        if (std::find(methods.begin(), methods.end(), Json(method_)) == methods.end()) continue;
      }
      ABSL_ASSIGN_OR_RETURN(std::vector<exir::CompileSpec> specs,
                            ReadCompileSpecs(spec["compile_specs"]));
      result.delegation.emplace_back(
          tag.text(), exir::DelegationSpec{spec["backend_id"].text(), std::move(specs)});
    }
    return result;
  }

 private:
  // The numbers that are operands of the node: attributes of its body.
  static void TagNumbers(const Graph& graph, const std::pair<GraphId, NodeId>& place,
                         const std::string& tag, PartitionResult& result) {
    for (const Argument& argument : graph.node(place.second).arguments) {
      exir::ForEachValue(argument, [&](exir::ValueId value) {
        const NodeId producer = graph.value(value).producer;
        if (producer.valid() && IsNumberOfBody(graph.node(producer))) {
          result.nodes.push_back({place.first, producer, tag});
        }
      });
    }
  }

  const Json round_;
  const std::string method_;
};

// Operators as PyTorch's partitioner names them: those of the edge dialect after its module, those
// of higher order after theirs. Other names are those of no node: its default "torch.ops.aten.view"
// is that of no edge operator.
std::vector<std::string> ReadQualifiedNames(const Json& names) {
  constexpr std::string_view kEdge = "executorch.exir.dialects.edge._ops.", kTorch = "torch.ops.";
  std::vector<std::string> ops;
  for (const Json& name : names.array()) {
    std::string_view op = name.text();
    if (op.starts_with(kEdge)) {
      ops.emplace_back(op.substr(kEdge.size()));
    } else if (op.starts_with(kTorch)) {
      op.remove_prefix(kTorch.size());
      if (op.starts_with("higher_order.") || op.starts_with("aten.sym_")) ops.emplace_back(op);
    }
  }
  return ops;
}

// Capability and group partitioning, the graphs depth first.
class SupportPartitioner final : public exir::Partitioner {
 public:
  SupportPartitioner(const Json& round, std::string method, Proposals* proposals)
      : round_(round), method_(std::move(method)), proposals_(proposals) {
    for (const Json& op : round["ops"].array()) ops_.insert(op.text());
  }

  absl::StatusOr<PartitionResult> Partition(const ExportedProgram& program) const override {
    PartitionResult result;
    ABSL_ASSIGN_OR_RETURN(const std::vector<exir::CompileSpec> specs,
                          ReadCompileSpecs(round_["compile_specs"]));
    const std::string prefix = round_.contains("tag_prefix") ? round_["tag_prefix"].text() : "tag";
    exir::ProposalOptions options;
    if (round_["kind"].text() == "capability") {
      options.allow_single_node = round_["allows_single_node_partition"] == Json(true);
      options.non_compute_ops = ReadQualifiedNames(round_["non_compute_ops"]);
      options.allowed_single_node_ops =
          ReadQualifiedNames(round_["allowed_single_node_partition_ops"]);
    }
    int64_t base = 0;
    for (const auto& [path, id] : PathsOf(program)) {
      const Graph& graph = program.graphs[id];
      std::vector<std::vector<NodeId>> groups;
      std::set<NodeId> grouped;
      const std::vector<exir::ValueId> getitems = exir::TakenResults(graph);
      std::set<exir::ValueId> grouped_results;
      for (const Json& group : round_["groups"].array()) {
        if (group.array().empty() || JoinPath(group.array()[0]["graph"]) != path) continue;
        groups.emplace_back();
        for (const Json& place : group.array()) {
          if (place["op"].text() == "getitem") {
            const auto nth = static_cast<size_t>(place["occurrence"].number());
            if (nth < getitems.size()) grouped_results.insert(getitems[nth]);
            continue;
          }
          ABSL_ASSIGN_OR_RETURN(const auto found, FindNode(program, place));
          groups.back().push_back(found.second);
          grouped.insert(found.second);
        }
      }
      const auto supported = [&](NodeId node) {
        return grouped.contains(node) ||
               (ops_.contains(OpName(graph.node(node))) && !IsNumberOfBody(graph.node(node)));
      };
      options.supports_result = [&](exir::ValueId value) {
        return ops_.contains("getitem") || grouped_results.contains(value);
      };
      std::vector<exir::PartitionProposal> proposals;
      if (round_["kind"].text() == "groups") {
        ABSL_ASSIGN_OR_RETURN(proposals,
                              exir::ProposeGroupedPartitions(graph, groups, supported, options));
      } else {
        proposals = exir::ProposePartitions(graph, supported, options);
      }
      std::map<std::string, int64_t> count;
      std::map<NodeId, Json> place;
      for (NodeId node : NodesOf(graph)) {
        const std::string op = OpName(graph.node(node));
        place[node] = Json::Object{{"op", op}, {"occurrence", count[op]++}};
      }
      int64_t next = base;
      for (const exir::PartitionProposal& proposal : proposals) {
        const std::string tag = absl::StrCat(prefix, base + proposal.id);
        next = std::max(next, base + proposal.id + 1);
        Json::Array nodes;
        for (NodeId node : proposal.nodes) {
          result.nodes.push_back({id, node, tag});
          nodes.push_back(place[node]);
        }
        result.delegation.emplace_back(tag,
                                       exir::DelegationSpec{round_["backend_id"].text(), specs});
        proposals_->push_back(Json::Object{{"method", method_},
                                           {"graph", SplitPath(path)},
                                           {"tag", tag},
                                           {"nodes", std::move(nodes)}});
      }
      base = next;
    }
    ABSL_RETURN_IF_ERROR(TagConstants(program, round_["constants"], method_, result));
    return result;
  }

  exir::PreservedOps OpsToNotDecompose(const ExportedProgram& program) const override {
    exir::PreservedOps preserved;
    for (const Json& name : round_["ops_to_not_decompose"].array()) {
      if (const exir::OpOverload* op = program.ops->Find(name.text())) preserved.ops.push_back(op);
    }
    const Json& filter = round_["filter"];
    if (filter["kind"].text() == "bias_present") {
      preserved.filter = [](const ExportedProgram& p, GraphId graph, NodeId node) {
        const std::vector<Argument>& arguments = p.graphs[graph].node(node).arguments;
        return arguments.size() > 2 && !arguments[2].is_none();
      };
    } else if (filter["kind"].text() == "last_dim_at_least") {
      preserved.filter = [least = filter["value"].number()](const ExportedProgram& p, GraphId graph,
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
  const Json round_;
  const std::string method_;
  Proposals* const proposals_;
  std::set<std::string> ops_;
};

}  // namespace

bool IsErrorOfCase(const absl::Status& status) {
  return FromAbsl(status.message()).find(kNotThere) != std::string_view::npos;
}

absl::StatusOr<std::vector<exir::CompileSpec>> ReadCompileSpecs(const Json& list) {
  std::vector<exir::CompileSpec> specs;
  for (const Json& entry : list.array()) {
    std::string value;
    if (!absl::Base64Unescape(entry["value_base64"].text(), &value)) {
      return absl::InvalidArgumentError("a compile spec is not base64");
    }
    specs.push_back({entry["key"].text(), value});
  }
  return specs;
}

absl::StatusOr<std::unique_ptr<exir::Partitioner>> CreateCasePartitioner(const Json& round,
                                                                         const std::string& method,
                                                                         Proposals* proposals) {
  ABSL_RETURN_IF_ERROR(CheckRoundFormat(round));
  const std::string& kind = round["kind"].text();
  if (kind == "tags") return std::make_unique<TagPartitioner>(round, method);
  if (kind == "all_nodes") {
    ABSL_ASSIGN_OR_RETURN(std::vector<exir::CompileSpec> specs,
                          ReadCompileSpecs(round["compile_specs"]));
    return std::make_unique<exir::AllNodePartitioner>(
        exir::DelegationSpec{round["backend_id"].text(), std::move(specs)});
  }
  if (kind == "op_support" || kind == "groups" || kind == "capability") {
    return std::make_unique<SupportPartitioner>(round, method, proposals);
  }
  if (kind == "demo") {
    if (round["name"].text() == "AddMulPartitionerDemo") return demo::CreateAddMulPartitionerDemo();
    return absl::NotFoundError(absl::StrCat("there is no demo partitioner ", round["name"].text()));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("a round of kind '", kind, "' has no partitioner"));
}

}  // namespace belay::conformance
