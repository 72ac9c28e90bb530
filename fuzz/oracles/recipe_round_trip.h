// A recipe file survives a round trip: printing its recipe and reading it gives an equal recipe.
#ifndef BELAY_FUZZ_ORACLES_RECIPE_ROUND_TRIP_H_
#define BELAY_FUZZ_ORACLES_RECIPE_ROUND_TRIP_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "exir/quantize/recipe.h"

namespace belay::fuzz {

// Returns the recipe as the content of a recipe file, with the keys that differ from the defaults.
//   kInternal  its schemes are not those of named recipes with changes; names the schemes
absl::StatusOr<std::string> PrintRecipe(const exir::Recipe& recipe);

// kInternal if the recipe that is read differs; prints both.
absl::Status CheckRoundTrip(const exir::Recipe& recipe);

}  // namespace belay::fuzz

#endif  // BELAY_FUZZ_ORACLES_RECIPE_ROUND_TRIP_H_
