// Rows of elements from one dtype to another.
//
// The result of every conversion is that of ConvertElement (runtime/core/element.h), bit by bit but
// for which NaN a NaN becomes, on every instruction set.
#ifndef BELAY_RUNTIME_KERNELS_ELEMENTS_CONVERT_RUN_H_
#define BELAY_RUNTIME_KERNELS_ELEMENTS_CONVERT_RUN_H_

#include <cstddef>

#include "runtime/core/dtype.h"

namespace belay {

// What can be converted, each to each.
inline constexpr DTypeSet kRunTypes = {
    DType::kUint8,   DType::kInt8,    DType::kInt16,    DType::kInt32,   DType::kInt64,
    DType::kFloat16, DType::kFloat32, DType::kBFloat16, DType::kFloat64, DType::kBool};

// Converts n elements that lie side by side. A bool may be any byte and becomes 0 or 1, in bools
// too. The runs do not overlap unless they are the same and elements do not grow.
// Precondition: both dtypes are in kRunTypes.
void ConvertRun(DType from, const void* in, DType to, void* out, size_t n);

// The same for floats that kernels compute with.
void LoadFloats(DType from, const void* in, size_t n, float* out);
void StoreFloats(const float* in, size_t n, DType to, void* out);

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_ELEMENTS_CONVERT_RUN_H_
