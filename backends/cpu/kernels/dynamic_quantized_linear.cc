// belay_cpu::dynamic_quantized_linear.
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "backends/cpu/dynamic_calls.h"
#include "backends/cpu/kernels/epilogue_of.h"
#include "backends/cpu/kernels/kernel_tables.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernels/operands/gemm_ranges.h"
#include "runtime/kernels/operands/operands.h"
#include "runtime/kernels/operands/quantization_parameters.h"
#include "runtime/kernels/packed/dynamic_gemm.h"
#include "runtime/kernels/quantize/quantize.h"

namespace belay::cpu {
namespace {

// Cost of reading a byte of the weights from memory, in multiply-adds: it bounds few rows.
constexpr double kByteWork = 3.5;

using Call = DynamicQuantizedLinearCall<KernelArguments>;

// Bytes of all prepared rows.
CheckedInt Scratch(const Call& call, CheckedInt rows) {
  const auto k = static_cast<size_t>(call.input->sizes[call.input->rank() - 1]);
  return rows * CheckedInt(static_cast<int64_t>(DynamicRowBytes(k)));
}

int64_t ZeroAt(const TensorView& zeros, int64_t i) {
  switch (zeros.dtype) {
    case DType::kInt8:
      return zeros.as<const int8_t>()[i];
    case DType::kInt32:
      return zeros.as<const int32_t>()[i];
    default:
      return zeros.as<const int64_t>()[i];
  }
}

float FiniteOrNan(double scale) {
  const auto narrow = static_cast<float>(scale);
  return std::isfinite(narrow) ? narrow : std::numeric_limits<float>::quiet_NaN();
}

double ScaleAt(const TensorView& scales, int64_t i) {
  return scales.dtype == DType::kFloat64 ? scales.as<const double>()[i]
                                         : double{scales.as<const float>()[i]};
}

absl::Status CheckZeros(const TensorView& zeros, bool is_signed) {
  const int64_t least = is_signed ? -128 : 0;
  for (int64_t i = 0; i < zeros.numel(); ++i) {
    const int64_t zero = ZeroAt(zeros, i);
    if (zero >= least && zero <= least + 255) continue;
    return absl::InvalidArgumentError(absl::StrCat("input_zeros: expected numbers from ", least,
                                                   " to ", least + 255, ", got ", zero));
  }
  return absl::OkStatus();
}

// Converts rows of the input to the layout of the GEMM.
class RowPreparation {
 public:
  RowPreparation(const Call& call, WeightFormat format, size_t k)
      : call_(call),
        format_(format),
        k_(k),
        scale_step_(call.Quantizes() || call.input_scales->numel() == 1 ? 0 : 1),
        zero_step_(call.Quantizes() || call.input_zeros->numel() == 1 ? 0 : 1) {}

  void operator()(int64_t i, std::byte* to) const {
    const auto at = static_cast<size_t>(i) * k_;
    if (call_.Quantizes()) return Quantize(call_.input->as<const float>() + at, to);
    const DynamicRow row = {FiniteOrNan(ScaleAt(*call_.input_scales, i * scale_step_)),
                            static_cast<int32_t>(ZeroAt(*call_.input_zeros, i * zero_step_))};
    PrepareDynamicRow(call_.input->as<const uint8_t>() + at, call_.input->dtype == DType::kInt8,
                      row, format_, k_, to);
  }

 private:
  void Quantize(const float* x, std::byte* to) const {
    float low = 0, high = 0;
    const bool numbers = WidenExtent(x, k_, low, high);
    const RowParameters parameters =
        AsymmetricRowParameters({low, high, !numbers}, RoundingTo(DType::kFloat32));
    const DynamicRow row = {
        FiniteOrNan(parameters.scale),
        std::isfinite(parameters.zero_point) ? static_cast<int32_t>(parameters.zero_point) : 0};
    auto* bytes = reinterpret_cast<int8_t*>(to + kDynamicRowOffset);
    const QuantizeStepOf<double> step = {1 / parameters.scale, static_cast<double>(row.zero), -128,
                                         127, /*add_first=*/false};
    QuantizeInt8Run(x, k_, step, bytes);
    PrepareDynamicRow(bytes, /*is_signed=*/true, row, format_, k_, to);
  }

  const Call& call_;
  const WeightFormat format_;
  const size_t k_;
  const int64_t scale_step_, zero_step_;
};

absl::Status DynamicQuantizedLinear(KernelContext& context, const Call& call) {
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape());
  ABSL_RETURN_IF_ERROR(ExpectContiguous("input", *call.input));
  if (!call.Quantizes()) {
    ABSL_RETURN_IF_ERROR(ExpectContiguous("input_scales", *call.input_scales));
    ABSL_RETURN_IF_ERROR(ExpectContiguous("input_zeros", *call.input_zeros));
  }
  ABSL_RETURN_IF_ERROR(ExpectContiguous("weight", *call.weight));
  ABSL_RETURN_IF_ERROR(ExpectContiguous("scales", *call.scales));
  ABSL_RETURN_IF_ERROR(ExpectContiguous("weight_sums", *call.weight_sums));
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, DType::kFloat32, shape));
  ABSL_RETURN_IF_ERROR(ExpectContiguous("result", *out));
  DynamicGemmArgs g;
  ABSL_ASSIGN_OR_RETURN(g.epilogue, EpilogueOf(call.epilogue, *out));
  if (!call.Quantizes()) {
    ABSL_RETURN_IF_ERROR(CheckZeros(*call.input_zeros, call.input->dtype == DType::kInt8));
  }
  if (out->numel() == 0) return absl::OkStatus();
  g.n = static_cast<size_t>(call.out_features);
  g.k = static_cast<size_t>(call.input->sizes[call.input->rank() - 1]);
  g.m = static_cast<size_t>(out->numel()) / g.n;
  g.format = call.format->format;
  g.group = static_cast<size_t>(call.group);
  const auto rows = static_cast<int64_t>(g.m);
  ABSL_ASSIGN_OR_RETURN(std::byte * prepared,
                        ScratchArray<std::byte>(context, Scratch(call, rows)));
  const size_t row_bytes = DynamicRowBytes(g.k);
  const RowPreparation prepare(call, g.format, g.k);
  RunRanges(context, rows, 1, static_cast<double>(g.m) * static_cast<double>(g.k),
            [&](int, int64_t first, int64_t last) {
              for (int64_t i = first; i < last; ++i) {
                prepare(i, prepared + static_cast<size_t>(i) * row_bytes);
              }
            });
  g.rows = prepared;
  g.b = call.weight->data;
  if (call.scales->dtype == DType::kBFloat16) {
    g.bfloat16_scales = call.scales->as<const uint16_t>();
  } else {
    g.scales = call.scales->as<const float>();
  }
  g.weight_sums = call.weight_sums->as<const int32_t>();
  g.c = out->as<float>();
  g.ldc = g.n;
  const GemmSize size = {rows, static_cast<int64_t>(kDynamicRows), static_cast<int64_t>(g.n),
                         static_cast<int64_t>(kDynamicPanelColumns),
                         kQuantizedWork * static_cast<double>(g.m) * static_cast<double>(g.n) *
                                 static_cast<double>(g.k) +
                             kByteWork * static_cast<double>(call.weight->nbytes())};
  RunGemm(context, size, [&](int, size_t row, size_t end_row, size_t column, size_t end_column) {
    DynamicGemmRange(g, row, end_row, column, end_column);
  });
  return absl::OkStatus();
}

bool Accepts(const KernelContext& context, const Call& call) { return call.Shape().ok(); }

uint64_t ScratchBytes(const KernelContext& context, const Call& call) {
  const int last = call.input->rank() - 1;
  CheckedInt rows = 1;
  for (int d = 0; d < last; ++d) rows = rows * CheckedInt(call.input->sizes[d]);
  return ScratchBytesOf<std::byte>(Scratch(call, rows));
}

constexpr OperatorFacts kFacts = {.work = {WorkRule::Kind::kMatmul, 0, 3, 2},
                                  .flops = {FlopRule::Kind::kMatmul, "input"}};
constexpr Kernel kKernels[] = {
    KernelRow<&DynamicQuantizedLinear, &Accepts, &ScratchBytes>(
        "belay_cpu.dynamic_quantized_linear.default",
        "input input_scales input_zeros weight scales weight_sums bias other out_features format "
        "group activation combine low high",
        "DynamicQuantizedLinearPacked", KernelEngine::kHighway, &kFacts),
};

}  // namespace

absl::Span<const Kernel> DynamicQuantizedLinearKernels() { return kKernels; }

}  // namespace belay::cpu
