#include "exir/functionalize/rebase_as_strided.h"

#include "exir/ops/standard_ops.h"
#include "exir/testing/rewrite_test.h"
#include "gtest/gtest.h"

namespace belay::exir {
namespace {

const OpRegistry& Ops() {
  static const OpRegistry& ops = *CreateStandardOps().value().release();
  return ops;
}

TEST(RebaseAsStridedTest, CountsFromTheOwnerOfTheMemory) {
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

TEST(RebaseAsStridedTest, PutsTheOwnersDimensionsInMemoryOrder) {
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

TEST(RebaseAsStridedTest, LeavesContiguousOwnersAlone) {
  ExpectUnchanged(R"(program aten {
  graph(%x: f32[4,6] user_input) {
    %y: f32[2,2]{strides=[6,1]} = aten.as_strided.default(%x, [2,2], [6,1])
    return (%y user_output)
  }
})",
                  RebaseAsStrided().run, Ops());
}

TEST(RebaseAsStridedTest, ListsWhatCantBeRebased) {
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
       {"the memory begins before the input: %y", "the elements do not lie without gaps: %z",
        "the elements' type was reinterpreted: %w"}) {
    ExpectPassError(kProgram, RebaseAsStrided().run, absl::StatusCode::kUnimplemented, message,
                    Ops());
  }
}

}  // namespace
}  // namespace belay::exir
