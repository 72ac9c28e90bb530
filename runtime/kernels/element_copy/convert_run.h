// Conversion of contiguous elements from one dtype to another.
//
// Every conversion gives the bits of ConvertElement (runtime/core/element.h) on every instruction
// set, except for the payload of a NaN.
#ifndef BELAY_RUNTIME_KERNELS_ELEMENT_COPY_CONVERT_RUN_H_
#define BELAY_RUNTIME_KERNELS_ELEMENT_COPY_CONVERT_RUN_H_

#include <cstddef>

#include "runtime/core/dtype.h"

namespace belay {

// Dtypes that can be converted to each other.
inline constexpr DTypeSet kRunTypes = {
    DType::kUint8,   DType::kInt8,    DType::kInt16,    DType::kInt32,   DType::kInt64,
    DType::kFloat16, DType::kFloat32, DType::kBFloat16, DType::kFloat64, DType::kBool};

// Converts n contiguous elements. Any nonzero byte of a bool becomes 1, also if the result is bool.
// The runs must not overlap, unless they are equal and the result's elements are not larger.
// Precondition: both dtypes are in kRunTypes.
void ConvertRun(DType from, const void* in, DType to, void* out, size_t n);

// The same to and from float, the type in which kernels compute.
void LoadFloats(DType from, const void* in, size_t n, float* out);
void StoreFloats(const float* in, size_t n, DType to, void* out);

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_ELEMENT_COPY_CONVERT_RUN_H_
