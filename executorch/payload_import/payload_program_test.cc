#include "executorch/payload_import/payload_program.h"

#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "backends/xnnpack/testing/payload_builder.h"
#include "exir/ops/standard_ops.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/test_named_data.h"
#include "runtime/core/testing.h"

namespace belay::pte {
namespace {

namespace fb = xnnpack::fb;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using xnnpack::Datatype;
using xnnpack::NodeType;
using xnnpack::PayloadBuilder;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kUnimplemented = absl::StatusCode::kUnimplemented;

DelegateTensor Tensor(Sizes sizes, DType dtype = DType::kFloat32) {
  DelegateTensor tensor{.dtype = dtype, .sizes = sizes};
  for (int dim = 0; dim < sizes.size(); ++dim) {
    tensor.dim_order.push_back(static_cast<uint8_t>(dim));
  }
  return tensor;
}
DelegateTensor Dynamic(DelegateTensor tensor) {
  tensor.dynamic = true;
  return tensor;
}
DelegateTensor ChannelsLast(DelegateTensor tensor) {
  tensor.dim_order = {0, 2, 3, 1};
  return tensor;
}

class PayloadProgramTest : public ::testing::Test {
 protected:
  PayloadProgramTest() {
    auto ops = exir::CreateStandardOps();
    EXPECT_OK(ops.status());
    ops_ = *std::move(ops);
  }

  absl::StatusOr<exir::ExportedProgram> Import(const PayloadBuilder& payload,
                                               const std::vector<DelegateTensor>& arguments,
                                               const std::vector<DelegateTensor>& outputs,
                                               uint64_t memory_bytes = 1 << 20) {
    bytes_ = payload.Serialize();
    MemoryBudget memory("delegate_bytes", memory_bytes);
    return PayloadProgram({reinterpret_cast<const std::byte*>(bytes_.data()), bytes_.size()}, data_,
                          arguments, outputs, *ops_, memory);
  }
  // Names of the operators, without "aten." and the overload.
  std::vector<std::string> Ops(const PayloadBuilder& payload,
                               const std::vector<DelegateTensor>& arguments,
                               const std::vector<DelegateTensor>& outputs) {
    const auto program = Import(payload, arguments, outputs);
    EXPECT_OK(program.status());
    std::vector<std::string> names;
    if (!program.ok()) return names;
    for (const exir::NodeId id : program->top().nodes()) {
      const std::string name(program->top().node(id).target->name());
      const size_t first = name.find('.') + 1;
      names.push_back(name.substr(first, name.find('.', first) - first));
    }
    return names;
  }

  std::unique_ptr<exir::OpRegistry> ops_;
  TestNamedData data_;
  std::string bytes_;
};

// y = x * w^T, with x quantized by rows.
struct DynamicLinear : PayloadBuilder {
  uint32_t x = Input(0, {2, 4}), y = Output(1, {2, 3}), quantized = Tensor({2, 4}), filter = 0;
  fb::FullyConnectedT* node = nullptr;
  explicit DynamicLinear(std::vector<float> filter_words) {
    QuantizeRows(quantized, 1);
    filter = Constant({3, 4}, filter_words);
    Unary(NodeType::Convert, x, quantized);
    node = &Add<fb::FullyConnectedT>(NodeType::FullyConnected);
    node->input1_id = quantized;
    node->filter_id = filter;
    node->bias_id = xnnpack::kNoId;
    node->output_id = y;
  }
};

// A convolution of an NCHW argument between two transposes.
struct Image : PayloadBuilder {
  uint32_t x = Input(0, {1, 2, 5, 5}), y = Output(1, {1, 3, 2, 2});
  uint32_t nhwc = Tensor({1, 5, 5, 2}), result = Tensor({1, 2, 2, 3});
  uint32_t filter = Constant({3, 3, 3, 2}, std::vector<float>(54, 1));
  fb::ConvolutionT* node = nullptr;
  Image() {
    Transpose(x, nhwc, {0, 2, 3, 1});
    node = &Add<fb::ConvolutionT>(NodeType::Conv2d);
    node->kernel_height = node->kernel_width = 3;
    node->subsampling_height = node->subsampling_width = 2;
    node->dilation_height = node->dilation_width = 1;
    node->groups = 1;
    node->group_input_channels = 2;
    node->group_output_channels = 3;
    node->input1_id = nhwc;
    node->filter_id = filter;
    node->bias_id = xnnpack::kNoId;
    node->output_id = result;
    Transpose(result, y, {0, 3, 1, 2});
  }
  void Transpose(uint32_t from, uint32_t to, std::vector<uint32_t> perm) {
    auto& fields = Add<fb::TransposeT>(NodeType::StaticTranspose);
    fields.num_dims = 4;
    fields.perm = std::move(perm);
    fields.input_id = from;
    fields.output_id = to;
  }
};

struct Abs : PayloadBuilder {
  uint32_t x = Input(0, {2, 3}), y = Output(1, {2, 3});
  fb::UnaryT& node = Unary(NodeType::Abs, x, y);
};

TEST_F(PayloadProgramTest, EmitsAnOperatorPerNode) {
  EXPECT_THAT(Ops(Abs(), {Tensor({2, 3})}, {Tensor({2, 3})}), ElementsAre("abs"));
}

TEST_F(PayloadProgramTest, TransposesOfImagesNeedNoOperator) {
  EXPECT_THAT(Ops(Image(), {Tensor({1, 2, 5, 5})}, {Tensor({1, 3, 2, 2})}),
              ElementsAre("convolution"));
}

TEST_F(PayloadProgramTest, ChannelsLastArgumentsAreImages) {
  Image payload;
  payload.graph().nodes.erase(payload.graph().nodes.begin());
  payload.graph().nodes.pop_back();
  payload.tensor(payload.x).dims = {1, 5, 5, 2};
  payload.tensor(payload.y).dims = {1, 2, 2, 3};
  payload.node->input1_id = payload.x;
  payload.node->output_id = payload.y;
  EXPECT_THAT(
      Ops(payload, {ChannelsLast(Tensor({1, 2, 5, 5}))}, {ChannelsLast(Tensor({1, 3, 2, 2}))}),
      ElementsAre("convolution", "clone"));
}

TEST_F(PayloadProgramTest, PadsWhereSidesDiffer) {
  Image payload;
  payload.node->padding_bottom = payload.node->padding_right = 1;
  EXPECT_THAT(Ops(payload, {Tensor({1, 2, 5, 5})}, {Tensor({1, 3, 2, 2})}),
              ElementsAre("constant_pad_nd", "convolution"));
}

TEST_F(PayloadProgramTest, BoundsBecomeReluOrClamp) {
  Abs relu;
  relu.Bounds(0, std::numeric_limits<float>::infinity());
  EXPECT_THAT(Ops(relu, {Tensor({2, 3})}, {Tensor({2, 3})}), ElementsAre("abs", "relu"));
  Abs clamp;
  clamp.Bounds(-std::numeric_limits<float>::infinity(), 6);
  EXPECT_THAT(Ops(clamp, {Tensor({2, 3})}, {Tensor({2, 3})}), ElementsAre("abs", "clamp"));
}

TEST_F(PayloadProgramTest, RowsAreQuantizedAtRunTime) {
  DynamicLinear payload({0, 0, 0});
  payload.QuantizeChannels(payload.filter, Datatype::QCINT8, {1, 2, 3}, 0);
  EXPECT_THAT(Ops(payload, {Tensor({2, 4})}, {Tensor({2, 3})}),
              ElementsAre("choose_qparams_per_token_asymmetric", "quantize_per_token",
                          "dequantize_per_token", "dequantize_per_channel", "permute", "mm"));
}

// Six bytes 0x98, 0x10, …: the low half is first, and 8 represents 0.
TEST_F(PayloadProgramTest, UnpacksFourBitWeights) {
  float words[2];
  const uint8_t packed[8] = {0x98, 0x10, 0xf7, 0x88, 0x88, 0x08};
  std::memcpy(words, packed, sizeof(words));
  DynamicLinear payload({words[0], words[1]});
  payload.QuantizeGroups(payload.filter, {1, 2, 3, 4, 5, 6}, 2);
  ASSERT_OK_AND_ASSIGN(const exir::ExportedProgram program,
                       Import(payload, {Tensor({2, 4})}, {Tensor({2, 3})}));
  const exir::ConstantTensor& weights = program.state_dict.at("constant0");
  EXPECT_THAT(ToVector<int8_t>(weights.view()),
              ElementsAre(0, 1, -8, -7, -1, 7, 0, 0, 0, 0, 0, -8));
  EXPECT_EQ(program.state_dict.at("constant1").sizes(), Sizes({3, 2}));
}

TEST_F(PayloadProgramTest, DynamicDimensionsAreSymbols) {
  ASSERT_OK_AND_ASSIGN(const exir::ExportedProgram program,
                       Import(Abs(), {Dynamic(Tensor({2, 3}))}, {Dynamic(Tensor({2, 3}))}));
  EXPECT_EQ(program.ranges.size(), 2u);
  EXPECT_EQ(program.ranges.at("s0"), (exir::SymRange{0, 2}));
  EXPECT_EQ(program.ranges.at("s1"), (exir::SymRange{0, 3}));
}

// The exporter bounds each tensor by its own expression: a slice of a constant by the constant.
TEST_F(PayloadProgramTest, OperandsWithDifferentBoundsHaveOneSize) {
  PayloadBuilder payload;
  const uint32_t x = payload.Input(0, {3, 5}), y = payload.Input(1, {1, 24});
  payload.Binary(NodeType::Add, x, y, payload.Output(2, {3, 5}));
  ASSERT_OK_AND_ASSIGN(const exir::ExportedProgram program,
                       Import(payload, {Dynamic(Tensor({3, 5})), Dynamic(Tensor({1, 24}))},
                              {Dynamic(Tensor({3, 5}))}));
  const auto sizes = [&](size_t i) {
    return program.top().MetaOf(program.top().inputs()[i]).sizes[1].ToString();
  };
  EXPECT_EQ(sizes(0), sizes(1));
  ASSERT_TRUE(program.ranges.contains(sizes(0)));
  EXPECT_EQ(program.ranges.at(sizes(0)).max, 5);
  // Static tensors have their sizes in each call.
  EXPECT_EQ(Import(payload, {Tensor({3, 5}), Tensor({1, 24})}, {Tensor({3, 5})}).status().code(),
            kInvalid);
}

TEST_F(PayloadProgramTest, ReshapesMultiplyDynamicDimensions) {
  struct Case {
    Sizes from, to;
    std::string size;
  };
  for (const Case& c :
       {Case{{4, 32, 24}, {128, 24}, "s0*s1"}, {{8, 16}, {32, 4}, "FloorDiv(s0*s1, 4)"}}) {
    PayloadBuilder payload;
    const std::vector<uint32_t> from(c.from.begin(), c.from.end()), to(c.to.begin(), c.to.end());
    const uint32_t x = payload.Input(0, from);
    auto& node = payload.Add<fb::ReshapeT>(NodeType::StaticReshape);
    node.num_dims = 2;
    node.new_shape = {0, to[1]};
    node.input_id = x;
    node.output_id = payload.Output(1, to);
    ASSERT_OK_AND_ASSIGN(const exir::ExportedProgram program,
                         Import(payload, {Dynamic(Tensor(c.from))}, {Dynamic(Tensor(c.to))}));
    const exir::Argument& result = program.top().outputs()[0];
    EXPECT_EQ(program.top().MetaOf(*result.get_if<exir::ValueId>()).sizes[0].ToString(), c.size);
  }
}

TEST_F(PayloadProgramTest, OutputsAreValuesOfTheirOwn) {
  Abs payload;
  payload.graph().nodes[0]->node.type = NodeType::Copy;
  ASSERT_OK_AND_ASSIGN(const exir::ExportedProgram program,
                       Import(payload, {Tensor({2, 3})}, {Tensor({2, 3})}));
  EXPECT_TRUE(
      program.top().value(*program.top().outputs()[0].get_if<exir::ValueId>()).producer.valid());
}

TEST_F(PayloadProgramTest, ScalarArgumentsHaveRankOne) {
  PayloadBuilder payload;
  const uint32_t x = payload.Input(0, {1}), y = payload.Output(1, {1});
  payload.Unary(NodeType::Exp, x, y);
  EXPECT_OK(Import(payload, {Tensor({})}, {Tensor({})}).status());
}

// Partitions of programs with dynamic sizes receive sizes as scalars, which no value refers to.
TEST_F(PayloadProgramTest, ScalarArgumentsAreNoInputs) {
  struct AfterScalar : PayloadBuilder {
    uint32_t x = Input(1, {2, 3}), y = Output(2, {2, 3});
    fb::UnaryT& node = Unary(NodeType::Abs, x, y);
  };
  const DelegateTensor scalar = {.is_scalar = true};
  ASSERT_OK_AND_ASSIGN(
      const exir::ExportedProgram program,
      Import(AfterScalar(), {scalar, Dynamic(Tensor({2, 3}))}, {Dynamic(Tensor({2, 3}))}));
  EXPECT_EQ(program.top().inputs().size(), 1u);
  EXPECT_EQ(program.signature.inputs.size(), 1u);
  EXPECT_THAT(Import(Abs(), {scalar}, {Tensor({2, 3})}),
              StatusIs(kInvalid, HasSubstr("argument 0: expected a tensor, got a scalar")));
}

TEST_F(PayloadProgramTest, RejectsTensorsThatDiffer) {
  EXPECT_THAT(Import(Abs(), {Tensor({2, 3}, DType::kInt8)}, {Tensor({2, 3})}),
              StatusIs(kInvalid, HasSubstr("argument 0: expected elements of FP32, got int8")));
  EXPECT_THAT(Import(Abs(), {Tensor({2, 3})}, {Tensor({2, 3}, DType::kInt64)}),
              StatusIs(kInvalid, HasSubstr("output 0: expected elements of FP32")));
  EXPECT_THAT(Import(Abs(), {Tensor({2, 3, 1})}, {Tensor({2, 3})}),
              StatusIs(kInvalid, HasSubstr("argument 0: expected rank 2")));
  EXPECT_THAT(Import(Abs(), {Tensor({2, 3})}, {Tensor({2, 4})}),
              StatusIs(kInvalid, HasSubstr("output 0: expected sizes [2,4], got [2,3]")));
  DelegateTensor transposed = Tensor({2, 3});
  transposed.dim_order = {1, 0};
  EXPECT_THAT(Import(Abs(), {transposed}, {Tensor({2, 3})}),
              StatusIs(kUnimplemented, HasSubstr("argument 0: a dim order other than")));
}

TEST_F(PayloadProgramTest, RejectsUnsupportedNodesByName) {
  Image payload;
  payload.graph().nodes[1]->node.type = NodeType::ConvTranspose2d;
  payload.node->padding_top = 1;
  payload.tensor(payload.result).dims = {1, 10, 11, 3};
  payload.tensor(payload.y).dims = {1, 3, 10, 11};
  EXPECT_THAT(Import(payload, {Tensor({1, 2, 5, 5})}, {Tensor({1, 3, 10, 11})}),
              StatusIs(kUnimplemented, AllOf(HasSubstr("node 1 (ConvTranspose2d)"),
                                             HasSubstr("differs between opposite sides"))));
  Image computed;
  computed.node->filter_id = computed.Input(1, {3, 3, 3, 2});
  computed.tensor(computed.y).external_id = 2;
  computed.graph().num_externs = 3;
  EXPECT_THAT(
      Import(computed, {Tensor({1, 2, 5, 5}), Tensor({3, 3, 3, 2})}, {Tensor({1, 3, 2, 2})}),
      StatusIs(kUnimplemented,
               AllOf(HasSubstr("node 1 (Conv2d)"), HasSubstr("a filter that is not constant"))));
}

TEST_F(PayloadProgramTest, RejectsOtherDatatypes) {
  Abs payload;
  payload.tensor(payload.x).datatype = Datatype::PFP32;
  EXPECT_THAT(Import(payload, {Tensor({2, 3})}, {Tensor({2, 3})}),
              StatusIs(kUnimplemented, HasSubstr("value 0: datatype PFP32 is not supported")));
}

// A permuted filter is the last thing that is charged.
TEST_F(PayloadProgramTest, CopiesOfConstantsAreLimited) {
  absl::Status last;
  uint64_t bytes = 0;
  for (absl::Status status = absl::UnknownError(""); !status.ok(); bytes += 100) {
    last = status;
    status = Import(Image(), {Tensor({1, 2, 5, 5})}, {Tensor({1, 3, 2, 2})}, bytes).status();
    ASSERT_LT(bytes, 100000u);
  }
  EXPECT_THAT(last, StatusIs(absl::StatusCode::kResourceExhausted,
                             AllOf(HasSubstr("copies of constants"), HasSubstr("delegate_bytes"))));
}

}  // namespace
}  // namespace belay::pte
