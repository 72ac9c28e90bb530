#include "exir/import/container.h"

#include <string>

#include "exir/import/testing/archive.h"
#include "exir/import/testing/zip_writer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

absl::StatusOr<Container> Open(const std::string& file, const ImportOptions& options = {}) {
  return Container::Open(ToStorage(file), options);
}

// Opens an archive with one marker changed, or removed if nullptr.
absl::Status OpenWith(const char* path, const char* content) {
  ArchiveFiles files = DefaultFiles("{}");
  const std::string text(content == nullptr ? "" : content);
  SetFile(files, path, content == nullptr ? nullptr : &text);
  return Open(PackArchive(files)).status();
}

TEST(ContainerTest, FindsModels) {
  ArchiveFiles files = DefaultFiles("{}");
  files.emplace_back("models/second.json", "{}");
  files.emplace_back("data/weights/second.pt", "");
  ASSERT_OK_AND_ASSIGN(const Container container, Open(PackArchive(files, "any name/")));
  EXPECT_FALSE(container.flat());
  EXPECT_THAT(container.model_names(), ElementsAre("model", "second"));
  EXPECT_EQ(container.EraOf("model"), ContainerEra::kRawWeights);
  EXPECT_EQ(container.EraOf("second"), ContainerEra::kPickledWeights);
  EXPECT_NE(container.Find("data/weights/weight_0"), nullptr);
  EXPECT_EQ(container.Find("weights/weight_0"), nullptr);
}

TEST(ContainerTest, ResolvesModelNames) {
  ArchiveFiles files = DefaultFiles("{}");
  files.emplace_back("models/second.json", "{}");
  ASSERT_OK_AND_ASSIGN(const Container two, Open(PackArchive(files)));
  EXPECT_EQ(*two.ResolveModel(""), "model");
  EXPECT_EQ(*two.ResolveModel("second"), "second");
  EXPECT_THAT(two.ResolveModel("third"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("'third'; it has model, second")));

  SetFile(files, "models/model.json", nullptr);
  ASSERT_OK_AND_ASSIGN(const Container one, Open(PackArchive(files)));
  EXPECT_EQ(*one.ResolveModel(""), "second");
}

TEST(ContainerTest, FindsProgramOfFlatArchive) {
  ASSERT_OK_AND_ASSIGN(const Container container,
                       Open(WriteZip({{.name = "serialized_exported_program.json", .content = "{}"},
                                      {.name = "serialized_state_dict.pt"},
                                      {.name = "version", .content = "8.7"},
                                      {.name = "extra_files/notes/a.txt"}})));
  EXPECT_TRUE(container.flat());
  EXPECT_EQ(container.EraOf("model"), ContainerEra::kFlat);
  EXPECT_EQ(container.flat_version(), "8.7");
  EXPECT_THAT(container.model_names(), ElementsAre("model"));
}

TEST(ContainerTest, FlatArchivesMayHaveNoVersion) {
  ASSERT_OK_AND_ASSIGN(
      const Container container,
      Open(WriteZip({{.name = "serialized_exported_program.json", .content = "{}"}})));
  EXPECT_EQ(container.flat_version(), "");
  EXPECT_THAT(Open(WriteZip({{.name = "serialized_exported_program.json", .content = "{}"},
                             {.name = "version", .content = std::string(257, '8')}})),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("'version' has 257 bytes; expected at most 256")));
}

TEST(ContainerTest, IdentifiesOtherFileFormats) {
  EXPECT_THAT(Open(""), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("empty")));
  EXPECT_THAT(Open("\x7f"
                   "ELF and so on"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("7f 45 4c 46")));
  EXPECT_THAT(Open("\x80\x02}q\1."),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("pickle")));
  EXPECT_THAT(Open("\x80\x04}."), StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("pickle")));
  EXPECT_THAT(Open("\x80\x05}."),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("80 05 7d 2e")));
  EXPECT_THAT(Open(WriteZip({})), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("empty")));
  EXPECT_THAT(Open(WriteZip({{.name = "m/data.pkl"}, {.name = "m/constants.pkl"}})),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("TorchScript")));
  EXPECT_THAT(Open(WriteZip({{.name = "m/data.pkl"}, {.name = "m/data/0"}})),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("torch.save archive")));
  EXPECT_THAT(Open(WriteZip({{.name = "word/document.xml"}})),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("word/document.xml")));
}

TEST(ContainerTest, RejectsArchivesWithoutAProgram) {
  ArchiveFiles files = DefaultFiles("{}");
  SetFile(files, "models/model.json", nullptr);
  EXPECT_THAT(Open(PackArchive(files)),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("models/<name>.json")));
  // Entries that are not models.
  files.emplace_back("models/notes.txt", "");
  files.emplace_back("models/.json", "");
  EXPECT_THAT(Open(PackArchive(files)),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("models/<name>.json")));
  files.emplace_back("data/aotinductor/model/model.so", "code");
  files.emplace_back("data/aotinductor/model/more.so", "code");
  EXPECT_THAT(Open(PackArchive(files)),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("AOTInductor")));
}

TEST(ContainerTest, RejectsUnknownMarkers) {
  EXPECT_THAT(OpenWith("archive_format", "pt3"),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("'pt3'")));
  EXPECT_THAT(OpenWith("archive_version", "1"),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("archive_version is 1")));
  EXPECT_THAT(OpenWith("archive_version", nullptr), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(OpenWith(".data/version", "11"),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("'11'")));
  EXPECT_THAT(OpenWith(".data/version", "0"),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("expected 1 to 10")));
  EXPECT_THAT(OpenWith(".data/version", "six"), StatusIs(absl::StatusCode::kUnimplemented));
  EXPECT_THAT(OpenWith("byteorder", "big"),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("little-endian")));
  EXPECT_THAT(OpenWith("archive_format", std::string(1000, 'x').c_str()),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_OK(OpenWith("byteorder", nullptr));
  EXPECT_OK(OpenWith(".data/version", nullptr));
  for (const char* marker : {"archive_version", ".data/version", "byteorder"}) {
    EXPECT_THAT(OpenWith(marker, std::string(300, ' ').c_str()),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr(std::string("'") + marker + "' has 300 bytes")));
  }
}

TEST(ContainerTest, RejectsEntriesOutsideTheFolder) {
  EXPECT_THAT(
      Open(WriteZip({{.name = "m/archive_format", .content = "pt2"}, {.name = "other/x"}})),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("outside the archive's folder 'm/'")));
}

TEST(ContainerTest, RespectsLimits) {
  const std::string file = PackArchive(DefaultFiles("{\"some\": \"text\"}"));
  ImportOptions options;
  options.max_file_bytes = file.size() - 1;
  EXPECT_THAT(Open(file, options),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("max_file_bytes")));
  options = {};
  options.max_json_bytes = 10;
  ASSERT_OK_AND_ASSIGN(const Container container, Open(file, options));
  ByteBudget budget("max_inflated_bytes", 0);
  std::string path;
  EXPECT_THAT(container.ReadModel("model", budget, &path),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("max_json_bytes")));
  EXPECT_THAT(container.ReadJson("nothing.json", budget),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("'nothing.json'")));
  EXPECT_THAT(container.Read("nothing", budget),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("'nothing'")));
}

}  // namespace
}  // namespace belay::exir
