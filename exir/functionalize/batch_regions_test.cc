#include "exir/functionalize/batch_regions.h"

#include "exir/ops/standard_ops.h"
#include "exir/testing/rewrite_test.h"
#include "gtest/gtest.h"

namespace belay::exir {
namespace {

const OpRegistry& Ops() {
  static const OpRegistry& ops = *CreateStandardOps().value().release();
  return ops;
}

// As in the construction of a causal mask: two levels, each on one operand.
TEST(BatchRegionsTest, PointwiseOperandsOfDifferentLevelsBroadcast) {
  ExpectRewrite(R"(program training {
  graph(%q: i64[3] user_input, %k: i64[5] user_input) {
    torch._functorch.predispatch._vmap_increment_nesting(3, "error")
    %a: i64[] = torch._functorch.predispatch._add_batch_dim(%q, 0, 1)
    torch._functorch.predispatch._vmap_increment_nesting(5, "error")
    %b: i64[] = torch._functorch.predispatch._add_batch_dim(%k, 0, 2)
    %le: b8[] = aten.le.Tensor(%b, %a)
    %r: b8[5] = torch._functorch.predispatch._remove_batch_dim(%le, 2, 5, 0)
    torch._functorch.predispatch._vmap_decrement_nesting()
    %s: b8[3,5] = torch._functorch.predispatch._remove_batch_dim(%r, 1, 3, 0)
    torch._functorch.predispatch._vmap_decrement_nesting()
    return (%s user_output)
  }
})",
                BatchRegions().run, R"(program training {
  graph(%q: i64[3] user_input, %k: i64[5] user_input) {
    %unsqueeze: i64[1,5] = aten.unsqueeze.default(%k, 0)
    %unsqueeze_1: i64[3,1] = aten.unsqueeze.default(%q, 1)
    %le_1: b8[3,5] = aten.le.Tensor(%unsqueeze, %unsqueeze_1)
    return (%le_1 user_output)
  }
})",
                Ops());
}

TEST(BatchRegionsTest, ShiftsDimensionsPastTheBatch) {
  ExpectRewrite(R"(program training {
  graph(%x: f32[2,3,4] user_input) {
    %a: f32[2,4] = torch._functorch.predispatch._add_batch_dim(%x, 1, 1)
    %s: f32[2] = aten.sum.dim_IntList(%a, [-1])
    %r: f32[2,3] = torch._functorch.predispatch._remove_batch_dim(%s, 1, 3, 1)
    return (%r user_output)
  }
})",
                BatchRegions().run, R"(program training {
  graph(%x: f32[2,3,4] user_input) {
    %permute: f32[3,2,4]{strides=[4,12,1]} = aten.permute.default(%x, [1, 0, 2])
    %sum: f32[3,2] = aten.sum.dim_IntList(%permute, [2])
    %permute_1: f32[2,3]{strides=[1,2]} = aten.permute.default(%sum, [1, 0])
    return (%permute_1 user_output)
  }
})",
                Ops());
}

TEST(BatchRegionsTest, ExpandsUnbatchedResults) {
  ExpectRewrite(R"(program training {
  graph(%x: f32[2] user_input) {
    %n: f32[2] = aten.neg.default(%x)
    %r: f32[3,2] = torch._functorch.predispatch._remove_batch_dim(%n, 1, 3, 0)
    return (%r user_output)
  }
})",
                BatchRegions().run, R"(program training {
  graph(%x: f32[2] user_input) {
    %n: f32[2] = aten.neg.default(%x)
    %unsqueeze: f32[1,2] = aten.unsqueeze.default(%n, 0)
    %expand: f32[3,2]{strides=[0,1]} = aten.expand.default(%unsqueeze, [3, 2])
    return (%expand user_output)
  }
})",
                Ops());
}

TEST(BatchRegionsTest, ReportsOperatorsWithoutBatchingRule) {
  ExpectPassError(R"(program training {
  graph(%x: f32[3,2,2] user_input) {
    %a: f32[2,2] = torch._functorch.predispatch._add_batch_dim(%x, 0, 1)
    %t: f32[2,2] = aten.triu.default(%a)
    %r: f32[3,2,2] = torch._functorch.predispatch._remove_batch_dim(%t, 1, 3, 0)
    return (%r user_output)
  }
})",
                  BatchRegions().run, absl::StatusCode::kUnimplemented, "vmap of aten.triu", Ops());
}

TEST(BatchRegionsTest, RejectsDerivativesWithAdvice) {
  ExpectPassError(R"(program training {
  graph(%x: f32[3] user_input) {
    torch._functorch.predispatch._jvp_increment_nesting()
    %y: f32[3] = aten.sin.default(%x)
    return (%y user_output)
  }
})",
                  BatchRegions().run, absl::StatusCode::kUnimplemented,
                  "the function _jvp_increment_nesting of torch.func (call run_decompositions() on "
                  "the exported program before it is saved",
                  Ops());
}

// Levels come first in their order, whichever was added first; non-tensors are not batched.
TEST(BatchRegionsTest, LevelsAreOrdered) {
  ExpectRewrite(R"(program training {
  ranges { s0: [1, 8] }
  graph(%x: f32[2,3] user_input, %n: symint(s0) user_input) {
    torch._functorch.predispatch.lazy_load_decompositions()
    %a: f32[3] = torch._functorch.predispatch._add_batch_dim(%x, 0, 2)
    %b: f32[] = torch._functorch.predispatch._add_batch_dim(%a, 0, 1)
    %c: f32[] = aten.mul.Tensor(%b, %n)
    %r: f32[2] = torch._functorch.predispatch._remove_batch_dim(%c, 2, 2, 0)
    %s: f32[2,3] = torch._functorch.predispatch._remove_batch_dim(%r, 1, 3, 1)
    return (%s user_output)
  }
})",
                BatchRegions().run, R"(program training {
  ranges { s0: [1, 8] }
  graph(%x: f32[2,3] user_input, %n: symint(s0) user_input) {
    %permute: f32[3,2]{strides=[1,3]} = aten.permute.default(%x, [1,0])
    %mul: f32[3,2]{strides=[1,3]} = aten.mul.Tensor(%permute, %n)
    %permute_1: f32[2,3] = aten.permute.default(%mul, [1,0])
    return (%permute_1 user_output)
  }
})",
                Ops());
}

// Each graph has its own batch levels.
TEST(BatchRegionsTest, BatchesSubgraphs) {
  ExpectRewrite(R"(program training {
  graph(%p: b8[] user_input, %x: f32[3,2] user_input) {
    %a: f32[2] = torch._functorch.predispatch._add_batch_dim(%x, 0, 1)
    %r: f32[3,2] = torch._functorch.predispatch._remove_batch_dim(%a, 1, 3, 0)
    %c: f32[3,2] = higher_order.cond(%p, graph#1, graph#2, [%r])
    return (%c user_output)
  }
  graph yes(%y: f32[3,2]) {
    %a: f32[2] = torch._functorch.predispatch._add_batch_dim(%y, 0, 1)
    %n: f32[2] = aten.neg.default(%a)
    %r: f32[3,2] = torch._functorch.predispatch._remove_batch_dim(%n, 1, 3, 0)
    return (%r)
  }
  graph no(%y: f32[3,2]) { return (%y) }
})",
                BatchRegions().run, R"(program training {
  graph(%p: b8[] user_input, %x: f32[3,2] user_input) {
    %c: f32[3,2] = higher_order.cond(%p, graph#1, graph#2, [%x])
    return (%c user_output)
  }
  graph yes(%y: f32[3,2]) {
    %neg: f32[3,2] = aten.neg.default(%y)
    return (%neg)
  }
  graph no(%y: f32[3,2]) { return (%y) }
})",
                Ops());
}

}  // namespace
}  // namespace belay::exir
