// Lowers one archive of a model folder, runs all its cases, and compares.
#ifndef BELAY_CONFORMANCE_MODELS_MODEL_RUNNER_H_
#define BELAY_CONFORMANCE_MODELS_MODEL_RUNNER_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "conformance/models/manifest.h"
#include "exir/engine/call.h"
#include "exir/interpreter/owned_value.h"
#include "exir/op/op_registry.h"
#include "exir/pipeline.h"
#include "runtime/backend/backend_registry.h"
#include "runtime/executor/method.h"
#include "runtime/kernel/kernel_registry.h"

namespace belay::conformance {

struct Engine {
  const exir::OpRegistry* ops;
  const KernelRegistry* kernels;
  const BackendRegistry* backends;
  exir::PipelineOptions pipeline;
};

// The inputs of a case, from its files; none where there is no file. What is no tensor is a number of
// the file's dtype. Errors are those of ReadNpyFile, and kInvalidArgument where a file has no number.
absl::StatusOr<std::vector<exir::OwnedValue>> ReadInputs(const std::string& folder,
                                                         const ModelCase& model_case);

// What a call left behind against what was recorded, whichever engine ran it. OK, the call's own
// error, kNotFound for state that there is not, or kFailedPrecondition: the value and the element
// that differ are named. Precondition: the inputs were those of the case.
absl::Status CheckCase(const std::string& folder, const ModelCase& model_case,
                       const Manifest& manifest, const exir::CallOutcome& got);

// Archive `archive` (a file name) of the model in `folder`, lowered. Errors are those of LowerFiles.
absl::StatusOr<exir::ProgramImage> LowerModel(const std::string& folder, const Manifest& manifest,
                                              const std::string& archive, const Engine& engine);

// Lowers it and executes it. OK when every case matches within the manifest's tolerance.
//   kFailedPrecondition  a result differs: case, output and element are named
//   kUnimplemented       the model needs something that is not supported yet: everything missing is
//                        listed
//   anything else        lowering, loading or executing failed
absl::Status RunModel(const std::string& folder, const Manifest& manifest,
                      const std::string& archive, const Engine& engine);

// The same cases, of a method that is loaded already; kFailedPrecondition as above.
absl::Status RunCases(const std::string& folder, const Manifest& manifest, Method& method);

}  // namespace belay::conformance

#endif  // BELAY_CONFORMANCE_MODELS_MODEL_RUNNER_H_
