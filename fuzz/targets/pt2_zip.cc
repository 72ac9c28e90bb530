// Raw archives (`.pt2`).
#include <cstddef>
#include <cstdint>
#include <string>

#include "fuzz/oracles/require.h"
#include "fuzz/targets/import_check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string archive(reinterpret_cast<const char*>(data), size);
  belay::fuzz::Require(belay::fuzz::CheckImport(archive, belay::fuzz::TightImportOptions()));
  return 0;
}
