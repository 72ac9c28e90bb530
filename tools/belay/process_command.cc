#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>
#include <system_error>
#include <vector>

#include "tools/belay/command.h"
#include "tools/belay/command_line.h"

namespace belay::tools {
namespace {

// `bazel run` changes the working directory; relative paths refer to the caller's directory.
void EnterCallersDirectory() {
  if (const char* directory = std::getenv("BUILD_WORKING_DIRECTORY")) {
    std::error_code ignored;
    std::filesystem::current_path(directory, ignored);
  }
}

// Standard output may be a file on a full disk.
int AfterWritingOutput(int status) {
  std::cout.flush();
  const bool failed = !std::cout.good() || std::fflush(stdout) != 0;
  if (!failed) return status;
  std::cerr << "belay: cannot write standard output\n";
  return status == kDone ? kBadInput : status;
}

}  // namespace

int RunProcessCommand(int argc, const char* const* argv) {
  EnterCallersDirectory();
  std::signal(SIGXFSZ, SIG_IGN);  // writes report an oversized file as an error
  return AfterWritingOutput(
      RunCommandLine(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc),
                     AllCommands(), std::cout, std::cerr));
}

}  // namespace belay::tools
