#include "backends/cpu/aot/passes/assign_layouts.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "backends/cpu/aot/passes/layout_copy.h"
#include "backends/cpu/aot/passes/permuted_dims.h"
#include "backends/cpu/aot/passes/reshapes.h"
#include "backends/cpu/calls.h"
#include "backends/cpu/ops/cpu_ops.h"
#include "exir/ir/graph_editor.h"
#include "exir/ir/infer.h"
#include "exir/ir/text.h"
#include "exir/ops/layout_rules.h"
#include "runtime/core/status_macros.h"

namespace belay::cpu {
namespace {

using exir::Argument;
using exir::NodeId;
using exir::SymInt;
using exir::TensorMeta;
using exir::ValueId;

// Whether both layouts place elements at the same offsets. Dimensions of size 1 do not count.
bool HasSameLayout(const TensorMeta& a, const TensorMeta& b) {
  for (int d = 0; d < a.rank(); ++d) {
    if (!(a.sizes[d] == SymInt(1)) && !(a.strides[d] == b.strides[d])) return false;
  }
  return true;
}

constexpr std::string_view kKeepLayout[] = {"aten.cat.default", "aten.upsample_bilinear2d.vec",
                                            "aten.upsample_nearest2d.vec"};
constexpr std::string_view kPixelwise[] = {"aten.add.Tensor", "aten.relu.default",
                                           "aten.silu.default", "aten.gelu.default",
                                           "aten.abs.default"};

bool IsOneOf(absl::Span<const std::string_view> names, const exir::OpOverload& target) {
  return absl::c_linear_search(names, target.aten()->name());
}

// Layout that an operator requires of an operand.
enum class Wish : uint8_t { kAny, kContiguous, kChannelsLast, kLastTogether };

Wish WishOf(const exir::OpOverload& target, std::string_view argument, const TensorMeta& meta) {
  // Packed weights and biases are one-dimensional.
  if (target.ns() != "belay_cpu" || meta.rank() < 2 || IsCpuOp(target, "lookup") ||
      IsCpuOp(target, "pointwise")) {
    return Wish::kAny;
  }
  if (IsOverImages(target)) {
    const bool copies = IsCpuOp(target, "conv2d") || IsCpuOp(target, "quantized_conv2d") ||
                        IsCpuOp(target, "bfloat16_conv2d");
    const bool few = argument == "input" && meta.sizes[1].AsInt().value_or(0) < kFewChannels;
    return few && copies ? Wish::kAny : Wish::kChannelsLast;
  }
  // The layout of convolution results.
  if (IsCpuOp(target, "quantized_add") && meta.rank() == 4) return Wish::kChannelsLast;
  if (IsCpuOp(target, "attention")) {
    return argument == "mask" ? Wish::kAny : Wish::kLastTogether;
  }
  return Wish::kContiguous;
}

bool IsLastTogether(const TensorMeta& meta) {
  return meta.sizes.back() == SymInt(1) || meta.strides.back() == SymInt(1);
}

class LayoutAssignment {
 public:
  LayoutAssignment(exir::ExportedProgram& program, PassDiagnostics* diagnostics)
      : diagnostics_(diagnostics),
        editor_(program.top()),
        graph_(editor_.graph()),
        copy_(program.ops->ToEdge(program.ops->Find("dim_order_ops._to_dim_order_copy.default"))),
        permute_(program.ops->Find("aten.permute_copy.default")),
        split_(program.ops->Find("aten.split_with_sizes_copy.default")),
        slice_(program.ops->Find("aten.slice_copy.Tensor")),
        expand_(program.ops->Find("aten.expand_copy.default")) {}

  // Removes the dim_order of conversions to another dtype that keep their operand's order. They
  // then follow the operand's layout, whatever it becomes.
  bool FreeConversions() {
    bool changed = false;
    for (NodeId id : graph_.NodeList()) {
      const exir::Node& node = graph_.node(id);
      if (node.target->aten() != copy_->aten() || node.argument("dim_order").is_none()) continue;
      const ValueId* value = node.operand().get_if<ValueId>();
      const TensorMeta* from = value == nullptr ? nullptr : graph_.value(*value).tensor();
      const TensorMeta* to = graph_.value(node.results()[0]).tensor();
      if (from == nullptr || to == nullptr || from->dtype == to->dtype ||
          !HasSameLayout(*from, *to)) {
        continue;
      }
      editor_.SetArgument(id, *node.target->ArgumentIndex("dim_order"), Argument());
      changed = true;
    }
    return changed;
  }

  // Inserts copies so that operands and graph outputs have the required layouts.
  bool Convert(const std::vector<std::optional<TensorMeta>>& returned) {
    for (NodeId id : graph_.NodeList()) {
      const exir::OpOverload& target = *graph_.node(id).target;
      if (target.ns() != "belay_cpu") continue;
      for (size_t i = 0; i < target.schema()->arguments.size(); ++i) {
        const ValueId* value = graph_.node(id).arguments[i].get_if<ValueId>();
        const TensorMeta* meta = value == nullptr ? nullptr : graph_.value(*value).tensor();
        if (meta == nullptr) continue;
        const Wish wish = WishOf(target, target.schema()->arguments[i].name, *meta);
        if (wish == Wish::kAny || (wish == Wish::kLastTogether && IsLastTogether(*meta))) continue;
        editor_.SetArgument(id, i, InOrder(*value, wish == Wish::kChannelsLast, id));
      }
    }
    std::vector<Argument> outputs(graph_.outputs().begin(), graph_.outputs().end());
    for (size_t k = 0; k < outputs.size(); ++k) {
      const ValueId* value = outputs[k].get_if<ValueId>();
      if (value == nullptr || !returned[k].has_value()) continue;
      const TensorMeta& wanted = *returned[k];
      const bool channels_last =
          wanted.rank() == 4 &&
          HasSameLayout(wanted, exir::DenseInFormat(wanted.dtype, wanted.sizes, true));
      if (HasSameLayout(graph_.MetaOf(*value), wanted)) continue;
      if (!wanted.is_contiguous() && !channels_last) continue;
      outputs[k] = InOrder(*value, !wanted.is_contiguous(), NodeId());
    }
    if (changed_) editor_.SetOutputs(std::move(outputs));
    return changed_;
  }

  // Makes permutations that only operators over images use, also after resizing and concatenation,
  // share the memory of their operands, if they are then channels last. Parts of channels last
  // images, and repeated pixels, become channels last if an operator over images uses them.
  absl::StatusOr<bool> ShareWithConvolutions() {
    for (NodeId id : graph_.NodeList()) {
      const exir::OpOverload* target = graph_.node(id).target->aten();
      if (target == split_ || target == slice_) {
        MovePartsToChannelsLast(id);
        continue;
      }
      if (target == expand_) {
        MoveExpandedPixels(id);
        continue;
      }
      if (target != permute_) {
        ABSL_RETURN_IF_ERROR(FollowOperands(id));
        continue;
      }
      const ValueId value = graph_.ResultOf(id);
      const TensorMeta* meta = graph_.value(value).tensor();
      if (meta == nullptr || (meta->rank() != 4 && meta->rank() != 5)) continue;
      if (!LeadsToImages(value, /*steps=*/4)) continue;
      std::optional<std::vector<SymInt>> strides = SharedStrides(graph_.node(id));
      if (!strides.has_value()) continue;
      TensorMeta shared = *meta;
      shared.strides = *std::move(strides);
      const TensorMeta wanted = exir::DenseInFormat(meta->dtype, meta->sizes, true);
      if (!HasSameLayout(shared, wanted) || HasSameLayout(*meta, wanted)) continue;
      TensorMeta retyped = *meta;
      retyped.strides = wanted.strides;
      editor_.SetType(value, std::move(retyped));
      moved_.insert(value);
    }
    return !moved_.empty();
  }

  // Retypes permutations before and after attention so that they move no data.
  bool ShareWithAttention() {
    bool changed = false;
    for (NodeId id : graph_.NodeList()) {
      if (!IsCpuOp(*graph_.node(id).target, "attention")) continue;
      for (std::string_view operand : {"query", "key", "value"}) {
        if (ShareOperand(*graph_.node(id).value_argument(operand))) changed = true;
      }
      if (ShareResult(graph_.ResultOf(id))) changed = true;
    }
    return changed;
  }

 private:
  bool IsRead(ValueId value, const std::function<bool(const exir::Node&)>& by) const {
    if (graph_.IsOutput(value)) return false;
    const std::vector<NodeId>& users = graph_.value(value).users;
    return !users.empty() && std::all_of(users.begin(), users.end(),
                                         [&](NodeId user) { return by(graph_.node(user)); });
  }

  // Whether the results of the operator have the layout of its operands, at the same cost.
  static bool KeepsLayout(const exir::OpOverload& target) { return IsOneOf(kKeepLayout, target); }

  // Whether only operators over images use the value, after at most `steps` others.
  bool LeadsToImages(ValueId value, int steps) const {
    return IsRead(value, [&](const exir::Node& reader) {
      return IsOverImages(*reader.target) || (steps > 0 && KeepsLayout(*reader.target) &&
                                              LeadsToImages(reader.results()[0], steps - 1));
    });
  }

  // Makes parts of channels last images channels last.
  void MovePartsToChannelsLast(NodeId id) {
    const ValueId* operand = graph_.node(id).operand().get_if<ValueId>();
    const TensorMeta* images = operand == nullptr ? nullptr : graph_.value(*operand).tensor();
    if (images == nullptr || images->rank() != 4 || !exir::LooksChannelsLast(*images)) return;
    const std::vector<ValueId> parts = graph_.node(id).results();
    for (ValueId part : parts) {
      if (IsForImages(part, /*steps=*/4)) Retype(part, /*channels_last=*/true);
    }
  }

  // Makes images that repeat one pixel channels last if an operator over images uses them.
  void MoveExpandedPixels(NodeId id) {
    const ValueId* operand = graph_.node(id).operand().get_if<ValueId>();
    const TensorMeta* pixel = operand == nullptr ? nullptr : graph_.value(*operand).tensor();
    const ValueId result = graph_.ResultOf(id);
    if (pixel == nullptr || pixel->rank() != 4 || graph_.MetaOf(result).rank() != 4 ||
        !(pixel->sizes[2] == SymInt(1)) || !(pixel->sizes[3] == SymInt(1))) {
      return;
    }
    if (IsForImages(result, /*steps=*/4)) Retype(result, /*channels_last=*/true);
  }

  // Whether an operator over images uses the value, after at most `steps` concatenations, sums and
  // activations, and none that needs a contiguous one.
  bool IsForImages(ValueId value, int steps) const {
    if (graph_.IsOutput(value)) return false;
    bool images = false;
    for (NodeId user : graph_.value(value).users) {
      const exir::Node& node = graph_.node(user);
      if (IsOverImages(*node.target)) {
        images = true;
      } else if (node.target->aten() == permute_ || IsReshape(node) ||
                 (node.target->ns() == "belay_cpu" && !IsCpuOp(*node.target, "pointwise"))) {
        return false;
      } else if (steps > 0 && (KeepsLayout(*node.target) || IsOneOf(kPixelwise, *node.target)) &&
                 IsForImages(node.results()[0], steps - 1)) {
        images = true;
      }
    }
    return images;
  }

  // Infers the layouts of a node's results anew if that of an operand has changed.
  absl::Status FollowOperands(NodeId id) {
    bool follows = false;
    for (const Argument& argument : graph_.node(id).arguments) {
      exir::ForEachValue(argument, [&](ValueId value) { follows |= moved_.contains(value); });
    }
    if (!follows || !graph_.node(id).target->has_meta_kernel()) return absl::OkStatus();
    ABSL_ASSIGN_OR_RETURN(const std::vector<exir::MetaValue> inferred,
                          exir::InferOutputs(graph_, graph_.node(id).target,
                                             graph_.node(id).arguments, /*symbols=*/nullptr));
    const std::vector<exir::NodeOutput> outputs = graph_.node(id).outputs;
    for (size_t k = 0; k < outputs.size() && k < inferred.size(); ++k) {
      const TensorMeta* meta = inferred[k].get_if<TensorMeta>();
      if (meta == nullptr || meta->rank() != 4) continue;
      Retype(outputs[k].values[0], exir::LooksChannelsLast(*meta));
    }
    return absl::OkStatus();
  }

  // Changes the layout of images, if it differs.
  void Retype(ValueId value, bool channels_last) {
    const TensorMeta& meta = graph_.MetaOf(value);
    TensorMeta retyped = exir::DenseInFormat(meta.dtype, meta.sizes, channels_last);
    if (HasSameLayout(meta, retyped)) return;
    retyped.device = meta.device;
    editor_.SetType(value, std::move(retyped));
    moved_.insert(value);
  }

  // Returns the strides of a permutation's result that shares the operand's memory. nullopt if its
  // dims are not literals.
  std::optional<std::vector<SymInt>> SharedStrides(const exir::Node& permute) const {
    const std::optional<std::vector<int64_t>> dims = PermutedDims(permute);
    if (!dims.has_value()) return std::nullopt;
    const TensorMeta& operand = graph_.MetaOf(*permute.operand().get_if<ValueId>());
    std::vector<SymInt> strides;
    for (int64_t d : *dims) strides.push_back(operand.strides[d]);
    return strides;
  }

  bool Retype(ValueId value, std::vector<SymInt> strides) {
    TensorMeta meta = graph_.MetaOf(value);
    if (meta.strides == strides) return false;
    meta.strides = std::move(strides);
    if (!IsLastTogether(meta)) return false;
    editor_.SetType(value, std::move(meta));
    return true;
  }

  // Gives a permutation that only attention uses the layout of its operand.
  bool ShareOperand(ValueId value) {
    const NodeId producer = graph_.value(value).producer;
    if (!producer.valid() || graph_.node(producer).target->aten() != permute_) return false;
    const bool alone = IsRead(
        value, [](const exir::Node& reader) { return IsCpuOp(*reader.target, "attention"); });
    if (!alone) return false;
    std::optional<std::vector<SymInt>> strides = SharedStrides(graph_.node(producer));
    return strides.has_value() && Retype(value, *std::move(strides));
  }

  // Gives a value that only permutations use the layout of the first permutation's result.
  bool ShareResult(ValueId value) {
    const bool alone =
        IsRead(value, [&](const exir::Node& reader) { return reader.target->aten() == permute_; });
    if (!alone) return false;
    const exir::Node& reader = graph_.node(graph_.value(value).users[0]);
    const std::optional<std::vector<int64_t>> dims = PermutedDims(reader);
    if (!dims.has_value()) return false;
    const TensorMeta& outer = graph_.MetaOf(reader.results()[0]);
    std::vector<SymInt> strides(dims->size());
    for (size_t d = 0; d < dims->size(); ++d) strides[(*dims)[d]] = outer.strides[d];
    return Retype(value, std::move(strides));
  }

  // Returns the value, or a copy in the requested layout, inserted before `reader` or at the end.
  ValueId InOrder(ValueId value, bool channels_last, NodeId reader) {
    const TensorMeta& meta = graph_.MetaOf(value);
    TensorMeta wanted = exir::DenseInFormat(meta.dtype, meta.sizes, channels_last);
    if (HasSameLayout(meta, wanted)) return value;
    const auto [it, inserted] = copies_.try_emplace({value, channels_last});
    if (!inserted) return it->second;
    changed_ = true;
    wanted.device = meta.device;
    const DimOrder order =
        channels_last ? ChannelsLastOrder(meta.rank()) : ContiguousOrder(meta.rank());
    exir::GraphEditor::NewNode node =
        LayoutCopy(channels_last ? "channels_last" : "contiguous", copy_, value, order);
    const NodeId source = reader.valid() ? reader : graph_.value(value).producer;
    if (source.valid()) {
      node.provenance = graph_.node(source).provenance;
      node.debug_handle = graph_.node(source).debug_handle;
    }
    // InsertOp may invalidate `meta`.
    const std::string type = diagnostics_ == nullptr ? "" : exir::PrintType(meta);
    it->second = editor_.InsertOp(reader, std::move(node), std::move(wanted));
    if (diagnostics_ != nullptr) {
      diagnostics_->RecordRewrite(
          graph_.node(graph_.value(it->second).producer).name,
          absl::StrCat("copies ", type,
                       channels_last ? " to channels last for " : " to be contiguous for ",
                       reader.valid() ? graph_.node(reader).name : "the result"));
    }
    return it->second;
  }

  PassDiagnostics* diagnostics_;
  exir::GraphEditor editor_;
  const exir::Graph& graph_;
  const exir::OpOverload *copy_, *permute_, *split_, *slice_, *expand_;
  absl::flat_hash_map<std::pair<ValueId, bool>, ValueId> copies_;
  absl::flat_hash_set<ValueId> moved_;  // by ShareWithConvolutions: values with another layout
  bool changed_ = false;
};

absl::StatusOr<bool> Run(exir::ExportedProgram& program, PassDiagnostics* diagnostics) {
  std::vector<std::optional<TensorMeta>> returned;
  for (const Argument& output : program.top().outputs()) {
    const ValueId* value = output.get_if<ValueId>();
    const TensorMeta* meta = value == nullptr ? nullptr : program.top().value(*value).tensor();
    returned.push_back(meta == nullptr ? std::nullopt : std::optional<TensorMeta>(*meta));
  }
  const bool freed = LayoutAssignment(program, diagnostics).FreeConversions();
  ABSL_ASSIGN_OR_RETURN(const bool refreshed, exir::RefreshLayouts(program));
  LayoutAssignment assignment(program, diagnostics);
  ABSL_ASSIGN_OR_RETURN(const bool images, assignment.ShareWithConvolutions());
  const bool converted = assignment.Convert(returned);
  const bool shared = assignment.ShareWithAttention();
  return freed || refreshed || images || converted || shared;
}

}  // namespace

exir::Pass AssignLayouts(PassDiagnostics* diagnostics) {
  return {"assign_layouts",
          [diagnostics](exir::ExportedProgram& program) { return Run(program, diagnostics); }};
}

}  // namespace belay::cpu
