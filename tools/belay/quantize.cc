// `belay quantize`: quantizes programs and saves them, for lower, inspect and verify.
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "exir/pipeline.h"
#include "exir/quantize/recipe.h"
#include "exir/serialize/saved_programs.h"
#include "nlohmann/json.hpp"
#include "runtime/core/annotate.h"
#include "runtime/core/mapped_file.h"
#include "runtime/core/status_macros.h"
#include "tools/belay/command.h"
#include "tools/belay/label_accuracy.h"
#include "tools/belay/lowering.h"
#include "tools/belay/metric_command.h"
#include "tools/belay/printing.h"
#include "tools/belay/program_times.h"
#include "tools/belay/progress.h"
#include "tools/belay/quantize_report.h"
#include "tools/belay/same_file.h"

namespace belay::tools {
namespace {

std::string RecipeList() {
  std::string text = "Recipes, joined by '+':\n";
  for (std::string_view name : exir::RecipeNames()) {
    absl::StrAppendFormat(&text, "  %-16s %s\n", std::string(name) + ":",
                          std::string(exir::DescribeRecipe(name)));
  }
  return text;
}

// Checks that no output replaces an input or the other output.
absl::Status CheckFiles(const QuantizeOptions& options, const std::vector<std::string>& archives) {
  ABSL_RETURN_IF_ERROR(CheckOutputsDifferFromArchives({options.output, options.html}, archives));
  for (const std::string& output : {options.output, options.html}) {
    if (IsSameFile(output, options.recipe)) {
      return absl::InvalidArgumentError(
          absl::StrCat(output, " can't be written: it is the recipe file"));
    }
  }
  if (IsSameFile(options.output, options.html)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the page and the programs would write to the same file, ", options.output));
  }
  return absl::OkStatus();
}

// Writes the page first: if it fails, no programs are written. If writing the programs fails,
// removes the page, unless it replaced an existing file.
absl::Status WritePageAndPrograms(const QuantizeOptions& options, const nlohmann::json& report,
                                  const exir::MethodPrograms& programs,
                                  const exir::SavedLoweringOptions& saved) {
  bool added = false;
  if (!options.html.empty()) {
    std::error_code error;
    added = !std::filesystem::exists(options.html, error);
    const std::string page = QuantizePage(options.output, report);
    const std::string_view piece = page;
    ABSL_RETURN_IF_ERROR(WriteFileAtomically(options.html, absl::MakeConstSpan(&piece, 1)));
  }
  const absl::Status written = exir::WriteSavedPrograms(programs, options.output, saved);
  if (!written.ok() && added) {
    std::error_code error;
    std::filesystem::remove(options.html, error);
  }
  return written;
}

// Measures the programs before and after quantization by --labels, --times and --metric. Adds the
// results to the report, as JSON and as text.
absl::Status Evaluate(const QuantizeOptions& options, const Lowering& lowering,
                      const exir::MethodPrograms& before, const exir::MethodPrograms& after,
                      nlohmann::json& json, std::string& text) {
  ABSL_ASSIGN_OR_RETURN(const CalibrationPaths labels,
                        ParseCalibration(options.labels, lowering.methods, "--labels"));
  for (size_t i = 0; i < before.size(); ++i) {
    const auto& [name, program] = before[i];
    if (labels.Of(name).empty()) continue;
    const absl::StatusOr<LabelAccuracy> accuracy =
        MeasureAccuracy(labels.Of(name), lowering.max_sizes, name, program, after[i].second);
    if (!accuracy.ok()) return Annotate(accuracy.status(), absl::StrCat("method '", name, "'"));
    json["methods"][i]["labels"] = accuracy->ToJson();
    absl::StrAppend(&text, "method ", OneLine(name), ": ", accuracy->ToString(), "\n");
  }
  if (options.times) {
    ABSL_ASSIGN_OR_RETURN(const std::vector<ProgramTimes> times,
                          MeasureTimes(before, after, lowering));
    for (size_t i = 0; i < times.size(); ++i) {
      json["methods"][i]["times"] = times[i].ToJson();
      absl::StrAppend(&text, times[i].ToString());
    }
  }
  if (options.metric.empty()) return absl::OkStatus();
  double metric[2] = {};
  for (bool quantized : {false, true}) {
    const std::string file =
        absl::StrCat(options.output, quantized ? ".int.tmp.bir" : ".float32.tmp.bir");
    ABSL_RETURN_IF_ERROR(
        exir::WriteSavedPrograms(quantized ? after : before, file, lowering.saved));
    const absl::StatusOr<double> value = RunMetric(options.metric, file);
    std::error_code error;
    std::filesystem::remove(file, error);
    ABSL_RETURN_IF_ERROR(value.status());
    metric[quantized ? 1 : 0] = *value;
  }
  json["metric"] = {{"before", metric[0]}, {"after", metric[1]}};
  absl::StrAppend(&text, "metric of the command: ", metric[1], ", float32 ", metric[0], "\n");
  return absl::OkStatus();
}

}  // namespace

int Quantize(const QuantizeOptions& options) {
  LowerOptions lower;
  lower.input = options.input;
  lower.max_size = options.max_size;
  lower.methods = options.methods;
  lower.backends = options.backends;
  lower.quantize = options.recipe;
  lower.calibration = options.calibration;
  lower.max_loss = options.max_loss;
  lower.node_losses = options.node_losses;
  lower.threads = options.threads;
  lower.limits = options.limits;
  bool bad_usage = false;
  const auto lowering = PrepareLowering(lower, bad_usage, "quantize");
  if (!lowering.ok()) {
    return bad_usage ? ReportBadUsage(lowering.status()) : Report(lowering.status());
  }
  const std::vector<std::string>& files = (*lowering)->files;
  if (const absl::Status status = CheckFiles(options, files); !status.ok()) {
    return ReportBadUsage(status);
  }
  const WithinLimits limits(options.limits, files);
  Progress progress;
  (*lowering)->pipeline.progress = [&](std::string_view phase, double done) {
    progress.Update(phase, done);
  };
  exir::PipelineReport ignored;
  absl::StatusOr<exir::MethodPrograms> programs = ImportForLowering(**lowering, ignored);
  const bool evaluates = !options.labels.empty() || !options.metric.empty() || options.times;
  exir::MethodPrograms before;
  if (programs.ok() && evaluates) {
    programs = exir::LowerToStage(*std::move(programs), exir::Stage::kEdge, (*lowering)->pipeline,
                                  &ignored);
    (*lowering)->pipeline.transform_passes = {};  // done
    if (programs.ok()) before = exir::Clone(*programs);
  }
  if (!programs.ok()) return Report(programs.status());
  const absl::StatusOr<std::optional<QuantizeReport>> report =
      QuantizeForLowering(**lowering, *programs, ignored, /*end=*/1);
  if (!report.ok()) return Report(report.status());
  nlohmann::json json = QuantizeReportJson(**report);
  std::string text;
  if (evaluates) {
    const absl::Status status = Evaluate(options, **lowering, before, *programs, json, text);
    if (!status.ok()) return Report(status);
  }
  const absl::Status written = WritePageAndPrograms(options, json, *programs, (*lowering)->saved);
  if (!written.ok()) return Report(written);
  if (options.json) {
    std::cout << JsonText(json);
  } else {
    PrintQuantizeReport(**report, std::cout);
    std::cout << text;
  }
  return kDone;
}

Command QuantizeCommand() {
  const auto quantize = std::make_shared<QuantizeOptions>();
  return {
      .name = "quantize",
      .about = "Quantizes exported programs (.pt2), or saved ones (.bir), and saves them (.bir).",
      .options = WithLimits(
          {{"archive",
            &quantize->input,
            "FILE or FILE:MODEL: the archive that becomes the method 'forward'",
            {.not_empty = true}},
           {"-o,--output",
            &quantize->output,
            "the file of saved programs (.bir) to write",
            {.required = true, .not_empty = true}},
           {"--recipe",
            &quantize->recipe,
            "name of a recipe, or a file that ends in .json (docs/quantization.md)",
            {.required = true, .not_empty = true}},
           {"--method",
            &quantize->methods,
            "NAME=FILE or NAME=FILE:MODEL: one more method (repeatable)",
            {.repeatable = true, .one_value = true}},
           {"--backend",
            &quantize->backends,
            "[METHOD:]NAMES: backends that will execute the program (repeatable), or 'none'; "
            "default: 'cpu'",
            {.repeatable = true, .one_value = true}},
           {"--max-size",
            &quantize->max_size,
            "VALUE: upper bound of sizes for which the program has none; SYMBOL=VALUE: of one "
            "size, as 'belay inspect' names it (repeatable)",
            {.repeatable = true, .one_value = true}},
           {"--calibration",
            &quantize->calibration,
            "[METHOD:]PATH: a .npy file, a folder of input_<i>.npy, or a folder of these: "
            "representative inputs of all methods, or of one (repeatable)",
            {.repeatable = true, .one_value = true}},
           {"--max-loss",
            &quantize->max_loss,
            "METRIC=VALUE: bound of the loss of each output over the calibration data; operators "
            "that cost most stay in float32. snr=DB, cosine=VALUE or mse=VALUE",
            {.not_empty = true}},
           {"--node-losses", &quantize->node_losses,
            "also reports the loss of the result of each node over the calibration data"},
           {"--times", &quantize->times,
            "also lowers the programs before and after for the backends, and reports the time of a "
            "call with random inputs, by module"},
           {"--labels",
            &quantize->labels,
            "[METHOD:]PATH: a folder with a folder of calls per class: also reports top-1 and "
            "top-5 "
            "accuracy, before and after (repeatable)",
            {.repeatable = true, .one_value = true}},
           {"--metric",
            &quantize->metric,
            "COMMAND: also reports the number that 'COMMAND FILE' prints last, for files (.bir) of "
            "the programs before and after",
            {.not_empty = true}},
           ThreadsOption(&quantize->threads),
           {"--html",
            &quantize->html,
            "also writes this page for a browser: losses by node with their distributions, the "
            "worst first",
            {.not_empty = true}},
           {"--json", &quantize->json, "prints the report as JSON"}},
          &quantize->limits, /*lowers=*/true),
      .footer = absl::StrCat(
          RecipeList(),
          "Example: belay quantize model.pt2 -o model.q.bir --recipe 8da4w+embeddings-int4\n"
          "         belay lower model.q.bir -o model.belay"),
      .owned = quantize,
      .run = [quantize] { return Quantize(*quantize); },
  };
}

}  // namespace belay::tools
