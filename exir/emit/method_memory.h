// Gives the arena tensors of a method their places: what shares memory, in which order instructions
// run, where storages lie.
#ifndef BELAY_EXIR_EMIT_METHOD_MEMORY_H_
#define BELAY_EXIR_EMIT_METHOD_MEMORY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "exir/op/op_registry.h"
#include "runtime/schema/program.pb.h"

namespace belay::exir {

struct MethodMemoryOptions {
  bool share = true;    // views, joins and results over dying operands
  bool reorder = true;  // instructions
};

// Instructions and values as they were written, with what the memory depends on besides.
struct WrittenMethod {
  schema::Method method;
  schema::MethodDebugInfo debug;
  // By instruction: its place among others like it matters: random numbers, assertions, output.
  std::vector<bool> has_effects;
  // By value: equal for tensors of equal symbolic sizes.
  std::vector<uint32_t> shapes;
  // By index in method.operators: what the registry knows of it; null when it knows nothing.
  std::vector<const OpOverload*> operators;
};

struct MethodMemory {
  std::string planner;  // the one whose plan was taken
  uint64_t arena_bytes = 0;
  uint64_t lower_bound = 0;          // the most bytes alive at once
  uint64_t written_lower_bound = 0;  // the same if nothing were shared or reordered
  uint32_t elided_instructions = 0;
  bool reordered = false;
};

// Tries orders and ways to share, plans the most promising, takes the smallest arena, and has the
// result proved by CheckMemoryPlan. Changes instructions, debug info and places in memory of
// `written`, whose other parts mean nothing any more. Deterministic.
//   kInternal  the checker refused the plan
absl::StatusOr<MethodMemory> ArrangeMemory(WrittenMethod& written,
                                           const MethodMemoryOptions& options);

}  // namespace belay::exir

#endif  // BELAY_EXIR_EMIT_METHOD_MEMORY_H_
