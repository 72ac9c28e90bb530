// What to say when a mutation ends the process.
#ifndef BELAY_TOOLS_BELAY_CRASH_REPORT_H_
#define BELAY_TOOLS_BELAY_CRASH_REPORT_H_

#include <cstdint>
#include <string_view>

namespace belay::tools {

// From now on a process that ends by a signal or a sanitizer's report writes `message` (its first
// 127 bytes) and the number of the current mutation to standard error.
void InstallCrashReport(std::string_view message);
void SetCurrentMutation(uint64_t index);
// After the last mutation: a process that ends now says nothing about mutations.
void DisarmCrashReport();

}  // namespace belay::tools

#endif  // BELAY_TOOLS_BELAY_CRASH_REPORT_H_
