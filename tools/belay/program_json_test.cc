#include "tools/belay/program_json.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/executor/testing/program_builder.h"
#include "runtime/executor/testing/sample_program.h"
#include "runtime/program/program.h"
#include "tools/belay/program_json_memory.h"

namespace belay::tools {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

uint64_t BytesOf(const json& owners) {
  uint64_t bytes = 0;
  for (const json& entry : owners) bytes += entry["bytes"].get<uint64_t>();
  return bytes;
}

TEST(ProgramJsonTest, SizesByOwnerAddUp) {
  ASSERT_OK_AND_ASSIGN(const Program program, OpenFileBytes(SampleProgram().Serialize()));
  ASSERT_OK_AND_ASSIGN(const json out, ProgramJson(program));
  EXPECT_EQ(BytesOf(out["size"]), program.bytes().size());
  EXPECT_THAT(out["size"].dump(), HasSubstr("\"delegate fake\""));
}

TEST(ProgramJsonTest, UnusedDelegateBlobsHaveNoBackend) {
  TestProgram program;
  program.AddMethod("forward");
  program.AddSegment(schema::Segment::DELEGATE, "blob");
  ASSERT_OK_AND_ASSIGN(const Program opened, OpenFileBytes(program.Serialize()));
  ASSERT_OK_AND_ASSIGN(const json out, ProgramJson(opened));
  EXPECT_EQ(out["size"][2], json({{"owner", "delegate"}, {"bytes", 4}}));
}

TEST(ProgramJsonTest, MemoryBoundCoversPrintedJson) {
  ASSERT_OK_AND_ASSIGN(const Program program, OpenFileBytes(SampleProgram().Serialize()));
  ASSERT_OK_AND_ASSIGN(const json out, ProgramJson(program));
  EXPECT_GE(ProgramJsonMemory(program), 3 * out.dump(2).size());
}

TEST(ProgramJsonTest, LocatesConstants) {
  TestProgram program;
  TestMethod method = program.AddMethod("forward");
  program.AddNamedData("key", "not a constant");
  method.Constant(program.AddConstant<float>({1, 2}), DType::kFloat32, {2});
  method.Constant(program.AddConstant<float>({}), DType::kFloat32, {0});
  method.Constant(program.AddConstant(std::vector<float>(20)), DType::kFloat32, {20});
  // A part of the same segment.
  schema::Constant* part = program.metadata().add_constants();
  part->set_segment(3);
  part->set_offset(64);
  part->set_size(4);
  method.State("s", DType::kFloat32, {1}, /*initial=*/4);
  ASSERT_OK_AND_ASSIGN(const Program opened, OpenFileBytes(program.Serialize()));
  ASSERT_OK_AND_ASSIGN(const json out, ProgramJson(opened));
  const json& values = out["methods"][0]["values"];
  EXPECT_EQ(values[0]["constant"], json({{"segment", 1}, {"offset", 0}, {"bytes", 8}}));
  EXPECT_EQ(values[1]["constant"], json({{"bytes", 0}}));
  EXPECT_EQ(values[2]["constant"], json({{"segment", 3}, {"offset", 0}, {"bytes", 80}}));
  EXPECT_EQ(out["methods"][0]["state"][0]["initial"],
            json({{"segment", 3}, {"offset", 64}, {"bytes", 4}}));
}

TEST(ProgramJsonTest, EmptyBlobsAtOneAddressAreFast) {
  // Every segment may be the blob of every delegate: 10^10 pairs.
  constexpr int kMany = 100'000;
  TestProgram program;
  TestMethod method = program.AddMethod("forward");
  for (int i = 0; i < kMany; ++i)
    method.Delegate("fake", program.AddSegment(schema::Segment::DELEGATE, ""), {}, {});
  ASSERT_OK_AND_ASSIGN(const Program opened, OpenFileBytes(program.Serialize()));
  ASSERT_OK_AND_ASSIGN(const json out, ProgramJson(opened));
  // Plus the header, the metadata and the padding.
  ASSERT_EQ(out["size"].size(), size_t{kMany} + 3);
  EXPECT_EQ(out["size"][2]["owner"], "delegate fake");
  EXPECT_EQ(out["size"][kMany + 1]["owner"], "delegate fake");
  EXPECT_EQ(BytesOf(out["size"]), opened.bytes().size());
}

// Files of megabytes that refer to one long string a million times.
constexpr int kMillion = 1'000'000;
const char kNoMemory[] = "no memory for the description of the program as JSON";

TEST(ProgramJsonTest, RejectsRepeatedLongStrings) {
  TestProgram program;
  TestMethod method = program.AddMethod("forward");
  const uint32_t text = method.String(std::string(10 << 20, 't'));
  for (int i = 0; i < kMillion; ++i) method.Output(text);
  ASSERT_OK_AND_ASSIGN(const Program opened, OpenFileBytes(program.Serialize()));
  EXPECT_THAT(ProgramJson(opened),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr(kNoMemory)));
}

TEST(ProgramJsonTest, RejectsRepeatedLongOperatorNames) {
  TestProgram program;
  TestMethod method = program.AddMethod("forward");
  method.Call(std::string(10 << 20, 'o'), {}, {});
  for (int i = 1; i < kMillion; ++i)
    *method.proto().add_instructions() = method.proto().instructions(0);
  ASSERT_OK_AND_ASSIGN(const Program opened, OpenFileBytes(program.Serialize()));
  EXPECT_THAT(ProgramJson(opened),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr(kNoMemory)));
}

TEST(ProgramJsonTest, NonFiniteNumbersAreStrings) {
  TestProgram program;
  TestMethod method = program.AddMethod("forward");
  const double kInfinity = std::numeric_limits<double>::infinity();
  for (const double number : {0.5, kInfinity, -kInfinity, std::nan("")}) {
    method.Output(method.Double(number));
  }
  ASSERT_OK_AND_ASSIGN(const Program opened, OpenFileBytes(program.Serialize()));
  ASSERT_OK_AND_ASSIGN(const json out, ProgramJson(opened));
  const std::string values = out["methods"][0]["values"].dump();
  EXPECT_THAT(values, HasSubstr("0.5"));
  for (const char* text : {"\"inf\"", "\"-inf\"", "\"nan\""}) {
    EXPECT_THAT(values, HasSubstr(text));
  }
}

}  // namespace
}  // namespace belay::tools
