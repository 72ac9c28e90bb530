// Measures loading, and the share of validation, for the programs of the zoo.
// //runtime/program:open_bench measures reading and validation of large metadata.
//
//   tools/bazel run --config=opt //conformance/models:load_bench
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backends/runtime_backends.h"
#include "exir/ops/standard_ops.h"
#include "exir/pipeline.h"
#include "exir/serialize/serializer.h"
#include "google/protobuf/arena.h"
#include "runtime/core/status_macros.h"
#include "runtime/executor/method.h"
#include "runtime/kernels/standard_kernels.h"
#include "runtime/program/header.h"
#include "runtime/program/program.h"
#include "runtime/schema/program.pb.h"

namespace belay::conformance {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

double Seconds(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

absl::Span<const std::byte> Bytes(const std::string& text) {
  return absl::MakeConstSpan(reinterpret_cast<const std::byte*>(text.data()), text.size());
}

// Reads header, checksum and wire format like Program::Open, without checking any rule of the
// format.
void Parse(absl::Span<const std::byte> file) {
  const absl::StatusOr<FileHeader> header = ReadHeader(file, Limits());
  ABSL_CHECK(header.ok());
  google::protobuf::Arena arena;
  auto* program = google::protobuf::Arena::CreateMessage<schema::Program>(&arena);
  ABSL_CHECK(
      program->ParseFromArray(header->metadata.data(), static_cast<int>(header->metadata.size())));
  benchmark::DoNotOptimize(program);
}

double Median(std::vector<double>& values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

// Opening parses and validates in one pass. Validation time is opening time minus the time of
// parsing with Protocol Buffers. Loading is opening and Method::Load.
void LoadModel(benchmark::State& state, const std::string& bytes, const KernelRegistry& kernels) {
  std::vector<double> parse, open, load;
  for (auto _ : state) {
    const auto start = Clock::now();
    Parse(Bytes(bytes));
    const auto parsed = Clock::now();
    const absl::StatusOr<Program> program = Program::OpenBytes(nullptr, Bytes(bytes), {});
    ABSL_CHECK(program.ok());
    const auto opened = Clock::now();
    const absl::StatusOr<Method> method =
        Method::Load(*program, "forward", kernels, RuntimeBackends());
    ABSL_CHECK(method.ok());
    const auto loaded = Clock::now();
    parse.push_back(Seconds(start, parsed));
    open.push_back(Seconds(parsed, opened));
    load.push_back(Seconds(opened, loaded));
    state.SetIterationTime(Seconds(parsed, loaded));
  }
  const double validation = std::max(0.0, Median(open) - Median(parse));
  const double all = Median(open) + Median(load);
  state.counters["validate_us"] = 1e6 * validation;
  state.counters["load_us"] = 1e6 * all;
  state.counters["share_percent"] = 100 * validation / all;
}

struct Model {
  std::string name, bytes;
};
std::vector<Model> LowerZoo() {
  const auto ops = exir::CreateStandardOps();
  ABSL_CHECK(ops.ok());
  std::vector<Model> models;
  for (const auto& folder : fs::directory_iterator("conformance/models/zoo")) {
    const auto image =
        exir::LowerFiles({{"forward", (folder.path() / "model.pt2").string()}}, **ops, {});
    if (!image.ok()) continue;
    const auto serialized = exir::SerializeProgram(*image);
    ABSL_CHECK(serialized.ok());
    models.push_back({folder.path().filename().string(), serialized->ToString()});
  }
  std::sort(models.begin(), models.end(),
            [](const Model& a, const Model& b) { return a.name < b.name; });
  return models;
}

}  // namespace
}  // namespace belay::conformance

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (const char* root = std::getenv("BUILD_WORKSPACE_DIRECTORY")) {
    std::filesystem::current_path(root);
  }
  belay::KernelRegistry kernels;
  if (!belay::AddStandardKernels(kernels).ok()) return 1;
  const auto models = belay::conformance::LowerZoo();
  for (const auto& model : models) {
    benchmark::RegisterBenchmark(("Load/" + model.name).c_str(),
                                 [&](benchmark::State& state) {
                                   belay::conformance::LoadModel(state, model.bytes, kernels);
                                 })
        ->UseManualTime()
        ->Unit(benchmark::kMicrosecond);
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
