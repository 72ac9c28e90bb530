// Checks that printing or writing and then reading gives the same value.
#ifndef BELAY_FUZZ_ORACLES_ROUND_TRIP_H_
#define BELAY_FUZZ_ORACLES_ROUND_TRIP_H_

#include "absl/status/status.h"
#include "exir/ir/exported_program.h"
#include "exir/op_definition/op_registry.h"
#include "exir/op_definition/schema.h"
#include "exir/symbolic/sym_expr.h"
#include "runtime/core/npy.h"

namespace belay::fuzz {

// Each returns kInternal, with both strings, if the property does not hold.

absl::Status CheckRoundTrip(const exir::SymExpr& expression);
absl::Status CheckRoundTrip(const exir::FunctionSchema& schema);
// Through the text form.
absl::Status CheckRoundTrip(const exir::ExportedProgram& program, const exir::OpRegistry& ops);
// Through the bytes of a file. Types that NumPy lacks cannot be written and pass.
absl::Status CheckRoundTrip(const NpyArray& array);

}  // namespace belay::fuzz

#endif  // BELAY_FUZZ_ORACLES_ROUND_TRIP_H_
