// PyTorch's type promotion: the dtype in which an operator computes, and the dtype it returns.
//
// Source: c10/core/ScalarType (promote_types) and aten/src/ATen/native/TypeProperties (result_type)
// of PyTorch. Operands have three priorities: tensors with dimensions, tensors of rank 0, and
// Python scalars. A lower priority only counts if its category is higher (bool < integral <
// floating point < complex). Meta kernels and kernels use the same rule.
#ifndef BELAY_RUNTIME_KERNEL_INTERFACE_TYPE_PROMOTION_H_
#define BELAY_RUNTIME_KERNEL_INTERFACE_TYPE_PROMOTION_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "runtime/core/dtype.h"
#include "runtime/core/evalue.h"

namespace belay {

// Collects operands; their order does not matter.
class TypePromotion {
 public:
  void AddTensor(DType dtype, int rank) { Add(rank > 0 ? dimensioned_ : zero_dim_, dtype); }
  // `category` is the dtype the scalar promotes as: int64, float32, bool or complex64
  // (ScalarCategory).
  void AddScalar(DType category) { Add(scalar_, category); }

  // Returns the common dtype. kInvalidArgument if two dtypes have none (float8 and others, uint16
  // and int32; names both), or without operands.
  absl::StatusOr<DType> Result() const;

 private:
  void Add(std::optional<DType>& state, DType dtype);
  std::optional<DType> dimensioned_, zero_dim_, scalar_;
  std::optional<DType> clash_[2];
};

// Returns the dtype a scalar promotes as: int64, float32, bool or complex64; nullopt if `value` is
// not a scalar.
std::optional<DType> ScalarCategory(const EValue& value);

// How an operator's result dtype follows from the common dtype of its operands.
enum class ResultType : uint8_t {
  kCommon,  // computes and returns it
  kFloat,   // integers are promoted to float32
  kBool,    // computes in it, returns bool
  kReal,    // returns its real part: abs
};

// Promotion rule of an operator. A constant, shared by the compiler's row and the kernel's row.
struct PromotionRule {
  DTypeSet types;  // supported common dtypes, before integers become float32
  ResultType result = ResultType::kCommon;
  bool operator==(const PromotionRule&) const = default;
};

struct PromotedTypes {
  DType compute;
  DType result;
};

// kInvalidArgument if the operands have no common dtype or the rule does not support it.
absl::StatusOr<PromotedTypes> Promote(const PromotionRule& rule, const TypePromotion& operands);

// Formats a set for messages: "float16, float32".
std::string FormatDTypeSet(DTypeSet types);

inline constexpr DTypeSet kIntegerTypes = kIntegralTypes | kUnsignedWideTypes;
inline constexpr DTypeSet kNumericTypes = kIntegerTypes | kFloatTypes;  // real ones, without bool
inline constexpr DTypeSet kArithmeticTypes = kNumericTypes | kBoolType | kComplexTypes;

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNEL_INTERFACE_TYPE_PROMOTION_H_
