#include "runtime/executor/program_delegate.h"

#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "runtime/backend/delegate_threads.h"
#include "runtime/core/sizes.h"
#include "runtime/core/status_macros.h"
#include "runtime/executor/method.h"
#include "runtime/program/plan.h"
#include "runtime/program/program.h"

namespace belay {
namespace {

class ProgramDelegate final : public DelegateHandle {
 public:
  static absl::StatusOr<std::unique_ptr<DelegateHandle>> Create(const DelegateInitContext& context,
                                                                Program program,
                                                                const KernelRegistry& kernels,
                                                                const BackendRegistry& backends) {
    // The method refers to the program, which must not move afterwards.
    auto handle = std::make_unique<ProgramDelegate>(std::move(program), context);
    ABSL_ASSIGN_OR_RETURN(Method method,
                          Method::Load(handle->program_, "forward", kernels, backends,
                                       {.memory = context.memory,
                                        .shared_memory = context.shared_memory,
                                        .threads = handle->threads_.pool(),
                                        .events = context.events}));
    if (method.num_inputs() != context.arguments.size() ||
        method.num_outputs() != context.outputs.size()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the program in the blob has ", method.num_inputs(), " inputs and ", method.num_outputs(),
          " outputs, the call has ", context.arguments.size(), " and ", context.outputs.size()));
    }
    for (size_t i = 0; i < method.num_inputs(); ++i) {
      if (method.plan().inputs[i].mutated) {
        return absl::InvalidArgumentError(
            absl::StrCat("the program in the blob mutates its input ", i));
      }
    }
    const MethodPlan& plan = method.plan();
    for (size_t i = 0; i < method.num_inputs(); ++i) {
      handle->inputs_.push_back(
          ReshapeOf(plan.values[plan.inputs[i].value], *context.arguments[i]));
    }
    for (size_t i = 0; i < method.num_outputs(); ++i) {
      handle->outputs_.push_back(ReshapeOf(plan.values[plan.outputs[i]], *context.outputs[i]));
    }
    handle->method_.emplace(std::move(method));
    return std::unique_ptr<DelegateHandle>(std::move(handle));
  }
  ProgramDelegate(Program program, const DelegateInitContext& context)
      : program_(std::move(program)), threads_(context) {}

  absl::Status Execute(KernelContext& context) override {
    Budget budget;
    return ExecuteWithin(context, budget);
  }

  absl::Status ExecuteWithin(KernelContext& context, Budget& budget) override {
    ABSL_RETURN_IF_ERROR(context.CheckArity(static_cast<int>(method_->num_inputs()),
                                            static_cast<int>(method_->num_outputs())));
    for (size_t i = 0; i < method_->num_inputs(); ++i) {
      const EValue& argument = context.argument(static_cast<int>(i));
      const TensorView* tensor = argument.get_if<TensorView>();
      if (!inputs_[i].has_value() || tensor == nullptr || !tensor->is_contiguous() ||
          tensor->numel() != inputs_[i]->program.numel()) {
        ABSL_RETURN_IF_ERROR(method_->SetInput(i, argument));
      } else {
        ABSL_RETURN_IF_ERROR(method_->SetInput(i, At(inputs_[i]->program, tensor->data)));
      }
    }
    // Arguments and outputs of a call are disjoint, by validation.
    for (size_t i = 0; i < method_->num_outputs(); ++i) {
      const TensorView* output = context.output_slot(static_cast<int>(i))->get_if<TensorView>();
      if (output == nullptr) continue;
      method_->SetOutputMemory(
          i, outputs_[i].has_value() ? At(outputs_[i]->program, output->data) : *output);
    }
    ABSL_RETURN_IF_ERROR(method_->ExecuteWithin(budget));
    for (size_t i = 0; i < method_->num_outputs(); ++i) {
      ABSL_RETURN_IF_ERROR(HandOver(context, static_cast<int>(i)));
    }
    return absl::OkStatus();
  }

  void ResetState() override { method_->ResetState(); }
  OptionValue GetOption(std::string_view name) const override { return threads_.GetOption(name); }
  void SetOption(std::string_view name, const OptionValue& value) override {
    threads_.SetOption(name, value);
  }
  void AddTables(CallTables& tables) const override {
    tables.Add(this, sizeof(*this));
    tables.Add(absl::MakeConstSpan(inputs_));
    tables.Add(absl::MakeConstSpan(outputs_));
    method_->AddTables(tables);
  }
  const Method* method() const override { return &*method_; }

 private:
  absl::Status HandOver(KernelContext& context, int i) {
    const EValue& result = method_->GetOutput(static_cast<size_t>(i));
    const TensorView* tensor = result.get_if<TensorView>();
    const TensorView* planned = context.output_slot(i)->get_if<TensorView>();
    if ((tensor == nullptr) != (planned == nullptr) ||
        (tensor != nullptr && tensor->dtype != planned->dtype)) {
      return absl::InvalidArgumentError(
          absl::StrCat("result ", i, " of the program in the blob is ", result.KindName(),
                       ", the call expects ", context.output_slot(i)->KindName()));
    }
    if (tensor == nullptr) {
      context.SetScalarOutput(i, result);
      return absl::OkStatus();
    }
    const std::optional<Reshape>& reshape = outputs_[static_cast<size_t>(i)];
    const TensorView from = reshape.has_value() ? At(reshape->call, tensor->data) : *tensor;
    ABSL_ASSIGN_OR_RETURN(const TensorView* output, context.Output(i, from.sizes));
    if (from.data == output->data) return absl::OkStatus();  // was written in place
    return CopyElements(from, *output);
  }

  // Contiguous tensors of the same elements in the program and in the call, without data.
  struct Reshape {
    TensorView program, call;
  };

  // nullopt if the program's value has the call's sizes, or another number of elements.
  static std::optional<Reshape> ReshapeOf(const ValuePlan& value, const EValue& operand) {
    const TensorPlan* plan = std::get_if<TensorPlan>(&value);
    const TensorView* call = operand.get_if<TensorView>();
    if (plan == nullptr || call == nullptr || !plan->is_static() || plan->dtype != call->dtype ||
        plan->sizes == absl::MakeConstSpan(call->sizes) || !call->is_contiguous() ||
        !IsContiguous(plan->sizes, DenseStrides(plan->sizes, plan->dim_order))) {
      return std::nullopt;
    }
    const Reshape reshape = {TensorView::Contiguous(plan->dtype, plan->sizes, nullptr),
                             At(*call, nullptr)};
    if (reshape.program.numel() != reshape.call.numel()) return std::nullopt;
    return reshape;
  }

  static TensorView At(TensorView tensor, void* data) {
    tensor.data = data;
    return tensor;
  }

  Program program_;
  DelegateThreads threads_;
  std::optional<Method> method_;
  std::vector<std::optional<Reshape>> inputs_, outputs_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<DelegateHandle>> OpenProgramDelegate(
    const DelegateInitContext& context, absl::Span<const std::byte> blob, const Limits& limits,
    const KernelRegistry& kernels, const BackendRegistry& backends,
    std::shared_ptr<const void> owner) {
  // The caller keeps the blob alive.
  Program::Options options;
  options.limits = limits;
  options.named_data = context.named_data;
  ABSL_ASSIGN_OR_RETURN(Program program, Program::OpenBytes(std::move(owner), blob, options));
  ABSL_RETURN_IF_ERROR(
      context.memory->Take(program.plans_bytes(), "the plan of the program in the blob"));
  return ProgramDelegate::Create(context, std::move(program), kernels, backends);
}

}  // namespace belay
