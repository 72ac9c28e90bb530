// Replaces the clock of Budget::deadline, for commands that limit processor time.
#ifndef BELAY_RUNTIME_CORE_BUDGET_CLOCK_H_
#define BELAY_RUNTIME_CORE_BUDGET_CLOCK_H_

#include <chrono>

namespace belay {

// Called with the current time when a deadline has passed. Returns the time that is compared with
// the deadline instead. Called by any thread.
using BudgetClock =
    std::chrono::steady_clock::time_point (*)(std::chrono::steady_clock::time_point);

// Sets the clock of all budgets of the process; nullptr for std::chrono::steady_clock. Thread-safe.
void SetBudgetClock(BudgetClock clock);

}  // namespace belay

#endif  // BELAY_RUNTIME_CORE_BUDGET_CLOCK_H_
