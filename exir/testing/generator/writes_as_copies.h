// Operators that write to their first argument, and what stands for them.
#ifndef BELAY_EXIR_TESTING_GENERATOR_WRITES_AS_COPIES_H_
#define BELAY_EXIR_TESTING_GENERATOR_WRITES_AS_COPIES_H_

#include "absl/status/statusor.h"
#include "exir/ir/exported_program.h"
#include "exir/op/op_registry.h"

namespace belay::exir {

// Whether the interpreter knows the in-place operator only by its functional variant
// (exir/op/op_variants.h).
bool NeedsVariant(const OpOverload& op);

// The program with a call of the functional variant and a copy_ in the place of each call of an
// operator that NeedsVariant. kNotFound when there is no variant.
absl::StatusOr<ExportedProgram> WritesAsCopies(const ExportedProgram& program);

}  // namespace belay::exir

#endif  // BELAY_EXIR_TESTING_GENERATOR_WRITES_AS_COPIES_H_
