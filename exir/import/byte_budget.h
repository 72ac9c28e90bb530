// Byte budget for the allocations that reading a file makes for one purpose.
#ifndef BELAY_EXIR_IMPORT_BYTE_BUDGET_H_
#define BELAY_EXIR_IMPORT_BYTE_BUDGET_H_

#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"
#include "exir/ir/constant.h"

namespace belay::exir {

class ByteBudget {
 public:
  // `limit_name` appears in messages and must outlive the budget (a literal).
  ByteBudget(std::string_view limit_name, uint64_t bytes)
      : limit_name_(limit_name), limit_(bytes), remaining_(bytes) {}

  // kResourceExhausted if fewer than `bytes` remain; the message names the limit, `what` and its
  // size.
  absl::Status Take(uint64_t bytes, std::string_view what);

 private:
  std::string_view limit_name_;
  uint64_t limit_;
  uint64_t remaining_;
};

// Allocates zeroed bytes, also for content that is written later. Pages are committed on first use.
// kResourceExhausted if the system is out of memory.
absl::StatusOr<Storage> AllocateZeros(uint64_t bytes, std::string_view what);
// Same; `data` receives the writable address. Write only before sharing the storage.
absl::StatusOr<Storage> AllocateBytes(uint64_t bytes, std::string_view what, std::byte** data);

}  // namespace belay::exir

#endif  // BELAY_EXIR_IMPORT_BYTE_BUDGET_H_
