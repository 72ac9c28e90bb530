// Runs the models of a zoo: lowers each archive, executes every recorded case, and compares with
// PyTorch's results. Lists skipped archives with the reason.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/flags/usage_config.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "backends/runtime_backends.h"
#include "conformance/backend/chosen_backends.h"
#include "conformance/models/manifest.h"
#include "conformance/models/model_runner.h"
#include "conformance/models/program_files.h"
#include "examples/custom_operator/scaled_swish_kernel.h"
#include "examples/custom_operator/scaled_swish_op.h"
#include "exir/ops/standard_ops.h"
#include "runtime/kernels/standard_kernels.h"

ABSL_FLAG(std::string, zoo, "", "directory with one folder per model");
ABSL_FLAG(std::vector<std::string>, only, {}, "names of models; all when empty");
ABSL_FLAG(std::vector<std::string>, archives, {},
          "files to run, e.g. model.pt2; all that the manifests name when empty");
ABSL_FLAG(std::string, engine, "highway",
          "kernels: reference, or highway (with the reference kernels for the rest)");
ABSL_FLAG(std::vector<std::string>, backend, {},
          "backends to delegate to, in order of priority; each must accept a node of some model");
ABSL_FLAG(bool, allow_undelegated, false,
          "backends may accept no node at all, like the backend null");
ABSL_FLAG(bool, allow_unsupported, false, "unsupported models do not cause exit status 1");
ABSL_FLAG(std::string, known_failures, "",
          "file with lines `model/archive reason`: those count as skipped, or as failed if they "
          "pass; `*/archive reason` covers unsupported models");
ABSL_FLAG(std::string, write_programs, "",
          "directory for the program file of each archive; nothing is executed");
ABSL_FLAG(std::string, programs, "",
          "directory written by --write_programs, possibly on another machine: lowering must give "
          "the same bytes, and these files are executed");

namespace belay::conformance {
namespace {

// Bazel's sharding: this process runs every n-th item.
std::pair<size_t, size_t> Shard() {
  const char* total = std::getenv("TEST_TOTAL_SHARDS");
  const char* index = std::getenv("TEST_SHARD_INDEX");
  if (total == nullptr || index == nullptr) return {0, 1};
  if (const char* status = std::getenv("TEST_SHARD_STATUS_FILE")) std::ofstream(status).put('\n');
  return {std::strtoul(index, nullptr, 10), std::max(1ul, std::strtoul(total, nullptr, 10))};
}

absl::StatusOr<std::map<std::string, std::string>> ReadKnownFailures(const std::string& path) {
  std::map<std::string, std::string> known;
  if (path.empty()) return known;
  std::ifstream file(path);
  if (!file) return absl::NotFoundError(absl::StrCat("can't read ", path));
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    const size_t space = line.find(' ');
    if (space == std::string::npos)
      return absl::InvalidArgumentError(absl::StrCat(path, ": no reason: ", line));
    known[line.substr(0, space)] = line.substr(space + 1);
  }
  return known;
}

absl::Status RunArchive(const std::string& folder, const Manifest& manifest,
                        const std::string& archive, const Engine& engine) {
  // "mlp.belay" of mlp/model.pt2, which every model has; "mlp.training.belay" of mlp/training.pt2.
  const auto file_in = [&](const std::string& directory) {
    const std::string stem = std::filesystem::path(archive).stem().string();
    return absl::StrCat(directory, "/", std::filesystem::path(folder).filename().string(),
                        stem == "model" ? "" : "." + stem, ".belay");
  };
  if (const std::string write = absl::GetFlag(FLAGS_write_programs); !write.empty()) {
    return WriteModel(folder, manifest, archive, engine, file_in(write));
  }
  if (const std::string programs = absl::GetFlag(FLAGS_programs); !programs.empty()) {
    return RunSameProgram(folder, manifest, archive, engine, file_in(programs));
  }
  return RunModel(folder, manifest, archive, engine);
}

std::string FirstLine(const absl::Status& status) {
  const std::string text = status.ToString();
  return text.substr(0, std::min(text.find('\n'), size_t{400}));
}

int Run() {
  namespace fs = std::filesystem;
  std::string zoo = absl::GetFlag(FLAGS_zoo);
  // `bazel run` changes the working directory; relative paths refer to the caller's.
  if (const char* cwd = std::getenv("BUILD_WORKING_DIRECTORY");
      cwd != nullptr && fs::path(zoo).is_relative()) {
    zoo = (fs::path(cwd) / zoo).string();
  }
  std::error_code error;
  if (zoo.empty() || !fs::is_directory(zoo, error)) {
    std::cerr << "--zoo: not a directory: '" << zoo << "'\n";
    return 2;
  }
  const auto ops = exir::CreateStandardOps();
  if (!ops.ok()) {
    std::cerr << ops.status() << "\n";
    return 2;
  }
  KernelRegistry kernels;
  const absl::Status added = absl::GetFlag(FLAGS_engine) == "reference"
                                 ? AddReferenceKernels(kernels)
                                 : AddStandardKernels(kernels);
  if (!added.ok()) {
    std::cerr << added << "\n";
    return 2;
  }
  // The zoo has a model with a custom operator.
  for (const absl::Status& status : {custom_operator::DefineScaledSwish(**ops),
                                     kernels.Add(custom_operator::ScaledSwishKernels())}) {
    if (status.ok()) continue;
    std::cerr << status << "\n";
    return 2;
  }
  const auto known = ReadKnownFailures(absl::GetFlag(FLAGS_known_failures));
  if (!known.ok()) {
    std::cerr << known.status() << "\n";
    return 2;
  }
  Engine engine{
      .ops = ops->get(), .kernels = &kernels, .backends = &RuntimeBackends(), .pipeline = {}};
  auto backends = ChosenBackends::Create(absl::GetFlag(FLAGS_backend));
  if (!backends.ok()) {
    std::cerr << "--backend: " << backends.status().message() << "\n";
    return 2;
  }
  backends->AddTo(engine.pipeline);

  const std::vector<std::string> only = absl::GetFlag(FLAGS_only),
                                 archives = absl::GetFlag(FLAGS_archives);
  const auto wanted = [](const std::vector<std::string>& list, const std::string& name) {
    return list.empty() || std::find(list.begin(), list.end(), name) != list.end();
  };
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(zoo)) {
    if (fs::exists(entry.path() / "manifest.json"))
      names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  const auto [shard, shards] = Shard();
  size_t index = 0;
  int passed = 0, failed = 0;
  std::vector<std::string> skipped, unsupported;  // not executed, with the reason
  for (const std::string& name : only) {
    if (!std::binary_search(names.begin(), names.end(), name)) {
      std::cout << "FAIL " << name << ": unknown model\n";
      ++failed;
    }
  }
  for (const std::string& name : names) {
    if (!wanted(only, name) || index++ % shards != shard) continue;
    const std::string folder = (fs::path(zoo) / name).string();
    const auto manifest = ReadManifest(folder + "/manifest.json");
    if (!manifest.ok()) {
      std::cout << "FAIL " << name << ": " << FirstLine(manifest.status()) << "\n";
      ++failed;
      continue;
    }
    for (const auto& [archive, dialect] : manifest->archives) {
      if (!wanted(archives, archive)) continue;
      const std::string id = absl::StrCat(name, "/", archive);
      const absl::Status status = RunArchive(folder, *manifest, archive, engine);
      auto expected = known->find(id);
      if (expected == known->end() && status.code() == absl::StatusCode::kUnimplemented) {
        expected = known->find("*/" + archive);
      }
      if (status.ok() && expected == known->end()) {
        ++passed;
      } else if (status.ok()) {
        std::cout << "FAIL " << id << ": passes now; remove it from the known failures\n";
        ++failed;
      } else if (expected != known->end()) {
        skipped.push_back(absl::StrCat(id, ": ", expected->second, " (", FirstLine(status), ")"));
      } else if (status.code() == absl::StatusCode::kUnimplemented) {
        unsupported.push_back(absl::StrCat(id, ": ", FirstLine(status)));
      } else {
        std::cout << "FAIL " << id << ": " << FirstLine(status) << "\n";
        ++failed;
      }
    }
  }
  skipped.insert(skipped.end(), unsupported.begin(), unsupported.end());
  for (const std::string& line : skipped) std::cout << "SKIP " << line << "\n";
  const bool ran = passed > 0 || failed > 0 || !skipped.empty();
  bool complete = unsupported.empty() || absl::GetFlag(FLAGS_allow_unsupported);
  if (!backends->Report(std::cout, !ran || absl::GetFlag(FLAGS_allow_undelegated))) {
    complete = false;
  }
  std::cout << passed << " passed, " << failed << " failed, " << skipped.size() << " skipped";
  if (!unsupported.empty()) {
    std::cout << ", " << unsupported.size() << " of them unsupported"
              << (absl::GetFlag(FLAGS_allow_unsupported)
                      ? ""
                      : "; use --allow_unsupported to permit this");
  }
  std::cout << "\n";
  return failed == 0 && complete ? 0 : 1;
}

}  // namespace
}  // namespace belay::conformance

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage(
      "Lowers the models of a zoo and compares results with the recorded ones.\n"
      "  tools/bazel run //conformance:models -- --zoo=DIR [--only=a,b] [--archives=model.pt2] "
      "[--engine=reference] [--backend=demo]");
  // --help lists the flags of this file.
  absl::FlagsUsageConfig config;
  config.contains_help_flags = [](absl::string_view file) {
    return absl::EndsWith(file, "main_models.cc");
  };
  absl::SetFlagsUsageConfig(config);
  absl::ParseCommandLine(argc, argv);
  return belay::conformance::Run();
}
