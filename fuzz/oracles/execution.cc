#include "fuzz/oracles/execution.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "fuzz/generators/tensor_generator.h"
#include "fuzz/oracles/typed_status.h"
#include "runtime/core/checked_math.h"
#include "runtime/core/status_macros.h"
#include "runtime/executor/method.h"
#include "runtime/io/npy_values.h"
#include "runtime/program/digest.h"
#include "runtime/program/program.h"
#include "runtime/schema/file_format.h"

namespace belay::fuzz {
namespace {

constexpr uint64_t kMaxInputBytes = 16 << 10;
constexpr std::chrono::seconds kDeadline{1};

// Reads all bytes, so that sanitizers detect invalid memory.
uint64_t Sum(absl::Span<const std::byte> bytes) {
  uint64_t sum = 0;
  for (const std::byte b : bytes) sum = sum * 31 + static_cast<uint8_t>(b);
  return sum;
}
uint64_t Sum(const TensorView& tensor) {
  uint64_t sum = 0;
  const auto size = static_cast<int64_t>(DTypeSize(tensor.dtype));
  for (StridedIterator<1> it(tensor.sizes, {tensor.strides}); !it.done(); it.Next()) {
    sum += Sum(absl::MakeConstSpan(tensor.as<std::byte>() + it.offset(0) * size,
                                   static_cast<size_t>(size)));
  }
  return sum;
}

// Returns the size nearest to 2 that the constraint allows.
int64_t SizeForTwo(const SizeConstraint& c) {
  const std::optional<int64_t> twice = CheckedMul<int64_t>(2, c.multiplier);
  const std::optional<int64_t> size = twice ? CheckedAdd(*twice, c.offset) : std::nullopt;
  return size.has_value() ? std::clamp(*size, c.min, c.max) : c.max;
}

class InputMaker {
 public:
  InputMaker(const MethodPlan& plan, ByteSource& source) : plan_(plan), source_(source) {
    tensors_.resize(plan.inputs.size());
  }

  absl::Status Set(size_t i, Method& method) {
    const InputPlan& input = plan_.inputs[i];
    const ValuePlan& value = plan_.values[input.value];
    if (const auto* tensor = std::get_if<TensorPlan>(&value)) {
      if (tensor->max_bytes > kMaxInputBytes) {
        return absl::ResourceExhaustedError("an input is too large to try");
      }
      Sizes sizes = tensor->sizes;
      for (const SizeConstraint& c : input.constraints) {
        const auto d = static_cast<int>(c.dim);
        sizes[d] = source_.Chance(90) ? SizeForTwo(c) : source_.Between(c.min, c.max);
      }
      const bool as_planned = !source_.Chance(20);
      absl::StatusOr<GeneratedTensor> made =
          as_planned
              ? FillTensor(source_, tensor->dtype, sizes, DenseStrides(sizes, tensor->dim_order))
              : GenerateTensor(source_, tensor->dtype, sizes);
      if (!made.ok()) return made.status();
      tensors_[i] = *std::move(made);
      return method.SetInput(i, tensors_[i].view);
    }
    if (const auto* kind = std::get_if<ScalarKind>(&value)) {
      switch (*kind) {
        case ScalarKind::kInt: {
          int64_t number = source_.Between(-4, 8);
          if (!input.constraints.empty()) {
            const SizeConstraint& c = input.constraints[0];
            number = std::clamp(number, c.min, c.max);
          }
          return method.SetInput(i, number);
        }
        case ScalarKind::kDouble:
          return method.SetInput(i, static_cast<double>(source_.Between(-16, 16)) / 4);
        case ScalarKind::kBool:
          return method.SetInput(i, source_.Chance(50));
      }
    }
    return method.SetInput(i, ConstantInput(plan_, i));
  }

 private:
  const MethodPlan& plan_;
  ByteSource& source_;
  std::vector<GeneratedTensor> tensors_;
};

// Memory of exactly a bank's size, so that sanitizers detect accesses outside of it.
class BankBlock {
 public:
  explicit BankBlock(const BankPlan& bank)
      : name_(bank.name),
        alignment_(std::align_val_t{static_cast<size_t>(bank.alignment)}),
        bytes_(static_cast<size_t>(bank.bytes)),
        data_(static_cast<std::byte*>(::operator new(std::max<size_t>(bytes_, 1), alignment_))) {}
  BankBlock(const BankBlock&) = delete;
  BankBlock& operator=(const BankBlock&) = delete;
  ~BankBlock() { ::operator delete(data_, alignment_); }
  BankMemory memory() const { return {name_, absl::MakeSpan(data_, bytes_)}; }

 private:
  const std::string& name_;
  const std::align_val_t alignment_;
  const size_t bytes_;
  std::byte* const data_;
};

Execution ExecuteMethod(const Program& program, const MethodPlan& plan, const Engines& engines,
                        ByteSource& source, uint64_t& sum) {
  constexpr uint64_t kMostAlignment = 4096, kMostBytes = 1 << 20;
  std::vector<std::unique_ptr<BankBlock>> blocks;
  std::vector<BankMemory> banks;
  for (const BankPlan& bank : plan.banks) {
    // The others are allocated by the runtime.
    if (bank.name.empty() || bank.alignment > kMostAlignment || bank.bytes > kMostBytes) continue;
    blocks.push_back(std::make_unique<BankBlock>(bank));
    banks.push_back(blocks.back()->memory());
  }
  absl::StatusOr<Method> method =
      Method::Load(program, plan.name, engines.kernels, engines.backends, {.banks = banks});
  if (!method.ok()) return {"load", method.status()};
  for (const InstructionInfo& info : method->instructions()) {
    sum += info.op.size() + info.kernel.size() + info.engine.size();
  }
  InputMaker inputs(plan, source);
  for (size_t i = 0; i < plan.inputs.size(); ++i) {
    absl::Status status = inputs.Set(i, *method);
    if (!status.ok()) return {"input", std::move(status)};
  }
  for (int call = 0; call < 2; ++call) {
    absl::Status status = method->Execute({.deadline = std::chrono::steady_clock::now() + kDeadline,
                                           .cancel = nullptr,
                                           .executed_instructions = 0});
    if (!status.ok()) return {"execute", std::move(status)};
    for (size_t i = 0; i < method->num_outputs(); ++i) {
      const EValue& output = method->GetOutput(i);
      sum += output.KindName().size();
      if (const auto* tensor = output.get_if<TensorView>()) sum += Sum(*tensor);
    }
  }
  for (const StatePlan& state : plan.state) {
    const absl::StatusOr<TensorView> view = method->GetState(state.name);
    if (!view.ok()) return {"execute", view.status()};
    sum += Sum(*view);
  }
  method->ResetState();
  return {"execute", absl::OkStatus()};
}

}  // namespace

std::shared_ptr<const std::byte> CopyExactly(std::string_view file) {
  constexpr std::align_val_t kAlignment{kSegmentAlignment};
  auto* bytes =
      static_cast<std::byte*>(::operator new(std::max<size_t>(file.size(), 1), kAlignment));
  if (!file.empty()) std::memcpy(bytes, file.data(), file.size());
  return std::shared_ptr<const std::byte>(
      bytes, [](const std::byte* p) { ::operator delete(const_cast<std::byte*>(p), kAlignment); });
}

Limits TightLimits() {
  Limits limits;
  limits.file_bytes = 1 << 20;
  limits.metadata_bytes = 256 << 10;
  limits.segments = 64;
  limits.methods = 8;
  limits.values = 1 << 12;
  limits.tensors = 1 << 11;
  limits.instructions = 1 << 12;
  limits.list_elements = 1 << 12;
  limits.operands = 1 << 13;
  limits.arena_bytes = 64 << 10;
  limits.scratch_bytes = 1 << 20;
  limits.delegate_bytes = 4 << 20;
  limits.executed_instructions = 2000;
  return limits;
}

Execution Execute(std::string_view file, const Engines& engines, ByteSource& inputs) {
  const std::shared_ptr<const std::byte> bytes = CopyExactly(file);
  Program::Options options;
  options.limits = engines.limits;
  options.companion_root = engines.companion_root;
  return Execute(Program::OpenBytes(bytes, absl::MakeConstSpan(bytes.get(), file.size()), options),
                 engines, inputs);
}

Execution Execute(const absl::StatusOr<Program>& program, const Engines& engines,
                  ByteSource& inputs) {
  if (!program.ok()) return {"open", program.status()};
  uint64_t sum = program->producer().size() + Sum(program->debug_info());
  // Corruption that opening does not detect.
  sum += VerifyDigests(*program).message().size();
  for (const SegmentPlan& segment : program->segments()) sum += Sum(segment.bytes);
  for (const NamedDataPlan& data : program->named_data()) {
    const auto found = program->FindNamedData(data.key);
    if (!found.ok()) return {"open", found.status()};
    sum += Sum(*found);
  }
  Execution execution = {"open", absl::OkStatus()};
  for (const MethodPlan& plan : program->methods()) {
    Execution one = ExecuteMethod(*program, plan, engines, inputs, sum);
    if (execution.status.ok()) execution = std::move(one);
  }
  // Prevents the compiler from removing the sum.
  asm volatile("" : : "r"(sum));
  return execution;
}

namespace {

absl::Status Check(const Execution& execution, const Engines& engines) {
  const absl::Status& status = execution.status;
  if (engines.test_doubles &&
      (absl::IsUnavailable(status) ||
       (absl::IsInternal(status) && absl::StrContains(status.message(), "out of luck")))) {
    return absl::OkStatus();
  }
  return CheckTyped(execution.stage, execution.status,
                    execution.stage == "open" ? kReaderCodes : kExecutionCodes);
}

}  // namespace

absl::Status CheckExecution(std::string_view file, const Engines& engines, ByteSource& inputs) {
  return Check(Execute(file, engines, inputs), engines);
}

absl::Status CheckExecution(const absl::StatusOr<Program>& program, const Engines& engines,
                            ByteSource& inputs) {
  return Check(Execute(program, engines, inputs), engines);
}

}  // namespace belay::fuzz
