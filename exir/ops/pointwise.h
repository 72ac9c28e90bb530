// Meta kernels of pointwise operators: promotion, broadcasting and layout. Counterpart of the
// kernels' pointwise driver.
#ifndef BELAY_EXIR_OPS_POINTWISE_H_
#define BELAY_EXIR_OPS_POINTWISE_H_

#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "exir/op_definition/meta_context.h"
#include "exir/op_definition/op_def.h"
#include "exir/ops/meta_arguments.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernel_interface/promotion_rules.h"
#include "runtime/kernel_interface/shape_rules/pointwise.h"

namespace belay::exir {

// Returns kInvalidArgument "aten::add.Tensor: <message>".
absl::Status MetaError(const MetaContext& context, std::string_view message);
// Returns kInvalidArgument "aten::add.Tensor: argument 'alpha': <message>".
absl::Status ArgumentError(const MetaContext& context, int i, std::string_view message);

// Checks argument `i`, a number whose real value the operator uses. kInvalidArgument for a complex
// number with an imaginary part.
absl::Status CheckRealNumber(const MetaContext& context, int i);

// Checks argument `i`, which the operator writes: kInvalidArgument if some of its elements overlap
// in memory.
absl::Status CheckWritable(const MetaContext& context, int i, const TensorMeta& tensor);

// Returns the size to which the operands broadcast.
absl::StatusOr<std::vector<SymInt>> PointwiseShape(const MetaContext& context,
                                                   const PointwiseOperands<MetaArguments>& call);
// Sets output 0: broadcast shape, strides by TensorIterator's rule.
absl::Status SetPointwise(MetaContext& context, const PointwiseOperands<MetaArguments>& call,
                          DType result);

// The meta kernel of an operator with arguments `Call` and a result of the call's dtype.
template <class Call>
absl::Status InferPointwise(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const Call call, Call::Read(MetaArguments(context)));
  return SetPointwise(context, call, call.types.result);
}
template <PromotionRule kRule>
absl::Status InferUnary(MetaContext& context) {
  return InferPointwise<PlainCall<MetaArguments, 1, kRule>>(context);
}
template <PromotionRule kRule>
absl::Status InferBinary(MetaContext& context) {
  return InferPointwise<PlainCall<MetaArguments, 2, kRule>>(context);
}

// Tolerances of float32 by the kind of arithmetic.
inline constexpr Tolerance kExact = {0, 0};
inline constexpr Tolerance kRounded = {1e-6, 1e-37};
inline constexpr Tolerance kTranscendental = {2e-6, 1e-7};

}  // namespace belay::exir

#endif  // BELAY_EXIR_OPS_POINTWISE_H_
