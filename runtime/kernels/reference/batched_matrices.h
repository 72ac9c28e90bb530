// Access to batches of matrices and vectors of any layout.
#ifndef BELAY_RUNTIME_KERNELS_REFERENCE_BATCHED_MATRICES_H_
#define BELAY_RUNTIME_KERNELS_REFERENCE_BATCHED_MATRICES_H_

#include <cstdint>

#include "runtime/core/tensor_view.h"
#include "runtime/kernels/operands/element_access.h"

namespace belay {

// Offset of item `i` of a batch, whose dimensions are the first `dims` of the tensor.
inline int64_t BatchOffset(const TensorView& tensor, int dims, int64_t i) {
  int64_t offset = 0;
  for (int d = dims - 1; d >= 0; --d) {
    offset += i % tensor.sizes[d] * tensor.strides[d];
    i /= tensor.sizes[d];
  }
  return offset;
}
// Number of items.
inline int64_t BatchCount(const TensorView& tensor, int dims) {
  int64_t count = 1;
  for (int d = 0; d < dims; ++d) count *= tensor.sizes[d];
  return count;
}

// A dense row-major matrix in scratch memory.
template <class T>
struct Matrix {
  T* data = nullptr;
  int64_t rows = 0, columns = 0;
  T& operator()(int64_t i, int64_t k) const { return data[i * columns + k]; }
};

// Reads an item.
template <class T>
void Load(const TensorView& from, int64_t item, const Matrix<T>& to) {
  const Reader<T> read(from);
  const int rank = from.rank();
  const int64_t base = BatchOffset(from, rank - 2, item);
  for (int64_t i = 0; i < to.rows; ++i) {
    for (int64_t k = 0; k < to.columns; ++k) {
      to(i, k) = read(base + i * from.strides[rank - 2] + k * from.strides[rank - 1]);
    }
  }
}
// Stores at(i, k) to every element of the item.
template <class T, class Fn>
void Store(const TensorView& to, int64_t item, Fn&& at) {
  const Writer<T> write(to);
  const int rank = to.rank();
  const int64_t base = BatchOffset(to, rank - 2, item);
  for (int64_t i = 0; i < to.sizes[rank - 2]; ++i) {
    for (int64_t k = 0; k < to.sizes[rank - 1]; ++k) {
      write(base + i * to.strides[rank - 2] + k * to.strides[rank - 1], at(i, k));
    }
  }
}
// Stores at(i) to every element of the item of a batch of vectors.
template <class T, class Fn>
void StoreVector(const TensorView& to, int64_t item, Fn&& at) {
  const Writer<T> write(to);
  const int rank = to.rank();
  const int64_t base = BatchOffset(to, rank - 1, item);
  for (int64_t i = 0; i < to.sizes[rank - 1]; ++i) write(base + i * to.strides[rank - 1], at(i));
}

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_REFERENCE_BATCHED_MATRICES_H_
