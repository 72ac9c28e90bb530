#include <algorithm>
#include <cmath>

#include "runtime/kernels/element_copy/convert_run.h"
#include "runtime/kernels/element_copy/copy_strided.h"
#include "runtime/kernels/element_copy/run_source.h"
#include "runtime/kernels/operands/quantized_kernels.h"
#include "runtime/kernels/quantize/quantize.h"

namespace belay {
namespace {

constexpr int64_t kShortRun = 8;      // intermediate buffers cost more than they save
constexpr int64_t kShortTensor = 32;  // the same, for all elements of a tensor
constexpr DTypeSet kFloats = {DType::kFloat16, DType::kBFloat16, DType::kFloat32};
// Integer dtypes whose values are exact as float.
constexpr DTypeSet kSmallIntegers = {DType::kUint8, DType::kInt8, DType::kInt16};

// A grid split into runs: trailing dimensions along which scale and zero point are constant.
struct Runs {
  Sizes outer, inner;
  Strides in, out;  // of the inner dimensions
  int64_t length = 1;
};

Runs RunsOf(const QuantizedGrid& grid) {
  Runs runs;
  const int rank = grid.sizes.size();
  int first = rank;
  while (first > 0 && grid.scale.strides[first - 1] == 0 &&
         grid.zero_point.strides[first - 1] == 0) {
    --first;
  }
  for (int d = 0; d < rank; ++d) {
    if (d < first) {
      runs.outer.push_back(grid.sizes[d]);
      continue;
    }
    runs.inner.push_back(grid.sizes[d]);
    runs.in.push_back(grid.in[d]);
    runs.out.push_back(grid.out[d]);
    runs.length *= grid.sizes[d];
  }
  return runs;
}

// Calls map(buffer of floats, n, scale, zero point) for each piece of each run, after loading and
// before storing it. Returns false if a zero point is not representable as float; the caller must
// then compute the result another way. Precondition: the grid has elements.
template <class Map>
bool ForEachPiece(const QuantizedGrid& grid, Map&& map) {
  if (grid.input->numel() < kShortTensor) return false;
  const Runs runs = RunsOf(grid);
  if (runs.length < kShortRun && !runs.outer.empty()) return false;
  const int64_t in_bytes = static_cast<int64_t>(DTypeSize(grid.input->dtype)),
                out_bytes = static_cast<int64_t>(DTypeSize(grid.output->dtype));
  for (StridedIterator<4> it(runs.outer,
                             {grid.in, grid.out, grid.scale.strides, grid.zero_point.strides});
       !it.done(); it.Next()) {
    const double zero = grid.zero_point(it.offset(3));
    if (static_cast<double>(static_cast<float>(zero)) != zero) return false;
    RunSource source(grid.input->as<std::byte>() + it.offset(0) * in_bytes, grid.input->dtype,
                     runs.inner, runs.in, DType::kFloat32);
    RunSink sink(grid.output->as<std::byte>() + it.offset(1) * out_bytes, grid.output->dtype,
                 runs.inner, runs.out, DType::kFloat32);
    RunStorage in, out;
    for (int64_t left = runs.length; left > 0;) {
      const int64_t n = std::min(left, kRunBufferLength);
      const float* x = static_cast<const float*>(source.Next(n, in));
      map(x, static_cast<size_t>(n), grid.scale(it.offset(2)), static_cast<float>(zero),
          static_cast<float*>(sink.Place(n, out)));
      sink.Commit(n, out);
      left -= n;
    }
  }
  return true;
}

constexpr int64_t kExactZero = 1 << 22;

// Whether zero point and scale are representable as float, and small enough for exact differences.
bool IsExact(double zero, double scale) {
  return std::abs(zero) <= kExactZero && static_cast<double>(static_cast<float>(zero)) == zero &&
         static_cast<double>(static_cast<float>(scale)) == scale;
}

// Quantizes float32 to bytes without intermediate buffers, if both are dense with equal layout.
// Returns false for other calls, and writes nothing.
bool QuantizeDense(const QuantizedGrid& grid, const QuantizeStep& step) {
  const TensorView &in = *grid.input, &out = *grid.output;
  if (in.dtype != DType::kFloat32 || !(grid.in == grid.out) || !IsDense(grid.sizes, grid.in)) {
    return false;
  }
  const auto n = static_cast<size_t>(out.numel());
  if (out.dtype == DType::kInt8) {
    QuantizeInt8Run(in.as<const float>(), n, step, out.as<int8_t>());
  } else if (out.dtype == DType::kUint8) {
    QuantizeUint8Run(in.as<const float>(), n, step, out.as<uint8_t>());
  } else {
    return false;
  }
  return true;
}

// Dequantizes n contiguous elements of one of kSmallIntegers.
void DequantizeContiguous(DType dtype, const void* in, size_t n, float zero, float scale,
                          float* out) {
  if (dtype == DType::kInt8)
    return DequantizeInt8Run(static_cast<const int8_t*>(in), n, zero, scale, out);
  if (dtype == DType::kUint8)
    return DequantizeUint8Run(static_cast<const uint8_t*>(in), n, zero, scale, out);
  DequantizeInt16Run(static_cast<const int16_t*>(in), n, zero, scale, out);
}

bool IsOneNumber(const QuantizedParameter& p) {
  return std::all_of(p.strides.begin(), p.strides.end(), [](int64_t s) { return s == 0; });
}

// The next three functions dequantize kSmallIntegers to float32 without intermediate buffers, which
// are slow for small tensors and short runs. They return false if they do not support the call. The
// caller must then compute the whole result, even if a part was written.
bool DequantizeDense(const QuantizedGrid& grid) {
  const TensorView &in = *grid.input, &out = *grid.output;
  if (!IsOneNumber(grid.scale) || !IsOneNumber(grid.zero_point)) return false;
  if (!(grid.in == grid.out) || !IsDense(grid.sizes, grid.in)) return false;
  const double zero = grid.zero_point(0), scale = grid.scale(0);
  if (!IsExact(zero, scale)) return false;
  DequantizeContiguous(in.dtype, in.data, static_cast<size_t>(out.numel()),
                       static_cast<float>(zero), static_cast<float>(scale), out.as<float>());
  return true;
}

// Dequantizes contiguous runs that have one scale and zero point.
bool DequantizeRuns(const QuantizedGrid& grid) {
  const Runs runs = RunsOf(grid);
  if (runs.length < 4 || !IsContiguous(runs.inner, runs.in) ||
      !IsContiguous(runs.inner, runs.out)) {
    return false;
  }
  const int64_t in_bytes = static_cast<int64_t>(DTypeSize(grid.input->dtype));
  for (StridedIterator<4> it(runs.outer,
                             {grid.in, grid.out, grid.scale.strides, grid.zero_point.strides});
       !it.done(); it.Next()) {
    const double zero = grid.zero_point(it.offset(3)), scale = grid.scale(it.offset(2));
    if (!IsExact(zero, scale)) return false;
    DequantizeContiguous(grid.input->dtype,
                         grid.input->as<const std::byte>() + it.offset(0) * in_bytes,
                         static_cast<size_t>(runs.length), static_cast<float>(zero),
                         static_cast<float>(scale), grid.output->as<float>() + it.offset(1));
  }
  return true;
}

// Dequantizes rows with one scale and zero point per column.
bool DequantizeColumns(const QuantizedGrid& grid) {
  constexpr int64_t kColumns = 256;
  const int last = grid.sizes.size() - 1;
  if (last < 0 || grid.in[last] != 1 || grid.out[last] != 1) return false;
  for (int d = 0; d < last; ++d) {
    if (grid.scale.strides[d] != 0 || grid.zero_point.strides[d] != 0) return false;
  }
  Sizes rows = grid.sizes;
  rows.erase(last);
  const int64_t in_bytes = static_cast<int64_t>(DTypeSize(grid.input->dtype));
  for (int64_t first = 0; first < grid.sizes[last]; first += kColumns) {
    const int64_t n = std::min(kColumns, grid.sizes[last] - first);
    float zeros[kColumns], scales[kColumns];
    for (int64_t i = 0; i < n; ++i) {
      const double zero = grid.zero_point((first + i) * grid.zero_point.strides[last]),
                   scale = grid.scale((first + i) * grid.scale.strides[last]);
      if (!IsExact(zero, scale)) return false;
      zeros[i] = static_cast<float>(zero);
      scales[i] = static_cast<float>(scale);
    }
    for (StridedIterator<2> it(rows, {grid.in, grid.out}); !it.done(); it.Next()) {
      DequantizeEach(
          grid.input->dtype, grid.input->as<const std::byte>() + (it.offset(0) + first) * in_bytes,
          static_cast<size_t>(n), zeros, scales, grid.output->as<float>() + it.offset(1) + first);
    }
  }
  return true;
}

struct Engine {
  static void Quantize(const QuantizedGrid& grid, DType type, QuantizedRange range,
                       bool add_first) {
    if (!QuantizeInFloat(grid, type, range, add_first) &&
        !QuantizeInDouble(grid, type, range, add_first)) {
      belay::Quantize(grid, type, range, add_first);
    }
  }
  static void Dequantize(const QuantizedGrid& grid, DType type) {
    if (!DequantizeInFloat(grid, type)) belay::Dequantize(grid, type);
  }
  static void Add(const QuantizedSum& sum) {
    if (!AddInFloat(sum)) AddQuantized(sum);
  }
  static absl::Status Copy(const TensorView& from, const TensorView& to) {
    return CopyStrided(from, to);
  }

 private:
  // Small integers and zero points are exact as float. The operator itself is defined in float32.
  static bool AddInFloat(const QuantizedSum& sum) {
    if (!kSmallIntegers.contains(sum.out->dtype)) return false;
    for (int64_t zero_point : sum.zero_point) {
      if (zero_point < -kExactZero || zero_point > kExactZero) return false;
    }
    const int64_t total = sum.out->numel();
    if (total == 0) return true;
    const DType dtype = sum.out->dtype;
    RunSource sources[2] = {
        RunSource(sum.a->data, dtype, sum.a->sizes, sum.a->strides, DType::kFloat32),
        RunSource(sum.b->data, dtype, sum.b->sizes, sum.b->strides, DType::kFloat32)};
    RunSink sink(sum.out->data, dtype, sum.out->sizes, sum.out->strides, DType::kFloat32);
    const QuantizeStep step = {1.0f / sum.scale[2], static_cast<float>(sum.zero_point[2]),
                               static_cast<float>(sum.range.low),
                               static_cast<float>(sum.range.high), /*add_first=*/false};
    RunStorage in, out;
    float terms[2][kRunBufferLength];
    for (int64_t left = total; left > 0;) {
      const int64_t n = std::min(left, kRunBufferLength);
      const size_t count = static_cast<size_t>(n);
      for (int i = 0; i < 2; ++i) {
        const float* x = static_cast<const float*>(sources[i].Next(n, in));
        DequantizeRun(x, count, static_cast<float>(sum.zero_point[i]), sum.scale[i], terms[i]);
      }
      float* q = static_cast<float*>(sink.Place(n, out));
      AddRuns(terms[0], terms[1], count, q);
      QuantizeRun(q, count, step, q);
      sink.Commit(n, out);
      left -= n;
    }
    return true;
  }

  // Whether all results are in the dtype's range; others wrap. If the upper bound is below the
  // lower one, all results equal the upper bound.
  static bool IsWithinBounds(QuantizedRange range, DType dtype) {
    const auto bounds = QuantizedBounds(dtype);
    return bounds.ok() && range.high >= bounds->first;
  }

  static bool QuantizeInFloat(const QuantizedGrid& grid, DType type, QuantizedRange range,
                              bool add_first) {
    if (!IsWithinBounds(range, grid.output->dtype)) return false;
    const DType product = Promoted(type, grid.scale.dtype);
    if (product != DType::kFloat32 || Promoted(product, grid.zero_point.dtype) != product ||
        !kFloats.contains(grid.input->dtype) || !kRunTypes.contains(grid.output->dtype)) {
      return false;
    }
    const RoundFn round_inverse = RoundingTo(grid.scale.dtype);
    const auto step_of = [&](double scale, float zero) -> QuantizeStep {
      return {static_cast<float>(round_inverse(1 / scale)), zero, static_cast<float>(range.low),
              static_cast<float>(range.high), add_first};
    };
    if (grid.input->numel() == 0) return true;
    if (IsOneNumber(grid.scale) && IsOneNumber(grid.zero_point)) {
      const double scale = grid.scale(0), zero = grid.zero_point(0);
      if (IsExact(zero, 0) && QuantizeDense(grid, step_of(scale, static_cast<float>(zero)))) {
        return true;
      }
    }
    return ForEachPiece(grid, [&](const float* in, size_t n, double scale, float zero, float* out) {
      QuantizeRun(in, n, step_of(scale, zero), out);
    });
  }

  // Contiguous runs of float32 to bytes, for scales of float64, as those that choose_qparams computes.
  // Returns false for other calls, and writes nothing.
  static bool QuantizeInDouble(const QuantizedGrid& grid, DType type, QuantizedRange range,
                               bool add_first) {
    const TensorView &in = *grid.input, &out = *grid.output;
    const bool is_signed = out.dtype == DType::kInt8;
    if (in.dtype != DType::kFloat32 || (!is_signed && out.dtype != DType::kUint8) ||
        Promoted(type, grid.scale.dtype) != DType::kFloat64 || !IsWithinBounds(range, out.dtype)) {
      return false;
    }
    if (in.numel() == 0) return true;
    const Runs runs = RunsOf(grid);
    if (!IsContiguous(runs.inner, runs.in) || !IsContiguous(runs.inner, runs.out)) return false;
    const RoundFn round_inverse = RoundingTo(grid.scale.dtype);
    const auto n = static_cast<size_t>(runs.length);
    for (StridedIterator<4> it(runs.outer,
                               {grid.in, grid.out, grid.scale.strides, grid.zero_point.strides});
         !it.done(); it.Next()) {
      const QuantizeStepOf<double> step = {
          round_inverse(1 / grid.scale(it.offset(2))), grid.zero_point(it.offset(3)),
          static_cast<double>(range.low), static_cast<double>(range.high), add_first};
      const float* const from = in.as<const float>() + it.offset(0);
      if (is_signed) {
        QuantizeInt8Run(from, n, step, out.as<int8_t>() + it.offset(1));
      } else {
        QuantizeUint8Run(from, n, step, out.as<uint8_t>() + it.offset(1));
      }
    }
    return true;
  }

  static bool DequantizeInFloat(const QuantizedGrid& grid, DType type) {
    // Small integers, and their differences from small zero points, are exact as float. All others
    // are rounded to float32 only if the definition does so.
    const DType difference = Promoted(type, grid.zero_point.dtype);
    const bool exact = !IsFloatingPoint(difference);
    if (Promoted(difference, grid.scale.dtype) != DType::kFloat32 ||
        !(exact || difference == DType::kFloat32) || !kSmallIntegers.contains(grid.input->dtype) ||
        !kRunTypes.contains(grid.output->dtype)) {
      return false;
    }
    if (grid.input->numel() == 0) return true;
    if (grid.output->dtype == DType::kFloat32 &&
        (DequantizeDense(grid) || DequantizeRuns(grid) || DequantizeColumns(grid))) {
      return true;
    }
    bool small = true;
    const bool done =
        ForEachPiece(grid, [&](const float* in, size_t n, double scale, float zero, float* out) {
          small = small && IsExact(zero, scale);
          DequantizeRun(in, n, zero, static_cast<float>(scale), out);
        });
    return done && small;
  }
};

// Accepts calls that float loops may compute; others would not be faster here.
template <class Call>
bool Accepts(const KernelContext& context, const Call& call) {
  return (kFloats | kSmallIntegers).contains(call.input->dtype);
}

constexpr Kernel kKernels[] = {
#define BELAY_QUANTIZED_KERNEL(op, signature, name, run) \
  KernelRow<run, &Accepts<CallOfRun<run>>>(op, signature, name "Simd", KernelEngine::kHighway),
#include "runtime/kernels/operands/quantized_kernels.inc"
};

}  // namespace

absl::Span<const Kernel> QuantizeHighwayKernels() { return kKernels; }

}  // namespace belay
