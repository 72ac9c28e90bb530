// Program files that a generator makes of the bytes: any operators on any values, with jumps.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "fuzz/generators/byte_source.h"
#include "fuzz/generators/program_generator.h"
#include "fuzz/oracles/execution.h"
#include "fuzz/oracles/require.h"
#include "runtime/core/status_macros.h"
#include "runtime/executor/testing/fake_backend.h"
#include "runtime/executor/testing/test_kernels.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace belay;
  static const KernelRegistry& kernels = *[] {
    auto* registry = new KernelRegistry;
    ABSL_CHECK(registry->Add(TestKernels()).ok());
    return registry;
  }();
  static const BackendRegistry& backends = *[] {
    auto* registry = new BackendRegistry;
    ABSL_CHECK(registry->Add(new FakeBackend).ok());
    return registry;
  }();
  static const std::vector<std::string_view>& operators =
      *new std::vector<std::string_view>(kernels.Operators());
  fuzz::ByteSource source(data, size);
  const std::string file = fuzz::GenerateProgramFile(source, operators);
  fuzz::Require(fuzz::CheckExecution(
      file, {.kernels = kernels, .backends = backends, .test_doubles = true}, source));
  return 0;
}
