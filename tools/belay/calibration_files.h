// Calibration data from files: --calibration.
#ifndef BELAY_TOOLS_BELAY_CALIBRATION_FILES_H_
#define BELAY_TOOLS_BELAY_CALIBRATION_FILES_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "exir/ir/exported_program.h"
#include "exir/pipeline.h"
#include "exir/quantize/calibration.h"
#include "tools/belay/call_inputs.h"
#include "tools/belay/max_sizes.h"
#include "tools/belay/method_options.h"
#include "tools/belay/session.h"

namespace belay::tools {

// Paths of --calibration, by method.
using CalibrationPaths = exir::PerMethod<std::string>;

// Parses [METHOD:]PATH of --calibration, or of another option, which messages name. Paths without a
// method are for the methods without paths of their own. kInvalidArgument (bad usage): the part
// before a colon is not one of `methods`, and no such file exists.
absl::StatusOr<CalibrationPaths> ParseCalibration(const std::vector<std::string>& options,
                                                  const std::vector<MethodOption>& methods,
                                                  std::string_view option = "--calibration");

// Calls of one method. The files of a call are read when it is executed.
class CalibrationFiles : public exir::CalibrationData {
 public:
  // Each of `paths` is a call or a folder of calls, in this order:
  //   x.npy    a call of a method with one input
  //   folder   with input_<i>.npy: a call (InputsFromFolder)
  //   folder   otherwise: its .npy files and its folders, sorted by name, a call each
  // `program` is the method's edge program.
  //   kNotFound         a path does not exist
  //   kInvalidArgument  a folder without calls; a file of another type
  //   kUnavailable      a folder cannot be read
  //   errors of lowering a program with these inputs, which gives their types
  static absl::StatusOr<std::unique_ptr<CalibrationFiles>> Open(
      const std::vector<std::string>& paths, const MaxSizes& max_sizes, const std::string& method,
      const exir::ExportedProgram& program);

  int calls() const override { return static_cast<int>(calls_.size()); }
  std::string Name(int call) const override { return calls_[static_cast<size_t>(call)]; }
  // kInvalidArgument: an element of a floating-point input is NaN or infinite. Also errors of
  // InputsFromFiles and InputsFromFolder.
  absl::StatusOr<absl::Span<const EValue>> Inputs(int call) override;

 private:
  explicit CalibrationFiles(std::vector<std::string> calls) : calls_(std::move(calls)) {}

  std::vector<std::string> calls_;  // a .npy file or a folder of input_<i>.npy each
  std::unique_ptr<Session> session_;
  CallInputs inputs_;
};

}  // namespace belay::tools

#endif  // BELAY_TOOLS_BELAY_CALIBRATION_FILES_H_
