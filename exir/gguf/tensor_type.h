// Element types of GGUF tensors.
#ifndef BELAY_EXIR_GGUF_TENSOR_TYPE_H_
#define BELAY_EXIR_GGUF_TENSOR_TYPE_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace belay::exir {

enum class TensorType : uint8_t {
  kF32,
  kF16,
  kBF16,
  kQ4_0,
  kQ4_1,
  kQ5_0,
  kQ5_1,
  kQ8_0,
  kQ4_K,
  kQ5_K,
  kQ6_K
};

// A supported type. Its elements are stored in blocks along the innermost dimension.
struct TensorTypeRow {
  TensorType type;
  uint32_t id;  // in files
  std::string_view name;
  int64_t elements, bytes;  // of a block
  int64_t group;            // elements with a common scale; 0 for floats
  bool has_minimum;         // element = scale * q - minimum, otherwise scale * q
};
inline constexpr TensorTypeRow kTensorTypes[] = {
    {TensorType::kF32, 0, "F32", 1, 4, 0, false},
    {TensorType::kF16, 1, "F16", 1, 2, 0, false},
    {TensorType::kQ4_0, 2, "Q4_0", 32, 18, 32, false},
    {TensorType::kQ4_1, 3, "Q4_1", 32, 20, 32, true},
    {TensorType::kQ5_0, 6, "Q5_0", 32, 22, 32, false},
    {TensorType::kQ5_1, 7, "Q5_1", 32, 24, 32, true},
    {TensorType::kQ8_0, 8, "Q8_0", 32, 34, 32, false},
    {TensorType::kQ4_K, 12, "Q4_K", 256, 144, 32, true},
    {TensorType::kQ5_K, 13, "Q5_K", 256, 176, 32, true},
    {TensorType::kQ6_K, 14, "Q6_K", 256, 210, 16, false},
    {TensorType::kBF16, 30, "BF16", 1, 2, 0, false},
};

// Returns the row of a type; nullptr for types without one.
const TensorTypeRow* FindTensorType(uint32_t id);
// Returns the name of a type of the format, "Q2_K", or "type 99" if it has none.
std::string TensorTypeName(uint32_t id);

}  // namespace belay::exir

#endif  // BELAY_EXIR_GGUF_TENSOR_TYPE_H_
