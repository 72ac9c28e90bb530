// PyTorch's type promotion: in which dtype an operator computes, and which it returns.
//
// Source: c10/core/ScalarType (promote_types) and aten/src/ATen/native/TypeProperties (result_type)
// of PyTorch. Operands are of three classes; a lower class counts only where it is of a higher
// category (bool < integral < floating point < complex): tensors with dimensions, tensors without,
// and Python numbers. Meta kernels and kernels use the same rule.
#ifndef BELAY_RUNTIME_KERNEL_TYPE_PROMOTION_H_
#define BELAY_RUNTIME_KERNEL_TYPE_PROMOTION_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "runtime/core/dtype.h"
#include "runtime/core/evalue.h"

namespace belay {

// Collects operands; the order of adding does not matter.
class TypePromotion {
 public:
  void AddTensor(DType dtype, int rank) { Add(rank > 0 ? dimensioned_ : zero_dim_, dtype); }
  // `category` is what the number promotes as: int64, float32, bool or complex64 (ScalarCategory).
  void AddScalar(DType category) { Add(scalar_, category); }

  // The common dtype. kInvalidArgument naming the two dtypes that have none (float8 and others,
  // uint16 and int32), or when there was no operand.
  absl::StatusOr<DType> Result() const;

 private:
  void Add(std::optional<DType>& state, DType dtype);
  std::optional<DType> dimensioned_, zero_dim_, scalar_;
  std::optional<DType> clash_[2];
};

// The dtype as which a number promotes: int64, float32, bool or complex64; nullopt when it is no
// number.
std::optional<DType> ScalarCategory(const EValue& value);

// What an operator makes of the common dtype of its operands.
enum class ResultType : uint8_t {
  kCommon,  // computes and returns it
  kFloat,   // integers count as float32
  kBool,    // computes in it, returns bool
  kReal,    // returns its real part: abs
};

// An operator's rule. A constant; the compiler's row and the kernel's row refer to the same one.
struct PromotionRule {
  DTypeSet types;  // the common dtypes it takes, before integers become float32
  ResultType result = ResultType::kCommon;
  bool operator==(const PromotionRule&) const = default;
};

struct PromotedTypes {
  DType compute;
  DType result;
};

// kInvalidArgument when there is no common dtype or the rule does not take it.
absl::StatusOr<PromotedTypes> Promote(const PromotionRule& rule, const TypePromotion& operands);

// "float16, float32": for messages.
std::string FormatDTypeSet(DTypeSet types);

inline constexpr DTypeSet kIntegerTypes = kIntegralTypes | kUnsignedWideTypes;
inline constexpr DTypeSet kNumericTypes = kIntegerTypes | kFloatTypes;  // real ones, without bool
inline constexpr DTypeSet kArithmeticTypes = kNumericTypes | kBoolType | kComplexTypes;

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNEL_TYPE_PROMOTION_H_
