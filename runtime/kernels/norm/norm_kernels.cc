// Layer, group and batch norm on tensors of any layout. Contiguous float32 rows and planes are read
// and written in place; all others are converted through buffers.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>

#include "runtime/core/status_macros.h"
#include "runtime/kernel_interface/kernel_arguments.h"
#include "runtime/kernel_interface/shape_rules/norm.h"
#include "runtime/kernels/element_copy/channels_last.h"
#include "runtime/kernels/element_copy/convert_run.h"
#include "runtime/kernels/element_copy/copy_strided.h"
#include "runtime/kernels/element_copy/run_source.h"
#include "runtime/kernels/norm/channel_rows.h"
#include "runtime/kernels/norm/norm.h"
#include "runtime/kernels/operands/norm_parameters.h"
#include "runtime/kernels/operands/operands.h"
#include "runtime/kernels/operands/ranges.h"
#include "runtime/kernels/operands/strided_view.h"
#include "runtime/kernels/reduce/moments.h"

namespace belay {
namespace {

constexpr DTypeSet kTypes = {DType::kFloat32, DType::kFloat16, DType::kBFloat16, DType::kFloat64};

// The type in which elements are read.
DType RunType(const TensorView& t) {
  return t.dtype == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32;
}

// Returns the part of `t` at an offset with these sizes and strides.
TensorView PartOf(const TensorView& t, int64_t offset, const Sizes& sizes, const Strides& strides) {
  TensorView part;
  part.dtype = t.dtype;
  part.sizes = sizes;
  part.strides = strides;
  part.data = ElementAddress(t, offset);
  return part;
}

struct Moments {
  double mean = 0, var = 0;  // biased variance: divided by the number of elements
};

constexpr Moments kNoMoments = {0, std::numeric_limits<double>::quiet_NaN()};

// Sums the elements of `part`, or their squared distances from `center` if given.
double SumOf(const TensorView& part, std::optional<double> center) {
  if (IsRowMajorF32(part)) {
    const FloatRuns run{part.as<const float>(), part.numel()};
    double sum;
    center.has_value() ? SquareRunsF32(run, *center, &sum) : SumRunsF32(run, &sum);
    return sum;
  }
  const DType type = RunType(part);
  const auto bytes = static_cast<int64_t>(DTypeSize(type));
  const ReduceLoop loop = center.has_value() ? FindSquaresLoop(type) : FindSumLoop(type);
  double lanes[kReduceLanes] = {}, centers[kReduceLanes];
  std::fill_n(centers, kReduceLanes, center.value_or(0));
  const double* of = center.has_value() ? centers : nullptr;
  RunSource source(part.data, part.dtype, part.sizes, part.strides, type);
  RunStorage buffer;
  for (int64_t left = part.numel(); left > 0;) {
    const int64_t n = source.in_place() && source.group() >= kReduceLanes
                          ? std::min(left, source.group())
                          : std::min(left, kRunBufferLength);
    const auto* run = static_cast<const std::byte*>(source.Next(n, buffer));
    const int64_t rows = n / kReduceLanes;
    if (rows > 0) loop(run, rows, kReduceLanes, kReduceLanes, lanes, of);
    if (rows * kReduceLanes < n)
      loop(run + rows * kReduceLanes * bytes, 1, 0, n - rows * kReduceLanes, lanes, of);
    left -= n;
  }
  double total = 0;
  for (double lane : lanes) total += lane;
  return total;
}

Moments MomentsOf(const TensorView& part) {
  const double count = static_cast<double>(part.numel());
  Moments m;
  m.mean = SumOf(part, std::nullopt) / count;
  m.var = SumOf(part, m.mean) / count;
  return m;
}

// to = (from - center) * scale * factors + shifts + shift, for float64; the rows of factors and of shifts
// may be null. Precondition: equal sizes.
void NormalizeDoubles(const TensorView& from, const TensorView& to, double center, double scale,
                      double shift, const double* factors, const double* shifts) {
  RunSource source(from.data, from.dtype, from.sizes, from.strides, DType::kFloat64);
  RunSink sink(to.data, to.dtype, to.sizes, to.strides, DType::kFloat64);
  RunStorage in, out;
  const bool in_place = source.in_place() && sink.in_place();
  for (int64_t at = 0, n; at < from.numel(); at += n) {
    const int64_t left = from.numel() - at, group = std::min(source.group(), sink.group());
    n = in_place && group >= kReduceLanes ? std::min(left, group)
                                          : std::min(left, kRunBufferLength);
    const double* x = static_cast<const double*>(source.Next(n, in));
    double* y = static_cast<double*>(sink.Place(n, out));
    for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - center) * scale + shift;
    for (int64_t i = 0; factors != nullptr && i < n; ++i) y[i] *= factors[at + i];
    for (int64_t i = 0; shifts != nullptr && i < n; ++i) y[i] += shifts[at + i];
    sink.Commit(n, out);
  }
}

// to = (from - center) * scale + shift, element by element. Precondition: equal sizes.
void Normalize(const TensorView& from, const TensorView& to, double center, double scale,
               double shift) {
  if (from.dtype == DType::kFloat64) {
    return NormalizeDoubles(from, to, center, scale, shift, nullptr, nullptr);
  }
  const NormalizeTerms terms(center, scale, shift);
  if (!terms.exact) {
    const Reader<double> in(from);
    const Writer<double> write(to);
    for (StridedIterator<2> it(from.sizes, {from.strides, to.strides}); !it.done(); it.Next())
      write(it.offset(1), (in(it.offset(0)) - center) * scale + shift);
    return;
  }
  if (IsRowMajorF32(from) && IsRowMajorF32(to)) {
    return NormalizeF32(from.as<const float>(), static_cast<size_t>(from.numel()), terms.mean,
                        terms.factor, terms.offset, to.as<float>());
  }
  RunSource source(from.data, from.dtype, from.sizes, from.strides, DType::kFloat32);
  RunSink sink(to.data, to.dtype, to.sizes, to.strides, DType::kFloat32);
  RunStorage in, out;
  const bool in_place = source.in_place() && sink.in_place();
  for (int64_t left = from.numel(); left > 0;) {
    const int64_t group = std::min(source.group(), sink.group());
    const int64_t n = in_place && group >= kReduceLanes ? std::min(left, group)
                                                        : std::min(left, kRunBufferLength);
    const float* x = static_cast<const float*>(source.Next(n, in));
    NormalizeF32(x, static_cast<size_t>(n), terms.mean, terms.factor, terms.offset,
                 static_cast<float*>(sink.Place(n, out)));
    sink.Commit(n, out);
    left -= n;
  }
}

// ---- Layer norm

// Returns a parameter as a row of elements of `type`, in place or in `room`.
const void* ParameterRow(const TensorView* t, DType type, void* room) {
  if (t == nullptr) return nullptr;
  if (t->dtype == type && t->is_contiguous()) return t->data;
  CopyConvertible(*t, TensorView::Contiguous(type, t->sizes, room));
  return room;
}

// Floats of a block of rows, and the most rows of one.
constexpr int64_t kBlockFloats = 4096, kBlockRows = 64;

// Normalizes contiguous rows [first, last) of n <= kBlockFloats elements in half precision, a block at
// a time.
void LayerNormHalves(const TensorView& input, int64_t first, int64_t last, int64_t n,
                     const float* scale, const float* shift, float eps,
                     const NormResults& results) {
  alignas(64) float block[kBlockFloats];
  float mean[kBlockRows], rstd[kBlockRows];
  const int64_t most = std::min(kBlockFloats / n, kBlockRows);
  for (int64_t row = first; row < last; row += most) {
    const auto rows = static_cast<size_t>(std::min(most, last - row)),
               count = rows * static_cast<size_t>(n);
    LoadFloats(input.dtype, ElementAddress(input, row * n), count, block);
    LayerNormRowsF32(block, rows, static_cast<size_t>(n), scale, shift, eps, block, mean, rstd);
    StoreFloats(block, count, results.out->dtype, ElementAddress(*results.out, row * n));
    StoreFloats(mean, rows, results.mean->dtype, ElementAddress(*results.mean, row));
    StoreFloats(rstd, rows, results.rstd->dtype, ElementAddress(*results.rstd, row));
  }
}

absl::Status LayerNorm(KernelContext& context, const LayerNormCall<KernelArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(const NormResults results, LayerNormResults(context, call));
  const auto& [out, mean, rstd] = results;
  const TensorView *const input = call.input, *const weight = call.weight, *const bias = call.bias;
  ABSL_ASSIGN_OR_RETURN(const Sizes normalized, ToSizes(call.normalized_shape));
  const Writer<double> write_mean(*mean), write_rstd(*rstd);
  const int leading = input->rank() - normalized.size();
  const uint32_t tail = ~uint32_t{0} << leading;
  const Sizes rows = SelectDims(input->sizes, 0, tail);
  const Strides mean_rows = SelectDims(mean->strides, 0, tail),
                rstd_rows = SelectDims(rstd->strides, 0, tail);
  const int64_t n = *NumElements(normalized);
  if (n == 0) {
    // The mean of an empty row is 0 here, its variance NaN.
    constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
    for (StridedIterator<2> it(rows, {mean_rows, rstd_rows}); !it.done(); it.Next()) {
      write_mean(it.offset(0), 0);
      write_rstd(it.offset(1), kNan);
    }
    return absl::OkStatus();
  }
  if (input->numel() == 0) return absl::OkStatus();  // no rows, whatever their length
  const Strides in_row = SelectDims(input->strides, leading),
                out_row = SelectDims(out->strides, leading);
  if (input->dtype == DType::kFloat64) {
    ABSL_ASSIGN_OR_RETURN(double* room, ScratchArray<double>(context, 2 * n));
    const auto* const factors =
        static_cast<const double*>(ParameterRow(weight, DType::kFloat64, room));
    const auto* const shifts =
        static_cast<const double*>(ParameterRow(bias, DType::kFloat64, room + n));
    for (StridedIterator<4> it(rows, {SelectDims(input->strides, 0, tail),
                                      SelectDims(out->strides, 0, tail), mean_rows, rstd_rows});
         !it.done(); it.Next()) {
      const TensorView from = PartOf(*input, it.offset(0), normalized, in_row);
      const Moments m = MomentsOf(from);
      const double r = 1 / std::sqrt(m.var + call.eps);
      NormalizeDoubles(from, PartOf(*out, it.offset(1), normalized, out_row), m.mean, r,
                       /*shift=*/0, factors, shifts);
      write_mean(it.offset(2), m.mean);
      write_rstd(it.offset(3), r);
    }
    return absl::OkStatus();
  }
  const bool in_place = input->dtype == DType::kFloat32 && IsContiguous(normalized, in_row) &&
                        IsContiguous(normalized, out_row);
  float *scratch = nullptr, *weight_room = nullptr, *bias_room = nullptr;
  if (!in_place || (weight != nullptr && !IsRowMajorF32(*weight)) ||
      (bias != nullptr && !IsRowMajorF32(*bias))) {
    ABSL_ASSIGN_OR_RETURN(
        scratch, ScratchArray<float>(context, CheckedInt(n) * (2 + context.num_threads())));
    weight_room = scratch;
    bias_room = weight_room + n;
  }
  const auto* const scale =
      static_cast<const float*>(ParameterRow(weight, DType::kFloat32, weight_room));
  const auto* const shift =
      static_cast<const float*>(ParameterRow(bias, DType::kFloat32, bias_room));
  const Strides in_rows = SelectDims(input->strides, 0, tail),
                out_rows = SelectDims(out->strides, 0, tail);
  const double work = kElementWork * static_cast<double>(input->numel());
  if (IsRowMajorF32(*input) && IsRowMajorF32(*out) && IsRowMajorF32(*mean) &&
      IsRowMajorF32(*rstd)) {
    RunRanges(context, input->numel() / n, /*step=*/1, work, [&](int, int64_t first, int64_t last) {
      LayerNormRowsF32(input->as<const float>() + first * n, static_cast<size_t>(last - first),
                       static_cast<size_t>(n), scale, shift, static_cast<float>(call.eps),
                       out->as<float>() + first * n, mean->as<float>() + first,
                       rstd->as<float>() + first);
    });
    return absl::OkStatus();
  }
  if (in_place) {
    RunRanges(context, input->numel() / n, /*step=*/1, work, [&](int, int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) {
        const RowStatistics s = LayerNormRowF32(
            input->as<const float>() + OffsetAt(i, rows, in_rows), static_cast<size_t>(n), scale,
            shift, static_cast<float>(call.eps), out->as<float>() + OffsetAt(i, rows, out_rows));
        write_mean(OffsetAt(i, rows, mean_rows), s.mean);
        write_rstd(OffsetAt(i, rows, rstd_rows), s.rstd);
      }
    });
    return absl::OkStatus();
  }
  if (input->is_contiguous() && out->is_contiguous() && mean->is_contiguous() &&
      rstd->is_contiguous() && n <= kBlockFloats) {
    RunRanges(context, input->numel() / n, /*step=*/1, work, [&](int, int64_t first, int64_t last) {
      LayerNormHalves(*input, first, last, n, scale, shift, static_cast<float>(call.eps), results);
    });
    return absl::OkStatus();
  }
  RunRanges(
      context, input->numel() / n, /*step=*/1, work, [&](int part, int64_t first, int64_t last) {
        float* const room = bias_room + (1 + part) * n;
        const TensorView row = TensorView::Contiguous(DType::kFloat32, normalized, room);
        for (int64_t i = first; i < last; ++i) {
          CopyConvertible(PartOf(*input, OffsetAt(i, rows, in_rows), normalized, in_row), row);
          const RowStatistics s = LayerNormRowF32(room, static_cast<size_t>(n), scale, shift,
                                                  static_cast<float>(call.eps), room);
          CopyConvertible(row, PartOf(*out, OffsetAt(i, rows, out_rows), normalized, out_row));
          write_mean(OffsetAt(i, rows, mean_rows), s.mean);
          write_rstd(OffsetAt(i, rows, rstd_rows), s.rstd);
        }
      });
  return absl::OkStatus();
}

// Scratch for rows of the input's planned, maximal sizes. The row length may be known only at run
// time, the number of its dimensions is known when the kernel is chosen.
uint64_t LayerNormScratch(const KernelContext& context,
                          const LayerNormCall<KernelArguments>& call) {
  const int rank = call.input->rank(), normalized = call.normalized_shape.size();
  if (normalized > rank) return 0;
  const Sizes row = SelectDims(call.input->sizes, rank - normalized);
  // Two rows of doubles, or two of floats and one per thread.
  return ScratchBytesOf<float>(CheckedInt(NumElements(row).value_or(0)) *
                               std::max(4, 2 + context.num_threads()));
}

// ---- Group norm

// Variances below 2^-80 are computed in double.
constexpr float kLargestRstd = 0x1p40f;

// Normalizes one image whose channels are innermost. Returns false, without writing to `out`, if a
// factor is not exact (NormalizeTerms).
bool NormalizeImage(const KernelContext& context, const GroupNormCall<KernelArguments>& call,
                    ChannelVectors vectors, const OptionalVector& scale,
                    const OptionalVector& shift, const ChannelRows& in, int64_t rows,
                    const ChannelRows& out,
                    absl::FunctionRef<void(int64_t, double, double)> write_group) {
  const int64_t channels = call.channels.value(), per_group = channels / call.groups;
  const double count = static_cast<double>(rows) * static_cast<double>(per_group);
  const auto group_mean = [&](int64_t g) {
    double sum = 0;
    for (int64_t c = g * per_group; c < (g + 1) * per_group; ++c) sum += vectors.sums[c];
    return sum / count;
  };
  SumColumns(context, in, rows, /*squares=*/false, vectors);
  for (int64_t g = 0; g < call.groups; ++g) {
    std::fill_n(vectors.centers + g * per_group, per_group, group_mean(g));
  }
  SumColumns(context, in, rows, /*squares=*/true, vectors);
  for (int64_t g = 0; g < call.groups; ++g) {
    const double mean = vectors.centers[g * per_group];
    const double rstd = 1 / std::sqrt(group_mean(g) + call.eps);
    write_group(g, mean, rstd);
    for (int64_t c = g * per_group; c < (g + 1) * per_group; ++c) {
      vectors.Set(c, NormalizeTerms(mean, rstd * scale[c], shift[c]));
    }
  }
  if (!vectors.exact) return false;
  NormalizeRows(context, vectors, rows, in, out);
  return true;
}

// The elements of a vector of floats, or null without one; nullopt for other vectors.
std::optional<const float*> FloatsOf(const TensorView* vector) {
  if (vector == nullptr) return nullptr;
  if (vector->dtype != DType::kFloat32 || !vector->is_contiguous()) return std::nullopt;
  return vector->as<const float>();
}

absl::Status GroupNorm(KernelContext& context, const GroupNormCall<KernelArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(const NormResults results, GroupNormResults(context, call));
  const auto& [out, mean, rstd] = results;
  const TensorView *const input = call.input, *const weight = call.weight, *const bias = call.bias;
  const int64_t n = call.n.value(), channels = call.channels.value(), groups = call.groups;
  const Writer<double> write_mean(*mean), write_rstd(*rstd);
  const OptionalVector scale(weight, 1), shift(bias, 0);
  const int64_t per_group = channels / groups;
  Sizes sizes = SelectDims(input->sizes, 1);
  sizes[0] = per_group;
  const Strides strides = SelectDims(input->strides, 1);
  const Sizes plane = SelectDims(input->sizes, 2);
  const Strides in_plane = SelectDims(input->strides, 2), out_plane = SelectDims(out->strides, 2);
  const auto write_group = [&](int64_t i, int64_t g, double group_mean, double group_rstd) {
    write_mean(i * mean->strides[0] + g * mean->strides[1], group_mean);
    write_rstd(i * rstd->strides[0] + g * rstd->strides[1], group_rstd);
  };
  const std::optional<const float*> scales = FloatsOf(weight), shifts = FloatsOf(bias);
  // Images of one pixel: groups are rows.
  const bool has_rows = input->numel() == n * channels && input->dtype == DType::kFloat32 &&
                        input->is_contiguous() && out->is_contiguous() && scales.has_value() &&
                        shifts.has_value() && per_group > 0;
  if (input->numel() > 0 && !has_rows && HasChannelRows(*input) && HasChannelRows(*out)) {
    ABSL_ASSIGN_OR_RETURN(double* memory,
                          ScratchArray<double>(context, ChannelVectors::Doubles(channels)));
    const int64_t rows = input->numel() / n / channels;
    bool exact = true;
    for (int64_t i = 0; exact && i < n; ++i) {
      exact =
          NormalizeImage(context, call, ChannelVectors(memory, channels), scale, shift,
                         ChannelRows(*input).From(i * rows), rows, ChannelRows(*out).From(i * rows),
                         [&](int64_t g, double m, double r) { write_group(i, g, m, r); });
    }
    if (exact) return absl::OkStatus();
  }
  RunRanges(
      context, n * groups, /*step=*/1, kElementWork * static_cast<double>(input->numel()),
      [&](int, int64_t begin, int64_t end) {
        for (int64_t at = begin; at < end; ++at) {
          const int64_t i = at / groups, g = at % groups, first = g * per_group;
          if (has_rows) {
            const RowStatistics s = LayerNormRowF32(
                input->as<const float>() + at * per_group, static_cast<size_t>(per_group),
                *scales == nullptr ? nullptr : *scales + first,
                *shifts == nullptr ? nullptr : *shifts + first, static_cast<float>(call.eps),
                out->as<float>() + at * per_group);
            // Otherwise a float overflowed or vanished.
            if (std::isfinite(s.mean) && s.rstd > 0 && s.rstd < kLargestRstd) {
              write_group(i, g, s.mean, s.rstd);
              continue;
            }
          }
          const Moments m =
              input->numel() == 0
                  ? kNoMoments
                  : MomentsOf(PartOf(*input, i * input->strides[0] + first * input->strides[1],
                                     sizes, strides));
          const double r = 1 / std::sqrt(m.var + call.eps);
          write_group(i, g, m.mean, r);
          if (input->numel() == 0) continue;  // any number of channels
          for (int64_t c = first; c < first + per_group; ++c) {
            Normalize(
                PartOf(*input, i * input->strides[0] + c * input->strides[1], plane, in_plane),
                PartOf(*out, i * out->strides[0] + c * out->strides[1], plane, out_plane), m.mean,
                r * scale[c], shift[c]);
          }
        }
      });
  return absl::OkStatus();
}

// ---- Batch norm

absl::Status BatchNorm(KernelContext& context, const BatchNormCall<KernelArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(const BatchNormResults results, ResultsOf(context, call));
  const TensorView &input = *call.input, &out = *results.out;
  const OptionalVector scale(call.weight, 1), shift(call.bias, 0), mean_in(call.running_mean, 0),
      var_in(call.running_var, 1);
  const Sizes channel = SelectDims(input.sizes, 0, 0b10);
  const Strides in_channel = SelectDims(input.strides, 0, 0b10),
                out_channel = SelectDims(out.strides, 0, 0b10);
  if (input.numel() == 0) return absl::OkStatus();  // never in training
  const int64_t channels = input.sizes[1];
  if (HasChannelRows(input) && HasChannelRows(out)) {
    ABSL_ASSIGN_OR_RETURN(double* memory,
                          ScratchArray<double>(context, ChannelVectors::Doubles(channels)));
    ChannelVectors vectors(memory, channels);
    const ChannelRows in(input);
    const int64_t rows = input.numel() / channels;
    const auto average = [&](bool squares, double* to) {
      SumColumns(context, in, rows, squares, vectors);
      for (int64_t c = 0; c < channels; ++c) to[c] = vectors.sums[c] / static_cast<double>(rows);
    };
    double *const means = vectors.centers, *const variances = vectors.sums;
    if (call.training) {
      average(/*squares=*/false, means);
      average(/*squares=*/true, variances);
    } else {
      for (int64_t c = 0; c < channels; ++c) {
        means[c] = mean_in[c];
        variances[c] = var_in[c];
      }
    }
    const auto rstd_of = [&](int64_t c) { return 1 / std::sqrt(variances[c] + call.eps); };
    for (int64_t c = 0; c < channels; ++c) {
      vectors.Set(c, NormalizeTerms(means[c], rstd_of(c) * scale[c], shift[c]));
    }
    if (vectors.exact) {
      for (int64_t c = 0; call.training && c < channels; ++c) {
        results.SaveStatistics(call, c, means[c], variances[c], rstd_of(c));
      }
      NormalizeRows(context, vectors, rows, in, ChannelRows(out));
      return absl::OkStatus();
    }
  }
  const int64_t images = input.sizes[0], plane = input.numel() / (images * channels);
  const bool planes = !call.training && IsRowMajorF32(input) && IsRowMajorF32(out);
  const auto normalize_planes = [&](int64_t c, const NormalizeTerms& terms) {
    for (int64_t at = c * plane; at < input.numel(); at += channels * plane) {
      NormalizeF32(input.as<const float>() + at, static_cast<size_t>(plane), terms.mean,
                   terms.factor, terms.offset, out.as<float>() + at);
    }
  };
  RunRanges(context, channels, /*step=*/1, kElementWork * static_cast<double>(input.numel()),
            [&](int, int64_t first, int64_t last) {
              for (int64_t c = first; c < last; ++c) {
                if (planes) {
                  const double factor = 1 / std::sqrt(var_in[c] + call.eps) * scale[c];
                  const NormalizeTerms terms(mean_in[c], factor, shift[c]);
                  if (terms.exact) {
                    normalize_planes(c, terms);
                    continue;
                  }
                }
                const TensorView from = PartOf(input, c * input.strides[1], channel, in_channel);
                const Moments m = call.training ? MomentsOf(from) : Moments{mean_in[c], var_in[c]};
                const double rstd = 1 / std::sqrt(m.var + call.eps);
                if (call.training) results.SaveStatistics(call, c, m.mean, m.var, rstd);
                Normalize(from, PartOf(out, c * out.strides[1], channel, out_channel), m.mean,
                          rstd * scale[c], shift[c]);
              }
            });
  return absl::OkStatus();
}

template <class Call>
uint64_t NormScratch(const KernelContext& context, const Call& call) {
  const TensorView& input = *call.input;
  return input.rank() < 2 ? 0 : ScratchBytesOf<double>(ChannelVectors::Doubles(input.sizes[1]));
}

template <class Call>
bool Accepts(const KernelContext& context, const Call& call) {
  return kTypes.contains(call.input->dtype);
}

constexpr KernelEngine kHighway = KernelEngine::kHighway;

constexpr std::string_view kLayerNorm = "input normalized_shape weight bias eps -> 3";
constexpr std::string_view kGroupNorm = "input weight bias N C HxW group eps -> 3";
constexpr std::string_view kInference =
    "input weight bias running_mean running_var momentum eps -> 3";
constexpr std::string_view kRunning =
    "input weight bias running_mean running_var training momentum eps -> 3";
constexpr std::string_view kNoStats = "input weight bias training momentum eps -> 3";

constexpr Kernel kKernels[] = {
    KernelRow<&LayerNorm, &Accepts<LayerNormCall<KernelArguments>>, &LayerNormScratch>(
        "aten.native_layer_norm.default", kLayerNorm, "LayerNormSimd", kHighway),
    KernelRow<&GroupNorm, &Accepts<GroupNormCall<KernelArguments>>,
              &NormScratch<GroupNormCall<KernelArguments>>>("aten.native_group_norm.default",
                                                            kGroupNorm, "GroupNormSimd", kHighway),
    KernelRow<&BatchNorm, &Accepts<BatchNormCall<KernelArguments>>,
              &NormScratch<BatchNormCall<KernelArguments>>>(
        "aten._native_batch_norm_legit_no_training.default", kInference, "BatchNormInferenceSimd",
        kHighway),
    KernelRow<&BatchNorm, &Accepts<BatchNormCall<KernelArguments>>,
              &NormScratch<BatchNormCall<KernelArguments>>>("aten._native_batch_norm_legit.default",
                                                            kRunning, "BatchNormSimd", kHighway),
    KernelRow<&BatchNorm, &Accepts<BatchNormCall<KernelArguments>>,
              &NormScratch<BatchNormCall<KernelArguments>>>(
        "aten._native_batch_norm_legit.no_stats", kNoStats, "BatchNormNoStatsSimd", kHighway),
};

}  // namespace

absl::Span<const Kernel> NormHighwayKernels() { return kKernels; }

}  // namespace belay
