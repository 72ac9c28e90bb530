#include "runtime/kernels/norm/channel_rows.h"

#include <algorithm>

#include "absl/functional/function_ref.h"
#include "runtime/kernels/element_copy/channels_last.h"
#include "runtime/kernels/element_copy/convert_run.h"
#include "runtime/kernels/norm/norm.h"
#include "runtime/kernels/operands/ranges.h"
#include "runtime/kernels/reduce/moments.h"

namespace belay {
namespace {

// Threads share the rows of fewer channels than this.
constexpr int64_t kFewChannels = 256;
// Floats of a block of rows in half precision.
constexpr int64_t kBlockFloats = 4096;

// Calls block(x, rows, channel, width, at) for blocks of rows [first, last) as floats: `rows` rows of
// channels [channel, channel + width), which are stored together. float32 is read in place, half
// precision converted in a buffer that the function may overwrite. `at` is the block's first element.
void ForEachBlock(const ChannelRows& in, int64_t first, int64_t last,
                  absl::FunctionRef<void(float*, int64_t, int64_t, int64_t, int64_t)> block) {
  if (first >= last) return;
  if (in.dtype == DType::kFloat32) {
    const int64_t at = first * in.channels;
    return block(reinterpret_cast<float*>(in.element(at)), last - first, 0, in.channels, at);
  }
  alignas(64) float buffer[kBlockFloats];
  const int64_t most = std::max<int64_t>(kBlockFloats / in.channels, 1);
  for (int64_t row = first; row < last; row += most) {
    const int64_t rows = std::min(most, last - row);
    for (int64_t c = 0; c < in.channels; c += kBlockFloats) {
      const int64_t width = std::min(kBlockFloats, in.channels - c), at = row * in.channels + c;
      LoadFloats(in.dtype, in.element(at), static_cast<size_t>(rows * width), buffer);
      block(buffer, rows, c, width, at);
    }
  }
}

// AddColumns for columns [first, last) of any number of channels.
void AddColumnRange(ReduceLoop loop, const float* in, int64_t rows, int64_t channels, int64_t first,
                    int64_t last, const double* centers, double* sums) {
  for (int64_t c = first; c < last; c += kReduceLanes) {
    loop(in + c, rows, channels, std::min(kReduceLanes, last - c), sums + c,
         centers == nullptr ? nullptr : centers + c);
  }
}

// Adds the sums over rows of in[r, c], or of its squared distances from centers[c], to sums[c]. `loop`
// is that of the sums or of the distances.
void AddColumns(ReduceLoop loop, const float* in, int64_t rows, int64_t channels,
                const double* centers, double* sums) {
  if (channels >= kReduceLanes || kReduceLanes % channels != 0) {
    return AddColumnRange(loop, in, rows, channels, 0, channels, centers, sums);
  }
  // Several rows at a time: lane i is a part of channel i % channels.
  double lanes[kReduceLanes] = {}, lane_centers[kReduceLanes];
  for (int64_t i = 0; i < kReduceLanes; ++i) {
    lane_centers[i] = centers == nullptr ? 0 : centers[i % channels];
  }
  const double* const center = centers == nullptr ? nullptr : lane_centers;
  const int64_t elements = rows * channels, whole = elements / kReduceLanes;
  if (whole > 0) loop(in, whole, kReduceLanes, kReduceLanes, lanes, center);
  const int64_t rest = elements - whole * kReduceLanes;
  if (rest > 0) loop(in + whole * kReduceLanes, 1, 0, rest, lanes, center);
  for (int64_t i = 0; i < kReduceLanes; ++i) sums[i % channels] += lanes[i];
}

}  // namespace

bool HasChannelRows(const TensorView& t) {
  return t.dtype != DType::kFloat64 && HasChannelsInnermost(t);
}

void SumColumns(const KernelContext& context, const ChannelRows& in, int64_t rows, bool squares,
                const ChannelVectors& vectors) {
  const ReduceLoop loop = squares ? FindSquaresLoop(DType::kFloat32) : FindSumLoop(DType::kFloat32);
  const double* const centers = squares ? vectors.centers : nullptr;
  double* const sums = vectors.sums;
  const int64_t channels = in.channels;
  constexpr int64_t kRowParts = ChannelVectors::kRowParts;
  const double work = 2 * static_cast<double>(rows * channels);
  std::fill_n(sums, channels, 0.0);
  if (in.dtype == DType::kFloat32 && channels >= kFewChannels) {
    RunRanges(context, channels, kReduceLanes, work, [&](int, int64_t first, int64_t last) {
      AddColumnRange(loop, reinterpret_cast<const float*>(in.data), rows, channels, first, last,
                     centers, sums);
    });
    return;
  }
  RunRanges(context, kRowParts, /*step=*/1, work, [&](int, int64_t first, int64_t last) {
    for (int64_t part = first; part < last; ++part) {
      double* const part_sums = vectors.parts + part * channels;
      std::fill_n(part_sums, channels, 0.0);
      ForEachBlock(in, rows * part / kRowParts, rows * (part + 1) / kRowParts,
                   [&](const float* x, int64_t count, int64_t c, int64_t width, int64_t) {
                     AddColumns(loop, x, count, width, centers == nullptr ? nullptr : centers + c,
                                part_sums + c);
                   });
    }
  });
  for (int64_t part = 0; part < kRowParts; ++part) {
    for (int64_t c = 0; c < channels; ++c) sums[c] += vectors.parts[part * channels + c];
  }
}

void NormalizeRows(const KernelContext& context, const ChannelVectors& vectors, int64_t rows,
                   const ChannelRows& in, const ChannelRows& out) {
  RunRanges(
      context, rows, /*step=*/1, kElementWork * static_cast<double>(rows * in.channels),
      [&](int, int64_t first, int64_t last) {
        ForEachBlock(
            in, first, last, [&](float* x, int64_t count, int64_t c, int64_t width, int64_t at) {
              const bool in_place = out.dtype == DType::kFloat32;
              float* const to = in_place ? reinterpret_cast<float*>(out.element(at)) : x;
              NormalizeColumnsF32(x, static_cast<size_t>(count), static_cast<size_t>(width),
                                  vectors.mean + c, vectors.factor + c, vectors.offset + c, to);
              if (!in_place) {
                StoreFloats(to, static_cast<size_t>(count * width), out.dtype, out.element(at));
              }
            });
      });
}

}  // namespace belay
