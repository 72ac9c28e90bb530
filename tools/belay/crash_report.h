// Reports the mutation that crashed the process.
#ifndef BELAY_TOOLS_BELAY_CRASH_REPORT_H_
#define BELAY_TOOLS_BELAY_CRASH_REPORT_H_

#include <cstdint>
#include <string_view>

namespace belay::tools {

// Installs handlers for fatal signals and sanitizer reports. They write `message` (its first 127
// bytes) and the number of the current mutation to standard error.
void InstallCrashReport(std::string_view message);
void SetCurrentMutation(uint64_t index);
// Disables the handlers after the last mutation.
void DisarmCrashReport();

}  // namespace belay::tools

#endif  // BELAY_TOOLS_BELAY_CRASH_REPORT_H_
