#include "fuzz/targets/backend_blob.h"

#include <cstddef>
#include <cstdint>
#include <string>

#include "fuzz/generators/byte_source.h"
#include "fuzz/generators/program_generator.h"
#include "fuzz/oracles/execution.h"
#include "fuzz/oracles/require.h"
#include "runtime/backend/backend_registry.h"
#include "runtime/core/status_macros.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace belay;
  static const std::vector<const BackendRuntime*>& runtimes =
      *new std::vector<const BackendRuntime*>(fuzz::FuzzedRuntimes());
  static const BackendRegistry& backends = *[] {
    auto* registry = new BackendRegistry;
    for (const BackendRuntime* runtime : runtimes) ABSL_CHECK(registry->Add(runtime).ok());
    return registry;
  }();
  static const KernelRegistry& kernels = *new KernelRegistry;
  if (runtimes.empty()) return 0;
  fuzz::ByteSource source(data, size), inputs(data, size);
  const BackendRuntime& backend = *runtimes[source.Below(runtimes.size())];
  const std::string file = fuzz::GenerateDelegateFile(source, std::string(backend.id()));
  fuzz::Require(fuzz::CheckExecution(file, {.kernels = kernels, .backends = backends}, inputs));
  return 0;
}
