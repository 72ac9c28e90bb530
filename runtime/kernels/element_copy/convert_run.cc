#include "runtime/kernels/element_copy/convert_run.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "runtime/core/element.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/element_copy/convert_run.cc"
#include "hwy/foreach_target.h"
// Must come after foreach_target.h.
#include "hwy/highway.h"
#include "runtime/kernels/bfloat16-inl.h"

HWY_BEFORE_NAMESPACE();
namespace belay {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// A bool as stored in memory: any byte.
struct BoolByte {
  uint8_t byte;
};

template <class To, class From>
HWY_INLINE To Bits(From value) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  memcpy(&to, &value, sizeof(to));
  return to;
}

// Branch-free, so that compilers vectorize it.
HWY_INLINE float WidenHalf(uint16_t half) {
  const uint32_t code = half & 0x7fffu, sign = (half & 0x8000u) << 16;
  const uint32_t subnormal =
      Bits<uint32_t>(static_cast<float>(static_cast<int32_t>(code)) * 0x1p-24f);
  const uint32_t normal = (code << 13) + (112u << 23);
  const uint32_t special = (code << 13) | 0x7f800000u;
  return Bits<float>(sign | (code < 0x400 ? subnormal : code >= 0x7c00 ? special : normal));
}

HWY_INLINE uint16_t NarrowToHalf(float value) {
  const uint32_t bits = Bits<uint32_t>(value);
  const uint32_t sign = (bits >> 16) & 0x8000, u = bits & 0x7fffffff;
  // Adding 0.5f aligns the last bit of a subnormal with the last bit of the sum, which rounds it.
  const uint32_t subnormal = Bits<uint32_t>(Bits<float>(u) + 0.5f) - 0x3f000000u;
  const uint32_t normal = (u + 0xfff + ((u >> 13) & 1) - (112u << 23)) >> 13;
  const uint32_t special = u > 0x7f800000u ? 0x7e00 : 0x7c00;
  return static_cast<uint16_t>(sign | (u < 0x38800000u    ? subnormal
                                       : u >= 0x47800000u ? special
                                                          : normal));
}

HWY_INLINE uint16_t NarrowToBFloat16(float value) {
  const uint32_t bits = Bits<uint32_t>(value);
  const uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  return static_cast<uint16_t>((bits & 0x7fffffff) > 0x7f800000u ? 0x7fc0u : rounded);
}

template <class To, class From>
HWY_INLINE To Converted(From x) {
  if constexpr (std::is_same_v<From, BoolByte>) {
    return static_cast<To>(x.byte != 0 ? 1 : 0);
  } else if constexpr (std::is_same_v<From, Half>) {
    return Converted<To>(WidenHalf(x.bits));
  } else if constexpr (std::is_same_v<From, BFloat16>) {
    return Converted<To>(Bits<float>(static_cast<uint32_t>(x.bits) << 16));
  } else if constexpr (std::is_same_v<To, BoolByte>) {
    return BoolByte{static_cast<uint8_t>(x != From{0} ? 1 : 0)};
  } else if constexpr (std::is_same_v<To, Half>) {
    Half half;
    half.bits = NarrowToHalf(static_cast<float>(x));
    return half;
  } else if constexpr (std::is_same_v<To, BFloat16>) {
    BFloat16 half;
    half.bits = NarrowToBFloat16(static_cast<float>(x));
    return half;
  } else {
    return ConvertElement<To>(x);
  }
}

template <class To, class From>
void Loop(const void* HWY_RESTRICT in, void* HWY_RESTRICT out, size_t n) {
  const From* HWY_RESTRICT x = static_cast<const From*>(in);
  To* HWY_RESTRICT y = static_cast<To*>(out);
  for (size_t i = 0; i < n; ++i) y[i] = Converted<To>(x[i]);
}

// Writes bytes that are 0 or 1; may work in place.
void NormalizeBools(const void* in, void* out, size_t n) {
  const uint8_t* x = static_cast<const uint8_t*>(in);
  uint8_t* y = static_cast<uint8_t*>(out);
  for (size_t i = 0; i < n; ++i) y[i] = x[i] != 0 ? 1 : 0;
}

#if HWY_TARGET <= HWY_AVX2 && HWY_ARCH_X86
// These targets have instructions for half precision.
void WidenHalves(const void* HWY_RESTRICT in, void* HWY_RESTRICT out, size_t n) {
  const hn::ScalableTag<float> d;
  const hn::Rebind<hwy::float16_t, decltype(d)> dh;
  const hwy::float16_t* HWY_RESTRICT x = static_cast<const hwy::float16_t*>(in);
  float* HWY_RESTRICT y = static_cast<float*>(out);
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(hn::PromoteTo(d, hn::LoadU(dh, x + i)), d, y + i);
  for (; i < n; ++i) y[i] = WidenHalf(Bits<uint16_t>(x[i]));
}
void NarrowHalves(const void* HWY_RESTRICT in, void* HWY_RESTRICT out, size_t n) {
  const hn::ScalableTag<float> d;
  const hn::Rebind<hwy::float16_t, decltype(d)> dh;
  const float* HWY_RESTRICT x = static_cast<const float*>(in);
  hwy::float16_t* HWY_RESTRICT y = static_cast<hwy::float16_t*>(out);
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(hn::DemoteTo(dh, hn::LoadU(d, x + i)), dh, y + i);
  for (; i < n; ++i) y[i] = Bits<hwy::float16_t>(NarrowToHalf(x[i]));
}
#else
void WidenHalves(const void* HWY_RESTRICT in, void* HWY_RESTRICT out, size_t n) {
  Loop<float, Half>(in, out, n);
}
void NarrowHalves(const void* HWY_RESTRICT in, void* HWY_RESTRICT out, size_t n) {
  Loop<Half, float>(in, out, n);
}
#endif

// Rounds two vectors at a time, whose upper halves form one.
void NarrowToBFloats(const void* HWY_RESTRICT in, void* HWY_RESTRICT out, size_t n) {
  const hn::ScalableTag<float> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  const hn::Repartition<uint16_t, decltype(d)> d16;
  const float* HWY_RESTRICT x = static_cast<const float*>(in);
  uint16_t* HWY_RESTRICT y = static_cast<uint16_t*>(out);
  const size_t lanes = hn::Lanes(d);
  const auto rounded = [&](const float* from) HWY_ATTR {
    const auto v = hn::LoadU(d, from);
    const auto bits = hn::BitCast(du, v);
    const auto nan = hn::BitCast(d, hn::Set(du, 0x7fc00000u));
    const auto nearest = hn::BitCast(d, RoundToBFloat16(du, bits));
    return hn::BitCast(d16, hn::IfThenElse(hn::IsNaN(v), nan, nearest));
  };
  size_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    hn::StoreU(hn::ConcatOdd(d16, rounded(x + i + lanes), rounded(x + i)), d16, y + i);
  }
  for (; i < n; ++i) y[i] = NarrowToBFloat16(x[i]);
}

using RunFn = void (*)(const void* in, void* out, size_t n);

template <class From>
RunFn FromHub(DType to) {
  switch (to) {
    case DType::kUint8:
      return &Loop<uint8_t, From>;
    case DType::kInt8:
      return &Loop<int8_t, From>;
    case DType::kInt16:
      return &Loop<int16_t, From>;
    case DType::kInt32:
      return &Loop<int32_t, From>;
    case DType::kInt64:
      return &Loop<int64_t, From>;
    case DType::kFloat16:
      return &Loop<Half, From>;
    case DType::kBFloat16:
      return &Loop<BFloat16, From>;
    case DType::kFloat32:
      return &Loop<float, From>;
    case DType::kFloat64:
      return &Loop<double, From>;
    case DType::kBool:
      return &Loop<BoolByte, From>;
    default:
      return nullptr;
  }
}

// Converts any dtype to the widest of its kind: int64, float, or double for double.
RunFn ToHub(DType from) {
  switch (from) {
    case DType::kUint8:
      return &Loop<int64_t, uint8_t>;
    case DType::kInt8:
      return &Loop<int64_t, int8_t>;
    case DType::kInt16:
      return &Loop<int64_t, int16_t>;
    case DType::kInt32:
      return &Loop<int64_t, int32_t>;
    case DType::kBool:
      return &Loop<int64_t, BoolByte>;
    case DType::kFloat16:
      return &WidenHalves;
    case DType::kBFloat16:
      return &Loop<float, BFloat16>;
    default:
      return nullptr;
  }
}

RunFn FromFloat(DType to) {
  if (to == DType::kFloat16) return &NarrowHalves;
  return to == DType::kBFloat16 ? &NarrowToBFloats : FromHub<float>(to);
}

RunFn Direct(DType from, DType to) {
  if (from == DType::kFloat32) return FromFloat(to);
  if (from == DType::kFloat64) return FromHub<double>(to);
  if (from == DType::kInt64) return FromHub<int64_t>(to);
  const bool half = from == DType::kFloat16 || from == DType::kBFloat16;
  if (half || to == DType::kInt64) {
    return to == (half ? DType::kFloat32 : DType::kInt64) ? ToHub(from) : nullptr;
  }
  // Direct loops for frequent conversions.
  if (to == DType::kFloat32) {
    switch (from) {
      case DType::kUint8:
        return &Loop<float, uint8_t>;
      case DType::kInt8:
        return &Loop<float, int8_t>;
      case DType::kInt32:
        return &Loop<float, int32_t>;
      case DType::kBool:
        return &Loop<float, BoolByte>;
      default:
        return nullptr;
    }
  }
  if (from == DType::kBool && to == DType::kInt32) return &Loop<int32_t, BoolByte>;
  return nullptr;
}

void ConvertRunImpl(DType from, const void* in, DType to, void* out, size_t n) {
  if (from == to) {
    if (from == DType::kBool) {
      NormalizeBools(in, out, n);
    } else if (in != out) {
      memmove(out, in, n * DTypeSize(from));
    }
    return;
  }
  const bool bytes = (from == DType::kBool || from == DType::kUint8 || from == DType::kInt8) &&
                     (to == DType::kBool || to == DType::kUint8 || to == DType::kInt8);
  if (bytes) {
    if (from == DType::kBool || to == DType::kBool) {
      NormalizeBools(in, out, n);
    } else if (in != out) {
      memmove(out, in, n);
    }
    return;
  }
  if (const RunFn direct = Direct(from, to)) return direct(in, out, n);
  const bool half = from == DType::kFloat16 || from == DType::kBFloat16;
  constexpr size_t kPiece = 256;
  alignas(64) int64_t piece[kPiece];
  const RunFn widen = ToHub(from);
  const RunFn narrow = half ? FromFloat(to) : FromHub<int64_t>(to);
  if (widen == nullptr || narrow == nullptr) return;
  const char* source = static_cast<const char*>(in);
  char* target = static_cast<char*>(out);
  for (size_t i = 0; i < n; i += kPiece) {
    const size_t count = HWY_MIN(kPiece, n - i);
    widen(source + i * DTypeSize(from), piece, count);
    narrow(piece, target + i * DTypeSize(to), count);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace belay
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay {

HWY_EXPORT(ConvertRunImpl);
void ConvertRun(DType from, const void* in, DType to, void* out, size_t n) {
  HWY_DYNAMIC_DISPATCH(ConvertRunImpl)(from, in, to, out, n);
}
void LoadFloats(DType from, const void* in, size_t n, float* out) {
  ConvertRun(from, in, DType::kFloat32, out, n);
}
void StoreFloats(const float* in, size_t n, DType to, void* out) {
  ConvertRun(DType::kFloat32, in, to, out, n);
}

}  // namespace belay
#endif  // HWY_ONCE
