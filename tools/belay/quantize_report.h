// The report of quantization: losses and bytes, by operator, activation, node and module.
#ifndef BELAY_TOOLS_BELAY_QUANTIZE_REPORT_H_
#define BELAY_TOOLS_BELAY_QUANTIZE_REPORT_H_

#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "exir/quantize/node_loss.h"
#include "exir/quantize/quantized_program.h"
#include "nlohmann/json.hpp"

namespace belay::tools {

struct QuantizeReport {
  struct OfMethod {
    std::string method;
    std::vector<exir::QuantizedNode> quantized;
    std::vector<exir::UnquantizedNode> unquantized;
    std::vector<exir::QuantizedTensor> activations;
    std::vector<std::string> notes;
    std::optional<exir::LossMeasurement> measured;
    std::optional<exir::NodeLosses> node_losses;
  };
  std::string recipe;
  double seconds = 0;
  std::vector<OfMethod> methods;
};

// Returns the report of --json. Infinite losses, as an SNR without noise, are null.
nlohmann::json QuantizeReportJson(const QuantizeReport& report);

// Returns the page of --html: `report` is the result of QuantizeReportJson for the file `output`.
std::string QuantizePage(const std::string& output, const nlohmann::json& report);

// Prints per method: the number of operators and bytes, the operators, activations and modules with
// the lowest SNR, and why operators stay in float32. With a bound of the loss, also the measured
// loss.
void PrintQuantizeReport(const QuantizeReport& report, std::ostream& out);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_BELAY_QUANTIZE_REPORT_H_
