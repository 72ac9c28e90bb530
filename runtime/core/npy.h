// NumPy's `.npy` files: one tensor each, for command-line inputs and outputs and for test data.
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

// Parses a whole file: versions 1 to 3, little endian, C and Fortran order. The input is untrusted:
// memory is only allocated for elements that are present.
//   kInvalidArgument    not a .npy file, a malformed header, too few or too many bytes, a bool that
//                       is neither 0 nor 1
//   kUnimplemented      well formed, but big endian or of a type without a DType (the message
//                       names it)
//   kResourceExhausted  out of memory
absl::StatusOr<NpyArray> ReadNpy(absl::Span<const std::byte> bytes);

// Reads the file at `path`. Errors are those of MappedFile::Open and ReadNpy, and name the path.
absl::StatusOr<NpyArray> ReadNpyFile(const std::string& path);

// Returns the bytes of a version 1 file in C order, whatever the strides of `tensor`.
// kUnimplemented if NumPy lacks the dtype (bfloat16, complex32, float8): convert first.
// kResourceExhausted if the bytes can't be allocated.
absl::StatusOr<std::string> NpyBytes(const TensorView& tensor);

// Writes NpyBytes with WriteFileAtomically.
absl::Status WriteNpy(const std::string& path, const TensorView& tensor);

}  // namespace belay

#endif  // BELAY_RUNTIME_CORE_NPY_H_
