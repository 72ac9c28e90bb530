#include "bindings/c/compiler/refused_nodes.h"

#include "gtest/gtest.h"

namespace belay::c {
namespace {

using nlohmann::json;

json Row(const char* method, const char* node, const char* op, const char* source,
         const char* reason) {
  return {
      {"method", method}, {"node", node}, {"operator", op}, {"source", source}, {"reason", reason}};
}

TEST(RefusedNodesTest, ListsUsesOfUnknownOperators) {
  EXPECT_EQ(
      RefusedNodes(absl::UnimplementedError(
          "emit: method 'decode': unsupported:\n"
          "  unknown operator aten.eig.default, used 2 times: node 'eig' at m.py:3, node "
          "'eig_1' at m.py:4\n"
          "  unknown operator zoo.f.default, used 1 time: node 'f'")),
      json::array(
          {Row("decode", "eig", "aten.eig.default", "m.py:3", "unknown operator aten.eig.default"),
           Row("decode", "eig_1", "aten.eig.default", "m.py:4",
               "unknown operator aten.eig.default"),
           Row("decode", "f", "zoo.f.default", "", "unknown operator zoo.f.default")}));
}

TEST(RefusedNodesTest, ListsPrintedNodesAndOthers) {
  EXPECT_EQ(RefusedNodes(absl::UnimplementedError(
                "to_edge: method 'f': unsupported:\n"
                "  %to: u32[3,3] = aten.to.dtype(%x, dtype:u32) (m.py:3): no uint32\n"
                "  %add: u32[3] = aten.add.Tensor(%x, %x): no uint32\n"
                "  node 'mul_3' (torch.ops.aten.mul.Tensor, m.py:12): it is complex\n"
                "  input 'x': it is a string\n"
                "  and 3 more")),
            json::array({Row("f", "to", "aten.to.dtype", "m.py:3", "no uint32"),
                         Row("f", "add", "aten.add.Tensor", "", "no uint32"),
                         Row("f", "mul_3", "torch.ops.aten.mul.Tensor", "m.py:12", "it is complex"),
                         Row("f", "input 'x'", "", "", "it is a string")}));
}

TEST(RefusedNodesTest, OtherErrorsHaveNoNodes) {
  EXPECT_EQ(RefusedNodes(absl::OkStatus()), json::array());
  EXPECT_EQ(RefusedNodes(absl::NotFoundError("a:\n  b: c")), json::array());
  EXPECT_EQ(RefusedNodes(absl::UnimplementedError("a: b")), json::array());
  EXPECT_EQ(RefusedNodes(absl::UnimplementedError("a:\n  \n  %\n  unknown operator ")),
            json::array({Row("", "", "", "", "%")}));
}

}  // namespace
}  // namespace belay::c
