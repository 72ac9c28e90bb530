// Bounded event log, written by methods and their delegates while they load and execute. Without a
// log, nothing is recorded and no time is lost.
//
// An event only stores what varies: its owner (a method or a delegate) and an id. Constant
// information is in Method::instructions() and in the program's debug information
// (docs/profiling.md).
#ifndef BELAY_RUNTIME_TRACE_EVENT_LOG_H_
#define BELAY_RUNTIME_TRACE_EVENT_LOG_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace belay {

class EValue;

enum class EventKind : uint8_t {
  kLoad,          // of a method
  kResolve,       // within kLoad: kernels and backends are resolved,
  kAllocate,      // memory is allocated,
  kInit,          // delegate `id` is created
  kExecute,       // of a method
  kInstruction,   // instruction `id`
  kDelegateCall,  // instruction `id`, a delegate call
  kStep,          // a step of a delegate: `id` is its own identifier
};
// "load", "resolve", "allocate", "init", "execute", "instruction", "delegate_call", "step".
std::string_view EventKindName(EventKind kind);

struct Event {
  int64_t begin = 0, end = 0;  // nanoseconds of std::chrono::steady_clock
  // For top-level kLoad and kExecute events: CPU time of the calling thread in nanoseconds. 0 if
  // unknown.
  int64_t cpu = 0;
  int64_t id = 0;
  uint32_t owner = 0;  // index into EventLog::owners()
  // Nesting depth. The enclosing events are the last earlier ones of each smaller depth.
  uint16_t depth = 0;
  EventKind kind = EventKind::kStep;
  bool named = false;  // kStep: `id` is an index into EventLog::names()
};

// The source of events.
struct EventOwner {
  static constexpr uint32_t kNone = UINT32_MAX;
  // For a method: the delegate that contains it, or none. For a delegate: its method. A smaller
  // index.
  uint32_t parent = kNone;
  bool is_delegate = false;
  uint32_t delegate = 0;  // index of the delegate in its method
  std::string name;       // of the method, or the backend's id
};

// Receives the outputs of the instructions of all methods that write to a log, also of programs
// inside delegates.
class ValueObserver {
 public:
  virtual ~ValueObserver() = default;
  // Called after an instruction of method `owner` (index into EventLog::owners()) has called a
  // kernel or delegate with outputs. Later instructions may reuse the memory of the values.
  virtual void OnOutputs(uint32_t owner, int64_t instruction,
                         absl::Span<EValue* const> outputs) = 0;
};

// Used by one thread at a time, that of the methods that write to it. Has a fixed address.
class EventLog {
 public:
  // Allocates room for `capacity` events. kResourceExhausted if the memory can't be allocated.
  static absl::StatusOr<std::unique_ptr<EventLog>> Create(size_t capacity);
  virtual ~EventLog() = default;

  // In the order of their begin. An unfinished event ends at its begin.
  absl::Span<const Event> events() const { return absl::MakeConstSpan(events_.data(), size_); }
  // Number of events dropped because the log was full. Only the last events are dropped, so that
  // the events enclosing a logged event are also logged.
  uint64_t dropped() const { return dropped_; }
  absl::Span<const EventOwner> owners() const { return owners_; }
  absl::Span<const std::string> names() const { return names_; }

  // nullptr: none. Must not be changed while a method executes; must outlive its calls.
  void SetValueObserver(ValueObserver* values) { values_ = values; }
  ValueObserver* value_observer() const { return values_; }

  // Removes the events; keeps owners and names. Must not be called while a method loads or
  // executes.
  void Clear();

  // For loggers. Return the index of the added item. Virtual, so that binaries that create no log
  // do not link them.
  virtual uint32_t AddMethod(uint32_t parent, std::string_view name);
  virtual uint32_t AddDelegate(uint32_t method, uint32_t delegate, std::string_view backend_id);
  virtual int64_t AddName(std::string_view name);

  static int64_t Now() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
  // Begins an event; events begun before its End() are nested in it. Allocates nothing. If the log
  // is full, returns a dummy event.
  Event& Begin(EventKind kind, uint32_t owner, int64_t id, int64_t now) {
    Event* event = &unseen_;
    if (size_ < events_.size()) [[likely]] {
      event = &events_[size_++];
    } else {
      ++dropped_;
    }
    *event = {.begin = now, .end = now, .id = id, .owner = owner, .depth = depth_, .kind = kind};
    ++depth_;
    return *event;
  }
  void End(Event& event, int64_t now) {
    event.end = now;
    --depth_;
  }

 private:
  EventLog() = default;
  std::vector<Event> events_;
  size_t size_ = 0;
  uint64_t dropped_ = 0;
  uint16_t depth_ = 0;
  Event unseen_;
  std::vector<EventOwner> owners_;
  std::vector<std::string> names_;
  ValueObserver* values_ = nullptr;
};

// Identifier of a delegate's step: an integer or a name, as in its debug handle map
// (docs/lowering.md §4.2).
struct StepId {
  int64_t id = 0;
  bool named = false;
};

// The log and the owner of a method's or delegate's events. A value; the log must outlive its
// copies.
struct EventSink {
  EventLog* log = nullptr;  // nullptr: nothing is logged
  uint32_t owner = EventOwner::kNone;

  // For delegates. Names must be added in Init:
  //   step.id = context.events.Name("conv_relu");              // in Init
  //   const int64_t begin = events_.Begin();                   // in Execute
  //   …
  //   events_.Step(step.id, begin);
  StepId Name(std::string_view name) const {
    return log == nullptr ? StepId() : StepId{.id = log->AddName(name), .named = true};
  }
  int64_t Begin() const { return log == nullptr ? 0 : EventLog::Now(); }
  // A step that ends now.
  void Step(StepId id, int64_t begin) const {
    if (log != nullptr) Step(id, begin, EventLog::Now());
  }
  // A step with known times, on EventLog::Now()'s clock and within the call.
  void Step(StepId id, int64_t begin, int64_t end) const {
    if (log == nullptr) return;
    Event& event = log->Begin(EventKind::kStep, owner, id.id, begin);
    event.named = id.named;
    log->End(event, end);
  }
};

// Logs an event for the enclosing scope.
class ScopedEvent {
 public:
  ScopedEvent(EventSink sink, EventKind kind, int64_t id = 0) : log_(sink.log) {
    if (log_ != nullptr) [[unlikely]]
      Begin(sink.owner, kind, id);
  }
  ~ScopedEvent() {
    if (log_ != nullptr) [[unlikely]]
      End();
  }
  ScopedEvent(const ScopedEvent&) = delete;
  ScopedEvent& operator=(const ScopedEvent&) = delete;

 private:
  void Begin(uint32_t owner, EventKind kind, int64_t id);
  void End();

  EventLog* const log_;
  Event* event_ = nullptr;
  int64_t cpu_begin_ = 0;
  bool measures_cpu_ = false;
};

}  // namespace belay

#endif  // BELAY_RUNTIME_TRACE_EVENT_LOG_H_
