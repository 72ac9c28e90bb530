// Fixed and adaptive pooling in one to three dimensions, and its gradients.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "runtime/core/budget.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernel_interface/kernel_arguments.h"
#include "runtime/kernel_interface/shape_rules/pool.h"
#include "runtime/kernels/operands/element_access.h"
#include "runtime/kernels/operands/operands.h"
#include "runtime/kernels/reference/families.h"

namespace belay {
namespace {

using Wide = __int128;  // for products of sizes

// Views a tensor as images of three dimensions; missing ones have size 1.
struct Images {
  Sizes leading;
  Strides leading_strides;
  int64_t size[3] = {1, 1, 1};
  int64_t stride[3] = {0, 0, 0};
};

Images ImagesOf(const TensorView& t, int spatial) {
  Images images;
  for (int d = 0; d < t.rank(); ++d) {
    if (d < t.rank() - spatial) {
      images.leading.push_back(t.sizes[d]);
      images.leading_strides.push_back(t.strides[d]);
    } else {
      images.size[d + 3 - t.rank()] = t.sizes[d];
      images.stride[d + 3 - t.rank()] = t.strides[d];
    }
  }
  return images;
}

// Positions of a window in one dimension: first, first + step, … below last.
struct Window {
  int64_t first = 0, last = 1, step = 1;
  int64_t padded_size = 1;  // including the covered padding, for averages
};

// Windows given by kernel, stride, padding and dilation.
class FixedWindows {
 public:
  FixedWindows(const PoolParams& params, const Images& input) : input_(input) {
    const int first = 3 - params.kernel.size();
    for (int d = 0; d < params.kernel.size(); ++d) {
      kernel_[first + d] = params.kernel[d];
      stride_[first + d] = params.stride[d];
      padding_[first + d] = params.padding[d];
      dilation_[first + d] = params.dilation[d];
    }
  }
  Window operator()(int d, int64_t place) const {
    Window w;
    w.step = dilation_[d];
    w.first = place * stride_[d] - padding_[d];
    // The window ends inside the padded image; a dilated one at its last element.
    const int64_t reach = dilation_[d] * (kernel_[d] - 1) + 1;
    const int64_t end = input_.size[d] + padding_[d];
    w.last = reach > end - w.first ? end : w.first + reach;
    w.padded_size = w.last - w.first;
    if (w.first < 0) w.first += (-w.first + w.step - 1) / w.step * w.step;
    w.last = std::min(w.last, input_.size[d]);
    return w;
  }

 private:
  const Images& input_;
  int64_t kernel_[3] = {1, 1, 1}, stride_[3] = {1, 1, 1}, padding_[3] = {},
          dilation_[3] = {1, 1, 1};
};

// Windows that divide `size` positions evenly into `count`: [floor(i * size / count), ceil((i + 1)
// * size / count)).
Window EvenWindow(int64_t i, int64_t size, int64_t count) {
  Window w;
  w.first = static_cast<int64_t>(Wide{i} * size / count);
  w.last = static_cast<int64_t>((Wide{i + 1} * size + count - 1) / count);
  w.padded_size = w.last - w.first;
  return w;
}

struct AdaptiveWindows {
  const Images& input;
  const Images& output;
  Window operator()(int d, int64_t place) const {
    return EvenWindow(place, input.size[d], output.size[d]);
  }
};

// Number of image positions of a window.
int64_t CountOf(const Window& w) {
  return w.last <= w.first ? 0 : (w.last - w.first + w.step - 1) / w.step;
}
int64_t CountOf(const Window (&w)[3]) { return CountOf(w[0]) * CountOf(w[1]) * CountOf(w[2]); }

// Calls fn(windows, input offset of the image, offsets in both outputs) for every output position
// of every image.
template <class Windows, class Fn>
void ForEachWindow(const Images& input, const Images& output, const Images& second,
                   const Windows& windows, Fn&& fn) {
  // If the output is empty, its other sizes may be huge: no loop may iterate over them.
  if (output.size[0] == 0 || output.size[1] == 0 || output.size[2] == 0) return;
  Budget::Pace pace;
  for (StridedIterator<3> it(
           output.leading, {input.leading_strides, output.leading_strides, second.leading_strides});
       !it.done(); it.Next()) {
    for (int64_t z = 0; z < output.size[0]; ++z) {
      for (int64_t y = 0; y < output.size[1]; ++y) {
        Window w[] = {windows(0, z), windows(1, y), Window()};
        for (int64_t x = 0; x < output.size[2]; ++x) {
          w[2] = windows(2, x);
          if (pace.Stop(1 + CountOf(w))) return;
          fn(w, it.offset(0),
             it.offset(1) + z * output.stride[0] + y * output.stride[1] + x * output.stride[2],
             it.offset(2) + z * second.stride[0] + y * second.stride[1] + x * second.stride[2]);
        }
      }
    }
  }
}

// Calls fn(z, y, x, offset) for every element of a window.
template <class Fn>
void ForEachElement(const Window (&w)[3], const Images& images, Fn&& fn) {
  for (int64_t z = w[0].first; z < w[0].last; z += w[0].step) {
    for (int64_t y = w[1].first; y < w[1].last; y += w[1].step) {
      for (int64_t x = w[2].first; x < w[2].last; x += w[2].step) {
        fn(z, y, x, z * images.stride[0] + y * images.stride[1] + x * images.stride[2]);
      }
    }
  }
}

// Divisor of the sum over a window.
struct Divisor : PoolDivisor {
  Wide operator()(const Window (&w)[3]) const {
    if (override_by != 0) return override_by;
    Wide count = 1;
    for (const Window& one : w) count *= count_include_pad ? one.padded_size : one.last - one.first;
    return count;
  }
};

// Averages. Each window has an element: padding is at most half of it, and it begins before the end
// of the image.
template <class T, class Windows>
void Average(const TensorView& self, const TensorView& out, const Windows& windows,
             const Divisor& divisor, const Images& input, const Images& output) {
  const Reader<T> in(self);
  const Writer<T> write(out);
  ForEachWindow(input, output, output, windows,
                [&](const Window(&w)[3], int64_t image, int64_t offset, int64_t) {
                  T total = 0;
                  ForEachElement(w, input, [&](int64_t, int64_t, int64_t, int64_t at) {
                    total = WrappingAdd(total, in(image + at));
                  });
                  if constexpr (std::is_same_v<T, int64_t>) {
                    write(offset, static_cast<int64_t>(total / divisor(w)));
                  } else {
                    write(offset, total / static_cast<T>(divisor(w)));
                  }
                });
}

template <int kSpatial>
absl::Status AvgPool(KernelContext& context, const AvgPoolCall<KernelArguments, kSpatial>& call) {
  const TensorView* const self = call.self;
  const Divisor divisor = {call.divisor};
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape());
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, self->dtype, shape));
  const Images input = ImagesOf(*self, kSpatial), output = ImagesOf(*out, kSpatial);
  const FixedWindows windows(call.params, input);
  if (self->dtype == DType::kInt64) {
    Average<int64_t>(*self, *out, windows, divisor, input, output);
  } else {
    Average<double>(*self, *out, windows, divisor, input, output);
  }
  return absl::OkStatus();
}

template <int kSpatial>
absl::Status AdaptiveAvgPool(KernelContext& context,
                             const AdaptivePoolCall<KernelArguments, kSpatial>& call) {
  const TensorView* const self = call.self;
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape());
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, self->dtype, shape));
  const Images input = ImagesOf(*self, kSpatial), output = ImagesOf(*out, kSpatial);
  Average<double>(*self, *out, AdaptiveWindows{input, output}, Divisor(), input, output);
  return absl::OkStatus();
}

// Computes the largest element of each window and its position in its image. The first of equal
// elements wins. NaN is the largest of all, and the last NaN of a window is returned, as in
// PyTorch.
template <class T, class Windows>
void Maximum(const TensorView& self, const TensorView& out, const TensorView& indices,
             const Windows& windows, const Images& input, const Images& output, int spatial) {
  const Reader<T> in(self);
  const Writer<T> write(out);
  const Writer<int64_t> write_index(indices);
  ForEachWindow(input, output, ImagesOf(indices, spatial), windows,
                [&](const Window(&w)[3], int64_t image, int64_t value_at, int64_t index_at) {
                  T best = std::is_floating_point_v<T> ? -std::numeric_limits<T>::infinity()
                                                       : std::numeric_limits<T>::lowest();
                  // Position of the window's first element, even if the window is empty.
                  int64_t index =
                      (w[0].first * input.size[1] + w[1].first) * input.size[2] + w[2].first;
                  ForEachElement(w, input, [&](int64_t z, int64_t y, int64_t x, int64_t at) {
                    const T value = in(image + at);
                    if (value > best || value != value) {
                      best = value;
                      index = (z * input.size[1] + y) * input.size[2] + x;
                    }
                  });
                  write(value_at, best);
                  write_index(index_at, index);
                });
}

template <class Windows>
void MaximumOfAnyType(const TensorView& self, const TensorView& out, const TensorView& indices,
                      const Windows& windows, const Images& input, const Images& output,
                      int spatial) {
  if (IsFloatingPoint(self.dtype)) {
    Maximum<double>(self, out, indices, windows, input, output, spatial);
  } else {
    Maximum<int64_t>(self, out, indices, windows, input, output, spatial);
  }
}

template <int kSpatial>
absl::Status MaxPool(KernelContext& context, const MaxPoolCall<KernelArguments, kSpatial>& call) {
  const TensorView* const self = call.self;
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape());
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, self->dtype, shape));
  ABSL_ASSIGN_OR_RETURN(const TensorView* indices, OutputOf(context, 1, DType::kInt64, shape));
  const Images input = ImagesOf(*self, kSpatial), output = ImagesOf(*out, kSpatial);
  MaximumOfAnyType(*self, *out, *indices, FixedWindows(call.params, input), input, output,
                   kSpatial);
  return absl::OkStatus();
}

template <int kSpatial>
absl::Status AdaptiveMaxPool(KernelContext& context,
                             const AdaptivePoolCall<KernelArguments, kSpatial>& call) {
  const TensorView* const self = call.self;
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape());
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, self->dtype, shape));
  ABSL_ASSIGN_OR_RETURN(const TensorView* indices, OutputOf(context, 1, DType::kInt64, shape));
  const Images input = ImagesOf(*self, kSpatial), output = ImagesOf(*out, kSpatial);
  MaximumOfAnyType(*self, *out, *indices, AdaptiveWindows{input, output}, input, output, kSpatial);
  return absl::OkStatus();
}

// Scratch memory for the gradient of one image in double precision.
absl::StatusOr<double*> ImageScratch(const KernelContext& context, const Images& images) {
  return ScratchArray<double>(context, CheckedInt(images.size[1]) * images.size[2]);
}

// Distributes gradients over images. `add(image, y, x, gradient offset, other offset)` adds the
// gradient of position (y, x) to the dense image. `other` is a tensor of the gradient's shape.
template <class Add>
absl::Status Spread(KernelContext& context, const TensorView& grad, const TensorView& other,
                    const TensorView& out, Add&& add) {
  if (out.numel() == 0) return absl::OkStatus();  // whatever its other sizes
  const Images from = ImagesOf(grad, 2), beside = ImagesOf(other, 2), to = ImagesOf(out, 2);
  ABSL_ASSIGN_OR_RETURN(double* image, ImageScratch(context, to));
  const Writer<double> write(out);
  for (StridedIterator<3> it(to.leading,
                             {to.leading_strides, from.leading_strides, beside.leading_strides});
       !it.done(); it.Next()) {
    std::fill_n(image, to.size[1] * to.size[2], 0.0);
    for (int64_t y = 0; y < from.size[1]; ++y) {
      for (int64_t x = 0; x < from.size[2]; ++x) {
        ABSL_RETURN_IF_ERROR(add(image, y, x,
                                 it.offset(1) + y * from.stride[1] + x * from.stride[2],
                                 it.offset(2) + y * beside.stride[1] + x * beside.stride[2]));
      }
    }
    for (int64_t y = 0; y < to.size[1]; ++y) {
      for (int64_t x = 0; x < to.size[2]; ++x) {
        write(it.offset(0) + y * to.stride[1] + x * to.stride[2], image[y * to.size[2] + x]);
      }
    }
  }
  return absl::OkStatus();
}

// Distributes the gradient equally over the elements of a window.
template <class Windows>
absl::Status SpreadEvenly(KernelContext& context, const TensorView& grad, const TensorView& out,
                          const Windows& windows, const Divisor& divisor) {
  const Reader<double> in(grad);
  Images dense;
  dense.stride[1] = ImagesOf(out, 2).size[2];
  dense.stride[2] = 1;
  Budget::Pace pace;
  return Spread(context, grad, grad, out,
                [&](double* image, int64_t y, int64_t x, int64_t offset, int64_t) {
                  const Window w[] = {Window(), windows(1, y), windows(2, x)};
                  if (pace.Stop(1 + CountOf(w))) return absl::OkStatus();
                  const double share = in(offset) / static_cast<double>(divisor(w));
                  ForEachElement(
                      w, dense, [&](int64_t, int64_t, int64_t, int64_t at) { image[at] += share; });
                  return absl::OkStatus();
                });
}

absl::Status AvgPoolBackward(KernelContext& context,
                             const AvgPoolBackwardCall<KernelArguments>& call) {
  const TensorView *const grad = call.grad_output, *const self = call.self;
  ABSL_RETURN_IF_ERROR(call.CheckShapes());
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, grad->dtype, *self));
  const Images input = ImagesOf(*out, 2);
  return SpreadEvenly(context, *grad, *out, FixedWindows(call.params, input), {call.divisor});
}

absl::Status AdaptiveAvgPoolBackward(KernelContext& context,
                                     const AdaptivePoolBackwardCall<KernelArguments>& call) {
  const TensorView *const grad = call.grad_output, *const self = call.self;
  ABSL_RETURN_IF_ERROR(call.CheckShapes());
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, grad->dtype, *self));
  const Images input = ImagesOf(*out, 2), output = ImagesOf(*grad, 2);
  return SpreadEvenly(context, *grad, *out, AdaptiveWindows{input, output}, Divisor());
}

// Adds each gradient at its index. kOutOfRange if an index is outside the image.
absl::Status MaxPoolBackward(KernelContext& context,
                             const MaxPoolBackwardCall<KernelArguments>& call) {
  const TensorView *const grad = call.grad_output, *const self = call.self;
  const TensorView* const indices = call.indices;
  ABSL_RETURN_IF_ERROR(call.CheckShapes());
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, grad->dtype, *self));
  const Images input = ImagesOf(*out, 2);
  const int64_t pixels = input.size[1] * input.size[2];
  const Reader<double> in(*grad);
  const Reader<int64_t> place(*indices);
  return Spread(context, *grad, *indices, *out,
                [&](double* image, int64_t, int64_t, int64_t offset, int64_t index) {
                  const int64_t at = place(index);
                  if (at < 0 || at >= pixels) {
                    return absl::OutOfRangeError(absl::StrCat(
                        "indices: ", at, " is outside an image of ", pixels, " pixels"));
                  }
                  image[at] += in(offset);
                  return absl::OkStatus();
                });
}

// Scratch bytes of one image of the input in double precision.
template <class Call>
uint64_t ImageScratchBytes(const KernelContext& context, const Call& call) {
  const int rank = call.self->rank();
  if (rank < 2) return 0;
  return ScratchBytesOf<double>(CheckedInt(call.self->sizes[rank - 1]) *
                                call.self->sizes[rank - 2]);
}

constexpr KernelEngine kReference = KernelEngine::kReference;

constexpr std::string_view kMaxPool = "self kernel_size stride padding dilation ceil_mode -> 2";
constexpr std::string_view kAvgPool =
    "self kernel_size stride padding ceil_mode count_include_pad divisor_override";

constexpr Kernel kKernels[] = {
    KernelRow<&AvgPool<1>>("aten.avg_pool1d.default",
                           "self kernel_size stride padding ceil_mode count_include_pad",
                           "AvgPool1d", kReference),
    KernelRow<&AvgPool<2>>("aten.avg_pool2d.default", kAvgPool, "AvgPool2d", kReference),
    KernelRow<&AvgPool<3>>("aten.avg_pool3d.default", kAvgPool, "AvgPool3d", kReference),
    KernelRow<&MaxPool<2>>("aten.max_pool2d_with_indices.default", kMaxPool, "MaxPool2d",
                           kReference),
    KernelRow<&MaxPool<3>>("aten.max_pool3d_with_indices.default", kMaxPool, "MaxPool3d",
                           kReference),
    KernelRow<&AdaptiveAvgPool<1>>("aten.adaptive_avg_pool1d.default", "self output_size",
                                   "AdaptiveAvgPool1d", kReference),
    KernelRow<&AdaptiveAvgPool<2>>("aten._adaptive_avg_pool2d.default", "self output_size",
                                   "AdaptiveAvgPool2d", kReference),
    KernelRow<&AdaptiveAvgPool<3>>("aten._adaptive_avg_pool3d.default", "self output_size",
                                   "AdaptiveAvgPool3d", kReference),
    KernelRow<&AdaptiveMaxPool<2>>("aten.adaptive_max_pool2d.default", "self output_size -> 2",
                                   "AdaptiveMaxPool2d", kReference),
    KernelRow<&AdaptiveMaxPool<3>>("aten.adaptive_max_pool3d.default", "self output_size -> 2",
                                   "AdaptiveMaxPool3d", kReference),
    KernelRow<&AvgPoolBackward, nullptr, &ImageScratchBytes<AvgPoolBackwardCall<KernelArguments>>>(
        "aten.avg_pool2d_backward.default",
        "grad_output self kernel_size stride padding ceil_mode count_include_pad divisor_override",
        "AvgPool2dBackward", kReference),
    KernelRow<&MaxPoolBackward, nullptr, &ImageScratchBytes<MaxPoolBackwardCall<KernelArguments>>>(
        "aten.max_pool2d_with_indices_backward.default",
        "grad_output self kernel_size stride padding dilation ceil_mode indices",
        "MaxPool2dBackward", kReference),
    KernelRow<&AdaptiveAvgPoolBackward, nullptr,
              &ImageScratchBytes<AdaptivePoolBackwardCall<KernelArguments>>>(
        "aten._adaptive_avg_pool2d_backward.default", "grad_output self",
        "AdaptiveAvgPool2dBackward", kReference),
};

}  // namespace

absl::Span<const Kernel> PoolKernels() { return kKernels; }

}  // namespace belay
