#include "exir/backend/tests/properties/lowering_properties.h"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>

#include "exir/backend/delegate_mapping_builder.h"
#include "exir/backend/testing/recording_backend.h"
#include "exir/compare/call.h"
#include "exir/interpreter/interpreter.h"
#include "exir/ir/graph_editor.h"
#include "exir/ir/lowered_backend_module.h"
#include "exir/ir/text.h"
#include "exir/ir/verifier.h"
#include "exir/testing/generator/edge_programs.h"
#include "exir/testing/generator/shrink_program.h"
#include "runtime/core/random.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"

namespace belay::exir {
namespace {

constexpr int kTags = 4;

bool IsCall(const Node& node) {
  return node.target->name() == "higher_order.executorch_call_delegate";
}

// Returns the tags of the nodes, and the case's tags of constants.
class CasePartitioner final : public Partitioner {
 public:
  explicit CasePartitioner(const LoweringCase& lowering_case) : case_(lowering_case) {}

  absl::StatusOr<PartitionResult> Partition(const ExportedProgram& program) const override {
    TextPartitioner tags;
    tags.delegation = case_.delegation;
    tags.only_given_delegation = true;
    tags.tag_constants = case_.constants == LoweringCase::Constants::kByUsers;
    if (case_.constants == LoweringCase::Constants::kRandom) {
      Random random(case_.seed);
      for (size_t i = 0; i < program.signature.inputs.size(); ++i) {
        const uint64_t number = random.Next();
        if (!NamesTensor(program.signature.inputs[i].kind) || number % 2 == 0) continue;
        tags.constants.emplace_back(program.top().value(program.top().inputs()[i]).name,
                                    absl::StrCat("t", number / 2 % kTags));
      }
    }
    return tags.Partition(program);
  }

 private:
  const LoweringCase& case_;
};

// Preprocess whose blob is the program in text form. Its map has an entry for each node.
absl::StatusOr<PreprocessResult> Record(ExportedProgram program, absl::Span<const CompileSpec>) {
  DelegateMappingBuilder builder(DelegateMappingBuilder::Identifiers::kGenerated);
  for (NodeId node : program.top().nodes()) {
    if (program.top().node(node).debug_handle == 0) continue;
    ABSL_RETURN_IF_ERROR(builder.InsertNodes(program.top(), {node}).status());
  }
  PreprocessResult result;
  result.processed = TextStorage(PrintProgram(program));
  result.debug_handle_map = builder.mapping();
  // The backend owns the program, so this change must have no effect elsewhere.
  for (Graph& graph : program.graphs) GraphEditor(graph).SetOutputs({});
  return result;
}

std::string PrintAll(const MethodPrograms& methods) {
  std::string text;
  for (const auto& [name, program] : methods) {
    absl::StrAppend(&text, "method ", name, "\n", PrintProgram(program), "\n");
  }
  return text;
}

// --- (b), (c), (d), (e), (i) ---

using Origins = std::multiset<std::string>;

void CollectOrigins(const ExportedProgram& program, bool inside_too, Origins& origins) {
  for (const Graph& graph : program.graphs) {
    for (NodeId id : graph.nodes()) {
      if (!IsCall(graph.node(id))) origins.insert(*graph.node(id).provenance.origin);
    }
  }
  if (!inside_too) return;
  for (const auto& module : program.lowered_modules) {
    CollectOrigins(module->original, true, origins);
  }
}

// The delegate that each node should be in, as "graph/tag"; "" if not delegated. Nodes inside a
// tagged node's subgraphs go with it.
void ExpectedPlaces(const ExportedProgram& program, const std::set<std::string>& tags, GraphId id,
                    const std::string& inherited, std::map<std::string, std::string>& places) {
  const Graph& graph = program.graphs[id];
  for (NodeId n : graph.nodes()) {
    const Node& node = graph.node(n);
    std::string place = inherited;
    if (place.empty() && tags.contains(node.delegation_tag)) {
      place = absl::StrCat(id.index(), "/", node.delegation_tag);
    }
    if (!IsCall(node)) places[*node.provenance.origin] = place;
    for (const Argument& argument : node.arguments) {
      ForEachGraph(argument,
                   [&](GraphId body) { ExpectedPlaces(program, tags, body, place, places); });
    }
  }
}

std::string CheckPlaces(const ExportedProgram& before, const ExportedProgram& after,
                        const std::set<std::string>& tags) {
  std::map<std::string, std::string> places;
  ExpectedPlaces(before, tags, ExportedProgram::kTop, "", places);
  Origins stayed;
  CollectOrigins(after, false, stayed);
  std::map<std::string, std::string> delegate_of;  // tag and graph -> the delegate of its nodes
  std::map<std::string, std::string> place_of;     // the inverse
  Origins moved;
  for (uint32_t m = 0; m < after.lowered_modules.size(); ++m) {
    const std::string delegate = absl::StrCat(m);
    Origins inside;
    CollectOrigins(after.lowered_modules[ModuleId(m)]->original, false, inside);
    for (const std::string& origin : inside) {
      if (!places.contains(origin)) continue;  // of an earlier round, inside a delegate
      moved.insert(origin);
      const std::string& place = places[origin];
      if (place.empty()) return absl::StrCat(origin, " has no tag but is in delegate ", m);
      if (delegate_of.emplace(place, delegate).first->second != delegate ||
          place_of.emplace(delegate, place).first->second != place) {
        return absl::StrCat(origin, " is in delegate ", m, ", not with the others of ", place);
      }
    }
  }
  for (const auto& [origin, place] : places) {
    const size_t there = place.empty() ? stayed.count(origin) : moved.count(origin);
    const size_t elsewhere = place.empty() ? moved.count(origin) : stayed.count(origin);
    if (there != 1 || elsewhere != 0) {
      return absl::StrCat(origin, place.empty() ? " should stay" : " should move", ": ", there,
                          " times there, ", elsewhere, " times elsewhere");
    }
  }
  return "";
}

void CollectConstants(const ExportedProgram& program, std::set<std::string>& names,
                      std::string& wrong) {
  std::set<std::string> targets;
  for (const InputSpec& spec : program.signature.inputs) {
    if (!NamesTensor(spec.kind)) continue;
    targets.insert(spec.target);
    if (program.FindConstant(spec) == nullptr) {
      wrong = absl::StrCat("there is no tensor '", spec.target, "'");
    }
  }
  for (const ConstantMap* map : {&program.state_dict, &program.constants}) {
    for (const auto& [name, tensor] : *map) {
      if (!targets.contains(name)) wrong = absl::StrCat("nothing names tensor '", name, "'");
      names.insert(name);
    }
  }
  for (const auto& module : program.lowered_modules) {
    CollectConstants(module->original, names, wrong);
  }
}

std::string CheckConstants(const ExportedProgram& before, const ExportedProgram& after) {
  std::set<std::string> expected, found;
  std::string wrong;
  CollectConstants(before, expected, wrong);
  CollectConstants(after, found, wrong);
  if (!wrong.empty()) return wrong;
  return expected == found ? "" : "names were lost or made";
}

size_t CountUserInputs(const ExportedProgram& program) {
  return static_cast<size_t>(
      std::count_if(program.signature.inputs.begin(), program.signature.inputs.end(),
                    [](const InputSpec& spec) { return !NamesTensor(spec.kind); }));
}

size_t CountUserOutputs(const ExportedProgram& program) {
  return static_cast<size_t>(
      std::count_if(program.signature.outputs.begin(), program.signature.outputs.end(),
                    [](const OutputSpec& spec) { return spec.kind == OutputKind::kUserOutput; }));
}

std::string CheckCalls(const ExportedProgram& program) {
  for (const Graph& graph : program.graphs) {
    for (NodeId id : graph.nodes()) {
      const Node& node = graph.node(id);
      if (!IsCall(node)) continue;
      const ExportedProgram& original =
          program.lowered_modules[*node.arguments[0].get_if<ModuleId>()]->original;
      if (node.arguments.size() - 1 != CountUserInputs(original)) {
        return absl::StrCat("arguments: ", DescribeNode(graph, id));
      }
      if (node.results().size() != CountUserOutputs(original)) {
        return absl::StrCat("results: ", DescribeNode(graph, id));
      }
    }
  }
  return "";
}

std::string CheckModules(const ExportedProgram& program) {
  for (const auto& module : program.lowered_modules) {
    if (const absl::Status status = Verify(module->original); !status.ok()) {
      return absl::StrCat("(e) a delegate's program: ", status.ToString());
    }
    std::set<int64_t> handles;
    for (const Graph& graph : module->original.graphs) {
      for (NodeId node : graph.nodes()) handles.insert(graph.node(node).debug_handle);
    }
    for (const auto& [key, list] : module->debug_handle_map) {
      for (int64_t handle : list) {
        if (!handles.contains(handle)) {
          return absl::StrCat("(i) handle ", handle, " is not in the delegate's program");
        }
      }
    }
    if (std::string inside = CheckModules(module->original); !inside.empty()) return inside;
  }
  return "";
}

// --- (f) ---

// Returns whether the graph has no order in which the nodes of each tag are contiguous.
bool IsCyclic(const Graph& graph, const std::set<std::string>& tags) {
  std::map<std::string, size_t> unit_of_tag;
  std::vector<size_t> unit(graph.node_id_limit());
  size_t units = 0;
  for (NodeId id : graph.nodes()) {
    const std::string& tag = graph.node(id).delegation_tag;
    if (tags.contains(tag)) {
      const auto [it, inserted] = unit_of_tag.try_emplace(tag, units);
      units += inserted ? 1 : 0;
      unit[id.index()] = it->second;
    } else {
      unit[id.index()] = units++;
    }
  }
  std::vector<std::set<size_t>> users(units);
  std::vector<size_t> waiting(units);
  for (NodeId id : graph.nodes()) {
    for (const Argument& argument : graph.node(id).arguments) {
      ForEachValue(argument, [&](ValueId value) {
        const NodeId producer = graph.value(value).producer;
        if (!producer.valid() || unit[producer.index()] == unit[id.index()]) return;
        if (users[unit[producer.index()]].insert(unit[id.index()]).second) {
          ++waiting[unit[id.index()]];
        }
      });
    }
  }
  std::deque<size_t> ready;
  for (size_t u = 0; u < units; ++u) {
    if (waiting[u] == 0) ready.push_back(u);
  }
  size_t done = 0;
  for (; !ready.empty(); ready.pop_front(), ++done) {
    for (size_t user : users[ready.front()]) {
      if (--waiting[user] == 0) ready.push_back(user);
    }
  }
  return done < units;
}

bool HasCycle(const ExportedProgram& program, const std::set<std::string>& tags, GraphId id) {
  const Graph& graph = program.graphs[id];
  if (IsCyclic(graph, tags)) return true;
  bool cyclic = false;
  for (NodeId n : graph.nodes()) {
    if (tags.contains(graph.node(n).delegation_tag)) continue;
    for (const Argument& argument : graph.node(n).arguments) {
      ForEachGraph(argument,
                   [&](GraphId body) { cyclic = cyclic || HasCycle(program, tags, body); });
    }
  }
  return cyclic;
}

// --- (a) ---

// Bitwise comparison: the same kernels ran on the same numbers.
std::string CompareRuns(const ExportedProgram& before, const ExportedProgram& after,
                        const KernelRegistry& kernels, uint64_t seed) {
  absl::StatusOr<Interpreter> expected = Interpreter::Create(before, kernels);
  absl::StatusOr<Interpreter> lowered = Interpreter::Create(after, kernels);
  if (!expected.ok()) return absl::StrCat("before lowering: ", expected.status().ToString());
  if (!lowered.ok()) return lowered.status().ToString();
  Random random(seed);
  CallSequence calls;
  for (int k = 0; k < 2; ++k) calls.push_back(MakeInputs(before, random));
  const std::vector<CallOutcome> want = RunCalls(*expected, calls);
  const std::vector<CallOutcome> got = RunCalls(*lowered, calls);
  if (const absl::Status& status = want.back().status; !status.ok()) {
    return absl::StrCat("before lowering: ", status.ToString());
  }
  std::string difference = FirstDifference(want, got, kIdentical);
  for (const auto& [name, value] : want[0].state) {
    if (!difference.empty()) break;
    if (!got[0].state.contains(name)) difference = absl::StrCat("state '", name, "' is lost");
  }
  return difference;
}

}  // namespace

LoweringProperties::LoweringProperties(const OpRegistry& ops, const KernelRegistry& kernels)
    : LoweringProperties(ops, kernels,
                         [](const MethodPrograms& methods, const MethodPartitioners& partitioners,
                            const BackendSet& backends, const ToBackendOptions& options) {
                           return ToBackend(methods, partitioners, backends, options);
                         }) {}

std::string LoweringCase::ToString() const {
  std::string text;
  for (const auto& [tag, spec] : delegation)
    absl::StrAppend(&text, tag, " → ", spec.backend_id, "; ");
  constexpr std::string_view kConstants[] = {"not tagged", "tagged by their users",
                                             "tagged at random"};
  absl::StrAppend(&text, "constants ", kConstants[static_cast<int>(constants)], "\n",
                  PrintAll(methods));
  return text;
}

LoweringCase LoweringProperties::RandomCase(uint64_t seed) const {
  Random random(seed);
  RandomEdgePrograms programs(random, ops_, {.max_calls = 14});
  LoweringCase lowering_case;
  lowering_case.seed = seed;
  const uint64_t methods = random.Chance(70) ? 1 : 2 + random.Below(2);
  for (uint64_t m = 0; m < methods; ++m) {
    ExportedProgram program = programs.Next();
    TagNodes(random, kTags, program);
    lowering_case.methods.emplace_back(absl::StrCat("m", m), std::move(program));
  }
  // One tag may be unknown; the order of the others is random too.
  for (int t = 0; t < kTags; ++t) {
    if (random.Chance(10)) continue;
    lowering_case.delegation.insert(
        lowering_case.delegation.begin() +
            static_cast<ptrdiff_t>(random.Below(lowering_case.delegation.size() + 1)),
        {absl::StrCat("t", t), {random.Chance(50) ? "first" : "second", {}}});
  }
  if (lowering_case.delegation.empty()) lowering_case.delegation.push_back({"t0", {"first", {}}});
  lowering_case.constants = static_cast<LoweringCase::Constants>(random.Below(3));
  return lowering_case;
}

std::string LoweringProperties::Check(const LoweringCase& lowering_case) const {
  const FunctionBackend first("first", &Record), second("second", &Record);
  BackendSet backends;
  ABSL_CHECK(backends.Add(&first).ok() && backends.Add(&second).ok());
  const CasePartitioner partitioner(lowering_case);
  MethodPartitioners partitioners;
  for (const auto& [name, program] : lowering_case.methods) {
    partitioners.emplace_back(name, &partitioner);
  }
  std::set<std::string> tags;
  for (const auto& [tag, spec] : lowering_case.delegation) tags.insert(tag);

  const std::string before = PrintAll(lowering_case.methods);
  const absl::StatusOr<MethodPrograms> result =
      lowering_(lowering_case.methods, partitioners, backends, {});
  if (PrintAll(lowering_case.methods) != before) return "(g) lowering changed what it was given";

  bool cycle = false;
  for (const auto& [name, program] : lowering_case.methods) {
    cycle = cycle || HasCycle(program, tags, ExportedProgram::kTop);
  }
  if (cycle != !result.ok()) {
    return absl::StrCat("(f) expected ", cycle ? "a cycle" : "success", ", got ",
                        result.status().ToString());
  }
  if (!result.ok()) {
    const std::string message(result.status().message());
    const bool named = std::any_of(tags.begin(), tags.end(), [&](const std::string& tag) {
      return message.find(absl::StrCat("'", tag, "'")) != std::string::npos;
    });
    if (result.status().code() != absl::StatusCode::kFailedPrecondition || !named ||
        message.find("dependency cycles") == std::string::npos) {
      return absl::StrCat("(f) the error names no tag: ", result.status().ToString());
    }
    ++coverage_.cyclic;
    return "";
  }
  ++coverage_.lowered;
  coverage_.several_methods += lowering_case.methods.size() > 1 ? 1 : 0;

  const std::string text = PrintAll(*result);
  for (const int threads : {1, 3}) {
    ToBackendOptions options;
    options.threads = threads;
    const absl::StatusOr<MethodPrograms> again =
        lowering_(lowering_case.methods, partitioners, backends, options);
    if (!again.ok() || PrintAll(*again) != text) {
      return absl::StrCat("(h) ", threads, " threads make something else");
    }
  }
  for (size_t m = 0; m < result->size(); ++m) {
    const ExportedProgram& source = lowering_case.methods[m].second;
    const ExportedProgram& program = (*result)[m].second;
    Cover(program);
    std::string wrong = CheckMethod(source, program, lowering_case.seed);
    if (!wrong.empty()) return wrong;
    if (wrong = CheckPlaces(source, program, tags); !wrong.empty()) {
      return absl::StrCat("(b) ", wrong);
    }

    ExportedProgram tagged = program.Clone();
    Random random(lowering_case.seed);
    TagNodes(random, kTags, tagged);
    if (HasCycle(tagged, tags, ExportedProgram::kTop)) continue;
    const absl::StatusOr<ExportedProgram> twice = ToBackend(tagged, partitioner, backends);
    if (!twice.ok()) return absl::StrCat("(f) lowering again: ", twice.status().ToString());
    ++coverage_.lowered_again;
    wrong = CheckMethod(source, *twice, lowering_case.seed);
    if (!wrong.empty()) return absl::StrCat(wrong, ", lowered again");
    Origins expected, found;
    CollectOrigins(source, true, expected);
    CollectOrigins(*twice, true, found);
    if (expected != found) return "(b) nodes were lost or doubled when lowered again";
    for (const auto& module : twice->lowered_modules) {
      coverage_.nested += module->original.lowered_modules.size() > 0 ? 1 : 0;
    }
  }
  return "";
}

std::string LoweringProperties::CheckMethod(const ExportedProgram& source,
                                            const ExportedProgram& program, uint64_t seed) const {
  if (const absl::Status status = Verify(program); !status.ok()) {
    return absl::StrCat("(e) ", status.ToString());
  }
  std::string wrong = CheckModules(program);
  if (!wrong.empty()) return wrong;
  if (wrong = CheckConstants(source, program); !wrong.empty()) return absl::StrCat("(c) ", wrong);
  if (wrong = CheckCalls(program); !wrong.empty()) return absl::StrCat("(d) ", wrong);
  wrong = CompareRuns(source, program, kernels_, seed);
  return wrong.empty() ? "" : absl::StrCat("(a) ", wrong);
}

void LoweringProperties::Cover(const ExportedProgram& program) const {
  coverage_.dynamic += program.ranges.empty() ? 0 : 1;
  bool constants = false, state = false, bodies = false;
  for (const auto& module : program.lowered_modules) {
    const ExportedProgram& original = module->original;
    constants = constants || !original.state_dict.empty() || !original.constants.empty();
    for (const OutputSpec& spec : original.signature.outputs) {
      state = state || spec.kind == OutputKind::kBufferMutation;
    }
  }
  for (uint32_t g = 1; g < program.graphs.size(); ++g) {
    for (NodeId node : program.graphs[GraphId(g)].nodes()) {
      bodies = bodies || IsCall(program.graphs[GraphId(g)].node(node));
    }
  }
  coverage_.owns_constants += constants ? 1 : 0;
  coverage_.owns_state += state ? 1 : 0;
  coverage_.body_calls += bodies ? 1 : 0;
}

void LoweringProperties::Shrink(LoweringCase& lowering_case) const {
  const std::string property = Check(lowering_case).substr(0, 3);
  const auto fails = [&](const LoweringCase& candidate) {
    return Check(candidate).substr(0, 3) == property;
  };
  const auto clone = [&](size_t without) {
    LoweringCase copy;
    copy.delegation = lowering_case.delegation;
    copy.constants = lowering_case.constants;
    copy.seed = lowering_case.seed;
    for (size_t m = 0; m < lowering_case.methods.size(); ++m) {
      if (m == without) continue;
      copy.methods.emplace_back(lowering_case.methods[m].first,
                                lowering_case.methods[m].second.Clone());
    }
    return copy;
  };
  for (size_t m = lowering_case.methods.size(); m-- > 0 && lowering_case.methods.size() > 1;) {
    LoweringCase candidate = clone(m);
    if (fails(candidate)) lowering_case = std::move(candidate);
  }
  for (size_t m = 0; m < lowering_case.methods.size(); ++m) {
    ShrinkProgram(lowering_case.methods[m].second, [&](const ExportedProgram& program) {
      LoweringCase candidate = clone(lowering_case.methods.size());
      candidate.methods[m].second = program.Clone();
      return fails(candidate);
    });
  }
  if (lowering_case.constants != LoweringCase::Constants::kNone) {
    LoweringCase candidate = clone(lowering_case.methods.size());
    candidate.constants = LoweringCase::Constants::kNone;
    if (fails(candidate)) lowering_case = std::move(candidate);
  }
}

}  // namespace belay::exir
