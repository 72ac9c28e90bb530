#include "tools/belay/quantized_methods.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "exir/quantize/recipe_file.h"
#include "runtime/core/annotate.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/thread_pool.h"
#include "runtime/kernels/standard_kernels.h"
#include "tools/belay/printing.h"
#include "tools/graph/report_page.h"

namespace belay::tools {
namespace {

using nlohmann::json;

std::string SnrText(const exir::QuantizationLoss& loss) {
  const double snr = loss.SnrDb();
  return std::isfinite(snr) ? absl::StrFormat("%.1f dB", snr) : std::string("exact");
}

void PrintWorst(const std::vector<exir::QuantizedNode>& nodes, std::ostream& out) {
  constexpr size_t kShown = 8;
  std::vector<const exir::QuantizedNode*> worst;
  for (const exir::QuantizedNode& node : nodes) {
    if (node.shares_with.empty()) worst.push_back(&node);
  }
  // Ties in execution order: the nodes are elements of one vector.
  std::sort(worst.begin(), worst.end(), [](const auto* a, const auto* b) {
    return std::pair(a->loss.SnrDb(), a) < std::pair(b->loss.SnrDb(), b);
  });
  worst.resize(std::min(worst.size(), kShown));
  for (const exir::QuantizedNode* node : worst) {
    out << "  " << SnrText(node->loss) << ", max error "
        << absl::StrFormat("%.3g", node->loss.max_error) << ": " << OneLine(node->weight) << ", "
        << node->scheme << " (" << OneLine(node->node) << ")\n";
  }
}

void PrintUnquantized(const std::vector<exir::UnquantizedNode>& nodes, std::ostream& out) {
  constexpr size_t kShown = 3;
  std::map<std::string, std::vector<const exir::UnquantizedNode*>> by_reason;
  for (const exir::UnquantizedNode& node : nodes) by_reason[node.reason].push_back(&node);
  constexpr size_t kReasons = 12;
  size_t reasons = 0;
  for (const auto& [reason, list] : by_reason) {
    if (++reasons > kReasons) {
      out << "  and " << by_reason.size() - kReasons << " more reasons: see --json\n";
      break;
    }
    out << "  not quantized, " << list.size() << (list.size() == 1 ? " node: " : " nodes: ")
        << OneLine(reason) << " (";
    for (size_t i = 0; i < std::min(kShown, list.size()); ++i) {
      out << (i == 0 ? "" : ", ") << OneLine(list[i]->node);
    }
    out << (list.size() > kShown ? ", …)\n" : ")\n");
  }
}

// Infinite values become null.
json NumberJson(const std::optional<double>& value) {
  return value.has_value() && std::isfinite(*value) ? json(*value) : json();
}

json DistributionJson(const exir::Distribution& distribution) {
  if (distribution.empty()) return json();
  return {{"low", distribution.low},
          {"high", distribution.high},
          {"before", distribution.before},
          {"after", distribution.after}};
}

json MeasuredJson(const std::optional<exir::LossMeasurement>& measured) {
  if (!measured.has_value()) return json();
  json individual = json::object();
  for (const auto& [node, loss] : measured->individual) individual[node] = NumberJson(loss);
  return {{"metric", exir::LossMetricName(measured->metric)},
          {"all_quantized", NumberJson(measured->all_quantized)},
          {"loss", NumberJson(measured->loss)},
          {"individual", std::move(individual)}};
}

json NodeLossesJson(const std::optional<exir::NodeLosses>& losses) {
  if (!losses.has_value()) return json();
  json nodes = json::array();
  for (const exir::NodeLoss& loss : losses->nodes) {
    nodes.push_back({{"node", loss.node},
                     {"op", loss.op},
                     {"module", loss.module},
                     {"source", loss.source},
                     {"snr_db", NumberJson(loss.sums.Value(exir::LossMetric::kSnr))},
                     {"max_error", NumberJson(loss.sums.max_error)}});
  }
  return {{"calls", losses->calls}, {"nodes", std::move(nodes)}};
}

// Prints the nodes whose results have the lowest SNR.
void PrintNodeLosses(const exir::NodeLosses& losses, std::ostream& out) {
  constexpr size_t kShown = 8;
  std::vector<std::pair<double, const exir::NodeLoss*>> worst;
  for (const exir::NodeLoss& loss : losses.nodes) {
    worst.emplace_back(loss.sums.Value(exir::LossMetric::kSnr), &loss);
  }
  std::sort(worst.begin(), worst.end());
  worst.resize(std::min(worst.size(), kShown));
  out << "  results of nodes over " << losses.calls << (losses.calls == 1 ? " call" : " calls")
      << ", lowest SNR first:\n";
  for (const auto& [snr, loss] : worst) {
    out << "  " << (std::isfinite(snr) ? absl::StrFormat("%.1f dB", snr) : std::string("exact"))
        << ": " << OneLine(loss->node);
    if (!loss->module.empty()) out << " of " << OneLine(loss->module);
    out << "\n";
  }
}

}  // namespace

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

json QuantizeReportJson(const QuantizeReport& report) {
  json out = {{"recipe", report.recipe}, {"seconds", report.seconds}, {"methods", json::array()}};
  for (const auto& method : report.methods) {
    json quantized = json::array(), unquantized = json::array();
    for (const exir::QuantizedNode& node : method.quantized) {
      quantized.push_back({{"node", node.node},
                           {"op", node.op},
                           {"module", node.module},
                           {"source", node.source},
                           {"weight", node.weight},
                           {"scheme", node.scheme},
                           {"shares_with", node.shares_with},
                           {"snr_db", NumberJson(node.loss.SnrDb())},
                           {"max_error", node.loss.max_error},
                           {"clamped", node.loss.clamped},
                           {"elements", node.loss.elements},
                           {"bytes_before", node.bytes_before},
                           {"bytes_after", node.bytes_after},
                           {"corrects_bias", node.corrects_bias},
                           {"error_feedback", node.error_feedback},
                           {"distribution", DistributionJson(node.distribution)}});
    }
    for (const exir::UnquantizedNode& node : method.unquantized) {
      unquantized.push_back({{"node", node.node},
                             {"op", node.op},
                             {"module", node.module},
                             {"source", node.source},
                             {"reason", node.reason}});
    }
    json activations = json::array();
    for (const exir::QuantizedTensor& tensor : method.activations) {
      activations.push_back(
          {{"value", tensor.value},
           {"low", tensor.low},
           {"high", tensor.high},
           {"scale", tensor.parameters.scale},
           {"zero_point", tensor.parameters.zero_point},
           {"snr_db", tensor.loss.elements == 0 ? json() : NumberJson(tensor.loss.SnrDb())},
           {"max_error", tensor.loss.max_error},
           {"clamped", tensor.loss.clamped},
           {"elements", tensor.loss.elements},
           {"distribution", DistributionJson(tensor.distribution)}});
    }
    out["methods"].push_back({{"method", method.method},
                              {"quantized", std::move(quantized)},
                              {"unquantized", std::move(unquantized)},
                              {"activations", std::move(activations)},
                              {"notes", method.notes},
                              {"measured", MeasuredJson(method.measured)},
                              {"node_losses", NodeLossesJson(method.node_losses)}});
  }
  return out;
}

std::string QuantizePage(const std::string& output, const json& report) {
  return QuantizationPage(
      {{"title", std::filesystem::path(output).filename().string()},
       {"subtitle", absl::StrCat("recipe ", report["recipe"].get<std::string>())},
       {"report", report}});
}

void PrintQuantizeReport(const QuantizeReport& report, std::ostream& out) {
  out << "recipe " << Bold(OneLine(report.recipe)) << ": quantized in " << Duration(report.seconds)
      << "\n";
  for (const auto& method : report.methods) {
    uint64_t before = 0, after = 0;
    for (const exir::QuantizedNode& node : method.quantized) {
      before += node.bytes_before;
      after += node.bytes_after;
    }
    out << "method " << Bold(OneLine(method.method)) << ": " << method.quantized.size()
        << (method.quantized.size() == 1 ? " operator" : " operators") << " quantized, "
        << WithUnit(static_cast<double>(before), "B") << " of weights become "
        << WithUnit(static_cast<double>(after), "B");
    if (!method.activations.empty()) {
      out << "; " << method.activations.size() << " activations";
    }
    out << "\n";
    if (method.measured.has_value() && method.measured->loss.has_value()) {
      out << "  over the calibration data: " << exir::LossMetricName(method.measured->metric)
          << absl::StrFormat(" %.6g, with all operators quantized %.6g\n", *method.measured->loss,
                             *method.measured->all_quantized);
    }
    PrintWorst(method.quantized, out);
    if (method.node_losses.has_value()) PrintNodeLosses(*method.node_losses, out);
    PrintUnquantized(method.unquantized, out);
    for (const std::string& note : method.notes) out << "  " << OneLine(note) << "\n";
  }
}

}  // namespace belay::tools
