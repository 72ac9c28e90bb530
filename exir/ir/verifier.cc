#include "exir/ir/verifier.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "exir/ir/argument_kind.h"
#include "exir/ir/lowered_backend_module.h"
#include "exir/ir/problem_list.h"
#include "exir/ir/text.h"
#include "exir/ir/type_expressions.h"
#include "runtime/core/str_cat.h"

namespace belay::exir {
namespace {

void ForEachModule(const Argument& argument, const std::function<void(ModuleId)>& fn) {
  if (const ModuleId* module = argument.get_if<ModuleId>()) {
    fn(*module);
  } else if (const Argument::List* list = argument.get_if<Argument::List>()) {
    for (const Argument& element : *list) ForEachModule(element, fn);
  } else if (const Dict* dict = argument.get_if<Dict>()) {
    for (const auto& [key, element] : dict->entries) ForEachModule(element, fn);
  }
}

class Verifier {
 public:
  explicit Verifier(const ExportedProgram& program) : program_(program) {}

  absl::Status Verify() {
    if (program_.graphs.size() == 0) {
      return absl::FailedPreconditionError("V7 the program has no graph");
    }
    CollectSymbols();
    for (uint32_t i = 0; i < program_.graphs.size(); ++i) VerifyGraph(i);
    VerifySubgraphs();
    VerifySignature();
    return violations_.ToStatus(absl::StatusCode::kFailedPrecondition);
  }

 private:
  template <class Subject>
  void Report(int invariant, Subject subject, std::string_view problem) {
    violations_.Add([&] { return absl::StrCat("V", invariant, " ", subject()); }, problem);
  }
  void ReportNode(int invariant, const Graph& graph, NodeId node, std::string_view problem) {
    Report(invariant, [&] { return DescribeNode(graph, node); }, problem);
  }
  void ReportValue(int invariant, const Graph& graph, ValueId value, std::string_view problem) {
    const Value& v = graph.value(value);
    if (v.producer.valid() && graph.contains(v.producer)) {
      return ReportNode(invariant, graph, v.producer, problem);
    }
    Report(
        invariant,
        [&] {
          return absl::StrCat("input ", PrintArgument(graph, value), ": ", PrintType(v.type));
        },
        problem);
  }

  // --- Graphs: V1 – V6, V11 – V14 ---

  // Whether a value of the graph is defined at the current point of the walk.
  enum class State : uint8_t { kUndefined, kDefined };

  void VerifyGraph(uint32_t index) {
    const Graph& graph = program_.graphs[GraphId(index)];
    SecondaryMap<ValueId, State> states(graph.value_id_limit());
    absl::flat_hash_set<std::string> value_names, node_names;
    const auto define = [&](ValueId value) {
      states[value] = State::kDefined;
      const Value& v = graph.value(value);
      if (v.name.empty()) {
        ReportValue(3, graph, value, "expected a name for each value, got an empty one");
      } else if (!value_names.insert(v.name).second) {
        ReportValue(3, graph, value,
                    absl::StrCat("expected unique names of values, got a second ",
                                 PrintArgument(graph, value)));
      }
      VerifyType(graph, value);
    };
    for (ValueId input : graph.inputs()) define(input);
    for (NodeId id : graph.nodes()) {
      const Node& node = graph.node(id);
      if (!VerifyUses(graph, id, states)) continue;
      if (node.name.empty()) {
        ReportNode(3, graph, id, "expected a name for each node, got an empty one");
      } else if (!node_names.insert(node.name).second) {
        ReportNode(3, graph, id,
                   absl::StrCat("expected unique names of nodes, got a second '", node.name, "'"));
      }
      VerifyCall(graph, id);
      VerifyDialect(graph, id);
      VerifyModules(graph, id);
      for (const NodeOutput& output : node.outputs) {
        for (ValueId value : output.values) define(value);
      }
    }
    for (size_t i = 0; i < graph.outputs().size(); ++i) {
      ForEachValue(graph.outputs()[i], [&](ValueId value) {
        if (graph.contains(value) && states.get(value) == State::kDefined) return;
        Report(
            2, [&] { return absl::StrCat("output ", i, " of graph#", index); },
            absl::StrCat("expected a value that is defined in the graph, got ",
                         PrintArgument(graph, value)));
      });
    }
    VerifyUseLists(graph);
  }

  // Returns false if the node uses values that are not in the graph; then other checks are skipped.
  bool VerifyUses(const Graph& graph, NodeId id, const SecondaryMap<ValueId, State>& states) {
    bool known = true;
    for (const Argument& argument : graph.node(id).arguments) {
      ForEachValue(argument, [&](ValueId value) {
        const bool exists = graph.contains(value);
        known &= exists;
        if (exists && states.get(value) == State::kDefined) return;
        ReportNode(1, graph, id,
                   absl::StrCat("expected operands that are defined before, got ",
                                PrintArgument(graph, value)));
      });
    }
    return known;
  }

  void VerifyUseLists(const Graph& graph) {
    std::vector<std::vector<NodeId>> uses(graph.value_id_limit());
    for (NodeId id : graph.nodes()) {
      for (const Argument& argument : graph.node(id).arguments) {
        ForEachValue(argument, [&](ValueId value) {
          if (graph.contains(value)) uses[value.index()].push_back(id);
        });
      }
    }
    SecondaryMap<NodeId, int64_t> balance(graph.node_id_limit());
    for (uint32_t i = 0; i < uses.size(); ++i) {
      const std::vector<NodeId>& users = graph.value(ValueId(i)).users;
      bool agree = users.size() == uses[i].size();
      for (NodeId user : users) {
        if (!graph.contains(user)) {
          agree = false;
        } else {
          ++balance[user];
        }
      }
      for (NodeId user : uses[i]) --balance[user];
      for (const std::vector<NodeId>* list : {&users, &std::as_const(uses[i])}) {
        for (NodeId user : *list) {
          if (!graph.contains(user)) continue;
          agree = agree && balance[user] == 0;
          balance[user] = 0;
        }
      }
      if (!agree) {
        ReportValue(4, graph, ValueId(i),
                    absl::StrCat("expected ", uses[i].size(), " users of ",
                                 PrintArgument(graph, ValueId(i)),
                                 " as in the arguments, got a list of ", users.size()));
      }
    }
  }

  void VerifyCall(const Graph& graph, NodeId id) {
    const Node& node = graph.node(id);
    if (node.target == nullptr) return ReportNode(5, graph, id, "expected an operator, got none");
    const FunctionSchema* schema = node.target->schema();
    const size_t names = schema == nullptr ? node.arguments.size() : 0;
    if (!node.argument_names.empty() && node.argument_names.size() != names) {
      ReportNode(5, graph, id,
                 absl::StrCat("expected ", names, " names of arguments, got ",
                              node.argument_names.size()));
    }
    if (schema == nullptr) return;
    if (node.arguments.size() != schema->arguments.size()) {
      ReportNode(5, graph, id,
                 absl::StrCat("expected ", schema->arguments.size(), " arguments, got ",
                              node.arguments.size(), "; ", schema->ToString()));
    } else {
      for (size_t i = 0; i < node.arguments.size(); ++i) {
        const SchemaArgument& declared = schema->arguments[i];
        if (AcceptsArgument(declared.type, graph, node.arguments[i])) continue;
        ReportNode(
            5, graph, id,
            absl::StrCat("expected for argument ", declared.name, " ", declared.type.ToString(),
                         ", got ", PrintArgument(graph, node.arguments[i]), " (",
                         ArgumentKindName(graph, node.arguments[i]), ")"));
      }
    }
    if (node.outputs.size() != schema->returns.size()) {
      ReportNode(6, graph, id,
                 absl::StrCat("expected ", schema->returns.size(), " outputs, got ",
                              node.outputs.size(), "; ", schema->ToString()));
      return;
    }
    for (size_t k = 0; k < node.outputs.size(); ++k) {
      const SchemaType& type = schema->returns[k].type;
      // A missing tensor is allowed only among several results: passes use the only result of an
      // operator.
      const bool lone_nothing = node.outputs.size() == 1 && type.base == BaseType::kTensor &&
                                !type.optional && node.outputs[k].kind == NodeOutput::Kind::kNone;
      if (!lone_nothing && MatchesOutput(type, graph, node.outputs[k])) continue;
      ReportNode(6, graph, id,
                 absl::StrCat("expected for output ", k, " ", type.ToString(), ", got ",
                              DescribeOutput(graph, node.outputs[k])));
    }
  }

  static std::string DescribeOutput(const Graph& graph, const NodeOutput& output) {
    if (output.kind == NodeOutput::Kind::kNone) return "none";
    if (output.kind == NodeOutput::Kind::kList) {
      return absl::StrCat("a list of ", output.values.size());
    }
    return PrintType(graph.value(output.values[0]).type);
  }

  void VerifyType(const Graph& graph, ValueId value) {
    const ValueType& type = graph.value(value).type;
    std::vector<std::string> symbols;
    ForEachExpression(type, [&](const SymExpr& expr) {
      if (!expr.AsInt().has_value()) expr.CollectSymbols(symbols);
    });
    for (const std::string& symbol : symbols) {
      if (symbols_.contains(symbol)) continue;
      ReportValue(
          11, graph, value,
          absl::StrCat("expected a range, an input or a defining node for each symbol, got ",
                       symbol, " in ", PrintArgument(graph, value)));
    }
    const TensorMeta* tensor = std::get_if<TensorMeta>(&type);
    if (tensor == nullptr) return;
    for (const SymInt& size : tensor->sizes) {
      const std::optional<int64_t> number = size.AsInt();
      const int64_t most = number.has_value() ? *number : size.Range(program_.ranges).max;
      if (most >= 0) continue;
      ReportValue(11, graph, value,
                  absl::StrCat("expected sizes of at least 0, got ", size.ToString(),
                               number.has_value() ? "" : absl::StrCat(" (at most ", most, ")"),
                               " in ", PrintArgument(graph, value)));
    }
    if (tensor->strides.size() != tensor->sizes.size()) {
      ReportValue(12, graph, value,
                  absl::StrCat("expected ", tensor->sizes.size(), " strides, got ",
                               tensor->strides.size(), " in ", PrintArgument(graph, value)));
    }
  }

  // Collects all symbols with a definition: ranges, inputs of any graph, and nodes that create
  // unbacked ones.
  void CollectSymbols() {
    for (const auto& [symbol, range] : program_.ranges) symbols_.insert(symbol);
    const auto define = [this](const SymExpr& expr) {
      if (expr.kind() == SymExpr::Kind::kSymbol) symbols_.emplace(expr.name());
    };
    std::vector<std::string> symbols;  // of one expression
    for (const Graph& graph : program_.graphs) {
      for (ValueId input : graph.inputs()) {
        ForEachExpression(graph.value(input).type, [&](const SymExpr& expr) {
          if (expr.AsInt().has_value()) return;
          symbols.clear();
          expr.CollectSymbols(symbols);
          symbols_.insert(symbols.begin(), symbols.end());
        });
      }
      for (NodeId id : graph.nodes()) {
        const Node& node = graph.node(id);
        const bool may_define = node.target == nullptr || node.target->def() == nullptr ||
                                node.target->has_trait(kDataDependent);
        for (const NodeOutput& output : node.outputs) {
          for (ValueId value : output.values) {
            const ValueType& type = graph.value(value).type;
            // A scalar read from a tensor is a symbol of its own.
            if (may_define || !std::holds_alternative<TensorMeta>(type)) {
              ForEachExpression(type, define);
            }
          }
        }
      }
    }
  }

  void VerifyDialect(const Graph& graph, NodeId id) {
    const OpOverload* target = graph.node(id).target;
    if (target == nullptr || AllowedIn(program_.dialect, *target)) return;
    ReportNode(14, graph, id,
               absl::StrCat("expected an operator of the ", IrDialectName(program_.dialect),
                            " dialect, got ", target->text_name()));
  }

  void VerifyModules(const Graph& graph, NodeId id) {
    const Node& node = graph.node(id);
    bool exist = true;
    for (const Argument& argument : node.arguments) {
      ForEachModule(argument, [&](ModuleId module) {
        if (program_.lowered_modules.contains(module) &&
            program_.lowered_modules[module] != nullptr) {
          return;
        }
        exist = false;
        ReportNode(13, graph, id,
                   absl::StrCat("expected one of the ", program_.lowered_modules.size(),
                                " modules of the program, got module#", module.index()));
      });
    }
    if (node.target != program_.ops->CallDelegate() || !exist) return;
    const ModuleId* module = node.argument("module").get_if<ModuleId>();
    if (module == nullptr) {
      return ReportNode(13, graph, id, "expected a module as the first argument, got none");
    }
    const GraphSignature& signature = program_.lowered_modules[*module]->original.signature;
    const auto inputs =
        std::count_if(signature.inputs.begin(), signature.inputs.end(),
                      [](const InputSpec& spec) { return spec.kind == InputKind::kUserInput; });
    // Mutated buffers and parameters of the module are its own state and are not results of the
    // call.
    const auto outputs =
        std::count_if(signature.outputs.begin(), signature.outputs.end(),
                      [](const OutputSpec& spec) { return !IsStateMutation(spec.kind); });
    if (node.arguments.size() != static_cast<size_t>(inputs) + 1) {
      ReportNode(13, graph, id,
                 absl::StrCat("expected ", inputs, " arguments after the module, got ",
                              node.arguments.size() - 1));
    }
    size_t results = 0;
    for (const NodeOutput& output : node.outputs) {
      results += output.kind == NodeOutput::Kind::kNone ? 1 : output.values.size();
    }
    if (results != static_cast<size_t>(outputs)) {
      ReportNode(13, graph, id, absl::StrCat("expected ", outputs, " results, got ", results));
    }
  }

  // --- Subgraphs: V7 ---

  void VerifySubgraphs() {
    const size_t count = program_.graphs.size();
    std::vector<uint32_t> uses(count, 0);
    std::vector<std::vector<uint32_t>> bodies(count);  // of each graph
    for (uint32_t i = 0; i < count; ++i) {
      const Graph& graph = program_.graphs[GraphId(i)];
      for (NodeId id : graph.nodes()) {
        for (const Argument& argument : graph.node(id).arguments) {
          ForEachGraph(argument, [&](GraphId body) {
            if (!program_.graphs.contains(body) || body == ExportedProgram::kTop) {
              ReportNode(7, graph, id,
                         absl::StrCat(
                             "expected one of the program's subgraphs, which are graph#1 to graph#",
                             count - 1, ", got graph#", body.index()));
            } else if (uses[body.index()]++ > 0) {
              ReportNode(
                  7, graph, id,
                  absl::StrCat("expected each subgraph to be used once, got a second use of graph#",
                               body.index()));
            } else {
              bodies[i].push_back(body.index());
            }
          });
        }
      }
    }
    std::vector<bool> reached(count, false);
    std::vector<uint32_t> pending = {0};
    reached[0] = true;
    while (!pending.empty()) {
      const uint32_t graph = pending.back();
      pending.pop_back();
      // Visits each once: a subgraph belongs to one graph only.
      for (uint32_t body : bodies[graph]) {
        pending.push_back(body);
        reached[body] = true;
      }
    }
    for (uint32_t i = 1; i < count; ++i) {
      if (reached[i]) continue;
      Report(
          7, [&] { return absl::StrCat("graph#", i, " ", program_.graphs[GraphId(i)].name()); },
          uses[i] == 0 ? "expected a node that uses the subgraph, got none"
                       : "expected subgraphs that nest below the top graph, got a cycle");
    }
  }

  // --- Signature: V8 – V10, V15 ---

  void VerifySignature() {
    const Graph& top = program_.top();
    const GraphSignature& signature = program_.signature;
    const auto check = [this](size_t expected, size_t actual, std::string_view what) {
      if (expected == actual) return true;
      Report(
          8, [] { return std::string("signature"); },
          absl::StrCat("expected one entry for each of the ", expected, " ", what,
                       "s of the top graph, got ", actual));
      return false;
    };
    if (check(top.inputs().size(), signature.inputs.size(), "input")) VerifyInputs();
    if (check(top.outputs().size(), signature.outputs.size(), "output")) VerifyMutations();
  }

  void VerifyInputs() {
    const Graph& top = program_.top();
    absl::flat_hash_map<std::string, size_t> first;  // by target
    for (size_t i = 0; i < top.inputs().size(); ++i) {
      const InputSpec& spec = program_.signature.inputs[i];
      const ValueId value = top.inputs()[i];
      const TensorMeta* meta = top.value(value).tensor();
      if (!spec.target.empty()) {
        const auto [it, is_new] = first.emplace(spec.target, i);
        const InputSpec& other = program_.signature.inputs[it->second];
        const TensorMeta* other_meta = top.value(top.inputs()[it->second]).tensor();
        if (!is_new && (other.kind != spec.kind || (meta == nullptr) != (other_meta == nullptr) ||
                        (meta != nullptr && meta->dtype != other_meta->dtype))) {
          ReportValue(
              15, top, value,
              absl::StrCat("expected inputs of the same target to agree in kind and dtype, got ",
                           InputKindName(spec.kind), " '", spec.target, "' beside ",
                           InputKindName(other.kind), " ",
                           PrintArgument(top, top.inputs()[it->second]), ": ",
                           PrintType(top.value(top.inputs()[it->second]).type)));
        }
      }
      if (!NamesTensor(spec.kind)) continue;
      const ConstantTensor* tensor = program_.FindConstant(spec);
      const std::string what =
          absl::StrCat("the ", InputKindName(spec.kind), " '", spec.target, "'");
      if (tensor == nullptr) {
        ReportValue(9, top, value, absl::StrCat("expected ", what, " to exist, got none"));
      } else if (meta == nullptr || meta->dtype != tensor->dtype() ||
                 !std::equal(meta->sizes.begin(), meta->sizes.end(), tensor->sizes().begin(),
                             tensor->sizes().end(), [](const SymInt& size, int64_t number) {
                               return size.AsInt() == number;
                             })) {
        ReportValue(9, top, value,
                    absl::StrCat("expected the dtype and sizes of ", what, ", which is ",
                                 DTypeShortName(tensor->dtype()), FormatSizes(tensor->sizes()),
                                 ", got ", PrintType(top.value(value).type)));
      }
    }
  }

  // Mutable inputs by kind and name.
  using Targets = absl::flat_hash_map<std::pair<InputKind, std::string>, ValueId>;

  void VerifyMutations() {
    const Graph& top = program_.top();
    if (top.inputs().size() != program_.signature.inputs.size()) return;  // V8 reported it
    Targets targets;
    for (size_t i = 0; i < top.inputs().size(); ++i) {
      const InputSpec& spec = program_.signature.inputs[i];
      const ValueId value = top.inputs()[i];
      const bool user = spec.kind == InputKind::kUserInput;
      targets.emplace(std::make_pair(spec.kind, user ? top.value(value).name : spec.target), value);
    }
    absl::flat_hash_set<std::pair<InputKind, std::string>> mutated;
    for (size_t i = 0; i < top.outputs().size(); ++i) {
      const OutputSpec& spec = program_.signature.outputs[i];
      if (!IsMutation(spec.kind)) continue;
      const auto report = [&](std::string_view problem) {
        Report(
            10,
            [&] {
              return absl::StrCat("output ", i, " ", PrintArgument(top, top.outputs()[i]), " ",
                                  OutputKindName(spec.kind), " '", spec.target, "'");
            },
            problem);
      };
      const InputKind kind = spec.kind == OutputKind::kBufferMutation      ? InputKind::kBuffer
                             : spec.kind == OutputKind::kParameterMutation ? InputKind::kParameter
                                                                           : InputKind::kUserInput;
      const auto target = targets.find(std::make_pair(kind, spec.target));
      if (target == targets.end()) {
        report(absl::StrCat("expected the name of a ", InputKindName(kind),
                            ", got none of that name"));
        continue;
      }
      if (!mutated.insert(target->first).second) {
        report("expected at most one mutation of each input, got a second");
      }
      const ValueId* id = top.outputs()[i].get_if<ValueId>();
      const Value* value = id == nullptr || !top.contains(*id) ? nullptr : &top.value(*id);
      const TensorMeta* meta = value == nullptr ? nullptr : value->tensor();
      const TensorMeta* wanted = top.value(target->second).tensor();
      if (meta == nullptr || wanted == nullptr || meta->dtype != wanted->dtype ||
          meta->sizes != wanted->sizes) {
        report(absl::StrCat(
            "expected the dtype and sizes of ", PrintType(top.value(target->second).type), ", got ",
            value == nullptr ? PrintArgument(top, top.outputs()[i]) : PrintType(value->type)));
      }
    }
  }

  const ExportedProgram& program_;
  absl::flat_hash_set<std::string> symbols_;
  ProblemList violations_;
};

}  // namespace

bool AllowedIn(IrDialect dialect, const OpOverload& op) {
  switch (op.dialect()) {
    case Dialect::kHigherOrder:
    case Dialect::kScalar:
      return true;
    case Dialect::kEdge:
    case Dialect::kBackend:
      return dialect == IrDialect::kEdge;
    case Dialect::kAten:
      break;
  }
  return dialect != IrDialect::kEdge || op.has_trait(kSymbolic) || op.has_trait(kAtenInEdge);
}

absl::Status Verify(const ExportedProgram& program) { return Verifier(program).Verify(); }

}  // namespace belay::exir
