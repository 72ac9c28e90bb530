// Interprets chains: the run-time side that the founding demos share.
#ifndef BELAY_BACKENDS_DEMO_CHAIN_RUNTIME_H_
#define BELAY_BACKENDS_DEMO_CHAIN_RUNTIME_H_

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/backend/backend_runtime.h"

namespace belay::demo {

enum class ChainOp : uint8_t { kSin, kSineSeries, kCos, kAdd, kSub, kMul, kDiv, kMm };

// "aten.sin.default" → kSin and so on; nullopt when it is none. kSineSeries (x - x³/6) has no name.
std::optional<ChainOp> ChainOpFromName(std::string_view name);

struct ChainInstruction {
  ChainOp op;
  int64_t numel;   // of its result
  int64_t id = 0;  // what it is logged as
};

// The first operand of an instruction is the result before it, of the first the call's argument 0.
// A second operand is the next of `constants` (row-major f32, as many elements as the first operand
// has; alive as long as the handle), then the next argument of the call. Intermediate results are
// allocated here; for the lists' elements the caller has asked (memory_check.h).
//   kInvalidArgument    the instructions do not use exactly the call's arguments and the constants,
//                       or the call has not one output
//   kDataLoss           no instructions, a constant of another size, or one as an operand of kMm
//   kResourceExhausted  no memory, `context.memory`, or more than 2^28 elements
// The handle's Execute: kInvalidArgument when an argument is not a contiguous f32, or sizes do not
// fit.
absl::StatusOr<std::unique_ptr<DelegateHandle>> MakeChain(
    const DelegateInitContext& context, std::vector<ChainInstruction> instructions,
    std::vector<absl::Span<const std::byte>> constants = {});

// The elements of argument 0, which is what every result of a chain without kMm has.
//   kInvalidArgument  there is no such tensor
absl::StatusOr<int64_t> ChainNumel(const DelegateInitContext& context);

}  // namespace belay::demo

#endif  // BELAY_BACKENDS_DEMO_CHAIN_RUNTIME_H_
