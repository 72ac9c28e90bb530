// Counts down the bytes that reading a file may allocate for one purpose.
#ifndef BELAY_EXIR_IMPORT_BYTE_BUDGET_H_
#define BELAY_EXIR_IMPORT_BYTE_BUDGET_H_

#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"
#include "exir/ir/constant.h"

namespace belay::exir {

class ByteBudget {
 public:
  // `limit_name` is for messages and must outlive the budget (a literal).
  ByteBudget(std::string_view limit_name, uint64_t bytes)
      : limit_name_(limit_name), limit_(bytes), remaining_(bytes) {}

  // kResourceExhausted, naming the limit, `what` and its size, when `bytes` are no longer there.
  absl::Status Take(uint64_t bytes, std::string_view what);

 private:
  std::string_view limit_name_;
  uint64_t limit_;
  uint64_t remaining_;
};

// Bytes that are all zero, or whose content does not matter yet. Pages are touched only when they
// are used. kResourceExhausted when the system has no memory left.
absl::StatusOr<Storage> AllocateZeros(uint64_t bytes, std::string_view what);
// As above; `data` receives the writable address, to be used before the storage is given away.
absl::StatusOr<Storage> AllocateBytes(uint64_t bytes, std::string_view what, std::byte** data);

}  // namespace belay::exir

#endif  // BELAY_EXIR_IMPORT_BYTE_BUDGET_H_
