#include "exir/backend/transforms/edge_to_backend_ops.h"

#include <memory>

#include "exir/passes/pass_testing.h"
#include "exir/testing/rewrite_test.h"
#include "gtest/gtest.h"
#include "runtime/core/status_macros.h"

namespace belay::exir {
namespace {

constexpr MetaFn kMeta = [](MetaContext&) { return absl::OkStatus(); };
constexpr OpDef kOps[] = {
    {.schema = "_operator::add(Scalar a, Scalar b) -> Scalar", .traits = kSymbolic},
    {.schema = "_operator::lshift(Scalar a, Scalar b) -> Scalar", .traits = kSymbolic},
    {.schema = "_operator::mul(Scalar a, Scalar b) -> Scalar", .traits = kSymbolic},
    {.schema = "_operator::neg(Scalar a) -> Scalar", .traits = kSymbolic},
    {.schema = "aten::relu(Tensor self) -> Tensor", .meta = kMeta},
    {.schema = "aten::sym_size.int(Tensor self, int dim) -> SymInt", .traits = kSymbolic},
    {.schema = "executorch_prim::add.Scalar(Scalar a, Scalar b) -> Scalar", .meta = kMeta},
    {.schema = "executorch_prim::mul.Scalar(Scalar a, Scalar b) -> Scalar"},
    {.schema = "executorch_prim::neg.Scalar(Scalar a, Scalar b) -> Scalar", .meta = kMeta},
    {.schema = "quantized_decomposed::add(Tensor a) -> Tensor", .meta = kMeta},
    {.schema = "quantized_decomposed::bare(Tensor a) -> Tensor"},
};

const OpRegistry& Ops() {
  static const OpRegistry* const ops = [] {
    const absl::Span<const OpDef> tables[] = {kOps};
    auto created = OpRegistry::Create(tables);
    ABSL_CHECK(created.ok());
    return created->release();
  }();
  return *ops;
}

// Replaces operators with kernels, independent of earlier lookups; mul and bare have none.
TEST(EdgeToBackendOpsTest, ReplacesScalarFunctionsAndBackendNamespaces) {
  ExpectRewrite(R"(program edge {
    graph(%p: b8[] user_input, %x: f32[s0] user_input) {
      %n: symint(s0) = aten.sym_size.int(%x, 0)
      %m: symint(s0 + 1) = _operator.add(%n, 1)
      %k: symint(2*s0) = _operator.mul(%n, 2)
      %l: symint(2*s0) = _operator.lshift(%n, 1)
      %a: f32[s0] = edge.quantized_decomposed.add.default(%x)
      %b: f32[s0] = edge.quantized_decomposed.bare.default(%a)
      %c: f32[s0] = edge.aten.relu.default(%b)
      %d: f32[s0] = higher_order.cond(%p, graph#1, graph#2, [%c])
      return (%d user_output)
    }
    graph true_graph_0(%y: f32[s0]) {
      %e: f32[s0] = edge.quantized_decomposed.add.default(%y)
      return (%e)
    }
    graph false_graph_0(%y: f32[s0]) {
      return (%y)
    }
  })",
                EdgeToBackendOps().run, R"(program edge {
    graph(%p: b8[] user_input, %x: f32[s0] user_input) {
      %n: symint(s0) = aten.sym_size.int(%x, 0)
      %m: symint(s0 + 1) = backend.executorch_prim.add.Scalar(%n, 1)
      %k: symint(2*s0) = _operator.mul(%n, 2)
      %l: symint(2*s0) = _operator.lshift(%n, 1)
      %a: f32[s0] = backend.quantized_decomposed.add.default(%x)
      %b: f32[s0] = edge.quantized_decomposed.bare.default(%a)
      %c: f32[s0] = edge.aten.relu.default(%b)
      %d: f32[s0] = higher_order.cond(%p, graph#1, graph#2, [%c])
      return (%d user_output)
    }
    graph true_graph_0(%y: f32[s0]) {
      %e: f32[s0] = backend.quantized_decomposed.add.default(%y)
      return (%e)
    }
    graph false_graph_0(%y: f32[s0]) {
      return (%y)
    }
  })",
                Ops());
}

TEST(EdgeToBackendOpsTest, KeepsFunctionsOfOtherArguments) {
  ExpectUnchanged(R"(program edge {
    graph(%n: symint(s0) user_input) {
      %m: symint(u0) = _operator.neg(%n)
      return (%m user_output)
    }
  })",
                  EdgeToBackendOps().run, Ops());
}

TEST(EdgeToBackendOpsTest, KeepsOperatorsWithoutBackendOverload) {
  ExpectUnchanged(R"(program edge {
    graph(%x: f32[2] user_input) {
      %b: f32[2] = edge.quantized_decomposed.bare.default(%x)
      %c: f32[2] = edge.aten.relu.default(%b)
      return (%c user_output)
    }
  })",
                  EdgeToBackendOps().run, Ops());
}

}  // namespace
}  // namespace belay::exir
