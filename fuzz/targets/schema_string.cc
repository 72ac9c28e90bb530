// Operators' schemas.
#include <cstddef>
#include <cstdint>
#include <string>

#include "exir/op_definition/schema.h"
#include "fuzz/oracles/require.h"
#include "fuzz/oracles/round_trip.h"
#include "fuzz/oracles/typed_status.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace belay;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const absl::StatusOr<exir::FunctionSchema> schema = exir::FunctionSchema::Parse(text);
  fuzz::Require(fuzz::CheckTyped("parse", schema.status(), fuzz::kReaderCodes));
  if (!schema.ok()) return 0;
  fuzz::Require(fuzz::CheckRoundTrip(*schema));
  for (size_t i = 0; i < schema->arguments.size(); ++i) {
    if (!schema->ArgumentIndex(schema->arguments[i].name).has_value()) {
      fuzz::Require(absl::InternalError("an argument is not found by its name"));
    }
  }
  schema->IsMutable();
  schema->IsView();
  return 0;
}
