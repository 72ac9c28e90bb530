#include "tools/belay/quantized_methods.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "exir/quantize/recipe_file.h"
#include "runtime/core/annotate.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/thread_pool.h"
#include "runtime/kernels/standard_kernels.h"
#include "tools/belay/printing.h"

namespace belay::tools {

absl::StatusOr<exir::Recipe> ChooseRecipe(const std::string& name_or_file,
                                          const std::vector<std::string>& calibration,
                                          std::string_view measuring_option, bool& bad_usage) {
  bad_usage = !name_or_file.ends_with(".json");
  ABSL_ASSIGN_OR_RETURN(exir::Recipe recipe, exir::FindRecipe(name_or_file));
  bad_usage = true;
  if (!measuring_option.empty() && calibration.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(measuring_option, " needs --calibration"));
  }
  if (!measuring_option.empty() || recipe.needs_calibration() == !calibration.empty()) {
    return recipe;
  }
  return absl::InvalidArgumentError(absl::StrCat("recipe '", OneLine(recipe.name), "' ",
                                                 calibration.empty() ? "needs" : "does not use",
                                                 " --calibration"));
}

absl::StatusOr<QuantizeReport> QuantizeMethods(exir::MethodPrograms& methods,
                                               const QuantizeSetup& setup) {
  const auto start = std::chrono::steady_clock::now();
  KernelRegistry kernels;
  ThreadPool threads(std::min(setup.threads, ThreadPool::kMaxThreads));
  std::vector<std::unique_ptr<CalibrationFiles>> calibration;
  std::vector<exir::ProgramToQuantize> programs;
  for (const auto& [name, program] : methods) {
    const auto prepare = [&]() -> absl::Status {
      exir::ProgramToQuantize& method = programs.emplace_back();
      method.program = &program;
      method.method = name;
      if (setup.recipe.is_static()) {
        for (const exir::Partitioner* partitioner : setup.partitioners->Of(name)) {
          method.patterns = partitioner->StaticQuantization();
          if (!method.patterns.patterns.empty()) break;
        }
        if (method.patterns.patterns.empty()) {
          return absl::UnimplementedError("no backend has patterns for static quantization");
        }
      }
      const std::vector<std::string>& paths = setup.calibration.Of(name);
      if (paths.empty()) return absl::OkStatus();
      ABSL_ASSIGN_OR_RETURN(calibration.emplace_back(),
                            CalibrationFiles::Open(paths, setup.max_sizes, name, program));
      method.calibration = calibration.back().get();
      method.calibration->threads = &threads;
      return absl::OkStatus();
    };
    if (const absl::Status status = prepare(); !status.ok()) {
      return Annotate(status, absl::StrCat("quantize: method '", name, "'"));
    }
  }
  if (!calibration.empty()) ABSL_RETURN_IF_ERROR(AddStandardKernels(kernels));
  absl::StatusOr<std::vector<exir::QuantizeResult>> results =
      exir::QuantizePrograms(programs, setup.recipe,
                             {.kernels = &kernels,
                              .max_loss = setup.max_loss,
                              .node_losses = setup.node_losses,
                              .threads = &threads,
                              .progress = setup.progress});
  if (!results.ok()) return Annotate(results.status(), "quantize");
  QuantizeReport report;
  report.recipe = setup.recipe.name;
  for (size_t i = 0; i < methods.size(); ++i) {
    exir::QuantizeResult& result = (*results)[i];
    methods[i].second = std::move(result.program);
    report.methods.push_back({methods[i].first, std::move(result.quantized),
                              std::move(result.unquantized), std::move(result.activations),
                              std::move(result.notes), std::move(result.measured),
                              std::move(result.node_losses)});
  }
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return report;
}

}  // namespace belay::tools
