#include "exir/quantize/recipe_file.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "exir/import/json.h"
#include "exir/ir/problem_list.h"
#include "runtime/core/bytes.h"
#include "runtime/core/mapped_file.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"

namespace belay::exir {
namespace {

// Keys that change the schemes of a named recipe.
struct Changes {
  std::optional<Recipe> base;
  std::optional<int64_t> group_size;
  std::optional<bool> symmetric;
  std::optional<ScaleSearch> search;
  std::optional<bool> error_feedback, activation_scaling;

  bool changes_rows() const {
    return group_size.has_value() || symmetric.has_value() || search.has_value();
  }
};

class Parser {
 public:
  absl::StatusOr<Recipe> Parse(JsonRef root, std::string_view name) {
    Recipe recipe;
    recipe.name = std::string(name);
    name_ = name;
    Changes changes;
    std::optional<Equalization> equalization;
    Fields(
        root,
        [&](std::string_view key, JsonRef value) {
          if (ReadChange(key, value, changes)) return true;
          if (key == "observer") {
            ReadChoice<ObserverKind>(value,
                                     {{"min-max", ObserverKind::kMinMax},
                                      {"moving-average", ObserverKind::kMovingAverage},
                                      {"histogram", ObserverKind::kHistogram},
                                      {"least-error", ObserverKind::kLeastError},
                                      {"percentile", ObserverKind::kPercentile}},
                                     [&](ObserverKind kind) { recipe.observer = kind; });
          } else if (key == "percentile") {
            const absl::StatusOr<double> share = value.Double();
            if (!share.ok()) {
              Add(share.status());
            } else if (!(*share > 50 && *share <= 100)) {
              Add(value.Error("expected a number above 50, at most 100"));
            } else {
              recipe.percentile = *share;
            }
          } else if (key == "bias_correction") {
            Set(value.Bool(), recipe.bias_correction);
          } else if (key == "equalization") {
            ReadChoice<Equalization>(value,
                                     {{"none", Equalization::kNone},
                                      {"linear", Equalization::kLinear},
                                      {"all", Equalization::kAll}},
                                     [&](Equalization choice) { equalization = choice; });
          } else if (key == "quantize_io") {
            Set(value.Bool(), recipe.quantize_io);
          } else if (key == "tables") {
            Set(value.Bool(), recipe.tables);
          } else if (key == "rules") {
            Add(ForEachElement(value, [&](JsonRef rule) {
              ReadRule(rule, recipe.rules);
              return absl::OkStatus();
            }));
          } else {
            return false;
          }
          return true;
        },
        "recipe, group_size, symmetric, scale, error_feedback, activation_scaling, observer, "
        "percentile, bias_correction, equalization, quantize_io, tables, rules");
    if (!changes.base.has_value() && recipe.rules.empty()) {
      Add(root.Error("expected \"recipe\" or \"rules\", found neither"));
    }
    recipe.schemes = Schemed(root, changes);
    recipe.equalization = equalization.value_or(recipe.equalization);
    if (equalization.value_or(Equalization::kNone) != Equalization::kNone && !recipe.is_static()) {
      Add(root.Error("equalization needs a \"recipe\" with static activations"));
    }
    if (!recipe.tables && !recipe.is_static()) {
      Add(root.Error("tables needs a \"recipe\" with static activations"));
    }
    ABSL_RETURN_IF_ERROR(problems_.ToStatus(absl::StatusCode::kInvalidArgument));
    return recipe;
  }

 private:
  void Add(const absl::Status& status) {
    if (status.ok()) return;
    // Messages of JsonRef begin with the document's name.
    const std::string_view message = FromAbsl(status.message());
    const size_t end = std::min(name_.size(), message.size());
    problems_.Add([&] { return message.substr(0, end); },
                  message.substr(std::min(end + 2, message.size())));
  }

  // Sets `to`, or adds the error.
  template <class T, class To>
  void Set(const absl::StatusOr<T>& value, To& to) {
    Add(value.status());
    if (value.ok()) to = *value;
  }

  // Calls `read` for each field; it returns false for unknown keys.
  void Fields(JsonRef ref, const std::function<bool(std::string_view, JsonRef)>& read,
              std::string_view known) {
    std::set<std::string_view> seen;
    Add(ForEachField(ref, [&](std::string_view key, JsonRef value) {
      if (!seen.insert(key).second) {
        Add(value.Error("the key is repeated"));
      } else if (!read(key, value)) {
        Add(value.Error(absl::StrCat("unknown key; the keys are: ", known)));
      }
      return absl::OkStatus();
    }));
  }

  template <class Choice>
  void ReadChoice(JsonRef value, const std::vector<std::pair<std::string_view, Choice>>& choices,
                  const std::function<void(Choice)>& set) {
    const absl::StatusOr<std::string_view> text = value.String();
    if (!text.ok()) return Add(text.status());
    std::string names;
    for (const auto& [name, choice] : choices) {
      if (name == *text) return set(choice);
      absl::StrAppend(&names, names.empty() ? "" : ", ", name);
    }
    Add(value.Error(absl::StrCat("expected one of ", names, ", found '", *text, "'")));
  }

  // Returns whether the key is one of those of Changes.
  bool ReadChange(std::string_view key, JsonRef value, Changes& changes) {
    if (key == "recipe") {
      const absl::StatusOr<std::string_view> name = value.String();
      if (!name.ok()) {
        Add(name.status());
        return true;
      }
      absl::StatusOr<Recipe> base = RecipeByName(*name);
      if (base.ok()) {
        changes.base = *std::move(base);
      } else {
        Add(value.Error(FromAbsl(base.status().message())));
      }
    } else if (key == "group_size") {
      const absl::StatusOr<int64_t> size = value.Int();
      if (!size.ok()) {
        Add(size.status());
      } else if (*size != 32 && *size != 64 && *size != 128 && *size != 256) {
        Add(value.Error("expected 32, 64, 128 or 256"));
      } else {
        changes.group_size = *size;
      }
    } else if (key == "symmetric") {
      Set(value.Bool(), changes.symmetric);
    } else if (key == "error_feedback") {
      Set(value.Bool(), changes.error_feedback);
    } else if (key == "activation_scaling") {
      Set(value.Bool(), changes.activation_scaling);
    } else if (key == "scale") {
      ReadChoice<ScaleSearch>(
          value, {{"range", ScaleSearch::kRange}, {"squared-error", ScaleSearch::kSquaredError}},
          [&](ScaleSearch search) { changes.search = search; });
    } else {
      return false;
    }
    return true;
  }

  // Returns the base recipe's schemes with the changes.
  Schemes Schemed(JsonRef ref, const Changes& changes) {
    if (!changes.base.has_value()) {
      if (changes.changes_rows() || changes.error_feedback.has_value() ||
          changes.activation_scaling.has_value()) {
        Add(
            ref.Error("group_size, symmetric, scale, error_feedback and activation_scaling need a "
                      "\"recipe\" that they change"));
      }
      return {};
    }
    Schemes schemes = changes.base->schemes;
    bool used = false;
    for (Scheme& scheme : schemes) {
      if (!scheme.has_integer_weight()) continue;
      const bool is_int4 = scheme.weight == WeightNumbers::kInt4;
      if (is_int4 && changes.group_size.has_value()) scheme.rows.group_size = *changes.group_size;
      // Matmuls of integers need symmetric weights.
      const bool may_shift = is_int4 && scheme.activation == ActivationNumbers::kFloat32;
      if (may_shift && changes.symmetric.has_value()) scheme.rows.symmetric = *changes.symmetric;
      if (changes.search.has_value()) scheme.rows.search = *changes.search;
      used = used || ((is_int4 || !changes.group_size.has_value()) &&
                      (may_shift || changes.symmetric.value_or(true)));
    }
    if (changes.changes_rows() && !used) {
      Add(ref.Error(absl::StrCat(
          "recipe '", changes.base->name,
          "' has no int4 weights that group_size changes, or symmetric weights are required")));
    }
    Scheme& linear = schemes[static_cast<size_t>(AnchorKind::kLinear)];
    const auto set = [&](std::string_view key, std::optional<bool> change, bool possible,
                         bool& to) {
      if (!change.has_value()) return;
      to = *change;
      if (linear.has_integer_weight() && possible) return;
      Add(ref.Error(absl::StrCat("recipe '", changes.base->name,
                                 "' has no integer weights of linear layers that ", key,
                                 " changes")));
    };
    set("error_feedback", changes.error_feedback, true, linear.error_feedback);
    set("activation_scaling", changes.activation_scaling,
        linear.activation != ActivationNumbers::kStaticInt8, linear.activation_scaling);
    return schemes;
  }

  void ReadRule(JsonRef ref, std::vector<Rule>& rules) {
    Rule rule;
    Changes changes;
    const auto pattern = [&](JsonRef value, std::string& to) {
      const absl::StatusOr<std::string_view> text = value.String();
      if (!text.ok()) return Add(text.status());
      if (text->empty()) return Add(value.Error("expected a pattern, found an empty string"));
      to = std::string(*text);
    };
    bool has_pattern = false;
    Fields(
        ref,
        [&](std::string_view key, JsonRef value) {
          std::string* to = key == "op"       ? &rule.op
                            : key == "module" ? &rule.module
                            : key == "node"   ? &rule.node
                                              : nullptr;
          if (to == nullptr) return ReadChange(key, value, changes);
          has_pattern = true;
          pattern(value, *to);
          return true;
        },
        "op, module, node, recipe, group_size, symmetric, scale, error_feedback, "
        "activation_scaling");
    if (!ref.value.is_object()) return;
    if (!has_pattern) Add(ref.Error("expected \"op\", \"module\" or \"node\", found none"));
    if (!changes.base.has_value()) Add(ref.Error("expected a \"recipe\"; \"none\" keeps float32"));
    rule.schemes = Schemed(ref, changes);
    rules.push_back(std::move(rule));
  }

  std::string_view name_;
  ProblemList problems_;
};

}  // namespace

absl::StatusOr<Recipe> ParseRecipe(std::string_view text, std::string_view name) {
  ABSL_ASSIGN_OR_RETURN(
      const JsonDocument document,
      JsonDocument::Parse(AsBytes(text), name, {.max_bytes = kMaxRecipeBytes, .max_depth = 16}));
  return Parser().Parse(document.root(), name);
}

absl::StatusOr<Recipe> FindRecipe(const std::string& name_or_file) {
  if (!name_or_file.ends_with(".json")) return RecipeByName(name_or_file);
  ABSL_ASSIGN_OR_RETURN(
      const std::shared_ptr<const MappedFile> file,
      MappedFile::Open(name_or_file, {.access = FileAccess::kCopy, .max_bytes = kMaxRecipeBytes}));
  return ParseRecipe(AsString(file->bytes()), name_or_file);
}

}  // namespace belay::exir
