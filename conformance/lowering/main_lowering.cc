// Runs the lowering cases of a directory.
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <set>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "conformance/backend/chosen_backends.h"
#include "conformance/lowering/case_runner.h"
#include "exir/ops/standard_ops.h"

ABSL_FLAG(std::string, cases, "", "directory with one folder per case, or with a folder `cases`");
ABSL_FLAG(std::string, only, "", "the name of the one case to run");
ABSL_FLAG(
    std::vector<std::string>, backend, {},
    "lower to these backends, in order of priority, instead of the cases'; compares results of "
    "execution, not lowered programs; each must accept a node of some case");
ABSL_FLAG(bool, allow_undelegated, false,
          "backends may accept no node at all, like the backend null");

namespace belay::conformance {
namespace {

// Exit statuses of the belay command.
constexpr int kDone = 0, kNegative = 1, kBadUsage = 2, kBadInput = 3;

int Main() {
  namespace fs = std::filesystem;
  fs::path directory = absl::GetFlag(FLAGS_cases);
  if (directory.empty()) {
    std::cerr << "--cases=DIR is missing\n";
    return kBadUsage;
  }
  // `bazel run` changes the working directory; relative paths refer to the caller's.
  const char* caller = std::getenv("BUILD_WORKING_DIRECTORY");
  if (caller != nullptr && directory.is_relative()) directory = fs::path(caller) / directory;
  std::error_code error;
  if (fs::is_directory(directory / "cases", error)) directory /= "cases";
  std::set<std::string> names;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    if (fs::is_directory(it->path())) names.insert(it->path().filename().string());
  }
  const std::string only = absl::GetFlag(FLAGS_only);
  if (!only.empty()) std::erase_if(names, [&](const std::string& name) { return name != only; });
  if (names.empty()) {
    std::cerr << directory.string() << " has no such cases\n";
    return kBadInput;
  }
  auto ops = exir::CreateStandardOps();
  if (!ops.ok()) {
    std::cerr << ops.status() << "\n";
    return kNegative;
  }
  auto backends = ChosenBackends::Create(absl::GetFlag(FLAGS_backend));
  if (!backends.ok()) {
    std::cerr << "--backend: " << backends.status().message() << "\n";
    return kBadUsage;
  }
  const bool delegates = !backends->partitioners().empty();
  int passed = 0, different = 0, failed = 0, skipped = 0;
  const auto skip = [&](const std::string& name, const std::string& what) {
    ++skipped;
    std::cout << "skipped " << name << ": " << what << "\n";
  };
  for (const std::string& name : names) {
    const std::string path = (directory / name).string();
    if (!fs::exists(path + "/case.json")) {
      skip(name, "case.json is missing");
      continue;
    }
    const absl::StatusOr<LoweringCase> lowering_case = ReadLoweringCase(path);
    if (delegates && lowering_case.ok() &&
        (lowering_case->expected.contains("error") ||
         Member(lowering_case->description, "methods").empty())) {
      skip(name, "it has no methods, or expects an error");
      continue;
    }
    const CaseOutcome outcome =
        lowering_case.ok()
            ? RunLoweringCase(*lowering_case, **ops, delegates ? &*backends : nullptr)
            : CaseOutcome{lowering_case.status().ToString()};
    for (const std::string& method : outcome.not_executed) {
      skip(name, "execution in the runtime of " + method);
    }
    ++(outcome.failure.empty() ? passed : failed);
    if (!outcome.failure.empty()) {
      std::cout << "FAILED " << name << ": " << outcome.failure << "\n";
    } else if (const Difference* difference = outcome.difference) {
      ++different;
      std::cout << "differs on purpose: " << name << ": " << difference->reference << ": "
                << difference->reason << " (" << difference->test << ")\n";
    }
  }
  if (different > 0) std::cout << different << " of those that passed differ on purpose\n";
  const bool enough = backends->Report(std::cout, absl::GetFlag(FLAGS_allow_undelegated));
  std::cout << passed << " passed, " << failed << " failed, " << skipped << " skipped\n";
  return failed == 0 && enough ? kDone : kNegative;
}

}  // namespace
}  // namespace belay::conformance

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage(
      "Lowers the programs of cases and compares the results with ExecuTorch's.\n"
      "  lowering --cases=DIR [--only=NAME] [--backend=demo]");
  absl::ParseCommandLine(argc, argv);
  return belay::conformance::Main();
}
