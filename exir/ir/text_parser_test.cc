#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "exir/ir/lowered_backend_module.h"
#include "exir/ir/text.h"
#include "exir/testing/programs.h"
#include "exir/testing/round_trip.h"
#include "exir/testing/test_ops.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/str_cat.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

using ::testing::HasSubstr;

constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;

ExportedProgram WithBody(std::string_view body) {
  return ParseOrDie(
      absl::StrCat("program aten { graph(%x: f32[2,s0] user_input, ", "%y: f32[2,3] user_input) {",
                   body, "\nreturn (%x user_output) } }"),
      TestOps());
}

TEST(ParseProgram, ConstantsUseNoMemory) {
  EXPECT_OK(ParseProgram("program aten { constants { state \"a\": f32[1099511627776,0] } "
                         "graph() { return () } }",
                         TestOps())
                .status());
}

TEST(ParseProgram, SharesProvenanceStrings) {
  const ExportedProgram program = WithBody(
      "%a: f32[] = zoo.op.default()  @\"f.py\":1 module=\"m\"\n%b: f32[] = zoo.op.default()  "
      "@\"f.py\":2 module=\"m\"");
  const Graph& top = program.top();
  EXPECT_EQ(top.node(top.first()).provenance.file, top.node(top.last()).provenance.file);
  EXPECT_EQ(top.node(top.first()).provenance.module, top.node(top.last()).provenance.module);
}

TEST(ParseProgram, LimitsNesting) {
  const auto nested = [](int depth) {
    return absl::StrCat("program aten { graph() { %y: f32[] = zoo.op.default(",
                        std::string(depth, '['), std::string(depth, ']'), ") return () } }");
  };
  EXPECT_OK(ParseProgram(nested(64), TestOps()));
  EXPECT_THAT(ParseProgram(nested(66), TestOps()), StatusIs(kInvalid, HasSubstr("deeper than 64")));
  EXPECT_THAT(ParseProgram(nested(1000000), TestOps()), StatusIs(kInvalid));
  std::string programs;
  for (int i = 0; i < 100000; ++i) programs += "program aten { module#0 backend \"\" specs [] { ";
  EXPECT_THAT(ParseProgram(programs, TestOps()), StatusIs(kInvalid, HasSubstr("deeper than 16")));
}

TEST(ParseProgram, IsLinear) {
  // Each of these finishes quickly unless a step is linear in the preceding text.
  std::string wide = "program aten { graph(%x: f32[2] user_input) {\n";
  for (int i = 0; i < 50000; ++i)
    absl::StrAppend(&wide, "%a", i, ": f32[2] = aten.relu.default(%x)\n");
  wide += "return () } }";
  ASSERT_OK_AND_ASSIGN(const ExportedProgram program, ParseProgram(wide, TestOps()));
  EXPECT_EQ(program.top().num_nodes(), 50000);
  ExpectRoundTrip(program);
  EXPECT_THAT(ParseProgram(std::string(1 << 22, '['), TestOps()), StatusIs(kInvalid));
  EXPECT_THAT(ParseProgram(absl::StrCat("program aten { graph(%x: f32[", std::string(1 << 22, '(')),
                           TestOps()),
              StatusIs(kInvalid));
  std::string constants = "program aten { constants {";
  for (int i = 0; i < 50000; ++i) absl::StrAppend(&constants, " state \"", i, "\": f32[2]");
  constants += " } graph() { return () } }";
  EXPECT_OK(ParseProgram(constants, TestOps()));
}

TEST(ParseProgram, SurvivesDamagedText) {
  ExportedProgram program = WithBody(R"(
    %a: f32[FloorDiv(s0, 2),3]{strides=[1,2],device=cuda:0} = zoo.op.default(k=%x, [1,2.5,(1+2j)], {"k": none})  @"f":1
    %b: f32[], [%c: i64[u0], %d: bf16[]], none = aten.cat.default([%y,%a], dim=1) name="n" handle=3
    %e: f32[2] = higher_order.cond(true, graph#0, dtype:f32, device:cpu))");
  program.hints["s0"] = 3;
  program.ranges["s0"] = {};
  ASSERT_OK_AND_ASSIGN(ConstantTensor w,
                       ConstantTensor::Contiguous(DType::kFloat32, {2}, *Storage::Zeros(8)));
  program.state_dict.emplace("w", w);
  auto module = std::make_shared<LoweredBackendModule>("b", program.Clone());
  module->processed = Storage::Own(std::vector<std::byte>(5));
  program.lowered_modules.push_back(std::move(module));
  const std::string text = PrintProgram(program);
  ExpectRoundTrip(program);
  std::mt19937 random(TestSeed());
  const std::string alphabet = "%[](){}\"\\,:=#@ 09.-+einfs\n";
  int parsed = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string damaged = text;
    for (size_t n = random() % 3 + 1; n > 0 && !damaged.empty(); --n) {
      const size_t place = random() % damaged.size();
      switch (random() % 4) {
        case 0:
          damaged[place] = alphabet[random() % alphabet.size()];
          break;
        case 1:
          damaged.erase(place, random() % 8);
          break;
        case 2:
          damaged.insert(place, damaged.substr(random() % damaged.size(), random() % 20));
          break;
        default:
          damaged.resize(place + 1);
      }
    }
    const absl::StatusOr<ExportedProgram> result = ParseProgram(damaged, TestOps());
    if (!result.ok()) {
      EXPECT_EQ(result.status().code(), kInvalid) << result.status() << damaged;
      continue;
    }
    ++parsed;
    ExpectRoundTrip(*result);
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(parsed, 0);
}

TEST(ParseProgram, UsesGivenStorages) {
  const Storage given[] = {Storage::Own(std::vector<std::byte>(8, std::byte{1})),
                           Storage::Own(std::vector<std::byte>(16, std::byte{2}))};
  const std::string_view text = R"(program aten {
    constants { state "a": f32[2] storage#0 state "b": f32[1] shares state "a" constant "c": i8[16] storage#1 }
    graph() { return () }
    module#0 backend "b" specs [] { blob storage#1 buffer storage#0 program edge { graph() { return () } } }
  })";
  ASSERT_OK_AND_ASSIGN(const ExportedProgram program, ParseProgram(text, TestOps(), given));
  EXPECT_EQ(program.state_dict.at("a").storage().bytes.data(), given[0].bytes.data());
  EXPECT_EQ(program.state_dict.at("b").storage().bytes.data(), given[0].bytes.data());
  EXPECT_EQ(program.constants.at("c").storage().bytes.data(), given[1].bytes.data());
  const LoweredBackendModule& module = *program.lowered_modules[ModuleId(0)];
  EXPECT_EQ(module.processed.bytes.data(), given[1].bytes.data());
  EXPECT_EQ(module.named_data.buffers[0].bytes.data(), given[0].bytes.data());
  // Printed with a list, which then contains all bytes.
  std::vector<Storage> storages;
  const std::string printed = PrintProgram(program, &storages);
  EXPECT_EQ(storages.size(), 2);
  ASSERT_OK_AND_ASSIGN(const ExportedProgram again, ParseProgram(printed, TestOps(), storages));
  EXPECT_TRUE(Equal(program, again));
  EXPECT_EQ(again.constants.at("c").storage().bytes.data(), given[1].bytes.data());
  EXPECT_THAT(ParseProgram(text, TestOps(), absl::MakeConstSpan(given, 1)),
              StatusIs(kInvalid, HasSubstr("unknown storage#1; the text has 1")));
  // A storage that is too small is rejected.
  EXPECT_THAT(ParseProgram("program aten { constants { state \"a\": f32[3] storage#0 } graph() { "
                           "return () } }",
                           TestOps(), given),
              StatusIs(kInvalid, HasSubstr("line 1, column 28: ")));
}

TEST(ParseProgramTest, ErrorsShowControlCharactersAsText) {
  EXPECT_THAT(ParseProgram("program \x1b[2J {}", TestOps()),
              StatusIs(kInvalid, HasSubstr("\\x1b")));
}

}  // namespace
}  // namespace belay::exir
