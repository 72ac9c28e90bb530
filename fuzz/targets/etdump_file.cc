// ExecuTorch's files of profiling events (.etdp).
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "executorch/reader/event_dump.h"
#include "fuzz/oracles/execution.h"
#include "fuzz/oracles/require.h"
#include "fuzz/oracles/typed_status.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace belay;
  const std::string_view file(reinterpret_cast<const char*>(data), size);
  const std::shared_ptr<const std::byte> bytes = fuzz::CopyExactly(file);
  const auto runs = pte::ReadEventDump(absl::MakeConstSpan(bytes.get(), size), fuzz::TightLimits());
  fuzz::Require(fuzz::CheckTyped("event dump", runs.status(), fuzz::kReaderCodes));
  return 0;
}
