// Reports about instructions: descriptions, and error annotations.
#include <algorithm>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "runtime/core/printable.h"
#include "runtime/executor/instruction_source.h"
#include "runtime/executor/method_code.h"
#include "runtime/program/metadata_path.h"

namespace belay {

std::vector<InstructionInfo> MethodCode::Describe() const {
  std::vector<InstructionInfo> infos;
  infos.reserve(records_.size());
  for (size_t i = 0; i < records_.size(); ++i) {
    const Record& record = records_[i];
    InstructionInfo info;
    switch (record.kind) {
      case Record::Kind::kFixedKernel:
      case Record::Kind::kKernel:
        info.op = plan_->operators[std::get<KernelCallPlan>(plan_->instructions[i]).op];
        info.kernel = record.kernel->name;
        info.engine = KernelEngineName(record.kernel->engine);
        info.signature = record.kernel->signature;
        info.facts = &record.kernel->Facts();
        info.scratch_bytes = record.kernel->ScratchBytes(record.context);
        info.declined = kernels_->Candidates(info.op);
        info.declined.erase(absl::c_find(info.declined, record.kernel), info.declined.end());
        break;
      case Record::Kind::kDelegate:
        info.op = "delegate";
        info.kernel = plan_->delegates[std::get<DelegateCallPlan>(plan_->instructions[i]).delegate]
                          .backend_id;
        info.engine = "delegate";
        info.method = record.handle->method();
        break;
      case Record::Kind::kMoveTensor:
      case Record::Kind::kMoveScalar:
        info.op = "move";
        info.arguments = {&slots_->slot(record.from)};
        info.outputs = {&slots_->slot(record.to)};
        break;
      case Record::Kind::kJumpIfFalse:
        info.op = "jump_if_false";
        info.arguments = {&slots_->slot(record.condition)};
        break;
      case Record::Kind::kJump:
        info.op = "jump";
        break;
    }
    for (int k = 0; k < record.context.num_arguments(); ++k) {
      info.arguments.push_back(&record.context.argument(k));
    }
    for (int k = 0; k < record.context.num_outputs(); ++k) {
      info.outputs.push_back(record.context.output_slot(k));
    }
    infos.push_back(std::move(info));
  }
  return infos;
}

std::string MethodCode::FailedCondition(const KernelCallPlan& assertion, size_t instruction) const {
  if (plan_->operators[assertion.op] != "aten._assert_scalar.default") return "";
  const absl::Span<const uint32_t> asserted = plan_->arguments_of(assertion.operands);
  for (size_t i = instruction; i-- > 0;) {
    const auto* call = std::get_if<KernelCallPlan>(&plan_->instructions[i]);
    if (call == nullptr) continue;
    const absl::Span<const uint32_t> outputs = plan_->outputs_of(call->operands);
    if (outputs.size() != 1 || asserted.empty() || outputs[0] != asserted[0]) continue;
    std::string numbers;
    for (const uint32_t value : plan_->arguments_of(call->operands)) {
      const int64_t* number = slots_->slot(value).get_if<int64_t>();
      if (number == nullptr) return "";
      absl::StrAppend(&numbers, numbers.empty() ? "" : ", ", *number);
    }
    return absl::StrCat(" (", plan_->operators[call->op], "(", numbers, ") is false)");
  }
  return "";
}

absl::Status MethodCode::Annotate(const absl::Status& status, size_t instruction) const {
  std::string what, condition;
  const InstructionPlan& plan = plan_->instructions[instruction];
  if (const auto* kernel = std::get_if<KernelCallPlan>(&plan)) {
    what = Quoted(plan_->operators[kernel->op]);
    condition = FailedCondition(*kernel, instruction);
  } else if (const auto* delegate = std::get_if<DelegateCallPlan>(&plan)) {
    what = absl::StrCat("delegate ", delegate->delegate, " of backend ",
                        Quoted(plan_->delegates[delegate->delegate].backend_id));
  } else {
    what = std::holds_alternative<MovePlan>(plan) ? "move" : "jump";
  }
  std::string message = absl::StrCat(
      "method ", Quoted(plan_->name), ", instruction ", instruction, " (", what, ")",
      InstructionSource(*program_, *plan_, instruction), ": ", status.message(), condition);
  // A kernel's message may quote a string from the file: replace terminal control characters.
  std::replace_if(message.begin(), message.end(), IsControl, '?');
  return absl::Status(status.code(), message);
}

}  // namespace belay
