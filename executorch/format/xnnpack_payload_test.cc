#include "executorch/format/xnnpack_payload.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "executorch/format/xnnpack_payload_generated.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::xnnpack {
namespace {

using ::testing::HasSubstr;

constexpr absl::StatusCode kDamaged = absl::StatusCode::kDataLoss;

absl::Span<const std::byte> BytesOf(std::string_view text) {
  return absl::MakeConstSpan(reinterpret_cast<const std::byte*>(text.data()), text.size());
}
std::string_view TextOf(absl::Span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
template <class T>
void Put(std::string& bytes, size_t at, T number) {
  std::memcpy(bytes.data() + at, &number, sizeof(number));
}

// A graph of one value.
std::string Graph(const char* identifier = "XN01") {
  fb::GraphT graph;
  fb::TensorValueT tensor;
  tensor.dims = {2, 3};
  graph.values.push_back(std::make_unique<fb::ValueT>());
  graph.values[0]->value.Set(std::move(tensor));
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(fb::Graph::Pack(builder, &graph), identifier);
  return {reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize()};
}

// The graph "0123456789abcdef" at 32, the constants "weights" at 48.
std::string Payload() {
  std::string payload = JoinPayload(BytesOf("0123456789abcdef"));
  payload.append("weights");
  Put<uint64_t>(payload, 22, 7);
  return payload;
}

// --- The header ---

TEST(XnnpackPayloadTest, LocatesPartsByHeader) {
  const std::string payload = Payload();
  ASSERT_OK_AND_ASSIGN(const PayloadParts parts, SplitPayload(BytesOf(payload)));
  EXPECT_EQ(TextOf(parts.flatbuffer), "0123456789abcdef");
  EXPECT_EQ(TextOf(parts.constants), "weights");
}

TEST(XnnpackPayloadTest, JoinAndSplitRoundTrip) {
  for (const std::string_view graph : {"", "1", "0123456789abcdef", "0123456789abcdefg"}) {
    const std::string payload = JoinPayload(BytesOf(graph));
    EXPECT_EQ(payload.size() % kPayloadAlignment, 0u);
    ASSERT_OK_AND_ASSIGN(const PayloadParts parts, SplitPayload(BytesOf(payload)));
    EXPECT_EQ(TextOf(parts.flatbuffer), graph);
    EXPECT_TRUE(parts.constants.empty());
  }
}

TEST(XnnpackPayloadTest, BytesWithoutMagicAreOneFlatBuffer) {
  for (const std::string_view bytes :
       {"", "1234567", "0000XH01 and so on, for long enough to be a header"}) {
    ASSERT_OK_AND_ASSIGN(const PayloadParts parts, SplitPayload(BytesOf(bytes)));
    EXPECT_EQ(TextOf(parts.flatbuffer), bytes);
    EXPECT_TRUE(parts.constants.empty());
  }
}

TEST(XnnpackPayloadTest, RejectsTruncatedHeader) {
  const std::string payload = Payload();
  for (size_t size = kHeaderMagicOffset + kHeaderMagic.size(); size < kHeaderSize; ++size) {
    EXPECT_THAT(SplitPayload(BytesOf(payload.substr(0, size))),
                StatusIs(kDamaged, HasSubstr("expected at least 30")));
  }
}

TEST(XnnpackPayloadTest, RejectsPartsOutOfBounds) {
  const std::string payload = Payload();
  const auto split = [&](auto change) {
    std::string damaged = payload;
    change(damaged);
    return SplitPayload(BytesOf(damaged)).status();
  };
  const auto graph = StatusIs(kDamaged, HasSubstr("is not inside the payload's 55"));
  EXPECT_THAT(split([](auto& p) { Put<uint32_t>(p, 10, 56); }), graph);
  EXPECT_THAT(split([](auto& p) { Put<uint32_t>(p, 10, UINT32_MAX); }), graph);
  EXPECT_THAT(split([](auto& p) { Put<uint32_t>(p, 14, 24); }), graph);
  EXPECT_THAT(split([](auto& p) { Put<uint32_t>(p, 14, UINT32_MAX); }), graph);
  const auto constants = StatusIs(kDamaged, HasSubstr("are not between the graph, which ends at "
                                                      "48, and the payload's end at 55"));
  EXPECT_OK(split([](auto& p) { Put<uint64_t>(p, 22, 0); }));
  EXPECT_THAT(split([](auto& p) { Put<uint32_t>(p, 18, 47); }), constants);
  EXPECT_THAT(split([](auto& p) { Put<uint32_t>(p, 18, 56); }), constants);
  EXPECT_THAT(split([](auto& p) { Put<uint64_t>(p, 22, 8); }), constants);
  EXPECT_THAT(split([](auto& p) { Put<uint64_t>(p, 22, UINT64_MAX); }), constants);
  EXPECT_THAT(split([](auto& p) { Put<uint64_t>(p, 22, UINT64_MAX - 47); }), constants);
}

// --- The tables ---

AlignedBuffer Tables(std::string_view bytes) {
  absl::StatusOr<AlignedBuffer> tables = AlignedBuffer::Create(bytes.size());
  EXPECT_OK(tables);
  std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char*>(tables->data()));
  return *std::move(tables);
}

TEST(XnnpackPayloadTest, ReadsBothGraphVersions) {
  EXPECT_TRUE(HasGraphIdentifier(BytesOf(Graph())));
  EXPECT_FALSE(HasGraphIdentifier(BytesOf(Graph("XN00"))));
  EXPECT_FALSE(HasGraphIdentifier(BytesOf("XN01")));
  for (const char* identifier : {"XN01", "XN00"}) {
    const AlignedBuffer tables = Tables(Graph(identifier));
    ASSERT_OK_AND_ASSIGN(const fb::Graph* graph, VerifiedGraph(tables));
    ASSERT_NE(graph->values(), nullptr);
    EXPECT_EQ(graph->values()->Get(0)->value_as_TensorValue()->dims()->Get(1), 3u);
  }
}

TEST(XnnpackPayloadTest, RejectsOtherVersions) {
  const AlignedBuffer later = Tables(Graph("XN02")), other = Tables(Graph("ET12"));
  for (const AlignedBuffer* tables : {&later, &other}) {
    EXPECT_THAT(VerifiedGraph(*tables), StatusIs(absl::StatusCode::kUnimplemented,
                                                 HasSubstr("not of version XN01 or XN00")));
  }
}

TEST(XnnpackPayloadTest, RejectsTruncatedTables) {
  const std::string graph = Graph();
  for (size_t size = 0; size < graph.size(); ++size) {
    const AlignedBuffer tables = Tables(std::string_view(graph).substr(0, size));
    const absl::Status status = VerifiedGraph(tables).status();
    if (size < 8) {
      EXPECT_THAT(status, StatusIs(kDamaged, HasSubstr("expected at least 8")));
    } else if (!status.ok()) {  // padding at the end may be missing
      EXPECT_THAT(status, StatusIs(kDamaged, HasSubstr("the payload's graph is damaged")));
    }
  }
  const AlignedBuffer half = Tables(std::string_view(graph).substr(0, graph.size() / 2));
  EXPECT_FALSE(VerifiedGraph(half).ok());
}

TEST(XnnpackPayloadTest, RejectsOffsetOutOfBounds) {
  std::string graph = Graph();
  Put<uint32_t>(graph, 0, 0x7ffffff0);
  const AlignedBuffer tables = Tables(graph);
  EXPECT_THAT(VerifiedGraph(tables), StatusIs(kDamaged, HasSubstr("is damaged")));
}

}  // namespace
}  // namespace belay::xnnpack
