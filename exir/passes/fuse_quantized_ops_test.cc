#include "exir/passes/fuse_quantized_ops.h"

#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "exir/passes/pass_testing.h"
#include "exir/testing/programs.h"
#include "exir/testing/rewrite_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

using ::testing::ElementsAre;

TEST(FuseQuantizedOpsTest, MovementsWorkOnQuantizedNumbers) {
  ExpectRewrite(R"(program edge {
  graph(%x: i8[2,3] user_input) {
    %d: f32[2,3] = edge.quantized_decomposed.dequantize_per_tensor.default(%x, 0.5, 3, -128, 127, dtype:i8)
    %p: f32[3,2] = edge.aten.permute_copy.default(%d, [1,0])
    %v: f32[6] = edge.aten.view_copy.default(%p, [6])
    %q: i8[6] = edge.quantized_decomposed.quantize_per_tensor.default(%v, 0.5, 3, -128, 127, dtype:i8)
    return (%q user_output)
  }
})",
                FuseQuantizedOps().run, R"(program edge {
  graph(%x: i8[2,3] user_input) {
    %permute_copy: i8[3,2] = edge.aten.permute_copy.default(%x, [1,0])
    %view_copy: i8[6] = edge.aten.view_copy.default(%permute_copy, [6])
    return (%view_copy user_output)
  }
})",
                PassTestOps());
}

TEST(FuseQuantizedOpsTest, CatOfTensorsQuantizedAlike) {
  ExpectRewrite(R"(program edge {
  graph(%x: u8[2,3] user_input, %y: u8[1,3] user_input) {
    %a: f32[2,3] = edge.quantized_decomposed.dequantize_per_tensor.default(%x, 0.5, 3, 0, 255, dtype:u8)
    %b: f32[1,3] = edge.quantized_decomposed.dequantize_per_tensor.default(%y, 0.5, 3, 0, 255, dtype:u8)
    %c: f32[3,3] = edge.aten.cat.default([%a, %b])
    %q: u8[3,3] = edge.quantized_decomposed.quantize_per_tensor.default(%c, 0.5, 3, 0, 255, dtype:u8)
    return (%q user_output, %b user_output)
  }
})",
                FuseQuantizedOps().run, R"(program edge {
  graph(%x: u8[2,3] user_input, %y: u8[1,3] user_input) {
    %b: f32[1,3] = edge.quantized_decomposed.dequantize_per_tensor.default(%y, 0.5, 3, 0, 255, dtype:u8)
    %cat: u8[3,3] = edge.aten.cat.default([%x, %y])
    return (%cat user_output, %b user_output)
  }
})",
                PassTestOps());
}

TEST(FuseQuantizedOpsTest, AdditionsAndWhatReluLeavesOfThem) {
  const auto program = [](std::string_view middle) {
    return absl::StrCat(R"(program edge {
  graph(%x: i8[2,3] user_input, %y: i8[2,3] user_input) {
    %a: f32[2,3] = edge.quantized_decomposed.dequantize_per_tensor.default(%x, 0.5, 3, -128, 127, dtype:i8)
    %b: f32[2,3] = edge.quantized_decomposed.dequantize_per_tensor.default(%y, 0.25, -1, -128, 127, dtype:i8)
    %s: f32[2,3] = edge.aten.add.Tensor(%a, %b)
)",
                        std::string(middle), R"(
    return (%q user_output)
  }
})");
  };
  const auto fused = [](int low) {
    return absl::StrCat(R"(program edge {
  graph(%x: i8[2,3] user_input, %y: i8[2,3] user_input) {
    %add: i8[2,3] = edge.quantized_decomposed.add.default(%x, 0.5, 3, -128, 127, %y, 0.25, -1, -128, 127, 0.75, -5, )",
                        low, R"(, 127)
    return (%add user_output)
  }
})");
  };
  ExpectRewrite(
      program(
          "%q: i8[2,3] = edge.quantized_decomposed.quantize_per_tensor.default(%s, 0.75, -5, -128, "
          "127, dtype:i8)"),
      FuseQuantizedOps().run, fused(-128), PassTestOps());
  ExpectRewrite(
      program(
          "%r: f32[2,3] = edge.aten.relu.default(%s)\n"
          "%q: i8[2,3] = edge.quantized_decomposed.quantize_per_tensor.default(%r, 0.75, -5, -128, "
          "127, dtype:i8)"),
      FuseQuantizedOps().run, fused(-5), PassTestOps());
}

TEST(FuseQuantizedOpsTest, EmbeddingsOfQuantizedRows) {
  ExpectRewrite(R"(program edge {
  constants { state "s": f32[5] state "w": i8[5,8] state "z": i64[5] }
  graph(%w: i8[5,8] buffer "w", %s: f32[5] buffer "s", %z: i64[5] buffer "z", %i: i64[3] user_input) {
    %d: f32[5,8] = edge.quantized_decomposed.dequantize_per_channel.default(%w, %s, %z, 0, -128, 127, dtype:i8)
    %e: f32[3,8] = edge.aten.embedding.default(%d, %i)
    return (%e user_output)
  }
})",
                FuseQuantizedOps().run, R"(program edge {
  constants { state "s": f32[5] state "w": i8[5,8] state "z": i64[5] }
  graph(%w: i8[5,8] buffer "w", %s: f32[5] buffer "s", %z: i64[5] buffer "z", %i: i64[3] user_input) {
    %_to_dim_order_copy: f32[5] = edge.dim_order_ops._to_dim_order_copy.default(%z, dtype=dtype:f32, dim_order=[0])
    %embedding_byte: f32[3,8] = edge.quantized_decomposed.embedding_byte.default(%w, %s, %_to_dim_order_copy, -128, 127, %i)
    return (%embedding_byte user_output)
  }
})",
                PassTestOps());
}

constexpr char kGroups[] = R"(program edge {
  constants { state "s": f32[2,2] state "w": i8[2,4] state "z": f32[2,2] }
  graph(%w: i8[2,4] buffer "w", %s: f32[2,2] buffer "s", %z: f32[2,2] buffer "z", %i: i64[3] user_input) {
    %d: f32[2,4] = edge.quantized_decomposed.dequantize_per_channel_group.default(%w, %s, %z, LOW, HIGH, dtype:i8, 2, dtype:f32)
    %e: f32[3,4] = edge.aten.embedding.default(%d, %i)
    return (%e user_output)
  }
})";

// The program with a range and these numbers as weight.
ExportedProgram Grouped(int low, int high, const std::vector<int8_t>& weight) {
  std::string text = kGroups;
  text.replace(text.find("LOW"), 3, absl::StrCat(low));
  text.replace(text.find("HIGH"), 4, absl::StrCat(high));
  ExportedProgram program = ParseOrDie(text, PassTestOps());
  std::vector<std::byte> bytes(weight.size());
  std::memcpy(bytes.data(), weight.data(), bytes.size());
  program.state_dict.insert_or_assign(
      "w", *ConstantTensor::Contiguous(DType::kInt8, {2, 4}, Storage::Own(std::move(bytes))));
  return program;
}

std::vector<int> PackedBytes(const ExportedProgram& program) {
  const TensorView view = program.constants.at("w_packed").view();
  return {view.as<uint8_t>(), view.as<uint8_t>() + view.numel()};
}

TEST(FuseQuantizedOpsTest, SmallRangesArePacked) {
  ExportedProgram four = Grouped(-8, 7, {-8, 7, 0, 1, -1, -2, 3, 4});
  ASSERT_OK(FuseQuantizedOps().run(four).status());
  EXPECT_EQ(four.top().node(four.top().first()).target->name(),
            "quantized_decomposed.embedding_4bit.default");
  EXPECT_THAT(PackedBytes(four), ElementsAre(0x0F, 0x89, 0x76, 0xBC));

  ExportedProgram two = Grouped(-2, 1, {-2, -1, 0, 1, 1, 1, -2, 0});
  ASSERT_OK(FuseQuantizedOps().run(two).status());
  EXPECT_EQ(two.top().node(two.top().first()).target->name(),
            "quantized_decomposed.embedding_2bit.default");
  EXPECT_THAT(PackedBytes(two), ElementsAre(0b11'10'01'00, 0b10'00'11'11));
}

TEST(FuseQuantizedOpsTest, NumbersOutsideOfASmallRangeStayBytes) {
  ExportedProgram program = Grouped(-8, 7, {-9, 7, 0, 1, -1, -2, 3, 4});
  ASSERT_OK_AND_ASSIGN(const bool changed, FuseQuantizedOps().run(program));
  EXPECT_TRUE(changed == (program.top().node(program.top().first()).target->name() ==
                          "quantized_decomposed.embedding_byte.default"));
  EXPECT_TRUE(program.constants.empty());
}

// Dequantize, clone and quantize: of other parameters, a range that clamps, a value that is read
// elsewhere, a scale that does not survive.
constexpr std::pair<const char*, const char*> kOther[] = {
    {"0.5, 3, -128, 127, dtype:i8", "0.5, 4, -128, 127, dtype:i8"},
    {"0.5, 3, -128, 127, dtype:i8", "0.25, 3, -128, 127, dtype:i8"},
    {"0.5, 3, -127, 127, dtype:i8", "0.5, 3, -127, 127, dtype:i8"},
    {"1e-40, 3, -128, 127, dtype:i8", "1e-40, 3, -128, 127, dtype:i8"},
};

TEST(FuseQuantizedOpsTest, WhatWouldChangeNumbersStays) {
  for (const auto& [from, to] : kOther) {
    SCOPED_TRACE(to);
    ExpectUnchanged(absl::StrCat(R"(program edge {
  graph(%x: i8[2,3] user_input) {
    %d: f32[2,3] = edge.quantized_decomposed.dequantize_per_tensor.default(%x, )",
                                 from, R"()
    %c: f32[6] = edge.aten.view_copy.default(%d, [6])
    %q: i8[6] = edge.quantized_decomposed.quantize_per_tensor.default(%c, )",
                                 to, R"()
    return (%q user_output)
  }
})"),
                    FuseQuantizedOps().run, PassTestOps());
  }
}

TEST(FuseQuantizedOpsTest, MovedValuesThatAreReadElsewhereStay) {
  ExpectUnchanged(R"(program edge {
  graph(%x: i8[2,3] user_input) {
    %d: f32[2,3] = edge.quantized_decomposed.dequantize_per_tensor.default(%x, 0.5, 3, -128, 127, dtype:i8)
    %c: f32[6] = edge.aten.view_copy.default(%d, [6])
    %q: i8[6] = edge.quantized_decomposed.quantize_per_tensor.default(%c, 0.5, 3, -128, 127, dtype:i8)
    return (%q user_output, %c user_output)
  }
})",
                  FuseQuantizedOps().run, PassTestOps());
}

TEST(FuseQuantizedOpsTest, AdditionsThatBroadcastOrScaleStay) {
  for (const char* sum : {"%s: f32[2,3] = edge.aten.add.Tensor(%a, %b, alpha=2)",
                          "%t: f32[3] = edge.aten.select_copy.int(%b, 0, 0)\n"
                          "%s: f32[2,3] = edge.aten.add.Tensor(%a, %t)"}) {
    SCOPED_TRACE(sum);
    ExpectUnchanged(absl::StrCat(R"(program edge {
  graph(%x: i8[2,3] user_input, %y: i8[2,3] user_input) {
    %a: f32[2,3] = edge.quantized_decomposed.dequantize_per_tensor.default(%x, 0.5, 3, -128, 127, dtype:i8)
    %b: f32[2,3] = edge.quantized_decomposed.dequantize_per_tensor.default(%y, 0.25, -1, -128, 127, dtype:i8)
    )",
                                 sum, R"(
    %q: i8[2,3] = edge.quantized_decomposed.quantize_per_tensor.default(%s, 0.75, -5, -128, 127, dtype:i8)
    return (%q user_output)
  }
})"),
                    FuseQuantizedOps().run, PassTestOps());
  }
}

}  // namespace
}  // namespace belay::exir
