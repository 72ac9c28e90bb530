// Driver of all operators whose output elements depend on one element of each operand.
//
// A family's file defines an operator's arithmetic as a generic lambda. kUnary, kBinary and the
// other tables instantiate it for the compute classes that its constraint accepts. The driver takes
// a parsed call (runtime/kernel_interface/shape_rules/pointwise.h), broadcasts, converts, and calls the loops
// on runs.
#ifndef BELAY_RUNTIME_KERNELS_OPERANDS_POINTWISE_H_
#define BELAY_RUNTIME_KERNELS_OPERANDS_POINTWISE_H_

#include <complex>
#include <concepts>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

#include "absl/status/statusor.h"
#include "runtime/core/element.h"
#include "runtime/kernel_interface/kernel.h"
#include "runtime/kernel_interface/kernel_arguments.h"
#include "runtime/kernel_interface/shape_rules/pointwise.h"
#include "runtime/kernel_interface/type_promotion.h"
#include "runtime/kernels/operands/element_run.h"

namespace belay {

// Constraints for the arithmetic of operators.
template <class T>
concept IntegerLike = std::is_integral_v<T>;
template <class T>
concept FloatLike = std::is_floating_point_v<T>;
template <class T>
concept ComplexLike = kIsComplex<T>;
template <class T>
concept RealLike = IntegerLike<T> || FloatLike<T>;
template <class T>
concept FloatOrComplex = FloatLike<T> || ComplexLike<T>;

// Scalar arguments of an operator, as its loops read them.
class PointwiseParams {
 public:
  // Precondition: `value` is a number.
  void Set(int k, const EValue& value);
  template <class T>
  T Get(int k) const {
    if constexpr (kIsComplex<T>) {
      return complex_[k];
    } else if constexpr (std::is_floating_point_v<T>) {
      return static_cast<T>(complex_[k].real());
    } else {
      return static_cast<T>(integer_[k]);
    }
  }

 private:
  std::complex<double> complex_[3] = {};
  int64_t integer_[3] = {};
};

// Computes `n` elements. Returns false if an integer divisor is zero; the output is then
// unspecified.
using PointwiseLoop = bool (*)(const RunBuffer* operands, RunBuffer& out, int n,
                               const PointwiseParams& params);

// One loop per class; null if the operator is not defined for it.
struct LoopTable {
  struct Entry {
    PointwiseLoop loop = nullptr;
    ComputeClass out = ComputeClass::kInt;
  };
  Entry entries[kNumComputeClasses] = {};
  int operands = 0;
};

// An operand as drivers read it. Scalar operands have no dimensions.
using PointwiseOperand = KernelArguments::OperandRef;
DType ElementDType(const PointwiseOperand& operand);  // of the elements in memory
const void* ElementData(const PointwiseOperand& operand);
bool IsSingle(const PointwiseOperand& operand);  // whether it has one element
// Strides of the operand broadcast to `sizes`. Precondition: its sizes broadcast to `sizes`.
Strides BroadcastStrides(const PointwiseOperand& operand, const Sizes& sizes);

// The two halves of glu as operands. The operands point into this object. Precondition:
// call.CheckShapes().
struct GluHalves {
  explicit GluHalves(const GluCall<KernelArguments>& glu);
  GluHalves(const GluHalves&) = delete;
  TensorView halves[2];
  PointwiseOperands<KernelArguments> call;
};

// Bounds of hardtanh on integers of a dtype: scalars truncated to int64. kInvalidArgument for
// scalars outside int64, and for negative ones if the dtype is uint8.
struct IntegerBounds {
  EValue low, high;
};
absl::StatusOr<IntegerBounds> CutBounds(const EValue& low, const EValue& high, DType dtype);

// Broadcasts, resizes output 0 and fills it.
//
// kInvalidArgument if shapes clash, if the output's dtype is not call.types.result, if the table
// has no loop for call.types.compute, or if an integer is divided by zero.
//
// With `exact_last`, a last operand of one element is not rounded to the common half-precision
// dtype: PyTorch computes with its full precision.
//
// Precondition: the call has as many operands as the table.
absl::Status RunPointwise(KernelContext& context, const PointwiseOperands<KernelArguments>& call,
                          const LoopTable& table, const PointwiseParams& params = {},
                          bool exact_last = false);

// ---- Tables from lambdas. An operator is defined for a class if its lambda accepts elements of
// the class, optionally with the params as last argument. A result of type bool is stored as
// int64_t.

namespace pointwise_internal {

template <class Result>
using Out = std::conditional_t<std::is_same_v<Result, bool>, int64_t, Result>;

template <auto kApply, class T, size_t... kOperands>
constexpr bool TakesParams(std::index_sequence<kOperands...>) {
  return std::is_invocable_v<decltype(kApply), decltype((static_cast<void>(kOperands), T{}))...,
                             const PointwiseParams&>;
}
template <auto kApply, class T, size_t... kOperands>
constexpr bool TakesElements(std::index_sequence<kOperands...>) {
  return std::is_invocable_v<decltype(kApply), decltype((static_cast<void>(kOperands), T{}))...>;
}

template <auto kApply, bool kRejectZero, class T, size_t... kOperands>
bool Loop(const RunBuffer* operands, RunBuffer& out, int n, const PointwiseParams& params) {
  const T* const in[] = {operands[kOperands].template as<T>()...};
  if constexpr (kRejectZero && std::is_integral_v<T>) {
    for (int i = 0; i < n; ++i) {
      if (in[sizeof...(kOperands) - 1][i] == T{0}) return false;
    }
  }
  if constexpr (TakesParams<kApply, T>(std::index_sequence<kOperands...>())) {
    using Result = Out<decltype(kApply(in[kOperands][0]..., params))>;
    Result* result = out.as<Result>();
    for (int i = 0; i < n; ++i) result[i] = kApply(in[kOperands][i]..., params);
  } else {
    using Result = Out<decltype(kApply(in[kOperands][0]...))>;
    Result* result = out.as<Result>();
    for (int i = 0; i < n; ++i) result[i] = kApply(in[kOperands][i]...);
  }
  return true;
}

template <auto kApply, bool kRejectZero, class T, size_t... kOperands>
constexpr LoopTable::Entry MakeEntry(std::index_sequence<kOperands...> operands) {
  if constexpr (TakesParams<kApply, T>(operands)) {
    using Result = Out<decltype(kApply((static_cast<void>(kOperands), T{})...,
                                       std::declval<const PointwiseParams&>()))>;
    return {&Loop<kApply, kRejectZero, T, kOperands...>, kComputeClass<Result>};
  } else if constexpr (TakesElements<kApply, T>(operands)) {
    using Result = Out<decltype(kApply((static_cast<void>(kOperands), T{})...))>;
    return {&Loop<kApply, kRejectZero, T, kOperands...>, kComputeClass<Result>};
  } else {
    return {};
  }
}

template <auto kApply, int kCount, bool kRejectZero>
constexpr LoopTable MakeTable() {
  constexpr auto kOperands = std::make_index_sequence<kCount>();
  return {{MakeEntry<kApply, kRejectZero, int64_t>(kOperands),
           MakeEntry<kApply, kRejectZero, uint64_t>(kOperands),
           MakeEntry<kApply, kRejectZero, float>(kOperands),
           MakeEntry<kApply, kRejectZero, double>(kOperands),
           MakeEntry<kApply, kRejectZero, std::complex<double>>(kOperands)},
          kCount};
}

}  // namespace pointwise_internal

template <auto kApply>
inline constexpr LoopTable kUnary = pointwise_internal::MakeTable<kApply, 1, false>();
template <auto kApply>
inline constexpr LoopTable kBinary = pointwise_internal::MakeTable<kApply, 2, false>();
// For operators with an integer divisor as last operand, which must not be zero.
template <auto kApply>
inline constexpr LoopTable kDivision = pointwise_internal::MakeTable<kApply, 2, true>();
template <auto kApply>
inline constexpr LoopTable kTernary = pointwise_internal::MakeTable<kApply, 3, false>();

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_OPERANDS_POINTWISE_H_
