// Operators on lists of tensors: apply the single-tensor operator to each element.
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "exir/builder/op_shorthand.h"
#include "exir/decompositions/families.h"

namespace belay::exir {
namespace {

// Iterates over list arguments and passes all others unchanged. Precondition: the schemas of both
// operators begin with the same arguments.
template <OpName kOp>
std::vector<Argument> Each(OpBuilder& b, const OpCall& c) {
  std::optional<size_t> count;
  for (const Argument& argument : c.arguments()) {
    const Argument::List* list = argument.get_if<Argument::List>();
    if (list == nullptr) continue;
    if (count.value_or(list->size()) != list->size()) b.Invalid("lists of different lengths");
    count = list->size();
  }
  Argument::List results;
  for (size_t i = 0; i < count.value_or(0) && b.ok(); ++i) {
    std::vector<OpArgument> arguments;
    for (const Argument& argument : c.arguments()) {
      const Argument::List* list = argument.get_if<Argument::List>();
      arguments.push_back(list == nullptr ? argument : (*list)[i]);
    }
    results.push_back(b.Call(kOp.name, std::move(arguments)));
  }
  return {Argument(std::move(results))};
}

// Norm of each tensor.
std::vector<Argument> Norms(OpBuilder& b, const OpCall& c) {
  Argument::List results;
  for (const Argument& x : c.List("self")) {
    results.push_back(
        b.Call("aten.linalg_vector_norm.default", {x, c["ord"]}, {{"dtype", c["dtype"]}}));
  }
  return {Argument(std::move(results))};
}

// Same, in place on the elements of the first list.
template <OpName kOp>
std::vector<Argument> EachWritten(OpBuilder& b, const OpCall& c) {
  const std::vector<Argument> values = Each<kOp>(b, c);
  const std::vector<Argument> written = c.List("self");
  if (!b.ok()) return {};
  const Argument::List* list = values[0].get_if<Argument::List>();
  for (size_t i = 0; i < written.size() && b.ok(); ++i) {
    b.Call("aten.copy_.default", {written[i], (*list)[i]});
  }
  return {};
}

constexpr Decomposition kDecompositions[] = {
    {"aten._foreach_abs.default", Each<"aten.abs.default">},
    {"aten._foreach_abs_.default", EachWritten<"aten.abs.default">},
    {"aten._foreach_acos.default", Each<"aten.acos.default">},
    {"aten._foreach_acos_.default", EachWritten<"aten.acos.default">},
    {"aten._foreach_add.List", Each<"aten.add.Tensor">},
    {"aten._foreach_add.Scalar", Each<"aten.add.Scalar">},
    {"aten._foreach_add.ScalarList", Each<"aten.add.Scalar">},
    {"aten._foreach_add.Tensor", Each<"aten.add.Tensor">},
    {"aten._foreach_add_.List", EachWritten<"aten.add.Tensor">},
    {"aten._foreach_add_.Scalar", EachWritten<"aten.add.Scalar">},
    {"aten._foreach_add_.ScalarList", EachWritten<"aten.add.Scalar">},
    {"aten._foreach_add_.Tensor", EachWritten<"aten.add.Tensor">},
    {"aten._foreach_addcdiv.Scalar", Each<"aten.addcdiv.default">},
    {"aten._foreach_addcdiv.ScalarList", Each<"aten.addcdiv.default">},
    {"aten._foreach_addcdiv_.Scalar", EachWritten<"aten.addcdiv.default">},
    {"aten._foreach_addcdiv_.ScalarList", EachWritten<"aten.addcdiv.default">},
    {"aten._foreach_addcmul.Scalar", Each<"aten.addcmul.default">},
    {"aten._foreach_addcmul.ScalarList", Each<"aten.addcmul.default">},
    {"aten._foreach_addcmul_.Scalar", EachWritten<"aten.addcmul.default">},
    {"aten._foreach_addcmul_.ScalarList", EachWritten<"aten.addcmul.default">},
    {"aten._foreach_asin.default", Each<"aten.asin.default">},
    {"aten._foreach_asin_.default", EachWritten<"aten.asin.default">},
    {"aten._foreach_atan.default", Each<"aten.atan.default">},
    {"aten._foreach_atan_.default", EachWritten<"aten.atan.default">},
    {"aten._foreach_ceil.default", Each<"aten.ceil.default">},
    {"aten._foreach_ceil_.default", EachWritten<"aten.ceil.default">},
    {"aten._foreach_clamp_max.List", Each<"aten.clamp_max.Tensor">},
    {"aten._foreach_clamp_max.Scalar", Each<"aten.clamp_max.default">},
    {"aten._foreach_clamp_max.ScalarList", Each<"aten.clamp_max.default">},
    {"aten._foreach_clamp_max_.List", EachWritten<"aten.clamp_max.Tensor">},
    {"aten._foreach_clamp_max_.Scalar", EachWritten<"aten.clamp_max.default">},
    {"aten._foreach_clamp_max_.ScalarList", EachWritten<"aten.clamp_max.default">},
    {"aten._foreach_clamp_min.List", Each<"aten.clamp_min.Tensor">},
    {"aten._foreach_clamp_min.Scalar", Each<"aten.clamp_min.default">},
    {"aten._foreach_clamp_min.ScalarList", Each<"aten.clamp_min.default">},
    {"aten._foreach_clamp_min_.List", EachWritten<"aten.clamp_min.Tensor">},
    {"aten._foreach_clamp_min_.Scalar", EachWritten<"aten.clamp_min.default">},
    {"aten._foreach_clamp_min_.ScalarList", EachWritten<"aten.clamp_min.default">},
    {"aten._foreach_copy.default", Each<"aten.copy.default">},
    {"aten._foreach_copy_.default", EachWritten<"aten.copy.default">},
    {"aten._foreach_cos.default", Each<"aten.cos.default">},
    {"aten._foreach_cos_.default", EachWritten<"aten.cos.default">},
    {"aten._foreach_cosh.default", Each<"aten.cosh.default">},
    {"aten._foreach_cosh_.default", EachWritten<"aten.cosh.default">},
    {"aten._foreach_div.List", Each<"aten.div.Tensor">},
    {"aten._foreach_div.Scalar", Each<"aten.div.Scalar">},
    {"aten._foreach_div.ScalarList", Each<"aten.div.Scalar">},
    {"aten._foreach_div.Tensor", Each<"aten.div.Tensor">},
    {"aten._foreach_div_.List", EachWritten<"aten.div.Tensor">},
    {"aten._foreach_div_.Scalar", EachWritten<"aten.div.Scalar">},
    {"aten._foreach_div_.ScalarList", EachWritten<"aten.div.Scalar">},
    {"aten._foreach_div_.Tensor", EachWritten<"aten.div.Tensor">},
    {"aten._foreach_erf.default", Each<"aten.erf.default">},
    {"aten._foreach_erf_.default", EachWritten<"aten.erf.default">},
    {"aten._foreach_erfc.default", Each<"aten.erfc.default">},
    {"aten._foreach_erfc_.default", EachWritten<"aten.erfc.default">},
    {"aten._foreach_exp.default", Each<"aten.exp.default">},
    {"aten._foreach_exp_.default", EachWritten<"aten.exp.default">},
    {"aten._foreach_expm1.default", Each<"aten.expm1.default">},
    {"aten._foreach_expm1_.default", EachWritten<"aten.expm1.default">},
    {"aten._foreach_floor.default", Each<"aten.floor.default">},
    {"aten._foreach_floor_.default", EachWritten<"aten.floor.default">},
    {"aten._foreach_frac.default", Each<"aten.frac.default">},
    {"aten._foreach_frac_.default", EachWritten<"aten.frac.default">},
    {"aten._foreach_lerp.List", Each<"aten.lerp.Tensor">},
    {"aten._foreach_lerp.Scalar", Each<"aten.lerp.Scalar">},
    {"aten._foreach_lerp.ScalarList", Each<"aten.lerp.Scalar">},
    {"aten._foreach_lerp_.List", EachWritten<"aten.lerp.Tensor">},
    {"aten._foreach_lerp_.Scalar", EachWritten<"aten.lerp.Scalar">},
    {"aten._foreach_lerp_.ScalarList", EachWritten<"aten.lerp.Scalar">},
    {"aten._foreach_lgamma.default", Each<"aten.lgamma.default">},
    {"aten._foreach_lgamma_.default", EachWritten<"aten.lgamma.default">},
    {"aten._foreach_log.default", Each<"aten.log.default">},
    {"aten._foreach_log10.default", Each<"aten.log10.default">},
    {"aten._foreach_log10_.default", EachWritten<"aten.log10.default">},
    {"aten._foreach_log1p.default", Each<"aten.log1p.default">},
    {"aten._foreach_log1p_.default", EachWritten<"aten.log1p.default">},
    {"aten._foreach_log2.default", Each<"aten.log2.default">},
    {"aten._foreach_log2_.default", EachWritten<"aten.log2.default">},
    {"aten._foreach_log_.default", EachWritten<"aten.log.default">},
    {"aten._foreach_max.default", Each<"aten.max.default">},
    {"aten._foreach_maximum.List", Each<"aten.clamp_min.Tensor">},
    {"aten._foreach_maximum.Scalar", Each<"aten.clamp_min.default">},
    {"aten._foreach_maximum.ScalarList", Each<"aten.clamp_min.default">},
    {"aten._foreach_maximum_.List", EachWritten<"aten.clamp_min.Tensor">},
    {"aten._foreach_maximum_.Scalar", EachWritten<"aten.clamp_min.default">},
    {"aten._foreach_maximum_.ScalarList", EachWritten<"aten.clamp_min.default">},
    {"aten._foreach_minimum.List", Each<"aten.clamp_max.Tensor">},
    {"aten._foreach_minimum.Scalar", Each<"aten.clamp_max.default">},
    {"aten._foreach_minimum.ScalarList", Each<"aten.clamp_max.default">},
    {"aten._foreach_minimum_.List", EachWritten<"aten.clamp_max.Tensor">},
    {"aten._foreach_minimum_.Scalar", EachWritten<"aten.clamp_max.default">},
    {"aten._foreach_minimum_.ScalarList", EachWritten<"aten.clamp_max.default">},
    {"aten._foreach_mul.List", Each<"aten.mul.Tensor">},
    {"aten._foreach_mul.Scalar", Each<"aten.mul.Scalar">},
    {"aten._foreach_mul.ScalarList", Each<"aten.mul.Scalar">},
    {"aten._foreach_mul.Tensor", Each<"aten.mul.Tensor">},
    {"aten._foreach_mul_.List", EachWritten<"aten.mul.Tensor">},
    {"aten._foreach_mul_.Scalar", EachWritten<"aten.mul.Scalar">},
    {"aten._foreach_mul_.ScalarList", EachWritten<"aten.mul.Scalar">},
    {"aten._foreach_mul_.Tensor", EachWritten<"aten.mul.Tensor">},
    {"aten._foreach_neg.default", Each<"aten.neg.default">},
    {"aten._foreach_neg_.default", EachWritten<"aten.neg.default">},
    {"aten._foreach_norm.Scalar", Norms},
    {"aten._foreach_pow.List", Each<"aten.pow.Tensor_Tensor">},
    {"aten._foreach_pow.Scalar", Each<"aten.pow.Tensor_Scalar">},
    {"aten._foreach_pow.ScalarAndTensor", Each<"aten.pow.Scalar">},
    {"aten._foreach_pow.ScalarList", Each<"aten.pow.Tensor_Scalar">},
    {"aten._foreach_pow_.List", EachWritten<"aten.pow.Tensor_Tensor">},
    {"aten._foreach_pow_.Scalar", EachWritten<"aten.pow.Tensor_Scalar">},
    {"aten._foreach_pow_.ScalarList", EachWritten<"aten.pow.Tensor_Scalar">},
    {"aten._foreach_reciprocal.default", Each<"aten.reciprocal.default">},
    {"aten._foreach_reciprocal_.default", EachWritten<"aten.reciprocal.default">},
    {"aten._foreach_round.default", Each<"aten.round.default">},
    {"aten._foreach_round_.default", EachWritten<"aten.round.default">},
    {"aten._foreach_rsqrt.default", Each<"aten.rsqrt.default">},
    {"aten._foreach_rsqrt_.default", EachWritten<"aten.rsqrt.default">},
    {"aten._foreach_sigmoid.default", Each<"aten.sigmoid.default">},
    {"aten._foreach_sigmoid_.default", EachWritten<"aten.sigmoid.default">},
    {"aten._foreach_sign.default", Each<"aten.sign.default">},
    {"aten._foreach_sign_.default", EachWritten<"aten.sign.default">},
    {"aten._foreach_sin.default", Each<"aten.sin.default">},
    {"aten._foreach_sin_.default", EachWritten<"aten.sin.default">},
    {"aten._foreach_sinh.default", Each<"aten.sinh.default">},
    {"aten._foreach_sinh_.default", EachWritten<"aten.sinh.default">},
    {"aten._foreach_sqrt.default", Each<"aten.sqrt.default">},
    {"aten._foreach_sqrt_.default", EachWritten<"aten.sqrt.default">},
    {"aten._foreach_sub.List", Each<"aten.sub.Tensor">},
    {"aten._foreach_sub.Scalar", Each<"aten.sub.Scalar">},
    {"aten._foreach_sub.ScalarList", Each<"aten.sub.Scalar">},
    {"aten._foreach_sub_.List", EachWritten<"aten.sub.Tensor">},
    {"aten._foreach_sub_.Scalar", EachWritten<"aten.sub.Scalar">},
    {"aten._foreach_sub_.ScalarList", EachWritten<"aten.sub.Scalar">},
    {"aten._foreach_tan.default", Each<"aten.tan.default">},
    {"aten._foreach_tan_.default", EachWritten<"aten.tan.default">},
    {"aten._foreach_tanh.default", Each<"aten.tanh.default">},
    {"aten._foreach_tanh_.default", EachWritten<"aten.tanh.default">},
    {"aten._foreach_trunc.default", Each<"aten.trunc.default">},
    {"aten._foreach_trunc_.default", EachWritten<"aten.trunc.default">},
    {"aten._foreach_zero.default", Each<"aten.zero.default">},
    {"aten._foreach_zero_.default", EachWritten<"aten.zero.default">},
};

}  // namespace

absl::Span<const Decomposition> ForeachDecompositions() { return kDecompositions; }

}  // namespace belay::exir
