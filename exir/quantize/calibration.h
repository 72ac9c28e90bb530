// Calibration data, and the ranges of activations that they give.
#ifndef BELAY_EXIR_QUANTIZE_CALIBRATION_H_
#define BELAY_EXIR_QUANTIZE_CALIBRATION_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "exir/ir/exported_program.h"
#include "exir/quantize/placement.h"
#include "exir/quantize/recipe.h"
#include "runtime/core/evalue.h"
#include "runtime/kernel_interface/kernel_registry.h"

namespace belay::exir {

// Calls with representative inputs.
class CalibrationData {
 public:
  virtual ~CalibrationData() = default;
  virtual int calls() const = 0;  // at least 1
  // Name of a call in messages: its file.
  virtual std::string Name(int call) const = 0;
  // Returns the user inputs of a call, in the order of the signature. Valid until the next call.
  virtual absl::StatusOr<absl::Span<const EValue>> Inputs(int call) = 0;
};

// Executes the calls in the interpreter, with the kernels that the registry prefers, and observes
// the activations of each group. State that the program mutates continues from call to call.
// Returns one range per group; (0, 0) for one without finite elements, as an activation that is
// never computed.
//   kDeadlineExceeded, kCancelled  of the thread's Budget, checked after each call
//   errors of Interpreter and of the data, annotated with the call's name
absl::StatusOr<std::vector<std::pair<float, float>>> Calibrate(const ExportedProgram& program,
                                                               const Placement& placement,
                                                               const Recipe& recipe,
                                                               const KernelRegistry& kernels,
                                                               CalibrationData& data);

}  // namespace belay::exir

#endif  // BELAY_EXIR_QUANTIZE_CALIBRATION_H_
