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
  while (!text.empty()) {
    const int length = FirstUtf8Length(text);
    if (length < 0) return false;
    text.remove_prefix(static_cast<size_t>(length));
  }
  return true;
}

int FirstUtf8Length(std::string_view text) {
  const Sequence sequence = SequenceOf(static_cast<uint8_t>(text[0]));
  if (sequence.more < 0) return -1;
  for (int i = 1; i <= sequence.more; ++i) {
    if (static_cast<size_t>(i) >= text.size()) return -i;
    const auto byte = static_cast<uint8_t>(text[static_cast<size_t>(i)]);
    if (i == 1 ? byte < sequence.low || byte > sequence.high : (byte & 0xc0) != 0x80) return -i;
  }
  return sequence.more + 1;
}

}  // namespace belay
