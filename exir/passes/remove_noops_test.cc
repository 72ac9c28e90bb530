#include "exir/passes/remove_noops.h"

#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "exir/passes/pass_testing.h"
#include "exir/testing/rewrite_test.h"
#include "gtest/gtest.h"

namespace belay::exir {
namespace {

TEST(RemoveNoopsTest, RemovesCopyToTheSameType) {
  ExpectRewrite(R"(program aten {
  graph(%x: f32[2] user_input) {
    %y: f32[2] = aten._to_copy.default(%x, dtype=dtype:f32)
    %z: f32[2] = aten.relu.default(%y)
    return (%z user_output)
  }
})",
                RemoveNoops().run, R"(program aten {
  graph(%x: f32[2] user_input) {
    %z: f32[2] = aten.relu.default(%x)
    return (%z user_output)
  }
})",
                PassTestOps());
}

TEST(RemoveNoopsTest, RemovesSliceOfTheWhole) {
  ExpectRewrite(R"(program aten {
  graph(%x: f32[4,3] user_input) {
    %y: f32[4,3] = aten.slice_copy.Tensor(%x, 0, 0, 9223372036854775807)
    %z: f32[4,3] = aten.relu.default(%y)
    return (%z user_output)
  }
})",
                RemoveNoops().run, R"(program aten {
  graph(%x: f32[4,3] user_input) {
    %z: f32[4,3] = aten.relu.default(%x)
    return (%z user_output)
  }
})",
                PassTestOps());
}

// x → dequantize → slice of the whole → quantize with `zero_point` → y → z
std::string Requantized(std::string_view zero_point, std::string_view low) {
  return absl::StrCat(R"(program aten {
  graph(%x: i8[4] user_input) {
    %f: f32[4] = quantized_decomposed.dequantize_per_tensor.default(%x, 0.5, 3, )",
                      std::string(low), R"(, 127, dtype:i8)
    %s: f32[4] = aten.slice_copy.Tensor(%f, 0, 0, 9223372036854775807)
    %q: i8[4] = quantized_decomposed.quantize_per_tensor.default(%s, 0.5, )",
                      std::string(zero_point), R"(, )", std::string(low), R"(, 127, dtype:i8)
    %z: f32[4] = quantized_decomposed.dequantize_per_tensor.default(%q, 0.5, 3, -128, 127, dtype:i8)
    return (%z user_output)
  }
})");
}

TEST(RemoveNoopsTest, RemovesQuantisationOfWhatWasDequantisedTheSameWay) {
  ExpectRewrite(Requantized("3", "-128"), RemoveNoops().run, R"(program aten {
  graph(%x: i8[4] user_input) {
    %f: f32[4] = quantized_decomposed.dequantize_per_tensor.default(%x, 0.5, 3, -128, 127, dtype:i8)
    %z: f32[4] = quantized_decomposed.dequantize_per_tensor.default(%x, 0.5, 3, -128, 127, dtype:i8)
    return (%z user_output)
  }
})",
                PassTestOps());
}

TEST(RemoveNoopsTest, KeepsQuantisationWithOtherParametersOrThatClamps) {
  for (const auto& [zero_point, low] : {std::pair("4", "-128"), std::pair("3", "-127")}) {
    ExpectRewrite(Requantized(zero_point, low), RemoveNoops().run,
                  absl::StrCat(R"(program aten {
  graph(%x: i8[4] user_input) {
    %f: f32[4] = quantized_decomposed.dequantize_per_tensor.default(%x, 0.5, 3, )",
                               low, R"(, 127, dtype:i8)
    %q: i8[4] = quantized_decomposed.quantize_per_tensor.default(%f, 0.5, )",
                               zero_point, ", ", low, R"(, 127, dtype:i8)
    %z: f32[4] = quantized_decomposed.dequantize_per_tensor.default(%q, 0.5, 3, -128, 127, dtype:i8)
    return (%z user_output)
  }
})"),
                  PassTestOps());
  }
}

TEST(RemoveNoopsTest, AReturnedSliceOfTheWholeIsItsInput) {
  ExpectRewrite(R"(program aten {
  constants { state "b": f32[4,3] }
  graph(%b: f32[4,3] buffer "b", %x: f32[4,3] user_input) {
    %y: f32[4,3] = aten.slice_copy.Tensor(%x, 0, 0, 9223372036854775807)
    %z: f32[4,3] = aten.slice_copy.Tensor(%x, 0, 0, 9223372036854775807)
    return (%y buffer_mutation "b", %z user_output)
  }
})",
                RemoveNoops().run, R"(program aten {
  constants { state "b": f32[4,3] }
  graph(%b: f32[4,3] buffer "b", %x: f32[4,3] user_input) {
    %y: f32[4,3] = aten.slice_copy.Tensor(%x, 0, 0, 9223372036854775807)
    return (%y buffer_mutation "b", %x user_output)
  }
})",
                PassTestOps());
}

TEST(RemoveNoopsTest, KeepsWhatGivesAnotherTensor) {
  ExpectUnchanged(R"(program aten {
  graph(%x: f32[4] user_input) {
    %h: f16[4] = aten._to_copy.default(%x, dtype=dtype:f16)
    %s: f32[2] = aten.slice_copy.Tensor(%x, 0, 0, 2)
    %y: f16[4] = aten.neg.default(%h)
    %z: f32[2] = aten.neg.default(%s)
    return (%y user_output, %z user_output)
  }
})",
                  RemoveNoops().run, PassTestOps());
}

TEST(RemoveNoopsTest, KeepsCopyToAnotherTypeAndReturnedCopies) {
  ExpectUnchanged(R"(program aten {
  graph(%x: f32[2] user_input) {
    %y: f16[2] = aten._to_copy.default(%x, dtype=dtype:f16)
    %z: f32[2] = aten._to_copy.default(%x, dtype=dtype:f32)
    return (%y user_output, %z user_output)
  }
})",
                  RemoveNoops().run, PassTestOps());
}

}  // namespace
}  // namespace belay::exir
