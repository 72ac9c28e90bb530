#include "exir/testing/generator/program_maker.h"
#include "exir/symbolic/assumed_equalities.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "exir/ir/infer.h"
#include "exir/op_definition/op_variants.h"
#include "exir/testing/generator/writes_as_copies.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"

namespace belay::exir {
namespace {

constexpr int64_t kMaxElements = 4096;
constexpr uint64_t kMaxBytes = 1 << 20;
constexpr int kMaxValues = 40;

// Whether the result type for some sizes differs from the general symbolic type.
bool IsStaticOnly(const OpOverload& op) {
  constexpr std::string_view kNames[] = {
      // after decomposition, fixed-size running statistics do not match symbolic channels
      "_native_batch_norm_legit",
      "_reshape_alias",  // strides are valid for one size, and some code paths use only the size
      "_reshape_alias_copy",
      "native_dropout",     // the mask of an empty input has the input's dtype
      "pixel_unshuffle",    // an empty image keeps its sizes
      "sym_is_contiguous",  // depends on which sizes are 0 or 1
  };
  return std::find(std::begin(kNames), std::end(kNames), op.op()) != std::end(kNames);
}

ValueType TypeOf(const ConstantTensor& constant) {
  return TensorMeta::Contiguous(constant.dtype(),
                                {constant.sizes().begin(), constant.sizes().end()});
}

// Whether no two elements overlap in memory.
bool HasOwnPlaces(const TensorView& view) {
  const auto order = DimOrderOf(view.sizes, view.strides);
  if (!order.has_value()) return false;
  int64_t extent = 1;
  for (int k = order->size() - 1; k >= 0; --k) {
    const int d = (*order)[k];
    if (view.sizes[d] <= 1) continue;
    if (view.strides[d] < extent) return false;
    extent = view.strides[d] * view.sizes[d];
  }
  return true;
}

}  // namespace

ProgramMaker::ProgramMaker(Random& random, const OpRegistry& ops, const KernelRegistry& kernels,
                           const RandomProgramOptions& options,
                           std::function<const OperatorCalls&()> deal)
    : random_(random),
      ops_(ops),
      kernels_(kernels),
      options_(options),
      deal_(std::move(deal)),
      made_(&ops) {}

RandomProgram ProgramMaker::Make() {
  made_.program.dialect = options_.dialect;
  made_.program.graphs.push_back(Graph());
  made_.dynamic = options_.dynamic_sizes && random_.Chance(40);
  const bool control_flow = options_.control_flow && random_.Chance(20);
  // Subgraphs are added when they are complete. Editors hold graph references, so add the top graph
  // last.
  Graph top;
  {
    Scope scope(top, nullptr);
    const int calls =
        1 + static_cast<int>(random_.Below(static_cast<uint64_t>(options_.max_calls)));
    for (const auto& [spec, constant] : options_.constants) {
      if (!random_.Chance(50)) continue;
      AddConstant(scope, spec, constant, TypeOf(constant));
    }
    constexpr int kMore = 10;  // additional attempts if none succeeded
    for (int i = 0; i < calls + (top.num_nodes() == 0 ? kMore : 0); ++i) {
      AddSomeCall(scope);
      if (control_flow && random_.Chance(40)) AddControlFlow(scope, 0);
    }
    AddOutputs(scope);
  }
  made_.program.graphs[ExportedProgram::kTop] = std::move(top);
  // Erase subgraphs of abandoned subgraphs.
  made_.program.EraseUnusedBodies();
  return std::move(made_);
}

SymExpr ProgramMaker::Fresh(SymRange range) {
  const std::string name = absl::StrCat("u", next_unbacked_++);
  made_.program.ranges[name] = range;
  return SymExpr::Symbol(name);
}

// --- Calls ---

bool ProgramMaker::AddSomeCall(Scope& scope) {
  const OperatorCalls& calls = deal_();
  if (calls.calls.empty()) return false;
  for (int attempt = 0; attempt < 6; ++attempt) {
    if (AddCall(scope, calls, random_.Pick(calls.calls))) return true;
  }
  return false;
}

bool ProgramMaker::AddCall(Scope& scope, const OperatorCalls& calls, const SampleCall& sample) {
  const bool writes = calls.op->schema()->IsMutable();
  if (writes && (options_.dialect != IrDialect::kTraining || in_body_)) return false;
  if (made_.dynamic && IsStaticOnly(*calls.op)) return false;
  const bool random = sample.unspecified || calls.op->has_trait(kNondeterministic);
  if (random && in_body_) return false;
  const How ways[] = {{.reuse = true, .symbols = made_.dynamic},
                      {.reuse = false, .symbols = made_.dynamic},
                      {.reuse = false, .symbols = false}};
  for (const How& how : ways) {
    if (made_.dynamic && options_.dynamic_size.has_value() && !how.symbols) return false;
    std::vector<Argument> arguments = sample.arguments;
    std::vector<ValueId> bound;
    for (const SampleTensor& tensor : sample.tensors) bound.push_back(Bind(scope, tensor, how));
    for (Argument& argument : arguments) {
      ForEachValueRef(argument, [&](ValueId& id) { id = bound[id.index()]; });
    }
    if (how.symbols) {
      // A number equal to a symbol's value may be replaced by the symbol.
      for (size_t i = 0; i < arguments.size(); ++i) {
        if (!calls.op->schema()->arguments[i].type.symbolic) continue;
        Argument::List* list = arguments[i].get_if<Argument::List>();
        if (list == nullptr) continue;
        for (Argument& element : *list) {
          const int64_t* number = element.get_if<int64_t>();
          if (number == nullptr) continue;
          const bool always = *number == options_.dynamic_size;
          if (!always && !random_.Chance(60)) continue;
          const auto size = SizeValue(scope, *number);
          if (always && !size.has_value()) return false;
          if (size.has_value()) element = Argument(*size);
        }
      }
    }
    const bool done = writes ? TryInPlace(scope, *calls.op, std::move(arguments))
                             : Try(scope, *calls.op, std::move(arguments), random);
    if (done) {
      made_.called.push_back(calls.op);
      return true;
    }
  }
  return false;
}

NodeId ProgramMaker::Insert(Scope& scope, GraphEditor::NewNode node,
                            std::vector<GraphEditor::NewOutput> outputs) {
  if (options_.dialect == IrDialect::kEdge) {
    const int64_t number = next_node_++;
    node.debug_handle = number > 1 && random_.Chance(15) ? number - 1 : number;
    node.provenance.origin = std::make_shared<const std::string>(absl::StrCat("n", number, "@1"));
  }
  return scope.editor.InsertNode(NodeId(), std::move(node), std::move(outputs));
}

bool ProgramMaker::SizesAreLegal(const MetaValue& meta) const {
  if (const MetaList* list = meta.get_if<MetaList>()) {
    return list->size() <= 64 && std::all_of(list->begin(), list->end(),
                                             [&](const MetaValue& m) { return SizesAreLegal(m); });
  }
  const TensorMeta* tensor = meta.get_if<TensorMeta>();
  if (tensor == nullptr) return true;
  int64_t elements = 1;
  for (const SymExpr& size : tensor->sizes) {
    const SymRange range = size.Range(made_.program.ranges);
    if (range.min < 0 || range.max > kMaxElements) return false;
    elements *= std::max<int64_t>(range.max, 1);
    if (elements > kMaxElements) return false;
  }
  return true;
}

Operand ProgramMaker::ToOperand(Scope& scope, const Argument& argument) const {
  if (const ValueId* id = argument.get_if<ValueId>()) {
    return Operand::Of(&scope.data[id->index()]);
  }
  if (const Argument::List* list = argument.get_if<Argument::List>()) {
    std::vector<Operand> elements;
    for (const Argument& element : *list) elements.push_back(ToOperand(scope, element));
    return Operand::List(std::move(elements));
  }
  absl::StatusOr<MetaValue> literal = ToMetaValue(scope.editor.graph(), argument);
  ABSL_CHECK(literal.ok());
  return Operand::Literal(*std::move(literal));
}

bool ProgramMaker::Try(Scope& scope, const OpOverload& op, std::vector<Argument> arguments,
                       bool unspecified) {
  // Programs are also called with other sizes, for which the assumptions need not hold.
  AssumedEqualities assumed;
  const auto metas = InferOutputs(scope.editor.graph(), &op, arguments, this);
  if (!metas.ok() || !assumed.pairs().empty()) return false;
  for (const MetaValue& meta : *metas) {
    if (!SizesAreLegal(meta)) return false;
  }
  std::vector<Operand> operands;
  for (const Argument& argument : arguments) operands.push_back(ToOperand(scope, argument));
  auto returns = CallOperator(*op.aten(), absl::MakeSpan(operands), kernels_,
                              {.engine = KernelEngine::kReference, .max_tensor_bytes = kMaxBytes});
  if (!returns.ok()) return false;
  std::vector<GraphEditor::NewOutput> outputs;
  std::vector<OwnedValue> data;
  for (size_t i = 0; i < metas->size(); ++i) {
    const MetaValue& meta = (*metas)[i];
    GraphEditor::NewOutput& output = outputs.emplace_back();
    if (meta.is_none()) {
      output.kind = NodeOutput::Kind::kNone;
      continue;
    }
    if (const MetaList* list = meta.get_if<MetaList>()) {
      output.kind = NodeOutput::Kind::kList;
      for (const MetaValue& element : *list) output.values.emplace_back("", ToValueType(element));
    } else {
      output.values.emplace_back("", ToValueType(meta));
    }
    for (auto& [name, type] : output.values) name = std::string(op.op());
    for (OwnedValue& datum : (*returns)[i].values) data.push_back(std::move(datum));
  }
  GraphEditor::NewNode node;
  node.name = std::string(op.op());
  node.target = &op;
  node.arguments = std::move(arguments);
  const NodeId id = Insert(scope, std::move(node), std::move(outputs));
  const std::vector<ValueId> results = scope.editor.graph().node(id).results();
  ABSL_CHECK(results.size() == data.size());
  for (size_t i = 0; i < results.size(); ++i) {
    scope.data[results[i].index()] = data[i];
    if (!unspecified && data[i].tensor() != nullptr) Know(scope, results[i], data[i]);
  }
  return true;
}

bool ProgramMaker::TryInPlace(Scope& scope, const OpOverload& op, std::vector<Argument> arguments) {
  const ValueId* self = arguments.empty() ? nullptr : arguments[0].get_if<ValueId>();
  if (self == nullptr) return false;
  const OwnedValue written = scope.data[self->index()];
  if (written.tensor() == nullptr || !written.writable() || !HasOwnPlaces(*written.tensor())) {
    return false;
  }
  if (op.op() == "copy_") {
    // The source must be valid for all symbol values.
    const ValueId* source = arguments[1].get_if<ValueId>();
    if (source == nullptr) return false;
    const std::vector<SymExpr>& from = Meta(scope, *source).sizes;
    const std::vector<SymExpr>& to = Meta(scope, *self).sizes;
    if (from.size() > to.size()) return false;
    for (size_t d = 0; d < from.size(); ++d) {
      const SymExpr& size = from[from.size() - 1 - d];
      if (size.AsInt() != 1 && !(size == to[to.size() - 1 - d])) return false;
    }
  }
  if (!NeedsVariant(op)) {
    // The destination of such an operator must not overlap its other operands.
    std::vector<const TensorView*> views;
    for (const Argument& argument : arguments) {
      ForEachValue(argument, [&](ValueId id) {
        if (const TensorView* view = scope.data[id.index()].tensor()) views.push_back(view);
      });
    }
    for (size_t i = 0; i < views.size(); ++i) {
      for (size_t k = 0; k < i; ++k) {
        if (MayOverlap(*views[i], *views[k])) return false;
      }
    }
    if (!Try(scope, op, std::move(arguments), /*unspecified=*/false)) return false;
    made_.mutates = true;
    return true;
  }
  const absl::StatusOr<const OpOverload*> variant = ToVariant(ops_, &op, SchemaKind::kFunctional);
  const OpOverload* copy = ops_.Find("aten.copy_.default");
  if (!variant.ok() || copy == nullptr) return false;
  std::vector<Argument> variant_arguments;
  for (const SchemaArgument& argument : (*variant)->schema()->arguments) {
    const std::optional<int> i = op.schema()->ArgumentIndex(argument.name);
    variant_arguments.push_back(i.has_value() ? arguments[*i] : DefaultArgument(argument));
  }
  AssumedEqualities assumed;  // see Try
  const auto metas = InferOutputs(scope.editor.graph(), *variant, variant_arguments, nullptr);
  if (!metas.ok() || metas->size() != 1 || !assumed.pairs().empty()) return false;
  const TensorMeta* result = (*metas)[0].get_if<TensorMeta>();
  const TensorMeta& meta = Meta(scope, *self);
  if (result == nullptr || result->dtype != meta.dtype || result->sizes != meta.sizes) return false;
  std::vector<Operand> operands;
  for (const Argument& argument : variant_arguments) operands.push_back(ToOperand(scope, argument));
  const CallOptions options = {.engine = KernelEngine::kReference, .max_tensor_bytes = kMaxBytes};
  auto computed = CallOperator(**variant, absl::MakeSpan(operands), kernels_, options);
  if (!computed.ok()) return false;
  Operand copy_operands[] = {Operand::Of(&scope.data[self->index()]),
                             Operand::Of(&(*computed)[0].values[0]),
                             Operand::Literal(MetaValue(false))};
  if (!CallOperator(*copy, absl::MakeSpan(copy_operands), kernels_, options).ok()) return false;
  GraphEditor::NewNode node;
  node.name = std::string(op.op());
  node.target = &op;
  const ValueType type = scope.editor.graph().value(*self).type;
  node.arguments = std::move(arguments);
  Know(scope, scope.editor.InsertOp(NodeId(), std::move(node), type), written);
  made_.mutates = true;
  return true;
}

std::optional<ValueId> ProgramMaker::Call(Scope& scope, std::string_view name,
                                          std::vector<Argument> given) {
  const OpOverload* op = ops_.Find(name);
  // Size queries are ATen operators in every dialect.
  if (options_.dialect == IrDialect::kEdge && !name.starts_with("aten.sym_")) {
    op = ops_.FindText(absl::StrCat("edge.", name));
  }
  ABSL_CHECK(op != nullptr);
  for (size_t i = given.size(); i < op->schema()->arguments.size(); ++i) {
    given.push_back(DefaultArgument(op->schema()->arguments[i]));
  }
  if (!Try(scope, *op, std::move(given), /*unspecified=*/false)) return std::nullopt;
  return scope.editor.graph().node(scope.editor.graph().last()).results()[0];
}

std::optional<ValueId> ProgramMaker::SizeValue(Scope& scope, int64_t size) {
  const auto symbol = symbols_.find(size);
  if (symbol == symbols_.end()) return std::nullopt;
  const SymExpr expression = SymExpr::Symbol(symbol->second);
  if (const auto it = scope.sizes.find(symbol->second); it != scope.sizes.end()) return it->second;
  for (const Known& known : scope.values) {
    const TensorMeta& meta = Meta(scope, known.id);
    for (int d = 0; d < meta.rank(); ++d) {
      if (!(meta.sizes[d] == expression)) continue;
      const auto value = Call(scope, "aten.sym_size.int", {known.id, Argument(d)});
      if (value.has_value()) scope.sizes[symbol->second] = *value;
      return value;
    }
  }
  return std::nullopt;
}

// --- Values ---

void ProgramMaker::Know(Scope& scope, ValueId id, OwnedValue datum) {
  scope.data[id.index()] = datum;
  scope.values.push_back({id, std::move(datum)});
  if (scope.values.size() > kMaxValues) scope.values.pop_front();
}

ValueId ProgramMaker::Bind(Scope& scope, const SampleTensor& sample, How how) {
  if (how.reuse && random_.Chance(70)) {
    std::vector<ValueId> fitting;
    for (const Known& known : scope.values) {
      const TensorView& view = *known.datum.tensor();
      if (view.dtype == sample.dtype && view.sizes == sample.sizes) fitting.push_back(known.id);
    }
    // Prefer recent values, to form chains.
    if (!fitting.empty()) return random_.Chance(50) ? fitting.back() : random_.Pick(fitting);
  }
  return NewSource(scope, sample, how.symbols);
}

ValueId ProgramMaker::NewSource(Scope& scope, const SampleTensor& sample, bool symbols) {
  if (scope.outer == nullptr) return NewTopSource(scope, sample, symbols);
  const ValueId operand = NewSource(*scope.outer, sample, symbols);
  return AddBodyInput(scope, operand, scope.outer->data[operand.index()],
                      scope.outer->editor.graph().value(operand).type);
}

ValueId ProgramMaker::AddBodyInput(Scope& body, ValueId operand, const OwnedValue& datum,
                                   ValueType type) {
  body.operands.emplace_back(operand);
  const ValueId id = body.editor.AddInput("a", std::move(type));
  Know(body, id, datum);
  return id;
}

ValueId ProgramMaker::NewTopSource(Scope& scope, const SampleTensor& sample, bool symbols) {
  std::vector<SymExpr> sizes;
  bool dynamic = false;
  for (int64_t size : sample.sizes) {
    const bool known = symbols_.count(size) != 0;
    if (symbols && size >= 2 && options_.dynamic_size.value_or(size) == size &&
        (known || symbols_.size() < 3) &&
        (options_.dynamic_size.has_value() || random_.Chance(70))) {
      if (!known) {
        const std::string name = absl::StrCat("s", symbols_.size());
        symbols_[size] = name;
        made_.program.ranges[name] = {
            .min = std::max(options_.least_size, static_cast<int64_t>(random_.Below(3))),
            .max = size + 3};
        made_.program.hints[name] = size;
      }
      sizes.push_back(SymExpr::Symbol(symbols_[size]));
      dynamic = true;
    } else {
      sizes.emplace_back(size);
    }
  }
  const DimOrder order =
      DimOrderOf(sample.sizes, sample.strides).value_or(ContiguousOrder(sample.sizes.size()));
  const ValueType type = TensorMeta::Dense(sample.dtype, std::move(sizes), order.span());
  const int number = next_source_++;
  GraphSignature& signature = made_.program.signature;
  if (dynamic || !options_.constants.empty() || random_.Chance(60)) {
    const ValueId id = scope.editor.AddInput(absl::StrCat("x", number), type);
    signature.inputs.push_back({});
    made_.samples.push_back(sample);
    Know(scope, id, sample.Copy());
    return id;
  }
  constexpr InputKind kKinds[] = {InputKind::kParameter, InputKind::kBuffer, InputKind::kBuffer,
                                  InputKind::kTensorConstant};
  InputSpec spec{.kind = kKinds[random_.Below(std::size(kKinds))],
                 .target = absl::StrCat("t", number)};
  if (spec.kind == InputKind::kBuffer) spec.persistent = random_.Chance(70);
  const absl::StatusOr<ConstantTensor> constant =
      ConstantTensor::Create(sample.dtype, sample.sizes, sample.strides, 0,
                             Storage::Own(std::vector<std::byte>(sample.bytes)));
  ABSL_CHECK(constant.ok());
  return AddConstant(scope, std::move(spec), *constant, type);
}

ValueId ProgramMaker::AddConstant(Scope& scope, InputSpec spec, const ConstantTensor& constant,
                                  const ValueType& type) {
  absl::StatusOr<OwnedValue> value = OwnedValue::Constant(constant);
  if (value.ok() && spec.kind == InputKind::kBuffer) value = value->Copy();
  ABSL_CHECK(value.ok());
  const bool state = spec.kind != InputKind::kTensorConstant && spec.persistent;
  (state ? made_.program.state_dict : made_.program.constants).emplace(spec.target, constant);
  // State and constants precede user inputs.
  std::vector<InputSpec>& inputs = made_.program.signature.inputs;
  const auto position = std::find_if(inputs.begin(), inputs.end(), [](const InputSpec& s) {
    return s.kind == InputKind::kUserInput;
  });
  const ValueId id = scope.editor.InsertInput(static_cast<size_t>(position - inputs.begin()),
                                              absl::StrCat("k_", spec.target), type);
  inputs.insert(position, std::move(spec));
  Know(scope, id, *std::move(value));
  return id;
}

std::optional<ValueId> ProgramMaker::PickFloat(Scope& scope) {
  std::vector<ValueId> fitting;
  for (const Known& known : scope.values) {
    if (known.datum.tensor()->dtype == DType::kFloat32) fitting.push_back(known.id);
  }
  if (fitting.empty()) return std::nullopt;
  return random_.Pick(fitting);
}

ValueId ProgramMaker::LastLike(const Scope& scope, ValueId like) const {
  const ValueType& type = scope.editor.graph().value(like).type;
  for (auto it = scope.values.rbegin(); it != scope.values.rend(); ++it) {
    if (scope.editor.graph().value(it->id).type == type) return it->id;
  }
  return like;
}

// --- Outputs ---

void ProgramMaker::AddOutputs(Scope& scope) {
  const Graph& graph = scope.editor.graph();
  std::vector<Argument> outputs;
  GraphSignature& signature = made_.program.signature;
  if (options_.mutation && options_.dialect != IrDialect::kTraining) {
    for (size_t i = 0; i < signature.inputs.size(); ++i) {
      const InputSpec& spec = signature.inputs[i];
      const bool buffer = spec.kind == InputKind::kBuffer;
      if (!(buffer && random_.Chance(40)) &&
          !(spec.kind == InputKind::kUserInput && random_.Chance(10))) {
        continue;
      }
      const ValueId input = graph.inputs()[i];
      std::vector<ValueId> fitting;
      for (const Known& known : scope.values) {
        const TensorMeta& meta = Meta(scope, known.id);
        if (known.id != input && meta.dtype == Meta(scope, input).dtype &&
            meta.sizes == Meta(scope, input).sizes && !graph.IsInput(known.id)) {
          fitting.push_back(known.id);
        }
      }
      if (fitting.empty()) continue;
      outputs.emplace_back(random_.Pick(fitting));
      signature.outputs.push_back(
          buffer ? OutputSpec{OutputKind::kBufferMutation, spec.target}
                 : OutputSpec{OutputKind::kUserInputMutation, graph.value(input).name});
      made_.mutates = true;
    }
  }
  const auto add = [&](ValueId id) {
    outputs.emplace_back(id);
    signature.outputs.push_back({});
  };
  for (const NodeId node : graph.nodes()) {
    for (ValueId id : graph.node(node).results()) {
      if (graph.value(id).users.empty() || random_.Chance(25)) add(id);
    }
  }
  if (!graph.inputs().empty() && random_.Chance(10)) {
    add(graph.inputs()[random_.Below(graph.inputs().size())]);
  }
  if (options_.dialect == IrDialect::kEdge && random_.Chance(5)) {
    outputs.emplace_back(7);
    signature.outputs.push_back({});
  }
  scope.editor.SetOutputs(std::move(outputs));
}

}  // namespace belay::exir
