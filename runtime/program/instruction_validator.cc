#include "runtime/program/instruction_validator.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/core/same_value.h"
#include "runtime/core/status_macros.h"
#include "runtime/program/metadata_messages.h"
#include "runtime/program/operand_overlap.h"
#include "runtime/program/value_validator.h"
#include "runtime/schema/operator_facts.h"

namespace belay {
namespace {

// Returns the scalar kind of a literal or slot.
std::optional<ScalarKind> ScalarKindOf(const ValuePlan& value) {
  if (const auto* kind = std::get_if<ScalarKind>(&value)) return *kind;
  if (std::holds_alternative<int64_t>(value)) return ScalarKind::kInt;
  if (std::holds_alternative<double>(value)) return ScalarKind::kDouble;
  if (std::holds_alternative<bool>(value)) return ScalarKind::kBool;
  return std::nullopt;
}

class InstructionValidator {
 public:
  // Appends to the instructions and operands of `plan`.
  InstructionValidator(const Limits& limits, uint64_t instructions, MethodPlan& plan)
      : instructions_(instructions),
        plan_(plan),
        overlap_(plan.values),
        flags_(plan.values.size(), 0),
        first_calls_(plan.delegates.size()),
        operand_limit_(std::min<uint64_t>(limits.operands, INT32_MAX)) {
    operators_.reserve(plan.operators.size());
    for (const std::string& op : plan.operators) {
      operators_.push_back({.in_place = IsInPlaceOperator(op), .over = FactsOf(op).output_over});
    }
    for (size_t v = 0; v < plan.values.size(); ++v) {
      const ValuePlan& value = plan.values[v];
      flags_[v] = kSingle;
      if (const auto* tensor = std::get_if<TensorPlan>(&value)) {
        if (tensor->location == TensorPlan::Location::kArena ||
            tensor->location == TensorPlan::Location::kState) {
          flags_[v] |= kWritable;
        }
      } else if (std::holds_alternative<ScalarKind>(value)) {
        flags_[v] |= kWritable;
      } else if (std::holds_alternative<ListPlan>(value)) {
        flags_[v] = kList;
      } else if (std::holds_alternative<None>(value)) {
        flags_[v] |= kDropped;
      }
    }
    for (const InputPlan& input : plan.inputs) {
      if (input.mutated) {
        flags_[input.value] |= kWritable;
      } else {
        flags_[input.value] &= ~kWritable;
      }
    }
  }

  absl::Status Append(const WireMessage& message, const MetadataPath& path) {
    InstructionMessage instruction;
    ABSL_RETURN_IF_ERROR(Read(message, path, instruction));
    const WireMessage inside = instruction.kind.as<WireMessage>();
    switch (instruction.kind.field) {
      case InstructionMessage::kKernel:
        return AppendKernel(inside, MetadataPath(path, "kernel"));
      case InstructionMessage::kDelegate:
        return AppendDelegate(inside, MetadataPath(path, "delegate"));
      case InstructionMessage::kMove:
        return AppendMove(inside, MetadataPath(path, "move"));
      case InstructionMessage::kJumpIfFalse:
        return AppendJumpIfFalse(inside, MetadataPath(path, "jump_if_false"));
      case InstructionMessage::kJump:
        return AppendJump(inside, MetadataPath(path, "jump"));
      default:
        return MetadataPath(path, "kind").Error("is missing or unknown");
    }
  }

  absl::Status Finish(const MetadataPath& path) {
    plan_.operands.resize(used_);
    for (size_t d = 0; d < first_calls_.size(); ++d) {
      if (!first_calls_[d].has_value()) {
        return MetadataPath(path, "delegates", d).Error("no instruction calls it");
      }
    }
    return absl::OkStatus();
  }

 private:
  // Permitted uses of a value in instructions.
  enum Flag : uint8_t {
    kWritable = 1,
    kList = 2,
    kDropped = 4,  // an output that is None
    kSingle = 8,   // not a list
  };
  struct OperatorFacts {
    bool in_place;
    OutputOverArgument over;
  };

  absl::Status CheckOperand(uint32_t value, const MetadataPath& path) {
    ABSL_RETURN_IF_ERROR(CheckValue(plan_, value, path));
    return CountOperand(value, path);
  }

  absl::Status CheckTarget(uint32_t target, const MetadataPath& path) const {
    if (target <= instructions_) return absl::OkStatus();
    return MetadataPath(path, "target")
        .Error(absl::StrCat(target, " is beyond the ", instructions_, " instructions"));
  }

  // List elements count at each use, since each use visits them.
  absl::Status CountOperand(uint32_t value, const MetadataPath& path) {
    ++counted_;
    if (flags_[value] & kList) counted_ += std::get<ListPlan>(plan_.values[value]).elements.size();
    if (counted_ <= operand_limit_) return absl::OkStatus();
    return path.LimitError("operands", counted_, operand_limit_);
  }

  // For values that are neither kWritable nor kDropped, which ReadOperands passes on.
  absl::Status CheckOutput(uint32_t value, const MetadataPath& path) const {
    if (const auto* list = std::get_if<ListPlan>(&plan_.values[value])) {
      for (const uint32_t element : list->elements) {
        const auto* tensor = std::get_if<TensorPlan>(&plan_.values[element]);
        if (tensor == nullptr || !(flags_[element] & kWritable)) {
          return path.Error(absl::StrCat("element ", element, " of list ", value,
                                         " is not a tensor that may be written"));
        }
      }
      return absl::OkStatus();
    }
    return path.Error(absl::StrCat("value ", value,
                                   " may not be written: not a tensor in the arena or the state, a "
                                   "mutated input, or a scalar slot that is not an input"));
  }

  // Checks the arguments or outputs of a call, writes them to `operands` (which has room for one
  // integer per byte) and sets `count`.
  template <bool kAreOutputs>
  absl::Status ReadOperands(const wire::Uint32s& numbers, std::string_view field,
                            const MetadataPath& path, uint32_t* operands, uint32_t& count) {
    constexpr uint8_t kPlain = kAreOutputs ? kWritable | kDropped : kSingle;  // never a list
    absl::Status status;
    uint32_t read = 0;
    const bool readable = ForEachNumber(numbers, [&](uint32_t value) {
      if (value < flags_.size() && (flags_[value] & kPlain) && counted_ < operand_limit_)
          [[likely]] {
        ++counted_;
      } else {
        const MetadataPath at(path, field, read);
        status = CheckOperand(value, at);
        if (kAreOutputs && status.ok()) status = CheckOutput(value, at);
        if (!status.ok()) return false;
      }
      operands[read++] = value;
      return true;
    });
    count = read;
    if (!readable) return NumbersError(MetadataPath(path, field));
    return status;
  }

  // Checks and appends the operands of a call, and sets their range.
  template <class Call>
  absl::Status AppendOperands(const Call& call, const OperatorFacts& facts,
                              const MetadataPath& path, OperandRange& range) {
    std::vector<uint32_t>& operands =
        plan_.operands;  // has unused capacity at its end until finished
    const size_t needed = used_ + call.arguments.bytes.size() + call.outputs.bytes.size();
    if (operands.size() < needed) operands.resize(std::max(2 * operands.size(), needed));
    uint32_t* const first = operands.data() + used_;
    range.first = static_cast<uint32_t>(used_);  // below the limit, an int
    ABSL_RETURN_IF_ERROR(
        ReadOperands<false>(call.arguments, "arguments", path, first, range.arguments));
    ABSL_RETURN_IF_ERROR(
        ReadOperands<true>(call.outputs, "outputs", path, first + range.arguments, range.outputs));
    used_ += size_t{range.arguments} + range.outputs;
    return overlap_.Check(plan_.arguments_of(range), plan_.outputs_of(range), facts.in_place,
                          facts.over, path);
  }

  absl::Status AppendKernel(const WireMessage& message, const MetadataPath& path) {
    KernelCallMessage call;
    ABSL_RETURN_IF_ERROR(Read(message, path, call));
    if (call.operator_ >= operators_.size()) {
      return MetadataPath(path, "operator")
          .Error(absl::StrCat(call.operator_, " does not exist, there are ", operators_.size()));
    }
    KernelCallPlan plan;
    plan.op = call.operator_;
    ABSL_RETURN_IF_ERROR(AppendOperands(call, operators_[call.operator_], path, plan.operands));
    plan_.instructions.emplace_back(plan);
    return absl::OkStatus();
  }

  absl::Status AppendDelegate(const WireMessage& message, const MetadataPath& path) {
    DelegateCallMessage call;
    ABSL_RETURN_IF_ERROR(Read(message, path, call));
    if (call.delegate >= first_calls_.size()) {
      return MetadataPath(path, "delegate")
          .Error(absl::StrCat(call.delegate, " does not exist, there are ", first_calls_.size()));
    }
    DelegateCallPlan plan;
    plan.delegate = call.delegate;
    ABSL_RETURN_IF_ERROR(AppendOperands(
        call, {.in_place = false, .over = OutputOverArgument::kNever}, path, plan.operands));
    std::optional<OperandRange>& first = first_calls_[call.delegate];
    if (first.has_value()) {
      // A delegate is initialized for its first call and must support the others.
      ABSL_RETURN_IF_ERROR(CheckCompatible(plan_.arguments_of(*first),
                                           plan_.arguments_of(plan.operands),
                                           MetadataPath(path, "arguments")));
      ABSL_RETURN_IF_ERROR(CheckCompatible(plan_.outputs_of(*first),
                                           plan_.outputs_of(plan.operands),
                                           MetadataPath(path, "outputs")));
    } else {
      first = plan.operands;
    }
    plan_.instructions.emplace_back(plan);
    return absl::OkStatus();
  }

  absl::Status CheckCompatible(absl::Span<const uint32_t> first, absl::Span<const uint32_t> later,
                               const MetadataPath& path) const {
    if (first.size() != later.size()) {
      return path.Error(absl::StrCat("are ", later.size(), ", but ", first.size(),
                                     " in the first call of the delegate"));
    }
    for (size_t i = 0; i < first.size(); ++i) {
      if (!AreCompatible(plan_.values[first[i]], plan_.values[later[i]])) {
        return path.Error(absl::StrCat("value ", later[i], " differs in kind or size from value ",
                                       first[i], " of the first call of the delegate"));
      }
    }
    return absl::OkStatus();
  }

  // Whether a delegate initialized for one of the values accepts the other. Linear in the operands,
  // which are counted.
  bool AreCompatible(const ValuePlan& a, const ValuePlan& b) const {
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
                          return AreCompatible(plan_.values[x], plan_.values[y]);
                        });
    }
    return std::visit(
        [&b]<typename T>(const T& literal) {
          if constexpr (std::is_same_v<T, TensorPlan> || std::is_same_v<T, ListPlan> ||
                        std::is_same_v<T, None>) {
            return true;
          } else {
            return SameValue(literal, std::get<T>(b));
          }
        },
        a);
  }

  absl::Status AppendMove(const WireMessage& message, const MetadataPath& path) {
    MoveMessage move;
    ABSL_RETURN_IF_ERROR(Read(message, path, move));
    const MetadataPath from_path(path, "from"), to_path(path, "to");
    ABSL_RETURN_IF_ERROR(CheckValue(plan_, move.from, from_path));
    ABSL_RETURN_IF_ERROR(CheckValue(plan_, move.to, to_path));
    const ValuePlan& from = plan_.values[move.from];
    const ValuePlan& to = plan_.values[move.to];
    if (!(flags_[move.to] & kWritable)) {
      return to_path.Error(absl::StrCat("value ", move.to, " may not be written"));
    }
    plan_.instructions.emplace_back(MovePlan{.from = move.from, .to = move.to});
    const auto* target = std::get_if<TensorPlan>(&to);
    if (target == nullptr) {
      if (ScalarKindOf(from) == ScalarKindOf(to)) return absl::OkStatus();
      return path.Error(
          absl::StrCat("values ", move.from, " and ", move.to, " are not of one kind"));
    }
    const auto* source = std::get_if<TensorPlan>(&from);
    if (source == nullptr || source->dtype != target->dtype ||
        source->sizes.size() != target->sizes.size()) {
      return path.Error(absl::StrCat("values ", move.from, " and ", move.to,
                                     " are not tensors of one dtype and rank"));
    }
    for (size_t d = 0; d < source->sizes.size(); ++d) {
      const uint32_t dynamic = source->dynamic_dims | target->dynamic_dims;
      if (((dynamic >> d) & 1) == 0 && source->sizes[d] != target->sizes[d]) {
        return path.Error(absl::StrCat("dimension ", d, " is ", source->sizes[d], " of value ",
                                       move.from, " and ", target->sizes[d], " of value ",
                                       move.to));
      }
    }
    return overlap_.Check(absl::MakeConstSpan(&move.from, 1), absl::MakeConstSpan(&move.to, 1),
                          /*in_place=*/false, OutputOverArgument::kNever, path);
  }

  absl::Status AppendJumpIfFalse(const WireMessage& message, const MetadataPath& path) {
    JumpIfFalseMessage jump;
    ABSL_RETURN_IF_ERROR(Read(message, path, jump));
    const MetadataPath condition(path, "condition");
    ABSL_RETURN_IF_ERROR(CheckValue(plan_, jump.condition, condition));
    const ValuePlan& value = plan_.values[jump.condition];
    const auto* tensor = std::get_if<TensorPlan>(&value);
    const bool is_bool = tensor != nullptr ? tensor->dtype == DType::kBool && tensor->is_static() &&
                                                 tensor->max_bytes == 1
                                           : ScalarKindOf(value) == ScalarKind::kBool;
    if (!is_bool) {
      return condition.Error(absl::StrCat(
          "value ", jump.condition, " is neither a bool nor a static bool tensor of one element"));
    }
    ABSL_RETURN_IF_ERROR(CheckTarget(jump.target, path));
    plan_.instructions.emplace_back(
        JumpIfFalsePlan{.condition = jump.condition, .target = jump.target});
    return absl::OkStatus();
  }

  absl::Status AppendJump(const WireMessage& message, const MetadataPath& path) {
    JumpMessage jump;
    ABSL_RETURN_IF_ERROR(Read(message, path, jump));
    ABSL_RETURN_IF_ERROR(CheckTarget(jump.target, path));
    plan_.instructions.emplace_back(JumpPlan{.target = jump.target});
    return absl::OkStatus();
  }

  const uint64_t instructions_;
  MethodPlan& plan_;
  OperandOverlap overlap_;
  std::vector<OperatorFacts> operators_;
  std::vector<uint8_t> flags_;                            // by value
  std::vector<std::optional<OperandRange>> first_calls_;  // by delegate
  const uint64_t operand_limit_;
  uint64_t counted_ = 0;  // operands, including list elements
  size_t used_ = 0;       // of MethodPlan::operands
};

}  // namespace

absl::Status ValidateInstructions(const WireList& messages, const Limits& limits,
                                  const MetadataPath& path, MethodPlan& plan) {
  const uint64_t count = messages.count;
  if (count > limits.instructions) {
    return MetadataPath(path, "instructions")
        .LimitError("instructions", count, limits.instructions);
  }
  InstructionValidator validator(limits, count, plan);
  plan.instructions.reserve(count);
  WireElements elements(messages);
  for (uint64_t i = 0; i < count; ++i) {
    ABSL_RETURN_IF_ERROR(
        validator.Append(elements.NextMessage(), MetadataPath(path, "instructions", i)));
  }
  return validator.Finish(path);
}

}  // namespace belay
