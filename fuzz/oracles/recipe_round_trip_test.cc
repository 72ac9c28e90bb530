#include "fuzz/oracles/recipe_round_trip.h"

#include <string>
#include <string_view>

#include "exir/quantize/recipe_file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::fuzz {
namespace {

using ::testing::HasSubstr;

TEST(RecipeRoundTripTest, HoldsForRecipesOfAllKinds) {
  for (const std::string_view name : exir::RecipeNames()) {
    ASSERT_OK_AND_ASSIGN(const exir::Recipe recipe, exir::RecipeByName(name));
    EXPECT_OK(CheckRoundTrip(recipe)) << name;
  }
  for (const std::string_view text :
       {R"({"recipe": "weights-int4+embeddings-int4", "group_size": 64, "symmetric": false})",
        R"({"recipe": "8da4w+embeddings-int8", "scale": "squared-error",
               "error_feedback": true, "activation_scaling": true})",
        R"({"recipe": "int8-static", "observer": "percentile", "percentile": 99.9,
               "bias_correction": false, "equalization": "all", "quantize_io": true})",
        R"({"recipe": "int8-static", "observer": "histogram", "equalization": "none",
               "tables": false})",
        R"({"rules": [{"op": "linear", "module": "\u0001é*", "node": "\"", "recipe": "none"},
                         {"node": "?", "recipe": "8da4w", "group_size": 128}]})"}) {
    ASSERT_OK_AND_ASSIGN(const exir::Recipe recipe, exir::ParseRecipe(text, "r.json"));
    EXPECT_OK(CheckRoundTrip(recipe)) << text;
  }
}

TEST(RecipeRoundTripTest, PrintsOnlyWhatDiffers) {
  ASSERT_OK_AND_ASSIGN(const exir::Recipe recipe,
                       exir::ParseRecipe(R"({"recipe": "8da4w", "group_size": 32, "symmetric": true,
                            "error_feedback": false, "rules": []})",
                                         "r.json"));
  ASSERT_OK_AND_ASSIGN(const std::string printed, PrintRecipe(recipe));
  EXPECT_EQ(printed, R"({"recipe":"none+8da4w"})");
}

TEST(RecipeRoundTripTest, DetectsRecipesThatNoFileHas) {
  ASSERT_OK_AND_ASSIGN(exir::Recipe recipe, exir::RecipeByName("weights-int4"));
  recipe.schemes[0].rows.group_size = 48;
  EXPECT_THAT(CheckRoundTrip(recipe),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("expected 32, 64, 128 or 256")));
  recipe.schemes[0].rows.group_size = 32;
  recipe.schemes[0].rows.range = {-7, 7};
  EXPECT_THAT(CheckRoundTrip(recipe),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("expected the recipe")));
  recipe.schemes[1].activation = exir::ActivationNumbers::kStaticInt8;
  EXPECT_THAT(CheckRoundTrip(recipe),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("no recipe has the schemes int4")));
}

}  // namespace
}  // namespace belay::fuzz
