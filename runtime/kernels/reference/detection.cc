// torchvision's operators for object detectors.
#include "runtime/kernel_interface/shape_rules/detection.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <type_traits>

#include "runtime/core/budget.h"
#include "runtime/core/element.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernel_interface/kernel_arguments.h"
#include "runtime/kernels/operands/element_access.h"
#include "runtime/kernels/operands/operands.h"
#include "runtime/kernels/reference/families.h"

namespace belay {
namespace {

uint64_t NmsScratchBytes(const KernelContext& context, const NmsCall<KernelArguments>& call) {
  return ScratchBytesOf<int64_t>(call.dets->sizes[0]);
}

// Visits boxes by descending score and keeps a box unless it overlaps a kept box by more than the
// threshold. Equal scores keep their order; NaN is the largest score.
template <class T>
absl::StatusOr<int64_t> KeptBoxes(const NmsCall<KernelArguments>& call, int64_t* order) {
  const TensorView &dets = *call.dets, &scores = *call.scores;
  const int64_t count = dets.sizes[0];
  std::iota(order, order + count, 0);
  const auto score = [&](int64_t box) { return scores.as<T>()[box * scores.strides[0]]; };
  std::sort(order, order + count, [&](int64_t a, int64_t b) {
    const T first = score(a), second = score(b);
    if (std::isnan(first) != std::isnan(second)) return std::isnan(first);
    return first > second || (!(second > first) && a < b);
  });
  const auto corner = [&](int64_t box, int i) {
    return dets.as<T>()[box * dets.strides[0] + i * dets.strides[1]];
  };
  const auto area = [&](int64_t box) {
    return (corner(box, 2) - corner(box, 0)) * (corner(box, 3) - corner(box, 1));
  };
  const auto overlap = [&](int64_t a, int64_t b) {
    const T width =
        std::max(T{0}, std::min(corner(a, 2), corner(b, 2)) - std::max(corner(a, 0), corner(b, 0)));
    const T height =
        std::max(T{0}, std::min(corner(a, 3), corner(b, 3)) - std::max(corner(a, 1), corner(b, 1)));
    const T shared = width * height;
    return shared / (area(a) + area(b) - shared);
  };
  Budget::Pace pace;
  int64_t kept = 0;  // order[0, kept) are kept; candidates after them move up
  for (int64_t left = count; kept < left;) {
    const int64_t best = order[kept++];
    if (pace.Stop(16 * (left - kept))) break;
    int64_t end = kept;
    for (int64_t k = kept; k < left; ++k) {
      if (!(overlap(best, order[k]) > call.iou_threshold)) order[end++] = order[k];
    }
    left = end;
  }
  return kept;
}

absl::Status Nms(KernelContext& context, const NmsCall<KernelArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(int64_t* order, ScratchArray<int64_t>(context, call.dets->sizes[0]));
  ABSL_ASSIGN_OR_RETURN(const int64_t kept, call.dets->dtype == DType::kFloat64
                                                ? KeptBoxes<double>(call, order)
                                                : KeptBoxes<float>(call, order));
  ABSL_ASSIGN_OR_RETURN(TensorView * out,
                        OutputOf(context, 0, DType::kInt64, Dims<CheckedInt>({CheckedInt(kept)})));
  for (int64_t i = 0; i < kept; ++i) out->as<int64_t>()[i * out->strides[0]] = order[i];
  return absl::OkStatus();
}

// Position of a sample between the pixels of one dimension of `size`: two pixels and the weight of
// the second. Samples outside the border by more than a pixel count as 0.
template <class T>
struct Between {
  int64_t low = 0, high = 0;
  T weight = 0;
  bool outside = false;

  Between(T place, int64_t size) {
    if (size < 1 || !(place >= -1 && place <= static_cast<T>(size))) {
      outside = true;
      return;
    }
    place = std::max(place, T{0});
    low = static_cast<int64_t>(place);
    if (low >= size - 1) {
      low = high = size - 1;
    } else {
      high = low + 1;
      weight = place - static_cast<T>(low);
    }
  }
};

// Interpolates between pixels at(row, column) of two rows and two columns. `down` and `across` are
// the weights of the bottom row and the right column.
template <class At>
double Bilinear(const At& at, int64_t top, int64_t bottom, double down, int64_t left, int64_t right,
                double across) {
  return (1 - down) * ((1 - across) * at(top, left) + across * at(top, right)) +
         down * ((1 - across) * at(bottom, left) + across * at(bottom, right));
}

// Operands of a region operator. T: type in which PyTorch computes positions.
template <class T, RegionOp kOp>
class Regions {
 public:
  using Call = RegionCall<KernelArguments, kOp>;

  Regions(const Call& call, const TensorView& out, TensorView* origin)
      : call_(call),
        input_(*call.input),
        rois_(*call.rois),
        out_(out),
        origin_(origin),
        read_region_(rois_),
        pixel_(input_),
        write_(out) {}

  absl::Status Run() {
    for (int64_t k = 0; k < out_.sizes[0]; ++k) {
      T region[5];
      for (int i = 0; i < 5; ++i) {
        region[i] = static_cast<T>(read_region_(k * rois_.strides[0] + i * rois_.strides[1]));
      }
      if (!(region[0] >= 0 && region[0] < static_cast<T>(input_.sizes[0]))) {
        return absl::OutOfRangeError(absl::StrCat("rois: region ", k, " is of image ", region[0],
                                                  ", expected one of ", input_.sizes[0]));
      }
      if constexpr (kOp == RegionOp::kRoiAlign || kOp == RegionOp::kPsRoiAlign) {
        ABSL_RETURN_IF_ERROR(Sample(k, region));
      } else {
        ABSL_RETURN_IF_ERROR(Pool(k, region));
      }
    }
    return absl::OkStatus();
  }

 private:
  // Calls fn(channel, y, x) for each element of the result of a region.
  template <class Fn>
  void ForEachBin(const Fn& fn) const {
    for (int64_t y = 0; y < out_.sizes[2]; ++y) {
      for (int64_t x = 0; x < out_.sizes[3]; ++x) {
        for (int64_t channel = 0; channel < out_.sizes[1]; ++channel) fn(channel, y, x);
      }
    }
  }
  // The channel that a bin reduces.
  int64_t InputChannel(int64_t channel, int64_t y, int64_t x) const {
    if (!Call::kPositionSensitive) return channel;
    return (channel * out_.sizes[2] + y) * out_.sizes[3] + x;
  }
  // Returns the pixels of a channel of an image, as a function of row and column.
  auto Plane(T image, int64_t channel) const {
    const int64_t first =
        static_cast<int64_t>(image) * input_.strides[0] + channel * input_.strides[1];
    return [this, first](int64_t row, int64_t column) {
      return pixel_(first + row * input_.strides[2] + column * input_.strides[3]);
    };
  }
  // `origin` is the second result: a pixel, -1 for none, or a channel.
  void Write(int64_t k, int64_t channel, int64_t y, int64_t x, double value, int64_t origin) const {
    const auto offset = [&](const TensorView& t) {
      return k * t.strides[0] + channel * t.strides[1] + y * t.strides[2] + x * t.strides[3];
    };
    write_(offset(out_), value);
    if (origin_ != nullptr) {
      origin_->as<int32_t>()[offset(*origin_)] = static_cast<int32_t>(origin);
    }
  }

  // Averages bilinear samples in each bin.
  absl::Status Sample(int64_t k, const T (&region)[5]) {
    const T scale = static_cast<T>(call_.spatial_scale);
    const T offset = call_.aligned ? T{0.5} : T{0};
    const T left = region[1] * scale - offset, top = region[2] * scale - offset;
    T wide = region[3] * scale - offset - left, high = region[4] * scale - offset - top;
    if (!call_.aligned) {
      wide = std::max(wide, T{1});
      high = std::max(high, T{1});
    }
    const T bin_wide = wide / static_cast<T>(out_.sizes[3]),
            bin_high = high / static_cast<T>(out_.sizes[2]);
    // Limits the time for regions that are far larger than any image.
    constexpr T kMostSamples = 1 << 14;
    if (!(std::abs(bin_wide) <= kMostSamples && std::abs(bin_high) <= kMostSamples)) {
      return absl::OutOfRangeError(absl::StrCat("rois: region ", k, " has bins of ", bin_wide,
                                                " by ", bin_high, " pixels, expected at most ",
                                                kMostSamples));
    }
    const auto samples = [&](T bin) {
      return call_.sampling_ratio > 0 ? call_.sampling_ratio : static_cast<int64_t>(std::ceil(bin));
    };
    const int64_t columns = samples(bin_wide), rows = samples(bin_high);
    double count = static_cast<double>(rows * columns);
    if (kOp == RegionOp::kRoiAlign) {
      count = static_cast<double>(std::max<int64_t>(rows, 0) * std::max<int64_t>(columns, 0));
      count = std::max(count, 1.0);
    }
    ForEachBin([&](int64_t channel, int64_t y, int64_t x) {
      const int64_t from = InputChannel(channel, y, x);
      const auto plane = Plane(region[0], from);
      double sum = 0;
      for (int64_t i = 0; i < rows && !pace_.Stop(8 * columns); ++i) {
        const Between<T> row(top + static_cast<T>(y) * bin_high +
                                 (static_cast<T>(i) + T{0.5}) * bin_high / static_cast<T>(rows),
                             input_.sizes[2]);
        for (int64_t j = 0; j < columns && !row.outside; ++j) {
          const Between<T> column(
              left + static_cast<T>(x) * bin_wide +
                  (static_cast<T>(j) + T{0.5}) * bin_wide / static_cast<T>(columns),
              input_.sizes[3]);
          if (column.outside) continue;
          sum += Bilinear(plane, row.low, row.high, row.weight, column.low, column.high,
                          column.weight);
        }
      }
      Write(k, channel, y, x, sum / count, from);
    });
    return absl::OkStatus();
  }

  // Pixels of bin `i` of `bins` along an axis, within [0, most].
  struct Pixels {
    int64_t first, last;  // exclusive
  };
  static Pixels BinOf(int64_t i, int64_t bins, int64_t start, int64_t size, int64_t most) {
    const T bin = static_cast<T>(size) / static_cast<T>(bins);
    const auto at = [&](T edge) {
      return std::clamp<int64_t>(static_cast<int64_t>(edge) + start, 0, most);
    };
    return {at(std::floor(static_cast<T>(i) * bin)), at(std::ceil(static_cast<T>(i + 1) * bin))};
  }

  // Maximum (roi_pool) or mean (ps_roi_pool) of the pixels of each bin.
  absl::Status Pool(int64_t k, const T (&region)[5]) {
    constexpr bool kMaximum = kOp == RegionOp::kRoiPool;
    int64_t corners[4];  // x1, y1, x2, y2
    constexpr T kFarthest = 1 << 30;
    for (int i = 0; i < 4; ++i) {
      const T corner = std::round(region[i + 1] * static_cast<T>(call_.spatial_scale));
      if (!(std::abs(corner) <= kFarthest)) {
        return absl::OutOfRangeError(absl::StrCat("rois: region ", k, " has a corner at ", corner,
                                                  ", expected at most ", kFarthest));
      }
      corners[i] = static_cast<int64_t>(corner);
    }
    // The last pixels of the region and of the image are included only in maxima.
    const int64_t last = kMaximum ? 1 : 0;
    const int64_t wide = std::max<int64_t>(corners[2] - corners[0] + last, 1),
                  high = std::max<int64_t>(corners[3] - corners[1] + last, 1);
    const int64_t rows = std::max<int64_t>(input_.sizes[2] - 1 + last, 0),
                  columns = std::max<int64_t>(input_.sizes[3] - 1 + last, 0);
    ForEachBin([&](int64_t channel, int64_t y, int64_t x) {
      const Pixels down = BinOf(y, out_.sizes[2], corners[1], high, rows),
                   right = BinOf(x, out_.sizes[3], corners[0], wide, columns);
      const int64_t from = InputChannel(channel, y, x);
      const auto plane = Plane(region[0], from);
      const bool empty = down.last <= down.first || right.last <= right.first;
      double value = empty || !kMaximum ? 0 : -std::numeric_limits<float>::max();
      int64_t origin = kMaximum ? -1 : from;
      for (int64_t row = down.first; row < down.last; ++row) {
        if (pace_.Stop(right.last - right.first)) break;
        for (int64_t column = right.first; column < right.last; ++column) {
          const double pixel = plane(row, column);
          if (!kMaximum) {
            value += pixel;
          } else if (pixel > value) {
            value = pixel;
            origin = row * input_.sizes[3] + column;
          }
        }
      }
      if (!kMaximum && !empty) {
        value /= static_cast<double>((down.last - down.first) * (right.last - right.first));
      }
      Write(k, channel, y, x, value, origin);
    });
    return absl::OkStatus();
  }

  const Call& call_;
  const TensorView &input_, &rois_, &out_;
  TensorView* origin_;
  Reader<double> read_region_, pixel_;
  Writer<double> write_;
  Budget::Pace pace_;
};

template <RegionOp kOp>
absl::Status RunRegions(KernelContext& context, const RegionCall<KernelArguments, kOp>& call) {
  const DType dtype = call.input->dtype;
  ABSL_ASSIGN_OR_RETURN(TensorView * out, OutputOf(context, 0, dtype, call.Sizes()));
  TensorView* origin = nullptr;
  if (kOp != RegionOp::kRoiAlign) {
    ABSL_ASSIGN_OR_RETURN(origin, OutputOf(context, 1, DType::kInt32, call.Sizes()));
  }
  return dtype == DType::kFloat64 ? Regions<double, kOp>(call, *out, origin).Run()
                                  : Regions<float, kOp>(call, *out, origin).Run();
}

// The taps of an output pixel, of all input channels.
CheckedInt NumColumns(const DeformConvCall<KernelArguments>& call) {
  return CheckedInt(call.input->sizes[1]) * call.weight->sizes[2] * call.weight->sizes[3];
}

uint64_t DeformConvScratchBytes(const KernelContext& context,
                                const DeformConvCall<KernelArguments>& call) {
  return ScratchBytesOf<double>(NumColumns(call));
}

// Samples the taps of an output pixel once (columns[channel][tap]), then multiplies them by all
// filters. T: element; P: type in which PyTorch computes positions.
template <class T, class P>
void DeformConv(const DeformConvCall<KernelArguments>& call, const TensorView& out,
                double* columns) {
  const TensorView &input = *call.input, &weight = *call.weight, &offset = *call.offset;
  const TensorView &mask = *call.mask, &bias = *call.bias;
  const int64_t channels = input.sizes[1], height = input.sizes[2], width = input.sizes[3];
  const int64_t kernel_width = weight.sizes[3], taps = weight.sizes[2] * kernel_width;
  const int64_t shared = channels / call.offset_groups;  // channels with the same offsets
  const int64_t depth = weight.sizes[1], filters = weight.sizes[0] / call.groups;
  const auto element = [](const TensorView& t, int64_t at) {
    return ConvertElement<double>(t.as<T>()[at]);
  };
  const auto position = [](const TensorView& t, int64_t at) {
    return ConvertElement<P>(t.as<T>()[at]);
  };
  Budget::Pace pace;
  for (int64_t pixel = 0; pixel < out.sizes[0] * out.sizes[2] * out.sizes[3]; ++pixel) {
    const int64_t ox = pixel % out.sizes[3], oy = pixel / out.sizes[3] % out.sizes[2],
                  n = pixel / (out.sizes[2] * out.sizes[3]);
    const auto map = [&](const TensorView& t, int64_t channel) {
      return n * t.strides[0] + channel * t.strides[1] + oy * t.strides[2] + ox * t.strides[3];
    };
    if (pace.Stop(taps * (4 * channels + weight.sizes[0] * depth))) return;
    // Null columns if the image has no channels.
    const int64_t sampled = shared == 0 ? 0 : taps * call.offset_groups;
    for (int64_t tap = 0; tap < sampled; ++tap) {
      const int64_t group = tap / taps, i = tap % taps / kernel_width, j = tap % kernel_width;
      const P y = static_cast<P>(oy * call.stride[0] - call.padding[0] + i * call.dilation[0]) +
                  position(offset, map(offset, 2 * tap)),
              x = static_cast<P>(ox * call.stride[1] - call.padding[1] + j * call.dilation[1]) +
                  position(offset, map(offset, 2 * tap + 1));
      double* const samples = columns + group * shared * taps + tap % taps;
      if (!(y > -1 && y < static_cast<P>(height) && x > -1 && x < static_cast<P>(width))) {
        for (int64_t c = 0; c < shared; ++c) samples[c * taps] = 0;
        continue;
      }
      const int64_t top = static_cast<int64_t>(std::floor(y)),
                    left = static_cast<int64_t>(std::floor(x));
      const double down = static_cast<double>(y) - static_cast<double>(top),
                   across = static_cast<double>(x) - static_cast<double>(left);
      const double scale = call.use_mask ? element(mask, map(mask, tap)) : 1;
      const int64_t image = n * input.strides[0] + group * shared * input.strides[1];
      for (int64_t c = 0; c < shared; ++c) {
        // Pixels outside the image are 0.
        const auto at = [&](int64_t row, int64_t column) {
          if (row < 0 || row >= height || column < 0 || column >= width) return 0.0;
          return element(input, image + c * input.strides[1] + row * input.strides[2] +
                                    column * input.strides[3]);
        };
        samples[c * taps] = scale * Bilinear(at, top, top + 1, down, left, left + 1, across);
      }
    }
    for (int64_t o = 0; o < weight.sizes[0]; ++o) {
      const double* const column = columns + o / filters * depth * taps;
      double sum = element(bias, o * bias.strides[0]);
      for (int64_t c = 0; c < depth; ++c) {
        for (int64_t tap = 0; tap < taps; ++tap) {
          sum += column[c * taps + tap] *
                 element(weight, o * weight.strides[0] + c * weight.strides[1] +
                                     tap / kernel_width * weight.strides[2] +
                                     tap % kernel_width * weight.strides[3]);
        }
      }
      out.as<T>()[map(out, o)] = ConvertElement<T>(sum);
    }
  }
}

absl::Status RunDeformConv(KernelContext& context, const DeformConvCall<KernelArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(double* columns, ScratchArray<double>(context, NumColumns(call)));
  ABSL_ASSIGN_OR_RETURN(TensorView * out, OutputOf(context, 0, call.input->dtype, call.Sizes()));
  DispatchDType<kFloatTypes>(call.input->dtype, [&](auto tag) {
    using T = CppType<tag.value>;
    DeformConv<T, std::conditional_t<std::is_same_v<T, double>, double, float>>(call, *out,
                                                                                columns);
  });
  return absl::OkStatus();
}

constexpr Kernel kKernels[] = {
    KernelRow<&Nms, nullptr, &NmsScratchBytes>(
        "torchvision.nms.default", "dets scores iou_threshold", "Nms", KernelEngine::kReference),
    KernelRow<&RunDeformConv, nullptr, &DeformConvScratchBytes>(
        "torchvision.deform_conv2d.default",
        "input weight offset mask bias stride_h stride_w pad_h pad_w dilation_h dilation_w groups "
        "offset_groups use_mask",
        "DeformConv2d", KernelEngine::kReference),
    KernelRow<&RunRegions<RegionOp::kRoiAlign>>(
        "torchvision.roi_align.default",
        "input rois spatial_scale pooled_height pooled_width sampling_ratio aligned", "RoiAlign",
        KernelEngine::kReference),
    KernelRow<&RunRegions<RegionOp::kRoiPool>>(
        "torchvision.roi_pool.default", "input rois spatial_scale pooled_height pooled_width -> 2",
        "RoiPool", KernelEngine::kReference),
    KernelRow<&RunRegions<RegionOp::kPsRoiAlign>>(
        "torchvision.ps_roi_align.default",
        "input rois spatial_scale pooled_height pooled_width sampling_ratio -> 2", "PsRoiAlign",
        KernelEngine::kReference),
    KernelRow<&RunRegions<RegionOp::kPsRoiPool>>(
        "torchvision.ps_roi_pool.default",
        "input rois spatial_scale pooled_height pooled_width -> 2", "PsRoiPool",
        KernelEngine::kReference),
};

}  // namespace

absl::Span<const Kernel> DetectionKernels() { return kKernels; }

}  // namespace belay
