// Symbolic expressions, in sympy notation and in infix notation.
#include <cstddef>
#include <cstdint>
#include <string>

#include "exir/symbolic/sym_expr.h"
#include "fuzz/oracles/require.h"
#include "fuzz/oracles/symbolic.h"
#include "fuzz/oracles/typed_status.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace belay;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const absl::StatusOr<exir::SymExpr> parsed = exir::ParseSymExpr(text);
  fuzz::Require(fuzz::CheckTyped("parse", parsed.status(), fuzz::kReaderCodes));
  if (parsed.ok()) fuzz::Require(fuzz::CheckSymExpr(*parsed));
  return 0;
}
