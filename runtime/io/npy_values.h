// Converts between `.npy` files and inputs and outputs of methods.
//
// Integers, floats and bools are arrays of rank 0; None and strings have no file. NumPy lacks
// bfloat16 and float8: such tensors are stored as raw bits in uint16 and uint8. The method's
// declaration determines their dtype.
#ifndef BELAY_RUNTIME_IO_NPY_VALUES_H_
#define BELAY_RUNTIME_IO_NPY_VALUES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/core/arena.h"
#include "runtime/core/evalue.h"
#include "runtime/core/npy.h"
#include "runtime/program/plan.h"

namespace belay {

// Returns the NumPy dtype that stores the bits of `dtype`; `dtype` itself if NumPy has it.
DType NpyCarrier(DType dtype);

// Whether input i accepts an array: false for None and strings, which are constants of the program.
bool InputTakesArray(const MethodPlan& plan, size_t i);

// Converts an array to the value of input i: a view of its elements, or a scalar. The array must
// outlive the value. kInvalidArgument if the input is a scalar and the array has dimensions, or its
// element is not representable (2.7 or 2^63 for an int; 2 for a bool). Every real dtype is accepted
// for representable values. Method::SetInput checks dtypes and sizes of tensors. Precondition: i <
// plan.inputs.size().
absl::StatusOr<EValue> InputFromNpy(const MethodPlan& plan, size_t i, const NpyArray& array);

// Returns the value of a constant input (None, a string, a scalar fixed at export); None for other
// inputs.
EValue ConstantInput(const MethodPlan& plan, size_t i);

// Returns the bytes of a value's `.npy` file. kInvalidArgument for None, strings and lists, which
// have no such file.
absl::StatusOr<std::string> NpyBytesOf(const EValue& value);

// Generates elements for an input, identical for a seed on every machine and standard library:
// floats in [-1, 1), integers in [0, 8), fair bools. Dynamic dimensions get `dynamic_size`, clamped
// to their bounds. A scalar fixed at export has its constant value. kInvalidArgument if the formula
// of a dimension overflows for `dynamic_size`, kResourceExhausted if out of memory.
absl::StatusOr<NpyArray> RandomInput(const MethodPlan& plan, size_t i, uint64_t seed,
                                     int64_t dynamic_size);

}  // namespace belay

#endif  // BELAY_RUNTIME_IO_NPY_VALUES_H_
