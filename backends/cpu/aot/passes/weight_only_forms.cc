#include "backends/cpu/aot/passes/weight_only_forms.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

namespace belay::cpu {
namespace {

using exir::Argument;
using exir::Node;
using exir::SymInt;
using exir::TensorMeta;
using exir::ValueId;

constexpr double kLeastScale = 0x1p-100, kMostScale = 0x1p100;

std::optional<int> MatrixDim(const Argument& argument) {
  const int64_t* dim = argument.get_if<int64_t>();
  if (dim == nullptr || *dim < -2 || *dim >= 2) return std::nullopt;
  return static_cast<int>(*dim < 0 ? *dim + 2 : *dim);
}

bool AllFourBits(const ConstantView& numbers) {
  const std::optional<exir::ConstantTensor> tensor = numbers.ToTensor();
  const absl::StatusOr<exir::Storage> dense =
      numbers.strides[0] >= numbers.strides[1] ? tensor->Dense() : tensor->Dense({1, 0});
  if (!dense.ok()) return false;
  const auto* elements = reinterpret_cast<const int8_t*>(dense->bytes.data());
  return std::all_of(elements, elements + tensor->view().numel(),
                     [](int8_t q) { return q >= -8 && q < 8; });
}

}  // namespace

// How a node's constant becomes floats.
struct WeightOnlyForms::Parameters {
  Argument input;
  std::vector<double> scales, zeros;  // one, one for each column, or [columns, groups]; or none
  int64_t group = 0;                  // 0: all rows are one
};

WeightOnlyForms::WeightOnlyForms(const exir::ExportedProgram& program)
    : program_(program),
      views_(program),
      dequantize_(program.ops->Find("quantized_decomposed.dequantize_per_tensor.default")),
      dequantize_channels_(
          program.ops->Find("quantized_decomposed.dequantize_per_channel.default")),
      dequantize_groups_(
          program.ops->Find("quantized_decomposed.dequantize_per_channel_group.default")),
      convert_(program.ops->Find("dim_order_ops._to_dim_order_copy.default")),
      mul_(program.ops->Find("aten.mul.Tensor")),
      permute_(program.ops->Find("aten.permute_copy.default")),
      transpose_(program.ops->Find("aten.transpose_copy.int")),
      t_(program.ops->Find("aten.t_copy.default")) {}

// The node whose result is the argument, if that is a float32 matrix.
const Node* WeightOnlyForms::Producer(const Argument& argument) const {
  const ValueId* value = argument.get_if<ValueId>();
  if (value == nullptr || !program_.top().value(*value).producer.valid()) return nullptr;
  const TensorMeta* meta = program_.top().value(*value).tensor();
  if (meta == nullptr || meta->dtype != DType::kFloat32 || meta->rank() != 2) return nullptr;
  return &program_.top().node(program_.top().value(*value).producer);
}

// `transposed`: the matrix is that of the node transposed.
std::optional<WeightOnlyForms::Parameters> WeightOnlyForms::ParametersOf(const Node& node,
                                                                         bool transposed) const {
  const exir::OpOverload* op = node.target->aten();
  if (op == convert_) return Parameters{node.operand(), {1.0}, {}};
  if (op == mul_) return ProductParameters(node, transposed);
  Parameters p;
  if (op == dequantize_) {
    const auto* scale = node.argument("scale").get_if<double>();
    const auto* zero_point = node.argument("zero_point").get_if<int64_t>();
    if (scale == nullptr || zero_point == nullptr) return std::nullopt;
    p.scales = {*scale};
    p.zeros = {static_cast<double>(*zero_point)};
  } else if (op == dequantize_channels_ || op == dequantize_groups_) {
    if (op == dequantize_groups_) {
      const auto* group = node.argument("group_size").get_if<int64_t>();
      if (!transposed || group == nullptr || *group < 1) return std::nullopt;
      p.group = *group;
    } else if (MatrixDim(node.argument("axis")) != (transposed ? 0 : 1)) {
      return std::nullopt;
    }
    const std::optional<ConstantView> scales = views_.Find(node.argument("scales"));
    // float64 would be multiplied with as such.
    if (!scales.has_value() || scales->tensor->dtype() != DType::kFloat32) return std::nullopt;
    std::optional<std::vector<double>> numbers = scales->Numbers();
    if (!numbers.has_value()) return std::nullopt;
    p.scales = *std::move(numbers);
    if (const Argument& zero_points = node.argument("zero_points"); !zero_points.is_none()) {
      const std::optional<ConstantView> zeros = views_.Find(zero_points);
      numbers = zeros.has_value() ? zeros->Numbers() : std::nullopt;
      if (!numbers.has_value()) return std::nullopt;
      p.zeros = *std::move(numbers);
    }
  } else {
    return std::nullopt;
  }
  p.input = node.argument("input");
  return p;
}

// Of a converted constant times scales.
std::optional<WeightOnlyForms::Parameters> WeightOnlyForms::ProductParameters(
    const Node& node, bool transposed) const {
  for (const auto& [left, right] : {std::pair("self", "other"), {"other", "self"}}) {
    const Node* producer = Producer(node.argument(left));
    if (producer == nullptr || producer->target->aten() != convert_) continue;
    const std::optional<ConstantView> scales = views_.Find(node.argument(right));
    if (!scales.has_value() || scales->tensor->dtype() != DType::kFloat32 || scales->rank() > 2) {
      continue;
    }
    // Along the columns alone.
    const int rows = (transposed ? 1 : 0) - (2 - scales->rank());
    if (rows >= 0 && !(scales->sizes[rows] == SymInt(1))) continue;
    std::optional<std::vector<double>> numbers = scales->Numbers();
    if (!numbers.has_value()) continue;
    return Parameters{producer->operand(), *std::move(numbers), {}};
  }
  return std::nullopt;
}

std::optional<WeightOnlyForm> WeightOnlyForms::Find(const Argument& argument) const {
  bool transposed = false;
  const Node* node = Producer(argument);
  for (; node != nullptr; node = Producer(node->operand())) {
    const exir::OpOverload* op = node->target->aten();
    if (op == permute_) {
      const auto* dims = node->argument("dims").get_if<Argument::List>();
      if (dims == nullptr || dims->size() != 2) return std::nullopt;
      transposed = transposed != (MatrixDim((*dims)[0]) == 1);
    } else if (op == transpose_) {
      transposed =
          transposed != (MatrixDim(node->argument("dim0")) != MatrixDim(node->argument("dim1")));
    } else if (op == t_) {
      transposed = !transposed;
    } else {
      break;
    }
  }
  if (node == nullptr) return std::nullopt;
  std::optional<Parameters> p = ParametersOf(*node, transposed);
  if (!p.has_value()) return std::nullopt;
  std::optional<ConstantView> numbers = views_.Find(p->input);
  const TensorMeta& whole = *program_.top().value(node->results()[0]).tensor();
  if (!numbers.has_value() || numbers->sizes != whole.sizes || !numbers->ToTensor().has_value()) {
    return std::nullopt;
  }
  if (transposed) {
    std::swap(numbers->sizes[0], numbers->sizes[1]);
    std::swap(numbers->strides[0], numbers->strides[1]);
  }
  const int64_t k = *numbers->sizes[0].AsInt(), n = *numbers->sizes[1].AsInt();
  if (k < 1 || n < 1) return std::nullopt;
  const DType dtype = numbers->tensor->dtype();
  if (dtype == DType::kBFloat16 && node->target->aten() == convert_) {
    return WeightOnlyForm{*std::move(numbers), WeightFormat::kBFloat16, 0, {}, {}};
  }
  if (dtype != DType::kInt8) return std::nullopt;
  if (p->group == 0 || p->group > k) p->group = k;
  if (p->group < k && p->group % 8 != 0) return std::nullopt;
  const auto columns = static_cast<size_t>(n);
  const auto groups = static_cast<size_t>((k + p->group - 1) / p->group);
  // As [groups, n].
  const auto arranged = [&](const std::vector<double>& from) -> std::optional<std::vector<float>> {
    if (from.size() != 1 && from.size() != columns * groups) return std::nullopt;
    std::vector<float> to(columns * groups);
    for (size_t i = 0; i < to.size(); ++i) {
      to[i] = static_cast<float>(from[from.size() == 1 ? 0 : i % columns * groups + i / columns]);
    }
    return to;
  };
  const bool usual = std::all_of(p->scales.begin(), p->scales.end(), [](double scale) {
    return scale >= kLeastScale && scale <= kMostScale;
  });
  const bool bytes = std::all_of(p->zeros.begin(), p->zeros.end(), [](double zero) {
    return zero >= -128 && zero <= 127 && zero == std::floor(zero);
  });
  std::optional<std::vector<float>> scales = arranged(p->scales), zeros = std::vector<float>();
  if (std::any_of(p->zeros.begin(), p->zeros.end(), [](double zero) { return zero != 0; })) {
    zeros = arranged(p->zeros);
  }
  if (!usual || !bytes || !scales.has_value() || !zeros.has_value()) return std::nullopt;
  const WeightFormat format = AllFourBits(*numbers) ? WeightFormat::kInt4 : WeightFormat::kInt8;
  return WeightOnlyForm{*std::move(numbers), format, p->group, *std::move(scales),
                        *std::move(zeros)};
}

}  // namespace belay::cpu
