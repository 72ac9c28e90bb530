// How many of the last arguments of a delegate's call are its outputs, where the delegate's payload
// says so: the call itself does not.
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

// The outputs that a payload of XnnpackBackend declares, whatever else is wrong with it; nullopt of
// other backends', and of bytes that are no payload of version XN01: whoever loads the delegate says
// what is wrong with them. Takes the bytes of the tables that it copies from `budget`, and as much
// time as it takes to read them once.
//   kResourceExhausted  `budget`, or memory
absl::StatusOr<std::optional<uint32_t>> DelegateOutputs(std::string_view backend_id,
                                                        absl::Span<const std::byte> payload,
                                                        MemoryBudget& budget);

}  // namespace belay::pte

#endif  // BELAY_EXECUTORCH_READER_DELEGATE_OUTPUTS_H_
