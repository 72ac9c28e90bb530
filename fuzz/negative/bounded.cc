#include "fuzz/negative/bounded.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>

namespace belay::fuzz {
namespace {

constexpr uint64_t kMemoryBytes = 64 << 20;
constexpr uint64_t kStackBytes = 256 << 10;
constexpr rlim_t kProcessorSeconds = 1;    // CPU time, independent of load
constexpr unsigned kWatchdogSeconds = 60;  // in case it blocks

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitizer = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr bool kSanitizer = true;
#else
constexpr bool kSanitizer = false;
#endif
#else
constexpr bool kSanitizer = false;
#endif

uint64_t DataBytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("VmData:", 0) == 0) return std::strtoull(line.c_str() + 7, nullptr, 10) << 10;
  }
  return 0;
}

void Limit(__rlimit_resource resource, rlim_t most) {
  const rlimit bound = {most, most};
  if (setrlimit(resource, &bound) != 0) _exit(1);
}

}  // namespace

std::string OutcomeText(const absl::Status& status) {
  return absl::StatusCodeToString(status.code()) + ": " +
         std::string(status.message().data(), status.message().size());
}

std::string OutcomeInBounds(absl::FunctionRef<absl::Status()> read) {
  if (kSanitizer) return OutcomeText(read());
  int ends[2];
  if (pipe(ends) != 0) return "no pipe";
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    alarm(kWatchdogSeconds);
    Limit(RLIMIT_DATA, DataBytes() + kMemoryBytes);
    Limit(RLIMIT_STACK, kStackBytes);
    Limit(RLIMIT_CPU, kProcessorSeconds);
    const std::string outcome = OutcomeText(read());
    const ssize_t written = write(ends[1], outcome.data(), outcome.size());
    _exit(written == static_cast<ssize_t>(outcome.size()) ? 0 : 1);
  }
  close(ends[1]);
  std::string outcome;
  char buffer[4096];
  for (ssize_t got; (got = ::read(ends[0], buffer, sizeof(buffer))) > 0;) {
    outcome.append(buffer, static_cast<size_t>(got));
  }
  close(ends[0]);
  int exit = 0;
  waitpid(child, &exit, 0);
  if (WIFSIGNALED(exit)) outcome = "the reader ended by signal " + std::to_string(WTERMSIG(exit));
  return outcome;
}

}  // namespace belay::fuzz
