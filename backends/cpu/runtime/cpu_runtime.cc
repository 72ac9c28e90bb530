#include "backends/cpu/runtime/cpu_runtime.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/backend/backend_registry.h"
#include "runtime/core/status_macros.h"
#include "runtime/executor/method.h"
#include "runtime/program/program.h"

namespace belay::cpu {
namespace {

// None: programs in blobs have no delegates.
const BackendRegistry& NoBackends() {
  static const BackendRegistry& none = *new BackendRegistry;
  return none;
}

class CpuHandle final : public DelegateHandle {
 public:
  static absl::StatusOr<std::unique_ptr<DelegateHandle>> Create(const DelegateInitContext& context,
                                                                Program program,
                                                                const KernelRegistry& kernels) {
    // The method refers to the program, which must have its last address first.
    auto handle = std::make_unique<CpuHandle>(std::move(program));
    ABSL_ASSIGN_OR_RETURN(Method method,
                          Method::Load(handle->program_, "forward", kernels, NoBackends(),
                                       {.memory = context.memory, .threads = context.threads}));
    if (method.num_inputs() != context.arguments.size() ||
        method.num_outputs() != context.outputs.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the program in the blob: expected ", context.arguments.size(),
                       " inputs and ", context.outputs.size(), " outputs, as the call has, got ",
                       method.num_inputs(), " and ", method.num_outputs()));
    }
    for (size_t i = 0; i < method.num_inputs(); ++i) {
      if (method.plan().inputs[i].mutated) {
        return absl::InvalidArgumentError(
            absl::StrCat("the program in the blob mutates its input ", i));
      }
    }
    handle->method_.emplace(std::move(method));
    return std::unique_ptr<DelegateHandle>(std::move(handle));
  }
  explicit CpuHandle(Program program) : program_(std::move(program)) {}

  absl::Status Execute(KernelContext& context) override {
    ExecutionBudget budget;
    return ExecuteWithin(context, budget);
  }

  absl::Status ExecuteWithin(KernelContext& context, ExecutionBudget& budget) override {
    ABSL_RETURN_IF_ERROR(context.CheckArity(static_cast<int>(method_->num_inputs()),
                                            static_cast<int>(method_->num_outputs())));
    for (size_t i = 0; i < method_->num_inputs(); ++i) {
      ABSL_RETURN_IF_ERROR(method_->SetInput(i, context.argument(static_cast<int>(i))));
    }
    ABSL_RETURN_IF_ERROR(method_->ExecuteWithin(budget));
    for (size_t i = 0; i < method_->num_outputs(); ++i) {
      ABSL_RETURN_IF_ERROR(HandOver(context, static_cast<int>(i)));
    }
    return absl::OkStatus();
  }

  void ResetState() override { method_->ResetState(); }

 private:
  absl::Status HandOver(KernelContext& context, int i) {
    const EValue& result = method_->GetOutput(static_cast<size_t>(i));
    const TensorView* tensor = result.get_if<TensorView>();
    const TensorView* planned = context.output_slot(i)->get_if<TensorView>();
    if ((tensor == nullptr) != (planned == nullptr) ||
        (tensor != nullptr && tensor->dtype != planned->dtype)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "result ", i, " of the program in the blob: expected ",
          context.output_slot(i)->KindName(), ", as the call has, got ", result.KindName()));
    }
    if (tensor == nullptr) {
      context.SetScalarOutput(i, result);
      return absl::OkStatus();
    }
    ABSL_ASSIGN_OR_RETURN(const TensorView* output, context.Output(i, tensor->sizes));
    return CopyElements(*tensor, *output);
  }

  Program program_;
  std::optional<Method> method_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<DelegateHandle>> CpuRuntime::Init(
    const DelegateInitContext& context, absl::Span<const std::byte> blob) const {
  // The caller keeps the blob alive.
  ABSL_ASSIGN_OR_RETURN(
      Program program,
      Program::OpenBytes(nullptr, blob, {.limits = limits_, .companion_root = ""}));
  ABSL_RETURN_IF_ERROR(
      context.memory->Take(program.plans_bytes(), "what the program in the blob says"));
  return CpuHandle::Create(context, std::move(program), kernels_);
}

}  // namespace belay::cpu
