#include "runtime/program/wire_reader.h"

#include <string>
#include <string_view>
#include <vector>

#include "runtime/core/testing.h"

namespace belay {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr auto kLoss = absl::StatusCode::kDataLoss;
constexpr auto kExhausted = absl::StatusCode::kResourceExhausted;

WireMessage Message(std::string_view bytes, uint32_t nesting = 20) {
  return {
      .bytes = absl::MakeConstSpan(reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()),
      .nesting = nesting,
      .depth = 0};
}

// A message with a field of each kind.
struct Everything {
  uint32_t small = 0;
  uint64_t large = 0;
  int64_t sign = 0;
  bool flag = false;
  double real = 0;
  std::string_view text;
  absl::Span<const std::byte> bytes;
  WireNumbers<uint32_t> numbers;
  WireMessage message;
  WireOneof oneof;
  WireMessages messages;
  WireStrings texts;
};

absl::Status ReadEverything(const WireMessage& message, Everything& out) {
  const MetadataPath root, path(root, "here");
  WireReader fields(message);
  while (fields.Next()) {
    switch (fields.number()) {
      case 1:
        fields.Read(out.small);
        break;
      case 2:
        fields.Read(out.large);
        break;
      case 3:
        fields.Read(out.sign);
        break;
      case 4:
        fields.Read(out.flag);
        break;
      case 5:
        fields.Read(out.real);
        break;
      case 6:
        fields.Read(out.text);
        break;
      case 7:
        fields.Read(out.bytes);
        break;
      case 8:
        fields.Read(out.numbers);
        break;
      case 9:
        fields.Read(out.message);
        break;
      case 10:
        fields.ReadMember<uint64_t>(out.oneof);
        break;
      case 11:
        fields.ReadMember<int64_t>(out.oneof);
        break;
      case 12:
        fields.Read(out.messages);
        break;
      case 13:
        fields.Read(out.texts);
        break;
    }
  }
  return fields.Finish(path);
}

struct BadCase {
  const char* name;
  std::string bytes;
  const char* message;
};
void PrintTo(const BadCase& c, std::ostream* out) { *out << c.name; }

std::string Repeat(std::string_view what, int times) {
  std::string text;
  for (int i = 0; i < times; ++i) text += what;
  return text;
}

const BadCase kBadCases[] = {
    {"TagWithoutEnd", "\x80", "tag is unterminated"},
    {"TagOf65Bits", Repeat("\xff", 9) + "\x02", "tag is unterminated"},
    {"NumberOfFieldIsZero", std::string("\x00\x00", 2), "no valid number"},
    {"NumberOfFieldAbove29Bits", "\x80\x80\x80\x80\x10\x01", "no valid number"},
    {"VarintRunsOut", "\x08\x80", "field 1: a number is unterminated"},
    {"VarintOf65Bits", "\x08" + Repeat("\xff", 9) + "\x02", "has more than 64 bits"},
    {"VarintOf11Bytes", "\x08" + Repeat("\x80", 10) + "\x01", "has more than 64 bits"},
    {"Uint32Of33Bits", "\x08\x80\x80\x80\x80\x10", "more than 32 bits"},
    {"BoolIsTwo", "\x20\x02", "a bool is 0 or 1"},
    {"DoubleRunsOut", "\x29" + Repeat("a", 7), "longer than the enclosing message"},
    {"SizeRunsOut", "\x32\x80", "size is unterminated"},
    {"StringRunsOut", "\x32\x02z", "field 6: it is longer than the enclosing message"},
    {"StringOf2To63Bytes", "\x32" + Repeat("\xff", 8) + "\x7f",
     "longer than the enclosing message"},
    {"StringIsNotUtf8", "\x32\x01\xff", "not UTF-8"},
    {"ElementIsNotUtf8", "\x6a\x01\xff", "not UTF-8"},
    {"NumberAsBytes", std::string("\x0a\x00", 2), "another wire type"},
    {"BytesAsNumber", "\x38\x01", "another wire type"},
    {"MessageAsNumber", "\x48\x01", "another wire type"},
    {"ElementAsNumber", "\x60\x01", "another wire type"},
    {"TextAsNumber", "\x68\x01", "another wire type"},
    {"NumbersNotPacked", "\x40\x01", "another wire type"},
    {"DoubleAsFloat", "\x2d" + Repeat("a", 4), "another wire type"},
    {"Twice", "\x08\x01\x08\x01", "field 1: it occurs twice"},
    {"MessageTwice", std::string("\x4a\x00\x4a\x00", 4), "it occurs twice"},
    {"TwoOfOneof", "\x50\x01\x58\x01", "field 11: another member of its oneof is present"},
    {"SameOfOneof", "\x50\x01\x50\x01", "it occurs twice"},
    {"EndOfNoGroup", "\xa4\x01", "unknown wire type"},
    {"WireType6", "\xa6\x01", "unknown wire type"},
    {"GroupWithoutEnd", "\xa3\x01", "a group is unterminated"},
    {"TagInGroupRunsOut", "\xa3\x01\x80", "tag is unterminated"},
    {"NumberInGroupRunsOut", "\xa3\x01\x08\x80", "a number is unterminated"},
    {"StringInGroupRunsOut", "\xa3\x01\x32\x05z\xa4\x01", "longer than the enclosing message"},
    {"GroupEndsAsAnother", "\xa3\x01\xac\x01", "another field number"},
    {"UnknownStringRunsOut", "\xa2\x01\x05z", "longer than the enclosing message"},
};

class BadMessageTest : public ::testing::TestWithParam<BadCase> {};

TEST_P(BadMessageTest, NamesErrorAndField) {
  Everything everything;
  EXPECT_THAT(ReadEverything(Message(GetParam().bytes), everything),
              StatusIs(kLoss, AllOf(HasSubstr("here, field "), HasSubstr(GetParam().message))));
}

INSTANTIATE_TEST_SUITE_P(All, BadMessageTest, ::testing::ValuesIn(kBadCases),
                         [](const auto& info) { return info.param.name; });

// Varints are decoded differently near the end of the buffer.
TEST(WireReaderTest, ReadsVarintsOfAllLengthsAtAllPositions) {
  std::vector<uint64_t> numbers = {0};
  for (int bit = 0; bit < 64; ++bit) {
    const uint64_t power = uint64_t{1} << bit;
    for (const uint64_t number : {power - 1, power, power + 1, ~power}) numbers.push_back(number);
  }
  for (const uint64_t number : numbers) {
    std::string text;
    uint64_t left = number;
    for (; left >= 0x80; left >>= 7) text += static_cast<char>(left | 0x80);
    text += static_cast<char>(left);
    for (const std::string& shape :
         {text, text.substr(0, text.size() - 1) + static_cast<char>(text.back() | 0x80) + '\0'}) {
      if (shape.size() > 10) continue;
      for (const std::string& behind : {Repeat("\xff", 16), std::string(16, '\0'), std::string()}) {
        const std::string bytes = shape + behind;
        const auto* at = reinterpret_cast<const uint8_t*>(bytes.data());
        const Varint read = ReadVarint(at, at + bytes.size());
        ASSERT_EQ(read.end, at + shape.size()) << number << " in " << shape.size();
        EXPECT_EQ(read.number, number);
      }
    }
  }
}

TEST(WireReaderTest, ReadsEveryKind) {
  const std::string bytes =
      "\x08\xff\xff\xff\xff\x0f"  // 1: 2^32 - 1
      "\x10" +
      Repeat("\xff", 9) +
      "\x01"  // 2: 2^64 - 1
      "\x18" +
      Repeat("\xff", 9) +
      "\x01"      // 3: -1
      "\x20\x01"  // 4: true
      "\x29" +
      std::string("\0\0\0\0\0\0\xf8\x3f", 8) +  // 5: 1.5
      "\x32\x02hi"
      "\x3a\x01\xff"
      "\x42\x03\x05\xac\x02"  // 8: 5, 300
      "\x4a\x02\x08\x07"
      "\x58\x09";
  Everything read;
  ASSERT_OK(ReadEverything(Message(bytes), read));
  EXPECT_EQ(read.small, UINT32_MAX);
  EXPECT_EQ(read.large, UINT64_MAX);
  EXPECT_EQ(read.sign, -1);
  EXPECT_TRUE(read.flag);
  EXPECT_EQ(read.real, 1.5);
  EXPECT_EQ(read.text, "hi");
  EXPECT_EQ(read.bytes.size(), 1u);
  EXPECT_EQ(read.numbers.count(), 2u);
  std::vector<uint32_t> numbers;
  EXPECT_TRUE(ForEachNumber(read.numbers, [&](uint32_t n) {
    numbers.push_back(n);
    return true;
  }));
  EXPECT_EQ(numbers, (std::vector<uint32_t>{5, 300}));
  EXPECT_EQ(read.message.depth, 1u);
  Everything inner;
  ASSERT_OK(ReadEverything(read.message, inner));
  EXPECT_EQ(inner.small, 7u);
  EXPECT_EQ(read.oneof.field, 11u);
  EXPECT_EQ(read.oneof.as<int64_t>(), 9);
}

TEST(WireReaderTest, SkipsUnknownFields) {
  const std::string bytes =
      "\xa0\x01\x80\x01"
      "\xa1\x01" +
      Repeat("a", 8) + "\xa2\x01\x02zz" + "\xa5\x01" + Repeat("a", 4) +
      // A nested group with an integer and bytes.
      "\xa3\x01\xab\x01\x08\x05\x12\x01z\xac\x01\xa4\x01" + "\x08\x03";
  Everything read;
  ASSERT_OK(ReadEverything(Message(bytes), read));
  EXPECT_EQ(read.small, 3u);
}

TEST(WireReaderTest, FindsElementsBetweenOtherFields) {
  const std::string bytes =
      "\x62\x02\x08\x01"
      "\x6a\x01x"
      "\x08\x05"
      "\x62\x02\x08\x02"
      "\x6a\x02yz";
  Everything read;
  ASSERT_OK(ReadEverything(Message(bytes), read));
  ASSERT_EQ(read.messages.count, 2u);
  EXPECT_EQ(read.messages.total_bytes, 4u);
  WireElements messages(read.messages);
  for (uint32_t i = 1; i <= 2; ++i) {
    Everything element;
    ASSERT_OK(ReadEverything(messages.NextMessage(), element));
    EXPECT_EQ(element.small, i);
  }
  ASSERT_EQ(read.texts.count, 2u);
  WireElements texts(read.texts);
  EXPECT_EQ(texts.NextString(), "x");
  EXPECT_EQ(texts.NextString(), "yz");
}

TEST(WireReaderTest, ElementSearchTerminatesInChangedBytes) {
  std::string bytes("\x62\x02\x08\x01\x62\x00\x08\x05", 8);
  Everything read;
  ASSERT_OK(ReadEverything(Message(bytes), read));
  ASSERT_EQ(read.messages.count, 2u);
  bytes.assign(bytes.size(), '\xff');  // an unterminated tag
  WireElements messages(read.messages);
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(messages.NextMessage().bytes.empty());
}

TEST(WireReaderTest, CountsMessageNesting) {
  const std::string inside = std::string("\x4a\x00", 2);
  const std::string group = "\xa3\x01\xa3\x01\xa4\x01\xa4\x01";
  for (const std::string& bytes : {inside, std::string("\x62\x00", 2), group}) {
    Everything read;
    EXPECT_OK(ReadEverything(Message(bytes, 2), read));
    EXPECT_THAT(ReadEverything(Message(bytes, 0), read),
                StatusIs(kExhausted, HasSubstr("deeper than the limit 'nesting' of 0")));
  }
  Everything read;
  EXPECT_THAT(ReadEverything(Message(group, 1), read), StatusIs(kExhausted));
  // Nesting of any depth does not recurse.
  EXPECT_THAT(ReadEverything(Message(Repeat("\xa3\x01", 1 << 20), 1 << 21), read),
              StatusIs(kLoss, HasSubstr("a group is unterminated")));
}

TEST(WireReaderTest, ListNumbersMustTerminateAndFit) {
  const auto all = [](auto) { return true; };
  for (const std::string_view bytes : {"\x80", "\x01\x80\x80\x80\x80\x10"}) {
    EXPECT_FALSE(ForEachNumber(WireNumbers<uint32_t>{Message(bytes).bytes}, all));
  }
  EXPECT_FALSE(ForEachNumber(WireNumbers<int64_t>{Message("\x80").bytes}, all));
  int64_t last = 0;
  const std::string minus = Repeat("\xff", 9) + "\x01";
  EXPECT_TRUE(ForEachNumber(WireNumbers<int64_t>{Message(minus).bytes}, [&](int64_t n) {
    last = n;
    return true;
  }));
  EXPECT_EQ(last, -1);
}

}  // namespace
}  // namespace belay
