// Values of a payload and the bytes of its constants.
#ifndef BELAY_BACKENDS_XNNPACK_AOT_PAYLOAD_VALUES_H_
#define BELAY_BACKENDS_XNNPACK_AOT_PAYLOAD_VALUES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backends/xnnpack/aot/weight.h"
#include "backends/xnnpack/graph.h"
#include "exir/backend/named_data_store.h"
#include "exir/ir/exported_program.h"
#include "runtime/core/sizes.h"

namespace belay::xnnpack {

// The order of a value's dimensions in the payload.
enum Order : uint8_t { kRowMajor, kChannelsLast };

// Reorders per-dimension values from NCHW to NHWC.
Sizes ToNhwc(const Sizes& of_dims);
std::vector<uint32_t> ToWire(const Sizes& sizes);

// Adds values to a payload, and the bytes of constants to the named data. Equal bytes are stored
// once. Returns errors of the named data and of reading constants.
class PayloadValues {
 public:
  static constexpr uint32_t kNoId = UINT32_MAX;

  // Both must outlive this.
  PayloadValues(const exir::ExportedProgram& program, fb::GraphT& payload);

  fb::TensorValueT& tensor(uint32_t id);

  // Adds a value that represents `value` in this order.
  uint32_t NewValue(exir::ValueId value, Order order);
  // Adds an int8 matrix with a scale and zero point per row, which are chosen at run time.
  uint32_t NewDynamicRows(const Sizes& sizes);
  // Adds a constant tensor with its dimensions in this memory order, otherwise unchanged.
  //   kUnimplemented  the value is not a constant
  absl::StatusOr<uint32_t> NewConstant(exir::ValueId value, absl::Span<const uint8_t> order);
  // Adds an int8 weight, or an int4 one in groups.
  absl::StatusOr<uint32_t> NewWeight(const Weight& weight, absl::Span<const uint8_t> order);
  // Adds a float32 bias quantized to int32 with the scale input_scale * weight_scales[channel].
  absl::StatusOr<uint32_t> NewInt32Bias(const exir::ConstantTensor& bias, float input_scale,
                                        const std::vector<float>& weight_scales);
  // Adds a constant with these elements.
  absl::StatusOr<uint32_t> NewNumbers(const Sizes& sizes, const std::vector<float>& numbers);

  // Named data of the payload.
  exir::NamedDataOutput named_data() const { return named_data_.output(); }

 private:
  uint32_t NewValue(const Sizes& sizes, Datatype datatype = Datatype::FP32,
                    const fb::QuantParamsUnion& numbers = {});
  absl::StatusOr<uint32_t> EntryOf(exir::Storage bytes, std::string_view prefix = "");
  absl::StatusOr<uint32_t> NewConstant(const Sizes& sizes, exir::Storage bytes,
                                       Datatype datatype = Datatype::FP32,
                                       const fb::QuantParamsUnion& numbers = {});
  absl::StatusOr<fb::QuantParamsUnion> Scales(const std::vector<float>& scales, int channel_dim);

  const exir::ExportedProgram& program_;
  fb::GraphT& payload_;
  absl::flat_hash_map<std::string, uint32_t> constants_;  // key -> index in constant_data
  exir::NamedDataStore named_data_;
};

}  // namespace belay::xnnpack

#endif  // BELAY_BACKENDS_XNNPACK_AOT_PAYLOAD_VALUES_H_
