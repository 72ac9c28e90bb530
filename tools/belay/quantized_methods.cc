#include "tools/belay/quantized_methods.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <ostream>
#include <string_view>
#include <utility>

#include "absl/container/btree_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "exir/quantize/recipe_file.h"
#include "exir/quantize/stored_weights.h"
#include "runtime/core/annotate.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernels/standard_kernels.h"
#include "tools/belay/calibration_files.h"
#include "tools/belay/printing.h"

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
  for (const auto& [reason, list] : by_reason) {
    out << "  not quantized, " << list.size() << (list.size() == 1 ? " node: " : " nodes: ")
        << OneLine(reason) << " (";
    for (size_t i = 0; i < std::min(kShown, list.size()); ++i) {
      out << (i == 0 ? "" : ", ") << OneLine(list[i]->node);
    }
    out << (list.size() > kShown ? ", …)\n" : ")\n");
  }
}

}  // namespace

absl::StatusOr<exir::Recipe> ChooseRecipe(const std::string& name_or_file,
                                          const std::vector<std::string>& calibration,
                                          bool& bad_usage) {
  bad_usage = !name_or_file.ends_with(".json");
  ABSL_ASSIGN_OR_RETURN(exir::Recipe recipe, exir::FindRecipe(name_or_file));
  bad_usage = true;
  if (recipe.needs_calibration() == !calibration.empty()) return recipe;
  return absl::InvalidArgumentError(absl::StrCat("recipe '", OneLine(recipe.name), "' ",
                                                 calibration.empty() ? "needs" : "does not use",
                                                 " --calibration"));
}

absl::StatusOr<QuantizeReport> QuantizeMethods(exir::MethodPrograms& methods,
                                               const QuantizeSetup& setup) {
  const auto start = std::chrono::steady_clock::now();
  const bool calibrates = setup.recipe.needs_calibration();
  if (calibrates && methods.size() > 1) {
    return absl::UnimplementedError(absl::StrCat(
        "quantize: static quantization of several methods; the file has ", methods.size()));
  }
  KernelRegistry kernels;
  if (calibrates) ABSL_RETURN_IF_ERROR(AddStandardKernels(kernels));
  exir::EncodedWeights encoded;
  exir::QuantizeOptions options;
  options.encoded = &encoded;
  options.kernels = &kernels;
  for (const auto& [name, program] : methods) {
    const absl::btree_set<std::string_view> mutated = exir::MutatedState(program.signature);
    options.changing.insert(mutated.begin(), mutated.end());
  }
  QuantizeReport report;
  report.recipe = setup.recipe.name;
  std::vector<exir::ExportedProgram> programs;
  for (const auto& [name, program] : methods) {
    const auto quantize = [&]() -> absl::StatusOr<exir::QuantizeResult> {
      std::unique_ptr<CalibrationFiles> calibration;
      if (calibrates) {
        for (const exir::Partitioner* partitioner : setup.partitioners->Of(name)) {
          options.patterns = partitioner->StaticQuantization();
          if (!options.patterns.patterns.empty()) break;
        }
        if (options.patterns.patterns.empty()) {
          return absl::UnimplementedError("no backend has patterns for static quantization");
        }
        ABSL_ASSIGN_OR_RETURN(
            calibration, CalibrationFiles::Open(setup.calibration, setup.max_sizes, name, program));
        options.calibration = calibration.get();
      }
      return exir::QuantizeProgram(program, setup.recipe, options);
    };
    absl::StatusOr<exir::QuantizeResult> result = quantize();
    if (!result.ok()) {
      return Annotate(result.status(), absl::StrCat("quantize: method '", name, "'"));
    }
    programs.push_back(std::move(result->program));
    report.methods.push_back({name, std::move(result->quantized), std::move(result->unquantized),
                              std::move(result->activations), std::move(result->notes)});
  }
  for (size_t i = 0; i < methods.size(); ++i) methods[i].second = std::move(programs[i]);
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return report;
}

json QuantizeReportJson(const QuantizeReport& report) {
  json out = {{"recipe", report.recipe}, {"seconds", report.seconds}, {"methods", json::array()}};
  for (const auto& method : report.methods) {
    json quantized = json::array(), unquantized = json::array();
    for (const exir::QuantizedNode& node : method.quantized) {
      const double snr = node.loss.SnrDb();
      quantized.push_back({{"node", node.node},
                           {"op", node.op},
                           {"module", node.module},
                           {"source", node.source},
                           {"weight", node.weight},
                           {"scheme", node.scheme},
                           {"shares_with", node.shares_with},
                           {"snr_db", std::isfinite(snr) ? json(snr) : json()},
                           {"max_error", node.loss.max_error},
                           {"clamped", node.loss.clamped},
                           {"elements", node.loss.elements},
                           {"bytes_before", node.bytes_before},
                           {"bytes_after", node.bytes_after}});
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
      activations.push_back({{"value", tensor.value},
                             {"low", tensor.low},
                             {"high", tensor.high},
                             {"scale", tensor.parameters.scale},
                             {"zero_point", tensor.parameters.zero_point}});
    }
    out["methods"].push_back({{"method", method.method},
                              {"quantized", std::move(quantized)},
                              {"unquantized", std::move(unquantized)},
                              {"activations", std::move(activations)},
                              {"notes", method.notes}});
  }
  return out;
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
    PrintWorst(method.quantized, out);
    PrintUnquantized(method.unquantized, out);
    for (const std::string& note : method.notes) out << "  " << OneLine(note) << "\n";
  }
}

}  // namespace belay::tools
