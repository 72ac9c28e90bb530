// Combination of elements written to the same position: assign, add, multiply, maximum or minimum.
#ifndef BELAY_RUNTIME_KERNELS_ELEMENT_COPY_ELEMENT_UPDATE_H_
#define BELAY_RUNTIME_KERNELS_ELEMENT_COPY_ELEMENT_UPDATE_H_

#include <cstdint>

#include "runtime/core/tensor_view.h"
#include "runtime/kernels/operands/scalar_element.h"

namespace belay {

// Integers wrap. For bool, kAdd is "or" and kMultiply is "and". float16 and bfloat16 are rounded
// after each step. NaN wins over every number in kMaximum and kMinimum. Complex numbers have no
// order: kMaximum and kMinimum keep the element.
enum class Update : uint8_t { kAssign, kAdd, kMultiply, kMaximum, kMinimum };

// target[to] = update(target[to], source[from]); offsets are in elements.
using UpdateFn = void (*)(void* target, int64_t to, const void* source, int64_t from);

// Precondition: `dtype` is one of kNumberTypes (operands.h).
UpdateFn UpdateOf(Update update, DType dtype);

// target += alpha * addend, in the compute precision of kernels. Precondition: equal sizes; all of
// one dtype, one of kNumberTypes.
void AddScaled(const TensorView& target, const TensorView& addend, const ScalarElement& alpha);

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_ELEMENT_COPY_ELEMENT_UPDATE_H_
