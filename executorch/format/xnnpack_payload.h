// A payload of XnnpackBackend as bytes (docs/xnnpack-payload.md §1): what lies around its graph, and
// the graph's tables. Its meaning is backends/xnnpack's. Numbers are little-endian.
//
//    0  4 zeros                        14  u32  bytes of the FlatBuffer
//    4  XH00                           18  u32  where the constant region begins
//    8  u16  length of this header     22  u64  its bytes
//   10  u32  where the FlatBuffer is   30  2 zeros
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

// The backend id of its delegates.
inline constexpr std::string_view kBackendId = "XnnpackBackend";

inline constexpr std::string_view kHeaderMagic = "XH00";
inline constexpr size_t kHeaderMagicOffset = 4;
inline constexpr size_t kHeaderSize = 30;
// Where the FlatBuffer begins, and what its padded size is a multiple of.
inline constexpr size_t kPayloadAlignment = 16;
inline constexpr size_t kFlatBufferOffset = 32;

// TensorValue::flags of a value that is an argument of the call, or one of its outputs.
inline constexpr uint32_t kExternalInput = 1, kExternalOutput = 2;

struct PayloadParts {
  absl::Span<const std::byte> flatbuffer, constants;
};

// Where the parts are; nothing in them is looked at. Bytes without the magic are a FlatBuffer from
// end to end, as old payloads are.
//   kDataLoss  the header is cut off, or a part is not inside the payload
absl::StatusOr<PayloadParts> SplitPayload(absl::Span<const std::byte> payload);

// Whether these are the tables of version XN01, which is what 1.5.0 writes, by their identifier.
bool HasGraphIdentifier(absl::Span<const std::byte> flatbuffer);

// The root of PayloadParts::flatbuffer, copied to `tables`, which must outlive it. All below it was
// found inside; values of the schema may still be anything, and fields that are absent are null.
//   kDataLoss       too short, or an offset, a vector, a string or a table is not inside
//   kUnimplemented  another identifier than XN01 and XN00
absl::StatusOr<const fb::Graph*> VerifiedGraph(const AlignedBuffer& tables);

// The payload of a FlatBuffer, with an empty constant region. Precondition: less than 2^31 bytes.
std::string JoinPayload(absl::Span<const std::byte> flatbuffer);

}  // namespace belay::xnnpack

#endif  // BELAY_EXECUTORCH_FORMAT_XNNPACK_PAYLOAD_H_
