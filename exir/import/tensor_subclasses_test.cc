#include "exir/import/tensor_subclasses.h"

#include <memory>
#include <string>

#include "exir/ir/text.h"
#include "exir/ops/standard_ops.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

// Returns the text form of the flattened program.
std::string Opened(std::string_view text,
                   absl::StatusOr<std::unique_ptr<OpRegistry>> ops = CreateStandardOps()) {
  if (!ops.ok()) return std::string(ops.status().message());
  absl::StatusOr<ExportedProgram> program = ParseProgram(text, **ops);
  if (!program.ok()) return std::string(program.status().message());
  OpenTensorSubclasses(*program);
  return PrintProgram(*program);
}

TEST(TensorSubclassesTest, ReadAttributesBecomeInputs) {
  EXPECT_EQ(Opened(R"(program aten {
  graph(%p: f32[2,3] parameter "0.weight", %x: f32[4,3] user_input) {
    %a: i8[2,3] = export.access_subclass_inner_tensor.default(%p, "qdata")
    %b: f32[2,1] = export.access_subclass_inner_tensor.default(%p, "scale")
    %c: i8[2,3] = export.access_subclass_inner_tensor.default(%p, "qdata")
    return (%a user_output, %b user_output, %c user_output, %x user_output)
  }
})"),
            R"(program aten {
  graph(%p_qdata: i8[2,3] parameter "0.weight.qdata",
        %p_scale: f32[2,1] parameter "0.weight.scale",
        %x: f32[4,3] user_input) {
    return (%p_qdata user_output, %p_scale user_output, %p_qdata user_output, %x user_output)
  }
}
)");
}

TEST(TensorSubclassesTest, KeepsInputsWithOtherUses) {
  const std::string text = R"(program aten {
  graph(%p: f32[2,3] parameter "0.weight") {
    %a: i8[2,3] = export.access_subclass_inner_tensor.default(%p, "qdata")
    %b: f32[2,3] = aten.relu.default(%p)
    return (%a user_output, %b user_output)
  }
}
)";
  EXPECT_EQ(Opened(text), text);
}

// Without a known schema, archives may call an operator of this name with other arguments.
TEST(TensorSubclassesTest, KeepsOtherCalls) {
  for (const char* call :
       {R"(%a: i8[2,3] = export.access_subclass_inner_tensor.default(%p))",
        R"(%a: i8[2,3] = export.access_subclass_inner_tensor.default(%p, 3))",
        R"(%a: i8[2,3] = export.access_subclass_inner_tensor.default(3, %p))",
        R"(%a: i8[2,3] = export.access_subclass_inner_tensor.default(%x, %p))",
        R"(%a: i8[2,3] = export.access_subclass_inner_tensor.default(%x, [%p]))",
        R"(%a: i8[2,3], none = export.access_subclass_inner_tensor.default(%p, "q"))",
        R"([%a: i8[2,3]] = export.access_subclass_inner_tensor.default(%p, "q"))"}) {
    const std::string text = std::string(R"(program aten {
  graph(%p: f32[2,3] parameter "0.weight",
        %x: f32[2,3] user_input) {
    )") + call + R"(
    return (%a user_output)
  }
}
)";
    EXPECT_EQ(Opened(text, OpRegistry::Create({})), text);
  }
}

// Another operator with a tensor and a string argument.
TEST(TensorSubclassesTest, MatchesOnlyAttributeReads) {
  const std::string text = R"(program aten {
  graph(%p: f32[2,3] parameter "0.weight") {
    %a: f32[2,3] = aten.gelu.default(%p, approximate="tanh")
    return (%a user_output)
  }
}
)";
  EXPECT_EQ(Opened(text), text);
}

}  // namespace
}  // namespace belay::exir
