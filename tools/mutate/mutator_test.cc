#include "tools/mutate/mutator.h"

#include <map>
#include <set>
#include <string>
#include <vector>

#include "google/protobuf/stubs/logging.h"
#include "runtime/core/testing.h"
#include "runtime/executor/testing/program_builder.h"
#include "runtime/executor/testing/sample_program.h"
#include "tools/mutate/wire_tree.h"

namespace belay::mutate {
namespace {

std::string Metadata(const std::string& file) {
  return file.substr(kHeaderBytes,
                     static_cast<uint8_t>(file[16]) + size_t{256} * static_cast<uint8_t>(file[17]));
}

TEST(WireTreeTest, RoundTrips) {
  const std::string metadata = Metadata(SampleProgram().Serialize());
  const auto fields = ParseWire(metadata);
  ASSERT_TRUE(fields.has_value());
  EXPECT_GT(fields->size(), 5u);
  EXPECT_EQ(WriteWire(*fields), metadata);
}

TEST(WireTreeTest, ReadsEveryTypeOfField) {
  // 1: varint 300; 2: fixed64; 3: message {1: 1}; 4: bytes "\0"; 5: fixed32
  const std::string bytes("\x08\xac\x02\x11\1\0\0\0\0\0\0\0\x1a\x02\x08\x01\x22\x01\0\x2d\2\0\0\0",
                          26);
  const auto fields = ParseWire(std::string_view(bytes).substr(0, 24));
  ASSERT_TRUE(fields.has_value());
  ASSERT_EQ(fields->size(), 5u);
  EXPECT_EQ((*fields)[0].value, 300u);
  EXPECT_EQ((*fields)[1].value, 1u);
  EXPECT_TRUE((*fields)[2].is_message);
  EXPECT_EQ((*fields)[2].children[0].value, 1u);
  EXPECT_FALSE((*fields)[3].is_message);
  EXPECT_EQ((*fields)[3].bytes, std::string(1, '\0'));
  EXPECT_EQ((*fields)[4].value, 2u);
}

TEST(WireTreeTest, RejectsNonMessages) {
  const std::string not_messages[] = {
      "\x08",                                              // missing value
      std::string("\x00\x01", 2),                          // field 0
      "\x0a\x05xx",                                        // too short
      "\x0b\x0c",                                          // a group
      "\x09\x01",                                          // half a number
      "\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01",  // a varint without end
      "\x80",                                              // a tag without end
      "\x80\x80\x80\x80\x10\x01",                          // field 2^29
  };
  for (const std::string& bytes : not_messages) EXPECT_FALSE(ParseWire(bytes).has_value());
}

TEST(WireTreeTest, DeepMessagesBecomeBytes) {
  std::string nested;
  for (int i = 0; i < 100; ++i) {
    std::string outer = "\x0a";
    size_t size = nested.size();
    for (; size >= 0x80; size >>= 7) outer.push_back(static_cast<char>(size | 0x80));
    outer.push_back(static_cast<char>(size));
    nested = outer + nested;
  }
  const auto fields = ParseWire(nested);
  ASSERT_TRUE(fields.has_value());
  EXPECT_EQ(WriteWire(*fields), nested);
}

TEST(WireTreeTest, EditsMessagesWithoutNumbers) {
  std::set<std::string> different;
  for (uint64_t seed = 0; seed < 500; ++seed) {
    Random random(seed);
    std::vector<WireField> fields(2);
    for (WireField& field : fields) {
      field.type = WireField::Type::kBytes;
      field.is_message = true;
    }
    EditFields(random, fields);
    const std::string written = WriteWire(fields);
    EXPECT_LE(written.size(), size_t{66} << 10);
    different.insert(written);
  }
  EXPECT_GT(different.size(), 50u);
}

TEST(WireTreeTest, BoundsCopiesOfLargeFields) {
  WireField large;
  large.type = WireField::Type::kBytes;
  large.bytes.assign(60 << 10, 'x');
  for (uint64_t seed = 0; seed < 500; ++seed) {
    Random random(seed);
    std::vector<WireField> fields(3, large);
    EditFields(random, fields);
    EXPECT_LE(WriteWire(fields).size(), 3 * large.bytes.size() + (size_t{70} << 10));
  }
}

TEST(MutatorTest, EditsFieldsOnlyOfPrograms) {
  Random random(1);
  EXPECT_EQ(EditProgramFile(random, "no program"), "no program");
  // A header, and metadata that is not a message.
  std::string file = SampleProgram().Serialize();
  const size_t size = Metadata(file).size();
  file.replace(kHeaderBytes, size, size, '\x0b');
  EXPECT_EQ(EditProgramFile(random, file), file);
}

TEST(MutatorTest, IsDeterministicPerSeed) {
  const google::protobuf::LogSilencer quiet;  // suppresses reports of strings that are not UTF-8
  const std::string file = SampleProgram().Serialize();
  const Mutator a({file, "donor"}), b({file, "donor"});
  std::set<std::string> different;
  for (uint64_t i = 0; i < 500; ++i) {
    const Mutation mutation = a.Mutate(7, i);
    EXPECT_EQ(mutation.bytes, b.Mutate(7, i).bytes);
    different.insert(mutation.bytes);
  }
  EXPECT_GT(different.size(), 400u);
  EXPECT_NE(a.Mutate(8, 0).bytes, a.Mutate(7, 0).bytes);
}

TEST(MutatorTest, MutatesAnyBytes) {
  for (const std::string& file : {std::string(), std::string("x"), std::string(1000, 'y'),
                                  std::string("BELAY\r\n\x1a") + std::string(56, '\xff')}) {
    const Mutator mutator({file});
    for (uint64_t i = 0; i < 2000; ++i) {
      EXPECT_LE(mutator.Mutate(1, i).bytes.size(), 2 * file.size() + (128 << 10));
    }
  }
}

TEST(MutatorTest, NoFilesBehaveLikeEmptyFile) {
  EXPECT_LE(Mutator({}).Mutate(1, 1).bytes.size(), 2000u);
}

TEST(MutatorTest, FixHeaderIsValid) {
  std::string file = SampleProgram().Serialize();
  const std::string right = file;
  file[20] = file[40] = file[58] = file[62] = 'x';
  file[40] = 0;
  file[20] = right[20];
  mutate::FixHeader(file);
  EXPECT_EQ(file, right);
}

// Most mutations pass the header check, many pass all checks, and every reader check that the
// sample can reach rejects some.
TEST(MutatorTest, MutationsReachDeep) {
  const google::protobuf::LogSilencer quiet;  // it reports strings that are not UTF-8
  const Mutator mutator({SampleProgram().Serialize()});
  std::map<std::string, int> outcomes;
  std::map<MutationKind, int> kinds;
  int opened = 0, past_header = 0;
  constexpr int kMutations = 10000;
  for (uint64_t i = 0; i < kMutations; ++i) {
    const Mutation mutation = mutator.Mutate(42, i);
    ++kinds[mutation.kind];
    const absl::Status status = OpenFileBytes(mutation.bytes).status();
    opened += status.ok();
    past_header += status.ok() || status.code() != absl::StatusCode::kDataLoss;
    // Messages without numbers and names identify the checks.
    std::string check;
    for (const char c : status.message()) {
      if (c < '0' || c > '9') check.push_back(c);
    }
    if (!status.ok()) ++outcomes[check.substr(check.rfind(':') + 1)];
  }
  EXPECT_EQ(kinds.size(), 5u);
  EXPECT_GT(opened, kMutations / 10);
  EXPECT_GT(past_header, kMutations / 2);
  EXPECT_GT(outcomes.size(), 60u);
  std::printf("%d of %d opened, %d past the header, %d different refusals\n", opened, kMutations,
              past_header, static_cast<int>(outcomes.size()));
}

}  // namespace
}  // namespace belay::mutate
