// Tests of operators bound to patterns: docs/lowering.md §5.5 and its errors.
#include "exir/backend/transforms/op_patterns.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "exir/builder/op_shorthand.h"
#include "exir/decompositions/decompose.h"
#include "exir/interpreter/interpreter.h"
#include "exir/ir/text.h"
#include "exir/ir/verifier.h"
#include "exir/ops/standard_ops.h"
#include "exir/testing/programs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/kernels/reference/reference_kernels.h"

namespace belay::exir {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::string_view kLib = "DO_NOT_USE_TEST_ONLY";
constexpr std::string_view kReluAdd = R"(program aten {
  graph(%a: f32[2] user_input, %b: f32[2] user_input) {
    %r: f32[2] = aten.relu.default(%a)
    %s: f32[2] = aten.add.Tensor(%r, %b)
    return (%s user_output)
  }
})";
constexpr MetaFn kMeta = [](MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* tensor, context.Tensor(0));
  context.SetOutput(0, *tensor);
  return absl::OkStatus();
};

class OpPatternsTest : public ::testing::Test {
 protected:
  ExportedProgram Parse(std::string_view text) { return ParseOrDie(text, *ops_); }
  absl::StatusOr<const OpOverload*> Bind(std::string_view name, std::string_view pattern) {
    return patterns_.BindPatternToOp(kLib, name, Parse(pattern));
  }
  void ExpectPromoted(std::string_view before, std::string_view after) {
    ExportedProgram program = Parse(before);
    ASSERT_OK(Verify(program));
    const absl::StatusOr<bool> changed = PromoteBackendOps().run(program);
    ASSERT_TRUE(changed.ok()) << changed.status();
    EXPECT_EQ(*changed, before != after);
    EXPECT_OK(Verify(program));
    EXPECT_EQ(PrintProgram(program), PrintProgram(Parse(after)));
  }

  const std::unique_ptr<OpRegistry> ops_ = *CreateStandardOps();
  OpPatterns patterns_{*ops_};
};

TEST_F(OpPatternsTest, BindByFullSchemaDefinesABackendOperator) {
  ASSERT_OK_AND_ASSIGN(
      const OpOverload* op,
      Bind("DO_NOT_USE_TEST_ONLY::relu_add(Tensor a, Tensor b) -> Tensor", kReluAdd));
  EXPECT_EQ(op->name(), "DO_NOT_USE_TEST_ONLY.relu_add.default");
  ASSERT_OK_AND_ASSIGN(const OpOverload* backend,
                       ops_->LookupIn(Dialect::kBackend, kLib, "relu_add"));
  EXPECT_TRUE(backend->has_composite_implicit_kernel());
  EXPECT_FALSE(backend->has_meta_kernel());
  ASSERT_NE(patterns_.Find(backend), nullptr);
  EXPECT_EQ(patterns_.Find(backend), patterns_.Find(op));
  EXPECT_OK(Bind("add_relu.Tensor(Tensor a, Tensor b) -> Tensor", kReluAdd));
  EXPECT_OK(ops_->LookupIn(Dialect::kBackend, kLib, "add_relu", "Tensor"));
}

TEST_F(OpPatternsTest, BindByNameSuppliesAKernel) {
  ASSERT_OK(ops_->Define({.schema = "DO_NOT_USE_TEST_ONLY::bare(Tensor a, Tensor b) -> Tensor"}));
  ASSERT_OK(
      ops_->Define({.schema = "DO_NOT_USE_TEST_ONLY::bare.ovl(Tensor a, Tensor b) -> Tensor"}));
  for (const char* overload : {"default", "ovl"}) {
    for (int i = 0; i < 2; ++i) {  // the second lookup fails as well
      EXPECT_THAT(ops_->LookupIn(Dialect::kBackend, kLib, "bare", overload),
                  StatusIs(absl::StatusCode::kFailedPrecondition));
    }
  }
  EXPECT_OK(Bind("bare", kReluAdd));
  EXPECT_OK(Bind("DO_NOT_USE_TEST_ONLY::bare.ovl", kReluAdd));
  for (const char* overload : {"default", "ovl"}) {
    ASSERT_OK_AND_ASSIGN(const OpOverload* op,
                         ops_->LookupIn(Dialect::kBackend, kLib, "bare", overload));
    EXPECT_EQ(op->dialect(), Dialect::kBackend);
  }
}

TEST_F(OpPatternsTest, BindingAllowsTheNamespace) {
  EXPECT_THAT(ops_->LookupIn(Dialect::kBackend, "mine", "relu_add"),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_OK(
      patterns_.BindPatternToOp("mine", "relu_add(Tensor a, Tensor b) -> Tensor", Parse(kReluAdd)));
  EXPECT_OK(ops_->LookupIn(Dialect::kBackend, "mine", "relu_add"));
}

TEST_F(OpPatternsTest, RejectsMisuseWithoutChanges) {
  ASSERT_OK(Bind("taken(Tensor a, Tensor b) -> Tensor", kReluAdd));
  struct Case {
    std::string_view ns, name;
    std::string_view pattern;
    absl::StatusCode code;
    std::string_view message;
  };
  constexpr std::string_view kState = R"(program aten {
    constants { state "w": f32[2] }
    graph(%w: f32[2] buffer "w", %a: f32[2] user_input, %b: f32[2] user_input) {
      return (%a user_output)
    }
  })";
  constexpr std::string_view kMutation = R"(program aten {
    graph(%a: f32[2] user_input, %b: f32[2] user_input) {
      %s: f32[2] = aten.add.Tensor(%a, %b)
      return (%s user_input_mutation "a")
    }
  })";
  constexpr std::string_view kOneInput = R"(program aten {
    graph(%a: f32[2] user_input) { return (%a user_output) }
  })";
  constexpr std::string_view kBodies = R"(program aten {
    graph(%a: b8[] user_input, %b: f32[2] user_input) {
      %c: f32[2] = higher_order.cond(%a, graph#1, graph#2, [%b])
      return (%c user_output)
    }
    graph t(%y: f32[2]) { return (%y) }
    graph f(%y: f32[2]) { return (%y) }
  })";
  using absl::StatusCode;
  const Case cases[] = {
      {"", "x", kReluAdd, StatusCode::kInvalidArgument, "a namespace and a name are needed"},
      {kLib, "", kReluAdd, StatusCode::kInvalidArgument, "a namespace and a name are needed"},
      {kLib, "broken(Tensor a", kReluAdd, StatusCode::kInvalidArgument, "broken"},
      {kLib, "other::x(Tensor a, Tensor b) -> Tensor", kReluAdd, StatusCode::kInvalidArgument,
       "it names the namespace other"},
      {kLib, "other::x", kReluAdd, StatusCode::kInvalidArgument, "it names the namespace other"},
      {kLib, "nope", kReluAdd, StatusCode::kNotFound, "has no operator 'nope'"},
      {kLib, "taken.nope", kReluAdd, StatusCode::kNotFound, "has no overload 'nope'"},
      {kLib, "taken", kReluAdd, StatusCode::kAlreadyExists, "has a pattern already"},
      {kLib, "taken(Tensor a, Tensor b) -> Tensor", kReluAdd, StatusCode::kAlreadyExists,
       "taken.default"},
      {kLib, "x(Tensor(a!) a, Tensor b) -> Tensor(a!)", kReluAdd, StatusCode::kInvalidArgument,
       "writes to an argument"},
      {kLib, "x(Tensor(a) a, Tensor b) -> Tensor(a)", kReluAdd, StatusCode::kInvalidArgument,
       "returns a view of one"},
      {kLib, "x(Tensor a, Tensor b) -> Tensor", kState, StatusCode::kInvalidArgument,
       "got a buffer 'w'"},
      {kLib, "x(Tensor a, Tensor b) -> Tensor", kMutation, StatusCode::kInvalidArgument,
       "got a user_input_mutation"},
      {kLib, "x(Tensor a, Tensor b) -> Tensor", kOneInput, StatusCode::kInvalidArgument,
       "expected 2 inputs, got 1"},
      {kLib, "x(Tensor a) -> (Tensor, Tensor)", kOneInput, StatusCode::kInvalidArgument,
       "expected 2 outputs, got 1"},
      {kLib, "x(Tensor a, Tensor b) -> Tensor", kBodies, StatusCode::kInvalidArgument,
       "expected one graph, got 3"},
  };
  for (const Case& c : cases) {
    EXPECT_THAT(patterns_.BindPatternToOp(c.ns, c.name, Parse(c.pattern)),
                StatusIs(c.code, HasSubstr(c.message)))
        << c.name;
  }
  EXPECT_TRUE(ops_->Overloads(kLib, "x").empty());
}

TEST_F(OpPatternsTest, RejectsInvalidPatternsAndOtherRegistries) {
  ExportedProgram broken = Parse(kReluAdd);
  broken.signature.outputs.clear();
  EXPECT_THAT(patterns_.BindPatternToOp(kLib, "x(Tensor a, Tensor b) -> Tensor", std::move(broken)),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("V8")));
  const std::unique_ptr<OpRegistry> other = *CreateStandardOps();
  EXPECT_THAT(patterns_.BindPatternToOp(kLib, "x(Tensor a, Tensor b) -> Tensor",
                                        ParseOrDie(kReluAdd, *other)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("another operator registry")));
}

TEST_F(OpPatternsTest, RejectsRecursivePatterns) {
  ASSERT_OK(ops_->Define({.schema = "DO_NOT_USE_TEST_ONLY::a(Tensor x) -> Tensor"}));
  ASSERT_OK(ops_->Define({.schema = "DO_NOT_USE_TEST_ONLY::b(Tensor x) -> Tensor"}));
  const auto calling = [](std::string_view op) {
    return absl::StrCat("program aten { graph(%x: f32[2] user_input) { %y: f32[2] = ", kLib, ".",
                        op, ".default(%x) return (%y user_output) } }");
  };
  EXPECT_THAT(Bind("a", calling("a")),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("leads back")));
  EXPECT_OK(Bind("a", calling("b")));
  EXPECT_THAT(Bind("b", calling("a")),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("leads back")));
}

TEST_F(OpPatternsTest, PromotesInAllGraphsWithActualShapes) {
  ASSERT_OK(Bind("relu_add(Tensor a, Tensor b) -> Tensor", kReluAdd));
  ExpectPromoted(R"(program edge {
    graph(%p: b8[] user_input, %x: f32[3,4] user_input, %y: f32[4] user_input) {
      %z: f32[3,4] = backend.DO_NOT_USE_TEST_ONLY.relu_add.default(%x, %y)  @"m.py":3 handle=7
      %c: f32[3,4] = higher_order.cond(%p, graph#1, graph#2, [%z])
      return (%c user_output)
    }
    graph t(%v: f32[3,4]) {
      %w: f32[3,4] = edge.DO_NOT_USE_TEST_ONLY.relu_add.default(%v, %v)
      return (%w)
    }
    graph f(%v: f32[3,4]) { return (%v) }
  })",
                 R"(program edge {
    graph(%p: b8[] user_input, %x: f32[3,4] user_input, %y: f32[4] user_input) {
      %relu: f32[3,4] = edge.aten.relu.default(%x)  @"m.py":3 handle=7
      %z: f32[3,4] = edge.aten.add.Tensor(%relu, %y)  @"m.py":3 handle=7 name="add"
      %c: f32[3,4] = higher_order.cond(%p, graph#1, graph#2, [%z])
      return (%c user_output)
    }
    graph t(%v: f32[3,4]) {
      %relu: f32[3,4] = edge.aten.relu.default(%v)
      %w: f32[3,4] = edge.aten.add.Tensor(%relu, %v)  name="add"
      return (%w)
    }
    graph f(%v: f32[3,4]) { return (%v) }
  })");
}

// The pattern defines the result of the operator's node, before and after promotion.
TEST_F(OpPatternsTest, PatternsAreExecutedBeforeAndAfterPromotion) {
  ASSERT_OK(Bind("relu_add(Tensor a, Tensor b) -> Tensor", kReluAdd));
  ExportedProgram program = Parse(R"(program edge {
    graph(%x: f32[3] user_input, %y: f32[1] user_input) {
      %z: f32[3] = backend.DO_NOT_USE_TEST_ONLY.relu_add.default(%x, %y)
      return (%z user_output)
    }
  })");
  KernelRegistry kernels;
  ASSERT_OK(AddReferenceKernels(kernels));
  const TestTensor x = TestTensor::Of<float>({3}, {1, -2, 3}), y = TestTensor::Of<float>({1}, {10});
  for (const bool promoted : {false, true}) {
    if (promoted) ASSERT_OK(PromoteBackendOps().run(program));
    ASSERT_OK_AND_ASSIGN(Interpreter interpreter, Interpreter::Create(program, kernels));
    ASSERT_OK_AND_ASSIGN(const auto results, interpreter.Run({EValue(x.view()), EValue(y.view())}));
    EXPECT_THAT(ToVector<float>(*results[0].tensor()), ::testing::ElementsAre(11, 10, 13));
  }
}

// The operator's kernel outlives the OpPatterns object.
TEST_F(OpPatternsTest, KernelsLiveAsLongAsTheRegistry) {
  ASSERT_OK(OpPatterns(*ops_).BindPatternToOp(kLib, "relu_add(Tensor a, Tensor b) -> Tensor",
                                              Parse(kReluAdd)));
  ExpectPromoted(R"(program edge {
    graph(%x: f32[2] user_input) {
      %z: f32[2] = backend.DO_NOT_USE_TEST_ONLY.relu_add.default(%x, %x)
      return (%z user_output)
    }
  })",
                 R"(program edge {
    graph(%x: f32[2] user_input) {
      %relu: f32[2] = edge.aten.relu.default(%x)
      %z: f32[2] = edge.aten.add.Tensor(%relu, %x)  name="add"
      return (%z user_output)
    }
  })");
}

// List arguments, list results, one operator used twice.
TEST_F(OpPatternsTest, PatternsMayHaveLists) {
  ASSERT_OK(Bind("swap(Tensor a) -> Tensor", R"(program aten {
    graph(%a: f32[2] user_input) {
      [%x: f32[1], %y: f32[1]] = aten.split_copy.Tensor(%a, 1)
      %n: f32[1] = aten.neg.default(%y)
      %m: f32[1] = aten.neg.default(%n)
      %z: f32[2] = aten.cat.default([%m, %x])
      return (%z user_output)
    }
  })"));
  ExpectPromoted(R"(program edge {
    graph(%x: f32[2] user_input) {
      %z: f32[2] = backend.DO_NOT_USE_TEST_ONLY.swap.default(%x)
      return (%z user_output)
    }
  })",
                 R"(program edge {
    graph(%x: f32[2] user_input) {
      [%split_copy: f32[1], %split_copy_1: f32[1]] = edge.aten.split_copy.Tensor(%x, 1)  name="split_copy"
      %neg: f32[1] = edge.aten.neg.default(%split_copy_1)
      %neg_1: f32[1] = edge.aten.neg.default(%neg)
      %z: f32[2] = edge.aten.cat.default([%neg_1, %split_copy])  name="cat"
      return (%z user_output)
    }
  })");
}

TEST_F(OpPatternsTest, PatternsMayHaveNoneResults) {
  ASSERT_OK(Bind("bias_grad(Tensor g, Tensor x, Tensor m) -> Tensor", R"(program aten {
    graph(%g: f32[2,3] user_input, %x: f32[2,3] user_input, %m: f32[2,1] user_input) {
      none, none, %b: f32[3] = aten.native_layer_norm_backward.default(%g, %x, [3], %m, %m, none, none, [false,false,true])
      return (%b user_output)
    }
  })"));
  ExpectPromoted(R"(program edge {
    graph(%g: f32[2,3] user_input, %x: f32[2,3] user_input, %m: f32[2,1] user_input) {
      %z: f32[3] = backend.DO_NOT_USE_TEST_ONLY.bias_grad.default(%g, %x, %m)
      return (%z user_output)
    }
  })",
                 R"(program edge {
    graph(%g: f32[2,3] user_input, %x: f32[2,3] user_input, %m: f32[2,1] user_input) {
      none, none, %z: f32[3] = edge.aten.native_layer_norm_backward.default(%g, %x, [3], %m, %m, none, none, [false,false,true])  name="native_layer_norm_backward"
      return (%z user_output)
    }
  })");
}

TEST_F(OpPatternsTest, BindByNameChecksTheOperator) {
  ASSERT_OK(ops_->Define({.schema = "DO_NOT_USE_TEST_ONLY::one(Tensor a) -> Tensor"}));
  ASSERT_OK(ops_->Define({.schema = "DO_NOT_USE_TEST_ONLY::same(Tensor a) -> Tensor"}));
  EXPECT_OK(Bind("same", R"(program aten {
    graph(%a: f32[2] user_input) {
      %n: f32[2] = aten.neg.default(%a)
      %m: f32[2] = aten.neg.default(%n)
      return (%m user_output)
    }
  })"));
  EXPECT_THAT(Bind("one", kReluAdd),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("expected 1 inputs, got 2")));
  EXPECT_THAT(patterns_.BindPatternToOp("higher_order", "cond", Parse(kReluAdd)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("has no schema")));
}

// An explicit kernel: not expanded.
TEST_F(OpPatternsTest, OperatorsKeepTheirExplicitKernel) {
  ASSERT_OK(ops_->Define({.schema = "DO_NOT_USE_TEST_ONLY::op(Tensor a, Tensor b) -> Tensor"}));
  ASSERT_OK(ops_->SetCompositeKernel("DO_NOT_USE_TEST_ONLY.op", CompositeKind::kExplicit,
                                     [](OpBuilder& b, const OpCall& call) {
                                       return std::vector<Argument>{Unary(b, "neg", call["b"])};
                                     }));
  ASSERT_OK_AND_ASSIGN(const OpOverload* op, Bind("op", kReluAdd));
  EXPECT_TRUE(op->has_composite_explicit_kernel());
  EXPECT_FALSE(op->has_composite_implicit_kernel());
  EXPECT_NE(patterns_.Find(op), nullptr);
}

TEST_F(OpPatternsTest, OperatorsKeepTheirImplicitKernel) {
  ASSERT_OK(ops_->Define({.schema = "DO_NOT_USE_TEST_ONLY::op(Tensor a, Tensor b) -> Tensor"}));
  ASSERT_OK(ops_->SetCompositeKernel("DO_NOT_USE_TEST_ONLY.op", CompositeKind::kImplicit,
                                     [](OpBuilder& b, const OpCall& call) {
                                       return std::vector<Argument>{Unary(b, "neg", call["b"])};
                                     }));
  ASSERT_OK(Bind("op", kReluAdd));
  EXPECT_NE(patterns_.Find(ops_->Find("DO_NOT_USE_TEST_ONLY.op")), nullptr);
  ExpectPromoted(R"(program edge {
    graph(%x: f32[2] user_input, %y: f32[2] user_input) {
      %z: f32[2] = edge.DO_NOT_USE_TEST_ONLY.op.default(%x, %y)
      return (%z user_output)
    }
  })",
                 R"(program edge {
    graph(%x: f32[2] user_input, %y: f32[2] user_input) {
      %z: f32[2] = edge.aten.neg.default(%y)  name="neg"
      return (%z user_output)
    }
  })");
}

TEST_F(OpPatternsTest, PromotesNestedPatterns) {
  ASSERT_OK(Bind("inner(Tensor a, Tensor b) -> Tensor", kReluAdd));
  ASSERT_OK(Bind("outer(Tensor a) -> (Tensor, Tensor)", R"(program aten {
    graph(%a: f32[2] user_input) {
      %i: f32[2] = DO_NOT_USE_TEST_ONLY.inner.default(%a, %a)
      return (%i user_output, %a user_output)
    }
  })"));
  ExpectPromoted(R"(program edge {
    graph(%x: f32[5] user_input) {
      %y: f32[5], %z: f32[5] = backend.DO_NOT_USE_TEST_ONLY.outer.default(%x)
      return (%y user_output, %z user_output)
    }
  })",
                 R"(program edge {
    graph(%x: f32[5] user_input) {
      %relu: f32[5] = edge.aten.relu.default(%x)
      %y: f32[5] = edge.aten.add.Tensor(%relu, %x)  name="add"
      return (%y user_output, %x user_output)
    }
  })");
}

TEST_F(OpPatternsTest, KeepsOperatorsWithKernels) {
  constexpr std::string_view kProgram = R"(program edge {
    graph(%x: f32[2] user_input, %y: f32[2] user_input) {
      %z: f32[2] = edge.DO_NOT_USE_TEST_ONLY.op.default(%x, %y)
      return (%z user_output)
    }
  })";
  ASSERT_OK(ops_->Define(
      {.schema = "DO_NOT_USE_TEST_ONLY::op(Tensor a, Tensor b) -> Tensor", .meta = kMeta}));
  ASSERT_OK(Bind("op", kReluAdd));
  EXPECT_FALSE(ops_->Find("DO_NOT_USE_TEST_ONLY.op")->has_composite_implicit_kernel());
  ASSERT_NE(patterns_.Find(ops_->Find("DO_NOT_USE_TEST_ONLY.op")), nullptr);
  ExpectPromoted(kProgram, kProgram);
}

TEST_F(OpPatternsTest, RejectsPatternThatDoesNotMatchItsNode) {
  ASSERT_OK(Bind("relu_add(Tensor a, Tensor b) -> Tensor", kReluAdd));
  ExportedProgram program = Parse(R"(program edge {
    graph(%x: f32[2] user_input) {
      %z: f32[3] = backend.DO_NOT_USE_TEST_ONLY.relu_add.default(%x, %x)
      return (%z user_output)
    }
  })");
  EXPECT_THAT(PromoteBackendOps().run(program),
              StatusIs(absl::StatusCode::kInternal,
                       AllOf(HasSubstr("gives f32[2]"), HasSubstr("%z: f32[3]"))));
  ASSERT_OK(ops_->Define({.schema = "DO_NOT_USE_TEST_ONLY::bare(Tensor a) -> Tensor"}));
  ASSERT_OK(Bind("outer(Tensor a) -> Tensor", R"(program aten {
    graph(%a: f32[2] user_input) {
      %i: f32[2] = DO_NOT_USE_TEST_ONLY.bare.default(%a)
      return (%i user_output)
    }
  })"));
  ASSERT_OK(Bind("halves(Tensor a) -> Tensor", R"(program aten {
    graph(%a: f32[2] user_input) {
      [%x: f32[1], %y: f32[1]] = aten.split_copy.Tensor(%a, 1)
      return (%x user_output)
    }
  })"));
  ExportedProgram other = Parse(R"(program edge {
    graph(%x: f32[5] user_input) {
      %z: f32[5] = backend.DO_NOT_USE_TEST_ONLY.outer.default(%x)
      return (%z user_output)
    }
  })");
  EXPECT_THAT(PromoteBackendOps().run(other),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("neither a meta kernel nor")));
  // The pattern splits into two parts; here there are three.
  ExportedProgram three = Parse(R"(program edge {
    graph(%x: f32[3] user_input) {
      %z: f32[1] = backend.DO_NOT_USE_TEST_ONLY.halves.default(%x)
      return (%z user_output)
    }
  })");
  EXPECT_THAT(PromoteBackendOps().run(three),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("a list of another length")));
}

}  // namespace
}  // namespace belay::exir
