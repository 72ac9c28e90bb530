#include "executorch/reader/program_kernels.h"

#include <string>

#include "executorch/reader/prim_kernels.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernels/standard_kernels.h"

namespace belay::pte {
namespace {

constexpr char kPrimNamespace[] = "executorch_prim.";

}  // namespace

absl::Status AddProgramKernels(const belay::Program& program, KernelRegistry& kernels) {
  ABSL_RETURN_IF_ERROR(AddStandardKernels(kernels));
  for (const MethodPlan& method : program.methods()) {
    for (const std::string& op : method.operators) {
      if (op.starts_with(kPrimNamespace)) return kernels.Add(PrimKernels());
    }
  }
  return absl::OkStatus();
}

}  // namespace belay::pte
