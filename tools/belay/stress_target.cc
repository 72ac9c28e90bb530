#include "tools/belay/stress_target.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <variant>
#include <vector>

#include "backends/runtime_backends.h"
#include "executorch/reader/open_any_program.h"
#include "executorch/reader/prim_kernels.h"
#include "exir/import/import.h"
#include "exir/ops/standard_ops.h"
#include "exir/pipeline.h"
#include "runtime/core/arena.h"
#include "runtime/core/bytes.h"
#include "runtime/core/status_macros.h"
#include "runtime/executor/method.h"
#include "runtime/io/npy_values.h"
#include "runtime/kernels/standard_kernels.h"
#include "runtime/program/program.h"
#include "tools/belay/program_file.h"

namespace belay::tools {
namespace {

class ProgramTarget final : public StressTarget {
 public:
  static absl::StatusOr<std::unique_ptr<StressTarget>> Create(const std::string& companion_root) {
    auto target = std::make_unique<ProgramTarget>();
    ABSL_RETURN_IF_ERROR(AddStandardKernels(target->kernels_));
    ABSL_RETURN_IF_ERROR(target->kernels_.Add(pte::PrimKernels()));
    target->options_.companion_root = companion_root;
    Limits& limits = target->options_.limits;
    limits.arena_bytes = kMaxMemory;
    limits.scratch_bytes = kMaxMemory;
    limits.delegate_bytes = kMaxMemory;
    limits.executed_instructions = 100'000;
    return target;
  }

  StressOutcome Try(const std::string& bytes) const override {
    // Aligned, so that it is read in place as if mapped.
    absl::StatusOr<AlignedBuffer> buffer = AlignedBuffer::Create(bytes.size());
    if (!buffer.ok()) return {"open", buffer.status()};
    std::copy_n(reinterpret_cast<const std::byte*>(bytes.data()), bytes.size(),
                buffer->span().data());
    const absl::StatusOr<Program> program = pte::OpenAnyProgramBytes(
        absl::MakeConstSpan(buffer->span().data(), bytes.size()), options_);
    if (!program.ok()) return {"open", program.status()};
    StressOutcome outcome = {"open", absl::OkStatus()};
    for (const MethodPlan& plan : program->methods()) {
      outcome = TryMethod(*program, plan);
      if (!outcome.status.ok()) break;
    }
    return outcome;
  }

 private:
  static constexpr uint64_t kMaxMemory = uint64_t{1} << 28;

  StressOutcome TryMethod(const Program& program, const MethodPlan& plan) const {
    absl::StatusOr<Method> method = Method::Load(program, plan.name, kernels_, RuntimeBackends());
    if (!method.ok()) return {"load", method.status()};
    std::vector<NpyArray> arrays(plan.inputs.size());
    for (size_t i = 0; i < plan.inputs.size(); ++i) {
      absl::Status status = SetInput(program, plan, i, arrays[i], *method);
      if (!status.ok()) return {"input", std::move(status)};
    }
    for (int call = 0; call < 2; ++call) {  // the first call changes the state
      absl::Status status =
          method->Execute({.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(2)});
      if (!status.ok()) return {"execute", std::move(status)};
    }
    for (size_t i = 0; i < method->num_outputs(); ++i) method->GetOutput(i).KindName();
    return {"execute", absl::OkStatus()};
  }

  static absl::Status SetInput(const Program& program, const MethodPlan& plan, size_t i,
                               NpyArray& array, Method& method) {
    EValue value = ConstantInput(plan, i);
    if (InputTakesArray(plan, i)) {
      const auto* tensor = std::get_if<TensorPlan>(&plan.values[plan.inputs[i].value]);
      if (tensor != nullptr && tensor->max_bytes > kMaxMemory) {
        return absl::ResourceExhaustedError("an input is too large to try");
      }
      ABSL_ASSIGN_OR_RETURN(array, RandomInput(plan, i, /*seed=*/1, DynamicSizeFor(program, 2)));
      ABSL_ASSIGN_OR_RETURN(value, InputFromNpy(plan, i, array));
    }
    return method.SetInput(i, value);
  }

  KernelRegistry kernels_;
  Program::Options options_;
};

class ArchiveTarget final : public StressTarget {
 public:
  static absl::StatusOr<std::unique_ptr<StressTarget>> Create() {
    auto target = std::make_unique<ArchiveTarget>();
    ABSL_ASSIGN_OR_RETURN(target->ops_, exir::CreateStandardOps());
    // Otherwise checksums would reject every damaged entry.
    target->options_.verify_checksums = false;
    return target;
  }

  StressOutcome Try(const std::string& bytes) const override {
    const auto copy = std::make_shared<const std::string>(bytes);
    absl::StatusOr<exir::ExportedProgram> program =
        exir::ImportBytes(copy, AsBytes(*copy), *ops_, options_);
    if (!program.ok()) return {"import", program.status()};
    return {"to_edge", exir::ToEdge(*std::move(program)).status()};
  }

 private:
  std::unique_ptr<exir::OpRegistry> ops_;
  exir::ImportOptions options_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<StressTarget>> CreateProgramTarget(
    const std::string& companion_root) {
  return ProgramTarget::Create(companion_root);
}

absl::StatusOr<std::unique_ptr<StressTarget>> CreateArchiveTarget() {
  return ArchiveTarget::Create();
}

}  // namespace belay::tools
