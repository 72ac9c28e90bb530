// Quantizes the methods of a command, and reports the loss.
#ifndef BELAY_TOOLS_BELAY_QUANTIZED_METHODS_H_
#define BELAY_TOOLS_BELAY_QUANTIZED_METHODS_H_

#include <ostream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "exir/backend/to_backend.h"
#include "exir/pipeline.h"
#include "exir/quantize/quantize_program.h"
#include "exir/quantize/recipe.h"
#include "nlohmann/json.hpp"
#include "tools/belay/max_sizes.h"

namespace belay::tools {

struct QuantizeReport {
  struct OfMethod {
    std::string method;
    std::vector<exir::QuantizedNode> quantized;
    std::vector<exir::UnquantizedNode> unquantized;
    std::vector<exir::QuantizedTensor> activations;
    std::vector<std::string> notes;
  };
  std::string recipe;
  double seconds = 0;
  std::vector<OfMethod> methods;
};

struct QuantizeSetup {
  exir::Recipe recipe;
  std::vector<std::string> calibration;  // paths (CalibrationFiles)
  MaxSizes max_sizes;
  // The first one of a method that has patterns decides what is quantized statically.
  const exir::PerMethod<const exir::Partitioner*>* partitioners = nullptr;
};

// Finds a recipe (exir::FindRecipe). `calibration` is required if the recipe needs it, and must be
// empty otherwise. On error, sets `bad_usage` to false if a recipe file is invalid, else to true.
absl::StatusOr<exir::Recipe> ChooseRecipe(const std::string& name_or_file,
                                          const std::vector<std::string>& calibration,
                                          bool& bad_usage);

// Replaces the edge programs by quantized ones (exir/quantize/quantize_program.h). Methods that
// share a weight share the quantized one. On error the programs are unchanged. Errors of
// QuantizeProgram and CalibrationFiles, annotated with the method, and
//   kUnimplemented  static quantization of several methods, or for backends without patterns
absl::StatusOr<QuantizeReport> QuantizeMethods(exir::MethodPrograms& methods,
                                               const QuantizeSetup& setup);

// Returns the report of --json. An SNR without noise is null.
nlohmann::json QuantizeReportJson(const QuantizeReport& report);

// Prints per method: the number of operators and bytes, the operators with the lowest SNR, and why
// operators stay in float32.
void PrintQuantizeReport(const QuantizeReport& report, std::ostream& out);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_BELAY_QUANTIZED_METHODS_H_
