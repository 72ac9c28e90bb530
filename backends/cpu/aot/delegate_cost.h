#ifndef BELAY_BACKENDS_CPU_AOT_DELEGATE_COST_H_
#define BELAY_BACKENDS_CPU_AOT_DELEGATE_COST_H_

#include <string_view>

#include "exir/ir/lowered_backend_module.h"
#include "runtime/schema/program.pb.h"

namespace belay::cpu {

// Returns the cost of the compiled program of a delegate, which has one method. A kernel call is
// generic if its operator is not private to the backend (runtime/schema/private_operators.h).
// O(instructions).
exir::DelegateCost CostOf(const schema::Program& program, std::string_view backend_id);

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_DELEGATE_COST_H_
