// Promotion rules of pointwise operators, by supported dtypes and result type. The rows of an
// operator (exir/ops) and of its kernels reference the same rule.
#ifndef BELAY_RUNTIME_KERNEL_INTERFACE_PROMOTION_RULES_H_
#define BELAY_RUNTIME_KERNEL_INTERFACE_PROMOTION_RULES_H_

#include "runtime/kernel_interface/type_promotion.h"

namespace belay {

inline constexpr DTypeSet kOrderedTypes = kNumericTypes | kBoolType;

// Result in the common dtype; supports all dtypes except float8 …
inline constexpr PromotionRule kAnyRule = {kArithmeticTypes};
inline constexpr PromotionRule kNoBoolRule = {kNumericTypes | kComplexTypes};  // … and bool,
inline constexpr PromotionRule kOrderedRule = {kOrderedTypes};                 // … and complex,
inline constexpr PromotionRule kNumericRule = {kNumericTypes};                 // … and both;
inline constexpr PromotionRule kFloatOnlyRule = {kFloatTypes};
inline constexpr PromotionRule kIntegerRule = {kIntegerTypes};
inline constexpr PromotionRule kIntegerOrBoolRule = {kIntegerTypes | kBoolType};
// integers are promoted to float32;
inline constexpr PromotionRule kToFloatRule = {kArithmeticTypes, ResultType::kFloat};
inline constexpr PromotionRule kOrderedToFloatRule = {kOrderedTypes, ResultType::kFloat};
// result of type bool;
inline constexpr PromotionRule kAnyToBoolRule = {kArithmeticTypes, ResultType::kBool};
inline constexpr PromotionRule kOrderedToBoolRule = {kOrderedTypes, ResultType::kBool};
// complex numbers become real.
inline constexpr PromotionRule kMagnitudeRule = {kNumericTypes | kComplexTypes, ResultType::kReal};

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNEL_INTERFACE_PROMOTION_RULES_H_
