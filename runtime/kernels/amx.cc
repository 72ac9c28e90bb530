#include "runtime/kernels/amx.h"

#include <atomic>

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
  constexpr unsigned kTile = 1u << 24, kInt8 = 1u << 25;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || (d & kTile) == 0 || (d & kInt8) == 0) {
    return false;
  }
  // Linux gives the registers to a process that asks (arch_prctl(2)), from 5.16 on.
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

constexpr size_t kTileRows = 16, kLineBytes = 64;

// Numbers of tiles. Sums of the upper half of the rows with both panels, then of the lower half; A and
// one panel; the same of the last lines. Registers are renamed, so that one number serves all of A, and
// one both panels.
constexpr int kUpper = 0, kLower = 2, kA = 4, kB = 5, kLastA = 6, kLastB = 7;

// The operand of LDTILECFG.
struct alignas(64) TileConfig {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t column_bytes[16] = {};
  uint8_t rows[16] = {};
};
static_assert(sizeof(TileConfig) == 64);

}  // namespace

#define BELAY_AMX __attribute__((target("amx-tile,amx-int8")))

// Both halves have as many rows, so that one shape of A's tile serves both: of an odd number they share
// one.
BELAY_AMX AmxTiles::AmxTiles(size_t rows, size_t last_lines)
    : lower_(rows > kTileRows ? rows / 2 : 0) {
  TileConfig config;
  const auto set = [&config](int tile, size_t tile_rows, size_t bytes) {
    config.rows[tile] = static_cast<uint8_t>(tile_rows);
    config.column_bytes[tile] = static_cast<uint16_t>(bytes);
  };
  for (int tile = kUpper; tile <= kA; ++tile) set(tile, rows - lower_, kLineBytes);
  set(kB, kAmxLines, kLineBytes);
  if (last_lines > 0) {
    set(kLastA, rows - lower_, 4 * last_lines);
    set(kLastB, last_lines, kLineBytes);
  }
  _tile_loadconfig(&config);
}

BELAY_AMX AmxTiles::~AmxTiles() { _tile_release(); }

BELAY_AMX void AmxTiles::Clear() {
  _tile_zero(kUpper);
  _tile_zero(kUpper + 1);
  _tile_zero(kLower);
  _tile_zero(kLower + 1);
}

// Instructions have the numbers of tiles in them.
template <int kTileOfA, int kTileOfB>
BELAY_AMX void AmxTiles::AddTo(const uint8_t* a, size_t stride, const int8_t* first,
                               const int8_t* second) {
  _tile_loadd(kTileOfA, a, stride);
  _tile_loadd(kTileOfB, first, kLineBytes);
  _tile_dpbusd(kUpper, kTileOfA, kTileOfB);
  if (second != nullptr) {
    _tile_loadd(kTileOfB, second, kLineBytes);
    _tile_dpbusd(kUpper + 1, kTileOfA, kTileOfB);
  }
  if (lower_ > 0) {
    _tile_loadd(kTileOfA, a + lower_ * stride, stride);
    if (second != nullptr) _tile_dpbusd(kLower + 1, kTileOfA, kTileOfB);
    _tile_loadd(kTileOfB, first, kLineBytes);
    _tile_dpbusd(kLower, kTileOfA, kTileOfB);
  }
}

BELAY_AMX void AmxTiles::Add(const uint8_t* a, size_t stride, const int8_t* first,
                             const int8_t* second) {
  AddTo<kA, kB>(a, stride, first, second);
}

BELAY_AMX void AmxTiles::AddLast(const uint8_t* a, size_t stride, const int8_t* first,
                                 const int8_t* second) {
  AddTo<kLastA, kLastB>(a, stride, first, second);
}

BELAY_AMX void AmxTiles::Store(int32_t* sums, bool second) const {
  constexpr size_t kStride = kAmxColumns * sizeof(int32_t);
  _tile_stored(kUpper, sums, kStride);
  if (second) _tile_stored(kUpper + 1, sums + kTileRows, kStride);
  if (lower_ == 0) return;
  sums += lower_ * kAmxColumns;
  _tile_stored(kLower, sums, kStride);
  if (second) _tile_stored(kLower + 1, sums + kTileRows, kStride);
}
#endif

}  // namespace belay
