// Random numbers that are the same on every machine and with every standard library, so that a seed
// means the same everywhere.
#ifndef BELAY_RUNTIME_CORE_RANDOM_H_
#define BELAY_RUNTIME_CORE_RANDOM_H_

#include <cstddef>
#include <cstdint>

namespace belay {

// SplitMix64. A value.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  // The generator of item `index` of a run with this seed.
  Random(uint64_t seed, uint64_t index) : state_(seed) { state_ = Next() ^ (index * kStep); }

  uint64_t Next() {
    uint64_t z = (state_ += kStep);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  // In [0, n); 0 for n = 0.
  size_t Below(size_t n) { return n == 0 ? 0 : static_cast<size_t>(Next() % n); }
  bool OneIn(size_t n) { return Below(n) == 0; }
  // Mostly small, or near a power of two, or at an end: what index and size checks get wrong.
  uint64_t Interesting() {
    switch (Below(6)) {
      case 0:
        return Below(16);
      case 1:
        return Below(300);
      case 2:
        return (uint64_t{1} << Below(64)) + Below(3) - 1;
      case 3:
        return ~uint64_t{0} - Below(3);
      case 4:
        return Next() >> Below(64);
      default:
        return uint64_t{0} - (uint64_t{1} << Below(64));
    }
  }

 private:
  static constexpr uint64_t kStep = 0x9e3779b97f4a7c15u;
  uint64_t state_;
};

}  // namespace belay

#endif  // BELAY_RUNTIME_CORE_RANDOM_H_
