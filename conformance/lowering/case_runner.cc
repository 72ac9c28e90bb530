#include "conformance/lowering/case_runner.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>

#include "absl/strings/str_split.h"
#include "backends/aot_backends.h"
#include "backends/runtime_backends.h"
#include "conformance/lowering/canonical_text.h"
#include "conformance/lowering/case_compose.h"
#include "conformance/lowering/case_numerics.h"
#include "conformance/lowering/case_rounds.h"
#include "conformance/lowering/program_json.h"
#include "exir/backend/compose.h"
#include "exir/backend/partitioner_sequence.h"
#include "exir/backend/to_backend.h"
#include "exir/import/import.h"
#include "exir/ir/text.h"
#include "exir/pipeline.h"
#include "runtime/core/annotate.h"
#include "runtime/core/npy.h"
#include "runtime/core/status_macros.h"

namespace belay::conformance {
namespace {

using exir::ExportedProgram;
using exir::MethodPrograms;
using Module = std::shared_ptr<const exir::LoweredBackendModule>;

constexpr char kSchema[] =
#include "conformance/lowering/case_schema.inc"
    ;

class Runner {
 public:
  Runner(const LoweringCase& lowering_case, const exir::OpRegistry& ops, ChosenBackends* chosen)
      : directory_(lowering_case.directory),
        case_(lowering_case.description),
        expected_(lowering_case.expected),
        entry_(Text(case_, "entry")),
        ops_(ops),
        chosen_(chosen) {}

  CaseOutcome Run() {
    // The lines that differ. Errors are those of the case; that of lowering is lowering_error_.
    absl::StatusOr<std::string> difference = entry_ == "compose" ? RunCompose() : RunMethods();
    if (!difference.ok()) return {difference.status().ToString()};
    CaseOutcome outcome;
    const absl::Status numerics =
        lowering_error_.ok() ? CheckAllNumerics(outcome.not_executed) : absl::OkStatus();
    if (!numerics.ok()) return {absl::StrCat("numerics: ", numerics.ToString())};
    const std::string name = std::filesystem::path(directory_).filename().string();
    if (chosen_ != nullptr) return outcome;
    if (difference->empty()) {
      for (const Difference& row : Differences()) {
        const std::vector<std::string> cases = absl::StrSplit(ToAbsl(row.cases), ' ');
        if (std::find(cases.begin(), cases.end(), name) == cases.end()) continue;
        outcome.failure = absl::StrCat("expected a difference on purpose: ", row.reason);
      }
      return outcome;
    }
    outcome.difference = FindDifference(case_, compared_.is_null() ? expected_ : compared_,
                                        lowering_error_.ok() ? actual_ : Json(),
                                        lowering_error_.code(), *difference);
    if (outcome.difference == nullptr) outcome.failure = *std::move(difference);
    return outcome;
  }

 private:
  // --- Programs of methods ---

  absl::StatusOr<std::string> RunMethods() {
    for (const auto& [name, file] : Member(case_, "methods").items()) {
      ABSL_ASSIGN_OR_RETURN(ExportedProgram program, Import(Text(file)));
      // Only this entry asks partitioners what to keep.
      std::vector<std::unique_ptr<exir::Partitioner>> partitioners;
      std::vector<const exir::Partitioner*> asked;
      if (chosen_ != nullptr) asked = chosen_->partitioners();
      for (const Json& round : case_["rounds"]) {
        if (entry_ != "transform_and_lower" || chosen_ != nullptr) break;
        ABSL_ASSIGN_OR_RETURN(partitioners.emplace_back(),
                              CreateCasePartitioner(round, name, partitions_));
        asked.push_back(partitioners.back().get());
      }
      exir::ToEdgeOptions options = OptionsToEdge();
      options.decompose = exir::KeepFor(program, asked);
      // ExecuTorch drops what the exporter assumed of sizes, and Belay makes assertions of it:
      // nodes that no case counts.
      ExportedProgram guarded = program.Clone();
      if (chosen_ == nullptr) program.guards.clear();
      absl::StatusOr<ExportedProgram> edge = exir::ToEdge(std::move(program), options);
      if (chosen_ != nullptr) ABSL_RETURN_IF_ERROR(Annotate(edge.status(), "to_edge"));
      lowering_error_ = edge.status();
      if (!edge.ok()) return Outcome();
      source_.emplace_back(name, *std::move(edge));
      ABSL_ASSIGN_OR_RETURN(guarded, exir::ToEdge(std::move(guarded), options));
      guarded_.emplace_back(name, std::move(guarded));
    }
    if (entry_ == "manager") handles_ = HandlesOf(source_);
    const std::string before = PrintSource();
    const absl::Status status = LowerAll(case_["rounds"]);
    if (PrintSource() != before) {
      return absl::InternalError("lowering changed the program it was given");
    }
    ABSL_RETURN_IF_ERROR(status);
    if (chosen_ == nullptr) return Outcome();
    ABSL_RETURN_IF_ERROR(Annotate(lowering_error_, "to_backend"));
    for (const auto& [name, program] : lowered_) chosen_->Count(program);
    return "";
  }

  absl::StatusOr<ExportedProgram> Import(const std::string& file) {
    ABSL_ASSIGN_OR_RETURN(ExportedProgram program, exir::ImportFile(directory_ + "/" + file, ops_));
    for (const auto* map : {&program.state_dict, &program.constants}) {
      for (const auto& [fqn, tensor] : *map) backends_.fqns.insert(fqn);
    }
    return program;
  }

  exir::ToEdgeOptions OptionsToEdge() const {
    const Json& options = Member(case_, "to_edge");
    exir::ToEdgeOptions to_edge;
    to_edge.check_ir_validity = Member(options, "check_ir_validity") != false;
    to_edge.dim_order = Member(options, "skip_dim_order") != true;
    return to_edge;
  }

  std::string PrintSource() const {
    std::string text;
    for (const auto& [name, program] : source_) text += exir::PrintProgram(program);
    return text;
  }

  // Fills lowered_, or lowering_error_.
  absl::Status LowerAll(const Json& rounds) {
    partitions_ = Json::array();
    lowered_.clear();
    std::vector<std::string> all;
    for (const auto& [name, program] : source_) {
      lowered_.emplace_back(name, program.Clone());
      all.push_back(name);
    }
    std::vector<std::unique_ptr<exir::Partitioner>> partitioners;
    std::vector<exir::MethodPartitioners> by_round;
    for (const Json& round : chosen_ == nullptr ? rounds : Json()) {
      if (Text(round, "kind") == "whole_program") return LowerWhole(round);
      by_round.emplace_back();
      const bool some = round.contains("methods");
      for (const std::string& name :
           some ? round["methods"].get<std::vector<std::string>>() : all) {
        ABSL_ASSIGN_OR_RETURN(partitioners.emplace_back(),
                              CreateCasePartitioner(round, name, partitions_));
        by_round.back().emplace_back(name, partitioners.back().get());
      }
    }
    if (chosen_ != nullptr) {
      for (const exir::Partitioner* partitioner : chosen_->partitioners()) {
        by_round.emplace_back();
        for (const std::string& name : all) by_round.back().emplace_back(name, partitioner);
      }
    }
    const exir::BackendSet& backends = chosen_ == nullptr ? backends_.set() : AotBackends();
    const bool at_once = chosen_ == nullptr && entry_ == "transform_and_lower";
    for (size_t r = 0; r < (at_once ? 1 : by_round.size()); ++r) {
      exir::ToBackendOptions options;
      options.validate_partitions =
          at_once || chosen_ != nullptr || Member(rounds[r], "validation_disabled") != true;
      absl::StatusOr<MethodPrograms> next =
          at_once ? exir::ToBackendInSequence(lowered_, by_round, backends, options)
                  : exir::ToBackend(lowered_, by_round[r], backends, options);
      lowering_error_ = next.status();
      if (!next.ok()) return IsErrorOfCase(next.status()) ? next.status() : absl::OkStatus();
      lowered_ = *std::move(next);
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Module> LowerModule(const Json& round, const ExportedProgram& program) {
    ABSL_ASSIGN_OR_RETURN(const exir::DelegationSpec delegation, ReadDelegation(round));
    absl::StatusOr<Module> module =
        exir::ToBackend(delegation.backend_id, program, delegation.compile_specs, backends_.set());
    lowering_error_ = module.status();
    return module.ok() ? *module : nullptr;
  }

  absl::Status LowerWhole(const Json& round) {
    ABSL_ASSIGN_OR_RETURN(whole_, LowerModule(round, source_[0].second));
    if (whole_ == nullptr) return absl::OkStatus();
    source_.erase(source_.begin() + 1, source_.end());
    lowered_.clear();
    ABSL_ASSIGN_OR_RETURN(ExportedProgram call, exir::ProgramOfModule(whole_));
    lowered_.emplace_back(source_[0].first, std::move(call));
    return absl::OkStatus();
  }

  // --- Composition ---

  absl::StatusOr<std::string> RunCompose() {
    ABSL_ASSIGN_OR_RETURN(ExportedProgram inner, Import(Text(case_, "inner")));
    ABSL_ASSIGN_OR_RETURN(inner, exir::ToEdge(std::move(inner), OptionsToEdge()));
    ABSL_ASSIGN_OR_RETURN(const Module module, LowerModule(Member(case_, "whole"), inner));
    if (module == nullptr) return Outcome();
    std::vector<exir::TensorMeta> parameters;
    while (true) {
      const std::string path = absl::StrCat(directory_, "/input_", parameters.size(), ".npy");
      if (!std::filesystem::exists(path)) break;
      ABSL_ASSIGN_OR_RETURN(const NpyArray array, ReadNpyFile(path));
      parameters.push_back(
          exir::TensorMeta::Contiguous(array.dtype, {array.sizes.begin(), array.sizes.end()}));
    }
    ABSL_ASSIGN_OR_RETURN(ExportedProgram composed,
                          Compose(Text(case_, "outer"), parameters, module, ops_));
    ABSL_ASSIGN_OR_RETURN(composed, exir::ToEdge(std::move(composed), OptionsToEdge()));
    source_.emplace_back("forward", std::move(composed));
    const std::string difference = Compare(Member(expected_, "composed"), Document(source_));
    if (!difference.empty()) return "composed:" + difference;
    ABSL_RETURN_IF_ERROR(LowerAll(case_["rounds"]));
    return case_["rounds"].empty() ? "" : Outcome();
  }

  // --- Judgment ---

  Json Document(const MethodPrograms& programs) const {
    const DocumentSource source = {backends_.fqns, handles_};
    if (whole_ != nullptr) return ModuleDocument(*whole_, source_[0].first, source);
    Json document = LoweredDocument(programs, source);
    document["partitions"] = partitions_;
    return document;
  }

  std::string Compare(const Json& expected, Json actual) {
    compared_ = expected;
    actual_ = std::move(actual);
    return CompareDocuments(expected, actual_,
                            {.order_is_known = entry_ != "transform_and_lower",
                             .handles_are_known = entry_ == "manager"});
  }

  // The lines that differ, or an error that does not fit.
  std::string Outcome() {
    if (expected_.contains("error"))
      return CompareError(case_, expected_["error"], lowering_error_);
    if (!lowering_error_.ok()) {
      return absl::StrCat("expected success, got ", lowering_error_.ToString());
    }
    if (expected_.contains("lowered_module") != (whole_ != nullptr)) {
      return "expected something else than a program lowered as a whole, or nothing else";
    }
    if (whole_ == nullptr) {
      return Compare(entry_ == "compose" ? Member(expected_, "after_rounds") : expected_,
                     Document(lowered_));
    }
    return Compare(ModuleDocument(Member(expected_, "lowered_module"), source_[0].first),
                   Document(lowered_));
  }

  absl::Status CheckAllNumerics(std::vector<std::string>& not_executed) {
    const Json& after = Member(case_, "after");
    if (chosen_ != nullptr) {
      return CheckNumerics(directory_, after, source_, lowered_, not_executed, &RuntimeBackends());
    }
    ABSL_RETURN_IF_ERROR(CheckNumerics(directory_, after, source_, lowered_, not_executed));
    std::vector<std::string> same;
    return Annotate(CheckNumerics(directory_, after, guarded_, guarded_, same),
                    "with assertions, not lowered");
  }

  const std::string directory_;
  const Json& case_;
  const Json& expected_;
  const std::string entry_;
  const exir::OpRegistry& ops_;
  ChosenBackends* const chosen_;  // instead of the case's partitioners and backends
  CaseBackends backends_;
  HandlePlaces handles_;
  Json partitions_ = Json::array();
  MethodPrograms source_, lowered_;  // edge programs before and after
  MethodPrograms guarded_;           // before, with assertions of what the exporter assumed
  Json compared_, actual_;           // the documents that were compared last
  absl::Status lowering_error_;
  Module whole_;
};

}  // namespace

absl::Status CheckLoweringCase(const LoweringCase& lowering_case) {
  static const Json& schema = *new Json(Json::parse(kSchema));
  ABSL_RETURN_IF_ERROR(
      Annotate(CheckSchema(lowering_case.description, schema, "case"), "case.json"));
  const Json& methods = Member(lowering_case.description, "methods");
  if (methods.empty() && Text(lowering_case.description, "entry") != "compose") {
    return absl::InvalidArgumentError("case.json: /methods: expected a method");
  }
  for (const auto& [method, files] : Member(lowering_case.description, "after").items()) {
    if (methods.contains(method)) continue;
    return absl::InvalidArgumentError("case.json: /after/" + method + ": no such method");
  }
  return Annotate(CheckSchema(lowering_case.expected, schema, "expected"), "expected.json");
}

absl::StatusOr<LoweringCase> ReadLoweringCase(const std::string& directory) {
  LoweringCase lowering_case = {directory, {}, {}};
  ABSL_ASSIGN_OR_RETURN(lowering_case.description, ReadJsonFile(directory + "/case.json"));
  ABSL_ASSIGN_OR_RETURN(lowering_case.expected, ReadJsonFile(directory + "/expected.json"));
  ABSL_RETURN_IF_ERROR(CheckLoweringCase(lowering_case));
  return lowering_case;
}

CaseOutcome RunLoweringCase(const LoweringCase& lowering_case, const exir::OpRegistry& ops,
                            ChosenBackends* chosen) {
  return Runner(lowering_case, ops, chosen).Run();
}

}  // namespace belay::conformance
