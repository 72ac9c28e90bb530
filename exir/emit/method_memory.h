// Plans the memory of a method's arena tensors: storage sharing, instruction order, offsets.
#ifndef BELAY_EXIR_EMIT_METHOD_MEMORY_H_
#define BELAY_EXIR_EMIT_METHOD_MEMORY_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "exir/emit/memory_bank.h"
#include "exir/emit/memory_planner.h"
#include "exir/op_definition/op_registry.h"
#include "runtime/schema/program.pb.h"

namespace belay::exir {

struct MethodMemoryOptions {
  bool share = true;    // views, concatenations and results over dying operands
  bool reorder = true;  // schedule instructions for less memory
  // Memories for the arena, from the fastest to the slowest one; empty: one without a name and
  // limit. Tensors of dynamic sizes are placed for their bounds. Delegates and state have other
  // memory.
  std::vector<MemoryBank> banks;
  // Name of the planner (PlanMemoryBy), or of the order in which banks are filled (PlanBanksBy);
  // "": the best of all. CheckMemoryPlan verifies every plan.
  std::string planner;
  std::vector<MemoryPlanner> own_planners;  // of the caller; the first one of a name is used
};

// Instructions and values in their original order, with additional inputs of memory planning.
struct WrittenMethod {
  schema::Method method;
  schema::MethodDebugInfo debug;
  // By instruction: its order among such instructions matters: random numbers, assertions, output.
  std::vector<bool> has_effects;
  // By value: equal for tensors of equal symbolic sizes.
  std::vector<uint32_t> shapes;
  // By index in method.operators: the registry's overload; null if unknown.
  std::vector<const OpOverload*> operators;
  // The node of an instruction in text form, for messages; null: its operator's name.
  std::function<std::string(uint32_t instruction)> describe = nullptr;
};

// Use of a bank by a method.
struct BankUse {
  MemoryBank bank;
  uint64_t bytes = 0;  // that the method needs
  // Bytes of the tensors in the bank that instructions read and write; each instruction counts
  // once.
  uint64_t moved = 0;
};

struct MethodMemory {
  std::string planner;  // planner of the chosen plan
  uint64_t arena_bytes = 0;
  uint64_t lower_bound = 0;          // the maximum of bytes alive at once
  uint64_t written_lower_bound = 0;  // the same without sharing and reordering
  uint32_t elided_instructions = 0;
  bool reordered = false;
  std::vector<BankUse> banks;  // those of the options
};

// Tries combinations of orders and sharing, plans the most promising ones, and keeps the smallest
// arena. With banks, keeps the plan that PlanBanks prefers. CheckMemoryPlan verifies the result.
// Updates instructions, debug info, banks and memory offsets of `written`, whose other parts become
// meaningless. Deterministic.
//   kInvalidArgument    `options.planner` is unknown
//   kInternal           the checker rejected the plan; PlanMemoryBy
//   kResourceExhausted  the tensors do not fit in the banks; lists capacity, use and the largest
//                       live values of each bank, by node
// Precondition: CheckBanks(options.banks).
absl::StatusOr<MethodMemory> ArrangeMemory(WrittenMethod& written,
                                           const MethodMemoryOptions& options);

}  // namespace belay::exir

#endif  // BELAY_EXIR_EMIT_METHOD_MEMORY_H_
