// torchvision's operators for object detectors.
#include "runtime/kernel/shape_rules/detection.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>

#include "runtime/core/budget.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernel/kernel_arguments.h"
#include "runtime/kernels/call/element_access.h"
#include "runtime/kernels/call/operands.h"
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

// Averages bilinear samples in each bin of each region. T: type in which PyTorch computes
// positions.
template <class T>
absl::Status Align(const RoiAlignCall<KernelArguments>& call, const TensorView& out) {
  const TensorView &input = *call.input, &rois = *call.rois;
  const int64_t height = input.sizes[2], width = input.sizes[3], channels = input.sizes[1];
  const int64_t bins_high = out.sizes[2], bins_wide = out.sizes[3];
  const Reader<double> region(rois), pixel(input);
  const Writer<double> write(out);
  Budget::Pace pace;
  for (int64_t k = 0; k < out.sizes[0]; ++k) {
    T corners[5];
    for (int i = 0; i < 5; ++i) {
      corners[i] = static_cast<T>(region(k * rois.strides[0] + i * rois.strides[1]));
    }
    if (!(corners[0] >= 0 && corners[0] < static_cast<T>(input.sizes[0]))) {
      return absl::OutOfRangeError(absl::StrCat("rois: region ", k, " is of image ", corners[0],
                                                ", expected one of ", input.sizes[0]));
    }
    const T scale = static_cast<T>(call.spatial_scale), offset = call.aligned ? T{0.5} : T{0};
    const T left = corners[1] * scale - offset, top = corners[2] * scale - offset;
    T wide = corners[3] * scale - offset - left, high = corners[4] * scale - offset - top;
    if (!call.aligned) {
      wide = std::max(wide, T{1});
      high = std::max(high, T{1});
    }
    const T bin_wide = wide / static_cast<T>(bins_wide),
            bin_high = high / static_cast<T>(bins_high);
    // Limits the time for regions that are far larger than any image.
    constexpr T kMostSamples = 1 << 14;
    if (!(std::abs(bin_wide) <= kMostSamples && std::abs(bin_high) <= kMostSamples)) {
      return absl::OutOfRangeError(absl::StrCat("rois: region ", k, " has bins of ", bin_wide,
                                                " by ", bin_high, " pixels, expected at most ",
                                                kMostSamples));
    }
    const auto samples = [&](T bin) {
      return call.sampling_ratio > 0 ? call.sampling_ratio : static_cast<int64_t>(std::ceil(bin));
    };
    const int64_t columns = samples(bin_wide), rows = samples(bin_high);
    const double count =
        static_cast<double>(std::max<int64_t>(rows, 0) * std::max<int64_t>(columns, 0));
    const int64_t image = static_cast<int64_t>(corners[0]) * input.strides[0];
    for (int64_t bin = 0; bin < bins_high * bins_wide; ++bin) {
      const int64_t y = bin / bins_wide, x = bin % bins_wide;
      for (int64_t channel = 0; channel < channels; ++channel) {
        double sum = 0;
        for (int64_t i = 0; i < rows; ++i) {
          if (pace.Stop(8 * columns)) return absl::OkStatus();
          const Between<T> row(top + static_cast<T>(y) * bin_high +
                                   (static_cast<T>(i) + T{0.5}) * bin_high / static_cast<T>(rows),
                               height);
          for (int64_t j = 0; j < columns && !row.outside; ++j) {
            const Between<T> column(
                left + static_cast<T>(x) * bin_wide +
                    (static_cast<T>(j) + T{0.5}) * bin_wide / static_cast<T>(columns),
                width);
            if (column.outside) continue;
            const auto at = [&](int64_t r, int64_t c) {
              return pixel(image + channel * input.strides[1] + r * input.strides[2] +
                           c * input.strides[3]);
            };
            const double down = row.weight, right = column.weight;
            sum +=
                (1 - down) *
                    ((1 - right) * at(row.low, column.low) + right * at(row.low, column.high)) +
                down * ((1 - right) * at(row.high, column.low) + right * at(row.high, column.high));
          }
        }
        write(
            k * out.strides[0] + channel * out.strides[1] + y * out.strides[2] + x * out.strides[3],
            sum / std::max(count, 1.0));
      }
    }
  }
  return absl::OkStatus();
}

absl::Status RoiAlign(KernelContext& context, const RoiAlignCall<KernelArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(TensorView * out, OutputOf(context, 0, call.input->dtype, call.Sizes()));
  return call.input->dtype == DType::kFloat64 ? Align<double>(call, *out)
                                              : Align<float>(call, *out);
}

constexpr Kernel kKernels[] = {
    KernelRow<&Nms, nullptr, &NmsScratchBytes>(
        "torchvision.nms.default", "dets scores iou_threshold", "Nms", KernelEngine::kReference),
    KernelRow<&RoiAlign>(
        "torchvision.roi_align.default",
        "input rois spatial_scale pooled_height pooled_width sampling_ratio aligned", "RoiAlign",
        KernelEngine::kReference),
};

}  // namespace

absl::Span<const Kernel> DetectionKernels() { return kKernels; }

}  // namespace belay
