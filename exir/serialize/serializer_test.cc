#include "exir/serialize/serializer.h"

#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "runtime/core/test_in_directory.h"
#include "runtime/core/testing.h"
#include "runtime/program/digest.h"
#include "runtime/program/program.h"

namespace belay::exir {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Storage Bytes(std::string_view text) {
  std::vector<std::byte> bytes(text.size());
  std::transform(text.begin(), text.end(), bytes.begin(),
                 [](char c) { return static_cast<std::byte>(c); });
  return Storage::Own(std::move(bytes));
}

// A method that returns a constant of four bytes; named data "a" in the program file, "b" and "c"
// in companion files "one" and "two".
ProgramImage Image(std::string_view constant = "1234", std::string_view b = "bees") {
  ProgramImage image;
  image.segments.push_back({.kind = schema::Segment::CONSTANTS, .pieces = {Bytes(constant)}});
  schema::Constant* c = image.metadata.add_constants();
  c->set_size(constant.size());
  schema::Method* method = image.metadata.add_methods();
  method->set_name("forward");
  schema::Tensor* tensor = method->add_values()->mutable_tensor();
  tensor->set_dtype(1);
  tensor->add_sizes(static_cast<int64_t>(constant.size()));
  tensor->set_dim_order(std::string(1, '\0'));
  tensor->set_constant(0);
  method->add_outputs(0);
  const auto add = [&](const char* key, std::string_view bytes, const char* companion) {
    image.segments.push_back({.kind = schema::Segment::NAMED_DATA,
                              .pieces = {Bytes(bytes)},
                              .alignment = 256,
                              .companion = companion});
    schema::NamedData* data = image.metadata.add_named_data();
    data->set_key(key);
    data->set_segment(static_cast<uint32_t>(image.segments.size()) - 1);
    data->set_size(bytes.size());
  };
  add("a", "ants", "");
  add("b", b, "one");
  add("c", std::string(5000, 'c'), "two");
  add("d", "", "two");
  return image;
}

std::string Text(absl::Span<const std::byte> bytes) {
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

class SerializerTest : public TestInDirectory {
 protected:
};

TEST_F(SerializerTest, FindsCompanionFilesInProgramFolder) {
  ASSERT_OK(WriteProgramFile(Image(), Path("p.belay")));
  const std::vector<std::string> files = Files();
  ASSERT_EQ(files.size(), 3u);
  EXPECT_THAT(files[0], ::testing::MatchesRegex("one-[0-9a-f]*.data"));
  EXPECT_EQ(files[0].size(), 3 + 1 + 32 + 5);
  EXPECT_EQ(files[1], "p.belay");
  ASSERT_OK_AND_ASSIGN(const Program program, Program::Open(Path("p.belay")));
  EXPECT_OK(VerifyDigests(program));
  for (const auto& [key, bytes] : std::vector<std::pair<std::string, std::string>>{
           {"a", "ants"}, {"b", "bees"}, {"c", std::string(5000, 'c')}, {"d", ""}}) {
    ASSERT_OK_AND_ASSIGN(const absl::Span<const std::byte> data, program.FindNamedData(key));
    EXPECT_EQ(Text(data), bytes);
  }
}

TEST_F(SerializerTest, StoresConstantsInCompanionOnRequest) {
  ASSERT_OK(WriteProgramFile(Image(), Path("p.belay"), {.constants_companion = "weights"}));
  const std::vector<std::string> files = Files();
  ASSERT_EQ(files.size(), 4u);
  EXPECT_TRUE(files[3].starts_with("weights-")) << files[3];
  ASSERT_OK_AND_ASSIGN(const Program program, Program::Open(Path("p.belay")));
  EXPECT_OK(VerifyDigests(program));
  EXPECT_EQ(Text(std::get<TensorPlan>(program.methods()[0].values[0]).constant), "1234");
}

// Segments other than constants and named data stay in the program file.
TEST_F(SerializerTest, DelegatesStayInTheProgramFile) {
  ProgramImage image = Image();
  image.segments.push_back({.kind = schema::Segment::DELEGATE, .pieces = {Bytes("blob of bytes")}});
  ASSERT_OK_AND_ASSIGN(const SerializedProgram program,
                       SerializeProgram(image, {.companions = true, .constants_companion = "w"}));
  EXPECT_NE(program.ToString().find("blob of bytes"), std::string::npos);
  EXPECT_EQ(program.ToString().find("1234"), std::string::npos);
  EXPECT_EQ(program.companions.size(), 3u);
}

// Empty pieces do not affect the comparison with an existing file.
TEST_F(SerializerTest, KeepsCompanionsWithEmptyPieces) {
  SerializedProgram program;
  program.pieces = {"program"};
  program.size = 7;
  program.companions.push_back({.name = "c.data", .pieces = {"ab", {}, "cd"}, .size = 4});
  ASSERT_OK(WriteSerializedProgram(program, Path("p.belay")));
  const auto written = fs::last_write_time(Path("c.data"));
  fs::last_write_time(Path("c.data"), written - std::chrono::hours(1));
  ASSERT_OK(WriteSerializedProgram(program, Path("p.belay")));
  EXPECT_LT(fs::last_write_time(Path("c.data")), written) << "it was written again";
  EXPECT_EQ(Read(Path("c.data")), "abcd");
}

TEST_F(SerializerTest, SharedWeightsUseOneFile) {
  ProgramImage first = Image();
  first.segments.resize(1);
  first.metadata.clear_named_data();
  ProgramImage second = first;
  second.metadata.mutable_methods(0)->set_name("other");
  ASSERT_OK(WriteProgramFile(first, Path("first.belay"), {.constants_companion = "w"}));
  const std::string companion = Files()[1];
  const auto written = fs::last_write_time(Path(companion));
  fs::last_write_time(Path(companion), written - std::chrono::hours(1));
  ASSERT_OK(WriteProgramFile(second, Path("second.belay"), {.constants_companion = "w"}));
  EXPECT_THAT(Files(), ElementsAre("first.belay", "second.belay", companion));
  EXPECT_LT(fs::last_write_time(Path(companion)), written) << "it was written again";
  EXPECT_OK(Program::Open(Path("first.belay")));
  EXPECT_OK(Program::Open(Path("second.belay")));
}

TEST_F(SerializerTest, DifferentContentHasDifferentName) {
  ASSERT_OK(WriteProgramFile(Image("1234", "bees"), Path("old.belay")));
  ASSERT_OK(WriteProgramFile(Image("1234", "wasp"), Path("new.belay")));
  EXPECT_EQ(Files().size(), 5u);  // "one" twice, "two" once
  EXPECT_OK(Program::Open(Path("old.belay")));
  EXPECT_OK(Program::Open(Path("new.belay")));
}

TEST_F(SerializerTest, EqualImagesGiveEqualBytes) {
  const ProgramImage image = Image();
  const SerializeOptions options = {.companions = true, .constants_companion = "w"};
  ASSERT_OK_AND_ASSIGN(const SerializedProgram a, SerializeProgram(image, options));
  ASSERT_OK_AND_ASSIGN(const SerializedProgram b, SerializeProgram(image, options));
  EXPECT_EQ(a.ToString(), b.ToString());
  ASSERT_EQ(a.companions.size(), 3u);
  for (size_t i = 0; i < a.companions.size(); ++i) {
    EXPECT_EQ(a.companions[i].name, b.companions[i].name);
  }
}

TEST_F(SerializerTest, RejectsCompanionsInOnePiecePrograms) {
  EXPECT_THAT(SerializeProgram(Image()),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("companion file 'one'")));
}

TEST_F(SerializerTest, RejectsInvalidTags) {
  for (const std::string& tag :
       {std::string("../up"), std::string("a/b"), std::string("a\\b"), std::string("c:"),
        std::string("a\nb"), std::string("a\0b", 3), std::string("w\xff"), std::string(240, 'x')}) {
    EXPECT_THAT(WriteProgramFile(Image(), Path("p.belay"), {.constants_companion = tag}),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("base name")));
  }
  EXPECT_TRUE(Files().empty());
}

TEST_F(SerializerTest, ReplacesLinksWithoutFollowing) {
  ASSERT_OK(WriteProgramFile(Image(), Path("p.belay")));
  const std::string companion = Path(Files()[0]);
  const std::string content = Read(companion);
  // A symbolic link to the right bytes, then a hard link: the reader rejects both.
  for (const bool symbolic : {true, false}) {
    SCOPED_TRACE(symbolic);
    const std::string target = Path("target");
    fs::remove(target);
    std::ofstream(target, std::ios::binary) << content;
    fs::remove(companion);
    if (symbolic) {
      fs::create_symlink(target, companion);
    } else {
      fs::create_hard_link(target, companion);
    }
    EXPECT_FALSE(Program::Open(Path("p.belay")).ok());
    ASSERT_OK(WriteProgramFile(Image(), Path("p.belay")));
    EXPECT_FALSE(fs::is_symlink(companion));
    EXPECT_EQ(fs::hard_link_count(companion), 1u);
    EXPECT_OK(Program::Open(Path("p.belay")));
    EXPECT_EQ(Read(target), content);
  }
}

TEST_F(SerializerTest, ErrorsLeaveNoFiles) {
  EXPECT_THAT(WriteProgramFile(Image(), Path("no/such/folder/p.belay")),
              StatusIs(absl::StatusCode::kNotFound));
  fs::create_directory(Path("p.belay"));  // companions can be written, the program cannot
  EXPECT_FALSE(WriteProgramFile(Image(), Path("p.belay")).ok());
  EXPECT_THAT(Files(), ElementsAre("p.belay"));
}

TEST_F(SerializerTest, FullDiskLeavesNoFiles) {
  // A file size limit stops a write midway, as a full disk does. "one" fits, "two" does not.
  rlimit before;
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit small = before;
  small.rlim_cur = 4096;
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const absl::Status status = WriteProgramFile(Image(), Path("p.belay"));
  const absl::Status first =
      WriteProgramFile(Image("1234", std::string(5000, 'b')), Path("p.belay"));
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, old_handler);
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("two-")));
  EXPECT_THAT(first, StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("one-")));
  EXPECT_TRUE(Files().empty());
}

TEST_F(SerializerTest, RejectsConstantOutsideSegment) {
  ProgramImage image = Image();
  image.metadata.mutable_constants(0)->set_size(5);
  EXPECT_THAT(WriteProgramFile(image, Path("p.belay")),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("outside segment 0")));
  image.metadata.mutable_constants(0)->set_offset(~uint64_t{0});  // the sum wraps around
  EXPECT_THAT(WriteProgramFile(image, Path("p.belay")),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("outside segment 0")));
  image.metadata.mutable_constants(0)->set_segment(9);
  EXPECT_THAT(WriteProgramFile(image, Path("p.belay")),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("outside segment 9")));
  image.metadata.mutable_constants(0)->set_named_data("a");  // stored with the named data
  EXPECT_OK(SerializeProgram(image, {.companions = true}).status());
}

// Companion files with the right name and changed content are rewritten.
TEST_F(SerializerTest, ReplacesChangedCompanions) {
  ASSERT_OK(WriteProgramFile(Image(), Path("p.belay")));
  const std::string companion = Path(Files()[0]);
  const std::string content = Read(companion);
  std::string other = content;
  other.back() = static_cast<char>(other.back() ^ 1);
  for (const std::string& changed : {other, content.substr(1), std::string()}) {
    std::ofstream(companion, std::ios::binary | std::ios::trunc) << changed;
    ASSERT_OK(WriteProgramFile(Image(), Path("p.belay")));
    EXPECT_EQ(Read(companion), content);
  }
}

TEST_F(SerializerTest, RejectsProgramPathOfItsCompanion) {
  ASSERT_OK(WriteProgramFile(Image(), Path("p.belay")));
  const std::string companion = Files()[0];
  EXPECT_THAT(WriteProgramFile(Image(), Path(companion)),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("can't have the name of its companion file")));
}

// A path without a folder refers to the current directory, also for companions.
TEST_F(SerializerTest, AcceptsPathsWithoutFolder) {
  const fs::path before = fs::current_path();
  fs::current_path(Path(""));
  const absl::Status status = WriteProgramFile(Image(), "p.belay");
  fs::current_path(before);
  ASSERT_OK(status);
  EXPECT_EQ(Files().size(), 3u);
  EXPECT_OK(Program::Open(Path("p.belay")));
}

TEST_F(SerializerTest, ToStorageJoinsAllPieces) {
  const ProgramImage image = Image();
  ASSERT_OK_AND_ASSIGN(const SerializedProgram program,
                       SerializeProgram(image, {.companions = true}));
  EXPECT_EQ(Text(program.ToStorage().bytes), program.ToString());
}

// Known digests are not recomputed; debug data is a segment after the others.
TEST_F(SerializerTest, UsesKnownDigests) {
  ProgramImage image = Image();
  image.segments[0].sha256 = std::string(32, 'x');
  image.debug.add_methods();
  ASSERT_OK_AND_ASSIGN(const SerializedProgram program,
                       SerializeProgram(image, {.companions = true}));
  EXPECT_NE(program.ToString().find(std::string(32, 'x')), std::string::npos);
  const ProgramImage unknown = Image();
  ASSERT_OK_AND_ASSIGN(const SerializedProgram plain,
                       SerializeProgram(unknown, {.companions = true}));
  EXPECT_EQ(plain.ToString().find(std::string(32, 'x')), std::string::npos);
}

TEST_F(SerializerTest, RejectsImagesWithLayout) {
  ProgramImage image = Image();
  image.metadata.add_segments();
  EXPECT_THAT(SerializeProgram(image, {.companions = true}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("laid out already")));
}

}  // namespace
}  // namespace belay::exir
