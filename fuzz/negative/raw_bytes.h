// Encodes integers and Protocol Buffers fields, for files that no writer would produce.
#ifndef BELAY_FUZZ_NEGATIVE_RAW_BYTES_H_
#define BELAY_FUZZ_NEGATIVE_RAW_BYTES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace belay::fuzz {

// Overwrites bytes at `at` with `value`, little-endian. Precondition: it fits.
template <class T>
void PutNumber(std::string& bytes, size_t at, T value) {
  for (size_t i = 0; i < sizeof(T); ++i) bytes[at + i] = static_cast<char>(value >> (8 * i));
}

inline std::string Varint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes.push_back(static_cast<char>(value | 0x80));
  bytes.push_back(static_cast<char>(value));
  return bytes;
}
// Encodes a length-delimited field. `length` may be wrong.
inline std::string LengthField(uint32_t number, uint64_t length, std::string_view content) {
  return Varint(uint64_t{number} << 3 | 2) + Varint(length) + std::string(content);
}
inline std::string BytesField(uint32_t number, std::string_view content) {
  return LengthField(number, content.size(), content);
}
inline std::string VarintField(uint32_t number, uint64_t value) {
  return Varint(uint64_t{number} << 3) + Varint(value);
}

}  // namespace belay::fuzz

#endif  // BELAY_FUZZ_NEGATIVE_RAW_BYTES_H_
