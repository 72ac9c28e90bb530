#include "exir/import/pickle.h"

#include <cstdint>
#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

using Kind = PickleValue::Kind;
using ::testing::HasSubstr;

// The bytes must outlive the result.
absl::StatusOr<Pickle> Parse(const std::string& bytes, uint64_t max_values = 1 << 20) {
  return ParsePickle(
      absl::MakeConstSpan(reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()),
      [](std::string_view name) { return name == "torch make"; }, max_values);
}

std::string Bytes(std::initializer_list<int> bytes) {
  std::string text;
  for (int b : bytes) text.push_back(static_cast<char>(b));
  return text;
}

int64_t ParsedInt(const std::string& bytes) {
  const absl::StatusOr<Pickle> pickle = Parse(bytes);
  EXPECT_OK(pickle);
  if (!pickle.ok()) return 0;
  EXPECT_EQ((*pickle)[pickle->root].kind, Kind::kInt);
  return (*pickle)[pickle->root].integer;
}

TEST(PickleTest, AttributesRequireObject) {
  // 7 with attributes 8; and 7 without an object below it.
  EXPECT_EQ(ParsedInt(std::string("K\x07K\x08") + "b."), 7);
  EXPECT_THAT(std::string(Parse(std::string("K\x07") + "b.").status().message()),
              HasSubstr("byte 2: the stack is too short"));
  // The object must be above the mark: (7, (8 with attributes)).
  EXPECT_THAT(std::string(Parse("K\x07(K\x08"
                                "bt.")
                              .status()
                              .message()),
              HasSubstr("the stack is too short"));
}

TEST(PickleTest, ReadsNumbers) {
  EXPECT_EQ(ParsedInt("K\x07."), 7);
  EXPECT_EQ(ParsedInt("M\x07\x01."), 263);
  EXPECT_EQ(ParsedInt("J\xff\xff\xff\xff."), -1);
  EXPECT_EQ(ParsedInt(Bytes({0x8a, 0, '.'})), 0);
  EXPECT_EQ(ParsedInt(Bytes({0x8a, 1, 0x80, '.'})), -128);
  EXPECT_EQ(ParsedInt(Bytes({0x8a, 2, 0x80, 0, '.'})), 128);
  EXPECT_EQ(ParsedInt(Bytes({0x8a, 8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, '.'})),
            INT64_MAX);
  const std::string half = Bytes({'G', 0x3f, 0xe0, 0, 0, 0, 0, 0, 0, '.'});
  ASSERT_OK_AND_ASSIGN(const Pickle pickle, Parse(half));
  EXPECT_EQ(pickle[pickle.root].number, 0.5);
}

TEST(PickleTest, ReadsContainersAndMemo) {
  // {"a": (1, True, None), "b": <the same tuple>}
  const std::string bytes =
      std::string("\x80\x02}(X\x01\0\0\0aK\x01\x88N\x87q\x05X\x01\0\0\0bh\x05u.", 27);
  ASSERT_OK_AND_ASSIGN(const Pickle pickle, Parse(bytes));
  const PickleValue& dict = pickle[pickle.root];
  ASSERT_EQ(dict.kind, Kind::kDict);
  ASSERT_EQ(dict.items.size(), 4u);
  EXPECT_EQ(pickle[dict.items[0]].text, "a");
  EXPECT_EQ(pickle[dict.items[2]].text, "b");
  EXPECT_EQ(dict.items[1], dict.items[3]);
  const PickleValue& tuple = pickle[dict.items[1]];
  ASSERT_EQ(tuple.kind, Kind::kTuple);
  ASSERT_EQ(tuple.items.size(), 3u);
  EXPECT_EQ(pickle[tuple.items[1]].kind, Kind::kBool);
  EXPECT_EQ(pickle[tuple.items[2]].kind, Kind::kNone);
}

TEST(PickleTest, MemoSupportsLongKeys) {
  EXPECT_EQ(ParsedInt(Bytes({'K', 7, 'r', 1, 2, 0, 0, 'j', 1, 2, 0, 0, 'b', '.'})), 7);
  // They differ from short keys with the same first byte.
  EXPECT_THAT(Parse(Bytes({'K', 7, 'r', 1, 2, 0, 0, 'h', 1, 'b', '.'})),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no memoized value 1")));
}

TEST(PickleTest, ReadsListsThatContainThemselves) {
  ASSERT_OK_AND_ASSIGN(const Pickle pickle, Parse("]q\x01(h\x01K\x01"
                                                  "e."));
  const PickleValue& list = pickle[pickle.root];
  ASSERT_EQ(list.kind, Kind::kList);
  EXPECT_EQ(list.items[0], pickle.root);
}

TEST(PickleTest, CallsAreOnlyNames) {
  const std::string bytes = "ctorch\nmake\nK\x01\x85R.";
  ASSERT_OK_AND_ASSIGN(const Pickle pickle, Parse(bytes));
  const PickleValue& call = pickle[pickle.root];
  ASSERT_EQ(call.kind, Kind::kCall);
  EXPECT_EQ(pickle[call.items[0]].text, "torch\nmake");
  EXPECT_EQ(pickle[call.items[1]].kind, Kind::kTuple);
}

TEST(PickleTest, OrderedDictsAreDictionaries) {
  const std::string empty = "ccollections\nOrderedDict\n)R(K\x01K\x02u}b.";
  ASSERT_OK_AND_ASSIGN(const Pickle pickle, Parse(empty));
  EXPECT_EQ(pickle[pickle.root].kind, Kind::kDict);
  EXPECT_EQ(pickle[pickle.root].items.size(), 2u);
}

TEST(PickleTest, OrderedDictsRequirePairs) {
  // Lists and tuples of lists and tuples.
  for (const char* pairs : {"](K\x01K\x02\x86"
                            "e",
                            "](](K\x01K\x02"
                            "ee",
                            "K\x01K\x02\x86\x85",
                            "](K\x01K\x02"
                            "e\x85"}) {
    const std::string bytes = std::string("ccollections\nOrderedDict\n") + pairs + "\x85R.";
    ASSERT_OK_AND_ASSIGN(const Pickle pickle, Parse(bytes));
    const PickleValue& dict = pickle[pickle.root];
    ASSERT_EQ(dict.kind, Kind::kDict);
    ASSERT_EQ(dict.items.size(), 2u);
    EXPECT_EQ(pickle[dict.items[0]].integer, 1);
    EXPECT_EQ(pickle[dict.items[1]].integer, 2);
  }
  const std::pair<const char*, const char*> kRefused[] = {
      {"]]\x86", "OrderedDict takes one argument"},
      {"K\x01\x85", "OrderedDict takes a list"},
      {"}\x85", "OrderedDict takes a list"},
      {"](K\x01"
       "e\x85",
       "a list of pairs"},
      {"](}e\x85", "a list of pairs"},
      {"](K\x01\x85"
       "e\x85",
       "a list of pairs"},
      {"](](K\x01K\x01K\x01"
       "ee\x85",
       "a list of pairs"},
  };
  for (const auto& [arguments, message] : kRefused) {
    EXPECT_THAT(Parse(std::string("ccollections\nOrderedDict\n") + arguments + "R."),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(message)))
        << arguments;
  }
}

TEST(PickleTest, RejectsOtherGlobals) {
  EXPECT_THAT(
      Parse("cos\nsystem\nX\x02\0\0\0ls\x85R."),
      StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("byte 0: it names 'os system'")));
  EXPECT_THAT(Parse("ctorch\nMake\n."), StatusIs(absl::StatusCode::kUnimplemented));
  EXPECT_THAT(Parse("cbuiltins\neval\n."),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("nothing is ever executed")));
}

TEST(PickleTest, RejectsOtherInstructions) {
  for (int opcode = 0; opcode < 256; ++opcode) {
    static const std::string kKnown =
        std::string("(.QGJKMNRX]abcehjqrstu})") + "\x80\x81\x85\x86\x87\x88\x89\x8a";
    if (kKnown.find(static_cast<char>(opcode)) != std::string::npos) continue;
    EXPECT_THAT(Parse(Bytes({opcode, 0, 0, 0, 0, 0, 0, 0, 0, 0, '.'})),
                StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("byte 0: the instruction 0x")))
        << opcode;
  }
  EXPECT_THAT(Parse("\x80\x06."),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("protocol 6")));
  EXPECT_THAT(Parse(Bytes({0x8a, 9, 0, 0, 0, 0, 0, 0, 0, 0, 1, '.'})),
              StatusIs(absl::StatusCode::kUnimplemented));
}

TEST(PickleTest, RejectsMalformedPickles) {
  for (const char* bytes : {".",
                            "K\x01K\x02.",
                            "(.",
                            "(K\x01.",
                            "t.",
                            "u.",
                            "a.",
                            "K\x01K\x02"
                            "a.",
                            "}K\x01s.",
                            "q\x01.",
                            "h\x01.",
                            "R.",
                            "K\x01)R.",
                            "ctorch\nmake\nK\x01R.",
                            "b.",
                            "Q.",
                            "\x85.",
                            "}(K\x01u.",
                            "](K\x01K\x02s.",
                            "((t)R.",
                            "ccollections\nOrderedDict\nK\x01\x85R.",
                            "(q\x01."}) {
    EXPECT_THAT(Parse(bytes), StatusIs(absl::StatusCode::kInvalidArgument)) << bytes;
  }
}

TEST(PickleTest, RejectsTruncation) {
  const std::string bytes =
      std::string("\x80\x02}(X\x01\0\0\0aK\x01\x88N\x87q\x05X\x01\0\0\0bh\x05u.", 27);
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_THAT(Parse(bytes.substr(0, size)), StatusIs(absl::StatusCode::kDataLoss)) << size;
  }
  EXPECT_THAT(Parse("X\xff\xff\xff\xff."), StatusIs(absl::StatusCode::kDataLoss));
  // Truncate inside each instruction with operands, at every byte.
  for (const std::string& instruction :
       {Bytes({'J', 1, 2, 3, 4}), Bytes({'K', 1}), Bytes({'M', 1, 2}),
        Bytes({'G', 1, 2, 3, 4, 5, 6, 7, 8}), Bytes({'X', 1, 0, 0, 0, 'a'}), Bytes({0x80, 2}),
        Bytes({0x8a, 2, 1, 1}), Bytes({'r', 1, 0, 0, 0}), Bytes({'q', 1}), Bytes({'h', 1}),
        Bytes({'j', 1, 0, 0, 0}), std::string("ctorch\nmake\n")}) {
    for (size_t size = 0; size < instruction.size(); ++size) {
      EXPECT_THAT(Parse("N" + instruction.substr(0, size)), StatusIs(absl::StatusCode::kDataLoss))
          << instruction[0] << ' ' << size;
    }
  }
}

TEST(PickleTest, CopiesStayLinear) {
  // The same list of pairs, converted to an OrderedDict repeatedly.
  std::string bytes = "](";
  for (int i = 0; i < 1000; ++i) bytes += "K\x01K\x01\x86";
  bytes += "eq\x01";
  for (int i = 0; i < 1000; ++i) bytes += "ccollections\nOrderedDict\nh\x01\x85R";
  EXPECT_THAT(Parse(bytes + "."),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("copied too often")));
}

TEST(PickleTest, LimitsTheNumberOfValues) {
  // Exactly the permitted number of values, in a list.
  EXPECT_OK(Parse("](NN}e.", 4));
  for (const char* one : {"N", "]", "}", ")", "\x88", "K\x01", "(t"}) {
    std::string bytes = "](";
    for (int i = 0; i < 4; ++i) bytes += one;
    EXPECT_THAT(Parse(bytes + "e.", 4),
                StatusIs(absl::StatusCode::kResourceExhausted,
                         HasSubstr("it creates more than max_pickle_values = 4 values")))
        << one;
  }
  EXPECT_THAT(Parse("(((((", 4), StatusIs(absl::StatusCode::kResourceExhausted));
}

TEST(PickleTest, OneByteInstructionsStopAtLimit) {
  // Maximum size and number of values with the default ImportOptions.
  for (const char one : {']', '}', ')', 'N', '('}) {
    const std::string bytes(16 << 20, one);
    EXPECT_THAT(Parse(bytes), StatusIs(absl::StatusCode::kResourceExhausted)) << one;
  }
}

}  // namespace
}  // namespace belay::exir
