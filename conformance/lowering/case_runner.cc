#include "conformance/lowering/case_runner.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <memory>
#include <regex>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "backends/aot_backends.h"
#include "backends/runtime_backends.h"
#include "conformance/lowering/canonical_text.h"
#include "conformance/lowering/case_numerics.h"
#include "conformance/lowering/case_rounds.h"
#include "conformance/lowering/program_json.h"
#include "exir/backend/compose.h"
#include "exir/backend/partitioner_sequence.h"
#include "exir/backend/to_backend.h"
#include "exir/builder/op_builder.h"
#include "exir/import/import.h"
#include "exir/ir/graph_editor.h"
#include "exir/ir/text.h"
#include "exir/pipeline.h"
#include "runtime/core/annotate.h"
#include "runtime/core/npy.h"
#include "runtime/core/status_macros.h"

namespace belay::conformance {
namespace {

using exir::Argument;
using exir::ExportedProgram;
using exir::MethodPrograms;
using Module = std::shared_ptr<const exir::LoweredBackendModule>;

constexpr char kSchema[] =
#include "conformance/lowering/case_schema.inc"
    ;

using Values = std::vector<Argument>;  // several results until one is selected

constexpr size_t kMaxText = 1000;  // bounds the recursion

// Parses a line of Python, "forward(x, y) = relu(inner(x) + inner(y))", to an ATen program.
// Parameters are tensors. `inner(…)` calls the lowered module; all other names are operators
// ("relu": aten.relu.default, "add": aten.add.Tensor). Supports +, -, *, /, numbers, parentheses,
// indices of results ("inner(x)[1]") and several results separated by commas. "let (a, b) =
// inner(x) in …" names results for the following expression. Creates nodes in Python's evaluation
// order. The builder keeps the first error.
class Composer {
 public:
  Composer(const std::string& function, Module inner, exir::OpBuilder& builder)
      : inner_(std::move(inner)), builder_(builder) {
    static const std::regex kToken(R"([\w.]+|\S)");
    if (function.size() <= kMaxText) {
      tokens_.assign(std::sregex_token_iterator(function.begin(), function.end(), kToken), {});
    }
  }

  void Run(const std::vector<exir::TensorMeta>& parameters) {
    Expect("forward");
    const std::vector<std::string> names = Names();
    for (size_t i = 0; i < parameters.size() && i < names.size(); ++i) {
      values_[names[i]] = {builder_.editor().AddInput(names[i], parameters[i])};
      builder_.program().signature.inputs.push_back({});
    }
    Values outputs = Read(0);
    Expect("");
    builder_.program().signature.outputs.resize(outputs.size());
    builder_.editor().SetOutputs(std::move(outputs));
  }

 private:
  std::string Peek() const { return next_ < tokens_.size() ? tokens_[next_] : ""; }
  bool Take(const std::string& token) {
    const bool is_next = Peek() == token;
    next_ += is_next ? 1 : 0;
    return is_next;
  }
  void Expect(const std::string& token) {
    if (!Take(token)) builder_.Invalid("expected '" + token + "', got '" + Peek() + "'");
  }
  // Reads the names before the next "=".
  std::vector<std::string> Names() {
    std::vector<std::string> names;
    for (; !Peek().empty() && Peek() != "="; ++next_) {
      if (std::isalnum(static_cast<unsigned char>(Peek()[0]))) names.push_back(Peek());
    }
    Expect("=");
    return names;
  }

  // Reads an operand and all operators that bind more tightly than `least`; several values if
  // separated by commas.
  Values Read(int least) {
    static const std::map<std::string, std::pair<int, const char*>> kSigns = {
        {",", {1, ""}},    {"+", {2, "add"}}, {"-", {2, "sub"}},
        {"*", {3, "mul"}}, {"/", {3, "div"}}, {"[", {4, ""}}};
    Values values = Operand();
    while (builder_.ok()) {
      const auto sign = kSigns.find(Peek());
      if (sign == kSigns.end() || sign->second.first <= least) break;
      ++next_;
      const Values right = Read(sign->second.first);
      if (sign->first == "[") {
        const auto* index = right.size() == 1 ? right[0].get_if<int64_t>() : nullptr;
        Expect("]");
        if (index == nullptr || *index < 0 || *index >= std::ssize(values)) {
          return builder_.Invalid("expected another index"), Values();
        }
        values = {values[*index]};
      } else if (sign->first == ",") {
        values.insert(values.end(), right.begin(), right.end());
      } else {
        values = Call(sign->second.second, {values, right});
      }
    }
    return values;
  }

  Values Operand() {
    const std::string word = Peek();
    ++next_;
    int64_t integer = 0;
    double real = 0;
    if (absl::SimpleAtoi(word, &integer)) return {Argument(integer)};
    if (absl::SimpleAtod(word, &real)) return {Argument(real)};
    if (word == "-") return Call("neg", {Read(3)});
    if (word == "(") {
      Values values = Read(0);
      Expect(")");
      return values;
    }
    if (word == "let") {
      const std::vector<std::string> names = Names();
      const Values values = Read(0);
      if (names.size() != values.size()) {
        builder_.Invalid(absl::StrCat("expected ", names.size(), " values for (",
                                      absl::StrJoin(names, ", "), "), got ", values.size()));
      }
      Expect("in");
      for (size_t i = 0; builder_.ok() && i < names.size(); ++i) values_[names[i]] = {values[i]};
      return Read(0);
    }
    if (Take("(")) {
      std::vector<Values> operands;
      while (builder_.ok() && !Take(")")) {
        operands.push_back(Read(1));
        if (Peek() != ")") Expect(",");
      }
      return Call(word, operands);
    }
    if (const auto known = values_.find(word); known != values_.end()) return known->second;
    return builder_.Invalid("expected a parameter or number, got '" + word + "'"), Values();
  }

  Values Call(const std::string& name, const std::vector<Values>& operands) {
    Values arguments;
    for (const Values& values : operands) {
      if (values.size() != 1) builder_.Invalid("expected one value for each operand of " + name);
      arguments.insert(arguments.end(), values.begin(), values.end());
    }
    if (!builder_.ok()) return {};
    if (name == "inner") return CallInner(std::move(arguments));
    for (const char* overload : {".Tensor", ".default", ".self"}) {
      const std::string op = absl::StrCat("aten.", name, overload);
      if (builder_.ops().Find(op) == nullptr) continue;
      return builder_.CallAll(op, {arguments.begin(), arguments.end()});
    }
    builder_.Fail(absl::NotFoundError(absl::StrCat("unknown operator '", name, "'")));
    return {};
  }

  Values CallInner(Values arguments) {
    ExportedProgram& program = builder_.program();
    program.dialect = exir::IrDialect::kEdge;  // the dialect of these calls
    const absl::StatusOr<exir::NodeId> call = exir::InsertDelegateCall(
        program, ExportedProgram::kTop, {}, inner_, std::move(arguments), "inner");
    program.dialect = exir::IrDialect::kAten;
    if (!call.ok()) return builder_.Fail(call.status()), Values();
    const std::vector<exir::ValueId> results = builder_.graph().node(*call).results();
    return {results.begin(), results.end()};
  }

  const Module inner_;
  exir::OpBuilder& builder_;
  std::vector<std::string> tokens_;
  size_t next_ = 0;                       // index of the next token
  std::map<std::string, Values> values_;  // by name
};

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
    // The lines that differ. Errors belong to the case; lowering's own error is lowering_error_.
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
      // Only this entry point asks partitioners which operators to keep.
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
      // ExecuTorch drops the exporter's guards on sizes. Belay converts them to assertions, whose
      // nodes the cases do not expect.
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

  // Sets lowered_ or lowering_error_.
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
    ExportedProgram composed(&ops_);
    {
      exir::GraphEditor editor(composed.graphs[composed.graphs.push_back(exir::Graph())]);
      exir::OpBuilder builder(composed, editor);
      builder.MoveToEnd();
      Composer(Text(case_, "outer"), module, builder).Run(parameters);
      ABSL_RETURN_IF_ERROR(builder.status());
    }
    ABSL_ASSIGN_OR_RETURN(composed, exir::ToEdge(std::move(composed), OptionsToEdge()));
    source_.emplace_back("forward", std::move(composed));
    const std::string difference = Compare(Member(expected_, "composed"), Document(source_));
    if (!difference.empty()) return "composed:" + difference;
    ABSL_RETURN_IF_ERROR(LowerAll(case_["rounds"]));
    return case_["rounds"].empty() ? "" : Outcome();
  }

  // --- Comparison ---

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

  // Returns the lines that differ, or an error that does not match.
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
  MethodPrograms guarded_;           // before, with the exporter's guards as assertions
  Json compared_, actual_;           // the documents of the last comparison
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
