#include "exir/builder/op_builder.h"

#include <algorithm>
#include <optional>

#include "exir/builder/decomposition_table.h"
#include "exir/builder/op_call.h"
#include "exir/ir/call_arguments.h"
#include "exir/ir/infer.h"
#include "exir/ir/text.h"
#include "exir/ir/verifier.h"
#include "exir/op_definition/op_variants.h"
#include "runtime/core/annotate.h"
#include "runtime/core/budget.h"
#include "runtime/core/status_macros.h"

namespace belay::exir {
namespace {

// Limits of nesting.
constexpr int kMaxDecompositionDepth = 32;
constexpr int kMaxExpressionDepth = 64;

bool IsSymbol(const SymExpr& expr) { return expr.kind() == SymExpr::Kind::kSymbol; }

// The operator of a kind of expression.
struct ScalarFunction {
  std::string_view name;  // "" for sums and products
  std::string_view op;
  bool variadic = false;  // f(a, b, c) = op(op(a, b), c)
};

bool IsLogical(const ScalarFunction& function) {
  return function.name == "And" || function.name == "Or" || function.name == "Not";
}

constexpr ScalarFunction kSum = {"", "_operator.add", true};
constexpr ScalarFunction kProduct = {"", "_operator.mul", true};

// nullptr if no operator computes it.
const ScalarFunction* FindScalarFunction(const SymExpr& expr) {
  static constexpr ScalarFunction kFunctions[] = {
      {"And", "_operator.and_", true},
      {"BitwiseFn_bitwise_and", "_operator.and_"},
      {"BitwiseFn_bitwise_or", "_operator.or_"},
      {"CeilToInt", "math.ceil"},
      {"Eq", "_operator.eq"},
      {"FloatPow", "_operator.pow"},
      {"FloatTrueDiv", "_operator.truediv"},
      {"FloorDiv", "_operator.floordiv"},
      {"FloorToInt", "math.floor"},
      {"Ge", "_operator.ge"},
      {"Gt", "_operator.gt"},
      {"IntTrueDiv", "_operator.truediv"},
      {"LShift", "_operator.lshift"},
      {"Le", "_operator.le"},
      {"Lt", "_operator.lt"},
      {"Max", "torch.sym_max", true},
      {"Min", "torch.sym_min", true},
      {"Mod", "_operator.mod"},
      {"Ne", "_operator.ne"},
      {"Not", "torch.sym_not"},
      {"OpaqueUnaryFn_sqrt", "torch.sym_sqrt"},
      {"Or", "_operator.or_", true},
      {"Pow", "_operator.pow"},
      {"PythonMod", "_operator.mod"},
      {"RShift", "_operator.rshift"},
      {"ToFloat", "torch.sym_float"},
      {"TruncToInt", "math.trunc"},
      {"Where", "torch.sym_ite"},
  };
  if (expr.kind() == SymExpr::Kind::kAdd) return &kSum;
  if (expr.kind() == SymExpr::Kind::kMul) return &kProduct;
  for (const ScalarFunction& function : kFunctions) {
    if (expr.name() == function.name) return &function;
  }
  return nullptr;
}

// Returns a and b if `expr` = a * symbol + b with a != 0.
std::optional<std::pair<int64_t, int64_t>> LinearIn(const SymExpr& expr, const SymExpr& symbol) {
  const auto at = [&](int64_t value) {
    return expr
        .Substitute([&](std::string_view name) -> std::optional<SymExpr> {
          return name == symbol.name() ? std::optional<SymExpr>(value) : std::nullopt;
        })
        .AsInt();
  };
  const std::optional<int64_t> b = at(0), sum = at(1);
  if (!b.has_value() || !sum.has_value() || *sum == *b) return std::nullopt;
  int64_t a;
  if (__builtin_sub_overflow(*sum, *b, &a)) return std::nullopt;
  if (!(SymExpr(a) * symbol + SymExpr(*b) == expr)) return std::nullopt;
  return std::make_pair(a, *b);
}

}  // namespace

OpBuilder::OpBuilder(ExportedProgram& program, GraphEditor& editor, const DecompositionTable* table)
    : program_(program), editor_(editor), table_(table), symbols_(program) {}

OpBuilder::~OpBuilder() {
  // Not earlier: pushing to program_.graphs would invalidate editors of its graphs.
  for (Graph& body : own_bodies_) program_.graphs.push_back(std::move(body));
}

void OpBuilder::MoveTo(NodeId node) {
  const Node& like = graph().node(node);
  before_ = node;
  like_.provenance = like.provenance;
  like_.debug_handle = like.debug_handle;
  like_.delegation_tag = like.delegation_tag;
  made_.clear();
}

void OpBuilder::MoveToEnd() {
  before_ = NodeId();
  like_ = {};
  made_.clear();
}

void OpBuilder::Fail(absl::Status status) {
  if (status_.ok()) status_ = std::move(status);
}
void OpBuilder::Invalid(std::string_view message) {
  Fail(absl::InvalidArgumentError(ToAbsl(message)));
}
void OpBuilder::Unsupported(std::string_view message) {
  Fail(absl::UnimplementedError(ToAbsl(message)));
}

SymExpr OpBuilder::Symbols::Fresh(SymRange range) {
  if (next_ < 0) {
    for (const auto& [name, known] : program_.ranges) {
      if (name.size() < 2 || name[0] != 'u') continue;
      int64_t number = 0;
      for (size_t i = 1; i < name.size() && number >= 0; ++i) {
        number = name[i] >= '0' && name[i] <= '9' && number < int64_t{1} << 50
                     ? number * 10 + (name[i] - '0')
                     : -1;
      }
      next_ = std::max(next_, number);
    }
  }
  const std::string name = absl::StrCat("u", ++next_);
  program_.ranges[name] = range;
  return SymExpr::Symbol(name);
}

// --- Calls ---

Argument OpBuilder::Call(std::string_view op, std::vector<OpArgument> arguments,
                         OpKeywords keywords) {
  std::vector<Argument> results = CallAll(op, std::move(arguments), std::move(keywords));
  return results.empty() ? Argument() : std::move(results[0]);
}

std::vector<Argument> OpBuilder::CallAll(std::string_view op, std::vector<OpArgument> arguments,
                                         OpKeywords keywords) {
  if (!ok()) return {};
  absl::StatusOr<std::vector<Argument>> results = TryCall(op, arguments, keywords);
  if (results.ok()) return *std::move(results);
  Fail(results.status());
  return {};
}

std::vector<Argument> OpBuilder::CallAll(const OpOverload* op, std::vector<Argument> arguments) {
  if (!ok()) return {};
  absl::StatusOr<std::vector<Argument>> results = Insert(op, std::move(arguments));
  if (results.ok()) return *std::move(results);
  Fail(results.status());
  return {};
}

absl::StatusOr<std::vector<Argument>> OpBuilder::TryCall(std::string_view op,
                                                         const std::vector<OpArgument>& arguments,
                                                         const OpKeywords& keywords) {
  ABSL_ASSIGN_OR_RETURN(const OpOverload* overload, ops().Lookup(op));
  ABSL_ASSIGN_OR_RETURN(std::vector<Argument> complete, Complete(overload, arguments, keywords));
  return Insert(overload, std::move(complete));
}

bool OpBuilder::Accepts(std::string_view op, std::vector<OpArgument> arguments,
                        OpKeywords keywords) {
  const OpOverload* overload = ops().Find(op);
  if (!ok() || overload == nullptr) return false;
  const absl::StatusOr<std::vector<Argument>> complete = Complete(overload, arguments, keywords);
  return complete.ok() && InferOutputs(graph(), overload, *complete, &symbols_).ok();
}

absl::StatusOr<std::vector<Argument>> OpBuilder::Complete(const OpOverload* op,
                                                          const std::vector<OpArgument>& arguments,
                                                          const OpKeywords& keywords) {
  if (op->schema() == nullptr) {
    return absl::InternalError(absl::StrCat("operator ", op->name(), " has no schema"));
  }
  std::vector<GivenArgument> given;
  for (const OpArgument& argument : arguments) {
    ABSL_ASSIGN_OR_RETURN(Argument value, TryResolve(argument));
    given.push_back({"", std::move(value)});
  }
  for (const auto& [name, argument] : keywords) {
    ABSL_ASSIGN_OR_RETURN(Argument value, TryResolve(argument));
    given.push_back({name, std::move(value)});
  }
  absl::StatusOr<std::vector<Argument>> complete =
      CompleteArguments(*op->schema(), std::move(given), false);
  if (complete.ok()) return complete;
  return Annotate(complete.status(), op->name());
}

const OpOverload* OpBuilder::InDialect(const OpOverload* op) const {
  if (program_.dialect != IrDialect::kEdge || op->schema() == nullptr) return op;
  if (op->schema()->IsView()) {
    if (const OpOverload* copy = ToViewCopy(ops(), op)) op = copy;
  }
  return AllowedIn(IrDialect::kEdge, *op) ? op : ops().ToEdge(op);
}

absl::StatusOr<std::vector<Argument>> OpBuilder::Insert(const OpOverload* op,
                                                        std::vector<Argument> arguments) {
  ABSL_RETURN_IF_ERROR(CheckBudget());
  op = InDialect(op);
  if (op->def() == nullptr || op->def()->meta == nullptr) {
    const Decomposition* row = table_ == nullptr ? nullptr : table_->Find(op);
    const CompositeFn of_row = row == nullptr ? nullptr : CompositeFn(row->decompose);
    const CompositeFn& kernel =
        op->composite_kernel() == nullptr ? of_row : *op->composite_kernel();
    if (kernel == nullptr) {
      return absl::UnimplementedError(
          absl::StrCat("operator ", op->name(), " has neither a meta kernel nor a decomposition"));
    }
    if (depth_ >= kMaxDecompositionDepth) {
      return absl::InternalError(
          absl::StrCat("the decomposition of ", op->name(), " leads back to itself"));
    }
    ++depth_;
    std::vector<Argument> results =
        RunDecomposition(kernel, *this, OpCall(*this, op, std::move(arguments)));
    --depth_;
    ABSL_RETURN_IF_ERROR(status_);
    return results;
  }
  absl::StatusOr<std::vector<MetaValue>> inferred = InferOutputs(graph(), op, arguments, &symbols_);
  if (!inferred.ok()) return inferred.status();
  // Constant scalars need no node.
  if (op->dialect() == Dialect::kScalar || op->has_trait(kSymbolic)) {
    if (inferred->size() == 1) {
      const MetaValue& result = (*inferred)[0];
      if (const double* d = result.get_if<double>()) return std::vector<Argument>{*d};
      if (const bool* b = result.get_if<bool>()) return std::vector<Argument>{*b};
      if (const SymExpr* e = result.get_if<SymExpr>()) {
        if (e->AsInt().has_value()) return std::vector<Argument>{*e->AsInt()};
        if (e->AsBool().has_value()) return std::vector<Argument>{*e->AsBool()};
      }
    }
  }
  GraphEditor::NewNode node = like_;
  node.name = std::string(op->op());
  node.target = op;
  node.arguments = std::move(arguments);
  std::vector<GraphEditor::NewOutput> outputs;
  for (const MetaValue& meta : *inferred) {
    GraphEditor::NewOutput& output = outputs.emplace_back();
    if (meta.is_none()) {
      output.kind = NodeOutput::Kind::kNone;
    } else if (const MetaList* list = meta.get_if<MetaList>()) {
      output.kind = NodeOutput::Kind::kList;
      for (const MetaValue& element : *list) {
        output.values.emplace_back(node.name, ToValueType(element));
      }
    } else {
      output.values.emplace_back(node.name, ToValueType(meta));
    }
  }
  const NodeId id = editor_.InsertNode(before_, std::move(node), std::move(outputs));
  std::vector<Argument> results;
  for (const NodeOutput& output : graph().node(id).outputs) {
    made_.insert(output.values.begin(), output.values.end());
    switch (output.kind) {
      case NodeOutput::Kind::kValue:
        results.emplace_back(output.values[0]);
        break;
      case NodeOutput::Kind::kList:
        results.emplace_back(Argument::List(output.values.begin(), output.values.end()));
        break;
      case NodeOutput::Kind::kNone:
        results.emplace_back();
        break;
    }
  }
  return results;
}

// --- Control flow ---

GraphId OpBuilder::AddBody(std::string_view name, const std::vector<TensorMeta>& inputs,
                           MakeBody make) {
  if (!ok()) return GraphId();
  Graph body;
  GraphEditor editor(body);
  editor.SetName(std::string(name));
  OpBuilder inner(program_, editor, table_);
  inner.like_ = like_;
  inner.depth_ = depth_;
  inner.bodies_ = bodies_;
  std::vector<Argument> values;
  for (const TensorMeta& type : inputs) values.emplace_back(editor.AddInput("input", type));
  std::vector<Argument> outputs = make(inner, values);
  if (!inner.ok()) {
    Fail(inner.status());
    return GraphId();
  }
  editor.SetOutputs(std::move(outputs));
  bodies_->push_back(std::move(body));
  return GraphId(static_cast<uint32_t>(program_.graphs.size() + bodies_->size() - 1));
}

std::vector<Argument> OpBuilder::CallHigherOrder(std::string_view op,
                                                 std::vector<Argument> arguments,
                                                 const std::vector<TensorMeta>& results) {
  if (!ok()) return std::vector<Argument>(results.size());
  const absl::StatusOr<const OpOverload*> overload = ops().Lookup(op);
  if (!overload.ok()) {
    Fail(overload.status());
    return std::vector<Argument>(results.size());
  }
  GraphEditor::NewNode node = like_;
  node.name = std::string((*overload)->op());
  node.target = *overload;
  node.argument_names.resize(arguments.size());
  node.arguments = std::move(arguments);
  std::vector<GraphEditor::NewOutput> outputs;
  for (const TensorMeta& type : results) outputs.push_back({.values = {{node.name, type}}});
  const NodeId id = editor_.InsertNode(before_, std::move(node), std::move(outputs));
  const std::vector<ValueId> values = graph().node(id).results();
  made_.insert(values.begin(), values.end());
  return {values.begin(), values.end()};
}

// --- Sizes ---

Argument OpBuilder::Resolve(const OpArgument& argument) {
  if (!ok()) return Argument();
  absl::StatusOr<Argument> result = TryResolve(argument);
  if (result.ok()) return *std::move(result);
  Fail(result.status());
  return Argument();
}

Argument OpBuilder::Size(const SymExpr& expr) { return Resolve(expr); }

Argument OpBuilder::Scalar(const SymExpr& expr) {
  if (!ok()) return Argument();
  absl::StatusOr<Definition> definition = Define(expr, 0);
  if (definition.ok()) return std::move(definition->value);
  Fail(definition.status());
  return Argument();
}

absl::StatusOr<Argument> OpBuilder::TryResolve(const OpArgument& argument) {
  if (const Argument* plain = std::get_if<Argument>(&argument.value())) return *plain;
  if (const SymExpr* expr = std::get_if<SymExpr>(&argument.value())) {
    if (expr->value_kind() == SymExpr::ValueKind::kFloat) {
      return absl::UnimplementedError(
          absl::StrCat("the size ", expr->ToString(), " can't be computed: it is not an integer"));
    }
    ABSL_ASSIGN_OR_RETURN(Definition definition, Define(*expr, 0));
    return std::move(definition.value);
  }
  Argument::List list;
  for (const OpArgument& element : std::get<OpArgument::List>(argument.value())) {
    ABSL_ASSIGN_OR_RETURN(Argument value, TryResolve(element));
    list.push_back(std::move(value));
  }
  return Argument(std::move(list));
}

NodeId OpBuilder::Later(NodeId a, NodeId b) const {
  if (!a.valid() || a == b) return b;
  if (!b.valid()) return a;
  for (NodeId id = a; id.valid(); id = graph().next(id)) {
    if (id == b) return b;
  }
  return a;
}

NodeId OpBuilder::InsertionPointAfter(NodeId after) const {
  return after.valid() ? graph().next(after) : graph().first();
}

OpBuilder::Definition OpBuilder::Compute(std::string_view op, std::vector<Argument> arguments,
                                         NodeId after, SymExpr result) {
  GraphEditor::NewNode node;
  node.target = ops().Find(op);
  node.name = std::string(node.target->op());
  node.arguments = std::move(arguments);
  ValueType type;
  switch (result.value_kind()) {
    case SymExpr::ValueKind::kInt:
      type = SymIntType{std::move(result)};
      break;
    case SymExpr::ValueKind::kFloat:
      type = SymFloatType{std::move(result)};
      break;
    case SymExpr::ValueKind::kBool:
      type = SymBoolType{std::move(result)};
      break;
  }
  const ValueId value =
      editor_.InsertOp(InsertionPointAfter(after), std::move(node), std::move(type));
  return {value, graph().value(value).producer};
}

absl::StatusOr<OpBuilder::Definition> OpBuilder::Define(const SymExpr& expr, int depth) {
  if (const std::optional<int64_t> number = expr.AsInt()) return Definition{*number, NodeId()};
  if (expr.kind() == SymExpr::Kind::kFloat) return Definition{*expr.AsFloat(), NodeId()};
  if (const std::optional<bool> truth = expr.AsBool()) return Definition{*truth, NodeId()};
  if (depth > kMaxExpressionDepth) {
    return absl::UnimplementedError(
        absl::StrCat("the expression ", expr.ToString(), " is nested too deeply to be computed"));
  }
  std::string key = expr.ToString();
  if (const auto known = defined_.find(key); known != defined_.end()) {
    // The producer may have been erased since.
    if (!known->second.after.valid() || graph().contains(known->second.after)) return known->second;
  }
  Definition result;
  if (IsSymbol(expr)) {
    ABSL_ASSIGN_OR_RETURN(result, DefineSymbol(expr));
  } else {
    const ScalarFunction* function = FindScalarFunction(expr);
    std::vector<SymExpr> arguments(expr.arguments().begin(), expr.arguments().end());
    // A small power becomes repeated multiplication.
    const std::optional<int64_t> exponent =
        expr.name() == "Pow" ? arguments[1].AsInt() : std::nullopt;
    if (exponent.has_value() && *exponent >= 2 && *exponent <= kMaxRank &&
        ops().Find(kProduct.op) != nullptr) {
      function = &kProduct;
      arguments.assign(static_cast<size_t>(*exponent), SymExpr(arguments[0]));
    }
    // A negative power of an integer is a fraction, which has no operator.
    const bool fraction = expr.name() == "Pow" && Range(expr.arguments()[1]).min < 0;
    // And, Or and Not of numbers are truth values, while the operators compute bits.
    const bool logical = function != nullptr && IsLogical(*function);
    const bool bits =
        logical && !std::all_of(arguments.begin(), arguments.end(), [](const SymExpr& argument) {
          return argument.value_kind() == SymExpr::ValueKind::kBool;
        });
    if (function == nullptr || fraction || bits || ops().Find(function->op) == nullptr ||
        arguments.empty()) {
      return absl::UnimplementedError(
          absl::StrCat("the size ", key, " can't be computed: no operator is known for it"));
    }
    if (function->variadic) {
      SymExpr so_far = arguments[0];
      ABSL_ASSIGN_OR_RETURN(result, Define(so_far, depth + 1));
      for (const SymExpr& next : absl::MakeConstSpan(arguments).subspan(1)) {
        ABSL_ASSIGN_OR_RETURN(Definition operand, Define(next, depth + 1));
        so_far = function == &kSum       ? so_far + next
                 : function == &kProduct ? so_far * next
                                         : SymExpr::Function(expr.name(), {so_far, next});
        const NodeId after = Later(result.after, operand.after);
        result = Compute(function->op, {std::move(result.value), std::move(operand.value)}, after,
                         so_far);
      }
    } else {
      NodeId after;
      std::vector<Argument> values;
      for (const SymExpr& argument : arguments) {
        ABSL_ASSIGN_OR_RETURN(Definition operand, Define(argument, depth + 1));
        after = Later(after, operand.after);
        values.push_back(std::move(operand.value));
      }
      result = Compute(function->op, std::move(values), after, expr);
    }
  }
  defined_[std::move(key)] = result;
  return result;
}

absl::StatusOr<OpBuilder::Definition> OpBuilder::DefineSymbol(const SymExpr& symbol) {
  // Finds a value and its dimension; -1 for a scalar.
  const auto find = [&](ValueId value, const auto& accepts) -> std::optional<int64_t> {
    const ValueType& type = graph().value(value).type;
    if (const auto* scalar = std::get_if<SymIntType>(&type)) {
      return accepts(scalar->expr) ? std::optional<int64_t>(-1) : std::nullopt;
    }
    const TensorMeta* tensor = std::get_if<TensorMeta>(&type);
    for (int64_t d = 0; tensor != nullptr && d < tensor->rank(); ++d) {
      if (accepts(tensor->sizes[d])) return d;
    }
    return std::nullopt;
  };
  const auto read = [&](ValueId value, int64_t dim) -> Definition {
    const NodeId after = graph().value(value).producer;
    if (dim < 0) return {value, after};
    return Compute("aten.sym_size.int", {value, dim}, after,
                   graph().value(value).tensor()->sizes[dim]);
  };
  const auto exactly = [&](const SymExpr& expr) { return expr == symbol; };
  const auto linear = [&](const SymExpr& expr) { return LinearIn(expr, symbol).has_value(); };
  const auto solve = [&](ValueId value, int64_t dim) -> Definition {
    Definition size = read(value, dim);
    const SymExpr expr = dim < 0 ? std::get<SymIntType>(graph().value(value).type).expr
                                 : graph().value(value).tensor()->sizes[dim];
    const auto [a, b] = *LinearIn(expr, symbol);
    if (b != 0) size = Compute("_operator.sub", {size.value, b}, size.after, expr - SymExpr(b));
    if (a != 1) size = Compute("_operator.floordiv", {size.value, a}, size.after, symbol);
    return size;
  };
  for (ValueId input : graph().inputs()) {
    if (const auto dim = find(input, exactly)) return read(input, *dim);
  }
  for (ValueId input : graph().inputs()) {
    if (const auto dim = find(input, linear)) return solve(input, *dim);
  }
  for (NodeId id : graph().nodes()) {
    for (ValueId value : graph().node(id).results()) {
      if (const auto dim = find(value, exactly)) return read(value, *dim);
    }
  }
  return absl::UnimplementedError(absl::StrCat(
      "the size ", symbol.ToString(), " can't be computed: no input and no operator of the graph '",
      graph().name(), "' defines the symbol"));
}

// --- Queries ---

TensorMeta OpBuilder::meta(const Argument& tensor) {
  if (!ok()) return {};
  const ValueId* value = tensor.get_if<ValueId>();
  const TensorMeta* meta = value == nullptr ? nullptr : graph().value(*value).tensor();
  if (meta != nullptr) return *meta;
  Invalid(absl::StrCat("expected a tensor, got ", PrintArgument(graph(), tensor)));
  return {};
}

bool OpBuilder::IsTensor(const Argument& argument) const {
  const ValueId* value = argument.get_if<ValueId>();
  return value != nullptr && graph().value(*value).tensor() != nullptr;
}

int64_t OpBuilder::WrapDim(int64_t dim, int64_t rank) {
  const int64_t count = std::max<int64_t>(rank, 1);
  if (dim < -count || dim >= count) {
    Invalid(absl::StrCat("dimension ", dim, " of a tensor of rank ", rank));
    return 0;
  }
  return dim < 0 ? dim + count : dim;
}

SymInt OpBuilder::size(const Argument& tensor, int64_t dim) {
  const TensorMeta m = meta(tensor);
  if (!ok()) return 0;
  const int64_t d = WrapDim(dim, m.rank());
  return d < m.rank() ? m.sizes[d] : SymInt(1);
}

}  // namespace belay::exir
