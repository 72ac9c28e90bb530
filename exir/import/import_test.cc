#include "exir/import/import.h"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "exir/import/testing/archive.h"
#include "exir/import/testing/zip_writer.h"
#include "exir/ir/text.h"
#include "exir/ir/verifier.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/mapped_file.h"
#include "runtime/core/str_cat.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

std::string DataPath(const std::string& name) { return "exir/import/testdata/" + name; }

std::string ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in.good()) << path;
  return std::string(std::istreambuf_iterator<char>(in), {});
}

// Every archive in testdata: one per era, and both dialects.
constexpr const char* kArchives[] = {"torch2.5_mlp.pt2", "torch2.8_mlp.pt2", "torch2.9_counter.pt2",
                                     "torch2.13_mlp.pt2", "torch2.13_mlp_training.pt2"};

TEST(ImportTest, ReadsArchivesOfEveryEra) {
  for (const char* name : kArchives) {
    SCOPED_TRACE(name);
    ASSERT_OK_AND_ASSIGN(const ExportedProgram program, ImportFile(DataPath(name), TestOps()));
    EXPECT_OK(Verify(program));
    EXPECT_GT(program.top().num_nodes(), 0u);
    EXPECT_FALSE(program.in_spec.empty());
    for (const InputSpec& spec : program.signature.inputs) {
      if (NamesTensor(spec.kind)) EXPECT_NE(program.FindConstant(spec), nullptr) << spec.target;
    }
    ASSERT_OK_AND_ASSIGN(const ExportedProgram parsed,
                         ParseProgram(PrintProgram(program), TestOps()));
    EXPECT_TRUE(Equal(program, parsed));
  }
}

TEST(ImportTest, PreservesDialects) {
  ASSERT_OK_AND_ASSIGN(const ExportedProgram aten,
                       ImportFile(DataPath("torch2.13_mlp.pt2"), TestOps()));
  EXPECT_EQ(aten.dialect, IrDialect::kAten);
  ASSERT_OK_AND_ASSIGN(const ExportedProgram training,
                       ImportFile(DataPath("torch2.13_mlp_training.pt2"), TestOps()));
  EXPECT_EQ(training.dialect, IrDialect::kTraining);
}

TEST(ImportTest, WeightsStayInTheFile) {
  ASSERT_OK_AND_ASSIGN(const std::shared_ptr<const MappedFile> file,
                       MappedFile::Open(DataPath("torch2.13_mlp.pt2")));
  const absl::Span<const std::byte> bytes = file->bytes();
  ASSERT_OK_AND_ASSIGN(const ExportedProgram program, ImportBytes(file, bytes, TestOps()));
  EXPECT_EQ(program.state_dict.size(), 6u);
  for (const auto& [name, tensor] : program.state_dict) {
    EXPECT_GE(tensor.storage().bytes.data(), bytes.data()) << name;
    EXPECT_LE(tensor.storage().bytes.data() + tensor.storage().bytes.size(),
              bytes.data() + bytes.size())
        << name;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.storage().bytes.data()) % 64, 0u) << name;
  }
}

// Returns the kilobytes of a mapped file that the process holds.
size_t ResidentKilobytes(const std::string& name) {
  const std::string maps = ReadFile("/proc/self/smaps");
  const size_t mapping = maps.find(name);
  EXPECT_NE(mapping, std::string::npos);
  return std::stoul(maps.substr(maps.find("\nRss:", mapping) + 5));
}

TEST(ImportTest, KeepsPagesOnRequest) {
  const std::string name = "torch2.13_mlp.pt2";
  size_t released = 0, kept = 0;
  {
    ASSERT_OK_AND_ASSIGN(const ExportedProgram program, ImportFile(DataPath(name), TestOps()));
    released = ResidentKilobytes(name);
  }
  ImportOptions options;
  options.keep_pages = true;
  ASSERT_OK_AND_ASSIGN(const ExportedProgram program,
                       ImportFile(DataPath(name), TestOps(), options));
  kept = ResidentKilobytes(name);
  EXPECT_GT(kept, released);
}

TEST(ImportTest, ProgramKeepsFileAlive) {
  absl::StatusOr<ExportedProgram> program = ImportFile(DataPath("torch2.5_mlp.pt2"), TestOps());
  ASSERT_OK(program);
  float sum = 0;
  for (const auto& [name, tensor] : program->state_dict) {
    ASSERT_OK_AND_ASSIGN(const Storage dense, tensor.Dense(ContiguousOrder(tensor.sizes().size())));
    for (std::byte b : dense.bytes) sum += static_cast<float>(b);
  }
  EXPECT_GT(sum, 0);
}

TEST(ImportTest, InspectsArchives) {
  ASSERT_OK_AND_ASSIGN(const ArchiveInfo info, InspectArchiveFile(DataPath("torch2.13_mlp.pt2")));
  ASSERT_EQ(info.models.size(), 1u);
  const ArchiveInfo::Model& model = info.models[0];
  EXPECT_EQ(model.name, "model");
  EXPECT_EQ(model.era, "PT2 archive with raw weights (torch >= 2.9)");
  EXPECT_EQ(model.schema_major, 8);
  EXPECT_EQ(model.schema_minor, 20);
  EXPECT_EQ(model.torch_version, "2.13.0+cpu");
  EXPECT_THAT(model.verifiers, ElementsAre("ATEN"));
  EXPECT_THAT(model.opset, ElementsAre(Pair("aten", 10)));
  EXPECT_EQ(info.entries.size(), 15u);
  EXPECT_EQ(info.entries[0].name, "model/data/weights/weight_0");
  EXPECT_EQ(info.entries[0].bytes, 2048u);

  ASSERT_OK_AND_ASSIGN(const ArchiveInfo flat, InspectArchiveFile(DataPath("torch2.5_mlp.pt2")));
  EXPECT_EQ(flat.models[0].era, "flat archive (torch < 2.8)");
  EXPECT_EQ(flat.models[0].schema_major, 7);
  ASSERT_OK_AND_ASSIGN(const ArchiveInfo pickled, InspectArchiveFile(DataPath("torch2.8_mlp.pt2")));
  EXPECT_EQ(pickled.models[0].era, "PT2 archive with pickled weights (torch 2.8)");
}

TEST(ImportTest, InspectsUnsupportedVersions) {
  const Storage file =
      ToStorage(PackArchive(DefaultFiles(R"({"schema_version": {"major": 12, "minor": 3}})")));
  ASSERT_OK_AND_ASSIGN(const ArchiveInfo info, InspectArchive(file.owner, file.bytes));
  EXPECT_EQ(info.models[0].schema_major, 12);
}

TEST(ImportTest, RejectsArchivesThatCannotBeInspected) {
  const auto inspect = [](const std::string& model, const ImportOptions& options = {}) {
    const Storage file = ToStorage(PackArchive(DefaultFiles(model)));
    return InspectArchive(file.owner, file.bytes, options);
  };
  EXPECT_THAT(inspect("{"), StatusIs(absl::StatusCode::kInvalidArgument,
                                     HasSubstr("models/model.json: not valid JSON")));
  EXPECT_THAT(inspect("{}"), StatusIs(absl::StatusCode::kInvalidArgument,
                                      HasSubstr("the field 'schema_version' is missing")));
  ImportOptions options;
  options.max_json_bytes = 1;
  EXPECT_THAT(inspect("{}", options),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("max_json_bytes = 1")));
  EXPECT_THAT(InspectArchiveFile("no/such/file.pt2"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("no/such/file.pt2")));
  options = {};
  options.max_zip_entries = 3;
  EXPECT_THAT(InspectArchiveFile(DataPath("torch2.8_mlp.pt2"), options),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("torch2.8_mlp.pt2: zip: 9 entries, more than max_zip_entries")));
}

TEST(ImportTest, ErrorsNameTheFile) {
  EXPECT_THAT(ImportFile("no/such/file.pt2", TestOps()),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("no/such/file.pt2")));
  ImportOptions options;
  options.model_name = "other";
  EXPECT_THAT(
      ImportFile(DataPath("torch2.8_mlp.pt2"), TestOps(), options),
      StatusIs(absl::StatusCode::kNotFound,
               HasSubstr("torch2.8_mlp.pt2: the archive has no model 'other'; it has model")));
}

TEST(ImportTest, ReadsRequestedModel) {
  ArchiveFiles files = DefaultFiles(ProgramJson());
  files.emplace_back("models/second.json",
                     ProgramJson({{"\"in_spec\": \"in\"", "\"in_spec\": \"second\""}}));
  files.emplace_back("data/weights/second_weights_config.json", files[1].second);
  ImportOptions options;
  options.model_name = "second";
  ASSERT_OK_AND_ASSIGN(const ExportedProgram program, ImportText(PackArchive(files), options));
  EXPECT_EQ(program.in_spec, "second");
}

TEST(ImportTest, ReadsRepackedArchives) {
  std::vector<ZipWriterEntry> entries = {{.name = "model/"}, {.name = "model/data/"}};
  for (const auto& [path, content] : DefaultFiles(ProgramJson())) {
    entries.push_back({.name = "model/" + path, .content = content, .deflate = true});
  }
  ASSERT_OK_AND_ASSIGN(const ExportedProgram program, ImportText(WriteZip(entries)));
  EXPECT_EQ(program.state_dict.at("w").view().as<float>()[5], 6.0f);
  ImportOptions options;
  options.max_inflated_bytes = 1000;
  EXPECT_THAT(
      ImportText(WriteZip(entries), options),
      StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("max_inflated_bytes = 1000")));
}

// JSON much larger than the archive.
TEST(ImportTest, JsonLimitIsProportionalToArchive) {
  std::vector<ZipWriterEntry> entries = {{.name = "model/"}, {.name = "model/data/"}};
  for (const auto& [path, content] : DefaultFiles(ProgramJson())) {
    const bool is_model = path == "models/model.json";
    entries.push_back({.name = "model/" + path,
                       .content = is_model ? content + std::string(20 << 20, ' ') : content,
                       .deflate = true});
  }
  EXPECT_THAT(ImportText(WriteZip(entries)), StatusIs(absl::StatusCode::kResourceExhausted,
                                                      HasSubstr("more than max_json_bytes")));
  ImportOptions options;
  options.max_json_bytes = 30 << 20;
  EXPECT_OK(ImportText(WriteZip(entries), options));
}

TEST(ImportTest, DefaultLimitsAreProportionalToArchive) {
  const ImportOptions resolved = OptionsForArchive({}, 100);
  EXPECT_EQ(resolved.max_json_bytes, (uint64_t{16} << 20) + 1600);
  EXPECT_EQ(resolved.max_inflated_bytes, (uint64_t{256} << 20) + 1600);
  ImportOptions given;
  given.max_json_bytes = 3;
  given.max_inflated_bytes = 4;
  EXPECT_EQ(OptionsForArchive(given, 100).max_json_bytes, 3u);
  EXPECT_EQ(OptionsForArchive(given, 100).max_inflated_bytes, 4u);
}

// Expects a program that the verifier accepts, or an error with a message.
void ExpectSane(const absl::StatusOr<ExportedProgram>& program, const std::string& what) {
  if (program.ok()) {
    EXPECT_OK(Verify(*program)) << what;
    return;
  }
  EXPECT_FALSE(program.status().message().empty()) << what;
  const absl::StatusCode code = program.status().code();
  EXPECT_TRUE(code == absl::StatusCode::kDataLoss || code == absl::StatusCode::kInvalidArgument ||
              code == absl::StatusCode::kUnimplemented || code == absl::StatusCode::kNotFound ||
              code == absl::StatusCode::kResourceExhausted)
      << what << ": " << program.status();
}

TEST(ImportTest, RejectsTruncatedFiles) {
  for (const char* name : kArchives) {
    const std::string file = ReadFile(DataPath(name));
    for (size_t i = 0; i < 64; ++i) {
      const size_t size = file.size() * i / 64;
      EXPECT_THAT(ImportText(file.substr(0, size)), StatusIs(absl::StatusCode::kDataLoss))
          << name << " at " << size;
    }
    // Cut each of the last bytes: the end records.
    for (size_t cut = 1; cut < 150; ++cut) {
      EXPECT_THAT(ImportText(file.substr(0, file.size() - cut)),
                  StatusIs(absl::StatusCode::kDataLoss))
          << name << " - " << cut;
    }
  }
}

TEST(ImportTest, FlippedBitsFailOrAreHarmless) {
  std::mt19937 random(TestSeed());
  for (const char* name : kArchives) {
    const std::string file = ReadFile(DataPath(name));
    for (int round = 0; round < 150; ++round) {
      std::string damaged = file;
      const size_t flips = 1 + random() % 4;
      for (size_t i = 0; i < flips; ++i)
        damaged[random() % damaged.size()] ^= static_cast<char>(1 << (random() % 8));
      // Checksums detect almost everything early; without them, the later readers process damaged
      // bytes.
      ImportOptions options;
      options.verify_checksums = round % 3 == 0;
      ExpectSane(ImportText(damaged, options), absl::StrCat(name, " round ", round));
    }
  }
}

TEST(ImportTest, MutatedJsonFailsOrIsHarmless) {
  std::mt19937 random(TestSeed());
  const std::string program = ProgramJson();
  // Replacement pieces of JSON.
  std::vector<std::string> pieces = {
      "null", "3", "-1", "9223372036854775807", "1e308", "\"x\"", "[]", "{}", "true", "99", "0"};
  for (size_t at = program.find('{'); at != std::string::npos; at = program.find('{', at + 1)) {
    const size_t end = program.find('}', at);
    if (end != std::string::npos) pieces.push_back(program.substr(at, end - at + 1));
  }
  for (int round = 0; round < 1500; ++round) {
    std::string mutated = program;
    // Replace the text after a random colon or bracket, up to the next comma or closing bracket.
    const size_t start = mutated.find_first_of(":[", random() % mutated.size());
    if (start == std::string::npos) continue;
    const size_t end = mutated.find_first_of(",]}", start + 1);
    if (end == std::string::npos) continue;
    mutated.replace(start + 1, end - start - 1, pieces[random() % pieces.size()]);
    ExpectSane(ImportText(PackArchive(DefaultFiles(mutated))), absl::StrCat("round ", round));
  }
}

TEST(ImportTest, ChecksumDetectsDamagedWeights) {
  std::string file = ReadFile(DataPath("torch2.13_mlp.pt2"));
  file[200] ^= 1;  // In the first record.
  EXPECT_THAT(ImportText(file), StatusIs(absl::StatusCode::kDataLoss,
                                         HasSubstr("model/data/weights/weight_0' has checksum")));
  ImportOptions options;
  options.verify_checksums = false;
  EXPECT_OK(ImportText(file, options));
}

TEST(ImportTest, ErrorsEscapeControlCharacters) {
  ArchiveFiles files = DefaultFiles(ProgramJson());
  const std::string format = "\x1b[2J";
  SetFile(files, "archive_format", &format);
  const std::string archive = PackArchive(files);
  EXPECT_THAT(ImportText(archive),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("\\x1b[2J")));
  const Storage bytes = ToStorage(archive);
  EXPECT_THAT(InspectArchive(bytes.owner, bytes.bytes),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("\\x1b[2J")));
}

}  // namespace
}  // namespace belay::exir
