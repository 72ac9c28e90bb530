#include "runtime/core/dtype.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

namespace belay {
namespace {

constexpr int64_t kNoNumber = -1;

struct DTypeInfo {
  std::string_view name;
  std::string_view short_name;
  int64_t pt2;
  int64_t c10;
};

// Indexed by DType.
constexpr DTypeInfo kInfos[kNumDTypes] = {
    {"invalid", "invalid", kNoNumber, kNoNumber},
    {"uint8", "u8", 1, 0},
    {"int8", "i8", 2, 1},
    {"int16", "i16", 3, 2},
    {"int32", "i32", 4, 3},
    {"int64", "i64", 5, 4},
    {"float16", "f16", 6, 5},
    {"float32", "f32", 7, 6},
    {"float64", "f64", 8, 7},
    {"complex32", "c32", 9, 8},
    {"complex64", "c64", 10, 9},
    {"complex128", "c128", 11, 10},
    {"bool", "b8", 12, 11},
    {"bfloat16", "bf16", 13, 15},
    {"uint16", "u16", 28, 27},
    {"uint32", "u32", 34, 28},
    {"uint64", "u64", 35, 29},
    {"float8_e4m3fn", "f8e4m3fn", 29, 24},
    {"float8_e5m2", "f8e5m2", 30, 23},
    {"float8_e4m3fnuz", "f8e4m3fnuz", 31, 26},
    {"float8_e5m2fnuz", "f8e5m2fnuz", 32, 25},
    {"float8_e8m0fnu", "f8e8m0fnu", 33, 44},
};

const DTypeInfo& Info(DType dtype) {
  const int i = static_cast<int>(dtype);
  return kInfos[i < kNumDTypes ? i : 0];
}

template <class Matches>
std::optional<DType> FindDType(Matches matches) {
  for (int i = 1; i < kNumDTypes; ++i) {
    if (matches(kInfos[i])) return static_cast<DType>(i);
  }
  return std::nullopt;
}

// Index of the mutually promotable types, in the order of the table below.
constexpr int kNumPromoting = 13;
int PromotionIndex(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return 0;
    case DType::kUint8:
      return 1;
    case DType::kInt8:
      return 2;
    case DType::kInt16:
      return 3;
    case DType::kInt32:
      return 4;
    case DType::kInt64:
      return 5;
    case DType::kFloat16:
      return 6;
    case DType::kBFloat16:
      return 7;
    case DType::kFloat32:
      return 8;
    case DType::kFloat64:
      return 9;
    case DType::kComplex32:
      return 10;
    case DType::kComplex64:
      return 11;
    case DType::kComplex128:
      return 12;
    default:
      return -1;
  }
}

constexpr DType b1 = DType::kBool;
constexpr DType u1 = DType::kUint8;
constexpr DType i1 = DType::kInt8;
constexpr DType i2 = DType::kInt16;
constexpr DType i4 = DType::kInt32;
constexpr DType i8 = DType::kInt64;
constexpr DType f2 = DType::kFloat16;
constexpr DType bf = DType::kBFloat16;
constexpr DType f4 = DType::kFloat32;
constexpr DType f8 = DType::kFloat64;
constexpr DType c2 = DType::kComplex32;
constexpr DType c4 = DType::kComplex64;
constexpr DType c8 = DType::kComplex128;
// clang-format off
constexpr DType kPromotion[kNumPromoting][kNumPromoting] = {
    //         b1  u1  i1  i2  i4  i8  f2  bf  f4  f8  c2  c4  c8
    /* b1 */ { b1, u1, i1, i2, i4, i8, f2, bf, f4, f8, c2, c4, c8 },
    /* u1 */ { u1, u1, i2, i2, i4, i8, f2, bf, f4, f8, c2, c4, c8 },
    /* i1 */ { i1, i2, i1, i2, i4, i8, f2, bf, f4, f8, c2, c4, c8 },
    /* i2 */ { i2, i2, i2, i2, i4, i8, f2, bf, f4, f8, c2, c4, c8 },
    /* i4 */ { i4, i4, i4, i4, i4, i8, f2, bf, f4, f8, c2, c4, c8 },
    /* i8 */ { i8, i8, i8, i8, i8, i8, f2, bf, f4, f8, c2, c4, c8 },
    /* f2 */ { f2, f2, f2, f2, f2, f2, f2, f4, f4, f8, c2, c4, c8 },
    /* bf */ { bf, bf, bf, bf, bf, bf, f4, bf, f4, f8, c4, c4, c8 },
    /* f4 */ { f4, f4, f4, f4, f4, f4, f4, f4, f4, f8, c4, c4, c8 },
    /* f8 */ { f8, f8, f8, f8, f8, f8, f8, f8, f8, f8, c8, c8, c8 },
    /* c2 */ { c2, c2, c2, c2, c2, c2, c2, c4, c4, c8, c2, c4, c8 },
    /* c4 */ { c4, c4, c4, c4, c4, c4, c4, c4, c4, c8, c4, c4, c8 },
    /* c8 */ { c8, c8, c8, c8, c8, c8, c8, c8, c8, c8, c8, c8, c8 },
};
// clang-format on

}  // namespace

std::optional<DType> DTypeFromPt2(Pt2ScalarType type) {
  return FindDType([&](const DTypeInfo& info) { return info.pt2 == type.value; });
}

std::optional<DType> DTypeFromC10(C10ScalarType type) {
  return FindDType([&](const DTypeInfo& info) { return info.c10 == type.value; });
}

std::optional<DType> DTypeFromProgramFile(uint32_t value) {
  if (value == 0 || value >= static_cast<uint32_t>(kNumDTypes)) return std::nullopt;
  return static_cast<DType>(value);
}

std::optional<Pt2ScalarType> DTypeToPt2(DType dtype) {
  const int64_t number = Info(dtype).pt2;
  if (number == kNoNumber) return std::nullopt;
  return Pt2ScalarType{number};
}

std::optional<C10ScalarType> DTypeToC10(DType dtype) {
  const int64_t number = Info(dtype).c10;
  if (number == kNoNumber) return std::nullopt;
  return C10ScalarType{number};
}

std::string_view DTypeName(DType dtype) { return Info(dtype).name; }

std::optional<DType> DTypeFromName(std::string_view name) {
  return FindDType([&](const DTypeInfo& info) { return info.name == name; });
}

std::string_view DTypeShortName(DType dtype) { return Info(dtype).short_name; }

std::optional<DType> DTypeFromShortName(std::string_view name) {
  return FindDType([&](const DTypeInfo& info) { return info.short_name == name; });
}

bool IsFloatingPoint(DType dtype) { return (kFloatTypes | kFloat8Types).contains(dtype); }

bool IsComplex(DType dtype) {
  return (kComplexTypes | DTypeSet{DType::kComplex32}).contains(dtype);
}

bool IsIntegral(DType dtype, bool include_bool) {
  return (kIntegralTypes | kUnsignedWideTypes).contains(dtype) ||
         (include_bool && dtype == DType::kBool);
}

DType RealPart(DType dtype) {
  switch (dtype) {
    case DType::kComplex32:
      return DType::kFloat16;
    case DType::kComplex64:
      return DType::kFloat32;
    case DType::kComplex128:
      return DType::kFloat64;
    default:
      return dtype;
  }
}

std::optional<DType> PromoteTypes(DType a, DType b) {
  if (a == b) return a;
  if (kFloat8Types.contains(a) || kFloat8Types.contains(b)) return std::nullopt;
  if (kUnsignedWideTypes.contains(b)) std::swap(a, b);
  if (kUnsignedWideTypes.contains(a)) {
    return IsFloatingPoint(b) ? std::optional<DType>(b) : std::nullopt;
  }
  const int row = PromotionIndex(a);
  const int column = PromotionIndex(b);
  if (row < 0 || column < 0) return std::nullopt;
  return kPromotion[row][column];
}

}  // namespace belay
