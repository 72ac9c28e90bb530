// Measures import throughput in bytes of JSON per second.
//
//   bazel run --config=opt //exir/import:import_bench -- [archive.pt2 …]
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>

#include "exir/import/import.h"
#include "exir/import/json.h"
#include "exir/ops/standard_ops.h"
#include "runtime/core/mapped_file.h"
#include "runtime/core/status_macros.h"

namespace belay::exir {
namespace {

// Total bytes of all models/*.json, or of the program of a flat archive.
int64_t JsonBytes(const ArchiveInfo& info) {
  int64_t bytes = 0;
  for (const ArchiveInfo::Entry& entry : info.entries) {
    const bool model = entry.name.find("/models/") != std::string::npos;
    if (model || entry.name == "serialized_exported_program.json")
      bytes += static_cast<int64_t>(entry.bytes);
  }
  return bytes;
}

void ImportArchive(benchmark::State& state, const std::string& path, const OpRegistry* ops,
                   bool verify_checksums) {
  const absl::StatusOr<ArchiveInfo> info = InspectArchiveFile(path);
  const absl::StatusOr<std::shared_ptr<const MappedFile>> file = MappedFile::Open(path);
  if (!info.ok() || !file.ok()) {
    state.SkipWithError(path.c_str());
    return;
  }
  ImportOptions options;
  options.verify_checksums = verify_checksums;
  size_t nodes = 0;
  for (auto _ : state) {
    absl::StatusOr<ExportedProgram> program = ImportBytes(*file, (*file)->bytes(), *ops, options);
    if (!program.ok()) {
      state.SkipWithError(program.status().ToString().c_str());
      return;
    }
    nodes = program->top().num_nodes();
  }
  state.SetBytesProcessed(state.iterations() * JsonBytes(*info));
  state.counters["nodes"] = static_cast<double>(nodes);
}

}  // namespace
}  // namespace belay::exir

int main(int argc, char** argv) {
  using namespace belay::exir;  // NOLINT
  benchmark::Initialize(&argc, argv);
  absl::StatusOr<std::unique_ptr<OpRegistry>> ops = CreateStandardOps();
  if (!ops.ok()) {
    std::fprintf(stderr, "%s\n", ops.status().ToString().c_str());
    return 1;
  }
  std::vector<std::string> paths(argv + 1, argv + argc);
  if (paths.empty()) paths.push_back("conformance/models/zoo/tiny_llama/model.pt2");
  for (const std::string& path : paths) {
    for (bool checksums : {true, false}) {
      const std::string name = path + (checksums ? "/checksums" : "/no_checksums");
      benchmark::RegisterBenchmark(name.c_str(), ImportArchive, path, ops->get(), checksums)
          ->Unit(benchmark::kMillisecond);
    }
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
