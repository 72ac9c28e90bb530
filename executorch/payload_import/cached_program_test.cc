#include "executorch/payload_import/cached_program.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "backends/cpu/aot/cpu_backend.h"
#include "backends/runtime_backends.h"
#include "executorch/payload_import/delegate_converter.h"
#include "executorch/reader/conversion_cache.h"
#include "executorch/reader/open_program.h"
#include "executorch/reader/program_kernels.h"
#include "exir/ops/standard_ops.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/sha256.h"
#include "runtime/core/test_in_directory.h"
#include "runtime/core/testing.h"
#include "runtime/executor/method.h"
#include "runtime/io/npy_values.h"

namespace belay::pte {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;

class CachedProgramTest : public TestInDirectory {
 protected:
  void SetUp() override {
    TestInDirectory::SetUp();
    auto ops = exir::CreateStandardOps();
    ASSERT_OK(ops.status());
    ops_ = *std::move(ops);
    fs::create_directory(Folder());
    program_ = Copy("executorch/reader/testdata/xnn_convnet.pte");
  }

  std::string Folder() const { return Path("cache"); }
  std::string Copy(const std::string& path) const { return Write("model.pte", Read(path)); }
  // Waits until identities of the file, and of earlier ones, are stored.
  static void Settle(const std::string& path) {
    struct stat found = {};
    ASSERT_EQ(::stat(path.c_str(), &found), 0);
    while (::time(nullptr) - found.st_ctim.tv_sec <= 2) absl::SleepFor(absl::Milliseconds(50));
  }

  // Counts conversions and notes.
  absl::StatusOr<belay::Program> Open(const std::string& path) {
    notes_.clear();
    const DelegateConverter convert = XnnpackConverter(*ops_, backend_);
    OpenOptions options{
        .program = program_options_,
        .data_files = data_files_,
        .convert_delegates =
            [&, convert](absl::Span<const ForeignDelegate> delegates, const NamedDataMap& data,
                         const Limits& limits, uint64_t bytes) {
              ++conversions_;
              return convert(delegates, data, limits, bytes);
            },
        .weight_cache = Folder()};
    return OpenWithCache(path, options, [&](std::string_view note) { notes_.emplace_back(note); });
  }
  // The only file in the folder with this extension.
  std::string File(const std::string& extension) const {
    std::string found;
    for (const auto& entry : fs::directory_iterator(Folder())) {
      if (entry.path().extension() == extension) found = entry.path().string();
    }
    EXPECT_NE(found, "");
    return found;
  }
  static void Edit(const std::string& path, size_t offset) {
    std::string bytes = Read(path);
    bytes[offset] = static_cast<char>(bytes[offset] ^ 1);
    std::ofstream(path, std::ios::binary) << bytes;
  }
  std::vector<std::string> Outputs(const absl::StatusOr<belay::Program>& program) const {
    EXPECT_OK(program.status());
    if (!program.ok()) return {};
    KernelRegistry kernels;
    EXPECT_OK(AddProgramKernels(*program, kernels));
    auto method = Method::Load(*program, "forward", kernels, RuntimeBackends());
    EXPECT_OK(method.status());
    if (!method.ok()) return {};
    std::vector<NpyArray> inputs(method->num_inputs());
    for (size_t i = 0; i < inputs.size(); ++i) {
      inputs[i] = RandomInput(method->plan(), i, 1 + i, INT64_MAX).value();
      EXPECT_OK(method->SetInput(i, InputFromNpy(method->plan(), i, inputs[i]).value()));
    }
    EXPECT_OK(method->Execute());
    std::vector<std::string> outputs;
    for (size_t i = 0; i < method->num_outputs(); ++i) {
      outputs.push_back(NpyBytesOf(method->GetOutput(i)).value());
    }
    return outputs;
  }

  std::unique_ptr<exir::OpRegistry> ops_;
  cpu::CpuBackend backend_;
  belay::Program::Options program_options_;
  std::vector<std::string> data_files_;
  std::string program_;
  std::vector<std::string> notes_;
  int conversions_ = 0;
};

TEST_F(CachedProgramTest, SecondOpenConvertsNothing) {
  const std::vector<std::string> expected = Outputs(Open(program_));
  EXPECT_EQ(conversions_, 1);
  EXPECT_THAT(fs::path(File(".belay")).filename().string(),
              MatchesRegex("model\\.pte-[0-9a-f]{16}\\.belay"));
  EXPECT_EQ(fs::file_size(File(".key")), 168);
  EXPECT_EQ(Outputs(Open(program_)), expected);
  EXPECT_EQ(conversions_, 1);
  EXPECT_THAT(notes_, IsEmpty());
}

TEST_F(CachedProgramTest, UnchangedFilesAreNotReadAgain) {
  const std::vector<std::string> expected = Outputs(Open(program_));
  const std::string zeros(kSha256Bytes, '\0');
  EXPECT_EQ(Read(File(".key")).substr(104, 32), zeros);
  Settle(File(".belay"));
  ASSERT_OK(Open(program_).status());
  const std::string stamped = Read(File(".key"));
  EXPECT_NE(stamped.substr(104, 32), zeros);
  // Other digests are not noticed, since they are not computed.
  std::string key = stamped.substr(0, 40) + std::string(64, 'x') + stamped.substr(104, 32);
  std::ofstream(File(".key"), std::ios::binary) << key << Sha256(key);
  EXPECT_EQ(Outputs(Open(program_)), expected);
  EXPECT_EQ(conversions_, 1);
}

TEST_F(CachedProgramTest, ReplacesDamagedEntries) {
  const std::vector<std::string> expected = Outputs(Open(program_));
  const uint64_t size = fs::file_size(File(".belay"));
  int opened = 1;
  for (const uint64_t offset : {uint64_t{0}, uint64_t{70}, size / 2, size - 1}) {
    if (offset == size / 2) {
      Settle(File(".belay"));
      ASSERT_OK(Open(program_).status());  // stores the identities
    }
    Edit(File(".belay"), offset);
    EXPECT_EQ(Outputs(Open(program_)), expected) << offset;
    EXPECT_EQ(conversions_, ++opened) << offset;
    EXPECT_THAT(notes_, ElementsAre(AllOf(HasSubstr("is damaged"), HasSubstr("it is replaced"))));
    EXPECT_EQ(Outputs(Open(program_)), expected) << offset;
    EXPECT_EQ(conversions_, opened) << offset;
  }
  fs::resize_file(File(".belay"), size - 64);
  EXPECT_EQ(Outputs(Open(program_)), expected);
  EXPECT_EQ(conversions_, ++opened);
}

TEST_F(CachedProgramTest, ReplacesDamagedKeys) {
  const std::vector<std::string> expected = Outputs(Open(program_));
  for (const size_t offset : {0, 8, 40, 72, 104, 136, 167}) {
    Edit(File(".key"), offset);
    EXPECT_EQ(Outputs(Open(program_)), expected) << offset;
    EXPECT_THAT(notes_, ElementsAre(HasSubstr(".key is damaged"))) << offset;
  }
  for (const std::string& bytes : {std::string(), std::string(167, 'x'), std::string(4096, 'x')}) {
    std::ofstream(File(".key"), std::ios::binary) << bytes;
    EXPECT_EQ(Outputs(Open(program_)), expected) << bytes.size();
    EXPECT_THAT(notes_, ElementsAre(HasSubstr(".key"))) << bytes.size();
  }
}

TEST_F(CachedProgramTest, ReplacesEntriesOfOtherReleases) {
  ASSERT_OK(Open(program_).status());
  std::string key = Read(File(".key")).substr(0, 136);
  key.replace(8, 32, Sha256("converter 1 0.0.1"));
  std::ofstream(File(".key"), std::ios::binary) << key << Sha256(key);
  ASSERT_OK(Open(program_).status());
  EXPECT_EQ(conversions_, 2);
  EXPECT_THAT(notes_, ElementsAre(HasSubstr("is of another release")));
}

TEST_F(CachedProgramTest, OtherContentOfTheProgramIsConverted) {
  ASSERT_OK(Open(program_).status());
  Write("model.pte", Read("executorch/reader/testdata/xnn_linear_relu.pte"));
  EXPECT_EQ(
      Outputs(Open(program_)),
      Outputs(OpenProgram(program_, {.convert_delegates = XnnpackConverter(*ops_, backend_)})));
  EXPECT_EQ(conversions_, 2);
  EXPECT_THAT(notes_, ElementsAre(HasSubstr("of other content of")));
}

// An entry that is valid and of another program.
TEST_F(CachedProgramTest, ForeignProgramsAreReplaced) {
  const std::vector<std::string> expected = Outputs(Open(program_));
  const std::string key = File(".key"), file = File(".belay");
  const std::string own = Read(file);
  fs::create_directory(Path("other"));
  const std::string other =
      Write("other/model.pte", Read("executorch/reader/testdata/xnn_linear_relu.pte"));
  ASSERT_OK(Open(other).status());
  for (const auto& entry : fs::directory_iterator(Folder())) {
    if (entry.path() == key || entry.path() == file) continue;
    fs::copy_file(entry.path(), entry.path().extension() == ".key" ? key : file,
                  fs::copy_options::overwrite_existing);
  }
  ASSERT_NE(Read(file), own);
  EXPECT_EQ(Outputs(Open(program_)), expected);
  EXPECT_THAT(notes_, ElementsAre(HasSubstr("of other content of")));
  EXPECT_EQ(Read(file), own);
}

TEST_F(CachedProgramTest, EntriesMayBeMoved) {
  const std::vector<std::string> expected = Outputs(Open(program_));
  fs::rename(Folder(), Path("moved"));
  fs::create_directory(Folder());
  for (const auto& entry : fs::directory_iterator(Path("moved"))) {
    fs::copy_file(entry.path(), fs::path(Folder()) / entry.path().filename());
  }
  EXPECT_EQ(Outputs(Open(program_)), expected);
  EXPECT_EQ(conversions_, 1);
}

TEST_F(CachedProgramTest, RunsWithoutWritingIfTheEntryCannotBeWritten) {
  // A folder at the name of the program file.
  ASSERT_OK(Open(program_).status());
  const std::string file = File(".belay");
  fs::remove(file);
  fs::create_directory(file);
  EXPECT_OK(Open(program_).status());
  EXPECT_THAT(notes_, ElementsAre(HasSubstr("it is replaced"), HasSubstr("no entry for")));
  for (const auto& entry : fs::directory_iterator(Folder())) {
    EXPECT_THAT(entry.path().string(), Not(HasSubstr(".tmp")));
  }
}

TEST_F(CachedProgramTest, ReaderUsesEntriesAndAddsNone) {
  const OpenOptions options{.weight_cache = Folder()};
  ASSERT_OK(OpenProgram(program_, options).status());
  EXPECT_THAT(fs::is_empty(Folder()), true);
  const std::vector<std::string> expected = Outputs(Open(program_));
  absl::StatusOr<belay::Program> cached = OpenProgram(program_, options);
  EXPECT_EQ(Outputs(cached), expected);
  EXPECT_EQ(cached->methods()[0].delegates[0].backend_id, "cpu");
  Edit(File(".belay"), fs::file_size(File(".belay")) - 1);
  cached = OpenProgram(program_, options);
  ASSERT_OK(cached.status());
  EXPECT_EQ(cached->methods()[0].delegates[0].backend_id, "XnnpackBackend");
}

TEST_F(CachedProgramTest, EntriesAreWithinTheLimits) {
  ASSERT_OK(Open(program_).status());
  program_options_.limits.file_bytes = fs::file_size(program_);
  fs::resize_file(File(".belay"), program_options_.limits.file_bytes + 1);
  EXPECT_OK(Open(program_).status());
  EXPECT_THAT(notes_[0], HasSubstr("file_bytes"));
}

TEST_F(CachedProgramTest, ProgramsWithoutDelegatesHaveNoEntry) {
  ASSERT_OK(Open(Copy("executorch/reader/testdata/mlp.pte")).status());
  EXPECT_THAT(fs::is_empty(Folder()), true);
}

TEST_F(CachedProgramTest, RejectsFoldersAndVerifiers) {
  const auto open = [&](const std::string& folder, const FileVerifier* verifier) {
    return OpenWithCache(program_, {.program = {.verifier = verifier}, .weight_cache = folder},
                         [](std::string_view) {})
        .status();
  };
  EXPECT_THAT(open(Path("missing"), nullptr),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("missing is not a folder")));
  EXPECT_THAT(open(program_, nullptr), StatusIs(absl::StatusCode::kNotFound));
  struct Verifier : FileVerifier {
    absl::Status VerifyFile(const std::string&, absl::Span<const std::byte>) const override {
      return absl::OkStatus();
    }
    absl::Status VerifyDigest(absl::Span<const std::byte>, std::string_view) const override {
      return absl::OkStatus();
    }
  } verifier;
  EXPECT_THAT(open(Folder(), &verifier),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("signature")));
}

}  // namespace
}  // namespace belay::pte
