// Name of the CPU, for reports of measurements.
#ifndef BELAY_TOOLS_BELAY_CPU_NAME_H_
#define BELAY_TOOLS_BELAY_CPU_NAME_H_

#include <string>

namespace belay::tools {

// Returns the model name in /proc/cpuinfo, or "unknown".
std::string CpuName();

}  // namespace belay::tools

#endif  // BELAY_TOOLS_BELAY_CPU_NAME_H_
