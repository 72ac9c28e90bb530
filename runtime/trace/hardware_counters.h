// Hardware performance counters, if the operating system provides them.
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

// Indexed by HardwareCounter; nullopt if not counted.
using HardwareCounts = std::array<std::optional<double>, kNumHardwareCounters>;

// System interface: Linux' perf_event_open, or a fake in tests.
class CounterSystem {
 public:
  // A counter's value, and the times for which it was enabled and actually running.
  struct Reading {
    uint64_t value = 0, enabled = 0, running = 0;
  };
  virtual ~CounterSystem() = default;
  // Opens a counter of user code of the calling thread and of threads that it starts later. Returns
  // -1 if it is unavailable or not permitted, as in most containers.
  virtual int Open(HardwareCounter counter) = 0;
  virtual bool Read(int descriptor, Reading& reading) = 0;
  virtual void Close(int descriptor) = 0;
};
// Provides no counters on systems other than Linux. Lives as long as the process.
CounterSystem& StandardCounterSystem();

// Counts the thread that creates it and threads that it starts later: create it before a thread
// pool. Never fails; a missing counter has no counts. Used by one thread at a time.
class HardwareCounters {
 public:
  explicit HardwareCounters(CounterSystem& system = StandardCounterSystem());
  ~HardwareCounters();
  HardwareCounters(const HardwareCounters&) = delete;
  HardwareCounters& operator=(const HardwareCounters&) = delete;

  // Whether any counter is available.
  bool available() const;
  void Start();
  // Returns the counts since Start(). A counter that was multiplexed with others is extrapolated to
  // the whole time; one that never ran has no count.
  HardwareCounts Stop() const;

 private:
  CounterSystem& system_;
  std::array<int, kNumHardwareCounters> descriptors_;
  std::array<std::optional<CounterSystem::Reading>, kNumHardwareCounters> start_;
};

}  // namespace belay

#endif  // BELAY_RUNTIME_TRACE_HARDWARE_COUNTERS_H_
