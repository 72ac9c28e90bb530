#include "backends/xnnpack/aot/payload_values.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "backends/xnnpack/aot/int8_form.h"
#include "backends/xnnpack/aot/operation.h"
#include "runtime/core/element.h"
#include "runtime/core/sha256.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"

namespace belay::xnnpack {
namespace {

using exir::ValueId;

constexpr int64_t kDataAlignment = 128;

template <class T>
exir::Storage BytesOf(const std::vector<T>& numbers) {
  const auto* bytes = reinterpret_cast<const std::byte*>(numbers.data());
  return exir::Storage::Own({bytes, bytes + numbers.size() * sizeof(T)});
}

fb::QuantParamsUnion OneScale(float scale, int32_t zero_point) {
  fb::PerTensorQuantT numbers;
  numbers.scale = scale;
  numbers.zero_point = zero_point;
  fb::QuantParamsUnion result;
  result.Set(std::move(numbers));
  return result;
}

}  // namespace

Sizes ToNhwc(const Sizes& of_dims) {
  const DimOrder order = ChannelsLastOrder(4);
  Sizes result;
  for (int i = 0; i < of_dims.size(); ++i) result.push_back(of_dims[order[i]]);
  return result;
}

std::vector<uint32_t> ToWire(const Sizes& sizes) {
  std::vector<uint32_t> result;
  for (int64_t size : sizes) result.push_back(static_cast<uint32_t>(size));
  return result;
}

PayloadValues::PayloadValues(const exir::ExportedProgram& program, fb::GraphT& payload)
    : program_(program), payload_(payload) {
  payload_.constant_data.push_back(std::make_unique<fb::ConstantDataOffsetT>());
}

fb::TensorValueT& PayloadValues::tensor(uint32_t id) {
  fb::ValueUnionUnion& value = payload_.values[id]->value;
  fb::QuantizedTensorValueT* quantized = value.AsQuantizedTensorValue();
  return quantized == nullptr ? *value.AsTensorValue() : *quantized->tensor_value;
}

// `sizes` are in memory order. `numbers`: quantization parameters of datatypes other than FP32.
uint32_t PayloadValues::NewValue(const Sizes& sizes, Datatype datatype,
                                 const fb::QuantParamsUnion& numbers) {
  fb::TensorValueT tensor;
  tensor.datatype = datatype;
  tensor.dims = ToWire(sizes);
  tensor.num_dims = static_cast<uint32_t>(sizes.size());
  tensor.external_id = kNoId;
  tensor.id_out = static_cast<uint32_t>(payload_.values.size());
  auto value = std::make_unique<fb::ValueT>();
  const uint32_t id = tensor.id_out;
  if (datatype == Datatype::FP32) {
    value->value.Set(std::move(tensor));
  } else {
    fb::QuantizedTensorValueT quantized;
    quantized.tensor_value = std::make_unique<fb::TensorValueT>(std::move(tensor));
    quantized.quant_params = numbers;
    value->value.Set(std::move(quantized));
  }
  payload_.values.push_back(std::move(value));
  return id;
}

uint32_t PayloadValues::NewValue(ValueId value, Order order) {
  const Sizes sizes = SizesOf(program_, value);
  const Sizes stored = order == kRowMajor ? sizes : ToNhwc(sizes);
  const std::optional<Quantization> numbers = QuantizationOf(program_, value);
  if (!numbers.has_value()) return NewValue(stored);
  return NewValue(stored, Datatype::QINT8, OneScale(numbers->scale, numbers->zero_point));
}

uint32_t PayloadValues::NewDynamicRows(const Sizes& sizes) {
  fb::PerTokenDynamicQuantT numbers;
  numbers.num_nonbatch_dims = 1;
  fb::QuantParamsUnion parameters;
  parameters.Set(std::move(numbers));
  return NewValue(sizes, Datatype::QDINT8, parameters);
}

// Returns the entry of constant_data with these bytes.
absl::StatusOr<uint32_t> PayloadValues::EntryOf(exir::Storage bytes, std::string_view prefix) {
  const std::string digest = Sha256(bytes.bytes);
  const std::string key = absl::StrCat(prefix, absl::BytesToHexString(ToAbsl(digest)));
  auto [found, is_new] =
      constants_.try_emplace(key, static_cast<uint32_t>(payload_.constant_data.size()));
  if (!is_new) return found->second;
  auto entry = std::make_unique<fb::ConstantDataOffsetT>();
  entry->offset = UINT64_MAX;
  entry->size = bytes.bytes.size();
  entry->named_key = key;
  payload_.constant_data.push_back(std::move(entry));
  exir::NamedDataOptions options;
  options.alignment = kDataAlignment;
  options.sha256 = digest;
  ABSL_RETURN_IF_ERROR(named_data_.Add(key, std::move(bytes), options));
  return found->second;
}

// Adds a constant with these elements.
absl::StatusOr<uint32_t> PayloadValues::NewConstant(const Sizes& sizes, exir::Storage bytes,
                                                    Datatype datatype,
                                                    const fb::QuantParamsUnion& numbers) {
  ABSL_ASSIGN_OR_RETURN(const uint32_t entry, EntryOf(std::move(bytes)));
  const uint32_t id = NewValue(sizes, datatype, numbers);
  tensor(id).constant_buffer_idx = entry;
  return id;
}

absl::StatusOr<uint32_t> PayloadValues::NewConstant(ValueId value,
                                                    absl::Span<const uint8_t> order) {
  const std::optional<Weight> constant = WeightOf(program_, value);
  if (!constant.has_value()) {
    return absl::UnimplementedError(
        absl::StrCat("%", program_.top().value(value).name, " is not a constant"));
  }
  ABSL_ASSIGN_OR_RETURN(exir::Storage bytes, constant->is_quantized()
                                                 ? Dequantized(*constant, order)
                                                 : constant->tensor.Dense(order));
  Sizes sizes;
  for (uint8_t dim : order) sizes.push_back(constant->tensor.sizes()[dim]);
  const std::optional<Quantization> numbers = QuantizationOf(program_, value);
  if (!numbers.has_value()) return NewConstant(sizes, std::move(bytes));
  return NewConstant(sizes, std::move(bytes), Datatype::QINT8,
                     OneScale(numbers->scale, numbers->zero_point));
}

// One scale, or one per index of `channel_dim`.
absl::StatusOr<fb::QuantParamsUnion> PayloadValues::Scales(const std::vector<float>& scales,
                                                           int channel_dim) {
  if (scales.size() == 1) return OneScale(scales[0], 0);
  fb::PerChannelQuantT numbers;
  numbers.channel_dim = channel_dim;
  numbers.num_scales = static_cast<uint32_t>(scales.size());
  ABSL_ASSIGN_OR_RETURN(numbers.scale_buffer_idx, EntryOf(BytesOf(scales), "scale_"));
  fb::QuantParamsUnion result;
  result.Set(std::move(numbers));
  return result;
}

absl::StatusOr<uint32_t> PayloadValues::NewWeight(const Weight& weight,
                                                  absl::Span<const uint8_t> order) {
  ABSL_ASSIGN_OR_RETURN(exir::Storage bytes, weight.tensor.Dense(order));
  Sizes sizes;
  int channel_dim = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    sizes.push_back(weight.tensor.sizes()[order[i]]);
    if (order[i] == weight.channel_dim) channel_dim = static_cast<int>(i);
  }
  if (weight.group_size != 0) {
    fb::PerChannelGroupQuantT groups;
    groups.channel_dim = channel_dim;
    groups.group_size = static_cast<int32_t>(weight.group_size);
    groups.num_scales = static_cast<uint32_t>(weight.scales.size());
    std::vector<uint16_t> scales;
    for (float scale : weight.scales) scales.push_back(FloatToBFloat16Bits(scale));
    ABSL_ASSIGN_OR_RETURN(groups.scale_buffer_idx, EntryOf(BytesOf(scales), "scale_"));
    // Pairs of unsigned elements, the first one in the low bits.
    std::vector<uint8_t> packed(bytes.bytes.size() / 2);
    for (size_t i = 0; i < packed.size(); ++i) {
      const auto nibble = [&](size_t at) {
        return (static_cast<int8_t>(bytes.bytes[at]) + 8) & 0xF;
      };
      packed[i] = static_cast<uint8_t>(nibble(2 * i) | (nibble(2 * i + 1) << 4));
    }
    fb::QuantParamsUnion parameters;
    parameters.Set(std::move(groups));
    return NewConstant(sizes, BytesOf(packed), Datatype::QBINT4, parameters);
  }
  ABSL_ASSIGN_OR_RETURN(const fb::QuantParamsUnion numbers, Scales(weight.scales, channel_dim));
  return NewConstant(sizes, std::move(bytes),
                     weight.scales.size() == 1 ? Datatype::QINT8 : Datatype::QCINT8, numbers);
}

absl::StatusOr<uint32_t> PayloadValues::NewInt32Bias(const exir::ConstantTensor& bias,
                                                     float input_scale,
                                                     const std::vector<float>& weight_scales) {
  ABSL_ASSIGN_OR_RETURN(const exir::Storage dense, bias.Dense());
  std::vector<float> scales;
  for (float scale : weight_scales) scales.push_back(scale * input_scale);
  std::vector<int32_t> numbers(dense.bytes.size() / sizeof(float));
  for (size_t i = 0; i < numbers.size(); ++i) {
    float number;
    std::memcpy(&number, dense.bytes.data() + i * sizeof(float), sizeof(float));
    // Computed in float32, with ExecuTorch's rounding.
    const float steps = std::nearbyint(number * (1.0f / scales[i % scales.size()]));
    constexpr float kLeast = -0x1p31f, kMost = 0x1.fffffep30f;
    // NaN becomes the minimum.
    numbers[i] = steps > kLeast ? static_cast<int32_t>(std::min(steps, kMost)) : INT32_MIN;
  }
  ABSL_ASSIGN_OR_RETURN(const fb::QuantParamsUnion wire, Scales(scales, 0));
  return NewConstant(bias.sizes(), BytesOf(numbers),
                     scales.size() == 1 ? Datatype::QINT32 : Datatype::QCINT32, wire);
}

absl::StatusOr<uint32_t> PayloadValues::NewNumbers(const Sizes& sizes,
                                                   const std::vector<float>& numbers) {
  return NewConstant(sizes, BytesOf(numbers));
}

}  // namespace belay::xnnpack
