// Tests which constants of control flow move into the delegates of its subgraphs, from text form to
// text form.
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/substitute.h"
#include "exir/backend/partitioners/tag_constants.h"
#include "exir/backend/testing/expect_lowered.h"
#include "exir/backend/testing/recording_backend.h"
#include "exir/backend/testing/to_backend_fixture.h"
#include "exir/backend/to_backend.h"
#include "exir/ir/text.h"
#include "exir/testing/programs.h"
#include "exir/testing/test_ops.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/str_cat.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class SubgraphConstantsTest : public ToBackendTest {
 protected:
  void ExpectSubgraphsLowered(std::string_view text, std::string_view expected);

  // The module of a delegate that owns the constant w: op(%x, w).
  static std::string Module(int index, std::string_view w, std::string_view op) {
    return absl::Substitute(R"(module#$0 backend "recorder" specs [] {
      program edge {
        constants { state "w": f32[2] }
        graph(%$1: f32[2] parameter "w", %x: f32[2] user_input) {
          %a: f32[2] = edge.aten.$2.Tensor(%x, %$1)
          return (%a user_output)
        }
      }
    }
)",
                            index, ToAbsl(w), ToAbsl(op));
  }
};

// Tags the nodes of the text form, and the constants of all graphs.
class SubgraphPartitioner final : public Partitioner {
 public:
  absl::StatusOr<PartitionResult> Partition(const ExportedProgram& program) const override {
    absl::StatusOr<PartitionResult> result = AllConstants().Partition(program);
    if (result.ok()) TagSubgraphConstants(program, *result);
    if (result.ok()) {
      result->inputs.insert(result->inputs.end(), more.begin(), more.end());
      for (ValueId value : no_copy) result->no_copy.push_back(value);
    }
    return result;
  }
  std::vector<PartitionResult::InputTag> more;
  std::vector<ValueId> no_copy;
};

void SubgraphConstantsTest::ExpectSubgraphsLowered(std::string_view text,
                                                   std::string_view expected) {
  const ExportedProgram program = ParseOrDie(text, TestOps());
  const absl::StatusOr<ExportedProgram> lowered =
      ToBackend(program, SubgraphPartitioner(), backends_);
  ASSERT_OK(lowered.status());
  EXPECT_EQ(PrintProgram(*lowered), PrintProgram(ParseOrDie(expected, TestOps())));
}

TEST_F(SubgraphConstantsTest, MoveIntoDelegatesOfLoops) {
  ExpectSubgraphsLowered(R"(program edge {
    constants { state "w": f32[2]  state "u": f32[2] }
    graph(%w: f32[2] parameter "w", %u: f32[2] parameter "u", %h: f32[2] user_input,
          %r: f32[3,2] user_input) {
      %c: f32[2], %y: f32[3,2] = higher_order.scan(graph#1, [%h], [%r], [%w, %u])
      return (%c user_output, %y user_output)
    }
    graph step(%h: f32[2], %x: f32[2], %v: f32[2], %k: f32[2]) {
      %a: f32[2] = edge.aten.mul.Tensor(%h, %v)  tag="t"
      %b: f32[2] = edge.aten.add.Tensor(%a, %x)  tag="t"
      %d: f32[2] = edge.aten.add.Tensor(%b, %k)
      return (%b, %d)
    } })",
                         R"(program edge {
    constants { state "u": f32[2] }
    graph(%u: f32[2] parameter "u", %h: f32[2] user_input, %r: f32[3,2] user_input) {
      %c: f32[2], %y: f32[3,2] = higher_order.scan(graph#1, [%h], [%r], [%u])
      return (%c user_output, %y user_output)
    }
    graph step(%h: f32[2], %x: f32[2], %k: f32[2]) {
      %b: f32[2] = higher_order.executorch_call_delegate(module#0, %h, %x)  handle=1 name="executorch_call_delegate"
      %d: f32[2] = edge.aten.add.Tensor(%b, %k)
      return (%b, %d)
    }
    module#0 backend "recorder" specs [] {
      program edge {
        constants { state "w": f32[2] }
        graph(%v: f32[2] parameter "w", %h: f32[2] user_input, %x: f32[2] user_input) {
          %a: f32[2] = edge.aten.mul.Tensor(%h, %v)
          %b: f32[2] = edge.aten.add.Tensor(%a, %x)
          return (%b user_output)
        }
      }
    } })");
}

TEST_F(SubgraphConstantsTest, StayForUsersThatAreNotDelegated) {
  ExpectSubgraphsLowered(R"(program edge {
    constants { state "w": f32[2] }
    graph(%w: f32[2] parameter "w", %p: b8[] user_input, %x: f32[2] user_input) {
      %y: f32[2] = higher_order.cond(%p, graph#1, graph#2, [%x, %w])
      return (%y user_output)
    }
    graph yes(%x: f32[2], %v: f32[2]) {
      %a: f32[2] = edge.aten.mul.Tensor(%x, %v)  tag="t"
      return (%a)
    }
    graph no(%x: f32[2], %v: f32[2]) {
      %a: f32[2] = edge.aten.add.Tensor(%x, %v)
      return (%a)
    } })",
                         absl::StrCat(R"(program edge {
    constants { state "w": f32[2] }
    graph(%w: f32[2] parameter "w", %p: b8[] user_input, %x: f32[2] user_input) {
      %y: f32[2] = higher_order.cond(%p, graph#1, graph#2, [%x, %w])
      return (%y user_output)
    }
    graph yes(%x: f32[2], %v: f32[2]) {
      %a: f32[2] = higher_order.executorch_call_delegate(module#0, %x)  handle=1 name="executorch_call_delegate"
      return (%a)
    }
    graph no(%x: f32[2], %v: f32[2]) {
      %a: f32[2] = edge.aten.add.Tensor(%x, %v)
      return (%a)
    }
)",
                                      Module(0, "v", "mul"), "}"));
}

// The condition of a loop does not use the weights of its body.
TEST_F(SubgraphConstantsTest, LeaveSubgraphsThatDoNotUseThem) {
  ExpectSubgraphsLowered(R"(program edge {
    constants { state "w": f32[2] }
    graph(%w: f32[2] parameter "w", %x: f32[2] user_input) {
      %y: f32[2] = higher_order.while_loop(graph#1, graph#2, [%x], [%w])
      return (%y user_output)
    }
    graph test(%x: f32[2], %v: f32[2]) {
      %p: b8[] = edge.aten.any.default(%x)
      return (%p)
    }
    graph step(%x: f32[2], %v: f32[2]) {
      %a: f32[2] = edge.aten.mul.Tensor(%x, %v)  tag="t"
      return (%a)
    } })",
                         absl::StrCat(R"(program edge {
    graph(%x: f32[2] user_input) {
      %y: f32[2] = higher_order.while_loop(graph#1, graph#2, [%x], [])
      return (%y user_output)
    }
    graph test(%x: f32[2]) {
      %p: b8[] = edge.aten.any.default(%x)
      return (%p)
    }
    graph step(%x: f32[2]) {
      %a: f32[2] = higher_order.executorch_call_delegate(module#0, %x)  handle=1 name="executorch_call_delegate"
      return (%a)
    }
)",
                                      Module(0, "v", "mul"), "}"));
}

TEST_F(SubgraphConstantsTest, MoveThroughNestedSubgraphs) {
  ExpectSubgraphsLowered(R"(program edge {
    constants { state "w": f32[2] }
    graph(%w: f32[2] parameter "w", %p: b8[] user_input, %r: f32[3,2] user_input) {
      %y: f32[3,2] = higher_order.map_impl(graph#1, [%r], [%p, %w])
      return (%y user_output)
    }
    graph row(%x: f32[2], %q: b8[], %v: f32[2]) {
      %y: f32[2] = higher_order.cond(%q, graph#2, graph#3, [%x, %v])
      return (%y)
    }
    graph yes(%x: f32[2], %u: f32[2]) {
      %a: f32[2] = edge.aten.mul.Tensor(%x, %u)  tag="s"
      return (%a)
    }
    graph no(%x: f32[2], %u: f32[2]) {
      %a: f32[2] = edge.aten.add.Tensor(%x, %u)  tag="t"
      return (%a)
    } })",
                         absl::StrCat(R"(program edge {
    graph(%p: b8[] user_input, %r: f32[3,2] user_input) {
      %y: f32[3,2] = higher_order.map_impl(graph#1, [%r], [%p])
      return (%y user_output)
    }
    graph row(%x: f32[2], %q: b8[]) {
      %y: f32[2] = higher_order.cond(%q, graph#2, graph#3, [%x])
      return (%y)
    }
    graph yes(%x: f32[2]) {
      %a: f32[2] = higher_order.executorch_call_delegate(module#0, %x)  handle=1 name="executorch_call_delegate"
      return (%a)
    }
    graph no(%x: f32[2]) {
      %a: f32[2] = higher_order.executorch_call_delegate(module#1, %x)  handle=2 name="executorch_call_delegate"
      return (%a)
    }
)",
                                      Module(0, "u", "mul"), Module(1, "u", "add"), "}"));
}

constexpr std::string_view kMap = R"(program edge {
    constants { state "w": f32[2] }
    graph(%w: f32[2] parameter "w", %r: f32[3,2] user_input) {
      %y: f32[3,2] = higher_order.map_impl(graph#1, [%r], [%w])
      return (%y user_output)
    }
    graph row(%x: f32[2], %v: f32[2]) {
      %a: f32[2] = edge.aten.mul.Tensor(%x, %v)  tag="t"
      return (%a)
    } })";

TEST_F(SubgraphConstantsTest, RejectsTagsOnOtherInputs) {
  const ExportedProgram program = ParseOrDie(kMap, TestOps());
  for (const auto& [graph, value] : {std::pair(GraphId(1), program.graphs[GraphId(1)].inputs()[0]),
                                     std::pair(GraphId(7), ValueId(0))}) {
    SubgraphPartitioner partitioner;
    partitioner.more = {{value, "t", graph}};
    EXPECT_THAT(ToBackend(program, partitioner, backends_).status(),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("expected an input that is the same constant in every call")));
  }
}

TEST_F(SubgraphConstantsTest, ArePassedIfTheyMustNotBeCopied) {
  const ExportedProgram program = ParseOrDie(kMap, TestOps());
  SubgraphPartitioner partitioner;
  partitioner.no_copy = {program.top().inputs()[0]};
  std::vector<std::string> notes;
  ToBackendOptions options;
  options.notes = &notes;
  const auto lowered = ToBackend(program, partitioner, backends_, options);
  ASSERT_OK(lowered.status());
  EXPECT_EQ(lowered->top().inputs().size(), 2u);
  EXPECT_THAT(notes,
              ElementsAre("%v of subgraph 'row' is tagged, but 'w' must not be copied; it is "
                          "not delegated but passed as an argument"));
}

TEST_F(SubgraphConstantsTest, ArePassedIfAnotherMethodWritesToThem) {
  MethodPrograms methods;
  methods.emplace_back("forward", ParseOrDie(kMap, TestOps()));
  methods.emplace_back("update", ParseOrDie(R"(program edge {
    constants { state "w": f32[2] }
    graph(%w: f32[2] buffer "w", %x: f32[2] user_input) {
      %y: f32[2] = edge.aten.add.Tensor(%w, %x)
      return (%y buffer_mutation "w")
    } })",
                                            TestOps()));
  const SubgraphPartitioner partitioner;
  std::vector<std::string> notes;
  ToBackendOptions options;
  options.notes = &notes;
  const auto lowered = ToBackend(methods, {{"forward", &partitioner}}, backends_, options);
  ASSERT_OK(lowered.status());
  EXPECT_EQ((*lowered)[0].second.top().inputs().size(), 2u);
  EXPECT_THAT(notes, ElementsAre("%v of subgraph 'row' is tagged, but 'w' is written by another "
                                 "method; it is not delegated but passed as an argument"));
}

}  // namespace
}  // namespace belay::exir
