#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "exir/import/testing/archive.h"
#include "exir/import/testing/zip_writer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "runtime/core/test_in_directory.h"
#include "runtime/executor/testing/program_builder.h"
#include "runtime/executor/testing/sample_program.h"
#include "tools/belay/captured_outcome.h"
#include "tools/belay/command.h"
#include "tools/belay/two_model_archive.h"

namespace belay::tools {
namespace {

using exir::DefaultFiles;
using exir::PackArchive;
using exir::ProgramJson;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kMlp[] = "conformance/models/zoo/mlp/model.pt2";

class InspectTest : public TestInDirectory {
 protected:
  static Outcome Run(const InspectOptions& options) {
    return Capture([&] { return Inspect(options); });
  }
};

TEST_F(InspectTest, ShowsEveryModel) {
  const std::string file = Write("two.pt2", TwoModelArchive());
  const Outcome text = Run({.file = file});
  ASSERT_EQ(text.status, kDone) << text.errors;
  EXPECT_THAT(text.output, AllOf(HasSubstr("2 models"), HasSubstr("model prefill: PT2 archive"),
                                 HasSubstr("model decode: "), HasSubstr("x aten.relu.default"),
                                 HasSubstr("x aten.neg.default")));
  const Outcome out = Run({.file = file, .json = true});
  ASSERT_EQ(out.status, kDone) << out.errors;
  const json report = json::parse(out.output, nullptr, false);
  ASSERT_EQ(report["models"].size(), 2u) << out.output;
  EXPECT_EQ(report["models"][0]["name"], "prefill");
  EXPECT_EQ(report["models"][1]["nodes"], 2);
  const Outcome graph = Run({.file = file, .graph = true});
  EXPECT_EQ(graph.status, kDone) << graph.errors;
  EXPECT_THAT(graph.output, AllOf(HasSubstr("model prefill: "), HasSubstr("aten.neg.default(")));
}

TEST_F(InspectTest, ShowsArchiveOfOtherSchemaVersion) {
  const std::string file =
      Write("new.pt2", PackArchive(DefaultFiles(ProgramJson({{"\"major\": 8", "\"major\": 9"}}))));
  const Outcome outcome = Run({.file = file, .size = true, .verify = true});
  EXPECT_EQ(outcome.status, kUnsupported);
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("schema 9.20"), HasSubstr("can't be imported"),
                                    HasSubstr("(100 %)")));
  EXPECT_THAT(outcome.errors, HasSubstr("9"));
  const Outcome graph = Run({.file = file, .json = true, .graph = true});
  EXPECT_EQ(graph.status, kUnsupported);
  const json model = json::parse(graph.output)["models"][0];
  EXPECT_TRUE(model.contains("error") && !model.contains("graph")) << model;
}

TEST_F(InspectTest, ArchiveSizesAddUp) {
  const std::string file = Write("m.pt2", PackArchive(DefaultFiles(ProgramJson())));
  for (const std::string& path : {file, std::string(kMlp)}) {
    const Outcome outcome = Run({.file = path, .json = true, .size = true});
    ASSERT_EQ(outcome.status, kDone) << outcome.errors;
    const json report = json::parse(outcome.output, nullptr, false);
    uint64_t sum = 0;
    for (const json& owner : report["size"]) sum += owner["bytes"].get<uint64_t>();
    EXPECT_EQ(sum, Read(path).size());
  }
  EXPECT_THAT(Run({.file = file, .size = true}).output,
              AllOf(HasSubstr("24 bytes: model/data/weights/weight_0\n"),
                    HasSubstr(absl::StrCat(Read(file).size(), " bytes in total (100 %)"))));
}

TEST_F(InspectTest, VerifyReadsEveryEntry) {
  EXPECT_THAT(Run({.file = kMlp, .verify = true}).output, HasSubstr("all checksums match"));
  // An entry that is not read by the import.
  std::vector<exir::ZipWriterEntry> entries;
  for (const auto& [name, content] : DefaultFiles(ProgramJson())) {
    entries.push_back({.name = "model/" + name, .content = content});
  }
  entries.push_back({.name = "model/extra/notes", .content = "text", .crc32 = 0x12345678});
  const std::string file = Write("damaged.pt2", exir::WriteZip(entries));
  EXPECT_EQ(Run({.file = file}).status, kDone);
  const Outcome outcome = Run({.file = file, .verify = true});
  EXPECT_EQ(outcome.status, kBadInput);
  EXPECT_THAT(outcome.errors, HasSubstr("model/extra/notes"));
}

TEST_F(InspectTest, ShowsInflatedEntriesAndMissingChecksums) {
  std::vector<exir::ZipWriterEntry> entries;
  for (const auto& [name, content] : DefaultFiles(ProgramJson())) {
    entries.push_back({.name = "model/" + name, .content = content});
  }
  entries.push_back(
      {.name = "model/extra/long", .content = std::string(5000, 'x'), .deflate = true});
  entries.push_back({.name = "model/extra/empty"});
  entries.push_back({.name = "model/extra/notes", .content = "text", .crc32 = 0});
  const std::string file = Write("m.pt2", exir::WriteZip(entries));
  const Outcome outcome = Run({.file = file, .size = true, .verify = true});
  ASSERT_EQ(outcome.status, kDone) << outcome.errors;
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("all checksums match (1 entries have no checksum)\n"),
                                    HasSubstr("model/extra/long (5000 inflated)\n"),
                                    HasSubstr("  0 bytes: model/extra/empty\n")));
}

// The text of a graph, which can be parsed again, is only surrounded by other requested output.
TEST_F(InspectTest, GraphHasNoHeadingsByDefault) {
  const std::string file = Write("m.pt2", PackArchive(DefaultFiles(ProgramJson())));
  const std::string graph = Run({.file = file, .graph = true}).output;
  EXPECT_TRUE(graph.starts_with("program ")) << graph;
  EXPECT_THAT(Run({.file = file, .graph = true, .size = true}).output,
              AllOf(HasSubstr("archive, "), HasSubstr(graph), HasSubstr("(100 %)")));
  EXPECT_THAT(Run({.file = file, .graph = true, .verify = true}).output,
              AllOf(HasSubstr("all checksums match\n"), HasSubstr(graph)));
  const json out = json::parse(Run({.file = file, .json = true, .graph = true}).output);
  EXPECT_EQ(out["models"][0]["graph"], graph);
  const std::string saved = Path("m.bir");
  LowerOptions lower{.input = file, .output = saved};
  lower.stage = "aten";
  ASSERT_EQ(Capture([&] { return Lower(lower); }).status, kDone);
  EXPECT_THAT(Run({.file = saved, .verify = true}).output,
              AllOf(HasSubstr("saved programs, "), HasSubstr("all checksums match\n")));
}

TEST_F(InspectTest, ShowsUnknownOperatorsAndUnboundedSizes) {
  EXPECT_THAT(Run({.file = "conformance/models/zoo/custom_operator/model.pt2"}).output,
              HasSubstr(" (unknown)\n"));
  const std::string unbounded = "conformance/models/more/unbounded_batch/model.pt2";
  EXPECT_THAT(Run({.file = unbounded}).output, HasSubstr("without an upper bound\n"));
  const json ranges =
      json::parse(Run({.file = unbounded, .json = true}).output)["models"][0]["ranges"];
  ASSERT_EQ(ranges.size(), 1u) << ranges;
  EXPECT_TRUE((*ranges.begin())[1].is_null()) << ranges;
}

TEST_F(InspectTest, PrintsValuesAndInstructions) {
  const Outcome outcome =
      Run({.file = Write("p.belay", SampleProgram().Serialize()), .graph = true});
  ASSERT_EQ(outcome.status, kDone) << outcome.errors;
  EXPECT_THAT(outcome.output,
              AllOf(HasSubstr("  %0: tensor "), HasSubstr("  0: %"),
                    HasSubstr("delegate 0 of fake"), HasSubstr("unless %"), HasSubstr(" go to ")));
}

TEST_F(InspectTest, ShowsSizeRangesAndStateNames) {
  const Outcome program = Run({.file = Write("p.belay", SampleProgram().Serialize())});
  EXPECT_THAT(
      program.output,
      AllOf(HasSubstr(": f32[4,3], dimension 0 from 1 to 4 ("), HasSubstr(": int, from 0 to 10"),
            HasSubstr("  state counter: f32[2]\n"), HasSubstr("  state cache: f32[4]\n")));
  const std::string archive = "conformance/models/zoo/dynamic_batch_mlp/model.pt2";
  EXPECT_THAT(Run({.file = archive}).output, HasSubstr("  size s"));
  const json ranges =
      json::parse(Run({.file = archive, .json = true}).output)["models"][0]["ranges"];
  ASSERT_FALSE(ranges.empty());
  EXPECT_EQ(ranges.begin()->size(), 2u);
}

TEST_F(InspectTest, ShowsSizeSymbols) {
  TestProgram program;
  TestMethod method = program.AddMethod("forward");
  method.Output(
      method.Input("x", DType::kFloat32, {9, 8},
                   {{.dim = 0, .min = 3, .max = 9, .symbol = "s0", .multiplier = 2, .offset = 1},
                    {.dim = 1, .min = 1, .max = 8, .symbol = "s1"}}));
  EXPECT_THAT(
      Run({.file = Write("p.belay", program.Serialize())}).output,
      HasSubstr(": f32[9,8], dimension 0 from 3 to 9 (2*s0 + 1), dimension 1 from 1 to 8 (s1)\n"));
}

TEST_F(InspectTest, NamesCompanionFiles) {
  TestProgram program;
  program.AddMethod("forward");
  program.AddSegment(schema::Segment::CONSTANTS, "elements", "weights.data");
  Write("weights.data", program.SerializeCompanion("weights.data"));
  const Outcome outcome = Run({.file = Write("p.belay", program.Serialize()), .json = true});
  ASSERT_EQ(outcome.status, kDone) << outcome.errors;
  EXPECT_EQ(json::parse(outcome.output)["segments"][0]["companion"], "weights.data");
}

TEST_F(InspectTest, ErrorsAreOneLineAndNameFileOnce) {
  for (const std::string& file :
       {Path("none"), Write("empty", ""), Write("short.belay", "BELAY"), Write("x.pt2", "PK"),
        Write("cut.belay", SampleProgram().Serialize().substr(0, 300)),
        Write("cut.pt2", Read(kMlp).substr(0, 1000))}) {
    const Outcome outcome = Run({.file = file});
    EXPECT_EQ(outcome.status, kBadInput);
    const size_t first = outcome.errors.find(file);
    EXPECT_NE(first, std::string::npos) << outcome.errors;
    EXPECT_EQ(outcome.errors.find(file, first + 1), std::string::npos) << outcome.errors;
    EXPECT_EQ(outcome.errors.find('\n'), outcome.errors.size() - 1) << outcome.errors;
  }
}

TEST_F(InspectTest, EscapesNamesOfFile) {
  TestProgram program;
  TestMethod method = program.AddMethod("for\x1b[2Jward\n");
  const uint32_t x = method.Input("x\x07\ny", DType::kFloat32, {2});
  method.Call("op\x1b\n.default", {x}, {});
  method.Output(method.String("text\x1b\n"));
  const std::string file = Write(
      "p.belay", program.Serialize([](schema::Program& p) { p.set_producer("by\x1b]0;\n"); }));
  for (const bool graph : {false, true}) {
    const Outcome outcome = Run({.file = file, .graph = graph});
    ASSERT_EQ(outcome.status, kDone) << outcome.errors;
    EXPECT_THAT(outcome.output,
                AllOf(Not(HasSubstr("\x1b")), Not(HasSubstr("\x07")),
                      HasSubstr("method for\\x1b[2Jward\\x0a: "), HasSubstr("input x\\x07\\x0ay: "),
                      HasSubstr("1 x op\\x1b\\x0a.default\n"), HasSubstr("by by\\x1b]0;\\x0a\n")));
  }
}

}  // namespace
}  // namespace belay::tools
