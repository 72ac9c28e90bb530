#include "runtime/core/element.h"

#include <bit>
#include <cstdint>

#include "runtime/core/dtype.h"

namespace belay {
namespace {

constexpr uint32_t kFloatInf = 0x7f800000;
constexpr uint32_t kFloatQuietNan = 0x7fc00000;
constexpr int kFloatMantissaBits = 23;
constexpr int kFloatBias = 127;

// `value` divided by 2^shift, rounded to nearest, ties to even. Precondition: 1 <= shift <= 31.
uint32_t ShiftRoundToEven(uint32_t value, int shift) {
  const uint32_t quotient = value >> shift;
  const uint32_t rest = value & ((uint32_t{1} << shift) - 1);
  const uint32_t half = uint32_t{1} << (shift - 1);
  return quotient + (rest > half || (rest == half && (quotient & 1) != 0) ? 1 : 0);
}

// A binary floating point format with subnormals. The exponent occupies the bits above the
// mantissa.
struct SmallFormat {
  int mantissa_bits;
  int bias;
};
constexpr SmallFormat kHalf = {10, 15};
constexpr SmallFormat kE4M3FN = {3, 7};
constexpr SmallFormat kE5M2 = {2, 15};
constexpr SmallFormat kE4M3FNUZ = {3, 8};
constexpr SmallFormat kE5M2FNUZ = {2, 16};

// Returns the code (exponent and mantissa) of the finite float with the bits `magnitude` (sign bit
// 0), assuming an unbounded exponent. Codes grow with the magnitude, so that callers detect
// overflow by comparison.
uint32_t EncodeMagnitude(SmallFormat format, uint32_t magnitude) {
  const int exponent = static_cast<int>(magnitude >> kFloatMantissaBits);
  const int rebias = kFloatBias - format.bias;
  if (exponent > rebias) {
    return ShiftRoundToEven(magnitude - (static_cast<uint32_t>(rebias) << kFloatMantissaBits),
                            kFloatMantissaBits - format.mantissa_bits);
  }
  // Subnormal in the target format: a multiple of 2^(1 - bias - mantissa_bits). For a subnormal
  // float this mantissa is too large, but still rounds to 0.
  const uint32_t mantissa = (magnitude & 0x007fffff) | 0x00800000;
  const int shift = rebias + 1 - exponent + kFloatMantissaBits - format.mantissa_bits;
  return shift > 24 ? 0 : ShiftRoundToEven(mantissa, shift);
}

// Returns the float bits of a finite code.
uint32_t DecodeMagnitude(SmallFormat format, uint32_t code) {
  const uint32_t exponent = code >> format.mantissa_bits;
  const int shift = kFloatMantissaBits - format.mantissa_bits;
  const uint32_t rebias = static_cast<uint32_t>(kFloatBias - format.bias);
  if (exponent != 0) return (code << shift) + (rebias << kFloatMantissaBits);
  if (code == 0) return 0;
  // Subnormal: shift the leading one to the position of the hidden bit.
  const int lead = std::countl_zero(code) - (31 - format.mantissa_bits);
  const uint32_t mantissa = (code << lead) & ((uint32_t{1} << format.mantissa_bits) - 1);
  return ((rebias + 1 - static_cast<uint32_t>(lead)) << kFloatMantissaBits) | (mantissa << shift);
}

float Signed(bool negative, uint32_t magnitude) {
  return std::bit_cast<float>(magnitude | (negative ? 0x80000000u : 0u));
}

// "fn" and IEEE-like formats: a sign bit, then codes up to `largest_finite`; larger magnitudes
// become `overflow`.
uint8_t EncodeSigned(SmallFormat format, uint32_t bits, uint8_t largest_finite, uint8_t overflow,
                     uint8_t nan) {
  const uint8_t sign = static_cast<uint8_t>((bits >> 24) & 0x80);
  const uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > kFloatInf) return sign | nan;
  if (magnitude == kFloatInf) return sign | overflow;
  const uint32_t code = EncodeMagnitude(format, magnitude);
  return sign | (code > largest_finite ? overflow : static_cast<uint8_t>(code));
}

// "fnuz" formats: no infinity and no negative zero, whose code means NaN.
uint8_t EncodeFnuz(SmallFormat format, uint32_t bits) {
  constexpr uint8_t kNan = 0x80;
  const uint8_t sign = static_cast<uint8_t>((bits >> 24) & 0x80);
  const uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude >= kFloatInf) return kNan;
  const uint32_t code = EncodeMagnitude(format, magnitude);
  if (code > 0x7f) return kNan;
  return code == 0 ? 0 : static_cast<uint8_t>(sign | code);
}

float DecodeFnuz(SmallFormat format, uint8_t bits) {
  if (bits == 0x80) return std::bit_cast<float>(kFloatQuietNan);
  return Signed((bits & 0x80) != 0, DecodeMagnitude(format, bits & 0x7f));
}

// e8m0fnu only has an exponent: the sign is dropped, 0 becomes 2^-127, and NaN and infinity become
// 0xff. Rounds up from the midpoint between two powers of two, except for 2^-127 itself, whose
// mantissa looks like that midpoint.
uint8_t EncodeE8M0(uint32_t bits) {
  const uint32_t exponent = (bits >> kFloatMantissaBits) & 0xff;
  if (exponent == 0xff) return 0xff;
  const uint32_t mantissa = bits & 0x007fffff;
  const bool round_up = exponent > 0 ? mantissa >= 0x00400000 : mantissa > 0x00400000;
  return static_cast<uint8_t>(exponent + (round_up ? 1 : 0));
}

float DecodeE8M0(uint8_t bits) {
  if (bits == 0xff) return std::bit_cast<float>(kFloatQuietNan);
  if (bits == 0) return std::bit_cast<float>(uint32_t{0x00400000});
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << kFloatMantissaBits);
}

}  // namespace

float HalfBitsToFloat(uint16_t bits) {
  const bool negative = (bits & 0x8000) != 0;
  const uint32_t code = bits & 0x7fff;
  if (code > 0x7c00) return Signed(negative, kFloatQuietNan | ((code & 0x3ff) << 13));
  if (code == 0x7c00) return Signed(negative, kFloatInf);
  return Signed(negative, DecodeMagnitude(kHalf, code));
}

uint16_t FloatToHalfBits(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint16_t sign = static_cast<uint16_t>((bits >> 16) & 0x8000);
  const uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > kFloatInf) return sign | 0x7e00;
  if (magnitude == kFloatInf) return sign | 0x7c00;
  const uint32_t code = EncodeMagnitude(kHalf, magnitude);
  return sign | static_cast<uint16_t>(code > 0x7c00 ? 0x7c00 : code);
}

float BFloat16BitsToFloat(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

uint16_t FloatToBFloat16Bits(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffff) > kFloatInf) return 0x7fc0;
  return static_cast<uint16_t>(ShiftRoundToEven(bits, 16));
}

float Float8BitsToFloat(DType dtype, uint8_t bits) {
  const bool negative = (bits & 0x80) != 0;
  const uint32_t code = bits & 0x7f;
  switch (dtype) {
    case DType::kFloat8E4M3FN:
      if (code == 0x7f) return Signed(negative, kFloatQuietNan);
      return Signed(negative, DecodeMagnitude(kE4M3FN, code));
    case DType::kFloat8E5M2:
      if (code > 0x7c) return Signed(negative, kFloatQuietNan);
      if (code == 0x7c) return Signed(negative, kFloatInf);
      return Signed(negative, DecodeMagnitude(kE5M2, code));
    case DType::kFloat8E4M3FNUZ:
      return DecodeFnuz(kE4M3FNUZ, bits);
    case DType::kFloat8E5M2FNUZ:
      return DecodeFnuz(kE5M2FNUZ, bits);
    default:  // kFloat8E8M0FNU: the last of kFloat8Types
      return DecodeE8M0(bits);
  }
}

uint8_t FloatToFloat8Bits(DType dtype, float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  switch (dtype) {
    case DType::kFloat8E4M3FN:
      return EncodeSigned(kE4M3FN, bits, /*largest_finite=*/0x7e, /*overflow=*/0x7f, /*nan=*/0x7f);
    case DType::kFloat8E5M2:
      return EncodeSigned(kE5M2, bits, /*largest_finite=*/0x7b, /*overflow=*/0x7c, /*nan=*/0x7f);
    case DType::kFloat8E4M3FNUZ:
      return EncodeFnuz(kE4M3FNUZ, bits);
    case DType::kFloat8E5M2FNUZ:
      return EncodeFnuz(kE5M2FNUZ, bits);
    default:  // kFloat8E8M0FNU: the last of kFloat8Types
      return EncodeE8M0(bits);
  }
}

}  // namespace belay
