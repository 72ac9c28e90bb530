#include "exir/op/op_variants.h"

#include <algorithm>
#include <string>
#include <tuple>

#include "absl/strings/str_join.h"
#include "exir/op/schema.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"

namespace belay::exir {
namespace {

constexpr std::string_view kTensorOptions[] = {"dtype", "layout", "device", "pin_memory"};

bool IsWritten(const SchemaArgument& argument) {
  return argument.alias.has_value() && argument.alias->write;
}

bool HasInplaceName(const FunctionSchema& schema) {
  return schema.op.size() > 1 && schema.op.back() == '_' && schema.op[schema.op.size() - 2] != '_';
}

struct Parameter {
  std::string name;
  SchemaType type;
  bool keyword_only = false;
  bool operator==(const Parameter& o) const {
    // An operator with symbolic sizes takes numbers too.
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
  return HasInplaceName(schema) && IsWritten(schema.arguments.front()) ? SchemaKind::kInplace
                                                                       : SchemaKind::kMutable;
}

absl::StatusOr<const OpOverload*> ToVariant(const OpRegistry& ops, const OpOverload* op,
                                            SchemaKind kind) {
  const FunctionSchema* schema = op->schema();
  if (schema == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("operator ", op->name(), " has no schema and so no variants"));
  }
  if (KindOf(*schema) == kind) return op->aten();
  std::string base(op->op());
  if (HasInplaceName(*schema)) base.pop_back();
  std::vector<const OpOverload*> candidates = ops.Overloads(op->ns(), base);
  for (const OpOverload* inplace : ops.Overloads(op->ns(), absl::StrCat(base, "_"))) {
    candidates.push_back(inplace);
  }
  const std::vector<Parameter> signature = SignatureOf(*schema);
  std::vector<std::string> schemas;
  for (const OpOverload* candidate : candidates) {
    if (candidate->schema() == nullptr) continue;
    if (KindOf(*candidate->schema()) == kind && SignatureOf(*candidate->schema()) == signature) {
      return candidate;
    }
    schemas.push_back(candidate->schema()->ToString());
  }
  return absl::NotFoundError(
      absl::StrCat("the ", SchemaKindName(kind), " variant of operator ", op->name(),
                   " can't be found; the overloads there are: ", absl::StrJoin(schemas, "; ")));
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
