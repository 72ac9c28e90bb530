// Non-owning view of a tensor: dtype, sizes, strides and a data pointer.
#ifndef BELAY_RUNTIME_CORE_TENSOR_VIEW_H_
#define BELAY_RUNTIME_CORE_TENSOR_VIEW_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "runtime/core/dtype.h"
#include "runtime/core/sizes.h"

namespace belay {

// A plain value; copying it copies no elements. It carries no write permission: kernels only write
// to outputs. Strides are in elements and >= 0; a stride of 0 repeats elements. `data` points to
// the element with all indices 0, and may be null only if the tensor is empty.
struct TensorView {
  DType dtype = DType::kFloat32;
  Sizes sizes;
  Strides strides;
  void* data = nullptr;

  // A row-major contiguous view.
  static TensorView Contiguous(DType dtype, absl::Span<const int64_t> sizes, void* data);

  int rank() const { return sizes.size(); }
  // Precondition: the sizes were validated (their product fits in int64), as for every tensor in
  // the runtime.
  int64_t numel() const;
  size_t nbytes() const {
    return static_cast<size_t>(numel()) * DTypeSize(dtype);
  }  // dense size of the elements
  bool is_contiguous() const { return IsContiguous(sizes, strides); }

  // Precondition: T is the C++ type of dtype (runtime/core/element.h), or a byte type.
  template <class T>
  T* as() const {
    return static_cast<T*>(data);
  }

  // "f32[2,3]", with strides if not contiguous.
  std::string ToString() const;
};

// Whether the views may share bytes. Conservative: compares the spans from first to last element.
bool MayOverlap(const TensorView& a, const TensorView& b);

// Copies elements by index and converts the dtype if they differ. Sizes must be equal
// (kInvalidArgument); views must not overlap unless identical. A dense copy of equal layout is one
// memmove. complex32 converts to itself only.
absl::Status CopyElements(const TensorView& from, const TensorView& to);

// Returns the offset in elements of the `index`-th element in row-major order. O(rank); loops
// should use StridedIterator.
int64_t ElementOffset(const TensorView& view, int64_t index);

// Iterates over the elements of a shape in row-major order, with one offset per operand:
//   for (StridedIterator<2> it(sizes, {a.strides, b.strides}); !it.done(); it.Next())
//   use(it.offset(0), it.offset(1));
template <int kOperands>
class StridedIterator {
 public:
  StridedIterator(const Sizes& sizes, const Strides (&strides)[kOperands]) : sizes_(sizes) {
    for (int k = 0; k < kOperands; ++k) strides_[k] = strides[k];
    for (int64_t s : sizes_) done_ = done_ || s == 0;
  }
  bool done() const { return done_; }
  int64_t offset(int operand) const { return offset_[operand]; }
  void Next() {
    for (int d = sizes_.size() - 1; d >= 0; --d) {
      for (int k = 0; k < kOperands; ++k) offset_[k] += strides_[k][d];
      if (++index_[d] < sizes_[d]) return;
      for (int k = 0; k < kOperands; ++k) offset_[k] -= strides_[k][d] * sizes_[d];
      index_[d] = 0;
    }
    done_ = true;
  }

 private:
  Sizes sizes_;
  Strides strides_[kOperands];
  int64_t index_[kMaxRank] = {};
  int64_t offset_[kOperands] = {};
  bool done_ = false;
};

}  // namespace belay

#endif  // BELAY_RUNTIME_CORE_TENSOR_VIEW_H_
