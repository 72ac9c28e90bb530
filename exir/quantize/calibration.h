// Calibration data, and their execution.
#ifndef BELAY_EXIR_QUANTIZE_CALIBRATION_H_
#define BELAY_EXIR_QUANTIZE_CALIBRATION_H_

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "exir/interpreter/owned_value.h"
#include "exir/ir/exported_program.h"
#include "runtime/core/evalue.h"
#include "runtime/core/tensor_view.h"
#include "runtime/core/thread_pool.h"
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

  // Works on the kernels of the calls; must outlive this. Null: only the calling thread does.
  ThreadPool* threads = nullptr;
  // Mutated state before the first call, by name. Other state begins with the program's values.
  std::map<std::string, OwnedValue> state = {};
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
// program mutates begins with CalibrationData::state and continues from call to call. `progress` may
// be null.
//   kDeadlineExceeded, kCancelled  of the thread's Budget, checked after each call
//   errors of Interpreter, of the data and of the observer, annotated with the call's name
absl::Status RunCalls(const ExportedProgram& program, const KernelRegistry& kernels,
                      CalibrationData& data, const CallObserver& observer, CallProgress* progress);

// A method and its data. Null data: the method is not executed.
struct CalibratedProgram {
  const ExportedProgram* program = nullptr;
  CalibrationData* data = nullptr;
};
// Sets CalibrationData::state: state that several methods mutate continues from method to method, in
// this order. Executes the calls of each method that shares state with a later one. Errors of
// RunCalls; sets `failed` to the method's index.
absl::Status ShareState(absl::Span<const CalibratedProgram> methods, const KernelRegistry& kernels,
                        CallProgress* progress, size_t& failed);

// Returns the float32 elements of a tensor, in any order. Copies them to `copy` unless they are
// dense.
absl::Span<const float> ElementsOf(const TensorView& view, std::vector<float>& copy);

}  // namespace belay::exir

#endif  // BELAY_EXIR_QUANTIZE_CALIBRATION_H_
