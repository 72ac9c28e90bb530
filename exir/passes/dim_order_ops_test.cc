#include "exir/passes/dim_order_ops.h"

#include "exir/passes/pass_testing.h"
#include "exir/testing/rewrite_test.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

TEST(DimOrderOpsTest, CloneNamesTheInputsOrder) {
  ExpectRewrite(R"(program aten {
  graph(%x: f32[1,2,3,4]{strides=[24,1,8,2]} user_input) {
    %y: f32[1,2,3,4]{strides=[24,1,8,2]} = aten.clone.default(%x)
    %z: f32[1,2,3,4] = aten.clone.default(%x, memory_format=format:contiguous)
    return (%y user_output, %z user_output)
  }
})",
                ReplaceMemoryFormatOps().run, R"(program aten {
  graph(%x: f32[1,2,3,4]{strides=[24,1,8,2]} user_input) {
    %y: f32[1,2,3,4]{strides=[24,1,8,2]} = dim_order_ops._clone_dim_order.default(%x, dim_order=[0,2,3,1])
    %z: f32[1,2,3,4] = dim_order_ops._clone_dim_order.default(%x, dim_order=[0,1,2,3])
    return (%y user_output, %z user_output)
  }
})",
                PassTestOps());
}

TEST(DimOrderOpsTest, PreservesOrdersWithoutFormat) {
  ExpectRewrite(R"(program aten {
  graph(%x: f32[2,3]{strides=[1,2]} user_input) {
    %y: f32[2,3]{strides=[1,2]} = aten.clone.default(%x)
    return (%y user_output)
  }
})",
                ReplaceMemoryFormatOps().run, R"(program aten {
  graph(%x: f32[2,3]{strides=[1,2]} user_input) {
    %y: f32[2,3]{strides=[1,2]} = dim_order_ops._clone_dim_order.default(%x)
    return (%y user_output)
  }
})",
                PassTestOps());
}

// A dimension of one element may have any stride; the result has the stride of the dim order.
TEST(DimOrderOpsTest, ResultHasTheStridesOfTheNamedOrder) {
  ExpectRewrite(R"(program aten {
  graph(%x: f32[2,1,4,4]{strides=[16,1,4,1]} user_input) {
    %y: f32[2,1,4,4]{strides=[16,1,4,1],grad} = aten.clone.default(%x, memory_format=format:contiguous)
    %z: f16[2,1,4,4] = aten._to_copy.default(%x, dtype=dtype:f16, memory_format=format:channels_last)
    return (%y user_output, %z user_output)
  }
})",
                ReplaceMemoryFormatOps().run, R"(program aten {
  graph(%x: f32[2,1,4,4]{strides=[16,1,4,1]} user_input) {
    %y: f32[2,1,4,4]{grad} = dim_order_ops._clone_dim_order.default(%x, dim_order=[0,1,2,3])
    %z: f16[2,1,4,4]{strides=[16,1,4,1]} = dim_order_ops._to_dim_order_copy.default(%x, dtype=dtype:f16, dim_order=[0,2,3,1])
    return (%y user_output, %z user_output)
  }
})",
                PassTestOps());
}

TEST(DimOrderOpsTest, ToCopyKeepsItsDType) {
  ExpectRewrite(R"(program aten {
  graph(%x: f32[2,3] user_input) {
    %y: f16[2,3] = aten._to_copy.default(%x, dtype=dtype:f16)
    return (%y user_output)
  }
})",
                ReplaceMemoryFormatOps().run, R"(program aten {
  graph(%x: f32[2,3] user_input) {
    %y: f16[2,3] = dim_order_ops._to_dim_order_copy.default(%x, dtype=dtype:f16, dim_order=[0,1])
    return (%y user_output)
  }
})",
                PassTestOps());
}

// Text after "format = ": a scalar has no dim order, nor has a tensor with ambiguous strides.
TEST(DimOrderOpsTest, DefaultsToTheContiguousOrder) {
  ExpectRewrite(R"(program aten {
  ranges { s0: [1, 8] }
  graph(%n: symint(s0) user_input, %x: f32[2,3]{strides=[0,1]} user_input) {
    %a: i64[] = aten._to_copy.default(%n, dtype=dtype:i64)
    %b: i64[] = aten._to_copy.default(2, dtype=dtype:i64)
    %c: f32[2,3] = aten.clone.default(%x)
    %d: f32[2,3] = aten.empty.memory_format([2,3])
    %e: f32[1,2,3,4,5]{strides=[120,1,40,10,2]} = aten.empty.memory_format([1,2,3,4,5], memory_format=format:channels_last_3d)
    return (%a user_output, %b user_output, %c user_output, %d user_output, %e user_output)
  }
})",
                ReplaceMemoryFormatOps().run, R"(program aten {
  ranges { s0: [1, 8] }
  graph(%n: symint(s0) user_input, %x: f32[2,3]{strides=[0,1]} user_input) {
    %a: i64[] = dim_order_ops._to_dim_order_copy.default(%n, dtype=dtype:i64, dim_order=[])
    %b: i64[] = dim_order_ops._to_dim_order_copy.default(2, dtype=dtype:i64, dim_order=[])
    %c: f32[2,3] = dim_order_ops._clone_dim_order.default(%x, dim_order=[0,1])
    %d: f32[2,3] = dim_order_ops._empty_dim_order.default([2,3], dim_order=[0,1])
    %e: f32[1,2,3,4,5]{strides=[120,1,40,10,2]} = dim_order_ops._empty_dim_order.default([1,2,3,4,5], dim_order=[0,2,3,4,1])
    return (%a user_output, %b user_output, %c user_output, %d user_output, %e user_output)
  }
})",
                PassTestOps());
}

TEST(DimOrderOpsTest, NamesUnregisteredOperators) {
  constexpr OpDef kRows[] = {
      {.schema = "aten::clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor"}};
  const absl::Span<const OpDef> tables[] = {kRows};
  ASSERT_OK_AND_ASSIGN(const auto ops, OpRegistry::Create(tables));
  ExpectPassError(R"(program aten {
  graph(%x: f32[2] user_input) {
    %a: f32[2] = aten.clone.default(%x)
    return (%a user_output)
  }
})",
                  ReplaceMemoryFormatOps().run, absl::StatusCode::kUnimplemented,
                  "operator dim_order_ops._clone_dim_order.default is not registered", *ops);
}

}  // namespace
}  // namespace belay::exir
