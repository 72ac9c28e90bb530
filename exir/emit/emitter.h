// Edge programs → instructions, values, planned memory.
#ifndef BELAY_EXIR_EMIT_EMITTER_H_
#define BELAY_EXIR_EMIT_EMITTER_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "exir/backend/to_backend.h"
#include "exir/emit/constant_pool.h"
#include "exir/emit/method_memory.h"
#include "exir/emit/program_image.h"

namespace belay::exir {

struct EmitOptions {
  bool debug_info = true;
  // Write to buffers and mutated inputs as soon as nothing reads the old content any more, where
  // an operator can (in_place_state.h), instead of copying all of it at the end. A call that fails
  // or is stopped then leaves them partly written; otherwise each holds its old or its new content,
  // whole (runtime/executor/method.h).
  bool write_state_in_place = false;
  MethodMemoryOptions memory;
  // For programs inside of others, as delegates' blobs: asked once for each constant's bytes, gives
  // the key of the named data of the program around that they are, or "" for what this program holds
  // itself. Whoever it is sees to it that the data are there. Without it all are held here.
  NameConstant name_constant = nullptr;
};

// What became of the memory of a method.
struct MemoryReport {
  std::string method;
  MethodMemory memory;
  uint64_t state_bytes = 0;
};

// Methods are emitted sorted by name; constants and delegate blobs are stored once per content,
// over all methods.
//   kInvalidArgument     a program is not of the edge dialect, or no memory can be planned for a
//                        tensor (a dynamic size without a bound: names the node, the dimension and
//                        the symbol)
//   kUnimplemented       something that instructions can't express yet; all such nodes are listed
//   kInternal            the memory-plan checker refused the plan
absl::StatusOr<ProgramImage> EmitProgram(const MethodPrograms& methods,
                                         const EmitOptions& options = {},
                                         std::vector<MemoryReport>* memory = nullptr);

}  // namespace belay::exir

#endif  // BELAY_EXIR_EMIT_EMITTER_H_
