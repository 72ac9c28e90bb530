// Writes a backend's status page, or checks that it is current (belay_backend_status in
// bazel/defs.bzl).
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "conformance/backend/backend_status.h"
#include "runtime/core/mapped_file.h"
#include "runtime/core/str_cat.h"

ABSL_FLAG(std::string, backend, "", "the folder's name");
ABSL_FLAG(std::string, cases, "conformance/opcases",
          "the folder of the operators' vectors, or a file in it");
ABSL_FLAG(std::string, command, "", "the command that generates the page, for its header");
ABSL_FLAG(std::string, write, "", "the page to write; relative to the workspace in `bazel run`");
ABSL_FLAG(std::string, check, "", "the page to compare with");

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage("writes the page of operators that a backend supports");
  absl::ParseCommandLine(argc, argv);
  const auto status = belay::conformance::BackendStatus(
      absl::GetFlag(FLAGS_backend), absl::GetFlag(FLAGS_cases), absl::GetFlag(FLAGS_command));
  if (!status.ok()) {
    std::cerr << status.status() << "\n";
    return 3;
  }
  if (const std::string page = absl::GetFlag(FLAGS_check); !page.empty()) {
    std::ifstream file(page);
    const std::string text(std::istreambuf_iterator<char>(file), {});
    const std::string difference = belay::conformance::FirstDifferentLine(text, *status);
    if (difference.empty()) return 0;
    std::cerr << page << " is not current: " << difference << "\nRun "
              << absl::GetFlag(FLAGS_command) << "\n";
    return 1;
  }
  const std::string page = absl::GetFlag(FLAGS_write);
  if (page.empty()) {
    std::cout << *status;
    return 0;
  }
  const char* workspace = std::getenv("BUILD_WORKSPACE_DIRECTORY");
  const std::string path =
      workspace == nullptr || page[0] == '/' ? page : absl::StrCat(workspace, "/", page);
  const absl::Status written = belay::WriteFileAtomically(path, {*status});
  if (!written.ok()) {
    std::cerr << written << "\n";
    return 3;
  }
  return 0;
}
