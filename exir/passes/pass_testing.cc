#include "exir/passes/pass_testing.h"

#include "exir/ops/standard_ops.h"
#include "runtime/core/status_macros.h"

namespace belay::exir {

const OpRegistry& PassTestOps() {
  static const OpRegistry& ops = *[] {
    auto created = CreateStandardOps();
    ABSL_CHECK(created.ok());
    return std::move(created)->release();
  }();
  return ops;
}

}  // namespace belay::exir
