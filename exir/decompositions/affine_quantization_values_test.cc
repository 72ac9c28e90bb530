#include "exir/decompositions/expect_values.h"
#include "gtest/gtest.h"

namespace belay::exir {
namespace {

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kUnimplemented = absl::StatusCode::kUnimplemented;

Values Int8(Sizes64 sizes, std::vector<double> v) { return {DType::kInt8, sizes, v}; }
Values Int16(Sizes64 sizes, std::vector<double> v) { return {DType::kInt16, sizes, v}; }
Values Int32(Sizes64 sizes, std::vector<double> v) { return {DType::kInt32, sizes, v}; }

const ExpectOptions kStatic = {.symbolic = false};

TEST(AffineQuantizationValuesTest, RoundsAndClamps) {
  const Values x = F({2, 4}, {-1000, -0.75, 0.25, 0.75, 1, 2, 3, 1000});
  const Values scale = F({2, 1}, {0.5, 2}), zero = Int32({2, 1}, {3, 0});
  // Per row: 3 + x/0.5, half to even; x/2.
  ExpectValues("torchao.quantize_affine.default(%a, [1,4], %b, %c, dtype:i8)", {x, scale, zero},
               {Int8({2, 4}, {-128, 1, 3, 5, 0, 1, 2, 127})}, kStatic);
  ExpectValues("torchao.quantize_affine.default(%a, [1,4], %b, %c, dtype:u8)", {x, scale, zero},
               {U8({2, 4}, {0, 1, 3, 5, 0, 1, 2, 255})}, kStatic);
  ExpectValues("torchao.quantize_affine.default(%a, [1,4], %b, %c, dtype:i16)", {x, scale, zero},
               {Int16({2, 4}, {-1997, 1, 3, 5, 0, 1, 2, 500})}, kStatic);
  ExpectValues("torchao.quantize_affine.default(%a, [1,4], %b, %c, dtype:i32)", {x, scale, zero},
               {Int32({2, 4}, {-1997, 1, 3, 5, 0, 1, 2, 500})}, kStatic);
  ExpectValues("torchao.quantize_affine.default(%a, [1,4], %b, %c, dtype:i8, -8, 7)",
               {x, scale, zero}, {Int8({2, 4}, {-8, 1, 3, 5, 0, 1, 2, 7})}, kStatic);
  ExpectValues("torchao.quantize_affine.default(%a, [1,4], %b, %c, dtype:i8, none, 4)",
               {x, scale, zero}, {Int8({2, 4}, {-128, 1, 3, 4, 0, 1, 2, 4})}, kStatic);
}

TEST(AffineQuantizationValuesTest, SupportsAnyBlockShape) {
  const Values x = F({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  // One scale per element, per column, and for all.
  ExpectValues("torchao.quantize_affine.default(%a, [1,1], %b, %c, dtype:i8)",
               {x, F({2, 4}, {1, 1, 1, 1, 1, 1, 1, 4}), Int32({2, 4}, {0, 0, 0, 0, 0, 0, 0, 1})},
               {Int8({2, 4}, {1, 2, 3, 4, 5, 6, 7, 3})}, kStatic);
  ExpectValues("torchao.quantize_affine.default(%a, [2,1], %b, %c, dtype:i8)",
               {x, F({1, 4}, {1, 2, 1, 4}), Int32({1, 4}, {0, 0, 1, 0})},
               {Int8({2, 4}, {1, 1, 4, 1, 5, 3, 8, 2})}, kStatic);
  ExpectValues("torchao.quantize_affine.default(%a, [2,4], %b, %c, dtype:i8)",
               {x, F({}, {2}), Int32({}, {1})}, {Int8({2, 4}, {1, 2, 3, 3, 3, 4, 5, 5})}, kStatic);
  ExpectValues("torchao.quantize_affine.default(%a, [], %b, %c, dtype:i8)",
               {F({}, {6}), F({}, {2}), Int32({}, {1})}, {Int8({}, {4})});
}

TEST(AffineQuantizationValuesTest, RejectsInvalidBlocksAndLimits) {
  const Values x = F({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  const Values scale = F({2, 1}, {1, 1}), zero = Int32({2, 1}, {0, 0}), y = Int8({2, 4}, {});
  const auto refused = [&](std::string_view call, absl::StatusCode code, std::string_view message,
                           const Values& result) {
    ExpectDecompositionError(call, {x, scale, zero}, {result}, code, message);
  };
  refused("torchao.quantize_affine.default(%a, [4], %b, %c, dtype:i8)", kInvalid,
          "block_size: expected 2 sizes, got 1", y);
  refused("torchao.quantize_affine.default(%a, [1,3], %b, %c, dtype:i8)", kInvalid,
          "block_size: expected a divisor of 4 at dimension 1, got 3", y);
  refused("torchao.quantize_affine.default(%a, [0,4], %b, %c, dtype:i8)", kInvalid,
          "block_size: expected a divisor of 2 at dimension 0, got 0", y);
  refused("torchao.quantize_affine.default(%a, [-2,4], %b, %c, dtype:i8)", kInvalid,
          "block_size: expected a divisor of 2 at dimension 0, got -2", y);
  refused("torchao.quantize_affine.default(%a, [1,4], %b, %c, dtype:i8, -129, 7)", kInvalid,
          "expected limits that int8 holds, got -129 and 7", y);
  refused("torchao.quantize_affine.default(%a, [1,4], %b, %c, dtype:u8, 0, 256)", kInvalid,
          "expected limits that uint8 holds, got 0 and 256", U8({2, 4}, {}));
  refused("torchao.quantize_affine.default(%a, [1,4], %b, %c, dtype:i64)", kUnimplemented,
          "quantization to int64", I({2, 4}, {}));
  refused("torchao.quantize_affine.default(%a, [1,4], %b, none, dtype:i8)", kUnimplemented,
          "quantize_affine without a zero point", y);
  refused("torchao.dequantize_affine.default(%a, [1,3], %b, %c, dtype:i8)", kInvalid,
          "block_size: expected a divisor of 4", F({2, 4}, {}));
}

TEST(AffineQuantizationValuesTest, DequantizesToAnyDtype) {
  const Values x = Int8({2, 4}, {-128, 127, 3, 4, 5, 6, 7, 8});
  const Values scale = F({2, 1}, {0.5, 2}), zero = Int8({2, 1}, {1, -1});
  const std::vector<double> expected = {-64.5, 63, 1, 1.5, 12, 14, 16, 18};
  const auto call = [](const std::string& rest) {
    return "torchao.dequantize_affine.default(%a, [1,4], %b, " + rest + ")";
  };
  ExpectValues(call("%c, dtype:i8"), {x, scale, zero}, {F({2, 4}, expected)}, kStatic);
  ExpectValues(call("%c, dtype:i8, output_dtype=dtype:f64"), {x, scale, zero},
               {D({2, 4}, expected)}, kStatic);
  ExpectValues(call("%c, dtype:i8, output_dtype=dtype:f16"), {x, scale, zero},
               {H({2, 4}, expected)}, kStatic);
  ExpectValues(call("none, dtype:i8"), {x, scale}, {F({2, 4}, {-64, 63.5, 1.5, 2, 10, 12, 14, 16})},
               kStatic);
  ExpectValues(call("%c, dtype:i8"), {x, D({2, 1}, {0.5, 2}), zero}, {F({2, 4}, expected)},
               kStatic);
  // Unsigned, and wider.
  ExpectValues(call("%c, dtype:u8"), {U8({2, 4}, {0, 255, 3, 4, 5, 6, 7, 8}), scale, zero},
               {F({2, 4}, {-0.5, 127, 1, 1.5, 12, 14, 16, 18})}, kStatic);
  ExpectValues(call("%c, dtype:i16"), {Int16({2, 4}, {-999, 255, 3, 4, 5, 6, 7, 8}), scale, zero},
               {F({2, 4}, {-500, 127, 1, 1.5, 12, 14, 16, 18})}, kStatic);
  // Blocks without a single-node form: rank 3 with groups, one per element, a scalar.
  ExpectValues("torchao.dequantize_affine.default(%a, [1,1,2], %b, %c, dtype:i8)",
               {Int8({1, 1, 4}, {1, 2, 3, 4}), F({1, 1, 2}, {0.5, 2}), Int8({1, 1, 2}, {1, -1})},
               {F({1, 1, 4}, {0, 0.5, 8, 10})}, kStatic);
  ExpectValues("torchao.dequantize_affine.default(%a, [1,1], %b, %c, dtype:i8)",
               {Int8({1, 2}, {1, 2}), F({1, 2}, {0.5, 2}), Int8({1, 2}, {1, -1})},
               {F({1, 2}, {0, 6})}, kStatic);
  ExpectValues("torchao.dequantize_affine.default(%a, [], %b, %c, dtype:i8)",
               {Int8({}, {5}), F({}, {0.5}), Int8({}, {1})}, {F({}, {2})});
}

TEST(AffineQuantizationValuesTest, ComputesScalesFromValues) {
  const Values x = F({2, 4}, {-2, 1, 0, 6, 1, 2, 3, 5.1});
  const auto call = [](const std::string& mapping, const std::string& rest) {
    return "torchao.choose_qparams_affine.default(%a, \"" + mapping + "\", [1,4], " + rest + ")";
  };
  // (6 + 2) / 255 and 5.1 / 255: the range always includes zero.
  const double wide = 8.0 / 255, narrow = 5.1 / 255;
  ExpectValues(call("ASYMMETRIC", "dtype:u8"), {x}, {F({2}, {wide, narrow}), Int32({2}, {64, 0})},
               kStatic);
  ExpectValues(call("ASYMMETRIC", "dtype:i8"), {x},
               {F({2}, {wide, narrow}), Int32({2}, {-64, -128})}, kStatic);
  ExpectValues(call("ASYMMETRIC", "dtype:i8, keepdim=true"), {x},
               {F({2, 1}, {wide, narrow}), Int32({2, 1}, {-64, -128})}, kStatic);
  ExpectValues(call("SYMMETRIC", "dtype:i8"), {x},
               {F({2}, {6 / 127.5, 5.1 / 127.5}), F({2}, {0, 0})}, kStatic);
  ExpectValues(call("SYMMETRIC", "dtype:u8, zero_point_dtype=dtype:i64"), {x},
               {F({2}, {6 / 127.5, 5.1 / 127.5}), I({2}, {128, 128})}, kStatic);
  // The larger of -2 / -4 and 6 / 3, and of 0 and 5.1 / 3.
  ExpectValues(call("SYMMETRIC_NO_CLIPPING_ERR", "dtype:i8, -4, 3, scale_dtype=dtype:f64"), {x},
               {D({2}, {2, 1.7}), F({2}, {0, 0})}, kStatic);
  ExpectValues(call("SYMMETRIC_NO_CLIPPING_ERR", "dtype:i8, -1, 7"), {F({1, 4}, {-2, 1, 0, 7})},
               {F({1}, {2}), F({1}, {3})}, kStatic);
}

// The scale of an all-zero block is not 0.
TEST(AffineQuantizationValuesTest, ScalesHaveLowerBound) {
  const auto call = [](const std::string& block, const std::string& rest) {
    return "torchao.choose_qparams_affine.default(%a, \"SYMMETRIC\", " + block + ", dtype:i8" +
           rest + ")";
  };
  ExpectOptions exact = kStatic;
  exact.atol = 0;
  ExpectValues(call("[2]", ""), {F({2}, {0, 0})}, {F({}, {0x1p-126}), F({}, {0})}, exact);
  ExpectValues(call("[2]", ""), {D({2}, {0, 0})}, {D({}, {0x1p-1022}), D({}, {0})}, exact);
  ExpectValues(call("[2]", ""), {H({2}, {0, 0})}, {H({}, {0x1p-14}), H({}, {0})}, exact);
  ExpectValues(call("[2]", ", eps=0.25"), {F({2}, {0, 1})}, {F({}, {0.25}), F({}, {0})}, exact);
  // Blocks of one element.
  ExpectValues(call("[1]", ", eps=0.25"), {F({2}, {0, -255})}, {F({2}, {0.25, 2}), F({2}, {0, 0})},
               exact);
}

TEST(AffineQuantizationValuesTest, RejectsUnsupportedMappings) {
  const Values x = F({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  const auto refused = [&](std::string_view call, absl::StatusCode code, std::string_view message) {
    ExpectDecompositionError(call, {x}, {F({2}, {}), F({2}, {})}, code, message);
  };
  refused("torchao.choose_qparams_affine.default(%a, \"OTHER\", [1,4], dtype:i8)", kInvalid,
          "mapping_type: expected SYMMETRIC, SYMMETRIC_NO_CLIPPING_ERR or ASYMMETRIC, got OTHER");
  refused("torchao.choose_qparams_affine.default(none, \"SYMMETRIC\", [1,4], dtype:i8)",
          kUnimplemented, "choose_qparams_affine without an input");
  refused("torchao.choose_qparams_affine.default(%a, \"SYMMETRIC\", [1,4], dtype:f32)",
          kUnimplemented, "quantization to float32");
  refused("torchao.choose_qparams_affine.default(%a, \"SYMMETRIC\", [2,3], dtype:i8)", kInvalid,
          "block_size: expected a divisor of 4");
}

}  // namespace
}  // namespace belay::exir
