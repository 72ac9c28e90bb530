// docs/lowering.md row 57.
#include "exir/backend/transforms/quantized_partition.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "exir/ir/text.h"
#include "exir/ir/verifier.h"
#include "exir/ops/standard_ops.h"
#include "exir/testing/programs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

using ::testing::HasSubstr;

class QuantizedPartitionTest : public ::testing::Test {
 protected:
  QuantizedPartitionTest() {
    for (const char* schema :
         {"mine::qadd(Tensor a, Tensor b) -> Tensor",
          "mine::qrelu(Tensor a, float scale) -> Tensor", "mine::two(Tensor a) -> (Tensor, Tensor)",
          "mine::pair(Tensor a, Tensor b) -> (Tensor, Tensor)"}) {
      EXPECT_OK(ops_->Define({.schema = schema}));
    }
  }
  ExportedProgram Parse(std::string_view text) { return ParseOrDie(text, *ops_); }
  const OpOverload* Op(std::string_view name) { return ops_->ToEdge(ops_->Find(name)); }
  absl::StatusOr<QuantizedReplacement> Replace(ExportedProgram& program,
                                               const std::vector<std::string>& names,
                                               std::string_view op,
                                               const std::vector<Argument>& more = {}) {
    std::vector<NodeId> nodes;
    for (const std::string& name : names) nodes.push_back(FindNode(program.top(), name));
    return ReplaceQuantizedPartition(program.top(), nodes, Op(op), more);
  }

  const std::unique_ptr<OpRegistry> ops_ = *CreateStandardOps();
};

constexpr std::string_view kAdd = R"(program edge {
  graph(%x: i8[2] user_input, %y: f32[2] user_input, %z: f32[2] user_input) {
    %d: f32[2] = edge.quantized_decomposed.dequantize_per_tensor.default(%x, 0.5, 0, -128, 127, dtype:i8)
    %a: f32[2] = edge.aten.add.Tensor(%d, %y)  @"m.py":4 handle=3
    %r: f32[2] = edge.aten.relu.default(%a)  @"m.py":5 handle=4
    %q: i8[2] = edge.quantized_decomposed.quantize_per_tensor.default(%r, 0.25, 0, -128, 127, dtype:i8)
    %e: f32[2] = edge.quantized_decomposed.dequantize_per_tensor.default(%q, 0.25, 0, -128, 127, dtype:i8)
    return (%e user_output)
  }
})";

TEST_F(QuantizedPartitionTest, ReplacesPartitionByOneOperator) {
  ExportedProgram program = Parse(kAdd);
  ASSERT_OK_AND_ASSIGN(const QuantizedReplacement replaced,
                       Replace(program, {"a", "r"}, "mine.qadd"));
  EXPECT_EQ(replaced.dequantizes.size(), 1u);
  EXPECT_EQ(replaced.quantizes.size(), 1u);
  ASSERT_OK(Verify(program));
  EXPECT_EQ(PrintProgram(program), PrintProgram(Parse(R"(program edge {
  graph(%x: i8[2] user_input, %y: f32[2] user_input, %z: f32[2] user_input) {
    %q: i8[2] = edge.mine.qadd.default(%x, %y)  @"m.py":5 handle=4 name="qadd"
    %e: f32[2] = edge.quantized_decomposed.dequantize_per_tensor.default(%q, 0.25, 0, -128, 127, dtype:i8)
    return (%e user_output)
  }
})")));
}

TEST_F(QuantizedPartitionTest, KeepsSharedDequantizeAndAppendsArguments) {
  ExportedProgram program = Parse(R"(program edge {
  graph(%x: i8[2] user_input) {
    %d: f32[2] = edge.quantized_decomposed.dequantize_per_tensor.default(%x, 0.5, 0, -128, 127, dtype:i8)
    %r: f32[2] = edge.aten.relu.default(%d)
    %q: i8[2] = edge.quantized_decomposed.quantize_per_tensor.default(%r, 0.25, 0, -128, 127, dtype:i8)
    return (%q user_output, %d user_output)
  }
})");
  ASSERT_OK(Replace(program, {"r"}, "mine.qrelu", {Argument(0.25)}));
  ASSERT_OK(Verify(program));
  EXPECT_EQ(PrintProgram(program), PrintProgram(Parse(R"(program edge {
  graph(%x: i8[2] user_input) {
    %d: f32[2] = edge.quantized_decomposed.dequantize_per_tensor.default(%x, 0.5, 0, -128, 127, dtype:i8)
    %q: i8[2] = edge.mine.qrelu.default(%x, 0.25)  name="qrelu"
    return (%q user_output, %d user_output)
  }
})")));
}

// A dequantize node with other users is kept; a quantize node that uses two results counts once.
TEST_F(QuantizedPartitionTest, KeepsDequantizeNodesWithOtherUsers) {
  ExportedProgram program = Parse(R"(program edge {
  graph(%x: i8[2] user_input, %z: i64[1] user_input) {
    %d: f32[2] = edge.quantized_decomposed.dequantize_per_tensor.default(%x, 0.5, 0, -128, 127, dtype:i8)
    %n: f32[2] = edge.aten.neg.default(%d)
    %r: f32[2] = edge.aten.relu.default(%d)
    %s: f32[1] = edge.aten.amax.default(%d, [0], true)
    %q: i8[2] = edge.quantized_decomposed.quantize_per_tensor.tensor(%r, %s, %z, -128, 127, dtype:i8)
    return (%q user_output, %n user_output)
  }
})");
  ASSERT_OK_AND_ASSIGN(const QuantizedReplacement replaced,
                       Replace(program, {"r", "s"}, "mine.qrelu", {Argument(0.25)}));
  EXPECT_EQ(replaced.quantizes.size(), 1u);
  EXPECT_EQ(PrintProgram(program), PrintProgram(Parse(R"(program edge {
  graph(%x: i8[2] user_input, %z: i64[1] user_input) {
    %d: f32[2] = edge.quantized_decomposed.dequantize_per_tensor.default(%x, 0.5, 0, -128, 127, dtype:i8)
    %n: f32[2] = edge.aten.neg.default(%d)
    %q: i8[2] = edge.mine.qrelu.default(%x, 0.25)  name="qrelu"
    return (%q user_output, %n user_output)
  }
})")));
}

TEST_F(QuantizedPartitionTest, OperatorWithoutSchemaAcceptsAnyArguments) {
  ExportedProgram program = Parse(kAdd);
  const NodeId nodes[] = {FindNode(program.top(), "a"), FindNode(program.top(), "r")};
  ASSERT_OK(ReplaceQuantizedPartition(program.top(), nodes, ops_->FindOrOpaque("their.own.op")));
  EXPECT_THAT(PrintProgram(program), HasSubstr("%q: i8[2] = their.own.op(%x, %y)"));
}

TEST_F(QuantizedPartitionTest, ErrorsChangeNothing) {
  ExportedProgram program = Parse(kAdd);
  const std::string before = PrintProgram(program);
  const auto invalid = [](std::string_view text) {
    return StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(text));
  };
  EXPECT_THAT(Replace(program, {}, "mine.qadd"), invalid("no nodes"));
  EXPECT_THAT(ReplaceQuantizedPartition(program.top(), {NodeId(99)}, Op("mine.qadd")),
              invalid("node 99 is not in the graph"));
  EXPECT_THAT(Replace(program, {"a"}, "mine.qadd"), invalid("%r: f32[2]"));
  EXPECT_THAT(Replace(program, {"r"}, "mine.qadd"),
              invalid("no dequantize node computes an operand"));
  EXPECT_THAT(Replace(program, {"a", "r"}, "mine.two"), invalid("mine::two("));
  EXPECT_THAT(Replace(program, {"a", "r"}, "mine.pair"),
              invalid("the partition has 2 arguments and 1 results, but mine.pair.default is"));
  EXPECT_THAT(Replace(program, {"a", "r", "q"}, "mine.qadd"), invalid("expected quantize nodes"));
  EXPECT_THAT(Replace(program, {"e"}, "mine.qadd"), invalid("the graph returns %e"));
  EXPECT_EQ(PrintProgram(program), before);
  ExportedProgram unread = Parse(R"(program edge {
  graph(%x: i8[2] user_input) {
    %d: f32[2] = edge.quantized_decomposed.dequantize_per_tensor.default(%x, 0.5, 0, -128, 127, dtype:i8)
    %r: f32[2] = edge.aten.relu.default(%d)
    return (%d user_output)
  }
})");
  EXPECT_THAT(Replace(unread, {"r"}, "mine.qrelu"), invalid("no quantize node uses a result"));
}

TEST_F(QuantizedPartitionTest, RejectsResultsUsedByOperands) {
  ExportedProgram program = Parse(R"(program edge {
  graph(%x: i8[2] user_input) {
    %d: f32[2] = edge.quantized_decomposed.dequantize_per_tensor.default(%x, 0.5, 0, -128, 127, dtype:i8)
    %r: f32[2] = edge.aten.relu.default(%d)
    %q: i8[2] = edge.quantized_decomposed.quantize_per_tensor.default(%r, 0.25, 0, -128, 127, dtype:i8)
    %e: f32[2] = edge.quantized_decomposed.dequantize_per_tensor.default(%q, 0.25, 0, -128, 127, dtype:i8)
    %s: f32[2] = edge.aten.add.Tensor(%e, %d)
    %p: i8[2] = edge.quantized_decomposed.quantize_per_tensor.default(%s, 0.25, 0, -128, 127, dtype:i8)
    return (%p user_output)
  }
})");
  EXPECT_THAT(Replace(program, {"r", "s"}, "mine.qadd"),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("an operand of it")));
}

// Names the first operand that is computed too late.
TEST_F(QuantizedPartitionTest, NamesTheFirstDependentOperand) {
  ExportedProgram program = Parse(R"(program edge {
  graph(%x: i8[2] user_input) {
    %d: f32[2] = edge.quantized_decomposed.dequantize_per_tensor.default(%x, 0.5, 0, -128, 127, dtype:i8)
    %r: f32[2] = edge.aten.relu.default(%d)
    %q: i8[2] = edge.quantized_decomposed.quantize_per_tensor.default(%r, 0.25, 0, -128, 127, dtype:i8)
    %e: i8[2] = edge.aten.neg.default(%q)
    %f: i8[2] = edge.aten.abs.default(%q)
    %s: f32[2] = edge.aten.add.Tensor(%e, %f)
    %p: i8[2] = edge.quantized_decomposed.quantize_per_tensor.default(%s, 0.25, 0, -128, 127, dtype:i8)
    return (%p user_output)
  }
})");
  EXPECT_THAT(Replace(program, {"r", "s"}, "mine.qadd"),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("is needed to compute %e: i8[2] = edge.aten.neg.default(%q)")));
}

// In each program one conversion is required, so the program is unchanged.
TEST_F(QuantizedPartitionTest, KeepsRequiredConversions) {
  const auto quantize = [](std::string_view result, std::string_view arguments,
                           std::string_view overload = "default") {
    return absl::StrCat("%", result, ": i8[2] = edge.quantized_decomposed.quantize_per_tensor.",
                        overload, "(", arguments, ", -128, 127, dtype:i8)\n");
  };
  const std::string dequantize =
      "%e: f32[2] = edge.quantized_decomposed.dequantize_per_tensor.default(%y, 0.25, 0, -128, "
      "127, dtype:i8)\n";
  struct Case {
    std::string what, nodes, outputs;
  };
  const Case cases[] = {
      {"nothing to remove", "", "%y user_output"},
      {"a parameter", quantize("q", "%p, 0.25, 0"), "%q user_output"},
      {"an input without users", "", "3 user_output"},
      {"an input that is a result", quantize("q", "%x, 0.25, 0"), "%q user_output, %x user_output"},
      {"other parameters", quantize("q", "%x, 0.25, 0") + quantize("o", "%x, 0.5, 0"),
       "%q user_output, %o user_output"},
      {"other operators", quantize("q", "%x, 0.25, 0") + quantize("o", "%x, %s, %z", "tensor"),
       "%q user_output, %o user_output"},
      {"the input is the scale", quantize("q", "%p, %x, %z", "tensor"), "%q user_output"},
      {"the input is written", quantize("q", "%x, 0.25, 0"),
       "%p user_input_mutation \"x\", %q user_output"},
      {"a result that is written back", dequantize, "%e user_input_mutation \"x\""},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.what);
    ExportedProgram program = Parse(absl::StrCat(R"(program edge {
      constants { state "p": f32[2] }
      graph(%p: f32[2] parameter "p", %x: f32[2] user_input, %y: i8[2] user_input,
            %s: f32[1] user_input, %z: i64[1] user_input) {
        )",
                                                 c.nodes, "return (", c.outputs, ") } }"));
    const std::string before = PrintProgram(program);
    const RemovedConversions removed = RemoveFirstQuantizeAndLastDequantize(program);
    EXPECT_EQ(removed.quantizes + removed.dequantizes, 0u);
    EXPECT_EQ(PrintProgram(program), before);
  }
}

// The other output mutates another input.
TEST_F(QuantizedPartitionTest, RemovesConversionsInProgramsWithMutations) {
  ExportedProgram program = Parse(R"(program edge {
    graph(%x: f32[2] user_input, %y: f32[2] user_input) {
      %q: i8[2] = edge.quantized_decomposed.quantize_per_tensor.default(%x, 0.25, 0, -128, 127, dtype:i8)
      return (%y user_input_mutation "y", %q user_output)
    }
  })");
  EXPECT_EQ(RemoveFirstQuantizeAndLastDequantize(program).quantizes, 1u);
  EXPECT_EQ(PrintProgram(program), PrintProgram(Parse(R"(program edge {
    graph(%x: i8[2] user_input, %y: f32[2] user_input) {
      return (%y user_input_mutation "y", %x user_output)
    }
  })")));
}

TEST_F(QuantizedPartitionTest, RemovesFirstQuantizeAndLastDequantize) {
  ExportedProgram program = Parse(R"(program edge {
  graph(%x: f32[2] user_input, %y: f32[2] user_input) {
    %q: i8[2] = edge.quantized_decomposed.quantize_per_tensor.default(%x, 0.25, 0, -128, 127, dtype:i8)
    %p: i8[2] = edge.quantized_decomposed.quantize_per_tensor.default(%x, 0.25, 0, -128, 127, dtype:i8)
    %a: i8[2] = edge.mine.qadd.default(%q, %p)
    %o: i8[2] = edge.quantized_decomposed.quantize_per_tensor.default(%y, 0.25, 0, -128, 127, dtype:i8)
    %s: f32[2] = edge.aten.neg.default(%y)
    %b: i8[2] = edge.mine.qadd.default(%a, %o)
    %e: f32[2] = edge.quantized_decomposed.dequantize_per_tensor.default(%b, 0.25, 0, -128, 127, dtype:i8)
    return (%e user_output, %s user_output)
  }
})");
  const RemovedConversions removed = RemoveFirstQuantizeAndLastDequantize(program);
  EXPECT_EQ(removed.quantizes, 2u);
  EXPECT_EQ(removed.dequantizes, 1u);
  ASSERT_OK(Verify(program));
  // %y has a user that requires floats, so it keeps its conversion.
  EXPECT_EQ(PrintProgram(program), PrintProgram(Parse(R"(program edge {
  graph(%x: i8[2] user_input, %y: f32[2] user_input) {
    %a: i8[2] = edge.mine.qadd.default(%x, %x)
    %o: i8[2] = edge.quantized_decomposed.quantize_per_tensor.default(%y, 0.25, 0, -128, 127, dtype:i8)
    %s: f32[2] = edge.aten.neg.default(%y)
    %b: i8[2] = edge.mine.qadd.default(%a, %o)
    return (%b user_output, %s user_output)
  }
})")));
}

}  // namespace
}  // namespace belay::exir
