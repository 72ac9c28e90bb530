#include "conformance/lowering/case_runner.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "conformance/lowering/case_backends.h"
#include "conformance/lowering/case_partitioner.h"
#include "conformance/lowering/differences.h"
#include "conformance/lowering/json_value.h"
#include "conformance/lowering/normal_form.h"
#include "exir/backend/introspection.h"
#include "exir/backend/to_backend.h"
#include "exir/import/import.h"
#include "exir/ir/text.h"
#include "exir/pipeline.h"
#include "runtime/core/status_macros.h"

namespace belay::conformance {
namespace {

using exir::ExportedProgram;
using exir::LoweredBackendModule;
using exir::MethodPrograms;

const std::set<std::string>& KnownCaseFields() {
  static const auto& fields =
      *new std::set<std::string>{"name",  "shows",  "entry", "methods", "to_edge", "pt2_decomposed",
                                 "after", "rounds", "inner", "whole",   "outer"};
  return fields;
}
const std::set<std::string>& KnownExpectedFields() {
  static const auto& fields = *new std::set<std::string>{"error",
                                                         "methods",
                                                         "delegates",
                                                         "partitions",
                                                         "merged_named_data",
                                                         "source_graph_changed",
                                                         "source_state_changed",
                                                         "single_program_entry",
                                                         "lowered_module",
                                                         "composed",
                                                         "after_rounds"};
  return fields;
}

std::string TextOf(const exir::Storage& storage) {
  return std::string(reinterpret_cast<const char*>(storage.bytes.data()), storage.bytes.size());
}

class Runner {
 public:
  Runner(const std::string& directory, const exir::OpRegistry& ops)
      : directory_(directory), ops_(ops) {}

  CaseOutcome Run() {
    absl::StatusOr<Json> description = ReadJsonFile(directory_ + "/case.json");
    absl::StatusOr<Json> expected = ReadJsonFile(directory_ + "/expected.json");
    if (!description.ok()) return Failed(description.status());
    if (!expected.ok()) return Failed(expected.status());
    case_ = *std::move(description);
    expected_ = *std::move(expected);
    for (const auto& [key, value] : case_.object()) {
      if (!KnownCaseFields().contains(key)) return Failed("unknown field '" + key + "'");
    }
    for (const auto& [key, value] : expected_.object()) {
      if (!KnownExpectedFields().contains(key)) return Failed("unknown field '" + key + "'");
    }
    const std::string& entry = case_["entry"].text();
    if (entry == "compose") {
      return Skipped("a lowered module can't be part of a Python model that is exported again");
    }
    if (entry != "manager" && entry != "transform_and_lower") {
      return Failed("unknown entry '" + entry + "'");
    }
    if (case_["pt2_decomposed"] == Json(false)) {
      return Skipped("needs decompositions; Belay takes decomposed programs");
    }
    return Lower();
  }

 private:
  static CaseOutcome Failed(const std::string& detail) {
    return {CaseOutcome::Kind::kFailed, detail};
  }
  static CaseOutcome Failed(const absl::Status& status) {
    return Failed(std::string(status.message()));
  }
  static CaseOutcome Skipped(const std::string& detail) {
    return {CaseOutcome::Kind::kSkipped, detail};
  }

  CaseOutcome Lower() {
    MethodPrograms programs;
    const absl::StatusOr<std::vector<std::string>> names =
        ReadKeys(directory_ + "/case.json", "methods");
    if (!names.ok()) return Failed(names.status());
    for (const std::string& name : *names) {
      absl::StatusOr<ExportedProgram> program =
          exir::ImportFile(directory_ + "/" + case_["methods"][name].text(), ops_);
      if (!program.ok()) return Failed(program.status());
      for (const auto& [fqn, tensor] : program->state_dict) backends_.fqns.insert(fqn);
      for (const auto& [fqn, tensor] : program->constants) backends_.fqns.insert(fqn);
      absl::StatusOr<ExportedProgram> edge = exir::ToEdge(*std::move(program));
      if (!edge.ok()) return Failed(edge.status());
      programs.emplace_back(name, *std::move(edge));
    }
    RecordHandles(programs);
    std::vector<std::string> before;
    for (const auto& [name, program] : programs) before.push_back(exir::PrintProgram(program));

    absl::Status status;
    const MethodPrograms* current = &programs;
    MethodPrograms lowered;
    for (const Json& round : case_["rounds"].array()) {
      if (round["kind"].text() == "whole_program") return WholeProgram(round, programs);
      absl::StatusOr<MethodPrograms> next = Round(round, *current);
      if (absl::IsUnimplemented(next.status()) && unsupported_) {
        return Skipped(std::string(next.status().message()));
      }
      status = next.status();
      if (!status.ok()) break;
      lowered = *std::move(next);
      current = &lowered;
    }
    for (size_t i = 0; i < programs.size(); ++i) {
      if (exir::PrintProgram(programs[i].second) != before[i]) {
        return Failed("lowering changed the program it was given");
      }
    }
    if (expected_.contains("error")) return CheckError(status);
    if (!status.ok()) return Failed(absl::StrCat("expected success, came: ", status.ToString()));
    return Compare(*current);
  }

  absl::StatusOr<MethodPrograms> Round(const Json& round, const MethodPrograms& programs) {
    std::vector<std::string> names;
    if (round.contains("methods")) {
      for (const Json& name : round["methods"].array()) names.push_back(name.text());
    } else {
      for (const auto& [name, program] : programs) names.push_back(name);
    }
    std::vector<std::unique_ptr<exir::Partitioner>> partitioners;
    exir::MethodPartitioners by_method;
    for (const std::string& name : names) {
      absl::StatusOr<std::unique_ptr<exir::Partitioner>> partitioner =
          CreateCasePartitioner(round, name, &proposals_);
      unsupported_ = !partitioner.ok();
      ABSL_RETURN_IF_ERROR(partitioner.status());
      partitioners.push_back(*std::move(partitioner));
      by_method.emplace_back(name, partitioners.back().get());
    }
    exir::ToBackendOptions options;
    options.validate_partitions = !(round["validation_disabled"] == Json(true));
    return exir::ToBackend(programs, by_method, backends_.set(), options);
  }

  CaseOutcome CheckError(const absl::Status& status) {
    const Json& error = expected_["error"];
    if (status.ok()) {
      return Failed(absl::StrCat("expected the error ", error.Dump(), ", came success"));
    }
    return {};
  }

  CaseOutcome WholeProgram(const Json& round, const MethodPrograms& programs) {
    absl::StatusOr<std::vector<exir::CompileSpec>> specs = ReadCompileSpecs(round["compile_specs"]);
    if (!specs.ok()) return Failed(specs.status());
    const auto module =
        exir::ToBackend(round["backend_id"].text(), programs[0].second, *specs, backends_.set());
    if (expected_.contains("error")) return CheckError(module.status());
    if (!module.ok()) return Failed(module.status());
    const Json& expected = expected_["lowered_module"];
    std::string difference = CompareModule(expected, **module, programs[0].first);
    const NormalForm form = Form((*module)->original);
    if (difference.empty()) {
      difference = FirstDifference(expected["signature"], form.signature, "signature");
    }
    if (difference.empty()) difference = CompareState(expected["state"], form.state);
    return difference.empty() ? CaseOutcome() : Failed(difference);
  }

  // Handle → nodes, as expected.json writes them.
  void RecordHandles(const MethodPrograms& programs) {
    for (const auto& [name, program] : programs) {
      for (const auto& [path, id] : PathsOf(program)) {
        Json::Array split;
        for (size_t start = 0; start < path.size();) {
          const size_t end = std::min(path.find('>', start), path.size());
          split.push_back(path.substr(start, end - start));
          start = end + 1;
        }
        std::map<std::string, int64_t> count;
        const exir::Graph& graph = program.graphs[id];
        for (exir::NodeId node : graph.nodes()) {
          const std::string op = OpName(graph.node(node));
          const int64_t occurrence = count[op]++;
          if (graph.node(node).debug_handle == 0) continue;
          handles_[name][graph.node(node).debug_handle].push_back(
              Json::Object{{"graph", split}, {"op", op}, {"occurrence", occurrence}});
        }
      }
    }
  }

  // --- Comparison ---

  NormalForm Form(const ExportedProgram& program) {
    return ToNormalForm(program, backends_.fqns, [this](const LoweredBackendModule* module) {
      const auto it = index_.find(module);
      return it == index_.end() ? int64_t{-1} : it->second;
    });
  }

  CaseOutcome Compare(const MethodPrograms& programs) {
    NumberDelegates(programs);
    for (const auto& [name, program] : programs) {
      const std::string difference = CompareProgram(expected_["methods"][name], program);
      if (!difference.empty()) return Failed(absl::StrCat("method ", name, difference));
    }
    if (expected_["methods"].object().size() != programs.size()) {
      return Failed("the number of methods differs");
    }
    const Json::Array& delegates = expected_["delegates"].array();
    if (delegates.size() != modules_.size()) {
      return Failed(
          absl::StrCat("expected ", delegates.size(), " delegates, came ", modules_.size()));
    }
    for (size_t i = 0; i < modules_.size(); ++i) {
      const std::string difference =
          CompareModule(delegates[i], *modules_[i], method_of_[modules_[i]]);
      if (!difference.empty()) return Failed(absl::StrCat("delegate ", i, ": ", difference));
    }
    if (expected_.contains("partitions")) {
      const std::string difference = ComparePartitions();
      if (!difference.empty()) return Failed(difference);
    }
    if (expected_.contains("merged_named_data")) {
      const absl::StatusOr<exir::NamedDataOutput> data = exir::CollectNamedData(programs);
      if (!data.ok()) return Failed(data.status());
      const std::string difference =
          FirstDifference(expected_["merged_named_data"], NamedData(*data), "merged_named_data");
      if (!difference.empty()) return Failed(difference);
    }
    return {};
  }

  // In the order in which their results were made; those inside of delegates too.
  void NumberDelegates(const MethodPrograms& programs) {
    std::map<int64_t, const LoweredBackendModule*> by_number;
    for (const auto& [name, program] : programs) {
      std::vector<const ExportedProgram*> pending = {&program};
      while (!pending.empty()) {
        const ExportedProgram& current = *pending.back();
        pending.pop_back();
        for (const auto& module : current.lowered_modules) {
          by_number[std::atoll(module->delegate_info.c_str())] = module.get();
          method_of_[module.get()] = name;
          pending.push_back(&module->original);
        }
      }
    }
    for (const auto& [number, module] : by_number) {
      index_[module] = static_cast<int64_t>(modules_.size());
      modules_.push_back(module);
    }
  }

  std::string CompareProgram(const Json& expected, const ExportedProgram& program) {
    const NormalForm form = Form(program);
    if (form.graphs.size() != expected["graphs"].object().size()) return ": number of graphs";
    for (const auto& [path, entries] : form.graphs) {
      const std::string difference = CompareGraphs(expected["graphs"][path].array(), entries,
                                                   expected["order"][path].text() == "exact");
      if (!difference.empty()) return absl::StrCat(", graph '", path, "'", difference);
    }
    std::string difference = FirstDifference(expected["signature"], form.signature, ".signature");
    if (difference.empty()) difference = CompareState(expected["state"], form.state);
    return difference;
  }

  // No tensor that nothing names is left behind, as ExecuTorch does when it copies constants
  // (§7.5).
  static std::string CompareState(const Json& expected, const Json& came) {
    Json::Object wanted = expected.object();
    wanted["unreferenced_other"] = 0;
    return FirstDifference(wanted, came, ".state");
  }

  std::string CompareModule(const Json& expected, const LoweredBackendModule& module,
                            const std::string& method) {
    if (expected["backend_id"].text() != module.backend_id) {
      return absl::StrCat("expected backend ", expected["backend_id"].text(), ", came ",
                          module.backend_id);
    }
    Json::Array specs;
    for (const exir::CompileSpec& spec : module.compile_specs) {
      specs.push_back(
          Json::Object{{"key", spec.key}, {"value_base64", absl::Base64Escape(spec.value)}});
    }
    std::string difference = FirstDifference(expected["compile_specs"], specs, "compile_specs");
    if (!difference.empty()) return difference;
    const NormalForm form = Form(module.original);
    const bool exact = !expected.contains("order") || expected["order"].text() == "exact";
    for (const auto& [path, entries] : form.graphs) {
      difference = CompareGraphs(expected["program"][path].array(), entries, exact);
      if (!difference.empty()) return absl::StrCat("program, graph '", path, "'", difference);
    }
    if (form.graphs.size() != expected["program"].object().size()) return "number of graphs";
    if (exact && expected.contains("processed_text") &&
        expected["processed_text"].text() != TextOf(module.processed)) {
      return absl::StrCat("expected the blob\n", expected["processed_text"].text(), "came\n",
                          TextOf(module.processed));
    }
    if (expected.contains("constants_owned")) {
      std::set<std::string> owned, wanted;
      for (const auto* map : {&module.original.state_dict, &module.original.constants}) {
        for (const auto& [name, tensor] : *map) {
          owned.insert(backends_.fqns.contains(name) ? name : "sha256:" + TensorSha256(tensor));
        }
      }
      for (const Json& name : expected["constants_owned"].array()) wanted.insert(name.text());
      if (owned != wanted) return "the constants that it owns differ";
    }
    if (!expected["named_data"].is_null()) {
      difference =
          FirstDifference(expected["named_data"], NamedData(module.named_data), "named_data");
      if (!difference.empty()) return difference;
    } else if (!module.named_data.empty()) {
      return "named data came, none were expected";
    }
    return CompareDebugMap(expected["debug_handle_map"], module, method);
  }

  std::string CompareDebugMap(const Json& expected, const LoweredBackendModule& module,
                              const std::string& method) {
    std::map<std::string, std::set<std::string>> wanted, came;
    for (const auto& [key, nodes] : expected["nodes"].object()) {
      for (const Json& node : nodes.array()) {
        if (node["op"].text() != "getitem") wanted[key].insert(node.Dump());
      }
    }
    for (const auto& [id, handles] : module.debug_handle_map) {
      const int64_t* number = std::get_if<int64_t>(&id);
      const std::string key =
          number != nullptr ? std::to_string(*number) : std::get<std::string>(id);
      for (int64_t handle : handles) {
        for (const Json& node : handles_[method][handle]) came[key].insert(node.Dump());
      }
    }
    if (wanted == came) return "";
    const auto show = [](const std::map<std::string, std::set<std::string>>& map) {
      std::string text;
      for (const auto& [key, nodes] : map) {
        absl::StrAppend(&text, key, ":");
        for (const std::string& node : nodes) absl::StrAppend(&text, " ", node);
        text += "; ";
      }
      return text;
    };
    return absl::StrCat("expected the debug map ", show(wanted), ", came ", show(came));
  }

  std::string ComparePartitions() {
    const auto normal = [](const Json::Array& partitions) {
      std::set<std::string> texts;
      for (const Json& partition : partitions) {
        Json::Object copy = partition.object();
        Json::Array nodes;
        for (const Json& node : partition["nodes"].array()) {
          if (node["op"].text() != "getitem") nodes.push_back(node);
        }
        copy["nodes"] = std::move(nodes);
        texts.insert(Json(copy).Dump());
      }
      return texts;
    };
    const std::set<std::string> expected = normal(expected_["partitions"].array());
    const std::set<std::string> came = normal(proposals_);
    if (expected == came) return "";
    std::string text = "partitions: expected";
    for (const std::string& line : expected) absl::StrAppend(&text, " ", line);
    text += ", came";
    for (const std::string& line : came) absl::StrAppend(&text, " ", line);
    return text;
  }

  static Json NamedData(const exir::NamedDataOutput& data) {
    const auto entries = [&](const absl::btree_map<std::string, exir::NamedDataEntry>& map) {
      Json::Object object;
      for (const auto& [key, entry] : map) {
        const auto bytes = data.buffers[entry.buffer].bytes;
        object[key] = Json::Object{{"buffer", entry.buffer},
                                   {"alignment", static_cast<int64_t>(entry.alignment)},
                                   {"size", bytes.size()},
                                   {"sha256", Sha256(bytes)}};
      }
      return object;
    };
    Json::Object external;
    for (const auto& [tag, map] : data.external_data) external[tag] = entries(map);
    return Json::Object{{"buffers", data.buffers.size()},
                        {"pte", entries(data.program_data)},
                        {"external", std::move(external)}};
  }

  const std::string directory_;
  const exir::OpRegistry& ops_;
  Json case_, expected_;
  CaseBackends backends_;
  Proposals proposals_;
  bool unsupported_ = false;
  std::map<std::string, std::map<int64_t, Json::Array>> handles_;  // by method
  std::map<const LoweredBackendModule*, int64_t> index_;
  std::vector<const LoweredBackendModule*> modules_;
  std::map<const LoweredBackendModule*, std::string> method_of_;
};

}  // namespace

CaseOutcome RunLoweringCase(const std::string& directory, const exir::OpRegistry& ops) {
  CaseOutcome outcome = Runner(directory, ops).Run();
  const std::string name = directory.substr(directory.rfind('/') + 1);
  for (const Difference& difference : kDifferences) {
    if (difference.name != name) continue;
    if (outcome.kind == CaseOutcome::Kind::kPassed) {
      return {CaseOutcome::Kind::kFailed,
              "came out as expected, but is listed as a deliberate difference"};
    }
    return {CaseOutcome::Kind::kSkipped,
            absl::StrCat("differs on purpose (", difference.reference, "): ", difference.reason)};
  }
  return outcome;
}

}  // namespace belay::conformance
