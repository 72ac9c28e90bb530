// Runs conformance vectors of operators on the kernels of one engine.
#include <regex.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "conformance/backend/chosen_backends.h"
#include "conformance/backend/delegated_runner.h"
#include "conformance/ops/op_case.h"
#include "conformance/ops/op_runner.h"
#include "exir/ops/standard_ops.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernels/instruction_set.h"
#include "runtime/kernels/standard_kernels.h"

ABSL_FLAG(std::string, cases, "", "directory with one JSON file per operator");
ABSL_FLAG(std::string, engine, "reference", "kernels to run: reference or highway");
ABSL_FLAG(std::string, isa, "",
          "the instruction set of Highway kernels, e.g. AVX2; the best one when empty");
ABSL_FLAG(
    std::vector<std::string>, backend, {},
    "backends to delegate the calls to, in order of priority; the standard kernels compute the "
    "rest; each must accept a node of some call");
ABSL_FLAG(bool, allow_undelegated, false,
          "backends may accept no node at all, like the backend null");
ABSL_FLAG(std::string, known_failures, "",
          "file with lines `operator case reason`: those cases count as skipped, or as failed if "
          "they pass");
ABSL_FLAG(
    std::string, only, "",
    "regular expression (POSIX, extended); runs cases whose 'operator case' contains a match");

namespace belay::conformance {
namespace {

// Exit statuses of the belay command.
constexpr int kDone = 0, kNegative = 1, kBadUsage = 2, kBadInput = 3;

// An empty pattern matches everything.
class Filter {
 public:
  Filter() = default;
  Filter(const Filter&) = delete;
  Filter& operator=(const Filter&) = delete;
  ~Filter() {
    if (compiled_) regfree(&regex_);
  }
  // Returns false if `pattern` is not a regular expression.
  bool Compile(const std::string& pattern) {
    if (pattern.empty()) return true;
    compiled_ = regcomp(&regex_, pattern.c_str(), REG_EXTENDED | REG_NOSUB) == 0;
    return compiled_;
  }
  bool Matches(const std::string& text) const {
    return !compiled_ || regexec(&regex_, text.c_str(), 0, nullptr, 0) == 0;
  }

 private:
  regex_t regex_;
  bool compiled_ = false;
};

// Bazel's sharding: this process runs every n-th file.
std::pair<size_t, size_t> Shard() {
  const char* total = std::getenv("TEST_TOTAL_SHARDS");
  const char* index = std::getenv("TEST_SHARD_INDEX");
  if (total == nullptr || index == nullptr) return {0, 1};
  if (const char* status = std::getenv("TEST_SHARD_STATUS_FILE")) std::ofstream(status).put('\n');
  return {std::strtoul(index, nullptr, 10), std::max(1ul, std::strtoul(total, nullptr, 10))};
}

// Resolves a path relative to the caller's working directory, which `bazel run` changes.
std::string FromCaller(const std::string& path) {
  const char* caller = std::getenv("BUILD_WORKING_DIRECTORY");
  const bool moves = caller != nullptr && !path.empty() && path[0] != '/';
  return moves ? absl::StrCat(caller, "/", path) : path;
}

// Returns the reasons by "operator case". nullopt: the file cannot be read, or a line has no
// reason.
std::optional<std::map<std::string, std::string>> ReadKnownFailures(const std::string& path) {
  std::map<std::string, std::string> reasons;
  if (path.empty()) return reasons;
  std::ifstream file(path);
  if (!file) return std::nullopt;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    const size_t op_end = line.find(' ');
    const size_t case_end = op_end == std::string::npos ? op_end : line.find(' ', op_end + 1);
    if (case_end == std::string::npos) return std::nullopt;
    reasons[line.substr(0, case_end)] = line.substr(case_end + 1);
  }
  return reasons;
}

struct Counts {
  std::map<std::string, std::string> known_failures;
  size_t passed = 0, failed = 0, skipped = 0;
  std::map<std::string, size_t> failed_by_check;

  void Add(const std::string& op, const std::string& id, CaseResult result) {
    const auto known = known_failures.find(absl::StrCat(op, " ", id));
    if (known != known_failures.end() && result.outcome == CaseOutcome::kFailed) {
      result = {CaseOutcome::kSkipped, "", absl::StrCat("known to fail: ", known->second)};
    } else if (known != known_failures.end() && result.outcome == CaseOutcome::kPassed) {
      result = {CaseOutcome::kFailed, "known",
                absl::StrCat("expected to fail (", known->second, "), passes")};
    }
    switch (result.outcome) {
      case CaseOutcome::kPassed:
        ++passed;
        return;
      case CaseOutcome::kFailed:
        ++failed;
        ++failed_by_check[result.check];
        std::cout << "FAIL " << op << " " << id << ": " << result.check << ": " << result.detail
                  << "\n";
        return;
      case CaseOutcome::kSkipped:
        ++skipped;
        std::cout << "SKIP " << op << " " << id << ": " << result.detail << "\n";
        return;
    }
  }
};

int Run() {
  KernelEngine engine;
  if (absl::GetFlag(FLAGS_engine) == KernelEngineName(KernelEngine::kReference)) {
    engine = KernelEngine::kReference;
  } else if (absl::GetFlag(FLAGS_engine) == KernelEngineName(KernelEngine::kHighway)) {
    engine = KernelEngine::kHighway;
  } else {
    std::cerr << "--engine: expected reference or highway, got '" << absl::GetFlag(FLAGS_engine)
              << "'\n";
    return kBadUsage;
  }
  if (const std::string isa = absl::GetFlag(FLAGS_isa); !isa.empty()) {
    if (const absl::Status chosen = UseInstructionSet(isa); !chosen.ok()) {
      std::cerr << "--isa: " << chosen.message() << "\n";
      return kBadUsage;
    }
  }
  Filter only;
  if (!only.Compile(absl::GetFlag(FLAGS_only))) {
    std::cerr << "--only: no regular expression: '" << absl::GetFlag(FLAGS_only) << "'\n";
    return kBadUsage;
  }
  const auto found = OpCaseFiles(FromCaller(absl::GetFlag(FLAGS_cases)));
  if (!found.ok()) {
    std::cerr << "--cases: " << found.status().message() << "\n";
    return kBadUsage;
  }
  const std::vector<std::string>& files = *found;
  const auto ops = exir::CreateStandardOps();
  if (!ops.ok()) {
    std::cerr << ops.status() << "\n";
    return kNegative;
  }
  KernelRegistry kernels;
  if (const absl::Status added = AddStandardKernels(kernels); !added.ok()) {
    std::cerr << added << "\n";
    return kNegative;
  }

  const OpRunner runner(**ops, kernels, engine);
  auto backends = ChosenBackends::Create(absl::GetFlag(FLAGS_backend));
  if (!backends.ok()) {
    std::cerr << "--backend: " << backends.status().message() << "\n";
    return kBadUsage;
  }
  DelegatedRunner delegated(**ops, kernels, *backends);
  const bool delegates = !backends->partitioners().empty();
  size_t undelegated = 0;  // calls that no backend supports
  const auto [shard, shards] = Shard();
  Counts counts;
  if (auto known = ReadKnownFailures(absl::GetFlag(FLAGS_known_failures)); known.has_value()) {
    counts.known_failures = *std::move(known);
  } else {
    std::cerr << "--known_failures: can't be read, or a line has no reason: '"
              << absl::GetFlag(FLAGS_known_failures) << "'\n";
    return kBadUsage;
  }
  std::map<std::string, std::vector<std::string>> not_run;  // operators by reason
  for (size_t i = shard; i < files.size(); i += shards) {
    const absl::StatusOr<OpCaseFile> file = ReadOpCaseFile(files[i]);
    if (!file.ok()) {
      std::cerr << file.status() << "\n";
      return kBadInput;
    }
    const std::string reason = delegates ? "" : runner.SkipReason(*file);
    bool some = false;
    for (const OpCase& op_case : file->cases) {
      if (!only.Matches(absl::StrCat(file->op, " ", op_case.id))) continue;
      if (delegates) {
        CaseResult result = delegated.Run(*file, op_case);
        if (result.outcome == CaseOutcome::kSkipped) {
          ++undelegated;
        } else {
          counts.Add(file->op, op_case.id, std::move(result));
        }
        continue;
      }
      some = true;
      counts.Add(file->op, op_case.id,
                 reason.empty() ? runner.Run(*file, op_case)
                                : CaseResult{CaseOutcome::kSkipped, "", reason});
    }
    if (!some) continue;
    if (!reason.empty()) {
      not_run[reason].push_back(file->op);
      continue;
    }
    for (const std::string& difference : runner.CheckDeclaration(*file)) {
      counts.Add(file->op, "(declaration)", {CaseOutcome::kFailed, "declaration", difference});
    }
  }

  for (const auto& [reason, names] : not_run) {
    std::cout << names.size() << " operators not run (" << reason << "):";
    for (const std::string& name : names) std::cout << " " << name;
    std::cout << "\n";
  }
  for (const auto& [check, count] : counts.failed_by_check)
    std::cout << count << " failed in " << check << "\n";
  bool enough = true;
  if (delegates) {
    std::cout << undelegated << " cases without a node that a backend supports were not run\n";
    enough = backends->Report(std::cout, absl::GetFlag(FLAGS_allow_undelegated));
  }
  std::cout << counts.passed << " passed, " << counts.failed << " failed, " << counts.skipped
            << " skipped\n";
  return counts.failed == 0 && enough ? kDone : kNegative;
}

}  // namespace
}  // namespace belay::conformance

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage(
      "runs conformance vectors of operators\n\n  tools/bazel run //conformance:ops -- --cases=DIR "
      "[--engine=highway] [--backend=demo] "
      "[--only='aten.add.* f32_']");
  absl::ParseCommandLine(argc, argv);
  return belay::conformance::Run();
}
