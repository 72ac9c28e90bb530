#include "conformance/lowering/case_runner.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_split.h"
#include "conformance/lowering/case_backends.h"
#include "conformance/lowering/case_compare.h"
#include "conformance/lowering/case_compose.h"
#include "conformance/lowering/case_errors.h"
#include "conformance/lowering/case_format.h"
#include "conformance/lowering/case_numerics.h"
#include "conformance/lowering/case_partitioner.h"
#include "conformance/lowering/differences.h"
#include "conformance/lowering/json_value.h"
#include "exir/backend/partitioner_sequence.h"
#include "exir/backend/to_backend.h"
#include "exir/import/import.h"
#include "exir/ir/graph_editor.h"
#include "exir/ir/text.h"
#include "exir/pipeline.h"
#include "runtime/core/npy.h"
#include "runtime/core/status_macros.h"

namespace belay::conformance {
namespace {

using exir::ExportedProgram;
using exir::LoweredBackendModule;
using exir::MethodPrograms;
using Module = std::shared_ptr<const LoweredBackendModule>;

// A program that only calls the module: what a module lowered as a whole is executed as.
absl::StatusOr<ExportedProgram> CallOf(const Module& module, const exir::OpRegistry& ops) {
  const ExportedProgram& original = module->original;
  ExportedProgram program = original.Clone();
  program.graphs = {};
  program.state_dict.clear();
  program.constants.clear();
  program.signature = {};
  program.lowered_modules = {};
  exir::GraphEditor editor(program.graphs[program.graphs.push_back(exir::Graph())]);
  std::vector<exir::Argument> arguments = {
      exir::Argument(program.lowered_modules.push_back(module))};
  for (size_t i = 0; i < original.signature.inputs.size(); ++i) {
    if (exir::NamesTensor(original.signature.inputs[i].kind)) continue;
    const exir::Value& value = original.top().value(original.top().inputs()[i]);
    arguments.push_back(exir::Argument(editor.AddInput(value.name, value.type)));
    program.signature.inputs.push_back(original.signature.inputs[i]);
  }
  std::vector<exir::GraphEditor::NewOutput> results;
  for (size_t k = 0; k < original.top().outputs().size(); ++k) {
    if (original.signature.outputs[k].kind != exir::OutputKind::kUserOutput) continue;
    const exir::ValueId* value = original.top().outputs()[k].get_if<exir::ValueId>();
    if (value == nullptr) return absl::UnimplementedError("a module that returns a literal");
    results.push_back(
        {exir::NodeOutput::Kind::kValue, {{"result", original.top().value(*value).type}}});
    program.signature.outputs.push_back(original.signature.outputs[k]);
  }
  const exir::NodeId call = editor.InsertNode(exir::NodeId(),
                                              {.name = "executorch_call_delegate",
                                               .target = ops.CallDelegate(),
                                               .arguments = std::move(arguments)},
                                              std::move(results));
  std::vector<exir::Argument> outputs;
  for (exir::ValueId value : editor.graph().node(call).results()) outputs.emplace_back(value);
  editor.SetOutputs(std::move(outputs));
  return program;
}

class Runner {
 public:
  Runner(const std::string& directory, const exir::OpRegistry& ops)
      : directory_(directory), ops_(ops), comparison_(backends_.fqns) {}

  CaseOutcome Run() {
    const absl::Status status = Read();
    if (!status.ok()) return Failed(std::string(status.message()));
    const absl::StatusOr<std::string> difference =
        case_["entry"].text() == "compose" ? RunCompose() : RunMethods();
    // Errors of the case itself; those of lowering are in lowering_error_.
    if (!difference.ok()) return Failed(difference.status().ToString());
    return Judge(*difference);
  }

 private:
  static CaseOutcome Failed(const std::string& detail) {
    return {CaseOutcome::Kind::kFailed, detail, {}};
  }

  absl::Status Read() {
    ABSL_ASSIGN_OR_RETURN(case_, ReadJsonFile(directory_ + "/case.json"));
    ABSL_ASSIGN_OR_RETURN(expected_, ReadJsonFile(directory_ + "/expected.json"));
    ABSL_RETURN_IF_ERROR(CheckCaseFormat(case_));
    ABSL_RETURN_IF_ERROR(CheckExpectedFormat(expected_));
    return absl::OkStatus();
  }

  exir::ToEdgeOptions OptionsToEdge() const {
    const auto option = [this](const char* name, bool otherwise) {
      const Json& value = case_["to_edge"][name];
      return value.is_null() ? otherwise : value == Json(true);
    };
    exir::ToEdgeOptions options;
    options.check_ir_validity = option("check_ir_validity", true);
    options.dim_order = !option("skip_dim_order", false);
    return options;
  }

  // --- Programs of methods ---

  absl::StatusOr<std::string> RunMethods() {
    ABSL_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                          ReadKeys(directory_ + "/case.json", "methods"));
    for (const std::string& name : names) {
      ABSL_ASSIGN_OR_RETURN(
          ExportedProgram program,
          exir::ImportFile(directory_ + "/" + case_["methods"][name].text(), ops_));
      AddFqns(program);
      // Only this entry asks partitioners what to keep.
      std::vector<std::unique_ptr<exir::Partitioner>> partitioners;
      if (case_["entry"].text() == "transform_and_lower") {
        for (const Json& round : case_["rounds"].array()) {
          ABSL_ASSIGN_OR_RETURN(std::unique_ptr<exir::Partitioner> partitioner,
                                CreateCasePartitioner(round, name, &proposals_));
          partitioners.push_back(std::move(partitioner));
        }
      }
      std::vector<const exir::Partitioner*> asked;
      for (const auto& partitioner : partitioners) asked.push_back(partitioner.get());
      exir::ToEdgeOptions options = OptionsToEdge();
      options.decompose = exir::KeepFor(program, asked);
      // ExecuTorch drops what the exporter assumed of sizes, and Belay makes assertions of it:
      // nodes that no case counts.
      has_guards_ = has_guards_ || !program.guards.empty();
      ExportedProgram guarded = program.Clone();
      program.guards.clear();
      absl::StatusOr<ExportedProgram> edge = exir::ToEdge(std::move(program), options);
      if (!edge.ok()) {
        lowering_error_ = edge.status();
        return Outcome();
      }
      source_.emplace_back(name, *std::move(edge));
      ABSL_ASSIGN_OR_RETURN(guarded, exir::ToEdge(std::move(guarded), options));
      guarded_.emplace_back(name, std::move(guarded));
    }
    if (case_["entry"].text() == "manager") {
      comparison_.RecordHandles(source_);
    } else {
      comparison_.IgnoreOrder();
    }
    std::vector<std::string> before;
    for (const auto& [name, program] : source_) before.push_back(exir::PrintProgram(program));
    const absl::Status status = LowerAll(case_["rounds"].array());
    for (size_t i = 0; i < source_.size(); ++i) {
      if (exir::PrintProgram(source_[i].second) != before[i]) {
        return absl::InternalError("lowering changed the program it was given");
      }
    }
    ABSL_RETURN_IF_ERROR(status);
    return Outcome();
  }

  void AddFqns(const ExportedProgram& program) {
    for (const auto& [fqn, tensor] : program.state_dict) backends_.fqns.insert(fqn);
    for (const auto& [fqn, tensor] : program.constants) backends_.fqns.insert(fqn);
  }

  // Fills lowered_, or lowering_error_. Errors are those of the case.
  absl::Status LowerAll(const Json::Array& rounds) {
    proposals_.clear();
    lowered_.clear();
    for (const auto& [name, program] : source_) lowered_.emplace_back(name, program.Clone());
    std::vector<std::unique_ptr<exir::Partitioner>> partitioners;
    std::vector<exir::MethodPartitioners> by_round;
    exir::ToBackendOptions options;
    for (const Json& round : rounds) {
      if (round["kind"].text() == "whole_program") return LowerWhole(round);
      exir::MethodPartitioners& by_method = by_round.emplace_back();
      for (const std::string& name : MethodsOf(round)) {
        ABSL_ASSIGN_OR_RETURN(std::unique_ptr<exir::Partitioner> partitioner,
                              CreateCasePartitioner(round, name, &proposals_));
        partitioners.push_back(std::move(partitioner));
        by_method.emplace_back(name, partitioners.back().get());
      }
    }
    if (case_["entry"].text() == "transform_and_lower") {
      absl::StatusOr<MethodPrograms> next =
          exir::ToBackendInSequence(lowered_, by_round, backends_.set(), options);
      lowering_error_ = next.status();
      if (next.ok()) lowered_ = *std::move(next);
      return IsErrorOfCase(lowering_error_) ? lowering_error_ : absl::OkStatus();
    }
    for (size_t r = 0; r < by_round.size(); ++r) {
      options.validate_partitions = !(rounds[r]["validation_disabled"] == Json(true));
      absl::StatusOr<MethodPrograms> next =
          exir::ToBackend(lowered_, by_round[r], backends_.set(), options);
      lowering_error_ = next.status();
      if (!next.ok()) return IsErrorOfCase(next.status()) ? next.status() : absl::OkStatus();
      lowered_ = *std::move(next);
    }
    return absl::OkStatus();
  }

  std::vector<std::string> MethodsOf(const Json& round) const {
    std::vector<std::string> names;
    if (round.contains("methods")) {
      for (const Json& name : round["methods"].array()) names.push_back(name.text());
    } else {
      for (const auto& [name, program] : source_) names.push_back(name);
    }
    return names;
  }

  absl::Status LowerWhole(const Json& round) {
    ABSL_ASSIGN_OR_RETURN(const std::vector<exir::CompileSpec> specs,
                          ReadCompileSpecs(round["compile_specs"]));
    absl::StatusOr<Module> module =
        exir::ToBackend(round["backend_id"].text(), source_[0].second, specs, backends_.set());
    lowering_error_ = module.status();
    if (!module.ok()) return absl::OkStatus();
    whole_ = *std::move(module);
    source_.erase(source_.begin() + 1, source_.end());
    lowered_.clear();
    ABSL_ASSIGN_OR_RETURN(ExportedProgram call, CallOf(whole_, ops_));
    lowered_.emplace_back(source_[0].first, std::move(call));
    return absl::OkStatus();
  }

  // The first difference to what is expected; "" when there is none.
  std::string Outcome() {
    if (expected_.contains("error"))
      return CompareError(case_, expected_["error"], lowering_error_);
    if (!lowering_error_.ok()) {
      return absl::StrCat("expected success, came: ", lowering_error_.ToString());
    }
    const Json& module = expected_["lowered_module"];
    if (whole_ == nullptr) return Compare(expected_, lowered_, proposals_);
    const std::string& name = source_[0].first;
    compared_ = Json::Object{
        {"methods", Json::Object{{name, Json::Object{{"graphs", module["program"]},
                                                     {"signature", module["signature"]},
                                                     {"state", module["state"]}}}}},
        {"delegates", Json::Array{module}}};
    return comparison_.CompareWhole(module, *whole_, name);
  }

  std::string Compare(const Json& expected, const MethodPrograms& programs,
                      const Proposals& proposals) {
    compared_ = expected;
    return comparison_.Compare(expected, programs, proposals);
  }

  // --- Composition ---

  absl::StatusOr<std::string> RunCompose() {
    ABSL_ASSIGN_OR_RETURN(ExportedProgram inner,
                          exir::ImportFile(directory_ + "/" + case_["inner"].text(), ops_));
    AddFqns(inner);
    ABSL_ASSIGN_OR_RETURN(inner, exir::ToEdge(std::move(inner), OptionsToEdge()));
    const Json& whole = case_["whole"];
    ABSL_ASSIGN_OR_RETURN(const std::vector<exir::CompileSpec> specs,
                          ReadCompileSpecs(whole["compile_specs"]));
    absl::StatusOr<Module> module =
        exir::ToBackend(whole["backend_id"].text(), inner, specs, backends_.set());
    lowering_error_ = module.status();
    if (!module.ok()) return Outcome();
    std::vector<exir::TensorMeta> parameters;
    while (true) {
      const std::string path = absl::StrCat(directory_, "/input_", parameters.size(), ".npy");
      if (!std::filesystem::exists(path)) break;
      ABSL_ASSIGN_OR_RETURN(const NpyArray array, ReadNpyFile(path));
      std::vector<exir::SymInt> sizes;
      for (int64_t size : array.sizes) sizes.emplace_back(size);
      parameters.push_back(exir::TensorMeta::Contiguous(array.dtype, std::move(sizes)));
    }
    ABSL_ASSIGN_OR_RETURN(ExportedProgram composed,
                          Compose(case_["outer"].text(), parameters, *module, ops_));
    ABSL_ASSIGN_OR_RETURN(composed, exir::ToEdge(std::move(composed), OptionsToEdge()));
    source_.emplace_back("forward", std::move(composed));
    std::string difference = Compare(expected_["composed"], source_, {});
    if (!difference.empty()) return absl::StrCat("composed: ", difference);
    ABSL_RETURN_IF_ERROR(LowerAll(case_["rounds"].array()));
    if (expected_.contains("error") || !lowering_error_.ok()) return Outcome();
    if (case_["rounds"].array().empty()) return std::string();
    difference = Compare(expected_["after_rounds"], lowered_, proposals_);
    return difference.empty() ? difference : absl::StrCat("after the rounds: ", difference);
  }

  // --- Judgement ---

  // What is lowered must also compute what was recorded; a difference must be one of those on
  // purpose.
  CaseOutcome Judge(const std::string& difference) {
    CaseOutcome outcome;
    if (lowering_error_.ok()) {
      std::string wrong =
          CheckNumerics(directory_, case_["after"], source_, lowered_, outcome.notes);
      if (wrong.empty() && has_guards_) {
        std::vector<std::string> same_notes;
        wrong = CheckNumerics(directory_, case_["after"], guarded_, guarded_, same_notes);
        if (!wrong.empty()) wrong = absl::StrCat("with assertions, not lowered: ", wrong);
      }
      if (!wrong.empty()) return Failed(wrong);
    }
    const std::string name = directory_.substr(directory_.rfind('/') + 1);
    Json expected = expected_;
    expected.get_if<Json::Object>()->erase("single_program_entry");
    std::string unexplained;
    for (const Difference& row : Differences()) {
      const std::vector<std::string> cases = absl::StrSplit(ToAbsl(row.cases), ' ');
      const bool listed = std::find(cases.begin(), cases.end(), name) != cases.end();
      if (difference.empty()) {
        if (!listed) continue;
        return Failed("came out as expected, but is listed as a deliberate difference");
      }
      if (!row.applies(case_, expected) || lowering_error_.code() != row.code) continue;
      if (const std::string wrong = CheckBesides(row); !wrong.empty()) {
        absl::StrAppend(&unexplained, "; is not ", row.reference, " (", row.reason, "): ", wrong);
        continue;
      }
      if (const std::string wrong = CheckTampering(); !wrong.empty()) return Failed(wrong);
      outcome.kind = CaseOutcome::Kind::kPassedWithDifference;
      outcome.detail = absl::StrCat(row.reference, ": ", row.reason, " (", row.test, ")");
      return outcome;
    }
    if (!difference.empty()) return Failed(difference + unexplained);
    return outcome;
  }

  // Whether what came is what the difference makes of what is expected; "" where an error is.
  std::string CheckBesides(const Difference& row) const {
    if (compared_.is_null() || !lowering_error_.ok()) return "";
    std::string wrong = CompareBesides(compared_, comparison_.document(), row.concerns);
    if (wrong.empty() && row.fits != nullptr && !row.fits(compared_, comparison_.document())) {
      wrong = "what came is not that";
    }
    return wrong;
  }

  // A partitioner that changes its copy of the graph changes nothing.
  std::string CheckTampering() {
    Json::Array rounds = case_["rounds"].array();
    bool tampered = false;
    for (Json& round : rounds) {
      tampered = tampered || round.contains("tamper");
      if (round.contains("tamper")) round.get_if<Json::Object>()->erase("tamper");
    }
    if (!tampered) return "";
    std::vector<std::string> came;
    for (const auto& [name, program] : lowered_) came.push_back(Text(program));
    if (const absl::Status status = LowerAll(rounds); !status.ok()) return status.ToString();
    for (size_t i = 0; i < lowered_.size(); ++i) {
      if (!lowering_error_.ok() || Text(lowered_[i].second) != came[i]) {
        return "a partitioner that changed its copy of the graph changed what was lowered";
      }
    }
    return "";
  }

  // Without the number that the harness gives each result.
  static std::string Text(const ExportedProgram& lowered) {
    ExportedProgram program = lowered.Clone();
    for (Module& module : program.lowered_modules) {
      auto copy =
          std::make_shared<LoweredBackendModule>(module->backend_id, module->original.Clone());
      copy->processed = module->processed;
      copy->compile_specs = module->compile_specs;
      copy->named_data = module->named_data;
      copy->debug_handle_map = module->debug_handle_map;
      module = std::move(copy);
    }
    return exir::PrintProgram(program);
  }

  const std::string directory_;
  const exir::OpRegistry& ops_;
  Json case_, expected_;
  CaseBackends backends_;
  CaseComparison comparison_;
  Proposals proposals_;
  MethodPrograms source_, lowered_;  // edge programs before and after
  MethodPrograms guarded_;           // before, with assertions of what the exporter assumed
  bool has_guards_ = false;
  Json compared_;  // what was expected of the programs that were compared last; null for an error
  absl::Status lowering_error_;
  Module whole_;
};

}  // namespace

CaseOutcome RunLoweringCase(const std::string& directory, const exir::OpRegistry& ops) {
  return Runner(directory, ops).Run();
}

}  // namespace belay::conformance
