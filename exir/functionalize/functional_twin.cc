#include "exir/functionalize/functional_twin.h"

#include <algorithm>
#include <iterator>

#include "exir/builder/op_shorthand.h"
#include "runtime/core/str_cat.h"

namespace belay::exir {
namespace {

std::vector<Argument> Copy(OpBuilder& b, const OpCall& c) { return {c["src"]}; }
std::vector<Argument> Zero(OpBuilder& b, const OpCall& c) {
  return {b.Call("aten.full_like.default", {c["self"], 0})};
}
std::vector<Argument> FillDiagonal(OpBuilder& b, const OpCall& c) {
  const Argument& self = c["self"];
  if (b.rank(self) != 2 || c.Bool("wrap")) {
    b.Unsupported("fill_diagonal_ of a tensor that is no matrix, or with wrap");
    return {};
  }
  const Argument rows = Unsqueeze(b, Arange(b, b.size(self, 0)), 1);
  const Argument diagonal = b.Call("aten.eq.Tensor", {rows, Arange(b, b.size(self, 1))});
  return {Where(b, diagonal, c["fill_value"], self)};
}

struct Special {
  std::string_view op;
  FunctionalTwin::Kind kind;
  std::string_view twin;  // "" when `compute` does it
  std::vector<Argument> (*compute)(OpBuilder& b, const OpCall& call) = nullptr;
};
using Kind = FunctionalTwin::Kind;
// Sorted.
constexpr Special kSpecial[] = {
    {"aten.__iand__.Scalar", Kind::kValues, "aten.bitwise_and.Scalar"},
    {"aten.__iand__.Tensor", Kind::kValues, "aten.bitwise_and.Tensor"},
    {"aten.__ilshift__.Scalar", Kind::kValues, "aten.bitwise_left_shift.Tensor_Scalar"},
    {"aten.__ilshift__.Tensor", Kind::kValues, "aten.bitwise_left_shift.Tensor"},
    {"aten.__ior__.Scalar", Kind::kValues, "aten.bitwise_or.Scalar"},
    {"aten.__ior__.Tensor", Kind::kValues, "aten.bitwise_or.Tensor"},
    {"aten.__irshift__.Scalar", Kind::kValues, "aten.bitwise_right_shift.Tensor_Scalar"},
    {"aten.__irshift__.Tensor", Kind::kValues, "aten.bitwise_right_shift.Tensor"},
    {"aten.__ixor__.Scalar", Kind::kValues, "aten.bitwise_xor.Scalar"},
    {"aten.__ixor__.Tensor", Kind::kValues, "aten.bitwise_xor.Tensor"},
    {"aten.as_strided_.default", Kind::kView, "aten.as_strided.default"},
    {"aten.copy_.default", Kind::kValues, "", Copy},
    {"aten.detach_.default", Kind::kAlias, ""},
    {"aten.fill_diagonal_.default", Kind::kValues, "", FillDiagonal},
    {"aten.pow_.Scalar", Kind::kValues, "aten.pow.Tensor_Scalar"},
    {"aten.pow_.Tensor", Kind::kValues, "aten.pow.Tensor_Tensor"},
    {"aten.float_power_.Scalar", Kind::kValues, "aten.float_power.Tensor_Scalar"},
    {"aten.float_power_.Tensor", Kind::kValues, "aten.float_power.Tensor_Tensor"},
    {"aten.floor_divide_.Tensor", Kind::kValues, "aten.floor_divide.default"},
    {"aten.squeeze_.default", Kind::kView, "aten.squeeze.default"},
    {"aten.squeeze_.dim", Kind::kView, "aten.squeeze.dim"},
    {"aten.squeeze_.dims", Kind::kView, "aten.squeeze.dims"},
    {"aten.swapaxes_.default", Kind::kView, "aten.transpose.int"},
    {"aten.swapdims_.default", Kind::kView, "aten.transpose.int"},
    {"aten.t_.default", Kind::kView, "aten.t.default"},
    {"aten.transpose_.default", Kind::kView, "aten.transpose.int"},
    {"aten.unsqueeze_.default", Kind::kView, "aten.unsqueeze.default"},
    {"aten.zero_.default", Kind::kValues, "", Zero},
};

// foo.out, which writes its results to its last arguments, is the overload of foo that has the
// other arguments.
std::optional<FunctionalTwin> TwinOfOut(const OpRegistry& ops, const OpOverload& op) {
  const FunctionSchema& schema = *op.schema();
  const size_t outs = schema.returns.size();
  if (outs == 0 || schema.arguments.size() < outs) return std::nullopt;
  for (size_t i = 0; i < schema.arguments.size(); ++i) {
    const SchemaArgument& argument = schema.arguments[i];
    const bool out = i + outs >= schema.arguments.size();
    if ((argument.alias.has_value() && argument.alias->write) != out) return std::nullopt;
    if (out && argument.type.list) return std::nullopt;
  }
  for (const OpOverload* other : ops.Overloads(op.ns(), op.op())) {
    const FunctionSchema* candidate = other->schema();
    if (candidate == nullptr || candidate->IsMutable() || candidate->returns.size() != outs ||
        candidate->arguments.size() + outs != schema.arguments.size()) {
      continue;
    }
    const bool same = std::equal(
        candidate->arguments.begin(), candidate->arguments.end(), schema.arguments.begin(),
        [](const auto& a, const auto& b) { return a.name == b.name && a.type == b.type; });
    if (same) return FunctionalTwin{Kind::kOut, other, nullptr};
  }
  return std::nullopt;
}

// foo, which gives something and writes to arguments besides, has foo_functional.
std::optional<FunctionalTwin> TwinWithBoth(const OpRegistry& ops, const OpOverload& op) {
  const FunctionSchema& schema = *op.schema();
  const OpOverload* twin =
      ops.Find(absl::StrCat(op.ns(), ".", op.op(), "_functional.", op.overload()));
  if (twin == nullptr || twin->schema() == nullptr || twin->schema()->IsMutable()) {
    return std::nullopt;
  }
  size_t written = 0;
  for (const SchemaArgument& argument : schema.arguments) {
    written += argument.alias.has_value() && argument.alias->write ? 1 : 0;
  }
  if (twin->schema()->arguments.size() != schema.arguments.size() ||
      twin->schema()->returns.size() != schema.returns.size() + written) {
    return std::nullopt;
  }
  return FunctionalTwin{Kind::kBoth, twin, nullptr};
}

}  // namespace

std::optional<FunctionalTwin> FunctionalTwinOf(const OpRegistry& ops, const OpOverload& op) {
  for (const Special& special : kSpecial) {
    if (special.op != op.name()) continue;
    FunctionalTwin twin{special.kind, nullptr, special.compute};
    if (!special.twin.empty()) {
      twin.op = ops.Find(special.twin);
      if (twin.op == nullptr) return std::nullopt;
    }
    return twin;
  }
  const FunctionSchema& schema = *op.schema();
  const bool first = !schema.arguments.empty() && schema.arguments[0].alias.has_value() &&
                     schema.arguments[0].alias->write;
  if (!first) {
    const std::optional<FunctionalTwin> both = TwinWithBoth(ops, op);
    return both.has_value() ? both : TwinOfOut(ops, op);
  }
  // One written argument, the first, and the result is it: foo_ is foo.
  if (!LooksMutating(op) || schema.arguments.empty() || schema.returns.size() != 1) {
    return std::nullopt;
  }
  for (size_t i = 0; i < schema.arguments.size(); ++i) {
    const auto& alias = schema.arguments[i].alias;
    if ((alias.has_value() && alias->write) != (i == 0)) return std::nullopt;
  }
  const std::string_view name = op.op().substr(0, op.op().size() - 1);
  const OpOverload* twin = ops.Find(absl::StrCat(op.ns(), ".", name, ".", op.overload()));
  if (twin == nullptr || twin->schema() == nullptr || twin->schema()->IsMutable() ||
      twin->schema()->arguments.size() != schema.arguments.size() ||
      twin->schema()->returns.size() != 1) {
    return std::nullopt;
  }
  return FunctionalTwin{Kind::kValues, twin, nullptr};
}

bool LooksMutating(const OpOverload& op) {
  const std::string_view name = op.op();
  return op.ns() == "aten" && name.size() > 1 && name.back() == '_' && name[name.size() - 2] != '_';
}

}  // namespace belay::exir
