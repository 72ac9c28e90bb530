#include "backends/cpu/aot/passes/fuse_conv2d_chains.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/cpu/chain_calls.h"
#include "backends/cpu/ops/cpu_ops.h"
#include "exir/ir/graph_editor.h"

namespace belay::cpu {
namespace {

using exir::Argument;
using exir::Node;
using exir::NodeId;
using exir::TensorMeta;
using exir::ValueId;

constexpr int64_t kElementBytes = 4;
constexpr int64_t kLeastElements = 512 * 1024 / kElementBytes;       // of an intermediate result
constexpr int64_t kMostWeightElements = 256 * 1024 / kElementBytes;  // of a 1x1 convolution
constexpr int kMostWindows = 4;                                      // of more than one row
// Rows of results, which threads divide. Of fewer, such as the one row of a sequence, the few rows that
// a chain keeps are most of the image.
constexpr int64_t kLeastRows = 8;

// Returns the number of elements; nullopt if a size is symbolic.
std::optional<int64_t> ElementsOf(const TensorMeta& meta) {
  const std::optional<Sizes> sizes = exir::AsInts(meta.sizes);
  return sizes.has_value() ? NumElements(*sizes) : std::nullopt;
}

class ChainFusion {
 public:
  ChainFusion(exir::ExportedProgram& program, FusedHandles& handles, PassDiagnostics* diagnostics)
      : editor_(program.top()),
        graph_(editor_.graph()),
        handles_(handles),
        diagnostics_(diagnostics) {}

  bool Run() {
    bool changed = false;
    for (NodeId id : graph_.NodeList()) {
      if (!graph_.contains(id) || !CanBeStage(id)) continue;
      if (const std::string costs = ReasonAgainst(id); !costs.empty()) {
        if (std::optional<NodeId> next = Neighbor(id)) Say(id, *next, costs);
        continue;
      }
      std::vector<NodeId> chain = {id};
      int windows = IsWindow(id);
      while (std::optional<NodeId> next = Next(chain)) {
        windows += IsWindow(*next);
        if (windows > kMostWindows) {
          Say(chain.back(), *next, "rows of more than four windows would be computed twice");
          break;
        }
        chain.push_back(*next);
      }
      if (chain.size() < 2) continue;
      Fuse(chain);
      changed = true;
    }
    return changed;
  }

 private:
  static Argument Pair(int64_t n) { return Argument(Argument::List{n, n}); }
  // Whether the padding is 0 on all sides.
  static bool IsNone(const Argument& padding) {
    const auto* list = padding.get_if<Argument::List>();
    return list != nullptr && std::all_of(list->begin(), list->end(),
                                          [](const Argument& n) { return n == Argument(0); });
  }
  static bool IsDepthwise(const Node& node) { return IsCpuOp(*node.target, "depthwise_conv2d"); }
  ValueId InputOf(NodeId id) const { return *graph_.node(id).value_argument("input"); }

  bool IsWindow(NodeId id) const { return graph_.node(id).argument("kernel_size") != Pair(1); }

  // Whether belay_cpu::conv2d_chain allows the node as a stage.
  bool CanBeStage(NodeId id) const {
    const Node& node = graph_.node(id);
    if (!IsCpuOp(*node.target, "conv2d") && !IsDepthwise(node)) return false;
    const TensorMeta &input = graph_.MetaOf(InputOf(id)),
                     &result = graph_.MetaOf(graph_.ResultOf(id));
    if (!ElementsOf(input).has_value() || !ElementsOf(result).has_value() || input.rank() != 4 ||
        result.rank() != 4) {
      return false;
    }
    if (!IsDepthwise(node) &&
        (IsWindow(id) || node.argument("stride") != Pair(1) || !IsNone(node.argument("padding")) ||
         *input.sizes[1].AsInt() < kFewChannels)) {
      return false;
    }
    for (size_t d : {2, 3}) {
      if (*result.sizes[d].AsInt() > *input.sizes[d].AsInt()) return false;
    }
    return *result.sizes[2].AsInt() >= kLeastRows && *result.sizes[3].AsInt() >= kLeastChainWidth;
  }

  // Returns why a chain with this stage would be slower, or "".
  std::string ReasonAgainst(NodeId id) const {
    const Node& node = graph_.node(id);
    const int64_t weight = ElementsOf(graph_.MetaOf(*node.value_argument("weight"))).value_or(0);
    if (IsDepthwise(node) || weight <= kMostWeightElements) return "";
    return absl::StrCat("every few rows would reread a weight of ",
                        BytesText(weight * kElementBytes), "; the limit is ",
                        BytesText(kMostWeightElements * kElementBytes));
  }

  // Records why two possible neighbors are not fused into a chain.
  void Say(NodeId stage, NodeId next, std::string_view why_not) const {
    if (diagnostics_ == nullptr) return;
    diagnostics_->RecordRewrite(
        graph_.node(stage).name,
        absl::StrCat("no chain with ", graph_.node(next).name, ": ", why_not));
  }

  // Returns the node that can follow this stage.
  std::optional<NodeId> Neighbor(NodeId stage) const {
    const ValueId result = graph_.ResultOf(stage);
    const std::optional<NodeId> user = graph_.SoleUser(result);
    if (graph_.node(stage).value_argument("other") != nullptr || !user.has_value() ||
        !CanBeStage(*user)) {
      return std::nullopt;
    }
    const ValueId* other = graph_.node(*user).value_argument("other");
    if (InputOf(*user) != result || (other != nullptr && *other == result)) return std::nullopt;
    return user;
  }

  // Returns the next stage of the chain, if one can follow and is worthwhile.
  std::optional<NodeId> Next(const std::vector<NodeId>& chain) const {
    const NodeId last = chain.back();
    const std::optional<NodeId> next = Neighbor(last);
    if (!next.has_value() || chain.size() == kMaxChainStages) return std::nullopt;
    std::string costs = ReasonAgainst(*next);
    const int64_t between = *ElementsOf(graph_.MetaOf(graph_.ResultOf(last)));
    if (between < kLeastElements) {
      costs = absl::StrCat("the intermediate result of ", BytesText(between * kElementBytes),
                           " stays in the cache; the minimum is ",
                           BytesText(kLeastElements * kElementBytes));
    }
    if (costs.empty()) return next;
    Say(last, *next, costs);
    return std::nullopt;
  }

  void Fuse(const std::vector<NodeId>& chain) {
    Argument::List weights, biases, out_channels, kernel_size, stride, padding, dilation, low, high;
    std::string activations;
    for (NodeId id : chain) {
      const Node& node = graph_.node(id);
      const auto append = [&](Argument::List& to, std::string_view name) {
        const auto& list = *node.argument(name).get_if<Argument::List>();
        to.insert(to.end(), list.begin(), list.end());
        return list.size();
      };
      weights.push_back(node.argument("weight"));
      biases.push_back(node.argument("bias"));
      out_channels.push_back(IsDepthwise(node) ? Argument(0) : node.argument("out_channels"));
      append(kernel_size, "kernel_size");
      append(stride, "stride");
      append(dilation, "dilation");
      if (append(padding, "padding") == 2) append(padding, "padding");
      low.push_back(node.argument("low"));
      high.push_back(node.argument("high"));
      absl::StrAppend(&activations, activations.empty() ? "" : " ",
                      *node.argument("activation").get_if<std::string>());
    }
    const Node& last = graph_.node(chain.back());
    exir::GraphEditor::NewNode node{
        .name = last.name,
        .target = CpuOp("conv2d_chain"),
        .arguments = {InputOf(chain[0]), std::move(weights), std::move(biases),
                      last.argument("other"), std::move(out_channels), std::move(kernel_size),
                      std::move(stride), std::move(padding), std::move(dilation),
                      std::move(activations), last.argument("combine"), std::move(low),
                      std::move(high)},
        .provenance = last.provenance,
        .debug_handle = last.debug_handle};
    if (diagnostics_ != nullptr) {
      int64_t between = 0;
      std::string stages;
      for (NodeId id : chain) {
        if (id != chain[0]) between += *ElementsOf(graph_.MetaOf(InputOf(id)));
        absl::StrAppend(&stages, stages.empty() ? "" : ", ", graph_.node(id).name);
      }
      diagnostics_->RecordRewrite(
          last.name,
          absl::StrCat("conv2d_chain of ", stages, ": intermediate results of ",
                       BytesText(between * kElementBytes), " are kept a few rows at a time"));
    }
    const ValueId replaced = graph_.ResultOf(chain.back());
    const ValueId result =
        editor_.InsertOp(chain.back(), std::move(node), graph_.value(replaced).type);
    editor_.ReplaceAllUses(replaced, result);
    const NodeId fused = graph_.value(result).producer;
    for (auto it = chain.rbegin(); it != chain.rend(); ++it) {
      handles_.Fuse(editor_, fused, *it);
      editor_.EraseNode(*it);
    }
  }

  exir::GraphEditor editor_;
  const exir::Graph& graph_;
  FusedHandles& handles_;
  PassDiagnostics* diagnostics_;
};

}  // namespace

exir::Pass FuseConv2dChains(FusedHandles& handles, PassDiagnostics* diagnostics) {
  return {"fuse_conv2d_chains",
          [&handles, diagnostics](exir::ExportedProgram& program) -> absl::StatusOr<bool> {
            return ChainFusion(program, handles, diagnostics).Run();
          }};
}

}  // namespace belay::cpu
