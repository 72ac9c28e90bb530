#include "runtime/kernels/checksum/crc32.h"

#include <zlib.h>

#include <array>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/checksum/crc32.cc"
#include "hwy/foreach_target.h"
// Must come after foreach_target.h.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace belay {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SSE2 || HWY_TARGET == HWY_NEON_WITHOUT_AES || HWY_TARGET == HWY_EMU128 || \
    HWY_TARGET == HWY_SCALAR

// These emulate carry-less multiplication: tables are faster.
uint32_t Crc32Impl(uint32_t crc, const uint8_t* bytes, size_t size) {
  return static_cast<uint32_t>(crc32_z(crc, bytes, size));
}

#else

// Folds blocks of 128 bits, as in V. Gopal et al., "Fast CRC Computation for Generic Polynomials
// Using PCLMULQDQ Instruction", Intel 2009: a block that is n bits before another is replaced by
//   low * (x^(n+32) mod P) + high * (x^(n-32) mod P),  low and high: its 64-bit halves
// which has the same remainder. Constants are reflected.
constexpr std::array<uint64_t, 2> kBy512 = {0x154442bd4, 0x1c6e41596};
constexpr std::array<uint64_t, 2> kBy128 = {0x1751997d0, 0x0ccaa009e};

constexpr hn::Full128<uint64_t> kBlock;
using Block = hn::Vec<decltype(kBlock)>;

HWY_INLINE Block LoadBlock(const uint8_t* from) {
  return hn::BitCast(kBlock, hn::LoadU(hn::Full128<uint8_t>(), from));
}

HWY_INLINE Block Fold(Block block, Block by, Block next) {
  return hn::Xor(next, hn::Xor(hn::CLMulLower(block, by), hn::CLMulUpper(block, by)));
}

uint32_t Crc32Impl(uint32_t crc, const uint8_t* bytes, size_t size) {
  if (size < 64) return static_cast<uint32_t>(crc32_z(crc, bytes, size));
  const Block by_512 = hn::LoadU(kBlock, kBy512.data());
  const Block by_128 = hn::LoadU(kBlock, kBy128.data());
  // The register of the preceding bytes is added to the first 32 bits.
  const std::array<uint64_t, 2> start = {static_cast<uint32_t>(~crc), 0};
  Block a = hn::Xor(LoadBlock(bytes), hn::LoadU(kBlock, start.data()));
  Block b = LoadBlock(bytes + 16), c = LoadBlock(bytes + 32), d = LoadBlock(bytes + 48);
  size_t i = 64;
  for (; size - i >= 64; i += 64) {
    a = Fold(a, by_512, LoadBlock(bytes + i));
    b = Fold(b, by_512, LoadBlock(bytes + i + 16));
    c = Fold(c, by_512, LoadBlock(bytes + i + 32));
    d = Fold(d, by_512, LoadBlock(bytes + i + 48));
  }
  Block all = Fold(Fold(Fold(a, by_128, b), by_128, c), by_128, d);
  for (; size - i >= 16; i += 16) all = Fold(all, by_128, LoadBlock(bytes + i));
  // The tables reduce the last block, from a register of zero, and the rest.
  uint8_t last[16];
  hn::StoreU(hn::BitCast(hn::Full128<uint8_t>(), all), hn::Full128<uint8_t>(), last);
  const uLong folded = crc32_z(0xffffffffu, last, sizeof(last));
  return static_cast<uint32_t>(crc32_z(folded, bytes + i, size - i));
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace belay
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay {

HWY_EXPORT(Crc32Impl);

uint32_t Crc32(uint32_t crc, absl::Span<const std::byte> bytes) {
  if (bytes.empty()) return crc;  // zlib returns 0 for a null pointer
  return HWY_DYNAMIC_DISPATCH(Crc32Impl)(crc, reinterpret_cast<const uint8_t*>(bytes.data()),
                                         bytes.size());
}

}  // namespace belay
#endif  // HWY_ONCE
