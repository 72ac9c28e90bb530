#include "exir/quantize/recipe_file.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/test_in_directory.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr size_t kLinear = static_cast<size_t>(AnchorKind::kLinear);

class RecipeFileTest : public TestInDirectory {};

TEST_F(RecipeFileTest, ReadsAllKeys) {
  ASSERT_OK_AND_ASSIGN(const Recipe recipe, ParseRecipe(R"({
    "recipe": "weights-int4", "group_size": 64, "symmetric": false, "scale": "range",
    "error_feedback": true, "activation_scaling": true, "bias_correction": false, "quantize_io": true,
    "observer": "percentile", "percentile": 99.5,
    "rules": [{"module": "lm_head", "recipe": "weights-int8"},
              {"op": "linear", "node": "addmm_*", "recipe": "none"}]})",
                                                        "my.json"));
  EXPECT_EQ(recipe.name, "my.json");
  EXPECT_EQ(recipe.schemes[kLinear].ToString(),
            "int4 in groups of 64, asymmetric, activation scaling, error feedback");
  EXPECT_TRUE(recipe.needs_calibration());
  EXPECT_FALSE(recipe.bias_correction);
  EXPECT_TRUE(recipe.quantize_io);
  EXPECT_EQ(recipe.schemes[kLinear].rows.search, ScaleSearch::kRange);
  EXPECT_EQ(recipe.observer, ObserverKind::kPercentile);
  EXPECT_EQ(recipe.percentile, 99.5);
  ASSERT_EQ(recipe.rules.size(), 2);
  EXPECT_EQ(recipe.rules[0].ToString(), "module 'lm_head'");
  EXPECT_EQ(recipe.rules[0].schemes[kLinear].ToString(), "int8 per row");
  EXPECT_EQ(recipe.rules[1].ToString(), "op 'linear', node 'addmm_*'");
  EXPECT_FALSE(recipe.rules[1].schemes[kLinear].quantizes());
}

TEST_F(RecipeFileTest, ReportsAllErrorsAtOnce) {
  EXPECT_THAT(
      ParseRecipe(R"({"recipe": "int9", "bits": 4, "observer": "max", "percentile": 3,
                      "group_size": 33, "symmetric": 1, "scale": 2, "error_feedback": "yes",
                      "bias_correction": 1, "quantize_io": 0, "activation_scaling": 2,
                      "equalization": true, "tables": "none",
                      "rules": [{"recipe": "none"}, {"op": ""}, 7]})",
                  "bad.json"),
      StatusIs(
          absl::StatusCode::kInvalidArgument,
          AllOf(HasSubstr("bad.json: recipe: unknown recipe 'int9'"),
                HasSubstr("bits: unknown key; the keys are: recipe,"),
                HasSubstr(
                    "observer: expected one of min-max, moving-average, histogram, least-error, "
                    "percentile, found 'max'"),
                HasSubstr("percentile: expected a number above 50"),
                HasSubstr("group_size: expected 32, 64, 128 or 256"),
                HasSubstr("symmetric: expected a boolean"),
                HasSubstr("error_feedback: expected a boolean"),
                HasSubstr("activation_scaling: expected a boolean"),
                HasSubstr("equalization: expected a string"),
                HasSubstr("bias_correction: expected a boolean"),
                HasSubstr("quantize_io: expected a boolean"),
                HasSubstr("tables: expected a boolean"), HasSubstr("scale: expected a string"),
                HasSubstr("rules[0]: expected \"op\", \"module\" or \"node\", found none"),
                HasSubstr("rules[1].op: expected a pattern, found an empty string"),
                HasSubstr("rules[1]: expected a \"recipe\""),
                HasSubstr("rules[2]: expected an object, found an integer"))));
}

TEST_F(RecipeFileTest, RejectsRepeatedKeys) {
  EXPECT_THAT(ParseRecipe(R"({"recipe": "none", "recipe": "8da4w"})", "r.json"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("the key is repeated")));
}

TEST_F(RecipeFileTest, RejectsFilesWithoutContent) {
  EXPECT_THAT(ParseRecipe("{}", "r.json"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("expected \"recipe\" or \"rules\", found neither")));
  EXPECT_THAT(ParseRecipe("[]", "r.json"), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(ParseRecipe("", "r.json"), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_F(RecipeFileTest, RejectsChangesWithoutEffect) {
  EXPECT_THAT(ParseRecipe(R"({"recipe": "weights-int8", "group_size": 64})", "r.json"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("has no int4 weights")));
  // Matmuls with quantized inputs need weights without zero points.
  EXPECT_THAT(ParseRecipe(R"({"recipe": "8da4w", "symmetric": false})", "r.json"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("symmetric weights")));
  EXPECT_THAT(ParseRecipe(R"({"symmetric": false, "rules": []})", "r.json"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("need a \"recipe\"")));
}

TEST_F(RecipeFileTest, RejectsErrorFeedbackWithoutIntegerLinearWeights) {
  for (const std::string recipe : {"embeddings-int4", "weights-bf16", "none"}) {
    EXPECT_THAT(ParseRecipe("{\"recipe\": \"" + recipe + "\", \"error_feedback\": true}", "r.json"),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("has no integer weights of linear layers")));
  }
  EXPECT_THAT(ParseRecipe(R"({"error_feedback": true, "rules": []})", "r.json"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("need a \"recipe\"")));
}

TEST_F(RecipeFileTest, ActivationScalingNeedsIntegerWeightsWithoutStaticActivations) {
  for (const std::string recipe : {"embeddings-int8", "weights-bf16", "int8-static"}) {
    EXPECT_THAT(
        ParseRecipe("{\"recipe\": \"" + recipe + "\", \"activation_scaling\": true}", "r.json"),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("that activation_scaling changes")));
  }
  ASSERT_OK_AND_ASSIGN(
      const Recipe rule,
      ParseRecipe(R"({"rules": [{"op": "linear", "recipe": "8da4w", "activation_scaling": true}]})",
                  "r.json"));
  EXPECT_TRUE(rule.needs_calibration());
}

TEST_F(RecipeFileTest, EqualizationNeedsStaticActivations) {
  EXPECT_THAT(ParseRecipe(R"({"recipe": "8da4w", "equalization": "all"})", "r.json"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("equalization needs a \"recipe\" with static activations")));
  ASSERT_OK_AND_ASSIGN(
      const Recipe recipe,
      ParseRecipe(R"({"recipe": "int8-static", "equalization": "all"})", "r.json"));
  EXPECT_EQ(recipe.equalization, Equalization::kAll);
  EXPECT_THAT(ParseRecipe(R"({"recipe": "int8-static", "equalization": "convolution"})", "r.json"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("equalization: expected one of none, linear, all")));
  EXPECT_EQ(RecipeByName("int8-static")->equalization, Equalization::kLinear);
  ASSERT_OK(ParseRecipe(R"({"recipe": "8da4w", "equalization": "none"})", "r.json"));
}

TEST_F(RecipeFileTest, TablesNeedStaticActivations) {
  EXPECT_THAT(ParseRecipe(R"({"recipe": "int8-dynamic", "tables": false})", "r.json"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("tables needs a \"recipe\" with static activations")));
  ASSERT_OK_AND_ASSIGN(const Recipe recipe,
                       ParseRecipe(R"({"recipe": "int8-static", "tables": false})", "r.json"));
  EXPECT_FALSE(recipe.tables);
  EXPECT_TRUE(RecipeByName("int8-static")->tables);
}

TEST_F(RecipeFileTest, LimitsSizeAndDepth) {
  EXPECT_THAT(ParseRecipe(std::string(kMaxRecipeBytes + 1, ' '), "r.json"),
              StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(ParseRecipe(std::string(40, '[') + std::string(40, ']'), "r.json"),
              StatusIs(absl::StatusCode::kResourceExhausted));
}

TEST_F(RecipeFileTest, FindsNamesAndFiles) {
  ASSERT_OK_AND_ASSIGN(const Recipe named, FindRecipe("weights-bf16"));
  EXPECT_EQ(named.schemes[kLinear].weight, WeightNumbers::kBFloat16);
  EXPECT_EQ(named.observer, ObserverKind::kLeastError);
  ASSERT_OK_AND_ASSIGN(const Recipe read,
                       FindRecipe(Write("r.json", R"({"recipe": "weights-int8"})")));
  EXPECT_EQ(read.schemes[kLinear].weight, WeightNumbers::kInt8);
  EXPECT_THAT(FindRecipe(Path("none.json")),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("none.json")));
}

}  // namespace
}  // namespace belay::exir
