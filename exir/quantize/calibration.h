// Calibration data, and their execution.
#ifndef BELAY_EXIR_QUANTIZE_CALIBRATION_H_
#define BELAY_EXIR_QUANTIZE_CALIBRATION_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "exir/interpreter/owned_value.h"
#include "exir/ir/exported_program.h"
#include "runtime/core/evalue.h"
#include "runtime/core/tensor_view.h"
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

// Counts executed calls, over all executions that a caller plans.
struct CallProgress {
  int64_t planned = 0, done = 0;
  std::function<void(double)> report = nullptr;  // fraction, in [0, 1]

  void Count() {
    ++done;
    if (report && planned > 0) {
      report(done < planned ? static_cast<double>(done) / static_cast<double>(planned) : 1.0);
    }
  }
};

struct CallObserver {
  // Called with each user input, and with each tensor that a node of the top graph computes. Empty:
  // not called.
  std::function<void(ValueId, const TensorView&)> tensor = nullptr;
  // Called with the user outputs of each call. Empty: not called.
  std::function<absl::Status(int call, absl::Span<const OwnedValue> outputs)> outputs = nullptr;
};

// Executes the calls in the interpreter, with the kernels that the registry prefers. State that the
// program mutates begins with the program's values and continues from call to call. `progress` may
// be null.
//   kDeadlineExceeded, kCancelled  of the thread's Budget, checked after each call
//   errors of Interpreter, of the data and of the observer, annotated with the call's name
absl::Status RunCalls(const ExportedProgram& program, const KernelRegistry& kernels,
                      CalibrationData& data, const CallObserver& observer, CallProgress* progress);

// Returns the float32 elements of a tensor, in any order. Copies them to `copy` unless they are
// dense.
absl::Span<const float> ElementsOf(const TensorView& view, std::vector<float>& copy);

}  // namespace belay::exir

#endif  // BELAY_EXIR_QUANTIZE_CALIBRATION_H_
