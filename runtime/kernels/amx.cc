#include "runtime/kernels/amx.h"

#include <atomic>
#include <type_traits>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace belay {
namespace {

std::atomic<bool> may_use = true;

#if defined(__x86_64__)
bool AskForAmx() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned kBFloat16 = 1u << 22, kTile = 1u << 24, kInt8 = 1u << 25;
  constexpr unsigned kAll = kBFloat16 | kTile | kInt8;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || (d & kAll) != kAll) return false;
  // Linux 5.16 and later grant the registers on request (arch_prctl(2)).
  constexpr long kRequestPermission = 0x1023, kTileData = 18;
  return ::syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}
#else
bool AskForAmx() { return false; }
#endif

}  // namespace

bool HasAmx() {
  static const bool has = AskForAmx();
  return has;
}

bool UsesAmx() { return may_use.load(std::memory_order_relaxed) && HasAmx(); }
void SetUsesAmx(bool uses) { may_use.store(uses, std::memory_order_relaxed); }

#if defined(__x86_64__)
namespace {

constexpr size_t kTileRows = 16, kLineBytes = 64, kWordBytes = 4;

// Tile register numbers: accumulators of the upper half of the rows for both parts, then of the
// lower half; A and one part of B; the same for the last lines. The CPU renames tile registers, so
// both halves of A share one number, and so do both parts of B.
constexpr int kUpper = 0, kLower = 2, kA = 4, kB = 5, kLastA = 6, kLastB = 7;

// The operand of LDTILECFG.
struct alignas(64) TileConfig {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t column_bytes[16] = {};
  uint8_t rows[16] = {};
};
static_assert(sizeof(TileConfig) == 64);

}  // namespace

#define BELAY_AMX __attribute__((target("amx-tile,amx-int8,amx-bf16")))

// Tile numbers are immediate operands of the instructions.
template <class T, int kSums, int kTileOfA, int kTileOfB>
BELAY_AMX inline void Multiply() {
  if constexpr (std::is_same_v<T, BFloat16>) {
    _tile_dpbf16ps(kSums, kTileOfA, kTileOfB);
  } else {
    _tile_dpbusd(kSums, kTileOfA, kTileOfB);
  }
}

// Both halves have the same number of rows, so that they share one tile shape of A. For an odd
// number of rows, the halves overlap in one row.
template <class T>
BELAY_AMX AmxTiles<T>::AmxTiles(size_t rows, size_t last_lines)
    : lower_(rows > kTileRows ? rows / 2 : 0) {
  TileConfig config;
  const auto set = [&config](int tile, size_t tile_rows, size_t bytes) {
    config.rows[tile] = static_cast<uint8_t>(tile_rows);
    config.column_bytes[tile] = static_cast<uint16_t>(bytes);
  };
  for (int tile = kUpper; tile <= kA; ++tile) set(tile, rows - lower_, kLineBytes);
  set(kB, kAmxLines, kLineBytes);
  if (last_lines > 0) {
    set(kLastA, rows - lower_, kWordBytes * last_lines);
    set(kLastB, last_lines, kLineBytes);
  }
  _tile_loadconfig(&config);
}

template <class T>
BELAY_AMX AmxTiles<T>::~AmxTiles() {
  _tile_release();
}

template <class T>
BELAY_AMX void AmxTiles<T>::Clear() {
  _tile_zero(kUpper);
  _tile_zero(kUpper + 1);
  _tile_zero(kLower);
  _tile_zero(kLower + 1);
}

template <class T>
template <int kTileOfA, int kTileOfB>
BELAY_AMX void AmxTiles<T>::AddTo(const T* a, size_t stride, const B* first, const B* second) {
  constexpr size_t kStepOfB = kAmxLineStep * sizeof(B);
  const size_t row = stride * sizeof(T);
  _tile_loadd(kTileOfA, a, row);
  _tile_loadd(kTileOfB, first, kStepOfB);
  Multiply<T, kUpper, kTileOfA, kTileOfB>();
  if (second != nullptr) {
    _tile_loadd(kTileOfB, second, kStepOfB);
    Multiply<T, kUpper + 1, kTileOfA, kTileOfB>();
  }
  if (lower_ > 0) {
    _tile_loadd(kTileOfA, a + lower_ * stride, row);
    if (second != nullptr) Multiply<T, kLower + 1, kTileOfA, kTileOfB>();
    _tile_loadd(kTileOfB, first, kStepOfB);
    Multiply<T, kLower, kTileOfA, kTileOfB>();
  }
}

template <class T>
BELAY_AMX void AmxTiles<T>::Add(const T* a, size_t stride, const B* first, const B* second) {
  AddTo<kA, kB>(a, stride, first, second);
}

template <class T>
BELAY_AMX void AmxTiles<T>::AddLast(const T* a, size_t stride, const B* first, const B* second) {
  AddTo<kLastA, kLastB>(a, stride, first, second);
}

template <class T>
BELAY_AMX void AmxTiles<T>::Store(Sum* sums, bool second) const {
  constexpr size_t kStride = kAmxColumns * sizeof(Sum);
  _tile_stored(kUpper, sums, kStride);
  if (second) _tile_stored(kUpper + 1, sums + kTileRows, kStride);
  if (lower_ == 0) return;
  sums += lower_ * kAmxColumns;
  _tile_stored(kLower, sums, kStride);
  if (second) _tile_stored(kLower + 1, sums + kTileRows, kStride);
}

template class AmxTiles<uint8_t>;
template class AmxTiles<BFloat16>;
#endif

}  // namespace belay
