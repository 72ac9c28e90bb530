// The page of `lower --html`, and the graphs of `inspect`.
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "exir/import/testing/archive.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "runtime/core/test_in_directory.h"
#include "tools/belay/captured_outcome.h"
#include "tools/belay/command.h"
#include "tools/belay/two_model_archive.h"

namespace belay::tools {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

constexpr char kMobileNet[] = "conformance/models/zoo/mobilenet_tiny/model.pt2";
constexpr char kMlp[] = "conformance/models/zoo/mlp/model.pt2";
constexpr char kCond[] = "conformance/models/zoo/cond_simple/model.pt2";

class LowerPageTest : public TestInDirectory {
 protected:
  // Returns the data of a page.
  static json DataOf(const std::string& page) {
    constexpr char kBegin[] = "<script type=\"application/json\" id=\"data\">";
    const size_t begin = page.find(kBegin);
    EXPECT_NE(begin, std::string::npos);
    if (begin == std::string::npos) return {};
    const std::string rest = page.substr(begin + sizeof(kBegin) - 1);
    return json::parse(rest.substr(0, rest.find("</script>")), nullptr, false);
  }
  json Page(LowerOptions options) {
    options.output = Path("p.belay");
    options.html = Path("p.html");
    const Outcome outcome = Capture([&] { return Lower(options); });
    EXPECT_EQ(outcome.status, kDone) << outcome.errors;
    return DataOf(Read(options.html));
  }
};

TEST_F(LowerPageTest, MatchesReport) {
  for (const std::vector<std::string>& backends :
       std::vector<std::vector<std::string>>{{"cpu"}, {"demo"}, {"none"}}) {
    const json data = Page({.input = kMobileNet, .report = Path("r.json"), .backends = backends});
    const json report = json::parse(Read(Path("r.json")), nullptr, false);
    EXPECT_EQ(data["report"], report);
    EXPECT_EQ(data["title"], "p.belay");
    ASSERT_EQ(data["methods"].size(), 1u);
    const json& method = data["methods"][0];
    // Nodes and operations by backend.
    std::map<std::string, size_t> nodes;
    std::map<std::string, double> flops;
    for (const json& graph : method["graphs"]) {
      for (const json& node : graph["nodes"]) {
        if (node.contains("outside")) continue;
        const std::string backend =
            node.contains("delegate")
                ? method["delegates"][node["delegate"].get<size_t>()]["backend"]
                : "";
        ++nodes[backend];
        flops[backend] += node.value("flops", 0.0);
      }
    }
    uint64_t delegate_bytes = 0;
    for (const json& row : report["delegation"]) {
      EXPECT_EQ(nodes[row["backend"]], row["nodes"]) << row;
      EXPECT_EQ(flops[row["backend"]], row["flops"]) << row;
      EXPECT_EQ(row["memory_bytes"] != 0, row["backend"] == "cpu") << row;
      EXPECT_EQ(row["generic_kernels"].empty(), row["backend"] != "cpu") << row;
      size_t calls = 0;
      for (const json& kernel : row["generic_kernels"]) calls += kernel["calls"].get<size_t>();
      EXPECT_LE(calls, row["kernel_calls"].get<size_t>()) << row;
      delegate_bytes += row["memory_bytes"].get<uint64_t>();
    }
    EXPECT_EQ(report["memory"][0]["delegate_bytes"], delegate_bytes);
    // Constants by owner.
    std::map<std::string, uint64_t> bytes;
    for (const json& constant : method["constants"]) {
      const std::string backend =
          constant.contains("delegate")
              ? method["delegates"][constant["delegate"].get<size_t>()]["backend"]
              : "";
      bytes[backend] += constant["bytes"].get<uint64_t>();
    }
    for (const json& row : report["delegation"]) {
      EXPECT_EQ(bytes[row["backend"]], row["constant_bytes"]) << row;
    }
    // The backend's notes about its delegates.
    EXPECT_EQ(report["delegate_info"].empty(), backends[0] != "cpu") << report["delegate_info"];
    for (const json& info : report["delegate_info"]) {
      EXPECT_EQ(info["backend"], "cpu");
      EXPECT_EQ(info["method"], "forward");
      EXPECT_THAT(info["lines"].dump(), HasSubstr(" packed as float32"));
    }
    EXPECT_EQ(method["memory"]["arena_bytes"], report["memory"][0]["arena_bytes"]);
    for (const json& tensor : method["memory"]["tensors"]) {
      EXPECT_LE(tensor["offset"].get<uint64_t>() + tensor["bytes"].get<uint64_t>(),
                method["memory"]["arena_bytes"].get<uint64_t>());
    }
  }
}

TEST_F(LowerPageTest, SummaryHasGenericKernelsAndMemoryOfDelegates) {
  LowerOptions options = {.input = kMobileNet, .backends = {"cpu"}};
  options.output = Path("p.belay");
  const Outcome outcome = Capture([&] { return Lower(options); });
  EXPECT_EQ(outcome.status, kDone) << outcome.errors;
  EXPECT_THAT(outcome.output, HasSubstr(" in delegates\n"));
  EXPECT_THAT(outcome.output, HasSubstr("\n  generic kernels in cpu: "));
}

TEST_F(LowerPageTest, IsDeterministicExceptTimes) {
  const auto without_times = [&] {
    json data = Page({.input = kMobileNet});
    for (json& phase : data["report"]["phases"]) phase = phase["name"];
    for (json& pass : data["report"]["passes"]) pass.erase("seconds");
    return data.dump();
  };
  EXPECT_EQ(without_times(), without_times());
}

TEST_F(LowerPageTest, HasAllMethodsAndSubgraphs) {
  const json data = Page({.input = kMlp, .methods = {std::string("other=") + kCond}});
  ASSERT_EQ(data["methods"].size(), 2u);
  EXPECT_EQ(data["methods"][0]["name"], "forward");
  EXPECT_EQ(data["methods"][1]["name"], "other");
  EXPECT_EQ(data["methods"][1]["graphs"].size(), 3u);
  for (const json& method : data["methods"]) EXPECT_TRUE(method.contains("memory"));
}

TEST_F(LowerPageTest, ReasonsNameGraphOfNode) {
  const json data = Page({.input = kCond, .backends = {"demo"}});
  bool in_body = false;
  for (const json& left : data["report"]["left_over"]) in_body |= left["graph"] != "";
  EXPECT_TRUE(in_body) << data["report"]["left_over"];
}

TEST_F(LowerPageTest, FailedWriteLeavesNoFiles) {
  const Outcome page = Capture([&] {
    return Lower({.input = kMlp,
                  .output = Path("p.belay"),
                  .report = Path("r.json"),
                  .html = Path("none/p.html")});
  });
  EXPECT_EQ(page.status, kBadInput);
  EXPECT_THAT(page.errors, HasSubstr("none/p.html"));
  EXPECT_TRUE(Files().empty());
  const Outcome program = Capture([&] {
    return Lower({.input = kMlp, .output = Path("none/p.belay"), .html = Path("p.html")});
  });
  EXPECT_EQ(program.status, kBadInput);
  EXPECT_TRUE(Files().empty());
}

TEST_F(LowerPageTest, DoesNotOverwriteOtherFiles) {
  std::filesystem::copy(kMlp, Path("mlp.pt2"));
  for (const LowerOptions& options :
       {LowerOptions{.input = Path("mlp.pt2"), .output = Path("p"), .html = Path("p")},
        LowerOptions{.input = Path("mlp.pt2"), .output = Path("p"), .html = Path("mlp.pt2")},
        LowerOptions{.input = Path("mlp.pt2"),
                     .output = Path("p"),
                     .report = Path("r"),
                     .html = Path("r")}}) {
    EXPECT_EQ(Capture([&] { return Lower(options); }).status, kBadUsage);
  }
  EXPECT_THAT(Files(), ::testing::ElementsAre("mlp.pt2"));
}

class InspectGraphTest : public LowerPageTest {
 protected:
  void Inspected(const std::string& file) {
    const Outcome outcome = Capture([&] {
      return Inspect({.file = file, .model_explorer = Path("g.json"), .dot = Path("g.dot")});
    });
    ASSERT_EQ(outcome.status, kDone) << outcome.errors;
  }
};

TEST_F(InspectGraphTest, WritesGraphsOfArchivesSavedProgramsAndProgramFiles) {
  ASSERT_EQ(Capture([&] { return Lower({.input = kMobileNet, .output = Path("m.belay")}); }).status,
            kDone);
  ASSERT_EQ(Capture([&] {
              return Lower({.input = kMobileNet, .output = Path("m.bir"), .stage = "lowered"});
            }).status,
            kDone);
  for (const std::string& file : {std::string(kMobileNet), Path("m.bir"), Path("m.belay")}) {
    Inspected(file);
    const std::string text = Read(Path("g.json"));
    const json graphs = json::parse(text, nullptr, false)["graphs"];
    ASSERT_GE(graphs.size(), 1u);
    EXPECT_GT(graphs[0]["nodes"].size(), 1u);
    for (const json& node : graphs[0]["nodes"]) {
      for (const json& edge : node["incomingEdges"]) {
        EXPECT_LT(std::stoul(edge["sourceNodeId"].get<std::string>()), graphs[0]["nodes"].size());
      }
    }
    const std::string dot = Read(Path("g.dot"));
    EXPECT_THAT(dot, HasSubstr("digraph {"));
    Inspected(file);
    EXPECT_EQ(Read(Path("g.json")), text);
    EXPECT_EQ(Read(Path("g.dot")), dot);
  }
}

TEST_F(InspectGraphTest, HasAllModelsAndWritesNothingOnError) {
  Inspected(Write("two.pt2", TwoModelArchive()));
  EXPECT_EQ(json::parse(Read(Path("g.json")))["graphs"].size(), 2u);
  const std::string newer = Write(
      "new.pt2",
      exir::PackArchive(exir::DefaultFiles(exir::ProgramJson({{"\"major\": 8", "\"major\": 9"}}))));
  const Outcome outcome =
      Capture([&] { return Inspect({.file = newer, .model_explorer = Path("n.json")}); });
  EXPECT_EQ(outcome.status, kUnsupported);
  EXPECT_FALSE(std::filesystem::exists(Path("n.json")));
}

}  // namespace
}  // namespace belay::tools
