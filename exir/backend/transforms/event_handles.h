// Maps a runtime event to its source nodes, using the maps in a program's debug section.
//
// Source: docs/lowering.md §4.6 – 4.8. Works for methods of any name. Identifiers match exactly:
// ints match ints, strings match strings (docs/lowering.md §7.12).
#ifndef BELAY_EXIR_BACKEND_TRANSFORMS_EVENT_HANDLES_H_
#define BELAY_EXIR_BACKEND_TRANSFORMS_EVENT_HANDLES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "exir/ir/lowered_backend_module.h"
#include "runtime/schema/program.pb.h"

namespace belay::exir {

struct RuntimeEvent {
  std::string method;
  size_t instruction = 0;
  // The delegate runtime's identifier of one of its own instructions; nullopt for the program's
  // instruction itself.
  std::optional<DelegateId> delegate_id = std::nullopt;
};

struct EventHandles {
  std::vector<int64_t> handles;  // debug handles of the program's nodes
  std::string node, source;      // of the instruction
  std::string backend_id;        // of a delegate call, else ""
  // The delegate has no map: `handles` are those of all nodes of the delegate.
  bool whole_delegate = false;
};

// `debug` is the debug section of the program.
//   kNotFound         unknown method, instruction, or identifier in the delegate's map
//   kInvalidArgument  a delegate identifier for an instruction that is not a delegate call, or
//                     debug information that does not belong to the program
absl::StatusOr<EventHandles> HandlesOfEvent(const schema::Program& program,
                                            const schema::DebugInfo& debug,
                                            const RuntimeEvent& event);

}  // namespace belay::exir

#endif  // BELAY_EXIR_BACKEND_TRANSFORMS_EVENT_HANDLES_H_
