#include "exir/passes/sink_permutes.h"

#include "exir/passes/pass_testing.h"
#include "exir/testing/programs.h"
#include "exir/testing/rewrite_test.h"
#include "gtest/gtest.h"

namespace belay::exir {
namespace {

void ExpectSunk(const char* before, const char* after) {
  ExpectRewrite(before, SinkPermutes().run, after, PassTestOps());
}
void ExpectKept(const char* program) {
  ExpectUnchanged(program, SinkPermutes().run, PassTestOps());
}

TEST(SinkPermutesTest, ReductionsChooseTheirDims) {
  ExpectSunk(R"(program edge {
  graph(%x: f32[2,3,4] user_input) {
    %p: f32[2,4,3] = edge.aten.permute_copy.default(%x, [0,2,1])
    %m: f32[2,4] = edge.aten.mean.dim(%p, [-1])
    return (%m user_output)
  }
})",
             R"(program edge {
  graph(%x: f32[2,3,4] user_input) {
    %m: f32[2,4] = edge.aten.mean.dim(%x, [1])
    return (%m user_output)
  }
})");
}

TEST(SinkPermutesTest, ReductionsOfAllElementsNeedNoPermutation) {
  ExpectSunk(R"(program edge {
  graph(%x: f32[2,3] user_input) {
    %p: f32[3,2] = edge.aten.permute_copy.default(%x, [1,0])
    %s: f32[] = edge.aten.sum.default(%p)
    %a: f32[] = edge.aten.amax.default(%p, [0,1])
    return (%s user_output, %a user_output)
  }
})",
             R"(program edge {
  graph(%x: f32[2,3] user_input) {
    %s: f32[] = edge.aten.sum.default(%x)
    %a: f32[] = edge.aten.amax.default(%x, [1,0])
    return (%s user_output, %a user_output)
  }
})");
}

TEST(SinkPermutesTest, PermutesResultsWhoseDimsChangeTheirOrder) {
  ExpectSunk(R"(program edge {
  graph(%x: f32[2,3,4] user_input) {
    %p: f32[4,2,3] = edge.aten.permute_copy.default(%x, [2,0,1])
    %v: f32[4,2], %i: i64[4,2] = edge.aten.max.dim(%p, 2)
    return (%v user_output, %i user_output)
  }
})",
             R"(program edge {
  graph(%x: f32[2,3,4] user_input) {
    %v: f32[2,4], %i: i64[2,4] = edge.aten.max.dim(%x, 1)
    %permute_1: i64[4,2] = edge.aten.permute_copy.default(%i, [1,0])
    %permute: f32[4,2] = edge.aten.permute_copy.default(%v, [1,0])
    return (%permute user_output, %permute_1 user_output)
  }
})");
}

TEST(SinkPermutesTest, PermutesResultsThatKeepTheirDims) {
  ExpectSunk(R"(program edge {
  graph(%x: f32[2,3,4] user_input) {
    %p: f32[2,4,3] = edge.aten.permute_copy.default(%x, [0,2,1])
    %m: f32[2,4,1] = edge.aten.mean.dim(%p, [2], true)
    return (%m user_output)
  }
})",
             R"(program edge {
  graph(%x: f32[2,3,4] user_input) {
    %m: f32[2,1,4] = edge.aten.mean.dim(%x, [1], true)
    %permute: f32[2,4,1] = edge.aten.permute_copy.default(%m, [0,2,1])
    return (%permute user_output)
  }
})");
}

TEST(SinkPermutesTest, PermutesResultsOfPointwiseOperatorsOnce) {
  ExpectSunk(R"(program edge {
  graph(%x: f32[2,3] user_input, %y: f32[2,3] user_input) {
    %p: f32[3,2] = edge.aten.permute_copy.default(%x, [1,0])
    %q: f32[3,2] = edge.aten.permute_copy.default(%y, [1,0])
    %z: f32[3,2] = edge.aten.mul.Tensor(%p, %q)
    return (%z user_output)
  }
})",
             R"(program edge {
  graph(%x: f32[2,3] user_input, %y: f32[2,3] user_input) {
    %z: f32[2,3] = edge.aten.mul.Tensor(%x, %y)
    %permute: f32[3,2] = edge.aten.permute_copy.default(%z, [1,0])
    return (%permute user_output)
  }
})");
}

TEST(SinkPermutesTest, SinksThroughSeveralOperators) {
  ExpectSunk(R"(program edge {
  graph(%x: f32[2,3] user_input, %y: f32[2,3] user_input) {
    %p: f32[3,2] = edge.aten.permute_copy.default(%x, [1,0])
    %q: f32[3,2] = edge.aten.permute_copy.default(%y, [1,0])
    %z: f32[3,2] = edge.aten.mul.Tensor(%p, %q)
    %s: f32[3] = edge.aten.sum.dim_IntList(%z, [1])
    return (%s user_output)
  }
})",
             R"(program edge {
  graph(%x: f32[2,3] user_input, %y: f32[2,3] user_input) {
    %z: f32[2,3] = edge.aten.mul.Tensor(%x, %y)
    %s: f32[3] = edge.aten.sum.dim_IntList(%z, [0])
    return (%s user_output)
  }
})");
}

TEST(SinkPermutesTest, KeepsPermutationsWithOtherUsers) {
  ExpectKept(R"(program edge {
  graph(%x: f32[2,3] user_input) {
    %p: f32[3,2] = edge.aten.permute_copy.default(%x, [1,0])
    %s: f32[3] = edge.aten.sum.dim_IntList(%p, [1])
    return (%s user_output, %p user_output)
  }
})");
  ExpectKept(R"(program edge {
  graph(%x: f32[2,3] user_input) {
    %p: f32[3,2] = edge.aten.permute_copy.default(%x, [1,0])
    %s: f32[3] = edge.aten.sum.dim_IntList(%p, [1])
    %r: f32[3,2] = edge.aten.relu.default(%p)
    return (%s user_output, %r user_output)
  }
})");
}

TEST(SinkPermutesTest, KeepsPositionsInAllElements) {
  ExpectKept(R"(program edge {
  graph(%x: f32[2,3] user_input) {
    %p: f32[3,2] = edge.aten.permute_copy.default(%x, [1,0])
    %i: i64[] = edge.aten.argmax.default(%p)
    return (%i user_output)
  }
})");
}

TEST(SinkPermutesTest, KeepsDifferentPermutationsAndSingleOperands) {
  ExpectKept(R"(program edge {
  graph(%x: f32[2,2,2] user_input, %y: f32[2,2,2] user_input) {
    %p: f32[2,2,2] = edge.aten.permute_copy.default(%x, [1,0,2])
    %q: f32[2,2,2] = edge.aten.permute_copy.default(%y, [0,2,1])
    %z: f32[2,2,2] = edge.aten.mul.Tensor(%p, %q)
    return (%z user_output)
  }
})");
  ExpectKept(R"(program edge {
  graph(%x: f32[2,3] user_input) {
    %p: f32[3,2] = edge.aten.permute_copy.default(%x, [1,0])
    %r: f32[3,2] = edge.aten.relu.default(%p)
    return (%r user_output)
  }
})");
}

TEST(SinkPermutesTest, KeepsDynamicSizes) {
  ExpectKept(R"(program edge {
  ranges { s0: [2, 8] }
  graph(%x: f32[s0,3] user_input) {
    %p: f32[3,s0] = edge.aten.permute_copy.default(%x, [1,0])
    %s: f32[3] = edge.aten.sum.dim_IntList(%p, [1])
    return (%s user_output)
  }
})");
}

}  // namespace
}  // namespace belay::exir
