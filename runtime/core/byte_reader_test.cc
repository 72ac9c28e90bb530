#include "runtime/core/byte_reader.h"

#include <array>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Header {
  uint32_t magic;
  uint16_t steps, unused;
};

std::vector<std::byte> Bytes(const std::vector<int>& values) {
  std::vector<std::byte> bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

TEST(ByteReaderTest, TakesValuesAndListsInOrder) {
  // Starts one byte early, so that nothing is aligned.
  const std::vector<std::byte> bytes = Bytes({0, 1, 2, 3, 4, 2, 0, 9, 9, 5, 0, 0, 0, 6, 0, 0, 1});
  ByteReader reader(absl::MakeConstSpan(bytes).subspan(1));
  ASSERT_OK_AND_ASSIGN(const Header header, reader.Take<Header>("its header"));
  EXPECT_EQ(header.magic, 0x04030201u);
  EXPECT_EQ(header.steps, 2);
  EXPECT_THAT(reader.ExpectEnd(),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("no more bytes, got 8 bytes")));
  ASSERT_OK_AND_ASSIGN(const std::vector<uint32_t> steps,
                       reader.TakeList<uint32_t>(header.steps, "its steps"));
  EXPECT_THAT(steps, ElementsAre(5u, 0x01000006u));
  EXPECT_OK(reader.ExpectEnd());
}

TEST(ByteReaderTest, MissingBytesAreAnErrorAndConsumeNothing) {
  const std::vector<std::byte> bytes = Bytes({1, 2, 3, 4, 5, 6, 7});
  ByteReader reader(bytes);
  EXPECT_THAT(reader.Take<Header>("its header"),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("expected 1 x 8 bytes of its header, got 7 bytes")));
  // 2^62 * 4 bytes wrap to 0 in 64 bits.
  for (const uint64_t count : {uint64_t{2}, uint64_t{1} << 62, ~uint64_t{0}}) {
    EXPECT_THAT(reader.TakeList<uint32_t>(count, "its steps"),
                StatusIs(absl::StatusCode::kDataLoss));
  }
  EXPECT_EQ(reader.rest().size(), 7u);
  ASSERT_OK_AND_ASSIGN(const std::vector<uint32_t> steps,
                       reader.TakeList<uint32_t>(1, "its steps"));
  EXPECT_THAT(steps, ElementsAre(0x04030201u));
  EXPECT_EQ(reader.rest().size(), 3u);
}

TEST(ByteReaderTest, TakesBytesWithoutACopy) {
  const std::vector<std::byte> bytes = Bytes({1, 2, 3, 4, 5, 6, 7});
  ByteReader reader(bytes);
  ASSERT_OK_AND_ASSIGN(const absl::Span<const std::byte> taken, reader.TakeBytes(2, 3, "a name"));
  EXPECT_EQ(taken.data(), bytes.data());
  EXPECT_EQ(taken.size(), 6u);
  // 2^63 * 2 bytes wrap to 0 in 64 bits.
  EXPECT_THAT(reader.TakeBytes(uint64_t{1} << 63, 2, "a name"),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("of a name, got 1 bytes")));
  EXPECT_EQ(reader.rest().size(), 1u);
}

TEST(ByteReaderTest, EmptyInputHasNoValues) {
  ByteReader reader({});
  ASSERT_OK_AND_ASSIGN(const std::vector<uint64_t> none, reader.TakeList<uint64_t>(0, "nothing"));
  EXPECT_TRUE(none.empty());
  EXPECT_OK(reader.ExpectEnd());
}

}  // namespace
}  // namespace belay
