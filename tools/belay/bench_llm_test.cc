#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "runtime/core/test_in_directory.h"
#include "tools/belay/captured_outcome.h"
#include "tools/belay/command.h"

namespace belay::tools {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;

// A model of 96 tokens and 16 positions.
class BenchLlmTest : public TestInDirectory {
 protected:
  void SetUp() override {
    TestInDirectory::SetUp();
    LowerOptions options;
    options.output = Path("m.belay");
    options.methods = {"prefill=conformance/models/zoo/llama_kv_prefill/model.pt2",
                       "decode=conformance/models/zoo/llama_kv_decode/model.pt2"};
    ASSERT_EQ(Capture([&] { return Lower(options); }).status, kDone);
  }
  Outcome Run(BenchOptions options) {
    options.program = Path("m.belay");
    options.llm = true;
    options.repetitions = 2;
    return Capture([&] { return Bench(options); });
  }
};

TEST_F(BenchLlmTest, PrintsARowPerTest) {
  const Outcome outcome = Run({.pp = "4,8", .tg = "3", .depth = "0,5"});
  ASSERT_EQ(outcome.status, kDone) << outcome.errors;
  EXPECT_THAT(outcome.output, HasSubstr("| model | size | threads | test | t/s |"));
  for (const char* test : {"pp4", "pp8", "tg3", "pp4 @ d5", "pp8 @ d5", "tg3 @ d5"}) {
    EXPECT_THAT(outcome.output, ContainsRegex(std::string("m.belay .* MiB . 1 . ") + test +
                                              " . [0-9.]+ ± [0-9.]+ "));
  }
}

TEST_F(BenchLlmTest, JsonHasTheKeysOfLlamaBench) {
  const Outcome outcome = Run({.json = true, .pp = "0", .tg = "3", .depth = "5"});
  ASSERT_EQ(outcome.status, kDone) << outcome.errors;
  const nlohmann::json rows = nlohmann::json::parse(outcome.output);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0]["n_prompt"], 0);
  EXPECT_EQ(rows[0]["n_gen"], 3);
  EXPECT_EQ(rows[0]["n_depth"], 5);
  EXPECT_EQ(rows[0]["samples_ts"].size(), 2u);
  EXPECT_GT(rows[0]["avg_ts"], 0);
  EXPECT_GT(rows[0]["model_size"], 1000);
}

TEST_F(BenchLlmTest, RejectsMalformedLists) {
  EXPECT_THAT(Run({.pp = "a"}).errors, HasSubstr("--pp: expected integers"));
  EXPECT_THAT(Run({.tg = "-1"}).errors, HasSubstr("--tg: expected integers"));
  EXPECT_THAT(Run({.depth = ""}).errors, HasSubstr("--depth: expected integers"));
  EXPECT_THAT(Run({.pp = "0", .tg = "0"}).errors, HasSubstr("in --pp or --tg"));
}

TEST_F(BenchLlmTest, RejectsTestsLongerThanTheContext) {
  EXPECT_NE(Run({.pp = "17", .tg = "0"}).status, kDone);
  EXPECT_NE(Run({.pp = "0", .tg = "17"}).status, kDone);
}

}  // namespace
}  // namespace belay::tools
