#include "exir/passes/remove_noops.h"

#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "exir/passes/pass_testing.h"
#include "exir/testing/programs.h"
#include "exir/testing/rewrite_test.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

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

// x -> dequantize -> slice of the whole -> quantize with `zero_point` -> y -> z
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

TEST(RemoveNoopsTest, RemovesRequantizationWithEqualParameters) {
  ExpectRewrite(Requantized("3", "-128"), RemoveNoops().run, R"(program aten {
  graph(%x: i8[4] user_input) {
    %f: f32[4] = quantized_decomposed.dequantize_per_tensor.default(%x, 0.5, 3, -128, 127, dtype:i8)
    %z: f32[4] = quantized_decomposed.dequantize_per_tensor.default(%x, 0.5, 3, -128, 127, dtype:i8)
    return (%z user_output)
  }
})",
                PassTestOps());
}

TEST(RemoveNoopsTest, KeepsRequantizationThatClampsOrHasOtherParameters) {
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

TEST(RemoveNoopsTest, ReturnedSliceOfTheWholeIsItsInput) {
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

TEST(RemoveNoopsTest, KeepsNodesThatReturnAnotherTensor) {
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

TEST(RemoveNoopsTest, RemovesCastsAndDropoutThatDoNothing) {
  ExpectRewrite(R"(program training {
  graph(%x: f32[2] user_input) {
    %a: f32[2] = aten.to.dtype(%x, dtype:f32)
    %b: f32[2] = aten.dropout.default(%a, 0.5, false)
    %c: f32[2] = aten.dropout.default(%b, 0.5, true)
    %z: f32[2] = aten.relu.default(%c)
    return (%z user_output)
  }
})",
                RemoveNoops().run, R"(program training {
  graph(%x: f32[2] user_input) {
    %c: f32[2] = aten.dropout.default(%x, 0.5, true)
    %z: f32[2] = aten.relu.default(%c)
    return (%z user_output)
  }
})",
                PassTestOps());
}

// Everything that a user can observe of a tensor must be equal.
TEST(RemoveNoopsTest, KeepsCopiesToOtherStridesDevicesAndLayouts) {
  for (const char* copy :
       {"f32[2,2] = aten._to_copy.default(%x, memory_format=format:contiguous)",
        "f32[2,2]{strides=[1,2],device=cuda:0} = aten._to_copy.default(%x, device=device:cuda:0)",
        "f32[2,2]{strides=[1,2],layout=sparse_coo} = aten._to_copy.default(%x, "
        "layout=layout:sparse_coo)"}) {
    SCOPED_TRACE(copy);
    ExpectUnchanged(
        absl::StrCat("program aten { graph(%x: f32[2,2]{strides=[1,2]} user_input) {\n%y: ", copy,
                     "\n%z: f32[2,2] = aten.relu.default(%y)\n", "return (%z user_output) } }"),
        RemoveNoops().run, PassTestOps());
  }
}

// Scalars in place of tensors, literal and symbolic.
TEST(RemoveNoopsTest, KeepsNodesThatCreateATensorFromAScalar) {
  ExpectUnchanged(R"(program aten {
  ranges { s0: [1, 8] }
  graph(%n: symint(s0) user_input) {
    %a: i64[] = aten._to_copy.default(2, dtype=dtype:i64)
    %b: i64[] = aten._to_copy.default(%n, dtype=dtype:i64)
    %z: i64[] = aten.add.Tensor(%a, %b)
    return (%z user_output)
  }
})",
                  RemoveNoops().run, PassTestOps());
}

// The new state of a buffer must differ from its source, wherever else it is returned.
TEST(RemoveNoopsTest, KeepsSliceReturnedAsState) {
  for (const char* returned : {"%y buffer_mutation \"b\", %y user_output, %y user_output",
                               "%y user_output, %y buffer_mutation \"b\", %y user_output"}) {
    SCOPED_TRACE(returned);
    ExpectUnchanged(absl::StrCat(R"(program aten {
  constants { state "b": f32[4] }
  graph(%b: f32[4] buffer "b", %x: f32[4] user_input) {
    %y: f32[4] = aten.slice_copy.Tensor(%x, 0, 0, 9223372036854775807)
    return ()",
                                 returned, ") } }"),
                    RemoveNoops().run, PassTestOps());
  }
}

// Returns the remaining operators of x -> dequantize -> slice of the whole -> quantize, with
// `parameters` at both ends.
std::string OpsThatStay(std::string_view input, std::string_view parameters,
                        std::string_view result = "i8[2,2]",
                        std::string_view returned = "%z user_output") {
  ExportedProgram program = ParseOrDie(
      absl::StrCat("program aten { ranges { s0: [1, 8] } graph(%x: ", input,
                   " user_input, %n: symint(s0) user_input) {\n%f: f32[2,2] = "
                   "quantized_decomposed.dequantize_per_tensor.default(%x, ",
                   parameters,
                   ")\n%s: f32[2,2] = aten.slice_copy.Tensor(%f, 0, 0, 9223372036854775807)\n%q: ",
                   result, " = quantized_decomposed.quantize_per_tensor.default(%s, ", parameters,
                   ")\n%z: i8[2,2] = aten.neg.default(%q)\nreturn (", returned, ") } }"),
      PassTestOps());
  const absl::StatusOr<bool> changed = RemoveNoops().run(program);
  EXPECT_OK(changed.status());
  std::string ops;
  for (const NodeId id : program.top().nodes()) {
    absl::StrAppend(&ops, ops.empty() ? "" : " ", program.top().node(id).target->op());
  }
  return ops;
}

TEST(RemoveNoopsTest, RemovesRequantizationWithoutClamping) {
  constexpr char kGone[] = "dequantize_per_tensor neg";
  constexpr char kStays[] = "dequantize_per_tensor quantize_per_tensor neg";
  EXPECT_EQ(OpsThatStay("i8[2,2]", "0.5, 3, -128, 127, dtype:i8"), kGone);
  EXPECT_EQ(OpsThatStay("u8[2,2]", "0.5, 3, 0, 255, dtype:u8", "u8[2,2]"), kGone);
  for (const char* parameters :
       {"0.5, 3, 1, 255, dtype:u8", "0.5, 3, 0, 254, dtype:u8", "0.5, 3, 0, %n, dtype:u8",
        "0.5, 3, %n, 255, dtype:u8", "0.5, 3, 0, 255, none"}) {
    EXPECT_EQ(OpsThatStay("u8[2,2]", parameters, "u8[2,2]"), kStays) << parameters;
  }
  EXPECT_EQ(OpsThatStay("i8[2,2]", "0.5, 3, -128, 126, dtype:i8"), kStays);
  EXPECT_EQ(OpsThatStay("i16[2,2]", "0.5, 3, -32768, 32767, dtype:i16", "i16[2,2]"), kStays);
  // A tensor with another layout; not a tensor; returned.
  EXPECT_EQ(OpsThatStay("i8[2,2]{strides=[1,2]}", "0.5, 3, -128, 127, dtype:i8"), kStays);
  EXPECT_EQ(OpsThatStay("symint(s0)", "0.5, 3, -128, 127, dtype:i8"), kStays);
  EXPECT_EQ(OpsThatStay("i8[2,2]", "0.5, 3, -128, 127, dtype:i8", "i8[2,2]",
                        "%z user_output, %q user_output"),
            kStays);
}

// Pairs without a node between them, several in a row, and a range that the producer ensures.
TEST(RemoveNoopsTest, FoldsAllPairsOfDequantizeAndQuantize) {
  ExpectRewrite(R"(program aten {
  graph(%x: f32[4] user_input) {
    %q: i8[4] = quantized_decomposed.quantize_per_tensor.default(%x, 0.5, 3, -100, 100, dtype:i8)
    %f: f32[4] = quantized_decomposed.dequantize_per_tensor.default(%q, 0.5, 3, -127, 127, dtype:i8)
    %r: i8[4] = quantized_decomposed.quantize_per_tensor.default(%f, 0.5, 3, -127, 127, dtype:i8)
    %g: f32[4] = quantized_decomposed.dequantize_per_tensor.default(%r, 0.5, 3, -127, 127, dtype:i8)
    %s: i8[4] = quantized_decomposed.quantize_per_tensor.default(%g, 0.5, 3, -127, 127, dtype:i8)
    %n: i8[4] = aten.neg.default(%s)
    return (%n user_output)
  }
})",
                RemoveNoops().run, R"(program aten {
  graph(%x: f32[4] user_input) {
    %q: i8[4] = quantized_decomposed.quantize_per_tensor.default(%x, 0.5, 3, -100, 100, dtype:i8)
    %f: f32[4] = quantized_decomposed.dequantize_per_tensor.default(%q, 0.5, 3, -127, 127, dtype:i8)
    %g: f32[4] = quantized_decomposed.dequantize_per_tensor.default(%q, 0.5, 3, -127, 127, dtype:i8)
    %n: i8[4] = aten.neg.default(%q)
    return (%n user_output)
  }
})",
                PassTestOps());
}

// The pair clamps, has other parameters, or its input has unknown numbers.
TEST(RemoveNoopsTest, KeepsPairsThatMayChangeNumbers) {
  for (const char* parameters : {"0.5, 3, -99, 100, dtype:i8", "0.5, 3, -100, 99, dtype:i8",
                                 "0.25, 3, -128, 127, dtype:i8"}) {
    ExpectUnchanged(absl::StrCat(R"(program aten {
  graph(%x: f32[4] user_input) {
    %q: i8[4] = quantized_decomposed.quantize_per_tensor.default(%x, 0.5, 3, -100, 100, dtype:i8)
    %f: f32[4] = quantized_decomposed.dequantize_per_tensor.default(%q, 0.5, 3, -128, 127, dtype:i8)
    %r: i8[4] = quantized_decomposed.quantize_per_tensor.default(%f, )",
                                 parameters, R"()
    %n: i8[4] = aten.neg.default(%r)
    return (%n user_output)
  }
})"),
                    RemoveNoops().run, PassTestOps());
  }
  ExpectUnchanged(R"(program aten {
  graph(%q: i8[4] user_input) {
    %f: f32[4] = quantized_decomposed.dequantize_per_tensor.default(%q, 0.5, 3, -100, 100, dtype:i8)
    %r: i8[4] = quantized_decomposed.quantize_per_tensor.default(%f, 0.5, 3, -100, 100, dtype:i8)
    %n: i8[4] = aten.neg.default(%r)
    return (%n user_output)
  }
})",
                  RemoveNoops().run, PassTestOps());
}

// Other users of the dequantized numbers keep them; a literal has no producer.
TEST(RemoveNoopsTest, KeepsDequantizeNodesWithOtherUsers) {
  ExpectRewrite(R"(program aten {
  graph(%x: i8[4] user_input) {
    %f: f32[4] = quantized_decomposed.dequantize_per_tensor.default(%x, 0.5, 3, -128, 127, dtype:i8)
    %s: f32[4] = aten.slice_copy.Tensor(%f, 0, 0, 9223372036854775807)
    %r: f32[4] = aten.relu.default(%s)
    %q: i8[4] = quantized_decomposed.quantize_per_tensor.default(%s, 0.5, 3, -128, 127, dtype:i8)
    %z: i8[4] = aten.neg.default(%q)
    %l: f32[] = quantized_decomposed.dequantize_per_tensor.default(2, 0.5, 3, -128, 127, dtype:i8)
    %m: f32[] = aten._to_copy.default(%l, dtype=dtype:f32)
    %k: i8[] = quantized_decomposed.quantize_per_tensor.default(%m, 0.5, 3, -128, 127, dtype:i8)
    %o: i8[] = aten.neg.default(%k)
    %t: f32[4] = aten.slice_copy.Tensor(%r, 0, 0, 9223372036854775807)
    %u: f32[4] = aten.neg.default(%t)
    return (%z user_output, %o user_output, %u user_output)
  }
})",
                RemoveNoops().run, R"(program aten {
  graph(%x: i8[4] user_input) {
    %f: f32[4] = quantized_decomposed.dequantize_per_tensor.default(%x, 0.5, 3, -128, 127, dtype:i8)
    %r: f32[4] = aten.relu.default(%f)
    %z: i8[4] = aten.neg.default(%x)
    %l: f32[] = quantized_decomposed.dequantize_per_tensor.default(2, 0.5, 3, -128, 127, dtype:i8)
    %k: i8[] = quantized_decomposed.quantize_per_tensor.default(%l, 0.5, 3, -128, 127, dtype:i8)
    %o: i8[] = aten.neg.default(%k)
    %u: f32[4] = aten.neg.default(%r)
    return (%z user_output, %o user_output, %u user_output)
  }
})",
                PassTestOps());
}

}  // namespace
}  // namespace belay::exir
