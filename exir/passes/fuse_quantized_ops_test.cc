#include "exir/passes/fuse_quantized_ops.h"

#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "exir/ir/verifier.h"
#include "exir/passes/pass_testing.h"
#include "exir/testing/program_text.h"
#include "exir/testing/programs.h"
#include "exir/testing/rewrite_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

using ::testing::ElementsAre;

TEST(FuseQuantizedOpsTest, FusesDataMovement) {
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

TEST(FuseQuantizedOpsTest, FusesCatWithEqualParameters) {
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

TEST(FuseQuantizedOpsTest, FusesAddAndAddRelu) {
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

TEST(FuseQuantizedOpsTest, FusesEmbeddingsOfQuantizedRows) {
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

// Returns the program with a range and these numbers as weight.
ExportedProgram Grouped(int low, int high, const std::vector<int8_t>& weight) {
  const std::string text =
      Replaced(kGroups, {{"LOW", absl::StrCat(low)}, {"HIGH", absl::StrCat(high)}});
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

TEST(FuseQuantizedOpsTest, PacksSmallRanges) {
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

TEST(FuseQuantizedOpsTest, DoesNotPackNumbersOutsideASmallRange) {
  for (const int8_t number : {-9, 8}) {
    ExportedProgram program = Grouped(-8, 7, {number, 7, 0, 1, -1, -2, 3, 4});
    ASSERT_OK_AND_ASSIGN(const bool changed, FuseQuantizedOps().run(program));
    EXPECT_TRUE(changed);
    EXPECT_EQ(program.top().node(program.top().first()).target->name(),
              "quantized_decomposed.embedding_byte.default");
    EXPECT_TRUE(program.constants.empty());
  }
}

// Dequantize, clone and quantize: with other parameters, a range that clamps, a value with other
// users, a scale that is not lossless.
constexpr std::pair<const char*, const char*> kOther[] = {
    {"0.5, 3, -128, 127, dtype:i8", "0.5, 4, -128, 127, dtype:i8"},
    {"0.5, 3, -128, 127, dtype:i8", "0.25, 3, -128, 127, dtype:i8"},
    {"0.5, 3, -127, 127, dtype:i8", "0.5, 3, -127, 127, dtype:i8"},
    {"1e-40, 3, -128, 127, dtype:i8", "1e-40, 3, -128, 127, dtype:i8"},
};

TEST(FuseQuantizedOpsTest, KeepsNodesWhoseFusionWouldChangeNumbers) {
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

TEST(FuseQuantizedOpsTest, KeepsMovedValuesWithOtherUsers) {
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

TEST(FuseQuantizedOpsTest, KeepsAdditionsThatBroadcastOrScale) {
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

// Fusion requires known constants, byte dtypes and a single user.
TEST(FuseQuantizedOpsTest, KeepsOperatorsWithoutFusedForm) {
  const std::string per_tensor = "edge.quantized_decomposed.dequantize_per_tensor.default";
  const std::string quantize = "edge.quantized_decomposed.quantize_per_tensor.default";
  const auto program = [](const std::string& nodes) {
    return absl::StrCat(R"(program edge {
  constants { state "w": i8[4,8] state "s": f32[4] state "h": f64[4] state "z": i64[4] state "g": f32[4,2] state "t": f16[4,2] }
  graph(%w: i8[4,8] buffer "w", %s: f32[4] buffer "s", %h: f64[4] buffer "h", %z: i64[4] buffer "z",
        %g: f32[4,2] buffer "g", %t: f16[4,2] buffer "t", %x: i8[2,3] user_input, %y: i8[2,3] user_input,
        %f: f32[2,3] user_input, %k: i32[2,3] user_input, %i: i64[3] user_input, %n: f64[] user_input,
        %m: i8[3,8] user_input) {
)",
                        nodes, "  return (%r user_output)\n } }");
  };
  const std::string q = "0.5, 3, -128, 127, dtype:i8", ints = "0.5, 3, -128, 127, dtype:i32";
  const std::string a = absl::StrCat("%a: f32[2,3] = ", per_tensor, "(%x, ", q, ")\n"),
                    b = absl::StrCat("%b: f32[2,3] = ", per_tensor, "(%y, ", q, ")\n");
  const auto quantized = [&](std::string_view value, std::string_view type, const std::string& to) {
    return absl::StrCat("%r: ", std::string(type), " = ", quantize, "(", std::string(value), ", ",
                        to, ")\n");
  };
  const std::string cases[] = {
      // Quantizes an input; the result of neg; relu of an input, or of a sum used twice.
      quantized("%f", "i8[2,3]", q),
      absl::StrCat(a, "%c: f32[2,3] = edge.aten.neg.default(%a)\n", quantized("%c", "i8[2,3]", q)),
      absl::StrCat("%c: f32[2,3] = edge.aten.relu.default(%f)\n", quantized("%c", "i8[2,3]", q)),
      absl::StrCat(a, b,
                   "%c: f32[2,3] = edge.aten.add.Tensor(%a, %b)\n"
                   "%d: f32[2,3] = edge.aten.relu.default(%c)\n"
                   "%o: f32[2,3] = edge.aten.add.Tensor(%d, %c)\n",
                   quantized("%o", "i8[2,3]", q)),
      // Data movement of an input, of a concatenation, to a dtype that is not a byte.
      absl::StrCat("%c: f32[6] = edge.aten.view_copy.default(%f, [6])\n",
                   quantized("%c", "i8[6]", q)),
      absl::StrCat(a, "%c: f32[4,3] = edge.aten.cat.default([%a, %f])\n",
                   quantized("%c", "i8[4,3]", q)),
      absl::StrCat("%a: f32[2,3] = ", per_tensor, "(%k, ", ints,
                   ")\n%c: f32[6] = edge.aten.view_copy.default(%a, [6])\n",
                   quantized("%c", "i32[6]", ints)),
      // Sums of other operands, and to another dtype than theirs.
      absl::StrCat(a, "%c: f32[2,3] = edge.aten.add.Tensor(%a, %f)\n",
                   quantized("%c", "i8[2,3]", q)),
      absl::StrCat(a, "%c: f32[2,3] = edge.aten.add.Tensor(%f, %a)\n",
                   quantized("%c", "i8[2,3]", q)),
      absl::StrCat(a, b, "%c: f32[2,3] = edge.aten.add.Tensor(%a, %b)\n",
                   quantized("%c", "u8[2,3]", "0.5, 3, 0, 255, dtype:u8")),
      absl::StrCat("%a: f32[2,3] = ", per_tensor, "(%k, ", ints, ")\n",
                   "%c: f32[2,3] = edge.aten.add.Tensor(%a, %a)\n",
                   quantized("%c", "i32[2,3]", ints)),
      // Embeddings of a weight that is not quantized, or to float16, along the other axis, with
      // scales that are converted first.
      "%e: f32[4,8] = edge.quantized_decomposed.dequantize_per_tensor.default(%w, 0.5, 3, -128, "
      "127, "
      "dtype:i8)\n%r: f32[3,8] = edge.aten.embedding.default(%e, %i)\n",
      "%e: f32[4,8] = edge.quantized_decomposed.dequantize_per_channel.default(%w, %s, none, 1, "
      "-128, "
      "127, dtype:i8)\n%r: f32[3,8] = edge.aten.embedding.default(%e, %i)\n",
      "%e: f32[4,8] = edge.quantized_decomposed.dequantize_per_channel.default(%w, %h, none, 0, "
      "-128, "
      "127, dtype:i8)\n%r: f32[3,8] = edge.aten.embedding.default(%e, %i)\n",
      "%e: f16[4,8] = edge.quantized_decomposed.dequantize_per_channel_group.default(%w, %t, none, "
      "-128, 127, dtype:i8, 4, dtype:f16)\n%r: f16[3,8] = edge.aten.embedding.default(%e, %i)\n",
  };
  for (const std::string& nodes : cases) {
    SCOPED_TRACE(nodes);
    ExpectUnchanged(program(nodes), FuseQuantizedOps().run, PassTestOps());
  }
}

// Only constant weights whose rows fill bytes and that are not mutated are packed; otherwise a
// number uses a byte.
TEST(FuseQuantizedOpsTest, DoesNotPackUnsuitableWeights) {
  const auto program = [](std::string_view weight, std::string_view kind, int columns,
                          std::string_view returned) {
    const std::string type = absl::StrCat("i8[2,", columns, "]");
    return absl::StrCat(
        R"(program edge {
  constants { state "s": f32[2,2] state "w": )",
        type, " }\n  graph(%w: ", type, " ", std::string(kind),
        R"(, %s: f32[2,2] buffer "s", %i: i64[3] user_input) {
)",
        std::string(weight), "%d: f32[2,", columns,
        "] = edge.quantized_decomposed.dequantize_per_channel_group.default(%v, %s, "
        "none, -8, 7, dtype:i8, ",
        columns / 2, ", dtype:f32)\n%e: f32[3,", columns,
        "] = edge.aten.embedding.default(%d, %i)\n return (", std::string(returned),
        "%e user_output)\n } }");
  };
  const std::string neg4 = "%v: i8[2,4] = edge.aten.neg.default(%w)\n",
                    same4 = "%v: i8[2,4] = edge.aten.alias_copy.default(%w)\n";
  const auto of = [&](const std::string& text) {
    ExportedProgram fused = ParseOrDie(text, PassTestOps());
    const absl::StatusOr<bool> changed = FuseQuantizedOps().run(fused);
    EXPECT_OK(changed.status());
    std::string ops;
    for (const NodeId id : fused.top().nodes()) {
      absl::StrAppend(&ops, ops.empty() ? "" : " ", fused.top().node(id).target->op());
    }
    return ops;
  };
  const auto direct = [](const std::string& text) {
    return Replaced(text, {{"%v, %s", "%w, %s"}});
  };
  EXPECT_EQ(of(direct(program("", "buffer \"w\"", 4, ""))), "embedding_4bit");
  // Computed; a user input; rows that do not fill bytes; a mutated buffer.
  EXPECT_EQ(of(program(neg4, "buffer \"w\"", 4, "")), "neg embedding_byte");
  EXPECT_EQ(of(direct(program("", "user_input", 4, ""))), "embedding_byte");
  const std::string odd = direct(program("", "buffer \"w\"", 6, ""));
  EXPECT_EQ(of(odd), "embedding_4bit");
  EXPECT_EQ(of(Replaced(odd, {{"-8, 7", "-2, 1"}})), "embedding_byte");
  EXPECT_EQ(of(direct(program("%o: i8[2,4] = edge.aten.neg.default(%w)\n", "buffer \"w\"", 4,
                              "%o buffer_mutation \"w\", "))),
            "neg embedding_byte");
}

// Tables with one scale per row or several. Rows are converted if the table is.
constexpr char kTable[] = R"(program edge {
  constants { state "g": f32[4,2] state "s": f32[4,1] state "w": i8[4,8] state "z": i64[4,1] }
  graph(%g: f32[4,2] buffer "g", %s: f32[4,1] buffer "s", %w: i8[4,8] buffer "w", %z: i64[4,1] buffer "z", %i: i64[3] user_input) {
)";

TEST(FuseQuantizedEmbeddingsTest, FusesRowsWithOneScale) {
  ExpectRewrite(
      absl::StrCat(kTable, R"(
    %d: f32[4,8] = edge.quantized_decomposed.dequantize_per_token.default(%w, %s, %z, -128, 127, dtype:i8, dtype:f32)
    %e: f32[3,8] = edge.aten.embedding.default(%d, %i)
    return (%e user_output)
  }
})"),
      FuseQuantizedEmbeddings().run,
      absl::StrCat(
          kTable,
          R"(    %_to_dim_order_copy: f32[4,1] = edge.dim_order_ops._to_dim_order_copy.default(%z, dtype=dtype:f32, dim_order=[0,1])
    %embedding_byte: f32[3,8] = edge.quantized_decomposed.embedding_byte.default(%w, %s, %_to_dim_order_copy, -128, 127, %i)
    return (%embedding_byte user_output)
  }
})"),
      PassTestOps());
}

TEST(FuseQuantizedEmbeddingsTest, ConvertsRowsOfConvertedTables) {
  ExpectRewrite(
      absl::StrCat(kTable, R"(
    %d: f32[4,8] = edge.quantized_decomposed.dequantize_per_channel_group.default(%w, %g, none, -128, 127, dtype:i8, 4, dtype:f32)
    %h: bf16[4,8] = edge.dim_order_ops._to_dim_order_copy.default(%d, dtype=dtype:bf16, dim_order=[0,1])
    %e: bf16[3,8] = edge.aten.embedding.default(%h, %i)
    return (%e user_output)
  }
})"),
      FuseQuantizedEmbeddings().run,
      absl::StrCat(
          kTable,
          R"(    %embedding_byte: f32[3,8] = edge.quantized_decomposed.embedding_byte.default(%w, %g, none, -128, 127, %i)
    %_to_dim_order_copy: bf16[3,8] = edge.dim_order_ops._to_dim_order_copy.default(%embedding_byte, dtype=dtype:bf16, dim_order=[0,1])
    return (%_to_dim_order_copy user_output)
  }
})"),
      PassTestOps());
}

TEST(FuseQuantizedEmbeddingsTest, FusesProductsInBFloat16) {
  constexpr std::string_view kHead = R"(program edge {
  constants { state "g": bf16[4,2] state "w": i8[4,8] state "z": i8[4,2] }
  graph(%g: bf16[4,2] buffer "g", %w: i8[4,8] buffer "w", %z: i8[4,2] buffer "z", %i: i64[3] user_input) {
)";
  ExpectRewrite(
      absl::StrCat(kHead, R"(
    %v: i8[4,2,4] = edge.aten.view_copy.default(%w, [4,2,4])
    %q: bf16[4,2,4] = edge.dim_order_ops._to_dim_order_copy.default(%v, dtype=dtype:bf16, dim_order=[0,1,2])
    %zv: i8[4,2,1] = edge.aten.view_copy.default(%z, [4,2,1])
    %zb: bf16[4,2,1] = edge.dim_order_ops._to_dim_order_copy.default(%zv, dtype=dtype:bf16, dim_order=[0,1,2])
    %d: bf16[4,2,4] = edge.aten.sub.Tensor(%q, %zb)
    %s: bf16[4,2,1] = edge.aten.view_copy.default(%g, [4,2,1])
    %m: bf16[4,2,4] = edge.aten.mul.Tensor(%d, %s)
    %t: bf16[4,8] = edge.aten.view_copy.default(%m, [4,8])
    %e: bf16[3,8] = edge.aten.embedding.default(%t, %i)
    return (%e user_output)
  }
})"),
      FuseQuantizedEmbeddings().run,
      absl::StrCat(
          kHead,
          R"(    %_to_dim_order_copy: f32[4,2] = edge.dim_order_ops._to_dim_order_copy.default(%z, dtype=dtype:f32, dim_order=[0,1])
    %_to_dim_order_copy_1: f32[4,2] = edge.dim_order_ops._to_dim_order_copy.default(%g, dtype=dtype:f32, dim_order=[0,1])
    %embedding_byte: f32[3,8] = edge.quantized_decomposed.embedding_byte.default(%w, %_to_dim_order_copy_1, %_to_dim_order_copy, -128, 127, %i)
    %_to_dim_order_copy_2: bf16[3,8] = edge.dim_order_ops._to_dim_order_copy.default(%embedding_byte, dtype=dtype:bf16, dim_order=[0,1])
    return (%_to_dim_order_copy_2 user_output)
  }
})"),
      PassTestOps());
}

// A scale per column, a zero point of 32 bits, alpha of 2, a result of float32.
TEST(FuseQuantizedEmbeddingsTest, KeepsOtherProducts) {
  const std::string q =
      "%q: bf16[4,8] = edge.dim_order_ops._to_dim_order_copy.default(%w, dtype=dtype:bf16, "
      "dim_order=[0,1])\n";
  for (const std::string_view rest : {
           "%m: bf16[4,8] = edge.aten.mul.Tensor(%q, %c)\n",
           "%zb: bf16[4,1] = edge.dim_order_ops._to_dim_order_copy.default(%z, dtype=dtype:bf16, "
           "dim_order=[0,1])\n%d: bf16[4,8] = edge.aten.sub.Tensor(%q, %zb)\n%m: bf16[4,8] = "
           "edge.aten.mul.Tensor(%d, %s)\n",
           "%zb: bf16[4,1] = edge.dim_order_ops._to_dim_order_copy.default(%b, dtype=dtype:bf16, "
           "dim_order=[0,1])\n%d: bf16[4,8] = edge.aten.sub.Tensor(%q, %zb, alpha=2)\n%m: "
           "bf16[4,8] = edge.aten.mul.Tensor(%d, %s)\n",
           "%m: f32[4,8] = edge.aten.mul.Tensor(%q, %f)\n",
       }) {
    SCOPED_TRACE(rest);
    const std::string type = rest.find("%m: f32") == std::string_view::npos ? "bf16" : "f32";
    ExpectUnchanged(
        absl::StrCat(R"(program edge {
  constants { state "b": i8[4,1] state "c": bf16[1,8] state "f": f32[4,1] state "s": bf16[4,1] state "w": i8[4,8] state "z": i32[4,1] }
  graph(%b: i8[4,1] buffer "b", %c: bf16[1,8] buffer "c", %f: f32[4,1] buffer "f", %s: bf16[4,1] buffer "s",
        %w: i8[4,8] buffer "w", %z: i32[4,1] buffer "z", %i: i64[3] user_input) {
)",
                     q, std::string(rest), "%e: ", type,
                     "[3,8] = edge.aten.embedding.default(%m, %i)\nreturn (%e user_output) } }"),
        FuseQuantizedEmbeddings().run, PassTestOps());
  }
}

// Returns the operators of the program after the pass.
std::string OpsAfter(const Pass& pass, const std::string& nodes) {
  ExportedProgram program = ParseOrDie(absl::StrCat(kTable, nodes, "} }"), PassTestOps());
  EXPECT_OK(pass.run(program).status());
  EXPECT_OK(Verify(program));
  std::string ops;
  for (const NodeId id : program.top().nodes()) {
    absl::StrAppend(&ops, ops.empty() ? "" : " ", program.top().node(id).target->op());
  }
  return ops;
}

TEST(FuseQuantizedEmbeddingsTest, PacksTablesThatAreOnlyEmbedded) {
  const std::string table =
      "%d: f32[4,8] = edge.quantized_decomposed.dequantize_per_channel_group.default(%w, %g, none, "
      "-8, 7, dtype:i8, 4, dtype:f32)\n%e: f32[3,8] = edge.aten.embedding.default(%d, %i)\n";
  EXPECT_EQ(OpsAfter(FuseQuantizedEmbeddings(), table + "return (%e user_output)"),
            "embedding_4bit");
  // Another method writes to the table.
  EXPECT_EQ(OpsAfter(FuseQuantizedEmbeddings({"w"}), table + "return (%e user_output)"),
            "embedding_byte");
  EXPECT_EQ(OpsAfter(FuseQuantizedOps({"w"}), table + "return (%e user_output)"), "embedding_byte");
  // The table and its integers have other users.
  EXPECT_EQ(OpsAfter(FuseQuantizedEmbeddings(), table + "return (%e user_output, %d user_output)"),
            "dequantize_per_channel_group embedding_byte");
  EXPECT_EQ(OpsAfter(FuseQuantizedEmbeddings(),
                     table + "%t: f32[8,4] = edge.aten.permute_copy.default(%d, [1,0])\n"
                             "return (%e user_output, %t user_output)"),
            "dequantize_per_channel_group embedding_byte permute_copy");
  EXPECT_EQ(OpsAfter(FuseQuantizedEmbeddings(), table + "%n: i8[4,8] = edge.aten.neg.default(%w)\n"
                                                        "return (%e user_output, %n user_output)"),
            "embedding_byte neg");
}

TEST(FuseQuantizedEmbeddingsTest, IgnoresOtherOperators) {
  EXPECT_EQ(OpsAfter(FuseQuantizedEmbeddings(),
                     "%d: f32[4,8] = edge.quantized_decomposed.dequantize_per_tensor.default(%w, "
                     "0.5, 3, -128, 127, dtype:i8)\n"
                     "%v: f32[32] = edge.aten.view_copy.default(%d, [32])\n"
                     "%q: i8[32] = edge.quantized_decomposed.quantize_per_tensor.default(%v, 0.5, "
                     "3, -128, 127, dtype:i8)\nreturn (%q user_output)"),
            "dequantize_per_tensor view_copy quantize_per_tensor");
}

// float32 does not represent all differences from zero points beyond 2^24.
TEST(FuseQuantizedEmbeddingsTest, KeepsTablesWithLargeOrUnknownZeroPoints) {
  const auto program = [](int64_t zero) {
    ExportedProgram made = ParseOrDie(absl::StrCat(kTable, R"(
    %d: f32[4,8] = edge.quantized_decomposed.dequantize_per_token.default(%w, %s, %z, -128, 127, dtype:i8, dtype:f32)
    %e: f32[3,8] = edge.aten.embedding.default(%d, %i)
    return (%e user_output) } })"),
                                      PassTestOps());
    const std::vector<int64_t> zeros = {0, 1, -7, zero};
    std::vector<std::byte> bytes(4 * sizeof(int64_t));
    std::memcpy(bytes.data(), zeros.data(), bytes.size());
    made.state_dict.insert_or_assign(
        "z", *ConstantTensor::Contiguous(DType::kInt64, {4, 1}, Storage::Own(std::move(bytes))));
    return made;
  };
  for (const auto& [zero, fused] : {std::pair(int64_t{1} << 22, true),
                                    {-(int64_t{1} << 22), true},
                                    {(int64_t{1} << 22) + 1, false},
                                    {-(int64_t{1} << 22) - 1, false}}) {
    SCOPED_TRACE(zero);
    ExportedProgram table = program(zero);
    ASSERT_OK_AND_ASSIGN(const bool changed, FuseQuantizedEmbeddings().run(table));
    EXPECT_EQ(changed, fused);
  }
  // A user input; narrow integers are small whatever they are.
  for (const auto& [type, fused] : {std::pair("i64", false), {"i32", false}, {"i8", true}}) {
    SCOPED_TRACE(type);
    ExportedProgram table =
        ParseOrDie(absl::StrCat(R"(program edge {
  constants { state "s": f32[4,1] state "w": i8[4,8] }
  graph(%s: f32[4,1] buffer "s", %w: i8[4,8] buffer "w", %n: )",
                                type, R"([4] user_input, %i: i64[3] user_input) {
    %v: )",
                                type, R"([4,1] = edge.aten.view_copy.default(%n, [4,1])
    %z: i64[4,1] = edge.dim_order_ops._to_dim_order_copy.default(%v, dtype=dtype:i64, dim_order=[0,1])
    %d: f32[4,8] = edge.quantized_decomposed.dequantize_per_token.default(%w, %s, %z, -128, 127, dtype:i8, dtype:f32)
    %e: f32[3,8] = edge.aten.embedding.default(%d, %i)
    return (%e user_output) } })"),
                   PassTestOps());
    ASSERT_OK_AND_ASSIGN(const bool changed, FuseQuantizedEmbeddings().run(table));
    EXPECT_EQ(changed, fused);
  }
}

}  // namespace
}  // namespace belay::exir
