// Calls that a program file may contain but the compiler does not emit. Every kernel rejects them
// with an error that names the argument, and writes nothing.
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include "backends/cpu/kernels/cpu_kernels.h"
#include "backends/cpu/kernels/valid_calls_testing.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/str_cat.h"

namespace belay::cpu {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

bool IsTensor(std::string_view value) {
  const size_t open = value.find('[');
  return open != 0 && open != std::string_view::npos;
}
std::string_view DTypeOf(std::string_view tensor) { return tensor.substr(0, tensor.find('[')); }
// "[2,3]:l" of "f32[2,3]:l=0".
std::string_view ShapeOf(std::string_view tensor) {
  return tensor.substr(tensor.find('['), tensor.find('=') - tensor.find('['));
}
// The tensor in its order of dimensions, with gaps between elements.
std::string WithGaps(const std::string& tensor) {
  const size_t end = tensor.find(']') + 1;
  const bool channels_last = tensor.substr(end).starts_with(":l");
  return absl::StrCat(tensor.substr(0, end), channels_last ? ":k" : ":g",
                      tensor.substr(channels_last ? end + 2 : end));
}

// The unmodified calls succeed.
TEST(RefusedCalls, UnmodifiedCallsSucceed) {
  for (const TextCall& call : AllCalls()) {
    EXPECT_EQ(ErrorOf(call), "") << call.op;
    EXPECT_TRUE(IsAccepted(call)) << call.op;
  }
  size_t kernels = 0;
  for (const auto& table : CpuKernelTables()) kernels += table.size();
  EXPECT_EQ(AllCalls().size(), kernels);
}

// Type confusion is rejected: dtypes as arguments, complex tensors, wrong types as list elements.
TEST(RefusedCalls, ArgumentsOfOtherTypes) {
  for (const TextCall& call : AllCalls()) {
    for (const std::string& name : call.names) {
      SCOPED_TRACE(absl::StrCat(call.op, " ", name));
      std::vector<std::string> wrong = {"float32"};
      const std::string& value = call[name];
      if (IsTensor(value)) {
        wrong.push_back(absl::StrCat("c64", ShapeOf(value)));
        wrong.push_back("1");
      } else if (value.front() == '[') {
        std::vector<std::string> elements =
            SplitOutsideOfBrackets(value.substr(1, value.size() - 2), ',');
        elements.back() = "'none'";
        wrong.push_back(absl::StrCat("[", absl::StrJoin(elements, ","), "]"));
      }
      for (const std::string& value : wrong) {
        const TextCall changed = call.With(name, value);
        // Elements of tensor lists are named by their stage.
        EXPECT_THAT(ErrorOf(changed),
                    AnyOf(HasSubstr(name), HasSubstr("of the list"), HasSubstr("stage")));
        EXPECT_FALSE(IsAccepted(changed));
      }
    }
  }
}

TEST(RefusedCalls, MissingArguments) {
  for (const TextCall& call : AllCalls()) {
    for (const std::string& name : call.names) {
      SCOPED_TRACE(absl::StrCat(call.op, " ", name));
      const std::string error = ErrorOf(call.With(name, "none"));
      if (name == "bias" || name == "other" || name == "mask" || name == "zeros" ||
          (name == "weight" && call.names.back() == "eps") || name == "inner_scale") {
        EXPECT_EQ(error, "");
      } else if (name == "output_scale" && call.names[0] == "input") {
        EXPECT_THAT(error, AnyOf(HasSubstr("output 0: expected float32, got uint8"),
                                 HasSubstr("output_scale")));
      } else {
        EXPECT_THAT(error, HasSubstr(name));
      }
    }
  }
}

TEST(RefusedCalls, ResultsOfOtherTypesOrSizes) {
  for (const TextCall& call : AllCalls()) {
    SCOPED_TRACE(call.op);
    EXPECT_THAT(ErrorOf(call.WithOutput(0, "1")), HasSubstr("output 0: expected tensor"));
    const std::string& result = call.outputs[0];
    EXPECT_THAT(ErrorOf(call.WithOutput(0, absl::StrCat("f64", ShapeOf(result)))),
                HasSubstr("output 0"));
    // Another number of images or rows.
    EXPECT_THAT(
        ErrorOf(call.WithOutput(0, absl::StrCat(DTypeOf(result), "[7", ShapeOf(result).substr(2)))),
        HasSubstr("output 0"));
  }
}

// Kernels require dense tensors; other layouts are errors unless the kernel copies them.
TEST(RefusedCalls, TensorsWithGaps) {
  for (const TextCall& call : AllCalls()) {
    SCOPED_TRACE(call.op);
    for (const std::string& name : call.names) {
      SCOPED_TRACE(name);
      if (!IsTensor(call[name])) continue;
      const std::string error = ErrorOf(call.With(name, WithGaps(call[name])));
      if ((call.op.find(".conv2d.") != std::string_view::npos && name == "input") ||
          name == "mask" || name == "indices") {
        EXPECT_EQ(error, "");
      } else {
        EXPECT_THAT(error, HasSubstr(absl::StrCat(name, ": expected ")));
      }
    }
    EXPECT_THAT(ErrorOf(call.WithOutput(0, WithGaps(call.outputs[0]))),
                AnyOf(HasSubstr("result: expected "), HasSubstr("other: expected the layout"),
                      HasSubstr("with the layout of the result")));
  }
}

TEST(RefusedCalls, ChainsOfWeightsWithGaps) {
  const TextCall call = ValidCall("conv2d_chain");
  EXPECT_THAT(ErrorOf(call.With("weights", "[f32[144]:g,f32[512]]")),
              HasSubstr("weight: expected a contiguous tensor"));
  EXPECT_THAT(ErrorOf(call.With("biases", "[f32[16]:g,none]")),
              HasSubstr("bias: expected a contiguous tensor"));
}

// Images of few channels are copied and may have any layout; others are read in place.
TEST(RefusedCalls, QuantizedImagesInRowMajorOrder) {
  const auto call = [](int64_t channels, int64_t weight) {
    return ValidCall("quantized_conv2d")
        .With("input", absl::StrCat("u8[1,", channels, ",5,4]"))
        .With("weight", absl::StrCat("i8[", weight, "]"));
  };
  EXPECT_EQ(ErrorOf(call(3, 3 * 3 * 4 * 16)), "");
  EXPECT_THAT(ErrorOf(call(9, 1728)), HasSubstr("input: expected dense images, channels last"));
}

TEST(RefusedCalls, MissingWorkingMemory) {
  for (const TextCall& call :
       {ValidCall("dynamic_quantized_linear"), ValidCall("conv2d"), ValidCall("bfloat16_conv2d"),
        ValidCall("conv2d_chain"), ValidCall("winograd_conv2d"), ValidCall("winograd_convolution"),
        ValidCall("convolution"), ValidCall("attention"), ValidCall("quantized_conv2d")}) {
    EXPECT_THAT(ErrorOf(call, {.no_scratch = true}), HasSubstr("working memory")) << call.op;
  }
  // Rows of one L1 cache way are copied.
  const TextCall rows = ValidCall("linear")
                            .With("input", "f32[2,1024]")
                            .With("weight", absl::StrCat("f32[", 1024 * 32, "]"));
  EXPECT_EQ(ErrorOf(rows), "");
  EXPECT_THAT(ErrorOf(rows, {.no_scratch = true}), HasSubstr("working memory"));
  const TextCall many = ValidCall("weight_only_linear")
                            .With("input", "f32[40,12]")
                            .With("other", "none")
                            .WithOutput(0, "f32[40,8]");
  EXPECT_EQ(ErrorOf(many), "");
  EXPECT_THAT(ErrorOf(many, {.no_scratch = true}), HasSubstr("working memory"));
}

// Empty tensors whose sizes overflow the size of the working memory.
TEST(RefusedCalls, AttentionWithOverflowingKeys) {
  const int64_t keys = int64_t{1} << 62;
  for (const int64_t queries : {1, 512}) {
    // Heads of size 0: keys and values are empty.
    const TextCall call = ValidCall("attention")
                              .With("query", absl::StrCat("f32[1,1,", queries, ",0]"))
                              .With("key", absl::StrCat("f32[1,1,", keys, ",0]"))
                              .With("value", absl::StrCat("f32[1,1,", keys, ",0]"))
                              .With("mask", "none")
                              .WithOutput(0, absl::StrCat("f32[1,1,", queries, ",0]"));
    EXPECT_FALSE(IsAccepted(call));
  }
}

struct Refused {
  std::string_view argument;
  std::string value;
  std::string_view error;
};
void ExpectRefused(const TextCall& call, const std::vector<Refused>& rows) {
  for (const Refused& row : rows) {
    const TextCall changed = call.With(row.argument, row.value);
    EXPECT_THAT(ErrorOf(changed), HasSubstr(row.error)) << call.op << " " << row.argument;
    // A call that cannot be computed is not selected at load time.
    EXPECT_FALSE(IsAccepted(changed)) << call.op << " " << row.argument;
  }
}

TEST(RefusedCalls, WinogradWithOtherWindows) {
  constexpr std::string_view kError = "kernel_size: expected 3 by 3, with stride and dilation 1";
  ExpectRefused(ValidCall("winograd_conv2d"),
                {{"kernel_size", "[3,1]", kError},
                 {"kernel_size", "[5,3]", kError},
                 {"stride", "[1,2]", kError},
                 {"dilation", "[2,1]", kError},
                 {"weight", absl::StrCat("f32[", 27 * 32, "]"), "weight: expected "}});
  constexpr std::string_view kVolumes = "kernel_size: expected at most 8 planes of 3 by 3";
  ExpectRefused(ValidCall("winograd_convolution"),
                {{"kernel_size", "[9,3,3]", kVolumes},
                 {"kernel_size", "[3,1,3]", kVolumes},
                 {"stride", "[1,1,2]", kVolumes},
                 {"dilation", "[1,2,1]", kVolumes},
                 {"transposed", "true", kVolumes},
                 {"groups", "2", kVolumes},
                 {"weight", absl::StrCat("f32[", 81 * 32, "]"), "weight: expected "}});
}

TEST(RefusedCalls, Epilogues) {
  for (const TextCall& call : AllCalls()) {
    SCOPED_TRACE(call.op);
    if (call.Has("activation")) {
      ExpectRefused(call, {{"activation", "'relu'", "activation: expected one of none, sigmoid"},
                           {"activation", "''", "got ''"},
                           {"low", "nan", "low: expected at most high, inf, got nan"},
                           {"high", "nan", "low: expected at most high, nan, got"},
                           {"bias", "f32[7]", "bias: expected shape [8], got [7]"},
                           {"bias", "f32[8,1]", "bias: expected shape [8], got [8,1]"}});
    }
    if (call.Has("combine")) {
      ExpectRefused(call, {{"combine", "'sub'", "combine: expected 'add' or 'mul', got 'sub'"}});
      ExpectRefused(call, {{"other", "f32[1]", "other: expected "}});
      EXPECT_EQ(ErrorOf(call.With("combine", "'mul'")), "");
    }
    if (call.Has("output_range")) {
      const char* range = "output_range: expected [zero_point, quant_min, quant_max]";
      ExpectRefused(call, {{"output_range", "[3,0]", range},
                           {"output_range", "[3,0,255,1]", range},
                           {"output_range", "[3,-1,255]", range},
                           {"output_range", "[3,4,255]", range},
                           {"output_range", "[3,0,2]", range},
                           {"output_range", "[3,0,256]", range},
                           {"output_scale", "0.0", "output_scale: expected a positive float32"},
                           {"output_scale", "-1.0", "output_scale: expected"},
                           {"output_scale", "inf", "output_scale: expected"},
                           {"output_scale", "1e39", "output_scale: expected"},
                           {"output_scale", "1e-39", "output_scale: expected"},
                           {"output_scale", "1e-46", "output_scale: expected"},
                           {"output_scale", "nan", "output_scale: expected"}});
    }
    if (call.Has("inner_range")) {
      ExpectRefused(call, {{"inner_range", "[3,4,255]", "inner_range: expected"},
                           {"inner_scale", "0.0", "inner_scale: expected"}});
    }
    if (call.Has("input_zero_point")) {
      ExpectRefused(call, {{"input_zero_point", "-1", "input_zero_point: expected a number from"},
                           {"input_zero_point", "256", "input_zero_point: expected a number from"},
                           {"scales", "f32[7]", "scales: expected shape [8], got [7]"},
                           {"weight_sums", "i32[9]", "weight_sums: expected shape [8]"}});
    }
    if (call.Has("out_features")) {
      ExpectRefused(call,
                    {{"out_features", "0", "out_features: expected numbers of at least 1"},
                     {"out_features", "-8", "out_features: expected numbers of at least 1"},
                     {"out_features", absl::StrCat(INT64_MAX), "its packed form is too large"},
                     {"out_features", "33", "weight: expected the packed shape ["}});
    }
  }
}

TEST(RefusedCalls, Matmuls) {
  const int64_t much = int64_t{1} << 40;
  ExpectRefused(
      ValidCall("linear"),
      {{"input", "f32[]", "input: expected a last dimension that is known"},
       {"weight", "f32[96,1]", "weight: expected the packed shape [96]"},
       {"weight", "f32[64]", "weight: expected the packed shape [96]"},
       {"input", absl::StrCat("f32[0,", INT64_MAX, "]"), "its packed form is too large"}});
  ExpectRefused(
      ValidCall("bfloat16_linear"),
      {{"input", "bf16[]", "input: expected a last dimension that is known"},
       {"input", "bf16[2,5]", "input: expected an even last dimension, got [2,5]"},
       {"weight", "bf16[96]", "weight: expected the packed shape [128]"},
       {"weight", "f32[128]", "weight: expected"},
       {"bias", "bf16[8]", "bias: expected"},
       {"other", "f32[2,8]", "other: expected"},
       {"input", absl::StrCat("bf16[0,", INT64_MAX - 1, "]"), "its packed form is too large"}});
  ExpectRefused(ValidCall("quantized_linear"),
                {{"input", "u8[]", "input: expected a last dimension that is known"},
                 {"weight", "i8[64]", "weight: expected the packed shape [128]"},
                 {"input", "u8[0,65537]", "expected at most 65536 products in a sum, got 65537"}});
  ExpectRefused(
      ValidCall("weight_only_linear"),
      {{"input", "f32[]", "input: expected a last dimension that is known"},
       {"input", absl::StrCat("f32[0,", INT64_MAX, "]"), "its packed form is too large"},
       {"format", "'int2'",
        "format: expected 'int8', 'int4', 'int8_by_int8', 'int4_by_int8', "
        "'int8_by_int16', 'int4_by_int16' or 'bf16', got "
        "'int2'"},
       {"format", "'int8_by_int8'", "format: expected no zeros and groups of whole blocks"},
       {"format", "'bf16'", "weight: expected one of"},
       {"weight", "i8[511]", "weight: expected the packed shape [512]"},
       {"scales", "none", "scales: expected scales of integers"},
       {"scales", "f32[32]", "scales: expected the packed shape [64]"},
       {"zeros", "f32[65]", "zeros: expected the packed shape [64]"},
       {"group", "0", "group: expected at least 1"},
       {"group", "-8", "group: expected at least 1"},
       {"group", "9", "group: expected a multiple of 8, or at least 12, got 9"},
       {"group", absl::StrCat(INT64_MAX), "scales: its packed form is too large"}});
  const TextCall words = ValidCall("weight_only_linear")
                             .With("format", "'bf16'")
                             .With("weight", "bf16[512]")
                             .With("zeros", "none")
                             .With("scales", "none")
                             .With("group", "0");
  EXPECT_EQ(ErrorOf(words), "");
  ExpectRefused(words, {{"scales", "f32[64]", "neither scales nor zeros of floats"},
                        {"zeros", "f32[64]", "neither scales nor zeros of floats"},
                        {"group", "8", "and 0 of floats, got 8"},
                        {"group", "-1", "and 0 of floats, got -1"}});
  ExpectRefused(ValidCall("dynamic_quantized_linear"),
                {{"input", "i8[]", "input: expected a last dimension that is known"},
                 {"format", "'bf16'", "format: expected 'int8' or 'int4', got 'bf16'"},
                 {"format", "'int8'", "weight: expected one of"},
                 {"format", "'int2'", "format: expected"},
                 {"weight", "i32[63]", "weight: expected the packed shape [64]"},
                 {"scales", "f32[63]", "scales: expected the packed shape [64]"},
                 {"weight_sums", "i32[32]", "weight_sums: expected the packed shape [64]"},
                 {"group", "0", "group: expected numbers of at least 1"},
                 {"group", "9", "group: expected a multiple of 8, or at least 12, got 9"},
                 {"group", absl::StrCat(INT64_MAX), "scales: its packed form is too large"},
                 {"input_scales", "f32[2]", "input_scales: expected"},
                 {"input", "f32[2,12]", "input_scales: expected a tensor for an input of integers"},
                 {"input_scales", "none", "input_scales: expected a tensor"},
                 {"input_zeros", "none", "input_zeros: expected a tensor"},
                 {"input_scales", "f32[3,1]", "input_scales: expected"},
                 {"input_zeros", "i8[1,2]", "input_zeros: expected"},
                 {"input", absl::StrCat("i8[0,", much, "]"), "weight: expected the packed shape"}});
  const TextCall one_group =
      ValidCall("dynamic_quantized_linear").With("group", absl::StrCat(int64_t{1} << 17));
  ExpectRefused(one_group, {{"input", "i8[0,65537]", "expected at most 65536 products"}});
}

TEST(RefusedCalls, RowsOfTokens) {
  ExpectRefused(ValidCall("rms_norm"),
                {{"input", "f32[]", "input: expected a last dimension"},
                 {"input", "f32[2,7]", "weight: expected shape [7], got [8]"},
                 {"weight", "f32[1,8]", "weight: expected shape [8], got [1,8]"}});
  ExpectRefused(
      ValidCall("rotary_embedding"),
      {{"input", "f32[]", "input: expected a last dimension that is known"},
       {"input", "f32[2,4,3,7]", "input: expected an even last dimension"},
       {"input", "f32[3,8]", "cosine: expected a last dimension of 4 or 8 and others"},
       {"input", "f32[2,4,5,8]", "cosine: expected a last dimension of 4 or 8 and others"},
       {"cosine", "f32[1,3,5]", "cosine: expected a last dimension of 4 or 8 and others"},
       {"cosine", "f32[]", "cosine: expected a last dimension of 4 or 8 and others"},
       {"sine", "f32[3,4]", "sine: expected"}});
}

// Zero points outside of the input's type could overflow sums.
TEST(RefusedCalls, ZeroPointsOutsideOfTheInputType) {
  for (const auto& [input, least] : {std::pair{"i8", -128}, std::pair{"u8", 0}}) {
    for (const std::string_view dtype : {"i8", "i32", "i64"}) {
      for (const int64_t zero : {-129, -128, -1, 0, 127, 128, 255, 256}) {
        if (dtype == "i8" && (zero < -128 || zero > 127)) continue;
        const std::string error =
            ErrorOf(ValidCall("dynamic_quantized_linear")
                        .With("input", absl::StrCat(input, "[2,12]"))
                        .With("input_zeros", absl::StrCat(dtype, "[2,1]=0,", zero)));
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
  for (const TextCall& call :
       {ValidCall("conv2d"), ValidCall("bfloat16_conv2d"), ValidCall("depthwise_conv2d"),
        ValidCall("bfloat16_depthwise_conv2d"), ValidCall("quantized_conv2d"),
        ValidCall("quantized_grouped_conv2d"), ValidCall("quantized_depthwise_conv2d"),
        ValidCall("max_pool2d")}) {
    SCOPED_TRACE(call.op);
    const std::string_view type = DTypeOf(call["input"]);
    ExpectRefused(
        call,
        {{"kernel_size", "[0,3]", "kernel_size: expected numbers of at least 1"},
         {"kernel_size", "[3,3,3,3]", "kernel_size: expected"},
         {"kernel_size", "[3,3,3]", "kernel_size: expected"},
         {"stride", "[1,0]", "stride: expected numbers of at least 1"},
         {"stride", "[1,-1]", "stride: expected numbers of at least 1"},
         {"padding", "[-1,1]", "padding: expected numbers of at least 0"},
         {"padding", "[1,1,1,-1]", "padding: expected numbers of at least 0"},
         {"padding", "[1,1,1]", "padding: expected"},
         {"padding", absl::StrCat("[1,", most + 1, "]"),
          "padding: expected numbers of at most 2^24"},
         {"stride", absl::StrCat("[", most + 1, ",1]"), "stride: expected numbers of at most 2^24"},
         {"dilation", "[0,1]", "dilation: expected numbers of at least 1"},
         {"input", absl::StrCat(type, "[1,3,5]"), "input: expected images [n, c, h, w]"},
         {"input", absl::StrCat(type, "[]"), "input: expected images [n, c, h, w]"}});
    if (call.names[1] != "weight") continue;
    ExpectRefused(call, {{"dilation", "[1,3]", "is too small for a window of 3 by 3"},
                         {"weight", absl::StrCat(DTypeOf(call["weight"]), "[5]"),
                          "weight: expected the packed shape ["}});
  }
  ExpectRefused(ValidCall("bfloat16_conv2d"),
                {{"input", "bf16[1,9,5,4]:l", "even number of channels, or fewer than 8, got 9"},
                 {"other", "f32[1,8,3,4]:l", "other: expected"}});
  ExpectRefused(ValidCall("bfloat16_convolution"),
                {{"input", "bf16[1,6,3,4]:l", "expected groups of an even number of channels"},
                 {"input", "bf16[1,8,3,4]:l", "that are not narrow, got 2 groups of 4 channels"},
                 {"input", "f32[1,12,3,4]:l", "input: expected"},
                 {"weight", "bf16[5]", "weight: expected the packed shape ["}});
  for (const TextCall& call :
       {ValidCall("conv2d"), ValidCall("bfloat16_conv2d"), ValidCall("quantized_conv2d")}) {
    ExpectRefused(
        call, {{"out_channels", "0", "out_channels: expected numbers of at least 1"},
               {"out_channels", absl::StrCat(INT64_MAX), "weight: its packed form is too large"}});
  }
  for (const TextCall& call : {ValidCall("quantized_conv2d"), ValidCall("quantized_grouped_conv2d"),
                               ValidCall("quantized_depthwise_conv2d")}) {
    ExpectRefused(call, {{"kernel_size", "[257,256]", "expected at most 65536 products"}});
  }
  ExpectRefused(ValidCall("quantized_conv2d"),
                {{"kernel_size", absl::StrCat("[", most, ",", most, "]"), "expected at most 65536"},
                 {"input", absl::StrCat("u8[1,", int64_t{1} << 61, ",0,0]"),
                  "expected at most 65536 products in a sum, got"}});
  // The number of weight rows overflows.
  const TextCall large =
      ValidCall("conv2d").With("kernel_size", absl::StrCat("[", most, ",", most, "]"));
  ExpectRefused(large, {{"input", absl::StrCat("f32[1,", int64_t{1} << 20, ",0,0]"),
                         "weight: its packed form is too large"}});
}

TEST(RefusedCalls, PoolsWithEmptyWindows) {
  const char* error = "padding: expected less than the window and no dilation";
  ExpectRefused(ValidCall("max_pool2d"),
                {{"padding", "[3,1]", error},
                 {"padding", "[1,3]", error},
                 {"padding", "[1,1,3,1]", error},
                 {"padding", "[1,1,1,3]", error},
                 {"dilation", "[2,1]", error},
                 {"dilation", "[1,2]", error},
                 {"kernel_size", "[1,3]", error},
                 {"kernel_size", "[8,3]", "is too small for a window of 8 by 3"}});
}

TEST(RefusedCalls, AttentionWithOtherShapes) {
  const std::string_view error = "attention: expected query [.., heads, queries, size]";
  ExpectRefused(ValidCall("attention"),
                {{"query", "f32[3,8]", error},

                 {"query", "f32[1,2,4,3,8]", error},
                 {"query", "f32[4,3,8]", error},  // another rank
                 {"value", "f32[2,5,6]", error},
                 {"query", "f32[2,3,3,8]", error},  // not a multiple of heads
                 {"key", "f32[2,0,5,8]", error},    // no heads
                 {"key", "f32[2,1,5,8]", error},    // differs from values
                 {"query", "f32[3,4,3,8]", error},  // another batch
                 {"value", "f32[3,2,5,6]", error},
                 {"query", "f32[2,4,3,7]", error},  // another size
                 {"value", "f32[2,2,4,6]", error},  // another number of keys
                 {"query", "f16[2,4,3,8]", "query: expected one of float32, got float16"},
                 {"key", "f64[2,2,5,8]", "key: expected one of float16, float32, bfloat16"},
                 {"key", "bf16[2,2,5,8]", "value: expected one of bfloat16, got float32"},
                 {"mask", "f32[1,2,4,3,5]", "mask: expected a shape that"},
                 {"mask", "f32[3,4]", "mask: expected a shape that"},
                 {"mask", "f32[2,5]", "mask: expected a shape that"},
                 {"mask", "f32[2,3,3,5]", "mask: expected a shape that"}});
  EXPECT_EQ(ErrorOf(ValidCall("attention").With("mask", "b8[1,4,1,5]")), "");
  EXPECT_EQ(ErrorOf(ValidCall("attention").With("mask", "f32[]")), "");
  const auto of_rank = [&](std::string_view query, std::string_view key) {
    return ValidCall("attention")
        .With("query", query)
        .With("key", key)
        .With("value", key)
        .With("mask", "none");
  };
  ExpectRefused(of_rank("f32[3,8]", "f32[5,8]"), {{"scale", "1.0", error}});
  ExpectRefused(of_rank("f32[1,1,4,3,8]", "f32[1,1,2,5,8]"), {{"scale", "1.0", error}});
  const TextCall rank3 = ParseCall(
      "belay_cpu.attention.default f32[4,3,8] f32[2,5,8] f32[2,5,6] none 0.5 true true -> "
      "f32[4,3,6]");
  EXPECT_EQ(ErrorOf(rank3), "");
  ExpectRefused(rank3, {{"key", "f32[1,5,8]", error}, {"value", "f32[2,5]", error}});
}

TEST(RefusedCalls, Chains) {
  const int64_t much = (int64_t{1} << 24) + 1;
  const std::string_view size = "expected images of known sizes that no stage makes larger";
  const std::string_view pixel =
      "stage 1: expected a depthwise convolution or windows of one pixel";
  ExpectRefused(
      ValidCall("conv2d_chain"),
      {{"weights", "[]", "weights: expected 1 to 8 stages, got 0"},
       {"weights",
        "[f32[144],f32[144],f32[144],f32[144],f32[144],f32[144],f32[144],f32[144],f32[144]]",
        "weights: expected 1 to 8 stages, got 9"},
       {"weights", "[f32[144]]", "biases: expected 1 elements for 1 stages, got 2"},
       {"weights", "[f32[144],none]", "stage 1: expected weights and biases of f32"},
       {"weights", "[f32[144],i8[512]]", "stage 1: expected weights and biases of f32"},
       {"weights", "[f32[144],f32[511]]", "weight: expected the packed shape [512]"},
       {"biases", "[i32[16],none]", "stage 0: expected weights and biases of f32"},
       {"biases", "[none,f32[16]]", "bias: expected shape [20], got [16]"},
       {"out_channels", "[0,-1]", "out_channels: expected 0 to 2^24 as element 1, got -1"},
       {"out_channels", absl::StrCat("[0,", much, "]"),
        "out_channels: expected 0 to 2^24 as element 1"},
       {"out_channels", "20", "out_channels: expected 2 elements for 2 stages, got 1"},
       {"kernel_size", "[3,3,1]", "kernel_size: expected 4 elements for 2 stages, got 3"},
       {"kernel_size", "[3,0,1,1]", "kernel_size: expected 1 to 2^24 as element 1, got 0"},
       {"kernel_size", "[3,3,1,2]", pixel},
       {"stride", "[2,2,1,2]", pixel},
       {"stride", "[2,2,1,0]", "stride: expected 1 to 2^24 as element 3, got 0"},
       {"padding", "[1,1,1,1,1,0,0,0]", pixel},
       {"padding", "[1,1,1,1,0,0,0,1]", pixel},
       {"padding", "[1,1,1,1,0,0,0,-1]", "padding: expected 0 to 2^24 as element 7"},
       {"padding", "[1,1,-1,1,0,0,0,0]", "padding: expected 0 to 2^24 as element 2"},
       {"padding", "[1,-1,1,1,0,0,0,0]", "padding: expected 0 to 2^24 as element 1"},
       {"padding", "[9,1,9,1,0,0,0,0]", size},  // higher than its input
       {"padding", "[1,9,1,9,0,0,0,0]", size},
       {"dilation", "[1,1,1,0]", "dilation: expected 1 to 2^24 as element 3, got 0"},
       {"dilation", "[9,1,1,1]", "is too small for a window of 3 by 3"},
       {"stride", "[2,4,1,1]", size},  // narrower than the minimum
       {"low", "[0.0,7.0]", "low: expected at most high, 6, got 7"},
       {"low", "[0.0]", "low: expected 2 elements for 2 stages, got 1"},
       {"activations", "'silu'", "activations: expected 2 names of none, sigmoid"},
       {"activations", "'silu none none'", "activations: expected 2 names"},
       {"activations", "'silu relu'", "got 'silu relu'"},
       {"activations", "'silu '", "activations: expected 2 names"},
       {"combine", "'sub'", "combine: expected 'add' or 'mul'"},
       {"other", "f32[1,20,5,5]:l", "other: expected"},
       {"input", "f32[1,16,9]", "input: expected images [n, c, h, w]"}});
}

TEST(RefusedCalls, QuantizedSums) {
  const std::string_view scale = "expected a positive float32 with an inverse, got";
  ExpectRefused(ValidCall("quantized_add"),
                {{"a_scale", "0.0", scale},
                 {"b_scale", "-0.5", scale},
                 {"a_zero_point", "-1", "a_zero_point: expected a number from 0 to 255, got -1"},
                 {"b_zero_point", "256", "b_zero_point: expected a number from 0 to 255"},
                 {"b", "u8[1,8,3,5]:l", "b: expected"}});
  const TextCall rows = ValidCall("quantized_add").With("a", "u8[2,5]").With("b", "u8[2,5]");
  EXPECT_EQ(ErrorOf(rows.WithOutput(0, "u8[2,5]")), "");
  EXPECT_THAT(ErrorOf(rows.With("b", "u8[2,5]:g").WithOutput(0, "u8[2,5]")),
              HasSubstr("b: expected a contiguous tensor"));
}

TEST(RefusedCalls, LookupsWithOtherLayouts) {
  ExpectRefused(ValidCall("lookup"),
                {{"table", "u8[255]", "table: expected shape [256], got [255]"},
                 {"table", "u8[256,1]", "table: expected shape [256], got"}});
  const std::string_view error = "input: expected a dense tensor with the layout of the result";
  const std::string across = "u8[2,5]:t";
  EXPECT_THAT(ErrorOf(ValidCall("lookup").With("input", across)), HasSubstr(error));
  EXPECT_THAT(ErrorOf(ValidCall("lookup").WithOutput(0, across)), HasSubstr(error));
  EXPECT_EQ(ErrorOf(ValidCall("lookup").With("input", across).WithOutput(0, across)), "");
  // Equal layouts, with gaps.
  EXPECT_THAT(ErrorOf(ValidCall("lookup").With("input", "u8[2,5]:g").WithOutput(0, "u8[2,5]:g")),
              HasSubstr(error));
}

TEST(RefusedCalls, PointwiseGroups) {
  const TextCall call = ValidCall("pointwise");
  const auto error = [&](std::string_view name, std::string_view value) {
    const TextCall changed = call.With(name, value);
    EXPECT_FALSE(IsAccepted(changed));
    return ErrorOf(changed);
  };
  EXPECT_THAT(error("ops", "'mul clamp choose'"), HasSubstr("ops: unknown step 'choose'"));
  EXPECT_THAT(error("ops", "''"), HasSubstr("operands: expected 0 elements for 0 steps"));
  EXPECT_THAT(error("ops", "'mul clamp'"), HasSubstr("expected 5 elements for 2 steps, got 8"));
  EXPECT_THAT(error("ops", "'mul clamp where mul'"), HasSubstr("expected more than 8"));
  EXPECT_THAT(ErrorOf(call.With("ops", "'mul clamp gt'").With("operands", "[0,1,5,3,4,6,0]")),
              HasSubstr("the last step must give float32"));
  EXPECT_THAT(error("operands", "[0,1,5,3,4,2,7,0]"),
              HasSubstr("step 2 (where): expected an input, a scalar or an earlier result"));
  EXPECT_THAT(error("operands", "[0,-1,5,3,4,2,6,0]"),
              HasSubstr("step 0 (mul): expected an input, a scalar or an earlier result"));
  EXPECT_THAT(error("operands", "[0,1,5,0,4,2,6,0]"), HasSubstr("expected a scalar"));
  EXPECT_THAT(error("operands", "[0,2,5,3,4,2,6,0]"), HasSubstr("expected float32"));
  EXPECT_THAT(error("operands", "[0,1,5,3,4,1,6,0]"), HasSubstr("expected truth values"));
  EXPECT_THAT(error("inputs", "[]"), HasSubstr("inputs: expected 1 to 8 inputs"));
  // At loading, sizes may be bounds, which need not broadcast.
  const TextCall sizes = call.With("inputs", "[f32[2,3,8],f32[7],b8[3,1]]");
  EXPECT_TRUE(IsAccepted(sizes));
  EXPECT_THAT(ErrorOf(sizes), HasSubstr("broadcast"));
  const TextCall power = call.With("ops", "'mul pow'").With("operands", "[0,1,5,3]");
  EXPECT_EQ(ErrorOf(power), "");
  EXPECT_THAT(ErrorOf(power.With("scalars", "[0.3,1.0]")), HasSubstr("expected an exponent"));
  EXPECT_THAT(ErrorOf(call.WithOutput(0, WithGaps(call.outputs[0]))),
              HasSubstr("result: expected a dense tensor"));
}

TEST(RefusedCalls, PointwiseGroupsOfBytes) {
  const TextCall call = ValidCall("pointwise")
                            .With("inputs", "[u8[2,3,8],f32[8]]")
                            .With("ops", "'dequantize mul quantize'")
                            .With("operands", "[0,2,3,8,1,9,4,5,6,7]")
                            .With("scalars", "[3.0,0.5,4.0,7.0,0.0,255.0]")
                            .WithOutput(0, "u8[2,3,8]");
  EXPECT_EQ(ErrorOf(call), "");
  EXPECT_THAT(ErrorOf(call.With("scalars", "[3.0,0.5,4.0,7.0,0.0,256.0]")),
              HasSubstr("expected bounds from 0 to 255, got 0 and 256"));
  EXPECT_THAT(ErrorOf(call.With("scalars", "[3.0,0.5,4.0,7.0,9.0,8.0]")),
              HasSubstr("expected bounds from 0 to 255, got 9 and 8"));
  EXPECT_THAT(ErrorOf(call.With("ops", "'dequantize mul quantize neg'")
                          .With("operands", "[0,2,3,8,1,9,4,5,6,7,10]")),
              HasSubstr("quantize must be the last step"));
  EXPECT_THAT(ErrorOf(call.With("operands", "[1,2,3,8,1,9,4,5,6,7]")),
              HasSubstr("step 0 (dequantize): expected an int8 or uint8 input as operand 0"));
  EXPECT_THAT(ErrorOf(call.With("operands", "[0,2,3,0,1,9,4,5,6,7]")),
              HasSubstr("step 1 (mul): expected float32 as operand 0"));
}

}  // namespace
}  // namespace belay::cpu
