// Rows of channels in float32 or half precision: sums by channel and normalization by channel, on all
// threads.
#ifndef BELAY_RUNTIME_KERNELS_NORM_CHANNEL_ROWS_H_
#define BELAY_RUNTIME_KERNELS_NORM_CHANNEL_ROWS_H_

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "runtime/core/checked_math.h"
#include "runtime/core/dtype.h"
#include "runtime/kernel_interface/kernel.h"

namespace belay {

// Whether rows of channels are contiguous, of a dtype that is computed in float.
bool HasChannelRows(const TensorView& t);

// `data` is the first row.
struct ChannelRows {
  std::byte* data;
  DType dtype;
  int64_t channels;

  explicit ChannelRows(const TensorView& t)
      : data(t.as<std::byte>()), dtype(t.dtype), channels(t.sizes[1]) {}
  std::byte* element(int64_t i) const { return data + i * static_cast<int64_t>(DTypeSize(dtype)); }
  ChannelRows From(int64_t row) const {
    ChannelRows rows = *this;
    rows.data = element(row * channels);
    return rows;
  }
};

// y = (x - center) * scale + shift, as NormalizeF32 computes it.
struct NormalizeTerms {
  float mean = 0, factor = 0, offset = 0;
  bool exact = true;  // whether the factor is a normal float32 or 0

  NormalizeTerms(double center, double scale, double shift)
      : mean(static_cast<float>(center)),
        factor(static_cast<float>(scale)),
        // The rounding error of the mean is added to the offset.
        offset(static_cast<float>(shift - (std::isfinite(center) ? center - mean : 0) * factor)),
        exact(std::isnormal(factor) || scale == 0) {}
};

// Working memory of a normalization by channel.
struct ChannelVectors {
  double *sums, *centers, *parts;
  float *mean, *factor, *offset;
  bool exact = true;

  // In doubles, without the parts: sum and center, then mean, factor and offset in float.
  static constexpr int64_t kDoubles = 4;
  // Parts of the rows, which threads share. They do not depend on the number of threads.
  static constexpr int64_t kRowParts = 8;
  static CheckedInt Doubles(int64_t channels) {
    return CheckedInt(channels) * (kDoubles + kRowParts);
  }

  ChannelVectors(double* memory, int64_t channels)
      : sums(memory),
        centers(memory + channels),
        parts(memory + kDoubles * channels),
        mean(reinterpret_cast<float*>(memory + 2 * channels)),
        factor(mean + channels),
        offset(factor + channels) {}
  void Set(int64_t c, const NormalizeTerms& terms) {
    mean[c] = terms.mean;
    factor[c] = terms.factor;
    offset[c] = terms.offset;
    exact = exact && terms.exact;
  }
};

// vectors.sums[c] = the sum over rows of in[r, c], or of its squared distance from vectors.centers[c].
void SumColumns(const KernelContext& context, const ChannelRows& in, int64_t rows, bool squares,
                const ChannelVectors& vectors);

// out[r, c] = (in[r, c] - mean[c]) * factor[c] + offset[c]. The rows have one dtype.
void NormalizeRows(const KernelContext& context, const ChannelVectors& vectors, int64_t rows,
                   const ChannelRows& in, const ChannelRows& out);

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_NORM_CHANNEL_ROWS_H_
