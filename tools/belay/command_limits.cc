#include "tools/belay/command_limits.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <new>
#include <utility>

#include "exir/model_file.h"
#include "runtime/core/budget_clock.h"

namespace belay::tools {
namespace {

using Clock = std::chrono::steady_clock;

// Default limits of a command, and the increments per byte of its files.
constexpr double kLeastSeconds = 8, kSecondsPerByte = 1.0 / (1 << 20);
constexpr uint64_t kLeastMemory = uint64_t{896} << 20, kMemoryPerByte = 16;
// After the deadline, time for the command to report the timeout and its position itself.
constexpr std::chrono::milliseconds kGrace(250);
// Polling interval; memory limits may be exceeded by the memory that is filled in this time.
constexpr std::chrono::milliseconds kInterval(5);

// A command may wait this many times longer than its time limit without using processor time.
constexpr int kWaitFactor = 20;

// Start of the command, and the processor time that the process had used by then.
std::atomic<Clock::time_point> command_start;
std::atomic<Clock::duration> cpu_at_start;

Clock::duration CpuTime() {
  timespec time{};
  if (::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) != 0) return Clock::duration::max();
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

// Counts processor time if it is less than the elapsed time, so that other processes do not use up
// the limit, and at least a share of the elapsed time, so that every wait ends.
Clock::time_point CommandTime(Clock::time_point now) {
  const Clock::time_point start = command_start.load(std::memory_order_relaxed);
  const Clock::duration elapsed = now - start;
  const Clock::duration cpu = CpuTime() - cpu_at_start.load(std::memory_order_relaxed);
  return start + std::max(std::min(elapsed, cpu), elapsed / kWaitFactor);
}

// Must not allocate or wait for locks that the command's thread may hold.
[[noreturn]] void End(const char* message, int length) {
  // Write errors are ignored: stderr may be closed.
  [[maybe_unused]] const ssize_t written =
      ::write(STDERR_FILENO, message, static_cast<size_t>(std::max(length, 0)));
  ::_exit(kBadInput);
}

// Returns the process's memory without mapped files; 0 if the system does not report it.
uint64_t MemoryInUse(int statm) {
  char text[256];
  const ssize_t length = ::pread(statm, text, sizeof(text) - 1, 0);
  if (length <= 0) return 0;
  text[length] = 0;
  unsigned long long total = 0, resident = 0, shared = 0;
  if (std::sscanf(text, "%llu %llu %llu", &total, &resident, &shared) != 3 || resident < shared) {
    return 0;
  }
  return (resident - shared) * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

[[noreturn]] void NoMemory() {
  constexpr char kMessage[] = "belay: out of memory\n";
  End(kMessage, static_cast<int>(sizeof(kMessage)) - 1);
}

}  // namespace

Program::Options CommandLimits::ForPrograms(FileAccess access) const {
  Program::Options options;
  options.access = access;
  Limits& limits = options.limits;
  if (memory.has_value()) {
    limits.arena_bytes = limits.delegate_bytes = limits.scratch_bytes = *memory;
  }
  if (work.has_value()) limits.executed_work = *work;
  return options;
}

exir::LoweringLimits CommandLimits::ForLowering() const {
  exir::LoweringLimits limits;
  if (memory.has_value()) limits.memory_bytes = *memory;
  if (work.has_value()) limits.work = *work;
  if (nodes.has_value()) limits.nodes = *nodes;
  return limits;
}

std::vector<Option> WithLimits(std::vector<Option> options, CommandLimits* limits, bool lowers) {
  options.push_back(
      {"--timeout",
       &limits->timeout,
       "limit of the command's processor time in seconds, 0 for none; default: 8, plus 1 per MiB "
       "of its files",
       {.least = 0}});
  options.push_back(
      {"--limit-memory", &limits->memory,
       "limit in bytes of the process, of a program's arena, and of copies of weights; "
       "default: proportional to the files"});
  options.push_back({"--limit-work", &limits->work,
                     "limit in multiply-adds of one call, and of constant folding; default: "
                     "proportional to the files"});
  if (lowers) {
    options.push_back({"--limit-nodes", &limits->nodes,
                       "limit of nodes created by lowering; default: 50000, plus 1 per byte of the "
                       "archives"});
  }
  return options;
}

WithinLimits::WithinLimits(const CommandLimits& limits, const std::vector<std::string>& files)
    : limits_(limits), start_(Clock::now()), scope_(&budget_) {
  for (const std::string& file : files) file_bytes_ += exir::SizeOfFile(file);
  std::set_new_handler(&NoMemory);
  command_start.store(start_, std::memory_order_relaxed);
  cpu_at_start.store(CpuTime(), std::memory_order_relaxed);
  SetBudgetClock(&CommandTime);
  Update();
  watcher_ = std::thread([this] { Watch(); });
}

WithinLimits::~WithinLimits() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    done_ = true;
  }
  wake_.notify_one();
  watcher_.join();
  SetBudgetClock(nullptr);
  std::set_new_handler(nullptr);
}

void WithinLimits::Add(const Program& program) {
  for (const SegmentPlan& segment : program.segments()) {
    if (!segment.companion.empty()) file_bytes_ += segment.bytes.size();
  }
  Update();
}

void WithinLimits::Update() {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto bytes = static_cast<double>(file_bytes_);
  bounds_.seconds = limits_.timeout < 0 ? kLeastSeconds + kSecondsPerByte * bytes : limits_.timeout;
  // Ten years count as unlimited.
  constexpr double kMostSeconds = 3e8;
  bounds_.deadline.reset();
  if (bounds_.seconds > 0 && bounds_.seconds < kMostSeconds) {
    bounds_.deadline = start_ + std::chrono::duration_cast<Clock::duration>(
                                    std::chrono::duration<double>(bounds_.seconds));
  }
  bounds_.memory_bytes = limits_.memory.value_or(
      kLeastMemory + kMemoryPerByte * std::min(file_bytes_, UINT64_MAX / 32));
  budget_.deadline = bounds_.deadline;
  exir::AllowLowering(limits_.ForLowering(), file_bytes_, budget_);
}

void WithinLimits::Watch() {
  const int statm = ::open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  char message[160];
  std::unique_lock<std::mutex> lock(mutex_);
  while (!wake_.wait_for(lock, kInterval, [this] { return done_; })) {
    const Clock::time_point now = Clock::now();
    if (bounds_.deadline.has_value() && now > *bounds_.deadline + kGrace &&
        CommandTime(now) > *bounds_.deadline + kGrace) {
      End(message, std::snprintf(message, sizeof(message),
                                 "belay: stopped after the %g seconds that the limit '--timeout' "
                                 "allows\n",
                                 bounds_.seconds));
    }
    const uint64_t used = statm < 0 ? 0 : MemoryInUse(statm);
    if (used > bounds_.memory_bytes) {
      End(message, std::snprintf(message, sizeof(message),
                                 "belay: uses %llu bytes of memory, more than the %llu that the "
                                 "limit '--limit-memory' allows\n",
                                 static_cast<unsigned long long>(used),
                                 static_cast<unsigned long long>(bounds_.memory_bytes)));
    }
  }
  if (statm >= 0) ::close(statm);
}

}  // namespace belay::tools
