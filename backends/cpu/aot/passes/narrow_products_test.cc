#include "backends/cpu/aot/passes/narrow_products.h"

#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "backends/cpu/aot/passes/cpu_pass_testing.h"
#include "exir/ir/text.h"
#include "exir/testing/programs.h"
#include "exir/testing/rewrite_test.h"
#include "gtest/gtest.h"

namespace belay::cpu {
namespace {

void ExpectNarrowed(std::string_view before, std::string_view after) {
  exir::ExpectRewrite(before, NarrowProducts().run, after, CpuPassTestOps());
}

TEST(NarrowProductsTest, RoundsOperandsAndWidensTheResult) {
  ExpectNarrowed(R"(program edge {
  constants { state "w": f32[4,3] state "b": f32[3] }
  graph(%w: f32[4,3] parameter "w", %b: f32[3] parameter "b", %x: f32[2,4] user_input) {
    %y: f32[2,3] = edge.aten.addmm.default(%b, %x, %w)  handle=1
    %z: f32[2,3] = edge.aten.exp.default(%y)  handle=2
    return (%y user_output, %z user_output)
  }
})",
                 R"(program edge {
  constants { constant "b_bf16_0": bf16[3] constant "w_bf16_0": bf16[4,3] }
  graph(%w_bf16_0: bf16[4,3] tensor_constant "w_bf16_0", %b_bf16_0: bf16[3] tensor_constant "b_bf16_0",
        %x: f32[2,4] user_input) {
    %narrow: bf16[2,4] = edge.dim_order_ops._to_dim_order_copy.default(%x, dtype=dtype:bf16, dim_order=[0,1])  handle=1
    %y: bf16[2,3] = edge.aten.addmm.default(%b_bf16_0, %narrow, %w_bf16_0)  handle=1
    %wide: f32[2,3] = edge.dim_order_ops._to_dim_order_copy.default(%y, dtype=dtype:f32, dim_order=[0,1])  handle=1
    %z: f32[2,3] = edge.aten.exp.default(%wide)  handle=2
    return (%wide user_output, %z user_output)
  }
})");
}

TEST(NarrowProductsTest, ResizesInBFloat16) {
  ExpectNarrowed(R"(program edge {
  constants { state "w": f32[4,4,1,1] }
  graph(%w: f32[4,4,1,1] parameter "w", %x: f32[1,4,3,3] user_input) {
    %y: f32[1,4,3,3] = edge.aten.convolution.default(%x, %w, none, [1,1], [0,0], [1,1], false, [0,0], 1)
    %u: f32[1,4,6,6] = edge.aten.upsample_bilinear2d.vec(%y, [6,6], false, none)
    return (%u user_output)
  }
})",
                 R"(program edge {
  constants { constant "w_bf16_0": bf16[4,4,1,1] }
  graph(%w_bf16_0: bf16[4,4,1,1] tensor_constant "w_bf16_0", %x: f32[1,4,3,3] user_input) {
    %narrow: bf16[1,4,3,3] = edge.dim_order_ops._to_dim_order_copy.default(%x, dtype=dtype:bf16, dim_order=[0,1,2,3])
    %y: bf16[1,4,3,3] = edge.aten.convolution.default(%narrow, %w_bf16_0, none, [1,1], [0,0], [1,1], false, [0,0], 1)
    %u: bf16[1,4,6,6] = edge.aten.upsample_bilinear2d.vec(%y, [6,6], false, none)
    %wide_1: f32[1,4,6,6] = edge.dim_order_ops._to_dim_order_copy.default(%u, dtype=dtype:f32, dim_order=[0,1,2,3])
    return (%wide_1 user_output)
  }
})");
}

// FuseEpilogues makes the activation a part of the matmul.
TEST(NarrowProductsTest, RoundsDecomposedActivationsOnce) {
  ExpectNarrowed(R"(program edge {
  constants { state "w": f32[4,4] }
  graph(%w: f32[4,4] parameter "w", %x: f32[2,4] user_input) {
    %y: f32[2,4] = edge.aten.mm.default(%x, %w)  handle=1
    %s: f32[2,4] = edge.aten.sigmoid.default(%y)  handle=2
    %m: f32[2,4] = edge.aten.mul.Tensor(%y, %s)  handle=3
    %z: f32[2,4] = edge.aten.mm.default(%m, %w)  handle=4
    return (%z user_output)
  }
})",
                 R"(program edge {
  constants { constant "w_bf16_0": bf16[4,4] }
  graph(%w_bf16_0: bf16[4,4] tensor_constant "w_bf16_0", %x: f32[2,4] user_input) {
    %narrow: bf16[2,4] = edge.dim_order_ops._to_dim_order_copy.default(%x, dtype=dtype:bf16, dim_order=[0,1])  handle=1
    %y: bf16[2,4] = edge.aten.mm.default(%narrow, %w_bf16_0)  handle=1
    %wide: f32[2,4] = edge.dim_order_ops._to_dim_order_copy.default(%y, dtype=dtype:f32, dim_order=[0,1])  handle=1
    %s: f32[2,4] = edge.aten.sigmoid.default(%wide)  handle=2
    %m: f32[2,4] = edge.aten.mul.Tensor(%wide, %s)  handle=3
    %narrow_1: bf16[2,4] = edge.dim_order_ops._to_dim_order_copy.default(%m, dtype=dtype:bf16, dim_order=[0,1])  handle=3
    %z: bf16[2,4] = edge.aten.mm.default(%narrow_1, %w_bf16_0)  handle=4
    %wide_2: f32[2,4] = edge.dim_order_ops._to_dim_order_copy.default(%z, dtype=dtype:f32, dim_order=[0,1])  handle=4
    return (%wide_2 user_output)
  }
})");
}

// Permuted weights are rounded in place, inputs of several matmuls once.
TEST(NarrowProductsTest, RoundsEachInputOnce) {
  ExpectNarrowed(R"(program edge {
  constants { state "w": f32[3,4] }
  graph(%w: f32[3,4] parameter "w", %x: f32[2,4] user_input) {
    %t: f32[4,3]{strides=[1,4]} = edge.aten.permute_copy.default(%w, [1,0])
    %y: f32[2,3] = edge.aten.mm.default(%x, %t)  handle=1
    %z: f32[2,3] = edge.aten.mm.default(%x, %t)  handle=2
    return (%y user_output, %z user_output)
  }
})",
                 R"(program edge {
  constants { constant "w_bf16_0": bf16[4,3] }
  graph(%w_bf16_0: bf16[4,3] tensor_constant "w_bf16_0", %x: f32[2,4] user_input) {
    %narrow: bf16[2,4] = edge.dim_order_ops._to_dim_order_copy.default(%x, dtype=dtype:bf16, dim_order=[0,1])  handle=1
    %y: bf16[2,3] = edge.aten.mm.default(%narrow, %w_bf16_0)  handle=1
    %wide: f32[2,3] = edge.dim_order_ops._to_dim_order_copy.default(%y, dtype=dtype:f32, dim_order=[0,1])  handle=1
    %z: bf16[2,3] = edge.aten.mm.default(%narrow, %w_bf16_0)  handle=2
    %wide_1: f32[2,3] = edge.dim_order_ops._to_dim_order_copy.default(%z, dtype=dtype:f32, dim_order=[0,1])  handle=2
    return (%wide user_output, %wide_1 user_output)
  }
})");
}

// Rounds before reshapes, once for all reshapes of a value.
TEST(NarrowProductsTest, RoundsBeforeReshapes) {
  ExpectNarrowed(R"(program edge {
  constants { state "w": f32[4,3] }
  graph(%w: f32[4,3] parameter "w", %x: f32[2,5,4] user_input) {
    %b: f32[10,4] = edge.aten.view_copy.default(%x, [10,4])  handle=1
    %v: f32[2,20] = edge.aten.view_copy.default(%x, [2,20])  handle=2
    %a: f32[10,4] = edge.aten.view_copy.default(%v, [10,4])  handle=3
    %y: f32[10,3] = edge.aten.mm.default(%a, %w)  handle=4
    %z: f32[10,3] = edge.aten.mm.default(%b, %w)  handle=5
    return (%y user_output, %z user_output)
  }
})",
                 R"(program edge {
  constants { constant "w_bf16_0": bf16[4,3] }
  graph(%w_bf16_0: bf16[4,3] tensor_constant "w_bf16_0", %x: f32[2,5,4] user_input) {
    %narrow: bf16[2,5,4] = edge.dim_order_ops._to_dim_order_copy.default(%x, dtype=dtype:bf16, dim_order=[0,1,2])  handle=4
    %b_1: bf16[10,4] = edge.aten.view_copy.default(%narrow, [10,4])  handle=1
    %v_1: bf16[2,20] = edge.aten.view_copy.default(%narrow, [2,20])  handle=2
    %a_1: bf16[10,4] = edge.aten.view_copy.default(%v_1, [10,4])  handle=3
    %y: bf16[10,3] = edge.aten.mm.default(%a_1, %w_bf16_0)  handle=4
    %wide: f32[10,3] = edge.dim_order_ops._to_dim_order_copy.default(%y, dtype=dtype:f32, dim_order=[0,1])  handle=4
    %z: bf16[10,3] = edge.aten.mm.default(%b_1, %w_bf16_0)  handle=5
    %wide_1: f32[10,3] = edge.dim_order_ops._to_dim_order_copy.default(%z, dtype=dtype:f32, dim_order=[0,1])  handle=5
    return (%wide user_output, %wide_1 user_output)
  }
})");
}

// Between two matmuls, values are widened only for users that need float32.
TEST(NarrowProductsTest, FollowersStayBFloat16) {
  ExpectNarrowed(R"(program edge {
  constants { state "w": f32[8,8,1,1] }
  graph(%w: f32[8,8,1,1] parameter "w", %x: f32[1,8,4,4] user_input) {
    %a: f32[1,8,4,4] = edge.aten.convolution.default(%x, %w, none, [1,1], [0,0], [1,1], false, [0,0], 1)  handle=1
    %r: f32[1,8,4,4] = edge.aten.relu.default(%a)  handle=2
    %m: f32[1,8,2,2], %i: i64[1,8,2,2] = edge.aten.max_pool2d_with_indices.default(%r, [2,2], [2,2])  handle=3
    %b: f32[1,8,2,2] = edge.aten.convolution.default(%m, %w, none, [1,1], [0,0], [1,1], false, [0,0], 1)  handle=4
    %s: f32[1,8,2,2] = edge.aten.add.Tensor(%b, %m)  handle=5
    %v: f32[1,32] = edge.aten.view_copy.default(%s, [1,32])  handle=6
    %c: f32[2,32] = edge.aten.cat.default([%v, %v])  handle=7
    %p: f32[32,2] = edge.aten.permute_copy.default(%c, [1,0])  handle=8
    %e: f32[32,2] = edge.aten.exp.default(%p)  handle=9
    return (%e user_output)
  }
})",
                 R"(program edge {
  constants { constant "w_bf16_0": bf16[8,8,1,1] }
  graph(%w_bf16_0: bf16[8,8,1,1] tensor_constant "w_bf16_0", %x: f32[1,8,4,4] user_input) {
    %narrow: bf16[1,8,4,4] = edge.dim_order_ops._to_dim_order_copy.default(%x, dtype=dtype:bf16, dim_order=[0,1,2,3])  handle=1
    %a: bf16[1,8,4,4] = edge.aten.convolution.default(%narrow, %w_bf16_0, none, [1,1], [0,0], [1,1], false, [0,0], 1)  handle=1
    %r: bf16[1,8,4,4] = edge.aten.relu.default(%a)  handle=2
    %m: bf16[1,8,2,2], %i: i64[1,8,2,2] = edge.aten.max_pool2d_with_indices.default(%r, [2,2], [2,2])  handle=3
    %b: bf16[1,8,2,2] = edge.aten.convolution.default(%m, %w_bf16_0, none, [1,1], [0,0], [1,1], false, [0,0], 1)  handle=4
    %s: bf16[1,8,2,2] = edge.aten.add.Tensor(%b, %m)  handle=5
    %v_1: bf16[1,32] = edge.aten.view_copy.default(%s, [1,32])  handle=6
    %c: bf16[2,32] = edge.aten.cat.default([%v_1,%v_1])  handle=7
    %wide_5: f32[2,32] = edge.dim_order_ops._to_dim_order_copy.default(%c, dtype=dtype:f32, dim_order=[0,1])  handle=7
    %p: f32[32,2] = edge.aten.permute_copy.default(%wide_5, [1,0])  handle=8
    %e: f32[32,2] = edge.aten.exp.default(%p)  handle=9
    return (%e user_output)
  }
})");
}

TEST(NarrowProductsTest, KeepsOperatorsWithoutBFloat16Kernel) {
  for (std::string_view node : {
           // Not constant, not float32, or without known sizes.
           "%y: f32[8,8] = edge.aten.mm.default(%x, %x)",
           "%y: f32[8,8] = edge.aten.mm.default(%x, %c8)",
           "%e: f32[s0,8] = edge.aten.expand_copy.default(%b1, [%k,8])\n"
           "%y: f32[8,8] = edge.aten.mm.default(%xk, %e)",
           // Not a tensor, another dtype, or a batch.
           "%y: f32[8,8] = edge.aten.mm.default(2.0, %w8)",
           "%y: f32[8,8] = edge.aten.mm.default(%half, %w8)",
           "%y: f16[8,8] = edge.aten.mm.default(%half, %half)",
           "%y: f32[1,8,8] = edge.aten.bmm.default(%batch, %batch)",
           // Integers, without a matmul.
           "%y: i64[8,8] = edge.aten.add.Tensor(%n, %n)",
           "%y: f32[8,8] = edge.aten.div.Tensor(%n, %n)",
           // Rows of an odd length.
           "%y: f32[8,7] = edge.aten.mm.default(%odd, %w7)",
           // A factor, or a bias that is not constant or not a row.
           "%y: f32[8,8] = edge.aten.addmm.default(%b, %x, %w8, alpha=2)",
           "%y: f32[8,8] = edge.aten.addmm.default(%b, %x, %w8, beta=2)",
           "%y: f32[8,8] = edge.aten.addmm.default(%row, %x, %w8)",
           "%y: f32[8,8] = edge.aten.addmm.default(%w8, %x, %w8)",
           // Narrow groups, odd channels, also of a transposition, other ranks, a computed bias.
           "%y: f32[1,16,2,2] = edge.aten.convolution.default(%i16, %d, none, [1,1], [0,0], [1,1], "
           "false, [0,0], 4)",
           "%y: f32[8,2,2] = edge.aten.convolution.default(%i, %f, none, [1,1], [0,0], [1,1], "
           "false, [0,0], 1)",
           "%y: f32[1,8,2,2] = edge.aten.convolution.default(%i9, %o, none, [1,1], [0,0], [1,1], "
           "true, [0,0], 1)",
           "%y: f32[1,8,2,2] = edge.aten.convolution.default(%i9, %g, none, [1,1], [0,0], [1,1], "
           "false, [0,0], 1)",
           "%y: f32[1,8,2] = edge.aten.convolution.default(%l, %h, none, [1], [0], [1], false, "
           "[0], 1)",
           "%y: f32[1,8,2,2] = edge.aten.convolution.default(%i8, %f, %row, [1,1], [0,0], [1,1], "
           "false, [0,0], 1)",
       }) {
    ExpectLeftAsItIs(absl::StrCat(R"(program edge {
  ranges { s0: [1,9] }
  constants { state "w7": f32[7,7] state "w8": f32[8,8] state "b": f32[8] state "d": f32[16,4,1,1]
              state "f": f32[8,8,1,1] state "g": f32[8,9,1,1] state "h": f32[8,8,1]
              state "b1": f32[1,8] state "c8": f16[8,8] state "o": f32[9,8,1,1] }
  graph(%w7: f32[7,7] parameter "w7", %w8: f32[8,8] parameter "w8", %b: f32[8] parameter "b",
        %b1: f32[1,8] parameter "b1", %c8: f16[8,8] parameter "c8",
        %d: f32[16,4,1,1] parameter "d", %o: f32[9,8,1,1] parameter "o", %f: f32[8,8,1,1] parameter "f",
        %g: f32[8,9,1,1] parameter "g", %h: f32[8,8,1] parameter "h", %x: f32[8,8] user_input,
        %odd: f32[8,7] user_input, %row: f32[8] user_input, %i8: f32[1,8,2,2] user_input,
        %i9: f32[1,9,2,2] user_input, %l: f32[1,8,2] user_input, %half: f16[8,8] user_input,
        %batch: f32[1,8,8] user_input, %n: i64[8,8] user_input, %k: symint(s0) user_input,
        %xk: f32[8,s0] user_input, %i16: f32[1,16,2,2] user_input, %i: f32[8,2,2] user_input) {
    )",
                                  node, R"(
    return (%y user_output)
  }
})"),
                     NarrowProducts().run);
  }
}

// Results of matmuls are permuted in bfloat16; other values are rounded after the permutation.
TEST(NarrowProductsTest, PermutesNarrowedResultsInBFloat16) {
  ExpectNarrowed(R"(program edge {
  constants { state "w": f32[4,4] }
  graph(%w: f32[4,4] parameter "w", %x: f32[4,4] user_input) {
    %p: f32[4,4] = edge.aten.permute_copy.default(%x, [1,0])  handle=1
    %y: f32[4,4] = edge.aten.mm.default(%p, %w)  handle=2
    %q: f32[4,4] = edge.aten.permute_copy.default(%y, [1,0])  handle=3
    %z: f32[4,4] = edge.aten.mm.default(%q, %w)  handle=4
    return (%z user_output)
  }
})",
                 R"(program edge {
  constants { constant "w_bf16_0": bf16[4,4] }
  graph(%w_bf16_0: bf16[4,4] tensor_constant "w_bf16_0", %x: f32[4,4] user_input) {
    %p: f32[4,4] = edge.aten.permute_copy.default(%x, [1,0])  handle=1
    %narrow: bf16[4,4] = edge.dim_order_ops._to_dim_order_copy.default(%p, dtype=dtype:bf16, dim_order=[0,1])  handle=2
    %y: bf16[4,4] = edge.aten.mm.default(%narrow, %w_bf16_0)  handle=2
    %q_1: bf16[4,4] = edge.aten.permute_copy.default(%y, [1,0])  handle=3
    %z: bf16[4,4] = edge.aten.mm.default(%q_1, %w_bf16_0)  handle=4
    %wide_1: f32[4,4] = edge.dim_order_ops._to_dim_order_copy.default(%z, dtype=dtype:f32, dim_order=[0,1])  handle=4
    return (%wide_1 user_output)
  }
})");
}

// Integer operands are unchanged.
TEST(NarrowProductsTest, FollowersKeepIntegerOperands) {
  ExpectNarrowed(R"(program edge {
  constants { state "w": f32[4,4] }
  graph(%w: f32[4,4] parameter "w", %x: f32[2,4] user_input, %n: i64[2,4] user_input) {
    %y: f32[2,4] = edge.aten.mm.default(%x, %w)  handle=1
    %m: f32[2,4] = edge.aten.mul.Tensor(%n, %y)  handle=2
    return (%m user_output)
  }
})",
                 R"(program edge {
  constants { constant "w_bf16_0": bf16[4,4] }
  graph(%w_bf16_0: bf16[4,4] tensor_constant "w_bf16_0", %x: f32[2,4] user_input, %n: i64[2,4] user_input) {
    %narrow: bf16[2,4] = edge.dim_order_ops._to_dim_order_copy.default(%x, dtype=dtype:bf16, dim_order=[0,1])  handle=1
    %y: bf16[2,4] = edge.aten.mm.default(%narrow, %w_bf16_0)  handle=1
    %m: bf16[2,4] = edge.aten.mul.Tensor(%n, %y)  handle=2
    %wide_1: f32[2,4] = edge.dim_order_ops._to_dim_order_copy.default(%m, dtype=dtype:f32, dim_order=[0,1])  handle=2
    return (%wide_1 user_output)
  }
})");
}

// If the result's layout is not a memory format, its float32 conversion has another one; users get
// that.
TEST(NarrowProductsTest, DoesNotFollowOtherLayouts) {
  ExpectNarrowed(R"(program edge {
  constants { state "w": f32[4,4] }
  graph(%w: f32[4,4] parameter "w", %x: f32[2,4] user_input) {
    %y: f32[2,4] = edge.aten.mm.default(%x, %w)  handle=1
    %p: f32[4,2]{strides=[1,4]} = edge.aten.permute_copy.default(%y, [1,0])  handle=2
    %n: f32[4,2]{strides=[1,4]} = edge.aten.neg.default(%p)  handle=3
    %a: f32[4,2] = edge.aten.abs.default(%n)  handle=4
    return (%a user_output)
  }
})",
                 R"(program edge {
  constants { constant "w_bf16_0": bf16[4,4] }
  graph(%w_bf16_0: bf16[4,4] tensor_constant "w_bf16_0", %x: f32[2,4] user_input) {
    %narrow: bf16[2,4] = edge.dim_order_ops._to_dim_order_copy.default(%x, dtype=dtype:bf16, dim_order=[0,1])  handle=1
    %y: bf16[2,4] = edge.aten.mm.default(%narrow, %w_bf16_0)  handle=1
    %p_1: bf16[4,2]{strides=[1,4]} = edge.aten.permute_copy.default(%y, [1,0])  handle=2
    %n: bf16[4,2]{strides=[1,4]} = edge.aten.neg.default(%p_1)  handle=3
    %wide_1: f32[4,2] = edge.dim_order_ops._to_dim_order_copy.default(%n, dtype=dtype:f32, dim_order=[0,1])  handle=3
    %a: f32[4,2] = edge.aten.abs.default(%wide_1)  handle=4
    return (%a user_output)
  }
})");
}

// Looks through a limited number of reshapes.
TEST(NarrowProductsTest, LooksThroughAtMostSixteenReshapes) {
  // Returns the rounded value, for this number of reshapes.
  const auto rounded = [](int reshapes) {
    std::string text = R"(program edge {
  constants { state "w": f32[4,4] }
  graph(%w: f32[4,4] parameter "w", %x: f32[4,4] user_input) {
)";
    std::string last = "x";
    for (int i = 0; i < reshapes; ++i) {
      absl::StrAppend(&text, "%v", i, ": f32[4,4] = edge.aten.view_copy.default(%", last,
                      ", [4,4])\n");
      last = absl::StrCat("v", i);
    }
    absl::StrAppend(&text, "%y: f32[4,4] = edge.aten.mm.default(%", last, R"(, %w)
    return (%y user_output)
  }
})");
    exir::ExportedProgram program = exir::ParseOrDie(text, CpuPassTestOps());
    EXPECT_TRUE(NarrowProducts().run(program).value());
    const exir::NodeId narrow = exir::FindNode(program.top(), "narrow");
    return program.top().value(*program.top().node(narrow).value_argument("self")).name;
  };
  EXPECT_EQ(rounded(16), "x");
  EXPECT_EQ(rounded(17), "v0");
}

// Operators without a narrowed operand stay, and so do sums with float32 or wider operands,
// softmax, factors, and explicit dtypes.
TEST(NarrowProductsTest, KeepsFloat32Operators) {
  ExpectNarrowed(R"(program edge {
  constants { state "w": f32[4,4] }
  graph(%w: f32[4,4] parameter "w", %x: f32[2,4] user_input, %d: f64[2,4] user_input) {
    %r: f32[2,4] = edge.aten.relu.default(%x)  handle=1
    %y: f32[2,4] = edge.aten.mm.default(%r, %w)  handle=2
    %s: f32[2,4] = edge.aten.add.Tensor(%y, %r)  handle=3
    %t: f32[2,4] = edge.aten._softmax.default(%y, 1, false)  handle=4
    %m: f32[2] = edge.aten.mean.dim(%y, [1], dtype=dtype:f32)  handle=5
    %q: f32[2,4] = edge.aten.mul.Scalar(%y, 0.125)  handle=6
    %u: f64[2,4] = edge.aten.add.Tensor(%y, %d)  handle=7
    %v: f32[2,4] = edge.aten.sub.Tensor(%r, %y)  handle=8
    return (%s user_output, %t user_output, %m user_output, %q user_output, %u user_output, %v user_output)
  }
})",
                 R"(program edge {
  constants { constant "w_bf16_0": bf16[4,4] }
  graph(%w_bf16_0: bf16[4,4] tensor_constant "w_bf16_0", %x: f32[2,4] user_input, %d: f64[2,4] user_input) {
    %r: f32[2,4] = edge.aten.relu.default(%x)  handle=1
    %narrow: bf16[2,4] = edge.dim_order_ops._to_dim_order_copy.default(%r, dtype=dtype:bf16, dim_order=[0,1])  handle=2
    %y: bf16[2,4] = edge.aten.mm.default(%narrow, %w_bf16_0)  handle=2
    %wide: f32[2,4] = edge.dim_order_ops._to_dim_order_copy.default(%y, dtype=dtype:f32, dim_order=[0,1])  handle=2
    %s: f32[2,4] = edge.aten.add.Tensor(%wide, %r)  handle=3
    %t: f32[2,4] = edge.aten._softmax.default(%wide, 1, false)  handle=4
    %m: f32[2] = edge.aten.mean.dim(%wide, [1], dtype=dtype:f32)  handle=5
    %q: f32[2,4] = edge.aten.mul.Scalar(%wide, 0.125)  handle=6
    %u: f64[2,4] = edge.aten.add.Tensor(%wide, %d)  handle=7
    %v: f32[2,4] = edge.aten.sub.Tensor(%r, %wide)  handle=8
    return (%s user_output, %t user_output, %m user_output, %q user_output, %u user_output, %v user_output)
  }
})");
}

}  // namespace
}  // namespace belay::cpu
