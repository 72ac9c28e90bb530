#include "tools/belay/crash_report.h"

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <string>

// Called by sanitizers, which do not exit by a signal; null without them.
extern "C" void __sanitizer_set_death_callback(void (*callback)()) __attribute__((weak));

namespace belay::tools {
namespace {

// The only process state that the handlers access. Written before the first mutation.
constinit char crash_message[128] = {};
constinit std::atomic<uint64_t> current_mutation = 0;
constinit std::atomic<bool> armed = false;

// Async-signal-safe.
void ReportCrash() {
  if (!armed.load(std::memory_order_relaxed)) return;
  char digits[24];
  size_t at = sizeof(digits);
  digits[--at] = '\n';
  uint64_t value = current_mutation.load(std::memory_order_relaxed);
  do {
    digits[--at] = static_cast<char>('0' + value % 10);
    value /= 10;
  } while (value > 0);
  [[maybe_unused]] ssize_t ignored =
      ::write(STDERR_FILENO, crash_message, std::char_traits<char>::length(crash_message));
  ignored = ::write(STDERR_FILENO, digits + at, sizeof(digits) - at);
}

void OnSignal(int signal) {
  ReportCrash();
  ::raise(signal);  // the default handler was restored
}

}  // namespace

void InstallCrashReport(std::string_view message) {
  crash_message[message.copy(crash_message, sizeof(crash_message) - 1)] = '\0';
  armed.store(true, std::memory_order_relaxed);
  struct sigaction action = {};
  action.sa_handler = &OnSignal;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  ::sigaction(SIGABRT, &action, nullptr);
  if (__sanitizer_set_death_callback != nullptr) {
    __sanitizer_set_death_callback(&ReportCrash);
    return;
  }
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) {
    ::sigaction(signal, &action, nullptr);
  }
}

void SetCurrentMutation(uint64_t index) {
  current_mutation.store(index, std::memory_order_relaxed);
}

void DisarmCrashReport() { armed.store(false, std::memory_order_relaxed); }

}  // namespace belay::tools
