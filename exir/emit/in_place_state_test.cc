// Finds buffer updates that can run in place: program text in, operators out.
#include "exir/emit/in_place_state.h"

#include <memory>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "exir/ops/standard_ops.h"
#include "exir/testing/programs.h"
#include "gtest/gtest.h"

namespace belay::exir {
namespace {

// Returns "node operator" for each in-place node, in the order of graphs and nodes.
std::string InPlace(std::string_view text) {
  static const OpRegistry* const ops = CreateStandardOps()->release();
  const ExportedProgram program = ParseOrDie(text, *ops);
  const InPlaceNodes found = FindInPlaceNodes(program, /*all=*/true);
  std::string nodes;
  for (const Graph& graph : program.graphs) {
    for (NodeId id : graph.nodes()) {
      const auto it = found.find({&graph, id});
      if (it == found.end()) continue;
      nodes += (nodes.empty() ? "" : ", ") + graph.node(id).name + " ";
      nodes += it->second;
    }
  }
  return nodes;
}

TEST(InPlaceStateTest, FindsUpdateChainsOfBuffersAndInputs) {
  EXPECT_EQ(InPlace(R"(program edge {
    constants { state "b": f32[4,2] }
    graph(%b: f32[4,2] buffer "b", %c: f32[4] user_input, %i: i64[1] user_input,
          %x: f32[1,2] user_input, %y: f32[1] user_input) {
      %p: f32[4,2] = edge.aten.index_put.default(%b, [%i], %x)
      %q: f32[4,2] = edge.aten.index_copy.default(%p, 0, %i, %x)
      %r: f32[4] = edge.aten.index_put.default(%c, [%i], %y)
      return (%q buffer_mutation "b", %r user_input_mutation "c")
    }
  })"),
            "p aten.index_put_.default, q aten.index_copy_.default, r aten.index_put_.default");
}

TEST(InPlaceStateTest, RejectsChainsWithGaps) {
  struct Case {
    const char* what;
    const char* nodes;
    const char* outputs;
    const char* expected;
  };
  constexpr char kPut[] = "%p: f32[4,2] = edge.aten.index_put.default(%b, [%i], %x)\n";
  const Case cases[] = {
      {"all is well", kPut, R"(%p buffer_mutation "b", 3 user_output, %x user_output)",
       "p aten.index_put_.default"},
      {"an operator without a form in place", "%p: f32[4,2] = edge.aten.add.Tensor(%b, %x)",
       R"(%p buffer_mutation "b")", ""},
      {"the content of something else", "", R"(%c buffer_mutation "b")", ""},
      {"a number", "", R"(3 buffer_mutation "b")", ""},
      {"of no value", "%p: f32[4,2] = edge.aten.index_put.default(3, [%i], %x)",
       R"(%p buffer_mutation "b")", ""},
      {"a result that is no tensor", "%p: symint(s0) = edge.aten.index_put.default(%b, [%i], %x)",
       R"(%p buffer_mutation "b")", ""},
      {"another dtype", "%p: f64[4,2] = edge.aten.index_put.default(%b, [%i], %x)",
       R"(%p buffer_mutation "b")", ""},
      {"other sizes", "%p: f32[4,3] = edge.aten.index_put.default(%b, [%i], %x)",
       R"(%p buffer_mutation "b")", ""},
      {"used twice by the node", "%p: f32[4,2] = edge.aten.index_put.default(%b, [%i], %b)",
       R"(%p buffer_mutation "b")", ""},
      {"used behind the node",
       "%p: f32[4,2] = edge.aten.index_put.default(%b, [%i], %x)\n"
       "%q: f32[4,2] = edge.aten.neg.default(%b)",
       R"(%p buffer_mutation "b")", ""},
      {"used before the node",
       "%q: f32[4,2] = edge.aten.neg.default(%b)\n"
       "%p: f32[4,2] = edge.aten.index_put.default(%b, [%i], %x)",
       R"(%p buffer_mutation "b")", "p aten.index_put_.default"},
      {"a result itself", kPut, R"(%p buffer_mutation "b", %b user_output)", ""},
      {"of another buffer", kPut, R"(%p buffer_mutation "c")", ""},
      {"of an input that is no tensor", kPut, R"(%p user_input_mutation "n")", ""},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.what);
    EXPECT_EQ(InPlace(absl::StrCat(R"(program edge {
      ranges { s0: [1, 4] }
      constants { state "b": f32[4,2] state "c": f32[4,2] }
      graph(%b: f32[4,2] buffer "b", %c: f32[4,2] buffer "c", %n: symint(s0) user_input,
            %i: i64[1] user_input, %x: f32[1,2] user_input) {
        )",
                                   c.nodes, "\nreturn (", c.outputs, ")\n}\n}")),
              c.expected);
  }
}

// Otherwise the result would be read with the buffer's strides.
TEST(InPlaceStateTest, RejectsStrideMismatch) {
  constexpr std::string_view kSame = "f32[4,2]{strides=[1,4]}", kOther = "f32[4,2]";
  for (const std::string_view result : {kSame, kOther}) {
    const std::string text = R"(program edge {
      constants { state "b": f32[4,2]{strides=[1,4]} }
      graph(%b: f32[4,2]{strides=[1,4]} buffer "b", %i: i64[1] user_input,
            %x: f32[1,2] user_input) {
        %p: )" + std::string(result) +
                             R"( = edge.aten.index_put.default(%b, [%i], %x)
        return (%p buffer_mutation "b")
      }
    })";
    EXPECT_EQ(InPlace(text), result == kSame ? "p aten.index_put_.default" : "");
  }
}

TEST(InPlaceStateTest, FindsUpdatesOfCarriedTensors) {
  const auto loop = [](std::string_view nodes, std::string_view outputs) {
    return absl::StrCat(R"(program edge {
      graph(%b: f32[4,2] user_input, %x: f32[1,2] user_input, %i: i64[1] user_input) {
        %c: f32[4,2], %y: f32[1,2] = higher_order.while_loop(graph#1, graph#2, [%b, %x], [%i])
        return (%c user_output)
      }
      graph condition(%b: f32[4,2], %x: f32[1,2], %i: i64[1]) {
        return (true)
      }
      graph body(%b: f32[4,2], %x: f32[1,2], %i: i64[1]) {
        )",
                        nodes, "\n return (", outputs, ")\n } }");
  };
  constexpr char kCopy[] = "%p: f32[4,2] = edge.aten.index_copy.default(%b, 0, %i, %x)\n";
  EXPECT_EQ(InPlace(loop(kCopy, "%p, %x")), "p aten.index_copy_.default");
  // A use of the old value after the update, and as the next value of another tensor.
  EXPECT_EQ(
      InPlace(loop(absl::StrCat(kCopy, "%q: f32[1,2] = edge.aten.slice_copy.Tensor(%b, 0, 0, 1)"),
                   "%p, %q")),
      "");
  // The next value of another tensor.
  EXPECT_EQ(InPlace(loop("%p: f32[1,2] = edge.aten.index_copy.default(%x, 0, %i, %x)", "%b, %p")),
            "");
}

TEST(InPlaceStateTest, FindsUpdatesInScans) {
  EXPECT_EQ(InPlace(R"(program edge {
    graph(%b: f32[4,2] user_input, %r: f32[3,2] user_input, %i: i64[1] user_input) {
      %c: f32[4,2], %y: f32[3,2] = higher_order.scan(graph#1, [%b], [%r], [%i])
      return (%c user_output)
    }
    graph body(%b: f32[4,2], %x: f32[2], %i: i64[1]) {
      %p: f32[4,2] = edge.aten.index_put.default(%b, [%i], %x)
      return (%p, %x)
    }
  })"),
            "p aten.index_put_.default");
}

TEST(InPlaceStateTest, RejectsBodiesWithOtherUses) {
  EXPECT_EQ(InPlace(R"(program edge {
    graph(%b: f32[4,2] user_input, %r: f32[3,2] user_input, %i: i64[1] user_input) {
      %c: f32[4,2], %y: f32[3,2] = higher_order.scan(graph#1, [%b], [%r], [%i])
      %d: f32[4,2], %z: f32[3,2] = higher_order.scan(graph#1, [%c], [%y], [%i])
      return (%d user_output)
    }
    graph body(%b: f32[4,2], %x: f32[2], %i: i64[1]) {
      %p: f32[4,2] = edge.aten.index_put.default(%b, [%i], %x)
      return (%p, %x)
    }
  })"),
            "");
}

}  // namespace
}  // namespace belay::exir
