// Companion files: only the header, and with a program file that refers to a constant in them.
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "fuzz/generators/byte_source.h"
#include "fuzz/oracles/execution.h"
#include "fuzz/oracles/require.h"
#include "fuzz/oracles/typed_status.h"
#include "fuzz/targets/test_doubles.h"
#include "runtime/core/status_macros.h"
#include "runtime/executor/testing/program_builder.h"
#include "runtime/program/header.h"

namespace {

using namespace belay;

// Folder of the companion file: created once per process, removed at its end.
class Folder {
 public:
  Folder() {
    path_ = (std::filesystem::temp_directory_path() / "companion_data_XXXXXX").string();
    ABSL_CHECK(::mkdtemp(path_.data()) != nullptr);
  }
  ~Folder() {
    ::unlink(File().c_str());
    ::rmdir(path_.c_str());
  }
  const std::string& path() const { return path_; }
  std::string File() const { return path_ + "/weights.data"; }
  // Creates a new file each time, since the old one may be mapped.
  void Write(const std::string& bytes) const {
    ::unlink(File().c_str());
    std::FILE* file = std::fopen(File().c_str(), "wb");
    ABSL_CHECK(file != nullptr);
    ABSL_CHECK(std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size());
    ABSL_CHECK(std::fclose(file) == 0);
  }

 private:
  std::string path_;
};

// double(weight), with the weight in the companion file.
TestProgram MakeProgram() {
  TestProgram program;
  TestMethod method = program.AddMethod("forward");
  schema::Program& metadata = program.metadata();
  const std::string bytes(24, '\1');
  schema::Constant* constant = metadata.add_constants();
  constant->set_segment(program.AddSegment(schema::Segment::CONSTANTS, bytes, "weights.data"));
  constant->set_size(bytes.size());
  program.AddSegment(schema::Segment::NAMED_DATA, "data", "weights.data");
  const uint32_t weight = method.Constant(0, DType::kFloat32, {2, 3});
  const uint32_t sum = method.Arena(DType::kFloat32, {2, 3});
  method.Call("test.add.Tensor", {weight, weight}, {sum});
  method.Output(sum);
  return program;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Folder folder;
  static const TestProgram& program = *new TestProgram(MakeProgram());
  static const std::string& file = *new std::string(program.Serialize());
  static const BackendRegistry& backends = *new BackendRegistry;
  std::string bytes(reinterpret_cast<const char*>(data), size);
  for (int attempt = 0; attempt < 2; ++attempt) {
    for (const uint64_t segments : {0, 2, 3}) {
      const auto header = ReadCompanionHeader(
          absl::MakeConstSpan(reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()),
          segments);
      fuzz::Require(fuzz::CheckTyped("header", header.status(), fuzz::kReaderCodes));
    }
    folder.Write(bytes);
    fuzz::ByteSource inputs(bytes);
    fuzz::Require(fuzz::CheckExecution(
        file,
        {.kernels = fuzz::KernelDoubles(), .backends = backends, .companion_root = folder.path()},
        inputs));
    if (bytes.size() < 64) break;
    FixHeader(bytes);
  }
  return 0;
}
