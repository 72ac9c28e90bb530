#include "runtime/program/companion_files.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>

#include "runtime/core/testing.h"
#include "runtime/executor/testing/program_builder.h"
#include "runtime/program/digest.h"

namespace belay {
namespace {

using ::testing::HasSubstr;

constexpr auto kLoss = absl::StatusCode::kDataLoss;
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kExhausted = absl::StatusCode::kResourceExhausted;

std::string_view Text(absl::Span<const std::byte> bytes) {
  return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

// --- Companion files ---

class CompanionTest : public ::testing::Test {
 protected:
  CompanionTest() {
    const std::string name = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    root_ = ::testing::TempDir() + "/" + name;
    EXPECT_EQ(std::system(("rm -rf '" + root_ + "' && mkdir -p '" + root_ + "'").c_str()), 0);
    const uint32_t segment =
        program_.AddSegment(schema::Segment::NAMED_DATA, "weights", "model.data");
    program_.AddSegment(schema::Segment::CONSTANTS, "more weights", "model.data");
    schema::NamedData* data = program_.metadata().add_named_data();
    data->set_key("w");
    data->set_segment(segment);
    data->set_size(7);
    Write("model.belay", program_.Serialize());
  }
  void Write(const std::string& name, const std::string& bytes) {
    std::ofstream(root_ + "/" + name, std::ios::binary) << bytes;
  }
  absl::StatusOr<Program> Open() { return Program::Open(root_ + "/model.belay"); }

  std::string root_;
  TestProgram program_;
};

TEST_F(CompanionTest, IsFoundNextToTheProgram) {
  Write("model.data", program_.SerializeCompanion("model.data"));
  ASSERT_OK_AND_ASSIGN(const Program program, Open());
  ASSERT_OK_AND_ASSIGN(const absl::Span<const std::byte> bytes, program.FindNamedData("w"));
  EXPECT_EQ(Text(bytes), "weights");
  EXPECT_OK(VerifyDigests(program));
  // Limits are proportional to the program file plus its companion segments.
  EXPECT_EQ(program.limits().arena_bytes,
            (uint64_t{384} << 20) + 16 * (program.bytes().size() + 7 + 12));
}

TEST_F(CompanionTest, MissingFileIsNotFound) {
  EXPECT_THAT(Open(), StatusIs(absl::StatusCode::kNotFound, HasSubstr("'model.data'")));
}

TEST_F(CompanionTest, HasNoRootWhenOpenedFromBytes) {
  EXPECT_THAT(OpenFileBytes(program_.Serialize()),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("companion_root")));
}

TEST_F(CompanionTest, IsRejectedWhenTruncated) {
  std::string bytes = program_.SerializeCompanion("model.data");
  bytes.pop_back();
  Write("model.data", bytes);
  EXPECT_THAT(Open(), StatusIs(kLoss, HasSubstr("truncated")));
}

TEST_F(CompanionTest, IsRejectedWhenItBelongsToAnotherProgram) {
  TestProgram other;
  other.AddSegment(schema::Segment::NAMED_DATA, "Weights", "model.data");
  other.AddSegment(schema::Segment::CONSTANTS, "more weights", "model.data");
  Write("model.data", other.SerializeCompanion("model.data"));
  EXPECT_THAT(Open(), StatusIs(kLoss, HasSubstr("belongs to another program")));
}

TEST_F(CompanionTest, IsRejectedWithAnotherNumberOfSegments) {
  TestProgram other;
  other.AddSegment(schema::Segment::NAMED_DATA, "weights", "model.data");
  Write("model.data", other.SerializeCompanion("model.data"));
  EXPECT_THAT(Open(), StatusIs(kLoss, HasSubstr("it has 1 segments, the program file lists 2")));
}

TEST_F(CompanionTest, MustHoldItsDigests) {
  const std::string bytes = program_.SerializeCompanion("model.data");
  std::string cut = bytes.substr(0, kHeaderBytes + 2 * kDigestBytes - 1);
  cut[16] = static_cast<char>(cut.size());  // the declared size
  std::fill(cut.begin() + 17, cut.begin() + 24, '\0');
  FixHeader(cut);
  Write("model.data", cut);
  EXPECT_THAT(Open(), StatusIs(kLoss, HasSubstr("the digests of 2 segments do not fit into a file "
                                                "of 127")));
}

// Fixes the declared size and the header of a companion file.
std::string WithSize(std::string bytes) {
  for (size_t i = 0; i < 8; ++i) bytes[16 + i] = static_cast<char>(bytes.size() >> (8 * i));
  FixHeader(bytes);
  return bytes;
}

TEST_F(CompanionTest, IsRejectedWhenItsHeaderOrDigestsAreDamaged) {
  const std::string right = program_.SerializeCompanion("model.data");
  for (const size_t at : {32, 40, 48}) {
    std::string bytes = right;
    bytes[at] = 1;
    FixHeader(bytes);
    Write("model.data", bytes);
    EXPECT_THAT(Open(), StatusIs(kLoss, HasSubstr("'model.data': the header's reserved bytes at " +
                                                  std::to_string(at))));
  }
  std::string bytes = right;
  bytes[kHeaderBytes] ^= 1;
  Write("model.data", bytes);
  EXPECT_THAT(Open(), StatusIs(kLoss, HasSubstr("the digest table is damaged")));
}

TEST_F(CompanionTest, EndsWithItsLastSegment) {
  Write("model.data", WithSize(program_.SerializeCompanion("model.data") + "x"));
  EXPECT_THAT(Open(), StatusIs(kInvalid, HasSubstr("'model.data': segments: they end at")));
}

TEST_F(CompanionTest, SegmentsAreConsecutive) {
  Write("model.data", program_.SerializeCompanion("model.data"));
  Write("model.belay", program_.Serialize([](schema::Program& program) {
    program.mutable_segments(1)->set_offset(program.segments(1).offset() + 128);
  }));
  EXPECT_THAT(Open(), StatusIs(kInvalid, HasSubstr("'model.data': segments[1].offset: is ")));
}

TEST_F(CompanionTest, MustBeDirectlyInTheRoot) {
  for (const char* name : {"../model.data", "a/model.data", "/model.data", "..", ".", ""}) {
    EXPECT_THAT(OpenCompanionFile(root_, name, {}).status(),
                StatusIs(kInvalid, HasSubstr("not the base name of a file")))
        << name;
  }
  EXPECT_THAT(OpenCompanionFile(root_ + "/missing", "model.data", {}).status(),
              StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(OpenCompanionFile(root_ + "/model.belay", "model.data", {}).status(),
              StatusIs(absl::StatusCode::kNotFound));  // missing directory
  EXPECT_THAT(OpenCompanionFile(std::string(100'000, 'r'), "model.data", {}).status(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("'model.data': ")));
}

TEST_F(CompanionTest, IsFoundInTheWorkingDirectory) {
  Write("model.data", program_.SerializeCompanion("model.data"));
  char before[4096];
  ASSERT_NE(::getcwd(before, sizeof(before)), nullptr);
  ASSERT_EQ(::chdir(root_.c_str()), 0);
  EXPECT_OK(Program::Open("model.belay").status());
  ASSERT_EQ(::chdir(before), 0);
}

TEST_F(CompanionTest, IsFoundInTheGivenFolder) {
  ASSERT_EQ(std::system(("mkdir '" + root_ + "/data'").c_str()), 0);
  Write("data/model.data", program_.SerializeCompanion("model.data"));
  EXPECT_THAT(Open(), StatusIs(absl::StatusCode::kNotFound));
  Program::Options options;
  options.companion_root = root_ + "/data";
  EXPECT_OK(Program::Open(root_ + "/model.belay", options).status());
}

TEST_F(CompanionTest, IsRefusedWhenItIsNotACompanion) {
  Write("model.data", std::string(500, 'x'));
  EXPECT_THAT(Open(), StatusIs(kLoss, HasSubstr("not a companion file")));
}

TEST_F(CompanionTest, DigestsCoverIt) {
  std::string bytes = program_.SerializeCompanion("model.data");
  bytes.back() ^= 1;
  Write("model.data", bytes);
  ASSERT_OK_AND_ASSIGN(const Program program, Open());
  EXPECT_THAT(VerifyDigests(program), StatusIs(kLoss, HasSubstr("of 'model.data'")));
}

TEST_F(CompanionTest, IsNotFollowedThroughASymbolicLink) {
  Write("elsewhere", program_.SerializeCompanion("model.data"));
  ASSERT_EQ(std::system(("ln -s elsewhere '" + root_ + "/model.data'").c_str()), 0);
  EXPECT_THAT(Open(), StatusIs(kInvalid, HasSubstr("symbolic link")));
}

TEST_F(CompanionTest, IsNotFollowedThroughAHardLink) {
  Write("elsewhere", program_.SerializeCompanion("model.data"));
  ASSERT_EQ(std::system(("ln '" + root_ + "/elsewhere' '" + root_ + "/model.data'").c_str()), 0);
  EXPECT_THAT(Open(), StatusIs(kInvalid, HasSubstr("links to the same file")));
}

TEST_F(CompanionTest, IsNotADirectory) {
  ASSERT_EQ(std::system(("mkdir '" + root_ + "/model.data'").c_str()), 0);
  EXPECT_THAT(Open(), StatusIs(kInvalid, HasSubstr("not a regular file")));
}

TEST_F(CompanionTest, IsLimited) {
  Write("model.data", program_.SerializeCompanion("model.data") + std::string(100000, '\0'));
  Program::Options options;
  options.limits.file_bytes = 50000;
  EXPECT_THAT(Program::Open(root_ + "/model.belay", options),
              StatusIs(kExhausted, HasSubstr("'file_bytes'")));
}

TEST_F(CompanionTest, CopiesOutliveChangesOfTheFiles) {
  const std::string data = program_.SerializeCompanion("model.data");
  Write("model.data", data);
  Program::Options options;
  options.access = FileAccess::kCopy;
  ASSERT_OK_AND_ASSIGN(const Program program, Program::Open(root_ + "/model.belay", options));
  for (const char* name : {"/model.belay", "/model.data"}) {
    ASSERT_EQ(::truncate((root_ + name).c_str(), 0), 0);
  }
  ASSERT_OK_AND_ASSIGN(const absl::Span<const std::byte> bytes, program.FindNamedData("w"));
  EXPECT_EQ(Text(bytes), "weights");
  EXPECT_OK(VerifyDigests(program));
}

TEST_F(CompanionTest, FileLimitAppliesToEachFile) {
  Write("model.data", program_.SerializeCompanion("model.data") + std::string(4096, 'x'));
  Program::Options options;
  options.limits.file_bytes = 4000;
  for (const FileAccess access : {FileAccess::kMap, FileAccess::kCopy}) {
    options.access = access;
    EXPECT_THAT(Program::Open(root_ + "/model.belay", options),
                StatusIs(kExhausted, HasSubstr("the limit 'file_bytes' is 4000")));
  }
}

}  // namespace
}  // namespace belay
