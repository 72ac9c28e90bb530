// Imports every archive of conformance/models: two dialects, all torch releases from 2.5 on.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "exir/import/import.h"
#include "exir/import/json.h"
#include "exir/import/testing/zip_writer.h"
#include "exir/ir/text.h"
#include "exir/ir/verifier.h"
#include "exir/ops/standard_ops.h"
#include "gtest/gtest.h"
#include "runtime/core/str_cat.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> Archives() {
  std::vector<std::string> paths;
  for (const char* folder : {"conformance/models/zoo", "conformance/models/eras"}) {
    for (const fs::directory_entry& model : fs::directory_iterator(folder)) {
      for (const char* name : {"model.pt2", "training.pt2"}) {
        if (fs::exists(model.path() / name)) paths.push_back(model.path() / name);
      }
    }
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

const OpRegistry& Ops() {
  static const OpRegistry* const ops = [] {
    absl::StatusOr<std::unique_ptr<OpRegistry>> created = CreateStandardOps();
    ABSL_CHECK(created.ok());
    return created->release();
  }();
  return *ops;
}

// Counts the nodes per operator, over all graphs.
std::map<std::string, int64_t> CountOps(const ExportedProgram& program) {
  std::map<std::string, int64_t> counts;
  for (const Graph& graph : program.graphs) {
    for (NodeId node : graph.nodes()) ++counts[graph.node(node).target->name()];
  }
  return counts;
}

std::map<std::string, int64_t> CountsOf(JsonRef ref) {
  std::map<std::string, int64_t> counts;
  EXPECT_OK(ForEachField(ref, [&](std::string_view name, JsonRef count) -> absl::Status {
    ABSL_ASSIGN_OR_RETURN(counts[std::string(name)], count.Int());
    return absl::OkStatus();
  }));
  // Here, results are named directly, without getitem nodes.
  counts.erase("_operator.getitem");
  return counts;
}

class ImportZooTest : public ::testing::TestWithParam<std::string> {};

TEST_P(ImportZooTest, ImportsAndRoundTrips) {
  ASSERT_OK_AND_ASSIGN(const ExportedProgram program, ImportFile(GetParam(), Ops()));
  EXPECT_OK(Verify(program));
  const std::string text = PrintProgram(program);
  ASSERT_OK_AND_ASSIGN(const ExportedProgram parsed, ParseProgram(text, Ops()));
  EXPECT_TRUE(Equal(program, parsed)) << text;
}

TEST_P(ImportZooTest, HasSameNodesAsTorch) {
  const fs::path manifest = fs::path(GetParam()).parent_path() / "manifest.json";
  if (!fs::exists(manifest)) GTEST_SKIP() << "no manifest";
  std::ifstream in(manifest, std::ios::binary);
  const Storage text = ToStorage(std::string(std::istreambuf_iterator<char>(in), {}));
  ASSERT_OK_AND_ASSIGN(const JsonDocument document,
                       JsonDocument::Parse(text.bytes, manifest.string(), {}));
  static constexpr JsonField kFields[] = {
      {"ops", false}, {"training_ops", false}, {"output_kinds", false}};
  JsonStruct<3> s;
  ASSERT_OK(s.Read(document.root(), kFields));
  ASSERT_OK_AND_ASSIGN(const ExportedProgram program, ImportFile(GetParam(), Ops()));
  const bool training = fs::path(GetParam()).filename() == "training.pt2";
  const size_t ops = training ? 1 : 0;
  if (s.has(ops)) EXPECT_EQ(CountOps(program), CountsOf(s[ops]));
  if (s.has(2) && !training) {
    std::map<std::string, int64_t> kinds;
    for (const OutputSpec& spec : program.signature.outputs) {
      std::string name(OutputKindName(spec.kind));
      for (char& c : name) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
      ++kinds[name];
    }
    EXPECT_EQ(kinds, CountsOf(s[2]));
  }
}

INSTANTIATE_TEST_SUITE_P(Archives, ImportZooTest, ::testing::ValuesIn(Archives()),
                         [](const auto& info) {
                           const fs::path path(info.param);
                           std::string name =
                               path.parent_path().filename().string() + "_" + path.stem().string();
                           for (char& c : name)
                             c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
                           return name;
                         });

}  // namespace
}  // namespace belay::exir
