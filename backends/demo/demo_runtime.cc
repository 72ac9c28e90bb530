#include "backends/demo/demo_runtime.h"

#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/demo/demo_blob.h"
#include "backends/demo/demo_kernels.h"
#include "runtime/core/arena.h"
#include "runtime/core/checked_math.h"
#include "runtime/core/memory_check.h"
#include "runtime/core/status_macros.h"

namespace belay::demo {
namespace {

constexpr uint64_t kMaxWorkingBytes = uint64_t{4} << 30;
constexpr int kMaxOperands = 3;
constexpr std::string_view kTables = "the blob's tables";

struct Step {
  DemoKernelCall call;
  std::vector<uint32_t> operands = {};
  int output = -1;    // index of the call's output that it writes; -1: working memory
  size_t offset = 0;  // in the working memory
  int64_t max_numel = 0;
};

class DemoHandle final : public DelegateHandle {
 public:
  static absl::StatusOr<std::unique_ptr<DelegateHandle>> Create(const DelegateInitContext& context,
                                                                const DemoBlob& blob) {
    auto handle = std::make_unique<DemoHandle>();
    ABSL_RETURN_IF_ERROR(handle->Prepare(context, blob));
    return handle;
  }

  absl::Status Execute(KernelContext& context) override {
    Budget budget;
    return ExecuteWithin(context, budget);
  }

  absl::Status ExecuteWithin(KernelContext& context, Budget& budget) override {
    ABSL_RETURN_IF_ERROR(context.CheckArity(static_cast<int>(argument_ranks_.size()),
                                            static_cast<int>(outputs_.size())));
    for (size_t i = 0; i < argument_ranks_.size(); ++i) {
      ABSL_ASSIGN_OR_RETURN(const TensorView* tensor, context.Tensor(static_cast<int>(i)));
      if (tensor->dtype != DType::kFloat32 || tensor->rank() != argument_ranks_[i]) {
        return absl::InvalidArgumentError(absl::StrCat("argument ", i, " is ", tensor->ToString(),
                                                       ", expected f32 of rank ",
                                                       argument_ranks_[i]));
      }
      values_[i] = *tensor;
    }
    for (size_t s = 0; s < steps_.size(); ++s) {
      ABSL_RETURN_IF_ERROR(budget.TakeInstruction());
      const int64_t begin = events_.Begin();
      const absl::Status status = RunStep(context, s, budget);
      events_.Step({.id = static_cast<int64_t>(s)}, begin);
      ABSL_RETURN_IF_ERROR(status);
    }
    for (size_t k = 0; k < outputs_.size(); ++k) {
      if (written_[k]) continue;
      const TensorView& value = values_[outputs_[k]];
      ABSL_ASSIGN_OR_RETURN(const TensorView* output,
                            context.Output(static_cast<int>(k), value.sizes));
      ABSL_RETURN_IF_ERROR(CopyElements(value, *output));
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Prepare(const DelegateInitContext& context, const DemoBlob& blob) {
    events_ = context.events;
    const DemoProgram& program = blob.program;
    std::vector<Sizes> bounds;
    ABSL_RETURN_IF_ERROR(Reserve(context, program, bounds));
    if (program.num_arguments() != context.arguments.size()) {
      return absl::InvalidArgumentError(absl::StrCat("the blob takes ", program.num_arguments(),
                                                     " arguments, the call has ",
                                                     context.arguments.size()));
    }
    for (size_t i = 0; i < context.arguments.size(); ++i) {
      const TensorView* tensor = context.arguments[i]->get_if<TensorView>();
      if (tensor == nullptr || tensor->dtype != DType::kFloat32) {
        return absl::InvalidArgumentError(absl::StrCat("argument ", i, " is ",
                                                       context.arguments[i]->KindName(),
                                                       ", expected a tensor of f32"));
      }
      argument_ranks_.push_back(tensor->rank());
      bounds.push_back(tensor->sizes);
      values_.emplace_back();
    }
    ABSL_RETURN_IF_ERROR(AddConstants(context, blob, bounds));
    first_result_ = values_.size();
    for (const DemoInstruction& instruction : program.instructions()) {
      ABSL_RETURN_IF_ERROR(AddStep(instruction, bounds));
    }
    ABSL_RETURN_IF_ERROR(AddOutputs(context, program, bounds));
    return Allocate(context);
  }

  // Reserves memory for everything that the blob counts.
  absl::Status Reserve(const DelegateInitContext& context, const DemoProgram& program,
                       std::vector<Sizes>& bounds) {
    const size_t arguments = context.arguments.size();
    const auto constants = static_cast<size_t>(program.constants_size());
    const auto instructions = static_cast<size_t>(program.instructions_size());
    const auto outputs = static_cast<size_t>(program.outputs_size());
    const size_t values = arguments + constants + instructions;
    constexpr uint64_t kBlock = 32;  // allocator block around operands
    MemoryBound bound;
    bound.Add(arguments, sizeof(int));
    bound.Add(values, sizeof(Sizes) + sizeof(TensorView));
    bound.Add(instructions, sizeof(Step) + kMaxOperands * sizeof(uint32_t) + kBlock);
    bound.Add(outputs, sizeof(uint32_t) + 1);
    bound.Add(1, 4096);  // the handle, and blocks of the lists
    ABSL_RETURN_IF_ERROR(context.memory->Take(bound.bytes(), kTables));
    ABSL_RETURN_IF_ERROR(CheckMemory(bound.bytes(), kTables));
    argument_ranks_.reserve(arguments);
    bounds.reserve(values);
    values_.reserve(values);
    steps_.reserve(instructions);
    outputs_.reserve(outputs);
    written_.reserve(outputs);
    return absl::OkStatus();
  }

  absl::Status AddConstants(const DelegateInitContext& context, const DemoBlob& blob,
                            std::vector<Sizes>& bounds) {
    const std::byte* base = blob.constants.data();  // null without constants
    if (reinterpret_cast<uintptr_t>(base) % alignof(float) != 0) {
      ABSL_RETURN_IF_ERROR(
          context.memory->Take(blob.constants.size(), "a copy of misaligned constants"));
      ABSL_ASSIGN_OR_RETURN(constants_, AlignedBuffer::Create(blob.constants.size()));
      std::memcpy(constants_.data(), base, blob.constants.size());
      base = constants_.data();
    }
    for (int i = 0; i < blob.program.constants_size(); ++i) {
      const DemoConstant& constant = blob.program.constants(i);
      const std::optional<Sizes> sizes =
          Sizes::TryFrom(absl::MakeConstSpan(constant.sizes().data(), constant.sizes().size()));
      const std::optional<int64_t> numel = sizes.has_value() ? NumElements(*sizes) : std::nullopt;
      const std::optional<uint64_t> bytes =
          numel.has_value() ? CheckedMul(static_cast<uint64_t>(*numel), uint64_t{sizeof(float)})
                            : std::nullopt;
      if (!bytes.has_value() || constant.offset() % alignof(float) != 0 ||
          !RangeFits(constant.offset(), *bytes, blob.constants.size())) {
        return absl::DataLossError(absl::StrCat("constant ", i, " is outside of the blob"));
      }
      bounds.push_back(*sizes);
      // Constants are never written.
      values_.push_back(TensorView::Contiguous(DType::kFloat32, *sizes,
                                               const_cast<std::byte*>(base + constant.offset())));
    }
    return absl::OkStatus();
  }

  absl::Status AddStep(const DemoInstruction& instruction, std::vector<Sizes>& bounds) {
    const size_t index = steps_.size();
    const int count = DemoOperandCount(instruction.op());
    if (count == 0) {
      return absl::UnimplementedError(absl::StrCat("instruction ", index, ": operator ",
                                                   static_cast<int>(instruction.op()),
                                                   " is unknown to this build"));
    }
    if (instruction.operands_size() != count) {
      return absl::DataLossError(absl::StrCat("instruction ", index, " has ",
                                              instruction.operands_size(), " operands, expected ",
                                              count));
    }
    Step step{.call = {instruction.op(), instruction.alpha(), instruction.beta()}};
    step.operands.reserve(static_cast<size_t>(count));
    Sizes operands[kMaxOperands];
    for (int i = 0; i < count; ++i) {
      const uint32_t operand = instruction.operands(i);
      if (operand >= values_.size()) {
        return absl::DataLossError(absl::StrCat("instruction ", index, " uses value ", operand,
                                                ", which is not computed before it"));
      }
      step.operands.push_back(operand);
      operands[i] = bounds[operand];
    }
    absl::StatusOr<Sizes> sizes =
        DemoResultSizes(instruction.op(), absl::MakeConstSpan(operands, static_cast<size_t>(count)),
                        /*bounds=*/true);
    if (!sizes.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("instruction ", index, ": ", FromAbsl(sizes.status().message())));
    }
    const std::optional<int64_t> numel = NumElements(*sizes);
    if (!numel.has_value()) {
      return absl::InvalidArgumentError(absl::StrCat("instruction ", index, ": the result ",
                                                     FormatSizes(*sizes), " is too large"));
    }
    step.max_numel = *numel;
    bounds.push_back(*sizes);
    values_.emplace_back();
    steps_.push_back(std::move(step));
    return absl::OkStatus();
  }

  absl::Status AddOutputs(const DelegateInitContext& context, const DemoProgram& program,
                          const std::vector<Sizes>& bounds) {
    if (static_cast<size_t>(program.outputs_size()) != context.outputs.size()) {
      return absl::InvalidArgumentError(absl::StrCat("the blob computes ", program.outputs_size(),
                                                     " outputs, the call has ",
                                                     context.outputs.size()));
    }
    for (int k = 0; k < program.outputs_size(); ++k) {
      const uint32_t value = program.outputs(k);
      if (value >= values_.size()) {
        return absl::DataLossError(
            absl::StrCat("output ", k, " is value ", value, ", but there are ", values_.size()));
      }
      const TensorView* tensor = context.outputs[k]->get_if<TensorView>();
      if (tensor == nullptr || tensor->dtype != DType::kFloat32 ||
          tensor->rank() != bounds[value].size()) {
        return absl::InvalidArgumentError(
            absl::StrCat("output ", k, " is ", context.outputs[k]->KindName(),
                         ", expected a tensor of f32 of rank ", bounds[value].size()));
      }
      outputs_.push_back(value);
      const bool direct = value >= first_result_ && steps_[value - first_result_].output < 0;
      if (direct) steps_[value - first_result_].output = k;
      written_.push_back(direct);
    }
    return absl::OkStatus();
  }

  absl::Status Allocate(const DelegateInitContext& context) {
    uint64_t total = 0;
    for (Step& step : steps_) {
      if (step.output >= 0) continue;
      step.offset = total;
      const std::optional<uint64_t> bytes =
          CheckedMul(static_cast<uint64_t>(step.max_numel), uint64_t{sizeof(float)});
      const std::optional<uint64_t> end = bytes.has_value() ? CheckedAdd(total, *bytes) : bytes;
      const std::optional<uint64_t> next =
          end.has_value() ? CheckedAlignUp(*end, kArenaAlignment) : end;
      if (!next.has_value() || *next > kMaxWorkingBytes) {
        return absl::ResourceExhaustedError(
            absl::StrCat("intermediate results need more than ", kMaxWorkingBytes, " bytes"));
      }
      total = *next;
    }
    ABSL_RETURN_IF_ERROR(context.memory->Take(total, "memory for intermediate results"));
    ABSL_ASSIGN_OR_RETURN(memory_, AlignedBuffer::Create(total));
    return absl::OkStatus();
  }

  absl::Status RunStep(KernelContext& context, size_t index, Budget& budget) {
    const Step& step = steps_[index];
    TensorView operands[kMaxOperands];
    Sizes operand_sizes[kMaxOperands];
    const size_t count = step.operands.size();
    for (size_t i = 0; i < count; ++i) {
      operands[i] = values_[step.operands[i]];
      operand_sizes[i] = operands[i].sizes;
    }
    ABSL_ASSIGN_OR_RETURN(const Sizes sizes,
                          DemoResultSizes(step.call.op, absl::MakeConstSpan(operand_sizes, count),
                                          /*bounds=*/false));
    ABSL_RETURN_IF_ERROR(
        budget.TakeWork(DemoWork(step.call.op, absl::MakeConstSpan(operand_sizes, count), sizes)));
    TensorView& result = values_[first_result_ + index];
    if (step.output >= 0) {
      ABSL_ASSIGN_OR_RETURN(const TensorView* output, context.Output(step.output, sizes));
      result = *output;
    } else {
      const std::optional<int64_t> numel = NumElements(sizes);
      if (!numel.has_value() || *numel > step.max_numel) {
        return absl::OutOfRangeError(absl::StrCat("instruction ", index, ": the result ",
                                                  FormatSizes(sizes), " has more than the ",
                                                  step.max_numel, " elements planned for"));
      }
      result = TensorView::Contiguous(DType::kFloat32, sizes, memory_.data() + step.offset);
    }
    RunDemoKernel(step.call, absl::MakeConstSpan(operands, count), result);
    return absl::OkStatus();
  }

  EventSink events_;
  std::vector<int> argument_ranks_;
  std::vector<Step> steps_;
  std::vector<uint32_t> outputs_;  // their values
  std::vector<bool> written_;      // per output: whether a step writes it
  std::vector<TensorView> values_;
  size_t first_result_ = 0;
  AlignedBuffer memory_;
  AlignedBuffer constants_;  // a copy if the blob's constants are not aligned
};

}  // namespace

absl::StatusOr<std::unique_ptr<DelegateHandle>> DemoRuntime::Init(
    const DelegateInitContext& context, absl::Span<const std::byte> blob) const {
  ABSL_ASSIGN_OR_RETURN(const DemoBlob parsed, ReadDemoBlob(blob));
  return DemoHandle::Create(context, parsed);
}

}  // namespace belay::demo
