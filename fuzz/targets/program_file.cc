// Program files: opened under tight limits, loaded with test kernels and executed within an
// instruction budget. Files with a wrong checksum are also tried with the right one.
#include <cstddef>
#include <cstdint>
#include <string>

#include "fuzz/generators/byte_source.h"
#include "fuzz/oracles/execution.h"
#include "fuzz/oracles/require.h"
#include "fuzz/targets/test_doubles.h"
#include "tools/mutate/mutator.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace belay;
  const fuzz::Engines engines = {
      .kernels = fuzz::KernelDoubles(), .backends = fuzz::BackendDoubles(), .test_doubles = true};
  std::string file(reinterpret_cast<const char*>(data), size);
  for (int attempt = 0; attempt < 2; ++attempt) {
    fuzz::ByteSource inputs(file);
    fuzz::Require(fuzz::CheckExecution(file, engines, inputs));
    const std::string given = file;
    mutate::FixHeader(file);
    if (file == given) break;
  }
  return 0;
}
