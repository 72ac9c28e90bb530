#include "exir/passes/resolve_layout_queries.h"

#include "exir/passes/pass_testing.h"
#include "exir/testing/rewrite_test.h"
#include "gtest/gtest.h"

namespace belay::exir {
namespace {

TEST(ResolveLayoutQueriesTest, ReplacesQueriesByConstants) {
  ExpectRewrite(R"(program aten {
  graph(%x: f32[4,6] user_input) {
    %s: f32[2,6]{offset=12} = aten.slice.Tensor(%x, 0, 2, 4)
    %o: symint(12) = aten.sym_storage_offset.default(%s)
    %t: symint(6) = aten.sym_stride.int(%s, 0)
    %c: symbool(true) = aten.sym_is_contiguous.default(%s)
    %v: f32[12,6] = aten.full.default([%o,%t], 1.0)
    return (%v user_output)
  }
})",
                ResolveLayoutQueries().run, R"(program aten {
  graph(%x: f32[4,6] user_input) {
    %s: f32[2,6]{offset=12} = aten.slice.Tensor(%x, 0, 2, 4)
    %v: f32[12,6] = aten.full.default([12,6], 1.0)
    return (%v user_output)
  }
})",
                PassTestOps());
}

TEST(ResolveLayoutQueriesTest, ComputesSizes) {
  ExpectRewrite(R"(program aten {
  ranges { s0: [2, 8] }
  graph(%x: f32[4,s0] user_input) {
    %s: f32[2,s0]{offset=2*s0} = aten.slice.Tensor(%x, 0, 2, 4)
    %o: symint(2*s0) = aten.sym_storage_offset.default(%s)
    return (%o user_output)
  }
})",
                ResolveLayoutQueries().run, R"(program aten {
  ranges { s0: [2, 8] }
  graph(%x: f32[4,s0] user_input) {
    %sym_size: symint(s0) = aten.sym_size.int(%x, 1)
    %mul: symint(2*s0) = _operator.mul(2, %sym_size)
    %s: f32[2,s0]{offset=2*s0} = aten.slice.Tensor(%x, 0, 2, 4)
    return (%mul user_output)
  }
})",
                PassTestOps());
}

TEST(ResolveLayoutQueriesTest, KeepsOtherPrograms) {
  ExpectUnchanged(R"(program aten {
  graph(%x: f32[4,6] user_input) {
    %s: f32[2,6]{offset=12} = aten.slice.Tensor(%x, 0, 2, 4)
    return (%s user_output)
  }
})",
                  ResolveLayoutQueries().run, PassTestOps());
}

// A stride that only the query itself defines is unknown otherwise.
TEST(ResolveLayoutQueriesTest, KeepsQueriesThatDefineTheirResult) {
  ExpectUnchanged(R"(program aten {
  ranges { u0: [1, 8] }
  graph(%x: f32[2,3]{strides=[u0,1]} user_input) {
    %n: symint(u0) = aten.sym_stride.int(%x, 0)
    return (%n user_output)
  }
})",
                  ResolveLayoutQueries().run, PassTestOps());
}

TEST(ResolveLayoutQueriesTest, RejectsUncomputableResults) {
  ExpectPassError(R"(program aten {
  ranges { s9: [1, 8] }
  graph(%x: f32[100] user_input) {
    %v: f32[2]{offset=s9 + 1} = aten.slice.Tensor(%x, 0, 2)
    %o: symint(s9 + 1) = aten.sym_storage_offset.default(%v)
    return (%o user_output)
  }
})",
                  ResolveLayoutQueries().run, absl::StatusCode::kUnimplemented,
                  "the size s9 can't be computed", PassTestOps());
}

TEST(ResolveLayoutQueriesTest, RejectsQueriesWithoutTensor) {
  ExpectPassError(R"(program aten {
  graph(%x: f32[2,3] user_input) {
    %n: symint(3) = aten.sym_stride.int(%x, 7)
    return (%n user_output)
  }
})",
                  ResolveLayoutQueries().run, absl::StatusCode::kOutOfRange,
                  "dim 7 is out of range", PassTestOps());
}

}  // namespace
}  // namespace belay::exir
