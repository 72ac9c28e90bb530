// Checks that lowering and emission give the same bytes for any seed of the hash tables
// (docs/lowering.md §8 h).
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "absl/hash/hash.h"
#include "exir/backend/testing/recording_backend.h"
#include "exir/backend/to_backend.h"
#include "exir/emit/emitter.h"
#include "exir/ir/text.h"
#include "exir/ops/standard_ops.h"
#include "exir/serialize/serializer.h"
#include "exir/testing/generator/edge_programs.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

constexpr uint64_t kPrograms = 200;
constexpr std::string_view kPrintFlag = "--print";

// Prints everything derived from the programs: text, calls of proposals, file; also errors.
int PrintLowered(uint64_t first) {
  std::cout << absl::HashOf(std::string_view("seed")) << "\n";
  const auto ops = CreateStandardOps();
  if (!ops.ok()) return 1;
  const FunctionBackend recorder("recorder", [](ExportedProgram program, auto) {
    PreprocessResult result;
    result.processed = TextStorage(PrintProgram(program));
    return absl::StatusOr<PreprocessResult>(std::move(result));
  });
  BackendSet backends;
  if (!backends.Add(&recorder).ok()) return 1;
  for (uint64_t i = 0; i < kPrograms; ++i) {
    Random random(first, i);
    ExportedProgram program = RandomEdgePrograms(random, **ops).Next();
    TagNodes(random, 4, program);
    TextPartitioner partitioner;
    partitioner.tag_constants = true;
    const absl::StatusOr<ExportedProgram> lowered = ToBackend(program, partitioner, backends);
    if (!lowered.ok()) {
      std::cout << lowered.status().ToString() << "\n";
      continue;
    }
    std::cout << PrintProgram(*lowered);
    MethodPrograms methods;
    methods.emplace_back("forward", lowered->Clone());
    const absl::StatusOr<ProgramImage> image = EmitProgram(methods);
    if (!image.ok()) {
      std::cout << image.status().ToString() << "\n";
      continue;
    }
    const absl::StatusOr<SerializedProgram> file = SerializeProgram(*image);
    if (!file.ok()) return 1;
    std::cout << file->ToString() << "\n";
  }
  return 0;
}

std::string OutputOf(const std::string& command) {
  std::FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return "";
  std::string output;
  char buffer[4096];
  for (size_t n; (n = std::fread(buffer, 1, sizeof(buffer), pipe)) > 0;) output.append(buffer, n);
  return pclose(pipe) == 0 ? output : "";
}

std::string& OwnPath() {
  static auto* path = new std::string;
  return *path;
}

TEST(HashSeedTest, DoesNotChangeTheOutput) {
  std::set<std::string> seeds, outputs;
  for (int i = 0; i < 6; ++i) {
    const std::string output =
        OutputOf(OwnPath() + " " + std::string(kPrintFlag) + " " + std::to_string(TestSeed()));
    const size_t line = output.find('\n');
    ASSERT_NE(line, std::string::npos);
    seeds.insert(output.substr(0, line));
    outputs.insert(output.substr(line));
  }
  EXPECT_EQ(outputs.size(), 1u);
  EXPECT_GT(outputs.begin()->size(), kPrograms * 1000);
  if (seeds.size() == 1) {
    GTEST_SKIP() << "this system loads every process at the same address: one seed was tried";
  }
}

}  // namespace
}  // namespace belay::exir

int main(int argc, char** argv) {
  if (argc == 3 && argv[1] == belay::exir::kPrintFlag) {
    return belay::exir::PrintLowered(std::stoull(argv[2]));
  }
  testing::InitGoogleTest(&argc, argv);
  belay::exir::OwnPath() = argv[0];
  return RUN_ALL_TESTS();
}
