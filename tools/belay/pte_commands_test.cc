// Commands on ExecuTorch programs.
#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "runtime/core/npy.h"
#include "runtime/core/test_in_directory.h"
#include "runtime/core/testing.h"
#include "runtime/executor/testing/sample_program.h"
#include "tools/belay/captured_outcome.h"
#include "tools/belay/command.h"

namespace belay::tools {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;

std::string Sample(const std::string& name) { return "executorch/reader/testdata/" + name; }

class PteCommandsTest : public TestInDirectory {};

TEST_F(PteCommandsTest, RunMatchesExecuTorchOutputs) {
  RunOptions options{.program = Sample("add.pte"), .output_dir = Path("out")};
  options.inputs = {Sample("add.forward.in0.npy"), Sample("add.forward.in1.npy")};
  const Outcome outcome = Capture([&] { return tools::Run(options); });
  ASSERT_EQ(outcome.status, kDone) << outcome.errors;
  // The headers differ: NumPy pads them differently.
  const std::string got = Read(Path("out/0.npy")), expected = Read(Sample("add.forward.out0.npy"));
  EXPECT_EQ(got.substr(got.size() - 24), expected.substr(expected.size() - 24));
}

TEST_F(PteCommandsTest, WeightCacheIsFilledAndUsed) {
  RunOptions options{.program = Sample("xnn_convnet.pte"),
                     .output_dir = Path("first"),
                     .weight_cache = Path("cache")};
  options.inputs = {Sample("xnn_convnet.forward.in0.npy")};
  Outcome outcome = Capture([&] { return tools::Run(options); });
  EXPECT_EQ(outcome.status, kBadInput);
  EXPECT_THAT(outcome.errors, HasSubstr("cache is not a folder"));
  std::filesystem::create_directory(Path("cache"));
  for (const std::string folder : {"first", "second", "replaced"}) {
    options.output_dir = Path(folder);
    outcome = Capture([&] { return tools::Run(options); });
    ASSERT_EQ(outcome.status, kDone) << outcome.errors;
    EXPECT_EQ(Read(Path(folder + "/0.npy")), Read(Path("first/0.npy")));
    if (folder != "second") continue;
    for (const auto& entry : std::filesystem::directory_iterator(Path("cache"))) {
      std::filesystem::resize_file(entry.path(), 100);
    }
  }
  EXPECT_THAT(outcome.errors, AllOf(HasSubstr("belay: warning: weight cache: "),
                                    HasSubstr(".key is damaged; it is replaced")));
}

// The library has no 4-bit weights.
TEST_F(PteCommandsTest, RunExecutesFourBitDelegates) {
  RunOptions options{.program = "executorch/payload_import/testdata/xnn_int4_groups.pte"};
  options.seed = 1;
  EXPECT_EQ(Capture([&] { return tools::Run(options); }).status, kDone);
  options.payloads = "library";
  const Outcome outcome = Capture([&] { return tools::Run(options); });
  EXPECT_EQ(outcome.status, kUnsupported);
  EXPECT_THAT(outcome.errors, HasSubstr("datatype QDINT8 is not supported"));
}

TEST_F(PteCommandsTest, RandomInputsHaveMaximumDynamicSizes) {
  RunOptions options{.program = Sample("dynamic_batch.pte"), .json = true};
  options.seed = 1;
  const Outcome outcome = Capture([&] { return tools::Run(options); });
  ASSERT_EQ(outcome.status, kDone) << outcome.errors;
  EXPECT_EQ(json::parse(outcome.output)["calls"][0]["outputs"][0], "f32[6,4]");
}

TEST_F(PteCommandsTest, InspectAccountsForEveryByte) {
  for (const char* name :
       {"mlp.pte", "add.pte", "mutable_buffer.pte", "xnn_linear_relu.pte", "xnn_convnet_q8.pte"}) {
    const Outcome outcome =
        Capture([&] { return Inspect({.file = Sample(name), .json = true, .size = true}); });
    ASSERT_EQ(outcome.status, kDone) << name << outcome.errors;
    const json out = json::parse(outcome.output);
    EXPECT_EQ(out["format"], "ET12");
    uint64_t sum = 0;
    for (const json& entry : out["size"]) sum += entry["bytes"].get<uint64_t>();
    EXPECT_EQ(sum, out["file_bytes"].get<uint64_t>()) << name;
  }
}

TEST_F(PteCommandsTest, RejectsVerifyWithoutDigests) {
  const Outcome outcome =
      Capture([&] { return Inspect({.file = Sample("mlp.pte"), .verify = true}); });
  EXPECT_EQ(outcome.status, kUnsupported);
  EXPECT_THAT(outcome.errors, HasSubstr("has no digest"));
}

TEST_F(PteCommandsTest, RunExecutesXnnpackDelegates) {
  for (const std::string payloads : {"cpu", "library"}) {
    for (const std::string name : {"xnn_linear_relu", "xnn_convnet", "xnn_convnet_q8"}) {
      const std::string folder = payloads + name;
      RunOptions options{.program = Sample(name + ".pte"), .output_dir = Path(folder)};
      options.payloads = payloads;
      options.inputs = {Sample(name + ".forward.in0.npy")};
      const Outcome outcome = Capture([&] { return tools::Run(options); });
      ASSERT_EQ(outcome.status, kDone) << name << outcome.errors;
      ASSERT_OK_AND_ASSIGN(const NpyArray got, ReadNpyFile(Path(folder + "/0.npy")));
      ASSERT_OK_AND_ASSIGN(const NpyArray expected,
                           ReadNpyFile(Sample(name + ".forward.out0.npy")));
      // One quantization step of int8.
      const float tolerance = name == "xnn_convnet_q8" ? 1.9e-3f : 1e-5f;
      EXPECT_THAT(ToVector<float>(got.view()),
                  Pointwise(FloatNear(tolerance), ToVector<float>(expected.view())))
          << payloads << " " << name;
    }
  }
}

// The quantized program, lowered for the CPU, computes the integers of its .pte in ExecuTorch.
TEST_F(PteCommandsTest, QuantizedProgramsComputeAsInExecuTorch) {
  const std::string stem = "executorch/payload_import/testdata/belay_static_int8";
  for (const std::string backend : {"cpu", "none"}) {
    const std::string program = Path(backend + ".belay"), folder = Path(backend + "_outputs");
    ASSERT_EQ(Capture([&] {
                return Lower({.input = stem + ".bir", .output = program, .backends = {backend}});
              }).status,
              kDone);
    RunOptions options{.program = program, .output_dir = folder};
    options.inputs = {stem + ".forward.call0.in0.npy"};
    const Outcome outcome = Capture([&] { return tools::Run(options); });
    ASSERT_EQ(outcome.status, kDone) << outcome.errors;
    for (int i = 0; i < 6; ++i) {
      ASSERT_OK_AND_ASSIGN(const NpyArray got,
                           ReadNpyFile(folder + "/" + std::to_string(i) + ".npy"));
      ASSERT_OK_AND_ASSIGN(const NpyArray expected,
                           ReadNpyFile(stem + ".forward.call0.out" + std::to_string(i) + ".npy"));
      EXPECT_EQ(ToVector<float>(got.view()), ToVector<float>(expected.view()))
          << backend << ", output " << i;
    }
  }
}

TEST_F(PteCommandsTest, NamesBackendWithoutRuntime) {
  std::string file = Read(Sample("xnn_linear_relu.pte"));
  file.replace(file.find("XnnpackBackend"), 14, "UnknownBackend");
  Write("unknown.pte", file);
  RunOptions options{.program = Path("unknown.pte")};
  options.seed = 1;
  const Outcome outcome = Capture([&] { return tools::Run(options); });
  EXPECT_EQ(outcome.status, kUnsupported);
  EXPECT_THAT(outcome.errors, HasSubstr("UnknownBackend"));
}

TEST_F(PteCommandsTest, BenchAndProfileExecute) {
  const Outcome bench =
      Capture([&] { return Bench({.program = Sample("mlp.pte"), .seconds = 0.01}); });
  EXPECT_EQ(bench.status, kDone) << bench.errors;
  const Outcome profile =
      Capture([&] { return ProfileProgram({.program = Sample("map.pte"), .runs = 2}); });
  EXPECT_EQ(profile.status, kDone) << profile.errors;
}

TEST_F(PteCommandsTest, MutationsFailOrExecute) {
  for (const char* name : {"map.pte", "mutable_buffer.pte"}) {
    const Outcome outcome =
        Capture([&] { return Stress({.file = Sample(name), .write = {}, .mutations = 500}); });
    EXPECT_EQ(outcome.status, kDone) << name << outcome.errors;
  }
}

TEST_F(PteCommandsTest, DataFilesMustHaveTensors) {
  RunOptions options{.program = Write("p.belay", SampleProgram().Serialize())};
  options.data = {Sample("add.pte")};
  const Outcome own = Capture([&] { return tools::Run(options); });
  EXPECT_EQ(own.status, kBadInput);
  EXPECT_THAT(own.errors, AllOf(HasSubstr("add.pte"), HasSubstr("not a program file")));
  options.program = Sample("mlp.pte");
  const Outcome no_data = Capture([&] { return tools::Run(options); });
  EXPECT_EQ(no_data.status, kBadInput);
  EXPECT_THAT(no_data.errors, AllOf(HasSubstr("add.pte"), HasSubstr("not a data file (.ptd)")));
}

}  // namespace
}  // namespace belay::tools
