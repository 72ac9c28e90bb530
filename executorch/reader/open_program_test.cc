#include "executorch/reader/open_program.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "executorch/reader/testing/loaded_method.h"
#include "executorch/reader/testing/pte_builder.h"
#include "executorch/reader/testing/table_edits.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/executor/instruction_source.h"

namespace belay::pte {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr absl::StatusCode kLacking = absl::StatusCode::kUnimplemented;

constexpr absl::StatusCode kBroken = absl::StatusCode::kInvalidArgument;

// --- Sources of instructions ---

// With stack traces, as ExecuTorch's exporter writes them.
struct Traced : Relu {
  void Trace(std::vector<std::pair<std::string, int>> frames) {
    auto list = std::make_unique<FrameListT>();
    for (const auto& [file, line] : frames) {
      auto frame = std::make_unique<FrameT>();
      frame->filename = file;
      frame->lineno = line;
      frame->name = "forward";
      list->items.push_back(std::move(frame));
    }
    method().chains[0]->stacktrace.push_back(std::move(list));
  }
};

TEST(OpenProgramTest, ErrorsOfExecuteNameTheInnermostFrame) {
  Traced pte;
  pte.Trace({{"main.py", 3}, {"model.py", 12}});
  pte.JumpFalse(pte.Bool(false), 1);
  pte.Trace({{"loop.py", 7}});
  ASSERT_OK_AND_ASSIGN(const auto loaded, Load(pte));
  const TestTensor x = TestTensor::Zeros(DType::kFloat32, {2, 3});
  ASSERT_OK(loaded->method->SetInput(0, x.view()));
  EXPECT_THAT(loaded->method->Execute({.executed_instructions = 9}),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("at 'loop.py:7'")));
  EXPECT_EQ(InstructionSource(*loaded->program, loaded->program->methods()[0], 0),
            " at 'model.py:12'");
}

TEST(OpenProgramTest, ErrorsOfOpenNameTheInnermostFrame) {
  Traced pte;
  pte.Trace({{"model.py", 12}});
  pte.instruction(0).instr_args.AsKernelCall()->args[0] = 77;
  EXPECT_THAT(OpenPte(pte.Serialize()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(" at 'model.py:12'")));
}

TEST(OpenProgramTest, EmptyFramesAreValid) {
  for (const std::string& file : {std::string(), std::string("\xff"), std::string(4097, 'f')}) {
    Traced pte;
    pte.Trace({{file, 12}});
    pte.Trace({});  // without an instruction
    ASSERT_OK_AND_ASSIGN(const auto loaded, Load(pte));
    EXPECT_EQ(InstructionSource(*loaded->program, loaded->program->methods()[0], 0), "");
  }
  Traced none;
  none.Trace({});
  ASSERT_OK_AND_ASSIGN(const auto loaded, Load(none));
  EXPECT_EQ(InstructionSource(*loaded->program, loaded->program->methods()[0], 0), "");
}

TEST(OpenProgramTest, SourceFileNamesCountAsMetadata) {
  constexpr int kInstructions = 100;
  Traced pte;
  pte.Trace({{std::string(4000, 'f'), 12}});
  for (int i = 1; i < kInstructions; ++i) {
    pte.JumpFalse(pte.Bool(false), 2);
    pte.Trace({{"g", 1}});
  }
  std::string file = pte.Serialize();
  // All instructions share the frames of the first.
  ShareFirst(file,
             *GetProgram(file.data())->execution_plan()->Get(0)->chains()->Get(0)->stacktrace());
  belay::Program::Options options;
  options.limits.metadata_bytes = 150'000;
  EXPECT_THAT(OpenPte(file, options),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("the names of source files of 4003 bytes exceeds the limit "
                                 "'metadata_bytes'")));
}

// --- Execution ---

TEST(OpenProgramTest, SelfJumpReachesInstructionLimit) {
  PteBuilder pte;
  pte.JumpFalse(pte.Bool(false), 0);
  ASSERT_OK_AND_ASSIGN(const auto loaded, Load(pte));
  EXPECT_THAT(loaded->method->Execute({.executed_instructions = 1000}),
              StatusIs(absl::StatusCode::kResourceExhausted));
}

TEST(OpenProgramTest, MethodWithoutInstructionsReturnsConstants) {
  PteBuilder pte;
  pte.method().non_const_buffer_sizes = {0};
  pte.Output(pte.Constant({2}, {3, 4}));
  pte.Output(pte.Int(7));
  ASSERT_OK_AND_ASSIGN(const auto loaded, Load(pte));
  EXPECT_THAT(*loaded->Execute({}), ElementsAre(3, 4));
  EXPECT_EQ(*loaded->method->GetOutput(1).get_if<int64_t>(), 7);
}

TEST(OpenProgramTest, ScalarInputsMustEqualFileValue) {
  PteBuilder pte;
  const int32_t n = pte.Int(5);
  pte.Input(n);
  pte.Output(n);
  ASSERT_OK_AND_ASSIGN(const auto loaded, Load(pte));
  EXPECT_OK(loaded->method->SetInput(0, belay::EValue(int64_t{5})));
  EXPECT_THAT(loaded->method->SetInput(0, belay::EValue(int64_t{6})), StatusIs(kBroken));
}

TEST(OpenProgramTest, InputsAndOutputsWithoutPlannedMemory) {
  PteBuilder pte;
  const int32_t x = pte.Unplanned({2}), y = pte.Unplanned({2});
  pte.Input(x);
  pte.Call("aten::neg", "out", {x, y, y});
  pte.Output(y);
  ASSERT_OK_AND_ASSIGN(const auto loaded, Load(pte));
  const TestTensor input = TestTensor::Of<float>({2}, {1, -2});
  EXPECT_THAT(*loaded->Execute({belay::EValue(input.view())}), ElementsAre(-1, 2));
}

TEST(OpenProgramTest, PlannedInputIsReadThroughAlias) {
  PteBuilder pte;
  const int32_t x = pte.Tensor({2}), alias = pte.Tensor({2, 1}), y = pte.Tensor({2, 1});
  pte.tensor(alias).allocation_info->memory_offset_low = 0;
  pte.Input(x);
  pte.Call("aten::neg", "out", {alias, y, y});
  pte.Output(y);
  ASSERT_OK_AND_ASSIGN(const auto loaded, Load(pte));
  const TestTensor input = TestTensor::Of<float>({2}, {1, -2});
  EXPECT_THAT(*loaded->Execute({belay::EValue(input.view())}), ElementsAre(-1, 2));
}

TEST(OpenProgramTest, MutatedPlannedInputIsCopied) {
  PteBuilder pte;
  const int32_t x = pte.Tensor({2}), y = pte.Tensor({2});
  pte.Input(x);
  pte.Call("aten::neg", "out", {x, y, y});
  pte.Call("aten::copy_", "", {x, y, pte.Bool(false), x});
  pte.Output(x);
  ASSERT_OK_AND_ASSIGN(const auto loaded, Load(pte));
  const TestTensor input = TestTensor::Of<float>({2}, {1, -2});
  EXPECT_THAT(*loaded->Execute({belay::EValue(input.view())}), ElementsAre(-1, 2));
  EXPECT_THAT(ToVector<float>(input), ElementsAre(1, -2));
}

TEST(OpenProgramTest, BuffersPersist) {
  PteBuilder pte;
  const int32_t total = pte.Buffer({2}, {10, 20}), zeros = pte.Tensor({2});
  const int32_t x = pte.Tensor({2}), sum = pte.Tensor({2}), alpha = pte.Int(1);
  pte.tensor(total).extra_tensor_info = std::make_unique<ExtraTensorInfoT>();
  pte.tensor(total).extra_tensor_info->fully_qualified_name = "total";
  pte.Input(x);
  pte.Call("aten::add", "out", {total, x, alpha, sum, sum});
  pte.Call("aten::copy_", "", {total, sum, pte.Bool(false), total});
  pte.Call("aten::copy_", "", {zeros, x, pte.Bool(false), zeros});
  pte.Output(total);
  ASSERT_OK_AND_ASSIGN(const auto loaded, Load(pte));
  const TestTensor input = TestTensor::Of<float>({2}, {1, 2});
  EXPECT_THAT(*loaded->Execute({belay::EValue(input.view())}), ElementsAre(11, 22));
  EXPECT_THAT(*loaded->Execute({belay::EValue(input.view())}), ElementsAre(12, 24));
  EXPECT_OK(loaded->method->GetState("total"));
  EXPECT_EQ(loaded->method->plan().state.size(), 2u);
  loaded->method->ResetState();
  EXPECT_THAT(*loaded->Execute({belay::EValue(input.view())}), ElementsAre(11, 22));
}

TEST(OpenProgramTest, RejectsOverlappedInitialContent) {
  Relu relu;
  const int32_t buffer = relu.Buffer({2}, {1, 2});
  relu.tensor(buffer).allocation_info->memory_offset_low = 0;
  relu.Output(buffer);
  EXPECT_THAT(OpenPte(relu.Serialize()),
              StatusIs(kLacking, HasSubstr("shares its memory with others")));
}

TEST(OpenProgramTest, ComputedScalarsPersistFromInitialValue) {
  PteBuilder pte;
  const int32_t counter = pte.Int(5);
  pte.Call("executorch_prim::add", "Scalar", {counter, pte.Int(2), counter});
  pte.Output(counter);
  ASSERT_OK_AND_ASSIGN(const auto loaded, Load(pte));
  ASSERT_OK(loaded->method->Execute());
  EXPECT_EQ(*loaded->method->GetOutput(0).get_if<int64_t>(), 7);
  ASSERT_OK(loaded->method->Execute());
  EXPECT_EQ(*loaded->method->GetOutput(0).get_if<int64_t>(), 9);
}

TEST(OpenProgramTest, ViewsAliasTheirBase) {
  PteBuilder pte;
  const int32_t x = pte.Tensor({2, 3}), y = pte.Tensor({2, 3}), z = pte.Tensor({6});
  const int32_t view = pte.Unplanned({6}), size = pte.IntList({pte.Int(-1)});
  pte.Input(x);
  pte.Call("aten::neg", "out", {x, y, y});
  pte.Call("executorch_prim::et_view", "default", {y, size, view});
  pte.Call("aten::neg", "out", {view, z, z});
  pte.Output(z);
  ASSERT_OK_AND_ASSIGN(const auto loaded, Load(pte));
  const auto& values = loaded->method->plan().values;
  EXPECT_EQ(std::get<TensorPlan>(values[view]).offset, std::get<TensorPlan>(values[y]).offset);
  EXPECT_EQ(loaded->method->plan().instructions.size(), 2u);
  const TestTensor input = TestTensor::Of<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(*loaded->Execute({belay::EValue(input.view())}), ElementsAre(1, 2, 3, 4, 5, 6));
}

// Bounds of dynamic sizes are computed per tensor: here 5 * 6 elements, and 7 * 4 of the view.
TEST(OpenProgramTest, DynamicViewsMayHaveOtherBounds) {
  PteBuilder pte;
  const int32_t x = pte.Tensor({5, 6}), y = pte.Tensor({5, 6}), view = pte.Tensor({7, 4});
  const int32_t z = pte.Tensor({7, 4}), minus = pte.Int(-1), four = pte.Int(4);
  for (const int32_t value : {x, y, view, z}) {
    pte.tensor(value).shape_dynamism = TensorShapeDynamism::DYNAMIC_BOUND;
  }
  *pte.tensor(view).allocation_info = *pte.tensor(y).allocation_info;
  pte.Input(x);
  pte.Call("aten::neg", "out", {x, y, y});
  pte.Call("executorch_prim::et_view", "default", {y, pte.IntList({minus, four}), view});
  pte.Call("aten::neg", "out", {view, z, z});
  pte.Output(z);
  ASSERT_OK_AND_ASSIGN(const auto loaded, Load(pte));
  const auto& values = loaded->method->plan().values;
  EXPECT_EQ(std::get<TensorPlan>(values[view]).offset, std::get<TensorPlan>(values[y]).offset);
  const TestTensor input = TestTensor::Of<float>({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_THAT(*loaded->Execute({belay::EValue(input.view())}), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
}

TEST(OpenProgramTest, ViewsOfInputsAndConstants) {
  PteBuilder pte;
  const int32_t x = pte.Tensor({2, 1}), c = pte.Constant({2, 1}, {10, 20}), y = pte.Tensor({2});
  const int32_t vx = pte.Unplanned({2}), vc = pte.Unplanned({2}), alpha = pte.Int(1);
  const int32_t size = pte.IntList({pte.Int(2)});
  pte.Input(x);
  pte.Call("executorch_prim::et_view", "default", {x, size, vx});
  pte.Call("executorch_prim::et_view", "default", {c, size, vc});
  pte.Call("aten::add", "out", {vx, vc, alpha, y, y});
  pte.Output(y);
  ASSERT_OK_AND_ASSIGN(const auto loaded, Load(pte));
  const TestTensor input = TestTensor::Of<float>({2, 1}, {1, 2});
  EXPECT_THAT(*loaded->Execute({belay::EValue(input.view())}), ElementsAre(11, 22));
}

TEST(OpenProgramTest, ChainsRunSequentiallyWithLocalJumps) {
  PteBuilder pte;
  const int32_t n = pte.Int(0), one = pte.Int(1), no = pte.Bool(false);
  pte.Output(n);
  pte.Call("executorch_prim::add", "Scalar", {n, one, n});
  pte.JumpFalse(no, 99);  // past the chain: its end
  pte.Call("executorch_prim::add", "Scalar", {n, one, n});
  auto second = std::make_unique<ChainT>();
  std::swap(pte.method().chains[0], second);
  pte.Call("executorch_prim::add", "Scalar", {n, one, n});
  std::swap(pte.method().chains[0], second);
  pte.method().chains.push_back(std::move(second));
  ASSERT_OK_AND_ASSIGN(const auto loaded, Load(pte));
  ASSERT_OK(loaded->method->Execute());
  EXPECT_EQ(*loaded->method->GetOutput(0).get_if<int64_t>(), 2);
}

TEST(OpenProgramTest, DynamicSizesUpToTheBound) {
  Relu relu;
  for (const int32_t value : {relu.x, relu.y}) {
    relu.tensor(value).shape_dynamism = TensorShapeDynamism::DYNAMIC_BOUND;
  }
  ASSERT_OK_AND_ASSIGN(const auto loaded, Load(relu));
  const TestTensor one = TestTensor::Of<float>({1, 3}, {-1, 2, -3});
  EXPECT_THAT(*loaded->Execute({belay::EValue(one.view())}), ElementsAre(0, 2, 0));
  const TestTensor none = TestTensor::Of<float>({0, 3}, {});
  EXPECT_THAT(*loaded->Execute({belay::EValue(none.view())}), ElementsAre());
  const TestTensor three = TestTensor::Of<float>({3, 1}, {1, 2, 3});
  EXPECT_THAT(loaded->method->SetInput(0, belay::EValue(three.view())),
              StatusIs(absl::StatusCode::kOutOfRange));
}

TEST(OpenProgramTest, SeveralPools) {
  Relu relu;
  relu.method().non_const_buffer_sizes = {0, 24, 24};
  relu.tensor(relu.y).allocation_info->memory_id = 2;
  relu.tensor(relu.y).allocation_info->memory_offset_low = 0;
  ASSERT_OK_AND_ASSIGN(const auto loaded, Load(relu));
  const TestTensor input = TestTensor::Of<float>({2, 3}, {-1, 2, -3, 4, -5, 6});
  EXPECT_THAT(*loaded->Execute({belay::EValue(input.view())}), ElementsAre(0, 2, 0, 4, 0, 6));
}

TEST(OpenProgramTest, TensorsOfADataFile) {
  PteBuilder pte;
  const int32_t w = pte.External({2}, "w");
  pte.Output(w);
  const std::string bytes = DataFileOf({{"v", {9}}, {"w", {5, 6}}});
  const auto file = std::make_shared<const std::string>(bytes);
  DataFiles data;
  ASSERT_OK(data.Add(
      file, absl::MakeConstSpan(reinterpret_cast<const std::byte*>(file->data()), file->size()),
      Limits()));
  ASSERT_OK_AND_ASSIGN(const belay::Program program, OpenPte(pte.Serialize(), {}, data));
  const auto& tensor = std::get<TensorPlan>(program.methods()[0].values[w]);
  ASSERT_EQ(tensor.constant.size(), 8u);
  EXPECT_EQ(reinterpret_cast<const float*>(tensor.constant.data())[1], 6);
  EXPECT_OK(program.FindNamedData("v"));
  pte.tensor(w).sizes = {1};
  EXPECT_THAT(OpenPte(pte.Serialize(), {}, data),
              StatusIs(kBroken, HasSubstr("external tensor 'w': expected float32[1]")));
}

TEST(OpenProgramTest, DelegatesReceiveBlobSpecsAndNamedData) {
  Relu relu;
  const int32_t z = relu.Tensor({2, 3});
  relu.Delegate("demo", "a blob", {relu.y, z});
  auto spec = std::make_unique<CompileSpecT>();
  spec->key = "level";
  spec->value = {'9'};
  relu.method().delegates[0]->compile_specs.push_back(std::move(spec));
  relu.AddNamedData("weights", "1234");
  ASSERT_OK_AND_ASSIGN(const belay::Program program, OpenPte(relu.Serialize()));
  const MethodPlan& method = program.methods()[0];
  ASSERT_EQ(method.delegates.size(), 1u);
  const DelegatePlan& delegate = method.delegates[0];
  EXPECT_EQ(delegate.backend_id, "demo");
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(delegate.blob.data()), delegate.blob.size()),
            "a blob");
  ASSERT_EQ(delegate.compile_specs.size(), 1u);
  EXPECT_EQ(delegate.compile_specs[0].key, "level");
  EXPECT_EQ(delegate.compile_specs[0].value, "9");
  const auto& call = std::get<DelegateCallPlan>(method.instructions[1]);
  EXPECT_THAT(method.arguments_of(call.operands), ElementsAre(relu.y));
  EXPECT_THAT(method.outputs_of(call.operands), ElementsAre(z));
  ASSERT_OK_AND_ASSIGN(const auto named, program.FindNamedData("weights"));
  EXPECT_EQ(named.size(), 4u);
}

// --- Reports ---

TEST(OpenProgramTest, SegmentsAreListedOnce) {
  PteBuilder pte;
  pte.Output(pte.Constant({2}, {1, 2}));
  pte.Output(pte.Buffer({2}, {3, 4}));
  pte.AddNamedData("k", "1234");
  // The list may be long at four bytes per entry; only the first entry counts.
  for (int i = 0; i < 100; ++i) {
    pte.program().mutable_data_segments.push_back(std::make_unique<SubsegmentOffsetsT>());
  }
  ASSERT_OK_AND_ASSIGN(const belay::Program program, OpenPte(pte.Serialize()));
  const absl::Span<const SegmentPlan> segments = program.segments();
  ASSERT_EQ(segments.size(), 3u);
  EXPECT_EQ(segments[0].kind, SegmentPlan::Kind::kConstants);
  EXPECT_EQ(segments[1].kind, SegmentPlan::Kind::kConstants);
  EXPECT_EQ(segments[2].kind, SegmentPlan::Kind::kNamedData);
  for (const SegmentPlan& segment : segments) {
    EXPECT_EQ(segment.bytes.data(), program.bytes().data() + segment.offset);
  }
  EXPECT_EQ(segments[2].bytes.size(), 4u);
}

TEST(OpenProgramTest, UnusedSegmentMayBeMissing) {
  Relu relu;
  relu.program().constant_segment->segment_index = 9;
  ASSERT_OK_AND_ASSIGN(const belay::Program program, OpenPte(relu.Serialize()));
  EXPECT_TRUE(program.segments().empty());
}

TEST(OpenProgramTest, BlobsInsideTablesHaveNoFileOffset) {
  Relu relu;
  const int32_t z = relu.Tensor({2, 3});
  relu.Delegate("demo", "unused", {relu.y, z});
  relu.Output(z);
  relu.program().backend_delegate_data.push_back(std::make_unique<BackendDelegateInlineDataT>());
  relu.program().backend_delegate_data[0]->data = {'b', 'l', 'o', 'b'};
  relu.method().delegates[0]->processed->location = DataLocation::INLINE;
  relu.method().delegates[0]->processed->index = 0;
  ASSERT_OK_AND_ASSIGN(const belay::Program program, OpenPte(relu.Serialize()));
  EXPECT_EQ(program.segments()[0].offset, 0u);
  EXPECT_EQ(program.segments()[0].bytes.size(), 4u);
}

}  // namespace
}  // namespace belay::pte
