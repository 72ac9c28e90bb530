// Decodes choices from a fuzzer's bytes, so that small changes of the bytes cause small changes of
// the generated value.
#ifndef BELAY_FUZZ_GENERATORS_BYTE_SOURCE_H_
#define BELAY_FUZZ_GENERATORS_BYTE_SOURCE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace belay::fuzz {

// All methods are total. At the end of the bytes every number is 0, every string is empty and every
// Chance() is false, so generators terminate. The bytes must outlive this.
class ByteSource {
 public:
  explicit ByteSource(std::string_view bytes) : bytes_(bytes) {}
  ByteSource(const uint8_t* data, size_t size)
      : ByteSource(std::string_view(reinterpret_cast<const char*>(data), size)) {}

  bool empty() const { return bytes_.empty(); }
  size_t size() const { return bytes_.size(); }

  uint8_t Byte() { return static_cast<uint8_t>(Take(1)); }
  // Reads a little-endian integer of up to 8 bytes; fewer at the end.
  uint64_t Number() { return Take(8); }
  // In [0, n); 0 for n = 0. Reads as few bytes as the range needs.
  uint64_t Below(uint64_t n) {
    if (n <= 1) return 0;
    size_t bytes = 1;
    while (bytes < 8 && (n - 1) >> (8 * bytes) != 0) ++bytes;
    return Take(bytes) % n;
  }
  // In [low, high]. Precondition: low <= high.
  int64_t Between(int64_t low, int64_t high) {
    const uint64_t span = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
    if (span == ~uint64_t{0}) return static_cast<int64_t>(Number());
    return static_cast<int64_t>(static_cast<uint64_t>(low) + Below(span + 1));
  }
  // True with a probability of about `percent` / 100.
  bool Chance(int percent) { return !empty() && Byte() * 100 >= (100 - percent) * 256; }
  // Returns a value that often breaks index and size checks: small, negative, or near a power of
  // two.
  int64_t Interesting() {
    switch (Below(4)) {
      case 0:
        return static_cast<int8_t>(Byte());
      case 1:
        return static_cast<int64_t>((uint64_t{1} << Below(64)) + Below(3) - 1);
      case 2:
        return static_cast<int64_t>(uint64_t{0} - (uint64_t{1} << Below(64)));
      default:
        return static_cast<int64_t>(Number());
    }
  }
  template <class T, size_t n>
  const T& Pick(const T (&choices)[n]) {
    return choices[Below(n)];
  }

  // Reads the next `n` bytes; fewer at the end.
  std::string_view Bytes(size_t n) {
    const std::string_view taken = bytes_.substr(0, std::min(n, bytes_.size()));
    bytes_.remove_prefix(taken.size());
    return taken;
  }
  // Reads a length below `limit`, and that many bytes.
  std::string_view Text(size_t limit) { return Bytes(static_cast<size_t>(Below(limit))); }
  std::string_view Rest() { return Bytes(bytes_.size()); }

 private:
  uint64_t Take(size_t n) {
    uint64_t value = 0;
    const std::string_view taken = Bytes(n);
    for (size_t i = taken.size(); i-- > 0;) value = value << 8 | static_cast<uint8_t>(taken[i]);
    return value;
  }

  std::string_view bytes_;
};

}  // namespace belay::fuzz

#endif  // BELAY_FUZZ_GENERATORS_BYTE_SOURCE_H_
