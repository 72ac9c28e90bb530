#include "exir/functionalize/functional_form.h"

#include <algorithm>

#include "exir/builder/op_shorthand.h"
#include "exir/op_definition/op_variants.h"

namespace belay::exir {
namespace {

std::vector<Argument> Copy(OpBuilder& b, const OpCall& c) { return {c["src"]}; }
std::vector<Argument> Zero(OpBuilder& b, const OpCall& c) {
  return {b.Call("aten.full_like.default", {c["self"], 0})};
}
std::vector<Argument> FillDiagonal(OpBuilder& b, const OpCall& c) {
  const Argument& self = c["self"];
  if (b.rank(self) != 2 || c.Bool("wrap")) {
    b.Unsupported("fill_diagonal_ of a tensor that is not a matrix, or with wrap");
    return {};
  }
  const Argument rows = Unsqueeze(b, Arange(b, b.size(self, 0)), 1);
  const Argument diagonal = b.Call("aten.eq.Tensor", {rows, Arange(b, b.size(self, 1))});
  return {Where(b, diagonal, c["fill_value"], self)};
}
std::vector<Argument> Polygamma(OpBuilder& b, const OpCall& c) {
  return {b.Call("aten.polygamma.default", {c["n"], c["self"]})};
}

// A placeholder and the new cache. Source: ExecuTorch's operators return a tensor of one element
// that is not written.
std::vector<Argument> UpdateCache(OpBuilder& b, const OpCall& c) {
  const bool indexed = c.op()->ArgumentIndex("indices").has_value();
  const Argument indices = indexed ? c["indices"] : Argument();
  const Argument cache = b.Call("llama.update_cache_functional.default",
                                {c["cache"], c["value"], c["start_pos"], indices});
  return {Full(b, {1}, 0, b.dtype(c["cache"])), cache};
}
// The result and both new caches.
std::vector<Argument> AttendWithCache(OpBuilder& b, const OpCall& c) {
  const auto update = [&](std::string_view cache, std::string_view value) {
    return b.Call("llama.update_cache_functional.default",
                  {c[cache], c[value], c["start_pos"], Argument()});
  };
  const Argument key = update("key_cache", "key"), value = update("value_cache", "value");
  const Argument result =
      b.Call("llama.custom_sdpa.default", {c["query"], key, value, c["start_pos"], c["attn_mask"],
                                           c["drpout_p"], c["is_causal"], c["scale"]});
  return {result, key, value};
}

using Kind = FunctionalForm::Kind;

struct Special {
  std::string_view op;
  Kind kind;
  std::string_view functional;  // "" when `compute` does it
  std::vector<Argument> (*compute)(OpBuilder& b, const OpCall& call) = nullptr;
};
// Operators whose replacement is not their functional variant, or that have none. Sorted.
constexpr Special kSpecial[] = {
    {"aten.__ilshift__.Scalar", Kind::kValues, "aten.bitwise_left_shift.Tensor_Scalar"},
    {"aten.__ilshift__.Tensor", Kind::kValues, "aten.bitwise_left_shift.Tensor"},
    {"aten.__irshift__.Scalar", Kind::kValues, "aten.bitwise_right_shift.Tensor_Scalar"},
    {"aten.__irshift__.Tensor", Kind::kValues, "aten.bitwise_right_shift.Tensor"},
    {"aten.copy_.default", Kind::kValues, "", Copy},
    {"aten.detach_.default", Kind::kAlias, ""},
    {"aten.fill_diagonal_.default", Kind::kValues, "", FillDiagonal},
    {"aten.normal_.default", Kind::kValues, "aten.normal_functional.default"},
    {"aten.polygamma_.default", Kind::kValues, "", Polygamma},
    {"aten.swapaxes_.default", Kind::kView, "aten.transpose.int"},
    {"aten.swapdims_.default", Kind::kView, "aten.transpose.int"},
    {"aten.zero_.default", Kind::kValues, "", Zero},
    {"llama.sdpa_with_kv_cache.default", Kind::kBoth, "", AttendWithCache},
    {"llama.update_cache.default", Kind::kBoth, "", UpdateCache},
    {"llama.update_cache_with_indices.default", Kind::kBoth, "", UpdateCache},
};

bool Writes(const SchemaArgument& argument) {
  return argument.alias.has_value() && argument.alias->write;
}

size_t CountWritten(const FunctionSchema& schema) {
  return static_cast<size_t>(
      std::count_if(schema.arguments.begin(), schema.arguments.end(), Writes));
}

// Whether exactly the `count` arguments from `first` on are written, and none of them is a list.
bool WritesExactly(const FunctionSchema& schema, size_t first, size_t count) {
  for (size_t i = 0; i < schema.arguments.size(); ++i) {
    const bool expected = i >= first && i < first + count;
    if (Writes(schema.arguments[i]) != expected) return false;
    if (expected && schema.arguments[i].type.list) return false;
  }
  return first + count <= schema.arguments.size();
}

}  // namespace

std::optional<FunctionalForm> FunctionalFormOf(const OpRegistry& ops, const OpOverload& op) {
  for (const Special& special : kSpecial) {
    if (special.op != op.name()) continue;
    FunctionalForm form{special.kind, nullptr, special.compute};
    if (!special.functional.empty()) {
      form.op = ops.Find(special.functional);
      if (form.op == nullptr) return std::nullopt;
    }
    return form;
  }
  const absl::StatusOr<const OpOverload*> functional = ToVariant(ops, &op, SchemaKind::kFunctional);
  if (!functional.ok()) return std::nullopt;
  const FunctionSchema& schema = *op.schema();
  const size_t returns = schema.returns.size();
  const bool same_returns = (*functional)->schema()->returns.size() == returns;
  switch (KindOf(schema)) {
    case SchemaKind::kFunctional:
      return std::nullopt;
    case SchemaKind::kInplace:
      // Only the first argument is written, and it is the result.
      if (returns != 1 || !same_returns || !WritesExactly(schema, 0, 1)) return std::nullopt;
      return FunctionalForm{(*functional)->schema()->IsView() ? Kind::kView : Kind::kValues,
                            *functional};
    case SchemaKind::kOut:
      if (returns == 0 || !same_returns || schema.arguments.size() < returns ||
          !WritesExactly(schema, schema.arguments.size() - returns, returns)) {
        return std::nullopt;
      }
      return FunctionalForm{Kind::kOut, *functional};
    case SchemaKind::kMutable:
      if ((*functional)->schema()->returns.size() != returns + CountWritten(schema)) {
        return std::nullopt;
      }
      return FunctionalForm{Kind::kBoth, *functional};
  }
  return std::nullopt;
}

}  // namespace belay::exir
