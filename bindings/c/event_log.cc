#include <new>

#include "bindings/c/handles.h"
#include "runtime/core/status_macros.h"

static_assert(BELAY_EVENT_STEP == static_cast<int>(belay::EventKind::kStep));

belay_status belay_event_log_create(size_t capacity, belay_event_log** log, belay_error** error) {
  if (log == nullptr)
    return belay::c::Report(belay::c::Missing("an output pointer for the log"), error);
  const auto create = [&]() -> absl::StatusOr<std::unique_ptr<belay_event_log>> {
    std::unique_ptr<belay_event_log> created(new (std::nothrow) belay_event_log);
    if (created == nullptr) return belay::c::NoMemory("a log");
    ABSL_ASSIGN_OR_RETURN(created->log, belay::EventLog::Create(capacity));
    return created;
  };
  return belay::c::Give(create(), log, error);
}

void belay_event_log_free(belay_event_log* log) { delete log; }
size_t belay_event_log_size(const belay_event_log* log) {
  return log == nullptr ? 0 : log->log->events().size();
}
uint64_t belay_event_log_dropped(const belay_event_log* log) {
  return log == nullptr ? 0 : log->log->dropped();
}
void belay_event_log_clear(belay_event_log* log) {
  if (log != nullptr) log->log->Clear();
}

belay_status belay_event_log_get(const belay_event_log* log, size_t i, belay_event* event) {
  if (event == nullptr) return BELAY_INVALID_ARGUMENT;
  if (i >= belay_event_log_size(log)) return BELAY_OUT_OF_RANGE;
  const belay::Event& from = log->log->events()[i];
  *event = {.kind = static_cast<belay_event_kind>(from.kind),
            .depth = from.depth,
            .begin_ns = from.begin,
            .end_ns = from.end,
            .id = from.id,
            .name = from.named ? log->log->names()[static_cast<size_t>(from.id)].c_str() : nullptr};
  return BELAY_OK;
}
