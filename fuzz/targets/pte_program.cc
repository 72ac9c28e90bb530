// ExecuTorch programs (.pte): opened under tight limits, loaded with the reference kernels and the
// XNNPACK backend, and executed within an instruction budget.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "executorch/reader/open_program.h"
#include "executorch/reader/prim_kernels.h"
#include "fuzz/generators/byte_source.h"
#include "fuzz/oracles/execution.h"
#include "fuzz/oracles/require.h"
#include "runtime/backend/backend_registry.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernels/reference/reference_kernels.h"

namespace belay::xnnpack {
std::vector<const BackendRuntime*> Runtimes();
}  // namespace belay::xnnpack

namespace {

belay::KernelRegistry Kernels() {
  belay::KernelRegistry kernels;
  ABSL_CHECK(belay::AddReferenceKernels(kernels).ok());
  ABSL_CHECK(kernels.Add(belay::pte::PrimKernels()).ok());
  return kernels;
}

belay::BackendRegistry Backends() {
  belay::BackendRegistry backends;
  for (const belay::BackendRuntime* runtime : belay::xnnpack::Runtimes()) {
    ABSL_CHECK(backends.Add(runtime).ok());
  }
  return backends;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace belay;
  static const KernelRegistry& kernels = *new KernelRegistry(Kernels());
  static const BackendRegistry& backends = *new BackendRegistry(Backends());
  const fuzz::Engines engines = {.kernels = kernels, .backends = backends};
  const std::string_view file(reinterpret_cast<const char*>(data), size);
  const std::shared_ptr<const std::byte> bytes = fuzz::CopyExactly(file);
  Program::Options options;
  options.limits = engines.limits;
  fuzz::ByteSource inputs(file);
  fuzz::Require(
      fuzz::CheckExecution(pte::OpenProgramBytes(bytes, absl::MakeConstSpan(bytes.get(), size),
                                                 pte::DataFiles(), options),
                           engines, inputs));
  return 0;
}
