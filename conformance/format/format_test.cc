// Compares the output of the second reader (read_program.py) with the runtime's, for every program
// of the zoo.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/aot_backends.h"
#include "exir/ops/standard_ops.h"
#include "exir/pipeline.h"
#include "exir/serialize/serializer.h"
#include "nlohmann/json.hpp"
#include "runtime/core/mapped_file.h"
#include "runtime/core/test_in_directory.h"
#include "runtime/core/testing.h"
#include "runtime/executor/testing/program_builder.h"
#include "runtime/executor/testing/sample_program.h"
#include "runtime/program/program.h"
#include "tools/belay/program_json.h"

namespace belay {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::HasSubstr;

constexpr char kReader[] = "conformance/format/read_program.py";

struct ReaderOutput {
  int status = 0;
  std::vector<std::string> lines;  // both streams
};

ReaderOutput RunReader(const std::vector<std::string>& files) {
  std::string command = absl::StrCat("/usr/bin/python3 -B ", kReader);
  for (const std::string& file : files) absl::StrAppend(&command, " '", file, "'");
  absl::StrAppend(&command, " 2>&1");
  ReaderOutput output;
  std::FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return {.status = -1, .lines = {}};
  std::string text;
  char buffer[65536];
  for (size_t got; (got = std::fread(buffer, 1, sizeof(buffer), pipe)) > 0;) {
    text.append(buffer, got);
  }
  output.status = pclose(pipe);
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    output.lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return output;
}

class FormatTest : public TestInDirectory {
 protected:
  // Expects that both readers print the same for these files.
  static void ExpectSame(const std::vector<std::string>& files) {
    const ReaderOutput output = RunReader(files);
    ASSERT_EQ(output.status, 0) << (output.lines.empty() ? "" : output.lines.back());
    ASSERT_EQ(output.lines.size(), files.size());
    for (size_t i = 0; i < files.size(); ++i) {
      ASSERT_OK_AND_ASSIGN(const Program program, Program::Open(files[i]));
      ASSERT_OK_AND_ASSIGN(const json ours, tools::ProgramJson(program));
      const json theirs = json::parse(output.lines[i]);
      if (ours == theirs) continue;
      ADD_FAILURE() << files[i] << ": " << json::diff(ours, theirs).dump(1).substr(0, 2000);
    }
  }
};

std::vector<std::string> Archives() {
  std::vector<std::string> archives;
  for (const auto& entry : fs::recursive_directory_iterator("conformance/models/zoo")) {
    if (entry.path().extension() == ".pt2") archives.push_back(entry.path().string());
  }
  std::sort(archives.begin(), archives.end());
  return archives;
}

// Split into parts for sharding.
class ZooFormatTest : public FormatTest, public ::testing::WithParamInterface<int> {};
constexpr int kParts = 8;

TEST_P(ZooFormatTest, ReadersAgree) {
  ASSERT_OK_AND_ASSIGN(const auto ops, exir::CreateStandardOps());
  ASSERT_OK_AND_ASSIGN(const auto demo, CreatePartitioner("demo", {}));
  std::vector<std::string> files;
  int unsupported = 0;
  const std::vector<std::string> archives = Archives();
  ASSERT_GT(archives.size(), 90u);
  for (size_t i = static_cast<size_t>(GetParam()); i < archives.size(); i += kParts) {
    exir::PipelineOptions options;
    // Every second one with delegates, and some with a companion file.
    if (i / kParts % 2 == 1) {
      options.partitioners.all = {demo.get()};
      options.backends = &AotBackends();
    }
    const absl::StatusOr<exir::ProgramImage> image =
        exir::LowerFiles({{"forward", archives[i]}}, *ops, options);
    if (image.status().code() == absl::StatusCode::kUnimplemented) {
      ++unsupported;
      continue;
    }
    ASSERT_OK(image.status()) << archives[i];
    exir::SerializeOptions serialize;
    serialize.companions = true;
    if (i / kParts % 3 == 2) serialize.constants_companion = "weights";
    files.push_back(Path(absl::StrCat("p", i, ".belay")));
    ASSERT_OK(exir::WriteProgramFile(*image, files.back(), serialize)) << archives[i];
  }
  EXPECT_GT(files.size(), 5u);
  EXPECT_LE(unsupported, 3);
  ExpectSame(files);
}

INSTANTIATE_TEST_SUITE_P(Parts, ZooFormatTest, ::testing::Range(0, kParts));

TEST_F(FormatTest, ReadersAgreeOnAllFeatures) {
  TestProgram program = SampleProgram();
  TestMethod method(program.metadata().mutable_methods(0));
  // Numbers that JSON lacks, negative numbers, and the largest.
  method.Double(std::numeric_limits<double>::infinity());
  method.Double(-std::numeric_limits<double>::infinity());
  method.Double(std::numeric_limits<double>::quiet_NaN());
  method.Double(-0.1);
  method.Int(INT64_MIN);
  method.Int(INT64_MAX);
  method.String("ä\"\\\n");
  method.List({});
  program.metadata().set_producer("one of everything");
  method.Bank("fast", 64);
  method.Bank("none", 0);
  method.Bank("slow", method.proto().arena_bytes() - 64);
  method.proto().set_in_spec("[1, {\"x\": null}]");
  const std::string file = Write("sample.belay", program.Serialize());
  const std::string empty = Write("empty.belay", TestProgram().Serialize());
  TestProgram split;
  split.AddSegment(schema::Segment::NAMED_DATA, "weights", "split.data");
  split.AddSegment(schema::Segment::CONSTANTS, "constants");
  split.AddSegment(schema::Segment::CONSTANTS, std::string(300, 'x'), "split.data");
  Write("split.data", split.SerializeCompanion("split.data"));
  ExpectSame({file, empty, Write("split.belay", split.Serialize())});
}

// Unknown fields of a newer minor version, at every level; both readers ignore them.
TEST_F(FormatTest, BothIgnoreUnknownOptionalFields) {
  SampleIndices v;
  const std::string unknown("\xc0\x3e\x05\xca\x3e\x03xyz", 9);  // 1000: 5, 1001: "xyz"
  std::string file = SampleProgram(&v).Serialize([&](schema::Program& program) {
    schema::Method& method = *program.mutable_methods(0);
    ASSERT_TRUE(program.MergeFromString(unknown));
    ASSERT_TRUE(program.mutable_segments(0)->MergeFromString(unknown));
    ASSERT_TRUE(program.mutable_constants(0)->MergeFromString(unknown));
    ASSERT_TRUE(program.mutable_named_data(0)->MergeFromString(unknown));
    ASSERT_TRUE(method.MergeFromString(unknown));
    ASSERT_TRUE(method.mutable_inputs(0)->mutable_constraints(0)->MergeFromString(unknown));
    ASSERT_TRUE(method.mutable_values(static_cast<int>(v.sum))->MergeFromString(unknown));
    ASSERT_TRUE(
        method.mutable_values(static_cast<int>(v.sum))->mutable_tensor()->MergeFromString(unknown));
    ASSERT_TRUE(method.mutable_instructions(0)->MergeFromString(unknown));
    ASSERT_TRUE(method.mutable_instructions(0)->mutable_kernel()->MergeFromString(unknown));
    ASSERT_TRUE(method.mutable_delegates(0)->MergeFromString(unknown));
    ASSERT_TRUE(method.mutable_state(0)->MergeFromString(unknown));
  });
  file[12] = 7;  // minor version 7
  FixHeader(file);
  const std::string path = Write("newer.belay", file);
  ExpectSame({path});
  ASSERT_OK_AND_ASSIGN(const Program newer, Program::Open(path));
  ASSERT_OK_AND_ASSIGN(const Program plain, OpenFileBytes(SampleProgram().Serialize()));
  EXPECT_EQ(newer.minor_version(), 7u);
  ASSERT_OK_AND_ASSIGN(const json of_newer, tools::ProgramJson(newer));
  ASSERT_OK_AND_ASSIGN(const json of_plain, tools::ProgramJson(plain));
  EXPECT_EQ(of_newer["methods"], of_plain["methods"]);
}

TEST_F(FormatTest, BothRejectUnknownFeatures) {
  const std::string required = Write("required.belay", SampleProgram().Serialize([](auto& program) {
    program.add_required_features("time travel");
  }));
  EXPECT_THAT(Program::Open(required).status(),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("'time travel'")));
  ReaderOutput output = RunReader({required});
  EXPECT_NE(output.status, 0);
  EXPECT_THAT(output.lines.back(), HasSubstr("time travel"));

  std::string file = SampleProgram().Serialize();
  file[8] = 2;
  FixHeader(file);
  const std::string newer = Write("newer.belay", file);
  EXPECT_THAT(Program::Open(newer).status(),
              StatusIs(absl::StatusCode::kUnimplemented,
                       HasSubstr("format version 2.0, this reader reads version 1.0")));
  output = RunReader({newer});
  EXPECT_NE(output.status, 0);
  EXPECT_THAT(output.lines.back(), HasSubstr("format version 2.0, this reader reads 1.0"));
}

TEST_F(FormatTest, TheReaderIsSmall) {
  ASSERT_OK_AND_ASSIGN(const auto file, MappedFile::Open(kReader));
  const auto* text = reinterpret_cast<const char*>(file->bytes().data());
  EXPECT_LE(std::count(text, text + file->bytes().size(), '\n'), 200);
}

}  // namespace
}  // namespace belay
