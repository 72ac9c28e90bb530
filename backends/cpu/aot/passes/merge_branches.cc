#include "backends/cpu/aot/passes/merge_branches.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backends/cpu/aot/passes/batch_norm_terms.h"
#include "backends/cpu/aot/passes/lower_nodes.h"
#include "exir/ir/constant.h"
#include "exir/passes/constant_input.h"
#include "runtime/core/sizes.h"
#include "runtime/core/status_macros.h"

namespace belay::cpu {
namespace {

using exir::Argument;
using exir::ConstantTensor;
using exir::Node;
using exir::NodeId;
using exir::TensorMeta;
using exir::ValueId;

using Integers = std::vector<int64_t>;

// A convolution with a constant weight [o, c / groups, kernel...], without other users.
struct Convolution {
  NodeId node;
  ValueId input, weight;
  std::optional<ValueId> bias;
  Sizes sizes;  // of the weight
  Integers stride, padding, dilation;
  int64_t groups = 1;

  size_t dims() const { return stride.size(); }
};

// A branch as a convolution: its taps and what it adds per channel.
struct Taps {
  Sizes sizes;
  Integers padding, dilation;
  std::vector<double> weight, shift;  // shift is empty for none
};

class BranchMerging : NodeLowering {
 public:
  BranchMerging(exir::ExportedProgram& program, FusedHandles& handles)
      : NodeLowering(program),
        handles_(handles),
        constants_(program, editor_, {}),
        add_(program.ops->Find("aten.add.Tensor")),
        sub_(program.ops->Find("aten.sub.Tensor")),
        convolution_(program.ops->Find("aten.convolution.default")),
        batch_norm_(program.ops->Find("aten._native_batch_norm_legit_no_training.default")) {}

  absl::StatusOr<bool> Run() {
    bool changed = false;
    for (NodeId id : graph_.NodeList()) {
      const exir::OpOverload* op = graph_.node(id).target->aten();
      if (op == nullptr || (op != add_ && op != sub_)) continue;
      ABSL_ASSIGN_OR_RETURN(const bool merged, Merge(id));
      changed |= merged;
    }
    if (changed) {
      constants_.Finish();
      EraseUnused(program_, editor_);
    }
    return changed;
  }

 private:
  static std::optional<Integers> IntegersOf(const Argument& argument) {
    const auto* list = argument.get_if<Argument::List>();
    if (list == nullptr) return std::nullopt;
    Integers integers;
    for (const Argument& element : *list) {
      const int64_t* integer = element.get_if<int64_t>();
      if (integer == nullptr) return std::nullopt;
      integers.push_back(*integer);
    }
    return integers;
  }

  std::optional<Convolution> ConvolutionOf(ValueId value) const {
    const NodeId id = graph_.value(value).producer;
    if (!id.valid() || graph_.node(id).target->aten() != convolution_ || convolution_ == nullptr ||
        !graph_.HasOneUse(value)) {
      return std::nullopt;
    }
    const Node& node = graph_.node(id);
    const ValueId *input = node.value_argument("input"), *weight = node.value_argument("weight");
    const auto stride = IntegersOf(node.argument("stride")),
               padding = IntegersOf(node.argument("padding")),
               dilation = IntegersOf(node.argument("dilation"));
    const int64_t* groups = node.argument("groups").get_if<int64_t>();
    if (input == nullptr || weight == nullptr || node.argument("transposed") != Argument(false) ||
        groups == nullptr || !stride || !padding || !dilation || !graph_.HasOneUse(*weight)) {
      return std::nullopt;
    }
    const ConstantTensor* filters = constants_.Find(*weight);
    if (filters == nullptr || filters->dtype() != DType::kFloat32) return std::nullopt;
    Convolution found = {id,      *input,   *weight,   std::nullopt, filters->sizes(),
                         *stride, *padding, *dilation, *groups};
    const size_t dims = found.dims();
    if (static_cast<size_t>(found.sizes.size()) != dims + 2 || padding->size() != dims ||
        dilation->size() != dims) {
      return std::nullopt;
    }
    if (!node.argument("bias").is_none()) {
      const ValueId* bias = node.value_argument("bias");
      const ConstantTensor* terms = bias == nullptr ? nullptr : constants_.Find(*bias);
      if (terms == nullptr || terms->dtype() != DType::kFloat32 ||
          terms->sizes() != Sizes({found.sizes[0]})) {
        return std::nullopt;
      }
      found.bias = *bias;
    }
    return found;
  }

  absl::StatusOr<std::vector<double>> Elements(ValueId constant) const {
    const ConstantTensor& tensor = *constants_.Find(constant);
    ABSL_ASSIGN_OR_RETURN(const exir::Storage dense, tensor.Dense());
    const auto* first = reinterpret_cast<const float*>(dense.bytes.data());
    return std::vector<double>(first, first + tensor.view().numel());
  }

  absl::StatusOr<Taps> TapsOf(const Convolution& convolution) const {
    Taps taps = {convolution.sizes, convolution.padding, convolution.dilation, {}, {}};
    ABSL_ASSIGN_OR_RETURN(taps.weight, Elements(convolution.weight));
    if (convolution.bias.has_value()) {
      ABSL_ASSIGN_OR_RETURN(taps.shift, Elements(*convolution.bias));
    }
    return taps;
  }

  // Returns x * factor + shift as a 1x1 convolution with the groups of `like`. nullopt if that has another
  // number of channels.
  static std::optional<Taps> Diagonal(const Convolution& like, const std::vector<double>& factor,
                                      std::vector<double> shift) {
    const int64_t channels = like.sizes[0], columns = like.sizes[1];
    if (columns * like.groups != channels) return std::nullopt;
    Taps taps;
    taps.sizes = Sizes(like.dims() + 2, 1);
    taps.sizes[0] = channels;
    taps.sizes[1] = columns;
    taps.padding = Integers(like.dims(), 0);
    taps.dilation = Integers(like.dims(), 1);
    taps.weight.resize(static_cast<size_t>(channels * columns));
    for (int64_t c = 0; c < channels; ++c) {
      taps.weight[static_cast<size_t>(c * columns + c % columns)] = factor[static_cast<size_t>(c)];
    }
    taps.shift = std::move(shift);
    return taps;
  }

  // Returns the branch that computes `value` from the input of `convolution`, with its stride and groups.
  absl::StatusOr<std::optional<Taps>> BranchOf(ValueId value, const Convolution& convolution,
                                               NodeId& node) const {
    if (const std::optional<Convolution> other = ConvolutionOf(value)) {
      if (other->input != convolution.input || other->stride != convolution.stride ||
          other->groups != convolution.groups || other->sizes[0] != convolution.sizes[0] ||
          other->sizes[1] != convolution.sizes[1]) {
        return std::nullopt;
      }
      node = other->node;
      return TapsOf(*other);
    }
    if (convolution.stride != Integers(convolution.dims(), 1)) return std::nullopt;
    const auto channels = static_cast<size_t>(convolution.sizes[0]);
    if (value == convolution.input) {
      if (convolution.sizes[1] != 1) return std::nullopt;
      return Diagonal(convolution, std::vector<double>(channels, 1.0), {});
    }
    node = graph_.value(value).producer;
    if (!node.valid() || graph_.node(node).target->aten() != batch_norm_ ||
        batch_norm_ == nullptr ||
        graph_.node(node).argument("input") != Argument(convolution.input) ||
        value != graph_.node(node).results()[0] || !graph_.HasOneUse(value) ||
        !UsesOnlyFirstResult(node)) {
      return std::nullopt;
    }
    std::optional<BatchNormTerms> terms = FindBatchNormTerms(graph_.node(node), channels, views_);
    if (!terms.has_value()) return std::nullopt;
    return Diagonal(convolution, terms->factor, std::move(terms->shift));
  }

  // to = to_sign * to + from_sign * from. Returns false if `to` does not have all taps of `from`.
  static bool Accumulate(Taps& to, double to_sign, const Taps& from, double from_sign) {
    const size_t dims = to.padding.size();
    const Strides to_strides = ContiguousStrides(to.sizes),
                  from_strides = ContiguousStrides(from.sizes);
    // Tap j of `from` is tap (j * from.dilation - from.padding + to.padding) / to.dilation of `to`.
    for (size_t d = 0; d < dims; ++d) {
      for (int64_t j = 0; j < from.sizes[d + 2]; ++j) {
        const int64_t offset = j * from.dilation[d] - from.padding[d] + to.padding[d];
        if (offset < 0 || offset % to.dilation[d] != 0 ||
            offset / to.dilation[d] >= to.sizes[d + 2]) {
          return false;
        }
      }
    }
    for (double& w : to.weight) w *= to_sign;
    for (size_t i = 0; i < from.weight.size(); ++i) {
      auto rest = static_cast<int64_t>(i);
      int64_t at = 0;
      for (size_t d = 0; d < dims + 2; ++d) {
        const int64_t index = rest / from_strides[d];
        rest %= from_strides[d];
        at += to_strides[d] *
              (d < 2 ? index
                     : (index * from.dilation[d - 2] - from.padding[d - 2] + to.padding[d - 2]) /
                           to.dilation[d - 2]);
      }
      to.weight[static_cast<size_t>(at)] += from_sign * from.weight[i];
    }
    if (to.shift.empty() && from.shift.empty()) return true;
    to.shift.resize(static_cast<size_t>(to.sizes[0]));
    for (size_t c = 0; c < to.shift.size(); ++c) {
      to.shift[c] = to_sign * to.shift[c] + (from.shift.empty() ? 0 : from_sign * from.shift[c]);
    }
    return true;
  }

  static std::optional<std::vector<float>> Rounded(const std::vector<double>& numbers) {
    std::vector<float> rounded(numbers.begin(), numbers.end());
    for (const float number : rounded) {
      if (!std::isfinite(number)) return std::nullopt;
    }
    return rounded;
  }

  bool IsLike(ValueId value, ValueId like) const {
    const TensorMeta *a = graph_.value(value).tensor(), *b = graph_.value(like).tensor();
    return a != nullptr && b != nullptr && a->dtype == b->dtype && a->sizes == b->sizes &&
           a->strides == b->strides;
  }

  absl::StatusOr<bool> Merge(NodeId id) {
    const Node& node = graph_.node(id);
    const Argument& alpha = node.argument("alpha");
    const ValueId *self = node.value_argument("self"), *other = node.value_argument("other");
    if ((alpha != Argument(int64_t{1}) && alpha != Argument(1.0)) || self == nullptr ||
        other == nullptr || *self == *other || !IsFloat32(graph_.ResultOf(id)) ||
        !IsLike(*self, graph_.ResultOf(id)) || !IsLike(*other, graph_.ResultOf(id))) {
      return false;
    }
    const double sign = node.target->aten() == sub_ ? -1 : 1;
    ABSL_ASSIGN_OR_RETURN(bool merged, MergeInto(*self, 1, *other, sign, id));
    if (!merged) {
      ABSL_ASSIGN_OR_RETURN(merged, MergeInto(*other, sign, *self, 1, id));
    }
    return merged;
  }

  // Replaces node `id`, which computes to_sign * to + from_sign * from, by the convolution `to`.
  absl::StatusOr<bool> MergeInto(ValueId to, double to_sign, ValueId from, double from_sign,
                                 NodeId id) {
    const std::optional<Convolution> convolution = ConvolutionOf(to);
    if (!convolution.has_value()) return false;
    NodeId branch;
    ABSL_ASSIGN_OR_RETURN(const std::optional<Taps> added, BranchOf(from, *convolution, branch));
    if (!added.has_value()) return false;
    ABSL_ASSIGN_OR_RETURN(Taps taps, TapsOf(*convolution));
    if (!Accumulate(taps, to_sign, *added, from_sign)) return false;
    std::optional<std::vector<float>> weight = Rounded(taps.weight), bias = Rounded(taps.shift);
    if (!weight.has_value() || !bias.has_value()) return false;
    if (!bias->empty()) {
      ABSL_ASSIGN_OR_RETURN(
          const ValueId constant,
          AddConstant(convolution->weight, "_bias", {convolution->sizes[0]}, *std::move(bias)));
      SetArgument(convolution->node, "bias", constant);
    }
    ABSL_ASSIGN_OR_RETURN(
        const ValueId constant,
        AddConstant(convolution->weight, "_branches", convolution->sizes, *std::move(weight)));
    SetArgument(convolution->node, "weight", constant);
    handles_.Fuse(editor_, convolution->node, id);
    editor_.ReplaceAllUses(graph_.ResultOf(id), to);
    editor_.EraseNode(id);
    if (branch.valid()) {
      handles_.Fuse(editor_, convolution->node, branch);
      editor_.EraseNode(branch);
    }
    return true;
  }

  absl::StatusOr<ValueId> AddConstant(ValueId source, std::string_view suffix, const Sizes& sizes,
                                      std::vector<float> elements) {
    ABSL_ASSIGN_OR_RETURN(ConstantTensor tensor, exir::FloatConstant(sizes, std::move(elements)));
    return constants_.AddDerived(source, suffix, std::move(tensor));
  }

  FusedHandles& handles_;
  exir::ConstantInputs constants_;
  const exir::OpOverload *const add_, *const sub_, *const convolution_, *const batch_norm_;
};

}  // namespace

exir::Pass MergeBranches(FusedHandles& handles) {
  return {"merge_branches", [&handles](exir::ExportedProgram& program) -> absl::StatusOr<bool> {
            return BranchMerging(program, handles).Run();
          }};
}

}  // namespace belay::cpu
