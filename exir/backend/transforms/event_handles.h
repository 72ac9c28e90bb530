// Which nodes an event of the runtime comes from, by the maps in a program's debug section.
//
// Source: docs/lowering.md §4.6 – 4.8. Methods of any name; identifiers match exactly, ints as ints and
// texts as texts (docs/lowering.md §7.12).
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
  // What a delegate's runtime calls the instruction of its own; none for the instruction itself.
  std::optional<DelegateId> delegate_id = std::nullopt;
};

struct EventHandles {
  std::vector<int64_t> handles;  // debug handles of the program's nodes
  std::string node, source;      // of the instruction
  std::string backend_id;        // of a delegate call, else ""
  // The delegate gave no map, so that these are the handles of all that it computes.
  bool whole_delegate = false;
};

// `debug` is the debug section of the program.
//   kNotFound         there is no such method, instruction, or identifier in the delegate's map
//   kInvalidArgument  a delegate's identifier for an instruction that is no delegate call, or debug
//                     information that does not belong to the program
absl::StatusOr<EventHandles> HandlesOfEvent(const schema::Program& program,
                                            const schema::DebugInfo& debug,
                                            const RuntimeEvent& event);

}  // namespace belay::exir

#endif  // BELAY_EXIR_BACKEND_TRANSFORMS_EVENT_HANDLES_H_
