// The meta kernels of pointwise operators: promotion, broadcasting and layout, the counterpart of
// the kernels' driver.
#ifndef BELAY_EXIR_OPS_POINTWISE_H_
#define BELAY_EXIR_OPS_POINTWISE_H_

#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "exir/op/meta_context.h"
#include "exir/op/op_def.h"
#include "runtime/kernel/promotion_rules.h"

namespace belay::exir {

// "aten::add.Tensor: <message>", kInvalidArgument.
absl::Status MetaError(const MetaContext& context, std::string_view message);
// "aten::add.Tensor: argument 'alpha': <message>".
absl::Status ArgumentError(const MetaContext& context, int i, std::string_view message);

// Argument `i`, a number of which the operator takes the real value. kInvalidArgument for a complex
// number that has an imaginary part.
absl::Status CheckRealNumber(const MetaContext& context, int i);

// Argument `i`, which the operator writes: kInvalidArgument when some of its elements are one place
// in memory.
absl::Status CheckWritable(const MetaContext& context, int i, const TensorMeta& tensor);

// One call: add the operands, promote, finish.
class PointwiseMeta {
 public:
  explicit PointwiseMeta(MetaContext& context) : context_(context) {}

  // Argument `i`, a tensor or a number (which the schema may call Tensor: exported programs do
  // that).
  absl::Status Add(int i);
  void AddTensor(const TensorMeta& tensor);
  // Argument `i`, a tensor of one of these dtypes that is broadcast but not promoted.
  absl::Status AddMask(int i, DTypeSet types);
  // Argument `i`, a number that is promoted but no operand.
  absl::Status PromoteWith(int i);

  absl::StatusOr<PromotedTypes> Promote(const PromotionRule& rule) const;
  // The broadcast size of the operands so far.
  absl::StatusOr<std::vector<SymInt>> Shape() const;
  // Sets output 0: its shape broadcast, its strides by TensorIterator's rule.
  absl::Status Finish(DType result);

 private:
  MetaContext& context_;
  TypePromotion promotion_;
  std::vector<TensorMeta> operands_;
};

// The whole of an operator whose first `operands` arguments are operands.
absl::Status InferPointwise(MetaContext& context, int operands, const PromotionRule& rule);

template <PromotionRule kRule>
absl::Status InferUnary(MetaContext& context) {
  return InferPointwise(context, 1, kRule);
}
template <PromotionRule kRule>
absl::Status InferBinary(MetaContext& context) {
  return InferPointwise(context, 2, kRule);
}

// Tolerances of float32 by the kind of arithmetic.
inline constexpr Tolerance kExact = {0, 0};
inline constexpr Tolerance kRounded = {1e-6, 1e-37};
inline constexpr Tolerance kTranscendental = {2e-6, 1e-7};

}  // namespace belay::exir

#endif  // BELAY_EXIR_OPS_POINTWISE_H_
