// C++ types for elements without a built-in one, the map dtype ↔ C++ type, and the dtype switch
// used by kernels. Conversions round to nearest even (IEEE) and are the only ones in the project.
#ifndef BELAY_RUNTIME_CORE_ELEMENT_H_
#define BELAY_RUNTIME_CORE_ELEMENT_H_

#include <complex>
#include <cstdint>
#include <type_traits>

#include "runtime/core/dtype.h"

namespace belay {

float HalfBitsToFloat(uint16_t bits);
uint16_t FloatToHalfBits(float value);
float BFloat16BitsToFloat(uint16_t bits);
uint16_t FloatToBFloat16Bits(float value);
// `dtype` is one of kFloat8Types. Out-of-range values saturate or become NaN/inf as in PyTorch's
// conversions.
float Float8BitsToFloat(DType dtype, uint8_t bits);
uint8_t FloatToFloat8Bits(DType dtype, float value);

struct Half {
  uint16_t bits;
  Half() = default;
  explicit Half(float value) : bits(FloatToHalfBits(value)) {}
  operator float() const {
    return HalfBitsToFloat(bits);
  }  // NOLINT: implicit, as for the built-in types
};
struct BFloat16 {
  uint16_t bits;
  BFloat16() = default;
  explicit BFloat16(float value) : bits(FloatToBFloat16Bits(value)) {}
  operator float() const { return BFloat16BitsToFloat(bits); }  // NOLINT
};
template <DType kType>
struct Float8 {
  uint8_t bits;
  Float8() = default;
  explicit Float8(float value) : bits(FloatToFloat8Bits(kType, value)) {}
  operator float() const { return Float8BitsToFloat(kType, bits); }  // NOLINT
};

template <DType kType>
struct DTypeTag {
  static constexpr DType value = kType;
};

// CppType<DType::kFloat32> is float, and DTypeOf<float> is kFloat32.
template <DType kType>
struct CppTypeOf;
template <class T>
inline constexpr DType DTypeOf = DType{};

#define BELAY_ELEMENT_TYPE(dtype, T) \
  template <>                        \
  struct CppTypeOf<DType::dtype> {   \
    using type = T;                  \
  };                                 \
  template <>                        \
  inline constexpr DType DTypeOf<T> = DType::dtype;
BELAY_ELEMENT_TYPE(kUint8, uint8_t)
BELAY_ELEMENT_TYPE(kInt8, int8_t)
BELAY_ELEMENT_TYPE(kInt16, int16_t)
BELAY_ELEMENT_TYPE(kInt32, int32_t)
BELAY_ELEMENT_TYPE(kInt64, int64_t)
BELAY_ELEMENT_TYPE(kFloat16, Half)
BELAY_ELEMENT_TYPE(kBFloat16, BFloat16)
BELAY_ELEMENT_TYPE(kFloat32, float)
BELAY_ELEMENT_TYPE(kFloat64, double)
BELAY_ELEMENT_TYPE(kComplex64, std::complex<float>)
BELAY_ELEMENT_TYPE(kComplex128, std::complex<double>)
BELAY_ELEMENT_TYPE(kBool, bool)
BELAY_ELEMENT_TYPE(kUint16, uint16_t)
BELAY_ELEMENT_TYPE(kUint32, uint32_t)
BELAY_ELEMENT_TYPE(kUint64, uint64_t)
BELAY_ELEMENT_TYPE(kFloat8E4M3FN, Float8<DType::kFloat8E4M3FN>)
BELAY_ELEMENT_TYPE(kFloat8E5M2, Float8<DType::kFloat8E5M2>)
BELAY_ELEMENT_TYPE(kFloat8E4M3FNUZ, Float8<DType::kFloat8E4M3FNUZ>)
BELAY_ELEMENT_TYPE(kFloat8E5M2FNUZ, Float8<DType::kFloat8E5M2FNUZ>)
BELAY_ELEMENT_TYPE(kFloat8E8M0FNU, Float8<DType::kFloat8E8M0FNU>)
#undef BELAY_ELEMENT_TYPE

template <DType kType>
using CppType = typename CppTypeOf<kType>::type;

template <class T>
inline constexpr bool kIsComplex =
    std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;
template <class T>
inline constexpr bool kIsFloat8 = std::is_class_v<T> && sizeof(T) == 1;
template <class T>
inline constexpr bool kIsReducedFloat =
    std::is_same_v<T, Half> || std::is_same_v<T, BFloat16> || kIsFloat8<T>;
template <class T>
inline constexpr bool kIsFloating = std::is_floating_point_v<T> || kIsReducedFloat<T>;

// Compute type of kernels: float for the reduced floating point types, T otherwise.
template <class T>
using ComputeType = std::conditional_t<kIsReducedFloat<T>, float, T>;

// Converts between any two element types with C++'s rules, extended to be total. Complex → real
// drops the imaginary part. Anything → bool compares with zero. Floating point → integer converts
// to int64 (saturating; NaN gives 0) and then wraps.
template <class To, class From>
To ConvertElement(From value) {
  if constexpr (std::is_same_v<To, From>) {
    return value;
  } else if constexpr (kIsComplex<From>) {
    if constexpr (kIsComplex<To>) {
      return To(static_cast<typename To::value_type>(value.real()),
                static_cast<typename To::value_type>(value.imag()));
    } else if constexpr (std::is_same_v<To, bool>) {
      return value.real() != 0 || value.imag() != 0;
    } else {
      return ConvertElement<To>(value.real());
    }
  } else if constexpr (kIsReducedFloat<From>) {
    return ConvertElement<To>(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, bool>) {
    return value != From{0};
  } else if constexpr (kIsComplex<To>) {
    return To(static_cast<typename To::value_type>(value), 0);
  } else if constexpr (kIsReducedFloat<To>) {
    return To(static_cast<float>(value));
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    // 2^63 is exact in float and double; the comparison is false for NaN.
    constexpr From kLimit = static_cast<From>(9223372036854775808.0);
    if (!(value == value)) return To{0};
    if (std::is_same_v<To, uint64_t> && value >= kLimit) {
      return value >= 2 * kLimit ? static_cast<To>(~uint64_t{0})
                                 : static_cast<To>(static_cast<uint64_t>(value));
    }
    if (value >= kLimit) return static_cast<To>(INT64_MAX);
    if (value < -kLimit) return static_cast<To>(INT64_MIN);
    return static_cast<To>(static_cast<int64_t>(value));
  } else {
    return static_cast<To>(value);
  }
}

// If `dtype` is in `kTypes`, calls `fn(DTypeTag<…>)` and returns true; otherwise returns false.
//   DispatchDType<kFloatTypes>(t.dtype, [&](auto tag) { using T = CppType<tag.value>; … });
template <DTypeSet kTypes, class Fn>
bool DispatchDType(DType dtype, Fn&& fn) {
  switch (dtype) {
#define BELAY_CASE(name)                          \
  case DType::name:                               \
    if constexpr (kTypes.contains(DType::name)) { \
      fn(DTypeTag<DType::name>{});                \
      return true;                                \
    } else {                                      \
      return false;                               \
    }
    BELAY_CASE(kUint8)
    BELAY_CASE(kInt8)
    BELAY_CASE(kInt16)
    BELAY_CASE(kInt32)
    BELAY_CASE(kInt64)
    BELAY_CASE(kFloat16)
    BELAY_CASE(kFloat32)
    BELAY_CASE(kFloat64)
    BELAY_CASE(kComplex64)
    BELAY_CASE(kComplex128)
    BELAY_CASE(kBool)
    BELAY_CASE(kBFloat16)
    BELAY_CASE(kUint16)
    BELAY_CASE(kUint32)
    BELAY_CASE(kUint64)
    BELAY_CASE(kFloat8E4M3FN)
    BELAY_CASE(kFloat8E5M2)
    BELAY_CASE(kFloat8E4M3FNUZ)
    BELAY_CASE(kFloat8E5M2FNUZ)
    BELAY_CASE(kFloat8E8M0FNU)
#undef BELAY_CASE
    case DType::kComplex32:
      return false;
  }
  return false;
}

}  // namespace belay

#endif  // BELAY_RUNTIME_CORE_ELEMENT_H_
