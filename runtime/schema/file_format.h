// Constants of the program file format, specified in file_format.md.
#ifndef BELAY_RUNTIME_SCHEMA_FILE_FORMAT_H_
#define BELAY_RUNTIME_SCHEMA_FILE_FORMAT_H_

#include <bit>
#include <cstddef>
#include <cstdint>

namespace belay {

inline constexpr size_t kHeaderBytes = 64;
inline constexpr char kMagic[8] = {'B', 'E', 'L', 'A', 'Y', '\r', '\n', '\x1a'};
inline constexpr uint32_t kFormatMajor = 1;
inline constexpr uint32_t kFormatMinor = 0;
// Alignment of segments, and of tensors (constants, arena, state).
inline constexpr uint64_t kSegmentAlignment = 128;
inline constexpr uint64_t kTensorAlignment = 64;
// Bounds of the memory banks of a method's arena.
inline constexpr size_t kMostBanks = 16;
inline constexpr uint64_t kMostBankAlignment = uint64_t{1} << 30;
// Whether it is a power of two from kTensorAlignment to kMostBankAlignment.
constexpr bool IsBankAlignment(uint64_t alignment) {
  return std::has_single_bit(alignment) && alignment >= kTensorAlignment &&
         alignment <= kMostBankAlignment;
}
inline constexpr size_t kDigestBytes = 32;
// Required feature of programs with constants in the named data of the enclosing program.
inline constexpr char kNamedConstants[] = "named_constants";

// Magic bytes of companion files, whose header has the length of the program file's.
inline constexpr char kCompanionMagic[8] = {'B', 'E', 'L', 'A', 'Y', '\r', '\n', '\x1c'};

}  // namespace belay

#endif  // BELAY_RUNTIME_SCHEMA_FILE_FORMAT_H_
