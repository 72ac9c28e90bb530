// Parses recipe files: JSON, as docs/quantization.md §2 documents.
#ifndef BELAY_EXIR_QUANTIZE_RECIPE_FILE_H_
#define BELAY_EXIR_QUANTIZE_RECIPE_FILE_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "exir/quantize/recipe.h"

namespace belay::exir {

inline constexpr size_t kMaxRecipeBytes = size_t{1} << 20;

// Parses the content of a recipe file, which may be untrusted. `name` becomes Recipe::name.
//   kInvalidArgument    not JSON; unknown keys, values of another type or out of range, rules
//                       without a pattern: all at once, each with its path ("rules[2].group_size")
//   kResourceExhausted  longer than kMaxRecipeBytes, or nested more than 16 levels deep
absl::StatusOr<Recipe> ParseRecipe(std::string_view text, std::string_view name);

// Returns the recipe that `name_or_file` names: RecipeByName, or, if it ends in ".json",
// ParseRecipe of that file. Also errors of reading the file. Errors name the file.
absl::StatusOr<Recipe> FindRecipe(const std::string& name_or_file);

}  // namespace belay::exir

#endif  // BELAY_EXIR_QUANTIZE_RECIPE_FILE_H_
