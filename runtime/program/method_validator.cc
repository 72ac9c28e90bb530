#include "runtime/program/method_validator.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "runtime/core/bytes.h"
#include "runtime/core/checked_math.h"
#include "runtime/core/status_macros.h"
#include "runtime/program/instruction_validator.h"
#include "runtime/program/segment_validator.h"
#include "runtime/program/value_validator.h"
#include "runtime/schema/file_format.h"

namespace belay {
namespace {

class MethodValidator {
 public:
  MethodValidator(const MethodMessage& method, absl::Span<const SegmentPlan> segments,
                  absl::Span<const absl::Span<const std::byte>> constants, const Limits& limits,
                  const MetadataPath& path, uint64_t tensor_alignment)
      : method_(method),
        segments_(segments),
        constants_(constants),
        limits_(limits),
        path_(path),
        tensor_alignment_(tensor_alignment) {}

  absl::StatusOr<MethodPlan> Validate() {
    plan_.name = std::string(method_.name);
    plan_.in_spec = std::string(method_.in_spec);
    plan_.out_spec = std::string(method_.out_spec);
    ABSL_RETURN_IF_ERROR(ValidateMemory());
    const TensorMemory memory = {.constants = constants_,
                                 .banks = plan_.banks,
                                 .state_bytes = plan_.state_bytes,
                                 .alignment = tensor_alignment_};
    ABSL_RETURN_IF_ERROR(ValidateValues(method_.values, memory, limits_, path_, plan_));
    ABSL_RETURN_IF_ERROR(LimitMemory());
    owned_.assign(plan_.values.size(), 0);
    ABSL_RETURN_IF_ERROR(ValidateInputs());
    ABSL_RETURN_IF_ERROR(ValidateState());
    ABSL_RETURN_IF_ERROR(CheckTensorsOwned());
    ABSL_RETURN_IF_ERROR(ValidateOutputs());
    ABSL_RETURN_IF_ERROR(ValidateOperators());
    ABSL_RETURN_IF_ERROR(ValidateDelegates());
    ABSL_RETURN_IF_ERROR(ValidateInstructions(method_.instructions, limits_, path_, plan_));
    return std::move(plan_);
  }

 private:
  absl::Status ValidateMemory() {
    plan_.arena_bytes = method_.arena_bytes;
    plan_.state_bytes = method_.state_bytes;
    if (plan_.arena_bytes > limits_.reserved_bytes) {
      return path_.LimitError("reserved_bytes", plan_.arena_bytes, limits_.reserved_bytes);
    }
    return ValidateBanks();
  }

  absl::Status ValidateBanks() {
    const uint64_t count = method_.banks.count;
    if (count == 0) {
      plan_.banks.push_back({.bytes = plan_.arena_bytes});
      return absl::OkStatus();
    }
    const MetadataPath banks_path(path_, "banks");
    if (count > kMostBanks) {
      return banks_path.Error(absl::StrCat("expected at most ", kMostBanks, " banks, got ", count));
    }
    plan_.banks.reserve(count);
    uint64_t end = 0;
    WireElements elements(method_.banks);
    for (uint64_t i = 0; i < count; ++i) {
      const MetadataPath path(path_, "banks", i);
      MemoryBankMessage bank;
      ABSL_RETURN_IF_ERROR(Read(elements.NextMessage(), path, bank));
      const MetadataPath name_path(path, "name");
      if (bank.name.empty()) return name_path.Error("is empty");
      for (const BankPlan& other : plan_.banks) {
        if (other.name != bank.name) continue;
        return name_path.Error(absl::StrCat(Quoted(bank.name), " is the name of an earlier bank"));
      }
      if (bank.bytes % kTensorAlignment != 0 || bank.bytes > plan_.arena_bytes - end) {
        return MetadataPath(path, "bytes")
            .Error(absl::StrCat("expected a multiple of ", kTensorAlignment, " of at most ",
                                plan_.arena_bytes - end, ", the rest of the arena, got ",
                                bank.bytes));
      }
      if (!IsBankAlignment(bank.alignment)) {
        return MetadataPath(path, "alignment")
            .Error(absl::StrCat("expected a power of two from ", kTensorAlignment, " to ",
                                kMostBankAlignment, ", got ", bank.alignment));
      }
      plan_.banks.push_back({.name = std::string(bank.name),
                             .begin = end,
                             .bytes = bank.bytes,
                             .alignment = bank.alignment});
      end += bank.bytes;
    }
    if (end != plan_.arena_bytes) {
      return banks_path.Error(absl::StrCat("have ", end, " bytes, the arena ", plan_.arena_bytes));
    }
    return absl::OkStatus();
  }

  // An arena of tensors with dynamic sizes is limited by the sizes of each call.
  absl::Status LimitMemory() {
    plan_.reserves_arena =
        plan_.banks[0].name.empty() && plan_.arena_bytes > MethodPlan::kLargestFixedArena &&
        std::any_of(plan_.values.begin(), plan_.values.end(), [](const ValuePlan& value) {
          const auto* tensor = std::get_if<TensorPlan>(&value);
          return tensor != nullptr && tensor->location == TensorPlan::Location::kArena &&
                 !tensor->is_static();
        });
    const std::optional<uint64_t> sum =
        CheckedAdd(plan_.reserves_arena ? 0 : plan_.arena_bytes, plan_.state_bytes);
    if (!sum.has_value() || *sum > limits_.arena_bytes) {
      return path_.LimitError("arena_bytes", sum.value_or(UINT64_MAX), limits_.arena_bytes);
    }
    return absl::OkStatus();
  }

  absl::Status ValidateInputs() {
    plan_.inputs.reserve(method_.inputs.count);
    WireElements elements(method_.inputs);
    for (uint64_t i = 0; i < method_.inputs.count; ++i) {
      const MetadataPath path(path_, "inputs", i);
      InputMessage message;
      ABSL_RETURN_IF_ERROR(Read(elements.NextMessage(), path, message));
      ABSL_ASSIGN_OR_RETURN(InputPlan input, ValidateInput(message, path));
      plan_.inputs.push_back(std::move(input));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<InputPlan> ValidateInput(const InputMessage& input, const MetadataPath& path) {
    const MetadataPath value_path(path, "value");
    ABSL_RETURN_IF_ERROR(CheckValue(plan_, input.value, value_path));
    if (owned_[input.value]) {
      return value_path.Error(absl::StrCat("value ", input.value, " is another input already"));
    }
    owned_[input.value] = 1;
    InputPlan plan;
    plan.value = input.value;
    plan.name = std::string(input.name);
    plan.mutated = input.mutated;
    const ValuePlan& value = plan_.values[input.value];
    const auto* tensor = std::get_if<TensorPlan>(&value);
    if (plan.mutated && tensor == nullptr) {
      return MetadataPath(path, "mutated").Error("only tensors can be mutated");
    }
    if (tensor != nullptr) {
      if (tensor->location != TensorPlan::Location::kExternal) {
        return value_path.Error(
            absl::StrCat("value ", input.value, " is a tensor that is not external"));
      }
      ABSL_RETURN_IF_ERROR(ValidateTensorConstraints(input, *tensor, path, plan));
      return plan;
    }
    if (const auto* kind = std::get_if<ScalarKind>(&value);
        kind != nullptr && *kind == ScalarKind::kInt) {
      ABSL_RETURN_IF_ERROR(ValidateIntConstraint(input, path, plan));
      return plan;
    }
    if (input.constraints.count != 0) {
      return MetadataPath(path, "constraints").Error("only tensors and ints can be constrained");
    }
    if (!std::holds_alternative<ScalarKind>(value) && !std::holds_alternative<None>(value) &&
        !std::holds_alternative<int64_t>(value) && !std::holds_alternative<double>(value) &&
        !std::holds_alternative<bool>(value) && !std::holds_alternative<std::string>(value)) {
      return value_path.Error(absl::StrCat("value ", input.value, " can't be an input"));
    }
    return plan;
  }

  absl::StatusOr<SizeConstraint> ValidateConstraint(const WireMessage& message,
                                                    const MetadataPath& path) {
    SizeConstraintMessage constraint;
    ABSL_RETURN_IF_ERROR(Read(message, path, constraint));
    SizeConstraint plan;
    plan.dim = constraint.dim;
    plan.min = constraint.min;
    plan.max = constraint.max;
    plan.symbol = std::string(constraint.symbol);
    if (plan.min > plan.max) {
      return path.Error(absl::StrCat("min ", plan.min, " is above max ", plan.max));
    }
    if (!plan.symbol.empty()) {
      plan.multiplier = constraint.multiplier;
      plan.offset = constraint.offset;
      if (plan.multiplier < 1) {
        return MetadataPath(path, "multiplier")
            .Error(absl::StrCat(plan.multiplier, " is not positive"));
      }
    }
    return plan;
  }

  absl::Status ValidateTensorConstraints(const InputMessage& input, const TensorPlan& tensor,
                                         const MetadataPath& path, InputPlan& plan) {
    uint32_t constrained = 0;
    plan.constraints.reserve(input.constraints.count);
    WireElements elements(input.constraints);
    for (uint64_t c = 0; c < input.constraints.count; ++c) {
      const MetadataPath at(path, "constraints", c);
      ABSL_ASSIGN_OR_RETURN(SizeConstraint constraint,
                            ValidateConstraint(elements.NextMessage(), at));
      const uint32_t dim = constraint.dim;
      if (dim >= static_cast<uint32_t>(tensor.sizes.size()) ||
          ((tensor.dynamic_dims >> dim) & 1) == 0) {
        return MetadataPath(at, "dim").Error(absl::StrCat(dim, " is not a dynamic dimension"));
      }
      if (((constrained >> dim) & 1) != 0) {
        return MetadataPath(at, "dim").Error(absl::StrCat(dim, " has an earlier constraint"));
      }
      constrained |= uint32_t{1} << dim;
      if (constraint.min < 0 || constraint.max > tensor.sizes[dim]) {
        return at.Error(absl::StrCat("[", constraint.min, ",", constraint.max,
                                     "] is not inside [0,", tensor.sizes[dim],
                                     "], for which memory is planned"));
      }
      plan.constraints.push_back(std::move(constraint));
    }
    if (constrained != tensor.dynamic_dims) {
      return MetadataPath(path, "constraints")
          .Error(absl::StrCat("dimensions ", tensor.dynamic_dims,
                              " (as bits) are dynamic, constrained: ", constrained));
    }
    return absl::OkStatus();
  }

  absl::Status ValidateIntConstraint(const InputMessage& input, const MetadataPath& path,
                                     InputPlan& plan) {
    if (input.constraints.count > 1) {
      return MetadataPath(path, "constraints").Error("an int has at most one constraint");
    }
    if (input.constraints.count == 0) return absl::OkStatus();
    const MetadataPath at(path, "constraints", 0);
    ABSL_ASSIGN_OR_RETURN(SizeConstraint constraint,
                          ValidateConstraint(WireElements(input.constraints).NextMessage(), at));
    if (constraint.dim != 0) {
      return MetadataPath(at, "dim").Error(
          absl::StrCat(constraint.dim, " is not 0, as required for an int"));
    }
    plan.constraints.push_back(std::move(constraint));
    return absl::OkStatus();
  }

  absl::Status ValidateState() {
    absl::flat_hash_set<std::string> names;
    std::vector<std::pair<uint64_t, uint32_t>> by_offset;
    plan_.state.reserve(method_.state.count);
    WireElements elements(method_.state);
    for (uint64_t i = 0; i < method_.state.count; ++i) {
      const MetadataPath path(path_, "state", i);
      StateBufferMessage state;
      ABSL_RETURN_IF_ERROR(Read(elements.NextMessage(), path, state));
      StatePlan plan;
      plan.name = std::string(state.name);
      plan.value = state.value;
      if (plan.name.empty()) return MetadataPath(path, "name").Error("is empty");
      if (!names.insert(plan.name).second) {
        return MetadataPath(path, "name")
            .Error(absl::StrCat(Quoted(plan.name), " is the name of an earlier buffer"));
      }
      const MetadataPath value_path(path, "value");
      ABSL_RETURN_IF_ERROR(CheckValue(plan_, plan.value, value_path));
      const auto* tensor = std::get_if<TensorPlan>(&plan_.values[plan.value]);
      if (tensor == nullptr || tensor->location != TensorPlan::Location::kState) {
        return value_path.Error(
            absl::StrCat("value ", plan.value, " is not a tensor in the state"));
      }
      if (owned_[plan.value]) {
        return value_path.Error(
            absl::StrCat("value ", plan.value, " is that of an earlier buffer"));
      }
      owned_[plan.value] = 1;
      if (state.initial != 0) {
        const uint64_t constant = state.initial - 1;
        const MetadataPath initial(path, "initial");
        if (constant >= constants_.size()) {
          return initial.Error(absl::StrCat("constant ", constant, " does not exist, there are ",
                                            constants_.size()));
        }
        if (constants_[constant].size() != tensor->max_bytes) {
          return initial.Error(absl::StrCat("constant ", constant, " has ",
                                            constants_[constant].size(), " bytes, the buffer has ",
                                            tensor->max_bytes));
        }
        plan.initial = constants_[constant];
      }
      if (tensor->max_bytes > 0) by_offset.push_back({tensor->offset, plan.value});
      plan_.state.push_back(std::move(plan));
    }
    std::sort(by_offset.begin(), by_offset.end());
    for (size_t i = 1; i < by_offset.size(); ++i) {
      const auto& before = std::get<TensorPlan>(plan_.values[by_offset[i - 1].second]);
      if (by_offset[i].first < before.offset + before.max_bytes) {
        return MetadataPath(path_, "state")
            .Error(absl::StrCat("values ", by_offset[i - 1].second, " and ", by_offset[i].second,
                                " overlap"));
      }
    }
    return absl::OkStatus();
  }

  // Tensors in caller memory and state have external names: each must be exactly one input or state
  // buffer.
  absl::Status CheckTensorsOwned() const {
    for (size_t v = 0; v < plan_.values.size(); ++v) {
      const auto* tensor = std::get_if<TensorPlan>(&plan_.values[v]);
      if (tensor == nullptr || owned_[v]) continue;
      if (tensor->location == TensorPlan::Location::kExternal) {
        return MetadataPath(path_, "values", v).Error("an external tensor that is not an input");
      }
      if (tensor->location == TensorPlan::Location::kState) {
        return MetadataPath(path_, "values", v).Error("a tensor in the state that is not a buffer");
      }
    }
    return absl::OkStatus();
  }

  absl::Status ValidateOutputs() {
    plan_.outputs.reserve(method_.outputs.count());
    absl::Status status;
    const bool readable = ForEachNumber(method_.outputs, [&](uint32_t value) {
      const MetadataPath path(path_, "outputs", plan_.outputs.size());
      status = CheckValue(plan_, value, path);
      if (status.ok() && std::holds_alternative<ListPlan>(plan_.values[value])) {
        status = path.Error(absl::StrCat("value ", value, " is a list"));
      }
      plan_.outputs.push_back(value);
      return status.ok();
    });
    ABSL_RETURN_IF_ERROR(status);
    return readable ? absl::OkStatus() : NumbersError(MetadataPath(path_, "outputs"));
  }

  absl::Status ValidateOperators() {
    absl::flat_hash_set<std::string_view> names;
    plan_.operators.reserve(method_.operators.count);
    WireElements elements(method_.operators);
    for (uint64_t i = 0; i < method_.operators.count; ++i) {
      const MetadataPath path(path_, "operators", i);
      const std::string_view name = elements.NextString();
      if (name.empty()) return path.Error("is empty");
      if (!names.insert(name).second) {
        return path.Error(absl::StrCat(Quoted(name), " is there already"));
      }
      plan_.operators.emplace_back(name);
    }
    return absl::OkStatus();
  }

  absl::Status ValidateDelegates() {
    plan_.delegates.reserve(method_.delegates.count);
    WireElements elements(method_.delegates);
    for (uint64_t i = 0; i < method_.delegates.count; ++i) {
      const MetadataPath path(path_, "delegates", i);
      DelegateMessage delegate;
      ABSL_RETURN_IF_ERROR(Read(elements.NextMessage(), path, delegate));
      if (delegate.backend_id.empty()) return MetadataPath(path, "backend_id").Error("is empty");
      DelegatePlan plan;
      plan.backend_id = std::string(delegate.backend_id);
      ABSL_ASSIGN_OR_RETURN(plan.blob,
                            WholeSegment(segments_, delegate.segment, SegmentPlan::Kind::kDelegate,
                                         MetadataPath(path, "segment")));
      plan.compile_specs.reserve(delegate.compile_specs.count);
      WireElements specs(delegate.compile_specs);
      for (uint64_t k = 0; k < delegate.compile_specs.count; ++k) {
        CompileSpecMessage spec;
        ABSL_RETURN_IF_ERROR(
            Read(specs.NextMessage(), MetadataPath(path, "compile_specs", k), spec));
        plan.compile_specs.push_back(
            {.key = std::string(spec.key), .value = std::string(AsString(spec.value))});
      }
      plan_.delegates.push_back(std::move(plan));
    }
    return absl::OkStatus();
  }

  const MethodMessage& method_;
  const absl::Span<const SegmentPlan> segments_;
  const absl::Span<const absl::Span<const std::byte>> constants_;
  const Limits& limits_;
  const MetadataPath& path_;
  const uint64_t tensor_alignment_;
  MethodPlan plan_;
  std::vector<uint8_t> owned_;  // by value: an input or a state buffer
};

}  // namespace

absl::StatusOr<MethodPlan> ValidateMethod(const MethodMessage& method,
                                          absl::Span<const SegmentPlan> segments,
                                          absl::Span<const absl::Span<const std::byte>> constants,
                                          const Limits& limits, const MetadataPath& path,
                                          uint64_t tensor_alignment) {
  return MethodValidator(method, segments, constants, limits, path, tensor_alignment).Validate();
}

}  // namespace belay
