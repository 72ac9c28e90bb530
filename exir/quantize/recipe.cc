#include "exir/quantize/recipe.h"

#include <algorithm>
#include <optional>

#include "exir/ir/name_pattern.h"
#include "runtime/core/str_cat.h"

namespace belay::exir {
namespace {

constexpr QuantizedRange kBytes = {-128, 127};
constexpr QuantizedRange kSymmetricBytes = {-127, 127};
constexpr QuantizedRange kFourBits = {-8, 7};
constexpr int64_t kGroup = 32;  // torchao's default

constexpr Scheme kInt8Rows = {.weight = WeightNumbers::kInt8, .rows = {.range = kBytes}};

struct NamedRecipe {
  std::string_view name, description;
  std::optional<Scheme> linear = {}, embedding = {}, convolution = {};
};

constexpr NamedRecipe kRecipes[] = {
    {.name = "weights-int8",
     .description = "linear weights int8, one scale per output channel",
     .linear = kInt8Rows},
    {.name = "weights-int4",
     .description = "linear weights int4, in groups of 32, scales of least squared error",
     .linear = Scheme{.weight = WeightNumbers::kInt4,
                      .rows = {.range = kFourBits,
                               .group_size = kGroup,
                               .search = ScaleSearch::kSquaredError}}},
    {.name = "weights-bf16",
     .description = "linear weights bfloat16",
     .linear = Scheme{.weight = WeightNumbers::kBFloat16}},
    {.name = "embeddings-int8",
     .description = "embedding tables int8, one scale per row",
     .embedding = kInt8Rows},
    {.name = "embeddings-int4",
     .description = "embedding tables int4, in groups of 32, scales of least squared error",
     .embedding = Scheme{.weight = WeightNumbers::kInt4,
                         .rows = {.range = kFourBits,
                                  .group_size = kGroup,
                                  .search = ScaleSearch::kSquaredError}}},
    {.name = "int8-dynamic",
     .description = "linear weights int8 per output channel, inputs int8 per row at run time",
     .linear = Scheme{.weight = WeightNumbers::kInt8,
                      .activation = ActivationNumbers::kDynamicInt8,
                      .rows = {.range = kBytes}}},
    {.name = "8da4w",
     .description = "linear weights int4 in groups of 32, inputs int8 per row at run time",
     .linear = Scheme{.weight = WeightNumbers::kInt4,
                      .activation = ActivationNumbers::kDynamicInt8,
                      .rows = {.range = kFourBits, .group_size = kGroup}}},
    {.name = "int8-static",
     .description = "convolutions, linear layers and operators between them int8, with scales from "
                    "calibration data",
     .linear = Scheme{.weight = WeightNumbers::kInt8,
                      .activation = ActivationNumbers::kStaticInt8,
                      .rows = {.range = kSymmetricBytes}},
     .convolution = Scheme{.weight = WeightNumbers::kInt8,
                           .activation = ActivationNumbers::kStaticInt8,
                           .rows = {.range = kSymmetricBytes}}},
    {.name = "none", .description = "nothing; for rules of recipe files"},
};

const NamedRecipe* Find(std::string_view name) {
  const auto* it = std::find_if(std::begin(kRecipes), std::end(kRecipes),
                                [&](const NamedRecipe& recipe) { return recipe.name == name; });
  return it == std::end(kRecipes) ? nullptr : it;
}

}  // namespace

std::string Scheme::ToString() const {
  if (!quantizes()) return "float32";
  if (weight == WeightNumbers::kBFloat16) return "bfloat16";
  const std::string_view activations =
      activation == ActivationNumbers::kDynamicInt8  ? "dynamic int8 x "
      : activation == ActivationNumbers::kStaticInt8 ? "static int8 x "
                                                     : "";
  return absl::StrCat(activations, weight == WeightNumbers::kInt8 ? "int8" : "int4",
                      rows.group_size == 0 ? std::string(" per row")
                                           : absl::StrCat(" in groups of ", rows.group_size),
                      rows.symmetric ? "" : ", asymmetric",
                      activation_scaling ? ", activation scaling" : "",
                      error_feedback ? ", error feedback" : "");
}

bool HasSameWeight(const Scheme& a, const Scheme& b) {
  return a.weight == b.weight && (!a.has_integer_weight() || a.rows == b.rows);
}

std::string_view AnchorKindName(AnchorKind kind) {
  switch (kind) {
    case AnchorKind::kLinear:
      return "linear";
    case AnchorKind::kEmbedding:
      return "embedding";
    case AnchorKind::kConvolution:
      return "convolution";
  }
  return "";
}

bool Rule::Matches(const Node& candidate, AnchorKind kind) const {
  const auto& path = candidate.provenance.module;
  return (op.empty() || MatchesPattern(op, candidate.target->name()) ||
          MatchesPattern(op, AnchorKindName(kind))) &&
         (module.empty() || MatchesPattern(module, path == nullptr ? "" : *path)) &&
         (node.empty() || MatchesPattern(node, candidate.name));
}

std::string Rule::ToString() const {
  std::string text;
  const auto add = [&](std::string_view key, const std::string& pattern) {
    if (!pattern.empty()) {
      absl::StrAppend(&text, text.empty() ? "" : ", ", key, " '", pattern, "'");
    }
  };
  add("op", op);
  add("module", module);
  add("node", node);
  return text;
}

const Scheme& Recipe::SchemeOf(const Node& node, AnchorKind kind) const {
  for (const Rule& rule : rules) {
    if (rule.Matches(node, kind)) return rule.schemes[static_cast<size_t>(kind)];
  }
  return schemes[static_cast<size_t>(kind)];
}

bool Recipe::AnyScheme(bool (*is)(const Scheme&)) const {
  return std::any_of(schemes.begin(), schemes.end(), is) ||
         std::any_of(rules.begin(), rules.end(), [&](const Rule& rule) {
           return std::any_of(rule.schemes.begin(), rule.schemes.end(), is);
         });
}

bool Recipe::is_static() const {
  return AnyScheme(
      [](const Scheme& scheme) { return scheme.activation == ActivationNumbers::kStaticInt8; });
}

bool Recipe::has_error_feedback() const {
  return AnyScheme([](const Scheme& scheme) { return scheme.error_feedback; });
}

bool Recipe::has_activation_scaling() const {
  return AnyScheme([](const Scheme& scheme) { return scheme.activation_scaling; });
}

std::vector<std::string_view> RecipeNames() {
  std::vector<std::string_view> names;
  for (const NamedRecipe& recipe : kRecipes) names.push_back(recipe.name);
  return names;
}

std::string_view DescribeRecipe(std::string_view name) { return Find(name)->description; }

absl::StatusOr<Recipe> RecipeByName(std::string_view name) {
  Recipe result;
  result.name = std::string(name);
  std::array<std::string_view, kAnchorKinds> given;
  for (size_t start = 0; start <= name.size();) {
    const size_t end = std::min(name.find('+', start), name.size());
    const std::string_view part = name.substr(start, end - start);
    start = end + 1;
    const NamedRecipe* recipe = Find(part);
    if (recipe == nullptr) {
      std::string known;
      for (std::string_view other : RecipeNames()) {
        absl::StrAppend(&known, known.empty() ? "" : ", ", other);
      }
      return absl::InvalidArgumentError(
          absl::StrCat("unknown recipe '", part, "'; the recipes are: ", known));
    }
    const std::optional<Scheme>* schemes[] = {&recipe->linear, &recipe->embedding,
                                              &recipe->convolution};
    for (size_t kind = 0; kind < kAnchorKinds; ++kind) {
      if (!schemes[kind]->has_value()) continue;
      if (!given[kind].empty()) {
        return absl::InvalidArgumentError(
            absl::StrCat("'", given[kind], "' and '", part, "' both quantize ",
                         AnchorKindName(static_cast<AnchorKind>(kind)), " operators"));
      }
      given[kind] = part;
      result.schemes[kind] = **schemes[kind];
    }
  }
  return result;
}

}  // namespace belay::exir
