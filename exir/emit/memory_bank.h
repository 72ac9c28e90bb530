// Memories of a target, over which a method's arena is distributed.
#ifndef BELAY_EXIR_EMIT_MEMORY_BANK_H_
#define BELAY_EXIR_EMIT_MEMORY_BANK_H_

#include <cstdint>
#include <limits>
#include <string>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace belay::exir {

struct MemoryBank {
  static constexpr uint64_t kUnlimited = std::numeric_limits<uint64_t>::max();
  std::string name;
  uint64_t bytes = kUnlimited;  // capacity
  uint64_t alignment = 64;      // of the bank's address, and of tensors in it

  bool operator==(const MemoryBank&) const = default;
};

// Checks banks, from the fastest to the slowest one.
//   kInvalidArgument  more than kMostBanks; a name that is empty, not UTF-8 or repeated; a capacity
//                     of 0; an alignment that is not a power of two from 64 to kMostBankAlignment;
//                     an unlimited bank that is not the last one. Names the bank, expected and
//                     actual value
absl::Status CheckBanks(absl::Span<const MemoryBank> banks);

}  // namespace belay::exir

#endif  // BELAY_EXIR_EMIT_MEMORY_BANK_H_
