#include "executorch/reader/step_reader.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "executorch/reader/delegate_outputs.h"
#include "executorch/reader/problems.h"
#include "runtime/core/annotate.h"
#include "runtime/core/checked_math.h"
#include "runtime/core/memory_check.h"
#include "runtime/core/status_macros.h"
#include "runtime/program/metadata_path.h"

namespace belay::pte {
namespace {

using Result = PortableOperator::Result;

constexpr size_t kMostNameBytes = 100;  // of an operator, as in ExecuTorch's runtime
// Upper bounds of memory: an instruction during translation; an instruction in Belay's metadata; an
// operand; a delegate or a compile spec.
constexpr uint64_t kStepBytes = sizeof(Step) + 512;
constexpr uint64_t kWrittenBytes = 16;
constexpr uint64_t kWrittenOperandBytes = 4;
constexpr uint64_t kDelegateBytes = 64;

absl::Status Broken(std::string message) { return absl::InvalidArgumentError(std::move(message)); }

std::string_view KindName(KernelTypes kind) { return EnumNameKernelTypes(kind); }

// Returns the kind of an argument's value, which may also be Null if it is optional.
KernelTypes KindOf(const PortableArgument& argument) {
  switch (argument.kind) {
    case ArgumentKind::kTensor:
      if (argument.element_optional) return KernelTypes::OptionalTensorList;
      return argument.list ? KernelTypes::TensorList : KernelTypes::Tensor;
    case ArgumentKind::kFloat:
      return argument.list ? KernelTypes::DoubleList : KernelTypes::Double;
    case ArgumentKind::kBool:
      return argument.list ? KernelTypes::BoolList : KernelTypes::Bool;
    case ArgumentKind::kString:
      return KernelTypes::String;
    default:  // kScalar also accepts other kinds
      return argument.list ? KernelTypes::IntList : KernelTypes::Int;
  }
}

bool IsNumber(KernelTypes kind) {
  return kind == KernelTypes::Int || kind == KernelTypes::Double || kind == KernelTypes::Bool;
}

ScalarKind DeclaredKind(const ValueFacts& value) {
  return value.kind == KernelTypes::Double ? ScalarKind::kDouble
         : value.kind == KernelTypes::Bool ? ScalarKind::kBool
                                           : ScalarKind::kInt;
}

class StepReader {
 public:
  StepReader(const ProgramFile& file, const Limits& limits, MemoryBudget& budget,
             MethodFacts& facts)
      : file_(file),
        limits_(limits),
        budget_(budget),
        facts_(facts),
        plan_(*facts.plan),
        values_(facts.values) {}

  absl::Status Read() {
    ABSL_RETURN_IF_ERROR(ReadInputsAndOutputs());
    ABSL_RETURN_IF_ERROR(FindOperators());
    ABSL_RETURN_IF_ERROR(CheckCounts());
    Problems problems;
    for (uint32_t c = 0; c < plan_.chains()->size(); ++c) {
      const auto& instructions = *plan_.chains()->Get(c)->instructions();
      const size_t first = facts_.steps.size();
      const size_t end = CheckedAdd<size_t>(first, instructions.size()).value_or(first);
      for (uint32_t i = 0; i < instructions.size(); ++i) {
        Step step;
        step.chain = c;
        step.instruction = i;
        const absl::Status status = ReadStep(*instructions.Get(i), first, end, step);
        if (!status.ok()) problems.Add(Annotate(status, facts_.PlaceOf(step)));
        facts_.steps.push_back(step);
      }
    }
    if (!unknown_.empty()) {
      std::vector<std::string> names;
      for (const auto& [name, place] : unknown_) {
        names.push_back(absl::StrCat(Quoted(name), " (", place, ")"));
      }
      problems.Add(absl::UnimplementedError(
          absl::StrCat(facts_.name, ": unknown operators: ", ListFirst(names, ", "))));
    }
    return problems.ToStatus();
  }

 private:
  absl::Status CheckValue(int64_t value, std::string_view what) const {
    if (value >= 0 && static_cast<uint64_t>(value) < values_.size()) return absl::OkStatus();
    return Broken(
        absl::StrCat(what, ": value ", value, " does not exist, there are ", values_.size()));
  }

  absl::Status ReadInputsAndOutputs() {
    const auto *inputs = plan_.inputs(), *outputs = plan_.outputs();
    if (inputs == nullptr) return Broken(absl::StrCat(facts_.name, ": inputs are missing"));
    if (outputs == nullptr) return Broken(absl::StrCat(facts_.name, ": outputs are missing"));
    if (inputs->size() > limits_.values || outputs->size() > limits_.values) {
      return absl::ResourceExhaustedError(
          absl::StrCat(facts_.name, ": ", inputs->size(), " inputs and ", outputs->size(),
                       " outputs, the limit 'values' is ", limits_.values));
    }
    Problems problems;
    for (flatbuffers::uoffset_t i = 0; i < inputs->size(); ++i) {
      const std::string place = absl::StrCat(facts_.name, ", input ", i);
      const absl::Status status = CheckValue(inputs->Get(i), place);
      problems.Add(status);
      if (!status.ok()) continue;
      ValueFacts& value = values_[inputs->Get(i)];
      if (value.input) {
        problems.Add(absl::UnimplementedError(
            absl::StrCat(place, ": value ", inputs->Get(i), " is already another input")));
      }
      value.input = true;
      if (value.kind > KernelTypes::String) {
        problems.Add(
            Broken(absl::StrCat(place, ": a ", KindName(value.kind), " can't be an input")));
      } else if (value.is_tensor() && value.content.has_value()) {
        problems.Add(Broken(absl::StrCat(place, ": value ", inputs->Get(i), " has content")));
      }
    }
    for (flatbuffers::uoffset_t i = 0; i < outputs->size(); ++i) {
      const std::string place = absl::StrCat(facts_.name, ", output ", i);
      const absl::Status status = CheckValue(outputs->Get(i), place);
      problems.Add(status);
      if (!status.ok()) continue;
      ValueFacts& value = values_[outputs->Get(i)];
      value.output = value.read = true;
      if (value.kind > KernelTypes::String) {
        problems.Add(absl::UnimplementedError(
            absl::StrCat(place, ": a ", KindName(value.kind), " as an output")));
      }
    }
    return problems.ToStatus();
  }

  // Also checks that the lists exist.
  absl::Status FindOperators() {
    if (plan_.chains() == nullptr || plan_.chains()->size() == 0) {
      return Broken(absl::StrCat(facts_.name, ": chains are missing"));
    }
    if (plan_.delegates() == nullptr) {
      return Broken(absl::StrCat(facts_.name, ": delegates are missing"));
    }
    if (plan_.operators() == nullptr) return absl::OkStatus();
    const uint64_t count = plan_.operators()->size();
    if (count > limits_.instructions) {
      return absl::ResourceExhaustedError(absl::StrCat(facts_.name, ": ", count,
                                                       " operators, the limit 'instructions' is ",
                                                       limits_.instructions));
    }
    MemoryBound bound;
    bound.Add(count, 256);
    ABSL_RETURN_IF_ERROR(CheckMemory(bound.bytes(), "the list of operators"));
    operators_.reserve(count);
    Problems problems;
    for (flatbuffers::uoffset_t i = 0; i < count; ++i) {
      const Operator& op = *plan_.operators()->Get(i);
      NamedOperator named;
      const std::string place = absl::StrCat(facts_.name, ", operator ", i);
      const size_t overload = op.overload() == nullptr ? 0 : op.overload()->size();
      if (op.name() == nullptr || op.name()->size() == 0) {
        problems.Add(Broken(absl::StrCat(place, ": its name is missing")));
      } else if (op.name()->size() >= kMostNameBytes || overload >= kMostNameBytes) {
        problems.Add(
            Broken(absl::StrCat(place, ": its name and overload have ", op.name()->size(), " and ",
                                overload, " bytes, expected less than ", kMostNameBytes)));
      } else {
        named.name = absl::StrCat(op.name()->string_view(), overload == 0 ? "" : ".",
                                  overload == 0 ? "" : op.overload()->string_view());
        named.op = FindPortable(named.name);
      }
      operators_.push_back(std::move(named));
    }
    return problems.ToStatus();
  }

  absl::Status CheckCounts() {
    MemoryBound steps, operands;
    for (flatbuffers::uoffset_t c = 0; c < plan_.chains()->size(); ++c) {
      const auto* instructions = plan_.chains()->Get(c)->instructions();
      if (instructions == nullptr) {
        return Broken(absl::StrCat(facts_.name, ", chain ", c, ": instructions are missing"));
      }
      steps.Add(1, instructions->size());
      if (steps.bytes() > limits_.instructions) {
        return absl::ResourceExhaustedError(
            absl::StrCat(facts_.name, ": ", steps.bytes(),
                         " instructions, the limit 'instructions' is ", limits_.instructions));
      }
      for (const Instruction* instruction : *instructions) {
        const auto count = [&](const auto* call) {
          if (call != nullptr && call->args() != nullptr) operands.Add(1, call->args()->size());
        };
        count(instruction->instr_args_as_KernelCall());
        count(instruction->instr_args_as_DelegateCall());
      }
    }
    if (operands.bytes() > limits_.operands) {
      return absl::ResourceExhaustedError(absl::StrCat(facts_.name, ": ", operands.bytes(),
                                                       " operands, the limit 'operands' is ",
                                                       limits_.operands));
    }
    const MemoryBound text = TextBytes();
    MemoryBound copied = text;
    copied.Add(steps.bytes(), kWrittenBytes);
    copied.Add(operands.bytes(), kWrittenOperandBytes);
    ABSL_RETURN_IF_ERROR(
        budget_.Take(copied.bytes(), absl::StrCat("the instructions of ", facts_.name)));
    MemoryBound bound = text;
    bound.Add(steps.bytes(), kStepBytes);
    bound.Add(operands.bytes(), 64);
    return CheckMemory(bound.bytes(), absl::StrCat("the instructions of ", facts_.name));
  }

  // Bytes of the strings of the method and of its delegates, which may be shared with others.
  MemoryBound TextBytes() const {
    MemoryBound text;
    const auto add = [&](const auto* vector) {
      if (vector != nullptr) text.Add(1, vector->size());
    };
    add(plan_.name());
    if (plan_.container_meta_type() != nullptr) {
      add(plan_.container_meta_type()->encoded_inp_str());
      add(plan_.container_meta_type()->encoded_out_str());
    }
    for (const BackendDelegate* delegate : *plan_.delegates()) {
      text.Add(1, kDelegateBytes);
      add(delegate->id());
      if (delegate->compile_specs() == nullptr) continue;
      for (const CompileSpec* spec : *delegate->compile_specs()) {
        text.Add(1, kDelegateBytes);
        add(spec->key());
        add(spec->value());
      }
    }
    return text;
  }

  absl::Status ReadStep(const Instruction& instruction, size_t first, size_t end, Step& step) {
    step.kind = instruction.instr_args_type();
    if (step.kind != InstructionArguments::NONE && step.kind <= InstructionArguments::MAX &&
        instruction.instr_args() == nullptr) {
      return Broken("its arguments are missing");
    }
    switch (step.kind) {
      case InstructionArguments::KernelCall:
        return ReadKernelCall(*instruction.instr_args_as_KernelCall(), step);
      case InstructionArguments::DelegateCall:
        return ReadDelegateCall(*instruction.instr_args_as_DelegateCall(), step);
      case InstructionArguments::MoveCall:
        return ReadMove(*instruction.instr_args_as_MoveCall(), step);
      case InstructionArguments::JumpFalseCall:
        return ReadJump(*instruction.instr_args_as_JumpFalseCall(), first, end, step);
      case InstructionArguments::FreeCall: {
        const int32_t value = instruction.instr_args_as_FreeCall()->value_index();
        ABSL_RETURN_IF_ERROR(CheckValue(value, "FreeCall"));
        if (values_[value].is_tensor()) return absl::OkStatus();
        return Broken(absl::StrCat("FreeCall: value ", value, " is ", KindName(values_[value].kind),
                                   ", expected Tensor"));
      }
      default:
        return Broken(absl::StrCat("kind ", static_cast<int>(step.kind), " is unknown"));
    }
  }

  template <class Call>
  absl::Status ReadArguments(const Call& call, Step& step) const {
    step.args = call.args();
    if (step.args == nullptr) return Broken("args are missing");
    for (flatbuffers::uoffset_t k = 0; k < step.args->size(); ++k) {
      const int32_t value = step.args->Get(k);
      if (value < 0 || static_cast<uint32_t>(value) >= values_.size()) {
        return CheckValue(value, absl::StrCat("argument ", k));
      }
    }
    return absl::OkStatus();
  }

  ValueFacts& Argument(const Step& step, size_t k) { return values_[step.args->Get(k)]; }

  absl::Status ReadKernelCall(const KernelCall& call, Step& step) {
    const int64_t index = call.op_index();
    if (index < 0 || static_cast<uint64_t>(index) >= operators_.size()) {
      return Broken(
          absl::StrCat("operator ", index, " does not exist, there are ", operators_.size()));
    }
    step.op = operators_[index].op;
    ABSL_RETURN_IF_ERROR(ReadArguments(call, step));
    if (step.op == nullptr) {
      unknown_.emplace(operators_[index].name,
                       absl::StrCat("chain ", step.chain, ", instruction ", step.instruction));
      return absl::OkStatus();
    }
    const PortableOperator& op = *step.op;
    if (step.args->size() != op.call_size()) {
      return Broken(
          absl::StrCat("it has ", step.args->size(), " arguments, expected ", op.call_size()));
    }
    Problems problems;
    for (size_t k = 0; k < op.arguments.size(); ++k) {
      problems.Add(CheckArgument(op.arguments[k], Argument(step, k)));
    }
    ABSL_RETURN_IF_ERROR(problems.ToStatus());
    if (op.result == Result::kValue) ABSL_RETURN_IF_ERROR(CheckResult(step));
    NoteUses(step);
    return absl::OkStatus();
  }

  absl::Status CheckArgument(const PortableArgument& argument, const ValueFacts& value) const {
    if (value.kind == KernelTypes::Null && argument.optional) return absl::OkStatus();
    if (argument.kind == ArgumentKind::kScalar && IsNumber(value.kind)) return absl::OkStatus();
    const KernelTypes expected = KindOf(argument);
    if (value.kind == expected) return absl::OkStatus();
    return Broken(absl::StrCat(
        "argument '", argument.name, "' is ", KindName(value.kind), ", expected ",
        argument.kind == ArgumentKind::kScalar ? "Int, Double or Bool" : KindName(expected),
        argument.optional ? " or Null" : ""));
  }

  absl::Status CheckResult(const Step& step) {
    const ValueFacts& result = Argument(step, step.op->arguments.size());
    const bool view = IsView(*step.op);
    if (view ? !result.is_tensor() : !IsNumber(result.kind)) {
      return Broken(absl::StrCat("its result goes to a ", KindName(result.kind), ", expected ",
                                 view ? "Tensor" : "Int, Double or Bool"));
    }
    if (!view || result.layout.dtype == Argument(step, 0).layout.dtype) return absl::OkStatus();
    return Broken(absl::StrCat("a view of ", DTypeName(Argument(step, 0).layout.dtype), " is ",
                               DTypeName(result.layout.dtype)));
  }

  // Applies `use` to a tensor, or to each tensor of a list.
  template <class Use>
  void ForEachTensor(ValueFacts& value, const Use& use) {
    if (value.is_tensor()) return use(value);
    const auto each = [&](const auto& items) {
      for (const int32_t element : items) {
        if (element >= 0) use(values_[element]);
      }
    };
    if (value.kind == KernelTypes::TensorList) each(*value.value->val_as_TensorList()->items());
    if (value.kind == KernelTypes::OptionalTensorList) {
      each(*value.value->val_as_OptionalTensorList()->items());
    }
  }

  void NoteUses(const Step& step) {
    const PortableOperator& op = *step.op;
    const size_t outs = op.arguments.size() - op.outs;
    for (size_t k = 0; k < op.arguments.size(); ++k) {
      ForEachTensor(Argument(step, k), [&](ValueFacts& tensor) {
        const bool out = k >= outs || (op.result == Result::kNone && op.arguments[k].written);
        if (out) {
          tensor.written = true;
        } else {
          tensor.read = true;
          tensor.updated |= op.arguments[k].written;
        }
      });
    }
    if (op.result != Result::kValue) return;
    const int32_t result = step.args->Get(op.arguments.size());
    ValueFacts& value = values_[result];
    if (IsView(op)) {
      const int32_t base = step.args->Get(0);
      value.several_views |= value.view_of >= 0 && value.view_of != base;
      value.view_of = base;
    } else {
      value.computed = ResultKind(step);
    }
  }

  ScalarKind KindOfScalar(const ValueFacts& value) const {
    return value.computed.value_or(DeclaredKind(value));
  }

  // Kind of the computed scalar; ExecuTorch's runtime replaces the value, whatever its kind was.
  ScalarKind ResultKind(const Step& step) {
    const std::string_view name = step.op->name;
    const ValueFacts& first = Argument(step, 0);
    if (name == "aten::_local_scalar_dense") {
      const DType dtype = first.layout.dtype;
      return dtype == DType::kBool    ? ScalarKind::kBool
             : IsFloatingPoint(dtype) ? ScalarKind::kDouble
                                      : ScalarKind::kInt;
    }
    if (!name.starts_with("executorch_prim::")) return ScalarKind::kInt;
    for (const std::string_view op : {"eq", "gt", "lt", "ge", "le", "sym_not"}) {
      if (name == absl::StrCat("executorch_prim::", op, ".Scalar")) return ScalarKind::kBool;
    }
    for (const std::string_view op : {"truediv", "sym_float"}) {
      if (name == absl::StrCat("executorch_prim::", op, ".Scalar")) return ScalarKind::kDouble;
    }
    for (const std::string_view op : {"add", "sub", "mul", "floordiv", "neg"}) {
      if (name != absl::StrCat("executorch_prim::", op, ".Scalar")) continue;
      for (size_t k = 0; k < step.op->arguments.size(); ++k) {
        if (KindOfScalar(Argument(step, k)) == ScalarKind::kDouble) return ScalarKind::kDouble;
      }
      return ScalarKind::kInt;
    }
    if (name == "executorch_prim::sym_ite.Scalar") return KindOfScalar(Argument(step, 1));
    return ScalarKind::kInt;
  }

  absl::Status ReadDelegateCall(const DelegateCall& call, Step& step) {
    const int64_t index = call.delegate_index();
    if (index < 0 || static_cast<uint64_t>(index) >= plan_.delegates()->size()) {
      return Broken(absl::StrCat("delegate ", index, " does not exist, there are ",
                                 plan_.delegates()->size()));
    }
    step.delegate = static_cast<uint32_t>(index);
    ABSL_RETURN_IF_ERROR(ReadArguments(call, step));
    ABSL_ASSIGN_OR_RETURN(step.outputs, CountOutputs(step));
    for (uint32_t k = 0; k < step.args->size(); ++k) {
      ValueFacts& value = Argument(step, k);
      if (k >= step.args->size() - step.outputs) {
        value.written = true;
      } else {
        ForEachTensor(value, [](ValueFacts& tensor) { tensor.read = true; });
      }
    }
    return absl::OkStatus();
  }

  // The call does not record the number of outputs; the delegate may. All calls of a delegate have
  // the same number.
  absl::StatusOr<uint32_t> CountOutputs(const Step& step) {
    const auto known = outputs_of_.find(step.delegate);
    if (known != outputs_of_.end()) return std::min(known->second, step.args->size());
    ABSL_ASSIGN_OR_RETURN(const std::optional<uint32_t> declared, DeclaredOutputs(step.delegate));
    const uint32_t count =
        declared.has_value() ? std::min(*declared, step.args->size()) : CountUnwritten(step);
    outputs_of_.emplace(step.delegate, count);
    return count;
  }

  absl::StatusOr<std::optional<uint32_t>> DeclaredOutputs(uint32_t index) {
    const BackendDelegate& delegate = *plan_.delegates()->Get(index);
    if (delegate.id() == nullptr) return std::nullopt;
    const absl::StatusOr<absl::Span<const std::byte>> payload =
        file_.Processed(delegate.processed());
    // Translating the delegate reports the error.
    if (!payload.ok()) return std::nullopt;
    return DelegateOutputs(delegate.id()->string_view(), *payload, budget_);
  }

  // Counts the trailing tensors that no step has written before. ExecuTorch's writer omits a view
  // at the offset of its base; such a view is mistaken for an output if it is the last argument.
  uint32_t CountUnwritten(const Step& step) {
    uint32_t count = 0;
    while (count < step.args->size()) {
      const ValueFacts& value = Argument(step, step.args->size() - 1 - count);
      if (!value.is_tensor() || value.input || value.written || value.view_of >= 0 ||
          value.content.has_value()) {
        break;
      }
      ++count;
    }
    return count;
  }

  absl::Status ReadMove(const MoveCall& move, Step& step) {
    ABSL_RETURN_IF_ERROR(CheckValue(move.move_from(), "move_from"));
    ABSL_RETURN_IF_ERROR(CheckValue(move.move_to(), "move_to"));
    step.from = static_cast<uint32_t>(move.move_from());
    step.to = static_cast<uint32_t>(move.move_to());
    ValueFacts &from = values_[step.from], &to = values_[step.to];
    if (from.kind != to.kind) {
      return Broken(absl::StrCat("value ", step.from, " is ", KindName(from.kind), ", value ",
                                 step.to, " is ", KindName(to.kind)));
    }
    if (!from.is_tensor() && !IsNumber(from.kind)) {
      return absl::UnimplementedError(absl::StrCat("a move of a ", KindName(from.kind)));
    }
    from.read = true;
    to.written = true;
    if (!to.is_tensor()) to.computed = KindOfScalar(from);
    return absl::OkStatus();
  }

  absl::Status ReadJump(const JumpFalseCall& jump, size_t first, size_t end, Step& step) {
    ABSL_RETURN_IF_ERROR(CheckValue(jump.cond_value_index(), "cond_value_index"));
    step.condition = static_cast<uint32_t>(jump.cond_value_index());
    ValueFacts& condition = values_[step.condition];
    condition.read = true;
    if (condition.is_tensor() ? condition.layout.dtype != DType::kBool
                              : condition.kind != KernelTypes::Bool) {
      return Broken(absl::StrCat(
          "the condition, value ", step.condition, ", is ",
          condition.is_tensor() ? DTypeName(condition.layout.dtype) : KindName(condition.kind),
          ", expected Bool or a tensor of them"));
    }
    const int64_t target = jump.destination_instruction();
    if (target < 0) return Broken(absl::StrCat("destination ", target, " is negative"));
    // The position after the chain's last instruction is its end.
    const std::optional<uint64_t> destination =
        CheckedAdd<uint64_t>(first, static_cast<uint64_t>(target));
    step.target = static_cast<uint32_t>(std::min<uint64_t>(destination.value_or(end), end));
    return absl::OkStatus();
  }

  struct NamedOperator {
    std::string name;
    const PortableOperator* op = nullptr;
  };
  const ProgramFile& file_;
  const Limits& limits_;
  MemoryBudget& budget_;
  MethodFacts& facts_;
  const ExecutionPlan& plan_;
  std::vector<ValueFacts>& values_;
  std::vector<NamedOperator> operators_;
  std::map<std::string, std::string> unknown_;  // operators, and the position of the first call
  std::map<uint32_t, uint32_t> outputs_of_;     // by delegate
};

}  // namespace

absl::Status ReadSteps(const ProgramFile& file, const Limits& limits, MemoryBudget& budget,
                       MethodFacts& facts) {
  return StepReader(file, limits, budget, facts).Read();
}

}  // namespace belay::pte
