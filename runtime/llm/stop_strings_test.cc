#include "runtime/llm/stop_strings.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::llm {
namespace {

using ::testing::ElementsAre;

class StopStringsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(tokenizer_, Tokenizer::FromJson(R"({"model":{"type":"WordLevel","vocab":
        {"a":0,"b":1,"ab":2,"\n":3,"END":4}},"decoder":{"type":"Fuse"}})"));
  }
  // Returns the results of Push for each token, then that of Finish.
  std::vector<std::string> Pushed(std::vector<std::string> strings,
                                  const std::vector<int32_t>& tokens) {
    absl::StatusOr<StopStrings> stop = StopStrings::Create(&*tokenizer_, std::move(strings));
    EXPECT_OK(stop.status());
    std::vector<std::string> results;
    for (int32_t token : tokens) results.push_back(*stop->Push(token));
    results.push_back(*stop->Finish());
    stopped_ = stop->stopped();
    return results;
  }

  absl::StatusOr<Tokenizer> tokenizer_ = absl::UnknownError("");
  bool stopped_ = false;
};

TEST_F(StopStringsTest, HoldsBackStartsOfStopStrings) {
  EXPECT_THAT(Pushed({"aab"}, {0, 0, 0, 1, 0}), ElementsAre("", "", "a", "", "", ""));
  EXPECT_TRUE(stopped_);
  EXPECT_THAT(Pushed({"aab"}, {0, 0, 4, 0}), ElementsAre("", "", "aaEND", "", "a"));
  EXPECT_FALSE(stopped_);
}

TEST_F(StopStringsTest, StopsAtTheFirstOfSeveral) {
  EXPECT_THAT(Pushed({"b", "ab"}, {2}), ElementsAre("", ""));
  EXPECT_THAT(Pushed({"\n", "D"}, {1, 4}), ElementsAre("b", "EN", ""));
}

TEST_F(StopStringsTest, WithoutStringsAllTextIsCertain) {
  EXPECT_THAT(Pushed({}, {0, 4}), ElementsAre("a", "END", ""));
}

TEST_F(StopStringsTest, WithoutATokenizerThereIsNoText) {
  ASSERT_OK_AND_ASSIGN(StopStrings stop, StopStrings::Create(nullptr, {}));
  EXPECT_EQ(*stop.Push(3), "");
  EXPECT_EQ(*stop.Finish(), "");
}

TEST_F(StopStringsTest, RejectsEmptyStringsAndMissingTokenizers) {
  EXPECT_THAT(StopStrings::Create(&*tokenizer_, {""}),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(StopStrings::Create(nullptr, {"x"}), StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace belay::llm
