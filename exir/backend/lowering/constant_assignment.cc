#include "exir/backend/lowering/constant_assignment.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "exir/ir/subgraph_operands.h"
#include "exir/ir/text.h"
#include "runtime/core/status_macros.h"

namespace belay::exir {
namespace {

constexpr int32_t kHost = -1;

// The users of an input, partitions or the host, in the order of their first uses.
struct UserGroup {
  int32_t partition;
  NodeId first;  // invalid: the graph's outputs
};

class Assigner {
 public:
  Assigner(const ExportedProgram& program, const PartitionResult& answer,
           const StateElsewhere& elsewhere, bool validate, MethodPlan& plan,
           std::vector<std::string>* notes)
      : program_(program),
        graph_(program.top()),
        answer_(answer),
        elsewhere_(elsewhere),
        validate_(validate),
        plan_(plan),
        top_(plan.graphs[0]),
        notes_(notes),
        positions_(graph_.Positions()) {
    for (size_t i = 0; i < graph_.inputs().size(); ++i) input_index_[graph_.inputs()[i]] = i;
    for (const Argument& output : graph_.outputs()) {
      ForEachValue(output, [this](ValueId value) { returned_.insert(value); });
    }
    for (size_t p = 0; p < top_.partitions.size(); ++p) {
      partition_of_tag_.emplace(top_.partitions[p].tag, static_cast<int32_t>(p));
    }
    const std::vector<OutputSpec>& outputs = program.signature.outputs;
    for (size_t k = 0; k < outputs.size(); ++k) {
      if (IsStateMutation(outputs[k].kind)) mutated_by_[outputs[k].target] = k;
    }
    for (GraphPlan& graph_plan : plan.graphs) {
      graph_plan.input_moves.assign(program.graphs[graph_plan.graph].inputs().size(), false);
    }
    plan.output_moves.assign(graph_.outputs().size(), false);
    owners_.resize(graph_.inputs().size());
  }

  absl::Status Run() {
    ABSL_RETURN_IF_ERROR(ReadTags());
    AssignInSubgraphs();
    for (size_t i = 0; i < tags_.size(); ++i) {
      if (tags_[i] == nullptr) {
        if (OnlySubgraphsUse(i)) top_.input_moves[i] = true;
        continue;
      }
      if (no_copy_.contains(i)) ABSL_RETURN_IF_ERROR(CheckNotCopied(i));
      const InputSpec& spec = program_.signature.inputs[i];
      if (mutated_by_.contains(spec.target)) continue;
      const auto written = elsewhere_.written.find(spec.target);
      if (written != elsewhere_.written.end() && spec.kind != InputKind::kTensorConstant) {
        Note(absl::StrCat("%", NameOf(i), " is tagged '", *tags_[i], "', but method '",
                          written->second, "' writes to '", spec.target,
                          "'; it is not delegated but passed as an argument"));
        continue;
      }
      AssignImmutable(i);
    }
    AssignMutated();
    for (size_t i = 0; i < owners_.size(); ++i) {
      for (size_t k = 0; k < owners_[i].size(); ++k) {
        const auto& [partition, name] = owners_[i][k];
        top_.partitions[partition].constants.push_back({i, graph_.inputs()[i], name});
      }
    }
    for (Partition& partition : top_.partitions) {
      std::sort(partition.mutations.begin(), partition.mutations.end(),
                [&](const OwnedMutation& a, const OwnedMutation& b) {
                  return a.value != b.value ? DefinedBefore(a.value, b.value) : a.output < b.output;
                });
    }
    return absl::OkStatus();
  }

 private:
  const std::string& NameOf(size_t input) const {
    return graph_.value(graph_.inputs()[input]).name;
  }
  void Note(std::string text) {
    if (notes_ != nullptr) notes_->push_back(std::move(text));
  }

  // --- Tags ---

  absl::Status ReadTags() {
    tags_.assign(graph_.inputs().size(), nullptr);
    absl::flat_hash_set<std::string_view> known;
    for (const auto& [tag, delegation] : answer_.delegation) known.insert(tag);
    for (const PartitionResult::InputTag& tagged : answer_.inputs) {
      if (tagged.graph != ExportedProgram::kTop) {
        ABSL_RETURN_IF_ERROR(ReadSubgraphTag(tagged, known));
        continue;
      }
      const auto it = input_index_.find(tagged.input);
      if (it == input_index_.end()) {
        return absl::InvalidArgumentError(absl::StrCat("tag '", tagged.tag, "' is on value ",
                                                       tagged.input.index(),
                                                       ", which is not an input of the top graph"));
      }
      const size_t i = it->second;
      if (!known.contains(tagged.tag) && !(validate_ && tagged.tag.empty())) {
        Note(absl::StrCat("%", NameOf(i), " has tag '", tagged.tag,
                          "', which is not in the map from tags to backends; it is not delegated"));
        continue;
      }
      if (!NamesTensor(program_.signature.inputs[i].kind)) {
        return absl::InvalidArgumentError(absl::StrCat(
            "placeholder node for non-params, non-buffer, and non-tensor constants should not be "
            "tagged: ",
            NameOf(i), ", a ", InputKindName(program_.signature.inputs[i].kind), ", has tag '",
            tagged.tag, "'"));
      }
      if (validate_ && tagged.tag.empty()) {
        return absl::InvalidArgumentError(
            absl::StrCat("the tag of constant %", NameOf(i), " is empty"));
      }
      if (tags_[i] != nullptr && *tags_[i] != tagged.tag) {
        return absl::InvalidArgumentError(absl::StrCat(
            "constant %", NameOf(i), " is tagged twice: '", *tags_[i], "' and '", tagged.tag, "'"));
      }
      tags_[i] = &tagged.tag;
    }
    for (ValueId value : answer_.no_copy) {
      const auto it = input_index_.find(value);
      if (it == input_index_.end()) {
        return absl::InvalidArgumentError(absl::StrCat("no_copy is on value ", value.index(),
                                                       ", which is not an input of the top graph"));
      }
      no_copy_.insert(it->second);
    }
    return absl::OkStatus();
  }

  absl::Status ReadSubgraphTag(const PartitionResult::InputTag& tagged,
                               const absl::flat_hash_set<std::string_view>& known) {
    if (!known.contains(tagged.tag)) return absl::OkStatus();
    if (constants_.empty()) constants_ = FindConstantSubgraphInputs(program_);
    if (program_.graphs.contains(tagged.graph)) {
      const Graph& graph = program_.graphs[tagged.graph];
      const auto inputs = graph.inputs();
      const auto found = std::find(inputs.begin(), inputs.end(), tagged.input);
      if (found != inputs.end() &&
          constants_[tagged.graph.index()][found - inputs.begin()].has_value()) {
        subgraph_tags_.insert({tagged.graph, tagged.input});
        return absl::OkStatus();
      }
    }
    return absl::InvalidArgumentError(absl::StrCat(
        "tag '", tagged.tag, "' is on value ", tagged.input.index(), " of graph ",
        tagged.graph.index(), ", expected an input that is the same constant in every call"));
  }

  // --- Subgraphs ---

  // How the program uses an input of a subgraph.
  enum class Uses : uint8_t { kOther, kNone, kMoved };

  // In reverse order, so that the moves in subgraphs are known before those of their users.
  void AssignInSubgraphs() {
    if (subgraph_tags_.empty()) return;
    absl::flat_hash_map<GraphId, size_t> plan_of;
    for (size_t g = 0; g < plan_.graphs.size(); ++g) plan_of[plan_.graphs[g].graph] = g;
    std::vector<std::vector<Uses>> uses(plan_.graphs.size());  // by input
    for (size_t g = plan_.graphs.size(); g-- > 0;) {
      GraphPlan& plan = plan_.graphs[g];
      const Graph& graph = program_.graphs[plan.graph];
      for (const PlanUnit& unit : plan.order) {
        if (unit.partition >= 0) continue;
        for (const SubgraphOperand& operand : SubgraphOperands(graph.node(unit.node))) {
          bool all = true, any = false;
          for (const auto& [inner, input] : operand.inputs) {
            const Uses found = uses[plan_of.at(inner)][input];
            all = all && found != Uses::kOther;
            any = any || found == Uses::kMoved;
          }
          if (!all || !any) continue;
          plan.operand_moves.insert({unit.node, operand.argument, operand.element});
          for (const auto& [inner, input] : operand.inputs) {
            plan_.graphs[plan_of.at(inner)].input_moves[input] = true;
          }
        }
      }
      if (g > 0) uses[g] = AssignInSubgraph(plan);
    }
  }

  // Assigns the subgraph's constants to its partitions.
  std::vector<Uses> AssignInSubgraph(GraphPlan& plan) {
    const Graph& graph = program_.graphs[plan.graph];
    absl::flat_hash_set<ValueId> returned;
    for (const Argument& output : graph.outputs()) {
      ForEachValue(output, [&](ValueId value) { returned.insert(value); });
    }
    std::vector<Uses> uses(graph.inputs().size(), Uses::kOther);
    for (size_t k = 0; k < graph.inputs().size(); ++k) {
      const ValueId value = graph.inputs()[k];
      const std::optional<size_t> constant = constants_[plan.graph.index()][k];
      if (!constant.has_value()) continue;
      const InputSpec& spec = program_.signature.inputs[*constant];
      const bool tagged = subgraph_tags_.contains({plan.graph, value});
      if (no_copy_.contains(*constant) ||
          (spec.kind != InputKind::kTensorConstant && elsewhere_.written.contains(spec.target))) {
        if (tagged) {
          Note(absl::StrCat("%", graph.value(value).name, " of subgraph '", graph.name(),
                            "' is tagged, but '", spec.target,
                            no_copy_.contains(*constant) ? "' must not be copied"
                                                         : "' is written by another method",
                            "; it is not delegated but passed as an argument"));
        }
        continue;
      }
      bool stays = returned.contains(value);
      absl::flat_hash_set<int32_t> owners;
      for (NodeId user : graph.value(value).users) {
        const int32_t partition = plan.partition_of[user.index()];
        if (partition == kHost) {
          stays = stays || !AllOccurrencesMove(plan, graph.node(user), user, value);
        } else if (!tagged) {
          stays = true;
        } else if (owners.insert(partition).second) {
          plan.partitions[partition].constants.push_back(
              {*constant, value, graph.value(value).name});
        }
      }
      if (!stays) uses[k] = graph.value(value).users.empty() ? Uses::kNone : Uses::kMoved;
    }
    return uses;
  }

  // Whether the node uses the value only as operands that move.
  static bool AllOccurrencesMove(const GraphPlan& plan, const Node& node, NodeId id,
                                 ValueId value) {
    bool all = true;
    for (size_t i = 0; i < node.arguments.size(); ++i) {
      const Argument::List* list = node.arguments[i].get_if<Argument::List>();
      if (list == nullptr) {
        ForEachValue(node.arguments[i], [&](ValueId v) { all = all && v != value; });
        continue;
      }
      for (size_t k = 0; k < list->size(); ++k) {
        if (plan.operand_moves.contains({id, i, k})) continue;
        ForEachValue((*list)[k], [&](ValueId v) { all = all && v != value; });
      }
    }
    return all;
  }

  // Whether the input has users, and all of them are operands that move into subgraphs.
  bool OnlySubgraphsUse(size_t input) const {
    return !top_.operand_moves.empty() && !graph_.value(graph_.inputs()[input]).users.empty() &&
           Groups(input).empty();
  }

  // --- Users ---

  std::vector<UserGroup> Groups(size_t input) const {
    const ValueId value = graph_.inputs()[input];
    std::vector<UserGroup> groups;
    absl::flat_hash_map<int32_t, size_t> index;
    for (NodeId user : graph_.value(value).users) {
      const int32_t partition = top_.partition_of[user.index()];
      if (partition == kHost && !top_.operand_moves.empty() &&
          AllOccurrencesMove(top_, graph_.node(user), user, value)) {
        continue;
      }
      const auto [it, added] = index.emplace(partition, groups.size());
      if (added) {
        groups.push_back({partition, user});
      } else if (positions_.get(user) < positions_.get(groups[it->second].first)) {
        groups[it->second].first = user;
      }
    }
    std::sort(groups.begin(), groups.end(), [&](const UserGroup& a, const UserGroup& b) {
      return positions_.get(a.first) < positions_.get(b.first);
    });
    if (returned_.contains(value) && !index.contains(kHost)) groups.push_back({kHost, NodeId()});
    return groups;
  }

  absl::Status CheckNotCopied(size_t i) const {
    for (const UserGroup& group : Groups(i)) {
      const std::string tag =
          group.partition == kHost ? "None" : top_.partitions[group.partition].tag;
      if (group.partition != kHost && tag == *tags_[i]) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("constant data node (", NameOf(i), ") is tagged with (", *tags_[i],
                       ") and must not be copied, but has user (",
                       group.first.valid() ? graph_.node(group.first).name : "output",
                       ") which has tag (", tag, ")"));
    }
    return absl::OkStatus();
  }

  void AssignImmutable(size_t i) {
    const std::vector<UserGroup> groups = Groups(i);
    const auto own = partition_of_tag_.find(*tags_[i]);
    if (groups.empty() && OnlySubgraphsUse(i)) {
      top_.input_moves[i] = true;
      return;
    }
    if (groups.empty()) {
      if (own == partition_of_tag_.end()) return;
      owners_[i].emplace_back(own->second, NameOf(i));
      top_.input_moves[i] = true;
      return;
    }
    bool stays = false, reaches_own = false, reaches_any = false;
    for (size_t g = 0; g < groups.size(); ++g) {
      if (groups[g].partition == kHost) {
        stays = true;
        continue;
      }
      reaches_any = true;
      reaches_own =
          reaches_own || (own != partition_of_tag_.end() && groups[g].partition == own->second);
      owners_[i].emplace_back(groups[g].partition,
                              g == 0 ? NameOf(i) : absl::StrCat(NameOf(i), "_copy_", g - 1));
    }
    top_.input_moves[i] = !stays;
    if (!reaches_own) {
      Note(absl::StrCat(
          "constant %", NameOf(i), " is tagged '", *tags_[i],
          "', but no node of this tag uses it; ",
          reaches_any ? "it moves to the delegates that use it" : "it is not delegated"));
    }
  }

  // --- Mutated buffers ---

  void AssignMutated() {
    // By target: placeholders of tied tensors are one buffer.
    absl::flat_hash_map<std::string_view, std::vector<size_t>> placeholders;
    for (size_t i = 0; i < tags_.size(); ++i) {
      const InputSpec& spec = program_.signature.inputs[i];
      if (NamesTensor(spec.kind) && mutated_by_.contains(spec.target)) {
        placeholders[spec.target].push_back(i);
      }
    }
    for (size_t i = 0; i < tags_.size(); ++i) {
      const InputSpec& spec = program_.signature.inputs[i];
      if (tags_[i] == nullptr || !mutated_by_.contains(spec.target)) continue;
      const std::vector<size_t>& same = placeholders[spec.target];
      if (same.front() != i) continue;
      const size_t output = mutated_by_[spec.target];
      std::string problem;
      const int32_t owner = OwnerOfMutated(same, output, problem);
      if (owner == kHost) {
        Note(absl::StrCat("buffer %", NameOf(i), " is mutated and tagged '", *tags_[i], "', but ",
                          problem, "; it is not delegated but passed as an argument"));
        continue;
      }
      for (size_t k : same) {
        owners_[k].emplace_back(owner, NameOf(k));
        top_.input_moves[k] = true;
      }
      plan_.output_moves[output] = true;
      top_.partitions[owner].mutations.push_back(
          {output, *graph_.outputs()[output].get_if<ValueId>()});
    }
  }

  int32_t OwnerOfMutated(const std::vector<size_t>& same, size_t output,
                         std::string& problem) const {
    // Only values are written back (exir/ir/verifier.h, V10).
    const ValueId* value = graph_.outputs()[output].get_if<ValueId>();
    if (graph_.IsInput(*value)) {
      problem = "its new value is not computed by a node";
      return kHost;
    }
    const std::string& target = program_.signature.outputs[output].target;
    if (const auto other = elsewhere_.present.find(target); other != elsewhere_.present.end()) {
      problem = absl::StrCat("method '", other->second, "' has it too");
      return kHost;
    }
    const NodeId producer = graph_.value(*value).producer;
    const int32_t owner = top_.partition_of[producer.index()];
    if (owner == kHost) {
      problem = absl::StrCat("%", graph_.value(*value).name, ", its new value, is not delegated");
      return kHost;
    }
    for (size_t i : same) {
      if (program_.signature.inputs[i].kind != InputKind::kBuffer) {
        problem = "it is not a buffer";
        return kHost;
      }
      if (tags_[i] == nullptr) {
        problem = absl::StrCat("%", NameOf(i), ", the same buffer, is not");
        return kHost;
      }
      for (const UserGroup& group : Groups(i)) {
        if (group.partition == owner) continue;
        problem =
            absl::StrCat(group.first.valid() ? absl::StrCat("%", graph_.node(group.first).name)
                                             : std::string("the program"),
                         group.first.valid() ? " uses it" : " returns it", " outside of tag '",
                         top_.partitions[owner].tag, "', which computes its new value");
        return kHost;
      }
    }
    return owner;
  }

  bool DefinedBefore(ValueId a, ValueId b) const {
    const NodeId pa = graph_.value(a).producer, pb = graph_.value(b).producer;
    if (pa != pb) return positions_.get(pa) < positions_.get(pb);
    const std::vector<ValueId> results = graph_.node(pa).results();
    return std::find(results.begin(), results.end(), a) <
           std::find(results.begin(), results.end(), b);
  }

  const ExportedProgram& program_;
  const Graph& graph_;
  const PartitionResult& answer_;
  const StateElsewhere& elsewhere_;
  const bool validate_;
  MethodPlan& plan_;
  GraphPlan& top_;
  std::vector<std::string>* notes_;
  SecondaryMap<NodeId, uint32_t> positions_;
  absl::flat_hash_map<ValueId, size_t> input_index_;
  absl::flat_hash_set<ValueId> returned_;
  absl::flat_hash_map<std::string, int32_t> partition_of_tag_;
  absl::flat_hash_map<std::string, size_t> mutated_by_;  // target → output
  std::vector<const std::string*> tags_;                 // by input
  absl::flat_hash_set<size_t> no_copy_;
  ConstantSubgraphInputs constants_;  // empty if no input of a subgraph is tagged
  absl::flat_hash_set<std::pair<GraphId, ValueId>> subgraph_tags_;
  std::vector<std::vector<std::pair<int32_t, std::string>>> owners_;  // by input
};

}  // namespace

absl::Status AssignConstants(const ExportedProgram& program, const PartitionResult& answer,
                             const StateElsewhere& elsewhere, bool validate, MethodPlan& plan,
                             std::vector<std::string>* notes) {
  return Assigner(program, answer, elsewhere, validate, plan, notes).Run();
}

}  // namespace belay::exir
