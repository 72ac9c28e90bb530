// Prints conformance/STATUS.md, or writes it to the checkout that `bazel run` was called in.
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "conformance/status/operator_status.h"

int main(int argc, char** argv) {
  const auto status =
      belay::conformance::OperatorStatus(argc > 1 ? argv[1] : "conformance/opcases");
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", status.status().ToString().c_str());
    return 1;
  }
  const char* workspace = std::getenv("BUILD_WORKSPACE_DIRECTORY");
  if (workspace == nullptr) {
    std::fputs(status->c_str(), stdout);
    return 0;
  }
  std::ofstream file(std::string(workspace) + "/conformance/STATUS.md");
  file << *status;
  return file.flush() ? 0 : 1;
}
