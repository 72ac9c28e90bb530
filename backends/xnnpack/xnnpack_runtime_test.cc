#include "backends/xnnpack/xnnpack_runtime.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "backends/xnnpack/library_threads.h"
#include "backends/xnnpack/testing/loaded_payload.h"
#include "backends/xnnpack/testing/payload_builder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/arena.h"
#include "runtime/core/testing.h"
#include "runtime/core/thread_pool.h"

namespace belay::xnnpack {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsNan;

// x + (1, 2, 3), for at most four rows.
struct AddRow : PayloadBuilder {
  uint32_t x = Input(0, {4, 3}), y = Output(1, {4, 3});
  AddRow() { Binary(NodeType::Add, x, Constant({3}, {1, 2, 3}), y); }
};

TEST(XnnpackRuntimeTest, CallsMayHaveSmallerSizes) {
  ASSERT_OK_AND_ASSIGN(const auto handle, Init(AddRow(), Float({4, 3}), Float({4, 3})));
  std::vector<float> x(12, 1);
  EXPECT_THAT(Call(*handle, Float({1, 3}, x.data())).value(), ElementsAre(2, 3, 4));
  EXPECT_THAT(Call(*handle, Float({2, 3}, x.data())).value(), ElementsAre(2, 3, 4, 2, 3, 4));
  EXPECT_EQ(Call(*handle, Float({4, 3}, x.data())).value().size(), 12u);
}

TEST(XnnpackRuntimeTest, CallsMayBeEmpty) {
  ASSERT_OK_AND_ASSIGN(const auto handle, Init(AddRow(), Float({4, 3}), Float({4, 3})));
  std::vector<float> x(12, 1);
  EXPECT_TRUE(Call(*handle, Float({0, 3}, x.data())).value().empty());
  EXPECT_THAT(Call(*handle, Float({1, 3}, x.data())).value(), ElementsAre(2, 3, 4));
  EXPECT_THAT(Call(*handle, Float({0, 2}, x.data())).status().code(),
              absl::StatusCode::kInvalidArgument);
}

// x of at most three rows, then two rows that do not depend on it.
TEST(XnnpackRuntimeTest, ConcatenationsMayHaveEmptyOperands) {
  PayloadBuilder payload;
  const uint32_t x = payload.Input(0, {3, 2}), y = payload.Output(1, {5, 2});
  const uint32_t negated = payload.Tensor({3, 2}), rows = payload.Tensor({2, 2});
  payload.Unary(NodeType::Negate, x, negated);
  payload.Unary(NodeType::Negate, payload.Constant({2, 2}, {1, 2, 3, 4}), rows);
  auto& cat = payload.Add<fb::ConcatenateT>(NodeType::Concatenate2);
  cat.axis = 0;
  cat.input1_id = negated;
  cat.input2_id = rows;
  cat.output_id = y;
  ASSERT_OK_AND_ASSIGN(const auto handle, Init(payload, Float({3, 2}), Float({5, 2})));
  std::vector<float> numbers = {7, 8};
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(Call(*handle, Float({0, 2}, numbers.data())).value(), ElementsAre(-1, -2, -3, -4));
    EXPECT_THAT(Call(*handle, Float({1, 2}, numbers.data())).value(),
                ElementsAre(-7, -8, -1, -2, -3, -4));
  }
}

TEST(XnnpackRuntimeTest, RejectsAnAverageOverNoElements) {
  PayloadBuilder payload;
  payload.Unary(NodeType::GlobalAvgPooling2d, payload.Input(0, {1, 9, 9, 2}),
                payload.Output(1, {1, 2}));
  ASSERT_OK_AND_ASSIGN(const auto handle, Init(payload, Float({1, 9, 9, 2}), Float({1, 2})));
  EXPECT_THAT(
      Call(*handle, Float({1, 0, 9, 2})),
      StatusIs(absl::StatusCode::kUnimplemented,
               HasSubstr("argument 0 of the delegate of sizes [1,0,9,2] has no elements, the "
                         "result of sizes [1,2] has some")));
}

// Magnitude bounds are per call, and operands are checked before NaN is ruled out.
TEST(XnnpackRuntimeTest, NanDoesNotPersistBetweenCalls) {
  PayloadBuilder payload;
  const uint32_t square = payload.Tensor({4}), y = payload.Output(1, {4});
  const uint32_t x = payload.Input(0, {4});
  payload.Binary(NodeType::Multiply, x, x, square);
  payload.Binary(NodeType::Subtract, square, square, y);
  payload.Bounds(-1, 5);
  ASSERT_OK_AND_ASSIGN(const auto handle, Init(payload, Float({4}), Float({4})));
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> small = {1, 2, 3, 4}, large = {1, 2, 1e30f, 3}, nan = {1, 2, 3, kNan};
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(Call(*handle, Float({4}, small.data())).value(), ElementsAre(0, 0, 0, 0));
    EXPECT_THAT(Call(*handle, Float({4}, large.data())).value(), ElementsAre(0, 0, IsNan(), 0));
    EXPECT_THAT(Call(*handle, Float({4}, nan.data())).value(), ElementsAre(0, 0, 0, IsNan()));
  }
}

TEST(XnnpackRuntimeTest, RejectsMismatchedCalls) {
  ASSERT_OK_AND_ASSIGN(const auto handle, Init(AddRow(), Float({4, 3}), Float({4, 3})));
  std::vector<float> x(64, 1);
  EXPECT_THAT(Call(*handle, Float({5, 3}, x.data())),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("planned is at most [4,3]")));
  EXPECT_THAT(Call(*handle, Float({4, 2}, x.data())),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("node 0 (Add): sizes [4,2]")));
  EXPECT_THAT(
      Call(*handle, Float({12}, x.data())),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("expected float32 of rank 2")));
  EXPECT_THAT(
      Call(*handle, TensorView::Contiguous(DType::kInt32, {4, 3}, x.data())),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("expected float32 of rank 2")));
  EXPECT_THAT(Call(*handle, int64_t{3}).status().code(), absl::StatusCode::kInvalidArgument);
  // Afterwards it computes as before.
  EXPECT_EQ(Call(*handle, Float({4, 3}, x.data())).value().size(), 12u);
}

TEST(XnnpackRuntimeTest, ArgumentsMayHaveGaps) {
  ASSERT_OK_AND_ASSIGN(const auto handle, Init(AddRow(), Float({4, 3}), Float({4, 3})));
  std::vector<float> x = {1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0};
  TensorView strided = Float({2, 3}, x.data());
  strided.strides = Strides({6, 2});
  EXPECT_THAT(Call(*handle, strided).value(), ElementsAre(2, 4, 6, 5, 7, 9));
}

TEST(XnnpackRuntimeTest, RejectsCallsThatDoNotMatchThePayload) {
  const auto refused = [](EValue argument, EValue output, const char* message) {
    EXPECT_THAT(Init(AddRow(), argument, output),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(message)));
  };
  const EValue x = Float({4, 3});
  refused(Float({5, 3}), x, "value 0 is [4,3] of dtype float32 in the payload, the call has");
  refused(Float({3, 4}), x, "node 0 (Add): sizes [3,4] and [3] do not broadcast");
  refused(Float({12}), x, "in the payload");
  refused(Float({0, 3}), x, "in the payload");
  refused(x, Float({4}), "in the payload");
  refused(x, Float({4, 4}), "value 1 is [4,3] of dtype float32 in the payload");
  refused(TensorView::Contiguous(DType::kInt8, {4, 3}, nullptr), x, "in the payload");
  refused(int64_t{3}, x, "in the payload");
}

// A tensor of rank 0 may have one dimension of size 1 in the payload.
TEST(XnnpackRuntimeTest, ScalarsMayBeOneElement) {
  PayloadBuilder payload;
  payload.Unary(NodeType::Negate, payload.Input(0, {1}), payload.Output(1, {1}));
  ASSERT_OK_AND_ASSIGN(const auto handle, Init(payload, Float({}), Float({})));
  std::vector<float> x = {3};
  EXPECT_THAT(Call(*handle, Float({}, x.data())).value(), ElementsAre(-3));
  EXPECT_THAT(Call(*handle, Float({1}, x.data())),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("float32 of rank 0")));
  payload.tensor(0).dims = payload.tensor(1).dims = {2};
  EXPECT_THAT(Init(payload, Float({}), Float({2})),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("value 0 is [2]")));
  // A result that does not depend on the empty argument is computed.
  PayloadBuilder broadcast;
  broadcast.Unary(NodeType::Negate, broadcast.Input(0, {2}), broadcast.Tensor({2}));
  broadcast.Unary(NodeType::Negate, broadcast.Constant({1}, {5}), broadcast.Output(1, {1}));
  ASSERT_OK_AND_ASSIGN(const auto constant, Init(broadcast, Float({2}), Float({})));
  std::vector<float> two = {1, 2};
  EXPECT_THAT(Call(*constant, Float({2}, two.data())).value(), ElementsAre(-5));
  EXPECT_THAT(Call(*constant, Float({0}, two.data())).value(), ElementsAre(-5));
}

// Transposed in the call's memory: the payload has the sizes in memory order.
TEST(XnnpackRuntimeTest, TensorsMayBeInAnyDenseOrder) {
  TensorView columns = Float({3, 2});
  columns.strides = Strides({1, 3});
  PayloadBuilder payload;
  payload.Binary(NodeType::Add, payload.Input(0, {2, 3}), payload.Constant({3}, {10, 20, 30}),
                 payload.Output(1, {2, 3}));
  ASSERT_OK_AND_ASSIGN(const auto handle, Init(payload, columns, Float({2, 3})));
  std::vector<float> x = {1, 2, 3, 4, 5, 6};
  columns.data = x.data();
  EXPECT_THAT(Call(*handle, columns).value(), ElementsAre(11, 22, 33, 14, 25, 36));
  // The same sizes in another memory order.
  TensorView square = Float({2, 3});
  square.strides = Strides({1, 2});
  EXPECT_THAT(Init(payload, square, Float({2, 3})),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("do not broadcast")));
  TensorView overlapping = Float({3, 3});
  overlapping.strides = Strides({0, 1});
  EXPECT_THAT(Init(payload, overlapping, Float({2, 3})),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("value 0 is [2,3]")));
}

TEST(XnnpackRuntimeTest, OutputsMayHaveGaps) {
  TensorView strided = Float({2, 3});
  strided.strides = Strides({6, 2});
  AddRow payload;
  payload.tensor(payload.x).dims = payload.tensor(payload.y).dims = {2, 3};
  ASSERT_OK_AND_ASSIGN(const auto handle, Init(payload, Float({2, 3}), strided));
  // Resize() keeps the address.
  class Strided final : public OutputAllocator {
   public:
    absl::Status Resize(TensorView&, absl::Span<const int64_t>) override {
      return absl::OkStatus();
    }
  } allocator;
  std::vector<float> x = {1, 2, 3, 4, 5, 6}, y(12, -1);
  strided.data = y.data();
  EValue argument = Float({2, 3}, x.data()), output = strided;
  EValue *arguments[] = {&argument}, *outputs[] = {&output};
  ASSERT_OK_AND_ASSIGN(AlignedBuffer scratch, AlignedBuffer::Create(handle->ScratchBytes()));
  KernelContext context(arguments, outputs, &allocator, scratch.span());
  ASSERT_OK(handle->Execute(context));
  EXPECT_THAT(y, ElementsAre(2, -1, 4, -1, 6, -1, 5, -1, 7, -1, 9, -1));
}

TEST(XnnpackRuntimeTest, OutputsKeepTheirLayout) {
  ASSERT_OK_AND_ASSIGN(const auto handle, Init(AddRow(), Float({4, 3}), Float({4, 3})));
  class Other final : public OutputAllocator {
   public:
    absl::Status Resize(TensorView& tensor, absl::Span<const int64_t> sizes) override {
      if (fails) return absl::ResourceExhaustedError("none is left");
      tensor = TensorView::Contiguous(tensor.dtype, sizes, memory);
      tensor.strides = Strides({1, 4});
      return absl::OkStatus();
    }
    bool fails = false;
    float memory[12] = {};
  } allocator;
  std::vector<float> x(12, 1);
  EValue argument = Float({4, 3}, x.data()), output = Float({4, 3});
  EValue *arguments[] = {&argument}, *outputs[] = {&output};
  ASSERT_OK_AND_ASSIGN(AlignedBuffer scratch, AlignedBuffer::Create(handle->ScratchBytes()));
  KernelContext context(arguments, outputs, &allocator, scratch.span());
  EXPECT_THAT(handle->Execute(context),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("expected the order that it was loaded with")));
  EXPECT_THAT(allocator.memory, testing::Each(0));
  allocator.fails = true;
  EXPECT_THAT(handle->Execute(context),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("none is left")));
  // Also for an empty call.
  argument = Float({0, 3}, x.data());
  EXPECT_THAT(handle->Execute(context),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("none is left")));
  KernelContext other({}, outputs, &allocator, scratch.span());
  EXPECT_THAT(handle->Execute(other),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("expected 1 arguments")));
}

TEST(XnnpackRuntimeTest, ArgumentsMayBeMisaligned) {
  ASSERT_OK_AND_ASSIGN(const auto handle, Init(AddRow(), Float({4, 3}), Float({4, 3})));
  const std::vector<float> x = {1, 2, 3};
  std::vector<char> bytes(64);
  for (size_t at : {0, 1, 2, 3}) {
    std::copy_n(reinterpret_cast<const char*>(x.data()), 12, bytes.data() + at);
    EXPECT_THAT(Call(*handle, Float({1, 3}, bytes.data() + at)).value(), ElementsAre(2, 4, 6));
  }
}

TEST(XnnpackRuntimeTest, RejectsResultsLargerThanPlanned) {
  PayloadBuilder payload;
  payload.Binary(NodeType::Add, payload.Input(0, {4, 1}), payload.Constant({4, 1}, {1, 2, 3, 4}),
                 payload.Output(1, {4, 1}));
  ASSERT_OK_AND_ASSIGN(const auto handle, Init(payload, Float({4, 1}), Float({4, 1})));
  std::vector<float> x(4, 1);
  EXPECT_THAT(Call(*handle, Float({1, 4}, x.data())),
              StatusIs(absl::StatusCode::kOutOfRange,
                       HasSubstr("value 2 would be [4,4], planned is at most [4,1]")));
  EXPECT_THAT(Call(*handle, Float({4, 1}, x.data())).value(), ElementsAre(2, 3, 4, 5));
}

TEST(XnnpackRuntimeTest, OperatorsKeepTheirChannels) {
  PayloadBuilder payload;
  payload.Unary(NodeType::GlobalAvgPooling2d, payload.Input(0, {1, 2, 2, 2}),
                payload.Output(1, {1, 2}));
  ASSERT_OK_AND_ASSIGN(const auto handle, Init(payload, Float({1, 2, 2, 2}), Float({1, 2})));
  std::vector<float> x = {1, 2, 3, 4, 5, 6, 7, 8};
  EXPECT_THAT(Call(*handle, Float({1, 2, 2, 1}, x.data())),
              StatusIs(absl::StatusCode::kUnimplemented,
                       HasSubstr("1 channels; the operator was made for 2")));
  EXPECT_THAT(Call(*handle, Float({1, 1, 2, 2}, x.data())).value(), ElementsAre(2, 3));
}

// A form that ExecuTorch writes: NHWC in the payload, a row-major tensor in the call.
TEST(XnnpackRuntimeTest, CallSizesTakePrecedence) {
  PayloadBuilder payload;
  payload.Unary(NodeType::Negate, payload.Input(0, {1, 2, 2, 3}), payload.Output(1, {1, 2, 2, 3}));
  ASSERT_OK_AND_ASSIGN(const auto handle, Init(payload, Float({1, 3, 2, 2}), Float({1, 3, 2, 2})));
  std::vector<float> x(12, 1);
  EXPECT_EQ(Call(*handle, Float({1, 3, 2, 2}, x.data())).value(), std::vector<float>(12, -1));
}

TEST(XnnpackRuntimeTest, IntermediateResultsAreInWorkingMemory) {
  PayloadBuilder payload;
  uint32_t from = payload.Input(0, {4, 3});
  for (int i = 0; i < 5; ++i) {
    const uint32_t to = i == 4 ? payload.Output(1, {4, 3}) : payload.Tensor({4, 3});
    payload.Unary(NodeType::Negate, from, to);
    from = to;
  }
  ASSERT_OK_AND_ASSIGN(const auto handle, Init(payload, Float({4, 3}), Float({4, 3})));
  // A node's operand, which may be a copy of the argument, and its result.
  EXPECT_EQ(handle->ScratchBytes(), 2 * kArenaAlignment);
  std::vector<float> x(12, 1);
  EXPECT_EQ(Call(*handle, Float({4, 3}, x.data())).value(), std::vector<float>(12, -1));
}

TEST(XnnpackRuntimeTest, ChargesHeldMemoryToTheBudget) {
  AddRow payload;
  uint64_t least = 1;
  while (!Init(payload, Float({4, 3}), Float({4, 3}), least).ok()) {
    EXPECT_EQ(Init(payload, Float({4, 3}), Float({4, 3}), least).status().code(),
              absl::StatusCode::kResourceExhausted);
    least *= 2;
  }
  EXPECT_GT(least, 1024u);
  EXPECT_LT(least, 65536u);
}

// A 1×1 convolution whose padding yields an image of 65535×65535, for which the library would
// allocate tables.
TEST(XnnpackRuntimeTest, ChargesLibraryTablesToTheBudget) {
  PayloadBuilder payload;
  const uint32_t x = payload.Input(0, {1, 1, 1, 1});
  const uint32_t image = payload.Tensor({1, 65535, 65535, 1}), y = payload.Output(1, {1, 1, 1, 1});
  auto& conv = payload.Add<fb::ConvolutionT>(NodeType::Conv2d);
  conv.padding_top = conv.padding_bottom = conv.padding_left = conv.padding_right = 32767;
  conv.kernel_height = conv.kernel_width = 1;
  conv.subsampling_height = conv.subsampling_width = 1;
  conv.dilation_height = conv.dilation_width = 1;
  conv.groups = conv.group_input_channels = conv.group_output_channels = 1;
  conv.input1_id = x;
  conv.filter_id = payload.Constant({1, 1, 1, 1}, {1});
  conv.bias_id = kNoId;
  conv.output_id = image;
  payload.Unary(NodeType::GlobalAvgPooling2d, image, y).flags = 64;
  EXPECT_THAT(Init(payload, Float({1, 1, 1, 1}), Float({1, 1, 1, 1})),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("delegate_bytes")));
}

TEST(XnnpackRuntimeTest, NamesNodesThatTheLibraryRejects) {
  PayloadBuilder payload;
  auto& pool = payload.Add<fb::PoolT>(NodeType::MaxPooling2d);
  pool.pooling_height = pool.pooling_width = pool.stride_height = pool.stride_width = 1;
  pool.dilation_height = pool.dilation_width = 1;
  pool.input_id = payload.Input(0, {1, 2, 2, 1});
  pool.output_id = payload.Output(1, {1, 2, 2, 1});
  EXPECT_THAT(Init(payload, Float({1, 2, 2, 1}), Float({1, 2, 2, 1})),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("node 0 (MaxPooling2d): XNNPACK refuses to create the operator")));
}

TEST(XnnpackRuntimeTest, LimitsChannelsOfAverages) {
  PayloadBuilder payload;
  payload.Unary(NodeType::GlobalAvgPooling2d, payload.Input(0, {1, 9, 9, 16385}),
                payload.Output(1, {1, 16385}));
  EXPECT_THAT(Init(payload, Float({1, 9, 9, 16385}), Float({1, 16385})),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("averages of 16385 channels")));
}

// --- Threads ---

struct Network {
  const char* name;
  PayloadBuilder payload;
  std::vector<int64_t> input, output;
};

std::vector<float> Numbers(size_t count) {
  std::vector<float> numbers(count);
  for (size_t i = 0; i < count; ++i) numbers[i] = static_cast<float>(i * 37 % 101) / 32 - 1.5f;
  return numbers;
}

fb::ConvolutionT& AddConvolution(PayloadBuilder& payload, NodeType type, uint32_t input,
                                 uint32_t filter, uint32_t output, uint32_t groups,
                                 uint32_t group_inputs, uint32_t group_outputs) {
  auto& conv = payload.Add<fb::ConvolutionT>(type);
  conv.kernel_height = payload.tensor(filter).dims[1];
  conv.kernel_width = payload.tensor(filter).dims[2];
  conv.padding_top = conv.padding_bottom = conv.kernel_height / 2;
  conv.padding_left = conv.padding_right = conv.kernel_width / 2;
  conv.subsampling_height = conv.subsampling_width = 1;
  conv.dilation_height = conv.dilation_width = 1;
  conv.groups = groups;
  conv.group_input_channels = group_inputs;
  conv.group_output_channels = group_outputs;
  conv.input1_id = input;
  conv.filter_id = filter;
  conv.bias_id = kNoId;
  conv.output_id = output;
  return conv;
}

// Each has enough work for several threads, in sizes that are not multiples of a tile.
std::vector<Network> Networks() {
  std::vector<Network> networks;
  {
    Network& n = networks.emplace_back("linear", PayloadBuilder(), std::vector<int64_t>{37, 29},
                                       std::vector<int64_t>{37, 67});
    auto& linear = n.payload.Add<fb::FullyConnectedT>(NodeType::FullyConnected);
    linear.input1_id = n.payload.Input(0, {37, 29});
    linear.filter_id = n.payload.Constant({67, 29}, Numbers(67 * 29));
    linear.bias_id = n.payload.Constant({67}, Numbers(67));
    linear.output_id = n.payload.Output(1, {37, 67});
  }
  {
    // One row: the output's columns are divided.
    Network& n = networks.emplace_back("row", PayloadBuilder(), std::vector<int64_t>{1, 29},
                                       std::vector<int64_t>{1, 667});
    auto& linear = n.payload.Add<fb::FullyConnectedT>(NodeType::FullyConnected);
    linear.input1_id = n.payload.Input(0, {1, 29});
    linear.filter_id = n.payload.Constant({667, 29}, Numbers(667 * 29));
    linear.bias_id = kNoId;
    linear.output_id = n.payload.Output(1, {1, 667});
  }
  {
    Network& n =
        networks.emplace_back("images", PayloadBuilder(), std::vector<int64_t>{2, 13, 17, 5},
                              std::vector<int64_t>{2, 13, 17, 11});
    PayloadBuilder& p = n.payload;
    const uint32_t x = p.Input(0, {2, 13, 17, 5}), y = p.Output(1, {2, 13, 17, 11});
    const uint32_t a = p.Tensor({2, 13, 17, 11}), b = p.Tensor({2, 13, 17, 11});
    const uint32_t c = p.Tensor({2, 13, 17, 11}), mean = p.Tensor({2, 1, 1, 11});
    AddConvolution(p, NodeType::Conv2d, x, p.Constant({11, 3, 3, 5}, Numbers(11 * 45)), a, 1, 5,
                   11);
    AddConvolution(p, NodeType::DepthwiseConv2d, a, p.Constant({1, 3, 3, 11}, Numbers(99)), b, 11,
                   1, 1);
    p.Unary(NodeType::Sigmoid, b, c);
    p.Unary(NodeType::GlobalAvgPooling2d, c, mean).flags = 64;
    p.Binary(NodeType::Multiply, c, mean, y);
  }
  {
    Network& n = networks.emplace_back("int8", PayloadBuilder(), std::vector<int64_t>{1, 13, 17, 5},
                                       std::vector<int64_t>{1, 13, 17, 11});
    PayloadBuilder& p = n.payload;
    const uint32_t x = p.Input(0, {1, 13, 17, 5}), y = p.Output(1, {1, 13, 17, 11});
    const uint32_t q = p.Tensor({1, 13, 17, 5}), a = p.Tensor({1, 13, 17, 11});
    const uint32_t b = p.Tensor({1, 13, 17, 11});
    for (const uint32_t value : {q, a, b}) p.Quantize(value, Datatype::QINT8, 0.5, 1);
    p.Unary(NodeType::Convert, x, q);
    const uint32_t filter = p.Constant({11, 3, 3, 5}, Numbers(11 * 45));
    p.Quantize(filter, Datatype::QINT8, 0.03125, 0);
    AddConvolution(p, NodeType::Conv2d, q, filter, a, 1, 5, 11);
    p.Binary(NodeType::Add, a, a, b);
    p.Unary(NodeType::Convert, b, y);
  }
  return networks;
}

TEST(XnnpackRuntimeTest, LibraryUsesTheThreadsOfTheCall) {
  for (const Network& network : Networks()) {
    std::vector<float> x = Numbers(static_cast<size_t>(*NumElements(network.input)) + 16);
    std::vector<float> alone;
    for (int threads : {1, 2, 3, 5}) {
      ThreadPool pool(threads);
      ASSERT_OK_AND_ASSIGN(const auto handle, Init(network.payload, Float(network.input),
                                                   Float(network.output), 1 << 30, &pool));
      const uint64_t before = LibraryCallsOfThisThread().divided;
      ASSERT_OK_AND_ASSIGN(const std::vector<float> got,
                           Call(*handle, Float(network.input, x.data())));
      if (threads == 1) {
        alone = got;
        EXPECT_EQ(LibraryCallsOfThisThread().divided, before) << network.name;
        continue;
      }
      EXPECT_GT(LibraryCallsOfThisThread().divided, before) << network.name;
      EXPECT_EQ(got, alone) << network.name << ", " << threads << " threads";
    }
  }
}

TEST(XnnpackRuntimeTest, OptionLimitsTheThreads) {
  const Network network = Networks()[2];
  std::vector<float> x = Numbers(static_cast<size_t>(*NumElements(network.input)) + 16);
  const EValue input = Float(network.input, x.data());
  ThreadPool pool(2);
  ASSERT_OK_AND_ASSIGN(const auto all, Init(network.payload, Float(network.input),
                                            Float(network.output), 1 << 30, &pool));
  ASSERT_OK_AND_ASSIGN(const std::vector<float> want, Call(*all, input));
  all->SetOption("threads", int64_t{1});
  EXPECT_EQ(Call(*all, input).value(), want);
  ASSERT_OK_AND_ASSIGN(const auto one,
                       Init(network.payload, Float(network.input), Float(network.output), 1 << 30,
                            &pool, {{"threads", int64_t{1}}}));
  const uint64_t before = LibraryCallsOfThisThread().divided;
  EXPECT_EQ(Call(*one, input).value(), want);
  EXPECT_EQ(LibraryCallsOfThisThread().divided, before);
}

TEST(XnnpackRuntimeTest, DelegatesShareAPoolConcurrently) {
  const std::vector<Network> networks = Networks();
  const Network& network = networks[2];
  std::vector<float> x = Numbers(static_cast<size_t>(*NumElements(network.input)) + 16);
  ThreadPool pool(3);
  ASSERT_OK_AND_ASSIGN(const auto first, Init(network.payload, Float(network.input),
                                              Float(network.output), 1 << 30, &pool));
  ASSERT_OK_AND_ASSIGN(const std::vector<float> want, Call(*first, Float(network.input, x.data())));
  std::vector<std::thread> callers;
  for (int i = 0; i < 3; ++i) {
    callers.emplace_back([&] {
      ASSERT_OK_AND_ASSIGN(const auto handle, Init(network.payload, Float(network.input),
                                                   Float(network.output), 1 << 30, &pool));
      for (int n = 0; n < 20; ++n) {
        EXPECT_EQ(Call(*handle, Float(network.input, x.data())).value(), want);
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
}

}  // namespace
}  // namespace belay::xnnpack
