#include "exir/constant_rules.h"

#include <string>
#include <string_view>
#include <vector>

#include "exir/compare/call.h"
#include "exir/ops/standard_ops.h"
#include "exir/pipeline.h"
#include "exir/testing/programs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const OpRegistry& Ops() {
  static const OpRegistry& ops = *CreateStandardOps()->release();
  return ops;
}

constexpr char kTwoLayers[] = R"(program aten {
  constants { state "layers.0.w": f32[4,4] state "layers.1.w": f32[4,4] state "lora.a": f32[4,4] }
  graph(%w0: f32[4,4] parameter "layers.0.w", %w1: f32[4,4] parameter "layers.1.w",
        %a: f32[4,4] parameter "lora.a", %x: f32[2,4] user_input) {
    %y: f32[2,4] = aten.mm.default(%x, %w0)
    %z: f32[2,4] = aten.mm.default(%y, %w1)
    %t: f32[4,4]{strides=[1,4]} = aten.permute.default(%a, [1,0])
    %v: f32[2,4] = aten.mm.default(%z, %t)
    return (%v user_output) } })";

MethodPrograms Programs(std::string_view text = kTwoLayers) {
  MethodPrograms programs;
  programs.emplace_back("forward", ParseOrDie(text, Ops()));
  return programs;
}

TEST(ConstantRulesTest, FirstMatchingRuleChoosesTheFile) {
  MethodPrograms programs = Programs();
  ASSERT_OK(ApplyConstantRules(
      {.files = {{"layers.0.*", "first"}, {"layers.*", "rest"}}, .replaceable = {"lora*"}},
      programs));
  const std::vector<InputSpec>& inputs = programs[0].second.signature.inputs;
  EXPECT_EQ(inputs[0].file, "first");
  EXPECT_EQ(inputs[1].file, "rest");
  EXPECT_EQ(inputs[2].file, "");
  EXPECT_TRUE(inputs[2].replaceable);
  EXPECT_FALSE(inputs[0].replaceable);
}

TEST(ConstantRulesTest, PatternsMatchNamesOfInputs) {
  MethodPrograms programs = Programs();
  ASSERT_OK(ApplyConstantRules({.files = {{"w1", "file"}}, .replaceable = {}}, programs));
  EXPECT_EQ(programs[0].second.signature.inputs[1].file, "file");
}

TEST(ConstantRulesTest, UnusedPatternsListTheNames) {
  MethodPrograms programs = Programs();
  for (const ConstantRules& rules : {ConstantRules{.files = {{"head.*", "f"}}, .replaceable = {}},
                                     ConstantRules{.files = {}, .replaceable = {"head.*"}}}) {
    EXPECT_THAT(ApplyConstantRules(rules, programs),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("a name like 'head.*'"),
                               HasSubstr("layers.0.w, layers.1.w, lora.a"))));
  }
}

TEST(ConstantRulesTest, RejectsReplaceableState) {
  MethodPrograms programs = Programs(R"(program aten {
    constants { state "n": f32[2] }
    graph(%n: f32[2] buffer "n", %x: f32[2] user_input) {
      %s: f32[2] = aten.add.Tensor(%n, %x)
      return (%s buffer_mutation "n", %s user_output) } })");
  EXPECT_THAT(ApplyConstantRules({.files = {}, .replaceable = {"n"}}, programs),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("tensor 'n' can't be replaceable: the program writes to it")));
}

// Without the mark, the transposed weight would be folded.
TEST(ConstantRulesTest, ReplaceableTensorsAreNamedDataAndNotFolded) {
  PipelineOptions options;
  options.constants.replaceable = {"lora.*"};
  options.fold_budget = uint64_t{1} << 30;
  ASSERT_OK_AND_ASSIGN(const ProgramImage image, LowerPrograms(Programs(), options));
  ASSERT_EQ(image.metadata.named_data_size(), 1);
  const schema::NamedData& data = image.metadata.named_data(0);
  EXPECT_EQ(data.key(), "lora.a");
  EXPECT_TRUE(data.replaceable());
  EXPECT_THAT(data.layout().sizes(), ElementsAre(4, 4));
  EXPECT_EQ(data.size(), 64u);
  EXPECT_EQ(data.alignment(), 64u);
  bool found = false;
  for (const schema::Constant& constant : image.metadata.constants()) {
    found |= constant.named_data() == "lora.a" && constant.size() == 64;
  }
  EXPECT_TRUE(found);
  EXPECT_THAT(image.metadata.required_features(), ElementsAre("named_constants"));
  ASSERT_OK_AND_ASSIGN(const Program program, OpenImage(image));
  EXPECT_TRUE(program.named_data()[0].replaceable);
}

TEST(ConstantRulesTest, ConstantsByRuleHaveTheirOwnSegments) {
  PipelineOptions options;
  options.constants.files = {{"layers.0.*", "first"}, {"lora.*", "second"}};
  ASSERT_OK_AND_ASSIGN(const ProgramImage image, LowerPrograms(Programs(), options));
  std::vector<std::string> companions;
  for (const auto& segment : image.segments) companions.push_back(segment.companion);
  // The folded transpose of "lora.a" is stored where "lora.a" would be.
  EXPECT_THAT(companions, ::testing::UnorderedElementsAre("", "first", "second"));
}

TEST(ConstantRulesTest, ReplaceableTensorsOfAllMethods) {
  MethodPrograms programs = Programs();
  EXPECT_THAT(ReplaceableTensors(programs).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no replaceable tensors")));
  ASSERT_OK(ApplyConstantRules({.files = {}, .replaceable = {"l*"}}, programs));
  ASSERT_OK_AND_ASSIGN(const NamedDataOutput data, ReplaceableTensors(programs));
  EXPECT_EQ(data.program_data.size(), 3u);
  EXPECT_TRUE(data.program_data.at("lora.a").replaceable);
}

}  // namespace
}  // namespace belay::exir
