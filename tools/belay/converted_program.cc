#include "tools/belay/converted_program.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "executorch/payload_import/program_image.h"
#include "executorch/reader/open_any_program.h"
#include "executorch/reader/open_program.h"
#include "exir/model_file.h"
#include "runtime/core/annotate.h"
#include "runtime/core/budget.h"
#include "runtime/core/status_macros.h"
#include "tools/belay/printing.h"
#include "tools/belay/program_file.h"

namespace belay::tools {
namespace {

absl::Status CheckOptions(const LowerOptions& o) {
  const LowerOptions defaults;
  const bool is_cpu = o.backends.size() == 1 && o.backends[0] == "cpu";
  const std::pair<std::string_view, bool> given[] = {
      {"--method", !o.methods.empty()},
      {"--format=pte", o.format == "pte" || (o.format.empty() && o.output.ends_with(".pte"))},
      {"--backend", !o.backends.empty() && !is_cpu},
      {"--compile-spec", !o.compile_specs.empty()},
      {"--constant-method", !o.constant_methods.empty()},
      {"--external-constants", !o.external_constants.empty()},
      {"--replaceable", !o.replaceable.empty()},
      {"--tokenizer", !o.tokenizer.empty()},
      {"--chat-template", !o.chat_template.empty()},
      {"--html", !o.html.empty()},
      {"--max-size", !o.max_size.empty()},
      {"--bank", !o.banks.empty()},
      {"--memory-planner", !o.memory_planners.empty()},
      {"--random-seed", o.random_seed != defaults.random_seed},
      {"--min-delegated-flops", o.min_delegated_flops != defaults.min_delegated_flops},
      {"--dump-after", !o.dump_after.empty()},
      {"--write-state-in-place", o.write_state_in_place},
      {"--allow-separate-state", o.allow_separate_state},
      {"--no-fold-constants", o.no_fold_constants},
      {"--fold-budget", o.fold_budget != defaults.fold_budget},
      {"--quant-fusion-and-const-prop", o.quant_fusion_and_const_prop},
      {"--quantize", !o.quantize.empty()},
      {"--calibration", !o.calibration.empty()},
      {"--max-loss", !o.max_loss.empty()},
      {"--stage", !o.stage.empty()},
  };
  std::string listed;
  for (const auto& [name, is_given] : given) {
    if (is_given) absl::StrAppend(&listed, listed.empty() ? "" : ", ", name);
  }
  if (listed.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(OneLine(o.input),
                   " is an ExecuTorch program, which is only converted; expected "
                   "no options for archives, got ",
                   listed));
}

void ReportDelegates(const pte::TranslatedProgram& program, exir::PipelineReport& report) {
  for (const schema::Method& method : program.metadata.methods()) {
    std::map<std::string, size_t> calls;  // by backend
    for (const schema::Instruction& instruction : method.instructions()) {
      if (!instruction.has_delegate()) continue;
      const auto delegate = static_cast<int>(instruction.delegate().delegate());
      ++calls[method.delegates(delegate).backend_id()];
    }
    for (const auto& [backend, count] : calls) {
      report.delegation.push_back(
          {.method = method.name(), .backend_id = backend, .delegate_calls = count});
    }
  }
}

}  // namespace

bool IsExecuTorchFile(const std::string& path) {
  return !path.empty() && pte::IsProgramFileAt(path).value_or(false);
}

absl::StatusOr<ConvertedProgram> ConvertProgram(const LowerOptions& options,
                                                const exir::LoweringLimits& limits,
                                                exir::PipelineReport& report, bool& bad_usage) {
  bad_usage = true;
  ABSL_RETURN_IF_ERROR(CheckOptions(options));
  bad_usage = false;
  const absl::Time start = absl::Now();
  Budget budget;
  std::optional<Budget::Scope> scope;
  if (Budget::Current() == nullptr) {
    uint64_t bytes = exir::SizeOfFile(options.input);
    for (const std::string& file : options.data) bytes += exir::SizeOfFile(file);
    exir::AllowLowering(limits, bytes, budget);
    budget.deadline = limits.deadline;
    budget.cancel = limits.cancel;
    scope.emplace(&budget);
  }
  ABSL_ASSIGN_OR_RETURN(
      const pte::TranslatedProgram program,
      pte::TranslateProgram(options.input, {{}, options.data, CpuConverter(options.threads)}));
  const absl::Status valid = pte::OpenTranslated(program).status();
  if (!valid.ok()) return Annotate(valid, options.input);
  ConvertedProgram converted;
  absl::StatusOr<exir::ProgramImage> image = pte::ImageOf(program);
  if (!image.ok()) return Annotate(image.status(), options.input);
  converted.image = *std::move(image);
  ABSL_ASSIGN_OR_RETURN(converted.file, exir::SerializeProgram(converted.image));
  ABSL_RETURN_IF_ERROR(CheckBudget());
  ReportDelegates(program, report);
  report.notes.insert(report.notes.end(), program.notes.begin(), program.notes.end());
  report.phases.push_back(
      {.name = "convert", .seconds = absl::ToDoubleSeconds(absl::Now() - start)});
  return converted;
}

}  // namespace belay::tools
