// What operators do when elements meet at one place: replace, add, multiply, keep the larger or the
// smaller.
#ifndef BELAY_RUNTIME_KERNELS_ELEMENTS_ELEMENT_UPDATE_H_
#define BELAY_RUNTIME_KERNELS_ELEMENTS_ELEMENT_UPDATE_H_

#include <cstdint>

#include "runtime/core/tensor_view.h"
#include "runtime/kernels/call/scalar_element.h"

namespace belay {

// Integers wrap, a bool sum is "or", a bool product "and"; float16 and bfloat16 are rounded after
// each step. NaN wins over every number as a maximum and a minimum. Complex numbers have no order:
// the element stays.
enum class Update : uint8_t { kAssign, kAdd, kMultiply, kMaximum, kMinimum };

// Element `to` of one array becomes its update by element `from` of another; offsets are in
// elements.
using UpdateFn = void (*)(void* target, int64_t to, const void* source, int64_t from);

// Precondition: `dtype` is one of kNumberTypes (operands.h).
UpdateFn UpdateOf(Update update, DType dtype);

// target += alpha * addend, in the precision in which kernels compute. Precondition: equal sizes;
// all of one dtype, one of kNumberTypes.
void AddScaled(const TensorView& target, const TensorView& addend, const ScalarElement& alpha);

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_ELEMENTS_ELEMENT_UPDATE_H_
