// What the processor counts while something runs, where the kernel of the system allows it.
#ifndef BELAY_RUNTIME_TRACE_HARDWARE_COUNTERS_H_
#define BELAY_RUNTIME_TRACE_HARDWARE_COUNTERS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace belay {

enum class HardwareCounter : uint8_t { kCycles, kInstructions, kCacheMisses };
inline constexpr size_t kNumHardwareCounters = 3;
// "cycles", "instructions", "cache_misses".
std::string_view HardwareCounterName(HardwareCounter counter);

// By HardwareCounter; nothing where nobody counts.
using HardwareCounts = std::array<std::optional<double>, kNumHardwareCounters>;

// What the system gives: Linux' perf_event_open, and in tests what they like.
class CounterSystem {
 public:
  // As the system's counter stands: of it and of the time in which it was asked for and was there.
  struct Reading {
    uint64_t value = 0, enabled = 0, running = 0;
  };
  virtual ~CounterSystem() = default;
  // A counter of user code, of the calling thread and of those that it starts from now on; -1 when
  // there is none or it is not allowed: in most containers.
  virtual int Open(HardwareCounter counter) = 0;
  virtual bool Read(int descriptor, Reading& reading) = 0;
  virtual void Close(int descriptor) = 0;
};
// Elsewhere than on Linux it has no counters. Lives as long as the process.
CounterSystem& StandardCounterSystem();

// Of the thread that makes it and of those that it starts afterwards: made before a thread pool.
// Never fails; a counter that is missing has no counts. Used by one thread at a time.
class HardwareCounters {
 public:
  explicit HardwareCounters(CounterSystem& system = StandardCounterSystem());
  ~HardwareCounters();
  HardwareCounters(const HardwareCounters&) = delete;
  HardwareCounters& operator=(const HardwareCounters&) = delete;

  // Whether there is any.
  bool available() const;
  void Start();
  // What was counted since Start(). A counter that had to share the processor's few registers with
  // others is scaled up to the whole time; one that never had a turn has no count.
  HardwareCounts Stop() const;

 private:
  CounterSystem& system_;
  std::array<int, kNumHardwareCounters> descriptors_;
  std::array<std::optional<CounterSystem::Reading>, kNumHardwareCounters> start_;
};

}  // namespace belay

#endif  // BELAY_RUNTIME_TRACE_HARDWARE_COUNTERS_H_
