// Programs in text form: parsed programs survive a round trip and are verified.
#include <cstddef>
#include <cstdint>
#include <string>

#include "exir/ir/text.h"
#include "exir/ir/verifier.h"
#include "fuzz/oracles/require.h"
#include "fuzz/oracles/round_trip.h"
#include "fuzz/oracles/typed_status.h"
#include "fuzz/targets/recycled_ops.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace belay;
  const exir::OpRegistry& ops = fuzz::RecycledOps();
  const std::string text(reinterpret_cast<const char*>(data), size);
  const absl::StatusOr<exir::ExportedProgram> program = exir::ParseProgram(text, ops);
  fuzz::Require(fuzz::CheckTyped("parse", program.status(), fuzz::kReaderCodes));
  if (!program.ok()) return 0;
  fuzz::Require(
      fuzz::CheckTyped("verify", exir::Verify(*program),
                       {absl::StatusCode::kFailedPrecondition, absl::StatusCode::kInvalidArgument,
                        absl::StatusCode::kUnimplemented}));
  fuzz::Require(fuzz::CheckRoundTrip(*program, ops));
  return 0;
}
