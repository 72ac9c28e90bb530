// Measures the cost of lowering per node, which must not grow with the size of the program.
//
//   tools/bazel run --config=opt //exir/backend/tests/scale:lowering_bench
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "exir/backend/testing/recording_backend.h"
#include "exir/backend/tests/scale/scale_program.h"
#include "exir/backend/to_backend.h"
#include "exir/ops/standard_ops.h"
#include "runtime/core/status_macros.h"

namespace belay::exir {
namespace {

constexpr size_t kNodes[] = {1'000, 10'000, 100'000};
constexpr size_t kPartitions[] = {1, 100, 1'000};
constexpr size_t kNodesPerRound = 100'000;  // small programs are lowered repeatedly

struct Row {
  size_t nodes, partitions;
  ExportedProgram program;
  double seconds = 1e30;  // of the best round, per lowering
};

absl::Status Run(int rounds) {
  ABSL_ASSIGN_OR_RETURN(const std::unique_ptr<OpRegistry> ops, CreateStandardOps());
  const FunctionBackend backend("recorder");
  BackendSet backends;
  ABSL_RETURN_IF_ERROR(backends.Add(&backend));
  TextPartitioner partitioner;
  partitioner.tag_constants = true;
  std::vector<Row> rows;
  for (const size_t partitions : kPartitions) {
    for (const size_t nodes : kNodes) {
      ABSL_ASSIGN_OR_RETURN(ExportedProgram program, CreateScaleProgram(*ops, nodes, partitions));
      rows.push_back({nodes, partitions, std::move(program)});
    }
  }
  const size_t memory_before = PeakMemory();
  for (int round = 0; round < rounds; ++round) {
    for (Row& row : rows) {
      const size_t repeats = kNodesPerRound / row.nodes;
      const auto start = std::chrono::steady_clock::now();
      for (size_t i = 0; i < repeats; ++i) {
        ABSL_RETURN_IF_ERROR(ToBackend(row.program, partitioner, backends).status());
      }
      const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
      row.seconds = std::min(row.seconds, seconds.count() / static_cast<double>(repeats));
    }
  }
  std::printf("%10s %10s %12s %10s\n", "partitions", "nodes", "ms", "us/node");
  double worst = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    const double per_node = row.seconds / static_cast<double>(row.nodes);
    std::printf("%10zu %10zu %12.2f %10.3f\n", row.partitions, row.nodes, row.seconds * 1e3,
                per_node * 1e6);
    const Row& smallest = rows[i - i % std::size(kNodes)];
    worst = std::max(worst, per_node / (smallest.seconds / static_cast<double>(smallest.nodes)));
  }
  std::printf("time per node grows by %.2f at most, from the smallest program of a row\n", worst);
  std::printf("memory beyond the programs: %.0f MB\n",
              static_cast<double>(PeakMemory() - memory_before) / 1e6);
  return absl::OkStatus();
}

}  // namespace
}  // namespace belay::exir

int main() {
  const absl::Status status = belay::exir::Run(/*rounds=*/5);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
