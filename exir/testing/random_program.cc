#include "exir/testing/random_program.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>

#include "exir/ir/graph_editor.h"
#include "exir/ir/infer.h"
#include "exir/ir/text.h"
#include "exir/ir/verifier.h"
#include "runtime/core/str_cat.h"

namespace belay::exir {
namespace {

[[noreturn]] void Die(const std::string& message) {
  std::fprintf(stderr, "%s\n", message.c_str());
  std::abort();
}

// What values there are: float32 of these shapes, an int64 column, one bool, one int64, a size.
enum class Type : uint8_t { kMatrix, kRow, kColumn, kScalar, kIndices, kBool, kCounter, kSize };
constexpr int64_t kColumns = 3;

constexpr std::string_view kUnary[] = {
    "edge.aten.sin.default", "edge.aten.cos.default",  "edge.aten.relu.default",
    "edge.aten.neg.default", "edge.aten.tanh.default", "edge.aten.sigmoid.default",
    "edge.aten.abs.default",
};
constexpr std::string_view kBinary[] = {
    "edge.aten.add.Tensor",
    "edge.aten.sub.Tensor",
    "edge.aten.mul.Tensor",
};

}  // namespace

// Makes one program.
class RandomPrograms::Maker {
 public:
  explicit Maker(RandomPrograms& source)
      : random_(source),
        program_(&source.ops_),
        dynamic_(source.options_.dynamic_sizes && source.Chance(30)) {}

  ExportedProgram Make() {
    program_.dialect = IrDialect::kEdge;
    program_.graphs.push_back(Graph());
    if (dynamic_) program_.ranges["s0"] = {1, 5};
    // Bodies are collected and added at the end, because editors refer to graphs.
    Graph top;
    {
      GraphEditor editor(top);
      Scope scope{.editor = &editor, .values = {}};
      AddInputs(scope);
      const int nodes =
          1 + static_cast<int>(random_.Below(static_cast<uint64_t>(random_.options_.max_nodes)));
      for (int i = 0; i < nodes; ++i) AddNode(scope, /*nesting=*/0);
      AddOutputs(scope);
    }
    program_.graphs[ExportedProgram::kTop] = std::move(top);
    if (const absl::Status status = Verify(program_); !status.ok()) {
      Die(absl::StrCat("a random program does not verify: ", status.ToString(), "\n",
                       PrintProgram(program_)));
    }
    return std::move(program_);
  }

 private:
  struct Scope {
    GraphEditor* editor;
    std::map<Type, std::vector<ValueId>> values;
  };

  SymExpr Rows() const { return dynamic_ ? SymExpr::Symbol("s0") : SymExpr(2); }

  ValueType ToType(Type type) const {
    switch (type) {
      case Type::kMatrix:
        return TensorMeta::Contiguous(DType::kFloat32, {Rows(), SymExpr(kColumns)});
      case Type::kRow:
        return TensorMeta::Contiguous(DType::kFloat32, {SymExpr(kColumns)});
      case Type::kColumn:
        return TensorMeta::Contiguous(DType::kFloat32, {Rows()});
      case Type::kScalar:
        return TensorMeta::Contiguous(DType::kFloat32, {});
      case Type::kIndices:
        return TensorMeta::Contiguous(DType::kInt64, {Rows()});
      case Type::kBool:
        return TensorMeta::Contiguous(DType::kBool, {});
      case Type::kCounter:
        return TensorMeta::Contiguous(DType::kInt64, {});
      case Type::kSize:
        return SymIntType{Rows()};
    }
    return ConstantType{None{}};
  }

  ValueId Pick(const Scope& scope, Type type) {
    const std::vector<ValueId>& values = scope.values.at(type);
    // Recent ones more often, so that there are chains.
    const size_t n = values.size();
    return random_.Chance(60) ? values[n - 1 - random_.Below(std::min<uint64_t>(n, 3))]
                              : values[random_.Below(n)];
  }
  static bool Has(const Scope& scope, Type type) {
    const auto it = scope.values.find(type);
    return it != scope.values.end() && !it->second.empty();
  }

  void AddInputs(Scope& scope) {
    const auto add = [&](Type type, std::string_view name, InputSpec spec) {
      const ValueId value = scope.editor->AddInput(name, ToType(type));
      scope.values[type].push_back(value);
      program_.signature.inputs.push_back(std::move(spec));
    };
    for (const auto& [name, tensor] : random_.pool_) {
      if (!random_.Chance(50)) continue;
      InputSpec spec{.kind = InputKind::kParameter, .target = name};
      if (name[0] == 'b') spec.kind = InputKind::kBuffer;
      if (name[0] == 'v') spec = {.kind = InputKind::kBuffer, .target = name, .persistent = false};
      if (name[0] == 'c') spec.kind = InputKind::kTensorConstant;
      const bool state = spec.kind != InputKind::kTensorConstant && spec.persistent;
      (state ? program_.state_dict : program_.constants).emplace(name, tensor);
      add(Type::kRow, "k_" + name, std::move(spec));
    }
    for (int i = 0; i < 1 + static_cast<int>(random_.Below(3)); ++i) {
      add(Type::kMatrix, absl::StrCat("x", i), {});
    }
    if (random_.Chance(70)) add(Type::kRow, "r", {});
  }

  // --- Nodes ---

  std::vector<ValueId> Insert(Scope& scope, std::string_view op, std::vector<Argument> arguments,
                              std::vector<GraphEditor::NewOutput> outputs) {
    const OpOverload* target = program_.ops->FindText(op);
    if (target == nullptr) Die(absl::StrCat("there is no operator ", op));
    const int64_t number = next_node_++;
    const int64_t handle = number > 1 && random_.Chance(15) ? number - 1 : number;
    GraphEditor::NewNode node{.name = std::string(target->op()),
                              .target = target,
                              .arguments = std::move(arguments),
                              .debug_handle = handle};
    node.provenance.origin = std::make_shared<const std::string>(absl::StrCat("n", number, "@1"));
    const NodeId id = scope.editor->InsertNode(NodeId(), std::move(node), std::move(outputs));
    return scope.editor->graph().node(id).results();
  }

  // With inferred types.
  std::vector<ValueId> Op(Scope& scope, std::string_view name, std::vector<Argument> arguments) {
    const OpOverload* op = program_.ops->FindText(name);
    if (op == nullptr || op->schema() == nullptr) Die(absl::StrCat("there is no operator ", name));
    for (size_t i = arguments.size(); i < op->schema()->arguments.size(); ++i) {
      arguments.push_back(DefaultArgument(op->schema()->arguments[i]));
    }
    const auto metas = InferOutputs(scope.editor->graph(), op, arguments, nullptr);
    if (!metas.ok()) Die(metas.status().ToString());
    std::vector<GraphEditor::NewOutput> outputs;
    for (const MetaValue& meta : *metas) {
      GraphEditor::NewOutput& output = outputs.emplace_back();
      if (const MetaList* list = meta.get_if<MetaList>()) {
        output.kind = NodeOutput::Kind::kList;
        for (const MetaValue& element : *list) {
          output.values.emplace_back(op->op(), ToValueType(element));
        }
      } else {
        output.values.emplace_back(op->op(), ToValueType(meta));
      }
    }
    return Insert(scope, name, std::move(arguments), std::move(outputs));
  }

  void Add(Scope& scope, Type type, ValueId value) { scope.values[type].push_back(value); }

  void AddNode(Scope& scope, int nesting) {
    if (nesting < 2 && random_.options_.control_flow && random_.Chance(8)) {
      AddControlFlow(scope, nesting);
      return;
    }
    const bool has_row = Has(scope, Type::kRow), has_matrix = Has(scope, Type::kMatrix);
    const Type main = has_matrix && (!has_row || random_.Chance(75)) ? Type::kMatrix : Type::kRow;
    switch (random_.Below(10)) {
      case 0:
      case 1:
      case 2:
        Add(scope, main,
            Op(scope, kUnary[random_.Below(std::size(kUnary))], {Pick(scope, main)})[0]);
        return;
      case 3:
      case 4:
        Add(scope, main,
            Op(scope, kBinary[random_.Below(std::size(kBinary))],
               {Pick(scope, main), Pick(scope, main)})[0]);
        return;
      case 5:
        if (!has_row || !has_matrix) break;
        Add(scope, Type::kMatrix,
            Op(scope, kBinary[random_.Below(std::size(kBinary))],
               {Pick(scope, Type::kMatrix), Pick(scope, Type::kRow)})[0]);
        return;
      case 6:
        if (!has_matrix) break;
        Add(scope, Type::kRow,
            Op(scope, "edge.aten.sum.dim_IntList",
               {Pick(scope, Type::kMatrix), Argument::List{Argument(0)}})[0]);
        return;
      case 7: {
        if (!has_matrix) break;
        const std::vector<ValueId> results =
            Op(scope, "edge.aten.max.dim", {Pick(scope, Type::kMatrix), Argument(1)});
        Add(scope, Type::kColumn, results[0]);
        Add(scope, Type::kIndices, results[1]);
        return;
      }
      case 8: {
        if (!has_matrix) break;
        const std::vector<ValueId> pieces =
            Op(scope, "edge.aten.split_with_sizes_copy.default",
               {Pick(scope, Type::kMatrix), Argument::List{Argument(1), Argument(2)}, Argument(1)});
        Add(scope, Type::kMatrix,
            Op(scope, "edge.aten.cat.default",
               {Argument::List{Argument(pieces[1]), Argument(pieces[0])}, Argument(1)})[0]);
        return;
      }
      default:
        if (!dynamic_ || !has_matrix) break;
        if (!Has(scope, Type::kSize) || random_.Chance(30)) {
          const ValueId size =
              Insert(scope, "aten.sym_size.int", {Pick(scope, Type::kMatrix), Argument(0)},
                     {{NodeOutput::Kind::kValue, {{"size", ToType(Type::kSize)}}}})[0];
          Add(scope, Type::kSize, size);
        }
        Add(scope, Type::kMatrix,
            Op(scope, "edge.aten.full.default",
               {Argument::List{Argument(Pick(scope, Type::kSize)), Argument(kColumns)},
                Argument(0.5)})[0]);
        return;
    }
    Add(scope, main, Op(scope, "edge.aten.neg.default", {Pick(scope, main)})[0]);
  }

  // A body of these inputs that returns values of these types; there must be an input of each.
  GraphId Body(std::string_view name, const std::vector<Type>& inputs,
               const std::vector<Type>& results, int nesting) {
    Graph graph;
    {
      GraphEditor editor(graph);
      editor.SetName(std::string(name));
      Scope scope{.editor = &editor, .values = {}};
      for (Type type : inputs) Add(scope, type, editor.AddInput("a", ToType(type)));
      const int nodes = static_cast<int>(random_.Below(5));
      for (int i = 0; i < nodes; ++i) AddNode(scope, nesting + 1);
      std::vector<Argument> outputs;
      for (Type type : results) {
        if (type == Type::kCounter) {
          const ValueId one = Op(scope, "edge.aten.full.default",
                                 {Argument::List{}, Argument(1), Argument(DType::kInt64)})[0];
          outputs.emplace_back(
              Op(scope, "edge.aten.add.Tensor", {scope.values.at(type)[0], one})[0]);
        } else {
          outputs.emplace_back(scope.values.at(type).back());
        }
      }
      editor.SetOutputs(std::move(outputs));
    }
    return program_.graphs.push_back(std::move(graph));
  }

  std::vector<ValueId> Control(Scope& scope, std::string_view op, std::vector<Argument> arguments,
                               const std::vector<Type>& results) {
    std::vector<GraphEditor::NewOutput> outputs;
    for (Type type : results) {
      outputs.push_back({NodeOutput::Kind::kValue, {{"c", ToType(type)}}});
    }
    std::vector<ValueId> values =
        Insert(scope, absl::StrCat("higher_order.", op), std::move(arguments), std::move(outputs));
    for (size_t i = 0; i < results.size(); ++i) Add(scope, results[i], values[i]);
    return values;
  }

  void AddControlFlow(Scope& scope, int nesting) {
    if (!Has(scope, Type::kRow) || !Has(scope, Type::kMatrix)) return;
    const Argument matrix = Pick(scope, Type::kMatrix), row = Pick(scope, Type::kRow);
    switch (random_.Below(4)) {
      case 0: {
        const ValueId sum =
            Op(scope, "edge.aten.sum.dim_IntList", {row, Argument::List{Argument(0)}})[0];
        const ValueId test = Op(scope, "edge.aten.gt.Scalar", {sum, Argument(0)})[0];
        const std::vector<Type> types = {Type::kMatrix, Type::kRow};
        const GraphId yes = Body("true_graph", types, types, nesting);
        const GraphId no = Body("false_graph", types, types, nesting);
        Control(scope, "cond", {test, yes, no, Argument::List{matrix, row}}, types);
        return;
      }
      case 1: {
        const ValueId start = Op(scope, "edge.aten.full.default",
                                 {Argument::List{}, Argument(0), Argument(DType::kInt64)})[0];
        Graph test;
        {
          GraphEditor editor(test);
          editor.SetName("cond_graph");
          Scope inner{.editor = &editor, .values = {}};
          const ValueId i = editor.AddInput("i", ToType(Type::kCounter));
          editor.AddInput("a", ToType(Type::kMatrix));
          editor.AddInput("r", ToType(Type::kRow));
          editor.SetOutputs(
              {Argument(Op(inner, "edge.aten.lt.Scalar",
                           {i, Argument(static_cast<int64_t>(random_.Below(4)))})[0])});
        }
        const GraphId condition = program_.graphs.push_back(std::move(test));
        const GraphId body = Body("body_graph", {Type::kCounter, Type::kMatrix, Type::kRow},
                                  {Type::kCounter, Type::kMatrix}, nesting);
        Control(scope, "while_loop",
                {condition, body, Argument::List{start, matrix}, Argument::List{row}},
                {Type::kCounter, Type::kMatrix});
        return;
      }
      case 2: {
        const GraphId body = Body("map_body", {Type::kRow, Type::kRow}, {Type::kRow}, nesting);
        Control(scope, "map_impl", {body, Argument::List{matrix}, Argument::List{row}},
                {Type::kMatrix});
        return;
      }
      default: {
        const GraphId body =
            Body("scan_body", {Type::kRow, Type::kRow}, {Type::kRow, Type::kRow}, nesting);
        Control(scope, "scan",
                {body, Argument::List{row}, Argument::List{matrix}, Argument::List{}},
                {Type::kRow, Type::kMatrix});
        return;
      }
    }
  }

  // --- Outputs ---

  void AddOutputs(Scope& scope) {
    std::vector<Argument> outputs;
    const auto add = [&](Argument value, OutputSpec spec) {
      outputs.push_back(std::move(value));
      program_.signature.outputs.push_back(std::move(spec));
    };
    const auto any = [&](Type type) -> std::optional<ValueId> {
      if (!Has(scope, type)) return std::nullopt;
      return Pick(scope, type);
    };
    if (random_.options_.mutation) {
      for (size_t i = 0; i < program_.signature.inputs.size(); ++i) {
        const InputSpec& spec = program_.signature.inputs[i];
        const Value& value = scope.editor->graph().value(scope.editor->graph().inputs()[i]);
        const Type type = value.tensor()->rank() == 2 ? Type::kMatrix : Type::kRow;
        if (spec.kind == InputKind::kBuffer && random_.Chance(35)) {
          add(*any(type), {OutputKind::kBufferMutation, spec.target});
        } else if (spec.kind == InputKind::kUserInput && random_.Chance(10)) {
          add(*any(type), {OutputKind::kUserInputMutation, value.name});
        }
      }
    }
    const int count = 1 + static_cast<int>(random_.Below(4));
    for (int i = 0; i < count; ++i) {
      constexpr Type kTypes[] = {Type::kMatrix, Type::kRow,     Type::kMatrix,
                                 Type::kColumn, Type::kIndices, Type::kSize};
      if (const auto value = any(kTypes[random_.Below(std::size(kTypes))])) add(*value, {});
    }
    add(Pick(scope, Type::kMatrix), {});
    if (random_.Chance(5)) add(Argument(7), {});
    scope.editor->SetOutputs(std::move(outputs));
  }

  RandomPrograms& random_;
  ExportedProgram program_;
  const bool dynamic_;
  int64_t next_node_ = 1;
};

RandomPrograms::RandomPrograms(uint64_t seed, const OpRegistry& ops, RandomProgramOptions options)
    : random_(seed), ops_(ops), options_(options) {
  MakePool();
}

RandomPrograms::RandomPrograms(std::string_view choices, const OpRegistry& ops,
                               RandomProgramOptions options)
    : ops_(ops), options_(options) {
  MakePool();
  choices_ = choices;
}

uint64_t RandomPrograms::Below(uint64_t limit) {
  if (next_choice_ == choices_.size() || limit > 256) return random_() % limit;
  return static_cast<uint8_t>(choices_[next_choice_++]) % limit;
}

void RandomPrograms::MakePool() {
  std::vector<Storage> storages;
  for (int i = 0; i < 4; ++i) {
    float elements[kColumns];
    for (float& element : elements) {
      element = static_cast<float>(static_cast<int64_t>(Below(17)) - 8) / 4;
    }
    std::vector<std::byte> bytes(sizeof(elements));
    std::memcpy(bytes.data(), elements, sizeof(elements));
    storages.push_back(Storage::Own(std::move(bytes)));
  }
  // Two names of one storage: tied weights.
  constexpr std::pair<std::string_view, int> kNames[] = {
      {"p0", 0}, {"p1", 1}, {"p2", 1}, {"b0", 2}, {"b1", 3}, {"v0", 2}, {"c0", 3},
  };
  for (const auto& [name, storage] : kNames) {
    absl::StatusOr<ConstantTensor> tensor =
        ConstantTensor::Contiguous(DType::kFloat32, Sizes({kColumns}), storages[storage]);
    if (!tensor.ok()) Die(tensor.status().ToString());
    pool_.emplace_back(std::string(name), *std::move(tensor));
  }
}

ExportedProgram RandomPrograms::Next() { return Maker(*this).Make(); }

void RandomPrograms::Tag(ExportedProgram& program, int tags) {
  const bool runs = Chance(50);
  const int percent = 20 + static_cast<int>(Below(70));
  for (Graph& graph : program.graphs) {
    GraphEditor editor(graph);
    int run = static_cast<int>(Below(static_cast<uint64_t>(tags)));
    for (NodeId node : graph.NodeList()) {
      if (runs) {
        // A run ends with a change of the tag, and no tag begins twice.
        if (run < tags && Chance(25)) ++run;
        const bool tagged = run < tags && (percent > 60 || run % 2 == 0);
        editor.SetDelegationTag(node, tagged ? absl::StrCat("t", run) : "");
      } else {
        editor.SetDelegationTag(
            node, Chance(percent) ? absl::StrCat("t", Below(static_cast<uint64_t>(tags))) : "");
      }
    }
  }
}

// --- Shrinking ---

namespace {

class Shrinker {
 public:
  Shrinker(ExportedProgram& program, const std::function<bool(const ExportedProgram&)>& fails,
           int budget)
      : program_(program), fails_(fails), budget_(budget) {}

  void Run() {
    bool changed = true;
    while (changed && budget_ > 0) {
      changed = Tags();
      changed = Outputs() || changed;
      changed = Nodes() || changed;
      changed = Inputs() || changed;
    }
  }

 private:
  // Keeps the change if what comes out still fails.
  bool Try(const std::function<bool(ExportedProgram&)>& change) {
    if (budget_ <= 0) return false;
    ExportedProgram candidate = program_.Clone();
    if (!change(candidate)) return false;
    candidate.EraseUnusedBodies();
    if (!Verify(candidate).ok()) return false;
    --budget_;
    if (!fails_(candidate)) return false;
    program_ = std::move(candidate);
    return true;
  }

  bool Tags() {
    bool changed = false;
    for (uint32_t g = 0; g < program_.graphs.size(); ++g) {
      for (NodeId node : program_.graphs[GraphId(g)].NodeList()) {
        if (g >= program_.graphs.size()) break;
        if (!program_.graphs[GraphId(g)].contains(node) ||
            program_.graphs[GraphId(g)].node(node).delegation_tag.empty()) {
          continue;
        }
        changed |= Try([&](ExportedProgram& p) {
          GraphEditor(p.graphs[GraphId(g)]).SetDelegationTag(node, "");
          return true;
        });
      }
    }
    return changed;
  }

  bool Outputs() {
    bool changed = false;
    for (size_t k = program_.top().outputs().size(); k-- > 0;) {
      changed |= Try([&](ExportedProgram& p) {
        if (p.top().outputs().size() <= 1 || k >= p.top().outputs().size()) return false;
        std::vector<Argument> outputs(p.top().outputs().begin(), p.top().outputs().end());
        outputs.erase(outputs.begin() + static_cast<ptrdiff_t>(k));
        GraphEditor(p.top()).SetOutputs(std::move(outputs));
        p.signature.outputs.erase(p.signature.outputs.begin() + static_cast<ptrdiff_t>(k));
        return true;
      });
    }
    return changed;
  }

  // Removes a node, after earlier values of the same types took the places of its results.
  bool Nodes() {
    bool changed = false;
    for (uint32_t g = static_cast<uint32_t>(program_.graphs.size()); g-- > 0;) {
      if (g >= program_.graphs.size()) continue;
      std::vector<NodeId> nodes = program_.graphs[GraphId(g)].NodeList();
      for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {
        changed |= Try([&](ExportedProgram& p) {
          if (g >= p.graphs.size() || !p.graphs[GraphId(g)].contains(*it)) return false;
          return Remove(p.graphs[GraphId(g)], *it);
        });
      }
    }
    return changed;
  }

  static bool Remove(Graph& graph, NodeId node) {
    GraphEditor editor(graph);
    for (ValueId result : graph.node(node).results()) {
      const bool used = !graph.value(result).users.empty() || graph.IsOutput(result);
      if (!used) continue;
      const std::optional<ValueId> other = Earlier(graph, node, graph.value(result).type);
      if (!other.has_value()) return false;
      editor.ReplaceAllUses(result, *other);
    }
    editor.EraseNode(node);
    return true;
  }

  // The latest value of the type before the node.
  static std::optional<ValueId> Earlier(const Graph& graph, NodeId node, const ValueType& type) {
    for (NodeId n = graph.previous(node); n.valid(); n = graph.previous(n)) {
      for (ValueId value : graph.node(n).results()) {
        if (graph.value(value).type == type) return value;
      }
    }
    for (ValueId input : graph.inputs()) {
      if (graph.value(input).type == type) return input;
    }
    return std::nullopt;
  }

  bool Inputs() {
    bool changed = false;
    for (size_t i = program_.top().inputs().size(); i-- > 0;) {
      changed |= Try([&](ExportedProgram& p) {
        const ValueId input = p.top().inputs()[i];
        const InputSpec spec = p.signature.inputs[i];
        if (!NamesTensor(spec.kind) || !p.top().value(input).users.empty() ||
            p.top().IsOutput(input)) {
          return false;
        }
        GraphEditor(p.top()).EraseInput(input);
        p.signature.inputs.erase(p.signature.inputs.begin() + static_cast<ptrdiff_t>(i));
        p.state_dict.erase(spec.target);
        p.constants.erase(spec.target);
        return true;
      });
    }
    return changed;
  }

  ExportedProgram& program_;
  const std::function<bool(const ExportedProgram&)>& fails_;
  int budget_;
};

}  // namespace

void ShrinkProgram(ExportedProgram& program,
                   const std::function<bool(const ExportedProgram&)>& fails, int budget) {
  Shrinker(program, fails, budget).Run();
}

}  // namespace belay::exir
