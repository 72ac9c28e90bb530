// Between `.npy` files and the inputs and outputs of methods.
//
// Integers, floating point numbers and bools are arrays of rank 0; None and strings have no file.
// NumPy lacks bfloat16 and float8: those tensors travel as their bits in uint16 and uint8, and what
// the method declares says which it is.
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

// The dtype that carries another one's bits in NumPy; the dtype itself when NumPy has it.
DType NpyCarrier(DType dtype);

// Whether input i takes an array: false for None and strings, which the program fixed.
bool InputTakesArray(const MethodPlan& plan, size_t i);

// The value of input i that the array holds: a view of the array's elements, or a scalar. The array
// must outlive it. kInvalidArgument when a scalar input gets an array with dimensions, or of a
// number that its type does not have (2.7, 2^63 for an integer; 2 for a bool); any dtype of real
// numbers may hold one that it has. Dtypes and sizes of tensors are Method::SetInput's business.
// Precondition: i < plan.inputs.size().
absl::StatusOr<EValue> InputFromNpy(const MethodPlan& plan, size_t i, const NpyArray& array);

// The value that a constant input (None, a string, a number fixed at export) takes; nullptr-like
// None for others.
EValue ConstantInput(const MethodPlan& plan, size_t i);

// The bytes of the `.npy` file for a value. kInvalidArgument for None, strings and lists, which
// have none.
absl::StatusOr<std::string> NpyBytesOf(const EValue& value);

// Elements for an input, the same for a seed on every machine and with every standard library: floats
// in [-1, 1), integers in [0, 8), bools fair. Dynamic dimensions get `dynamic_size`, or the bound of
// theirs that is next to it. A number that was fixed at export is that number. kInvalidArgument when
// the formula of a dimension overflows for `dynamic_size`, kResourceExhausted when there is no memory.
absl::StatusOr<NpyArray> RandomInput(const MethodPlan& plan, size_t i, uint64_t seed,
                                     int64_t dynamic_size);

}  // namespace belay

#endif  // BELAY_RUNTIME_IO_NPY_VALUES_H_
