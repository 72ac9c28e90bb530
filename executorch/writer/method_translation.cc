#include "executorch/writer/method_translation.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "executorch/format/portable_operators.h"
#include "runtime/core/dtype.h"
#include "runtime/core/sha256.h"

namespace belay::pte {
namespace {

// The memory that planned tensors lie in; 0 is reserved (docs/pte-format.md §6).
constexpr uint32_t kArena = 1;
// Buffers that live on: ExecuTorch's pool of what methods share.
constexpr uint32_t kState = 2;
constexpr uint64_t kStateAlignment = 16;

constexpr std::string_view kSetRow = "belay.set_row_.default";

// Backends that ExecuTorch 1.5.0 has.
constexpr std::string_view kBackends[] = {"XnnpackBackend"};

class MethodTranslator {
 public:
  MethodTranslator(const exir::ProgramImage& image, int index,
                   absl::Span<const exir::Storage> bytes, const exir::OpRegistry& ops,
                   ProgramData& data, exir::ProblemList& problems)
      : method_(image.metadata.methods(index)),
        debug_(index < image.debug.methods_size() ? &image.debug.methods(index) : nullptr),
        bytes_(bytes),
        ops_(ops),
        data_(data),
        problems_(problems) {}

  std::unique_ptr<ExecutionPlanT> Translate();

 private:
  using Index = int32_t;  // of a value of the plan
  using Calls = std::vector<Index>;

  void AddTensors();
  void AddTensor(uint32_t value, const schema::Tensor& tensor);
  void AddMethodInputs();
  void AddDelegates();
  void AddInstructions();
  void Translate(const schema::KernelCall& call);
  void Translate(const schema::DelegateCall& call);
  void Translate(const schema::Move& move);
  void TranslateSetRow(const schema::KernelCall& call);
  void TranslateRemainder(const schema::KernelCall& call);
  void TranslateInequality(const schema::KernelCall& call);
  void TranslateView(const schema::KernelCall& call);
  // Whether both are tensors of the arena that begin at the same place.
  bool LieTogether(uint32_t a, uint32_t b) const {
    const schema::Tensor &x = Source(a).tensor(), &y = Source(b).tensor();
    return x.location_case() == schema::Tensor::kArenaOffset &&
           y.location_case() == schema::Tensor::kArenaOffset &&
           x.arena_offset() == y.arena_offset();
  }

  // The value of what is a tensor, or a number that is computed; of a literal, one of its kind.
  Index Value(uint32_t value);
  // What the operator takes of this value; a problem where it is no such thing.
  Index ArgumentValue(uint32_t value, const PortableArgument& argument);
  Index ListValue(const schema::List& list, const PortableArgument& argument);
  // As a number of that kind: what the schema says, whatever the literal is.
  Index NumberValue(uint32_t value, const PortableArgument& argument);
  Index TensorList(std::vector<Index> tensors);

  // Equal ones are one value.
  template <class T>
  Index Literal(T literal, std::string_view content);
  Index Null() { return Literal(NullT(), ""); }
  Index Int(int64_t number);
  Index Bool(bool truth);
  Index Ints(const std::vector<int64_t>& numbers);
  template <class T>
  Index AddValue(T value);

  void AddCall(std::string_view op, Calls arguments);
  template <class T>
  T* AddInstruction(T instruction);
  void AddSource();

  const schema::Value& Source(uint32_t value) const {
    return method_.values(static_cast<int>(value));
  }
  void Problem(std::string_view text);

  const schema::Method& method_;
  const schema::MethodDebugInfo* const debug_;
  const absl::Span<const exir::Storage> bytes_;
  const exir::OpRegistry& ops_;
  ProgramData& data_;
  exir::ProblemList& problems_;

  std::unique_ptr<ExecutionPlanT> plan_ = std::make_unique<ExecutionPlanT>();
  ChainT* chain_ = nullptr;
  bool has_sources_ = false;   // some instruction's source line is known
  int at_ = -1;                // the instruction that is being translated; -1: none
  std::vector<Index> values_;  // by value of the method; -1: literals, which have one per kind
  absl::flat_hash_map<std::string, Index> literals_;
  absl::flat_hash_map<std::string, Index> operators_;
  absl::flat_hash_set<uint32_t> row_by_row_;  // tensors that loops fill
};

void MethodTranslator::Problem(std::string_view text) {
  problems_.Add(
      [&] {
        std::string subject = absl::StrCat("method '", method_.name(), "'");
        if (at_ < 0 || debug_ == nullptr) return subject;
        const schema::InstructionDebugInfo& info = debug_->instructions(at_);
        if (!info.node().empty()) absl::StrAppend(&subject, ": node '", info.node(), "'");
        if (!info.source().empty()) absl::StrAppend(&subject, " at ", info.source());
        return subject;
      },
      text);
}

// --- Values ---

template <class T>
MethodTranslator::Index MethodTranslator::AddValue(T value) {
  auto wrapped = std::make_unique<EValueT>();
  wrapped->val.Set(std::move(value));
  plan_->values.push_back(std::move(wrapped));
  return static_cast<Index>(plan_->values.size() - 1);
}

template <class T>
MethodTranslator::Index MethodTranslator::Literal(T literal, std::string_view content) {
  constexpr auto kKind = static_cast<char>(KernelTypesUnionTraits<T>::enum_value);
  std::string key(1, kKind);
  key.append(content);
  const auto it = literals_.find(key);
  if (it != literals_.end()) return it->second;
  const Index index = AddValue(std::move(literal));
  literals_.emplace(std::move(key), index);
  return index;
}

MethodTranslator::Index MethodTranslator::Int(int64_t number) {
  IntT value;
  value.int_val = number;
  return Literal(std::move(value), std::to_string(number));
}

MethodTranslator::Index MethodTranslator::Bool(bool truth) {
  BoolT value;
  value.bool_val = truth;
  return Literal(std::move(value), truth ? "1" : "0");
}

MethodTranslator::Index MethodTranslator::Ints(const std::vector<int64_t>& numbers) {
  IntListT list;
  for (int64_t number : numbers) list.items.push_back(Int(number));
  const std::string key = absl::StrJoin(list.items, ",");
  return Literal(std::move(list), key);
}

MethodTranslator::Index MethodTranslator::TensorList(std::vector<Index> tensors) {
  TensorListT list;
  list.items = std::move(tensors);
  const std::string key = absl::StrJoin(list.items, ",");
  return Literal(std::move(list), key);
}

void MethodTranslator::AddTensor(uint32_t value, const schema::Tensor& tensor) {
  TensorT out;
  const auto dtype = static_cast<DType>(tensor.dtype());
  const std::optional<C10ScalarType> type = DTypeToC10(dtype);
  if (!type.has_value() || type->value > 29) {
    Problem(absl::StrCat("ExecuTorch has no dtype ", std::string(DTypeName(dtype))));
  } else {
    out.scalar_type = static_cast<int8_t>(type->value);
  }
  for (int64_t size : tensor.sizes()) {
    if (size > std::numeric_limits<int32_t>::max()) {
      Problem(absl::StrCat("a tensor of size ", size, " in one dimension: sizes have 31 bits"));
    }
    out.sizes.push_back(static_cast<int32_t>(size));
  }
  out.dim_order.assign(tensor.dim_order().begin(), tensor.dim_order().end());
  if (tensor.dynamic_dims() != 0 || row_by_row_.contains(value)) {
    out.shape_dynamism = TensorShapeDynamism::DYNAMIC_BOUND;
  }
  const auto place = [&](uint32_t memory, uint64_t offset) {
    out.allocation_info = std::make_unique<AllocationDetailsT>();
    out.allocation_info->memory_id = memory;
    out.allocation_info->memory_offset_low = static_cast<uint32_t>(offset);
    out.allocation_info->memory_offset_high = static_cast<uint32_t>(offset >> 32);
  };
  switch (tensor.location_case()) {
    case schema::Tensor::kConstant:
      if (data_.external) {
        schema::Tensor layout = tensor;
        layout.clear_location();
        // The same bytes may be tensors of several layouts.
        const std::string content = Sha256(bytes_[tensor.constant()].bytes);
        const std::string key = absl::BytesToHexString(
            Sha256(absl::StrCat(layout.SerializeAsString(), content)).substr(0, 16));
        out.extra_tensor_info = std::make_unique<ExtraTensorInfoT>();
        out.extra_tensor_info->fully_qualified_name = key;
        out.extra_tensor_info->location = TensorDataLocation::EXTERNAL;
        data_.external_constants.try_emplace(key, ExternalConstant{tensor.constant(), layout});
      } else {
        out.data_buffer_idx = data_.constants.Add(tensor.constant());
      }
      break;
    case schema::Tensor::kArenaOffset:
      place(kArena, tensor.arena_offset());
      break;
    case schema::Tensor::kStateOffset:
      for (const schema::StateBuffer& state : method_.state()) {
        if (state.value() != value) continue;
        place(kState, data_.state.Add(state, tensor));
        out.extra_tensor_info = std::make_unique<ExtraTensorInfoT>();
        out.extra_tensor_info->fully_qualified_name = state.name();
        if (state.initial() != 0) out.data_buffer_idx = data_.initial.Add(state.initial() - 1);
      }
      break;
    default:  // the caller's memory
      break;
  }
  values_[value] = AddValue(std::move(out));
}

void MethodTranslator::AddTensors() {
  values_.assign(method_.values_size(), -1);
  for (const schema::Instruction& instruction : method_.instructions()) {
    if (!instruction.has_kernel()) continue;
    const schema::KernelCall& call = instruction.kernel();
    if (method_.operators(call.operator_()) == kSetRow) row_by_row_.insert(call.arguments(0));
  }
  for (uint32_t v = 0; v < values_.size(); ++v) {
    const schema::Value& value = Source(v);
    if (value.has_tensor()) {
      AddTensor(v, value.tensor());
    } else if (value.has_scalar()) {
      // Each is a value of its own: instructions write to it.
      switch (value.scalar().kind()) {
        case schema::ScalarSlot::DOUBLE:
          values_[v] = AddValue(DoubleT());
          break;
        case schema::ScalarSlot::BOOL:
          values_[v] = AddValue(BoolT());
          break;
        default:
          values_[v] = AddValue(IntT());
      }
    }
  }
}

MethodTranslator::Index MethodTranslator::Value(uint32_t value) {
  if (values_[value] >= 0) return values_[value];
  return NumberValue(value, {.name = "", .kind = ArgumentKind::kScalar, .optional = true});
}

MethodTranslator::Index MethodTranslator::NumberValue(uint32_t value,
                                                      const PortableArgument& argument) {
  const schema::Value& source = Source(value);
  const ArgumentKind kind = argument.kind;
  if (values_[value] >= 0) {
    const bool scalar = source.has_scalar();
    const schema::ScalarSlot::Kind slot = source.scalar().kind();
    const bool fits = kind == ArgumentKind::kTensor   ? !scalar
                      : kind == ArgumentKind::kScalar ? scalar
                      : kind == ArgumentKind::kInt    ? slot == schema::ScalarSlot::INT
                      : kind == ArgumentKind::kFloat  ? slot == schema::ScalarSlot::DOUBLE
                      : kind == ArgumentKind::kBool   ? slot == schema::ScalarSlot::BOOL
                                                      : false;
    if (fits) return values_[value];
  }
  const bool number = kind == ArgumentKind::kScalar;
  switch (source.kind_case()) {
    case schema::Value::kNone:
      if (argument.optional) return Null();
      break;
    case schema::Value::kInt:
      if (kind == ArgumentKind::kInt || number) return Int(source.int_());
      if (kind == ArgumentKind::kBool) return Bool(source.int_() != 0);
      [[fallthrough]];
    case schema::Value::kDouble:
      if (kind == ArgumentKind::kFloat || number) {
        DoubleT real;
        real.double_val = source.has_int_() ? static_cast<double>(source.int_()) : source.double_();
        const std::string bits(reinterpret_cast<const char*>(&real.double_val), sizeof(double));
        return Literal(std::move(real), bits);
      }
      break;
    case schema::Value::kBool:
      if (kind == ArgumentKind::kBool || number) return Bool(source.bool_());
      break;
    case schema::Value::kString:
      if (kind == ArgumentKind::kString || number) {
        StringT text;
        text.string_val = source.string();
        return Literal(std::move(text), source.string());
      }
      break;
    case schema::Value::kDtype:
      if (kind == ArgumentKind::kDtype) {
        const auto dtype = static_cast<DType>(source.dtype());
        if (const auto type = DTypeToC10(dtype)) return Int(type->value);
      }
      break;
    default:
      break;
  }
  Problem(absl::StrCat("argument '", std::string(argument.name),
                       "': ExecuTorch's operator takes no such value"));
  return Null();
}

MethodTranslator::Index MethodTranslator::ListValue(const schema::List& list,
                                                    const PortableArgument& argument) {
  const PortableArgument element = {
      .name = argument.name, .kind = argument.kind, .optional = argument.element_optional};
  std::vector<Index> items;
  for (uint32_t value : list.elements()) {
    const bool none = argument.element_optional && Source(value).has_none();
    items.push_back(none ? -1 : NumberValue(value, element));
  }
  const std::string key = absl::StrJoin(items, ",");
  switch (argument.kind) {
    case ArgumentKind::kTensor: {
      if (!argument.element_optional) return TensorList(std::move(items));
      OptionalTensorListT tensors;
      tensors.items = std::move(items);
      return Literal(std::move(tensors), key);
    }
    case ArgumentKind::kInt: {
      IntListT ints;
      ints.items.assign(items.begin(), items.end());
      return Literal(std::move(ints), key);
    }
    case ArgumentKind::kFloat:
    case ArgumentKind::kBool: {
      DoubleListT reals;
      BoolListT truths;
      for (uint32_t value : list.elements()) {
        const schema::Value& number = Source(value);
        if (number.has_scalar()) {
          Problem(absl::StrCat("argument '", std::string(argument.name),
                               "': ExecuTorch's lists of reals and of truth values hold no "
                               "computed ones"));
        }
        reals.items.push_back(number.has_int_() ? static_cast<double>(number.int_())
                                                : number.double_());
        truths.items.push_back(number.bool_());
      }
      return argument.kind == ArgumentKind::kFloat ? Literal(std::move(reals), key)
                                                   : Literal(std::move(truths), key);
    }
    default:
      return Null();
  }
}

MethodTranslator::Index MethodTranslator::ArgumentValue(uint32_t value,
                                                        const PortableArgument& argument) {
  const schema::Value& source = Source(value);
  // Where elements lie is what the out tensor says.
  if (argument.kind == ArgumentKind::kMemoryFormat) return Null();
  if (!argument.list) return NumberValue(value, argument);
  if (source.has_none() && argument.optional) return Null();
  if (source.has_list()) return ListValue(source.list(), argument);
  schema::List one;
  one.add_elements(value);
  return ListValue(one, argument);
}

// --- Instructions ---

template <class T>
T* MethodTranslator::AddInstruction(T instruction) {
  auto wrapped = std::make_unique<InstructionT>();
  wrapped->instr_args.Set(std::move(instruction));
  T* place = static_cast<T*>(wrapped->instr_args.value);
  chain_->instructions.push_back(std::move(wrapped));
  AddSource();
  return place;
}

// One frame: file and line, the module as what calls and the node as what is called there.
void MethodTranslator::AddSource() {
  if (debug_ == nullptr) return;
  auto frames = std::make_unique<FrameListT>();
  const schema::InstructionDebugInfo& info = debug_->instructions(at_);
  if (!info.source().empty()) {
    auto frame = std::make_unique<FrameT>();
    frame->filename = info.source();
    const size_t colon = info.source().rfind(':');
    if (colon != std::string::npos &&
        absl::SimpleAtoi(info.source().substr(colon + 1), &frame->lineno)) {
      frame->filename.resize(colon);
    }
    frame->name = info.module();
    frame->context = info.node();
    frames->items.push_back(std::move(frame));
    has_sources_ = true;
  }
  chain_->stacktrace.push_back(std::move(frames));
}

void MethodTranslator::AddCall(std::string_view op, Calls arguments) {
  const auto [it, added] = operators_.try_emplace(std::string(op), operators_.size());
  if (added) {
    auto entry = std::make_unique<OperatorT>();
    const size_t dot = op.find('.');
    entry->name = std::string(op.substr(0, dot));
    if (dot != std::string_view::npos) entry->overload = std::string(op.substr(dot + 1));
    plan_->operators.push_back(std::move(entry));
  }
  KernelCallT call;
  call.op_index = it->second;
  call.args = std::move(arguments);
  AddInstruction(std::move(call));
}

// to, row, index, count: the loop has given `to` its sizes where there are no rows, and ExecuTorch's
// operator gives it one row more each time.
void MethodTranslator::TranslateSetRow(const schema::KernelCall& call) {
  AddCall("executorch_prim::et_copy_index.tensor",
          {Value(call.arguments(0)), Value(call.arguments(1)), Value(call.arguments(2))});
}

// ExecuTorch's has the sign of the first operand, Python's that of the second.
void MethodTranslator::TranslateRemainder(const schema::KernelCall& call) {
  const Index a = Value(call.arguments(0)), b = Value(call.arguments(1));
  const Index result = Value(call.outputs(0));
  const Index quotient = AddValue(IntT()), product = AddValue(IntT());
  AddCall("executorch_prim::floordiv.Scalar", {a, b, quotient});
  AddCall("executorch_prim::mul.Scalar", {quotient, b, product});
  AddCall("executorch_prim::sub.Scalar", {a, product, result});
}

void MethodTranslator::TranslateInequality(const schema::KernelCall& call) {
  const Index equal = AddValue(BoolT());
  AddCall("executorch_prim::eq.Scalar",
          {Value(call.arguments(0)), Value(call.arguments(1)), equal});
  AddCall("executorch_prim::sym_not.Scalar", {equal, Value(call.outputs(0))});
}

// The memory plan has put the result where the operand is; the view gives it its sizes.
void MethodTranslator::TranslateView(const schema::KernelCall& call) {
  const PortableArgument sizes = {.name = "size", .kind = ArgumentKind::kInt, .list = true};
  AddCall(
      "executorch_prim::et_view.default",
      {Value(call.arguments(0)), ArgumentValue(call.arguments(1), sizes), Value(call.outputs(0))});
}

void MethodTranslator::Translate(const schema::KernelCall& call) {
  const std::string& name = method_.operators(call.operator_());
  if (name == kSetRow) return TranslateSetRow(call);
  if (name == "_operator.mod") return TranslateRemainder(call);
  if (name == "_operator.ne") return TranslateInequality(call);
  if (name == "aten.view_copy.default" && LieTogether(call.arguments(0), call.outputs(0))) {
    return TranslateView(call);
  }
  // Where elements lie is given by dimensions.
  const bool empty = name == "aten.empty.memory_format";
  const PortableOperator* op =
      empty ? FindPortable("dim_order_ops::_empty_dim_order.out") : FindPortableOfFunctional(name);
  const exir::OpOverload* overload = ops_.Find(name);
  if (op == nullptr || overload == nullptr || overload->schema() == nullptr) {
    return Problem(absl::StrCat("ExecuTorch has no operator for ", name));
  }
  Calls arguments;
  for (size_t i = 0; i + op->outs < op->arguments.size(); ++i) {
    const PortableArgument& argument = op->arguments[i];
    if (argument.name == "dim_order") {
      // Must be that of the result; None is that of the operand.
      const std::string& order = Source(call.outputs(0)).tensor().dim_order();
      arguments.push_back(Ints(std::vector<int64_t>(order.begin(), order.end())));
      continue;
    }
    const std::optional<int> at = overload->schema()->ArgumentIndex(argument.name);
    if (!at.has_value()) {
      return Problem(absl::StrCat("ExecuTorch's ", op->name, " takes '", std::string(argument.name),
                                  "', which ", name, " has not"));
    }
    arguments.push_back(ArgumentValue(call.arguments(*at), argument));
  }
  std::vector<Index> outs;
  for (size_t i = 0; i < op->outs; ++i) {
    const PortableArgument& out = op->arguments[op->arguments.size() - op->outs + i];
    outs.push_back(ArgumentValue(call.outputs(static_cast<int>(i)), out));
  }
  arguments.insert(arguments.end(), outs.begin(), outs.end());
  switch (op->result) {
    case PortableOperator::Result::kOut:
      arguments.push_back(outs.size() == 1 ? outs[0] : TensorList(outs));
      break;
    case PortableOperator::Result::kSelf:
      arguments.push_back(arguments[0]);
      break;
    case PortableOperator::Result::kValue:
      arguments.push_back(Value(call.outputs(0)));
      break;
    case PortableOperator::Result::kNone:
      break;
  }
  AddCall(op->name, std::move(arguments));
}

void MethodTranslator::Translate(const schema::DelegateCall& call) {
  DelegateCallT out;
  out.delegate_index = static_cast<int32_t>(call.delegate());
  for (uint32_t value : call.arguments()) out.args.push_back(Value(value));
  for (uint32_t value : call.outputs()) out.args.push_back(Value(value));
  AddInstruction(std::move(out));
}

// ExecuTorch moves a tensor's handle, so that two values would be one tensor from then on: tensors
// are copied.
void MethodTranslator::Translate(const schema::Move& move) {
  const schema::Value& from = Source(move.from());
  const schema::Value& to = Source(move.to());
  if (to.has_tensor()) {
    const Index source = Value(move.from()), target = Value(move.to());
    if (from.tensor().dim_order() == to.tensor().dim_order()) {
      AddCall("aten::alias_copy.out", {source, target, target});
    } else {
      const std::string& order = to.tensor().dim_order();
      AddCall("dim_order_ops::_to_dim_order_copy.out",
              {source, Bool(false), Ints(std::vector<int64_t>(order.begin(), order.end())), target,
               target});
    }
    return;
  }
  const ArgumentKind kind = to.scalar().kind() == schema::ScalarSlot::DOUBLE ? ArgumentKind::kFloat
                            : to.scalar().kind() == schema::ScalarSlot::BOOL ? ArgumentKind::kBool
                                                                             : ArgumentKind::kInt;
  MoveCallT out;
  out.move_from = NumberValue(move.from(), {.name = "from", .kind = kind});
  out.move_to = Value(move.to());
  AddInstruction(std::move(out));
}

void MethodTranslator::AddInstructions() {
  // Some instructions become several.
  std::vector<Index> starts;
  std::vector<std::pair<JumpFalseCallT*, uint32_t>> jumps;
  const auto jump = [&](Index condition, uint32_t target) {
    JumpFalseCallT out;
    out.cond_value_index = condition;
    jumps.emplace_back(AddInstruction(std::move(out)), target);
  };
  for (at_ = 0; at_ < method_.instructions_size(); ++at_) {
    const schema::Instruction& instruction = method_.instructions(at_);
    starts.push_back(static_cast<Index>(chain_->instructions.size()));
    switch (instruction.kind_case()) {
      case schema::Instruction::kKernel:
        Translate(instruction.kernel());
        break;
      case schema::Instruction::kDelegate:
        Translate(instruction.delegate());
        break;
      case schema::Instruction::kMove:
        Translate(instruction.move());
        break;
      case schema::Instruction::kJumpIfFalse:
        jump(Value(instruction.jump_if_false().condition()), instruction.jump_if_false().target());
        break;
      case schema::Instruction::kJump:
        jump(Bool(false), instruction.jump().target());
        break;
      case schema::Instruction::KIND_NOT_SET:
        break;
    }
  }
  at_ = -1;
  starts.push_back(static_cast<Index>(chain_->instructions.size()));
  for (const auto& [call, target] : jumps) call->destination_instruction = starts[target];
}

// --- The method ---

void MethodTranslator::AddMethodInputs() {
  for (const schema::Input& input : method_.inputs()) {
    // ExecuTorch takes no other number than the one that the file holds.
    if (Source(input.value()).has_scalar()) {
      Problem(absl::StrCat("input '", input.name(),
                           "' is a number that differs from call to call: ExecuTorch's inputs are "
                           "tensors and fixed numbers"));
    }
    plan_->inputs.push_back(Value(input.value()));
  }
}

void MethodTranslator::AddDelegates() {
  for (const schema::Delegate& delegate : method_.delegates()) {
    if (std::find(std::begin(kBackends), std::end(kBackends), delegate.backend_id()) ==
        std::end(kBackends)) {
      Problem(absl::StrCat("ExecuTorch has no backend '", delegate.backend_id(), "'"));
    }
    auto out = std::make_unique<BackendDelegateT>();
    out->id = delegate.backend_id();
    out->processed = std::make_unique<BackendDelegateDataReferenceT>();
    out->processed->location = DataLocation::SEGMENT;
    out->processed->index = delegate.segment();  // of the image; the file's is set later
    for (const schema::CompileSpec& spec : delegate.compile_specs()) {
      auto entry = std::make_unique<CompileSpecT>();
      entry->key = spec.key();
      entry->value.assign(spec.value().begin(), spec.value().end());
      out->compile_specs.push_back(std::move(entry));
    }
    plan_->delegates.push_back(std::move(out));
  }
}

std::unique_ptr<ExecutionPlanT> MethodTranslator::Translate() {
  plan_->name = method_.name();
  plan_->container_meta_type = std::make_unique<ContainerMetadataT>();
  plan_->container_meta_type->encoded_inp_str = method_.in_spec();
  plan_->container_meta_type->encoded_out_str = method_.out_spec();
  plan_->chains.push_back(std::make_unique<ChainT>());
  chain_ = plan_->chains.back().get();
  AddTensors();
  AddMethodInputs();
  AddDelegates();
  AddInstructions();
  if (!has_sources_) chain_->stacktrace.clear();
  for (uint32_t output : method_.outputs()) plan_->outputs.push_back(Value(output));
  plan_->non_const_buffer_sizes = {0, static_cast<int64_t>(method_.arena_bytes())};
  if (method_.state_size() > 0) plan_->non_const_buffer_sizes.push_back(0);
  return std::move(plan_);
}

}  // namespace

uint64_t StatePlaces::Add(const schema::StateBuffer& state, const schema::Tensor& tensor) {
  schema::Tensor layout = tensor;
  layout.clear_location();
  const std::string key =
      absl::StrCat(state.initial(), " ", state.name(), " ", layout.SerializeAsString());
  const auto [it, added] = offsets_.try_emplace(key, bytes_);
  if (added) {
    uint64_t bytes = DTypeSize(static_cast<DType>(tensor.dtype()));
    for (int64_t size : tensor.sizes()) bytes *= static_cast<uint64_t>(size);
    bytes_ += (bytes + kStateAlignment - 1) / kStateAlignment * kStateAlignment;
  }
  return it->second;
}

std::unique_ptr<ExecutionPlanT> TranslateMethod(const exir::ProgramImage& image, int index,
                                                absl::Span<const exir::Storage> bytes,
                                                const exir::OpRegistry& ops, ProgramData& data,
                                                exir::ProblemList& problems) {
  return MethodTranslator(image, index, bytes, ops, data, problems).Translate();
}

}  // namespace belay::pte
