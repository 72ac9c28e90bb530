// Measures reading and validating large metadata, compared with only parsing them by Protocol
// Buffers.
//
//   tools/bazel run --config=opt //runtime/program:open_bench
#include <benchmark/benchmark.h>

#include <chrono>
#include <cstdio>
#include <string>

#include "google/protobuf/arena.h"
#include "runtime/core/status_macros.h"
#include "runtime/executor/testing/program_builder.h"
#include "runtime/program/header.h"
#include "runtime/program/program.h"

namespace belay {
namespace {

absl::Span<const std::byte> Bytes(const std::string& text) {
  return absl::MakeConstSpan(reinterpret_cast<const std::byte*>(text.data()), text.size());
}

// A chain of calls over arena tensors, with as much metadata per instruction as a lowered model.
std::string ChainOf(int64_t instructions) {
  TestProgram program;
  TestMethod method = program.AddMethod("forward");
  uint32_t last = method.Input("x", DType::kFloat32, {16, 64});
  const uint32_t alpha = method.Int(1);
  for (int64_t i = 0; i < instructions; ++i) {
    const uint32_t next = method.Arena(DType::kFloat32, {16, 64});
    method.Call("aten.add.Tensor", {last, last, alpha}, {next});
    last = next;
  }
  method.Output(last);
  return program.Serialize();
}

absl::Span<const std::byte> MetadataOf(const std::string& file) {
  const absl::StatusOr<FileHeader> header = ReadHeader(Bytes(file), Limits());
  ABSL_CHECK(header.ok());
  return header->metadata;
}

void Open(benchmark::State& state) {
  const std::string file = ChainOf(state.range(0));
  for (auto _ : state) {
    const absl::StatusOr<Program> program = Program::OpenBytes(nullptr, Bytes(file), {});
    ABSL_CHECK(program.ok());
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(MetadataOf(file).size()));
}
BENCHMARK(Open)->Arg(1000)->Arg(20000)->Arg(200000)->Unit(benchmark::kMicrosecond);

void ProtocolBuffersOnly(benchmark::State& state) {
  const std::string file = ChainOf(state.range(0));
  const absl::Span<const std::byte> metadata = MetadataOf(file);
  for (auto _ : state) {
    google::protobuf::Arena arena;
    auto* program = google::protobuf::Arena::CreateMessage<schema::Program>(&arena);
    ABSL_CHECK(program->ParseFromArray(metadata.data(), static_cast<int>(metadata.size())));
    benchmark::DoNotOptimize(program);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(metadata.size()));
}
BENCHMARK(ProtocolBuffersOnly)->Arg(1000)->Arg(20000)->Arg(200000)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace belay

BENCHMARK_MAIN();
