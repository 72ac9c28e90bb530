// Commands on whole program files: strip, stress, keygen, sign, verify-signature.
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "runtime/core/test_in_directory.h"
#include "runtime/core/testing.h"
#include "runtime/executor/testing/program_builder.h"
#include "runtime/executor/testing/sample_program.h"
#include "runtime/program/digest.h"
#include "runtime/program/program.h"
#include "tools/belay/captured_outcome.h"
#include "tools/belay/command.h"

namespace belay::tools {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr char kMlp[] = "conformance/models/zoo/mlp/model.pt2";

class FileCommandsTest : public TestInDirectory {
 protected:
  std::string LowerMlp(const std::string& external_constants = "") const {
    const LowerOptions options{.input = kMlp,
                               .output = Path("mlp.belay"),
                               .backends = {"demo"},
                               .external_constants = external_constants.empty()
                                                         ? std::vector<std::string>()
                                                         : std::vector{external_constants}};
    const Outcome outcome = Capture([&] { return Lower(options); });
    EXPECT_EQ(outcome.status, kDone) << outcome.errors;
    return Path("mlp.belay");
  }
  // Returns the first output of the program for random inputs.
  std::string Result(const std::string& program) const {
    RunOptions options{.program = program, .output_dir = Path("out")};
    options.seed = 0;
    EXPECT_EQ(Capture([&] { return tools::Run(options); }).status, kDone);
    return Read(Path("out/0.npy"));
  }
};

// --- run ---

TEST_F(FileCommandsTest, NamesOutputsWithoutNpyTypeOnce) {
  const std::string program = Path("bf16.belay");
  const LowerOptions lower{.input = "conformance/models/zoo/bf16_mlp/model.pt2", .output = program};
  ASSERT_EQ(Capture([&] { return Lower(lower); }).status, kDone);
  RunOptions options{.program = program, .output_dir = Path("out")};
  options.seed = 0;
  const Outcome text = Capture([&] { return tools::Run(options); });
  EXPECT_EQ(text.status, kDone) << text.errors;
  EXPECT_THAT(text.errors,
              HasSubstr("as unsigned integers of the same bits, because .npy has no such type: "
                        "forward 0 (bfloat16)\n"));
  options.json = true;
  const Outcome json = Capture([&] { return tools::Run(options); });
  EXPECT_EQ(nlohmann::json::parse(json.output)["outputs_as_bits"],
            nlohmann::json::array({"forward 0 (bfloat16)"}));
  options.output_dir = "";
  EXPECT_THAT(Capture([&] { return tools::Run(options); }).output,
              ::testing::Not(HasSubstr("outputs_as_bits")));
}

TEST_F(FileCommandsTest, EnginesAndThreadsAgree) {
  // Fully delegated; the delegate has its own kernels.
  const std::string program = LowerMlp();
  const std::string expected = Result(program);
  RunOptions options{.program = program, .output_dir = Path("other")};
  options.seed = 0;
  options.engine = "reference";
  options.threads = 3;
  const Outcome outcome = Capture([&] { return tools::Run(options); });
  ASSERT_EQ(outcome.status, kDone) << outcome.errors;
  EXPECT_EQ(Read(Path("other/0.npy")), expected);
}

TEST_F(FileCommandsTest, StringOutputsAreTextFiles) {
  TestProgram program;
  TestMethod method = program.AddMethod("forward");
  method.Output(method.None());
  method.Output(method.String("text"));
  method.Output(method.Int(7));
  RunOptions options{.program = Write("p.belay", program.Serialize()), .output_dir = Path("out")};
  const Outcome outcome = Capture([&] { return tools::Run(options); });
  ASSERT_EQ(outcome.status, kDone) << outcome.errors;
  EXPECT_FALSE(fs::exists(Path("out/0.npy")));
  EXPECT_FALSE(fs::exists(Path("out/1.npy")));
  EXPECT_EQ(Read(Path("out/1.txt")), "text");
  EXPECT_TRUE(fs::exists(Path("out/2.npy")));
  EXPECT_THAT(outcome.output,
              HasSubstr("output 0: none\noutput 1: string \"text\"\noutput 2: int 7\n"));
  // The folder's path is a file.
  options.output_dir = Write("file", "");
  const Outcome refused = Capture([&] { return tools::Run(options); });
  EXPECT_EQ(refused.status, kBadInput);
  EXPECT_THAT(refused.errors, HasSubstr(Path("file")));
}

// --- strip ---

TEST_F(FileCommandsTest, StrippedProgramComputesTheSame) {
  const std::string program = LowerMlp();
  const std::string before = Result(program);
  const uintmax_t size = fs::file_size(program);
  const Outcome outcome = Capture([&] { return Strip({.file = program, .output = {}}); });
  EXPECT_EQ(outcome.status, kDone) << outcome.errors;
  EXPECT_LT(fs::file_size(program), size);
  EXPECT_EQ(Result(program), before);
  ASSERT_OK_AND_ASSIGN(const Program opened, Program::Open(program));
  EXPECT_TRUE(opened.debug_info().empty());
  EXPECT_OK(VerifyDigests(opened));
}

TEST_F(FileCommandsTest, StripKeepsEverythingElse) {
  const TestProgram sample = SampleProgram();
  const std::string file = Write("p.belay", sample.Serialize());
  ASSERT_EQ(Capture([&] { return Strip({.file = file, .output = Path("q.belay")}); }).status,
            kDone);
  EXPECT_EQ(Read(file), sample.Serialize()) << "the input was changed";
  ASSERT_OK_AND_ASSIGN(const Program before, Program::Open(file));
  ASSERT_OK_AND_ASSIGN(const Program after, Program::Open(Path("q.belay")));
  EXPECT_FALSE(before.debug_info().empty());
  EXPECT_TRUE(after.debug_info().empty());
  ASSERT_EQ(after.segments().size(), before.segments().size() - 1);
  for (size_t i = 0; i < after.segments().size(); ++i) {
    EXPECT_EQ(after.segments()[i].sha256, before.segments()[i].sha256);
  }
  EXPECT_EQ(after.methods().size(), before.methods().size());
  EXPECT_OK(VerifyDigests(after));
  // Idempotent.
  ASSERT_EQ(
      Capture([&] { return Strip({.file = Path("q.belay"), .output = Path("r.belay")}); }).status,
      kDone);
  EXPECT_EQ(Read(Path("q.belay")), Read(Path("r.belay")));
}

TEST_F(FileCommandsTest, StripRenumbersSegmentsAfterDebugInfo) {
  TestProgram program;
  program.AddMethod("forward");
  program.AddDebugInfo(schema::DebugInfo());
  program.AddNamedData("key", "value");
  const std::string file = Write("p.belay", program.Serialize());
  ASSERT_EQ(Capture([&] { return Strip({.file = file, .output = {}}); }).status, kDone);
  ASSERT_OK_AND_ASSIGN(const Program after, Program::Open(file));
  ASSERT_OK_AND_ASSIGN(const absl::Span<const std::byte> value, after.FindNamedData("key"));
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(value.data()), value.size()), "value");
}

TEST_F(FileCommandsTest, StripKeepsCompanionFiles) {
  const std::string program = LowerMlp("weights");
  const std::string before = Result(program);
  ASSERT_EQ(Capture([&] { return Strip({.file = program, .output = {}}); }).status, kDone);
  EXPECT_EQ(Result(program), before);
  ASSERT_OK_AND_ASSIGN(const Program opened, Program::Open(program));
  EXPECT_OK(VerifyDigests(opened));
}

TEST_F(FileCommandsTest, StripKeepsDebugInfoInCompanionFiles) {
  TestProgram program;
  program.AddMethod("forward");
  program.AddDebugInfo(schema::DebugInfo());
  program.metadata().mutable_segments(0)->set_companion("debug.data");
  const std::string file = Write("p.belay", program.Serialize());
  Write("debug.data", program.SerializeCompanion("debug.data"));
  const Outcome outcome = Capture([&] { return Strip({.file = file, .output = {}}); });
  EXPECT_EQ(outcome.status, kUnsupported);
  EXPECT_THAT(outcome.errors, HasSubstr("segment 0 with debug information is in the companion file "
                                        "'debug.data', which other programs may use"));
}

TEST_F(FileCommandsTest, StripRejectsInvalidPrograms) {
  std::string bytes = SampleProgram().Serialize([](schema::Program& program) {
    program.mutable_methods(0)->mutable_instructions(0)->mutable_kernel()->set_arguments(0, 999);
  });
  const std::string file = Write("p.belay", bytes);
  const Outcome outcome = Capture([&] { return Strip({.file = file, .output = {}}); });
  EXPECT_EQ(outcome.status, kBadInput);
  EXPECT_THAT(outcome.errors, HasSubstr("value 999 does not exist"));
  EXPECT_EQ(Read(file), bytes);
  EXPECT_EQ(Capture([&] { return Strip({.file = Path("none"), .output = {}}); }).status, kBadInput);
  EXPECT_EQ(Capture([&] { return Strip({.file = kMlp, .output = Path("x")}); }).status, kBadInput);
  EXPECT_EQ(Files(), std::vector<std::string>{"p.belay"});
}

TEST_F(FileCommandsTest, StripRejectsNewerMinorVersions) {
  std::string bytes = SampleProgram().Serialize();
  bytes[12] = 7;
  belay::FixHeader(bytes);
  const std::string file = Write("p.belay", bytes);
  EXPECT_OK(Program::Open(file));
  const Outcome outcome = Capture([&] { return Strip({.file = file, .output = {}}); });
  EXPECT_EQ(outcome.status, kUnsupported);
  EXPECT_THAT(outcome.errors, HasSubstr("version 1.7"));
}

// --- stress ---

TEST_F(FileCommandsTest, StressCountsEveryMutation) {
  for (const std::string& file : {LowerMlp(), std::string(kMlp)}) {
    SCOPED_TRACE(file);
    const StressOptions options{.file = file, .mutations = 300, .seed = 5, .json = true};
    const Outcome first = Capture([&] { return Stress(options); });
    ASSERT_EQ(first.status, kDone) << first.errors;
    const nlohmann::json report = nlohmann::json::parse(first.output, nullptr, false);
    ASSERT_TRUE(report.is_object());
    uint64_t total = 0;
    for (const auto& outcome : report["outcomes"]) total += outcome["count"].get<uint64_t>();
    EXPECT_EQ(total, 300u);
    EXPECT_GT(report["outcomes"].size(), 2u);
    const Outcome again = Capture([&] { return Stress(options); });
    EXPECT_EQ(nlohmann::json::parse(again.output, nullptr, false)["outcomes"], report["outcomes"]);
  }
}

TEST_F(FileCommandsTest, StressReportsNonUtf8Path) {
  const std::string file = Write("p\xff.belay", Read(LowerMlp()));
  const StressOptions options{.file = file, .mutations = 3, .json = true};
  const Outcome outcome = Capture([&] { return Stress(options); });
  EXPECT_EQ(outcome.status, kDone) << outcome.errors;
  EXPECT_EQ(outcome.errors, "");
  const nlohmann::json report = nlohmann::json::parse(outcome.output, nullptr, false);
  EXPECT_TRUE(report.is_object()) << outcome.output;
}

TEST_F(FileCommandsTest, StressWritesMutation) {
  const std::string program = LowerMlp();
  const StressOptions options{
      .file = program, .write = Path("broken.belay"), .mutations = 1, .seed = 5, .first = 17};
  const Outcome outcome = Capture([&] { return Stress(options); });
  EXPECT_EQ(outcome.status, kDone) << outcome.errors;
  EXPECT_FALSE(outcome.errors.empty());
  EXPECT_NE(Read(Path("broken.belay")), Read(program));
}

TEST_F(FileCommandsTest, StressRejectsBrokenFile) {
  const std::string file = Write("p.belay", SampleProgram().Serialize().substr(0, 500));
  const Outcome outcome =
      Capture([&] { return Stress({.file = file, .write = {}, .mutations = 10}); });
  EXPECT_EQ(outcome.status, kBadInput);
  EXPECT_THAT(outcome.errors, HasSubstr("the unmodified file fails (open)"));
}

// --- signatures ---

TEST_F(FileCommandsTest, SignedFilesVerify) {
  const std::string program = LowerMlp("weights");
  ASSERT_EQ(Capture([&] { return Keygen({Path("release")}); }).status, kDone);
  struct stat info;
  ASSERT_EQ(::stat(Path("release.key").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  const Outcome sign =
      Capture([&] { return SignFile({.file = program, .key = Path("release.key")}); });
  ASSERT_EQ(sign.status, kDone) << sign.errors;
  const VerifySignatureOptions options{.file = program, .keys = {Path("release.pub")}};
  const Outcome verify = Capture([&] { return VerifySignature(options); });
  EXPECT_EQ(verify.status, kDone) << verify.errors;

  // Other weights under the right name.
  for (const std::string& name : Files()) {
    if (!name.starts_with("weights-")) continue;
    std::string weights = Read(Path(name));
    weights.back() = static_cast<char>(weights.back() ^ 1);
    Write(name, weights);
  }
  const Outcome companion = Capture([&] { return VerifySignature(options); });
  EXPECT_EQ(companion.status, kNegative);
  EXPECT_THAT(companion.errors, HasSubstr("SHA-256"));

  std::string bytes = Read(program);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  Write("mlp.belay", bytes);
  const Outcome changed = Capture([&] { return VerifySignature(options); });
  EXPECT_EQ(changed.status, kNegative);
  EXPECT_THAT(changed.errors, HasSubstr("the program was changed"));
}

TEST_F(FileCommandsTest, RejectsUntrustedKey) {
  const std::string program = LowerMlp();
  ASSERT_EQ(Capture([&] { return Keygen({Path("a")}); }).status, kDone);
  ASSERT_EQ(Capture([&] { return Keygen({Path("b")}); }).status, kDone);
  ASSERT_EQ(Capture([&] { return SignFile({.file = program, .key = Path("a.key")}); }).status,
            kDone);
  EXPECT_EQ(
      Capture([&] { return VerifySignature({.file = program, .keys = {Path("b.pub")}}); }).status,
      kNegative);
  EXPECT_EQ(Capture([&] {
              return VerifySignature({.file = program, .keys = {Path("b.pub"), Path("a.pub")}});
            }).status,
            kDone);
}

TEST_F(FileCommandsTest, DoesNotOverwriteKeys) {
  ASSERT_EQ(Capture([&] { return Keygen({Path("a")}); }).status, kDone);
  const std::string key = Read(Path("a.key"));
  const Outcome again = Capture([&] { return Keygen({Path("a")}); });
  EXPECT_EQ(again.status, kBadInput);
  EXPECT_THAT(again.errors, HasSubstr("a.key"));
  EXPECT_EQ(Read(Path("a.key")), key);
  fs::remove(Path("a.key"));
  EXPECT_EQ(Capture([&] { return Keygen({Path("a")}); }).status, kBadInput);
  EXPECT_EQ(Files(), std::vector<std::string>{"a.pub"});
}

TEST_F(FileCommandsTest, SigningRequiresKey) {
  const std::string program = LowerMlp();
  const Outcome none = Capture([&] { return SignFile({.file = program, .key = Path("none")}); });
  EXPECT_EQ(none.status, kBadInput);
  const std::string wrong = Write("wrong.key", "not a key");
  const Outcome bad = Capture([&] { return SignFile({.file = program, .key = wrong}); });
  EXPECT_EQ(bad.status, kBadInput);
  EXPECT_THAT(bad.errors, HasSubstr("hexadecimal"));
  EXPECT_FALSE(fs::exists(program + ".sig"));
}

TEST_F(FileCommandsTest, SignsAnyFile) {
  const std::string file = Write("notes.txt", "no program");
  ASSERT_EQ(Capture([&] { return Keygen({Path("a")}); }).status, kDone);
  ASSERT_EQ(Capture([&] { return SignFile({.file = file, .key = Path("a.key")}); }).status, kDone);
  const Outcome verified =
      Capture([&] { return VerifySignature({.file = file, .keys = {Path("a.pub")}}); });
  EXPECT_EQ(verified.status, kDone) << verified.errors;
  EXPECT_THAT(verified.output, HasSubstr("notes.txt: the signature is valid"));
}

TEST_F(FileCommandsTest, RejectsMissingAndOversizedKeys) {
  const std::string file = Write("notes.txt", "no program");
  const std::string large = Write("large.key", std::string(1025, '0'));
  const Outcome sign = Capture([&] { return SignFile({.file = file, .key = large}); });
  EXPECT_EQ(sign.status, kBadInput);
  EXPECT_THAT(sign.errors, HasSubstr("large.key is too long for a key"));
  const auto verify = [&](const std::string& name, const std::string& key) {
    return Capture([&] { return VerifySignature({.file = name, .keys = {key}}); });
  };
  EXPECT_THAT(verify(file, large).errors, HasSubstr("large.key is too long for a key"));
  EXPECT_THAT(verify(file, Path("none.pub")).errors, HasSubstr("none.pub"));
  EXPECT_THAT(verify(file, Write("bad.pub", "x")).errors, HasSubstr("bad.pub"));
  ASSERT_EQ(Capture([&] { return Keygen({Path("a")}); }).status, kDone);
  const Outcome missing = verify(Path("none.txt"), Path("a.pub"));
  EXPECT_EQ(missing.status, kBadInput);
  EXPECT_THAT(missing.errors, HasSubstr("none.txt"));
  const Outcome signing =
      Capture([&] { return SignFile({.file = Path("none.txt"), .key = Path("a.key")}); });
  EXPECT_EQ(signing.status, kBadInput);
  const Outcome folder = Capture([&] { return Keygen({Path("no/folder/a")}); });
  EXPECT_EQ(folder.status, kBadInput);
  EXPECT_THAT(folder.errors, HasSubstr("cannot create"));
}

}  // namespace
}  // namespace belay::tools
