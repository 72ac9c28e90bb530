#include "exir/emit/method_builder.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "exir/backend/introspection.h"
#include "exir/emit/method_facts.h"
#include "exir/emit/remedy.h"
#include "exir/ir/at_node.h"
#include "exir/ir/lowered_backend_module.h"
#include "exir/ir/text.h"
#include "runtime/core/annotate.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/utf8.h"
#include "runtime/schema/file_format.h"

namespace belay::exir {
namespace {

uint64_t AlignUp(uint64_t value) {
  return (value + kTensorAlignment - 1) / kTensorAlignment * kTensorAlignment;
}

// Random numbers depend on the order of their calls. Delegates and unknown operators may have any
// effect. Operators without results exist for their effects.
bool HasEffects(const WrittenMethod& written, const schema::Instruction& instruction) {
  if (instruction.has_delegate()) return true;
  if (!instruction.has_kernel()) return false;
  const schema::KernelCall& call = instruction.kernel();
  if (call.outputs_size() == 0) return true;
  if (OperatorOf(written.method, instruction).starts_with("belay.")) return false;
  const OpOverload* op = written.operators[call.operator_()];
  return op == nullptr || op->has_trait(kNondeterministic) || op->has_trait(kSideEffect);
}

}  // namespace

const MethodBuilder::HigherOrder MethodBuilder::kHigherOrder[6] = {
    {"higher_order.cond", &MethodBuilder::EmitCond},
    {"higher_order.executorch_call_delegate", &MethodBuilder::EmitDelegateCall},
    {"higher_order.map_impl", &MethodBuilder::EmitMap},
    {"higher_order.scan", &MethodBuilder::EmitScan},
    {"higher_order.while_loop", &MethodBuilder::EmitWhileLoop},
    {"higher_order.with_effects", &MethodBuilder::EmitWithEffects},
};

MethodBuilder::MethodBuilder(const std::string& name, const ExportedProgram& program,
                             const ChangedBuffers& changed, const EmitOptions& options,
                             ConstantPool& pool)
    : name_(name),
      program_(program),
      changed_(changed),
      higher_order_(*program.ops, kHigherOrder),
      in_place_(FindInPlaceNodes(program, options.write_state_in_place)),
      pool_(pool) {
  method_.set_name(name);
  method_.set_in_spec(program.in_spec);
  method_.set_out_spec(program.out_spec);
}

absl::StatusOr<WrittenMethod> MethodBuilder::Build() {
  ABSL_RETURN_IF_ERROR(AddInputs());
  ABSL_RETURN_IF_ERROR(EmitGraph(program_.top(), top_));
  current_graph_ = nullptr;
  ABSL_RETURN_IF_ERROR(AddOutputs());
  ABSL_RETURN_IF_ERROR(Problems());
  WrittenMethod written{std::move(method_), std::move(debug_), {}, std::move(shapes_), {}};
  for (const std::string& op : written.method.operators()) {
    written.operators.push_back(program_.ops->Find(op));
  }
  for (const schema::Instruction& instruction : written.method.instructions()) {
    written.has_effects.push_back(HasEffects(written, instruction));
  }
  written.shapes.resize(written.method.values_size(), 0);
  written.describe = [nodes = std::move(nodes_)](uint32_t instruction) {
    const auto& [graph, node] = nodes[instruction];
    return graph == nullptr ? std::string("a copy") : DescribeNode(*graph, node);
  };
  return written;
}

void MethodBuilder::AddUnknownOperator(const std::string& op, const Node& node) {
  unknown_operators_[op].push_back(
      {.method = "",
       .node = node.name,
       .op = op,
       .source = node.provenance.ToString(),
       .reason = absl::StrCat("unknown operator ", op, RemedyFor(op))});
}

absl::Status MethodBuilder::UnsupportedError() const {
  constexpr size_t kMaxNodes = 20;
  ProblemList problems = unsupported_;
  for (const auto& [op, nodes] : unknown_operators_) {
    const auto end = nodes.begin() + static_cast<ptrdiff_t>(std::min(nodes.size(), kMaxNodes));
    const auto print = [](std::string* out, const RefusedNode& node) {
      absl::StrAppend(out, "node '", node.node, "'", node.source.empty() ? "" : " at ",
                      node.source);
    };
    problems.Add(
        [&op = op, &nodes = nodes] {
          return absl::StrCat("unknown operator ", op, ", used ", nodes.size(),
                              nodes.size() == 1 ? " time" : " times");
        },
        absl::StrCat(absl::StrJoin(nodes.begin(), end, ", ", print),
                     end != nodes.end() ? ", …" : "", RemedyFor(op)),
        [&nodes = nodes, end] { return std::vector<RefusedNode>(nodes.begin(), end); });
  }
  return problems.ToStatus(absl::StatusCode::kUnimplemented, "unsupported:");
}

absl::Status MethodBuilder::Problems() const {
  const absl::Status unsupported = UnsupportedError();
  const absl::Status unbounded =
      unbounded_.ToStatus(absl::StatusCode::kInvalidArgument,
                          "cannot plan memory for sizes without an upper bound; give one with "
                          "--max-size, or in the model:");
  if (unsupported.ok() || unbounded.ok()) return unsupported.ok() ? unbounded : unsupported;
  return WithMessage(unsupported, absl::StrCat(unsupported.message(), "\n", unbounded.message()));
}

// --- Inputs and outputs ---

void MethodBuilder::AddConstraint(schema::Input& input, uint32_t dim, const SymExpr& expr) {
  schema::SizeConstraint* constraint = input.add_constraints();
  const SymRange range = expr.Range(program_.ranges);
  constraint->set_dim(dim);
  constraint->set_min(std::max<int64_t>(range.min, 0));  // of 2 * s0 - 1, for one
  constraint->set_max(range.max);
  constraint->set_multiplier(1);
  // Constraints between inputs support symbol, k*symbol, symbol + c and k*symbol + c.
  SymExpr rest = expr;
  if (expr.kind() == SymExpr::Kind::kAdd && expr.arguments().size() == 2) {
    for (int k = 0; k < 2; ++k) {
      if (const auto c = expr.arguments()[k].AsInt()) {
        constraint->set_offset(*c);
        rest = expr.arguments()[1 - k];
      }
    }
  }
  if (rest.kind() == SymExpr::Kind::kMul && rest.arguments().size() == 2) {
    for (int k = 0; k < 2; ++k) {
      const auto c = rest.arguments()[k].AsInt();
      if (c.has_value() && *c > 0) {
        constraint->set_multiplier(*c);
        rest = SymExpr(rest.arguments()[1 - k]);
        break;
      }
    }
  }
  if (rest.kind() == SymExpr::Kind::kSymbol) {
    constraint->set_symbol(std::string(rest.name()));
  } else {
    constraint->set_multiplier(1);
    constraint->set_offset(0);
  }
}

absl::Status MethodBuilder::AddState(size_t input, const TensorMeta& meta, Scope& scope) {
  const Graph& graph = program_.top();
  const ValueId id = graph.inputs()[input];
  const InputSpec& spec = program_.signature.inputs[input];
  ABSL_ASSIGN_OR_RETURN(schema::Tensor tensor, DescribeTensor(meta, graph.value(id).name));
  if (tensor.dynamic_dims() != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "buffer '", spec.target, "' has a dynamic size: ", PrintType(graph.value(id).type)));
  }
  uint64_t bytes = DTypeSize(meta.dtype);
  for (int64_t size : tensor.sizes()) bytes *= static_cast<uint64_t>(size);
  tensor.set_state_offset(method_.state_bytes());
  method_.set_state_bytes(AlignUp(method_.state_bytes() + bytes));
  schema::Value value;
  const std::string order = tensor.dim_order();
  *value.mutable_tensor() = std::move(tensor);
  const ValueIndex index = AddValue(std::move(value));
  scope[id] = index;
  schema::StateBuffer* state = method_.add_state();
  state->set_name(spec.target);
  state->set_value(index);
  if (const ConstantTensor* initial = program_.FindConstant(spec)) {
    ABSL_ASSIGN_OR_RETURN(
        const uint32_t constant,
        pool_.AddTensor(
            *initial,
            absl::MakeConstSpan(reinterpret_cast<const uint8_t*>(order.data()), order.size())));
    state->set_initial(constant + 1);
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> MethodBuilder::IsChangedElsewhere(const InputSpec& spec,
                                                       const ConstantTensor& constant,
                                                       uint32_t index,
                                                       absl::Span<const uint8_t> order) {
  if (spec.kind == InputKind::kTensorConstant) return false;
  const auto it = changed_.find(spec.target);
  if (it == changed_.end()) return false;
  for (const ConstantTensor* other : it->second) {
    if (other->dtype() != constant.dtype() || other->sizes() != constant.sizes()) continue;
    if (spec.replaceable) {
      return absl::InvalidArgumentError(
          absl::StrCat("replaceable tensor '", spec.target, "': another method writes to it"));
    }
    ABSL_ASSIGN_OR_RETURN(const uint32_t other_index, pool_.AddTensor(*other, order, spec.file));
    if (other_index == index) return true;
  }
  return false;
}

absl::Status MethodBuilder::AddInputs() {
  const Graph& graph = program_.top();
  const absl::btree_set<std::string_view> mutated_state = MutatedState(program_.signature);
  absl::flat_hash_set<std::string> mutated_inputs;
  for (const OutputSpec& spec : program_.signature.outputs) {
    if (spec.kind == OutputKind::kUserInputMutation) mutated_inputs.insert(spec.target);
  }
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    const ValueId id = graph.inputs()[i];
    const Value& value = graph.value(id);
    const InputSpec& spec = program_.signature.inputs[i];
    const TensorMeta* meta = value.tensor();
    switch (spec.kind) {
      case InputKind::kParameter:
      case InputKind::kBuffer:
      case InputKind::kTensorConstant: {
        if (meta == nullptr) {
          return absl::InvalidArgumentError(
              absl::StrCat("constant '", spec.target, "' is not a tensor"));
        }
        if (mutated_state.contains(spec.target)) {
          ABSL_RETURN_IF_ERROR(AddState(i, *meta, top_));
          break;
        }
        const ConstantTensor* constant = program_.FindConstant(spec);
        if (constant == nullptr) {
          return absl::InvalidArgumentError(
              absl::StrCat("constant '", spec.target, "' has no tensor in the program"));
        }
        ABSL_ASSIGN_OR_RETURN(schema::Tensor tensor, DescribeTensor(*meta, value.name));
        const std::string bytes = tensor.dim_order();
        const auto order =
            absl::MakeConstSpan(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
        ABSL_ASSIGN_OR_RETURN(const uint32_t index,
                              spec.replaceable ? pool_.AddReplaceable(spec, *constant, order)
                                               : pool_.AddTensor(*constant, order, spec.file));
        ABSL_ASSIGN_OR_RETURN(const bool changed,
                              IsChangedElsewhere(spec, *constant, index, order));
        if (changed) {
          ABSL_RETURN_IF_ERROR(AddState(i, *meta, top_));
          break;
        }
        tensor.set_constant(index);
        schema::Value v;
        *v.mutable_tensor() = std::move(tensor);
        top_[id] = AddValue(std::move(v));
        break;
      }
      case InputKind::kUserInput:
      case InputKind::kConstantInput: {
        schema::Input input;
        input.set_name(value.name);
        input.set_mutated(mutated_inputs.contains(value.name));
        schema::Value v;
        if (meta != nullptr) {
          ABSL_ASSIGN_OR_RETURN(*v.mutable_tensor(), DescribeTensor(*meta, value.name));
          v.mutable_tensor()->mutable_external();
          for (int d = 0; d < meta->rank(); ++d) {
            if (!meta->sizes[d].AsInt().has_value()) AddConstraint(input, d, meta->sizes[d]);
          }
        } else if (const auto* sym = std::get_if<SymIntType>(&value.type)) {
          v.mutable_scalar()->set_kind(schema::ScalarSlot::INT);
          AddConstraint(input, 0, sym->expr);
        } else if (std::holds_alternative<SymFloatType>(value.type)) {
          v.mutable_scalar()->set_kind(schema::ScalarSlot::DOUBLE);
        } else if (std::holds_alternative<SymBoolType>(value.type)) {
          v.mutable_scalar()->set_kind(schema::ScalarSlot::BOOL);
        } else if (const auto* constant = std::get_if<ConstantType>(&value.type)) {
          std::visit(
              [&](const auto& c) {
                using T = std::decay_t<decltype(c)>;
                if constexpr (std::is_same_v<T, None>) v.mutable_none();
                if constexpr (std::is_same_v<T, int64_t>) v.set_int_(c);
                if constexpr (std::is_same_v<T, double>) v.set_double_(c);
                if constexpr (std::is_same_v<T, bool>) v.set_bool_(c);
                if constexpr (std::is_same_v<T, std::string>) v.set_string(c);
              },
              constant->value);
        } else {
          unsupported_.Add([&] { return absl::StrCat("input '", value.name, "'"); },
                           PrintType(value.type));
          v.mutable_none();
        }
        const ValueIndex index = AddValue(std::move(v));
        top_[id] = index;
        input.set_value(index);
        *method_.add_inputs() = std::move(input);
        break;
      }
      case InputKind::kToken:
        top_[id] = AddNone();
        break;
      case InputKind::kCustomObject:
        unsupported_.Add([&] { return absl::StrCat("input '", value.name, "'"); },
                         absl::StrCat("custom object ", spec.target));
        top_[id] = AddNone();  // so that its users can be checked
        break;
    }
  }
  return absl::OkStatus();
}

bool MethodBuilder::IsInputOrState(ValueIndex value) const {
  const schema::Value& v = method_.values(value);
  return v.has_tensor() &&
         (v.tensor().has_external() || v.tensor().location_case() == schema::Tensor::kStateOffset);
}

std::optional<MethodBuilder::ValueIndex> MethodBuilder::WrittenInput(const OutputSpec& spec) const {
  const InputKind kind = spec.kind == OutputKind::kBufferMutation      ? InputKind::kBuffer
                         : spec.kind == OutputKind::kParameterMutation ? InputKind::kParameter
                                                                       : InputKind::kUserInput;
  const Graph& graph = program_.top();
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    const InputSpec& input = program_.signature.inputs[i];
    const ValueId id = graph.inputs()[i];
    const std::string& name = kind == InputKind::kUserInput ? graph.value(id).name : input.target;
    if (input.kind == kind && name == spec.target) return top_.get(id);
  }
  return std::nullopt;
}

absl::Status MethodBuilder::AddOutputs() {
  const Graph& graph = program_.top();
  struct WriteBack {
    ValueIndex from, to;
  };
  std::vector<WriteBack> write_backs;
  std::vector<ValueIndex> outputs;
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    const OutputSpec& spec = program_.signature.outputs[i];
    if (spec.kind == OutputKind::kToken) continue;
    ABSL_ASSIGN_OR_RETURN(const ValueIndex value, ArgumentValue(graph, graph.outputs()[i], top_));
    switch (spec.kind) {
      case OutputKind::kBufferMutation:
      case OutputKind::kParameterMutation:
      case OutputKind::kUserInputMutation: {
        const std::optional<ValueIndex> to = WrittenInput(spec);
        if (!to.has_value()) {
          return absl::InvalidArgumentError(absl::StrCat("output ", i, ", a ",
                                                         std::string(OutputKindName(spec.kind)),
                                                         " of '", spec.target, "': unknown input"));
        }
        write_backs.push_back({value, *to});
        break;
      }
      case OutputKind::kUserOutput:
        outputs.push_back(value);
        break;
      default:
        unsupported_.Add([&] { return absl::StrCat("output ", i); },
                         absl::StrCat("of kind ", std::string(OutputKindName(spec.kind))));
    }
  }
  // The old content of an input or state is needed if it is written back below: copy it first.
  const auto is_written = [&](ValueIndex value) {
    return std::any_of(write_backs.begin(), write_backs.end(),
                       [&](const WriteBack& w) { return w.to == value && w.from != w.to; });
  };
  absl::flat_hash_map<ValueIndex, ValueIndex> saved;
  const auto save = [&](ValueIndex value) {
    if (!IsInputOrState(value) || !is_written(value)) return value;
    const auto [it, inserted] = saved.try_emplace(value, 0);
    if (inserted) {
      it->second = AddTemporaryLike(value);
      AddMove(value, it->second);
    }
    return it->second;
  };
  for (WriteBack& w : write_backs) {
    if (w.from != w.to) w.from = save(w.from);
  }
  for (ValueIndex& output : outputs) output = save(output);
  if (!write_backs.empty()) {
    schema::Value literal;
    literal.set_bool_(false);
    const ValueIndex non_blocking = AddLiteral(literal);
    for (const WriteBack& w : write_backs) {
      if (w.from == w.to) continue;
      AddKernelCall("aten.copy_.default", {w.to, w.from, non_blocking}, {w.to});
    }
  }
  for (ValueIndex output : outputs) method_.add_outputs(output);
  return absl::OkStatus();
}

// --- Nodes ---

absl::Status MethodBuilder::EmitGraph(const Graph& graph, Scope& scope) {
  for (NodeId id : graph.nodes()) {
    current_graph_ = &graph;
    current_node_ = id;
    if (const absl::Status status = EmitNode(graph, id, scope); !status.ok()) {
      return AtNode(status, graph, id);
    }
  }
  return absl::OkStatus();
}

absl::Status MethodBuilder::EmitNode(const Graph& graph, NodeId id, Scope& scope) {
  const Node& node = graph.node(id);
  if (const HigherOrder* row = higher_order_.Find(node.target)) {
    return (this->*row->emit)(graph, id, scope);
  }
  if (!node.target->known() || node.target->dialect() == Dialect::kHigherOrder) {
    AddUnknownOperator(node.target->name(), node);
    // Add result values, so that later nodes can be checked too.
    return AddResults(graph, id, scope).status();
  }
  std::vector<ValueIndex> arguments;
  for (const Argument& argument : node.arguments) {
    ABSL_ASSIGN_OR_RETURN(const ValueIndex value, ArgumentValue(graph, argument, scope));
    arguments.push_back(value);
  }
  if (const auto it = in_place_.find({&graph, id}); it != in_place_.end()) {
    scope[node.results()[0]] = arguments.front();
    AddKernelCall(std::string(it->second), arguments, {arguments.front()});
    return absl::OkStatus();
  }
  ABSL_ASSIGN_OR_RETURN(const std::vector<ValueIndex> outputs, AddResults(graph, id, scope));
  AddKernelCall(node.target->name(), arguments, outputs);
  return absl::OkStatus();
}

std::string MethodBuilder::OperandForm(ValueIndex value) const {
  schema::Value form = method_.values(value);
  if (form.has_tensor()) form.mutable_tensor()->clear_location();
  if (!form.has_list()) return form.SerializeAsString();
  std::string text = "list";
  for (const uint32_t element : form.list().elements()) {
    const std::string inner = OperandForm(element);
    absl::StrAppend(&text, " ", inner.size(), " ", inner);
  }
  return text;
}

absl::StatusOr<uint32_t> MethodBuilder::DelegateIndex(ModuleId module,
                                                      const std::vector<ValueIndex>& arguments,
                                                      const std::vector<ValueIndex>& outputs) {
  std::string key = absl::StrCat(module.index(), " ", arguments.size());
  for (const auto* operands : {&arguments, &outputs}) {
    for (const ValueIndex operand : *operands) {
      const std::string form = OperandForm(operand);
      absl::StrAppend(&key, " ", form.size(), " ", form);
    }
  }
  const auto [it, inserted] = delegates_.try_emplace(std::move(key), method_.delegates_size());
  if (!inserted) return it->second;
  const LoweredBackendModule& lowered = *program_.lowered_modules[module];
  if (!delegated_.insert(module).second && KeepsState(lowered)) {
    return absl::UnimplementedError(absl::StrCat(
        "module#", module.index(), " (backend ", lowered.backend_id,
        ") keeps state and is called with operands of different types: each type would "
        "have its own state"));
  }
  schema::Delegate* entry = method_.add_delegates();
  entry->set_backend_id(lowered.backend_id);
  entry->set_segment(pool_.AddDelegateBlob(lowered.processed));
  for (const CompileSpec& spec : lowered.compile_specs) {
    if (!IsUtf8(spec.key)) {
      return absl::InvalidArgumentError(
          absl::StrCat("module#", module.index(), " (backend ", lowered.backend_id, "): the key '",
                       absl::CHexEscape(spec.key), "' of a compile spec is not UTF-8"));
    }
    schema::CompileSpec* s = entry->add_compile_specs();
    s->set_key(spec.key);
    s->set_value(spec.value);
  }
  schema::DelegateDebugInfo* debug = debug_.add_delegates();
  for (const auto& [key, handles] : lowered.debug_handle_map) {
    schema::DelegateDebugInfo::Entry* e = debug->add_entries();
    if (const int64_t* i = std::get_if<int64_t>(&key)) {
      e->set_int_id(*i);
    } else {
      e->set_string_id(std::get<std::string>(key));
    }
    for (int64_t handle : handles) e->add_debug_handles(handle);
  }
  for (const Graph& inner : lowered.original.graphs) {
    for (NodeId id : inner.nodes()) {
      const Node& node = inner.node(id);
      if (node.debug_handle == 0) continue;
      schema::DelegateDebugInfo::Node* n = debug->add_nodes();
      n->set_debug_handle(node.debug_handle);
      n->set_node(node.name);
      n->set_source(node.provenance.ToString());
      if (node.provenance.module != nullptr) n->set_module(*node.provenance.module);
      n->set_operator_(node.target->name());
    }
  }
  return it->second;
}

absl::Status MethodBuilder::EmitDelegateCall(const Graph& graph, NodeId id, Scope& scope) {
  const Node& node = graph.node(id);
  const ModuleId* module = node.argument("module").get_if<ModuleId>();
  if (module == nullptr || !program_.lowered_modules.contains(*module)) {
    return absl::InvalidArgumentError("a delegate call without a lowered module");
  }
  const LoweredBackendModule& lowered = *program_.lowered_modules[*module];
  std::vector<ValueIndex> arguments;
  for (size_t i = *node.target->ArgumentIndex("module") + 1; i < node.arguments.size(); ++i) {
    ABSL_ASSIGN_OR_RETURN(const ValueIndex value, ArgumentValue(graph, node.arguments[i], scope));
    arguments.push_back(value);
  }
  ABSL_ASSIGN_OR_RETURN(const std::vector<ValueIndex> outputs, AddResults(graph, id, scope));
  ABSL_ASSIGN_OR_RETURN(const uint32_t delegate, DelegateIndex(*module, arguments, outputs));
  schema::DelegateCall* call = AddInstruction().mutable_delegate();
  call->set_delegate(delegate);
  for (ValueIndex v : arguments) call->add_arguments(v);
  for (ValueIndex v : outputs) call->add_outputs(v);
  // The debug handles of all nodes in the delegate, for symbolizing its events.
  schema::InstructionDebugInfo* info = debug_.mutable_instructions(debug_.instructions_size() - 1);
  info->clear_debug_handles();
  for (const Graph& inner : lowered.original.graphs) {
    for (NodeId n : inner.nodes()) {
      if (inner.node(n).debug_handle != 0) info->add_debug_handles(inner.node(n).debug_handle);
    }
  }
  return absl::OkStatus();
}

}  // namespace belay::exir
