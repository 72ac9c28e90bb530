// Reference kernels of attention, norms, rotary embeddings and groups of elementwise operators.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "backends/cpu/calls.h"
#include "backends/cpu/pointwise_calls.h"
#include "backends/cpu/testing/reference_elements.h"
#include "backends/cpu/testing/reference_tables.h"
#include "backends/cpu/token_calls.h"
#include "runtime/core/element.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/tensor_view.h"
#include "runtime/kernel_interface/kernel_arguments.h"

namespace belay::cpu {
namespace {

absl::Status RunAttention(KernelContext& context, const AttentionCall<KernelArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape());
  ABSL_ASSIGN_OR_RETURN(const Sizes sizes, ToSizes(shape));
  ABSL_ASSIGN_OR_RETURN(TensorView* const output, context.Output(0, sizes));
  if (output->numel() == 0) return absl::OkStatus();
  const int last = sizes.size() - 1, heads = last - 2, tokens = last - 1;
  const int64_t keys = call.key->sizes[tokens], shared = sizes[heads] / call.key->sizes[heads];
  // Masked score of the query at `index` and a key; -inf if it is not visible.
  const auto score = [&](const Sizes& index, int64_t key) -> double {
    constexpr double kUnseen = -std::numeric_limits<double>::infinity();
    Sizes query_at = index, key_at = index;
    key_at[heads] /= shared;
    key_at[tokens] = key;
    double sum = 0;
    for (int64_t k = 0; k < call.query->sizes[last]; ++k) {
      query_at[last] = key_at[last] = k;
      sum += double{At(*call.query, query_at)} * FloatAt(*call.key, key_at);
    }
    sum *= call.scale;
    if (call.is_causal && key > index[tokens]) return kUnseen;
    if (call.mask == nullptr) return sum;
    int64_t offset = 0;
    for (int back = 1; back <= call.mask->rank(); ++back) {
      const int d = call.mask->rank() - back;
      const int64_t at = back == 1 ? key : index[sizes.size() - back];
      if (call.mask->sizes[d] != 1) offset += at * call.mask->strides[d];
    }
    if (call.mask->dtype == DType::kBool) {
      return call.mask->as<const uint8_t>()[offset] != 0 ? sum : kUnseen;
    }
    return sum + call.mask->as<const float>()[offset];
  };
  Sizes index(sizes.size(), int64_t{0});
  for (int64_t left = output->numel(); left > 0; --left) {
    double most = -std::numeric_limits<double>::infinity(), total = 0, sum = 0;
    for (int64_t key = 0; key < keys; ++key) most = std::max(most, score(index, key));
    for (int64_t key = 0; key < keys && !std::isinf(most); ++key) {
      const double weight = std::exp(score(index, key) - most);
      Sizes at = index;
      at[heads] /= shared;
      at[tokens] = key;
      total += weight;
      sum += weight * FloatAt(*call.value, at);
    }
    double result = sum / total;
    if (total == 0) {
      result = call.nan_rows && keys > 0 ? std::numeric_limits<double>::quiet_NaN() : 0;
    }
    const_cast<float&>(At(*output, index)) = static_cast<float>(result);
    for (int d = last; d >= 0 && ++index[d] == sizes[d]; --d) index[d] = 0;
  }
  return absl::OkStatus();
}

// A step's result; truth values are 0 and 1.
double ExactStep(const PointwiseStep& kind, const double* x, const double* scalars) {
  switch (kind.op) {
    case PointwiseOp::kAbs:
      return std::fabs(x[0]);
    case PointwiseOp::kAdd:
      return x[0] + x[1];
    case PointwiseOp::kCeil:
      return std::ceil(x[0]);
    case PointwiseOp::kClampBoth: {
      const double raised = x[0] < scalars[0] ? scalars[0] : x[0];
      return scalars[1] < raised ? scalars[1] : raised;
    }
    case PointwiseOp::kCos:
      return std::cos(x[0]);
    case PointwiseOp::kDiv:
      return x[0] / x[1];
    case PointwiseOp::kElu:
      return x[0] < 0 ? std::expm1(x[0] * scalars[2]) * scalars[0] * scalars[1] : x[0] * scalars[1];
    case PointwiseOp::kEq:
      return x[0] == x[1] ? 1 : 0;
    case PointwiseOp::kErf:
      return std::erf(x[0]);
    case PointwiseOp::kExp:
      return std::exp(x[0]);
    case PointwiseOp::kExpm1:
      return std::expm1(x[0]);
    case PointwiseOp::kFloor:
      return std::floor(x[0]);
    case PointwiseOp::kGe:
      return x[0] >= x[1] ? 1 : 0;
    case PointwiseOp::kGeluErf:
      return ExactActivation(Activation::kGelu, x[0]);
    case PointwiseOp::kGeluTanh:
      return ExactActivation(Activation::kGeluTanh, x[0]);
    case PointwiseOp::kGt:
      return x[0] > x[1] ? 1 : 0;
    case PointwiseOp::kLe:
      return x[0] <= x[1] ? 1 : 0;
    case PointwiseOp::kLeakyRelu:
      return x[0] > 0 ? x[0] : x[0] * scalars[0];
    case PointwiseOp::kLog:
      return std::log(x[0]);
    case PointwiseOp::kLog1p:
      return std::log1p(x[0]);
    case PointwiseOp::kLog2:
      return std::log2(x[0]);
    case PointwiseOp::kLogicalAnd:
      return x[0] != 0 && x[1] != 0 ? 1 : 0;
    case PointwiseOp::kLogicalNot:
      return x[0] != 0 ? 0 : 1;
    case PointwiseOp::kLogicalOr:
      return x[0] != 0 || x[1] != 0 ? 1 : 0;
    case PointwiseOp::kLt:
      return x[0] < x[1] ? 1 : 0;
    case PointwiseOp::kMaximum:
      return std::isnan(x[0]) || x[0] > x[1] ? x[0] : x[1];
    case PointwiseOp::kMinimum:
      return std::isnan(x[0]) || x[0] < x[1] ? x[0] : x[1];
    case PointwiseOp::kMul:
      return x[0] * x[1];
    case PointwiseOp::kNe:
      return x[0] != x[1] ? 1 : 0;
    case PointwiseOp::kNeg:
      return -x[0];
    case PointwiseOp::kPow:
      return std::pow(x[0], scalars[0]);
    case PointwiseOp::kReciprocal:
      return 1 / x[0];
    case PointwiseOp::kRelu:
      return x[0] < 0 ? 0 : x[0];
    case PointwiseOp::kRound:
      return std::nearbyint(x[0]);
    case PointwiseOp::kRsqrt:
      return 1 / std::sqrt(x[0]);
    case PointwiseOp::kSigmoid:
      return 1 / (1 + std::exp(-x[0]));
    case PointwiseOp::kSign:
      return (0 < x[0]) - (x[0] < 0);
    case PointwiseOp::kSin:
      return std::sin(x[0]);
    case PointwiseOp::kSqrt:
      return std::sqrt(x[0]);
    case PointwiseOp::kSub:
      return x[0] - x[1];
    case PointwiseOp::kTanh:
      return std::tanh(x[0]);
    case PointwiseOp::kTrunc:
      return std::trunc(x[0]);
    case PointwiseOp::kWhere:
      return x[0] != 0 ? x[1] : x[2];
    default:
      return std::numeric_limits<double>::quiet_NaN();
  }
}

// The operands of a step are followed by its scalars.
float RoundedStep(const PointwiseStep& step, const double* x) {
  const auto f = [](double number) { return static_cast<float>(number); };
  switch (step.conversion) {
    case PointwiseConversion::kNone:
      return f(ExactStep(step, x, x + step.operands));
    case PointwiseConversion::kBFloat16:
      return float{BFloat16(f(x[0]))};
    case PointwiseConversion::kDequantize:
      return f(x[0] - x[1]) * f(x[2]);
    case PointwiseConversion::kQuantize:
      return std::isnan(x[0])
                 ? 0
                 : std::clamp(std::nearbyint(f(x[0]) * f(x[1])) + f(x[2]), f(x[3]), f(x[4]));
  }
  return 0;
}

// Every step is rounded to float32.
template <class T>
absl::Status RunPointwiseTo(KernelContext& context,
                            const PointwiseGroupCall<KernelArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape());
  return ForEachPlace<T>(context, shape, [&](const Sizes& index) {
    std::vector<double> values;
    for (int k = 0; k < call.num_inputs; ++k) {
      const TensorView& input = *call.inputs[static_cast<size_t>(k)];
      const int lead = index.size() - input.rank();
      Sizes at(input.rank(), int64_t{0});
      for (int d = 0; d < input.rank(); ++d) at[d] = input.sizes[d] == 1 ? 0 : index[lead + d];
      values.push_back(input.dtype == DType::kBool    ? (At<uint8_t>(input, at) != 0 ? 1 : 0)
                       : input.dtype == DType::kInt8  ? static_cast<double>(At<int8_t>(input, at))
                       : input.dtype == DType::kUint8 ? static_cast<double>(At<uint8_t>(input, at))
                                                      : double{FloatAt(input, at)});
    }
    for (int k = 0; k < call.num_scalars; ++k) {
      values.push_back(double{call.scalars[static_cast<size_t>(k)]});
    }
    for (int k = 0; k < call.num_steps; ++k) {
      const auto& step = call.steps[static_cast<size_t>(k)];
      double operands[5] = {};
      for (int i = 0; i < step.kind->operands + step.kind->scalars; ++i) {
        operands[i] = values[step.operands[static_cast<size_t>(i)]];
      }
      values.push_back(double{RoundedStep(*step.kind, operands)});
    }
    return static_cast<T>(static_cast<float>(values.back()));
  });
}

absl::Status RunPointwise(KernelContext& context, const PointwiseGroupCall<KernelArguments>& call) {
  switch (call.ResultType()) {
    case DType::kFloat32:
      return RunPointwiseTo<float>(context, call);
    case DType::kBFloat16:
      return RunPointwiseTo<BFloat16>(context, call);
    default:
      return RunPointwiseTo<uint8_t>(context, call);
  }
}

absl::Status RunRmsNorm(KernelContext& context, const RmsNormCall<KernelArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape());
  const int last = call.input->rank() - 1;
  const int64_t n = call.input->sizes[last];
  return ForEachPlace<float>(context, shape, [&](const Sizes& index) {
    Sizes at = index;
    double sum = 0;
    for (at[last] = 0; at[last] < n; ++at[last]) {
      sum += double{At(*call.input, at)} * At(*call.input, at);
    }
    const double weight =
        call.weight == nullptr ? 1 : At(*call.weight, absl::MakeConstSpan(index).subspan(last));
    const double mean = sum / static_cast<double>(n) + static_cast<float>(call.eps);
    return static_cast<float>(At(*call.input, index) / std::sqrt(mean) * weight);
  });
}

absl::Status RunRotaryEmbedding(KernelContext& context,
                                const RotaryEmbeddingCall<KernelArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape());
  const int last = call.input->rank() - 1;
  const int64_t half = call.input->sizes[last] / 2;
  return ForEachPlace<float>(context, shape, [&](const Sizes& index) {
    const Sizes& own = call.cosine->sizes;
    const int lead = index.size() - own.size();
    Sizes angle(own.size(), int64_t{0});
    for (int d = 0; d < own.size(); ++d) {
      angle[d] = own[d] == 1 && own.size() - 1 != d ? 0 : index[lead + d];
    }
    if (own[own.size() - 1] == half) angle[own.size() - 1] = index[last] % half;
    const bool second = index[last] >= half;
    Sizes other = index;
    other[last] += second ? -half : half;
    const double x = At(*call.input, index), y = At(*call.input, other);
    const double turned = y * At(*call.sine, angle);
    return static_cast<float>(x * At(*call.cosine, angle) + (second ? turned : -turned));
  });
}

constexpr Kernel kKernels[] = {
    KernelRow<&RunPointwise>("belay_cpu.pointwise.default", "inputs ops operands scalars",
                             "PointwiseReference", KernelEngine::kReference),
    KernelRow<&RunAttention>("belay_cpu.attention.default",
                             "query key value mask scale is_causal nan_rows", "AttentionReference",
                             KernelEngine::kReference),
    KernelRow<&RunRmsNorm>("belay_cpu.rms_norm.default", "input weight eps", "RmsNormReference",
                           KernelEngine::kReference),
    KernelRow<&RunRotaryEmbedding>("belay_cpu.rotary_embedding.default", "input cosine sine",
                                   "RotaryEmbeddingReference", KernelEngine::kReference),
};

}  // namespace

absl::Span<const Kernel> ReferenceRows() { return kKernels; }

}  // namespace belay::cpu
