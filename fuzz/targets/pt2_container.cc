// Generated archives: headers of the zip format, and sets of entries.
#include <cstddef>
#include <cstdint>
#include <string>

#include "fuzz/generators/byte_source.h"
#include "fuzz/generators/container_generator.h"
#include "fuzz/oracles/require.h"
#include "fuzz/targets/import_check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  belay::fuzz::ByteSource source(data, size);
  belay::exir::ImportOptions options = belay::fuzz::TightImportOptions();
  options.verify_checksums = source.Chance(50);
  const std::string archive = belay::fuzz::GenerateContainer(source);
  belay::fuzz::Require(belay::fuzz::CheckImport(archive, options));
  return 0;
}
