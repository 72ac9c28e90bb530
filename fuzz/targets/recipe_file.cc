// Recipe files of `belay quantize`.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "exir/ir/name_pattern.h"
#include "exir/quantize/recipe_file.h"
#include "fuzz/oracles/recipe_round_trip.h"
#include "fuzz/oracles/require.h"
#include "fuzz/oracles/typed_status.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace belay;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const absl::StatusOr<exir::Recipe> recipe = exir::ParseRecipe(text, "recipe.json");
  fuzz::Require(fuzz::CheckTyped("parse", recipe.status(), fuzz::kReaderCodes));
  if (!recipe.ok()) return 0;
  fuzz::Require(fuzz::CheckRoundTrip(*recipe));
  // Patterns are matched in bounded time.
  for (const exir::Rule& rule : recipe->rules) {
    exir::MatchesPattern(rule.module, "layers.0.attention.output.dense");
  }
  return 0;
}
