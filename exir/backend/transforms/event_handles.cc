#include "exir/backend/transforms/event_handles.h"

#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"

namespace belay::exir {
namespace {

bool IsOf(const schema::DelegateDebugInfo::Entry& entry, const DelegateId& id) {
  if (const int64_t* number = std::get_if<int64_t>(&id)) {
    return entry.has_int_id() && entry.int_id() == *number;
  }
  return entry.has_string_id() && entry.string_id() == std::get<std::string>(id);
}

std::string ShowId(const DelegateId& id) {
  const int64_t* number = std::get_if<int64_t>(&id);
  return number != nullptr ? absl::StrCat(*number)
                           : absl::StrCat("'", std::get<std::string>(id), "'");
}

}  // namespace

absl::StatusOr<EventHandles> HandlesOfEvent(const schema::Program& program,
                                            const schema::DebugInfo& debug,
                                            const RuntimeEvent& event) {
  if (debug.methods_size() != program.methods_size()) {
    return absl::InvalidArgumentError(absl::StrCat("the program has ", program.methods_size(),
                                                   " methods, its debug information ",
                                                   debug.methods_size()));
  }
  int index = 0;
  while (index < program.methods_size() && program.methods(index).name() != event.method) ++index;
  if (index == program.methods_size()) {
    return absl::NotFoundError(absl::StrCat("unknown method '", event.method, "'"));
  }
  const schema::Method& method = program.methods(index);
  const schema::MethodDebugInfo& info = debug.methods(index);
  if (info.instructions_size() != method.instructions_size() ||
      info.delegates_size() != method.delegates_size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the debug information of method '", event.method, "' does not belong to the program"));
  }
  if (event.instruction >= static_cast<size_t>(method.instructions_size())) {
    return absl::NotFoundError(absl::StrCat("method '", event.method, "' has ",
                                            method.instructions_size(), " instructions, got index ",
                                            event.instruction));
  }
  const schema::InstructionDebugInfo& instruction =
      info.instructions(static_cast<int>(event.instruction));
  EventHandles result;
  result.handles.assign(instruction.debug_handles().begin(), instruction.debug_handles().end());
  result.node = instruction.node();
  result.source = instruction.source();
  const schema::Instruction& emitted = method.instructions(static_cast<int>(event.instruction));
  if (!emitted.has_delegate()) {
    if (!event.delegate_id.has_value()) return result;
    return absl::InvalidArgumentError(
        absl::StrCat("instruction ", event.instruction, " of method '", event.method,
                     "' is not a delegate call, but the event has the delegate identifier ",
                     ShowId(*event.delegate_id)));
  }
  const uint32_t delegate = emitted.delegate().delegate();
  if (delegate >= static_cast<uint32_t>(method.delegates_size())) {
    return absl::InvalidArgumentError(absl::StrCat("unknown delegate ", delegate));
  }
  result.backend_id = method.delegates(static_cast<int>(delegate)).backend_id();
  const schema::DelegateDebugInfo& map = info.delegates(static_cast<int>(delegate));
  result.whole_delegate = map.entries_size() == 0;
  if (!event.delegate_id.has_value() || result.whole_delegate) return result;
  for (const schema::DelegateDebugInfo::Entry& entry : map.entries()) {
    if (!IsOf(entry, *event.delegate_id)) continue;
    result.handles.assign(entry.debug_handles().begin(), entry.debug_handles().end());
    return result;
  }
  return absl::NotFoundError(absl::StrCat("the map of delegate ", delegate, " (backend ",
                                          result.backend_id, ") has no identifier ",
                                          ShowId(*event.delegate_id)));
}

}  // namespace belay::exir
