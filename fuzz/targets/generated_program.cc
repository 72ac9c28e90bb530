// Generated program files: any operators on any values, with jumps.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "fuzz/generators/byte_source.h"
#include "fuzz/generators/program_generator.h"
#include "fuzz/oracles/execution.h"
#include "fuzz/oracles/require.h"
#include "fuzz/targets/test_doubles.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace belay;
  static const std::vector<std::string_view>& operators =
      *new std::vector<std::string_view>(fuzz::KernelDoubles().Operators());
  fuzz::ByteSource source(data, size);
  const std::string file = fuzz::GenerateProgramFile(source, operators);
  fuzz::Require(fuzz::CheckExecution(
      file,
      {.kernels = fuzz::KernelDoubles(), .backends = fuzz::BackendDoubles(), .test_doubles = true},
      source));
  return 0;
}
