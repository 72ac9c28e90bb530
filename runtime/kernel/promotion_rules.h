// The promotion rules of pointwise operators, by what they take and what they make of it. Rows of
// operators (exir/ops) and their kernels name the same rule.
#ifndef BELAY_RUNTIME_KERNEL_PROMOTION_RULES_H_
#define BELAY_RUNTIME_KERNEL_PROMOTION_RULES_H_

#include "runtime/kernel/type_promotion.h"

namespace belay {

inline constexpr DTypeSet kOrderedTypes = kNumericTypes | kBoolType;

// Result in the common dtype, of: anything but float8 …
inline constexpr PromotionRule kAnyRule = {kArithmeticTypes};
inline constexpr PromotionRule kNoBoolRule = {kNumericTypes | kComplexTypes};  // … or bool,
inline constexpr PromotionRule kOrderedRule = {kOrderedTypes};                 // … or complex,
inline constexpr PromotionRule kNumericRule = {kNumericTypes};                 // … or either;
inline constexpr PromotionRule kFloatOnlyRule = {kFloatTypes};
inline constexpr PromotionRule kIntegerRule = {kIntegerTypes};
inline constexpr PromotionRule kIntegerOrBoolRule = {kIntegerTypes | kBoolType};
// integers count as float32;
inline constexpr PromotionRule kToFloatRule = {kArithmeticTypes, ResultType::kFloat};
inline constexpr PromotionRule kOrderedToFloatRule = {kOrderedTypes, ResultType::kFloat};
// result of type bool;
inline constexpr PromotionRule kAnyToBoolRule = {kArithmeticTypes, ResultType::kBool};
inline constexpr PromotionRule kOrderedToBoolRule = {kOrderedTypes, ResultType::kBool};
// complex numbers become real.
inline constexpr PromotionRule kMagnitudeRule = {kNumericTypes | kComplexTypes, ResultType::kReal};

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNEL_PROMOTION_RULES_H_
