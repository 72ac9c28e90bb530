// Tests of the lowered program, from text form to text form: the worked examples of
// docs/lowering.md §9 and related cases.
#include <string>
#include <string_view>
#include <vector>

#include "exir/backend/testing/expect_lowered.h"
#include "exir/backend/testing/recording_backend.h"
#include "exir/backend/to_backend.h"
#include "exir/ir/text.h"
#include "exir/testing/program_text.h"
#include "exir/testing/programs.h"
#include "exir/testing/test_ops.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(SpliceTest, MultiOutput) {
  ExpectLowered(R"(program edge {
    graph(%x: f32[2] user_input, %y: f32[2] user_input) {
      %a: f32[2] = edge.aten.add.Tensor(%x, %y)  tag="t"
      %m: f32[2] = edge.aten.mul.Tensor(%a, %y)  tag="t"
      %s: f32[2] = edge.aten.sub.Tensor(%a, %m)
      return (%s user_output)
    }
  })",
                {}, R"(program edge {
    graph(%x: f32[2] user_input, %y: f32[2] user_input) {
      %a: f32[2], %m: f32[2] = higher_order.executorch_call_delegate(module#0, %x, %y)  handle=1 name="executorch_call_delegate"
      %s: f32[2] = edge.aten.sub.Tensor(%a, %m)
      return (%s user_output)
    }
    module#0 backend "recorder" specs [] {
      program edge {
        graph(%x: f32[2] user_input, %y: f32[2] user_input) {
          %a: f32[2] = edge.aten.add.Tensor(%x, %y)
          %m: f32[2] = edge.aten.mul.Tensor(%a, %y)
          return (%a user_output, %m user_output)
        }
      }
    }
  })");
}

TEST(SpliceTest, ArgumentsFollowFirstUse) {
  ExpectLowered(R"(program edge {
    constants { state "c": f32[2] }
    graph(%c: f32[2] buffer "c", %z: f32[2] user_input, %a: f32[2] user_input, %x: f32[2] user_input) {
      %r: f32[2] = edge.aten.add.Tensor(%x, %c)  tag="t"
      %s: f32[2] = edge.aten.add.Tensor(%a, %r)  tag="t"
      %b: f32[2] = edge.aten.add.Tensor(%z, %s)  tag="t"
      return (%b user_output)
    }
  })",
                Constants({{"c", "t"}}), R"(program edge {
    graph(%z: f32[2] user_input, %a: f32[2] user_input, %x: f32[2] user_input) {
      %b: f32[2] = higher_order.executorch_call_delegate(module#0, %x, %a, %z)  handle=1 name="executorch_call_delegate"
      return (%b user_output)
    }
    module#0 backend "recorder" specs [] {
      program edge {
        constants { state "c": f32[2] }
        graph(%c: f32[2] buffer "c", %x: f32[2] user_input, %a: f32[2] user_input, %z: f32[2] user_input) {
          %r: f32[2] = edge.aten.add.Tensor(%x, %c)
          %s: f32[2] = edge.aten.add.Tensor(%a, %r)
          %b: f32[2] = edge.aten.add.Tensor(%z, %s)
          return (%b user_output)
        }
      }
    }
  })");
}

// Values in a dictionary are arguments like any other.
TEST(SpliceTest, CopiesDictionaries) {
  ExpectLowered(R"(program edge {
    graph(%x: f32[2] user_input, %y: f32[2] user_input) {
      %a: f32[2] = higher_order.auto_functionalized({"k": %x, "l": [%y, 3]})  tag="t"
      return (%a user_output)
    }
  })",
                {}, R"(program edge {
    graph(%x: f32[2] user_input, %y: f32[2] user_input) {
      %a: f32[2] = higher_order.executorch_call_delegate(module#0, %x, %y)  handle=1 name="executorch_call_delegate"
      return (%a user_output)
    }
    module#0 backend "recorder" specs [] {
      program edge {
        graph(%x: f32[2] user_input, %y: f32[2] user_input) {
          %a: f32[2] = higher_order.auto_functionalized({"k": %x, "l": [%y, 3]})
          return (%a user_output)
        }
      }
    }
  })");
}

TEST(SpliceTest, TagOutsideTheMapIsNotDelegatedAndNoted) {
  std::vector<std::string> notes;
  TextPartitioner partitioner;
  partitioner.delegation = {{"t", {"recorder", {}}}};
  partitioner.only_given_delegation = true;
  const ExportedProgram program = ParseOrDie(R"(program edge {
    graph(%x: f32[2] user_input) {
      %r: f32[2] = edge.aten.relu.default(%x)  tag="t"
      %s: f32[2] = edge.aten.relu.default(%r)  tag="u"
      return (%s user_output)
    }
  })",
                                             TestOps());
  ASSERT_OK_AND_ASSIGN(const ExportedProgram lowered, Lower(program, partitioner, &notes));
  EXPECT_EQ(lowered.lowered_modules.size(), 1);
  ASSERT_EQ(notes.size(), 1);
  EXPECT_THAT(notes[0], HasSubstr("tag 'u' is not in the map"));
}

TEST(SpliceTest, UndelegatedNodesKeepTheirOrder) {
  ExpectLowered(R"(program edge {
    graph(%x: f32[2] user_input) {
      %a: f32[2] = edge.aten.relu.default(%x)  tag="t"
      %b: f32[2] = edge.aten.neg.default(%a)
      %c: f32[2] = edge.aten.neg.default(%x)
      %d: f32[2] = edge.aten.relu.default(%c)  tag="t"
      %e: f32[2] = edge.aten.neg.default(%b)
      return (%d user_output, %e user_output)
    }
  })",
                {}, R"(program edge {
    graph(%x: f32[2] user_input) {
      %c: f32[2] = edge.aten.neg.default(%x)
      %a: f32[2], %d: f32[2] = higher_order.executorch_call_delegate(module#0, %x, %c)  handle=1 name="executorch_call_delegate"
      %b: f32[2] = edge.aten.neg.default(%a)
      %e: f32[2] = edge.aten.neg.default(%b)
      return (%d user_output, %e user_output)
    }
    module#0 backend "recorder" specs [] {
      program edge {
        graph(%x: f32[2] user_input, %c: f32[2] user_input) {
          %a: f32[2] = edge.aten.relu.default(%x)
          %d: f32[2] = edge.aten.relu.default(%c)
          return (%a user_output, %d user_output)
        }
      }
    }
  })");
}

// The call is at the last node with a result that is used outside.
TEST(SpliceTest, CallIsAtTheLastNodeWithUsedResult) {
  ExpectLowered(R"(program edge {
    graph(%x: f32[2] user_input) {
      %a: f32[2] = edge.aten.relu.default(%x)  tag="t"
      %h: f32[2] = edge.aten.neg.default(%x)
      %b: f32[2] = edge.aten.relu.default(%x)  tag="t"
      %k: f32[2] = edge.aten.neg.default(%x)
      %c: f32[2] = edge.aten.relu.default(%x)  tag="t"
      %g: f32[2] = edge.aten.neg.default(%x)
      %d: f32[2] = edge.aten.relu.default(%x)  tag="t"
      %l: f32[2] = edge.aten.add.Tensor(%a, %b)
      %m: f32[2] = edge.aten.neg.default(%c)
      return (%h user_output, %k user_output, %g user_output, %l user_output, %m user_output)
    }
  })",
                {}, R"(program edge {
    graph(%x: f32[2] user_input) {
      %h: f32[2] = edge.aten.neg.default(%x)
      %k: f32[2] = edge.aten.neg.default(%x)
      %a: f32[2], %b: f32[2], %c: f32[2] = higher_order.executorch_call_delegate(module#0, %x)  handle=1 name="executorch_call_delegate"
      %g: f32[2] = edge.aten.neg.default(%x)
      %l: f32[2] = edge.aten.add.Tensor(%a, %b)
      %m: f32[2] = edge.aten.neg.default(%c)
      return (%h user_output, %k user_output, %g user_output, %l user_output, %m user_output)
    }
    module#0 backend "recorder" specs [] {
      program edge {
        graph(%x: f32[2] user_input) {
          %a: f32[2] = edge.aten.relu.default(%x)
          %b: f32[2] = edge.aten.relu.default(%x)
          %c: f32[2] = edge.aten.relu.default(%x)
          %d: f32[2] = edge.aten.relu.default(%x)
          return (%a user_output, %b user_output, %c user_output)
        }
      }
    }
  })");
}

// Nothing else determines the position of the call: it is at %b, the last node with a returned
// result. %d is unused.
TEST(SpliceTest, CallWithOnlyReturnedResultsIsAtTheLastOfThem) {
  ExpectLowered(R"(program edge {
    graph(%x: f32[2] user_input) {
      %a: f32[2] = edge.aten.relu.default(%x)  tag="t"
      %h: f32[2] = edge.aten.neg.default(%x)
      %b: f32[2] = edge.aten.add.Tensor(%a, %x)  tag="t"
      %k: f32[2] = edge.aten.neg.default(%h)
      %d: f32[2] = edge.aten.relu.default(%b)  tag="t"
      return (%a user_output, %b user_output, %k user_output)
    }
  })",
                {}, R"(program edge {
    graph(%x: f32[2] user_input) {
      %h: f32[2] = edge.aten.neg.default(%x)
      %a: f32[2], %b: f32[2] = higher_order.executorch_call_delegate(module#0, %x)  handle=1 name="executorch_call_delegate"
      %k: f32[2] = edge.aten.neg.default(%h)
      return (%a user_output, %b user_output, %k user_output)
    }
    module#0 backend "recorder" specs [] {
      program edge {
        graph(%x: f32[2] user_input) {
          %a: f32[2] = edge.aten.relu.default(%x)
          %b: f32[2] = edge.aten.add.Tensor(%a, %x)
          %d: f32[2] = edge.aten.relu.default(%b)
          return (%a user_output, %b user_output)
        }
      }
    }
  })");
}

// Results of operators with several outputs are passed individually.
TEST(SpliceTest, OnlyUsedResultsOfASplitAreReturned) {
  ExpectLowered(R"(program edge {
    graph(%x: f32[4] user_input) {
      [%p: f32[2], %q: f32[2]] = edge.aten.split_with_sizes.default(%x, [2,2])  tag="t" name="split"
      %r: f32[2] = edge.aten.relu.default(%q)
      return (%r user_output)
    }
  })",
                {}, R"(program edge {
    graph(%x: f32[4] user_input) {
      %q: f32[2] = higher_order.executorch_call_delegate(module#0, %x)  handle=1 name="executorch_call_delegate"
      %r: f32[2] = edge.aten.relu.default(%q)
      return (%r user_output)
    }
    module#0 backend "recorder" specs [] {
      program edge {
        graph(%x: f32[4] user_input) {
          [%p: f32[2], %q: f32[2]] = edge.aten.split_with_sizes.default(%x, [2,2])  name="split"
          return (%q user_output)
        }
      }
    }
  })");
}

TEST(SpliceTest, PassesSymbolicIntegersInAndOut) {
  ExpectLowered(R"(program edge {
    ranges { s0: [1, 8] }
    graph(%x: f32[s0,2] user_input) {
      %n: symint(s0) = aten.sym_size.int(%x, 0)
      %v: f32[s0*2] = edge.aten.view_copy.default(%x, [%n])  tag="t"
      %m: symint(s0) = aten.sym_size.int(%x, 0)  tag="u"
      return (%v user_output, %m user_output)
    }
  })",
                {}, R"(program edge {
    ranges { s0: [1, 8] }
    graph(%x: f32[s0,2] user_input) {
      %n: symint(s0) = aten.sym_size.int(%x, 0)
      %v: f32[s0*2] = higher_order.executorch_call_delegate(module#0, %x, %n)  handle=1 name="executorch_call_delegate"
      %m: symint(s0) = higher_order.executorch_call_delegate(module#1, %x)  handle=2 name="executorch_call_delegate_1"
      return (%v user_output, %m user_output)
    }
    module#0 backend "recorder" specs [] {
      program edge {
        ranges { s0: [1, 8] }
        graph(%x: f32[s0,2] user_input, %n: symint(s0) user_input) {
          %v: f32[s0*2] = edge.aten.view_copy.default(%x, [%n])
          return (%v user_output)
        }
      }
    }
    module#1 backend "recorder" specs [] {
      program edge {
        ranges { s0: [1, 8] }
        graph(%x: f32[s0,2] user_input) {
          %m: symint(s0) = aten.sym_size.int(%x, 0)
          return (%m user_output)
        }
      }
    }
  })");
}

TEST(SpliceTest, DelegateWithoutArguments) {
  const ExportedProgram program = ParseOrDie(R"(program edge {
    constants { state "p": f32[2] }
    graph(%p: f32[2] parameter "p", %x: f32[2] user_input) {
      %r: f32[2] = edge.aten.relu.default(%p)  tag="t"
      %s: f32[2] = edge.aten.add.Tensor(%x, %r)
      return (%s user_output)
    }
  })",
                                             TestOps());
  ASSERT_OK_AND_ASSIGN(const ExportedProgram lowered, Lower(program, AllConstants()));
  EXPECT_EQ(lowered.top().node(lowered.top().first()).arguments.size(), 1);
}

constexpr std::string_view kCond = R"(program edge {
    graph(%p: b8[] user_input, %x: f32[2] user_input) {
      %a: f32[2] = edge.aten.add.Tensor(%x, %x)  handle=7 tag="t"
      %c: f32[2] = higher_order.cond(%p, graph#1, graph#2, [%a])
      return (%c user_output)
    }
    graph true_graph(%y: f32[2]) {
      %t: f32[2] = edge.aten.relu.default(%y)  tag="t"
      return (%t)
    }
    graph false_graph(%y: f32[2]) {
      %f: f32[2] = edge.aten.neg.default(%y)  tag="t"
      return (%f)
    }
  })";

TEST(SpliceTest, LowersCondSubgraphsAfterTheirGraph) {
  ExpectLowered(kCond, {}, R"(program edge {
    graph(%p: b8[] user_input, %x: f32[2] user_input) {
      %a: f32[2] = higher_order.executorch_call_delegate(module#0, %x)  handle=8 name="executorch_call_delegate"
      %c: f32[2] = higher_order.cond(%p, graph#1, graph#2, [%a])
      return (%c user_output)
    }
    graph true_graph(%y: f32[2]) {
      %t: f32[2] = higher_order.executorch_call_delegate(module#1, %y)  handle=9 name="executorch_call_delegate"
      return (%t)
    }
    graph false_graph(%y: f32[2]) {
      %f: f32[2] = higher_order.executorch_call_delegate(module#2, %y)  handle=10 name="executorch_call_delegate"
      return (%f)
    }
    module#0 backend "recorder" specs [] {
      program edge {
        graph(%x: f32[2] user_input) {
          %a: f32[2] = edge.aten.add.Tensor(%x, %x)  handle=7
          return (%a user_output)
        }
      }
    }
    module#1 backend "recorder" specs [] {
      program edge {
        graph(%y: f32[2] user_input) {
          %t: f32[2] = edge.aten.relu.default(%y)
          return (%t user_output)
        }
      }
    }
    module#2 backend "recorder" specs [] {
      program edge {
        graph(%y: f32[2] user_input) {
          %f: f32[2] = edge.aten.neg.default(%y)
          return (%f user_output)
        }
      }
    }
  })");
}

TEST(SpliceTest, TaggedCondMovesWithItsSubgraphs) {
  ExpectLowered(R"(program edge {
    graph(%p: b8[] user_input, %x: f32[2] user_input) {
      %b: f32[2] = higher_order.cond(%p, graph#1, graph#2, [%x])
      %c: f32[2] = higher_order.cond(%p, graph#3, graph#4, [%b])  tag="t"
      return (%c user_output)
    }
    graph g1(%y: f32[2]) { return (%y) }
    graph g2(%y: f32[2]) { return (%y) }
    graph g3(%y: f32[2]) {
      %t: f32[2] = edge.aten.relu.default(%y)  tag="inner"
      return (%t)
    }
    graph g4(%y: f32[2]) { return (%y) }
  })",
                {}, R"(program edge {
    graph(%p: b8[] user_input, %x: f32[2] user_input) {
      %b: f32[2] = higher_order.cond(%p, graph#1, graph#2, [%x])
      %c: f32[2] = higher_order.executorch_call_delegate(module#0, %p, %b)  handle=1 name="executorch_call_delegate"
      return (%c user_output)
    }
    graph g1(%y: f32[2]) { return (%y) }
    graph g2(%y: f32[2]) { return (%y) }
    module#0 backend "recorder" specs [] {
      program edge {
        graph(%p: b8[] user_input, %b: f32[2] user_input) {
          %c: f32[2] = higher_order.cond(%p, graph#1, graph#2, [%b])
          return (%c user_output)
        }
        graph g3(%y: f32[2]) {
          %t: f32[2] = edge.aten.relu.default(%y)
          return (%t)
        }
        graph g4(%y: f32[2]) { return (%y) }
      }
    }
  })");
}

TEST(SpliceTest, LowersSubgraphsOfWhileMapAndScan) {
  for (const std::string call : {"higher_order.while_loop(graph#1, graph#2, [%x], [])",
                                 "higher_order.map_impl(graph#1, [%x], [graph#2])",
                                 "higher_order.scan(graph#1, [%x], [graph#2], [])"}) {
    const ExportedProgram program = ParseOrDie(R"(program edge {
      graph(%x: f32[2] user_input) {
        %c: f32[2] = )" + call + R"(
        return (%c user_output)
      }
      graph g1(%y: f32[2]) {
        %t: f32[2] = edge.aten.relu.default(%y)  tag="t"
        return (%t)
      }
      graph g2(%y: f32[2]) {
        %f: f32[2] = edge.aten.neg.default(%y)  tag="t"
        return (%f)
      }
    })",
                                               TestOps());
    ASSERT_OK_AND_ASSIGN(const ExportedProgram lowered, Lower(program, {}));
    EXPECT_EQ(lowered.lowered_modules.size(), 2) << call;
  }
}

TEST(SpliceTest, DelegatesAreNumberedByBackendThenByPosition) {
  const ExportedProgram program = ParseOrDie(R"(program edge {
    graph(%x: f32[2] user_input) {
      %a: f32[2] = edge.aten.neg.default(%x)  tag="s0"
      %b: f32[2] = edge.aten.relu.default(%a)  tag="f1"
      %c: f32[2] = edge.aten.neg.default(%b)  tag="s1"
      %d: f32[2] = edge.aten.relu.default(%c)  tag="f0"
      return (%d user_output)
    }
  })",
                                             TestOps());
  TextPartitioner partitioner;
  partitioner.delegation = {{"f0", {"recorder", {{"k", "f0"}}}},
                            {"s0", {"other", {{"k", "s0"}}}},
                            {"f1", {"recorder", {{"k", "f1"}}}},
                            {"s1", {"other", {{"k", "s1"}}}}};
  ASSERT_OK_AND_ASSIGN(const ExportedProgram lowered, Lower(program, partitioner));
  std::vector<std::string> specs;
  for (const auto& module : lowered.lowered_modules) {
    specs.push_back(module->compile_specs[0].value);
  }
  EXPECT_THAT(specs, ElementsAre("f1", "f0", "s0", "s1"));
}

TEST(SpliceTest, SecondRoundKeepsOrNestsDelegates) {
  const ExportedProgram program = ParseOrDie(R"(program edge {
    graph(%x: f32[2] user_input) {
      %a: f32[2] = edge.aten.neg.default(%x)  tag="t"
      %b: f32[2] = edge.aten.relu.default(%a)
      return (%b user_output)
    }
  })",
                                             TestOps());
  ASSERT_OK_AND_ASSIGN(const ExportedProgram once, Lower(program, {}));
  const std::string text = PrintProgram(once);
  // Next to the first delegate.
  const std::string beside = Replaced(text, {{"relu.default(%a)", "relu.default(%a)  tag=\"t\""}});
  ASSERT_OK_AND_ASSIGN(const ExportedProgram twice, Lower(ParseOrDie(beside, TestOps()), {}));
  EXPECT_EQ(twice.lowered_modules.size(), 2);
  // Contains the first delegate.
  const std::string around = Replaced(beside, {{"handle=1", "handle=1 tag=\"t\""}});
  ASSERT_OK_AND_ASSIGN(const ExportedProgram nested, Lower(ParseOrDie(around, TestOps()), {}));
  ASSERT_EQ(nested.lowered_modules.size(), 1);
  const ExportedProgram& outer = nested.lowered_modules[ModuleId(0)]->original;
  ASSERT_EQ(outer.lowered_modules.size(), 1);
  EXPECT_EQ(outer.top().num_nodes(), 2);
  EXPECT_EQ(nested.top().node(nested.top().first()).debug_handle, 2);
}

TEST(SpliceTest, UnusedPartitionIsACallWithoutResults) {
  const ExportedProgram program = ParseOrDie(R"(program edge {
    graph(%x: f32[2] user_input) {
      %a: f32[2] = edge.aten.neg.default(%x)
      %b: f32[2] = edge.aten.relu.default(%x)  tag="t"
      return (%a user_output)
    }
  })",
                                             TestOps());
  ASSERT_OK_AND_ASSIGN(const ExportedProgram lowered, Lower(program, {}));
  ASSERT_EQ(lowered.lowered_modules.size(), 1);
  ASSERT_EQ(lowered.top().num_nodes(), 2);
  EXPECT_TRUE(lowered.top().node(lowered.top().last()).results().empty());
}

TEST(SpliceTest, NoTagsChangeNothing) {
  const ExportedProgram program = ParseOrDie(R"(program edge {
    graph(%x: f32[2] user_input) {
      %a: f32[2] = edge.aten.neg.default(%x)
      return (%a user_output)
    }
  })",
                                             TestOps());
  TextPartitioner partitioner;
  partitioner.delegation = {{"t", {"recorder", {}}}};
  ASSERT_OK_AND_ASSIGN(const ExportedProgram lowered, Lower(program, partitioner));
  EXPECT_TRUE(Equal(program, lowered));
}

}  // namespace
}  // namespace belay::exir
