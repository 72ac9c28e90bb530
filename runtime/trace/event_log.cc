#include "runtime/trace/event_log.h"

#include <ctime>

#include "runtime/core/memory_check.h"
#include "runtime/core/status_macros.h"

namespace belay {
namespace {

// Returns 0 if the system has no such clock.
int64_t ThreadCpuTime() {
#ifdef CLOCK_THREAD_CPUTIME_ID
  timespec time{};
  if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) == 0) {
    return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  }
#endif
  return 0;
}

}  // namespace

std::string_view EventKindName(EventKind kind) {
  switch (kind) {
    case EventKind::kLoad:
      return "load";
    case EventKind::kResolve:
      return "resolve";
    case EventKind::kAllocate:
      return "allocate";
    case EventKind::kInit:
      return "init";
    case EventKind::kExecute:
      return "execute";
    case EventKind::kInstruction:
      return "instruction";
    case EventKind::kDelegateCall:
      return "delegate_call";
    case EventKind::kStep:
      return "step";
  }
  return "invalid";
}

absl::StatusOr<std::unique_ptr<EventLog>> EventLog::Create(size_t capacity) {
  MemoryBound bound;
  bound.Add(capacity, sizeof(Event));
  ABSL_RETURN_IF_ERROR(CheckMemory(bound.bytes(), "the log of events"));
  std::unique_ptr<EventLog> log(new EventLog);
  log->events_.resize(capacity);  // touches the pages, so that logging does not
  return log;
}

void EventLog::Clear() {
  size_ = 0;
  dropped_ = 0;
}

uint32_t EventLog::AddMethod(uint32_t parent, std::string_view name) {
  owners_.push_back({.parent = parent, .name = std::string(name)});
  return static_cast<uint32_t>(owners_.size() - 1);
}

uint32_t EventLog::AddDelegate(uint32_t method, uint32_t delegate, std::string_view backend_id) {
  owners_.push_back({.parent = method,
                     .is_delegate = true,
                     .delegate = delegate,
                     .name = std::string(backend_id)});
  return static_cast<uint32_t>(owners_.size() - 1);
}

int64_t EventLog::AddName(std::string_view name) {
  names_.emplace_back(name);
  return static_cast<int64_t>(names_.size() - 1);
}

void ScopedEvent::Begin(uint32_t owner, EventKind kind, int64_t id) {
  event_ = &log_->Begin(kind, owner, id, EventLog::Now());
  measures_cpu_ = event_->depth == 0 && (kind == EventKind::kLoad || kind == EventKind::kExecute);
  if (measures_cpu_) cpu_begin_ = ThreadCpuTime();
}

void ScopedEvent::End() {
  if (measures_cpu_) event_->cpu = ThreadCpuTime() - cpu_begin_;
  log_->End(*event_, EventLog::Now());
}

}  // namespace belay
