#include "runtime/trace/hardware_counters.h"

#ifdef __linux__
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace belay {
namespace {

#ifdef __linux__
uint64_t ConfigOf(HardwareCounter counter) {
  switch (counter) {
    case HardwareCounter::kCycles:
      return PERF_COUNT_HW_CPU_CYCLES;
    case HardwareCounter::kInstructions:
      return PERF_COUNT_HW_INSTRUCTIONS;
    case HardwareCounter::kCacheMisses:
      return PERF_COUNT_HW_CACHE_MISSES;
  }
  return PERF_COUNT_HW_MAX;
}

class LinuxCounters final : public CounterSystem {
 public:
  int Open(HardwareCounter counter) override {
    perf_event_attr attributes = {};
    attributes.size = sizeof(attributes);
    attributes.type = PERF_TYPE_HARDWARE;
    attributes.config = ConfigOf(counter);
    attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    attributes.inherit = 1;
    attributes.exclude_kernel = 1;  // permitted by the default perf_event_paranoid = 2
    attributes.exclude_hv = 1;
    return static_cast<int>(syscall(SYS_perf_event_open, &attributes, /*pid=*/0, /*cpu=*/-1,
                                    /*group=*/-1, PERF_FLAG_FD_CLOEXEC));
  }
  bool Read(int descriptor, Reading& reading) override {
    uint64_t words[3];
    if (read(descriptor, words, sizeof(words)) != static_cast<ssize_t>(sizeof(words))) return false;
    reading = {.value = words[0], .enabled = words[1], .running = words[2]};
    return true;
  }
  void Close(int descriptor) override { close(descriptor); }
};
#else
class LinuxCounters final : public CounterSystem {
 public:
  int Open(HardwareCounter) override { return -1; }
  bool Read(int, Reading&) override { return false; }
  void Close(int) override {}
};
#endif

}  // namespace

std::string_view HardwareCounterName(HardwareCounter counter) {
  switch (counter) {
    case HardwareCounter::kCycles:
      return "cycles";
    case HardwareCounter::kInstructions:
      return "instructions";
    case HardwareCounter::kCacheMisses:
      return "cache_misses";
  }
  return "invalid";
}

CounterSystem& StandardCounterSystem() {
  static LinuxCounters system;
  return system;
}

HardwareCounters::HardwareCounters(CounterSystem& system) : system_(system) {
  for (size_t k = 0; k < kNumHardwareCounters; ++k) {
    descriptors_[k] = system_.Open(static_cast<HardwareCounter>(k));
  }
}

HardwareCounters::~HardwareCounters() {
  for (const int descriptor : descriptors_) {
    if (descriptor >= 0) system_.Close(descriptor);
  }
}

bool HardwareCounters::available() const {
  for (const int descriptor : descriptors_) {
    if (descriptor >= 0) return true;
  }
  return false;
}

void HardwareCounters::Start() {
  for (size_t k = 0; k < kNumHardwareCounters; ++k) {
    start_[k].reset();
    CounterSystem::Reading reading;
    if (descriptors_[k] >= 0 && system_.Read(descriptors_[k], reading)) start_[k] = reading;
  }
}

HardwareCounts HardwareCounters::Stop() const {
  HardwareCounts counts;
  for (size_t k = 0; k < kNumHardwareCounters; ++k) {
    CounterSystem::Reading end;
    if (!start_[k].has_value() || !system_.Read(descriptors_[k], end)) continue;
    const auto running = static_cast<double>(end.running - start_[k]->running);
    if (running <= 0) continue;
    const auto enabled = static_cast<double>(end.enabled - start_[k]->enabled);
    counts[k] = static_cast<double>(end.value - start_[k]->value) * enabled / running;
  }
  return counts;
}

}  // namespace belay
