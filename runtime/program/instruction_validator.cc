#include "runtime/program/instruction_validator.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "google/protobuf/repeated_field.h"
#include "runtime/core/status_macros.h"
#include "runtime/program/operand_overlap.h"
#include "runtime/schema/in_place_operators.h"

namespace belay {
namespace {

// The kind of scalar that a literal or a slot is.
std::optional<ScalarKind> ScalarKindOf(const ValuePlan& value) {
  if (const auto* kind = std::get_if<ScalarKind>(&value)) return *kind;
  if (std::holds_alternative<int64_t>(value)) return ScalarKind::kInt;
  if (std::holds_alternative<double>(value)) return ScalarKind::kDouble;
  if (std::holds_alternative<bool>(value)) return ScalarKind::kBool;
  return std::nullopt;
}

class InstructionValidator {
 public:
  // `plan` gets each instruction that was validated before the next one is.
  InstructionValidator(const Limits& limits, uint64_t instructions, const MethodPlan& plan)
      : limits_(limits),
        instructions_(instructions),
        plan_(plan),
        overlap_(plan.values),
        writable_(plan.values.size(), 0),
        first_calls_(plan.delegates.size()) {
    for (size_t v = 0; v < plan.values.size(); ++v) {
      if (const auto* tensor = std::get_if<TensorPlan>(&plan.values[v])) {
        writable_[v] = tensor->location == TensorPlan::Location::kArena ||
                       tensor->location == TensorPlan::Location::kState;
      } else {
        writable_[v] = std::holds_alternative<ScalarKind>(plan.values[v]);
      }
    }
    for (const InputPlan& input : plan.inputs) writable_[input.value] = input.mutated;
  }

  absl::StatusOr<InstructionPlan> Validate(const schema::Instruction& instruction,
                                           const MetadataPath& path) {
    switch (instruction.kind_case()) {
      case schema::Instruction::kKernel:
        return ValidateKernel(instruction.kernel(), MetadataPath(path, "kernel"));
      case schema::Instruction::kDelegate:
        return ValidateDelegate(instruction.delegate(), MetadataPath(path, "delegate"));
      case schema::Instruction::kMove:
        return ValidateMove(instruction.move(), MetadataPath(path, "move"));
      case schema::Instruction::kJumpIfFalse:
        return ValidateJumpIfFalse(instruction.jump_if_false(),
                                   MetadataPath(path, "jump_if_false"));
      case schema::Instruction::kJump: {
        const MetadataPath jump(path, "jump");
        ABSL_RETURN_IF_ERROR(CheckTarget(instruction.jump().target(), jump));
        return InstructionPlan(JumpPlan{.target = instruction.jump().target()});
      }
      case schema::Instruction::KIND_NOT_SET:
        break;
    }
    return MetadataPath(path, "kind").Error("is missing or unknown");
  }

  absl::Status Finish(const MetadataPath& path) const {
    for (size_t d = 0; d < first_calls_.size(); ++d) {
      if (!first_calls_[d].has_value()) {
        return MetadataPath(path, "delegates", d).Error("no instruction calls it");
      }
    }
    return absl::OkStatus();
  }

 private:
  using Indices = google::protobuf::RepeatedField<google::protobuf::uint32>;

  absl::Status CheckValue(uint32_t value, const MetadataPath& path) const {
    if (value < plan_.values.size()) return absl::OkStatus();
    return path.Error(
        absl::StrCat("value ", value, " does not exist, there are ", plan_.values.size()));
  }

  absl::Status CheckTarget(uint32_t target, const MetadataPath& path) const {
    if (target <= instructions_) return absl::OkStatus();
    return MetadataPath(path, "target")
        .Error(absl::StrCat(target, " is beyond the ", instructions_, " instructions"));
  }

  // A list counts with its elements: they are looked at each time it is used.
  absl::Status CountOperand(uint32_t value, const MetadataPath& path) {
    const auto* list = std::get_if<ListPlan>(&plan_.values[value]);
    operands_ += 1 + (list == nullptr ? 0 : list->elements.size());
    const uint64_t limit = std::min<uint64_t>(limits_.operands, INT32_MAX);
    if (operands_ <= limit) return absl::OkStatus();
    return path.LimitError("operands", operands_, limit);
  }

  absl::Status CheckOutput(uint32_t value, const MetadataPath& path) const {
    if (writable_[value] || std::holds_alternative<None>(plan_.values[value])) {
      return absl::OkStatus();
    }
    if (const auto* list = std::get_if<ListPlan>(&plan_.values[value])) {
      for (const uint32_t element : list->elements) {
        const auto* tensor = std::get_if<TensorPlan>(&plan_.values[element]);
        if (tensor == nullptr || !writable_[element]) {
          return path.Error(absl::StrCat("element ", element, " of list ", value,
                                         " is not a tensor that may be written"));
        }
      }
      return absl::OkStatus();
    }
    return path.Error(absl::StrCat("value ", value,
                                   " may not be written: not a tensor in the arena or the state, a "
                                   "mutated input, or a scalar slot that is no input"));
  }

  absl::Status CheckOperands(const Indices& arguments, const Indices& outputs, bool in_place,
                             OutputOverArgument over, const MetadataPath& path) {
    overlap_.Clear();
    for (int i = 0; i < arguments.size(); ++i) {
      const MetadataPath at(path, "arguments", i);
      ABSL_RETURN_IF_ERROR(CheckValue(arguments[i], at));
      ABSL_RETURN_IF_ERROR(CountOperand(arguments[i], at));
      overlap_.AddArgument(arguments[i]);
    }
    for (int i = 0; i < outputs.size(); ++i) {
      const MetadataPath at(path, "outputs", i);
      ABSL_RETURN_IF_ERROR(CheckValue(outputs[i], at));
      ABSL_RETURN_IF_ERROR(CountOperand(outputs[i], at));
      ABSL_RETURN_IF_ERROR(CheckOutput(outputs[i], at));
      overlap_.AddOutput(outputs[i]);
    }
    return overlap_.Check(in_place, over, path);
  }

  absl::StatusOr<InstructionPlan> ValidateKernel(const schema::KernelCall& call,
                                                 const MetadataPath& path) {
    if (call.operator_() >= plan_.operators.size()) {
      return MetadataPath(path, "operator")
          .Error(absl::StrCat(call.operator_(), " does not exist, there are ",
                              plan_.operators.size()));
    }
    const std::string& op = plan_.operators[call.operator_()];
    ABSL_RETURN_IF_ERROR(CheckOperands(call.arguments(), call.outputs(), IsInPlaceOperator(op),
                                       OutputOverArgumentOf(op), path));
    KernelCallPlan plan;
    plan.op = call.operator_();
    plan.arguments.assign(call.arguments().begin(), call.arguments().end());
    plan.outputs.assign(call.outputs().begin(), call.outputs().end());
    return InstructionPlan(std::move(plan));
  }

  absl::StatusOr<InstructionPlan> ValidateDelegate(const schema::DelegateCall& call,
                                                   const MetadataPath& path) {
    const MetadataPath delegate(path, "delegate");
    if (call.delegate() >= first_calls_.size()) {
      return delegate.Error(
          absl::StrCat(call.delegate(), " does not exist, there are ", first_calls_.size()));
    }
    ABSL_RETURN_IF_ERROR(CheckOperands(call.arguments(), call.outputs(), /*in_place=*/false,
                                       OutputOverArgument::kNever, path));
    DelegateCallPlan plan;
    plan.delegate = call.delegate();
    plan.arguments.assign(call.arguments().begin(), call.arguments().end());
    plan.outputs.assign(call.outputs().begin(), call.outputs().end());
    std::optional<size_t>& first_call = first_calls_[call.delegate()];
    if (first_call.has_value()) {
      // The delegate is made for its first call and must fit the others.
      const auto& first = std::get<DelegateCallPlan>(plan_.instructions[*first_call]);
      ABSL_RETURN_IF_ERROR(
          CheckAlike(first.arguments, plan.arguments, MetadataPath(path, "arguments")));
      ABSL_RETURN_IF_ERROR(CheckAlike(first.outputs, plan.outputs, MetadataPath(path, "outputs")));
    } else {
      first_call = plan_.instructions.size();  // where this one will be
    }
    return InstructionPlan(std::move(plan));
  }

  absl::Status CheckAlike(absl::Span<const uint32_t> first, absl::Span<const uint32_t> later,
                          const MetadataPath& path) const {
    if (first.size() != later.size()) {
      return path.Error(absl::StrCat("are ", later.size(), ", but ", first.size(),
                                     " in the first call of the delegate"));
    }
    for (size_t i = 0; i < first.size(); ++i) {
      if (!Alike(plan_.values[first[i]], plan_.values[later[i]])) {
        return path.Error(absl::StrCat("value ", later[i], " differs in kind or size from value ",
                                       first[i], " of the first call of the delegate"));
      }
    }
    return absl::OkStatus();
  }

  // Whether a delegate that was made for one of the values can be given the other. Linear in the
  // operands, which are counted.
  bool Alike(const ValuePlan& a, const ValuePlan& b) const {
    if (a.index() != b.index()) return false;
    if (const auto* tensor = std::get_if<TensorPlan>(&a)) {
      const auto& other = std::get<TensorPlan>(b);
      return tensor->dtype == other.dtype && tensor->sizes == other.sizes &&
             tensor->dim_order == other.dim_order && tensor->dynamic_dims == other.dynamic_dims;
    }
    if (const auto* list = std::get_if<ListPlan>(&a)) {
      const auto& other = std::get<ListPlan>(b);
      return std::equal(list->elements.begin(), list->elements.end(), other.elements.begin(),
                        other.elements.end(), [&](uint32_t x, uint32_t y) {
                          return Alike(plan_.values[x], plan_.values[y]);
                        });
    }
    return std::visit(
        [&b]<typename T>(const T& literal) {
          if constexpr (std::is_same_v<T, TensorPlan> || std::is_same_v<T, ListPlan> ||
                        std::is_same_v<T, None>) {
            return true;
          } else {
            return literal == std::get<T>(b);
          }
        },
        a);
  }

  absl::StatusOr<InstructionPlan> ValidateMove(const schema::Move& move, const MetadataPath& path) {
    const MetadataPath from_path(path, "from"), to_path(path, "to");
    ABSL_RETURN_IF_ERROR(CheckValue(move.from(), from_path));
    ABSL_RETURN_IF_ERROR(CheckValue(move.to(), to_path));
    const ValuePlan& from = plan_.values[move.from()];
    const ValuePlan& to = plan_.values[move.to()];
    if (!writable_[move.to()]) {
      return to_path.Error(absl::StrCat("value ", move.to(), " may not be written"));
    }
    const InstructionPlan plan = MovePlan{.from = move.from(), .to = move.to()};
    const auto* target = std::get_if<TensorPlan>(&to);
    if (target == nullptr) {
      if (ScalarKindOf(from) == ScalarKindOf(to)) return plan;
      return path.Error(
          absl::StrCat("values ", move.from(), " and ", move.to(), " are not of one kind"));
    }
    const auto* source = std::get_if<TensorPlan>(&from);
    if (source == nullptr || source->dtype != target->dtype ||
        source->sizes.size() != target->sizes.size()) {
      return path.Error(absl::StrCat("values ", move.from(), " and ", move.to(),
                                     " are not tensors of one dtype and rank"));
    }
    for (int d = 0; d < source->sizes.size(); ++d) {
      const uint32_t dynamic = source->dynamic_dims | target->dynamic_dims;
      if (((dynamic >> d) & 1) == 0 && source->sizes[d] != target->sizes[d]) {
        return path.Error(absl::StrCat("dimension ", d, " is ", source->sizes[d], " of value ",
                                       move.from(), " and ", target->sizes[d], " of value ",
                                       move.to()));
      }
    }
    overlap_.Clear();
    overlap_.AddArgument(move.from());
    overlap_.AddOutput(move.to());
    ABSL_RETURN_IF_ERROR(overlap_.Check(/*in_place=*/false, OutputOverArgument::kNever, path));
    return plan;
  }

  absl::StatusOr<InstructionPlan> ValidateJumpIfFalse(const schema::JumpIfFalse& jump,
                                                      const MetadataPath& path) {
    const MetadataPath condition(path, "condition");
    ABSL_RETURN_IF_ERROR(CheckValue(jump.condition(), condition));
    const ValuePlan& value = plan_.values[jump.condition()];
    const auto* tensor = std::get_if<TensorPlan>(&value);
    const bool is_bool = tensor != nullptr ? tensor->dtype == DType::kBool && tensor->is_static() &&
                                                 tensor->bytes() == 1
                                           : ScalarKindOf(value) == ScalarKind::kBool;
    if (!is_bool) {
      return condition.Error(
          absl::StrCat("value ", jump.condition(),
                       " is neither a bool nor a static bool tensor of one element"));
    }
    ABSL_RETURN_IF_ERROR(CheckTarget(jump.target(), path));
    return InstructionPlan(JumpIfFalsePlan{.condition = jump.condition(), .target = jump.target()});
  }

  const Limits& limits_;
  const uint64_t instructions_;
  const MethodPlan& plan_;
  OperandOverlap overlap_;
  std::vector<uint8_t> writable_;                   // by value
  std::vector<std::optional<size_t>> first_calls_;  // by delegate, the instruction
  uint64_t operands_ = 0;
};

}  // namespace

absl::Status ValidateInstructions(const schema::Method& method, const Limits& limits,
                                  const MetadataPath& path, MethodPlan& plan) {
  const uint64_t count = method.instructions_size();
  if (count > limits.instructions) {
    return MetadataPath(path, "instructions")
        .LimitError("instructions", count, limits.instructions);
  }
  InstructionValidator validator(limits, count, plan);
  plan.instructions.reserve(count);
  for (uint64_t i = 0; i < count; ++i) {
    ABSL_ASSIGN_OR_RETURN(
        InstructionPlan instruction,
        validator.Validate(method.instructions(i), MetadataPath(path, "instructions", i)));
    plan.instructions.push_back(std::move(instruction));
  }
  return validator.Finish(path);
}

}  // namespace belay
