// Losses of a quantized program, summed by module.
#ifndef BELAY_TOOLS_BELAY_MODULE_LOSSES_H_
#define BELAY_TOOLS_BELAY_MODULE_LOSSES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "exir/quantize/affine.h"
#include "exir/quantize/node_loss.h"
#include "exir/quantize/quantized_program.h"

namespace belay::tools {

// Returns the paths of the modules around a node, the outermost first: "a" and "a.b" for "a.b".
std::vector<std::string> EnclosingModules(const std::string& path);

// The quantized operators of an nn.Module and of the modules in it.
struct ModuleLoss {
  std::string module;  // its path: "encoder.layers.0"
  int operators = 0;
  exir::QuantizationLoss weights;  // of all their weights; a shared weight counts once
  uint64_t bytes_before = 0, bytes_after = 0;
  // Of the module's last node, if node losses were measured.
  std::optional<exir::LossSums> result;
};

// Returns the modules that contain quantized operators, outer ones first, otherwise in execution
// order. `node_losses` may be null.
std::vector<ModuleLoss> SumByModule(absl::Span<const exir::QuantizedNode> nodes,
                                    const exir::NodeLosses* node_losses);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_BELAY_MODULE_LOSSES_H_
