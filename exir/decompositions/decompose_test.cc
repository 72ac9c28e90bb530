#include "exir/decompositions/decompose.h"

#include <string>
#include <vector>

#include "exir/decompositions/expect_values.h"
#include "exir/ops/standard_ops.h"
#include "exir/testing/programs.h"
#include "exir/testing/rewrite_test.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

const OpRegistry& Ops() {
  static const OpRegistry& ops = *CreateStandardOps().value().release();
  return ops;
}

TEST(DecompositionTableTest, EveryRowHasSchema) {
  for (std::string_view op : StandardDecompositions().Ops()) {
    const OpOverload* overload = Ops().Find(op);
    ASSERT_NE(overload, nullptr) << op;
    EXPECT_NE(overload->schema(), nullptr) << op;
    EXPECT_EQ(StandardDecompositions().Find(overload)->op, op);
    // Except for written lists, which become writes to tensors.
    const bool list = overload->schema()->arguments[0].type.list;
    EXPECT_FALSE(overload->schema()->IsMutable() && !list)
        << op << ": functionalization comes first";
  }
}

TEST(DecomposeTest, LinearIsPermuteAndAddmm) {
  ExpectRewrite(R"(program aten {
  constants {
    state "w": f32[3,2]
    state "b": f32[3]
  }
  graph(%w: f32[3,2] parameter "w", %b: f32[3] parameter "b", %x: f32[4,2] user_input) {
    %y: f32[4,3] = aten.linear.default(%x, %w, %b)
    return (%y user_output)
  }
})",
                Decompose().run, R"(program aten {
  constants {
    state "b": f32[3]
    state "w": f32[3,2]
  }
  graph(%w: f32[3,2] parameter "w", %b: f32[3] parameter "b", %x: f32[4,2] user_input) {
    %permute: f32[2,3]{strides=[1,2]} = aten.permute.default(%w, [1,0])
    %y: f32[4,3] = aten.addmm.default(%b, %x, %permute) name="addmm"
    return (%y user_output)
  }
})",
                Ops());
}

TEST(DecomposeTest, TransposedMatrixTimesVectorIsVectorTimesMatrix) {
  ExpectRewrite(R"(program aten {
  graph(%a: f32[3,2] user_input, %v: f32[3] user_input) {
    %t: f32[2,3]{strides=[1,2]} = aten.permute.default(%a, [1,0])
    %y: f32[2] = aten.mv.default(%t, %v)
    return (%y user_output, %t user_output)
  }
})",
                Decompose().run, R"(program aten {
  graph(%a: f32[3,2] user_input, %v: f32[3] user_input) {
    %t: f32[2,3]{strides=[1,2]} = aten.permute.default(%a, [1,0])
    %unsqueeze: f32[1,3] = aten.unsqueeze.default(%v, 0)
    %mm: f32[1,2] = aten.mm.default(%unsqueeze, %a)
    %y: f32[2] = aten.squeeze.dims(%mm, [0]) name="squeeze"
    return (%y user_output, %t user_output)
  }
})",
                Ops());
}

// Exporters prove equalities of sizes that Belay assumes.
TEST(DecomposeTest, MatMulAcceptsSizesThatMayBeEqual) {
  ExportedProgram program = ParseOrDie(R"(program aten {
  ranges { s0: [2, 8] s1: [2, 8] s2: [2, 8] s3: [2, 8] }
  graph(%x: f32[s0,2,3,s1] user_input, %y: f32[s2,2,s3,5] user_input) {
    %z: f32[s0,2,3,5] = aten.matmul.default(%x, %y)
    return (%z user_output)
  }
})",
                                       Ops());
  EXPECT_OK(Decompose().run(program).status());
}

TEST(DecomposeTest, ComputesSymbolicSizesAtTheStart) {
  ExpectRewrite(R"(program aten {
  ranges { s0: [1, 8] }
  graph(%x: f32[s0,3,2] user_input) {
    %r: f32[s0,3,2] = aten.relu.default(%x)
    %y: f32[3*s0,2] = aten.flatten.using_ints(%r, 0, 1)
    return (%y user_output)
  }
})",
                Decompose().run, R"(program aten {
  ranges { s0: [1, 8] }
  graph(%x: f32[s0,3,2] user_input) {
    %sym_size: symint(s0) = aten.sym_size.int(%x, 0)
    %mul: symint(3*s0) = _operator.mul(3, %sym_size)
    %r: f32[s0,3,2] = aten.relu.default(%x)
    %y: f32[3*s0,2] = aten.view.default(%r, [%mul,2]) name="view"
    return (%y user_output)
  }
})",
                Ops());
}

TEST(DecomposeTest, SolvesForSymbolInsideExpression) {
  ExpectRewrite(
      R"(program aten {
  ranges { s0: [1, 8] }
  graph(%x: f32[2*s0 + 1] user_input) {
    %y: f32[s0,s0] = aten.eye.default(4)
    return (%y user_output)
  }
})",
      [](ExportedProgram& program) -> absl::StatusOr<bool> {
        GraphEditor editor(program.top());
        OpBuilder b(program, editor);
        const NodeId eye = program.top().first();
        b.MoveTo(eye);
        const SymExpr s0 = SymExpr::Symbol("s0");
        const Argument full =
            b.Call("aten.full.default", {{s0, s0}, 0.0}, {{"dtype", DType::kFloat32}});
        if (!b.ok()) return b.status();
        editor.ReplaceAllUses(program.top().node(eye).results()[0], full);
        editor.EraseNode(eye);
        return true;
      },
      R"(program aten {
  ranges { s0: [1, 8] }
  graph(%x: f32[2*s0 + 1] user_input) {
    %sym_size: symint(2*s0 + 1) = aten.sym_size.int(%x, 0)
    %sub: symint(2*s0) = _operator.sub(%sym_size, 1)
    %floordiv: symint(s0) = _operator.floordiv(%sub, 2)
    %full: f32[s0,s0] = aten.full.default([%floordiv,%floordiv], 0.0, dtype=dtype:f32)
    return (%full user_output)
  }
})",
      Ops());
}

TEST(DecomposeTest, EdgeProgramsGetEdgeOperators) {
  ExpectRewrite(R"(program edge {
  graph(%w: f32[3,2] user_input, %x: f32[4,2] user_input) {
    %y: f32[4,3] = edge.aten.linear.default(%x, %w)
    return (%y user_output)
  }
})",
                Decompose().run, R"(program edge {
  graph(%w: f32[3,2] user_input, %x: f32[4,2] user_input) {
    %permute_copy: f32[2,3] = edge.aten.permute_copy.default(%w, [1,0])
    %y: f32[4,3] = edge.aten.mm.default(%x, %permute_copy) name="mm"
    return (%y user_output)
  }
})",
                Ops());
}

// A single node for any number of steps; the weight is transposed before it.
TEST(DecomposeTest, LongRecurrencesBecomeScans) {
  ExpectRewrite(R"(program aten {
  ranges { s0: [1, 9000] }
  graph(%x: f32[s0,2,3] user_input, %h: f32[1,2,4] user_input, %wx: f32[4,3] user_input, %wh: f32[4,4] user_input, %bx: f32[4] user_input, %bh: f32[4] user_input) {
    %y: f32[s0,2,4], %last: f32[1,2,4] = aten.rnn_tanh.input(%x, %h, [%wx,%wh,%bx,%bh], true, 1, 0.0, false, false, false)
    return (%y user_output, %last user_output)
  }
})",
                Decompose().run, R"(program aten {
  ranges { s0: [1, 9000] }
  graph(%x: f32[s0,2,3] user_input, %h: f32[1,2,4] user_input, %wx: f32[4,3] user_input, %wh: f32[4,4] user_input, %bx: f32[4] user_input, %bh: f32[4] user_input) {
    %sym_size: symint(s0) = aten.sym_size.int(%x, 0)
    %mul: symint(2*s0) = _operator.mul(2, %sym_size)
    %permute: f32[3,4]{strides=[1,3]} = aten.permute.default(%wx, [1,0])
    %view: f32[2*s0,3] = aten.view.default(%x, [%mul,3])
    %addmm: f32[2*s0,4] = aten.addmm.default(%bx, %view, %permute)
    %view_1: f32[s0,2,4] = aten.view.default(%addmm, [%sym_size,2,4])
    %select: f32[2,4] = aten.select.int(%h, 0, 0)
    %permute_1: f32[4,4]{strides=[1,4]} = aten.permute.default(%wh, [1,0])
    %scan: f32[2,4], %y: f32[s0,2,4] = higher_order.scan(graph#1, [%select], [%view_1], [%permute_1,%bh])
    %unsqueeze: f32[1,2,4] = aten.unsqueeze.default(%scan, 0)
    %last: f32[1,2,4] = aten.cat.default([%unsqueeze]) name="cat"
    return (%y user_output, %last user_output)
  }
  graph rnn_tanh_l0(%input: f32[2,4], %input_1: f32[2,4], %input_2: f32[4,4], %input_3: f32[4]) {
    %addmm: f32[2,4] = aten.addmm.default(%input_3, %input, %input_2)
    %add: f32[2,4] = aten.add.Tensor(%addmm, %input_1)
    %tanh: f32[2,4] = aten.tanh.default(%add)
    return (%tanh, %tanh)
  }
})",
                Ops());
}

TEST(DecomposeTest, InferenceDropoutIsIdentity) {
  ExpectRewrite(R"(program training {
  graph(%x: f32[2] user_input) {
    %d: f32[2] = aten.dropout.default(%x, 0.5, false)
    %y: f32[2] = aten.relu.default(%d)
    return (%y user_output)
  }
})",
                Decompose().run, R"(program training {
  graph(%x: f32[2] user_input) {
    %y: f32[2] = aten.relu.default(%x)
    return (%y user_output)
  }
})",
                Ops());
}

TEST(DecomposeTest, DecomposesRecursively) {
  ExpectRewrite(R"(program aten {
  graph(%x: f32[2] user_input, %y: f32[2] user_input) {
    %z: f32[2,2] = aten.stack.default([%x,%y], 1)
    return (%z user_output)
  }
})",
                Decompose().run, R"(program aten {
  graph(%x: f32[2] user_input, %y: f32[2] user_input) {
    %unsqueeze: f32[2,1] = aten.unsqueeze.default(%x, 1)
    %unsqueeze_1: f32[2,1] = aten.unsqueeze.default(%y, 1)
    %z: f32[2,2] = aten.cat.default([%unsqueeze,%unsqueeze_1], 1) name="cat"
    return (%z user_output)
  }
})",
                Ops());
}

TEST(DecomposeTest, KeepsNodesSelectedByFilter) {
  DecomposeOptions options;
  options.keep = [](const ExportedProgram& program, GraphId graph, NodeId node) {
    return program.graphs[graph].node(node).name == "kept";
  };
  ExpectRewrite(R"(program aten {
  graph(%x: f32[2] user_input) {
    %kept: f32[2] = aten.silu.default(%x)
    %y: f32[2] = aten.silu.default(%kept)
    return (%y user_output)
  }
})",
                Decompose(options).run, R"(program aten {
  graph(%x: f32[2] user_input) {
    %kept: f32[2] = aten.silu.default(%x)
    %sigmoid: f32[2] = aten.sigmoid.default(%kept)
    %y: f32[2] = aten.mul.Tensor(%kept, %sigmoid) name="mul"
    return (%y user_output)
  }
})",
                Ops());
}

TEST(DecomposeTest, KeepsCoreOperators) {
  ExpectUnchanged(R"(program aten {
  graph(%x: f32[2] user_input) {
    %y: f32[2] = aten.relu.default(%x)
    return (%y user_output)
  }
})",
                  Decompose().run, Ops());
}

TEST(DecomposeTest, ErrorNamesTheNode) {
  ExpectPassError(R"(program aten {
  graph(%x: f32[2,2] user_input) {
    %y: f32[2,2] = aten.celu.default(%x, 0)
    return (%y user_output)
  }
})",
                  Decompose().run, absl::StatusCode::kInvalidArgument,
                  "at %y: f32[2,2] = aten.celu", Ops());
}

TEST(DecomposeTest, ChecksListLengths) {
  const auto expect = [](std::string_view call, const std::vector<Values>& inputs,
                         std::string_view message) {
    ExpectDecompositionError(call, inputs, {F({1}, {0})}, absl::StatusCode::kInvalidArgument,
                             message);
  };
  const Values image = Random({1, 1, 4, 4}), signal = Random({1, 2, 5});
  expect("aten.upsample_bicubic2d.default(%a, [5], false)", {image},
         "the argument 'output_size' has 1 elements, expected 2");
  expect("aten.upsample_nearest1d.default(%a, [])", {signal},
         "the argument 'output_size' has 0 elements, expected 1");
  expect("aten.im2col.default(%a, [2, 2], [], [0, 0], [1, 1])", {image},
         "the argument 'dilation' has 0 elements, expected 2");
  expect("aten.im2col.default(%a, [2, 2], [1], [0, 0], [1, 1])", {image}, "two numbers");
  expect("aten.conv1d.padding(%a, %b, none, [], \"same\")", {signal, Random({3, 2, 3})},
         "the argument 'stride' has 0 elements, expected 1\n  at %y0");
  expect("aten.conv2d.default(%a, %b, none, [1, 1, 1])", {image, Random({3, 1, 3, 3})},
         "the argument 'stride' has 3 elements, expected 2");
  // A single number applies to all dimensions; an empty list selects the default.
  ExpectValues("aten.max_pool2d.default(%a, [2], [])", {F({1, 1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8})},
               {F({1, 1, 1, 2}, {6, 8})}, {.symbolic = false});
}

TEST(DecomposeTest, RejectsScalarOperands) {
  const auto expect = [](std::string_view call, const std::vector<Values>& inputs,
                         std::string_view message) {
    ExpectDecompositionError(call, inputs, {F({1}, {0})}, absl::StatusCode::kInvalidArgument,
                             message);
  };
  const Values number = F({}, {3});
  expect("aten.upsample_trilinear3d.default(%a, [3, 4, 5], false)", {number}, "expected a batch");
  expect("aten.fft_rfft.default(%a, 4, 0)", {number}, "without dimensions");
  expect("aten.tensordot.default(%a, %b, [1], [0])", {F({1, 2}, {1, 2}), number},
         "without dimensions");
  expect("aten.segment_reduce.default(%a, \"sum\", lengths=%b)", {number, I({1}, {1})},
         "no dimensions");
}

TEST(DecomposeTest, RejectsMismatchWithDeclaredType) {
  ExpectPassError(R"(program aten {
  graph(%x: f32[2] user_input) {
    %y: f32[3] = aten.silu.default(%x)
    return (%y user_output)
  }
})",
                  Decompose().run, absl::StatusCode::kInternal,
                  "gives f32[2], the program declares f32[3]", Ops());
}

std::vector<Argument> Loop(OpBuilder& b, const OpCall& c) {
  return {b.Call("aten.silu.default", {c["self"]})};
}

TEST(DecomposeTest, RejectsCycles) {
  static constexpr Decomposition kRows[] = {{"aten.silu.default", Loop}};
  const DecompositionTable table({absl::MakeConstSpan(kRows)});
  DecomposeOptions options;
  options.table = &table;
  ExpectPassError(R"(program aten {
  graph(%x: f32[2] user_input) {
    %y: f32[2] = aten.silu.default(%x)
    return (%y user_output)
  }
})",
                  Decompose(options).run, absl::StatusCode::kInternal, "leads back to itself",
                  Ops());
}

}  // namespace
}  // namespace belay::exir
