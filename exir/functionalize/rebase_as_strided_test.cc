#include "exir/functionalize/rebase_as_strided.h"

#include <string>
#include <utility>

#include "exir/ops/standard_ops.h"
#include "exir/testing/rewrite_test.h"
#include "gtest/gtest.h"

namespace belay::exir {
namespace {

const OpRegistry& Ops() {
  static const OpRegistry& ops = *CreateStandardOps().value().release();
  return ops;
}

TEST(RebaseAsStridedTest, RebasesToStorageOwner) {
  ExpectRewrite(R"(program aten {
  graph(%x: f32[4,6] user_input) {
    %row: f32[6]{offset=12} = aten.select.int(%x, 0, 2)
    %y: f32[2,2]{strides=[6,1],offset=12} = aten.as_strided.default(%row, [2,2], [6,1])
    %z: f32[2]{offset=3} = aten.as_strided.default(%row, [2], [1], 3)
    return (%y user_output, %z user_output)
  }
})",
                RebaseAsStrided().run, R"(program aten {
  graph(%x: f32[4,6] user_input) {
    %row: f32[6]{offset=12} = aten.select.int(%x, 0, 2)
    %y: f32[2,2]{strides=[6,1],offset=12} = aten.as_strided.default(%x, [2,2], [6,1], 12)
    %z: f32[2]{offset=3} = aten.as_strided.default(%x, [2], [1], 3)
    return (%y user_output, %z user_output)
  }
})",
                Ops());
}

TEST(RebaseAsStridedTest, PermutesOwnerToMemoryOrder) {
  ExpectRewrite(R"(program aten {
  graph(%x: f32[2,3]{strides=[1,2]} user_input) {
    %y: f32[6] = aten.as_strided.default(%x, [6], [1])
    return (%y user_output)
  }
})",
                RebaseAsStrided().run, R"(program aten {
  graph(%x: f32[2,3]{strides=[1,2]} user_input) {
    %permute: f32[3,2] = aten.permute.default(%x, [1,0])
    %y: f32[6] = aten.as_strided.default(%permute, [6], [1], 0)
    return (%y user_output)
  }
})",
                Ops());
}

// A dimension of size 1 may have any stride.
TEST(RebaseAsStridedTest, IgnoresUnusedStrides) {
  ExpectRewrite(R"(program aten {
  graph(%x: f32[1,4]{strides=[9,1]} user_input) {
    %row: f32[4] = aten.select.int(%x, 0, 0)
    %y: f32[2] = aten.as_strided.default(%row, [2], [2])
    return (%y user_output)
  }
})",
                RebaseAsStrided().run, R"(program aten {
  graph(%x: f32[1,4]{strides=[9,1]} user_input) {
    %row: f32[4] = aten.select.int(%x, 0, 0)
    %y: f32[2] = aten.as_strided.default(%x, [2], [2], 0)
    return (%y user_output)
  }
})",
                Ops());
}

TEST(RebaseAsStridedTest, KeepsContiguousOwners) {
  ExpectUnchanged(R"(program aten {
  graph(%x: f32[4,6] user_input) {
    %y: f32[2,2]{strides=[6,1]} = aten.as_strided.default(%x, [2,2], [6,1])
    return (%y user_output)
  }
})",
                  RebaseAsStrided().run, Ops());
}

TEST(RebaseAsStridedTest, ListsNodesThatCannotBeRebased) {
  constexpr char kProgram[] = R"(program aten {
  graph(%x: f32[4]{offset=2} user_input, %g: f32[4,2]{strides=[4,1]} user_input) {
    %y: f32[2] = aten.as_strided.default(%x, [2], [1])
    %z: f32[2] = aten.as_strided.default(%g, [2], [1])
    %i: i32[4]{offset=2} = aten.view.dtype(%x, dtype:i32)
    %w: i32[2] = aten.as_strided.default(%i, [2], [1])
    return (%y user_output, %z user_output, %w user_output)
  }
})";
  for (const char* message :
       {"the memory begins before the input: %y", "the elements are not contiguous: %z",
        "the elements' type was reinterpreted: %w"}) {
    ExpectPassError(kProgram, RebaseAsStrided().run, absl::StatusCode::kUnimplemented, message,
                    Ops());
  }
}

TEST(RebaseAsStridedTest, FindsOwnersOnlyThroughViews) {
  // Results of operators, known or not, own their memory; literals have none.
  ExpectUnchanged(R"(program aten {
  graph(%x: f32[4] user_input) {
    %c: f32[4] = aten.clone.default(%x)
    %y: f32[2] = aten.as_strided.default(%c, [2], [1])
    %d: f32[4] = custom.op.default(%x)
    %z: f32[2] = aten.as_strided.default(%d, [2], [1])
    %l: f32[1] = aten.as_strided.default(2.0, [1], [1])
    return (%y user_output, %z user_output, %l user_output)
  }
})",
                  RebaseAsStrided().run, Ops());
}

TEST(RebaseAsStridedTest, RejectsMemoryOutsideTensors) {
  const std::pair<const char*, const char*> kCases[] = {
      {"%v: f32[1] = aten.alias.default(2.0)\n%y: f32[1] = aten.as_strided.default(%v, [1], [1])",
       "the elements' type was reinterpreted: %y"},
      {"%v: i64[1] = aten.alias.default(%n)\n%y: i64[1] = aten.as_strided.default(%v, [1], [1])",
       "the elements' type was reinterpreted: %y"},
      {"%v: f32[2]{offset=2} = aten.slice.Tensor(%x, 0, 2)\n"
       "%y: f32[2] = aten.as_strided_scatter.default(%v, %v, [2], [1])",
       "its operand is a view or not contiguous: %y"},
      {"%y: f32[2] = aten.as_strided.default(%gaps, [2], [1])",
       "the elements are not contiguous: %y"},
  };
  for (const auto& [nodes, message] : kCases) {
    ExpectPassError(std::string("program aten { ranges { s0: [1, 8] } graph(%x: f32[4] user_input, "
                                "%gaps: f32[2,2]{strides=[4,1]} user_input, %n: symint(s0) "
                                "user_input) {\n") +
                        nodes + "\nreturn (%x user_output) } }",
                    RebaseAsStrided().run, absl::StatusCode::kUnimplemented, message, Ops());
  }
}

// The offset of the view cannot be computed from the inputs.
TEST(RebaseAsStridedTest, RejectsInvalidOffsets) {
  ExpectPassError(R"(program aten {
  ranges { s9: [1, 8] }
  graph(%x: f32[100] user_input) {
    %v: f32[2]{offset=s9} = aten.slice.Tensor(%x, 0, 2)
    %y: f32[2] = aten.as_strided.default(%v, [2], [1])
    return (%y user_output)
  }
})",
                  RebaseAsStrided().run, absl::StatusCode::kUnimplemented,
                  "the size s9 can't be computed", Ops());
}

}  // namespace
}  // namespace belay::exir
