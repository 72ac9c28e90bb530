#include "exir/quantize/channel_sites.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "exir/builder/op_builder.h"
#include "exir/ir/float_elements.h"
#include "exir/ir/graph_editor.h"
#include "exir/passes/constant_input.h"
#include "runtime/core/status_macros.h"

namespace belay::exir {
namespace {

// Functions f with f(x * s) = f(x) * s for s > 0, per channel.
constexpr std::string_view kHomogeneous[] = {
    "aten.relu.default",
    "aten.leaky_relu.default",
    "aten.max_pool2d_with_indices.default",
    "aten.avg_pool2d.default",
};

class Finder {
 public:
  Finder(const Graph& graph, const ConstantInputs& constants, const WeightUses& uses)
      : graph_(graph), constants_(constants) {
    for (const WeightUse& use : uses.uses) uses_.emplace(use.node, &use);
  }

  std::vector<ChannelSite> Find(absl::Span<const WeightUse> anchors) const {
    std::vector<ChannelSite> sites;
    std::map<ValueId, size_t> by_value;
    for (const WeightUse& use : anchors) {
      if (use.kind == AnchorKind::kEmbedding) continue;
      const ValueId* input = graph_.node(use.node).value_argument(use.input_argument);
      const std::optional<ChannelConstant> weight = WeightOf(use, /*of_input=*/true);
      if (input == nullptr || !weight.has_value() || !graph_.HasOneUse(use.constant)) continue;
      const bool is_image = use.kind == AnchorKind::kConvolution;
      const std::optional<NodeId> view = is_image ? std::nullopt : MatrixViewOf(graph_, *input);
      const ValueId value =
          view.has_value() ? *graph_.node(*view).operand().get_if<ValueId>() : *input;
      const auto [it, added] = by_value.emplace(value, sites.size());
      if (added) {
        ChannelSite& site = sites.emplace_back();
        site.value = value;
        site.is_image = is_image;
        site.channels = CountOf(*weight);
      }
      ChannelSite& site = sites[it->second];
      if (site.is_image != is_image || site.channels != CountOf(*weight)) continue;
      site.anchors.push_back(use);
      site.weights.push_back(*weight);
      const NodeId user = view.value_or(use.node);
      if (std::count(site.users.begin(), site.users.end(), user) == 0) site.users.push_back(user);
    }
    std::erase_if(sites, [&](const ChannelSite& site) { return !ViewsAreOfSite(site); });
    for (ChannelSite& site : sites) {
      const std::vector<NodeId>& users = graph_.value(site.value).users;
      const bool all =
          !graph_.IsOutput(site.value) && std::all_of(users.begin(), users.end(), [&](NodeId user) {
            return std::count(site.users.begin(), site.users.end(), user) != 0;
          });
      if (!all || !AddProducers(site.value, site)) site.producers.clear();
    }
    return sites;
  }

 private:
  int64_t CountOf(const ChannelConstant& constant) const {
    return constants_.Find(constant.constant)->sizes()[constant.channels.axis] *
           constant.channels.groups;
  }

  // Whether the anchors are the only users of the views.
  bool ViewsAreOfSite(const ChannelSite& site) const {
    const auto is_anchor = [&](NodeId node) {
      return std::any_of(site.anchors.begin(), site.anchors.end(),
                         [&](const WeightUse& use) { return use.node == node; });
    };
    return std::all_of(site.users.begin(), site.users.end(), [&](NodeId user) {
      if (is_anchor(user)) return true;
      const ValueId view = graph_.ResultOf(user);
      const std::vector<NodeId>& users = graph_.value(view).users;
      return !graph_.IsOutput(view) && std::all_of(users.begin(), users.end(), is_anchor);
    });
  }

  std::optional<ChannelConstant> ConstantOf(NodeId node, std::string_view name,
                                            ChannelAxis channels) const {
    const std::optional<int> index = graph_.node(node).target->ArgumentIndex(name);
    if (!index.has_value()) return std::nullopt;
    ChannelConstant found{node, static_cast<size_t>(*index), {}, channels};
    for (const Argument* argument = &graph_.node(node).arguments[found.argument];;
         argument = &graph_.node(found.node).operand()) {
      const ValueId* value = argument->get_if<ValueId>();
      if (value == nullptr) return std::nullopt;
      found.constant = *value;
      if (graph_.IsInput(*value)) break;
      if (!graph_.HasOneUse(*value)) return std::nullopt;
      found.node = graph_.value(*value).producer;
      found.argument = 0;
    }
    const ConstantTensor* tensor = constants_.Find(found.constant);
    return tensor != nullptr && tensor->dtype() == DType::kFloat32 &&
                   tensor->sizes().size() > channels.axis
               ? std::optional(found)
               : std::nullopt;
  }

  // Returns the weight of an anchor, with the channels of its input or its result.
  std::optional<ChannelConstant> WeightOf(const WeightUse& use, bool of_input) const {
    ChannelAxis channels = {.axis = use.rows_first == of_input ? 1 : 0};
    if (use.kind == AnchorKind::kConvolution && of_input) {
      const int64_t* groups = graph_.node(use.node).argument("groups").get_if<int64_t>();
      if (groups == nullptr) return std::nullopt;
      channels.groups = *groups;
    }
    return ConstantOf(use.node, use.weight_argument, channels);
  }

  // Adds a vector with an element per channel. Returns whether the argument is one, or None.
  bool AddVector(NodeId node, std::string_view name, ChannelSite& site) const {
    if (graph_.node(node).argument(name).is_none()) return true;
    const std::optional<ChannelConstant> found = ConstantOf(node, name, {});
    if (!found.has_value() || found->node != node ||
        constants_.Find(found->constant)->sizes() != Sizes{site.channels}) {
      return false;
    }
    site.producers.push_back(*found);
    return true;
  }

  bool AddOperand(NodeId node, std::string_view name, ChannelSite& site) const {
    const ValueId* operand = graph_.node(node).value_argument(name);
    return operand != nullptr && graph_.HasOneUse(*operand) && AddProducers(*operand, site);
  }

  // Adds the constants whose division divides the value. Returns false if none are found.
  bool AddProducers(ValueId value, ChannelSite& site) const {
    const NodeId id = graph_.value(value).producer;
    if (!id.valid() || graph_.node(id).results()[0] != value) return false;
    const Node& node = graph_.node(id);
    const std::string& op = node.target->aten()->name();
    if (const auto it = uses_.find(id); it != uses_.end()) {
      const WeightUse& use = *it->second;
      if ((use.kind == AnchorKind::kConvolution) != site.is_image) return false;
      const std::optional<ChannelConstant> weight = WeightOf(use, /*of_input=*/false);
      if (!weight.has_value() || CountOf(*weight) != site.channels) return false;
      site.producers.push_back(*weight);
      if (op == "aten.mm.default") return true;
      return AddVector(id, op == "aten.addmm.default" ? "self" : "bias", site);
    }
    if (std::count(std::begin(kHomogeneous), std::end(kHomogeneous), op) != 0) {
      return AddOperand(id, "self", site);
    }
    if (site.is_image) return false;
    if (MatrixViewOf(graph_, value).has_value()) return AddOperand(id, "self", site);
    if (op == "aten.native_layer_norm.default") {
      return !node.argument("weight").is_none() && AddVector(id, "weight", site) &&
             AddVector(id, "bias", site);
    }
    if (op != "aten.mul.Tensor") return false;
    const size_t before = site.producers.size();
    for (std::string_view name : {"other", "self"}) {
      if (AddVector(id, name, site)) return true;
      const ValueId* operand = node.value_argument(name);
      const bool same =
          operand != nullptr && graph_.MetaOf(*operand).sizes == graph_.MetaOf(value).sizes;
      if (same && AddOperand(id, name, site)) return true;
      site.producers.resize(before);
    }
    return false;
  }

  const Graph& graph_;
  const ConstantInputs& constants_;
  absl::flat_hash_map<NodeId, const WeightUse*> uses_;
};

}  // namespace

std::vector<ChannelSite> FindChannelSites(ExportedProgram& program,
                                          const absl::btree_set<std::string>& changing,
                                          absl::Span<const WeightUse> anchors) {
  GraphEditor editor(program.top());
  const ConstantInputs constants(program, editor, changing);
  const WeightUses uses = FindWeightUses(program, constants);
  return Finder(program.top(), constants, uses).Find(anchors);
}

std::vector<uint32_t> ChannelsOf(const Sizes& sizes, ChannelAxis channels) {
  int64_t count = 1, inner = 1;
  for (int d = 0; d < sizes.size(); ++d) {
    count *= sizes[d];
    if (d > channels.axis) inner *= sizes[d];
  }
  const int64_t size = sizes[channels.axis], group = count / channels.groups;
  std::vector<uint32_t> result(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    const int64_t first = channels.groups == 1 ? 0 : i / group * size;
    result[static_cast<size_t>(i)] = static_cast<uint32_t>(first + i / inner % size);
  }
  return result;
}

absl::StatusOr<ConstantTensor> ScaledConstants::Scale(const ConstantTensor& tensor,
                                                      const Factors& factors) {
  for (const Entry& entry : entries_) {
    if (entry.from.view().data == tensor.view().data && entry.from.sizes() == tensor.sizes() &&
        entry.from.strides() == tensor.strides() && entry.factors == factors) {
      return entry.scaled;
    }
  }
  ABSL_ASSIGN_OR_RETURN(std::vector<float> elements, FloatElements(tensor));
  for (const auto& [axis, by_channel] : factors) {
    const std::vector<uint32_t> channels = ChannelsOf(tensor.sizes(), axis);
    for (size_t i = 0; i < elements.size(); ++i) elements[i] *= by_channel[channels[i]];
  }
  ABSL_ASSIGN_OR_RETURN(ConstantTensor scaled, FloatConstant(tensor.sizes(), std::move(elements)));
  return entries_.emplace_back(Entry{tensor, factors, std::move(scaled)}).scaled;
}

absl::Status ScaleChannels(ExportedProgram& program, const absl::btree_set<std::string>& changing,
                           absl::Span<const ChannelSite> sites,
                           absl::Span<const std::vector<float>> scales, ScaledConstants& cache) {
  GraphEditor editor(program.top());
  const Graph& graph = program.top();
  ConstantInputs constants(program, editor, changing);
  OpBuilder b(program, editor);
  const auto add = [&](ValueId from, ConstantTensor tensor) {
    return constants.AddDerived(from, "_scaled", std::move(tensor));
  };
  // All factors of each constant, so that a layer between two sites is copied once.
  std::map<std::pair<NodeId, size_t>, std::pair<ValueId, ScaledConstants::Factors>> changes;
  for (size_t i = 0; i < sites.size(); ++i) {
    if (scales[i].empty()) continue;
    const ChannelSite& site = sites[i];
    std::vector<float> inverse;
    for (float scale : scales[i]) inverse.push_back(1 / scale);
    const auto change = [&](const ChannelConstant& constant, const std::vector<float>& factors) {
      auto& [id, list] = changes[{constant.node, constant.argument}];
      id = constant.constant;
      list.emplace_back(constant.channels, factors);
    };
    for (const ChannelConstant& weight : site.weights) change(weight, scales[i]);
    for (const ChannelConstant& producer : site.producers) change(producer, inverse);
    if (site.folds()) continue;
    Sizes sizes = {site.channels};
    for (int d = 2; site.is_image && d < graph.MetaOf(site.value).rank(); ++d) sizes.push_back(1);
    ABSL_ASSIGN_OR_RETURN(ConstantTensor factors, FloatConstant(sizes, std::move(inverse)));
    const NodeId producer = graph.value(site.value).producer;
    b.MoveTo(producer.valid() ? graph.next(producer) : graph.first());
    const Argument scaled =
        b.Call("aten.mul.Tensor", {site.value, add(site.weights[0].constant, std::move(factors))});
    ABSL_RETURN_IF_ERROR(b.status());
    for (NodeId user : site.users) editor.ReplaceUsesIn(user, site.value, scaled);
  }
  for (const auto& [place, change] : changes) {
    const auto& [from, factors] = change;
    ABSL_ASSIGN_OR_RETURN(ConstantTensor scaled, cache.Scale(*constants.Find(from), factors));
    editor.SetArgument(place.first, place.second, add(from, std::move(scaled)));
    if (graph.value(from).users.empty() && !graph.IsOutput(from)) constants.Drop(from);
  }
  constants.Finish();
  return absl::OkStatus();
}

}  // namespace belay::exir
