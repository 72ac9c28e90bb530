#include "runtime/program/memory_bound.h"

#include <string>
#include <string_view>
#include <utility>

#include "runtime/core/memory_check.h"
#include "runtime/program/plan.h"
#include "runtime/program/program.h"

namespace belay {
namespace {

// A block of the allocator around something small.
constexpr uint64_t kBlock = 32;
constexpr uint64_t kHashEntry = 4 * (sizeof(std::string) + 1) + kBlock;
// What a byte of text is copied to: a string, and the table of a set or the list that it is in.
constexpr uint64_t kTextByte = 4;
// What becomes of a number, of which a byte may hold one: an entry of a list that grows by
// doubling, and the same among the operands of one instruction.
constexpr uint64_t kNumberByte = 6 * sizeof(uint32_t);

struct Cost {
  uint64_t each;
  uint64_t per_byte;
};

// `plan` is what an element becomes. What is planned of a dimension is less than kNumberByte. Two
// bytes make an element of a list in an element.
constexpr Cost kValue = {.each = sizeof(ValuePlan) + kBlock + /*flags*/ 2 +
                                 /*what an instruction writes to*/ 120,
                         .per_byte = kNumberByte};
constexpr Cost kInput = {.each = sizeof(InputPlan) + 2 * kBlock,
                         .per_byte = kTextByte + (sizeof(SizeConstraint) + kBlock) / 2};
constexpr Cost kOperator = {.each = sizeof(std::string) + 2 * kBlock + kHashEntry,
                            .per_byte = kTextByte};
constexpr Cost kDelegate = {.each = sizeof(DelegatePlan) + 3 * kBlock,
                            .per_byte = kTextByte + (sizeof(CompileSpecPlan) + 2 * kBlock) / 2};
constexpr Cost kInstruction = {.each = sizeof(InstructionPlan), .per_byte = kNumberByte};
constexpr Cost kState = {
    .each = sizeof(StatePlan) + kBlock + kHashEntry + 4 * sizeof(std::pair<uint64_t, uint32_t>),
    .per_byte = kTextByte};
// Each may name a companion file: an entry of a map, and a mapping.
constexpr Cost kSegment = {.each = sizeof(SegmentPlan) + 1024, .per_byte = kTextByte};
constexpr Cost kConstant = {.each = sizeof(absl::Span<const std::byte>), .per_byte = 0};
constexpr Cost kNamedData = {.each = sizeof(NamedDataPlan) + kBlock, .per_byte = kTextByte};

void Add(const WireList& list, const Cost& cost, MemoryBound& bound) {
  bound.Add(list.count, cost.each);
  bound.Add(list.total_bytes, cost.per_byte);
}

}  // namespace

uint64_t PlansMemoryBound(const ProgramMessage& program, absl::Span<const MethodMessage> methods) {
  MemoryBound bound;
  bound.Add(program.producer.size(), kTextByte);
  Add(program.segments, kSegment, bound);
  Add(program.constants, kConstant, bound);
  Add(program.named_data, kNamedData, bound);
  for (const MethodMessage& method : methods) {
    bound.Add(1, sizeof(MethodPlan) + 2048);
    for (const std::string_view text : {method.name, method.in_spec, method.out_spec}) {
      bound.Add(text.size(), kTextByte);
    }
    bound.Add(method.outputs.bytes.size(), kNumberByte);
    Add(method.values, kValue, bound);
    Add(method.inputs, kInput, bound);
    Add(method.operators, kOperator, bound);
    Add(method.delegates, kDelegate, bound);
    Add(method.instructions, kInstruction, bound);
    Add(method.state, kState, bound);
  }
  // An error message, and small tables.
  bound.Add(1, uint64_t{1} << 16);
  return bound.bytes();
}

}  // namespace belay
