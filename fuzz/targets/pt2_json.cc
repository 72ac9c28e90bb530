// The JSON of a program, in an otherwise valid archive.
#include <cstddef>
#include <cstdint>
#include <string>

#include "exir/import/testing/archive.h"
#include "fuzz/oracles/require.h"
#include "fuzz/targets/import_check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace belay;
  const std::string json(reinterpret_cast<const char*>(data), size);
  fuzz::Require(
      fuzz::CheckImport(exir::PackArchive(exir::DefaultFiles(json)), fuzz::TightImportOptions()));
  return 0;
}
