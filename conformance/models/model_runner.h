// Lowers one archive of a model folder, executes all its cases, and compares the results.
#ifndef BELAY_CONFORMANCE_MODELS_MODEL_RUNNER_H_
#define BELAY_CONFORMANCE_MODELS_MODEL_RUNNER_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "conformance/models/manifest.h"
#include "exir/compare/call.h"
#include "exir/interpreter/owned_value.h"
#include "exir/op_definition/op_registry.h"
#include "exir/pipeline.h"
#include "runtime/backend/backend_registry.h"
#include "runtime/executor/method.h"
#include "runtime/kernel_interface/kernel_registry.h"

namespace belay::conformance {

struct Engine {
  const exir::OpRegistry* ops;
  const KernelRegistry* kernels;
  const BackendRegistry* backends;
  exir::PipelineOptions pipeline;
};

// Reads the inputs of a case from its files; an input without a file is None. Leaves that are not
// tensors become scalars of the file's dtype. Errors of ReadNpyFile; kInvalidArgument: a file has
// no element for a scalar.
absl::StatusOr<std::vector<exir::OwnedValue>> ReadInputs(const std::string& folder,
                                                         const ModelCase& model_case);

// Compares the results of a call, of any engine, with the recorded ones. Precondition: the inputs
// were those of the case.
//   the call's own error
//   kNotFound            unknown state
//   kFailedPrecondition  names the value and the element that differ
absl::Status CheckCase(const std::string& folder, const ModelCase& model_case,
                       const Manifest& manifest, const exir::CallOutcome& got);

// Lowers the archive `archive` (a file name) of the model in `folder`. Errors of LowerFiles.
absl::StatusOr<exir::ProgramImage> LowerModel(const std::string& folder, const Manifest& manifest,
                                              const std::string& archive, const Engine& engine);

// Lowers and executes the archive. OK if every case matches within the manifest's tolerance.
//   kFailedPrecondition  a result differs; names case, output and element
//   kUnimplemented       lists everything unsupported that the model needs
//   other codes          lowering, loading or executing failed
absl::Status RunModel(const std::string& folder, const Manifest& manifest,
                      const std::string& archive, const Engine& engine);

// Executes the same cases on a loaded method. kFailedPrecondition as above.
absl::Status RunCases(const std::string& folder, const Manifest& manifest, Method& method);

}  // namespace belay::conformance

#endif  // BELAY_CONFORMANCE_MODELS_MODEL_RUNNER_H_
