// Lowers edge programs to instructions, values and planned memory.
#ifndef BELAY_EXIR_EMIT_EMITTER_H_
#define BELAY_EXIR_EMIT_EMITTER_H_

#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/status/statusor.h"
#include "exir/backend/to_backend.h"
#include "exir/emit/constant_pool.h"
#include "exir/emit/method_memory.h"
#include "exir/emit/program_image.h"
#include "exir/ir/lowered_backend_module.h"

namespace belay::exir {

struct EmitOptions {
  bool debug_info = true;
  // Updates buffers and mutated inputs in place after the last use of the old content, if the
  // operator supports it (in_place_state.h). Otherwise they are copied back at the end. With this
  // option, a call that fails or is stopped leaves them partially written. Without it, each holds
  // either its complete old content or its complete new content (runtime/executor/method.h).
  // Exception: updates of the caches of ExecuTorch's language models (namespace llama) always run in
  // place, and a call that fails leaves these caches partially written.
  bool write_state_in_place = false;
  MethodMemoryOptions memory;
  // By method: MethodMemoryOptions::planner of this method.
  absl::btree_map<std::string, std::string> planners = {};
  // For programs nested in others, such as delegates' blobs. Called once for each constant's bytes
  // that is not replaceable; returns the named-data key under which the enclosing program holds
  // them, or "" to store them in this program. The function must make sure that the data exist,
  // also those of replaceable tensors (AddReplaceableData). If null, this program stores all
  // constants.
  NameConstant name_constant = nullptr;
  // Named data in addition to those of delegates, such as a tokenizer; null for none. A key that
  // both have is kAlreadyExists unless the bytes are equal. Must outlive the call.
  const NamedDataOutput* named_data = nullptr;
};

// Memory-planning statistics of a method.
struct MemoryReport {
  std::string method;
  MethodMemory memory;
  uint64_t state_bytes = 0;
};

// Emits the methods sorted by name. Constants and delegate blobs are stored once per content over
// all methods.
//   kInvalidArgument     a program is not of the edge dialect, or the memory of a tensor cannot be
//                        planned (a dynamic size without an upper bound: names the node, the
//                        dimension and the symbol); or CheckBanks rejects `options.memory`; or an
//                        unknown planner, or a planner of an unknown method
//   kUnimplemented       nodes that instructions cannot express; lists all of them
//   kResourceExhausted   the tensors of a method do not fit in the banks of `options.memory`
//   kInternal            the memory-plan checker rejected the plan
absl::StatusOr<ProgramImage> EmitProgram(const MethodPrograms& methods,
                                         const EmitOptions& options = {},
                                         std::vector<MemoryReport>* memory = nullptr);

}  // namespace belay::exir

#endif  // BELAY_EXIR_EMIT_EMITTER_H_
