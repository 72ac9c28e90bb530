#include "runtime/program/program.h"

#include <complex>
#include <cstdio>
#include <fstream>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "google/protobuf/stubs/logging.h"
#include "runtime/core/testing.h"
#include "runtime/executor/testing/program_builder.h"
#include "runtime/executor/testing/sample_program.h"
#include "runtime/program/digest.h"
#include "runtime/program/metadata_path.h"

namespace belay {
namespace {

constexpr auto kExhausted = absl::StatusCode::kResourceExhausted;

using ::testing::HasSubstr;

std::string_view Text(absl::Span<const std::byte> bytes) {
  return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

TEST(ProgramTest, OpensAValidProgram) {
  SampleIndices v;
  ASSERT_OK_AND_ASSIGN(const Program program, OpenFileBytes(SampleProgram(&v).Serialize()));
  ASSERT_EQ(program.methods().size(), 2u);
  ASSERT_OK_AND_ASSIGN(const MethodPlan* method, program.FindMethod("forward"));
  EXPECT_EQ(method->inputs.size(), 6u);
  EXPECT_EQ(method->inputs[0].name, "x");
  EXPECT_EQ(method->inputs[0].constraints[0].symbol, "s0");
  EXPECT_TRUE(method->inputs[3].mutated);
  EXPECT_EQ(method->outputs, (std::vector<uint32_t>{v.sum, v.total, v.n}));
  EXPECT_EQ(method->delegates[0].backend_id, "fake");
  EXPECT_EQ(Text(method->delegates[0].blob), "blob");
  EXPECT_EQ(method->delegates[0].compile_specs[0].value, "fast");
  const auto& weight = std::get<TensorPlan>(method->values[v.weight]);
  EXPECT_EQ(Sizes(weight.sizes), Sizes({2, 3}));
  EXPECT_EQ(weight.constant.size(), 24u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(weight.constant.data()) % kTensorAlignment, 0u);
  EXPECT_EQ(method->state[0].initial->size(), 8u);
  EXPECT_FALSE(method->state[1].initial.has_value());
  EXPECT_EQ(std::get<std::complex<double>>(method->values[v.complex]), std::complex<double>(0, 1));
  EXPECT_FALSE(program.debug_info().empty());
  EXPECT_OK(VerifyDigests(program));
}

TEST(ProgramTest, UnknownMethodErrorListsMethods) {
  ASSERT_OK_AND_ASSIGN(const Program program, OpenFileBytes(SampleProgram().Serialize()));
  EXPECT_THAT(program.FindMethod("backward"),
              StatusIs(absl::StatusCode::kNotFound,
                       "unknown method 'backward'; the program has: 'forward', 'other'"));
}

TEST(ProgramTest, UnknownMethodErrorOfEmptyProgram) {
  ASSERT_OK_AND_ASSIGN(const Program program, OpenFileBytes(TestProgram().Serialize()));
  EXPECT_THAT(
      program.FindMethod("forward"),
      StatusIs(absl::StatusCode::kNotFound, "unknown method 'forward'; the program has: none"));
}

TEST(ProgramTest, FindsNamedData) {
  ASSERT_OK_AND_ASSIGN(const Program program, OpenFileBytes(SampleProgram().Serialize()));
  ASSERT_OK_AND_ASSIGN(const absl::Span<const std::byte> bytes, program.FindNamedData("lookup"));
  EXPECT_EQ(Text(bytes), "named bytes");
  EXPECT_THAT(program.FindNamedData("look"), StatusIs(absl::StatusCode::kNotFound));
}

TEST(ProgramTest, EmptyProgramIsValid) {
  ASSERT_OK_AND_ASSIGN(const Program program, OpenFileBytes(TestProgram().Serialize()));
  EXPECT_TRUE(program.methods().empty());
  EXPECT_EQ(program.bytes().size(), kHeaderBytes);
}

TEST(ProgramTest, OpensFile) {
  const std::string path = ::testing::TempDir() + "/sample.belay";
  std::ofstream(path, std::ios::binary) << SampleProgram().Serialize();
  ASSERT_OK_AND_ASSIGN(const Program program, Program::Open(path));
  EXPECT_EQ(program.methods().size(), 2u);
  EXPECT_THAT(Program::Open(path + ".missing"), StatusIs(absl::StatusCode::kNotFound));
}

TEST(ProgramTest, ErrorsNameTheFile) {
  const std::string path = ::testing::TempDir() + "/broken.belay";
  std::ofstream(path, std::ios::binary) << "not a program";
  EXPECT_THAT(Program::Open(path),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("broken.belay: not a program file")));
}

TEST(ProgramTest, UnknownFieldsAreIgnored) {
  // A possible addition of a newer minor version: field 1000 of the program, of wire type varint.
  const std::string file = SampleProgram().Serialize([](schema::Program& program) {
    ASSERT_TRUE(program.MergeFromString(std::string("\xc0\x3e\x05", 3)));
  });
  EXPECT_OK(OpenFileBytes(file));
}

TEST(DigestTest, NamesTheSegmentsThatDiffer) {
  std::string file = SampleProgram().Serialize();
  ASSERT_OK_AND_ASSIGN(const Program program, OpenFileBytes(file));
  file[program.segments()[1].offset] ^= 1;
  file[program.segments()[3].offset] ^= 1;
  ASSERT_OK_AND_ASSIGN(const Program damaged, OpenFileBytes(file));
  EXPECT_THAT(VerifyDigests(damaged),
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr("2 of 5 segments"), HasSubstr("segment 1 (8 bytes"),
                             HasSubstr("segment 3 (11 bytes"))));
}

TEST(MetadataPathTest, PrintsPath) {
  const MetadataPath root;
  const MetadataPath method(root, "methods", 0), value(method, "values", 12);
  const MetadataPath tensor(value, "tensor"), size(tensor, "sizes", 1);
  EXPECT_EQ(size.ToString(), "methods[0].values[12].tensor.sizes[1]");
  EXPECT_EQ(root.ToString(), "metadata");
}

TEST(MetadataPathTest, EscapesTerminalCharacters) {
  EXPECT_EQ(Quoted("a\x1b[2J"), "'a\\x1b[2J'");
  EXPECT_EQ(Quoted(std::string(1000, 'a')).size(), 1 + 100 + std::string("…'").size());
}

TEST(MetadataPathTest, ListsTheFirstOfMany) {
  EXPECT_EQ(ListFirst({"a", "b"}, ", "), "a, b");
  EXPECT_EQ(ListFirst({"a", "b"}, ", ", 5), "a, b, and 3 more");
  const std::string many = ListFirst(std::vector<std::string>(100, "x"), "; ");
  EXPECT_THAT(many, testing::EndsWith("; x; and 68 more"));
}

// --- Limits ---

struct LimitCase {
  const char* name;
  void (*lower)(Limits& limits);
  const char* message;
};
void PrintTo(const LimitCase& c, std::ostream* out) { *out << c.name; }

const LimitCase kLimitCases[] = {
    {"FileBytes", [](Limits& l) { l.file_bytes = 100; }, "the limit 'file_bytes' is 100"},
    {"MetadataBytes", [](Limits& l) { l.metadata_bytes = 100; }, "'metadata_bytes' is 100"},
    {"Nesting", [](Limits& l) { l.nesting = 2; }, "deeper than the limit 'nesting' of 2"},
    {"Tensors", [](Limits& l) { l.tensors = 9; }, "10 exceeds the limit 'tensors' of 9"},
    {"Segments", [](Limits& l) { l.segments = 4; }, "5 exceeds the limit 'segments' of 4"},
    {"Methods", [](Limits& l) { l.methods = 1; }, "2 exceeds the limit 'methods' of 1"},
    {"Values", [](Limits& l) { l.values = 10; }, "exceeds the limit 'values' of 10"},
    {"Instructions", [](Limits& l) { l.instructions = 6; },
     "7 exceeds the limit 'instructions' of 6"},
    {"ListElements", [](Limits& l) { l.list_elements = 1; },
     "2 exceeds the limit 'list_elements' of 1"},
    {"Operands", [](Limits& l) { l.operands = 5; }, "6 exceeds the limit 'operands' of 5"},
    {"ArenaBytes", [](Limits& l) { l.arena_bytes = 300; },
     "384 exceeds the limit 'arena_bytes' of 300"},
};

class LimitTest : public ::testing::TestWithParam<LimitCase> {};

TEST_P(LimitTest, IsEnforced) {
  Program::Options options;
  GetParam().lower(options.limits);
  EXPECT_THAT(OpenFileBytes(SampleProgram().Serialize(), options),
              StatusIs(kExhausted, HasSubstr(GetParam().message)));
}

INSTANTIATE_TEST_SUITE_P(All, LimitTest, ::testing::ValuesIn(kLimitCases),
                         [](const auto& info) { return info.param.name; });

TEST(ProgramTest, ArenaLimitIsProportionalToTheFile) {
  TestProgram fixed;
  fixed.AddMethod("forward").Arena(DType::kFloat32, {int64_t{1} << 28});
  const std::string file = fixed.Serialize();
  EXPECT_THAT(OpenFileBytes(file),
              StatusIs(kExhausted, HasSubstr("exceeds the limit 'arena_bytes'")));
  Program::Options options;
  options.limits.arena_bytes = uint64_t{1} << 31;
  EXPECT_OK(OpenFileBytes(file, options));
  // Its segments are counted once.
  const std::string small = SampleProgram().Serialize();
  ASSERT_OK_AND_ASSIGN(const Program program, OpenFileBytes(small));
  EXPECT_EQ(program.limits().arena_bytes, (uint64_t{384} << 20) + 16 * small.size());
}

// The sample opens with limits equal to its counts; one less is rejected.
TEST(ProgramTest, LimitsAreInclusive) {
  const std::string file = SampleProgram().Serialize();
  const std::pair<const char*, uint64_t Limits::*> limits[] = {
      {"file_bytes", &Limits::file_bytes},
      {"metadata_bytes", &Limits::metadata_bytes},
      {"nesting", &Limits::nesting},
      {"segments", &Limits::segments},
      {"methods", &Limits::methods},
      {"values", &Limits::values},
      {"tensors", &Limits::tensors},
      {"instructions", &Limits::instructions},
      {"list_elements", &Limits::list_elements},
      {"operands", &Limits::operands},
      {"arena_bytes", &Limits::arena_bytes}};
  for (const auto& [name, limit] : limits) {
    Program::Options options;
    const auto open = [&](uint64_t allowed) {
      options.limits.*limit = allowed;
      return OpenFileBytes(file, options).status();
    };
    uint64_t refused = 0, accepted = 100'000;
    EXPECT_OK(open(accepted)) << name;
    while (accepted - refused > 1) {
      const uint64_t middle = (refused + accepted) / 2;
      (open(middle).ok() ? accepted : refused) = middle;
    }
    EXPECT_THAT(open(refused), StatusIs(kExhausted, HasSubstr(std::string("'") + name + "'")));
    if (limit == &Limits::file_bytes) EXPECT_EQ(accepted, file.size());
    if (limit == &Limits::methods) EXPECT_EQ(accepted, 2u);
    if (limit == &Limits::arena_bytes) EXPECT_EQ(accepted, 384u);
  }
}

// A list of two counts as three operands, as an argument and as an output, at each use.
TEST(ProgramTest, ListElementsCountAsOperands) {
  TestProgram made;
  TestMethod method = made.AddMethod("forward");
  const uint32_t x = method.Arena(DType::kFloat32, {1}), y = method.Arena(DType::kFloat32, {1});
  const uint32_t out = method.Arena(DType::kFloat32, {1}), list = method.List({x, y});
  method.Call("test.split.default", {out}, {list});
  for (int i = 0; i < 2; ++i) method.Call("test.cat.default", {list}, {out});
  const std::string file = made.Serialize();
  Program::Options options;
  options.limits.operands = 3 * (1 + 3);
  EXPECT_OK(OpenFileBytes(file, options));
  --options.limits.operands;
  EXPECT_THAT(OpenFileBytes(file, options),
              StatusIs(kExhausted, HasSubstr("12 exceeds the limit 'operands' of 11")));
}

TEST(ProgramTest, ArenaPlusStateDoesNotWrap) {
  const std::string file = SampleProgram().Serialize(
      [](schema::Program& program) { program.mutable_methods(0)->set_arena_bytes(~uint64_t{0}); });
  EXPECT_THAT(OpenFileBytes(file), StatusIs(kExhausted, HasSubstr("'reserved_bytes'")));
  TestProgram fixed;
  fixed.AddMethod("forward").Arena(DType::kFloat32, {4});
  const std::string state = fixed.Serialize(
      [](schema::Program& program) { program.mutable_methods(0)->set_state_bytes(~uint64_t{0}); });
  EXPECT_THAT(OpenFileBytes(state), StatusIs(kExhausted, HasSubstr("'arena_bytes'")));
}

// The bounds of dynamic sizes need address space only.
TEST(ProgramTest, LargeArenasOfDynamicSizesAreNotLimitedByArenaBytes) {
  TestProgram dynamic;
  dynamic.AddMethod("forward").Arena(DType::kFloat32, {int64_t{1} << 40}, 1);
  ASSERT_OK_AND_ASSIGN(const Program program, OpenFileBytes(dynamic.Serialize()));
  EXPECT_TRUE(program.methods()[0].reserves_arena);
  TestProgram small;
  small.AddMethod("forward").Arena(DType::kFloat32, {int64_t{1} << 20}, 1);
  ASSERT_OK_AND_ASSIGN(const Program fixed, OpenFileBytes(small.Serialize()));
  EXPECT_FALSE(fixed.methods()[0].reserves_arena);
}

// --- Random damage ---

uint64_t MetadataSize(const std::string& file) {
  uint64_t size = 0;
  for (int i = 7; i >= 0; --i) size = size << 8 | static_cast<uint8_t>(file[16 + i]);
  return size;
}

// Flipped bytes with fixed checksums, so that the damage reaches the validator.
TEST(ProgramTest, SurvivesRandomDamage) {
  const std::string valid = SampleProgram().Serialize();
  std::mt19937_64 random(TestSeed());
  const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  const google::protobuf::LogSilencer quiet;  // it logs strings that are not UTF-8
  int opened = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string file = valid;
    const size_t where = below(4) == 0 ? kHeaderBytes : kHeaderBytes + MetadataSize(file);
    for (size_t flips = 1 + below(4); flips > 0; --flips) {
      file[below(where)] = static_cast<char>(random());
    }
    if (below(20) == 0) file.resize(below(file.size()) + 1);
    if (file.size() >= kHeaderBytes && MetadataSize(file) <= file.size() - kHeaderBytes) {
      FixHeader(file);
    }
    opened += OpenFileBytes(file).ok();
  }
  std::printf("%d of 20000 are valid programs\n", opened);
}

}  // namespace
}  // namespace belay
