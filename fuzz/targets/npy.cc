// `.npy` files.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

#include "absl/types/span.h"
#include "fuzz/oracles/require.h"
#include "fuzz/oracles/round_trip.h"
#include "fuzz/oracles/typed_status.h"
#include "runtime/core/npy.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace belay;
  const auto array = ReadNpy(absl::MakeConstSpan(reinterpret_cast<const std::byte*>(data), size));
  fuzz::Require(fuzz::CheckTyped("read", array.status(), fuzz::kReaderCodes));
  if (array.ok()) fuzz::Require(fuzz::CheckRoundTrip(*array));
  return 0;
}
