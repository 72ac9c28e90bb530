// Compares all engines on random programs.
#include <cstdio>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/strings/str_split.h"
#include "conformance/differential/differential.h"

ABSL_FLAG(std::string, cases, "conformance/opcases", "the folder of the conformance vectors");
ABSL_FLAG(uint64_t, seed, 1, "other seeds give other programs");
ABSL_FLAG(int, programs, 1000, "number of programs");
ABSL_FLAG(bool, training, false, "programs of the TRAINING dialect");
ABSL_FLAG(std::string, only, "", "use only these operators, separated by commas");
ABSL_FLAG(int, max_problems, 10, "stop after this many problems");
ABSL_FLAG(bool, shrink, true, "reduce programs that show a problem");

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage("compares interpreter and runtime on random programs");
  absl::ParseCommandLine(argc, argv);
  const auto setup = belay::conformance::DifferentialSetup::Create(absl::GetFlag(FLAGS_cases));
  if (!setup.ok()) {
    std::fprintf(stderr, "%s\n", setup.status().ToString().c_str());
    return 3;
  }
  belay::conformance::DifferentialOptions options;
  options.seed = absl::GetFlag(FLAGS_seed);
  options.programs = absl::GetFlag(FLAGS_programs);
  options.training = absl::GetFlag(FLAGS_training);
  options.max_problems = absl::GetFlag(FLAGS_max_problems);
  options.shrink = absl::GetFlag(FLAGS_shrink);
  for (const auto& name : absl::StrSplit(absl::GetFlag(FLAGS_only), ',', absl::SkipEmpty())) {
    options.only.insert(std::string(name));
  }
  const belay::conformance::DifferentialReport report =
      belay::conformance::RunDifferential(**setup, options);
  for (const std::string& problem : report.problems) std::printf("%s\n", problem.c_str());
  std::printf("%s\n", report.ToString().c_str());
  return report.problems.empty() ? 0 : 1;
}
