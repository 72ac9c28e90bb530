// Quantizes the methods of a command.
#ifndef BELAY_TOOLS_BELAY_QUANTIZED_METHODS_H_
#define BELAY_TOOLS_BELAY_QUANTIZED_METHODS_H_

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "exir/backend/to_backend.h"
#include "exir/pipeline.h"
#include "exir/quantize/output_loss.h"
#include "exir/quantize/quantize_program.h"
#include "exir/quantize/recipe.h"
#include "tools/belay/calibration_files.h"
#include "tools/belay/max_sizes.h"
#include "tools/belay/quantize_report.h"

namespace belay::tools {

struct QuantizeSetup {
  exir::Recipe recipe;
  CalibrationPaths calibration;
  std::optional<exir::MaxLoss> max_loss;
  bool node_losses = false;
  MaxSizes max_sizes;
  int threads = 1;  // that quantize weights and execute the calibration data
  // The first one of a method that has patterns decides what is quantized statically.
  const exir::PerMethod<const exir::Partitioner*>* partitioners = nullptr;
  std::function<void(double)> progress = nullptr;  // exir::QuantizeOptions::progress
};

// Finds a recipe (exir::FindRecipe). `calibration` is required if the recipe needs it, or if an
// option measures losses: `measuring_option`, "" for none. It must be empty otherwise. On error, sets
// `bad_usage` to false if a recipe file is invalid, else to true.
absl::StatusOr<exir::Recipe> ChooseRecipe(const std::string& name_or_file,
                                          const std::vector<std::string>& calibration,
                                          std::string_view measuring_option, bool& bad_usage);

// Replaces the edge programs by quantized ones (exir/quantize/quantize_program.h). Methods that
// share a weight share the quantized one. On error the programs are unchanged. Errors of
// QuantizePrograms and CalibrationFiles, annotated with the method, and
//   kUnimplemented  static quantization for backends without patterns
absl::StatusOr<QuantizeReport> QuantizeMethods(exir::MethodPrograms& methods,
                                               const QuantizeSetup& setup);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_BELAY_QUANTIZED_METHODS_H_
