#include "fuzz/oracles/recipe_round_trip.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

#include "exir/quantize/recipe_file.h"
#include "nlohmann/json.hpp"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"

namespace belay::fuzz {
namespace {

using exir::Recipe;
using exir::Rule;
using exir::ScaleSearch;
using exir::Scheme;
using exir::Schemes;

bool IsEqual(const Scheme& a, const Scheme& b) {
  return a.weight == b.weight && a.activation == b.activation && a.rows == b.rows &&
         a.error_feedback == b.error_feedback && a.activation_scaling == b.activation_scaling;
}
bool IsEqual(const Schemes& a, const Schemes& b) {
  return std::equal(a.begin(), a.end(), b.begin(),
                    [](const Scheme& x, const Scheme& y) { return IsEqual(x, y); });
}
bool IsEqual(const Recipe& a, const Recipe& b) {
  const auto is_equal_rule = [](const Rule& x, const Rule& y) {
    return x.op == y.op && x.module == y.module && x.node == y.node &&
           IsEqual(x.schemes, y.schemes);
  };
  return a.name == b.name && IsEqual(a.schemes, b.schemes) && a.observer == b.observer &&
         a.percentile == b.percentile && a.bias_correction == b.bias_correction &&
         a.equalization == b.equalization && a.quantize_io == b.quantize_io &&
         a.tables == b.tables &&
         std::equal(a.rules.begin(), a.rules.end(), b.rules.begin(), b.rules.end(), is_equal_rule);
}

// Returns the recipes of all names that can be joined.
const std::vector<Recipe>& Bases() {
  static const std::vector<Recipe>& bases = *[] {
    auto* list = new std::vector<Recipe>{*exir::RecipeByName("none")};
    for (const std::string_view name : exir::RecipeNames()) {
      for (size_t i = list->size(); name != "none" && i-- > 0;) {
        absl::StatusOr<Recipe> joined =
            exir::RecipeByName(absl::StrCat((*list)[i].name, "+", name));
        if (joined.ok()) list->push_back(*std::move(joined));
      }
    }
    return list;
  }();
  return bases;
}

// Returns the recipe that quantizes each kind to these numbers; nullptr for none.
const Recipe* BaseOf(const Schemes& schemes) {
  for (const Recipe& base : Bases()) {
    if (std::equal(schemes.begin(), schemes.end(), base.schemes.begin(),
                   [](const Scheme& x, const Scheme& y) {
                     return x.weight == y.weight && x.activation == y.activation;
                   })) {
      return &base;
    }
  }
  return nullptr;
}

// Adds the base recipe and its changes.
absl::Status PrintSchemes(const Schemes& schemes, nlohmann::json& json) {
  const Recipe* base = BaseOf(schemes);
  if (base == nullptr) {
    return absl::InternalError(absl::StrCat("no recipe has the schemes ", schemes[0].ToString(),
                                            "; ", schemes[1].ToString(), "; ",
                                            schemes[2].ToString()));
  }
  json["recipe"] = base->name;
  for (size_t kind = 0; kind < schemes.size(); ++kind) {
    const Scheme &scheme = schemes[kind], &from = base->schemes[kind];
    if (scheme.rows.group_size != from.rows.group_size) {
      json["group_size"] = scheme.rows.group_size;
    }
    if (scheme.rows.symmetric != from.rows.symmetric) json["symmetric"] = scheme.rows.symmetric;
    if (scheme.rows.search != from.rows.search) {
      json["scale"] = scheme.rows.search == ScaleSearch::kRange ? "range" : "squared-error";
    }
    if (scheme.error_feedback) json["error_feedback"] = true;
    if (scheme.activation_scaling) json["activation_scaling"] = true;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> PrintRecipe(const Recipe& recipe) {
  nlohmann::json json = nlohmann::json::object();
  const bool quantizes = std::any_of(recipe.schemes.begin(), recipe.schemes.end(),
                                     [](const Scheme& scheme) { return scheme.quantizes(); });
  if (quantizes || recipe.rules.empty()) {
    ABSL_RETURN_IF_ERROR(PrintSchemes(recipe.schemes, json));
  }
  const Recipe defaults;
  constexpr std::string_view kObservers[] = {"min-max", "moving-average", "histogram",
                                             "least-error", "percentile"};
  if (recipe.observer != defaults.observer) {
    json["observer"] = kObservers[static_cast<size_t>(recipe.observer)];
  }
  if (recipe.percentile != defaults.percentile) json["percentile"] = recipe.percentile;
  if (recipe.bias_correction != defaults.bias_correction) {
    json["bias_correction"] = recipe.bias_correction;
  }
  constexpr std::string_view kEqualizations[] = {"none", "linear", "all"};
  if (recipe.equalization != defaults.equalization) {
    json["equalization"] = kEqualizations[static_cast<size_t>(recipe.equalization)];
  }
  if (recipe.quantize_io) json["quantize_io"] = true;
  if (!recipe.tables) json["tables"] = false;
  for (const Rule& rule : recipe.rules) {
    nlohmann::json printed = nlohmann::json::object();
    if (!rule.op.empty()) printed["op"] = rule.op;
    if (!rule.module.empty()) printed["module"] = rule.module;
    if (!rule.node.empty()) printed["node"] = rule.node;
    ABSL_RETURN_IF_ERROR(PrintSchemes(rule.schemes, printed));
    json["rules"].push_back(std::move(printed));
  }
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

absl::Status CheckRoundTrip(const Recipe& recipe) {
  ABSL_ASSIGN_OR_RETURN(const std::string printed, PrintRecipe(recipe));
  const absl::StatusOr<Recipe> read = exir::ParseRecipe(printed, recipe.name);
  if (!read.ok()) {
    return absl::InternalError(absl::StrCat(
        "the printed recipe can't be read: ", FromAbsl(read.status().message()), ": ", printed));
  }
  if (IsEqual(recipe, *read)) return absl::OkStatus();
  ABSL_ASSIGN_OR_RETURN(const std::string again, PrintRecipe(*read));
  return absl::InternalError(absl::StrCat("expected the recipe ", printed, ", read ", again));
}

}  // namespace belay::fuzz
