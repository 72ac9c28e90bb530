// `belay quantize`: quantizes programs and saves them, for lower, inspect and verify.
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "backends/aot_backends.h"
#include "exir/ops/standard_ops.h"
#include "exir/pipeline.h"
#include "exir/quantize/recipe.h"
#include "exir/serialize/saved_programs.h"
#include "tools/belay/archive_model.h"
#include "tools/belay/chosen_backends.h"
#include "tools/belay/command.h"
#include "tools/belay/max_sizes.h"
#include "tools/belay/method_options.h"
#include "tools/belay/printing.h"
#include "tools/belay/progress.h"
#include "tools/belay/quantized_methods.h"
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

}  // namespace

int Quantize(const QuantizeOptions& options) {
  const absl::StatusOr<std::vector<std::string>> saved = SavedMethods(options.input);
  if (!saved.ok()) return Report(saved.status());
  const absl::StatusOr<std::vector<MethodOption>> methods =
      MethodsOf("quantize", options.input, options.methods, *saved);
  if (!methods.ok()) return ReportBadUsage(methods.status());
  std::vector<std::string> files;
  for (const MethodOption& method : *methods) {
    files.push_back(ParseArchiveModel(method.archive).path);
  }
  if (const absl::Status status = CheckOutputsDifferFromArchives({options.output}, files);
      !status.ok()) {
    return ReportBadUsage(status);
  }
  if (IsSameFile(options.output, options.recipe)) {
    return ReportBadUsage(absl::InvalidArgumentError(
        absl::StrCat(options.output, " can't be written: it is the recipe file")));
  }
  bool bad_usage = true;
  const absl::StatusOr<exir::Recipe> recipe =
      ChooseRecipe(options.recipe, options.calibration, bad_usage);
  if (!recipe.ok()) return bad_usage ? ReportBadUsage(recipe.status()) : Report(recipe.status());
  const absl::StatusOr<Partitioners> partitioners = ChooseBackends(options.backends, {});
  if (!partitioners.ok()) return ReportBadUsage(partitioners.status());
  const auto ops = exir::CreateStandardOps();
  if (!ops.ok()) return Report(ops.status());
  const absl::StatusOr<MaxSizes> max_sizes = ParseMaxSizes(options.max_size);
  if (!max_sizes.ok()) return ReportBadUsage(max_sizes.status());
  const WithinLimits limits(options.limits, files);
  Progress progress;
  exir::PipelineOptions pipeline;
  pipeline.limits = options.limits.ForLowering();
  pipeline.partitioners = partitioners->chosen;
  pipeline.backends = &AotBackends();
  max_sizes->SetIn(pipeline);
  pipeline.progress = [&](std::string_view phase, double done) { progress.Update(phase, done); };
  const absl::StatusOr<std::vector<exir::MethodArchive>> archives = ChooseModels(*methods);
  if (!archives.ok()) return Report(archives.status());
  absl::StatusOr<exir::MethodPrograms> programs = exir::ImportMethods(*archives, **ops, pipeline);
  if (!programs.ok()) return Report(programs.status());
  programs = exir::LowerToStage(*std::move(programs), exir::Stage::kEdge, pipeline);
  if (!programs.ok()) return Report(programs.status());
  progress.Update("quantize", 0.5);
  const absl::StatusOr<QuantizeReport> report =
      QuantizeMethods(*programs, {*recipe, options.calibration, *max_sizes, &partitioners->chosen});
  if (!report.ok()) return Report(report.status());
  const absl::Status written = exir::WriteSavedPrograms(*programs, options.output);
  if (!written.ok()) return Report(written);
  if (options.json) {
    std::cout << JsonText(QuantizeReportJson(*report));
  } else {
    PrintQuantizeReport(*report, std::cout);
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
            "PATH: a .npy file, a folder of input_<i>.npy, or a folder of these: representative "
            "inputs for int8-static (repeatable)",
            {.repeatable = true, .one_value = true}},
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
