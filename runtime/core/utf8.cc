#include "runtime/core/utf8.h"

#include <cstddef>
#include <cstdint>

namespace belay {
namespace {

// RFC 3629 §4: number of continuation bytes, and the range of the first one.
struct Sequence {
  int more;  // -1: not a first byte
  uint8_t low, high;
};

constexpr Sequence SequenceOf(uint8_t first) {
  if (first < 0x80) return {0, 0, 0};
  if (first < 0xc2) return {-1, 0, 0};
  if (first < 0xe0) return {1, 0x80, 0xbf};
  if (first == 0xe0) return {2, 0xa0, 0xbf};
  if (first == 0xed) return {2, 0x80, 0x9f};
  if (first < 0xf0) return {2, 0x80, 0xbf};
  if (first == 0xf0) return {3, 0x90, 0xbf};
  if (first < 0xf4) return {3, 0x80, 0xbf};
  if (first == 0xf4) return {3, 0x80, 0x8f};
  return {-1, 0, 0};
}

}  // namespace

bool IsUtf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const Sequence sequence = SequenceOf(static_cast<uint8_t>(text[i++]));
    if (sequence.more == 0) continue;
    if (sequence.more < 0 || text.size() - i < static_cast<size_t>(sequence.more)) return false;
    const uint8_t second = static_cast<uint8_t>(text[i++]);
    if (second < sequence.low || second > sequence.high) return false;
    for (int k = 1; k < sequence.more; ++k) {
      if ((static_cast<uint8_t>(text[i++]) & 0xc0) != 0x80) return false;
    }
  }
  return true;
}

}  // namespace belay
