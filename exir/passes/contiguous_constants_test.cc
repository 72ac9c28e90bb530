#include "exir/passes/contiguous_constants.h"

#include <string>
#include <utility>

#include "exir/passes/pass_testing.h"
#include "exir/testing/rewrite_test.h"
#include "gtest/gtest.h"

namespace belay::exir {
namespace {

TEST(ContiguousConstantsTest, TransposedWeightIsCopied) {
  ExpectRewrite(R"(program aten {
  constants { state "w": f32[2,3]{strides=[1,2]} }
  graph(%w: f32[2,3]{strides=[1,2]} parameter "w", %x: f32[2,3] user_input) {
    %y: f32[2,3] = aten.mul.Tensor(%x, %w)
    return (%y user_output)
  }
})",
                ContiguousConstants().run, R"(program aten {
  constants { state "w": f32[2,3] }
  graph(%w: f32[2,3] parameter "w", %x: f32[2,3] user_input) {
    %y: f32[2,3] = aten.mul.Tensor(%x, %w)
    return (%y user_output)
  }
})",
                PassTestOps());
}

TEST(ContiguousConstantsTest, ContiguousWeightStays) {
  ExpectUnchanged(R"(program aten {
  constants { state "w": f32[2,3] }
  graph(%w: f32[2,3] parameter "w") {
    return (%w user_output)
  }
})",
                  ContiguousConstants().run, PassTestOps());
}

TEST(ContiguousConstantsTest, ChannelsLastWeightStays) {
  ExpectUnchanged(R"(program aten {
  constants { state "w": f32[2,3,4,5]{strides=[60,1,15,3]} }
  graph(%w: f32[2,3,4,5]{strides=[60,1,15,3]} parameter "w") {
    return (%w user_output)
  }
})",
                  ContiguousConstants().run, PassTestOps());
}

TEST(ContiguousConstantsTest, GapsAreClosed) {
  ExpectRewrite(R"(program aten {
  constants { state "w": f32[2,2]{strides=[4,1]} constant "c": f32[3]{strides=[2]} }
  graph(%w: f32[2,2]{strides=[4,1]} parameter "w", %c: f32[3]{strides=[2]} tensor_constant "c", %x: f32[2] user_input) {
    return (%x user_output)
  }
})",
                ContiguousConstants().run, R"(program aten {
  constants { state "w": f32[2,2] constant "c": f32[3] }
  graph(%w: f32[2,2] parameter "w", %c: f32[3] tensor_constant "c", %x: f32[2] user_input) {
    return (%x user_output)
  }
})",
                PassTestOps());
}

// A tensor of a few bytes with stride 0 does not become one of gigabytes.
TEST(ContiguousConstantsTest, BoundsCopiesOfRepeatedElements) {
  for (const auto& [where, kind] :
       {std::pair("state", "buffer"), {"constant", "tensor_constant"}}) {
    ExpectPassError(std::string("program aten { constants { ") + where +
                        " \"w\": f32[100000,100000]{strides=[0,1]} } graph(%w: "
                        "f32[100000,100000]{strides=[0,1]} " +
                        kind + " \"w\", %x: f32[2] user_input) { return (%x user_output) } }",
                    ContiguousConstants().run, absl::StatusCode::kResourceExhausted,
                    "a dense copy of f32[100000,100000]", PassTestOps());
  }
}

}  // namespace
}  // namespace belay::exir
