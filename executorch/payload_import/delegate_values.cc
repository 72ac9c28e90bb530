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

constexpr std::string_view kCopies = "copies of constants";

std::vector<int64_t> ListOf(const Sizes& sizes) { return {sizes.begin(), sizes.end()}; }

// 4-bit elements, the even ones in the low halves, as int8: stored value - 8.
std::vector<std::byte> Unpacked(absl::Span<const std::byte> packed, size_t count) {
  std::vector<std::byte> elements(count);
  for (size_t i = 0; i < count; ++i) {
    const auto byte = std::to_integer<uint8_t>(packed[i / 2]);
    const int nibble = i % 2 == 0 ? byte & 15 : byte >> 4;
    elements[i] = static_cast<std::byte>(nibble - 8);
  }
  return elements;
}

exir::Storage StorageOf(std::vector<float> floats) {
  auto owner = std::make_shared<const std::vector<float>>(std::move(floats));
  const absl::Span<const std::byte> bytes = {reinterpret_cast<const std::byte*>(owner->data()),
                                             owner->size() * sizeof(float)};
  return {std::move(owner), bytes};
}

bool IsDynamic(Datatype datatype) {
  return datatype == Datatype::QDINT8 || datatype == Datatype::QPINT8;
}

}  // namespace

DelegateValues::DelegateValues(const xnnpack::Graph& graph, exir::OpBuilder& builder,
                               MemoryBudget& memory)
    : graph_(graph), b_(builder), memory_(memory), forms_(graph.values.size()) {}

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

Argument DelegateValues::AddFloats(absl::Span<const float> floats, std::vector<int64_t> sizes) {
  absl::Status status = memory_.Take(floats.size() * sizeof(float), kCopies);
  if (status.ok()) status = CheckMemory(floats.size() * sizeof(float), kCopies);
  if (!status.ok()) {
    b_.Fail(status);
    return {};
  }
  absl::StatusOr<ConstantTensor> tensor =
      ConstantTensor::Contiguous(DType::kFloat32, Sizes(absl::MakeConstSpan(sizes)),
                                 StorageOf({floats.begin(), floats.end()}));
  if (tensor.ok()) return AddConstant(*std::move(tensor));
  b_.Fail(tensor.status());
  return {};
}

absl::StatusOr<ConstantTensor> DelegateValues::Elements(const Value& value) {
  exir::Storage storage = {nullptr, value.constant};
  if (value.datatype == Datatype::QCINT4 || value.datatype == Datatype::QBINT4) {
    const auto count = static_cast<size_t>(*NumElements(value.sizes));
    ABSL_RETURN_IF_ERROR(memory_.Take(count, kCopies));
    ABSL_RETURN_IF_ERROR(CheckMemory(count, kCopies));
    storage = exir::Storage::Own(Unpacked(value.constant, count));
  }
  return ConstantTensor::Contiguous(*DtypeOf(value.datatype), value.sizes, std::move(storage));
}

Argument DelegateValues::Dequantize(const Value& value, Argument integers, int channel_dim) {
  const std::vector<float>& scales = value.channel_scales;
  switch (value.datatype) {
    case Datatype::QINT8:
    case Datatype::QUINT8: {
      const bool is_signed = value.datatype == Datatype::QINT8;
      return b_.Call("quantized_decomposed.dequantize_per_tensor.default",
                     {integers, static_cast<double>(value.scale), value.zero_point,
                      is_signed ? -128 : 0, is_signed ? 127 : 255, *DtypeOf(value.datatype)});
    }
    case Datatype::QCINT8:
    case Datatype::QCINT4: {
      const bool bytes = value.datatype == Datatype::QCINT8;
      return b_.Call("quantized_decomposed.dequantize_per_channel.default",
                     {integers, AddFloats(scales, {static_cast<int64_t>(scales.size())}),
                      Argument(), channel_dim, bytes ? -128 : -8, bytes ? 127 : 7, DType::kInt8});
    }
    case Datatype::QBINT4:
      return b_.Call(
          "quantized_decomposed.dequantize_per_channel_group.default",
          {integers, AddFloats(scales, {value.sizes[0], value.sizes[1] / value.group_size}),
           Argument(), -8, 7, DType::kInt8, value.group_size, DType::kFloat32});
    default:
      return integers;
  }
}

Form DelegateValues::Stored(int index) {
  Form& form = forms_[static_cast<size_t>(index)];
  const Value& value = this->value(index);
  if (!form.tensor.is_none() || !value.is_constant) return form;
  absl::StatusOr<ConstantTensor> elements = Elements(value);
  if (elements.ok()) {
    form.tensor = AddConstant(*std::move(elements));
  } else {
    b_.Fail(elements.status());
  }
  return form;
}

Form DelegateValues::Real(int index) {
  const Value& value = this->value(index);
  if (value.datatype == Datatype::QINT32 || value.datatype == Datatype::QCINT32) {
    return {BiasOf(index), false};
  }
  Form form = Stored(index);
  if (!IsDynamic(value.datatype)) {
    form.tensor = Dequantize(value, form.tensor, value.channel_dim);
  }
  return form;
}

// The numbers that int32 elements represent, as a float constant.
Argument DelegateValues::BiasOf(int index) {
  const Value& value = this->value(index);
  if (!value.is_constant) {
    b_.Unsupported(absl::StrCat("datatype ", xnnpack::DatatypeName(value.datatype),
                                " of a value that is not constant"));
    return {};
  }
  int64_t inner = 1;  // elements per index of channel_dim
  for (int dim = value.channel_dim + 1; dim < value.sizes.size(); ++dim) inner *= value.sizes[dim];
  const auto count = static_cast<size_t>(*NumElements(value.sizes));
  absl::Status status = memory_.Take(count * sizeof(float), kCopies);
  if (status.ok()) status = CheckMemory(count * sizeof(float), kCopies);
  if (!status.ok()) {
    b_.Fail(status);
    return {};
  }
  std::vector<float> floats(count);
  for (size_t i = 0; i < count; ++i) {
    int32_t element = 0;
    std::memcpy(&element, value.constant.data() + i * sizeof(element), sizeof(element));
    const std::vector<float>& scales = value.channel_scales;
    const float scale =
        scales.empty() ? value.scale : scales[i / static_cast<size_t>(inner) % scales.size()];
    floats[i] = static_cast<float>(static_cast<double>(element) * scale);
  }
  return AddFloats(floats, ListOf(value.sizes));
}

Argument DelegateValues::ToPlain(const Form& form) {
  return form.image ? exir::Permute(b_, form.tensor, {kToNhwc, kToNhwc + 4}) : form.tensor;
}
Argument DelegateValues::ToImage(const Form& form) {
  return form.image ? form.tensor : exir::Permute(b_, form.tensor, {kToNchw, kToNchw + 4});
}
Argument DelegateValues::Plain(int index) { return ToPlain(Real(index)); }
Argument DelegateValues::Image(int index) { return ToImage(Real(index)); }

std::vector<Argument> DelegateValues::Alike(absl::Span<const int> indices, bool& image) {
  std::vector<Form> forms;
  bool any = false, all = true;
  for (const int index : indices) {
    forms.push_back(Real(index));
    any |= forms.back().image;
    all &= value(index).sizes.size() == 4;
  }
  image = any && all;
  std::vector<Argument> result;
  for (const Form& form : forms) result.push_back(image ? ToImage(form) : ToPlain(form));
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
    ABSL_RETURN_IF_ERROR(memory_.Take(value.constant.size(), kCopies));
    ABSL_RETURN_IF_ERROR(CheckMemory(value.constant.size(), kCopies));
    ABSL_ASSIGN_OR_RETURN(exir::Storage dense, view.Dense());
    return ConstantTensor::Contiguous(elements.dtype(), sizes, std::move(dense));
  };
  absl::StatusOr<ConstantTensor> permuted = copy();
  if (!permuted.ok()) {
    b_.Fail(permuted.status());
    return {};
  }
  return Dequantize(value, AddConstant(*std::move(permuted)), channel_dim);
}

// Rows are the trailing dimensions that share a scale and a zero point, chosen at run time.
Form DelegateValues::QuantizeRows(const Value& value, Form form) {
  const int rank = value.sizes.size(), rows = rank - value.nonbatch_dims;
  const bool whole_image = form.image && rows == 1;  // the order inside a row does not matter
  Argument x = exir::Cast(b_, whole_image ? form.tensor : ToPlain(form), DType::kFloat32);
  const std::vector<exir::SymInt> sizes = b_.sizes(x);
  if (value.nonbatch_dims > 1) {
    std::vector<OpArgument> flat(sizes.begin(), sizes.begin() + rows);
    flat.emplace_back(-1);
    x = exir::Reshape(b_, x, flat);
  }
  const std::vector<Argument> parameters = b_.CallAll(
      "quantized_decomposed.choose_qparams_per_token_asymmetric.default", {x, DType::kInt8});
  if (!b_.ok()) return {};
  x = b_.Call("quantized_decomposed.quantize_per_token.default",
              {x, parameters[0], parameters[1], -128, 127, DType::kInt8});
  x = b_.Call("quantized_decomposed.dequantize_per_token.default",
              {x, parameters[0], parameters[1], -128, 127, DType::kInt8, DType::kFloat32});
  if (value.nonbatch_dims > 1) x = exir::Reshape(b_, x, sizes);
  return {x, whole_image};
}

void DelegateValues::SetReal(const xnnpack::Node& node, Form form) {
  const Value& output = value(node.output);
  const bool has_min = std::isfinite(node.min), has_max = std::isfinite(node.max);
  if (node.min == 0 && !has_max) {
    form.tensor = exir::Unary(b_, "relu", form.tensor);
  } else if (has_min || has_max) {
    form.tensor = b_.Call("aten.clamp.default",
                          {form.tensor, has_min ? Argument(double{node.min}) : Argument(),
                           has_max ? Argument(double{node.max}) : Argument()});
  }
  if (IsDynamic(output.datatype)) {
    form = QuantizeRows(output, std::move(form));
  } else if (output.datatype == Datatype::QINT8 || output.datatype == Datatype::QUINT8) {
    const bool is_signed = output.datatype == Datatype::QINT8;
    form.tensor = b_.Call("quantized_decomposed.quantize_per_tensor.default",
                          {exir::Cast(b_, form.tensor, DType::kFloat32),
                           static_cast<double>(output.scale), output.zero_point,
                           is_signed ? -128 : 0, is_signed ? 127 : 255, *DtypeOf(output.datatype)});
  } else {
    form.tensor = exir::Cast(b_, form.tensor, *DtypeOf(output.datatype));
  }
  SetStored(node.output, std::move(form));
}

}  // namespace belay::pte
