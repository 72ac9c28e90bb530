// belay_cpu::pointwise.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "backends/cpu/kernels/kernel_tables.h"
#include "backends/cpu/pointwise_calls.h"
#include "runtime/core/element.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernel_interface/kernel_arguments.h"
#include "runtime/kernels/element_copy/convert_run.h"
#include "runtime/kernels/element_copy/run_source.h"
#include "runtime/kernels/operands/operands.h"
#include "runtime/kernels/pointwise/broadcast_run.h"
#include "runtime/kernels/quantize/quantize.h"

namespace belay::cpu {
namespace {

constexpr int kMaxValues = kMaxPointwiseInputs + kMaxPointwiseScalars + kMaxPointwiseSteps;
// Buffers for results of steps that later steps use.
constexpr int kMaxSlots = 8;
// Cost of a step per element, in multiply-adds.
constexpr double kStepWork = 4;

// The call with each step's loop and the index of its result buffer. A buffer is free after the last
// use of its result.
struct Group : PointwiseGroupCall<KernelArguments> {
  std::array<VectorLoop, kMaxPointwiseSteps> loops = {};
  std::array<PointwiseParams, kMaxPointwiseSteps> params = {};
  std::array<uint8_t, kMaxPointwiseSteps> slots = {};
  // The scalars that are operands of loops.
  uint32_t splat = 0;

  static absl::StatusOr<Group> Read(const KernelArguments& arguments) {
    Group group;
    ABSL_ASSIGN_OR_RETURN(static_cast<PointwiseGroupCall<KernelArguments>&>(group),
                          PointwiseGroupCall<KernelArguments>::Read(arguments));
    ABSL_RETURN_IF_ERROR(group.Plan());
    return group;
  }

 private:
  absl::Status Plan() {
    std::array<int, kMaxValues> last_use = {};
    for (int k = 0; k < num_steps; ++k) {
      const Step& step = steps[static_cast<size_t>(k)];
      // Logical operators work on bytes.
      const bool bytes = step.kind->truth && step.kind->truth_operands != 0;
      const bool divides_by_scalar =
          step.kind->op == PointwiseOp::kDiv && IsScalar(step.operands[1]);
      if (step.kind->conversion != PointwiseConversion::kNone) {
        last_use[step.operands[0]] = k;
        if (IsScalar(step.operands[0])) splat |= uint32_t{1} << (step.operands[0] - num_inputs);
        continue;
      }
      loops[static_cast<size_t>(k)] =
          FindLoop(divides_by_scalar ? PointwiseOp::kDivBy : step.kind->op,
                   bytes ? DType::kUint8 : DType::kFloat32);
      if (loops[static_cast<size_t>(k)] == nullptr) {
        return absl::InvalidArgumentError("ops: a step without a loop");
      }
      PointwiseParams& scalar = params[static_cast<size_t>(k)];
      const auto value_of = [&](int operand) {
        const int value = step.operands[static_cast<size_t>(operand)];
        return EValue(static_cast<double>(scalars[static_cast<size_t>(value - num_inputs)]));
      };
      if (divides_by_scalar) scalar.Set(0, value_of(1));
      // The loops of add and sub multiply their second operand by a scalar.
      if (step.kind->op == PointwiseOp::kAdd || step.kind->op == PointwiseOp::kSub) {
        scalar.Set(0, EValue(1.0));
      }
      for (int i = 0; i < step.kind->scalars; ++i) {
        scalar.Set(i, value_of(step.kind->operands + i));
      }
      for (int i = 0; i < step.kind->operands; ++i) {
        const int value = step.operands[static_cast<size_t>(i)];
        last_use[static_cast<size_t>(value)] = k;
        if (IsScalar(value)) splat |= uint32_t{1} << (value - num_inputs);
      }
    }
    uint32_t used = 0;
    for (int k = 0; k < num_steps; ++k) {
      const Step& step = steps[static_cast<size_t>(k)];
      // A loop may write over an operand that is used for the last time, of the same element size.
      for (int i = 0; i < step.kind->operands; ++i) {
        const int value = step.operands[static_cast<size_t>(i)];
        if (value < ResultOf(0) || last_use[static_cast<size_t>(value)] != k) continue;
        const auto from = static_cast<size_t>(value - ResultOf(0));
        if (steps[from].kind->truth == step.kind->truth) used &= ~(uint32_t{1} << slots[from]);
      }
      int slot = 0;
      while (slot < kMaxSlots && (used >> slot & 1) != 0) ++slot;
      if (slot == kMaxSlots) {
        return absl::InvalidArgumentError(
            absl::StrCat("ops: more than ", kMaxSlots, " results are needed at once"));
      }
      slots[static_cast<size_t>(k)] = static_cast<uint8_t>(slot);
      used |= uint32_t{1} << slot;
      for (int i = 0; i < step.kind->operands; ++i) {
        const int value = step.operands[static_cast<size_t>(i)];
        if (value < ResultOf(0) || last_use[static_cast<size_t>(value)] != k) continue;
        const auto from = static_cast<size_t>(value - ResultOf(0));
        if (slots[from] != slot) used &= ~(uint32_t{1} << slots[from]);
      }
    }
    return absl::OkStatus();
  }
};

// Working memory of one thread.
struct Buffers {
  alignas(64) std::array<std::array<float, kRunBufferLength>, kMaxSlots> results;
  alignas(64) std::array<std::array<float, kRunBufferLength>, kMaxPointwiseScalars> scalars;
  alignas(64) std::array<std::array<uint8_t, kRunBufferLength>, kMaxPointwiseInputs> truths;
  alignas(64) std::array<std::array<float, kRunBufferLength>, kMaxPointwiseInputs> widened;
  alignas(64) std::array<BFloat16, kRunBufferLength> rounded;
};

void RunBlock(const Group& group, Buffers& buffers, const void* const* inputs, void* out,
              size_t n) {
  const void* values[kMaxValues] = {};
  for (int k = 0; k < group.num_inputs; ++k) {
    values[k] = inputs[k];
    const DType dtype = group.inputs[static_cast<size_t>(k)]->dtype;
    if (dtype == DType::kBFloat16) {
      auto& widened = buffers.widened[static_cast<size_t>(k)];
      LoadFloats(dtype, inputs[k], n, widened.data());
      values[k] = widened.data();
    }
    if (dtype != DType::kBool) continue;
    // Loops require bytes that are 0 or 1.
    auto& truths = buffers.truths[static_cast<size_t>(k)];
    const auto* bytes = static_cast<const uint8_t*>(inputs[k]);
    for (size_t i = 0; i < n; ++i) truths[i] = bytes[i] != 0 ? 1 : 0;
    values[k] = truths.data();
  }
  for (int k = 0; k < group.num_scalars; ++k) {
    values[group.num_inputs + k] = buffers.scalars[static_cast<size_t>(k)].data();
  }
  for (int k = 0; k < group.num_steps; ++k) {
    const Group::Step& step = group.steps[static_cast<size_t>(k)];
    const void* operands[kMaxOperands] = {};
    for (int i = 0; i < step.kind->operands; ++i) {
      operands[i] = values[step.operands[static_cast<size_t>(i)]];
    }
    void* result = k + 1 == group.num_steps
                       ? out
                       : buffers.results[group.slots[static_cast<size_t>(k)]].data();
    values[group.ResultOf(k)] = result;
    switch (step.kind->conversion) {
      case PointwiseConversion::kNone:
        group.loops[static_cast<size_t>(k)](operands, result, n,
                                            group.params[static_cast<size_t>(k)]);
        break;
      case PointwiseConversion::kBFloat16: {
        void* const rounded = result == out ? out : buffers.rounded.data();
        StoreFloats(static_cast<const float*>(operands[0]), n, DType::kBFloat16, rounded);
        if (rounded != out) LoadFloats(DType::kBFloat16, rounded, n, static_cast<float*>(result));
        break;
      }
      case PointwiseConversion::kDequantize: {
        const float zero = group.ScalarOf(step, 0), scale = group.ScalarOf(step, 1);
        auto* const reals = static_cast<float*>(result);
        if (group.inputs[step.operands[0]]->dtype == DType::kInt8) {
          DequantizeInt8Run(static_cast<const int8_t*>(operands[0]), n, zero, scale, reals);
        } else {
          DequantizeUint8Run(static_cast<const uint8_t*>(operands[0]), n, zero, scale, reals);
        }
        break;
      }
      case PointwiseConversion::kQuantize:
        QuantizeUint8Run(static_cast<const float*>(operands[0]), n,
                         QuantizeStep{.inverse = group.ScalarOf(step, 0),
                                      .zero = group.ScalarOf(step, 1),
                                      .low = group.ScalarOf(step, 2),
                                      .high = group.ScalarOf(step, 3),
                                      .add_first = false},
                         static_cast<uint8_t*>(result));
        break;
    }
  }
}

absl::StatusOr<BroadcastRun> PlanOf(const Group& group, const TensorView& out) {
  BroadcastRun run;
  for (int k = 0; k < group.num_inputs; ++k) {
    run.Add(*group.inputs[static_cast<size_t>(k)], out.sizes);
  }
  if (run.Plan(out)) return run;
  return absl::InvalidArgumentError(
      absl::StrCat("result: expected a dense tensor, got ", out.ToString()));
}

absl::Status Pointwise(KernelContext& context, const Group& group) {
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, group.Shape());
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, group.ResultType(), shape));
  if (out->numel() == 0) return absl::OkStatus();
  ABSL_ASSIGN_OR_RETURN(const BroadcastRun run, PlanOf(group, *out));
  ABSL_ASSIGN_OR_RETURN(std::byte * scratch,
                        ScratchArray<std::byte>(
                            context, CheckedInt(int64_t{sizeof(Buffers)}) * context.num_threads()));
  auto* buffers = reinterpret_cast<Buffers*>(scratch);
  for (int part = 0; part < context.num_threads(); ++part) {
    for (int k = 0; k < group.num_scalars; ++k) {
      if ((group.splat >> k & 1) == 0) continue;
      const auto s = static_cast<size_t>(k);
      const int64_t count = std::min(kRunBufferLength, out->numel());
      std::fill_n(buffers[part].scalars[s].data(), count, group.scalars[s]);
    }
  }
  run.Run(context, kStepWork * group.num_steps, kRunBufferLength,
          [&](int part, const void* const* inputs, void* result, size_t n) {
            RunBlock(group, buffers[part], inputs, result, n);
          });
  return absl::OkStatus();
}

// Sizes are checked when a call runs: upper bounds of dynamic sizes need not broadcast.
bool Accepts(const KernelContext& context, const Group& group) { return true; }

uint64_t Scratch(const KernelContext& context, const Group&) {
  return ScratchBytesOf<std::byte>(CheckedInt(int64_t{sizeof(Buffers)}) * context.num_threads());
}

constexpr Kernel kKernels[] = {
    KernelRow<&Pointwise, &Accepts, &Scratch>("belay_cpu.pointwise.default",
                                              "inputs ops operands scalars", "PointwiseBlocks",
                                              KernelEngine::kHighway),
};

}  // namespace

absl::Span<const Kernel> PointwiseGroupKernels() { return kKernels; }

}  // namespace belay::cpu
