// Loads methods of built files with the reference kernels.
#ifndef BELAY_EXECUTORCH_READER_TESTING_LOADED_METHOD_H_
#define BELAY_EXECUTORCH_READER_TESTING_LOADED_METHOD_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "executorch/reader/testing/pte_builder.h"
#include "runtime/backend/backend_registry.h"
#include "runtime/core/evalue.h"
#include "runtime/executor/method.h"
#include "runtime/kernel_interface/kernel_registry.h"
#include "runtime/program/program.h"

namespace belay::pte {

// The method "forward" and the objects that it depends on.
struct LoadedMethod {
  // Sets the inputs and executes.
  absl::Status Call(const std::vector<belay::EValue>& inputs);
  // Calls the method and returns the first output, a tensor of floats.
  absl::StatusOr<std::vector<float>> Execute(const std::vector<belay::EValue>& inputs);
  const MethodPlan& plan() const { return method->plan(); }
  // Precondition: the value is a tensor.
  const TensorPlan& tensor(int32_t value) const {
    return std::get<TensorPlan>(plan().values[value]);
  }

  KernelRegistry kernels;
  BackendRegistry backends;
  std::unique_ptr<belay::Program> program;
  std::unique_ptr<Method> method;
};

// Errors of OpenPte and Method::Load.
absl::StatusOr<std::unique_ptr<LoadedMethod>> Load(const PteBuilder& pte);

}  // namespace belay::pte

#endif  // BELAY_EXECUTORCH_READER_TESTING_LOADED_METHOD_H_
