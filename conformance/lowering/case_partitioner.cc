#include "conformance/lowering/case_partitioner.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_join.h"
#include "backends/demo/founding_backends.h"
#include "conformance/lowering/normal_form.h"
#include "exir/backend/partitioners/capability_partitioner.h"
#include "exir/backend/partitioners/tag_constants.h"
#include "runtime/core/status_macros.h"

namespace belay::conformance {
namespace {

using exir::ExportedProgram;
using exir::Graph;
using exir::GraphId;
using exir::NodeId;
using exir::PartitionResult;

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
  return absl::NotFoundError(
      absl::StrCat("the case names a node that is not there: ", place.Dump()));
}

absl::Status TagConstants(const ExportedProgram& program, const Json& mode,
                          const std::string& method, PartitionResult& result) {
  if (mode.text() == "auto" || mode.text() == "auto+mutated") {
    exir::TagConstantData(program, result);
    if (mode.text() == "auto+mutated") exir::TagMutatedBuffers(program, result);
    return absl::OkStatus();
  }
  for (const Json& entry : mode.array()) {
    if (entry.contains("method") && entry["method"].text() != method) continue;
    bool hit = false;
    for (size_t i = 0; i < program.signature.inputs.size(); ++i) {
      if (program.signature.inputs[i].target != entry["fqn"].text()) continue;
      result.inputs.push_back({program.top().inputs()[i], entry["tag"].text()});
      hit = true;
    }
    if (!hit) {
      return absl::NotFoundError(
          absl::StrCat("the case names a constant that is not there: ", entry.Dump()));
    }
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
      if (tag.contains("method") && tag["method"].text() != method_) continue;
      if (tag.contains("user_input")) {
        int64_t index = tag["user_input"].number();
        for (size_t i = 0; i < program.signature.inputs.size(); ++i) {
          if (exir::NamesTensor(program.signature.inputs[i].kind) || index-- != 0) continue;
          result.inputs.push_back({program.top().inputs()[i], tag["tag"].text()});
        }
        continue;
      }
      // Results are not nodes in Belay.
      if (tag["op"].text() == "getitem") continue;
      ABSL_ASSIGN_OR_RETURN(const auto place, FindNode(program, tag));
      result.nodes.push_back({place.first, place.second, tag["tag"].text()});
    }
    ABSL_RETURN_IF_ERROR(TagConstants(program, round_["constants"], method_, result));
    for (const Json& fqn : round_["no_copy"].array()) {
      for (size_t i = 0; i < program.signature.inputs.size(); ++i) {
        if (program.signature.inputs[i].target == fqn.text()) {
          result.no_copy.push_back(program.top().inputs()[i]);
        }
      }
    }
    if (round_["return_no_tags"] == Json(true)) return result;
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
  const Json round_;
  const std::string method_;
};

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
      for (const Json& op : round_["non_compute_ops"].array()) {
        options.non_compute_ops.push_back(op.text());
      }
      for (const Json& op : round_["allowed_single_node_partition_ops"].array()) {
        options.allowed_single_node_ops.push_back(op.text());
      }
    }
    int64_t base = 0;
    for (const auto& [path, id] : PathsOf(program)) {
      const Graph& graph = program.graphs[id];
      std::vector<std::vector<NodeId>> groups;
      std::set<NodeId> grouped;
      for (const Json& group : round_["groups"].array()) {
        if (group.array().empty() || JoinPath(group.array()[0]["graph"]) != path) continue;
        groups.emplace_back();
        for (const Json& place : group.array()) {
          ABSL_ASSIGN_OR_RETURN(const auto found, FindNode(program, place));
          groups.back().push_back(found.second);
          grouped.insert(found.second);
        }
      }
      const auto supported = [&](NodeId node) {
        return grouped.contains(node) || ops_.contains(OpName(graph.node(node)));
      };
      std::vector<exir::PartitionProposal> proposals;
      if (round_["kind"].text() == "groups") {
        ABSL_ASSIGN_OR_RETURN(proposals, exir::ProposeGroupedPartitions(graph, groups, supported));
      } else {
        proposals = exir::ProposePartitions(graph, supported, options);
      }
      std::map<std::string, int64_t> count;
      std::map<NodeId, Json> place;
      for (NodeId node : graph.nodes()) {
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

 private:
  const Json round_;
  const std::string method_;
  Proposals* const proposals_;
  std::set<std::string> ops_;
};

absl::Status CheckFields(const Json& round, const std::set<std::string>& known) {
  for (const auto& [key, value] : round.object()) {
    if (!known.contains(key)) {
      return absl::InvalidArgumentError(absl::StrCat("unknown field '", key, "' in a round"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

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
  const std::string& kind = round["kind"].text();
  if (kind == "tags") {
    ABSL_RETURN_IF_ERROR(
        CheckFields(round, {"kind", "tags", "constants", "no_copy", "tag_order", "specs", "methods",
                            "tamper", "return_no_tags", "validation_disabled"}));
    if (round.contains("tamper")) {
      return absl::UnimplementedError("a partitioner can't change the graph: it gets a const one");
    }
    for (const Json& tag : round["tags"].array()) {
      if (tag.contains("output")) {
        return absl::UnimplementedError("the outputs are no node that could be tagged");
      }
    }
    return std::make_unique<TagPartitioner>(round, method);
  }
  if (kind == "all_nodes") {
    ABSL_RETURN_IF_ERROR(CheckFields(round, {"kind", "backend_id", "compile_specs"}));
    ABSL_ASSIGN_OR_RETURN(std::vector<exir::CompileSpec> specs,
                          ReadCompileSpecs(round["compile_specs"]));
    return std::make_unique<exir::AllNodePartitioner>(
        exir::DelegationSpec{round["backend_id"].text(), std::move(specs)});
  }
  if (kind == "op_support" || kind == "groups" || kind == "capability") {
    ABSL_RETURN_IF_ERROR(CheckFields(
        round, {"kind", "ops", "groups", "backend_id", "compile_specs", "constants", "tag_prefix",
                "ops_to_not_decompose", "filter", "allows_single_node_partition", "non_compute_ops",
                "allowed_single_node_partition_ops"}));
    return std::make_unique<SupportPartitioner>(round, method, proposals);
  }
  if (kind == "demo") {
    if (round["name"].text() == "AddMulPartitionerDemo") return demo::CreateAddMulPartitionerDemo();
    return absl::UnimplementedError(
        absl::StrCat("there is no demo partitioner ", round["name"].text()));
  }
  return absl::InvalidArgumentError(absl::StrCat("unknown kind of round '", kind, "'"));
}

}  // namespace belay::conformance
