#include "executorch/payload_import/program_image.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/cpu/aot/cpu_backend.h"
#include "backends/runtime_backends.h"
#include "executorch/payload_import/delegate_converter.h"
#include "executorch/reader/open_program.h"
#include "executorch/reader/program_kernels.h"
#include "exir/ops/standard_ops.h"
#include "exir/serialize/serializer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/executor/method.h"
#include "runtime/io/npy_values.h"
#include "runtime/program/digest.h"

namespace belay::pte {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Returns the value's bytes; of a scalar, those of its `.npy` file.
std::string BytesOf(const EValue& value) {
  const absl::StatusOr<std::string> bytes = NpyBytesOf(value);
  return bytes.ok() ? *bytes : "";
}

class ProgramImageTest : public ::testing::TestWithParam<std::string> {
 protected:
  ProgramImageTest() {
    auto ops = exir::CreateStandardOps();
    EXPECT_OK(ops.status());
    ops_ = *std::move(ops);
  }

  absl::StatusOr<TranslatedProgram> Translate(const std::string& path, bool converts = true) const {
    OpenOptions options;
    if (converts) options.convert_delegates = XnnpackConverter(*ops_, backend_);
    return TranslateProgram(path, options);
  }
  // Calls the method with random inputs, and returns the bytes of the outputs of all calls, or the
  // error.
  std::vector<std::string> Outputs(const belay::Program& program, const std::string& name) const {
    KernelRegistry kernels;
    EXPECT_OK(AddProgramKernels(program, kernels));
    auto method = Method::Load(program, name, kernels, RuntimeBackends());
    EXPECT_OK(method.status());
    if (!method.ok()) return {std::string(method.status().message())};
    std::vector<std::string> outputs;
    for (const uint64_t seed : {1, 2}) {
      std::vector<NpyArray> inputs(method->num_inputs());
      for (size_t i = 0; i < inputs.size(); ++i) {
        EValue value = ConstantInput(method->plan(), i);
        if (InputTakesArray(method->plan(), i)) {
          inputs[i] = RandomInput(method->plan(), i, seed + 10 * i, INT64_MAX).value();
          value = InputFromNpy(method->plan(), i, inputs[i]).value();
        }
        EXPECT_OK(method->SetInput(i, value));
      }
      const absl::Status status = method->Execute();
      if (!status.ok()) outputs.push_back(status.ToString());
      for (size_t i = 0; status.ok() && i < method->num_outputs(); ++i) {
        outputs.push_back(BytesOf(method->GetOutput(i)));
      }
    }
    return outputs;
  }

  std::unique_ptr<exir::OpRegistry> ops_;
  cpu::CpuBackend backend_;
};

TEST_P(ProgramImageTest, ComputesTheSame) {
  ASSERT_OK_AND_ASSIGN(const TranslatedProgram translated,
                       Translate(absl::StrCat("executorch/", GetParam(), ".pte")));
  EXPECT_TRUE(translated.notes.empty());
  ASSERT_OK_AND_ASSIGN(const belay::Program before, OpenTranslated(translated));
  ASSERT_OK_AND_ASSIGN(const exir::ProgramImage image, ImageOf(translated));
  ASSERT_OK_AND_ASSIGN(const exir::SerializedProgram file, exir::SerializeProgram(image));
  const exir::Storage storage = file.ToStorage();
  ASSERT_OK_AND_ASSIGN(const belay::Program after,
                       belay::Program::OpenBytes(storage.owner, storage.bytes, {}));
  EXPECT_EQ(after.format(), "");
  EXPECT_EQ(after.producer(), kProducer);
  ASSERT_EQ(after.methods().size(), before.methods().size());
  for (const MethodPlan& method : after.methods()) {
    for (const DelegatePlan& delegate : method.delegates) {
      EXPECT_EQ(delegate.backend_id, cpu::kBackendId);
    }
    EXPECT_EQ(Outputs(after, method.name), Outputs(before, method.name)) << method.name;
  }
  EXPECT_OK(VerifyDigests(after));
}

INSTANTIATE_TEST_SUITE_P(
    Testdata, ProgramImageTest,
    ::testing::Values(
        "payload_import/testdata/xnn_attention", "payload_import/testdata/xnn_dynamic_int8",
        "payload_import/testdata/xnn_half", "payload_import/testdata/xnn_images",
        "payload_import/testdata/xnn_int4_channels", "payload_import/testdata/xnn_int4_groups",
        "payload_import/testdata/xnn_int4_rows", "payload_import/testdata/xnn_pointwise",
        "payload_import/testdata/xnn_rows", "payload_import/testdata/xnn_static_int8",
        "reader/testdata/add", "reader/testdata/cat_unplanned_io", "reader/testdata/cond",
        "reader/testdata/cond_nested", "reader/testdata/dynamic_batch", "reader/testdata/item",
        "reader/testdata/llama_decoder", "reader/testdata/llama_quantized",
        "reader/testdata/llama_sdpa", "reader/testdata/map", "reader/testdata/mlp",
        "reader/testdata/mutable_buffer", "reader/testdata/two_methods", "reader/testdata/views",
        "reader/testdata/xnn_convnet", "reader/testdata/xnn_convnet_q8",
        "reader/testdata/xnn_linear_relu"),
    [](const auto& info) { return info.param.substr(info.param.rfind('/') + 1); });

// Weights of the payloads are not stored a second time.
TEST_F(ProgramImageTest, OmitsDataThatNothingUses) {
  const std::string path = "executorch/reader/testdata/xnn_linear_relu.pte";
  ASSERT_OK_AND_ASSIGN(const TranslatedProgram translated, Translate(path));
  ASSERT_OK_AND_ASSIGN(const exir::ProgramImage image, ImageOf(translated));
  // A delegate that is not converted looks up its constants.
  ASSERT_OK_AND_ASSIGN(const TranslatedProgram kept, Translate(path, /*converts=*/false));
  ASSERT_OK_AND_ASSIGN(const exir::ProgramImage with_payload, ImageOf(kept));
  EXPECT_EQ(with_payload.metadata.methods(0).delegates(0).backend_id(), "XnnpackBackend");
  ASSERT_EQ(with_payload.metadata.named_data_size(), 2);
  for (const schema::NamedData& named : image.metadata.named_data()) {
    for (const schema::NamedData& unused : with_payload.metadata.named_data()) {
      EXPECT_NE(named.key(), unused.key());
    }
  }
}

// --- AlignArena ---

// A method with a float32 tensor of `size` elements at each offset. Instruction i writes tensor i
// unless it is not in `written`.
schema::Method Tensors(const std::vector<std::pair<uint64_t, int64_t>>& tensors,
                       const std::vector<int>& written) {
  schema::Method method;
  for (const auto& [offset, size] : tensors) {
    schema::Tensor& tensor = *method.add_values()->mutable_tensor();
    tensor.set_dtype(static_cast<uint32_t>(DType::kFloat32));
    tensor.add_sizes(size);
    tensor.set_arena_offset(offset);
  }
  for (const int value : written) {
    method.add_instructions()->mutable_kernel()->add_outputs(static_cast<uint32_t>(value));
  }
  return method;
}

std::vector<uint64_t> Offsets(const schema::Method& method) {
  std::vector<uint64_t> offsets;
  for (const schema::Value& value : method.values()) {
    offsets.push_back(value.tensor().arena_offset());
  }
  return offsets;
}

TEST(AlignArenaTest, DisjointTensorsStayDisjoint) {
  // Values 0 and 1 are live together, as are 2 and 3, which reuse their memory.
  schema::Method method = Tensors({{0, 4}, {16, 24}, {0, 20}, {80, 8}}, {0, 1, 2, 3});
  ASSERT_OK(AlignArena(method));
  EXPECT_THAT(Offsets(method), ElementsAre(0, 64, 0, 128));
  EXPECT_EQ(method.arena_bytes(), 160u);
}

TEST(AlignArenaTest, TensorsAtOneOffsetStayTogether) {
  schema::Method method = Tensors({{0, 1}, {16, 8}, {16, 2}, {48, 0}}, {0, 1, 3});
  ASSERT_OK(AlignArena(method));
  EXPECT_THAT(Offsets(method), ElementsAre(0, 64, 64, 128));
  EXPECT_EQ(method.arena_bytes(), 128u);
}

void AddReader(schema::Method& method, uint32_t argument, uint32_t output) {
  schema::KernelCall& call = *method.add_instructions()->mutable_kernel();
  call.add_arguments(argument);
  call.add_outputs(output);
}

// Value 1 is a view of value 0 in memory that value 2 uses before or after.
TEST(AlignArenaTest, ViewsMayOverlapTensorsOfOtherTimes) {
  for (const bool later : {false, true}) {
    schema::Method method = Tensors({{0, 64}, {0, 8}, {16, 4}, {256, 1}},
                                    later ? std::vector<int>{0} : std::vector<int>{2, 0});
    AddReader(method, /*argument=*/1, /*output=*/3);
    if (later) method.add_instructions()->mutable_kernel()->add_outputs(2);
    schema::Method returning = method;
    ASSERT_OK(AlignArena(method));
    EXPECT_THAT(Offsets(method), ElementsAre(0, 0, 0, 256));
    returning.add_outputs(1);
    EXPECT_EQ(AlignArena(returning).ok(), !later);
  }
}

TEST(AlignArenaTest, RejectsViewsOfPartlyOverwrittenTensors) {
  schema::Method method = Tensors({{0, 64}, {0, 8}, {16, 4}, {256, 1}}, {0, 2});
  AddReader(method, 1, 3);
  EXPECT_THAT(AlignArena(method), StatusIs(absl::StatusCode::kUnimplemented,
                                           HasSubstr("value 1 reads the memory of value 2")));
  // Inputs write their values before the first instruction.
  schema::Method with_input = Tensors({{0, 64}, {0, 8}, {16, 4}, {256, 1}}, {});
  with_input.add_inputs()->set_value(0);
  AddReader(with_input, 1, 3);
  with_input.add_instructions()->mutable_kernel()->add_outputs(2);
  schema::Method with_jump = with_input;
  EXPECT_OK(AlignArena(with_input));
  // The order of instructions with jumps is unknown.
  with_jump.add_instructions()->mutable_jump()->set_target(0);
  EXPECT_EQ(AlignArena(with_jump).code(), absl::StatusCode::kUnimplemented);
}

TEST(AlignArenaTest, RejectsTensorsReadThroughOthers) {
  for (const std::vector<std::pair<uint64_t, int64_t>>& tensors :
       {std::vector<std::pair<uint64_t, int64_t>>{{0, 8}, {16, 2}}, {{16, 8}, {0, 6}}}) {
    schema::Method method = Tensors(tensors, {0});
    method.add_outputs(1);
    EXPECT_THAT(AlignArena(method), StatusIs(absl::StatusCode::kUnimplemented,
                                             HasSubstr("value 1 reads the memory of value 0")));
    // An instruction that also reads it updates what others wrote.
    schema::KernelCall& update = *method.add_instructions()->mutable_kernel();
    update.add_arguments(1);
    update.add_outputs(1);
    EXPECT_EQ(AlignArena(method).code(), absl::StatusCode::kUnimplemented);
    method.add_instructions()->mutable_move()->set_to(1);
    EXPECT_OK(AlignArena(method));
  }
}

}  // namespace
}  // namespace belay::pte
