// The call of belay_cpu::pointwise: a group of elementwise operators, computed block by block.
//
//   pointwise(Tensor[] inputs, str ops, int[] operands, float[] scalars) -> Tensor
//
// `ops` has the names of the steps (kPointwiseSteps), separated by spaces. For each step, `operands`
// has as many elements as the step's row has operands and scalars together. An element is an index
// into the list
//
//   inputs, scalars, results of the previous steps
//
// The inputs broadcast to the shape of the result, which is that of the last step. Values are
// float32, bfloat16 inputs converted to float32, truth values (bool inputs, results of
// comparisons), or quantized (int8 and uint8 inputs). The steps that convert, with the scalars
// after their operand:
//
//   bfloat16 x                                     rounds; as the last step, the result is bfloat16
//   dequantize q, zero_point, scale                (q - zero_point) * scale
//   quantize x, inverse_scale, zero_point, low, high
//                                                  clamp(round(x * inverse_scale) + zero_point, low,
//                                                  high) as uint8; only as the last step. NaN is 0
//
// Otherwise the result is float32. Bounds are from 0 to 255.
#ifndef BELAY_BACKENDS_CPU_POINTWISE_CALLS_H_
#define BELAY_BACKENDS_CPU_POINTWISE_CALLS_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "runtime/core/dtype.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernel_interface/shape_rules/broadcast.h"
#include "runtime/kernels/operands/tensor_list.h"
#include "runtime/kernels/pointwise/loops.h"

namespace belay::cpu {

inline constexpr int kMaxPointwiseInputs = 8, kMaxPointwiseSteps = 16, kMaxPointwiseScalars = 16;

// The conversion of a step that does not use PointwiseStep::op.
enum class PointwiseConversion : uint8_t { kNone, kBFloat16, kDequantize, kQuantize };

// One kind of step.
struct PointwiseStep {
  std::string_view name;
  PointwiseOp op;
  int operands;                // values, before the scalars
  int scalars = 0;             // operands that must be elements of `scalars`
  bool truth = false;          // whether the result is a truth value
  uint8_t truth_operands = 0;  // bit k: operand k is a truth value
  PointwiseConversion conversion = PointwiseConversion::kNone;
};
inline constexpr PointwiseStep kPointwiseSteps[] = {
    {"abs", PointwiseOp::kAbs, 1},
    {"add", PointwiseOp::kAdd, 2},
    {"and", PointwiseOp::kLogicalAnd, 2, 0, true, 0b11},
    {"bfloat16", PointwiseOp::kAbs, 1, 0, false, 0, PointwiseConversion::kBFloat16},
    {"ceil", PointwiseOp::kCeil, 1},
    {"clamp", PointwiseOp::kClampBoth, 1, 2},
    {"cos", PointwiseOp::kCos, 1},
    {"dequantize", PointwiseOp::kAbs, 1, 2, false, 0, PointwiseConversion::kDequantize},
    {"div", PointwiseOp::kDiv, 2},
    {"elu", PointwiseOp::kElu, 1, 3},
    {"eq", PointwiseOp::kEq, 2, 0, true},
    {"erf", PointwiseOp::kErf, 1},
    {"exp", PointwiseOp::kExp, 1},
    {"expm1", PointwiseOp::kExpm1, 1},
    {"floor", PointwiseOp::kFloor, 1},
    {"ge", PointwiseOp::kGe, 2, 0, true},
    {"gelu", PointwiseOp::kGeluErf, 1},
    {"gelu_tanh", PointwiseOp::kGeluTanh, 1},
    {"gt", PointwiseOp::kGt, 2, 0, true},
    {"le", PointwiseOp::kLe, 2, 0, true},
    {"leaky_relu", PointwiseOp::kLeakyRelu, 1, 1},
    {"log", PointwiseOp::kLog, 1},
    {"log1p", PointwiseOp::kLog1p, 1},
    {"log2", PointwiseOp::kLog2, 1},
    {"lt", PointwiseOp::kLt, 2, 0, true},
    {"maximum", PointwiseOp::kMaximum, 2},
    {"minimum", PointwiseOp::kMinimum, 2},
    {"mul", PointwiseOp::kMul, 2},
    {"ne", PointwiseOp::kNe, 2, 0, true},
    {"neg", PointwiseOp::kNeg, 1},
    {"not", PointwiseOp::kLogicalNot, 1, 0, true, 0b1},
    {"or", PointwiseOp::kLogicalOr, 2, 0, true, 0b11},
    {"pow", PointwiseOp::kPow, 1, 1},  // IsQuickExponent
    {"quantize", PointwiseOp::kAbs, 1, 4, false, 0, PointwiseConversion::kQuantize},
    {"reciprocal", PointwiseOp::kReciprocal, 1},
    {"relu", PointwiseOp::kRelu, 1},
    {"round", PointwiseOp::kRound, 1},
    {"rsqrt", PointwiseOp::kRsqrt, 1},
    {"sigmoid", PointwiseOp::kSigmoid, 1},
    {"sign", PointwiseOp::kSign, 1},
    {"sin", PointwiseOp::kSin, 1},
    {"sqrt", PointwiseOp::kSqrt, 1},
    {"sub", PointwiseOp::kSub, 2},
    {"tanh", PointwiseOp::kTanh, 1},
    {"trunc", PointwiseOp::kTrunc, 1},
    {"where", PointwiseOp::kWhere, 3, 0, false, 0b1},
};
// Returns the row of this name; nullptr if no row has it.
constexpr const PointwiseStep* FindPointwiseStep(std::string_view name) {
  for (const PointwiseStep& step : kPointwiseSteps) {
    if (step.name == name) return &step;
  }
  return nullptr;
}

// Returns element k of a Tensor[] at compile time; tensor_list.h has the overload for the runtime.
template <class Meta>
absl::StatusOr<const Meta*> ListTensor(const std::vector<const Meta*>& list, int k) {
  return list[static_cast<size_t>(k)];
}

template <class Arguments>
struct PointwiseGroupCall {
  using D = typename Arguments::Dim;
  struct Step {
    const PointwiseStep* kind = nullptr;
    std::array<uint8_t, 5> operands = {};  // indices of values, then of scalars
  };
  std::array<typename Arguments::TensorRef, kMaxPointwiseInputs> inputs = {};
  std::array<float, kMaxPointwiseScalars> scalars = {};
  std::array<Step, kMaxPointwiseSteps> steps = {};
  int num_inputs = 0, num_scalars = 0, num_steps = 0;

  // The index of step k's result.
  int ResultOf(int k) const { return num_inputs + num_scalars + k; }
  // float32, bfloat16 or uint8.
  DType ResultType() const {
    const PointwiseConversion last = steps[Index(num_steps - 1)].kind->conversion;
    return last == PointwiseConversion::kBFloat16   ? DType::kBFloat16
           : last == PointwiseConversion::kQuantize ? DType::kUint8
                                                    : DType::kFloat32;
  }
  // Scalar `i` of a step, after its operands.
  float ScalarOf(const Step& step, int i) const {
    return scalars[Index(step.operands[Index(step.kind->operands + i)] - num_inputs)];
  }
  bool IsScalar(int index) const { return index >= num_inputs && index < num_inputs + num_scalars; }

  // kInvalidArgument if the call is not as described above.
  static absl::StatusOr<PointwiseGroupCall> Read(const Arguments& arguments);

  absl::StatusOr<Dims<D>> Shape() const {
    Dims<D> shape;
    for (int k = 0; k < num_inputs; ++k) {
      ABSL_ASSIGN_OR_RETURN(shape, BroadcastShape<D>(shape, Arguments::SizesOf(inputs[Index(k)])));
    }
    return shape;
  }

 private:
  static size_t Index(int k) { return static_cast<size_t>(k); }
  // Reads step `num_steps`, whose operands begin at element `first`.
  absl::Status ReadStep(const Arguments& arguments, const PointwiseStep& kind, int first);
  enum class Kind : uint8_t { kFloat, kTruth, kQuantized };
  Kind KindOf(int index) const {
    if (index < num_inputs) {
      const DType dtype = inputs[Index(index)]->dtype;
      return dtype == DType::kBool                             ? Kind::kTruth
             : dtype == DType::kInt8 || dtype == DType::kUint8 ? Kind::kQuantized
                                                               : Kind::kFloat;
    }
    if (index < ResultOf(0)) return Kind::kFloat;
    return steps[Index(index - ResultOf(0))].kind->truth ? Kind::kTruth : Kind::kFloat;
  }
};

// ---- Implementation

template <class Arguments>
absl::Status PointwiseGroupCall<Arguments>::ReadStep(const Arguments& arguments,
                                                     const PointwiseStep& kind, int first) {
  Step& step = steps[Index(num_steps)];
  step.kind = &kind;
  for (int i = 0; i < kind.operands + kind.scalars; ++i) {
    ABSL_ASSIGN_OR_RETURN(const auto element, arguments.ListInt("operands", first + i));
    const std::optional<int64_t> index = KnownInt(element);
    const auto refuse = [&](std::string_view expected) {
      return absl::InvalidArgumentError(absl::StrCat("operands: step ", num_steps, " (", kind.name,
                                                     "): expected ", expected, " as operand ", i,
                                                     ", got ", DimToString(element)));
    };
    if (!index.has_value() || *index < 0 || *index >= ResultOf(num_steps)) {
      return refuse("an input, a scalar or an earlier result");
    }
    const int at = static_cast<int>(*index);
    if (i >= kind.operands && !IsScalar(at)) return refuse("a scalar");
    const Kind needed = kind.conversion == PointwiseConversion::kDequantize ? Kind::kQuantized
                        : (kind.truth_operands >> i & 1) != 0               ? Kind::kTruth
                                                                            : Kind::kFloat;
    if (i < kind.operands && KindOf(at) != needed) {
      return refuse(needed == Kind::kFloat   ? "float32"
                    : needed == Kind::kTruth ? "truth values"
                                             : "an int8 or uint8 input");
    }
    step.operands[Index(i)] = static_cast<uint8_t>(at);
  }
  if (kind.op == PointwiseOp::kPow) {
    const float exponent = scalars[Index(step.operands[1] - num_inputs)];
    if (!IsQuickExponent(static_cast<double>(exponent), /*integers=*/false)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "scalars: expected an exponent of 1, 2, 3, +-0.5, -1 or -2, got ", exponent));
    }
  }
  if (kind.conversion == PointwiseConversion::kQuantize) {
    const float low = ScalarOf(step, 2), high = ScalarOf(step, 3);
    if (!(0 <= low && low <= high && high <= 255)) {
      return absl::InvalidArgumentError(
          absl::StrCat("scalars: expected bounds from 0 to 255, got ", low, " and ", high));
    }
  }
  ++num_steps;
  return absl::OkStatus();
}

template <class Arguments>
absl::StatusOr<PointwiseGroupCall<Arguments>> PointwiseGroupCall<Arguments>::Read(
    const Arguments& arguments) {
  PointwiseGroupCall call;
  ABSL_ASSIGN_OR_RETURN(const auto inputs, arguments.TensorList("inputs"));
  ABSL_ASSIGN_OR_RETURN(call.num_inputs, arguments.ListSize("inputs"));
  ABSL_ASSIGN_OR_RETURN(call.num_scalars, arguments.ListSize("scalars"));
  ABSL_ASSIGN_OR_RETURN(const int num_operands, arguments.ListSize("operands"));
  if (call.num_inputs < 1 || call.num_inputs > kMaxPointwiseInputs ||
      call.num_scalars > kMaxPointwiseScalars) {
    return absl::InvalidArgumentError(absl::StrCat(
        "inputs: expected 1 to ", kMaxPointwiseInputs, " inputs and at most ", kMaxPointwiseScalars,
        " scalars, got ", call.num_inputs, " and ", call.num_scalars));
  }
  for (int k = 0; k < call.num_inputs; ++k) {
    ABSL_ASSIGN_OR_RETURN(const auto input, ListTensor(inputs, k));
    constexpr DTypeSet kTypes = {DType::kFloat32, DType::kBFloat16, DType::kBool, DType::kInt8,
                                 DType::kUint8};
    if (input == nullptr || !kTypes.contains(input->dtype)) {
      return absl::InvalidArgumentError(
          absl::StrCat("inputs: expected f32, bf16, b8, i8 or u8 as element ", k));
    }
    call.inputs[Index(k)] = input;
  }
  for (int k = 0; k < call.num_scalars; ++k) {
    ABSL_ASSIGN_OR_RETURN(const double scalar, arguments.ListDouble("scalars", k));
    call.scalars[Index(k)] = static_cast<float>(scalar);
  }
  ABSL_ASSIGN_OR_RETURN(const auto names, arguments.String("ops"));
  std::string_view rest = names;
  int first = 0;
  while (!rest.empty()) {
    const size_t end = rest.find(' ');
    if (call.num_steps == kMaxPointwiseSteps) {
      return absl::InvalidArgumentError(
          absl::StrCat("ops: expected at most ", kMaxPointwiseSteps, " steps"));
    }
    const std::string_view name = rest.substr(0, end);
    const PointwiseStep* kind = FindPointwiseStep(name);
    if (kind == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat("ops: unknown step '", name, "'"));
    }
    if (call.num_steps > 0 && call.ResultType() == DType::kUint8) {
      return absl::InvalidArgumentError("ops: quantize must be the last step");
    }
    const int needed = kind->operands + kind->scalars;
    if (first + needed > num_operands) {
      return absl::InvalidArgumentError(absl::StrCat("operands: expected more than ", num_operands,
                                                     " elements for step ", call.num_steps));
    }
    ABSL_RETURN_IF_ERROR(call.ReadStep(arguments, *kind, first));
    first += needed;
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  }
  if (call.num_steps == 0 || first != num_operands) {
    return absl::InvalidArgumentError(absl::StrCat("operands: expected ", first, " elements for ",
                                                   call.num_steps, " steps, got ", num_operands));
  }
  if (call.steps[Index(call.num_steps - 1)].kind->truth) {
    return absl::InvalidArgumentError("ops: the last step must give float32");
  }
  return call;
}

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_POINTWISE_CALLS_H_
