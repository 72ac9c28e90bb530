// What happened when: a bounded log that methods and their delegates write while they load and
// execute. Without one they log nothing and lose no time.
//
// What an event is of never changes and is not in it: an event names its owner, a method or a
// delegate, and a number; Method::instructions() and the program's debug information say the rest
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

enum class EventKind : uint8_t {
  kLoad,          // of a method
  kResolve,       // within it: kernels and backends are found,
  kAllocate,      // memory is taken,
  kInit,          // the delegate of number `id` is made
  kExecute,       // of a method
  kInstruction,   // its instruction of number `id`
  kDelegateCall,  // the same, where it calls a delegate
  kStep,          // what a delegate did: `id` is its own identifier
};
// "load", "resolve", "allocate", "init", "execute", "instruction", "delegate_call", "step".
std::string_view EventKindName(EventKind kind);

struct Event {
  int64_t begin = 0, end = 0;  // nanoseconds of std::chrono::steady_clock
  // Of kLoad and kExecute that are in no other event: nanoseconds that the calling thread worked. 0
  // where nobody knows.
  int64_t cpu = 0;
  int64_t id = 0;
  uint32_t owner = 0;  // index into EventLog::owners()
  // Events that this one is in: the last ones before it of each smaller depth.
  uint16_t depth = 0;
  EventKind kind = EventKind::kStep;
  bool named = false;  // kStep: `id` is an index into EventLog::names()
};

// Whose events they are.
struct EventOwner {
  static constexpr uint32_t kNone = UINT32_MAX;
  // A method's: the delegate that it is in, or none. A delegate's: its method. A smaller index.
  uint32_t parent = kNone;
  bool is_delegate = false;
  uint32_t delegate = 0;  // its number in the method
  std::string name;       // of the method, or the backend's id
};

// Used by one thread at a time: that of the methods that write to it. At a fixed address.
class EventLog {
 public:
  // Room for so many events. kResourceExhausted when there is no memory for them.
  static absl::StatusOr<std::unique_ptr<EventLog>> Create(size_t capacity);
  virtual ~EventLog() = default;

  // In the order in which they began. An event that is not over ends where it began.
  absl::Span<const Event> events() const { return absl::MakeConstSpan(events_.data(), size_); }
  // Events for which there was no room. They are the last: one that is there has all that it is in.
  uint64_t dropped() const { return dropped_; }
  absl::Span<const EventOwner> owners() const { return owners_; }
  absl::Span<const std::string> names() const { return names_; }

  // Forgets the events, not owners and names. Not while something loads or executes.
  void Clear();

  // For those who log. Return the index of what was added. Virtual, so that a binary that makes no
  // log has no code for them.
  virtual uint32_t AddMethod(uint32_t parent, std::string_view name);
  virtual uint32_t AddDelegate(uint32_t method, uint32_t delegate, std::string_view backend_id);
  virtual int64_t AddName(std::string_view name);

  static int64_t Now() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
  // An event that begins; all until its End() is in it. Allocates nothing. When the log is full, the
  // result is an event that nobody will see.
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
};

// What a delegate calls one of its steps: a number or a name, as in its debug handle map
// (docs/lowering.md §4.2).
struct StepId {
  int64_t id = 0;
  bool named = false;
};

// Where a method or a delegate logs to, and as whom. A value; the log outlives who holds it.
struct EventSink {
  EventLog* log = nullptr;  // nullptr: nothing is logged
  uint32_t owner = EventOwner::kNone;

  // For delegates. A name must be added when the delegate is made:
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
  // One whose times are known, on EventLog::Now()'s clock and within the call.
  void Step(StepId id, int64_t begin, int64_t end) const {
    if (log == nullptr) return;
    Event& event = log->Begin(EventKind::kStep, owner, id.id, begin);
    event.named = id.named;
    log->End(event, end);
  }
};

// An event from here to the end of the block.
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
