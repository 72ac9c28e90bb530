#include "backends/cpu/aot/passes/weight_only_forms.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

namespace belay::cpu {
namespace {

using exir::Argument;
using exir::Node;
using exir::NodeId;
using exir::SymInt;
using exir::TensorMeta;
using exir::ValueId;

std::optional<int> MatrixDim(const Argument& argument) {
  const int64_t* dim = argument.get_if<int64_t>();
  if (dim == nullptr || *dim < -2 || *dim >= 2) return std::nullopt;
  return static_cast<int>(*dim < 0 ? *dim + 2 : *dim);
}

bool AllFourBits(const ConstantView& view) {
  const std::optional<exir::ConstantTensor> tensor = view.ToTensor();
  const absl::StatusOr<exir::Storage> dense =
      view.strides[0] >= view.strides[1] ? tensor->Dense() : tensor->Dense({1, 0});
  if (!dense.ok()) return false;
  const auto* elements = reinterpret_cast<const int8_t*>(dense->bytes.data());
  return std::all_of(elements, elements + tensor->view().numel(),
                     [](int8_t q) { return q >= -8 && q < 8; });
}

}  // namespace

WeightOnlyForms::WeightOnlyForms(const exir::ExportedProgram& program, const ConstantViews& views,
                                 const QuantizedForms& quantized)
    : program_(program),
      views_(views),
      quantized_(quantized),
      convert_(program.ops->Find("dim_order_ops._to_dim_order_copy.default")),
      mul_(program.ops->Find("aten.mul.Tensor")),
      permute_(program.ops->Find("aten.permute_copy.default")),
      transpose_(program.ops->Find("aten.transpose_copy.int")),
      t_(program.ops->Find("aten.t_copy.default")) {}

// Returns the producer of the argument, if the argument is a float32 matrix.
std::optional<NodeId> WeightOnlyForms::Producer(const Argument& argument) const {
  const ValueId* value = argument.get_if<ValueId>();
  if (value == nullptr || !program_.top().value(*value).producer.valid()) return std::nullopt;
  const TensorMeta* meta = program_.top().value(*value).tensor();
  if (meta == nullptr || meta->dtype != DType::kFloat32 || meta->rank() != 2) return std::nullopt;
  return program_.top().value(*value).producer;
}

std::optional<DequantizeParameters> WeightOnlyForms::ParametersOf(NodeId id,
                                                                  bool transposed) const {
  const Node& node = program_.top().node(id);
  if (node.target->aten() == convert_) return DequantizeParameters{node.operand(), {1.0}};
  if (node.target->aten() == mul_) return ProductParameters(node, transposed);
  std::optional<DequantizeParameters> p = quantized_.ParametersOf(id);
  if (!p.has_value()) return std::nullopt;
  const int columns = transposed ? 0 : 1;
  const bool by_columns = p->group_size == 0 ? p->axis.value_or(columns) == columns : transposed;
  return by_columns ? std::move(p) : std::nullopt;
}

// Parameters of a converted constant times scales.
std::optional<DequantizeParameters> WeightOnlyForms::ProductParameters(const Node& node,
                                                                       bool transposed) const {
  for (const auto& [left, right] : {std::pair("self", "other"), {"other", "self"}}) {
    const std::optional<NodeId> producer = Producer(node.argument(left));
    if (!producer.has_value()) continue;
    const Node& converted = program_.top().node(*producer);
    if (converted.target->aten() != convert_) continue;
    const std::optional<ConstantView> scales = views_.Find(node.argument(right));
    if (!scales.has_value() || scales->tensor->dtype() != DType::kFloat32 || scales->rank() > 2) {
      continue;
    }
    // Scales may vary along the columns only.
    const int rows = (transposed ? 1 : 0) - (2 - scales->rank());
    if (rows >= 0 && !(scales->sizes[rows] == SymInt(1))) continue;
    std::optional<std::vector<double>> elements = scales->Elements();
    if (!elements.has_value()) continue;
    return DequantizeParameters{converted.operand(), *std::move(elements)};
  }
  return std::nullopt;
}

std::optional<WeightOnlyForm> WeightOnlyForms::Find(const Argument& argument) const {
  bool transposed = false;
  std::optional<NodeId> id = Producer(argument);
  for (; id.has_value(); id = Producer(program_.top().node(*id).operand())) {
    const Node& node = program_.top().node(*id);
    const exir::OpOverload* op = node.target->aten();
    if (op == permute_) {
      const auto* dims = node.argument("dims").get_if<Argument::List>();
      if (dims == nullptr || dims->size() != 2) return std::nullopt;
      transposed = transposed != (MatrixDim((*dims)[0]) == 1);
    } else if (op == transpose_) {
      transposed =
          transposed != (MatrixDim(node.argument("dim0")) != MatrixDim(node.argument("dim1")));
    } else if (op == t_) {
      transposed = !transposed;
    } else {
      break;
    }
  }
  if (!id.has_value()) return std::nullopt;
  const Node& node = program_.top().node(*id);
  std::optional<DequantizeParameters> p = ParametersOf(*id, transposed);
  if (!p.has_value()) return std::nullopt;
  std::optional<ConstantView> elements = views_.Find(p->input);
  const TensorMeta& whole = *program_.top().value(node.results()[0]).tensor();
  if (!elements.has_value() || elements->sizes != whole.sizes ||
      !elements->ToTensor().has_value()) {
    return std::nullopt;
  }
  if (transposed) {
    std::swap(elements->sizes[0], elements->sizes[1]);
    std::swap(elements->strides[0], elements->strides[1]);
  }
  const int64_t k = *elements->sizes[0].AsInt(), n = *elements->sizes[1].AsInt();
  if (k < 1 || n < 1) return std::nullopt;
  const DType dtype = elements->tensor->dtype();
  if (dtype == DType::kBFloat16 && node.target->aten() == convert_) {
    return WeightOnlyForm{*std::move(elements), WeightFormat::kBFloat16, 0, {}, {}};
  }
  if (dtype != DType::kInt8) return std::nullopt;
  if (p->group_size == 0 || p->group_size > k) p->group_size = k;
  if (p->group_size < k && p->group_size % 8 != 0) return std::nullopt;
  const auto columns = static_cast<size_t>(n);
  const auto groups = static_cast<size_t>((k + p->group_size - 1) / p->group_size);
  // Arranges parameters as [groups, n].
  const auto arranged = [&](const std::vector<double>& from) -> std::optional<std::vector<float>> {
    if (from.size() != 1 && from.size() != columns * groups) return std::nullopt;
    std::vector<float> to(columns * groups);
    for (size_t i = 0; i < to.size(); ++i) {
      to[i] = static_cast<float>(from[from.size() == 1 ? 0 : i % columns * groups + i / columns]);
    }
    return to;
  };
  const bool usual = std::all_of(p->scales.begin(), p->scales.end(),
                                 [](double scale) { return IsUsualScale(std::abs(scale)); });
  const bool finite = std::all_of(p->zeros.begin(), p->zeros.end(),
                                  [](double zero) { return std::isfinite(zero); });
  const std::optional<std::vector<float>> scales = arranged(p->scales),
                                          zeros = p->zeros.empty() ? std::vector<float>()
                                                                   : arranged(p->zeros);
  if (!usual || !finite || !scales.has_value() || !zeros.has_value()) return std::nullopt;
  const WeightFormat format = AllFourBits(*elements) ? WeightFormat::kInt4 : WeightFormat::kInt8;
  return WeightOnlyForm{*std::move(elements), format, p->group_size, *std::move(scales),
                        *std::move(zeros)};
}

}  // namespace belay::cpu
