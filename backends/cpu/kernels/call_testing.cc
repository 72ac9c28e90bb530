#include "backends/cpu/kernels/call_testing.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <limits>
#include <list>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "backends/cpu/kernels/cpu_kernels.h"
#include "gtest/gtest.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernel/test_outputs.h"

namespace belay::cpu {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr DType kF32 = DType::kFloat32, kI8 = DType::kInt8, kI32 = DType::kInt32,
                kU8 = DType::kUint8, kBF16 = DType::kBFloat16;

struct Memory {
  std::list<std::vector<std::byte>> tensors;
  std::list<EValue> values;
  std::list<std::vector<EValue*>> lists;
};
Memory& AllMemory() {
  static Memory& memory = *new Memory;
  return memory;
}

template <class Number>
EValue ListOf(const std::vector<Number>& numbers) {
  return List(std::vector<EValue>(numbers.begin(), numbers.end()));
}

const Kernel& KernelOf(std::string_view op) {
  const std::string name = absl::StrCat("belay_cpu.", op, ".default");
  for (const auto& table : CpuKernelTables()) {
    for (const Kernel& kernel : table) {
      if (kernel.op == name) return kernel;
    }
  }
  ADD_FAILURE() << "no kernel of " << op;
  std::abort();
}

std::vector<std::byte> BytesOf(const EValue& tensor) {
  const auto* view = tensor.get_if<TensorView>();
  if (view == nullptr) return {};
  const auto* bytes = view->as<const std::byte>();
  return std::vector<std::byte>(bytes, bytes + view->nbytes());
}

}  // namespace

EValue T(DType dtype, const Sizes& sizes, Layout layout) {
  TensorView view = TensorView::Contiguous(dtype, sizes, nullptr);
  if (layout == Layout::kChannelsLast) view.strides = DenseStrides(sizes, ChannelsLastOrder(4));
  view.data = AllMemory().tensors.emplace_back(2 * view.nbytes() + 64).data();
  return layout == Layout::kGaps ? WithGaps(view) : EValue(view);
}
EValue Images(DType dtype, const Sizes& sizes) { return T(dtype, sizes, Layout::kChannelsLast); }
EValue WithGaps(const EValue& tensor) {
  const TensorView& view = *tensor.get_if<TensorView>();
  EValue result = T(view.dtype, view.sizes);
  Strides& strides = result.get_if<TensorView>()->strides;
  strides = view.strides;
  for (int64_t& stride : strides) stride *= 2;
  return result;
}
EValue List(const std::vector<EValue>& elements) {
  std::vector<EValue*>& list = AllMemory().lists.emplace_back();
  for (const EValue& element : elements) list.push_back(&AllMemory().values.emplace_back(element));
  return EValue(ListView{list});
}
EValue Ints(const std::vector<int64_t>& numbers) { return ListOf(numbers); }
EValue Doubles(const std::vector<double>& numbers) { return ListOf(numbers); }

TestCall::TestCall(std::string_view op, std::vector<EValue> arguments, EValue result)
    : kernel_(&KernelOf(op)),
      result_(result),
      arguments_(std::move(arguments)),
      names_(absl::StrSplit(std::string(kernel_->signature), ' ')) {
  EXPECT_EQ(names_.size(), arguments_.size()) << op;
}

bool TestCall::Has(std::string_view name) const {
  return std::find(names_.begin(), names_.end(), name) != names_.end();
}

size_t TestCall::At(std::string_view name) const {
  EXPECT_TRUE(Has(name)) << name;
  return static_cast<size_t>(std::find(names_.begin(), names_.end(), name) - names_.begin());
}

TestCall TestCall::With(std::string_view name, EValue value) const {
  TestCall call = *this;
  call.arguments_[At(name)] = value;
  return call;
}
TestCall TestCall::WithResult(EValue result) const {
  TestCall call = *this;
  call.result_ = result;
  return call;
}

std::string TestCall::Run(bool scratch) const {
  std::vector<EValue> values = arguments_;
  std::vector<EValue*> slots;
  for (EValue& value : values) slots.push_back(&value);
  EValue result = result_;
  EValue* results[] = {&result};
  FixedOutputs outputs;
  const KernelContext plan(slots, results, &outputs, {});
  std::vector<double> memory(
      scratch && kernel_->Accepts(plan) ? kernel_->ScratchBytes(plan) / sizeof(double) + 1 : 0);
  KernelContext context(
      slots, results, &outputs,
      {reinterpret_cast<std::byte*>(memory.data()), memory.size() * sizeof(double)});
  const std::vector<std::byte> before = BytesOf(result);
  const absl::Status status = kernel_->Run(context);
  if (status.ok()) return "";
  EXPECT_TRUE(BytesOf(result) == before) << "written: " << status;
  EXPECT_EQ(status.code(),
            scratch ? absl::StatusCode::kInvalidArgument : absl::StatusCode::kInternal);
  return std::string(status.message());
}

bool TestCall::IsTaken() const {
  std::vector<EValue> values = arguments_;
  std::vector<EValue*> slots;
  for (EValue& value : values) slots.push_back(&value);
  EValue result = result_;
  EValue* results[] = {&result};
  return kernel_->Accepts(KernelContext(slots, results, nullptr, {}));
}

namespace {

// Trailing arguments of calls with an epilogue, and of calls of quantized operators.
std::vector<EValue> With(std::vector<EValue> arguments, const std::vector<EValue>& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}
std::vector<EValue> Epilogue() { return {Text("none"), Text("add"), EValue(-kInf), EValue(kInf)}; }
std::vector<EValue> QuantizedEpilogue() {
  return {Int(3),      Text("none"),      EValue(-kInf), EValue(kInf),
          EValue(0.5), Ints({3, 0, 255}), EValue(0.5),   Ints({3, 0, 255})};
}
std::vector<EValue> Window() { return {Ints({3, 3}), Ints({2, 1}), Ints({1, 1}), Ints({1, 1})}; }

}  // namespace

TestCall LinearCall() {
  return TestCall(
      "linear",
      With({T(kF32, {2, 3}), T(kF32, {96}), T(kF32, {8}), T(kF32, {2, 8}), Int(8)}, Epilogue()),
      T(kF32, {2, 8}));
}
TestCall WeightOnlyLinearCall() {
  return TestCall("weight_only_linear",
                  With({T(kF32, {2, 12}), T(kI8, {512}), T(kF32, {64}), T(kF32, {64}), T(kF32, {8}),
                        T(kF32, {2, 8}), Int(8), Text("int8"), Int(8)},
                       Epilogue()),
                  T(kF32, {2, 8}));
}
TestCall DynamicLinearCall() {
  return TestCall("dynamic_quantized_linear",
                  With({T(kI8, {2, 12}), T(kF32, {2, 1}), T(DType::kInt64, {2, 1}), T(kI32, {64}),
                        T(kF32, {64}), T(kI32, {64}), T(kF32, {8}), T(kF32, {2, 8}), Int(8),
                        Text("int4"), Int(8)},
                       Epilogue()),
                  T(kF32, {2, 8}));
}
TestCall Conv2dCall() {
  return TestCall("conv2d",
                  With(With({Images(kF32, {1, 3, 5, 4}), T(kF32, {27 * 32}), T(kF32, {8}),
                             Images(kF32, {1, 8, 3, 4}), Int(8)},
                            Window()),
                       Epilogue()),
                  Images(kF32, {1, 8, 3, 4}));
}
TestCall BFloat16LinearCall() {
  return TestCall(
      "bfloat16_linear",
      With({T(kBF16, {2, 4}), T(kBF16, {128}), T(kF32, {8}), T(kBF16, {2, 8}), Int(8)}, Epilogue()),
      T(kBF16, {2, 8}));
}
TestCall BFloat16Conv2dCall() {
  return TestCall("bfloat16_conv2d",
                  With(With({Images(kBF16, {1, 10, 5, 4}), T(kBF16, {90 * 32}), T(kF32, {8}),
                             Images(kBF16, {1, 8, 3, 4}), Int(8)},
                            Window()),
                       Epilogue()),
                  Images(kBF16, {1, 8, 3, 4}));
}
TestCall DepthwiseConv2dCall() {
  return TestCall("depthwise_conv2d",
                  With(With({Images(kF32, {1, 8, 5, 4}), T(kF32, {9 * 16}), T(kF32, {8}),
                             Images(kF32, {1, 8, 3, 4})},
                            Window()),
                       Epilogue()),
                  Images(kF32, {1, 8, 3, 4}));
}
TestCall Conv2dChainCall() {
  return TestCall(
      "conv2d_chain",
      {Images(kF32, {1, 16, 9, 8}), List({T(kF32, {144}), T(kF32, {512})}),
       List({T(kF32, {16}), EValue()}), Images(kF32, {1, 20, 5, 4}), Ints({0, 20}),
       Ints({3, 3, 1, 1}), Ints({2, 2, 1, 1}), Ints({1, 1, 1, 1, 0, 0, 0, 0}), Ints({1, 1, 1, 1}),
       Text("silu none"), Text("add"), Doubles({-kInf, 0}), Doubles({kInf, 6})},
      Images(kF32, {1, 20, 5, 4}));
}
TestCall ConvolutionCall() {
  return TestCall("convolution",
                  With({Images(kF32, {1, 6, 3, 4}), T(kF32, {12 * 3 * 16}), T(kF32, {8}),
                        Images(kF32, {1, 8, 6, 4}), Int(8), Int(2), EValue(true), Ints({4, 3}),
                        Ints({2, 1}), Ints({1, 1}), Ints({0, 0}), Ints({1, 1})},
                       Epilogue()),
                  Images(kF32, {1, 8, 6, 4}));
}
TestCall WinogradConv2dCall() {
  return TestCall("winograd_conv2d",
                  With({Images(kF32, {1, 3, 5, 4}), T(kF32, {36 * 3 * 32}), T(kF32, {8}),
                        Images(kF32, {1, 8, 5, 4}), Int(8), Ints({3, 3}), Ints({1, 1}),
                        Ints({1, 1}), Ints({1, 1})},
                       Epilogue()),
                  Images(kF32, {1, 8, 5, 4}));
}
TestCall MaxPool2dCall() {
  return TestCall("max_pool2d", With({Images(kU8, {1, 8, 5, 4})}, Window()),
                  Images(kU8, {1, 8, 3, 4}));
}
TestCall AttentionCall() {
  return TestCall("attention",
                  {T(kF32, {2, 4, 3, 8}), T(kF32, {2, 2, 5, 8}), T(kF32, {2, 2, 5, 6}),
                   T(kF32, {3, 5}), EValue(0.5), EValue(false), EValue(false)},
                  T(kF32, {2, 4, 3, 6}));
}
TestCall RmsNormCall() {
  return TestCall("rms_norm", {T(kF32, {2, 3, 8}), T(kF32, {8}), EValue(1e-5)}, T(kF32, {2, 3, 8}));
}
TestCall RotaryEmbeddingCall() {
  return TestCall("rotary_embedding",
                  {T(kF32, {2, 4, 3, 8}), T(kF32, {1, 3, 4}), T(kF32, {1, 3, 4})},
                  T(kF32, {2, 4, 3, 8}));
}
TestCall QuantizedLinearCall() {
  return TestCall(
      "quantized_linear",
      With({T(kU8, {2, 5}), T(kI8, {128}), T(kF32, {8}), T(kI32, {8}), T(kF32, {8}), Int(8)},
           QuantizedEpilogue()),
      T(kU8, {2, 8}));
}
TestCall QuantizedConv2dCall() {
  return TestCall("quantized_conv2d",
                  With(With({Images(kU8, {1, 9, 5, 4}), T(kI8, {1728}), T(kF32, {8}), T(kI32, {8}),
                             T(kF32, {8}), Int(8)},
                            Window()),
                       QuantizedEpilogue()),
                  Images(kU8, {1, 8, 3, 4}));
}
TestCall QuantizedDepthwiseConv2dCall() {
  return TestCall("quantized_depthwise_conv2d",
                  With(With({Images(kU8, {1, 8, 5, 4}), T(kI8, {768}), T(kF32, {8}), T(kI32, {8}),
                             T(kF32, {8})},
                            Window()),
                       QuantizedEpilogue()),
                  Images(kU8, {1, 8, 3, 4}));
}
TestCall QuantizedAddCall() {
  return TestCall("quantized_add",
                  {Images(kU8, {1, 8, 3, 4}), Images(kU8, {1, 8, 3, 4}), EValue(0.5), Int(3),
                   EValue(0.25), Int(4), EValue(0.5), Ints({3, 0, 255})},
                  Images(kU8, {1, 8, 3, 4}));
}
TestCall LookupCall() {
  return TestCall("lookup", {T(kU8, {2, 5}), T(kU8, {256})}, T(kU8, {2, 5}));
}

TestCall PackedEmbeddingCall() {
  return TestCall("packed_embedding",
                  {T(kI8, {512}), T(kF32, {64}), T(kF32, {64}), T(DType::kInt64, {2, 3}), Int(2),
                   Int(16), Text("int8"), Int(8)},
                  T(kF32, {2, 3, 16}));
}

TestCall PointwiseCall() {
  return TestCall("pointwise",
                  {List({T(kF32, {2, 3, 8}), T(kF32, {8}), T(DType::kBool, {3, 1})}),
                   Text("mul clamp where"), Ints({0, 1, 5, 3, 4, 2, 6, 0}), Doubles({-1.0, 1.0})},
                  T(kF32, {2, 3, 8}));
}

// One call per operator.
std::vector<TestCall> AllCalls() {
  return {LinearCall(),          WeightOnlyLinearCall(),
          DynamicLinearCall(),   Conv2dCall(),
          BFloat16LinearCall(),  BFloat16Conv2dCall(),
          DepthwiseConv2dCall(), Conv2dChainCall(),
          WinogradConv2dCall(),  MaxPool2dCall(),
          AttentionCall(),       RmsNormCall(),
          RotaryEmbeddingCall(), QuantizedLinearCall(),
          QuantizedConv2dCall(), QuantizedDepthwiseConv2dCall(),
          QuantizedAddCall(),    LookupCall(),
          PointwiseCall(),       ConvolutionCall(),
          PackedEmbeddingCall()};
}

}  // namespace belay::cpu
