#include "runtime/kernel_interface/type_promotion.h"

#include <complex>
#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"

namespace belay {
namespace {

DType ToComplex(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
      return DType::kComplex32;
    case DType::kFloat64:
      return DType::kComplex128;
    default:
      return DType::kComplex64;
  }
}

absl::Status NoCommonType(DType a, DType b) {
  return absl::InvalidArgumentError(
      absl::StrCat("dtypes ", DTypeName(a), " and ", DTypeName(b), " have no common dtype"));
}

// Combines the dtype of higher-priority operands with that of a lower priority.
absl::StatusOr<std::optional<DType>> Combine(std::optional<DType> higher,
                                             std::optional<DType> lower) {
  if (!higher.has_value()) return lower;
  if (!lower.has_value() || IsComplex(*higher)) return higher;
  if (IsFloatingPoint(*higher)) {
    return IsComplex(*lower) ? std::optional<DType>(ToComplex(*higher)) : higher;
  }
  if (*higher != DType::kBool && !IsFloatingPoint(*lower) && !IsComplex(*lower)) return higher;
  // Wide unsigned integers only become complex through an operand of lower priority.
  if (kUnsignedWideTypes.contains(*higher) && IsComplex(*lower)) return lower;
  const std::optional<DType> both = PromoteTypes(*higher, *lower);
  if (!both.has_value()) return NoCommonType(*higher, *lower);
  return both;
}

}  // namespace

void TypePromotion::Add(std::optional<DType>& state, DType dtype) {
  if (!state.has_value()) {
    state = dtype;
    return;
  }
  const std::optional<DType> both = PromoteTypes(*state, dtype);
  if (!both.has_value() && !clash_[0].has_value()) {
    clash_[0] = state;
    clash_[1] = dtype;
  }
  if (both.has_value()) state = both;
}

absl::StatusOr<DType> TypePromotion::Result() const {
  if (clash_[0].has_value()) return NoCommonType(*clash_[0], *clash_[1]);
  ABSL_ASSIGN_OR_RETURN(const std::optional<DType> lower, Combine(zero_dim_, scalar_));
  ABSL_ASSIGN_OR_RETURN(const std::optional<DType> all, Combine(dimensioned_, lower));
  if (!all.has_value()) return absl::InvalidArgumentError("no operand has a dtype");
  return *all;
}

std::optional<DType> ScalarCategory(const EValue& value) {
  if (value.is<int64_t>()) return DType::kInt64;
  if (value.is<double>()) return DType::kFloat32;
  if (value.is<bool>()) return DType::kBool;
  if (value.is<std::complex<double>>()) return DType::kComplex64;
  return std::nullopt;
}

absl::StatusOr<PromotedTypes> Promote(const PromotionRule& rule, const TypePromotion& operands) {
  ABSL_ASSIGN_OR_RETURN(const DType common, operands.Result());
  if (!rule.types.contains(common)) {
    return absl::InvalidArgumentError(absl::StrCat("dtype ", DTypeName(common),
                                                   " is not supported, expected one of ",
                                                   FormatDTypeSet(rule.types)));
  }
  switch (rule.result) {
    case ResultType::kCommon:
      return PromotedTypes{common, common};
    case ResultType::kFloat: {
      const DType type = IsIntegral(common, /*include_bool=*/true) ? DType::kFloat32 : common;
      return PromotedTypes{type, type};
    }
    case ResultType::kBool:
      return PromotedTypes{common, DType::kBool};
    case ResultType::kReal:
      return PromotedTypes{common, RealPart(common)};
  }
  return absl::InternalError("invalid promotion rule");
}

std::string FormatDTypeSet(DTypeSet types) {
  std::string text;
  for (int i = 1; i < kNumDTypes; ++i) {
    const DType type = static_cast<DType>(i);
    if (types.contains(type)) absl::StrAppend(&text, text.empty() ? "" : ", ", DTypeName(type));
  }
  return text;
}

}  // namespace belay
