#include "executorch/format/xnnpack_payload.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "executorch/format/xnnpack_payload_generated.h"
#include "flatbuffers/flatbuffers.h"
#include "runtime/core/checked_math.h"

namespace belay::xnnpack {
namespace {

constexpr size_t kLengthAt = 8, kGraphOffsetAt = 10, kGraphSizeAt = 14, kConstantsOffsetAt = 18,
                 kConstantsSizeAt = 22;

template <class T>
T Read(absl::Span<const std::byte> bytes, size_t at) {
  return flatbuffers::ReadScalar<T>(bytes.subspan(at).data());
}
template <class T>
void Write(std::string& bytes, size_t at, T value) {
  flatbuffers::WriteScalar<T>(bytes.data() + at, value);
}

constexpr size_t kLeastGraphBytes = 8;  // root and identifier

std::string_view Identifier(absl::Span<const std::byte> flatbuffer) {
  if (flatbuffer.size() < kLeastGraphBytes) return {};
  return {reinterpret_cast<const char*>(flatbuffer.data()) + 4, 4};
}

}  // namespace

absl::StatusOr<PayloadParts> SplitPayload(absl::Span<const std::byte> payload) {
  const size_t magic_end = kHeaderMagicOffset + kHeaderMagic.size();
  if (payload.size() < magic_end ||
      !std::equal(kHeaderMagic.begin(), kHeaderMagic.end(), payload.begin() + kHeaderMagicOffset,
                  [](char c, std::byte b) { return static_cast<std::byte>(c) == b; })) {
    return PayloadParts{.flatbuffer = payload, .constants = {}};
  }
  if (payload.size() < kHeaderSize) {
    return absl::DataLossError(absl::StrCat("the payload's header: ", payload.size(),
                                            " bytes, expected at least ", kHeaderSize));
  }
  const uint64_t graph = Read<uint32_t>(payload, kGraphOffsetAt);
  const uint64_t graph_size = Read<uint32_t>(payload, kGraphSizeAt);
  const uint64_t constants = Read<uint32_t>(payload, kConstantsOffsetAt);
  const auto constants_size = Read<uint64_t>(payload, kConstantsSizeAt);
  if (!RangeFits(graph, graph_size, payload.size())) {
    return absl::DataLossError(absl::StrCat("the payload's header: a graph of ", graph_size,
                                            " bytes at ", graph, " is not inside the payload's ",
                                            payload.size()));
  }
  // The sum of two 32-bit numbers.
  const uint64_t graph_end = graph + graph_size;
  if (!RangeFits(constants, constants_size, payload.size()) || constants < graph_end) {
    return absl::DataLossError(absl::StrCat("the payload's header: ", constants_size,
                                            " bytes of constants at ", constants,
                                            " are not between the graph, which ends at ", graph_end,
                                            ", and the payload's end at ", payload.size()));
  }
  return PayloadParts{.flatbuffer = payload.subspan(graph, graph_size),
                      .constants = payload.subspan(constants, constants_size)};
}

bool HasGraphIdentifier(absl::Span<const std::byte> flatbuffer) {
  return Identifier(flatbuffer) == fb::GraphIdentifier();
}

absl::StatusOr<const fb::Graph*> VerifiedGraph(const AlignedBuffer& tables) {
  if (tables.size() < kLeastGraphBytes) {
    return absl::DataLossError(absl::StrCat("the payload's graph has ", tables.size(),
                                            " bytes, expected at least ", kLeastGraphBytes));
  }
  if (!HasGraphIdentifier(tables.span()) && Identifier(tables.span()) != "XN00") {
    return absl::UnimplementedError("the payload's graph is not of version XN01 or XN00");
  }
  flatbuffers::Verifier::Options options;
  options.max_depth = 16;
  // A table takes four bytes, plus four per reference unless it is shared.
  options.max_tables = static_cast<flatbuffers::uoffset_t>(tables.size() / 4);
  const auto* bytes = reinterpret_cast<const uint8_t*>(tables.data());
  flatbuffers::Verifier verifier(bytes, tables.size(), options);
  if (!verifier.VerifyBuffer<fb::Graph>(nullptr)) {
    return absl::DataLossError(
        absl::StrCat("the payload's graph is damaged: an offset, a vector, a string or a table is "
                     "not inside its ",
                     tables.size(), " bytes, or they are nested or shared too much"));
  }
  return flatbuffers::GetRoot<fb::Graph>(bytes);
}

std::string JoinPayload(absl::Span<const std::byte> flatbuffer) {
  const size_t padded =
      (flatbuffer.size() + kPayloadAlignment - 1) / kPayloadAlignment * kPayloadAlignment;
  std::string payload(kFlatBufferOffset + padded, '\0');
  std::copy(kHeaderMagic.begin(), kHeaderMagic.end(), payload.begin() + kHeaderMagicOffset);
  Write<uint16_t>(payload, kLengthAt, kHeaderSize);
  Write<uint32_t>(payload, kGraphOffsetAt, kFlatBufferOffset);
  Write<uint32_t>(payload, kGraphSizeAt, static_cast<uint32_t>(flatbuffer.size()));
  Write<uint32_t>(payload, kConstantsOffsetAt, static_cast<uint32_t>(payload.size()));
  std::transform(flatbuffer.begin(), flatbuffer.end(), payload.begin() + kFlatBufferOffset,
                 [](std::byte b) { return static_cast<char>(b); });
  return payload;
}

}  // namespace belay::xnnpack
