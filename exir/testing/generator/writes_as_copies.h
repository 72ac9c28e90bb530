// Operators that write to their first argument, and what stands for them.
#ifndef BELAY_EXIR_TESTING_GENERATOR_WRITES_AS_COPIES_H_
#define BELAY_EXIR_TESTING_GENERATOR_WRITES_AS_COPIES_H_

#include "absl/status/statusor.h"
#include "exir/ir/exported_program.h"
#include "exir/op/op_registry.h"

namespace belay::exir {

// The operator that computes what this one writes to its first argument: aten.add.Tensor for
// aten.add_.Tensor. nullptr when there is none of that name.
const OpOverload* TwinOf(const OpOverload& in_place, const OpRegistry& ops);

// Whether the interpreter knows the operator only by its twin.
bool NeedsTwin(const OpOverload& op);

// The program with a call of the twin and a copy_ in the place of each call that NeedsTwin.
absl::StatusOr<ExportedProgram> WritesAsCopies(const ExportedProgram& program);

}  // namespace belay::exir

#endif  // BELAY_EXIR_TESTING_GENERATOR_WRITES_AS_COPIES_H_
