#include "runtime/program/memory_bound.h"

#include <string>
#include <string_view>
#include <utility>

#include "runtime/core/memory_check.h"
#include "runtime/program/plan.h"
#include "runtime/program/program.h"

namespace belay {
namespace {

// Allocator overhead and rounding of a small allocation.
constexpr uint64_t kBlock = 32;
constexpr uint64_t kHashEntry = 4 * (sizeof(std::string) + 1) + kBlock;
// Copies of a string's byte: in a string, and in the table of a set or list.
constexpr uint64_t kTextByte = 4;
// An integer, which may take one byte: an entry of a vector that grows by doubling, and an entry
// among the operands of one instruction.
constexpr uint64_t kNumberByte = 6 * sizeof(uint32_t);

struct Cost {
  uint64_t each;
  uint64_t per_byte;
};

// Cost of an element: its plan, plus a cost per byte. The plan of a dimension is smaller than
// kNumberByte. An element of a nested list takes at least two bytes.
constexpr Cost kValue = {.each = sizeof(ValuePlan) + kBlock + /*flags*/ 2 +
                                 /*written operands*/ 120,
                         .per_byte = kNumberByte};
constexpr Cost kInput = {.each = sizeof(InputPlan) + 2 * kBlock,
                         .per_byte = kTextByte + (sizeof(SizeConstraint) + kBlock) / 2};
constexpr Cost kOperator = {.each = sizeof(std::string) + 2 * kBlock + kHashEntry,
                            .per_byte = kTextByte};
constexpr Cost kDelegate = {.each = sizeof(DelegatePlan) + 3 * kBlock,
                            .per_byte = kTextByte + (sizeof(CompileSpecPlan) + 2 * kBlock) / 2};
constexpr Cost kInstruction = {.each = sizeof(InstructionPlan), .per_byte = kNumberByte};
constexpr Cost kBank = {.each = sizeof(BankPlan) + kBlock, .per_byte = kTextByte};
constexpr Cost kState = {
    .each = sizeof(StatePlan) + kBlock + kHashEntry + 4 * sizeof(std::pair<uint64_t, uint32_t>),
    .per_byte = kTextByte};
// Each segment may name a companion file: a map entry, and a mapping.
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
    bound.Add(1, sizeof(MethodPlan) + sizeof(BankPlan) + 2048);
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
    Add(method.banks, kBank, bound);
  }
  // An error message, and small tables.
  bound.Add(1, uint64_t{1} << 16);
  return bound.bytes();
}

}  // namespace belay
