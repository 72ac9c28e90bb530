#include "exir/emit/method_facts.h"

#include <algorithm>

#include "runtime/schema/operator_facts.h"

namespace belay::exir {
namespace {

// aten.add.out writes to its last argument.
bool WritesLastArgument(std::string_view op) { return op.ends_with(".out"); }

}  // namespace

std::string_view OperatorOf(const schema::Method& method, const schema::Instruction& instruction) {
  if (!instruction.has_kernel()) return "";
  return method.operators(static_cast<int>(instruction.kernel().operator_()));
}

Operands OperandsOf(const schema::Method& method, const schema::Instruction& instruction) {
  Operands operands;
  const auto read = [&](uint32_t value) {
    ForEachElement(method, value, [&](uint32_t v) { operands.reads.push_back(v); });
  };
  const auto write = [&](uint32_t value) {
    ForEachElement(method, value, [&](uint32_t v) { operands.writes.push_back(v); });
  };
  switch (instruction.kind_case()) {
    case schema::Instruction::kKernel: {
      const schema::KernelCall& call = instruction.kernel();
      for (uint32_t v : call.arguments()) read(v);
      for (uint32_t v : call.outputs()) write(v);
      const std::string_view op = OperatorOf(method, instruction);
      if (call.arguments_size() > 0) {
        if (IsInPlaceOperator(op)) write(call.arguments(0));
        if (WritesLastArgument(op)) write(call.arguments(call.arguments_size() - 1));
      }
      break;
    }
    case schema::Instruction::kDelegate:
      for (uint32_t v : instruction.delegate().arguments()) read(v);
      for (uint32_t v : instruction.delegate().outputs()) write(v);
      break;
    case schema::Instruction::kMove:
      read(instruction.move().from());
      write(instruction.move().to());
      break;
    case schema::Instruction::kJumpIfFalse:
      read(instruction.jump_if_false().condition());
      break;
    case schema::Instruction::kJump:
    case schema::Instruction::KIND_NOT_SET:
      break;
  }
  std::sort(operands.writes.begin(), operands.writes.end());
  operands.writes.erase(std::unique(operands.writes.begin(), operands.writes.end()),
                        operands.writes.end());
  return operands;
}

std::vector<uint32_t> CountWriters(const schema::Method& method) {
  std::vector<uint32_t> writers(method.values_size(), 0);
  for (const schema::Instruction& instruction : method.instructions()) {
    for (uint32_t v : OperandsOf(method, instruction).writes) ++writers[v];
  }
  return writers;
}

std::vector<uint32_t> BlockStarts(const schema::Method& method) {
  const uint32_t count = method.instructions_size();
  std::vector<uint32_t> starts = {0, count};
  for (uint32_t i = 0; i < count; ++i) {
    const schema::Instruction& instruction = method.instructions(static_cast<int>(i));
    if (instruction.has_jump()) {
      starts.insert(starts.end(), {i + 1, instruction.jump().target()});
    } else if (instruction.has_jump_if_false()) {
      starts.insert(starts.end(), {i + 1, instruction.jump_if_false().target()});
    }
  }
  std::sort(starts.begin(), starts.end());
  starts.erase(std::unique(starts.begin(), starts.end()), starts.end());
  return starts;
}

}  // namespace belay::exir
