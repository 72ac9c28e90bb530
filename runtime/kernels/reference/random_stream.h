// Pseudo-random numbers for the operators that ask for them.
#ifndef BELAY_RUNTIME_KERNELS_REFERENCE_RANDOM_STREAM_H_
#define BELAY_RUNTIME_KERNELS_REFERENCE_RANDOM_STREAM_H_

#include <chrono>
#include <cmath>
#include <cstdint>
#include <numbers>

namespace belay {

// Different numbers for each call of a kernel. Not for secrets.
class RandomStream {
 public:
  // `place` makes streams that begin at the same time differ.
  explicit RandomStream(const void* place)
      : state_(static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count()) ^
               (reinterpret_cast<uintptr_t>(place) * 0x9e3779b97f4a7c15)) {}

  // splitmix64.
  uint64_t Bits() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  // In [0, 1), with so many random bits.
  double Uniform(int bits) { return std::ldexp(static_cast<double>(Bits() >> (64 - bits)), -bits); }
  double Normal() {
    const double radius = std::sqrt(-2 * std::log1p(-Uniform(53)));
    return radius * std::cos(2 * std::numbers::pi * Uniform(53));
  }
  // In [0, limit). Precondition: limit > 0.
  uint64_t Below(uint64_t limit) {
    return static_cast<uint64_t>((static_cast<unsigned __int128>(Bits()) * limit) >> 64);
  }

 private:
  uint64_t state_;
};

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_REFERENCE_RANDOM_STREAM_H_
