// Random numbers that are identical on every machine and standard library, so that seeds are
// portable.
#ifndef BELAY_RUNTIME_CORE_RANDOM_H_
#define BELAY_RUNTIME_CORE_RANDOM_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace belay {

// SplitMix64. A value type.
class Random {
 public:
  // For fuzzing: small choices consume these bytes, which must outlive the object, and are random
  // after the last one. Similar bytes give similar choices.
  explicit Random(std::string_view choices) : choices_(choices) {}
  explicit Random(uint64_t seed) : state_(seed) {}
  // The generator for item `index` of a run with this seed.
  Random(uint64_t seed, uint64_t index) : state_(seed) { state_ = Next() ^ (index * kStep); }

  uint64_t Next() {
    uint64_t z = (state_ += kStep);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  // Uniform in [0, n); 0 for n = 0.
  size_t Below(size_t n) {
    if (n == 0) return 0;
    if (choices_.empty() || n > 256) return static_cast<size_t>(Next() % n);
    const auto choice = static_cast<uint8_t>(choices_[0]);
    choices_.remove_prefix(1);
    return choice % n;
  }
  bool Chance(int percent) { return Below(100) < static_cast<size_t>(percent); }
  // Precondition: `items` is not empty.
  template <class T>
  const T& Pick(const std::vector<T>& items) {
    return items[Below(items.size())];
  }
  bool OneIn(size_t n) { return Below(n) == 0; }
  // Values that index and size checks often get wrong: mostly small, near a power of two, or
  // extreme.
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
  uint64_t state_ = 0;
  std::string_view choices_;
};

}  // namespace belay

#endif  // BELAY_RUNTIME_CORE_RANDOM_H_
