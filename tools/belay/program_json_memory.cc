#include "tools/belay/program_json_memory.h"

#include <algorithm>
#include <string>
#include <variant>

#include "runtime/core/memory_check.h"

namespace belay::tools {
namespace {

// A field: a map entry with its key, and its line in the output string, which grows by doubling.
constexpr uint64_t kField = 256;
// An object or a list, and the lines around it.
constexpr uint64_t kObject = 200;
// A number in a list that grows by doubling, and its line.
constexpr uint64_t kNumber = 160;
// A character: in a string, in its copy, and in the output, where it may take six bytes.
constexpr uint64_t kTextByte = 20;

class JsonMemory {
 public:
  void Object(uint64_t fields) {
    bound_.Add(1, kObject);
    bound_.Add(fields, kField);
  }
  void Numbers(uint64_t count) {
    bound_.Add(1, kObject);
    bound_.Add(count, kNumber);
  }
  void Text(uint64_t bytes) { bound_.Add(bytes, kTextByte); }
  uint64_t bytes() const { return bound_.bytes(); }

 private:
  MemoryBound bound_;
};

// Bytes of printed sizes: "f32[4,3]".
uint64_t SizesText(const TensorPlan& tensor) { return 32 + 21 * tensor.sizes.size(); }

// Description of a value: its type, or the string itself.
void AddDescription(const ValuePlan& value, JsonMemory& memory) {
  memory.Text(32);
  if (const auto* tensor = std::get_if<TensorPlan>(&value)) memory.Text(SizesText(*tensor));
  if (const auto* text = std::get_if<std::string>(&value)) memory.Text(text->size());
}

void AddValue(const MethodPlan& method, const ValuePlan& value, JsonMemory& memory) {
  memory.Object(/*fields=*/7);
  if (const auto* tensor = std::get_if<TensorPlan>(&value)) {
    if (tensor->location == TensorPlan::Location::kArena) {
      memory.Text(method.banks[BankAt(method.banks, tensor->offset)].name.size());
    }
    memory.Object(/*fields of the constant's place*/ 3);
    memory.Numbers(tensor->dim_order.size());
  } else if (const auto* list = std::get_if<ListPlan>(&value)) {
    memory.Numbers(list->elements.size());
  }
  AddDescription(value, memory);
}

void AddInstruction(const MethodPlan& method, const InstructionPlan& instruction,
                    JsonMemory& memory) {
  memory.Object(/*fields=*/3);
  const auto operands = [&](const OperandRange& range) {
    memory.Numbers(range.arguments);
    memory.Numbers(range.outputs);
  };
  if (const auto* kernel = std::get_if<KernelCallPlan>(&instruction)) {
    memory.Text(method.operators[kernel->op].size());
    operands(kernel->operands);
  } else if (const auto* delegate = std::get_if<DelegateCallPlan>(&instruction)) {
    operands(delegate->operands);
  } else {
    memory.Numbers(2);
  }
}

void AddMethod(const MethodPlan& method, JsonMemory& memory) {
  memory.Object(/*fields=*/16);
  for (const std::string* text : {&method.name, &method.in_spec, &method.out_spec})
    memory.Text(text->size());
  for (const BankPlan& bank : method.banks) {
    memory.Object(/*fields=*/3);
    memory.Text(bank.name.size());
  }
  // Their indices and descriptions.
  memory.Numbers(method.outputs.size());
  memory.Numbers(method.outputs.size());
  for (const uint32_t output : method.outputs) AddDescription(method.values[output], memory);
  for (const InputPlan& input : method.inputs) {
    memory.Object(/*fields=*/5);
    memory.Text(input.name.size());
    AddDescription(method.values[input.value], memory);
    for (const SizeConstraint& constraint : input.constraints) {
      memory.Object(/*fields=*/6);
      memory.Text(constraint.symbol.size());
    }
  }
  for (const ValuePlan& value : method.values) AddValue(method, value, memory);
  for (const InstructionPlan& instruction : method.instructions)
    AddInstruction(method, instruction, memory);
  for (const std::string& op : method.operators) {
    // The number of calls, first counted in a table.
    memory.Object(/*fields=*/2);
    memory.Text(2 * op.size());
  }
  for (const DelegatePlan& delegate : method.delegates) {
    memory.Object(/*fields=*/3);
    memory.Text(delegate.backend_id.size());
    for (const CompileSpecPlan& spec : delegate.compile_specs) {
      memory.Object(/*fields=*/2);
      memory.Text(spec.key.size());
      memory.Text(/*hexadecimal*/ 2 * spec.value.size());
    }
  }
  for (const StatePlan& state : method.state) {
    memory.Object(/*fields=*/4);
    memory.Object(/*fields of the constant's place*/ 3);
    memory.Text(state.name.size());
    AddDescription(method.values[state.value], memory);
  }
}

}  // namespace

uint64_t ProgramJsonMemory(const Program& program) {
  JsonMemory memory;
  memory.Object(/*fields=*/10);
  memory.Text(program.producer().size());
  uint64_t longest_backend = 0;
  for (const MethodPlan& method : program.methods()) {
    AddMethod(method, memory);
    for (const DelegatePlan& delegate : method.delegates)
      longest_backend = std::max<uint64_t>(longest_backend, delegate.backend_id.size());
  }
  for (const NamedDataPlan& data : program.named_data()) {
    memory.Object(/*fields=*/3);
    memory.Text(data.key.size());
  }
  // The header, the metadata and the padding are owners as well.
  memory.Object(3 * 2);
  for (const SegmentPlan& segment : program.segments()) {
    memory.Object(/*fields=*/6);
    memory.Text(2 * segment.sha256.size() + segment.companion.size());
    // A segment counts as an owner of bytes, in the index of constants, and as a delegate's blob.
    memory.Object(/*fields=*/4);
    memory.Text(16 + (segment.kind == SegmentPlan::Kind::kDelegate ? longest_backend : 0));
  }
  return memory.bytes();
}

}  // namespace belay::tools
