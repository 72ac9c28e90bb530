#include "runtime/program/memory_bound.h"

#include <algorithm>
#include <string>

#include "google/protobuf/io/coded_stream.h"
#include "runtime/core/memory_check.h"
#include "runtime/program/plan.h"
#include "runtime/program/program.h"
#include "runtime/schema/program.pb.h"

namespace belay {
namespace {

using google::protobuf::io::CodedInputStream;

// What a message and a byte in it may cost: the parser's object, its place in a growing list, and
// what the plan makes of it.
struct Cost {
  uint64_t each;
  uint64_t per_byte;
};

// A pointer in a list that grows by doubling, whose old copies stay in the parser's arena.
constexpr uint64_t kInList = 4 * sizeof(void*);
// A block of the allocator around something small.
constexpr uint64_t kBlock = 32;
// A string of the parser's: with its entry in the list of what the arena destroys.
constexpr uint64_t kString = sizeof(std::string) + kBlock;
constexpr uint64_t kHashEntry = 4 * (sizeof(std::string) + 1) + kBlock;
// Bytes of any message without a cost of its own. The worst are messages without fields, of which
// two bytes make one, and numbers of one byte, which take eight in a list that grows.
constexpr uint64_t kPerByte = 64;
template <class Message>
constexpr bool kIsCheap = sizeof(Message) <= 2 * kPerByte;
static_assert(kIsCheap<schema::Tensor> && kIsCheap<schema::List> && kIsCheap<schema::Complex> &&
              kIsCheap<schema::ScalarSlot> && kIsCheap<schema::Empty> &&
              kIsCheap<schema::DelegateCall> && kIsCheap<schema::Move> &&
              kIsCheap<schema::JumpIfFalse> && kIsCheap<schema::Jump> &&
              kIsCheap<schema::TensorLayout> && kIsCheap<schema::KernelCall>);

template <class Message, class Plan>
constexpr uint64_t Each(uint64_t more) {
  return sizeof(Message) + kInList + sizeof(Plan) + more;
}
// Messages in lists of their own: two bytes make one.
template <class Message, class Plan>
constexpr uint64_t PerByteOfList() {
  return kPerByte + (sizeof(Message) + kInList + 3 * sizeof(Plan)) / 2;
}

constexpr Cost kUnknown = {.each = 2 * kBlock, .per_byte = kPerByte};
// What remains of bytes that can't be walked over.
constexpr Cost kAnything = {.each = 0, .per_byte = 1024};

Cost CostOfMethodField(int field) {
  switch (field) {
    case schema::Method::kValuesFieldNumber:
      // Also: two flags, and a range of what an instruction writes to.
      return {Each<schema::Value, ValuePlan>(kString + kBlock + 2 + 80), kPerByte};
    case schema::Method::kInputsFieldNumber:
      return {Each<schema::Input, InputPlan>(kString + kBlock),
              PerByteOfList<schema::SizeConstraint, SizeConstraint>()};
    case schema::Method::kOperatorsFieldNumber:
      return {kInList + kString + sizeof(std::string) + kBlock + kHashEntry, kPerByte};
    case schema::Method::kDelegatesFieldNumber:
      return {Each<schema::Delegate, DelegatePlan>(kString + 2 * kBlock),
              PerByteOfList<schema::CompileSpec, CompileSpecPlan>()};
    case schema::Method::kInstructionsFieldNumber:
      return {Each<schema::Instruction, InstructionPlan>(2 * kBlock), kPerByte};
    case schema::Method::kStateFieldNumber:
      return {Each<schema::StateBuffer, StatePlan>(kString + kBlock + kHashEntry + 64), kPerByte};
    default:
      return kUnknown;
  }
}

Cost CostOfProgramField(int field) {
  switch (field) {
    case schema::Program::kRequiredFeaturesFieldNumber:
      return {kInList + kString + 4 * sizeof(std::string), kPerByte};
    case schema::Program::kSegmentsFieldNumber:
      // Each may name a companion file: an entry of a map, and a mapping.
      return {Each<schema::Segment, SegmentPlan>(1024), kPerByte};
    case schema::Program::kConstantsFieldNumber:
      return {Each<schema::Constant, absl::Span<const std::byte>>(0), kPerByte};
    case schema::Program::kNamedDataFieldNumber:
      return {Each<schema::NamedData, NamedDataPlan>(kString + kBlock), kPerByte};
    case schema::Program::kMethodsFieldNumber:
      // The fields have costs of their own.
      return {Each<schema::Method, MethodPlan>(3 * kString + 1024), 0};
    default:
      return kUnknown;
  }
}

void Add(const Cost& cost, uint64_t bytes, MemoryBound& bound) {
  bound.Add(1, cost.each);
  bound.Add(bytes, cost.per_byte);
}

// Walks over the fields of one message and hands each to `visit`: its number and its bytes, which
// for a number are those of the number. What can't be walked over goes into `bound`.
template <class Visit>
void WalkFields(absl::Span<const std::byte> message, MemoryBound& bound, const Visit& visit) {
  CodedInputStream input(reinterpret_cast<const google::protobuf::uint8*>(message.data()),
                         static_cast<int>(message.size()));  // ReadHeader limits it
  while (true) {
    const size_t begin = static_cast<size_t>(input.CurrentPosition());
    const uint32_t tag = input.ReadTag();
    bool ok = tag >= 8;
    google::protobuf::uint64 number = 0;
    google::protobuf::uint32 length = 0;
    size_t at = static_cast<size_t>(input.CurrentPosition()), size = 0;
    switch (tag & 7) {
      case 0:
        ok = ok && input.ReadVarint64(&number);
        break;
      case 1:
        ok = ok && input.Skip(8);
        break;
      case 2:
        ok = ok && input.ReadVarint32(&length) && length <= INT32_MAX;
        at = static_cast<size_t>(input.CurrentPosition());
        size = length;
        ok = ok && input.Skip(static_cast<int>(length));
        break;
      case 5:
        ok = ok && input.Skip(4);
        break;
      default:
        ok = false;
    }
    if (!ok) {
      Add(kAnything, message.size() - std::min(begin, message.size()), bound);
      return;
    }
    if ((tag & 7) != 2) size = static_cast<size_t>(input.CurrentPosition()) - at;
    visit(static_cast<int>(tag >> 3), message.subspan(at, size));
  }
}

}  // namespace

uint64_t MetadataMemoryBound(absl::Span<const std::byte> metadata) {
  MemoryBound bound;
  WalkFields(metadata, bound, [&](int field, absl::Span<const std::byte> bytes) {
    Add(CostOfProgramField(field), bytes.size(), bound);
    if (field != schema::Program::kMethodsFieldNumber) return;
    WalkFields(bytes, bound, [&](int inner, absl::Span<const std::byte> content) {
      Add(CostOfMethodField(inner), content.size(), bound);
    });
  });
  // The arena's blocks are not filled to the end; and an error message.
  bound.Add(bound.bytes() / 4, 1);
  bound.Add(1, uint64_t{1} << 16);
  return bound.bytes();
}

}  // namespace belay
