// Images that pooling reads and writes as floats.
#ifndef BELAY_RUNTIME_KERNELS_POOL_FLOAT_IMAGES_H_
#define BELAY_RUNTIME_KERNELS_POOL_FLOAT_IMAGES_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "runtime/core/checked_math.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernel_interface/kernel.h"
#include "runtime/kernels/element_copy/channels_last.h"
#include "runtime/kernels/element_copy/convert_run.h"
#include "runtime/kernels/element_copy/copy_strided.h"
#include "runtime/kernels/operands/operands.h"
#include "runtime/kernels/operands/ranges.h"
#include "runtime/kernels/operands/strided_view.h"

namespace belay {

// Scratch bytes for copies of images that are not row-major float32, and of their result.
inline uint64_t BytesOfCopies(const TensorView& input, const TensorView& out) {
  const auto floats = [](const TensorView& t) {
    return IsRowMajorF32(t) ? 0 : static_cast<uint64_t>(t.numel());
  };
  return (floats(input) + floats(out)) * sizeof(float);
}

// The input as row-major floats and a buffer for the result, each in place or in scratch memory.
class FloatImages {
 public:
  // `before` bytes of the scratch memory, a multiple of 4, are skipped.
  static absl::StatusOr<FloatImages> Create(const KernelContext& context, const TensorView& input,
                                            const TensorView& out, CheckedInt before = 0) {
    FloatImages images(out);
    images.bytes_ = BytesOfCopies(input, out);
    const CheckedInt total = before + static_cast<int64_t>(images.bytes_);
    ABSL_ASSIGN_OR_RETURN(std::byte* const bytes, ScratchArray<std::byte>(context, total));
    float* room = reinterpret_cast<float*>(bytes + before.value());
    images.in_ = input.as<const float>();
    if (!IsRowMajorF32(input)) {
      CopyConvertible(input, TensorView::Contiguous(DType::kFloat32, input.sizes, room));
      images.in_ = room;
      room += input.numel();
    }
    images.result_ = IsRowMajorF32(out) ? out.as<float>() : room;
    return images;
  }

  const float* in() const { return in_; }
  float* result() const { return result_; }
  // Scratch memory of the images.
  uint64_t bytes() const { return bytes_; }
  void Finish() const {
    if (result_ == out_->data) return;
    CopyConvertible(TensorView::Contiguous(DType::kFloat32, out_->sizes, result_), *out_);
  }

 private:
  explicit FloatImages(const TensorView& out) : out_(&out) {}
  const TensorView* out_;
  uint64_t bytes_ = 0;
  const float* in_ = nullptr;
  float* result_ = nullptr;
};

// Dense images of any dtype and their result as floats in the same order of elements: float32 in place,
// half precision in scratch memory.
class DenseFloats {
 public:
  // `before` bytes of the scratch memory, a multiple of 4, are skipped.
  static absl::StatusOr<DenseFloats> Create(const KernelContext& context, const TensorView& input,
                                            const TensorView& out, CheckedInt before = 0) {
    DenseFloats floats(input, out);
    if (input.dtype == DType::kFloat32) return floats;
    const CheckedInt total = before + static_cast<int64_t>(BytesOfCopies(input, out));
    ABSL_ASSIGN_OR_RETURN(std::byte* const bytes, ScratchArray<std::byte>(context, total));
    float* const room = reinterpret_cast<float*>(bytes + before.value());
    floats.in_ = room;
    floats.result_ = room + input.numel();
    ForEachElement(context, input, [&](void* from, size_t n, int64_t first) {
      LoadFloats(input.dtype, from, n, room + first);
    });
    return floats;
  }

  const float* in() const { return in_; }
  float* result() const { return result_; }
  void Finish(const KernelContext& context) const {
    if (out_->dtype == DType::kFloat32) return;
    ForEachElement(context, *out_, [&](void* to, size_t n, int64_t first) {
      StoreFloats(result_ + first, n, out_->dtype, to);
    });
  }

 private:
  DenseFloats(const TensorView& input, const TensorView& out)
      : out_(&out), in_(input.as<const float>()), result_(out.as<float>()) {}
  // Calls fn(data, count, first element) for the elements in their order in memory, on all threads.
  template <class Fn>
  static void ForEachElement(const KernelContext& context, const TensorView& t, const Fn& fn) {
    RunRanges(context, t.numel(), /*step=*/64, static_cast<double>(t.numel()),
              [&](int, int64_t first, int64_t last) {
                fn(ElementAddress(t, first), static_cast<size_t>(last - first), first);
              });
  }

  const TensorView* out_;
  const float* in_;
  float* result_;
};

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_POOL_FLOAT_IMAGES_H_
