#include "exir/passes/merge_batch_norm.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "exir/ir/graph_editor.h"
#include "exir/ir/mapped_pages.h"
#include "exir/ir/match.h"
#include "exir/passes/constant_input.h"
#include "runtime/core/dtype.h"
#include "runtime/core/element.h"
#include "runtime/core/sizes.h"
#include "runtime/core/status_macros.h"

namespace belay::exir {
namespace {

// Half the distance from 1 to the next number.
double UnitRoundoff(DType dtype) {
  switch (dtype) {
    case DType::kFloat64:
      return 0x1p-53;
    case DType::kFloat32:
      return 0x1p-24;
    case DType::kFloat16:
      return 0x1p-11;
    default:
      return 0x1p-8;  // bfloat16
  }
}

// Maps elements of a weight to channels of the result.
struct Channels {
  int axis = 0;
  // Transposed convolution: the rows of the weight are divided into this many groups, each with its
  // own channels.
  int64_t groups = 1;

  int64_t Count(const Sizes& sizes) const { return sizes[axis] * groups; }
};

// An operator with a constant weight, and the names of its arguments.
struct Form {
  match::Pattern pattern;
  std::string_view input, weight, bias;  // bias: "" if the operator takes none
  bool permuted = false;                 // the argument is the permutation of the constant
};

// The producer of a batch norm's input.
struct Producer {
  NodeId node;
  std::string_view input_name, weight_name, bias_name;  // as in Form
  ValueId weight;                                       // the constant, possibly permuted
  NodeId permutation;                                   // invalid without a permutation
  Channels channels;
  int channel_dim = 0;  // of the result
};

// A factor and a shift per channel, the constants that they are computed from, and the views of these,
// which have no other users.
struct Affine {
  bool has_shifts = false;  // otherwise a producer without a bias needs none
  std::vector<double> factors, shifts;
  std::vector<Argument> operands;
  std::vector<NodeId> views;
};

// The new constants of a producer. Without a bias it keeps having none.
struct Merged {
  ConstantTensor weight;
  std::optional<ConstantTensor> bias;
};

std::optional<std::vector<double>> Numbers(const ConstantTensor& tensor) {
  const absl::StatusOr<Storage> dense = tensor.Dense();
  if (!dense.ok()) return std::nullopt;
  std::vector<double> numbers(static_cast<size_t>(tensor.view().numel()));
  const bool known = DispatchDType<kFloatTypes>(tensor.dtype(), [&](auto tag) {
    using T = CppType<tag.value>;
    const std::byte* from = dense->bytes.data();
    for (size_t i = 0; i < numbers.size(); ++i) {
      T element;
      std::memcpy(&element, from + i * sizeof(T), sizeof(T));
      numbers[i] = ConvertElement<double>(element);
    }
  });
  if (!known) return std::nullopt;
  return numbers;
}

// Returns the weight with each channel multiplied by its factor; nullopt if the dtype cannot
// represent it. Keeps the weight's dim order if that is contiguous or channels last.
std::optional<ConstantTensor> Scaled(const ConstantTensor& weight, const Channels& channels,
                                     const std::vector<double>& factors) {
  const Sizes& sizes = weight.sizes();
  const DimOrder last = ChannelsLastOrder(sizes.size());
  const bool channels_last =
      !weight.is_contiguous() && weight.strides() == DenseStrides(sizes, last);
  const DimOrder order = channels_last ? last : ContiguousOrder(sizes.size());
  const Strides strides = DenseStrides(sizes, order);
  const absl::StatusOr<Storage> dense = weight.Dense(order);
  if (!dense.ok()) return std::nullopt;
  absl::StatusOr<FileBytes> created = CreateZeros(dense->bytes.size());
  if (!created.ok()) return std::nullopt;
  const absl::Span<std::byte> scaled = created->bytes;
  // Per channel: the sum of rounding errors and the sum of magnitudes.
  std::vector<double> error(factors.size()), magnitude(factors.size());
  const int axis = channels.axis;
  const int64_t rows = sizes[0] / channels.groups;  // per group
  DispatchDType<kFloatTypes>(weight.dtype(), [&](auto tag) {
    using T = CppType<tag.value>;
    const int64_t count = static_cast<int64_t>(scaled.size() / sizeof(T));
    // Number of consecutive elements of one channel.
    const int64_t run = channels.groups == 1 ? strides[axis] : std::min(strides[axis], strides[0]);
    for (int64_t start = 0; start < count; start += run) {
      const int64_t group = channels.groups == 1 ? 0 : start / strides[0] % sizes[0] / rows;
      const size_t channel =
          static_cast<size_t>(group * sizes[axis] + start / strides[axis] % sizes[axis]);
      double run_error = 0, run_magnitude = 0;
      for (int64_t i = start; i < start + run; ++i) {
        const size_t at = static_cast<size_t>(i) * sizeof(T);
        T element;
        std::memcpy(&element, dense->bytes.data() + at, sizeof(T));
        const double exact = ConvertElement<double>(element) * factors[channel];
        const T rounded = ConvertElement<T>(exact);
        std::memcpy(scaled.data() + at, &rounded, sizeof(T));
        run_error += std::abs(ConvertElement<double>(rounded) - exact);
        run_magnitude += std::abs(exact);
      }
      error[channel] += run_error;
      magnitude[channel] += run_magnitude;
    }
  });
  ReleasePages(dense->bytes);
  ReleasePages(scaled);
  // Conversions to half precision round twice, which adds a little to the unit roundoff.
  const double most = UnitRoundoff(weight.dtype()) * (1 + 0x1p-10);
  for (size_t c = 0; c < factors.size(); ++c) {
    if (!(error[c] <= most * magnitude[c]) || !std::isfinite(magnitude[c])) return std::nullopt;
  }
  auto result = ConstantTensor::Create(weight.dtype(), sizes, strides, 0,
                                       {std::move(created->owner), scaled});
  if (!result.ok()) return std::nullopt;
  return *std::move(result);
}

// nullopt if a number is not finite.
std::optional<ConstantTensor> Vector(DType dtype, const std::vector<double>& numbers) {
  std::vector<std::byte> bytes(numbers.size() * DTypeSize(dtype));
  bool finite = true;
  DispatchDType<kFloatTypes>(dtype, [&](auto tag) {
    using T = CppType<tag.value>;
    for (size_t i = 0; i < numbers.size(); ++i) {
      const T rounded = ConvertElement<T>(numbers[i]);
      finite = finite && std::isfinite(ConvertElement<double>(rounded));
      std::memcpy(bytes.data() + i * sizeof(T), &rounded, sizeof(T));
    }
  });
  auto result = ConstantTensor::Contiguous(dtype, {static_cast<int64_t>(numbers.size())},
                                           Storage::Own(std::move(bytes)));
  if (!finite || !result.ok()) return std::nullopt;
  return *std::move(result);
}

class Merge {
 public:
  Merge(ExportedProgram& program, const MergeBatchNormOptions& options)
      : program_(program),
        editor_(program.top()),
        graph_(editor_.graph()),
        constants_(program, editor_, options.changing),
        max_growth_bytes_(options.max_growth_bytes),
        batch_norm_(program.ops->Find("aten._native_batch_norm_legit_no_training.default")),
        cat_(program.ops->Find("aten.cat.default")),
        view_(program.ops->Find("aten.view_copy.default")),
        mul_(program.ops->Find("aten.mul.Tensor")),
        add_(program.ops->Find("aten.add.Tensor")),
        relu_(program.ops->Find("aten.relu.default")),
        permute_(program.ops->Find("aten.permute_copy.default")) {}

  bool Run() {
    bool changed = false;
    for (NodeId id : graph_.NodeList()) {
      const OpOverload* op = graph_.node(id).target->aten();
      if (op == nullptr) continue;
      if (op == batch_norm_) changed |= MergeNorm(id);
      if (op == mul_ || op == add_) changed |= MergeConstant(id);
    }
    if (changed) constants_.Finish();
    return changed;
  }

 private:
  const ConstantTensor* ConstantOf(const Argument& argument) const {
    const ValueId* value = argument.get_if<ValueId>();
    return value == nullptr ? nullptr : constants_.Find(*value);
  }

  // Returns one number per channel: those of the argument, or `otherwise` for None. nullopt if it
  // is not constant or has another size.
  std::optional<std::vector<double>> PerChannel(const Argument& argument, size_t channels,
                                                double otherwise) const {
    if (argument.is_none()) return std::vector<double>(channels, otherwise);
    const ConstantTensor* tensor = ConstantOf(argument);
    if (tensor == nullptr || tensor->sizes() != Sizes({static_cast<int64_t>(channels)})) {
      return std::nullopt;
    }
    return Numbers(*tensor);
  }

  // Follows reshapes of values without other users, as [b * n, c] -> [b, n, c] -> [b * n, c], to
  // the first value of the same sizes. Without one returns `value`.
  ValueId BeforeReshapes(ValueId value) const {
    const TensorMeta& meta = graph_.MetaOf(value);
    ValueId found = value;
    for (ValueId at = value;;) {
      const NodeId producer = graph_.value(at).producer;
      if (view_ == nullptr || !producer.valid() || graph_.node(producer).target->aten() != view_) {
        return found;
      }
      const ValueId* operand = graph_.node(producer).operand().get_if<ValueId>();
      if (operand == nullptr || !graph_.HasOneUse(*operand)) return found;
      at = *operand;
      const TensorMeta* source = graph_.value(at).tensor();
      if (source != nullptr && source->dtype == meta.dtype && source->sizes == meta.sizes &&
          source->strides == meta.strides) {
        found = at;
      }
    }
  }

  // Returns the node that computes `value` with a constant weight, if a factor and a shift per
  // channel can be merged into it. The channel is dimension 1 of a convolution's result, and the last one
  // of another, which has two dimensions unless `any_rank`.
  std::optional<Producer> ProducerOf(ValueId value, bool any_rank) const {
    ValueId weight;
    const match::Pattern any = match::Any(), w = match::Value(&weight);
    const match::Pattern permuted =
        match::Op("permute_copy", w)
            .With("dims", match::Literal(Argument::List{1, 0}))
            .If([this](ValueId result) { return graph_.HasOneUse(result); });
    const auto addmm = [&](const match::Pattern& mat2) {
      return match::Op("aten.addmm.default", any, any, mat2)
          .With("beta", match::Number(1))
          .With("alpha", match::Number(1));
    };
    const Form forms[] = {
        {match::Op("aten.convolution.default", any, w), "input", "weight", "bias"},
        {match::Op("aten.linear.default", any, w), "input", "weight", "bias"},
        {match::Op("aten.mm.default", any, permuted), "self", "mat2", "", true},
        {match::Op("aten.mm.default", any, w), "self", "mat2", ""},
        {addmm(permuted), "mat1", "mat2", "self", true},
        {addmm(w), "mat1", "mat2", "self"},
    };
    const match::Matcher matcher(graph_);
    const Form* form = std::find_if(std::begin(forms), std::end(forms), [&](const Form& candidate) {
      return matcher.Match(candidate.pattern, value).has_value();
    });
    if (form == std::end(forms)) return std::nullopt;
    const NodeId id = graph_.value(value).producer;
    const Node& node = graph_.node(id);
    Producer producer = {id, form->input, form->weight, form->bias, weight, NodeId(), {}};
    if (form->weight == "mat2") producer.channels.axis = form->permuted ? 0 : 1;
    if (form->permuted) {
      producer.permutation = graph_.value(*node.value_argument(form->weight)).producer;
    }
    if (form == forms) {
      const bool* transposed = node.argument("transposed").get_if<bool>();
      const int64_t* groups = node.argument("groups").get_if<int64_t>();
      if (transposed == nullptr || groups == nullptr) return std::nullopt;
      if (*transposed) producer.channels = {.axis = 1, .groups = *groups};
      producer.channel_dim = 1;
    } else if (graph_.MetaOf(value).rank() != 2 && !any_rank) {
      return std::nullopt;
    } else {
      producer.channel_dim = graph_.MetaOf(value).rank() - 1;
    }
    const ConstantTensor* tensor = constants_.Find(producer.weight);
    const int axis = producer.channels.axis;
    if (tensor == nullptr || !kFloatTypes.contains(tensor->dtype()) ||
        tensor->dtype() != graph_.MetaOf(value).dtype || tensor->sizes().size() <= axis ||
        producer.channels.groups < 1 || tensor->sizes()[0] % producer.channels.groups != 0) {
      return std::nullopt;
    }
    return producer;
  }

  // Returns the producers of the parts of a concatenation of channels, or of the value itself;
  // empty if the batch norm cannot be merged into all of them.
  std::vector<Producer> ProducersOf(ValueId value) const {
    std::vector<ValueId> parts;
    const NodeId id = graph_.value(value).producer;
    if (id.valid() && graph_.node(id).target->aten() == cat_ && cat_ != nullptr) {
      const auto* list = graph_.node(id).operand().get_if<Argument::List>();
      if (list == nullptr || graph_.node(id).argument("dim") != Argument(1)) return {};
      for (const Argument& element : *list) {
        const ValueId* part = element.get_if<ValueId>();
        if (part == nullptr || !graph_.HasOneUse(*part)) return {};
        parts.push_back(*part);
      }
    } else {
      parts.push_back(BeforeReshapes(value));
    }
    std::vector<Producer> producers;
    for (ValueId part : parts) {
      std::optional<Producer> producer = ProducerOf(part, /*any_rank=*/false);
      // Each part needs its own constant.
      const bool usable =
          producer.has_value() &&
          std::none_of(producers.begin(), producers.end(),
                       [&](const Producer& other) { return other.weight == producer->weight; });
      if (!usable) return {};
      producers.push_back(*std::move(producer));
    }
    return producers;
  }

  // batch_norm(op(x, w, b), scale, shift, mean, var, eps)  ->  op(x, w * f, (b - mean) * f + shift)
  // with f = scale / sqrt(var + eps) per channel and `op` of ProducerOf. Merges into all parts of a
  // concatenation of channels.
  bool MergeNorm(NodeId id) {
    const Node& norm = graph_.node(id);
    const ValueId* input = norm.value_argument("input");
    const double* eps = norm.argument("eps").get_if<double>();
    const std::vector<ValueId> results = norm.results();
    if (input == nullptr || eps == nullptr || results.empty() || !graph_.HasOneUse(*input)) {
      return false;
    }
    for (size_t k = 1; k < results.size(); ++k) {
      if (!graph_.value(results[k]).users.empty() || graph_.IsOutput(results[k])) return false;
    }
    if (!IsLike(*input, results[0])) return false;
    const std::vector<Producer> producers = ProducersOf(*input);
    size_t channels = 0;
    for (const Producer& producer : producers) channels += CountOf(producer);
    const auto scale = PerChannel(norm.argument("weight"), channels, 1);
    const auto shift = PerChannel(norm.argument("bias"), channels, 0);
    const auto mean = PerChannel(norm.argument("running_mean"), channels, 0);
    const auto var = PerChannel(norm.argument("running_var"), channels, 1);
    if (producers.empty() || !scale || !shift || !mean || !var) return false;
    Affine affine;
    affine.has_shifts = true;
    for (size_t c = 0; c < channels; ++c) {
      affine.factors.push_back((*scale)[c] / std::sqrt((*var)[c] + *eps));
      affine.shifts.push_back((*shift)[c] - (*mean)[c] * affine.factors[c]);
    }
    for (std::string_view name : {"weight", "bias", "running_mean", "running_var"}) {
      affine.operands.push_back(norm.argument(name));
    }
    if (!MergeInto(producers, affine, id)) return false;
    Remove(id, *graph_.node(id).value_argument("input"), affine);
    return true;
  }

  // mul(op(x, w, b), f)        ->  op(x, w * f, b * f)
  // mul(relu(op(x, w, b)), f)  ->  relu(op(x, w * f, b * f))             if all f > 0
  // add(relu(op(x, w, b)), s)  ->  clamp(op(x, w, b + s), min=s)         for a number s
  //
  // for constants f, one or one per channel. Reshapes that keep the last dimension of a linear layer, and
  // then a permutation, may be between op and its user.
  bool MergeConstant(NodeId id) {
    const Node& node = graph_.node(id);
    const bool adds = node.target->aten() == add_;
    if (adds && node.argument("alpha") != Argument(1) && node.argument("alpha") != Argument(1.0)) {
      return false;
    }
    for (const auto& [name, constant] : {std::pair("self", "other"), std::pair("other", "self")}) {
      const ValueId* input = node.value_argument(name);
      if (input == nullptr || graph_.value(*input).tensor() == nullptr ||
          !IsLike(*input, graph_.ResultOf(id))) {
        continue;
      }
      // The values from which `dim` is counted: the operand of the permutation, then that of reshapes.
      NodeId relu, permutation;
      ValueId from = *input, viewed;
      for (; graph_.HasOneUse(from);
           from = *graph_.node(graph_.value(from).producer).value_argument("self")) {
        const NodeId inner = graph_.value(from).producer;
        const OpOverload* op = inner.valid() ? graph_.node(inner).target->aten() : nullptr;
        const ValueId* operand =
            op == nullptr ? nullptr : graph_.node(inner).value_argument("self");
        const bool view = op == view_ && operand != nullptr && KeepsLastDim(*operand, from);
        if (operand == nullptr || (!view && op != relu_ && op != permute_)) break;
        if (op == relu_ ? relu.valid() : op == permute_ && (permutation.valid() || viewed.valid()))
          break;
        if (op == relu_) relu = inner;
        if (op == permute_) permutation = inner;
        if (view && !viewed.valid()) viewed = from;
      }
      if (adds && !relu.valid()) continue;
      const std::optional<Producer> producer =
          graph_.HasOneUse(from) ? ProducerOf(from, /*any_rank=*/true) : std::nullopt;
      if (!producer.has_value()) continue;
      int dim = producer->channel_dim;
      if (viewed.valid()) {
        if (dim != graph_.MetaOf(from).rank() - 1) continue;
        dim = graph_.MetaOf(viewed).rank() - 1;
      }
      if (permutation.valid()) {
        const auto* dims = graph_.node(permutation).argument("dims").get_if<Argument::List>();
        if (dims == nullptr) continue;
        dim =
            static_cast<int>(std::find(dims->begin(), dims->end(), Argument(dim)) - dims->begin());
      }
      const size_t channels = CountOf(*producer);
      Affine affine;
      std::optional<std::vector<double>> numbers =
          PerChannelOf(node.argument(constant), *input, dim, channels, affine);
      if (!numbers.has_value()) continue;
      const std::vector<double> none(channels, adds ? 1.0 : 0.0);
      const bool positive =
          std::all_of(numbers->begin(), numbers->end(), [](double f) { return f > 0; });
      const double first = numbers->front();
      const bool equal =
          std::all_of(numbers->begin(), numbers->end(), [&](double f) { return f == first; });
      if (adds ? !equal : relu.valid() && !positive) continue;
      affine.has_shifts = adds;
      affine.factors = adds ? none : *numbers;
      affine.shifts = adds ? *numbers : none;
      const OpOverload* clamp = program_.ops->Find("aten.clamp.default");
      if (adds && clamp == nullptr) return false;
      if (!MergeInto({*producer}, affine, id)) continue;
      if (adds) {
        if (program_.dialect == IrDialect::kEdge) clamp = program_.ops->ToEdge(clamp);
        const Argument operand = graph_.node(relu).operand();
        editor_.SetTarget(relu, clamp);
        editor_.SetArguments(relu, {operand, Argument(first), Argument()});
      }
      Remove(id, *input, affine);
      return true;
    }
    return false;
  }

  // Whether a reshape from `a` to `b` has the same last dimension.
  bool KeepsLastDim(ValueId a, ValueId b) const {
    const TensorMeta *from = graph_.value(a).tensor(), *to = graph_.value(b).tensor();
    return from != nullptr && to != nullptr && from->rank() != 0 && to->rank() != 0 &&
           from->sizes.back() == to->sizes.back();
  }

  bool IsLike(ValueId made, ValueId wanted) const {
    const TensorMeta &a = graph_.MetaOf(made), &b = graph_.MetaOf(wanted);
    return a.dtype == b.dtype && a.sizes == b.sizes && a.strides == b.strides;
  }

  size_t CountOf(const Producer& producer) const {
    return static_cast<size_t>(producer.channels.Count(constants_.Find(producer.weight)->sizes()));
  }

  // Returns the numbers of an operand of a sum or product with `like`: one for all channels, or one per
  // element of dimension `dim`. nullopt if it is not constant, or has other dimensions. Adds the constant
  // and its views to `affine`.
  std::optional<std::vector<double>> PerChannelOf(const Argument& argument, ValueId like, int dim,
                                                  size_t channels, Affine& affine) const {
    if (const std::optional<double> number = match::Matcher::LiteralNumber(argument)) {
      return std::vector<double>(channels, *number);
    }
    const ValueId* value = argument.get_if<ValueId>();
    const TensorMeta& result = graph_.MetaOf(like);
    const TensorMeta* meta = value == nullptr ? nullptr : graph_.value(*value).tensor();
    if (meta == nullptr || meta->dtype != result.dtype || meta->rank() > result.rank()) {
      return std::nullopt;
    }
    size_t count = 1;
    for (int d = 0; d < meta->rank(); ++d) {
      if (meta->sizes[d] == SymInt(1)) continue;
      if (d + result.rank() - meta->rank() != dim ||
          !(meta->sizes[d] == SymInt(static_cast<int64_t>(channels)))) {
        return std::nullopt;
      }
      count = channels;
    }
    ValueId root = *value;
    for (NodeId at = graph_.value(root).producer; at.valid(); at = graph_.value(root).producer) {
      const ValueId* operand = graph_.node(at).operand().get_if<ValueId>();
      if (view_ == nullptr || graph_.node(at).target->aten() != view_ || operand == nullptr ||
          !graph_.HasOneUse(root)) {
        return std::nullopt;
      }
      affine.views.push_back(at);
      root = *operand;
    }
    const ConstantTensor* tensor = constants_.Find(root);
    if (tensor == nullptr || static_cast<size_t>(tensor->view().numel()) != count) {
      return std::nullopt;
    }
    std::optional<std::vector<double>> numbers = Numbers(*tensor);
    if (numbers.has_value()) numbers->resize(channels, numbers->front());
    affine.operands.push_back(Argument(root));
    return numbers;
  }

  // Replaces node `id` by `value`. Its constants lose these uses.
  void Remove(NodeId id, ValueId value, const Affine& affine) {
    editor_.ReplaceAllUses(graph_.ResultOf(id), value);
    editor_.EraseNode(id);
    for (NodeId view : affine.views) editor_.EraseNode(view);
    for (ValueId old : old_) freed_ += constants_.Drop(old);
  }

  // Multiplies the producers' channels by the factors and adds the shifts, which are operands of node
  // `id`. Returns false, without a change, if the limits of merge_batch_norm.h do not permit it.
  bool MergeInto(const std::vector<Producer>& producers, const Affine& affine, NodeId id) {
    // Only constants without other users, and not those that a producer also uses as its input.
    const auto is_free = [&](ValueId value) {
      const std::vector<NodeId>& users = graph_.value(value).users;
      return !graph_.IsOutput(value) && std::all_of(users.begin(), users.end(), [&](NodeId user) {
        return user == id ||
               std::find(affine.views.begin(), affine.views.end(), user) != affine.views.end() ||
               std::any_of(producers.begin(), producers.end(), [&](const Producer& p) {
                 return user == p.permutation ||
                        (user == p.node &&
                         graph_.node(user).argument(p.input_name) != Argument(value));
               });
      });
    };
    old_.clear();
    const auto replace = [&](const Argument& argument) {
      const ValueId* value = argument.get_if<ValueId>();
      if (value != nullptr && is_free(*value) &&
          std::find(old_.begin(), old_.end(), *value) == old_.end()) {
        old_.push_back(*value);
      }
    };
    std::vector<Merged> merged;
    uint64_t added = 0;
    size_t first = 0;
    bool needs_addmm = false;
    for (const Producer& producer : producers) {
      const ConstantTensor& weight = *constants_.Find(producer.weight);
      const size_t count = CountOf(producer);
      const Argument bias = producer.bias_name.empty()
                                ? Argument()
                                : graph_.node(producer.node).argument(producer.bias_name);
      const auto before = PerChannel(bias, count, 0);
      if (!before) return false;
      const auto factors = affine.factors.begin() + static_cast<ptrdiff_t>(first);
      std::vector<double> shifts(count);
      for (size_t i = 0; i < count; ++i) {
        shifts[i] = (*before)[i] * factors[static_cast<ptrdiff_t>(i)] + affine.shifts[first + i];
      }
      const bool shifted = affine.has_shifts || !bias.is_none();
      std::optional<ConstantTensor> new_bias;
      if (shifted) {
        new_bias = Vector(weight.dtype(), shifts);
        if (!new_bias.has_value()) return false;
        added += new_bias->view().nbytes();
        needs_addmm = needs_addmm || producer.bias_name.empty();
        replace(bias);
      }
      std::optional<ConstantTensor> new_weight =
          Scaled(weight, producer.channels,
                 std::vector<double>(factors, factors + static_cast<ptrdiff_t>(count)));
      if (!new_weight.has_value()) return false;
      first += count;
      added += new_weight->view().nbytes();
      merged.push_back({*std::move(new_weight), std::move(new_bias)});
      replace(Argument(producer.weight));
    }
    for (const Argument& operand : affine.operands) replace(operand);
    const uint64_t freed = constants_.FreedBytes(old_);
    if (added_ + added > max_growth_bytes_ + freed_ + freed) return false;
    if (needs_addmm && program_.ops->Find("aten.addmm.default") == nullptr) return false;
    for (size_t i = 0; i < producers.size(); ++i) Apply(producers[i], std::move(merged[i]));
    added_ += added;
    return true;
  }

  // Gives the producer these constants. Precondition: the registry has the operator with a bias, if
  // there is one.
  void Apply(const Producer& producer, Merged merged) {
    ConstantTensor& weight = merged.weight;
    const OpOverload* addmm = nullptr;
    if (producer.bias_name.empty() && merged.bias.has_value()) {
      addmm = program_.ops->Find("aten.addmm.default");
      if (program_.dialect == IrDialect::kEdge) addmm = program_.ops->ToEdge(addmm);
    }
    const std::string name = graph_.value(producer.weight).name;
    const std::string fqn =
        UnusedTensorName(program_, absl::StrCat(constants_.NameOf(producer.weight), "_merged"));
    const auto type = [&](const ConstantTensor& tensor) {
      const std::vector<SymInt> sizes(tensor.sizes().begin(), tensor.sizes().end());
      TensorMeta meta = TensorMeta::Contiguous(tensor.dtype(), sizes);
      meta.strides.assign(tensor.strides().begin(), tensor.strides().end());
      meta.device = graph_.MetaOf(producer.weight).device;
      return meta;
    };
    const TensorMeta weight_type = type(weight);
    const ValueId new_weight = constants_.Add(absl::StrCat(name, "_merged"), fqn, std::move(weight),
                                              weight_type, producer.weight);
    const NodeId reader = producer.permutation.valid() ? producer.permutation : producer.node;
    // The other factor may be the same constant, which is kept.
    const std::string_view weight_name =
        producer.permutation.valid() ? "self" : producer.weight_name;
    const std::optional<int> place = graph_.node(reader).target->ArgumentIndex(weight_name);
    editor_.SetArgument(reader, static_cast<size_t>(*place), new_weight);
    if (!merged.bias.has_value()) return;
    const TensorMeta bias_type = type(*merged.bias);
    const std::string bias_fqn = UnusedTensorName(program_, absl::StrCat(fqn, "_bias"));
    const ValueId new_bias = constants_.Add(absl::StrCat(name, "_merged_bias"), bias_fqn,
                                            *std::move(merged.bias), bias_type, producer.weight);
    const Node& node = graph_.node(producer.node);
    if (addmm != nullptr) {
      std::vector<Argument> arguments = ArgumentsByName(
          *addmm->schema(),
          {{"self", new_bias}, {"mat1", node.argument("self")}, {"mat2", node.argument("mat2")}});
      editor_.SetTarget(producer.node, addmm);
      editor_.SetArguments(producer.node, std::move(arguments));
    } else {
      const std::optional<int> index = node.target->ArgumentIndex(producer.bias_name);
      editor_.SetArgument(producer.node, static_cast<size_t>(*index), new_bias);
    }
  }

  ExportedProgram& program_;
  GraphEditor editor_;
  const Graph& graph_;
  ConstantInputs constants_;
  const uint64_t max_growth_bytes_;
  // Of the ATen dialect.
  const OpOverload *const batch_norm_,
      *const cat_, *const view_, *const mul_, *const add_, *const relu_, *const permute_;
  std::vector<ValueId> old_;  // constants that the current merge replaces
  uint64_t added_ = 0, freed_ = 0;
};

}  // namespace

Pass MergeBatchNorm(MergeBatchNormOptions options) {
  return {"merge_batch_norm",
          [options = std::move(options)](ExportedProgram& program) -> absl::StatusOr<bool> {
            return Merge(program, options).Run();
          }};
}

}  // namespace belay::exir
