// Pseudo-random numbers for random operators.
#ifndef BELAY_RUNTIME_KERNELS_REFERENCE_RANDOM_STREAM_H_
#define BELAY_RUNTIME_KERNELS_REFERENCE_RANDOM_STREAM_H_

#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <numbers>

#include "runtime/kernel_interface/shape_rules/random.h"
#include "runtime/kernels/operands/element_access.h"

namespace belay {

// Philox4x32 with 10 rounds: for each 64-bit key, a bijection of 128-bit counters whose outputs
// pass the known tests of randomness (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy
// as 1, 2, 3", SC 2011, §3.3; constants from its table 2).
inline std::array<uint32_t, 4> Philox4x32(std::array<uint32_t, 4> counter, uint64_t key) {
  uint32_t key0 = static_cast<uint32_t>(key), key1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t product0 = uint64_t{0xD2511F53} * counter[0];
    const uint64_t product1 = uint64_t{0xCD9E8D57} * counter[2];
    counter = {
        static_cast<uint32_t>(product1 >> 32) ^ counter[1] ^ key0, static_cast<uint32_t>(product1),
        static_cast<uint32_t>(product0 >> 32) ^ counter[3] ^ key1, static_cast<uint32_t>(product0)};
    key0 += 0x9E3779B9;
    key1 += 0xBB67AE85;
  }
  return counter;
}

// Random numbers of one element of one call.
class ElementDraws {
 public:
  // Streams of different elements below 2^48 are disjoint, up to 2^17 draws each.
  ElementDraws(uint64_t key, uint64_t call, int64_t element)
      : key_(key), call_(call), block_(static_cast<uint64_t>(element)) {}

  uint64_t Bits() {
    if (half_) {
      half_ = false;
      return second_;
    }
    const std::array<uint32_t, 4> out =
        Philox4x32({static_cast<uint32_t>(block_), static_cast<uint32_t>(block_ >> 32),
                    static_cast<uint32_t>(call_), static_cast<uint32_t>(call_ >> 32)},
                   key_);
    block_ += uint64_t{1} << 48;
    second_ = uint64_t{out[3]} << 32 | out[2];
    half_ = true;
    return uint64_t{out[1]} << 32 | out[0];
  }
  // Uniform in [0, 1), with `bits` random bits.
  double Uniform(int bits) { return std::ldexp(static_cast<double>(Bits() >> (64 - bits)), -bits); }
  double Normal() {
    const double radius = std::sqrt(-2 * std::log1p(-Uniform(53)));
    return radius * std::cos(2 * std::numbers::pi * Uniform(53));
  }
  // Uniform in [0, limit). Precondition: limit > 0.
  uint64_t Below(uint64_t limit) {
    return static_cast<uint64_t>((static_cast<unsigned __int128>(Bits()) * limit) >> 64);
  }

 private:
  uint64_t key_, call_, block_, second_ = 0;
  bool half_ = false;
};

// Random numbers of one call. Each number depends only on the seed, the call's index and the
// element's row-major index: any number of threads gives the same results. Not cryptographically
// secure.
class RandomStream {
 public:
  // If the call has no random state, the seed is the time; `place` distinguishes streams created at
  // the same time.
  template <class Call>
  RandomStream(const Call& call, const void* place) {
    if (call.random_state == nullptr) {
      seed_ = static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
      call_ = reinterpret_cast<uintptr_t>(place);
      return;
    }
    const Reader<int64_t> state(*call.random_state);
    seed_ = static_cast<uint64_t>(state(0));
    call_ = static_cast<uint64_t>(state(call.random_state->strides[0])) +
            static_cast<uint64_t>(call.offset);
  }

  ElementDraws At(int64_t element) const { return ElementDraws(seed_, call_, element); }

 private:
  uint64_t seed_ = 0, call_ = 0;
};

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_REFERENCE_RANDOM_STREAM_H_
