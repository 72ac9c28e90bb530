// Framing of XnnpackBackend payloads (docs/xnnpack-payload.md §1): the header, and the tables of
// the graph. backends/xnnpack interprets the graph. Numbers are little-endian.
//
//    0  4 zeros                           14  u32  size of the FlatBuffer
//    4  XH00                              18  u32  offset of the constant region
//    8  u16  length of this header        22  u64  size of the constant region
//   10  u32  offset of the FlatBuffer     30  2 zeros
#ifndef BELAY_EXECUTORCH_FORMAT_XNNPACK_PAYLOAD_H_
#define BELAY_EXECUTORCH_FORMAT_XNNPACK_PAYLOAD_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/core/arena.h"

namespace belay::xnnpack {

namespace fb {
struct Graph;  // xnnpack_payload_generated.h
}  // namespace fb

// Backend id of XNNPACK delegates.
inline constexpr std::string_view kBackendId = "XnnpackBackend";

inline constexpr std::string_view kHeaderMagic = "XH00";
inline constexpr size_t kHeaderMagicOffset = 4;
inline constexpr size_t kHeaderSize = 30;
// The FlatBuffer begins at kFlatBufferOffset; its size is padded to a multiple of
// kPayloadAlignment.
inline constexpr size_t kPayloadAlignment = 16;
inline constexpr size_t kFlatBufferOffset = 32;

// TensorValue::flags bits of arguments of the call and of its outputs.
inline constexpr uint32_t kExternalInput = 1, kExternalOutput = 2;

struct PayloadParts {
  absl::Span<const std::byte> flatbuffer, constants;
};

// Locates the FlatBuffer and the constant region without reading their contents. Bytes without the
// magic are one FlatBuffer, as in old payloads.
//   kDataLoss  the header is truncated, or a part is not inside the payload
absl::StatusOr<PayloadParts> SplitPayload(absl::Span<const std::byte> payload);

// Returns whether the tables have the identifier of version XN01, which ExecuTorch 1.5.1 writes.
bool HasGraphIdentifier(absl::Span<const std::byte> flatbuffer);

// Verifies the tables and returns the root. `tables` is a copy of PayloadParts::flatbuffer and must
// outlive the result. All nested offsets are in bounds; values of the schema are not checked, and
// absent fields are null.
//   kDataLoss       too short, or an offset, a vector, a string or a table is out of bounds
//   kUnimplemented  an identifier other than XN01 and XN00
absl::StatusOr<const fb::Graph*> VerifiedGraph(const AlignedBuffer& tables);

// Returns a payload with this FlatBuffer and an empty constant region. Precondition: fewer than
// 2^31 bytes.
std::string JoinPayload(absl::Span<const std::byte> flatbuffer);

}  // namespace belay::xnnpack

#endif  // BELAY_EXECUTORCH_FORMAT_XNNPACK_PAYLOAD_H_
