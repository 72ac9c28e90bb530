#include "exir/op_definition/dtype_rule.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"

namespace belay::exir {
namespace {

constexpr std::pair<std::string_view, DTypeSet> kNamedSets[] = {
    {"any", kEdgeTypes},    {"bool", kBoolType},     {"complex", kComplexTypes},
    {"float", kFloatTypes}, {"int", kIntegralTypes}, {"real", kRealTypes},
};

std::vector<std::string> Split(std::string_view text, char by) {
  return absl::StrSplit(absl::string_view(text.data(), text.size()), by, absl::SkipWhitespace());
}

// The names of the set's dtypes.
template <class Name>
std::vector<std::string> NamesOf(DTypeSet set, Name name) {
  std::vector<std::string> names;
  for (int i = 1; i < kNumDTypes; ++i) {
    const DType dtype = static_cast<DType>(i);
    if (set.contains(dtype)) names.emplace_back(name(dtype));
  }
  return names;
}

std::string SetText(DTypeSet set) {
  for (const auto& [name, named] : kNamedSets) {
    if (set == named) return std::string(name);
  }
  return absl::StrCat("{", absl::StrJoin(NamesOf(set, DTypeShortName), ","), "}");
}

// Parses "real", "float+bool", "{f32,f64}".
absl::StatusOr<DTypeSet> ParseSet(std::string_view text) {
  DTypeSet set;
  for (const std::string& part : Split(text, '+')) {
    DTypeSet add;
    if (part.front() == '{' && part.back() == '}') {
      for (const std::string& name :
           Split(std::string_view(part).substr(1, part.size() - 2), ',')) {
        const std::optional<DType> dtype = DTypeFromShortName(name);
        if (!dtype.has_value())
          return absl::InvalidArgumentError(absl::StrCat("'", name, "' is not a dtype"));
        add = add | DTypeSet{*dtype};
      }
    } else {
      for (const auto& [name, named] : kNamedSets) {
        if (part == name) add = named;
      }
    }
    if (add.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "'", part, "' is not a set: expected any, real, float, int, bool, complex or {dtype,…}"));
    }
    set = set | add;
  }
  if (set.empty()) return absl::InvalidArgumentError("an empty set");
  return set;
}

bool IsAlias(std::string_view text) {
  return !text.empty() && text[0] >= 'A' && text[0] <= 'Z' &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isalnum(c); });
}

// Parses one row.
class RowParser {
 public:
  explicit RowParser(const std::vector<DTypeRule::Slot>& slots) : slots_(slots) {
    row_.alias.assign(slots.size(), -1);
  }

  absl::StatusOr<DTypeRule::Row> Parse(std::string_view text) {
    for (const std::string& word : Split(text, ' ')) {
      const size_t colon = word.find(':');
      const size_t equals = word.find('=');
      if (colon != std::string::npos) {
        ABSL_RETURN_IF_ERROR(Bind(word.substr(0, colon), word.substr(colon + 1)));
      } else if (equals != std::string::npos) {
        ABSL_RETURN_IF_ERROR(Define(word.substr(0, equals), word.substr(equals + 1)));
      } else {
        return absl::InvalidArgumentError(
            absl::StrCat("'", word, "': expected name:Alias or Alias=set"));
      }
    }
    for (size_t i = 0; i < slots_.size(); ++i) {
      if (row_.alias[i] < 0) {
        return absl::InvalidArgumentError(absl::StrCat("a row leaves out '", slots_[i].name, "'"));
      }
    }
    for (size_t i = 0; i < row_.sets.size(); ++i) {
      if (row_.sets[i].empty()) {
        return absl::InvalidArgumentError(absl::StrCat("alias ", names_[i], " has no set"));
      }
    }
    return std::move(row_);
  }

 private:
  absl::StatusOr<int> FindSlot(std::string_view name) const {
    const bool is_return = name.substr(0, 2) == "->";
    if (is_return) name.remove_prefix(2);
    int found = -1;
    for (size_t i = 0; i < slots_.size(); ++i) {
      const DTypeRule::Slot& slot = slots_[i];
      if (is_return == slot.return_name.empty()) continue;
      const bool matches = is_return && name.empty()
                               ? true
                               : name == slot.name || (is_return && absl::StrCat("__ret_", name) ==
                                                                        slot.return_name);
      if (!matches) continue;
      if (found >= 0)
        return absl::InvalidArgumentError(
            "'->' is one of several tensor returns: give its position");
      found = static_cast<int>(i);
    }
    if (found < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", is_return ? "->" : "", name, "' is not a tensor of the schema"));
    }
    return found;
  }

  int AliasIndex(const std::string& name) {
    const auto it = std::find(names_.begin(), names_.end(), name);
    if (it != names_.end() && !name.empty()) return static_cast<int>(it - names_.begin());
    names_.push_back(name);
    row_.sets.emplace_back();
    return static_cast<int>(names_.size()) - 1;
  }

  absl::Status Bind(std::string_view slot_name, const std::string& target) {
    ABSL_ASSIGN_OR_RETURN(const int slot, FindSlot(slot_name));
    if (row_.alias[slot] >= 0) {
      return absl::InvalidArgumentError(absl::StrCat("'", slot_name, "' is bound twice in a row"));
    }
    if (IsAlias(target)) {
      row_.alias[slot] = AliasIndex(target);
      return absl::OkStatus();
    }
    ABSL_ASSIGN_OR_RETURN(const DTypeSet set, ParseSet(target));
    row_.alias[slot] = AliasIndex("");
    row_.sets.back() = set;
    return absl::OkStatus();
  }

  absl::Status Define(const std::string& alias, std::string_view text) {
    if (!IsAlias(alias))
      return absl::InvalidArgumentError(absl::StrCat("'", alias, "' is not an alias"));
    ABSL_ASSIGN_OR_RETURN(const DTypeSet set, ParseSet(text));
    const int index = AliasIndex(alias);
    if (!row_.sets[index].empty())
      return absl::InvalidArgumentError(absl::StrCat("alias ", alias, " has two sets"));
    row_.sets[index] = set;
    return absl::OkStatus();
  }

  const std::vector<DTypeRule::Slot>& slots_;
  std::vector<std::string> names_;  // of the aliases; "" for those without
  DTypeRule::Row row_;
};

std::vector<DTypeRule::Slot> SlotsOf(const FunctionSchema& schema) {
  std::vector<DTypeRule::Slot> slots;
  for (const SchemaArgument& a : schema.arguments) {
    if (a.type.base == BaseType::kTensor) {
      slots.push_back({a.name, "", a.type.optional || a.type.element_optional});
    }
  }
  for (size_t i = 0; i < schema.returns.size(); ++i) {
    if (schema.returns[i].type.base != BaseType::kTensor) continue;
    const std::string position = absl::StrCat("__ret_", i);
    slots.push_back(
        {schema.returns[i].name.empty() ? position : schema.returns[i].name, position, false});
  }
  return slots;
}

}  // namespace

absl::StatusOr<DTypeRule> DTypeRule::Create(const FunctionSchema& schema, std::string_view text) {
  DTypeRule rule;
  rule.op_ = absl::StrCat(schema.ns, "::", schema.op, ".", schema.overload);
  rule.slots_ = SlotsOf(schema);
  const std::vector<std::string> rows = Split(text, '|');
  if (rows.empty()) {
    Row row;
    for (size_t i = 0; i < rule.slots_.size(); ++i) {
      row.alias.push_back(static_cast<int>(i));
      row.sets.push_back(kEdgeTypes);
    }
    rule.rows_.push_back(std::move(row));
    return rule;
  }
  for (const std::string& row_text : rows) {
    absl::StatusOr<Row> row = RowParser(rule.slots_).Parse(row_text);
    if (!row.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("dtype rule of ", rule.op_, ", row '",
                                                     row_text, "': ", row.status().message()));
    }
    rule.rows_.push_back(*std::move(row));
  }
  return rule;
}

std::optional<std::vector<std::optional<DType>>> DTypeRule::Bind(
    const Row& row, absl::Span<const std::optional<DType>> dtypes) const {
  std::vector<std::optional<DType>> bound(row.sets.size());
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (!dtypes[i].has_value()) continue;
    std::optional<DType>& alias = bound[row.alias[i]];
    if (!row.sets[row.alias[i]].contains(*dtypes[i])) return std::nullopt;
    if (alias.has_value() && *alias != *dtypes[i]) return std::nullopt;
    alias = dtypes[i];
  }
  return bound;
}

bool DTypeRule::Accepts(absl::Span<const std::optional<DType>> dtypes) const {
  return dtypes.size() == slots_.size() &&
         std::any_of(rows_.begin(), rows_.end(),
                     [&](const Row& row) { return Bind(row, dtypes).has_value(); });
}

absl::StatusOr<size_t> DTypeRule::FindSlot(std::string_view name) const {
  for (size_t i = 0; i < slots_.size(); ++i) {
    const Slot& slot = slots_[i];
    if (slot.name == name || (!slot.return_name.empty() && slot.return_name == name)) return i;
  }
  return absl::InvalidArgumentError(absl::StrCat(op_, " has no tensor '", name, "'"));
}

absl::StatusOr<DTypeSet> DTypeRule::Allowed(std::string_view name,
                                            absl::Span<const NamedDType> given) const {
  ABSL_ASSIGN_OR_RETURN(const size_t slot, FindSlot(name));
  std::vector<std::optional<DType>> assigned(slots_.size());
  for (const NamedDType& named : given) {
    ABSL_ASSIGN_OR_RETURN(const size_t i, FindSlot(named.name));
    assigned[i] = named.dtype;
  }
  return AllowedAt(slot, assigned);
}

DTypeSet DTypeRule::AllowedAt(size_t slot, absl::Span<const std::optional<DType>> assigned) const {
  DTypeSet allowed;
  for (const Row& row : rows_) {
    const auto bound = Bind(row, assigned);
    if (!bound.has_value()) continue;
    const std::optional<DType>& alias = (*bound)[row.alias[slot]];
    allowed = allowed | (alias.has_value() ? DTypeSet{*alias} : row.sets[row.alias[slot]]);
  }
  return allowed;
}

std::string DTypeRule::Mismatch(absl::Span<const std::optional<DType>> assigned) const {
  const auto name_of = [&](size_t i) {
    return slots_[i].return_name.empty() ? slots_[i].name : std::string("result");
  };
  std::vector<std::string> actual;
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (assigned[i]) actual.push_back(absl::StrCat(name_of(i), " ", DTypeName(*assigned[i])));
  }
  const std::string all = absl::StrJoin(actual, ", ");
  // First tensors whose dtype no row has, then those that do not fit the others.
  for (bool with_others : {false, true}) {
    for (size_t i = 0; i < slots_.size(); ++i) {
      if (!assigned[i]) continue;
      std::vector<std::optional<DType>> others(slots_.size());
      if (with_others) others.assign(assigned.begin(), assigned.end());
      others[i] = std::nullopt;
      const DTypeSet allowed = AllowedAt(i, others);
      if (allowed == DTypeSet() || allowed.contains(*assigned[i])) continue;
      return absl::StrCat("'", name_of(i), "': expected ",
                          absl::StrJoin(NamesOf(allowed, DTypeName), ", "), ", got ",
                          DTypeName(*assigned[i]), " (", all, ")");
    }
  }
  return absl::StrCat("these dtypes are not supported together: ", all);
}

absl::Status DTypeRule::Validate(absl::Span<const NamedDType> dtypes) const {
  std::vector<std::optional<DType>> assigned(slots_.size());
  std::vector<bool> given(slots_.size());
  for (const NamedDType& named : dtypes) {
    ABSL_ASSIGN_OR_RETURN(const size_t i, FindSlot(named.name));
    if (given[i])
      return absl::InvalidArgumentError(absl::StrCat(op_, ": '", named.name, "' is given twice"));
    given[i] = true;
    assigned[i] = named.dtype;
  }
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (!given[i] && !slots_[i].optional) {
      return absl::InvalidArgumentError(
          absl::StrCat(op_, ": the dtype of '", slots_[i].name, "' is missing"));
    }
  }
  if (Accepts(assigned)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(op_, ": ", Mismatch(assigned)));
}

std::string DTypeRule::ToString() const {
  std::vector<std::string> rows;
  for (const Row& row : rows_) {
    std::vector<std::string> words;
    for (size_t i = 0; i < slots_.size(); ++i) {
      const Slot& slot = slots_[i];
      const std::string name = slot.return_name.empty() ? slot.name
                               : slot.name == slot.return_name
                                   ? absl::StrCat("->", std::string_view(slot.name).substr(6))
                                   : absl::StrCat("->", slot.name);
      words.push_back(absl::StrCat(name, ":T", row.alias[i]));
    }
    for (size_t a = 0; a < row.sets.size(); ++a)
      words.push_back(absl::StrCat("T", a, "=", SetText(row.sets[a])));
    rows.push_back(absl::StrJoin(words, " "));
  }
  return absl::StrJoin(rows, " | ");
}

}  // namespace belay::exir
