#include "executorch/writer/method_translation.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "executorch/format/portable_operators.h"
#include "executorch/writer/method_translator.h"
#include "exir/ir/refused_node.h"
#include "runtime/core/dtype.h"

namespace belay::pte {
namespace {

constexpr uint64_t kStateAlignment = 16;

// Backends that ExecuTorch 1.5.1 has.
constexpr std::string_view kBackends[] = {"XnnpackBackend"};

}  // namespace

void MethodTranslator::Problem(std::string_view text) {
  const schema::InstructionDebugInfo& from = at_ >= 0 && debug_ != nullptr
                                                 ? debug_->instructions(at_)
                                                 : schema::InstructionDebugInfo::default_instance();
  problems_.Add(
      [&] {
        std::string subject = absl::StrCat("method '", method_.name(), "'");
        if (!from.node().empty()) absl::StrAppend(&subject, ": node '", from.node(), "'");
        if (!from.source().empty()) absl::StrAppend(&subject, " at ", from.source());
        return subject;
      },
      text,
      [&] {
        return std::vector<exir::RefusedNode>{{.method = method_.name(),
                                               .node = from.node(),
                                               .op = "",
                                               .source = from.source(),
                                               .reason = ""}};
      });
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

// Writes one frame: file and line, the module as the caller and the node as the callee.
void MethodTranslator::AddSource() {
  if (debug_ == nullptr) return;
  auto frames = std::make_unique<FrameListT>();
  const schema::InstructionDebugInfo& info =
      at_ < 0 ? schema::InstructionDebugInfo::default_instance() : debug_->instructions(at_);
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

// Arguments: to, row, index, count. For zero rows, the loop has already set the sizes of `to`.
// ExecuTorch's operator grows `to` by one row per call.
void MethodTranslator::TranslateSetRow(const schema::KernelCall& call) {
  AddCall("executorch_prim::et_copy_index.tensor",
          {Value(call.arguments(0)), Value(call.arguments(1)), Value(call.arguments(2))});
}

// ExecuTorch's remainder has the sign of the first operand, Python's that of the second.
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

// Arguments: cache, value, start_pos, indices. ExecuTorch's operator also has a result of one
// element, which nothing reads; it is placed after the arena.
void MethodTranslator::TranslateUpdateCache(const schema::KernelCall& call) {
  const uint32_t cache = call.arguments(0);
  const Index target = Value(cache);
  schema::Tensor layout;
  layout.set_dtype(Source(cache).tensor().dtype());
  layout.add_sizes(1);
  layout.set_dim_order(std::string(1, '\0'));
  layout.set_arena_offset(PlaceholderOffset());
  const Index result = AddOtherTensor(cache, layout);
  has_placeholder_ = true;
  Calls arguments = {
      Value(call.arguments(1)), target,
      ArgumentValue(call.arguments(2), {.name = "start_pos", .kind = ArgumentKind::kInt})};
  const bool indexed = !Source(call.arguments(3)).has_none();
  if (indexed) arguments.push_back(Value(call.arguments(3)));
  arguments.insert(arguments.end(), {result, result});
  AddCall(indexed ? "llama::update_cache_with_indices.out" : "llama::update_cache.out",
          std::move(arguments));
}

// The memory plan aliases the result with the operand; et_view sets only the sizes.
void MethodTranslator::TranslateView(const schema::KernelCall& call) {
  const PortableArgument sizes = {.name = "size", .kind = ArgumentKind::kInt, .list = true};
  AddCall(
      "executorch_prim::et_view.default",
      {Value(call.arguments(0)), ArgumentValue(call.arguments(1), sizes), Value(call.outputs(0))});
}

void MethodTranslator::Translate(const schema::KernelCall& call) {
  const std::string& name = method_.operators(call.operator_());
  if (name == kSetRow) return TranslateSetRow(call);
  if (name == "belay.update_cache_.default") return TranslateUpdateCache(call);
  if (name == "_operator.mod") return TranslateRemainder(call);
  if (name == "_operator.ne") return TranslateInequality(call);
  if (name == "aten.view_copy.default" && HaveSameOffset(call.arguments(0), call.outputs(0))) {
    return TranslateView(call);
  }
  // The dim order replaces the memory format.
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
      // Must equal the result's dim order; None would mean the operand's.
      const std::string& order = Source(call.outputs(0)).tensor().dim_order();
      arguments.push_back(Ints(std::vector<int64_t>(order.begin(), order.end())));
      continue;
    }
    const std::optional<int> at = overload->schema()->ArgumentIndex(argument.name);
    if (!at.has_value()) {
      return Problem(absl::StrCat("ExecuTorch's ", op->name, " takes '", std::string(argument.name),
                                  "', which ", name, " does not have"));
    }
    arguments.push_back(ArgumentValue(call.arguments(*at), argument));
  }
  std::vector<Index> outs;
  for (size_t i = 0; i < op->outs; ++i) {
    const PortableArgument& out = op->arguments[op->arguments.size() - op->outs + i];
    outs.push_back(ArgumentValue(call.outputs(static_cast<int>(i)), out));
  }
  arguments.insert(arguments.end(), outs.begin(), outs.end());
  // Functional operators always have a result; those without one are handled by TranslateSetRow.
  if (op->result == PortableOperator::Result::kOut) {
    arguments.push_back(outs.size() == 1 ? outs[0] : TensorList(outs));
  } else if (op->result == PortableOperator::Result::kSelf) {
    arguments.push_back(arguments[0]);
  } else {
    arguments.push_back(Value(call.outputs(0)));
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

// ExecuTorch moves a tensor's handle, so that both values would alias one tensor; tensors are
// copied instead.
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
  // Some instructions expand to several.
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
    // ExecuTorch accepts only the scalar that the file holds.
    if (Source(input.value()).has_scalar()) {
      Problem(absl::StrCat("input '", input.name(),
                           "' is a scalar that varies between calls: ExecuTorch's inputs are "
                           "tensors and fixed scalars"));
    }
    plan_->inputs.push_back(Value(input.value()));
  }
}

// ExecuTorch's host sets the memory of an output, which redirects the tensor of that value. A value
// with another role (input, constant, state, an earlier output) would lose its elements.
void MethodTranslator::AddOutputs() {
  absl::flat_hash_set<uint32_t> used;
  for (const schema::Input& input : method_.inputs()) used.insert(input.value());
  for (uint32_t output : method_.outputs()) {
    const schema::Value& source = Source(output);
    const schema::Tensor::LocationCase location = source.tensor().location_case();
    const bool first = used.insert(output).second;
    if (!source.has_tensor() || (first && location != schema::Tensor::kConstant &&
                                 location != schema::Tensor::kStateOffset)) {
      plan_->outputs.push_back(Value(output));
      continue;
    }
    schema::Tensor layout = source.tensor();
    layout.mutable_external();
    const Index copy = AddOtherTensor(output, layout);
    AddCall("aten::alias_copy.out", {Value(output), copy, copy});
    plan_->outputs.push_back(copy);
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
    out->processed->index = delegate.segment();  // in the image; replaced later
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
  AddOutputs();
  if (!has_sources_) chain_->stacktrace.clear();
  plan_->non_const_buffer_sizes = {0};
  for (const uint64_t bytes : BankSizes()) {
    plan_->non_const_buffer_sizes.push_back(static_cast<int64_t>(bytes));
  }
  if (method_.state_size() > 0) plan_->non_const_buffer_sizes.push_back(0);
  return std::move(plan_);
}

std::vector<uint64_t> MethodTranslator::BankSizes() const {
  std::vector<uint64_t> sizes;
  for (const schema::MemoryBank& bank : method_.banks()) sizes.push_back(bank.bytes());
  if (sizes.empty()) sizes.push_back(method_.arena_bytes());
  if (has_placeholder_) {
    sizes.back() += PlaceholderOffset() + kPlaceholderBytes - method_.arena_bytes();
  }
  return sizes;
}

uint64_t StateOffsets::Add(const schema::StateBuffer& state, const schema::Tensor& tensor) {
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
