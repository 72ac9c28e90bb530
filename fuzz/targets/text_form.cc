// Programs in text form: what parses is printed and parsed again, and verified.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "exir/ir/text.h"
#include "exir/ir/verifier.h"
#include "exir/ops/standard_ops.h"
#include "fuzz/oracles/require.h"
#include "fuzz/oracles/round_trip.h"
#include "fuzz/oracles/typed_status.h"
#include "runtime/core/status_macros.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace belay;
  // Unknown operators are added to it.
  static const auto make_ops = [] {
    auto created = exir::CreateStandardOps();
    ABSL_CHECK(created.ok());
    return *std::move(created);
  };
  static std::unique_ptr<exir::OpRegistry>& ops =
      *new std::unique_ptr<exir::OpRegistry>(make_ops());
  static uint64_t uses = 0;
  if (++uses % 4096 == 0) ops = make_ops();
  const std::string text(reinterpret_cast<const char*>(data), size);
  const absl::StatusOr<exir::ExportedProgram> program = exir::ParseProgram(text, *ops);
  fuzz::Require(fuzz::CheckTyped("parse", program.status(), fuzz::kReaderCodes));
  if (!program.ok()) return 0;
  fuzz::Require(
      fuzz::CheckTyped("verify", exir::Verify(*program),
                       {absl::StatusCode::kFailedPrecondition, absl::StatusCode::kInvalidArgument,
                        absl::StatusCode::kUnimplemented}));
  fuzz::Require(fuzz::CheckRoundTrip(*program, *ops));
  return 0;
}
