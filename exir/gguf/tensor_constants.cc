#include "exir/gguf/tensor_constants.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <utility>
#include <vector>

#include "runtime/core/element.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"

namespace belay::exir {
namespace {

constexpr int kMostElements = 256, kMostGroups = 16;  // of a block

// element j = scales[j / group] * (q[j] - shift) - minima[j / group]
struct Block {
  int8_t q[kMostElements];
  float scales[kMostGroups];
  float minima[kMostGroups];  // of types that have them
};

float HalfAt(const uint8_t* from) {
  uint16_t bits;
  std::memcpy(&bits, from, sizeof(bits));
  return HalfBitsToFloat(bits);
}

// Scale and minimum `i` of the 8 pairs of 6 bits in 12 bytes. The lower four bits of the last four
// pairs are in bytes 8 to 11, their upper two bits are those of bytes 0 to 7.
std::pair<int, int> SixBits(const uint8_t* packed, int i) {
  if (i < 4) return {packed[i] & 63, packed[i + 4] & 63};
  return {(packed[i + 4] & 15) | (packed[i - 4] >> 6 << 4),
          (packed[i + 4] >> 4) | (packed[i] >> 6 << 4)};
}

// Blocks of 32: the low nibbles are elements 0 to 15, the high ones 16 to 31. `high` has the fifth
// bits, or is null.
void DecodeNibbles(const uint8_t* nibbles, const uint8_t* high, int shift, Block& block) {
  uint32_t fifth = 0;
  if (high != nullptr) std::memcpy(&fifth, high, sizeof(fifth));
  for (int j = 0; j < 32; ++j) {
    const int low = j < 16 ? nibbles[j] & 15 : nibbles[j - 16] >> 4;
    const int bit = static_cast<int>(fifth >> j & 1u);
    block.q[j] = static_cast<int8_t>((low | bit << 4) - shift);
  }
}

// Blocks of 256 in 4 parts of 64: 32 bytes, whose low nibbles are the first 32 elements. `high`:
// 32 bytes, whose bits 2 i and 2 i + 1 are the fifth bits of part i; or null.
void DecodeParts(const uint8_t* nibbles, const uint8_t* high, int shift, Block& block) {
  for (int j = 0; j < 256; ++j) {
    const int part = j / 64, upper = j / 32 % 2, byte = j % 32;
    const int low = nibbles[part * 32 + byte] >> (4 * upper) & 15;
    const int bit = high == nullptr ? 0 : high[byte] >> (2 * part + upper) & 1;
    block.q[j] = static_cast<int8_t>((low | bit << 4) - shift);
  }
}

void DecodeScales(const uint8_t* in, Block& block) {
  const float d = HalfAt(in), dmin = HalfAt(in + 2);
  for (int i = 0; i < 8; ++i) {
    const auto [scale, minimum] = SixBits(in + 4, i);
    block.scales[i] = d * static_cast<float>(scale);
    block.minima[i] = dmin * static_cast<float>(minimum);
  }
}

// 128 bytes of low nibbles, 64 bytes of upper bit pairs, 16 scales, d. Half h has elements 128 h to
// 128 h + 127, in four runs of 32.
void DecodeQ6(const uint8_t* in, Block& block) {
  const uint8_t *low = in, *high = in + 128;
  const float d = HalfAt(in + 208);
  for (int j = 0; j < 256; ++j) {
    const int half = j / 128, run = j / 32 % 4, byte = j % 32;
    const int four = low[half * 64 + run % 2 * 32 + byte] >> (run / 2 * 4) & 15;
    const int two = high[half * 32 + byte] >> (2 * run) & 3;
    block.q[j] = static_cast<int8_t>((four | two << 4) - 32);
  }
  for (int i = 0; i < 16; ++i) {
    block.scales[i] = d * static_cast<float>(static_cast<int8_t>(in[192 + i]));
  }
}

// Elements of four bits with a minimum are stored minus this, which is part of their zero points.
int ShiftOf(TensorType type) {
  return type == TensorType::kQ4_1 || type == TensorType::kQ4_K ? 8 : 0;
}

// Precondition: a type of blocks.
void Decode(TensorType type, const uint8_t* in, Block& block) {
  const int shift = ShiftOf(type);
  switch (type) {
    case TensorType::kQ4_0:
      block.scales[0] = HalfAt(in);
      return DecodeNibbles(in + 2, nullptr, 8, block);
    case TensorType::kQ4_1:
      block.scales[0] = HalfAt(in);
      block.minima[0] = -HalfAt(in + 2);
      return DecodeNibbles(in + 4, nullptr, shift, block);
    case TensorType::kQ5_0:
      block.scales[0] = HalfAt(in);
      return DecodeNibbles(in + 6, in + 2, 16, block);
    case TensorType::kQ5_1:
      block.scales[0] = HalfAt(in);
      block.minima[0] = -HalfAt(in + 2);
      return DecodeNibbles(in + 8, in + 4, shift, block);
    case TensorType::kQ8_0:
      block.scales[0] = HalfAt(in);
      std::memcpy(block.q, in + 2, 32);
      return;
    case TensorType::kQ4_K:
      DecodeScales(in, block);
      return DecodeParts(in + 16, nullptr, shift, block);
    case TensorType::kQ5_K:
      DecodeScales(in, block);
      return DecodeParts(in + 48, in + 16, shift, block);
    case TensorType::kQ6_K:
      return DecodeQ6(in, block);
    case TensorType::kF32:
    case TensorType::kF16:
    case TensorType::kBF16:
      return;
  }
}

absl::StatusOr<TensorConstants> ReadBlocks(const GgufTensor& tensor, int64_t rows, int64_t columns,
                                           RowOrder order) {
  const TensorTypeRow& type = *tensor.type;
  const int64_t group = type.group, groups = columns / group;
  const int64_t blocks = columns / type.elements, per_block = type.elements / group;
  const int shift = ShiftOf(type.type);
  std::vector<std::byte> elements(static_cast<size_t>(rows * columns));
  std::vector<float> scales(static_cast<size_t>(rows * groups));
  std::vector<float> zeros(type.has_minimum ? scales.size() : 0);
  auto* q = reinterpret_cast<int8_t*>(elements.data());
  float *scale = scales.data(), *zero = zeros.data();
  for (int64_t row = 0; row < rows; ++row) {
    const auto* in =
        reinterpret_cast<const uint8_t*>(tensor.bytes.data()) + order(row) * blocks * type.bytes;
    for (int64_t i = 0; i < blocks; ++i, in += type.bytes) {
      Block block;
      Decode(type.type, in, block);
      std::copy_n(block.q, type.elements, q);
      for (int64_t g = 0; g < per_block; ++g, q += group, ++scale) {
        const float s = block.scales[g], minimum = type.has_minimum ? block.minima[g] : 0;
        if (!std::isfinite(s) || !std::isfinite(minimum)) {
          return absl::InvalidArgumentError(absl::StrCat("tensor '", tensor.name,
                                                         "': expected finite scales, got ", s,
                                                         " and ", minimum, " in row ", order(row)));
        }
        // A group without scale has one value, which becomes (0 - 1) * minimum, or 0 * 1.
        *scale = s != 0 ? s : minimum != 0 ? minimum : 1;
        if (s == 0) std::fill(q, q + group, 0);
        if (!type.has_minimum) continue;
        *zero++ = s != 0         ? static_cast<float>(double{minimum} / double{s} - shift)
                  : minimum != 0 ? 1.0f
                                 : 0.0f;
      }
    }
  }
  ABSL_ASSIGN_OR_RETURN(
      ConstantTensor elements_tensor,
      ConstantTensor::Contiguous(DType::kInt8, {rows, columns}, Storage::Own(std::move(elements))));
  TensorConstants constants = {.elements = std::move(elements_tensor), .group = group};
  ABSL_ASSIGN_OR_RETURN(constants.scales, FloatConstant({rows, groups}, std::move(scales)));
  if (type.has_minimum) {
    ABSL_ASSIGN_OR_RETURN(constants.zeros, FloatConstant({rows, groups}, std::move(zeros)));
  }
  return constants;
}

}  // namespace

absl::StatusOr<TensorConstants> ReadTensorConstants(const GgufFile& file, const GgufTensor& tensor,
                                                    RowOrder order) {
  if (tensor.sizes.size() > 2) {
    return absl::InvalidArgumentError(absl::StrCat(
        "tensor '", tensor.name, "': expected 1 or 2 dimensions, got ", tensor.SizesText()));
  }
  const int64_t columns = tensor.sizes.back(),
                rows = tensor.sizes.size() == 2 ? tensor.sizes[0] : 1;
  if (tensor.type->group != 0) return ReadBlocks(tensor, rows, columns, order);
  Storage storage = {file.owner(), tensor.bytes};
  bool in_order = true;
  for (int64_t row = 0; row < rows && in_order; ++row) in_order = order(row) == row;
  if (!in_order) {
    const auto bytes = static_cast<size_t>(columns * tensor.type->bytes);
    std::vector<std::byte> moved;
    moved.reserve(tensor.bytes.size());
    for (int64_t row = 0; row < rows; ++row) {
      const auto from = tensor.bytes.subspan(static_cast<size_t>(order(row)) * bytes, bytes);
      moved.insert(moved.end(), from.begin(), from.end());
    }
    storage = Storage::Own(std::move(moved));
  }
  DType dtype = tensor.type->type == TensorType::kBF16 ? DType::kBFloat16 : DType::kFloat32;
  if (tensor.type->type == TensorType::kF16) {
    std::vector<std::byte> wide(tensor.bytes.size() * 2);
    const auto* from = reinterpret_cast<const uint8_t*>(storage.bytes.data());
    for (size_t i = 0; i < tensor.bytes.size() / 2; ++i) {
      const float x = HalfAt(from + 2 * i);
      std::memcpy(wide.data() + i * sizeof(float), &x, sizeof(x));
    }
    storage = Storage::Own(std::move(wide));
  }
  ABSL_ASSIGN_OR_RETURN(ConstantTensor elements,
                        ConstantTensor::Contiguous(dtype, Sizes(absl::MakeConstSpan(tensor.sizes)),
                                                   std::move(storage)));
  return TensorConstants{.elements = std::move(elements)};
}

}  // namespace belay::exir
