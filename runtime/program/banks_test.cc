#include <ostream>
#include <string>

#include "runtime/core/testing.h"
#include "runtime/executor/testing/program_builder.h"
#include "runtime/program/program_validator.h"

namespace belay {
namespace {

using ::testing::HasSubstr;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

// Two banks of 128 bytes with two tensors f32[16] each.
TestProgram TwoBanks() {
  TestProgram program;
  TestMethod method = program.AddMethod("forward");
  for (int i = 0; i < 4; ++i) method.Arena(DType::kFloat32, {16});
  method.Bank("fast", 128);
  method.Bank("slow", 128, 128);
  method.proto().mutable_values(3)->mutable_tensor()->set_arena_offset(128);
  return program;
}

TEST(BanksTest, PlanHasConsecutiveBanks) {
  ASSERT_OK_AND_ASSIGN(const Program program, OpenFileBytes(TwoBanks().Serialize()));
  const MethodPlan& plan = program.methods()[0];
  ASSERT_EQ(plan.banks.size(), 2u);
  EXPECT_EQ(plan.banks[0].name, "fast");
  EXPECT_EQ(plan.banks[0].begin, 0u);
  EXPECT_EQ(plan.banks[0].bytes, 128u);
  EXPECT_EQ(plan.banks[0].alignment, 64u);
  EXPECT_EQ(plan.banks[1].name, "slow");
  EXPECT_EQ(plan.banks[1].begin, 128u);
  EXPECT_EQ(plan.banks[1].bytes, 128u);
  EXPECT_EQ(plan.banks[1].alignment, 128u);
  EXPECT_EQ(BankAt(plan.banks, 0), 0u);
  EXPECT_EQ(BankAt(plan.banks, 127), 0u);
  EXPECT_EQ(BankAt(plan.banks, 128), 1u);
  EXPECT_EQ(BankAt(plan.banks, 4096), 1u);
}

TEST(BanksTest, ArenaWithoutBanksIsOneUnnamedBank) {
  TestProgram program;
  program.AddMethod("forward").Arena(DType::kFloat32, {3});
  ASSERT_OK_AND_ASSIGN(const Program opened, OpenFileBytes(program.Serialize()));
  const MethodPlan& plan = opened.methods()[0];
  ASSERT_EQ(plan.banks.size(), 1u);
  EXPECT_EQ(plan.banks[0].name, "");
  EXPECT_EQ(plan.banks[0].begin, 0u);
  EXPECT_EQ(plan.banks[0].bytes, plan.arena_bytes);
  EXPECT_EQ(plan.banks[0].alignment, 64u);
}

TEST(BanksTest, BanksMayBeEmpty) {
  ASSERT_OK_AND_ASSIGN(const Program program,
                       OpenFileBytes(TwoBanks().Serialize([](schema::Program& p) {
                         schema::Method& method = *p.mutable_methods(0);
                         method.mutable_banks(0)->set_bytes(0);
                         method.mutable_banks(1)->set_bytes(256);
                         method.mutable_values(1)->mutable_tensor()->set_arena_offset(0);
                       })));
  EXPECT_EQ(BankAt(program.methods()[0].banks, 0), 1u);
}

// The bounds of all sizes are in the bank, so no address space is reserved.
TEST(BanksTest, NamedBankOfDynamicSizesCountsByItsBounds) {
  for (const bool named : {false, true}) {
    TestProgram program;
    TestMethod method = program.AddMethod("forward");
    method.Arena(DType::kFloat32, {16 << 20}, /*dynamic_dims=*/1);
    if (named) method.Bank("fast", uint64_t{64} << 20);
    ASSERT_OK_AND_ASSIGN(const Program opened, OpenFileBytes(program.Serialize()));
    EXPECT_EQ(opened.methods()[0].reserves_arena, !named);
    Program::Options options;
    options.limits.arena_bytes = 1 << 20;
    const absl::Status status = OpenFileBytes(program.Serialize(), options).status();
    EXPECT_EQ(status.code(), named ? absl::StatusCode::kResourceExhausted : absl::StatusCode::kOk);
  }
}

struct RuleCase {
  const char* name;
  void (*edit)(schema::Method& method);
  absl::StatusCode code;
  const char* message;
};
void PrintTo(const RuleCase& c, std::ostream* out) { *out << c.name; }

#define EDIT(...) [](schema::Method& method) { __VA_ARGS__; }

const RuleCase kRuleCases[] = {
    {"NameEmpty", EDIT(method.mutable_banks(1)->clear_name()), kInvalid,
     "methods[0].banks[1].name: is empty"},
    {"NameRepeated", EDIT(method.mutable_banks(1)->set_name("fast")), kInvalid,
     "methods[0].banks[1].name: 'fast' is the name of an earlier bank"},
    {"SizeMisaligned", EDIT(method.mutable_banks(0)->set_bytes(100)), kInvalid,
     "methods[0].banks[0].bytes: expected a multiple of 64 of at most 256, the rest of the arena, "
     "got 100"},
    {"SizeAboveArena", EDIT(method.mutable_banks(0)->set_bytes(320)), kInvalid,
     "methods[0].banks[0].bytes: expected a multiple of 64 of at most 256"},
    {"SizesWrap", EDIT(method.mutable_banks(1)->set_bytes(~uint64_t{0} - 63)), kInvalid,
     "methods[0].banks[1].bytes: expected a multiple of 64 of at most 128"},
    {"SizesBelowArena", EDIT(method.mutable_banks(1)->set_bytes(64)), kInvalid,
     "methods[0].banks: have 192 bytes, the arena 256"},
    {"AlignmentZero", EDIT(method.mutable_banks(0)->clear_alignment()), kInvalid,
     "methods[0].banks[0].alignment: expected a power of two from 64 to 1073741824, got 0"},
    {"AlignmentNoPower", EDIT(method.mutable_banks(0)->set_alignment(192)), kInvalid,
     "methods[0].banks[0].alignment: expected a power of two from 64 to 1073741824, got 192"},
    {"AlignmentSmall", EDIT(method.mutable_banks(0)->set_alignment(32)), kInvalid,
     "methods[0].banks[0].alignment"},
    {"AlignmentLarge", EDIT(method.mutable_banks(0)->set_alignment(uint64_t{1} << 31)), kInvalid,
     "methods[0].banks[0].alignment"},
    {"TooMany", EDIT(for (int i = 0; i < 15; ++i) * method.add_banks() = method.banks(0)), kInvalid,
     "methods[0].banks: expected at most 16 banks, got 17"},
    {"Malformed",
     EDIT(method.mutable_banks(0)->clear_bytes();
          ASSERT_TRUE(method.mutable_banks(0)->MergeFromString(
              std::string("\x12\0", 2)))),  // a bytes field as size
     absl::StatusCode::kDataLoss, "methods[0].banks[0], field 2: it has another wire type"},
    {"TensorAcrossBanks", EDIT(method.mutable_values(1)->mutable_tensor()->set_sizes(0, 17)),
     kInvalid,
     "methods[0].values[1].tensor.arena_offset: 68 bytes at 64 are not inside the 128 bytes of "
     "bank 'fast'"},
    {"TensorMisalignedInBank",
     EDIT(method.mutable_values(3)->mutable_tensor()->set_arena_offset(192)), kInvalid,
     "methods[0].values[3].tensor.arena_offset: 64 is not a multiple of 128"},
    {"TensorAboveArena", EDIT(method.mutable_values(3)->mutable_tensor()->set_arena_offset(256)),
     kInvalid,
     "methods[0].values[3].tensor.arena_offset: 64 bytes at 128 are not inside the 128 bytes of "
     "bank 'slow'"},
};

class BankRuleTest : public ::testing::TestWithParam<RuleCase> {};

TEST_P(BankRuleTest, IsRejected) {
  const std::string file = TwoBanks().Serialize(
      [](schema::Program& program) { GetParam().edit(*program.mutable_methods(0)); });
  EXPECT_THAT(OpenFileBytes(file), StatusIs(GetParam().code, HasSubstr(GetParam().message)));
}

INSTANTIATE_TEST_SUITE_P(, BankRuleTest, ::testing::ValuesIn(kRuleCases),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace belay
