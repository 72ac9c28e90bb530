// View bytes: a call in, the location of its result in its argument out.
#include "exir/emit/view_bytes.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "exir/emit/testing/text_method.h"
#include "exir/op_definition/op_def.h"
#include "exir/op_definition/op_registry.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

// The first call of a method text.
class Call {
 public:
  explicit Call(std::string_view text)
      : text_(text),
        view_{text_.written.method, text_.written.method.instructions(0).kernel(),
              text_.written.operators[0]} {}
  const KernelCallView& view() const { return view_; }

  // Prints "name+offset" of each piece, with ' for slices; "no" for nullopt.
  std::string Print(const std::optional<std::vector<ViewPiece>>& pieces) const {
    if (!pieces.has_value()) return "no";
    std::string text;
    for (const ViewPiece& piece : *pieces) {
      for (const auto& [name, value] : text_.values) {
        if (value != piece.value) continue;
        absl::StrAppend(&text, text.empty() ? "" : " ", name, "+", piece.offset,
                        piece.slice ? "'" : "");
      }
    }
    return text;
  }

 private:
  const TextMethod text_;
  const KernelCallView view_;
};

struct Case {
  const char* text;
  const char* expected;
};

void ExpectViews(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    SCOPED_TRACE(c.text);
    const Call call(c.text);
    EXPECT_EQ(call.Print(ViewOfArgument(call.view())), c.expected);
  }
}

TEST(ViewBytesTest, ReshapesPreserveMemoryOrder) {
  ExpectViews({
      {"%v: f32[8,8] = aten.view_copy.default(%x: f32[4,16], [8,8])", "v+0"},
      {"%v: i32[8,8] = aten.view_copy.default(%x: f32[4,16], [8,8])", "no"},
      {"%v: f32[8,4] = aten.view_copy.default(%x: f32[4,16], [8,4])", "no"},
      // Neither is row-major; dimensions of size 1 are ignored.
      {"%v: f32[4,1,16]{2,1,0} = aten.unsqueeze_copy.default(%x: f32[4,16]{1,0}, 1)", "v+0"},
      {"%v: f32[8,8]{1,0} = aten.view_copy.default(%x: f32[4,16]{1,0}, [8,8])", "no"},
      {"%v: f32[64] = aten.view_copy.default(%x: f32[4,16]{1,0}, [64])", "no"},
      {"%v: f32[4,16]{1,0} = aten.view_copy.default(%x: f32[64], [4,16])", "no"},
  });
}

TEST(ViewBytesTest, CopiesPreserveSizesDTypeAndOrder) {
  ExpectViews({
      {"%v: f32[4,16] = aten.clone.default(%x: f32[4,16], none)", "v+0"},
      {"%v: f32[4,16]{1,0} = aten.clone.default(%x: f32[4,16], none)", "no"},
      {"%v: f32[1,4,16] = aten.clone.default(%x: f32[4,16], none)", "no"},
      {"%v: i32[4,16] = dim_order_ops._to_dim_order_copy.default(%x: f32[4,16])", "no"},
  });
}

TEST(ViewBytesTest, ReinterpretationsRequireRowMajorOrder) {
  ExpectViews({
      {"%v: f32[4,2] = aten.view_as_real_copy.default(%x: c64[4])", "v+0"},
      {"%v: c64[4] = aten.view_as_complex_copy.default(%x: f32[4,2])", "v+0"},
      {"%v: i16[4,4] = aten.view_copy.dtype(%x: f32[4,2], 2)", "v+0"},
      {"%v: i16[4,2] = aten.view_copy.dtype(%x: f32[4,2], 2)", "no"},
      {"%v: i32[4,2] = aten.view_copy.dtype(%x: f32[4,2]{1,0}, 3)", "no"},
      {"%v: i32[4,2]{1,0} = aten.view_copy.dtype(%x: f32[4,2], 3)", "no"},
  });
}

TEST(ViewBytesTest, PermutationsMoveNoElement) {
  ExpectViews({
      {"%v: f32[16,4]{1,0} = aten.permute_copy.default(%x: f32[4,16], [1,0])", "v+0"},
      {"%v: f32[16,4]{1,0} = aten.permute_copy.default(%x: f32[4,16], [-1,-2])", "v+0"},
      {"%v: f32[16,4] = aten.permute_copy.default(%x: f32[4,16], [1,0])", "no"},
      {"%v: f32[16,4]{1,0} = aten.transpose_copy.int(%x: f32[4,16], 0, 1)", "v+0"},
      {"%v: f32[16,4]{1,0} = aten.t_copy.default(%x: f32[4,16])", "v+0"},
      // The sizes do not match the permutation.
      {"%v: f32[4,16] = aten.t_copy.default(%x: f32[4,16])", "no"},
      // Invalid dimension arguments.
      {"%v: f32[16,4]{1,0} = aten.permute_copy.default(%x: f32[4,16], none)", "no"},
      {"%v: f32[16,4]{1,0} = aten.permute_copy.default(%x: f32[4,16], [1])", "no"},
      {"%v: f32[16,4]{1,0} = aten.permute_copy.default(%x: f32[4,16], [1,%d: int])", "no"},
      {"%v: f32[16,4]{1,0} = aten.permute_copy.default(%x: f32[4,16], [1,2])", "no"},
      {"%v: f32[16,4]{1,0} = aten.permute_copy.default(%x: f32[4,16], [-3,0])", "no"},
      {"%v: f32[16,4]{1,0} = aten.transpose_copy.int(%x: f32[4,16], 2, 1)", "no"},
      {"%v: f32[16,4]{1,0} = aten.transpose_copy.int(%x: f32[4,16], 0, none)", "no"},
  });
}

TEST(ViewBytesTest, SlicesAreContiguousRanges) {
  ExpectViews({
      {"%v: f32[2,16] = aten.slice_copy.Tensor(%x: f32[4,16], 0, 1, 3, 1)", "v+64'"},
      {"%v: f32[2,16] = aten.slice_copy.Tensor(%x: f32[4,16], -2, none, 2, 1)", "v+0'"},
      // slice clamps its bounds; select and narrow do not.
      {"%v: f32[2,16] = aten.slice_copy.Tensor(%x: f32[4,16], 0, -99, 2, 1)", "v+0'"},
      {"%v: f32[2,16] = aten.narrow_copy.default(%x: f32[4,16], 0, 2, 2)", "v+128'"},
      {"%v: f32[2,16] = aten.narrow_copy.default(%x: f32[4,16], 0, -99, 2)", "no"},
      {"%v: f32[2,16] = aten.narrow_copy.default(%x: f32[4,16], 0, 3, 2)", "no"},
      {"%v: f32[2,16] = aten.narrow_copy.default(%x: f32[4,16], 0, none, 2)", "no"},
      {"%v: f32[-2,16] = aten.narrow_copy.default(%x: f32[4,16], 0, 2, 2)", "no"},
      {"%v: f32[16] = aten.select_copy.int(%x: f32[4,16], 0, 3)", "v+192'"},
      {"%v: f32[16] = aten.select_copy.int(%x: f32[4,16], 0, 9223372036854775807)", "no"},
      {"%v: f32[2,16] = aten.slice_copy.Tensor(%x: f32[4,16], 0, %s: int, 3, 1)", "no"},
      {"%v: f32[2,16] = aten.slice_copy.Tensor(%x: f32[4,16], 0, 0, 4, 2)", "no"},
      {"%v: f32[2,16] = aten.slice_copy.Tensor(%x: f32[4,16], 2, 0, 2, 1)", "no"},
      {"%v: f32[2,16] = aten.slice_copy.Tensor(%x: f32[4,16])", "no"},
      // The dimension is missing in the result, or its sizes differ from the slice.
      {"%v: f32[4] = aten.slice_copy.Tensor(%x: f32[4,16], 1, 0, 0, 1)", "no"},
      {"%v: f32[2,8] = aten.slice_copy.Tensor(%x: f32[4,16], 0, 0, 2, 1)", "no"},
      {"[%v: f32[2,16], %w: f32[2,16]] = aten.slice_copy.Tensor(%x: f32[4,16], 0, 0, 2, 1)", "no"},
  });
}

TEST(ViewBytesTest, SplitsCoverTheArgument) {
  ExpectViews({
      {"[%v: f32[3,16], %w: f32[1,16]] = aten.split_copy.Tensor(%x: f32[4,16], 3, 0)",
       "v+0' w+192'"},
      {"[%v: f32[1,16], %w: f32[3,16]] = aten.split_with_sizes_copy.default(%x: f32[4,16], [1,3], "
       "0)",
       "v+0' w+64'"},
      {"[%v: f32[16], %w: f32[16]] = aten.unbind_copy.int(%x: f32[2,16], 0)", "v+0' w+64'"},
      {"[%v: f32[16]] = aten.unbind_copy.int(%x: f32[2,16], 0)", "no"},
      {"[%v: f32[2,16]] = aten.split_copy.Tensor(%x: f32[4,16], 2, 0)", "no"},
      {"[%v: f32[2,8], %w: f32[2,16]] = aten.split_copy.Tensor(%x: f32[4,16], 2, 0)", "no"},
      {"[%v: f32[4], %w: f32[4,16]] = aten.split_copy.Tensor(%x: f32[4,16], 16, 1)", "no"},
      {"[%v: f32[2,16], %w: f32[2,16]] = aten.split_copy.Tensor(%x: f32[4,16], 2, 2)", "no"},
      {"[%v: f32[2,16], %w: f32[2,16]] = aten.split_copy.Tensor(%x: f32[4,16], 2, %d: int)", "no"},
      {"[%v: f32[?2,16], %w: f32[2,16]] = aten.split_copy.Tensor(%x: f32[4,16], 2, 0)", "no"},
      {"[] = aten.split_copy.Tensor(%x: f32[4,16], 2, 0)", "no"},
  });
}

TEST(ViewBytesTest, RejectsDynamicOrEmptyTensorsAndOtherOperators) {
  ExpectViews({
      {"%v: f32[4] = aten.relu.default(%x: f32[4])", "no"},
      {"%v: f32[4] = my.own.op(%x: f32[4])", "no"},
      {"[%v: f32[4], %w: f32[4]] = my.own.op(%x: f32[4])", "no"},
      {"%v: f32[4], %w: f32[4] = aten.view_copy.default(%x: f32[4], [4])", "no"},
      {"%v: f32[4] = aten.view_copy.default()", "no"},
      {"%v: f32[4] = aten.view_copy.default(1, [4])", "no"},
      {"%v: f32[?4] = aten.view_copy.default(%x: f32[?4], [4])", "no"},
      {"%v: f32[4] = aten.view_copy.default(%x: f32[?4], [4])", "no"},
      {"%v: f32[?4] = aten.view_copy.default(%x: f32[4], [4])", "no"},
      {"%v: f32[0] = aten.view_copy.default(%x: f32[0], [0])", "no"},
  });
}

TEST(ViewBytesTest, DynamicResultsHaveBytesOfArgument) {
  const Case cases[] = {
      {"%v: f32[?64] = aten.view_copy.default(%x: f32[?4,16], [-1])", "yes"},
      {"%v: f32[?64] = aten.view_copy.default(%x: f32[?4,16]{1,0}, [-1])", "no"},
      {"%v: f32[16,?4]{1,0} = aten.view_copy.default(%x: f32[?4,16], [16,-1])", "no"},
      {"%v: f32[?4,16]{1,0} = aten.alias_copy.default(%x: f32[?4,16]{1,0})", "yes"},
      {"%v: f32[?4,16] = aten.alias_copy.default(%x: f32[?4,16]{1,0})", "no"},
      {"%v: i32[?4] = dim_order_ops._to_dim_order_copy.default(%x: f32[?4])", "no"},
      {"%v: f32[?32] = aten.view_copy.default(%x: f32[?4,16], [-1])", "no"},
      {"%v: f32[?4] = aten.view_copy.default(1, [-1])", "no"},
      {"%v: int = aten.view_copy.default(%x: f32[?4], [-1])", "no"},
      {"%v: f32[?4] = aten.view_copy.default()", "no"},
      {"%v: f32[?4], %w: f32[?4] = aten.view_copy.default(%x: f32[?4], [-1])", "no"},
      {"%v: f32[?4] = aten.clone.default(%x: f32[?4], none)", "no"},  // must not alias its argument
      {"%v: f32[?4] = my.own.op(%x: f32[?4])", "no"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.text);
    EXPECT_EQ(HasBytesOfArgument(Call(c.text).view()) ? "yes" : "no", std::string(c.expected));
  }
}

TEST(ViewBytesTest, ArgumentsHaveSchemaNames) {
  const Call call("%v: f32[2,16] = aten.narrow_copy.default(%x: f32[4,16], 0, %s: int)");
  EXPECT_EQ(call.view().Int("dim"), 0);
  EXPECT_NE(call.view().argument("start"), nullptr);
  EXPECT_EQ(call.view().Int("start"), std::nullopt);    // not a literal
  EXPECT_EQ(call.view().argument("length"), nullptr);   // missing in this call
  EXPECT_EQ(call.view().argument("nothing"), nullptr);  // unknown to the operator
  const Call unknown("%v: f32[4] = my.own.op(%x: f32[4])");
  EXPECT_EQ(unknown.view().argument("self"), nullptr);
}

// The name is not sufficient: a registry may define another operator with it.
TEST(ViewBytesTest, ChecksOperatorTraits) {
  constexpr OpDef kOwn[] = {{.schema = "aten::view_copy(Tensor self, SymInt[] size) -> Tensor"}};
  const absl::Span<const OpDef> tables[] = {kOwn};
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<OpRegistry> ops, OpRegistry::Create(tables));
  const Call call("%v: f32[?64] = aten.view_copy.default(%x: f32[?4,16], [-1])");
  EXPECT_TRUE(HasBytesOfArgument(call.view()));
  EXPECT_FALSE(HasBytesOfArgument(
      {call.view().method, call.view().call, ops->Find("aten.view_copy.default")}));
}

TEST(ViewBytesTest, ConcatenationOperandsAreConsecutive) {
  const Case cases[] = {
      {"%v: f32[5,16] = aten.cat.default([%x: f32[2,16], %y: f32[3,16]], 0)", "x+0' y+128'"},
      {"%v: f32[5,16] = aten.cat.default([%x: f32[2,16], %y: f32[3,16]], -2)", "x+0' y+128'"},
      {"%v: f32[2,32] = aten.cat.default([%x: f32[2,16], %y: f32[2,16]], 1)", "no"},
      {"%v: f32[5,16] = aten.cat.default([%x: f32[2,16], %y: f32[2,16]], 0)", "no"},
      {"%v: f32[5,16] = aten.cat.default([%x: f32[2,16], %y: f32[3,8]], 0)", "no"},
      {"%v: f32[5,16] = aten.cat.default([%x: f32[2,16], %y: f32[?3,16]], 0)", "no"},
      {"%v: f32[5,16] = aten.cat.default([%x: f32[2,16], %y: f32[0]], 0)", "no"},
      {"%v: f32[5,16] = aten.cat.default([%x: f32[2,16], %y: f32[48]], 0)", "no"},
      {"%v: f32[5,16] = aten.cat.default([%x: f32[2,16], %y: i32[3,16]], 0)", "no"},
      {"%v: f32[?5,16] = aten.cat.default([%x: f32[2,16], %y: f32[3,16]], 0)", "no"},
      {"%v: f32[5,16] = aten.cat.default([%x: f32[2,16], %y: f32[3,16]], 2)", "no"},
      {"%v: f32[2,16] = aten.cat.default(%x: f32[2,16], 0)", "no"},
      {"%v: f32[2,16] = aten.cat.default()", "no"},
      {"%v: f32[2], %w: f32[2] = aten.cat.default([%x: f32[2]], 0)", "no"},
      {"%v: f32[2] = my.own.op([%x: f32[2]], 0)", "no"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.text);
    const Call call(c.text);
    EXPECT_EQ(call.Print(JoinedOperands(call.view())), c.expected);
  }
}

}  // namespace
}  // namespace belay::exir
