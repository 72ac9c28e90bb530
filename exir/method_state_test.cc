#include "exir/method_state.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
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
using ::testing::Not;

class MethodStateTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_OK_AND_ASSIGN(ops_, CreateStandardOps()); }

  // Adds a method that adds its input to a buffer of this name and type, and writes the sum back.
  void AddWriter(const std::string& method, const std::string& name,
                 const std::string& type = "f32[2,3]") {
    Add(method, name, type, absl::StrCat("%s buffer_mutation \"", name, "\", "));
  }
  void AddReader(const std::string& method, const std::string& name,
                 const std::string& type = "f32[2,3]", const std::string& kind = "buffer") {
    Add(method, name, type, "", kind);
  }
  void Add(const std::string& method, const std::string& name, const std::string& type,
           const std::string& mutation, const std::string& kind = "buffer") {
    methods_.emplace_back(
        method, ParseOrDie(absl::StrCat("program edge { constants { state \"", name, "\": ", type,
                                        " }\n graph(%c: ", type, " ", kind, " \"", name,
                                        "\", %x: ", type, " user_input) {\n%s: ", type,
                                        " = edge.aten.add.Tensor(%c, %x)\nreturn (", mutation,
                                        "%s user_output) } }"),
                           *ops_));
  }

  std::unique_ptr<OpRegistry> ops_;
  MethodPrograms methods_;
};

TEST_F(MethodStateTest, ReportsMethodsOfEachBuffer) {
  AddWriter("prefill", "cache");
  AddReader("decode", "cache");
  AddWriter("train", "mean", "f32[3]");
  AddReader("forward", "table");
  const std::vector<StateReport> state = StateOf(methods_);
  ASSERT_EQ(state.size(), 2u);
  EXPECT_EQ(state[0].name, "cache");
  EXPECT_EQ(state[0].type, "f32[2,3]");
  EXPECT_EQ(state[0].bytes, 24u);
  EXPECT_THAT(state[0].methods, ElementsAre("prefill", "decode"));
  EXPECT_EQ(state[1].name, "mean");
  EXPECT_THAT(state[1].methods, ElementsAre("train"));
}

TEST_F(MethodStateTest, RejectsReadsOfABufferThatAnotherMethodNamesDifferently) {
  AddWriter("prefill", "lifted_tensor_0");
  AddReader("decode", "key_cache_0");
  EXPECT_EQ(CheckSharedState(methods_),
            absl::InvalidArgumentError(
                "expected methods to share state under equal names, got buffers that only differ "
                "in name: 'decode' only reads 'key_cache_0', 'prefill' writes 'lifted_tensor_0', "
                "both f32[2,3]; give them one name (export all methods with the same `strict=`), "
                "or allow separate state (--allow-separate-state)"));
}

TEST_F(MethodStateTest, AcceptsMethodsThatWriteTheirOwnState) {
  AddWriter("prefill", "lifted_tensor_0");
  AddWriter("decode", "key_cache_0");
  EXPECT_OK(CheckSharedState(methods_));
  ASSERT_EQ(StateOf(methods_).size(), 2u);
  EXPECT_THAT(StateOf(methods_)[0].methods, ElementsAre("decode"));
}

TEST_F(MethodStateTest, AcceptsOtherBuffers) {
  AddWriter("prefill", "cache");
  AddWriter("decode", "cache");                  // shared
  AddReader("vector", "mean", "f32[3]");         // no cache
  AddWriter("count", "number", "f32[3]");        //
  AddReader("other_size", "table", "f32[3,3]");  //
  AddReader("other_type", "half", "f16[2,3]");   //
  AddReader("weights", "w", "f32[2,3]", "parameter");
  EXPECT_OK(CheckSharedState(methods_));
}

TEST_F(MethodStateTest, AcceptsBuffersOfOtherInitialContent) {
  AddWriter("prefill", "cache");
  AddReader("decode", "table");
  std::vector<std::byte> bytes(24, std::byte{1});
  methods_[1].second.state_dict.insert_or_assign(
      "table", *ConstantTensor::Contiguous(DType::kFloat32, {2, 3}, Storage::Own(bytes)));
  EXPECT_OK(CheckSharedState(methods_));
}

// Adds a method that writes state and returns logits of this type for tokens i64[1,7].
MethodPrograms WithLogits(const OpRegistry& ops, const std::string& logits,
                          const std::string& mutation = "%s buffer_mutation \"c\", ") {
  MethodPrograms methods;
  methods.emplace_back(
      "prefill",
      ParseOrDie(
          absl::StrCat("program edge { constants { state \"c\": f32[2,3] }\n graph(%c: "
                       "f32[2,3] buffer \"c\", %x: f32[2,3] user_input, %t: i64[1,7] "
                       "user_input, %l: ",
                       logits,
                       " user_input) {\n%s: f32[2,3] = edge.aten.add.Tensor(%c, %x)\n%y: ", logits,
                       " = edge.aten.neg.default(%l)\nreturn (", mutation, "%y user_output) } }"),
          ops));
  return methods;
}

TEST_F(MethodStateTest, NotesLogitsOfAllTokens) {
  const auto notes = [&](const std::string& logits,
                         const std::string& mutation = "%s buffer_mutation \"c\", ") {
    return NotesOnLogits(WithLogits(*ops_, logits, mutation));
  };
  EXPECT_THAT(
      notes("f32[1,7,2048]"),
      ElementsAre(HasSubstr("method 'prefill' returns logits of all tokens, "
                            "f32[1,7,2048]; generation uses only those of the last token")));
  EXPECT_THAT(notes("f32[1,1,2048]"), ElementsAre());
  EXPECT_THAT(notes("f32[1,7,64]"), ElementsAre());
  EXPECT_THAT(notes("f32[1,6,2048]"), ElementsAre());
  EXPECT_THAT(notes("i64[1,7,2048]"), ElementsAre());
  EXPECT_THAT(notes("f32[1,7,2048]", ""), ElementsAre());  // without state
}

TEST_F(MethodStateTest, ListsFourPairs) {
  AddWriter("prefill", "cache");
  for (int i = 0; i < 6; ++i) AddReader(absl::StrCat("m", i), absl::StrCat("b", i));
  EXPECT_THAT(CheckSharedState(methods_).message(),
              AllOf(HasSubstr("'m3' only reads 'b3'"), HasSubstr("; and 2 more; give"),
                    Not(HasSubstr("'m4'"))));
}

TEST_F(MethodStateTest, LoweringRejectsUnlessAllowed) {
  AddWriter("prefill", "lifted_tensor_0");
  AddReader("decode", "key_cache_0");
  const auto copies = [&] {
    MethodPrograms copied;
    for (const auto& [name, program] : methods_) copied.emplace_back(name, program.Clone());
    return copied;
  };
  EXPECT_EQ(LowerPrograms(copies(), {}).status().code(), absl::StatusCode::kInvalidArgument);
  PipelineOptions options;
  options.allow_separate_state = true;
  PipelineReport report;
  EXPECT_OK(LowerPrograms(copies(), options, &report).status());
  ASSERT_EQ(report.state.size(), 1u);
  EXPECT_EQ(report.state[0].name, "lifted_tensor_0");
  EXPECT_THAT(report.state[0].methods, ElementsAre("prefill"));
}

}  // namespace
}  // namespace belay::exir
