// `belay stress`: checks that mutations of a file are rejected, or execute within limits.

#include <chrono>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "google/protobuf/stubs/common.h"
#include "nlohmann/json.hpp"
#include "runtime/core/annotate.h"
#include "runtime/core/bytes.h"
#include "runtime/core/mapped_file.h"
#include "runtime/core/status_macros.h"
#include "tools/belay/command.h"
#include "tools/belay/crash_report.h"
#include "tools/belay/printing.h"
#include "tools/belay/program_file.h"
#include "tools/belay/stress_target.h"
#include "tools/mutate/mutator.h"
#if GOOGLE_PROTOBUF_VERSION < 4022000
#include "google/protobuf/stubs/logging.h"
#endif

namespace belay::tools {
namespace {

std::string DirectoryOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

absl::StatusOr<int> StressFile(const StressOptions& options) {
  ABSL_ASSIGN_OR_RETURN(const auto file, MappedFile::Open(options.file));
  std::string valid(AsString(file->bytes()));
  const bool is_program = IsProgramFile(file->bytes());
  ABSL_ASSIGN_OR_RETURN(
      const std::unique_ptr<StressTarget> target,
      is_program ? CreateProgramTarget(DirectoryOf(options.file)) : CreateArchiveTarget());
  const StressOutcome whole = target->Try(valid);
  if (!whole.status.ok()) {
    return Annotate(whole.status,
                    absl::StrCat(options.file, ": the unmodified file fails (", whole.stage, ")"));
  }
  const mutate::Mutator mutator({std::move(valid)});
  if (!options.write.empty()) {
    const std::string bytes = mutator.Mutate(options.seed, options.first).bytes;
    const std::string_view piece = bytes;
    ABSL_RETURN_IF_ERROR(WriteFileAtomically(options.write, absl::MakeConstSpan(&piece, 1)));
  }
  InstallCrashReport(absl::StrCat("belay: a mutation ended the process; to reproduce it: --seed ",
                                  options.seed, " --mutations 1 --first "));
#if GOOGLE_PROTOBUF_VERSION < 4022000
  const google::protobuf::LogSilencer quiet;  // suppresses reports of strings that are not UTF-8
#endif
  std::map<std::pair<std::string_view, std::string>, uint64_t> counts;
  std::map<std::string_view, uint64_t> kinds;
  double slowest_seconds = 0;
  uint64_t slowest = options.first;
  for (uint64_t k = 0; k < options.mutations; ++k) {
    const uint64_t index = options.first + k;
    SetCurrentMutation(index);
    const mutate::Mutation mutation = mutator.Mutate(options.seed, index);
    const auto start = std::chrono::steady_clock::now();
    const StressOutcome outcome = target->Try(mutation.bytes);
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (seconds > slowest_seconds) {
      slowest_seconds = seconds;
      slowest = index;
    }
    ++counts[{outcome.stage, absl::StatusCodeToString(outcome.status.code())}];
    ++kinds[mutate::MutationKindName(mutation.kind)];
    if (options.mutations == 1) {
      std::cerr << mutate::MutationKindName(mutation.kind) << ", " << outcome.stage << ": "
                << ForTerminal(outcome.status.ToString()) << "\n";
    }
  }
  DisarmCrashReport();
  if (options.json) {
    nlohmann::json out{{"file", options.file},
                       {"seed", options.seed},
                       {"first", options.first},
                       {"mutations", options.mutations},
                       {"slowest", slowest},
                       {"slowest_seconds", slowest_seconds},
                       {"outcomes", nlohmann::json::array()},
                       {"kinds", kinds}};
    for (const auto& [outcome, count] : counts) {
      out["outcomes"].push_back(
          {{"stage", outcome.first}, {"code", outcome.second}, {"count", count}});
    }
    std::cout << JsonText(out);
    return kDone;
  }
  std::cout << OneLine(options.file) << ": " << options.mutations << " mutations of seed "
            << options.seed << "\n";
  for (const auto& [outcome, count] : counts) {
    std::cout << "  " << count << " " << outcome.first << ": " << outcome.second << "\n";
  }
  std::cout << "  slowest: " << 1e3 * slowest_seconds << " ms (--seed " << options.seed
            << " --mutations 1 --first " << slowest << ")\n";
  return kDone;
}

}  // namespace

int Stress(const StressOptions& options) {
  const absl::StatusOr<int> status = StressFile(options);
  return status.ok() ? *status : Report(status.status());
}

Command StressCommand() {
  const auto stress = std::make_shared<StressOptions>();
  return {
      .name = "stress",
      .about =
          "Mutates a program file (.belay) or an archive (.pt2), and reads, loads and executes the "
          "results: each mutation must be an error or stay within limits.",
      .options = {{"file", &stress->file, "the file; it is not modified", {.required = true}},
                  {"--mutations", &stress->mutations, "number of mutations", {.least = 1}},
                  {"--seed", &stress->seed, "seed of the mutations"},
                  {"--first", &stress->first, "the index of the first mutation"},
                  {"--write",
                   &stress->write,
                   "writes the first mutation to this file",
                   {.not_empty = true}},
                  {"--json", &stress->json, "prints JSON"}},
      .footer = "Example: belay stress model.belay --mutations 20000 --seed 7",
      .owned = stress,
      .run = [stress] { return Stress(*stress); },
  };
}

}  // namespace belay::tools
