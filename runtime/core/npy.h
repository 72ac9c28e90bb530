// NumPy's `.npy` files: one tensor each, for inputs and outputs on the command line and for test
// data.
#ifndef BELAY_RUNTIME_CORE_NPY_H_
#define BELAY_RUNTIME_CORE_NPY_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/core/arena.h"
#include "runtime/core/dtype.h"
#include "runtime/core/sizes.h"
#include "runtime/core/tensor_view.h"

namespace belay {

// A tensor in row-major order that owns its elements.
struct NpyArray {
  DType dtype = DType::kFloat32;
  Sizes sizes;
  AlignedBuffer data;

  TensorView view() const { return TensorView::Contiguous(dtype, sizes, data.data()); }
};

// Reads a whole file: versions 1 to 3, little endian, C and Fortran order. Untrusted input; memory
// is taken only for elements that are there.
//   kInvalidArgument    not a .npy file, a malformed header, too few or too many bytes, a bool that
//                       is neither 0 nor 1
//   kUnimplemented      well formed, but big endian or of a type that has no DType (the message
//                       names it)
//   kResourceExhausted  no memory
absl::StatusOr<NpyArray> ReadNpy(absl::Span<const std::byte> bytes);

// The file of this name. Errors are those of MappedFile::Open and ReadNpy, and name it.
absl::StatusOr<NpyArray> ReadNpyFile(const std::string& path);

// The bytes of a version 1 file in C order, whatever the strides of `tensor`. kUnimplemented when
// NumPy has no such type (bfloat16, complex32, float8): convert first. kResourceExhausted when
// there is no memory for them.
absl::StatusOr<std::string> NpyBytes(const TensorView& tensor);

// NpyBytes through WriteFileAtomically.
absl::Status WriteNpy(const std::string& path, const TensorView& tensor);

}  // namespace belay

#endif  // BELAY_RUNTIME_CORE_NPY_H_
