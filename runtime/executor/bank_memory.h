// Memory of the caller for the banks of a method's arena.
#ifndef BELAY_RUNTIME_EXECUTOR_BANK_MEMORY_H_
#define BELAY_RUNTIME_EXECUTOR_BANK_MEMORY_H_

#include <cstddef>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/program/plan.h"

namespace belay {

struct BankMemory {
  std::string_view name;        // one of MethodPlan::banks
  absl::Span<std::byte> bytes;  // at least BankPlan::bytes, aligned to BankPlan::alignment
};

// Checks the memory. Returns the address of each bank of the plan: null for banks without memory of
// the caller, and for banks of 0 bytes.
//   kInvalidArgument  an unknown bank (the known ones are listed); a bank that is given twice; a
//   size
//                     below that of the bank; an address that is not aligned; memory of two banks
//                     that overlaps. Names method and bank, expected and actual value
absl::StatusOr<std::vector<std::byte*>> AddressesOfBanks(const MethodPlan& plan,
                                                         absl::Span<const BankMemory> memory);

}  // namespace belay

#endif  // BELAY_RUNTIME_EXECUTOR_BANK_MEMORY_H_
