#include "backends/cpu/aot/passes/cpu_pass_testing.h"

#include <memory>

#include "backends/cpu/ops/cpu_ops.h"
#include "exir/ops/standard_ops.h"
#include "runtime/core/status_macros.h"

namespace belay::cpu {

const exir::OpRegistry& CpuPassTestOps() {
  static const exir::OpRegistry& ops = *[] {
    absl::StatusOr<std::unique_ptr<exir::OpRegistry>> made = exir::CreateStandardOps();
    ABSL_CHECK(made.ok());
    ABSL_CHECK(AddCpuOps(**made).ok());
    return made->release();
  }();
  return ops;
}

}  // namespace belay::cpu
