#include "runtime/llm/ngram_draft.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace belay::llm {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(NgramDraftTest, ContinuesTheLastOccurrenceOfThreeTokens) {
  const std::vector<int32_t> tokens = {1, 2, 3, 4, 1, 2, 3, 5, 6, 1, 2, 3};
  EXPECT_THAT(NgramDraft(tokens, 2), ElementsAre(5, 6));
  EXPECT_THAT(NgramDraft(tokens, 100), ElementsAre(5, 6, 1, 2, 3));
}

TEST(NgramDraftTest, PrefersThreeTokensToTwo) {
  EXPECT_THAT(NgramDraft({1, 2, 3, 7, 9, 2, 3, 8, 1, 2, 3}, 1), ElementsAre(7));
  EXPECT_THAT(NgramDraft({1, 2, 3, 7, 9, 2, 3}, 1), ElementsAre(7));
}

TEST(NgramDraftTest, OccurrencesMayOverlapTheEnd) {
  EXPECT_THAT(NgramDraft({4, 4, 4, 4}, 3), ElementsAre(4));
  EXPECT_THAT(NgramDraft({4, 4, 4}, 3), ElementsAre(4));
}

TEST(NgramDraftTest, IsEmptyWithoutAnOccurrence) {
  EXPECT_THAT(NgramDraft({}, 4), IsEmpty());
  EXPECT_THAT(NgramDraft({1}, 4), IsEmpty());
  EXPECT_THAT(NgramDraft({1, 2, 3, 4}, 4), IsEmpty());
  EXPECT_THAT(NgramDraft({3, 3, 3}, 0), IsEmpty());
  EXPECT_THAT(NgramDraft({3, 3, 3}, -1), IsEmpty());
}

}  // namespace
}  // namespace belay::llm
