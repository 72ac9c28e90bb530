#include "executorch/payload_import/delegate_values.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "backends/xnnpack/node_rules.h"
#include "executorch/payload_import/value_types.h"
#include "exir/builder/op_shorthand.h"
#include "runtime/core/checked_math.h"
#include "runtime/core/memory_check.h"
#include "runtime/core/status_macros.h"

namespace belay::pte {
namespace {

using exir::Argument;
using exir::ConstantTensor;
using exir::OpArgument;
using xnnpack::Datatype;
using xnnpack::Value;

// 4-bit elements, the even ones in the low halves, as int8: stored value - 8.
std::vector<std::byte> Unpacked(absl::Span<const std::byte> packed, size_t count) {
  std::vector<std::byte> elements(count);
  const auto element = [](int nibble) { return static_cast<std::byte>(nibble - 8); };
  for (size_t i = 0; i < count / 2; ++i) {
    const auto byte = std::to_integer<uint8_t>(packed[i]);
    elements[2 * i] = element(byte & 15);
    elements[2 * i + 1] = element(byte >> 4);
  }
  if (count % 2 != 0) elements.back() = element(std::to_integer<uint8_t>(packed[count / 2]) & 15);
  return elements;
}

// The arguments of quantize_per_tensor and dequantize_per_tensor.
std::vector<OpArgument> PerTensor(const Value& value, Argument x) {
  const bool is_signed = value.datatype == Datatype::QINT8;
  return {std::move(x),          static_cast<double>(value.scale),
          value.zero_point,      is_signed ? -128 : 0,
          is_signed ? 127 : 255, *DtypeOf(value.datatype)};
}

}  // namespace

DelegateValues::DelegateValues(const xnnpack::Graph& graph, exir::OpBuilder& builder,
                               MemoryBudget& memory)
    : graph_(graph), b_(builder), memory_(memory), tensors_(graph.values.size()) {}

Argument DelegateValues::AddConstant(ConstantTensor tensor) {
  const std::string name = absl::StrCat("constant", constants_++);
  std::vector<exir::SymInt> sizes(tensor.sizes().begin(), tensor.sizes().end());
  exir::ExportedProgram& program = b_.program();
  const exir::ValueId input =
      b_.editor().AddInput(name, exir::TensorMeta::Contiguous(tensor.dtype(), std::move(sizes)));
  program.signature.inputs.push_back({.kind = exir::InputKind::kParameter, .target = name});
  program.state_dict.emplace(name, std::move(tensor));
  return input;
}

absl::Status DelegateValues::TakeMemory(uint64_t bytes) {
  constexpr std::string_view kCopies = "copies of constants";
  ABSL_RETURN_IF_ERROR(memory_.Take(bytes, kCopies));
  return CheckMemory(bytes, kCopies);
}

Argument DelegateValues::AddOrFail(absl::StatusOr<ConstantTensor> tensor) {
  if (tensor.ok()) return AddConstant(*std::move(tensor));
  b_.Fail(tensor.status());
  return {};
}

Argument DelegateValues::AddScales(const Value& value, const Sizes& sizes) {
  const std::vector<float>& scales = value.channel_scales;
  const auto copy = [&]() -> absl::StatusOr<ConstantTensor> {
    ABSL_RETURN_IF_ERROR(TakeMemory(scales.size() * sizeof(float)));
    return exir::FloatConstant(sizes, scales);
  };
  return AddOrFail(copy());
}

absl::StatusOr<ConstantTensor> DelegateValues::Elements(const Value& value) {
  exir::Storage storage = {nullptr, value.constant};
  if (value.datatype == Datatype::QCINT4 || value.datatype == Datatype::QBINT4) {
    const auto count = static_cast<size_t>(*NumElements(value.sizes));
    ABSL_RETURN_IF_ERROR(TakeMemory(count));
    storage = exir::Storage::Own(Unpacked(value.constant, count));
  }
  return ConstantTensor::Contiguous(*DtypeOf(value.datatype), value.sizes, std::move(storage));
}

Argument DelegateValues::Dequantize(const Value& value, Argument integers, int channel_dim) {
  switch (value.datatype) {
    case Datatype::QINT8:
    case Datatype::QUINT8:
      return b_.Call("quantized_decomposed.dequantize_per_tensor.default",
                     PerTensor(value, std::move(integers)));
    case Datatype::QCINT8:
    case Datatype::QCINT4: {
      const bool bytes = value.datatype == Datatype::QCINT8;
      return b_.Call(
          "quantized_decomposed.dequantize_per_channel.default",
          {integers, AddScales(value, {static_cast<int64_t>(value.channel_scales.size())}),
           Argument(), channel_dim, bytes ? -128 : -8, bytes ? 127 : 7, DType::kInt8});
    }
    case Datatype::QBINT4:
      return b_.Call(
          "quantized_decomposed.dequantize_per_channel_group.default",
          {integers, AddScales(value, {value.sizes[0], value.sizes[1] / value.group_size}),
           Argument(), -8, 7, DType::kInt8, value.group_size, DType::kFloat32});
    default:
      return integers;
  }
}

GraphTensor DelegateValues::Stored(int index) {
  GraphTensor& tensor = tensors_[static_cast<size_t>(index)];
  const Value& value = this->value(index);
  if (!tensor.tensor.is_none() || !value.is_constant) return tensor;
  tensor.tensor = AddOrFail(Elements(value));
  return tensor;
}

GraphTensor DelegateValues::Dequantized(int index) {
  const Value& value = this->value(index);
  if (value.datatype == Datatype::QINT32 || value.datatype == Datatype::QCINT32) {
    return {BiasOf(index), false};
  }
  GraphTensor tensor = Stored(index);
  if (!IsDynamicallyQuantized(value.datatype)) {
    tensor.tensor = Dequantize(value, tensor.tensor, value.channel_dim);
  }
  return tensor;
}

// The numbers that int32 elements represent, as a float constant.
Argument DelegateValues::BiasOf(int index) {
  const Value& value = this->value(index);
  if (!value.is_constant) {
    b_.Unsupported(absl::StrCat("datatype ", xnnpack::DatatypeName(value.datatype),
                                " of a value that is not constant"));
    return {};
  }
  const auto dequantized = [&]() -> absl::StatusOr<ConstantTensor> {
    int64_t inner = 1;  // elements per index of channel_dim
    for (int dim = value.channel_dim + 1; dim < value.sizes.size(); ++dim) {
      inner *= value.sizes[dim];
    }
    const auto count = static_cast<size_t>(*NumElements(value.sizes));
    ABSL_RETURN_IF_ERROR(TakeMemory(count * sizeof(float)));
    std::vector<float> floats(count);
    const std::vector<float>& scales = value.channel_scales;
    for (size_t i = 0; i < count; ++i) {
      int32_t element = 0;
      std::memcpy(&element, value.constant.data() + i * sizeof(element), sizeof(element));
      const float scale =
          scales.empty() ? value.scale : scales[i / static_cast<size_t>(inner) % scales.size()];
      floats[i] = static_cast<float>(static_cast<double>(element) * scale);
    }
    return exir::FloatConstant(value.sizes, std::move(floats));
  };
  return AddOrFail(dequantized());
}

Argument DelegateValues::ToPayloadOrder(const GraphTensor& tensor) {
  return tensor.nchw ? exir::Permute(b_, tensor.tensor, {kToNhwc, kToNhwc + 4}) : tensor.tensor;
}
Argument DelegateValues::ToNchw(const GraphTensor& tensor) {
  return tensor.nchw ? tensor.tensor : exir::Permute(b_, tensor.tensor, {kToNchw, kToNchw + 4});
}
Argument DelegateValues::InPayloadOrder(int index) { return ToPayloadOrder(Dequantized(index)); }
Argument DelegateValues::InNchw(int index) { return ToNchw(Dequantized(index)); }

std::vector<Argument> DelegateValues::InCommonOrder(absl::Span<const int> indices, bool& nchw) {
  std::vector<GraphTensor> tensors;
  bool any = false, all = true;
  for (const int index : indices) {
    tensors.push_back(Dequantized(index));
    any |= tensors.back().nchw;
    all &= value(index).sizes.size() == 4;
  }
  nchw = any && all;
  std::vector<Argument> result;
  for (const GraphTensor& tensor : tensors)
    result.push_back(nchw ? ToNchw(tensor) : ToPayloadOrder(tensor));
  return result;
}

Argument DelegateValues::Filter(int index, absl::Span<const int> permutation, int channel_dim) {
  const Value& value = this->value(index);
  if (!value.is_constant) {
    b_.Unsupported("a filter that is not constant");
    return {};
  }
  const auto copy = [&]() -> absl::StatusOr<ConstantTensor> {
    ABSL_ASSIGN_OR_RETURN(const ConstantTensor elements, Elements(value));
    Sizes sizes;
    Strides strides;
    for (const int dim : permutation) {
      sizes.push_back(elements.sizes()[dim]);
      strides.push_back(elements.strides()[dim]);
    }
    ABSL_ASSIGN_OR_RETURN(const ConstantTensor view,
                          ConstantTensor::Create(elements.dtype(), sizes, strides,
                                                 elements.storage_offset(), elements.storage()));
    ABSL_RETURN_IF_ERROR(TakeMemory(value.constant.size()));
    ABSL_ASSIGN_OR_RETURN(exir::Storage dense, view.Dense());
    return ConstantTensor::Contiguous(elements.dtype(), sizes, std::move(dense));
  };
  return Dequantize(value, AddOrFail(copy()), channel_dim);
}

// Rows are the trailing dimensions that share a scale and a zero point, chosen at run time.
GraphTensor DelegateValues::QuantizeRows(const Value& value, GraphTensor tensor) {
  const int rank = value.sizes.size(), rows = rank - value.nonbatch_dims;
  const bool whole_image = tensor.nchw && rows == 1;  // the order inside a row does not matter
  Argument x =
      exir::Cast(b_, whole_image ? tensor.tensor : ToPayloadOrder(tensor), DType::kFloat32);
  const std::vector<exir::SymInt> sizes = b_.sizes(x);
  if (value.nonbatch_dims > 1) {
    std::vector<OpArgument> flat(sizes.begin(), sizes.begin() + rows);
    flat.emplace_back(-1);
    x = exir::Reshape(b_, x, flat);
  }
  x = exir::FakeQuantizePerToken(b_, x);
  if (!b_.ok()) return {};
  if (value.nonbatch_dims > 1) x = exir::Reshape(b_, x, sizes);
  return {x, whole_image};
}

void DelegateValues::SetResult(const xnnpack::Node& node, GraphTensor tensor) {
  const Value& output = value(node.output);
  const bool has_min = std::isfinite(node.min), has_max = std::isfinite(node.max);
  if (node.min == 0 && !has_max) {
    tensor.tensor = exir::Unary(b_, "relu", tensor.tensor);
  } else if (has_min || has_max) {
    tensor.tensor = b_.Call("aten.clamp.default",
                            {tensor.tensor, has_min ? Argument(double{node.min}) : Argument(),
                             has_max ? Argument(double{node.max}) : Argument()});
  }
  if (IsDynamicallyQuantized(output.datatype)) {
    tensor = QuantizeRows(output, std::move(tensor));
  } else if (output.datatype == Datatype::QINT8 || output.datatype == Datatype::QUINT8) {
    tensor.tensor = b_.Call("quantized_decomposed.quantize_per_tensor.default",
                            PerTensor(output, exir::Cast(b_, tensor.tensor, DType::kFloat32)));
  } else {
    tensor.tensor = exir::Cast(b_, tensor.tensor, *DtypeOf(output.datatype));
  }
  SetStored(node.output, std::move(tensor));
}

}  // namespace belay::pte
