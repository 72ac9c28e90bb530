// Calls that a program file may contain but the compiler does not emit. Every kernel rejects them
// with an error that names the argument, and writes nothing.
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/cpu/kernels/call_testing.h"
#include "backends/cpu/kernels/cpu_kernels.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace belay::cpu {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr DType kF32 = DType::kFloat32, kI8 = DType::kInt8, kI32 = DType::kInt32,
                kU8 = DType::kUint8, kBF16 = DType::kBFloat16;

// The unmodified calls succeed.
TEST(RefusedCalls, UnmodifiedCallsSucceed) {
  for (const TestCall& call : AllCalls()) {
    EXPECT_EQ(call.Run(), "") << call.op();
    EXPECT_TRUE(call.IsTaken()) << call.op();
  }
  size_t kernels = 0;
  for (const auto& table : CpuKernelTables()) kernels += table.size();
  EXPECT_EQ(AllCalls().size(), kernels);
}

// Type confusion is rejected: dtypes as arguments, complex tensors, wrong types as list elements.
TEST(RefusedCalls, ArgumentsOfOtherTypes) {
  for (const TestCall& call : AllCalls()) {
    for (const std::string& name : call.names()) {
      SCOPED_TRACE(absl::StrCat(call.op(), " ", name));
      std::vector<EValue> wrong = {EValue(kF32)};
      if (call[name].is_tensor()) {
        wrong.push_back(T(DType::kComplex64, call[name].get_if<TensorView>()->sizes));
        wrong.push_back(Int(1));
      }
      const auto* list = call[name].get_if<ListView>();
      if (list != nullptr) {
        std::vector<EValue> elements;
        for (const EValue* element : list->elements) elements.push_back(*element);
        elements.back() = Text("none");
        wrong.push_back(List(elements));
      }
      for (const EValue& value : wrong) {
        const TestCall changed = call.With(name, value);
        // Elements of tensor lists are named by their stage.
        EXPECT_THAT(changed.Run(),
                    AnyOf(HasSubstr(name), HasSubstr("of the list"), HasSubstr("stage")));
        EXPECT_FALSE(changed.IsTaken());
      }
    }
  }
}

TEST(RefusedCalls, MissingArguments) {
  for (const TestCall& call : AllCalls()) {
    for (const std::string& name : call.names()) {
      SCOPED_TRACE(absl::StrCat(call.op(), " ", name));
      const std::string error = call.With(name, EValue()).Run();
      if (name == "bias" || name == "other" || name == "mask" || name == "zeros" ||
          (name == "weight" && call.names().back() == "eps") || name == "inner_scale") {
        EXPECT_EQ(error, "");
      } else if (name == "output_scale" && call.names()[0] == "input") {
        EXPECT_THAT(error, AnyOf(HasSubstr("output 0: expected float32, got uint8"),
                                 HasSubstr("output_scale")));
      } else {
        EXPECT_THAT(error, HasSubstr(name));
      }
    }
  }
}

TEST(RefusedCalls, ResultsOfOtherTypesOrSizes) {
  for (const TestCall& call : AllCalls()) {
    SCOPED_TRACE(call.op());
    EXPECT_THAT(call.WithResult(Int(1)).Run(), HasSubstr("output 0: expected tensor"));
    const TensorView& view = *call.result().get_if<TensorView>();
    EXPECT_THAT(call.WithResult(T(DType::kFloat64, view.sizes)).Run(), HasSubstr("output 0"));
    Sizes sizes = view.sizes;
    sizes[0] += 1;
    EXPECT_THAT(call.WithResult(T(view.dtype, sizes)).Run(), HasSubstr("output 0"));
  }
}

// Kernels require dense tensors; other layouts are errors unless the kernel copies them.
TEST(RefusedCalls, TensorsWithGaps) {
  for (const TestCall& call : AllCalls()) {
    SCOPED_TRACE(call.op());
    for (const std::string& name : call.names()) {
      SCOPED_TRACE(name);
      if (!call[name].is_tensor()) continue;
      const std::string error = call.With(name, WithGaps(call[name])).Run();
      if ((call.op().find(".conv2d.") != std::string_view::npos && name == "input") ||
          name == "mask" || name == "indices") {
        EXPECT_EQ(error, "");
      } else {
        EXPECT_THAT(error, HasSubstr(absl::StrCat(name, ": expected ")));
      }
    }
    EXPECT_THAT(call.WithResult(WithGaps(call.result())).Run(),
                AnyOf(HasSubstr("result: expected "), HasSubstr("other: expected the layout"),
                      HasSubstr("with the layout of the result")));
  }
}

TEST(RefusedCalls, ChainsOfWeightsWithGaps) {
  const TestCall call = Conv2dChainCall();
  EXPECT_THAT(call.With("weights", List({T(kF32, {144}, Layout::kGaps), T(kF32, {512})})).Run(),
              HasSubstr("weight: expected a contiguous tensor"));
  EXPECT_THAT(call.With("biases", List({T(kF32, {16}, Layout::kGaps), EValue()})).Run(),
              HasSubstr("bias: expected a contiguous tensor"));
}

// Images of few channels are copied and may have any layout; others are read in place.
TEST(RefusedCalls, QuantizedImagesInRowMajorOrder) {
  const auto call = [](int64_t channels, int64_t weight) {
    return QuantizedConv2dCall()
        .With("input", T(kU8, {1, channels, 5, 4}))
        .With("weight", T(kI8, {weight}));
  };
  EXPECT_EQ(call(3, 3 * 3 * 4 * 16).Run(), "");
  EXPECT_THAT(call(9, 1728).Run(), HasSubstr("input: expected dense images, channels last"));
}

TEST(RefusedCalls, MissingWorkingMemory) {
  for (const TestCall& call :
       {DynamicLinearCall(), Conv2dCall(), BFloat16Conv2dCall(), Conv2dChainCall(),
        WinogradConv2dCall(), ConvolutionCall(), AttentionCall(), QuantizedConv2dCall()}) {
    EXPECT_THAT(call.Run(/*scratch=*/false), HasSubstr("working memory")) << call.op();
  }
  // Rows of one L1 cache way are copied.
  const TestCall rows =
      LinearCall().With("input", T(kF32, {2, 1024})).With("weight", T(kF32, {1024 * 32}));
  EXPECT_EQ(rows.Run(), "");
  EXPECT_THAT(rows.Run(/*scratch=*/false), HasSubstr("working memory"));
  const TestCall many = WeightOnlyLinearCall()
                            .With("input", T(kF32, {40, 12}))
                            .With("other", EValue())
                            .WithResult(T(kF32, {40, 8}));
  EXPECT_EQ(many.Run(), "");
  EXPECT_THAT(many.Run(/*scratch=*/false), HasSubstr("working memory"));
}

// Empty tensors whose sizes overflow the size of the working memory.
TEST(RefusedCalls, AttentionWithOverflowingKeys) {
  const int64_t keys = int64_t{1} << 62;
  for (const int64_t queries : {1, 512}) {
    // Heads of size 0: keys and values are empty.
    const TestCall call = AttentionCall()
                              .With("query", T(kF32, {1, 1, queries, 0}))
                              .With("key", T(kF32, {1, 1, keys, 0}))
                              .With("value", T(kF32, {1, 1, keys, 0}))
                              .With("mask", EValue())
                              .WithResult(T(kF32, {1, 1, queries, 0}));
    EXPECT_FALSE(call.IsTaken());
  }
}

struct Refused {
  std::string_view argument;
  EValue value;
  std::string_view error;
};
void ExpectRefused(const TestCall& call, const std::vector<Refused>& rows) {
  for (const Refused& row : rows) {
    const TestCall changed = call.With(row.argument, row.value);
    EXPECT_THAT(changed.Run(), HasSubstr(row.error)) << call.op() << " " << row.argument;
    // A call that cannot be computed is not selected at load time.
    EXPECT_FALSE(changed.IsTaken()) << call.op() << " " << row.argument;
  }
}

TEST(RefusedCalls, WinogradWithOtherWindows) {
  constexpr std::string_view kError = "kernel_size: expected 3 by 3, with stride and dilation 1";
  ExpectRefused(WinogradConv2dCall(), {{"kernel_size", Ints({3, 1}), kError},
                                       {"kernel_size", Ints({5, 3}), kError},
                                       {"stride", Ints({1, 2}), kError},
                                       {"dilation", Ints({2, 1}), kError},
                                       {"weight", T(kF32, {27 * 32}), "weight: expected "}});
}

TEST(RefusedCalls, Epilogues) {
  for (const TestCall& call : AllCalls()) {
    SCOPED_TRACE(call.op());
    if (call.Has("activation")) {
      ExpectRefused(call,
                    {{"activation", Text("relu"), "activation: expected one of none, sigmoid"},
                     {"activation", Text(""), "got ''"},
                     {"low", EValue(std::nan("")), "low: expected at most high, inf, got nan"},
                     {"high", EValue(std::nan("")), "low: expected at most high, nan, got"},
                     {"bias", T(kF32, {7}), "bias: expected shape [8], got [7]"},
                     {"bias", T(kF32, {8, 1}), "bias: expected shape [8], got [8,1]"}});
    }
    if (call.Has("combine")) {
      ExpectRefused(call,
                    {{"combine", Text("sub"), "combine: expected 'add' or 'mul', got 'sub'"}});
      ExpectRefused(call, {{"other", T(kF32, {1}), "other: expected "}});
      EXPECT_EQ(call.With("combine", Text("mul")).Run(), "");
    }
    if (call.Has("output_range")) {
      const char* range = "output_range: expected [zero_point, quant_min, quant_max]";
      ExpectRefused(call,
                    {{"output_range", Ints({3, 0}), range},
                     {"output_range", Ints({3, 0, 255, 1}), range},
                     {"output_range", Ints({3, -1, 255}), range},
                     {"output_range", Ints({3, 4, 255}), range},
                     {"output_range", Ints({3, 0, 2}), range},
                     {"output_range", Ints({3, 0, 256}), range},
                     {"output_scale", EValue(0.0), "output_scale: expected a positive float32"},
                     {"output_scale", EValue(-1.0), "output_scale: expected"},
                     {"output_scale", EValue(kInf), "output_scale: expected"},
                     {"output_scale", EValue(1e39), "output_scale: expected"},
                     {"output_scale", EValue(1e-39), "output_scale: expected"},
                     {"output_scale", EValue(1e-46), "output_scale: expected"},
                     {"output_scale", EValue(std::nan("")), "output_scale: expected"}});
    }
    if (call.Has("inner_range")) {
      ExpectRefused(call, {{"inner_range", Ints({3, 4, 255}), "inner_range: expected"},
                           {"inner_scale", EValue(0.0), "inner_scale: expected"}});
    }
    if (call.Has("input_zero_point")) {
      ExpectRefused(call,
                    {{"input_zero_point", Int(-1), "input_zero_point: expected a number from"},
                     {"input_zero_point", Int(256), "input_zero_point: expected a number from"},
                     {"scales", T(kF32, {7}), "scales: expected shape [8], got [7]"},
                     {"weight_sums", T(kI32, {9}), "weight_sums: expected shape [8]"}});
    }
    if (call.Has("out_features")) {
      ExpectRefused(call,
                    {{"out_features", Int(0), "out_features: expected numbers of at least 1"},
                     {"out_features", Int(-8), "out_features: expected numbers of at least 1"},
                     {"out_features", Int(INT64_MAX), "its packed form is too large"},
                     {"out_features", Int(33), "weight: expected the packed shape ["}});
    }
  }
}

TEST(RefusedCalls, Matmuls) {
  const int64_t much = int64_t{1} << 40;
  ExpectRefused(LinearCall(),
                {{"input", T(kF32, {}), "input: expected a last dimension that is known"},
                 {"weight", T(kF32, {96, 1}), "weight: expected the packed shape [96]"},
                 {"weight", T(kF32, {64}), "weight: expected the packed shape [96]"},
                 {"input", T(kF32, {0, INT64_MAX}), "its packed form is too large"}});
  ExpectRefused(BFloat16LinearCall(),
                {{"input", T(kBF16, {}), "input: expected a last dimension that is known"},
                 {"input", T(kBF16, {2, 5}), "input: expected an even last dimension, got [2,5]"},
                 {"weight", T(kBF16, {96}), "weight: expected the packed shape [128]"},
                 {"weight", T(kF32, {128}), "weight: expected"},
                 {"bias", T(kBF16, {8}), "bias: expected"},
                 {"other", T(kF32, {2, 8}), "other: expected"},
                 {"input", T(kBF16, {0, INT64_MAX - 1}), "its packed form is too large"}});
  ExpectRefused(
      QuantizedLinearCall(),
      {{"input", T(kU8, {}), "input: expected a last dimension that is known"},
       {"weight", T(kI8, {64}), "weight: expected the packed shape [128]"},
       {"input", T(kU8, {0, 65537}), "expected at most 65536 products in a sum, got 65537"}});
  ExpectRefused(WeightOnlyLinearCall(),
                {{"input", T(kF32, {}), "input: expected a last dimension that is known"},
                 {"input", T(kF32, {0, INT64_MAX}), "its packed form is too large"},
                 {"format", Text("int2"), "format: expected 'int8', 'int4' or 'bf16', got 'int2'"},
                 {"format", Text("bf16"), "weight: expected one of"},
                 {"weight", T(kI8, {511}), "weight: expected the packed shape [512]"},
                 {"scales", EValue(), "scales: expected scales of integers"},
                 {"scales", T(kF32, {32}), "scales: expected the packed shape [64]"},
                 {"zeros", T(kF32, {65}), "zeros: expected the packed shape [64]"},
                 {"group", Int(0), "group: expected at least 1"},
                 {"group", Int(-8), "group: expected at least 1"},
                 {"group", Int(9), "group: expected a multiple of 8, or at least 12, got 9"},
                 {"group", Int(INT64_MAX), "scales: its packed form is too large"}});
  const TestCall words = WeightOnlyLinearCall()
                             .With("format", Text("bf16"))
                             .With("weight", T(DType::kBFloat16, {512}))
                             .With("zeros", EValue())
                             .With("scales", EValue())
                             .With("group", Int(0));
  EXPECT_EQ(words.Run(), "");
  ExpectRefused(words, {{"scales", T(kF32, {64}), "neither scales nor zeros of floats"},
                        {"zeros", T(kF32, {64}), "neither scales nor zeros of floats"},
                        {"group", Int(8), "and 0 of floats, got 8"},
                        {"group", Int(-1), "and 0 of floats, got -1"}});
  ExpectRefused(DynamicLinearCall(),
                {{"input", T(kI8, {}), "input: expected a last dimension that is known"},
                 {"format", Text("bf16"), "format: expected 'int8' or 'int4', got 'bf16'"},
                 {"format", Text("int8"), "weight: expected one of"},
                 {"format", Text("int2"), "format: expected"},
                 {"weight", T(kI32, {63}), "weight: expected the packed shape [64]"},
                 {"scales", T(kF32, {63}), "scales: expected the packed shape [64]"},
                 {"weight_sums", T(kI32, {32}), "weight_sums: expected the packed shape [64]"},
                 {"group", Int(0), "group: expected numbers of at least 1"},
                 {"group", Int(9), "group: expected a multiple of 8, or at least 12, got 9"},
                 {"group", Int(INT64_MAX), "scales: its packed form is too large"},
                 {"input_scales", T(kF32, {2}), "input_scales: expected"},
                 {"input_scales", T(kF32, {3, 1}), "input_scales: expected"},
                 {"input_zeros", T(kI8, {1, 2}), "input_zeros: expected"},
                 {"input", T(kI8, {0, much}), "weight: expected the packed shape"}});
  const TestCall one_group = DynamicLinearCall().With("group", Int(int64_t{1} << 17));
  ExpectRefused(one_group, {{"input", T(kI8, {0, 65537}), "expected at most 65536 products"}});
}

TEST(RefusedCalls, RowsOfTokens) {
  ExpectRefused(RmsNormCall(),
                {{"input", T(kF32, {}), "input: expected a last dimension"},
                 {"input", T(kF32, {2, 7}), "weight: expected shape [7], got [8]"},
                 {"weight", T(kF32, {1, 8}), "weight: expected shape [8], got [1,8]"}});
  ExpectRefused(
      RotaryEmbeddingCall(),
      {{"input", T(kF32, {}), "input: expected a last dimension that is known"},
       {"input", T(kF32, {2, 4, 3, 7}), "input: expected an even last dimension"},
       {"input", T(kF32, {3, 8}), "cosine: expected a last dimension of 4 or 8 and others"},
       {"input", T(kF32, {2, 4, 5, 8}), "cosine: expected a last dimension of 4 or 8 and others"},
       {"cosine", T(kF32, {1, 3, 5}), "cosine: expected a last dimension of 4 or 8 and others"},
       {"cosine", T(kF32, {}), "cosine: expected a last dimension of 4 or 8 and others"},
       {"sine", T(kF32, {3, 4}), "sine: expected"}});
}

// Zero points outside of the input's type could overflow sums.
TEST(RefusedCalls, ZeroPointsOutsideOfTheInputType) {
  for (const auto& [input, least] : {std::pair{kI8, -128}, std::pair{kU8, 0}}) {
    for (const DType dtype : {kI8, kI32, DType::kInt64}) {
      for (const int64_t zero : {-129, -128, -1, 0, 127, 128, 255, 256}) {
        if (dtype == kI8 && (zero < -128 || zero > 127)) continue;
        EValue zeros = T(dtype, {2, 1});
        void* data = zeros.get_if<TensorView>()->data;
        if (dtype == kI8) static_cast<int8_t*>(data)[1] = static_cast<int8_t>(zero);
        if (dtype == kI32) static_cast<int32_t*>(data)[1] = static_cast<int32_t>(zero);
        if (dtype == DType::kInt64) static_cast<int64_t*>(data)[1] = zero;
        const std::string error =
            DynamicLinearCall().With("input", T(input, {2, 12})).With("input_zeros", zeros).Run();
        if (zero >= least && zero <= least + 255) {
          EXPECT_EQ(error, "") << zero;
        } else {
          EXPECT_EQ(error, absl::StrCat("input_zeros: expected numbers from ", least, " to ",
                                        least + 255, ", got ", zero));
        }
      }
    }
  }
}

TEST(RefusedCalls, Windows) {
  const int64_t most = int64_t{1} << 24;
  for (const TestCall& call :
       {Conv2dCall(), BFloat16Conv2dCall(), DepthwiseConv2dCall(), QuantizedConv2dCall(),
        QuantizedDepthwiseConv2dCall(), MaxPool2dCall()}) {
    SCOPED_TRACE(call.op());
    const DType type = call["input"].get_if<TensorView>()->dtype;
    ExpectRefused(call,
                  {{"kernel_size", Ints({0, 3}), "kernel_size: expected numbers of at least 1"},
                   {"kernel_size", Ints({3, 3, 3, 3}), "kernel_size: expected"},
                   {"kernel_size", Ints({3, 3, 3}), "kernel_size: expected"},
                   {"stride", Ints({1, 0}), "stride: expected numbers of at least 1"},
                   {"stride", Ints({1, -1}), "stride: expected numbers of at least 1"},
                   {"padding", Ints({-1, 1}), "padding: expected numbers of at least 0"},
                   {"padding", Ints({1, 1, 1, -1}), "padding: expected numbers of at least 0"},
                   {"padding", Ints({1, 1, 1}), "padding: expected"},
                   {"padding", Ints({1, most + 1}), "padding: expected numbers of at most 2^24"},
                   {"stride", Ints({most + 1, 1}), "stride: expected numbers of at most 2^24"},
                   {"dilation", Ints({0, 1}), "dilation: expected numbers of at least 1"},
                   {"input", T(type, {1, 3, 5}), "input: expected images [n, c, h, w]"},
                   {"input", T(type, {}), "input: expected images [n, c, h, w]"}});
    if (call.names()[1] != "weight") continue;
    ExpectRefused(call, {{"dilation", Ints({1, 3}), "is too small for a window of 3 by 3"},
                         {"weight", T(call["weight"].get_if<TensorView>()->dtype, {5}),
                          "weight: expected the packed shape ["}});
  }
  ExpectRefused(BFloat16Conv2dCall(), {{"input", Images(kBF16, {1, 9, 5, 4}),
                                        "even number of channels, or fewer than 8, got 9"},
                                       {"other", Images(kF32, {1, 8, 3, 4}), "other: expected"}});
  for (const TestCall& call : {Conv2dCall(), BFloat16Conv2dCall(), QuantizedConv2dCall()}) {
    ExpectRefused(call, {{"out_channels", Int(0), "out_channels: expected numbers of at least 1"},
                         {"out_channels", Int(INT64_MAX), "weight: its packed form is too large"}});
  }
  for (const TestCall& call : {QuantizedConv2dCall(), QuantizedDepthwiseConv2dCall()}) {
    ExpectRefused(call, {{"kernel_size", Ints({257, 256}), "expected at most 65536 products"}});
  }
  ExpectRefused(QuantizedConv2dCall(),
                {{"kernel_size", Ints({most, most}), "expected at most 65536"},
                 {"input", T(kU8, {1, int64_t{1} << 61, 0, 0}),
                  "expected at most 65536 products in a sum, got"}});
  // The number of weight rows overflows.
  const TestCall large = Conv2dCall().With("kernel_size", Ints({most, most}));
  ExpectRefused(large, {{"input", T(kF32, {1, int64_t{1} << 20, 0, 0}),
                         "weight: its packed form is too large"}});
}

TEST(RefusedCalls, PoolsWithEmptyWindows) {
  const char* error = "padding: expected at most half of the window and no dilation";
  ExpectRefused(MaxPool2dCall(),
                {{"padding", Ints({2, 1}), error},
                 {"padding", Ints({1, 2}), error},
                 {"padding", Ints({1, 1, 2, 1}), error},
                 {"padding", Ints({1, 1, 1, 2}), error},
                 {"dilation", Ints({2, 1}), error},
                 {"dilation", Ints({1, 2}), error},
                 {"kernel_size", Ints({1, 3}), error},
                 {"kernel_size", Ints({8, 3}), "is too small for a window of 8 by 3"}});
}

TEST(RefusedCalls, AttentionWithOtherShapes) {
  const std::string_view error = "attention: expected query [.., heads, queries, size]";
  ExpectRefused(AttentionCall(),
                {{"query", T(kF32, {3, 8}), error},

                 {"query", T(kF32, {1, 2, 4, 3, 8}), error},
                 {"query", T(kF32, {4, 3, 8}), error},  // another rank
                 {"value", T(kF32, {2, 5, 6}), error},
                 {"query", T(kF32, {2, 3, 3, 8}), error},  // not a multiple of heads
                 {"key", T(kF32, {2, 0, 5, 8}), error},    // no heads
                 {"key", T(kF32, {2, 1, 5, 8}), error},    // differs from values
                 {"query", T(kF32, {3, 4, 3, 8}), error},  // another batch
                 {"value", T(kF32, {3, 2, 5, 6}), error},
                 {"query", T(kF32, {2, 4, 3, 7}), error},  // another size
                 {"value", T(kF32, {2, 2, 4, 6}), error},  // another number of keys
                 {"mask", T(kF32, {1, 2, 4, 3, 5}), "mask: expected a shape that"},
                 {"mask", T(kF32, {3, 4}), "mask: expected a shape that"},
                 {"mask", T(kF32, {2, 5}), "mask: expected a shape that"},
                 {"mask", T(kF32, {2, 3, 3, 5}), "mask: expected a shape that"}});
  EXPECT_EQ(AttentionCall().With("mask", T(DType::kBool, {1, 4, 1, 5})).Run(), "");
  EXPECT_EQ(AttentionCall().With("mask", T(kF32, {})).Run(), "");
  const auto of_rank = [&](const Sizes& query, const Sizes& key) {
    return AttentionCall()
        .With("query", T(kF32, query))
        .With("key", T(kF32, key))
        .With("value", T(kF32, key))
        .With("mask", EValue());
  };
  ExpectRefused(of_rank({3, 8}, {5, 8}), {{"scale", EValue(1.0), error}});
  ExpectRefused(of_rank({1, 1, 4, 3, 8}, {1, 1, 2, 5, 8}), {{"scale", EValue(1.0), error}});
  const TestCall rank3("attention",
                       {T(kF32, {4, 3, 8}), T(kF32, {2, 5, 8}), T(kF32, {2, 5, 6}), EValue(),
                        EValue(0.5), EValue(true), EValue(true)},
                       T(kF32, {4, 3, 6}));
  EXPECT_EQ(rank3.Run(), "");
  ExpectRefused(rank3, {{"key", T(kF32, {1, 5, 8}), error}, {"value", T(kF32, {2, 5}), error}});
}

TEST(RefusedCalls, Chains) {
  const auto list = [](const std::vector<EValue>& elements) { return List(elements); };
  const int64_t much = (int64_t{1} << 24) + 1;
  const std::string_view size = "expected images of known sizes that no stage makes larger";
  const std::string_view pixel =
      "stage 1: expected a depthwise convolution or windows of one pixel";
  const EValue w = T(kF32, {144});
  ExpectRefused(
      Conv2dChainCall(),
      {{"weights", list({}), "weights: expected 1 to 8 stages, got 0"},
       {"weights", list({w, w, w, w, w, w, w, w, w}), "weights: expected 1 to 8 stages, got 9"},
       {"weights", list({w}), "biases: expected 1 elements for 1 stages, got 2"},
       {"weights", list({w, EValue()}), "stage 1: expected weights and biases of f32"},
       {"weights", list({w, T(kI8, {512})}), "stage 1: expected weights and biases of f32"},
       {"weights", list({w, T(kF32, {511})}), "weight: expected the packed shape [512]"},
       {"biases", list({T(kI32, {16}), EValue()}), "stage 0: expected weights and biases of f32"},
       {"biases", list({EValue(), T(kF32, {16})}), "bias: expected shape [20], got [16]"},
       {"out_channels", Ints({0, -1}), "out_channels: expected 0 to 2^24 as element 1, got -1"},
       {"out_channels", Ints({0, much}), "out_channels: expected 0 to 2^24 as element 1"},
       {"out_channels", Int(20), "out_channels: expected 2 elements for 2 stages, got 1"},
       {"kernel_size", Ints({3, 3, 1}), "kernel_size: expected 4 elements for 2 stages, got 3"},
       {"kernel_size", Ints({3, 0, 1, 1}), "kernel_size: expected 1 to 2^24 as element 1, got 0"},
       {"kernel_size", Ints({3, 3, 1, 2}), pixel},
       {"stride", Ints({2, 2, 1, 2}), pixel},
       {"stride", Ints({2, 2, 1, 0}), "stride: expected 1 to 2^24 as element 3, got 0"},
       {"padding", Ints({1, 1, 1, 1, 1, 0, 0, 0}), pixel},
       {"padding", Ints({1, 1, 1, 1, 0, 0, 0, 1}), pixel},
       {"padding", Ints({1, 1, 1, 1, 0, 0, 0, -1}), "padding: expected 0 to 2^24 as element 7"},
       {"padding", Ints({1, 1, -1, 1, 0, 0, 0, 0}), "padding: expected 0 to 2^24 as element 2"},
       {"padding", Ints({1, -1, 1, 1, 0, 0, 0, 0}), "padding: expected 0 to 2^24 as element 1"},
       {"padding", Ints({9, 1, 9, 1, 0, 0, 0, 0}), size},  // higher than its input
       {"padding", Ints({1, 9, 1, 9, 0, 0, 0, 0}), size},
       {"dilation", Ints({1, 1, 1, 0}), "dilation: expected 1 to 2^24 as element 3, got 0"},
       {"dilation", Ints({9, 1, 1, 1}), "is too small for a window of 3 by 3"},
       {"stride", Ints({2, 4, 1, 1}), size},  // narrower than the minimum
       {"low", Doubles({0, 7}), "low: expected at most high, 6, got 7"},
       {"low", Doubles({0}), "low: expected 2 elements for 2 stages, got 1"},
       {"activations", Text("silu"), "activations: expected 2 names of none, sigmoid"},
       {"activations", Text("silu none none"), "activations: expected 2 names"},
       {"activations", Text("silu relu"), "got 'silu relu'"},
       {"activations", Text("silu "), "activations: expected 2 names"},
       {"combine", Text("sub"), "combine: expected 'add' or 'mul'"},
       {"other", Images(kF32, {1, 20, 5, 5}), "other: expected"},
       {"input", T(kF32, {1, 16, 9}), "input: expected images [n, c, h, w]"}});
}

TEST(RefusedCalls, QuantizedSums) {
  const std::string_view scale = "expected a positive float32 with an inverse, got";
  ExpectRefused(QuantizedAddCall(),
                {{"a_scale", EValue(0.0), scale},
                 {"b_scale", EValue(-0.5), scale},
                 {"a_zero_point", Int(-1), "a_zero_point: expected a number from 0 to 255, got -1"},
                 {"b_zero_point", Int(256), "b_zero_point: expected a number from 0 to 255"},
                 {"b", Images(kU8, {1, 8, 3, 5}), "b: expected"}});
  const TestCall rows = QuantizedAddCall().With("a", T(kU8, {2, 5})).With("b", T(kU8, {2, 5}));
  EXPECT_EQ(rows.WithResult(T(kU8, {2, 5})).Run(), "");
  EXPECT_THAT(rows.With("b", T(kU8, {2, 5}, Layout::kGaps)).WithResult(T(kU8, {2, 5})).Run(),
              HasSubstr("b: expected a contiguous tensor"));
}

TEST(RefusedCalls, LookupsWithOtherLayouts) {
  ExpectRefused(LookupCall(), {{"table", T(kU8, {255}), "table: expected shape [256], got [255]"},
                               {"table", T(kU8, {256, 1}), "table: expected shape [256], got"}});
  const std::string_view error = "input: expected a dense tensor with the layout of the result";
  EValue across = T(kU8, {2, 5});
  across.get_if<TensorView>()->strides = {1, 2};
  EXPECT_THAT(LookupCall().With("input", across).Run(), HasSubstr(error));
  EXPECT_THAT(LookupCall().WithResult(across).Run(), HasSubstr(error));
  EXPECT_EQ(LookupCall().With("input", across).WithResult(across).Run(), "");
  // Equal layouts, with gaps.
  EXPECT_THAT(LookupCall()
                  .With("input", T(kU8, {2, 5}, Layout::kGaps))
                  .WithResult(T(kU8, {2, 5}, Layout::kGaps))
                  .Run(),
              HasSubstr(error));
}

TEST(RefusedCalls, PointwiseGroups) {
  const TestCall call = PointwiseCall();
  const auto error = [&](std::string_view name, EValue value) {
    const TestCall changed = call.With(name, value);
    EXPECT_FALSE(changed.IsTaken());
    return changed.Run();
  };
  EXPECT_THAT(error("ops", Text("mul clamp choose")), HasSubstr("ops: unknown step 'choose'"));
  EXPECT_THAT(error("ops", Text("")), HasSubstr("operands: expected 0 elements for 0 steps"));
  EXPECT_THAT(error("ops", Text("mul clamp")), HasSubstr("expected 5 elements for 2 steps, got 8"));
  EXPECT_THAT(error("ops", Text("mul clamp where mul")), HasSubstr("expected more than 8"));
  EXPECT_THAT(
      call.With("ops", Text("mul clamp gt")).With("operands", Ints({0, 1, 5, 3, 4, 6, 0})).Run(),
      HasSubstr("the last step must give float32"));
  EXPECT_THAT(error("operands", Ints({0, 1, 5, 3, 4, 2, 7, 0})),
              HasSubstr("step 2 (where): expected an input, a scalar or an earlier result"));
  EXPECT_THAT(error("operands", Ints({0, -1, 5, 3, 4, 2, 6, 0})),
              HasSubstr("step 0 (mul): expected an input, a scalar or an earlier result"));
  EXPECT_THAT(error("operands", Ints({0, 1, 5, 0, 4, 2, 6, 0})), HasSubstr("expected a scalar"));
  EXPECT_THAT(error("operands", Ints({0, 2, 5, 3, 4, 2, 6, 0})), HasSubstr("expected float32"));
  EXPECT_THAT(error("operands", Ints({0, 1, 5, 3, 4, 1, 6, 0})),
              HasSubstr("expected truth values"));
  EXPECT_THAT(error("inputs", List({})), HasSubstr("inputs: expected 1 to 8 inputs"));
  EXPECT_THAT(error("inputs", List({T(kF32, {2, 3, 8}), T(kF32, {7}), T(DType::kBool, {3, 1})})),
              HasSubstr("broadcast"));
  const TestCall power = call.With("ops", Text("mul pow")).With("operands", Ints({0, 1, 5, 3}));
  EXPECT_EQ(power.Run(), "");
  EXPECT_THAT(power.With("scalars", Doubles({0.3, 1.0})).Run(), HasSubstr("expected an exponent"));
  EXPECT_THAT(call.WithResult(WithGaps(call.result())).Run(),
              HasSubstr("result: expected a dense tensor"));
}

}  // namespace
}  // namespace belay::cpu
