#include "exir/op_definition/op_variants.h"

#include <algorithm>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/str_join.h"
#include "exir/op_definition/schema.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/schema/operator_facts.h"

namespace belay::exir {
namespace {

constexpr std::string_view kTensorOptions[] = {"dtype", "layout", "device", "pin_memory"};

bool IsWritten(const SchemaArgument& argument) {
  return argument.alias.has_value() && argument.alias->write;
}

// "add_" -> "add", "__iand__" -> "__and__"; nullopt if the name is not that of an in-place
// operator.
std::optional<std::string> WithoutInPlace(std::string_view op) {
  if (IsInPlaceOperator(op)) return std::string(op.substr(0, op.size() - 1));
  if (op.starts_with("__i") && op.ends_with("__")) return absl::StrCat("__", op.substr(3));
  return std::nullopt;
}
std::string InPlaceName(std::string_view op) {
  if (op.starts_with("__")) return absl::StrCat("__i", op.substr(2));
  return absl::StrCat(op, "_");
}

struct Parameter {
  std::string name;
  SchemaType type;
  bool keyword_only = false;
  bool operator==(const Parameter& o) const {
    // Symbolic sizes and ints compare equal.
    SchemaType a = type, b = o.type;
    a.symbolic = b.symbolic = false;
    return std::tie(name, keyword_only) == std::tie(o.name, o.keyword_only) && a == b;
  }
};

std::vector<Parameter> SignatureOf(const FunctionSchema& schema) {
  std::vector<Parameter> parameters;
  size_t options = 0;
  for (const SchemaArgument& argument : schema.arguments) {
    if (argument.keyword_only && IsWritten(argument)) continue;
    parameters.push_back({argument.name, argument.type, argument.keyword_only});
    if (argument.keyword_only) {
      options += std::count(std::begin(kTensorOptions), std::end(kTensorOptions), argument.name);
    }
  }
  if (options == std::size(kTensorOptions)) {
    std::erase_if(parameters, [](const Parameter& p) {
      return p.keyword_only && std::find(std::begin(kTensorOptions), std::end(kTensorOptions),
                                         p.name) != std::end(kTensorOptions);
    });
  }
  return parameters;
}

}  // namespace

std::string_view SchemaKindName(SchemaKind kind) {
  switch (kind) {
    case SchemaKind::kFunctional:
      return "functional";
    case SchemaKind::kInplace:
      return "inplace";
    case SchemaKind::kOut:
      return "out";
    case SchemaKind::kMutable:
      return "mutable";
  }
  return "unknown";
}

SchemaKind KindOf(const FunctionSchema& schema) {
  const bool out =
      std::any_of(schema.arguments.begin(), schema.arguments.end(),
                  [](const SchemaArgument& a) { return a.keyword_only && IsWritten(a); });
  if (out) return SchemaKind::kOut;
  if (!schema.IsMutable()) return SchemaKind::kFunctional;
  const bool in_place = WithoutInPlace(schema.op).has_value();
  return in_place && IsWritten(schema.arguments.front()) ? SchemaKind::kInplace
                                                         : SchemaKind::kMutable;
}

absl::StatusOr<FunctionSchema> DeriveVariant(const FunctionSchema& functional, SchemaKind kind) {
  const auto is_tensor = [](const auto& parameter) { return parameter.type == SchemaType(); };
  const bool out = kind == SchemaKind::kOut;
  if (functional.IsMutable() || functional.returns.empty() || functional.returns.size() > 26 ||
      !std::all_of(functional.returns.begin(), functional.returns.end(), is_tensor) ||
      (!out && (functional.returns.size() != 1 || functional.arguments.empty() ||
                !is_tensor(functional.arguments.front())))) {
    return absl::InvalidArgumentError(absl::StrCat("the schema '", functional.ToString(),
                                                   "' has no ", SchemaKindName(kind), " variant"));
  }
  FunctionSchema variant = functional;
  for (SchemaArgument& argument : variant.arguments) argument.alias.reset();
  if (!out) {
    const AliasAnnotation written{"a", /*write=*/true};
    variant.op = InPlaceName(functional.op);
    variant.arguments.front().name = "self";
    variant.arguments.front().alias = written;
    variant.returns.front().alias = written;
    return variant;
  }
  variant.overload =
      functional.overload == "default" ? "out" : absl::StrCat(functional.overload, "_out");
  for (size_t i = 0; i < variant.returns.size(); ++i) {
    SchemaReturn& result = variant.returns[i];
    result.alias = AliasAnnotation{std::string(1, static_cast<char>('a' + i)), /*write=*/true};
    SchemaArgument argument;
    argument.name = variant.returns.size() == 1 ? "out"
                    : !result.name.empty()      ? result.name
                                                : absl::StrCat("out", i);
    argument.type = result.type;
    argument.keyword_only = true;
    argument.alias = result.alias;
    variant.arguments.push_back(std::move(argument));
  }
  return variant;
}

namespace {

bool SameSignature(const FunctionSchema& a, const FunctionSchema& b) {
  std::vector<Parameter> first = SignatureOf(a), second = SignatureOf(b);
  const bool in_place = KindOf(a) == SchemaKind::kInplace || KindOf(b) == SchemaKind::kInplace;
  if (in_place && !first.empty() && !second.empty()) second.front().name = first.front().name;
  return first == second;
}

// Returns foo_functional for foo: it returns the results of foo and then the new value of each
// argument that foo writes. nullptr if not found.
const OpOverload* FunctionalOfMutable(const OpRegistry& ops, const OpOverload& op) {
  const OpOverload* found =
      ops.Find(absl::StrCat(op.ns(), ".", op.op(), "_functional.", op.overload()));
  if (found == nullptr || found->schema()->IsMutable()) return nullptr;
  const std::vector<SchemaArgument>& arguments = op.schema()->arguments;
  const size_t written =
      static_cast<size_t>(std::count_if(arguments.begin(), arguments.end(), IsWritten));
  const bool matches = found->schema()->arguments.size() == arguments.size() &&
                       found->schema()->returns.size() == op.schema()->returns.size() + written;
  return matches ? found : nullptr;
}

}  // namespace

absl::StatusOr<const OpOverload*> ToVariant(const OpRegistry& ops, const OpOverload* op,
                                            SchemaKind kind) {
  const FunctionSchema* schema = op->schema();
  if (schema == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("operator ", op->name(), " has no schema and so no variants"));
  }
  if (KindOf(*schema) == kind) return op->aten();
  if (KindOf(*schema) == SchemaKind::kMutable && kind == SchemaKind::kFunctional) {
    if (const OpOverload* found = FunctionalOfMutable(ops, *op)) return found;
  }
  const std::string base = WithoutInPlace(op->op()).value_or(std::string(op->op()));
  std::vector<const OpOverload*> candidates = ops.Overloads(op->ns(), base);
  for (const OpOverload* inplace : ops.Overloads(op->ns(), InPlaceName(base))) {
    candidates.push_back(inplace);
  }
  std::vector<std::string> schemas;
  for (const OpOverload* candidate : candidates) {
    if (candidate->schema() == nullptr) continue;
    if (KindOf(*candidate->schema()) == kind && SameSignature(*candidate->schema(), *schema)) {
      return candidate;
    }
    schemas.push_back(candidate->schema()->ToString());
  }
  return absl::NotFoundError(
      absl::StrCat("the ", SchemaKindName(kind), " variant of operator ", op->name(),
                   " can't be found; the overloads there are: ", absl::StrJoin(schemas, "; ")));
}

const OpOverload* ToViewCopy(const OpRegistry& ops, const OpOverload* view) {
  const OpOverload* copy =
      ops.Find(absl::StrCat(view->ns(), ".", view->op(), "_copy.", view->overload()));
  // Known overloads have schemas.
  if (copy == nullptr || copy->schema()->arguments.size() != view->schema()->arguments.size()) {
    return nullptr;
  }
  return copy;
}

absl::StatusOr<std::vector<const OpOverload*>> ToOutVariants(
    const OpRegistry& ops, absl::Span<const OpOverload* const> overloads) {
  std::vector<const OpOverload*> variants;
  std::vector<std::string> problems;
  absl::StatusCode code = absl::StatusCode::kOk;
  for (const OpOverload* op : overloads) {
    const absl::StatusOr<const OpOverload*> variant = ToVariant(ops, op, SchemaKind::kOut);
    if (variant.ok()) {
      variants.push_back(*variant);
      continue;
    }
    std::string problem(variant.status().message());
    if (std::find(problems.begin(), problems.end(), problem) != problems.end()) continue;
    if (problems.empty()) code = variant.status().code();
    problems.push_back(std::move(problem));
  }
  if (problems.empty()) return variants;
  return absl::Status(code, absl::StrCat("missing out variants:\n", absl::StrJoin(problems, "\n")));
}

}  // namespace belay::exir
