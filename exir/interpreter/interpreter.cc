#include "exir/interpreter/interpreter.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "absl/container/btree_set.h"
#include "absl/strings/str_join.h"
#include "exir/interpreter/interpreter_impl.h"
#include "exir/ir/lowered_backend_module.h"
#include "exir/ir/text.h"
#include "runtime/core/annotate.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"

namespace belay::exir {
namespace {

bool IsUserInput(const InputSpec& spec) { return IsProvidedByCaller(spec.kind); }

// Supported higher-order operators, by name, with their number of arguments (-1: any).
constexpr std::pair<std::string_view, int> kHigherOrder[] = {
    {"higher_order.cond", 4},
    {"higher_order.while_loop", 4},
    {"higher_order.map_impl", 3},
    {"higher_order.scan", 4},
    {"higher_order.wrap_with_set_grad_enabled", -1},
    {"higher_order.wrap_with_autocast", -1},
    {"higher_order.with_effects", -1},
    {"higher_order.executorch_call_delegate", -1},
};

}  // namespace

Interpreter::Impl::Impl(const ExportedProgram& program, const KernelRegistry& kernels,
                        InterpreterOptions options, std::shared_ptr<BufferPool> pool)
    : program_(program), kernels_(kernels), options_(std::move(options)), pool_(std::move(pool)) {}

void Interpreter::Impl::CheckNode(const Graph& graph, NodeId id,
                                  std::vector<std::string>& missing) const {
  const Node& node = graph.node(id);
  std::string reason;
  const OpOverload* op = node.target->aten();
  if (op->dialect() == Dialect::kHigherOrder) {
    const auto* row = std::find_if(std::begin(kHigherOrder), std::end(kHigherOrder),
                                   [&](const auto& r) { return r.first == op->name(); });
    if (row == std::end(kHigherOrder)) {
      reason = "this higher-order operator is not supported";
    } else if (row->second >= 0 && node.arguments.size() != static_cast<size_t>(row->second)) {
      reason = absl::StrCat("it takes ", row->second, " arguments");
    } else if (op->name() == "higher_order.wrap_with_autocast") {
      const bool* enabled =
          node.arguments.size() < 5 ? nullptr : node.argument("enabled").get_if<bool>();
      if (enabled == nullptr || *enabled) reason = "casts of an autocast region are not inserted";
    } else if (op->name() == "higher_order.with_effects") {
      const OperatorName* inner = node.argument("operator").get_if<OperatorName>();
      const OpOverload* called = inner == nullptr ? nullptr : program_.ops->Find(inner->name);
      if (called == nullptr || called->dialect() == Dialect::kHigherOrder) {
        reason = "it calls an unknown operator";
      } else {
        op = called;
      }
    }
  }
  if (reason.empty() && op->dialect() != Dialect::kHigherOrder && !HasKernel(*op) &&
      op->composite_kernel() == nullptr) {
    reason = op->schema() == nullptr || !op->has_meta_kernel()
                 ? "the operator has no schema or no meta kernel"
                 : "the operator has no kernel";
  }
  if (!reason.empty()) missing.push_back(absl::StrCat(DescribeNode(graph, id), ": ", reason));
}

void Interpreter::Impl::FindLastUses(GraphId id) {
  const Graph& graph = program_.graphs[id];
  SecondaryMap<ValueId, NodeId> last(graph.value_id_limit());
  for (NodeId node : graph.nodes()) {
    for (const Argument& argument : graph.node(node).arguments) {
      ForEachValue(argument, [&](ValueId value) { last[value] = node; });
    }
    for (ValueId result : graph.node(node).results()) last[result] = node;
  }
  for (const Argument& output : graph.outputs()) {
    ForEachValue(output, [&](ValueId value) { last[value] = NodeId(); });
  }
  LastUses& uses = last_uses_[id.index()];
  for (uint32_t v = 0; v < graph.value_id_limit(); ++v) {
    const NodeId node = last.get(ValueId(v));
    // Keep the program's inputs: mutations are written to them at the end.
    if (id == ExportedProgram::kTop && graph.IsInput(ValueId(v))) continue;
    if (node.valid()) uses[node].push_back(ValueId(v));
  }
}

bool Interpreter::Impl::MayWrite(const Node& node) const {
  const OpOverload& op = *node.target->aten();
  if (op.schema() != nullptr && op.schema()->IsMutable()) return true;
  return op.name() == "higher_order.with_effects";
}

absl::Status Interpreter::Impl::Prepare(int nesting, std::vector<std::string>& missing) {
  if (nesting > options_.max_nesting) {
    return absl::ResourceExhaustedError(
        absl::StrCat("delegates are nested more than ", options_.max_nesting, " deep"));
  }
  last_uses_.resize(program_.graphs.size());
  share_copies_ = options_.share_copies;
  for (uint32_t g = 0; g < program_.graphs.size(); ++g) {
    FindLastUses(GraphId(g));
    const Graph& graph = program_.graphs[GraphId(g)];
    for (NodeId id : graph.nodes()) {
      CheckNode(graph, id, missing);
      const Node& node = graph.node(id);
      share_copies_ = share_copies_ && !MayWrite(node);
      if (node.target != program_.ops->CallDelegate()) continue;
      const ModuleId* module = node.argument("module").get_if<ModuleId>();
      if (module == nullptr || !program_.lowered_modules.contains(*module)) {
        return absl::InvalidArgumentError(
            absl::StrCat("a delegate call without a lowered module: ", DescribeNode(graph, id)));
      }
      std::unique_ptr<Impl>& delegate = delegates_[*module];
      if (delegate != nullptr) continue;
      delegate = std::make_unique<Impl>(program_.lowered_modules[*module]->original, kernels_,
                                        options_, pool_);
      ABSL_RETURN_IF_ERROR(delegate->Prepare(nesting + 1, missing));
    }
  }

  // Written tensors of the program are state.
  const absl::btree_set<std::string_view> mutated = MutatedState(program_.signature);
  const Graph& top = program_.top();
  constants_.resize(top.inputs().size());
  for (size_t i = 0; i < top.inputs().size(); ++i) {
    const InputSpec& spec = program_.signature.inputs[i];
    if (spec.kind == InputKind::kCustomObject) {
      missing.push_back(absl::StrCat("input '", top.value(top.inputs()[i]).name,
                                     "': custom object ", spec.target));
    }
    if (!NamesTensor(spec.kind)) continue;
    const ConstantTensor* constant = program_.FindConstant(spec);
    if (constant == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("constant '", spec.target, "' has no tensor in the program"));
    }
    ABSL_ASSIGN_OR_RETURN(OwnedValue datum, OwnedValue::Constant(*constant));
    // In TRAINING programs, operators write to buffers without a signature entry.
    const bool written =
        mutated.contains(spec.target) ||
        (program_.dialect == IrDialect::kTraining && spec.kind == InputKind::kBuffer);
    if (!written) {
      constants_[i] = std::move(datum);
      continue;
    }
    // Inputs with the same name are the same tensor.
    const auto [it, inserted] = state_.try_emplace(spec.target, State{i, std::move(datum)});
    if (inserted) {
      ABSL_ASSIGN_OR_RETURN(constants_[i], it->second.initial.Copy());
    } else {
      constants_[i] = constants_[it->second.input];
    }
  }
  return absl::OkStatus();
}

OwnedValue* Interpreter::Impl::FindState(std::string_view name) {
  if (const auto it = state_.find(std::string(name)); it != state_.end()) {
    return &constants_[it->second.input];
  }
  for (const auto& [module, delegate] : delegates_) {
    if (OwnedValue* datum = delegate->FindState(name)) return datum;
  }
  return nullptr;
}

absl::Status Interpreter::Impl::ResetState() {
  for (const auto& [name, state] : state_) {
    ABSL_RETURN_IF_ERROR(CopyElements(*state.initial.tensor(), *constants_[state.input].tensor()));
  }
  for (const auto& [module, delegate] : delegates_) ABSL_RETURN_IF_ERROR(delegate->ResetState());
  return absl::OkStatus();
}

void Interpreter::Impl::CollectStateNames(std::vector<std::string>& names) const {
  for (const auto& [name, state] : state_) names.push_back(name);
  for (const auto& [module, delegate] : delegates_) delegate->CollectStateNames(names);
}

// --- Inputs and outputs ---

absl::Status Interpreter::Impl::BindSymbol(const SymExpr& expr, int64_t value,
                                           const std::string& what, Symbols& symbols) const {
  const auto lookup = [&](std::string_view name) -> std::optional<int64_t> {
    const auto it = symbols.find(std::string(name));
    return it == symbols.end() ? std::nullopt : std::optional<int64_t>(it->second);
  };
  if (const std::optional<int64_t> known = expr.EvaluateInt(lookup)) {
    if (*known == value) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat(what, ": expected ", expr.ToString(), expr.AsInt().has_value() ? "" : " = ",
                     expr.AsInt().has_value() ? "" : absl::StrCat(*known), ", got ", value));
  }
  if (expr.kind() != SymExpr::Kind::kSymbol) return absl::OkStatus();
  const auto range = program_.ranges.find(std::string(expr.name()));
  if (range != program_.ranges.end() && (value < range->second.min || value > range->second.max)) {
    return absl::InvalidArgumentError(absl::StrCat(what, ": ", expr.ToString(), " is ", value,
                                                   ", expected ", range->second.min, " to ",
                                                   range->second.max));
  }
  symbols.emplace(std::string(expr.name()), value);
  return absl::OkStatus();
}

absl::Status Interpreter::Impl::CheckInput(const std::string& what, const ValueType& type,
                                           const OwnedValue& datum) const {
  const EValue& value = datum.value();
  const TensorMeta* meta = std::get_if<TensorMeta>(&type);
  bool fits = true;
  if (meta != nullptr) {
    const TensorView* tensor = datum.tensor();
    fits = tensor != nullptr && tensor->dtype == meta->dtype && tensor->rank() == meta->rank();
  } else if (std::holds_alternative<SymIntType>(type)) {
    fits = value.is<int64_t>();
  } else if (std::holds_alternative<SymFloatType>(type)) {
    fits = value.is<double>();
  } else if (std::holds_alternative<SymBoolType>(type)) {
    fits = value.is<bool>();
  }
  if (fits) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(what, ": expected ", PrintType(type), ", got ", value.KindName()));
}

absl::Status Interpreter::Impl::Bind(const ValueType& type, const OwnedValue& datum,
                                     Symbols& symbols) const {
  if (const TensorMeta* meta = std::get_if<TensorMeta>(&type)) {
    const TensorView* tensor = datum.tensor();
    if (tensor == nullptr || tensor->rank() != meta->rank()) return absl::OkStatus();
    // Bind bare symbols first: they determine the expressions.
    for (const bool alone : {true, false}) {
      for (int d = 0; d < meta->rank(); ++d) {
        if ((meta->sizes[d].kind() == SymExpr::Kind::kSymbol) != alone) continue;
        ABSL_RETURN_IF_ERROR(
            BindSymbol(meta->sizes[d], tensor->sizes[d], absl::StrCat("size ", d), symbols));
      }
    }
  } else if (const auto* sym = std::get_if<SymIntType>(&type)) {
    if (const int64_t* v = datum.value().get_if<int64_t>()) {
      ABSL_RETURN_IF_ERROR(BindSymbol(sym->expr, *v, "value", symbols));
    }
  }
  return absl::OkStatus();
}

absl::Status Interpreter::Impl::BindInputs(absl::Span<const EValue> inputs, Frame& frame) const {
  const Graph& top = program_.top();
  const auto count = static_cast<size_t>(std::count_if(
      program_.signature.inputs.begin(), program_.signature.inputs.end(), IsUserInput));
  if (inputs.size() != count) {
    return absl::InvalidArgumentError(
        absl::StrCat("the program: expected ", count, " inputs, got ", inputs.size()));
  }
  size_t next = 0;
  for (size_t i = 0; i < top.inputs().size(); ++i) {
    const ValueId id = top.inputs()[i];
    const Value& value = top.value(id);
    const InputSpec& spec = program_.signature.inputs[i];
    if (!IsUserInput(spec)) {
      frame.values[id.index()] = constants_[i];
      continue;
    }
    const std::string what = absl::StrCat("input ", next, " '", value.name, "'");
    const EValue& given = inputs[next++];
    OwnedValue& datum = frame.values[id.index()];
    if (const auto* constant = std::get_if<ConstantType>(&value.type)) {
      std::visit(
          [&](const auto& v) {
            using T = std::decay_t<decltype(v)>;
            if constexpr (std::is_same_v<T, std::string>) {
              datum = OwnedValue::String(v);
            } else {
              datum = OwnedValue::Scalar(EValue(v));
            }
          },
          constant->value);
      const EValue& want = datum.value();
      const bool same = given.is_none() || std::visit(
                                               [&](const auto& v) {
                                                 using T = std::decay_t<decltype(v)>;
                                                 if constexpr (std::is_same_v<T, std::string>) {
                                                   const auto* text =
                                                       given.get_if<std::string_view>();
                                                   return text != nullptr && *text == v;
                                                 } else {
                                                   const T* number = given.get_if<T>();
                                                   return number != nullptr && *number == v;
                                                 }
                                               },
                                               constant->value);
      if (!same) {
        return absl::InvalidArgumentError(absl::StrCat(what, ": expected ", PrintType(value.type),
                                                       ", which was fixed at export, got another ",
                                                       want.KindName()));
      }
      continue;
    }
    if (const TensorView* tensor = given.get_if<TensorView>()) {
      if (!NumElements(tensor->sizes).has_value() ||
          tensor->sizes.size() != tensor->strides.size()) {
        return absl::InvalidArgumentError(absl::StrCat(what, ": no valid tensor"));
      }
      datum = OwnedValue::Borrow(*tensor, program_.dialect == IrDialect::kTraining);
    } else if (const auto* text = given.get_if<std::string_view>()) {
      datum = OwnedValue::String(*text);
    } else {
      datum = OwnedValue::Scalar(given);
    }
    ABSL_RETURN_IF_ERROR(CheckInput(what, value.type, datum));
  }
  // Two rounds: bare symbols of any input determine symbols inside expressions of others.
  for (int round = 0; round < 2; ++round) {
    for (size_t i = 0; i < top.inputs().size(); ++i) {
      const Value& value = top.value(top.inputs()[i]);
      const absl::Status status =
          Bind(value.type, frame.values[top.inputs()[i].index()], frame.symbols);
      if (!status.ok()) return Annotate(status, absl::StrCat("input '", value.name, "'"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<OwnedValue>> Interpreter::Impl::TakeResults(Frame& frame) {
  const Graph& top = program_.top();
  std::vector<OwnedValue> results;
  std::vector<std::pair<OwnedValue, TensorView>> writes;
  for (size_t i = 0; i < top.outputs().size(); ++i) {
    const OutputSpec& spec = program_.signature.outputs[i];
    if (spec.kind == OutputKind::kToken) continue;
    ABSL_ASSIGN_OR_RETURN(const OwnedValue value, Evaluate(frame, top.outputs()[i]));
    // Copy before writing anything: the value may be a view of a written tensor.
    ABSL_ASSIGN_OR_RETURN(OwnedValue copy, value.Copy());
    if (!IsMutation(spec.kind)) {
      results.push_back(std::move(copy));
      continue;
    }
    const size_t pending = writes.size();
    for (size_t k = 0; k < top.inputs().size(); ++k) {
      const InputSpec& input = program_.signature.inputs[k];
      const bool target = spec.kind == OutputKind::kUserInputMutation
                              ? IsUserInput(input) && top.value(top.inputs()[k]).name == spec.target
                              : NamesTensor(input.kind) && input.target == spec.target;
      const TensorView* to = frame.values[top.inputs()[k].index()].tensor();
      if (!target || to == nullptr || copy.tensor() == nullptr) continue;
      if (!(to->sizes == copy.tensor()->sizes) || to->dtype != copy.tensor()->dtype) {
        return absl::InternalError(absl::StrCat("'", spec.target, "' is ", to->ToString(),
                                                ", its new value ", copy.tensor()->ToString()));
      }
      writes.emplace_back(std::move(copy), *to);
      break;
    }
    if (writes.size() == pending) {
      return absl::InternalError(absl::StrCat(std::string(OutputKindName(spec.kind)), " of '",
                                              spec.target,
                                              "', which is not a tensor of the program"));
    }
  }
  for (const auto& [from, to] : writes) ABSL_RETURN_IF_ERROR(CopyElements(*from.tensor(), to));
  return results;
}

absl::StatusOr<std::vector<OwnedValue>> Interpreter::Impl::Run(absl::Span<const EValue> inputs,
                                                               RunState& run) {
  Frame frame{.graph = &program_.top(),
              .id = ExportedProgram::kTop,
              .values = std::vector<OwnedValue>(program_.top().value_id_limit()),
              .symbols = {}};
  ABSL_RETURN_IF_ERROR(BindInputs(inputs, frame));
  ABSL_RETURN_IF_ERROR(RunGraph(frame, run));
  return TakeResults(frame);
}

// --- The public class ---

Interpreter::Interpreter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Interpreter::Interpreter(Interpreter&&) noexcept = default;
Interpreter& Interpreter::operator=(Interpreter&&) noexcept = default;
Interpreter::~Interpreter() = default;

absl::StatusOr<Interpreter> Interpreter::Create(const ExportedProgram& program,
                                                const KernelRegistry& kernels,
                                                InterpreterOptions options) {
  auto impl = std::make_unique<Impl>(program, kernels, std::move(options), BufferPool::Create());
  std::vector<std::string> missing;
  ABSL_RETURN_IF_ERROR(impl->Prepare(0, missing));
  if (!missing.empty()) {
    return absl::UnimplementedError(absl::StrCat(
        missing.size(), " nodes or inputs can't be executed:\n  ", absl::StrJoin(missing, "\n  ")));
  }
  return Interpreter(std::move(impl));
}

absl::StatusOr<std::vector<OwnedValue>> Interpreter::Run(absl::Span<const EValue> inputs) {
  Impl::RunState run;
  return impl_->Run(inputs, run);
}

void Interpreter::FreeUnusedMemory() { impl_->pool().Trim(); }

std::vector<std::string> Interpreter::StateNames() const {
  std::vector<std::string> names;
  impl_->CollectStateNames(names);
  std::sort(names.begin(), names.end());
  return names;
}

absl::StatusOr<TensorView> Interpreter::GetState(std::string_view name) const {
  if (const OwnedValue* datum = impl_->FindState(name)) return *datum->tensor();
  return absl::NotFoundError(absl::StrCat(
      "unknown state '", name, "'; the program has: ", absl::StrJoin(StateNames(), ", ")));
}

absl::Status Interpreter::SetState(std::string_view name, const TensorView& value) {
  ABSL_ASSIGN_OR_RETURN(const TensorView state, GetState(name));
  if (state.dtype != value.dtype || !(state.sizes == value.sizes)) {
    return absl::InvalidArgumentError(absl::StrCat("state '", name, "': expected ",
                                                   state.ToString(), ", got ", value.ToString()));
  }
  return CopyElements(value, state);
}

absl::Status Interpreter::ResetState() { return impl_->ResetState(); }

}  // namespace belay::exir
