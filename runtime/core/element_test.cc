#include "runtime/core/element.h"

#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <ostream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

struct FormatCase {
  std::string name;
  float (*decode)(uint32_t);
  uint32_t (*encode)(float);
  int mantissa_bits;
  int bias;
  uint32_t sign;
  uint32_t largest_finite;
  uint32_t overflow;  // code above the largest finite value
  uint32_t negative_overflow;
  uint32_t nan;
  bool has_negative_zero;
};
std::ostream& operator<<(std::ostream& out, const FormatCase& c) { return out << c.name; }

template <DType kType>
FormatCase Float8Case(int mantissa_bits, int bias, uint32_t largest_finite, uint32_t overflow,
                      uint32_t negative_overflow, uint32_t nan, bool has_negative_zero) {
  return {std::string(DTypeShortName(kType)),
          [](uint32_t bits) { return Float8BitsToFloat(kType, static_cast<uint8_t>(bits)); },
          [](float value) -> uint32_t { return FloatToFloat8Bits(kType, value); },
          mantissa_bits,
          bias,
          0x80,
          largest_finite,
          overflow,
          negative_overflow,
          nan,
          has_negative_zero};
}

class FormatTest : public testing::TestWithParam<FormatCase> {
 protected:
  // The value of a code by definition, with unbounded exponent.
  double Value(uint32_t code) const {
    const FormatCase& c = GetParam();
    const int exponent = static_cast<int>(code >> c.mantissa_bits);
    const int mantissa = static_cast<int>(code & ((1u << c.mantissa_bits) - 1));
    const int hidden = 1 << c.mantissa_bits;
    return exponent == 0 ? std::ldexp(mantissa, 1 - c.bias - c.mantissa_bits)
                         : std::ldexp(hidden + mantissa, exponent - c.bias - c.mantissa_bits);
  }
};

TEST_P(FormatTest, FiniteCodesDecodeByDefinition) {
  for (uint32_t code = 0; code <= GetParam().largest_finite; ++code) {
    ASSERT_EQ(GetParam().decode(code), Value(code)) << code;
    if (code == 0 && !GetParam().has_negative_zero) continue;
    const float negative = GetParam().decode(code | GetParam().sign);
    ASSERT_EQ(negative, -Value(code)) << code;
    ASSERT_TRUE(std::signbit(negative)) << code;
  }
}

TEST_P(FormatTest, FiniteValuesEncodeToTheirCode) {
  for (uint32_t code = 0; code <= GetParam().largest_finite; ++code) {
    ASSERT_EQ(GetParam().encode(static_cast<float>(Value(code))), code);
    if (code == 0) continue;
    ASSERT_EQ(GetParam().encode(static_cast<float>(-Value(code))), code | GetParam().sign);
  }
  EXPECT_EQ(GetParam().encode(-0.0f), GetParam().has_negative_zero ? GetParam().sign : 0u);
}

TEST_P(FormatTest, ValuesBetweenTwoCodesRoundToNearestAndTiesToEven) {
  const FormatCase& c = GetParam();
  for (uint32_t code = 0; code <= c.largest_finite; ++code) {
    const bool last = code == c.largest_finite;
    const uint32_t up = last ? c.overflow : code + 1;
    const uint32_t negative_up = last ? c.negative_overflow : (code + 1) | c.sign;
    const uint32_t negative_down = code == 0 && !c.has_negative_zero ? 0 : code | c.sign;
    const float middle = static_cast<float>((Value(code) + Value(code + 1)) / 2);
    const float below = std::nextafter(middle, 0.0f), above = std::nextafter(middle, kInf);
    ASSERT_EQ(c.encode(below), code) << code;
    ASSERT_EQ(c.encode(middle), code % 2 == 0 ? code : up) << code;
    ASSERT_EQ(c.encode(above), up) << code;
    ASSERT_EQ(c.encode(-below), negative_down) << code;
    ASSERT_EQ(c.encode(-middle), code % 2 == 0 ? negative_down : negative_up) << code;
    ASSERT_EQ(c.encode(-above), negative_up) << code;
  }
}

TEST_P(FormatTest, LargeValuesOverflow) {
  const FormatCase& c = GetParam();
  EXPECT_EQ(c.encode(kInf), c.overflow);
  EXPECT_EQ(c.encode(-kInf), c.negative_overflow);
  if (c.bias < 127) {
    EXPECT_EQ(c.encode(std::numeric_limits<float>::max()), c.overflow);
    EXPECT_EQ(c.encode(-std::numeric_limits<float>::max()), c.negative_overflow);
  }
}

TEST_P(FormatTest, SubnormalFloatsRoundToZeroWhereTheFormatIsCoarser) {
  if (GetParam().bias == 127) return;
  EXPECT_EQ(GetParam().encode(std::numeric_limits<float>::denorm_min()), 0u);
  EXPECT_EQ(GetParam().encode(std::numeric_limits<float>::min()), 0u);
}

TEST_P(FormatTest, CodesAboveTheLargestFiniteAreInfinityOrNan) {
  for (uint32_t code = GetParam().largest_finite + 1; code < GetParam().sign; ++code) {
    const float value = GetParam().decode(code);
    ASSERT_FALSE(std::isfinite(value)) << code;
    ASSERT_EQ(std::isinf(value),
              code == GetParam().largest_finite + 1 && GetParam().overflow != GetParam().nan)
        << code;
  }
  EXPECT_TRUE(std::isnan(GetParam().decode(GetParam().nan)));
  EXPECT_EQ(GetParam().encode(kNan), GetParam().nan);
}

INSTANTIATE_TEST_SUITE_P(
    Formats, FormatTest,
    testing::Values(
        FormatCase{"f16",
                   [](uint32_t bits) { return HalfBitsToFloat(static_cast<uint16_t>(bits)); },
                   [](float value) -> uint32_t { return FloatToHalfBits(value); }, 10, 15, 0x8000,
                   0x7bff, 0x7c00, 0xfc00, 0x7e00, true},
        FormatCase{"bf16",
                   [](uint32_t bits) { return BFloat16BitsToFloat(static_cast<uint16_t>(bits)); },
                   [](float value) -> uint32_t { return FloatToBFloat16Bits(value); }, 7, 127,
                   0x8000, 0x7f7f, 0x7f80, 0xff80, 0x7fc0, true},
        Float8Case<DType::kFloat8E4M3FN>(3, 7, 0x7e, 0x7f, 0xff, 0x7f, true),
        Float8Case<DType::kFloat8E5M2>(2, 15, 0x7b, 0x7c, 0xfc, 0x7f, true),
        Float8Case<DType::kFloat8E4M3FNUZ>(3, 8, 0x7f, 0x80, 0x80, 0x80, false),
        Float8Case<DType::kFloat8E5M2FNUZ>(2, 16, 0x7f, 0x80, 0x80, 0x80, false)),
    [](const testing::TestParamInfo<FormatCase>& info) { return info.param.name; });

// Rounding the largest payloads like numbers would give -0.
TEST(BFloat16Test, NansAreCanonical) {
  for (const uint32_t bits : {0x7f800001u, 0x7fffffffu, 0xff800001u, 0xffffffffu}) {
    EXPECT_EQ(FloatToBFloat16Bits(std::bit_cast<float>(bits)), 0x7fc0) << bits;
  }
}

TEST(Float8E8M0Test, CodesArePowersOfTwo) {
  for (int code = 0; code < 255; ++code) {
    const float value = Float8BitsToFloat(DType::kFloat8E8M0FNU, static_cast<uint8_t>(code));
    ASSERT_EQ(value, std::ldexp(1.0, code - 127)) << code;
    if (code > 0) {
      ASSERT_EQ(FloatToFloat8Bits(DType::kFloat8E8M0FNU, value), code);
    }
  }
  EXPECT_TRUE(std::isnan(Float8BitsToFloat(DType::kFloat8E8M0FNU, 0xff)));
}

TEST(Float8E8M0Test, RoundsAsPyTorchDoes) {
  const auto encode = [](float v) { return FloatToFloat8Bits(DType::kFloat8E8M0FNU, v); };
  EXPECT_EQ(encode(1.0f), 127);
  EXPECT_EQ(encode(std::nextafter(1.5f, 0.0f)), 127);
  EXPECT_EQ(encode(1.5f), 128);
  EXPECT_EQ(encode(1.75f), 128);
  EXPECT_EQ(encode(-2.0f), 128);  // no sign
  EXPECT_EQ(encode(0.0f), 0);
  const float least = std::ldexp(1.0f, -127);
  EXPECT_EQ(encode(least), 0);
  EXPECT_EQ(encode(std::nextafter(least, 1.0f)), 1);
  EXPECT_EQ(encode(std::numeric_limits<float>::max()), 0xff);
  EXPECT_EQ(encode(kInf), 0xff);
  EXPECT_EQ(encode(-kInf), 0xff);
  EXPECT_EQ(encode(kNan), 0xff);
}

TEST(ElementTypeTest, CppTypeSizesMatchDTypes) {
  int types = 0;
  for (int i = 1; i < kNumDTypes; ++i) {
    DispatchDType<kAllTypes>(static_cast<DType>(i), [&](auto tag) {
      using T = CppType<tag.value>;
      ++types;
      EXPECT_EQ(sizeof(T), DTypeSize(tag.value));
      EXPECT_EQ(DTypeOf<T>, tag.value);
      EXPECT_EQ(kIsComplex<T>, IsComplex(tag.value));
      EXPECT_EQ(kIsFloating<T>, IsFloatingPoint(tag.value));
      EXPECT_EQ(kIsFloat8<T>, kFloat8Types.contains(tag.value));
    });
  }
  EXPECT_EQ(types, kNumDTypes - 2);  // complex32 has no C++ type
}

TEST(DispatchDTypeTest, CallsOnlyForTypesOfTheSet) {
  int calls = 0;
  EXPECT_TRUE(DispatchDType<kFloatTypes>(DType::kFloat16, [&](auto) { ++calls; }));
  EXPECT_FALSE(DispatchDType<kFloatTypes>(DType::kInt8, [&](auto) { ++calls; }));
  EXPECT_FALSE(DispatchDType<kAllTypes>(DType::kComplex32, [&](auto) { ++calls; }));
  EXPECT_FALSE(DispatchDType<kAllTypes>(static_cast<DType>(99), [&](auto) { ++calls; }));
  EXPECT_EQ(calls, 1);
}

TEST(ConvertElementTest, FloatingToIntegerIsTotal) {
  EXPECT_EQ(ConvertElement<int32_t>(-1.9f), -1);
  EXPECT_EQ(ConvertElement<int64_t>(kNan), 0);
  EXPECT_EQ(ConvertElement<int64_t>(kInf), INT64_MAX);
  EXPECT_EQ(ConvertElement<int64_t>(-kInf), INT64_MIN);
  EXPECT_EQ(ConvertElement<int64_t>(9223372036854775808.0), INT64_MAX);
  EXPECT_EQ(ConvertElement<int64_t>(-9223372036854775808.0), INT64_MIN);
  EXPECT_EQ(ConvertElement<uint8_t>(257.0), 1);
  EXPECT_EQ(ConvertElement<uint8_t>(-1.0), 255);
  EXPECT_EQ(ConvertElement<uint64_t>(9223372036854775808.0), uint64_t{1} << 63);
  EXPECT_EQ(ConvertElement<uint64_t>(1e30), UINT64_MAX);
}

TEST(ConvertElementTest, AnythingToBoolComparesWithZero) {
  EXPECT_TRUE(ConvertElement<bool>(0.5f));
  EXPECT_FALSE(ConvertElement<bool>(-0.0));
  EXPECT_TRUE(ConvertElement<bool>(kNan));
  EXPECT_TRUE(ConvertElement<bool>(int64_t{256}));
  EXPECT_TRUE(ConvertElement<bool>(std::complex<float>(0, 1)));
  EXPECT_FALSE(ConvertElement<bool>(Half(0.0f)));
}

TEST(ConvertElementTest, ComplexNumbersAreTrueUnlessBothPartsAreZero) {
  using Complex = std::complex<float>;
  EXPECT_FALSE(ConvertElement<bool>(Complex(0, -0.0f)));
  EXPECT_TRUE(ConvertElement<bool>(Complex(0, 1)));
  EXPECT_TRUE(ConvertElement<bool>(Complex(1, 0)));
}

TEST(ConvertElementTest, ComplexToRealDropsTheImaginaryPart) {
  EXPECT_EQ(ConvertElement<int32_t>(std::complex<double>(3.5, 4)), 3);
  EXPECT_EQ(ConvertElement<std::complex<double>>(std::complex<float>(1, 2)),
            std::complex<double>(1, 2));
  EXPECT_EQ(ConvertElement<std::complex<float>>(Half(2.0f)), std::complex<float>(2, 0));
}

TEST(ConvertElementTest, IntegersWrap) {
  EXPECT_EQ(ConvertElement<int8_t>(int64_t{200}), -56);
  EXPECT_EQ(ConvertElement<uint32_t>(int64_t{-1}), UINT32_MAX);
  EXPECT_EQ(ConvertElement<float>(true), 1.0f);
}

}  // namespace
}  // namespace belay
