// Registries of simple kernels and backends.
#ifndef BELAY_FUZZ_TARGETS_TEST_DOUBLES_H_
#define BELAY_FUZZ_TARGETS_TEST_DOUBLES_H_

#include "runtime/backend/backend_registry.h"
#include "runtime/kernel_interface/kernel_registry.h"

namespace belay::fuzz {

// TestKernels(), and a FakeBackend. Created at the first call, never destroyed.
const KernelRegistry& KernelDoubles();
const BackendRegistry& BackendDoubles();

}  // namespace belay::fuzz

#endif  // BELAY_FUZZ_TARGETS_TEST_DOUBLES_H_
