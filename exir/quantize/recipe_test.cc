#include "exir/quantize/recipe.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr size_t kLinear = static_cast<size_t>(AnchorKind::kLinear);
constexpr size_t kEmbedding = static_cast<size_t>(AnchorKind::kEmbedding);

TEST(RecipeTest, EveryNameIsARecipe) {
  for (std::string_view name : RecipeNames()) {
    ASSERT_OK_AND_ASSIGN(const Recipe recipe, RecipeByName(name));
    EXPECT_EQ(recipe.name, name);
    EXPECT_FALSE(DescribeRecipe(name).empty());
    EXPECT_EQ(recipe.is_static(), name == "int8-static");
  }
}

TEST(RecipeTest, PlusJoinsRecipes) {
  ASSERT_OK_AND_ASSIGN(const Recipe recipe, RecipeByName("8da4w+embeddings-int8"));
  EXPECT_EQ(recipe.schemes[kLinear].ToString(), "dynamic int8 x int4 in groups of 32");
  EXPECT_EQ(recipe.schemes[kEmbedding].ToString(), "int8 per row");
}

TEST(RecipeTest, RejectsUnknownRecipes) {
  EXPECT_THAT(RecipeByName("int9"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("unknown recipe 'int9'"), HasSubstr("8da4w"))));
  EXPECT_THAT(RecipeByName(""), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(RecipeByName("8da4w+"), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(RecipeTest, RejectsTwoRecipesForOneKind) {
  EXPECT_THAT(RecipeByName("8da4w+weights-int8"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("'8da4w' and 'weights-int8' both quantize linear operators")));
}

TEST(RecipeTest, SameWeightIgnoresActivations) {
  ASSERT_OK_AND_ASSIGN(const Recipe rows, RecipeByName("weights-int8"));
  ASSERT_OK_AND_ASSIGN(const Recipe dynamic, RecipeByName("int8-dynamic"));
  ASSERT_OK_AND_ASSIGN(const Recipe groups, RecipeByName("8da4w"));
  EXPECT_TRUE(HasSameWeight(rows.schemes[kLinear], dynamic.schemes[kLinear]));
  EXPECT_FALSE(HasSameWeight(rows.schemes[kLinear], groups.schemes[kLinear]));
}

}  // namespace
}  // namespace belay::exir
