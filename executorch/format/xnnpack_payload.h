// The bytes around the graph of an XnnpackBackend payload, little-endian (docs/xnnpack-payload.md §1).
//
//    0  4 zeros                        14  u32  bytes of the FlatBuffer
//    4  XH00                           18  u32  where the constant region begins
//    8  u16  length of this header     22  u64  its bytes
//   10  u32  where the FlatBuffer is   30  2 zeros
#ifndef BELAY_BACKENDS_XNNPACK_PAYLOAD_HEADER_H_
#define BELAY_BACKENDS_XNNPACK_PAYLOAD_HEADER_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace belay::xnnpack {

inline constexpr std::string_view kHeaderMagic = "XH00";
inline constexpr size_t kHeaderMagicOffset = 4;
inline constexpr size_t kHeaderSize = 30;
// Where the FlatBuffer begins, and what its padded size is a multiple of.
inline constexpr size_t kPayloadAlignment = 16;
inline constexpr size_t kFlatBufferOffset = 32;

struct PayloadParts {
  absl::Span<const std::byte> flatbuffer, constants;
};

// Where the parts are; nothing in them is looked at. Bytes without the magic are a FlatBuffer from
// end to end, as old payloads are.
//   kDataLoss  the header is cut off, or a part is not inside the payload
absl::StatusOr<PayloadParts> SplitPayload(absl::Span<const std::byte> payload);

// The payload of a FlatBuffer, with an empty constant region. Precondition: less than 2^31 bytes.
std::string JoinPayload(absl::Span<const std::byte> flatbuffer);

}  // namespace belay::xnnpack

#endif  // BELAY_BACKENDS_XNNPACK_PAYLOAD_HEADER_H_
