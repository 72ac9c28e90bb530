// Programs lowered from zoo models, with mutated fields: loaded with all kernels and backends, and
// executed.
#include <cstddef>
#include <cstdint>
#include <string>

#include "backends/runtime_backends.h"
#include "fuzz/generators/byte_source.h"
#include "fuzz/oracles/execution.h"
#include "fuzz/oracles/require.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernels/standard_kernels.h"
#include "tools/mutate/mutator.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace belay;
  static const KernelRegistry& kernels = *[] {
    auto* registry = new KernelRegistry;
    ABSL_CHECK(AddStandardKernels(*registry).ok());
    return registry;
  }();
  std::string file(reinterpret_cast<const char*>(data), size);
  mutate::FixHeader(file);
  fuzz::ByteSource inputs(file);
  fuzz::Require(
      fuzz::CheckExecution(file, {.kernels = kernels, .backends = RuntimeBackends()}, inputs));
  return 0;
}
