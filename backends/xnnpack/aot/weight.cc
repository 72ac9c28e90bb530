#include "backends/xnnpack/aot/weight.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string_view>
#include <utility>

#include "runtime/core/element.h"
#include "runtime/core/status_macros.h"

namespace belay::xnnpack {
namespace {

using exir::Argument;
using exir::ValueId;

// Returns the elements of a constant of this rank and one of these types, row-major.
template <class... Types>
std::optional<std::vector<double>> Vector(const exir::ExportedProgram& program,
                                          const ValueId* value, int rank = 1) {
  const exir::ConstantTensor* constant = value == nullptr ? nullptr : ConstantOf(program, *value);
  if (constant == nullptr || constant->sizes().size() != rank) return std::nullopt;
  const absl::StatusOr<exir::Storage> dense = constant->Dense();
  if (!dense.ok()) return std::nullopt;
  std::vector<double> numbers(static_cast<size_t>(constant->view().numel()));
  const auto read = [&]<class T>(T) {
    if (constant->dtype() != DTypeOf<T>) return false;
    for (size_t i = 0; i < numbers.size(); ++i) {
      T number;
      std::memcpy(&number, dense->bytes.data() + i * sizeof(T), sizeof(T));
      numbers[i] = static_cast<double>(number);
    }
    return true;
  };
  if (!(read(Types()) || ...)) return std::nullopt;
  return numbers;
}

// Scales of a node that dequantizes an entire constant symmetrically.
struct Dequantization {
  std::vector<float> scales;
  int channel_dim = 0;
  int64_t group_size = 0;
};
// Whether zero points of a node are 0.
bool IsSymmetric(const exir::ExportedProgram& program, const exir::Node& node, int rank) {
  if (node.argument("zero_points").is_none()) return true;
  const auto zeros =
      Vector<int64_t, int32_t, int8_t>(program, node.value_argument("zero_points"), rank);
  return zeros.has_value() &&
         std::all_of(zeros->begin(), zeros->end(), [](double zero) { return zero == 0; });
}
std::optional<Dequantization> DequantizationOf(const exir::ExportedProgram& program,
                                               const exir::Node& node) {
  const std::string_view name = node.target->name();
  Dequantization result;
  if (name == "quantized_decomposed.dequantize_per_tensor.default") {
    const double* scale = node.argument("scale").get_if<double>();
    if (scale == nullptr || node.argument("zero_point") != Argument(0)) return std::nullopt;
    result.scales = {static_cast<float>(*scale)};
  } else if (name == "quantized_decomposed.dequantize_per_channel.default") {
    const auto scales = Vector<float, double>(program, node.value_argument("scales"));
    const int64_t* axis = node.argument("axis").get_if<int64_t>();
    if (!scales.has_value() || axis == nullptr || *axis < 0 || *axis > kMaxRank) {
      return std::nullopt;
    }
    if (!IsSymmetric(program, node, 1)) return std::nullopt;
    result.scales.assign(scales->begin(), scales->end());
    result.channel_dim = static_cast<int>(*axis);
  } else if (name == "quantized_decomposed.dequantize_per_channel_group.default") {
    const auto scales = Vector<float>(program, node.value_argument("scales"), 2);
    const int64_t* group_size = node.argument("group_size").get_if<int64_t>();
    if (!scales.has_value() || group_size == nullptr || *group_size < 1 ||
        !IsSymmetric(program, node, 2) || node.argument("quant_min") != Argument(-8) ||
        node.argument("quant_max") != Argument(7)) {
      return std::nullopt;
    }
    result.scales.assign(scales->begin(), scales->end());
    result.group_size = *group_size;
  }
  const bool usual = !result.scales.empty() &&
                     std::all_of(result.scales.begin(), result.scales.end(),
                                 [](float scale) { return scale > 0 && std::isnormal(scale); });
  return usual ? std::optional(std::move(result)) : std::nullopt;
}

// Returns the sizes of the result of a reshape, before or after the edge dialect; nullopt for another
// node, and for dynamic sizes.
std::optional<Sizes> ReshapeOf(const exir::Graph& graph, const exir::Node& node) {
  constexpr std::string_view kReshapes[] = {"aten.view.default", "aten.reshape.default",
                                            "aten.unsqueeze.default", "aten.view_copy.default",
                                            "aten.unsqueeze_copy.default"};
  if (std::find(std::begin(kReshapes), std::end(kReshapes), node.target->name()) ==
      std::end(kReshapes)) {
    return std::nullopt;
  }
  const exir::TensorMeta* meta = graph.value(node.outputs[0].values[0]).tensor();
  return meta == nullptr ? std::nullopt : exir::AsInts(meta->sizes);
}

}  // namespace

const exir::ConstantTensor* ConstantOf(const exir::ExportedProgram& program, ValueId value) {
  if (!program.top().IsInput(value)) return nullptr;
  const exir::InputSpec& spec = program.signature.inputs[*program.InputIndex(value)];
  if (!exir::NamesTensor(spec.kind) ||
      exir::VariableTensors(program.signature).contains(spec.target)) {
    return nullptr;
  }
  return program.FindConstant(spec);
}

std::optional<Sizes> PermutationOf(const exir::Graph& graph, const exir::Node& node) {
  const std::string_view name = node.target->name();
  const bool swaps = name == "aten.transpose_copy.int";
  const ValueId* self = node.operand().get_if<ValueId>();
  if (self == nullptr || !(swaps || name == "aten.permute_copy.default")) return std::nullopt;
  const exir::TensorMeta* meta = graph.value(*self).tensor();
  if (meta == nullptr) return std::nullopt;
  const int rank = meta->rank();
  const auto dim_of = [&](const Argument& argument) -> std::optional<int> {
    const int64_t* dim = argument.get_if<int64_t>();
    if (dim == nullptr || *dim < -rank || *dim >= rank) return std::nullopt;
    return static_cast<int>(*dim < 0 ? *dim + rank : *dim);
  };
  Sizes dims;
  if (swaps) {
    const std::optional<int> a = dim_of(node.argument("dim0")), b = dim_of(node.argument("dim1"));
    if (!a.has_value() || !b.has_value()) return std::nullopt;
    for (int i = 0; i < rank; ++i) dims.push_back(i == *a ? *b : i == *b ? *a : i);
    return dims;
  }
  const Argument::List* list = node.argument("dims").get_if<Argument::List>();
  if (list == nullptr || list->size() != static_cast<size_t>(rank)) return std::nullopt;
  for (const Argument& argument : *list) {
    const std::optional<int> dim = dim_of(argument);
    if (!dim.has_value()) return std::nullopt;
    dims.push_back(*dim);
  }
  return dims;
}

std::vector<exir::NodeId> WeightNodes(const exir::ExportedProgram& program, ValueId value) {
  const exir::Graph& graph = program.top();
  std::vector<exir::NodeId> nodes;
  bool dequantized = false;
  while (!graph.IsInput(value)) {
    const exir::NodeId id = graph.value(value).producer;
    const exir::Node& node = graph.node(id);
    const ValueId* self = node.operand().get_if<ValueId>();
    const bool is_read_once = graph.HasOneUse(value);
    const bool dequantizes = DequantizationOf(program, node).has_value();
    if (dequantized || self == nullptr || !is_read_once ||
        !(dequantizes || PermutationOf(graph, node).has_value() ||
          ReshapeOf(graph, node).has_value())) {
      return {};
    }
    dequantized = dequantizes;
    nodes.push_back(id);
    value = *self;
  }
  return nodes;
}

std::optional<Weight> WeightOf(const exir::ExportedProgram& program, ValueId value) {
  if (const exir::ConstantTensor* constant = ConstantOf(program, value)) return Weight{*constant};
  const exir::Graph& graph = program.top();
  const std::vector<exir::NodeId> nodes = WeightNodes(program, value);
  if (nodes.empty()) return std::nullopt;
  const exir::ConstantTensor* root =
      ConstantOf(program, *graph.node(nodes.back()).operand().get_if<ValueId>());
  if (root == nullptr) return std::nullopt;
  Sizes sizes = root->sizes();
  Strides strides = root->strides();
  Dequantization dequantization;
  for (size_t i = nodes.size(); i-- > 0;) {
    const exir::Node& node = graph.node(nodes[i]);
    if (auto found = DequantizationOf(program, node)) {
      dequantization = *std::move(found);
      const auto channels = static_cast<int64_t>(dequantization.scales.size());
      const int dim = dequantization.channel_dim;
      const int64_t group_size = dequantization.group_size;
      if (root->dtype() != DType::kInt8 || dim >= sizes.size()) return std::nullopt;
      const bool fits = group_size == 0 ? channels == 1 || sizes[dim] == channels
                                        : sizes.size() == 2 && i + 1 == nodes.size() &&
                                              sizes[1] % group_size == 0 &&
                                              sizes[0] * (sizes[1] / group_size) == channels;
      if (!fits) return std::nullopt;
      continue;
    }
    if (std::optional<Sizes> reshaped = ReshapeOf(graph, node)) {
      const bool fits = root->dtype() == DType::kFloat32 && dequantization.scales.empty() &&
                        strides == DenseStrides(sizes, ContiguousOrder(sizes.size())) &&
                        NumElements(*reshaped) == NumElements(sizes);
      if (!fits) return std::nullopt;
      sizes = *std::move(reshaped);
      strides = DenseStrides(sizes, ContiguousOrder(sizes.size()));
      continue;
    }
    const Sizes dims = *PermutationOf(graph, node);
    const Sizes from = sizes;
    const Strides strides_from = strides;
    const int channel_dim = dequantization.channel_dim;
    for (int dim = 0; dim < from.size(); ++dim) {
      const int place = static_cast<int>(dims[dim]);
      sizes[dim] = from[place];
      strides[dim] = strides_from[place];
      if (place == channel_dim) dequantization.channel_dim = dim;
    }
  }
  auto view = exir::ConstantTensor::Create(root->dtype(), sizes, strides, root->storage_offset(),
                                           root->storage());
  if (!view.ok()) return std::nullopt;
  return Weight{*std::move(view), std::move(dequantization.scales), dequantization.channel_dim,
                dequantization.group_size};
}

absl::StatusOr<exir::Storage> Dequantized(const Weight& weight, absl::Span<const uint8_t> order) {
  if (weight.group_size != 0) return absl::UnimplementedError("int4 groups as float32");
  ABSL_ASSIGN_OR_RETURN(const exir::Storage dense, weight.tensor.Dense(order));
  // Distance, in elements, between adjacent channels in the requested order.
  size_t step = 1;
  for (size_t i = order.size() - 1; order[i] != weight.channel_dim; --i) {
    step *= static_cast<size_t>(weight.tensor.sizes()[order[i]]);
  }
  std::vector<std::byte> bytes(dense.bytes.size() * sizeof(float));
  for (size_t i = 0; i < dense.bytes.size(); ++i) {
    const float number = static_cast<float>(static_cast<int8_t>(dense.bytes[i])) *
                         weight.scales[i / step % weight.scales.size()];
    std::memcpy(bytes.data() + i * sizeof(float), &number, sizeof(float));
  }
  return exir::Storage::Own(std::move(bytes));
}

}  // namespace belay::xnnpack
