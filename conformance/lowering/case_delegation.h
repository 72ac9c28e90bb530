// Lowering cases with backends that are not the cases' own.
#ifndef BELAY_CONFORMANCE_LOWERING_CASE_DELEGATION_H_
#define BELAY_CONFORMANCE_LOWERING_CASE_DELEGATION_H_

#include <optional>

#include "conformance/backend/chosen_backends.h"
#include "conformance/lowering/case_runner.h"
#include "exir/op/op_registry.h"

namespace belay::conformance {

// Lowers the case's methods with the backends' default partitioners, which count what they take,
// and executes what was lowered (case_numerics.h) with the backends' run-time sides. What the case
// says of partitioners and expects of lowered programs does not matter. nullopt for a case that has
// no methods or expects an error: there is nothing to execute.
std::optional<CaseOutcome> RunLoweringCaseOn(ChosenBackends& backends,
                                             const LoweringCase& lowering_case,
                                             const exir::OpRegistry& ops);

}  // namespace belay::conformance

#endif  // BELAY_CONFORMANCE_LOWERING_CASE_DELEGATION_H_
