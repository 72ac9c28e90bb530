// Constants of the program file. The contract is file_format.md.
#ifndef BELAY_RUNTIME_SCHEMA_FILE_FORMAT_H_
#define BELAY_RUNTIME_SCHEMA_FILE_FORMAT_H_

#include <cstddef>
#include <cstdint>

namespace belay {

inline constexpr size_t kHeaderBytes = 64;
inline constexpr char kMagic[8] = {'B', 'E', 'L', 'A', 'Y', '\r', '\n', '\x1a'};
inline constexpr uint32_t kFormatMajor = 1;
inline constexpr uint32_t kFormatMinor = 0;
// Segments start at multiples of this, tensors (constants, arena, state) at multiples of that.
inline constexpr uint64_t kSegmentAlignment = 128;
inline constexpr uint64_t kTensorAlignment = 64;
inline constexpr size_t kDigestBytes = 32;
// What a program requires whose constants may be named data of the program around it.
inline constexpr char kNamedConstants[] = "named_constants";

// A companion file's own first bytes; its header is as long as the program file's.
inline constexpr char kCompanionMagic[8] = {'B', 'E', 'L', 'A', 'Y', '\r', '\n', '\x1c'};

}  // namespace belay

#endif  // BELAY_RUNTIME_SCHEMA_FILE_FORMAT_H_
