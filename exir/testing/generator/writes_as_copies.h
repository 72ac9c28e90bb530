// Replaces in-place operators by functional equivalents.
#ifndef BELAY_EXIR_TESTING_GENERATOR_WRITES_AS_COPIES_H_
#define BELAY_EXIR_TESTING_GENERATOR_WRITES_AS_COPIES_H_

#include "absl/status/statusor.h"
#include "exir/ir/exported_program.h"
#include "exir/op_definition/op_registry.h"

namespace belay::exir {

// Whether the interpreter supports the in-place operator only through its functional variant
// (exir/op_definition/op_variants.h).
bool NeedsVariant(const OpOverload& op);

// Replaces each call of an operator that NeedsVariant by its functional variant and a copy_.
// kNotFound for operators without a variant.
absl::StatusOr<ExportedProgram> WritesAsCopies(const ExportedProgram& program);

}  // namespace belay::exir

#endif  // BELAY_EXIR_TESTING_GENERATOR_WRITES_AS_COPIES_H_
