#include "executorch/reader/method_writer.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "executorch/reader/problems.h"
#include "runtime/core/annotate.h"
#include "runtime/core/evalue.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/utf8.h"
#include "runtime/program/metadata_path.h"

namespace belay::pte {
namespace {

using Place = ValueFacts::Place;
using Result = PortableOperator::Result;

// Belay's names of operators without `functional`; their kernels are in prim_kernels.h.
struct OtherName {
  std::string_view portable, name;
};
constexpr OtherName kOtherNames[] = {
    {"executorch_prim::et_copy_index.tensor", "executorch_prim.et_copy_index_.tensor"},
    {"executorch_prim::et_view.default", "aten.view_copy.default"},
    {"executorch_prim::floordiv.int", "executorch_prim.floordiv.int"},
    {"executorch_prim::mod.Scalar", "executorch_prim.mod.int"},
    {"executorch_prim::mod.int", "executorch_prim.mod.int"},
    {"executorch_prim::round.Scalar", "executorch_prim.round.Scalar"},
};

// Operators with the arguments dtype, layout, device and pin_memory, and the index of the first of
// them.
struct Creation {
  std::string_view functional;
  size_t position;
};
constexpr Creation kCreations[] = {
    {"aten._to_copy.default", 1},
    {"aten.arange.default", 1},
    {"aten.arange.start_step", 3},
    {"aten.empty.memory_format", 1},
    {"aten.full.default", 2},
    {"aten.full_like.default", 2},
    {"aten.ones.default", 1},
    {"aten.rand.default", 1},
    {"aten.randn.default", 1},
    {"aten.scalar_tensor.default", 1},
    {"aten.zeros.default", 1},
    {"dim_order_ops._empty_dim_order.default", 1},
    {"dim_order_ops._to_dim_order_copy.default", 1},
};

std::string_view BelayName(const PortableOperator& op) {
  for (const OtherName& other : kOtherNames) {
    if (other.portable == op.name) return other.name;
  }
  return op.functional;
}

// c10::MemoryFormat.
std::optional<MemoryFormat> MemoryFormatFromC10(int64_t number) {
  switch (number) {
    case 0:
      return MemoryFormat::kContiguous;
    case 1:
      return MemoryFormat::kPreserve;
    case 2:
      return MemoryFormat::kChannelsLast;
    case 3:
      return MemoryFormat::kChannelsLast3d;
    default:
      return std::nullopt;
  }
}

schema::ScalarSlot::Kind SlotKind(ScalarKind kind) {
  return static_cast<schema::ScalarSlot::Kind>(kind);
}

class MethodWriter {
 public:
  MethodWriter(const MethodFacts& facts, PartsBuilder& parts, MemoryBudget& budget,
               schema::Method& method, schema::MethodDebugInfo& debug)
      : facts_(facts),
        plan_(*facts.plan),
        parts_(parts),
        budget_(budget),
        method_(method),
        debug_(debug) {}

  absl::Status Write() {
    method_.set_name(plan_.name()->str());
    method_.set_arena_bytes(facts_.arena_bytes);
    method_.set_state_bytes(facts_.state_bytes);
    ABSL_RETURN_IF_ERROR(WriteSpecs());
    Problems problems;
    for (uint32_t v = 0; v < facts_.values.size(); ++v) WriteValue(v, *method_.add_values());
    WriteLists();
    for (uint32_t i = 0; i < plan_.inputs()->size(); ++i) {
      problems.Add(Annotate(WriteInput(i), absl::StrCat(facts_.name, ", input ", i)));
    }
    for (const int32_t value : *plan_.outputs()) method_.add_outputs(value);
    WriteFirstContents();
    std::vector<uint32_t> first_instructions;
    for (const Step& step : facts_.steps) {
      first_instructions.push_back(method_.instructions_size());
      absl::Status status = WriteStep(step);
      if (status.ok()) status = AddSource(step, static_cast<int>(first_instructions.back()));
      if (!status.ok()) problems.Add(Annotate(status, facts_.PlaceOf(step)));
    }
    first_instructions.push_back(method_.instructions_size());
    for (const auto& [instruction, step] : jumps_) {
      schema::Instruction& jump = *method_.mutable_instructions(instruction);
      const uint32_t target = first_instructions[step];
      if (jump.has_jump()) {
        jump.mutable_jump()->set_target(target);
      } else {
        jump.mutable_jump_if_false()->set_target(target);
      }
    }
    return problems.ToStatus();
  }

 private:
  // Adds the source of the step's instructions, which begin at `first`; there may be none.
  absl::Status AddSource(const Step& step, int first) {
    const std::string source = facts_.SourceOf(step);
    if (source.empty()) return absl::OkStatus();
    while (debug_.instructions_size() < first) debug_.add_instructions();
    while (debug_.instructions_size() < method_.instructions_size()) {
      ABSL_RETURN_IF_ERROR(budget_.Take(source.size(), "the names of source files"));
      debug_.add_instructions()->set_source(source);
    }
    return absl::OkStatus();
  }

  void AddMove(uint32_t from, uint32_t to) {
    schema::Move& move = *method_.add_instructions()->mutable_move();
    move.set_from(from);
    move.set_to(to);
  }

  absl::Status WriteSpecs() {
    const ContainerMetadata* specs = plan_.container_meta_type();
    if (specs == nullptr) return absl::OkStatus();
    for (const auto* text : {specs->encoded_inp_str(), specs->encoded_out_str()}) {
      if (text != nullptr && !IsUtf8(text->string_view())) {
        return absl::InvalidArgumentError(
            absl::StrCat(facts_.name, ", container_meta_type: the text is not UTF-8"));
      }
    }
    if (specs->encoded_inp_str() != nullptr) method_.set_in_spec(specs->encoded_inp_str()->str());
    if (specs->encoded_out_str() != nullptr) method_.set_out_spec(specs->encoded_out_str()->str());
    return absl::OkStatus();
  }

  // --- Values ---

  void WriteValue(uint32_t index, schema::Value& value) {
    const ValueFacts& facts = facts_.values[index];
    if (facts.computed.has_value()) {
      value.mutable_scalar()->set_kind(SlotKind(*facts.computed));
      return;
    }
    switch (facts.kind) {
      case KernelTypes::Int:
        value.set_int_(facts.value->val_as_Int()->int_val());
        return;
      case KernelTypes::Bool:
        value.set_bool_(facts.value->val_as_Bool()->bool_val());
        return;
      case KernelTypes::Double:
        value.set_double_(facts.value->val_as_Double()->double_val());
        return;
      case KernelTypes::String:
        value.set_string(facts.value->val_as_String()->string_val()->str());
        return;
      case KernelTypes::Tensor:
        if (facts.place != Place::kUnused) return WriteTensor(index, *value.mutable_tensor());
        break;
      default:
        break;
    }
    value.mutable_none();  // also for lists, which are appended later
  }

  void WriteLayout(const ValueFacts& facts, bool dynamic, schema::Tensor& tensor) {
    tensor.set_dtype(static_cast<uint32_t>(facts.layout.dtype));
    for (const int64_t size : facts.layout.sizes) tensor.add_sizes(size);
    tensor.set_dim_order(facts.layout.dim_order.data(), facts.layout.dim_order.size());
    // The file does not record which dimensions are dynamic.
    if (dynamic) tensor.set_dynamic_dims((uint32_t{1} << facts.layout.sizes.size()) - 1);
  }

  void WriteTensor(uint32_t index, schema::Tensor& tensor) {
    const ValueFacts& facts = facts_.values[index];
    WriteLayout(facts, facts.dynamic && facts.place != Place::kConstant, tensor);
    switch (facts.place) {
      case Place::kConstant:
        tensor.set_constant(parts_.AddConstant(*facts.content));
        return;
      case Place::kState:
        tensor.set_state_offset(facts.offset);
        return WriteState(index, facts);
      case Place::kExternal:
        tensor.mutable_external();
        return;
      default:
        tensor.set_arena_offset(facts.offset);
    }
  }

  void WriteState(uint32_t index, const ValueFacts& facts) {
    schema::StateBuffer& state = *method_.add_state();
    const ExtraTensorInfo* extra = facts.value->val_as_Tensor()->extra_tensor_info();
    std::string name;
    if (extra != nullptr && extra->fully_qualified_name() != nullptr) {
      name = extra->fully_qualified_name()->str();
    }
    // State is shared by name, so names must be unique; the file may not have them.
    if (name.empty() || !IsUtf8(name) || !state_names_.insert(name).second) {
      name = absl::StrCat("value ", index);
      while (!state_names_.insert(name).second) name.push_back('\'');
    }
    state.set_name(name);
    state.set_value(index);
    if (facts.content.has_value()) state.set_initial(parts_.AddConstant(*facts.content) + 1);
  }

  // Appends a value that the file does not have.
  uint32_t AddValue(schema::Value value) {
    *method_.add_values() = std::move(value);
    return static_cast<uint32_t>(method_.values_size() - 1);
  }
  uint32_t None() {
    if (!none_.has_value()) {
      schema::Value value;
      value.mutable_none();
      none_ = AddValue(std::move(value));
    }
    return *none_;
  }
  uint32_t DtypeValue(DType dtype) {
    const auto [it, added] = dtypes_.try_emplace(dtype, 0);
    if (added) {
      schema::Value value;
      value.set_dtype(static_cast<uint32_t>(dtype));
      it->second = AddValue(std::move(value));
    }
    return it->second;
  }
  uint32_t FormatValue(MemoryFormat format) {
    const auto [it, added] = formats_.try_emplace(format, 0);
    if (added) {
      schema::Value value;
      value.set_memory_format(static_cast<uint32_t>(format));
      it->second = AddValue(std::move(value));
    }
    return it->second;
  }

  void WriteLists() {
    lists_.assign(facts_.values.size(), 0);
    for (uint32_t v = 0; v < facts_.values.size(); ++v) {
      const EValue& value = *facts_.values[v].value;
      schema::List list;
      const auto add_values = [&](const auto& items) {
        for (flatbuffers::uoffset_t k = 0; k < items.size(); ++k) {
          const int64_t element = ElementAt(items, k);
          list.add_elements(element < 0 ? None() : static_cast<uint32_t>(element));
        }
      };
      switch (facts_.values[v].kind) {
        case KernelTypes::IntList:
          add_values(*value.val_as_IntList()->items());
          break;
        case KernelTypes::TensorList:
          add_values(*value.val_as_TensorList()->items());
          break;
        case KernelTypes::OptionalTensorList:
          add_values(*value.val_as_OptionalTensorList()->items());
          break;
        case KernelTypes::DoubleList:
          for (flatbuffers::uoffset_t k = 0; k < value.val_as_DoubleList()->items()->size(); ++k) {
            schema::Value element;
            element.set_double_(ElementAt(*value.val_as_DoubleList()->items(), k));
            list.add_elements(AddValue(std::move(element)));
          }
          break;
        case KernelTypes::BoolList:
          for (const uint8_t truth : *value.val_as_BoolList()->items()) {
            schema::Value element;
            element.set_bool_(truth != 0);
            list.add_elements(AddValue(std::move(element)));
          }
          break;
        default:
          continue;
      }
      schema::Value entry;
      *entry.mutable_list() = std::move(list);
      lists_[v] = AddValue(std::move(entry));
    }
  }

  // --- Inputs and initial contents ---

  absl::Status WriteInput(uint32_t i) {
    const uint32_t index = static_cast<uint32_t>(plan_.inputs()->Get(i));
    const ValueFacts& facts = facts_.values[index];
    if (facts.computed.has_value()) {
      return absl::UnimplementedError(
          absl::StrCat("value ", index, " is computed by instructions as well"));
    }
    schema::Input& input = *method_.add_inputs();
    input.set_name(absl::StrCat("input", i));
    input.set_value(index);
    if (!facts.is_tensor()) return absl::OkStatus();
    if (facts.place == Place::kCopiedInput) {
      schema::Value value;
      WriteLayout(facts, facts.dynamic, *value.mutable_tensor());
      value.mutable_tensor()->mutable_external();
      input.set_value(AddValue(std::move(value)));
      AddMove(input.value(), index);
    } else {
      input.set_mutated(facts.written || facts.updated);
    }
    if (!facts.dynamic) return absl::OkStatus();
    for (int d = 0; d < facts.layout.sizes.size(); ++d) {
      schema::SizeConstraint& constraint = *input.add_constraints();
      constraint.set_dim(d);
      constraint.set_max(facts.layout.sizes[d]);
    }
    return absl::OkStatus();
  }

  // Writes the nonzero initial values of computed scalars; they are assigned only at the first
  // call.
  void WriteFirstContents() {
    std::vector<std::pair<uint32_t, schema::Value>> contents;
    for (uint32_t v = 0; v < facts_.values.size(); ++v) {
      const ValueFacts& facts = facts_.values[v];
      if (!facts.computed.has_value() || facts.input) continue;
      schema::Value value;
      if (facts.kind == KernelTypes::Int && *facts.computed == ScalarKind::kInt) {
        value.set_int_(facts.value->val_as_Int()->int_val());
        if (value.int_() == 0) continue;
      } else if (facts.kind == KernelTypes::Double && *facts.computed == ScalarKind::kDouble) {
        value.set_double_(facts.value->val_as_Double()->double_val());
        if (value.double_() == 0) continue;
      } else if (facts.kind == KernelTypes::Bool && *facts.computed == ScalarKind::kBool) {
        if (!facts.value->val_as_Bool()->bool_val()) continue;
        value.set_bool_(true);
      } else {
        continue;
      }
      contents.push_back({v, std::move(value)});
    }
    if (contents.empty()) return;
    schema::Value slot, yes;
    slot.mutable_scalar()->set_kind(schema::ScalarSlot::BOOL);
    yes.set_bool_(true);
    const uint32_t started = AddValue(std::move(slot)), truth = AddValue(std::move(yes));
    schema::JumpIfFalse& first_call = *method_.add_instructions()->mutable_jump_if_false();
    first_call.set_condition(started);
    schema::Jump& later_calls = *method_.add_instructions()->mutable_jump();
    first_call.set_target(method_.instructions_size());
    for (auto& [index, value] : contents) AddMove(AddValue(std::move(value)), index);
    AddMove(truth, started);
    later_calls.set_target(method_.instructions_size());
  }

  // --- Instructions ---

  absl::Status WriteStep(const Step& step) {
    switch (step.kind) {
      case InstructionArguments::KernelCall:
        return WriteKernelCall(step);
      case InstructionArguments::DelegateCall:
        return WriteDelegateCall(step);
      case InstructionArguments::MoveCall:
        WriteMove(step);
        return absl::OkStatus();
      case InstructionArguments::JumpFalseCall:
        return WriteJump(step);
      default:
        return absl::OkStatus();  // FreeCall: the method owns the memory
    }
  }

  uint32_t OperatorIndex(std::string_view name) {
    const auto [it, added] =
        operators_.try_emplace(std::string(name), static_cast<uint32_t>(method_.operators_size()));
    if (added) method_.add_operators(it->first);
    return it->second;
  }

  // Lists have new indices.
  uint32_t Translated(uint32_t value) const { return lists_[value] != 0 ? lists_[value] : value; }

  absl::StatusOr<uint32_t> WriteArgument(const PortableArgument& argument, uint32_t index) {
    const ValueFacts& facts = facts_.values[index];
    if (facts.kind != KernelTypes::Int ||
        (argument.kind != ArgumentKind::kDtype && argument.kind != ArgumentKind::kMemoryFormat)) {
      return Translated(index);
    }
    const int64_t number = facts.value->val_as_Int()->int_val();
    if (facts.computed.has_value()) {
      return absl::InvalidArgumentError(
          absl::StrCat("argument '", argument.name, "' is computed, expected a literal"));
    }
    if (argument.kind == ArgumentKind::kDtype) {
      const std::optional<DType> dtype = DTypeFromC10({number});
      if (dtype.has_value()) return DtypeValue(*dtype);
    } else {
      const std::optional<MemoryFormat> format = MemoryFormatFromC10(number);
      if (format.has_value()) return FormatValue(*format);
    }
    return absl::InvalidArgumentError(
        absl::StrCat("argument '", argument.name, "' is ", number, ", which is not a ",
                     argument.kind == ArgumentKind::kDtype ? "dtype" : "memory format"));
  }

  // A view at the offset of its base needs no instruction, unless its sizes change.
  bool IsViewInPlace(const Step& step) const {
    const ValueFacts& base = facts_.values[step.args->Get(0)];
    const ValueFacts& view = facts_.values[step.args->Get(2)];
    if (view.place == Place::kConstant) return true;
    return !view.dynamic && !base.dynamic && view.place == Place::kArena &&
           (base.place == Place::kArena || base.place == Place::kCopiedInput) &&
           base.offset == view.offset && base.layout.bytes == view.layout.bytes;
  }

  absl::Status WriteKernelCall(const Step& step) {
    const PortableOperator& op = *step.op;
    if (IsView(op) && IsViewInPlace(step)) return absl::OkStatus();
    const std::string_view name = BelayName(op);
    std::vector<uint32_t> arguments, outputs;
    const size_t given = op.arguments.size() - op.outs;
    for (size_t k = 0; k < op.arguments.size(); ++k) {
      const uint32_t value = static_cast<uint32_t>(step.args->Get(k));
      if (k >= given) {
        outputs.push_back(Translated(value));
        continue;
      }
      ABSL_ASSIGN_OR_RETURN(const uint32_t argument, WriteArgument(op.arguments[k], value));
      arguments.push_back(argument);
    }
    if (op.result == Result::kSelf || op.result == Result::kNone) outputs.push_back(arguments[0]);
    if (op.result == Result::kValue) outputs.push_back(step.args->Get(op.arguments.size()));
    for (const Creation& creation : kCreations) {
      if (creation.functional != name) continue;
      const uint32_t dtype = DtypeValue(facts_.values[outputs[0]].layout.dtype);
      arguments.insert(arguments.begin() + creation.position, {dtype, None(), None(), None()});
    }
    schema::KernelCall& call = *method_.add_instructions()->mutable_kernel();
    call.set_operator_(OperatorIndex(name));
    for (const uint32_t value : arguments) call.add_arguments(value);
    for (const uint32_t value : outputs) call.add_outputs(value);
    return absl::OkStatus();
  }

  absl::Status WriteDelegateCall(const Step& step) {
    const auto [it, added] = delegates_.try_emplace(step.delegate, method_.delegates_size());
    if (added) ABSL_RETURN_IF_ERROR(WriteDelegate(step.delegate));
    schema::DelegateCall& call = *method_.add_instructions()->mutable_delegate();
    call.set_delegate(it->second);
    for (uint32_t k = 0; k < step.args->size(); ++k) {
      const uint32_t value = Translated(step.args->Get(k));
      if (k < step.args->size() - step.outputs) {
        call.add_arguments(value);
      } else {
        call.add_outputs(value);
      }
    }
    return absl::OkStatus();
  }

  absl::Status WriteDelegate(uint32_t index) {
    const BackendDelegate& delegate = *plan_.delegates()->Get(index);
    const std::string place = absl::StrCat("delegate ", index);
    schema::Delegate& out = *method_.add_delegates();
    if (delegate.id() == nullptr || delegate.id()->size() == 0 ||
        !IsUtf8(delegate.id()->string_view())) {
      return absl::InvalidArgumentError(absl::StrCat(place, ": its id is missing or not UTF-8"));
    }
    out.set_backend_id(delegate.id()->str());
    const absl::StatusOr<absl::Span<const std::byte>> blob =
        parts_.file().Processed(delegate.processed());
    if (!blob.ok()) return Annotate(blob.status(), place);
    out.set_segment(parts_.AddBlob(*blob));
    if (delegate.compile_specs() == nullptr) return absl::OkStatus();
    for (const CompileSpec* spec : *delegate.compile_specs()) {
      schema::CompileSpec& added = *out.add_compile_specs();
      if (spec->key() == nullptr || spec->value() == nullptr ||
          !IsUtf8(spec->key()->string_view())) {
        return absl::InvalidArgumentError(absl::StrCat(
            place, ": compile spec ", out.compile_specs_size() - 1, " has no key or no value"));
      }
      added.set_key(spec->key()->str());
      added.set_value(spec->value()->data(), spec->value()->size());
    }
    return absl::OkStatus();
  }

  // ExecuTorch's runtime makes `to` an alias of the tensor `from`; here its content is copied.
  void WriteMove(const Step& step) {
    const ValueFacts &from = facts_.values[step.from], &to = facts_.values[step.to];
    if (step.from == step.to) return;
    const bool alike = from.layout.dtype == to.layout.dtype &&
                       from.layout.sizes == to.layout.sizes &&
                       from.layout.dim_order == to.layout.dim_order;
    if (alike && from.place == Place::kArena && to.place == Place::kArena &&
        from.offset == to.offset && !from.dynamic && !to.dynamic) {
      return;
    }
    AddMove(step.from, step.to);
  }

  absl::Status WriteJump(const Step& step) {
    const ValueFacts& condition = facts_.values[step.condition];
    if (condition.is_tensor() && (condition.dynamic || condition.layout.bytes != 1)) {
      return absl::UnimplementedError(
          absl::StrCat("the condition, value ", step.condition, ", has sizes ",
                       FormatSizes(condition.layout.sizes), ", expected one element"));
    }
    const bool literal =
        !condition.is_tensor() && !condition.computed.has_value() && !condition.input;
    if (literal && condition.value->val_as_Bool()->bool_val()) return absl::OkStatus();
    jumps_.push_back({method_.instructions_size(), step.target});
    schema::Instruction& jump = *method_.add_instructions();
    if (literal) {
      jump.mutable_jump();
    } else {
      jump.mutable_jump_if_false()->set_condition(step.condition);
    }
    return absl::OkStatus();
  }

  const MethodFacts& facts_;
  const ExecutionPlan& plan_;
  PartsBuilder& parts_;
  MemoryBudget& budget_;
  schema::Method& method_;
  schema::MethodDebugInfo& debug_;
  std::vector<uint32_t> lists_;  // by value: the list's own index, 0 for none
  std::optional<uint32_t> none_;
  std::map<DType, uint32_t> dtypes_;
  std::map<MemoryFormat, uint32_t> formats_;
  std::map<std::string, uint32_t> operators_;
  std::map<uint32_t, uint32_t> delegates_;
  std::set<std::string> state_names_;
  std::vector<std::pair<int, uint32_t>> jumps_;  // instructions, and their target steps
};

}  // namespace

uint32_t PartsBuilder::AddConstant(absl::Span<const std::byte> bytes) {
  parts_.constants.push_back(bytes);
  return static_cast<uint32_t>(parts_.constants.size() - 1);
}

uint32_t PartsBuilder::AddBlob(absl::Span<const std::byte> bytes) {
  const auto [it, added] = blobs_.try_emplace({bytes.data(), bytes.size()},
                                              static_cast<uint32_t>(parts_.segments.size()));
  if (!added) return it->second;
  SegmentPlan segment;
  segment.kind = SegmentPlan::Kind::kDelegate;
  segment.bytes = bytes;
  parts_.segments.push_back(std::move(segment));
  return it->second;
}

absl::Status WriteMethod(const MethodFacts& facts, PartsBuilder& parts, MemoryBudget& budget,
                         schema::Method& method, schema::MethodDebugInfo& debug) {
  return MethodWriter(facts, parts, budget, method, debug).Write();
}

}  // namespace belay::pte
