// Number of trailing arguments of a delegate call that are outputs, read from the delegate's
// payload: the call itself does not record it.
#ifndef BELAY_EXECUTORCH_READER_DELEGATE_OUTPUTS_H_
#define BELAY_EXECUTORCH_READER_DELEGATE_OUTPUTS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/core/memory_budget.h"

namespace belay::pte {

// Returns the number of outputs that an XnnpackBackend payload declares, even if the payload is
// otherwise invalid. Returns nullopt for other backends and for bytes that are not a payload of
// version XN01; loading the delegate reports those errors. Charges the bytes of the copied tables
// to `budget`. Linear in the size of the tables.
//   kResourceExhausted  `budget`, or memory
absl::StatusOr<std::optional<uint32_t>> DelegateOutputs(std::string_view backend_id,
                                                        absl::Span<const std::byte> payload,
                                                        MemoryBudget& budget);

}  // namespace belay::pte

#endif  // BELAY_EXECUTORCH_READER_DELEGATE_OUTPUTS_H_
