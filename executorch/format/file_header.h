// The fixed bytes around the FlatBuffers of ExecuTorch's files (docs/pte-format.md §1, §10). All
// numbers are little-endian.
//
//   0  u32  offset of the root table, from byte 0
//   4       file identifier: ET12 (.pte), FT01 (.ptd); it belongs to FlatBuffers
//   8       magic of the header that follows; with other bytes, the file has no header and no
//           segment
//  12  u32  length of the header
//  16       the header's fields
#ifndef BELAY_EXECUTORCH_FORMAT_FILE_HEADER_H_
#define BELAY_EXECUTORCH_FORMAT_FILE_HEADER_H_

#include <cstddef>
#include <string_view>

namespace belay::pte {

inline constexpr size_t kHeaderOffset = 8;
inline constexpr std::string_view kProgramHeaderMagic = "eh00";
inline constexpr std::string_view kFlatTensorHeaderMagic = "FH01";
// A program's header: u64 size of the FlatBuffer including this header, u64 file offset of the
// segment base (0: no segments), u64 bytes of segments. The old header lacks the last field.
inline constexpr size_t kProgramHeaderSize = 32;
inline constexpr size_t kOldProgramHeaderSize = 24;
// A .ptd's header: u64 FlatBuffer offset, u64 FlatBuffer size, u64 segment base, u64 bytes of
// segments.
inline constexpr size_t kFlatTensorHeaderSize = 40;
// A header shifts the bytes after it by a multiple of this.
inline constexpr size_t kHeaderAlignment = 16;
// Alignment of segment offsets.
inline constexpr size_t kSegmentAlignment = 128;

}  // namespace belay::pte

#endif  // BELAY_EXECUTORCH_FORMAT_FILE_HEADER_H_
