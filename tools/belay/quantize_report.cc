#include "tools/belay/quantize_report.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tools/belay/module_losses.h"
#include "tools/belay/printing.h"
#include "tools/graph/report_page.h"

namespace belay::tools {
namespace {

using nlohmann::json;

std::string SnrText(double snr) {
  return std::isfinite(snr) ? absl::StrFormat("%.1f dB", snr) : std::string("exact");
}

constexpr size_t kWorst = 8;

// Sorts by SNR, the lowest first, and keeps kWorst. Ties stay in order: the elements are of one
// vector.
template <class Element>
void KeepWorst(std::vector<std::pair<double, const Element*>>& elements) {
  std::sort(elements.begin(), elements.end());
  elements.resize(std::min(elements.size(), kWorst));
}

// "24.1 dB, max error 0.01"
std::string LossText(const exir::QuantizationLoss& loss) {
  return absl::StrCat(SnrText(loss.SnrDb()), ", max error ",
                      absl::StrFormat("%.3g", loss.max_error));
}

void PrintWorst(const std::vector<exir::QuantizedNode>& nodes, std::ostream& out) {
  std::vector<std::pair<double, const exir::QuantizedNode*>> worst;
  for (const exir::QuantizedNode& node : nodes) {
    if (node.shares_with.empty()) worst.emplace_back(node.loss.SnrDb(), &node);
  }
  KeepWorst(worst);
  for (const auto& [snr, node] : worst) {
    out << "  " << LossText(node->loss) << ": " << OneLine(node->weight) << ", " << node->scheme
        << " (" << OneLine(node->node) << ")\n";
  }
}

// Prints the activations whose quantization over the calibration data has the lowest SNR.
void PrintWorstActivations(const std::vector<exir::QuantizedTensor>& tensors, std::ostream& out) {
  std::vector<std::pair<double, const exir::QuantizedTensor*>> worst;
  for (const exir::QuantizedTensor& tensor : tensors) {
    if (tensor.loss.elements != 0) worst.emplace_back(tensor.loss.SnrDb(), &tensor);
  }
  if (worst.empty()) return;
  KeepWorst(worst);
  out << "  activations, lowest SNR first:\n";
  for (const auto& [snr, tensor] : worst) {
    const double clamped = 100 * static_cast<double>(tensor->loss.clamped) /
                           static_cast<double>(tensor->loss.elements);
    out << "  " << LossText(tensor->loss)
        << absl::StrFormat(", %.2g %% clamped to %.3g … %.3g: ", clamped, tensor->low, tensor->high)
        << OneLine(tensor->value) << "\n";
  }
}

// Prints the modules with the lowest SNR of their results, or of their weights without node losses.
// Modules of one operator are those of PrintWorst.
void PrintWorstModules(const std::vector<ModuleLoss>& modules, std::ostream& out) {
  std::vector<std::pair<double, const ModuleLoss*>> worst;
  for (const ModuleLoss& module : modules) {
    if (module.operators < 2) continue;
    worst.emplace_back(module.result.has_value() ? module.result->Value(exir::LossMetric::kSnr)
                                                 : module.weights.SnrDb(),
                       &module);
  }
  if (worst.empty()) return;
  KeepWorst(worst);
  out << "  modules, lowest SNR first:\n";
  for (const auto& [snr, module] : worst) {
    out << "  weights " << SnrText(module->weights.SnrDb());
    if (module->result.has_value()) out << ", result " << SnrText(snr);
    out << ", " << module->operators << " operators, "
        << WithUnit(static_cast<double>(module->bytes_before), "B") << " become "
        << WithUnit(static_cast<double>(module->bytes_after), "B") << ": "
        << OneLine(module->module) << "\n";
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

json ModulesJson(const std::vector<ModuleLoss>& modules) {
  json out = json::array();
  for (const ModuleLoss& module : modules) {
    json row = {{"module", module.module},
                {"operators", module.operators},
                {"snr_db", NumberJson(module.weights.SnrDb())},
                {"max_error", module.weights.max_error},
                {"bytes_before", module.bytes_before},
                {"bytes_after", module.bytes_after}};
    if (module.result.has_value()) {
      row["result_snr_db"] = NumberJson(module.result->Value(exir::LossMetric::kSnr));
    }
    out.push_back(std::move(row));
  }
  return out;
}

std::vector<ModuleLoss> ModulesOf(const QuantizeReport::OfMethod& method) {
  return SumByModule(method.quantized,
                     method.node_losses.has_value() ? &*method.node_losses : nullptr);
}

// Prints the nodes whose results have the lowest SNR.
void PrintNodeLosses(const exir::NodeLosses& losses, std::ostream& out) {
  std::vector<std::pair<double, const exir::NodeLoss*>> worst;
  for (const exir::NodeLoss& loss : losses.nodes) {
    worst.emplace_back(loss.sums.Value(exir::LossMetric::kSnr), &loss);
  }
  KeepWorst(worst);
  out << "  results of nodes over " << losses.calls << (losses.calls == 1 ? " call" : " calls")
      << ", lowest SNR first:\n";
  for (const auto& [snr, loss] : worst) {
    out << "  " << SnrText(snr) << ": " << OneLine(loss->node);
    if (!loss->module.empty()) out << " of " << OneLine(loss->module);
    out << "\n";
  }
}

}  // namespace

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
                              {"modules", ModulesJson(ModulesOf(method))},
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
    PrintWorstActivations(method.activations, out);
    PrintWorstModules(ModulesOf(method), out);
    if (method.node_losses.has_value()) PrintNodeLosses(*method.node_losses, out);
    PrintUnquantized(method.unquantized, out);
    for (const std::string& note : method.notes) out << "  " << OneLine(note) << "\n";
  }
}

}  // namespace belay::tools
