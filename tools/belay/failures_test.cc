// Executes failures.md.
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "exir/import/testing/archive.h"
#include "exir/import/testing/zip_writer.h"
#include "runtime/core/mapped_file.h"
#include "runtime/core/npy.h"
#include "runtime/core/str_cat.h"
#include "runtime/core/test_in_directory.h"
#include "runtime/core/testing.h"
#include "runtime/executor/testing/program_builder.h"
#include "runtime/program/program.h"

namespace belay {
namespace {

namespace fs = std::filesystem;

constexpr char kPage[] = "tools/belay/failures.md";
constexpr std::string_view kIndent = "    ";
constexpr std::string_view kCommand = "    $ belay";

class FailuresTest : public TestInDirectory {
 protected:
  void SetUp() override {
    TestInDirectory::SetUp();
    belay_ = fs::absolute("tools/belay/belay").string();
    WriteArchives();
    WritePrograms();
    WriteFilesOfOtherKinds();
    WriteArrays();
  }

  // Returns the command's output and exit status in the format of the page.
  std::string Execute(std::string_view arguments) const {
    const std::string line =
        absl::StrCat("cd '", directory_.string(), "' && '", belay_, "'", arguments, " 2>&1");
    FILE* pipe = ::popen(line.c_str(), "r");
    if (pipe == nullptr) return "no pipe";
    std::string output;
    std::array<char, 4096> buffer;
    while (const size_t n = std::fread(buffer.data(), 1, buffer.size(), pipe)) {
      output.append(buffer.data(), n);
    }
    const int status = ::pclose(pipe);
    // The only part that varies between runs.
    const std::string key = Read(Path("release.pub")).substr(0, 64);
    if (!key.empty()) output = absl::StrReplaceAll(output, {{key, "<release.pub>"}});
    absl::StrAppend(&output, "exit status ", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    std::string shown;
    for (absl::string_view text : absl::StrSplit(output, '\n')) {
      absl::StrAppend(&shown, kIndent, FromAbsl(text), "\n");
    }
    return shown;
  }

 private:
  void Prepare(std::string_view arguments) const {
    const std::string shown = Execute(arguments);
    ASSERT_TRUE(shown.ends_with("exit status 0\n")) << arguments << "\n" << shown;
  }

  void WriteArchives() const {
    for (const auto& [name, model] : std::vector<std::pair<std::string, std::string>>{
             {"mlp", "mlp"}, {"custom", "custom_operator"}, {"dynamic", "dynamic_batch_mlp"}}) {
      Write(name + ".pt2", Read("conformance/models/zoo/" + model + "/model.pt2"));
    }
    Write("cut.pt2", Read(Path("mlp.pt2")).substr(0, 4000));
    // relu(x + w): the results are equal on all machines.
    exir::ArchiveFiles files = exir::DefaultFiles(exir::ProgramJson());
    Write("relu.pt2", exir::PackArchive(files));
    const std::string other(24, '\0');
    exir::SetFile(files, "data/weights/weight_0", &other);
    Write("other_weights.pt2", exir::PackArchive(files));
    Write("newer.pt2", exir::PackArchive(exir::DefaultFiles(
                           exir::ProgramJson({{"\"major\": 8", "\"major\": 9"}}))));
  }

  void WritePrograms() const {
    Prepare(" lower mlp.pt2 -o mlp.belay --backend none");
    Prepare(" lower dynamic.pt2 -o dynamic.belay --backend none");
    Prepare(" lower other_weights.pt2 -o other_weights.belay --backend none");
    Prepare(" lower mlp.pt2 -o external.belay --backend none --external-constants weights");
    Prepare(" lower mlp.pt2 -o exchanged.belay --backend none --external-constants exchanged");
    for (const std::string& name : Files()) {
      if (name.starts_with("weights-")) fs::remove(directory_ / name);
      if (name.starts_with("exchanged-")) Write(name, Read(Path(name)).substr(0, 1000));
    }

    const std::string mlp = Read(Path("mlp.belay"));
    Write("cut.belay", mlp.substr(0, 500));
    std::string converted = mlp;
    converted.erase(5, 1);
    Write("converted.belay", converted);
    std::string newer = mlp;
    newer[8] = 2;
    FixHeader(newer);
    Write("newer.belay", newer);
    std::string damaged = mlp;
    damaged[100] ^= 1;
    Write("damaged.belay", damaged);
    ASSERT_OK_AND_ASSIGN(const Program program, Program::Open(Path("mlp.belay")));
    std::string weights = mlp;
    weights[program.segments()[0].offset] ^= 1;
    Write("damaged_weights.belay", weights);

    Prepare(" keygen release");
    Prepare(" keygen other");
    for (const std::string name : {"signed.belay", "changed.belay"}) {
      Write(name, mlp);
      Prepare(" sign " + name + " --key release.key");
    }
    Write("changed.belay", weights);

    TestProgram stranger;
    TestMethod method = stranger.AddMethod("forward");
    const uint32_t x = method.Input("x", DType::kFloat32, {2});
    const uint32_t y = method.Arena(DType::kFloat32, {2});
    const uint32_t z = method.Arena(DType::kFloat32, {2});
    method.Call("vendor.swish.default", {x}, {y});
    method.Call("vendor.mish.default", {y}, {z});
    method.Delegate("accelerator", stranger.AddSegment(schema::Segment::DELEGATE, "blob"), {z},
                    {y});
    method.Output(y);
    Write("stranger.belay", stranger.Serialize());
  }

  void WriteFilesOfOtherKinds() const {
    Write("model.pte", std::string("\x30\0\0\0ET12", 8) + std::string(100, '\0'));
    Write("state_dict.pth", "\x80\x02}q\1.");
    Write("checkpoint.pt", exir::WriteZip({{.name = "m/data.pkl", .content = "x"}}));
    Write("scripted.pt", exir::WriteZip({{.name = "m/constants.pkl", .content = "x"}}));
    Write("pointer.belay",
          "version https://git-lfs.github.com/spec/v1\n"
          "oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\n"
          "size 12345\n");
    Write("empty.pt2", "");
    Write("noise.belay", std::string(100, '\xa5'));
  }

  void WriteArrays() const {
    for (const Sizes& sizes :
         std::vector<Sizes>{{4, 16}, {5, 16}, {16}, {4, 6}, {3, 10}, {65, 6}, {65, 10}}) {
      std::string name = "f32";
      for (int64_t size : sizes) absl::StrAppend(&name, "_", size);
      ASSERT_OK(WriteNpy(Path(name + ".npy"), TestTensor::Zeros(DType::kFloat32, sizes)));
    }
    ASSERT_OK(WriteNpy(Path("f64_4_16.npy"), TestTensor::Zeros(DType::kFloat64, {4, 16})));
    ASSERT_OK(WriteNpy(Path("i8_4_16.npy"), TestTensor::Zeros(DType::kInt8, {4, 16})));
    for (const auto& [name, type] : std::vector<std::pair<std::string, std::string>>{
             {"big_endian.npy", "'>f4'"}, {"objects.npy", "'|O' "}}) {
      std::string array = Read(Path("f32_4_16.npy"));
      array.replace(array.find("'<f4'"), 5, type);
      Write(name, array);
    }
  }

  std::string belay_;
};

TEST_F(FailuresTest, OutputMatchesPage) {
  const std::string page = Read(kPage);
  std::string executed;
  int commands = 0;
  bool is_output = false;
  for (absl::string_view split : absl::StrSplit(page, '\n')) {
    const std::string_view line = FromAbsl(split);
    if (line.starts_with(kCommand)) {
      absl::StrAppend(&executed, line, "\n", Execute(line.substr(kCommand.size())));
      ++commands;
      is_output = true;
    } else if (!is_output || !line.starts_with(kIndent)) {
      absl::StrAppend(&executed, line, "\n");
      is_output = false;
    }
  }
  executed.pop_back();  // no line after the last line feed
  EXPECT_GE(commands, 40);
  if (executed == page) return;
  std::string copy = "the test's outputs";
  if (const char* outputs = std::getenv("TEST_UNDECLARED_OUTPUTS_DIR")) {
    copy = absl::StrCat(outputs, "/failures.md");
    EXPECT_OK(WriteFileAtomically(copy, {executed}));
  }
  EXPECT_EQ(executed, page) << "the page as it should be: " << copy;
}

}  // namespace
}  // namespace belay
