// Interprets chains; shared by the runtimes of the ExecuTorch demo backends.
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

// "aten.sin.default" -> kSin, etc.; nullopt for an unknown name. kSineSeries (x - x³/6) has no
// name.
std::optional<ChainOp> ChainOpFromName(std::string_view name);

struct ChainInstruction {
  ChainOp op;
  int64_t numel;   // of the result
  int64_t id = 0;  // id in logs
};

// Creates the handle of a chain. The first operand of an instruction is the previous result; of the
// first instruction, argument 0 of the call. A second operand is the next of `constants`, then the
// next argument. Constants are row-major f32, with as many elements as the first operand, and must
// outlive the handle. Intermediate results are allocated here. The caller has checked the memory of
// the lists (memory_check.h).
//   kInvalidArgument    the instructions do not use exactly the call's arguments and the constants,
//                       or the call does not have exactly one output
//   kDataLoss           no instructions, a constant of another size, or a constant operand of kMm
//   kResourceExhausted  allocation failed, `context.memory` is exhausted, or more than 2^28
//                       elements
// The handle's Execute: kInvalidArgument if an argument is not a contiguous f32, or sizes do not
// match.
absl::StatusOr<std::unique_ptr<DelegateHandle>> MakeChain(
    const DelegateInitContext& context, std::vector<ChainInstruction> instructions,
    std::vector<absl::Span<const std::byte>> constants = {});

// Returns the number of elements of argument 0, which every result of a chain without kMm has.
//   kInvalidArgument  argument 0 is missing or not a tensor
absl::StatusOr<int64_t> ChainNumel(const DelegateInitContext& context);

}  // namespace belay::demo

#endif  // BELAY_BACKENDS_DEMO_CHAIN_RUNTIME_H_
