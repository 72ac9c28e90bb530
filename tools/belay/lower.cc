// `belay lower`: lowers archives to a program file.
#include <sys/stat.h>
#include <unistd.h>

#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "exir/ir/text.h"
#include "exir/pipeline.h"
#include "exir/serialize/saved_programs.h"
#include "exir/serialize/serializer.h"
#include "nlohmann/json.hpp"
#include "runtime/core/budget.h"
#include "runtime/core/mapped_file.h"
#include "tools/belay/command.h"
#include "tools/belay/converted_program.h"
#include "tools/belay/lower_page.h"
#include "tools/belay/lower_report.h"
#include "tools/belay/lowering.h"
#include "tools/belay/printing.h"
#include "tools/belay/progress.h"
#include "tools/belay/quantize_report.h"
#include "tools/belay/same_file.h"
#include "tools/graph/draw_exported.h"

namespace belay::tools {
namespace {

// Checks that no output replaces another input or output file of the command.
absl::Status CheckFiles(const LowerOptions& options, const std::vector<std::string>& archives) {
  for (const std::string& beside : {options.report, options.html}) {
    if (!IsSameFile(beside, options.output)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("the report and the program would write to the same file, ", options.output));
  }
  if (IsSameFile(options.report, options.html)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--report and --html would write to the same file, ", options.html));
  }
  return CheckOutputsDifferFromArchives({options.output, options.report, options.html}, archives);
}

exir::Stage StageOf(const std::string& name) {
  return name == "aten"   ? exir::Stage::kAten
         : name == "edge" ? exir::Stage::kEdge
                          : exir::Stage::kLowered;
}

// A report to write with the program: its path ("" to skip it) and its content.
using ReportFile = std::pair<std::string, std::string>;

// Writes the reports first: if one fails, no program is written. If writing the program fails,
// removes the reports, unless they replaced existing files.
absl::Status WriteReportsAndProgram(const std::vector<ReportFile>& reports,
                                    const exir::SerializedProgram& program,
                                    const std::string& output) {
  std::vector<std::string> added;
  absl::Status status;
  for (const auto& [path, content] : reports) {
    if (path.empty() || !status.ok()) continue;
    struct stat info;
    const bool is_new = ::lstat(path.c_str(), &info) != 0;
    const std::string_view piece = content;
    status = WriteFileAtomically(path, absl::MakeConstSpan(&piece, 1));
    if (status.ok() && is_new) added.push_back(path);
  }
  if (status.ok()) status = exir::WriteSerializedProgram(program, output);
  if (!status.ok()) {
    for (const std::string& path : added) ::unlink(path.c_str());
  }
  return status;
}

// Prints the first guards of each method, and the number of the others.
void PrintUncheckedGuards(const std::vector<exir::UncheckedGuard>& guards) {
  constexpr int kShown = 3;
  std::map<std::string, int> count;
  for (const auto& g : guards) {
    if (++count[g.method] > kShown) continue;
    std::cerr << "belay: method " << OneLine(g.method)
              << ": the program can't check this assumption of the exporter about its inputs: "
              << OneLine(g.guard) << "\n";
  }
  for (const auto& [method, all] : count) {
    if (all <= kShown) continue;
    std::cerr << "belay: method " << OneLine(method) << ": and " << all - kShown
              << " more such assumptions: see --report\n";
  }
}

// Converts a program of ExecuTorch.
int Convert(const LowerOptions& options) {
  std::vector<std::string> files = options.data;
  files.push_back(options.input);
  if (const absl::Status status = CheckFiles(options, files); !status.ok()) {
    return ReportBadUsage(status);
  }
  const WithinLimits limits(options.limits, files);
  bool bad_usage = false;
  exir::PipelineReport report;
  const absl::StatusOr<ConvertedProgram> converted =
      ConvertProgram(options, options.limits.ForLowering(), report, bad_usage);
  if (!converted.ok()) {
    return bad_usage ? ReportBadUsage(converted.status()) : Report(converted.status());
  }
  const std::string text = JsonText(LowerReportJson(report, converted->file.size));
  const absl::Status written =
      WriteReportsAndProgram({{options.report, text}}, converted->file, options.output);
  if (!written.ok()) return Report(written);
  for (const std::string& note : report.notes) std::cerr << "belay: " << OneLine(note) << "\n";
  if (options.json) {
    std::cout << text;
  } else {
    WriteLowerReport(report, converted->file.size, options.output, std::cout);
  }
  return kDone;
}

}  // namespace

int Lower(const LowerOptions& options) {
  if (IsExecuTorchFile(options.input)) return Convert(options);
  bool bad_usage = false;
  const absl::StatusOr<std::unique_ptr<Lowering>> lowering = PrepareLowering(options, bad_usage);
  if (!lowering.ok()) {
    return bad_usage ? ReportBadUsage(lowering.status()) : Report(lowering.status());
  }
  if (const absl::Status status = CheckFiles(options, (*lowering)->files); !status.ok()) {
    return ReportBadUsage(status);
  }
  const WithinLimits limits(options.limits, (*lowering)->files);
  Progress progress;
  exir::PipelineOptions& pipeline = (*lowering)->pipeline;
  pipeline.progress = [&](std::string_view phase, double done) { progress.Update(phase, done); };
  bool dumped = false;
  if (!options.dump_after.empty()) {
    pipeline.after_pass = [&](const exir::PassReport& pass, const exir::ExportedProgram& program) {
      if (pass.name != options.dump_after) return;
      std::cout << ForTerminal(exir::PrintProgram(program));
      dumped = true;
    };
  }
  DrawnProgram drawn;
  if (!options.html.empty()) {
    pipeline.after_to_backend = [&](const exir::MethodPrograms& methods) {
      for (const auto& [name, program] : methods) drawn.push_back(DrawExported(name, program));
    };
  }
  exir::PipelineReport report;
  absl::StatusOr<exir::MethodPrograms> programs = ImportForLowering(**lowering, report);
  if (!programs.ok()) return Report(programs.status());
  if (options.stage == "parameters") {
    return Report(WriteParameters(options, **lowering, *std::move(programs)));
  }
  const absl::StatusOr<std::optional<QuantizeReport>> quantized =
      QuantizeForLowering(**lowering, *programs, report);
  if (!quantized.ok()) return Report(quantized.status());
  if (!options.stage.empty()) {
    programs = exir::LowerToStage(*std::move(programs), StageOf(options.stage), pipeline, &report);
    if (!programs.ok()) return Report(programs.status());
    return Report(exir::WriteSavedPrograms(*programs, options.output, (*lowering)->saved));
  }
  const auto image = exir::LowerPrograms(*std::move(programs), pipeline, &report);
  if (!image.ok()) return Report(image.status());
  if (!options.dump_after.empty() && !dumped) {
    std::cerr << "belay: --dump-after: unknown pass '" << OneLine(options.dump_after)
              << "'; the passes are:";
    std::set<std::string_view> listed;
    for (const auto& pass : report.passes) {
      if (listed.insert(pass.name).second) std::cerr << " " << pass.name;
    }
    std::cerr << "\n";
    return kBadUsage;
  }
  if (const double share = DelegatedFlops(report); share < options.min_delegated_flops) {
    std::cerr << "belay: delegates compute " << 100 * share
              << " % of the floating-point operations, --min-delegated-flops requires "
              << 100 * options.min_delegated_flops << " %; not delegated:\n";
    for (const auto& n : report.left_over) {
      if (n.flops == 0) continue;
      std::cerr << "  method " << OneLine(n.method) << ": " << OneLine(n.node) << ", "
                << OneLine(n.op) << (n.source.empty() ? "" : " at ") << OneLine(n.source) << ": "
                << OneLine(n.reason) << "\n";
    }
    return kNegative;
  }
  const auto serialized = SerializeLowered(options, **lowering, *image);
  if (!serialized.ok()) return Report(serialized.status());
  if (const absl::Status status = CheckBudget(); !status.ok()) return Report(status);
  nlohmann::json json = LowerReportJson(report, serialized->size);
  if (quantized->has_value()) json["quantization"] = QuantizeReportJson(**quantized);
  const std::string text = JsonText(json);
  std::string page;
  if (!options.html.empty()) page = LowerPage(options.output, json, drawn, *image);
  const absl::Status written = WriteReportsAndProgram(
      {{options.report, text}, {options.html, page}}, *serialized, options.output);
  if (!written.ok()) return Report(written);
  PrintUncheckedGuards(report.unchecked_guards);
  for (const std::string& note : report.notes) std::cerr << "belay: " << OneLine(note) << "\n";
  if (options.json) {
    std::cout << text;
  } else if (options.dump_after.empty()) {
    if (quantized->has_value()) PrintQuantizeReport(**quantized, std::cout);
    WriteLowerReport(report, serialized->size, options.output, std::cout);
  }
  return kDone;
}

Command LowerCommand() {
  const auto lower = std::make_shared<LowerOptions>();
  return {
      .name = "lower",
      .about =
          "Lowers exported programs (.pt2), or saved ones (.bir), to one program file. Converts "
          "ExecuTorch programs (.pte).",
      .options = WithLimits(
          {{"archive",
            &lower->input,
            "FILE or FILE:MODEL: the archive that becomes the method 'forward'; or an ExecuTorch "
            "program, whose XNNPACK delegates are compiled for the CPU backend",
            {.not_empty = true}},
           {"-o,--output",
            &lower->output,
            "the program file to write",
            {.required = true, .not_empty = true}},
           {"--method",
            &lower->methods,
            "NAME=FILE or NAME=FILE:MODEL: one more method (repeatable)",
            {.repeatable = true, .one_value = true}},
           {"--format",
            &lower->format,
            "'belay', or 'pte': a program of ExecuTorch 1.5 with its portable kernels; default: by "
            "the "
            "suffix of the program file",
            {.not_empty = true}},
           {"--backend",
            &lower->backends,
            "[METHOD:]NAMES: backends in order of priority, comma separated, for all methods or "
            "for one (repeatable), or 'none'; default: 'cpu', for ExecuTorch 'none'",
            {.repeatable = true, .one_value = true}},
           {"--compile-spec",
            &lower->compile_specs,
            "BACKEND:KEY=VALUE: a compile spec of the backend (repeatable)",
            {.repeatable = true, .one_value = true}},
           {"--constant-method",
            &lower->constant_methods,
            "NAME=VALUE: a method without inputs that returns a number, true, false, a \"string\" "
            "or a [list] of them (repeatable)",
            {.repeatable = true, .one_value = true}},
           {"--external-constants",
            &lower->external_constants,
            "[PATTERN=]NAME: writes the constants whose name matches the pattern, or all others "
            "and named data, to NAME-DIGEST.data next to the program file; with --format=pte "
            "constants to NAME.ptd (repeatable)",
            {.not_empty = true, .repeatable = true, .one_value = true}},
           {"--replaceable",
            &lower->replaceable,
            "PATTERN: parameters that 'belay run --parameters' may replace: adapters, fine-tuned "
            "heads (repeatable)",
            {.not_empty = true, .repeatable = true, .one_value = true}},
           {"--tokenizer",
            &lower->tokenizer,
            "stores a Hugging Face tokenizer.json in the program, for belay generate",
            {.not_empty = true, .excludes = {"--format"}}},
           {"--chat-template",
            &lower->chat_template,
            "stores a chat template: tokenizer_config.json, or a Jinja file (repeatable: both)",
            {.repeatable = true, .one_value = true, .excludes = {"--format"}}},
           {"--report", &lower->report, "writes a JSON report to this file", {.not_empty = true}},
           {"--html",
            &lower->html,
            "writes an HTML page: graph, delegation with reasons, memory, constants",
            {.not_empty = true}},
           {"--max-size",
            &lower->max_size,
            "VALUE: upper bound of sizes for which the program has none; SYMBOL=VALUE: of one "
            "size, as 'belay inspect' names it (repeatable)",
            {.repeatable = true, .one_value = true}},
           {"--bank",
            &lower->banks,
            "NAME=SIZE or NAME=SIZE:ALIGNMENT: a memory for activations (repeatable, the fastest "
            "one first); SIZE in bytes, 64K or 2M, and 'unlimited' for the last one",
            {.not_empty = true, .repeatable = true, .one_value = true}},
           {"--memory-planner",
            &lower->memory_planners,
            "[METHOD:]NAME: the planner of activations instead of the best one, such as "
            "best_fit_by_size; with --bank, the order of placement, such as by_density "
            "(repeatable)",
            {.not_empty = true, .repeatable = true, .one_value = true}},
           {"--data",
            &lower->data,
            "FILE: a data file (.ptd) of an ExecuTorch program (repeatable)",
            {.not_empty = true, .repeatable = true, .one_value = true}},
           {"--random-seed",
            &lower->random_seed,
            "initial seed of the program's random numbers; default: 0",
            {}},
           {"--min-delegated-flops",
            &lower->min_delegated_flops,
            "minimum share of floating-point operations (matmuls, convolutions, attention) in "
            "delegates, 0 to 1; below it, exit status 1 and no file",
            {.least = 0, .most = 1}},
           {"--dump-after",
            &lower->dump_after,
            "prints the program after this pass",
            {.not_empty = true}},
           {"--threads",
            &lower->threads,
            "threads for backends' preprocessing and for calibration data",
            {.least = 1, .most = 1024}},
           {"--write-state-in-place", &lower->write_state_in_place,
            "updates buffers in place; a failed call leaves them partially written"},
           {"--allow-separate-state", &lower->allow_separate_state,
            "accepts a method that only reads a buffer which another method writes under another "
            "name"},
           {"--no-fold-constants", &lower->no_fold_constants,
            "keeps operators whose operands are all constant, and batch norms, in the program"},
           {"--fold-budget",
            &lower->fold_budget,
            "maximum growth of the file by folded constants, in bytes; default: a quarter of the "
            "constants, from 1 to 16 MiB",
            {.least = 0, .excludes = {"--no-fold-constants"}}},
           {"--quant-fusion-and-const-prop", &lower->quant_fusion_and_const_prop,
            "uses quantized operators where available"},
           {"--quantize",
            &lower->quantize,
            "quantizes first: name of a recipe, or a file that ends in .json "
            "(docs/quantization.md)",
            {.not_empty = true}},
           {"--calibration",
            &lower->calibration,
            "[METHOD:]PATH: calibration data for --quantize, as of 'belay quantize' (repeatable)",
            {.repeatable = true, .one_value = true}},
           {"--max-loss",
            &lower->max_loss,
            "METRIC=VALUE: bound of the loss of each output over the calibration data; operators "
            "that cost most stay in float32. snr=DB, cosine=VALUE or mse=VALUE",
            {.not_empty = true}},
           {"--stage",
            &lower->stage,
            "stops at this stage and writes the programs (.bir), for lower, inspect and verify; "
            "'parameters': writes only the tensors of --replaceable, for --parameters",
            {.one_of = {"aten", "edge", "lowered", "parameters"},
             .excludes = {"--format", "--external-constants", "--tokenizer", "--chat-template",
                          "--report", "--html", "--min-delegated-flops", "--dump-after",
                          "--bank"}}},
           {"--json",
            &lower->json,
            "prints the report as JSON",
            {.excludes = {"--dump-after", "--stage"}}}},
          &lower->limits, /*lowers=*/true),
      .footer =
          "Of an archive with several models, --method NAME=FILE uses the model NAME, and an "
          "archive\n"
          "without a name uses 'forward' or 'model'; FILE:MODEL uses MODEL.\n"
          "Example: belay lower model.pt2 -o model.belay --backend demo --report report.json\n"
          "         belay lower --method prefill=llm.pt2 --method decode=llm.pt2:step -o "
          "llm.belay\n"
          "         belay lower model.pt2 -o model.pte\n"
          "         belay lower model.pte --data weights.ptd -o model.belay",
      .owned = lower,
      .run = [lower] { return Lower(*lower); },
  };
}

}  // namespace belay::tools
