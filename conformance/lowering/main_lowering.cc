// Runs the lowering cases of a directory.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "conformance/lowering/case_runner.h"
#include "exir/ops/standard_ops.h"

ABSL_FLAG(std::string, cases, "", "directory with one folder per case, or with a folder `cases`");
ABSL_FLAG(std::string, only, "", "the name of the one case to run");

namespace belay::conformance {
namespace {

// Exit statuses, as those of the belay command.
constexpr int kDone = 0, kNegative = 1, kBadUsage = 2, kBadInput = 3;

int Main() {
  namespace fs = std::filesystem;
  fs::path directory = absl::GetFlag(FLAGS_cases);
  if (directory.empty()) {
    std::cerr << "--cases=DIR is missing\n";
    return kBadUsage;
  }
  // `bazel run` starts elsewhere than the caller; a relative path means the caller's.
  const char* caller = std::getenv("BUILD_WORKING_DIRECTORY");
  if (caller != nullptr && directory.is_relative()) directory = fs::path(caller) / directory;
  std::error_code error;
  if (fs::is_directory(directory / "cases", error)) directory /= "cases";
  std::vector<std::string> cases;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    if (fs::exists(it->path() / "case.json")) cases.push_back(it->path().string());
  }
  std::sort(cases.begin(), cases.end());
  if (cases.empty()) {
    std::cerr << directory.string() << " holds no cases\n";
    return kBadInput;
  }
  auto ops = exir::CreateStandardOps();
  if (!ops.ok()) {
    std::cerr << ops.status() << "\n";
    return kNegative;
  }
  int passed = 0, different = 0, failed = 0;
  for (const std::string& path : cases) {
    const std::string name = fs::path(path).filename().string();
    if (!absl::GetFlag(FLAGS_only).empty() && absl::GetFlag(FLAGS_only) != name) continue;
    const CaseOutcome outcome = RunLoweringCase(path, **ops);
    for (const std::string& note : outcome.notes)
      std::cout << "note " << name << ": " << note << "\n";
    switch (outcome.kind) {
      case CaseOutcome::Kind::kPassed:
        ++passed;
        break;
      case CaseOutcome::Kind::kPassedWithDifference:
        ++passed;
        ++different;
        std::cout << "differs on purpose: " << name << ": " << outcome.detail << "\n";
        break;
      case CaseOutcome::Kind::kFailed:
        ++failed;
        std::cout << "FAILED " << name << ": " << outcome.detail << "\n";
        break;
    }
  }
  if (different > 0) std::cout << different << " of those that passed differ on purpose\n";
  std::cout << passed << " passed, " << failed << " failed, 0 skipped\n";
  return failed == 0 ? kDone : kNegative;
}

}  // namespace
}  // namespace belay::conformance

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage(
      "Lowers programs as cases say and compares with what ExecuTorch made of them.\n"
      "  lowering --cases=DIR [--only=NAME]");
  absl::ParseCommandLine(argc, argv);
  return belay::conformance::Main();
}
