// Combination of elements written to the same position: assign, add, multiply, maximum or minimum.
#ifndef BELAY_RUNTIME_KERNELS_ELEMENT_COPY_ELEMENT_UPDATE_H_
#define BELAY_RUNTIME_KERNELS_ELEMENT_COPY_ELEMENT_UPDATE_H_

#include <cstdint>
#include <type_traits>

#include "runtime/core/element.h"
#include "runtime/core/tensor_view.h"
#include "runtime/kernels/operands/scalar_element.h"

namespace belay {

// Integers wrap. For bool, kAdd is "or" and kMultiply is "and". float16 and bfloat16 are rounded
// after each step. NaN wins over every number in kMaximum and kMinimum. Complex numbers have no
// order: kMaximum and kMinimum keep the element.
enum class Update : uint8_t { kAssign, kAdd, kMultiply, kMaximum, kMinimum };

// Returns update(old, value). kMaximum and kMinimum return NaN if either is NaN, and `old` if neither
// is larger or T is complex.
template <Update kUpdate, class T>
inline T Updated(T old, T value) {
  using C = ComputeType<T>;
  if constexpr (kUpdate == Update::kAssign) {
    return value;
  } else if constexpr (kUpdate == Update::kMaximum || kUpdate == Update::kMinimum) {
    if constexpr (kIsComplex<T>) {
      return old;
    } else {
      const C x = C(old), y = C(value);
      const bool replaces = kUpdate == Update::kMaximum ? x < y : y < x;
      return replaces || y != y ? value : old;
    }
  } else if constexpr (std::is_same_v<T, bool>) {
    return kUpdate == Update::kAdd ? old || value : old && value;
  } else if constexpr (std::is_integral_v<T>) {
    const auto a = static_cast<uint64_t>(old), b = static_cast<uint64_t>(value);
    return static_cast<T>(kUpdate == Update::kAdd ? a + b : a * b);
  } else {
    return T(kUpdate == Update::kAdd ? C(old) + C(value) : C(old) * C(value));
  }
}

// target[to] = update(target[to], source[from]); offsets are in elements.
using UpdateFn = void (*)(void* target, int64_t to, const void* source, int64_t from);

// Precondition: `dtype` is one of kNumberTypes (operands.h).
UpdateFn UpdateOf(Update update, DType dtype);

// target += alpha * addend, in the compute precision of kernels. Precondition: equal sizes; all of
// one dtype, one of kNumberTypes.
void AddScaled(const TensorView& target, const TensorView& addend, const ScalarElement& alpha);

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_ELEMENT_COPY_ELEMENT_UPDATE_H_
