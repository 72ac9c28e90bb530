#include "fuzz/negative/negative_files.h"

#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <ostream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "backends/runtime_backends.h"
#include "fuzz/negative/bounded.h"
#include "fuzz/negative/read_negative.h"
#include "google/protobuf/stubs/logging.h"
#include "runtime/core/testing.h"

namespace belay::fuzz {

void PrintTo(const NegativeFile& file, std::ostream* out) { *out << file.name; }

namespace {

using ::testing::HasSubstr;

const std::vector<NegativeFile>& Files() {
  static const std::vector<NegativeFile>& files = *new std::vector<NegativeFile>(NegativeFiles());
  return files;
}

std::string Directory(const NegativeFile& file) {
  const std::string directory = ::testing::TempDir() + "/negative_" + file.name;
  std::filesystem::remove_all(directory);
  std::filesystem::create_directories(directory);
  return directory;
}

absl::Status Read(const NegativeFile& file) {
  const std::string directory = Directory(file);
  const absl::Status status = ReadNegative(file, directory);
  std::filesystem::remove_all(directory);
  return status;
}

class NegativeFileTest : public ::testing::TestWithParam<NegativeFile> {
 protected:
  const google::protobuf::LogSilencer quiet_;  // protobuf logs strings that are not UTF-8
};

TEST_P(NegativeFileTest, IsRejected) {
  const NegativeFile& file = GetParam();
  const std::string outcome = OutcomeInBounds([&] { return Read(file); });
  EXPECT_THAT(outcome, ::testing::StartsWith(absl::StatusCodeToString(file.code) + ": "))
      << file.what;
  EXPECT_THAT(outcome, HasSubstr(file.message)) << file.what;
}

INSTANTIATE_TEST_SUITE_P(All, NegativeFileTest, ::testing::ValuesIn(Files()), [](const auto& info) {
  std::string name = info.param.name;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
});

TEST(NegativeFilesTest, EveryClassHasAFileOrAReason) {
  std::map<std::string, int> count;
  for (const NegativeFile& file : Files()) ++count[std::string(file.class_id())];
  std::set<std::string_view> impossible;
  for (const ImpossibleClass& row : ImpossibleClasses()) impossible.insert(row.class_id);
  for (const std::string_view id : NegativeClasses()) {
    EXPECT_EQ(count[std::string(id)] > 0, !impossible.contains(id)) << id;
    count.erase(std::string(id));
  }
  for (const auto& [id, files] : count) ADD_FAILURE() << id << " is no class";
}

TEST(NegativeFilesTest, NamesAreUnique) {
  std::set<std::string> names;
  for (const NegativeFile& file : Files()) {
    EXPECT_TRUE(names.insert(file.name).second) << file.name;
    EXPECT_FALSE(file.message.empty()) << file.name;
  }
}

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

constexpr char kUpdate[] =
    "run tools/bazel run //fuzz/negative:write_negative_files -- \"$PWD/fuzz/negative/corpus\"";

TEST(NegativeFilesTest, MatchCorpus) {
  const std::filesystem::path corpus = "fuzz/negative/corpus";
  std::set<std::string> expected = {"INDEX.md"};
  for (const NegativeFile& file : Files()) {
    if (file.placement != NegativePlacement::kFile) continue;
    expected.insert(file.name);
    ASSERT_TRUE(std::filesystem::exists(corpus / file.name)) << file.name << ": " << kUpdate;
    EXPECT_TRUE(ReadFile(corpus / file.name) == file.bytes) << file.name << ": " << kUpdate;
  }
  EXPECT_TRUE(ReadFile(corpus / "INDEX.md") == NegativeIndex(Files())) << kUpdate;
  for (const auto& entry : std::filesystem::directory_iterator(corpus)) {
    EXPECT_TRUE(expected.contains(entry.path().filename().string())) << entry.path();
  }
}

// No backend accepts or crashes on malformed blobs.
TEST(NegativeFilesTest, BackendsRejectMalformedBlobs) {
  std::set<std::string> backends;
  for (const NegativeFile& file : Files()) {
    if (file.reader == NegativeReader::kBlob) backends.insert(std::string(file.extension()));
  }
  for (const std::string_view id : RuntimeBackends().Ids()) backends.insert(std::string(id));
  const std::string blobs[] = {"", "x", std::string(64, '\xff'), std::string(1000, '\0'),
                               std::string(4096, 'A')};
  for (const std::string& id : backends) {
    for (const std::string& blob : blobs) {
      const NegativeFile file = {.name = "D1_noise." + id,
                                 .reader = NegativeReader::kBlob,
                                 .code = absl::StatusCode::kInvalidArgument,
                                 .message = "",
                                 .what = "noise",
                                 .bytes = blob};
      EXPECT_FALSE(ReadNegative(file, Directory(file)).ok()) << id << ": " << blob.size();
    }
  }
}

}  // namespace
}  // namespace belay::fuzz
