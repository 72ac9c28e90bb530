// Registries of kernels and backends that are simple enough to be looked through.
#ifndef BELAY_FUZZ_TARGETS_TEST_DOUBLES_H_
#define BELAY_FUZZ_TARGETS_TEST_DOUBLES_H_

#include "runtime/backend/backend_registry.h"
#include "runtime/kernel/kernel_registry.h"

namespace belay::fuzz {

// TestKernels(), and a FakeBackend. Made at the first call, and never destroyed.
const KernelRegistry& KernelDoubles();
const BackendRegistry& BackendDoubles();

}  // namespace belay::fuzz

#endif  // BELAY_FUZZ_TARGETS_TEST_DOUBLES_H_
