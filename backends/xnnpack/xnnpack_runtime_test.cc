#include "backends/xnnpack/xnnpack_runtime.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "backends/xnnpack/library_threads.h"
#include "backends/xnnpack/testing/payload_builder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/arena.h"
#include "runtime/core/memory_budget.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/testing.h"
#include "runtime/core/thread_pool.h"

namespace belay::xnnpack {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsNan;

class NoData final : public NamedDataMap {
 public:
  absl::StatusOr<absl::Span<const std::byte>> Find(std::string_view) const override {
    return absl::NotFoundError("none");
  }
};

// Gives outputs memory up to a bound.
class Allocator final : public OutputAllocator {
 public:
  absl::Status Resize(TensorView& tensor, absl::Span<const int64_t> sizes) override {
    memory_.resize(static_cast<size_t>(*NumElements(sizes)));
    tensor = TensorView::Contiguous(tensor.dtype, sizes, memory_.data());
    return absl::OkStatus();
  }
  std::vector<float> memory_;
};

TensorView Float(std::vector<int64_t> sizes, void* data = nullptr) {
  return TensorView::Contiguous(DType::kFloat32, sizes, data);
}

absl::StatusOr<std::unique_ptr<DelegateHandle>> Init(const PayloadBuilder& payload, EValue argument,
                                                     EValue output, uint64_t memory_bytes = 1 << 30,
                                                     ThreadPool* threads = nullptr) {
  // Alive as long as the handle; threads do this at once.
  static std::mutex mutex;
  static std::list<std::string> programs;
  const std::string& bytes = [&]() -> const std::string& {
    const std::lock_guard<std::mutex> lock(mutex);
    return programs.emplace_back(payload.Serialize());
  }();
  const NoData data;
  const EValue *argument_pointer = &argument, *output_pointer = &output;
  MemoryBudget memory("delegate_bytes", memory_bytes);
  const DelegateInitContext context{.method = "forward",
                                    .compile_specs = {},
                                    .named_data = &data,
                                    .arguments = absl::MakeConstSpan(&argument_pointer, 1),
                                    .outputs = absl::MakeConstSpan(&output_pointer, 1),
                                    .memory = &memory,
                                    .threads = threads};
  return XnnpackRuntime().Init(context,
                               {reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()});
}

absl::StatusOr<std::vector<float>> Call(DelegateHandle& handle, EValue argument) {
  EValue output = Float({1});
  EValue *arguments[] = {&argument}, *outputs[] = {&output};
  Allocator allocator;
  // Somewhere else in each call, and with anything in it.
  ABSL_ASSIGN_OR_RETURN(AlignedBuffer scratch, AlignedBuffer::Create(handle.ScratchBytes()));
  std::fill(scratch.span().begin(), scratch.span().end(), std::byte{0xff});
  KernelContext context(arguments, outputs, &allocator, scratch.span());
  ABSL_RETURN_IF_ERROR(handle.Execute(context));
  return allocator.memory_;
}

// x + (1, 2, 3), of at most four rows.
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

TEST(XnnpackRuntimeTest, CallsMayHaveNoElements) {
  ASSERT_OK_AND_ASSIGN(const auto handle, Init(AddRow(), Float({4, 3}), Float({4, 3})));
  std::vector<float> x(12, 1);
  EXPECT_TRUE(Call(*handle, Float({0, 3}, x.data())).value().empty());
  EXPECT_THAT(Call(*handle, Float({1, 3}, x.data())).value(), ElementsAre(2, 3, 4));
  EXPECT_THAT(Call(*handle, Float({0, 2}, x.data())).status().code(),
              absl::StatusCode::kInvalidArgument);
}

TEST(XnnpackRuntimeTest, AnAverageOverNothingIsRefused) {
  PayloadBuilder payload;
  payload.Unary(NodeType::GlobalAvgPooling2d, payload.Input(0, {1, 9, 9, 2}),
                payload.Output(1, {1, 2}));
  ASSERT_OK_AND_ASSIGN(const auto handle, Init(payload, Float({1, 9, 9, 2}), Float({1, 2})));
  EXPECT_THAT(Call(*handle, Float({1, 0, 9, 2})),
              StatusIs(absl::StatusCode::kUnimplemented,
                       HasSubstr("output 0 of sizes [1,2] of an argument without elements")));
}

// Bounds of magnitudes are of a call, and an operand's are looked up before a NaN is ruled out.
TEST(XnnpackRuntimeTest, NanOfOneCallIsNotInTheNext) {
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

TEST(XnnpackRuntimeTest, RefusesOtherCalls) {
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

TEST(XnnpackRuntimeTest, TheCallMustFitThePayload) {
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

// As ExecuTorch writes some: NHWC in the payload, a row-major tensor in the call.
TEST(XnnpackRuntimeTest, TheSizesOfTheCallCount) {
  PayloadBuilder payload;
  payload.Unary(NodeType::Negate, payload.Input(0, {1, 2, 2, 3}), payload.Output(1, {1, 2, 2, 3}));
  ASSERT_OK_AND_ASSIGN(const auto handle, Init(payload, Float({1, 3, 2, 2}), Float({1, 3, 2, 2})));
  std::vector<float> x(12, 1);
  EXPECT_EQ(Call(*handle, Float({1, 3, 2, 2}, x.data())).value(), std::vector<float>(12, -1));
}

TEST(XnnpackRuntimeTest, ResultsBetweenNodesLieInWorkingMemory) {
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

TEST(XnnpackRuntimeTest, TakesWhatItHoldsFromTheBudget) {
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

// A convolution of 1×1 whose padding makes an image of 65535×65535, for which the library would have
// tables.
TEST(XnnpackRuntimeTest, TablesOfTheLibraryAreTakenFromTheBudget) {
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

TEST(XnnpackRuntimeTest, NamesWhatTheLibraryRefuses) {
  PayloadBuilder payload;
  auto& pool = payload.Add<fb::PoolT>(NodeType::MaxPooling2d);
  pool.pooling_height = pool.pooling_width = pool.stride_height = pool.stride_width = 1;
  pool.dilation_height = pool.dilation_width = 1;
  pool.input_id = payload.Input(0, {1, 2, 2, 1});
  pool.output_id = payload.Output(1, {1, 2, 2, 1});
  EXPECT_THAT(Init(payload, Float({1, 2, 2, 1}), Float({1, 2, 2, 1})),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("node 0 (MaxPooling2d): XNNPACK refuses to make the operator")));
}

TEST(XnnpackRuntimeTest, AveragesHaveAsManyChannelsAsTheStackHasRoomFor) {
  PayloadBuilder payload;
  payload.Unary(NodeType::GlobalAvgPooling2d, payload.Input(0, {1, 9, 9, 16385}),
                payload.Output(1, {1, 16385}));
  EXPECT_THAT(Init(payload, Float({1, 9, 9, 16385}), Float({1, 16385})),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("averages of 16385 channels")));
}

TEST(XnnpackRuntimeTest, ResizesImages) {
  PayloadBuilder payload;
  auto& resize = payload.Add<fb::ResizeT>(NodeType::StaticResizeBilinear2D);
  resize.new_height = 1;
  resize.new_width = 4;
  resize.input_id = payload.Input(0, {1, 1, 2, 1});
  resize.output_id = payload.Output(1, {1, 1, 4, 1});
  std::vector<float> x = {0, 4};
  ASSERT_OK_AND_ASSIGN(auto handle, Init(payload, Float({1, 1, 2, 1}), Float({1, 1, 4, 1})));
  EXPECT_THAT(Call(*handle, Float({1, 1, 2, 1}, x.data())).value(), ElementsAre(0, 1, 3, 4));
  resize.new_width = 3;
  resize.flags = 8;
  payload.tensor(1).dims = {1, 1, 3, 1};
  ASSERT_OK_AND_ASSIGN(handle, Init(payload, Float({1, 1, 2, 1}), Float({1, 1, 3, 1})));
  EXPECT_THAT(Call(*handle, Float({1, 1, 2, 1}, x.data())).value(), ElementsAre(0, 2, 4));
}

TEST(XnnpackRuntimeTest, SlopesAreThoseOfChannels) {
  PayloadBuilder payload;
  const uint32_t x = payload.Input(0, {2, 2}), y = payload.Output(1, {2, 2});
  payload.Binary(NodeType::PReLU, x, payload.Constant({1, 2}, {0.5, 2}), y);
  ASSERT_OK_AND_ASSIGN(const auto handle, Init(payload, Float({2, 2}), Float({2, 2})));
  std::vector<float> numbers = {-2, -2, 3, 3};
  EXPECT_THAT(Call(*handle, Float({2, 2}, numbers.data())).value(), ElementsAre(-1, -4, 3, 3));
}

TEST(XnnpackRuntimeTest, NodesOfInt8ComputeInTheirScales) {
  // Of scale 0.5 and zero point 1: (x + x) · 1, at most 3.
  PayloadBuilder payload;
  const uint32_t x = payload.Input(0, {4}), y = payload.Output(1, {4});
  std::vector<uint32_t> values;
  for (int i = 0; i < 4; ++i) {
    values.push_back(payload.Tensor({4}));
    payload.Quantize(values.back(), Datatype::QINT8, 0.5, 1);
  }
  payload.Unary(NodeType::Convert, x, values[0]);
  payload.Binary(NodeType::Add, values[0], values[0], values[1]);
  payload.Unary(NodeType::Clamp, values[1], values[2]);
  payload.Bounds(-2, 3);
  payload.Binary(NodeType::Subtract, values[2], values[0], values[3]);
  payload.Unary(NodeType::Convert, values[3], y);
  ASSERT_OK_AND_ASSIGN(const auto handle, Init(payload, Float({4}), Float({4})));
  std::vector<float> numbers = {-3, 0.5, 1, 10};
  EXPECT_THAT(Call(*handle, Float({4}, numbers.data())).value(), ElementsAre(1, 0.5, 1, -7));
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

// Each with enough work for more threads than one, in sizes that no tile divides.
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
    // One row: what is divided is the output's columns.
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

TEST(XnnpackRuntimeTest, TheLibraryWorksOnTheThreadsOfTheCall) {
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

TEST(XnnpackRuntimeTest, NetworksOfOnePoolComputeAtOnce) {
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
