// Generates conditions and loops for ProgramMaker.
#include <algorithm>
#include <utility>

#include "exir/ir/infer.h"
#include "exir/testing/generator/program_maker.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"

namespace belay::exir {
namespace {

constexpr int kMaxNesting = 2;

TensorMeta Stacked(const TensorMeta& element, const SymExpr& count) {
  std::vector<SymExpr> sizes = {count};
  sizes.insert(sizes.end(), element.sizes.begin(), element.sizes.end());
  return TensorMeta::Contiguous(element.dtype, std::move(sizes));
}

// Repeats the element `count` times along a new dimension.
std::optional<OwnedValue> Stack(const OwnedValue& element, int64_t count) {
  const TensorView& view = *element.tensor();
  if (view.rank() >= kMaxRank) return std::nullopt;
  Sizes sizes = view.sizes;
  sizes.insert(0, count);
  absl::StatusOr<OwnedValue> stacked =
      OwnedValue::Allocate(view.dtype, sizes, ContiguousStrides(sizes), uint64_t{1} << 20);
  if (!stacked.ok()) return std::nullopt;
  for (int64_t i = 0; i < count; ++i) {
    if (!CopyElements(view, *stacked->Slice(i).tensor()).ok()) return std::nullopt;
  }
  return *std::move(stacked);
}

}  // namespace

GraphId ProgramMaker::Keep(Graph graph) {
  // Unused nodes may fail in one engine and be dropped by another.
  GraphEditor(graph).EraseDeadNodes();
  return made_.program.graphs.push_back(std::move(graph));
}

void ProgramMaker::FillSubgraph(Scope& body, int nesting) {
  const bool was_in_body = std::exchange(in_body_, true);
  const int calls = static_cast<int>(random_.Below(4));
  for (int i = 0; i < calls; ++i) AddSomeCall(body);
  if (nesting + 1 < kMaxNesting && random_.Chance(15)) AddControlFlow(body, nesting + 1);
  // Returns a value of a type that a subgraph may return.
  if (const auto value = PickFloat(body)) {
    constexpr std::string_view kOps[] = {"aten.sin.default", "aten.neg.default", "aten.abs.default",
                                         "aten.tanh.default"};
    Call(body, kOps[random_.Below(std::size(kOps))], {Argument(*value)});
  }
  in_body_ = was_in_body;
}

std::vector<ValueId> ProgramMaker::InsertControl(Scope& scope, std::string_view op,
                                                 std::vector<Argument> arguments,
                                                 std::vector<ValueType> types) {
  GraphEditor::NewNode node;
  node.name = std::string(op);
  node.target = ops_.Find(absl::StrCat("higher_order.", op));
  node.arguments = std::move(arguments);
  node.argument_names.resize(node.arguments.size());
  std::vector<GraphEditor::NewOutput> outputs;
  for (ValueType& type : types) {
    outputs.push_back({NodeOutput::Kind::kValue, {{std::string(op), std::move(type)}}});
  }
  const NodeId id = Insert(scope, std::move(node), std::move(outputs));
  made_.control_flow = true;
  return scope.editor.graph().node(id).results();
}

void ProgramMaker::AddControlFlow(Scope& scope, int nesting) {
  switch (random_.Below(4)) {
    case 0:
      AddCond(scope, nesting);
      return;
    case 1:
      AddWhileLoop(scope, nesting);
      return;
    case 2:
      AddMap(scope, nesting);
      return;
    default:
      AddScan(scope, nesting);
      return;
  }
}

bool ProgramMaker::AddCond(Scope& scope, int nesting) {
  const auto decides = PickFloat(scope);
  if (!decides.has_value()) return false;
  const auto sum = Call(scope, "aten.sum.dim_IntList", {Argument(*decides), Argument()});
  if (!sum.has_value()) return false;
  const auto test = Call(scope, "aten.gt.Scalar", {Argument(*sum), Argument(0)});
  if (!test.has_value()) return false;
  Graph yes, no;
  std::vector<ValueType> types;
  std::vector<OwnedValue> results;
  std::vector<Argument> operands;
  {
    Scope first(yes, &scope), second(no, &scope);
    first.editor.SetName("true_graph");
    second.editor.SetName("false_graph");
    const int given = 1 + static_cast<int>(random_.Below(2));
    for (int i = 0; i < given; ++i) {
      const ValueId operand =
          i == 0 ? *decides : scope.values[random_.Below(scope.values.size())].id;
      AddBodyInput(first, operand, scope.data[operand.index()],
                   scope.editor.graph().value(operand).type);
    }
    FillSubgraph(first, nesting);
    for (const Argument& operand : first.operands) {
      const ValueId id = *operand.get_if<ValueId>();
      AddBodyInput(second, id, scope.data[id.index()], scope.editor.graph().value(id).type);
    }
    FillSubgraph(second, nesting);
    for (size_t i = first.operands.size(); i < second.operands.size(); ++i) {
      first.editor.AddInput("a",
                            second.editor.graph().value(second.editor.graph().inputs()[i]).type);
    }
    operands = second.operands;
    std::vector<Argument> yes_outputs, no_outputs;
    for (int i = 0; i < given; ++i) {
      const ValueId a = LastLike(first, first.editor.graph().inputs()[static_cast<size_t>(i)]);
      const ValueId b = LastLike(second, second.editor.graph().inputs()[static_cast<size_t>(i)]);
      types.push_back(first.editor.graph().value(a).type);
      results.push_back(first.data[a.index()]);
      yes_outputs.emplace_back(a);
      no_outputs.emplace_back(b);
    }
    first.editor.SetOutputs(std::move(yes_outputs));
    second.editor.SetOutputs(std::move(no_outputs));
  }
  const GraphId yes_id = Keep(std::move(yes)), no_id = Keep(std::move(no));
  const std::vector<ValueId> values = InsertControl(
      scope, "cond", {Argument(*test), Argument(yes_id), Argument(no_id), Argument(operands)},
      types);
  for (size_t i = 0; i < values.size(); ++i) Know(scope, values[i], results[i]);
  return true;
}

bool ProgramMaker::AddWhileLoop(Scope& scope, int nesting) {
  const auto carried = PickFloat(scope);
  if (!carried.has_value()) return false;
  const auto start = Call(scope, "aten.full.default",
                          {Argument(Argument::List{}), Argument(0), Argument(DType::kInt64)});
  if (!start.has_value()) return false;
  Graph test, body;
  std::vector<Argument> operands;
  OwnedValue result;
  ValueType type;
  const ValueType counter_type = scope.editor.graph().value(*start).type;
  {
    Scope inner(body, &scope);
    inner.editor.SetName("body_graph");
    const ValueId counter = AddBodyInput(inner, *start, scope.data[start->index()], counter_type);
    type = scope.editor.graph().value(*carried).type;
    const ValueId value = AddBodyInput(inner, *carried, scope.data[carried->index()], type);
    FillSubgraph(inner, nesting);
    const auto one = Call(inner, "aten.full.default",
                          {Argument(Argument::List{}), Argument(1), Argument(DType::kInt64)});
    if (!one.has_value()) return false;
    const auto next = Call(inner, "aten.add.Tensor", {Argument(counter), Argument(*one)});
    if (!next.has_value()) return false;
    const ValueId last = LastLike(inner, value);
    result = inner.data[last.index()];
    inner.editor.SetOutputs({Argument(*next), Argument(last)});
    operands = inner.operands;
    Scope condition(test, nullptr);
    condition.editor.SetName("cond_graph");
    for (ValueId input : inner.editor.graph().inputs()) {
      const ValueId id = condition.editor.AddInput("a", inner.editor.graph().value(input).type);
      condition.data[id.index()] = inner.data[input.index()];
    }
    const auto again =
        Call(condition, "aten.lt.Scalar",
             {Argument(test.inputs()[0]), Argument(static_cast<int64_t>(random_.Below(4)))});
    if (!again.has_value()) return false;
    condition.editor.SetOutputs({Argument(*again)});
  }
  const GraphId test_id = Keep(std::move(test)), body_id = Keep(std::move(body));
  const Argument::List state(operands.begin(), operands.begin() + 2);
  const Argument::List more(operands.begin() + 2, operands.end());
  const std::vector<ValueId> values = InsertControl(
      scope, "while_loop", {Argument(test_id), Argument(body_id), Argument(state), Argument(more)},
      {counter_type, type});
  Know(scope, values[0], scope.data[start->index()]);
  Know(scope, values[1], result);
  return true;
}

bool ProgramMaker::AddMap(Scope& scope, int nesting) {
  const auto rows = PickFloat(scope);
  if (!rows.has_value()) return false;
  const OwnedValue& all = scope.data[rows->index()];
  const TensorMeta meta = Meta(scope, *rows);
  if (meta.rank() == 0 || all.tensor()->sizes[0] == 0 || !meta.is_contiguous()) return false;
  const int64_t count = all.tensor()->sizes[0];
  Graph body;
  std::vector<Argument> operands;
  std::optional<OwnedValue> result;
  ValueType type;
  {
    Scope inner(body, &scope);
    inner.editor.SetName("map_body");
    absl::StatusOr<OwnedValue> row = all.Slice(0).Copy();
    if (!row.ok()) return false;
    const ValueType row_type = TensorMeta::Contiguous(
        meta.dtype, std::vector<SymExpr>(meta.sizes.begin() + 1, meta.sizes.end()));
    const ValueId input = AddBodyInput(inner, *rows, *row, row_type);
    FillSubgraph(inner, nesting);
    ValueId last = inner.values.back().id;
    if (random_.Chance(50) || !Meta(inner, last).is_contiguous()) last = LastLike(inner, input);
    if (!Meta(inner, last).is_contiguous()) return false;
    result = Stack(inner.data[last.index()], count);
    type = Stacked(Meta(inner, last), meta.sizes[0]);
    inner.editor.SetOutputs({Argument(last)});
    operands = inner.operands;
  }
  if (!result.has_value() || !SizesAreLegal(std::get<TensorMeta>(type))) return false;
  const GraphId id = Keep(std::move(body));
  const std::vector<ValueId> values =
      InsertControl(scope, "map_impl",
                    {Argument(id), Argument(Argument::List{operands[0]}),
                     Argument(Argument::List(operands.begin() + 1, operands.end()))},
                    {type});
  Know(scope, values[0], *result);
  return true;
}

bool ProgramMaker::AddScan(Scope& scope, int nesting) {
  const auto init = PickFloat(scope), rows = PickFloat(scope);
  if (!init.has_value() || !rows.has_value()) return false;
  const OwnedValue& all = scope.data[rows->index()];
  const TensorMeta meta = Meta(scope, *rows);
  if (meta.rank() == 0 || all.tensor()->sizes[0] == 0 || !meta.is_contiguous()) return false;
  const int64_t count = all.tensor()->sizes[0];
  Graph body;
  std::vector<Argument> operands;
  std::optional<OwnedValue> result;
  OwnedValue final_state;
  std::vector<ValueType> types;
  {
    Scope inner(body, &scope);
    inner.editor.SetName("scan_body");
    absl::StatusOr<OwnedValue> row = all.Slice(0).Copy();
    if (!row.ok()) return false;
    const ValueType row_type = TensorMeta::Contiguous(
        meta.dtype, std::vector<SymExpr>(meta.sizes.begin() + 1, meta.sizes.end()));
    const ValueType init_type = scope.editor.graph().value(*init).type;
    const ValueId state = AddBodyInput(inner, *init, scope.data[init->index()], init_type);
    const ValueId input = AddBodyInput(inner, *rows, *row, row_type);
    FillSubgraph(inner, nesting);
    const ValueId next = LastLike(inner, state), y = LastLike(inner, input);
    final_state = inner.data[next.index()];
    result = Stack(inner.data[y.index()], count);
    types = {init_type, Stacked(Meta(inner, y), meta.sizes[0])};
    inner.editor.SetOutputs({Argument(next), Argument(y)});
    operands = inner.operands;
  }
  if (!result.has_value() || !SizesAreLegal(std::get<TensorMeta>(types[1]))) return false;
  const GraphId id = Keep(std::move(body));
  const std::vector<ValueId> values = InsertControl(
      scope, "scan",
      {Argument(id), Argument(Argument::List{operands[0]}), Argument(Argument::List{operands[1]}),
       Argument(Argument::List(operands.begin() + 2, operands.end()))},
      types);
  Know(scope, values[0], final_state);
  Know(scope, values[1], *result);
  return true;
}

}  // namespace belay::exir
