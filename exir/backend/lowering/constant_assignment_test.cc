// Tests which constants and mutations move into delegates, from text form to text form
// (docs/lowering.md §2.4, §2.14, §2.15, §11.4 to §11.6).
#include <string>
#include <string_view>
#include <vector>

#include "exir/backend/testing/expect_lowered.h"
#include "exir/backend/testing/recording_backend.h"
#include "exir/backend/to_backend.h"
#include "exir/ir/text.h"
#include "exir/testing/programs.h"
#include "exir/testing/test_ops.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::string_view kMutation = R"(program edge {
    constants { state "b": f32[2] }
    graph(%b: f32[2] buffer "b", %x: f32[2] user_input) {
      %add: f32[2] = edge.aten.add.Tensor(%b, %x)  tag="t"
      %add_1: f32[2] = edge.aten.add.Tensor(%x, %add)  tag="t"
      return (%add buffer_mutation "b", %add_1 user_output)
    }
  })";

TEST(ConstantOwnershipTest, DelegateOwnsMutation) {
  ExpectLowered(kMutation, Constants({{"b", "t"}}), R"(program edge {
    graph(%x: f32[2] user_input) {
      %add_1: f32[2] = higher_order.executorch_call_delegate(module#0, %x)  handle=1 name="executorch_call_delegate"
      return (%add_1 user_output)
    }
    module#0 backend "recorder" specs [] {
      program edge {
        constants { state "b": f32[2] }
        graph(%b: f32[2] buffer "b", %x: f32[2] user_input) {
          %add: f32[2] = edge.aten.add.Tensor(%b, %x)
          %add_1: f32[2] = edge.aten.add.Tensor(%x, %add)
          return (%add buffer_mutation "b", %add_1 user_output)
        }
      }
    }
  })");
}

TEST(ConstantOwnershipTest, ProgramKeepsMutation) {
  ExpectLowered(kMutation, {}, R"(program edge {
    constants { state "b": f32[2] }
    graph(%b: f32[2] buffer "b", %x: f32[2] user_input) {
      %add: f32[2], %add_1: f32[2] = higher_order.executorch_call_delegate(module#0, %b, %x)  handle=1 name="executorch_call_delegate"
      return (%add buffer_mutation "b", %add_1 user_output)
    }
    module#0 backend "recorder" specs [] {
      program edge {
        graph(%b: f32[2] user_input, %x: f32[2] user_input) {
          %add: f32[2] = edge.aten.add.Tensor(%b, %x)
          %add_1: f32[2] = edge.aten.add.Tensor(%x, %add)
          return (%add user_output, %add_1 user_output)
        }
      }
    }
  })");
}

TEST(ConstantOwnershipTest, MutationsComeFirst) {
  ExpectLowered(R"(program edge {
    constants { constant "b": f32[2] }
    graph(%b: f32[2] buffer "b" nonpersistent, %x: f32[2] user_input) {
      %u: f32[2] = edge.aten.relu.default(%x)  tag="t"
      %n: f32[2] = edge.aten.add.Tensor(%b, %u)  tag="t"
      %v: f32[2] = edge.aten.relu.default(%n)  tag="t"
      return (%n buffer_mutation "b", %u user_output, %v user_output)
    }
  })",
                AllConstants(), R"(program edge {
    graph(%x: f32[2] user_input) {
      %u: f32[2], %v: f32[2] = higher_order.executorch_call_delegate(module#0, %x)  handle=1 name="executorch_call_delegate"
      return (%u user_output, %v user_output)
    }
    module#0 backend "recorder" specs [] {
      program edge {
        constants { constant "b": f32[2] }
        graph(%b: f32[2] buffer "b" nonpersistent, %x: f32[2] user_input) {
          %u: f32[2] = edge.aten.relu.default(%x)
          %n: f32[2] = edge.aten.add.Tensor(%b, %u)
          %v: f32[2] = edge.aten.relu.default(%n)
          return (%n buffer_mutation "b", %u user_output, %v user_output)
        }
      }
    }
  })");
}

TEST(ConstantOwnershipTest, MutationsAreInOrderOfNewValues) {
  ExpectLowered(R"(program edge {
    constants { state "b1": f32[2]  state "b2": f32[2] }
    graph(%b2: f32[2] buffer "b2", %b1: f32[2] buffer "b1", %x: f32[2] user_input) {
      %n1: f32[2] = edge.aten.add.Tensor(%b1, %x)  tag="t"
      %n2: f32[2] = edge.aten.mul.Tensor(%b2, %x)  tag="t"
      %v: f32[2] = edge.aten.relu.default(%n2)  tag="t"
      return (%n2 buffer_mutation "b2", %n1 buffer_mutation "b1", %v user_output)
    }
  })",
                AllConstants(), R"(program edge {
    graph(%x: f32[2] user_input) {
      %v: f32[2] = higher_order.executorch_call_delegate(module#0, %x)  handle=1 name="executorch_call_delegate"
      return (%v user_output)
    }
    module#0 backend "recorder" specs [] {
      program edge {
        constants { state "b1": f32[2]  state "b2": f32[2] }
        graph(%b2: f32[2] buffer "b2", %b1: f32[2] buffer "b1", %x: f32[2] user_input) {
          %n1: f32[2] = edge.aten.add.Tensor(%b1, %x)
          %n2: f32[2] = edge.aten.mul.Tensor(%b2, %x)
          %v: f32[2] = edge.aten.relu.default(%n2)
          return (%n1 buffer_mutation "b1", %n2 buffer_mutation "b2", %v user_output)
        }
      }
    }
  })");
}

TEST(ConstantOwnershipTest, MutatedValueMayBeReturnedAndUsedOutside) {
  ExpectLowered(R"(program edge {
    constants { state "b": f32[2] }
    graph(%b: f32[2] buffer "b", %x: f32[2] user_input) {
      %n: f32[2] = edge.aten.add.Tensor(%b, %x)  tag="t"
      %r: f32[2] = edge.aten.relu.default(%n)
      return (%n buffer_mutation "b", %n user_output, %r user_output)
    }
  })",
                AllConstants(), R"(program edge {
    graph(%x: f32[2] user_input) {
      %n: f32[2] = higher_order.executorch_call_delegate(module#0, %x)  handle=1 name="executorch_call_delegate"
      %r: f32[2] = edge.aten.relu.default(%n)
      return (%n user_output, %r user_output)
    }
    module#0 backend "recorder" specs [] {
      program edge {
        constants { state "b": f32[2] }
        graph(%b: f32[2] buffer "b", %x: f32[2] user_input) {
          %n: f32[2] = edge.aten.add.Tensor(%b, %x)
          return (%n buffer_mutation "b", %n user_output)
        }
      }
    }
  })");
}

TEST(ConstantOwnershipTest, KeepsCallWithOnlyOwnedMutations) {
  ExpectLowered(R"(program edge {
    constants { state "b": f32[2] }
    graph(%b: f32[2] buffer "b", %x: f32[2] user_input) {
      %n: f32[2] = edge.aten.add.Tensor(%b, %x)  tag="t"
      return (%n buffer_mutation "b", %x user_output)
    }
  })",
                AllConstants(), R"(program edge {
    graph(%x: f32[2] user_input) {
      higher_order.executorch_call_delegate(module#0, %x)  handle=1 name="executorch_call_delegate"
      return (%x user_output)
    }
    module#0 backend "recorder" specs [] {
      program edge {
        constants { state "b": f32[2] }
        graph(%b: f32[2] buffer "b", %x: f32[2] user_input) {
          %n: f32[2] = edge.aten.add.Tensor(%b, %x)
          return (%n buffer_mutation "b")
        }
      }
    }
  })");
}

// A user in another tag or outside would not see the updates of a delegate that owns the buffer.
TEST(ConstantOwnershipTest, KeepsMutatedBufferWithOutsideUser) {
  for (const std::string reader : {"  tag=\"r\"", ""}) {
    std::vector<std::string> notes;
    const ExportedProgram program = ParseOrDie(R"(program edge {
      constants { state "b": f32[2] }
      graph(%b: f32[2] buffer "b", %x: f32[2] user_input) {
        %r: f32[2] = edge.aten.mul.Tensor(%b, %x))" +
                                                   reader + R"(
        %n: f32[2] = edge.aten.add.Tensor(%b, %x)  tag="w"
        return (%n buffer_mutation "b", %r user_output)
      }
    })",
                                               TestOps());
    ASSERT_OK_AND_ASSIGN(const ExportedProgram lowered,
                         Lower(program, Constants({{"b", "w"}}), &notes));
    EXPECT_EQ(lowered.signature.inputs[0].target, "b");
    EXPECT_EQ(lowered.signature.outputs[0].kind, OutputKind::kBufferMutation);
    EXPECT_EQ(lowered.state_dict.size(), 1);
    for (const auto& module : lowered.lowered_modules) {
      EXPECT_THAT(module->original.state_dict, IsEmpty());
    }
    ASSERT_EQ(notes.size(), 1);
    EXPECT_EQ(notes[0],
              "buffer %b is mutated and tagged 'w', but %r uses it outside of tag 'w', which "
              "computes its new value; it is not delegated but passed as an argument");
  }
}

TEST(ConstantOwnershipTest, SharedConstant) {
  ExpectLowered(R"(program edge {
    constants { state "c": f32[2] }
    graph(%c: f32[2] buffer "c", %x: f32[2] user_input) {
      %m: f32[2] = edge.aten.mul.Tensor(%x, %c)
      %a: f32[2] = edge.aten.add.Tensor(%m, %c)  tag="first_tag0"
      return (%a user_output)
    }
  })",
                AllConstants(), R"(program edge {
    constants { state "c": f32[2] }
    graph(%c: f32[2] buffer "c", %x: f32[2] user_input) {
      %m: f32[2] = edge.aten.mul.Tensor(%x, %c)
      %a: f32[2] = higher_order.executorch_call_delegate(module#0, %m)  handle=1 name="executorch_call_delegate"
      return (%a user_output)
    }
    module#0 backend "recorder" specs [] {
      program edge {
        constants { state "c": f32[2] }
        graph(%c_copy_0: f32[2] buffer "c", %m: f32[2] user_input) {
          %a: f32[2] = edge.aten.add.Tensor(%m, %c_copy_0)
          return (%a user_output)
        }
      }
    }
  })");
}

TEST(ConstantOwnershipTest, ConstantOfThreeTagsSharesBytes) {
  const ExportedProgram program = ParseOrDie(R"(program edge {
    constants { state "c": f32[2] }
    graph(%c: f32[2] parameter "c", %x: f32[2] user_input) {
      %a: f32[2] = edge.aten.add.Tensor(%x, %c)  tag="t0"
      %a2: f32[4] = edge.aten.cat.default([%a, %c])  tag="t0"
      %b: f32[2] = edge.aten.add.Tensor(%x, %c)  tag="t1"
      %d: f32[2] = edge.aten.mul.Tensor(%b, %c)  tag="t2"
      return (%a2 user_output, %d user_output)
    }
  })",
                                             TestOps());
  ASSERT_OK_AND_ASSIGN(const ExportedProgram lowered, Lower(program, AllConstants()));
  EXPECT_THAT(lowered.state_dict, IsEmpty());
  ASSERT_EQ(lowered.lowered_modules.size(), 3);
  std::vector<std::string> names;
  for (const auto& module : lowered.lowered_modules) {
    const ExportedProgram& part = module->original;
    ASSERT_EQ(part.state_dict.size(), 1);
    EXPECT_EQ(part.state_dict.at("c").storage().bytes.data(),
              program.state_dict.at("c").storage().bytes.data());
    names.push_back(part.top().value(part.top().inputs()[0]).name);
  }
  EXPECT_THAT(names, ElementsAre("c", "c_copy_0", "c_copy_1"));
}

TEST(ConstantOwnershipTest, AcceptsReturnedConstant) {
  const ExportedProgram program = ParseOrDie(R"(program edge {
    constants { state "c": f32[2] }
    graph(%c: f32[2] parameter "c", %x: f32[2] user_input) {
      %a: f32[2] = edge.aten.add.Tensor(%x, %c)  tag="t"
      return (%a user_output, %c user_output)
    }
  })",
                                             TestOps());
  ASSERT_OK_AND_ASSIGN(const ExportedProgram lowered, Lower(program, AllConstants()));
  EXPECT_EQ(lowered.state_dict.size(), 1);
  EXPECT_EQ(lowered.lowered_modules[ModuleId(0)]->original.state_dict.size(), 1);
}

TEST(ConstantOwnershipTest, OrdersInputsByKind) {
  const ExportedProgram program = ParseOrDie(R"(program edge {
    constants { state "b": f32[2]  state "p": f32[2]  constant "k": f32[2] }
    graph(%k: f32[2] tensor_constant "k", %b: f32[2] buffer "b", %p: f32[2] parameter "p",
          %x: f32[2] user_input) {
      %r: f32[2] = edge.aten.add.Tensor(%x, %k)  tag="t"
      %s: f32[2] = edge.aten.add.Tensor(%r, %b)  tag="t"
      %u: f32[2] = edge.aten.add.Tensor(%s, %p)  tag="t"
      return (%u user_output)
    }
  })",
                                             TestOps());
  ASSERT_OK_AND_ASSIGN(const ExportedProgram lowered, Lower(program, AllConstants()));
  const ExportedProgram& part = lowered.lowered_modules[ModuleId(0)]->original;
  std::vector<std::string> names;
  for (ValueId input : part.top().inputs()) names.push_back(part.top().value(input).name);
  EXPECT_THAT(names, ElementsAre("p", "b", "k", "x"));
}

TEST(ConstantOwnershipTest, UnusedTaggedConstantMovesIfItsTagHasNodes) {
  const ExportedProgram program = ParseOrDie(R"(program edge {
    constants { state "p": f32[2]  state "q": f32[2] }
    graph(%p: f32[2] parameter "p", %q: f32[2] parameter "q", %x: f32[2] user_input) {
      %r: f32[2] = edge.aten.relu.default(%x)  tag="t"
      return (%r user_output)
    }
  })",
                                             TestOps());
  ASSERT_OK_AND_ASSIGN(const ExportedProgram lowered,
                       Lower(program, Constants({{"p", "t"}, {"q", "nowhere"}})));
  EXPECT_EQ(lowered.state_dict.count("p"), 0);
  EXPECT_EQ(lowered.state_dict.count("q"), 1);
  EXPECT_EQ(lowered.lowered_modules[ModuleId(0)]->original.state_dict.count("p"), 1);
}

TEST(ConstantOwnershipTest, KeepsTensorThatAnotherInputNames) {
  const ExportedProgram program = ParseOrDie(R"(program edge {
    constants { state "w": f32[2] }
    graph(%p: f32[2] parameter "w", %q: f32[2] parameter "w", %x: f32[2] user_input) {
      %r: f32[2] = edge.aten.add.Tensor(%x, %p)  tag="t"
      %s: f32[2] = edge.aten.add.Tensor(%r, %q)
      return (%s user_output)
    }
  })",
                                             TestOps());
  ASSERT_OK_AND_ASSIGN(const ExportedProgram lowered, Lower(program, AllConstants()));
  EXPECT_EQ(lowered.state_dict.count("w"), 1);
  EXPECT_EQ(lowered.signature.inputs.size(), 2);
}

TEST(ConstantOwnershipTest, ConstantOfAnotherTagMovesToItsUserWithANote) {
  const ExportedProgram program = ParseOrDie(R"(program edge {
    constants { state "w": f32[2] }
    graph(%w: f32[2] parameter "w", %x: f32[2] user_input) {
      %r: f32[2] = edge.aten.add.Tensor(%x, %w)  tag="t"
      %s: f32[2] = edge.aten.relu.default(%r)  tag="u"
      return (%s user_output)
    }
  })",
                                             TestOps());
  std::vector<std::string> notes;
  ASSERT_OK_AND_ASSIGN(const ExportedProgram lowered,
                       Lower(program, Constants({{"w", "u"}}), &notes));
  EXPECT_THAT(lowered.state_dict, IsEmpty());
  EXPECT_EQ(lowered.lowered_modules[ModuleId(0)]->original.state_dict.count("w"), 1);
  EXPECT_THAT(notes, ElementsAre("constant %w is tagged 'u', but no node of this tag uses it; it "
                                 "moves to the delegates that use it"));
}

// Reasons why a tagged mutated buffer is kept although it has no user outside the tag.
TEST(ConstantOwnershipTest, KeepsMutatedBufferOfSeveralUsersWithANote) {
  const struct {
    std::string_view inputs, lines, mutation, problem;
  } kCases[] = {
      {R"(%b: f32[2] buffer "b")", R"(%r: f32[2] = edge.aten.add.Tensor(%b, %x)  tag="t")", "%x",
       "its new value is not computed by a node"},
      {R"(%b: f32[2] buffer "b")", R"(%r: f32[2] = edge.aten.add.Tensor(%b, %x)  tag="t"
       %n: f32[2] = edge.aten.neg.default(%x))",
       "%n", "%n, its new value, is not delegated"},
      {R"(%b: f32[2] buffer "b", %b2: f32[2] buffer "b")",
       R"(%r: f32[2] = edge.aten.add.Tensor(%b, %x)  tag="t")", "%r",
       "%b2, the same buffer, is not"},
      {R"(%b: f32[2] parameter "b")", R"(%r: f32[2] = edge.aten.add.Tensor(%b, %x)  tag="t")", "%r",
       "it is not a buffer"},
  };
  for (const auto& [inputs, lines, mutation, problem] : kCases) {
    SCOPED_TRACE(problem);
    std::vector<std::string> notes;
    const ExportedProgram program = ParseOrDie(
        absl::StrCat("program edge {\nconstants { state \"b\": f32[2] }\ngraph(", inputs,
                     ", %x: f32[2] user_input) {\n", lines, "\nreturn (", mutation,
                     inputs.find("parameter") == std::string_view::npos ? " buffer" : " parameter",
                     "_mutation \"b\", %r user_output)\n}\n}"),
        TestOps());
    ASSERT_OK_AND_ASSIGN(const ExportedProgram lowered,
                         Lower(program, Constants({{"b", "t"}}), &notes));
    EXPECT_EQ(lowered.signature.inputs[0].target, "b");
    EXPECT_TRUE(IsStateMutation(lowered.signature.outputs[0].kind));
    EXPECT_THAT(notes,
                ElementsAre(absl::StrCat("buffer %b is mutated and tagged 't', but ", problem,
                                         "; it is not delegated but passed as an argument")));
  }
}

// Two inputs that name one buffer move together, and the note about their mutation appears once.
TEST(ConstantOwnershipTest, TiedBuffersMoveTogether) {
  const ExportedProgram program = ParseOrDie(R"(program edge {
    constants { state "b": f32[2] }
    graph(%b: f32[2] buffer "b", %c: f32[2] buffer "b", %x: f32[2] user_input) {
      %n: f32[2] = edge.aten.add.Tensor(%b, %c)  tag="t"
      %r: f32[2] = edge.aten.add.Tensor(%n, %x)  tag="t"
      return (%n buffer_mutation "b", %r user_output)
    }
  })",
                                             TestOps());
  ASSERT_OK_AND_ASSIGN(const ExportedProgram lowered, Lower(program, AllConstants()));
  EXPECT_THAT(lowered.state_dict, IsEmpty());
  EXPECT_EQ(lowered.signature.outputs.size(), 1u);
  const ExportedProgram& original = lowered.lowered_modules[ModuleId(0)]->original;
  EXPECT_EQ(original.signature.inputs.size(), 3u);
  EXPECT_EQ(original.signature.outputs.size(), 2u);
}

// Several new values of one node, and of several nodes.
TEST(ConstantOwnershipTest, MutationsAreInOrderOfResults) {
  const ExportedProgram program = ParseOrDie(R"(program edge {
    constants { state "b1": f32[2]  state "b2": f32[1]  state "b3": f32[1]  state "b4": f32[2] }
    graph(%b1: f32[2] buffer "b1", %b2: f32[1] buffer "b2", %b3: f32[1] buffer "b3",
          %b4: f32[2] buffer "b4", %x: f32[2] user_input) {
      %z: f32[1] = edge.aten.add.Tensor(%b2, %b3)  tag="t"
      %u: f32[2] = edge.aten.add.Tensor(%b1, %x)  tag="t"
      %p: f32[2], %q: f32[1], %r: f32[1] = edge.aten.native_layer_norm.default(%u, [2], none, none, 1e-05)  tag="t"
      %v: f32[2] = edge.aten.add.Tensor(%p, %b4)  tag="t"
      return (%q buffer_mutation "b3", %v buffer_mutation "b1", %u buffer_mutation "b4",
              %r buffer_mutation "b2", %v user_output)
    }
  })",
                                             TestOps());
  ASSERT_OK_AND_ASSIGN(const ExportedProgram lowered, Lower(program, AllConstants()));
  std::vector<std::string> targets;
  for (const OutputSpec& output :
       lowered.lowered_modules[ModuleId(0)]->original.signature.outputs) {
    if (output.kind == OutputKind::kBufferMutation) targets.push_back(output.target);
  }
  EXPECT_THAT(targets, ElementsAre("b4", "b3", "b2", "b1"));
}

// A constant of one method is not state of another, regardless of its name.
TEST(ConstantOwnershipTest, MovesConstantNamedLikeStateOfAnotherMethod) {
  const FunctionBackend recorder("recorder"), other("other");
  BackendSet backends;
  ASSERT_OK(backends.Add(&recorder));
  ASSERT_OK(backends.Add(&other));
  MethodPrograms methods;
  methods.emplace_back("prefill", ParseOrDie(kMutation, TestOps()));
  methods.emplace_back("decode", ParseOrDie(R"(program edge {
    constants { constant "b": f32[2] }
    graph(%b: f32[2] tensor_constant "b", %x: f32[2] user_input) {
      %r: f32[2] = edge.aten.mul.Tensor(%b, %x)  tag="t"
      return (%r user_output)
    }
  })",
                                            TestOps()));
  const TextPartitioner partitioner = Constants({{"b", "t"}});
  ASSERT_OK_AND_ASSIGN(const MethodPrograms lowered,
                       ToBackend(methods, {{"decode", &partitioner}}, backends));
  EXPECT_THAT(lowered[1].second.constants, IsEmpty());
}

// In delegates, each method would have its own state instead of the shared one.
TEST(ConstantOwnershipTest, KeepsSharedStateWithANote) {
  const FunctionBackend recorder("recorder"), other("other");
  BackendSet backends;
  ASSERT_OK(backends.Add(&recorder));
  ASSERT_OK(backends.Add(&other));
  MethodPrograms methods;
  methods.emplace_back("prefill", ParseOrDie(kMutation, TestOps()));
  methods.emplace_back("decode", ParseOrDie(R"(program edge {
    constants { state "b": f32[2] }
    graph(%b: f32[2] buffer "b", %x: f32[2] user_input) {
      %r: f32[2] = edge.aten.mul.Tensor(%b, %x)  tag="t"
      return (%r user_output)
    }
  })",
                                            TestOps()));
  const TextPartitioner partitioner = Constants({{"b", "t"}});
  std::vector<std::string> notes;
  ToBackendOptions options;
  options.notes = &notes;
  ASSERT_OK_AND_ASSIGN(
      const MethodPrograms lowered,
      ToBackend(methods, {{"prefill", &partitioner}, {"decode", &partitioner}}, backends, options));
  EXPECT_THAT(notes, ElementsAre("buffer %b is mutated and tagged 't', but method 'decode' has it "
                                 "too; it is not delegated but passed as an argument",
                                 "%b is tagged 't', but method 'prefill' writes to 'b'; it is "
                                 "not delegated but passed as an argument"));
  for (const auto& [name, program] : lowered) {
    EXPECT_EQ(program.state_dict.count("b"), 1) << name;
    EXPECT_EQ(program.lowered_modules[ModuleId(0)]->original.state_dict.count("b"), 0) << name;
  }
  // Lowered separately, each of them may own it.
  notes.clear();
  MethodPrograms alone;
  alone.push_back(std::move(methods[0]));
  ASSERT_OK_AND_ASSIGN(const MethodPrograms moved,
                       ToBackend(alone, {{"prefill", &partitioner}}, backends, options));
  EXPECT_THAT(notes, IsEmpty());
  EXPECT_EQ(moved[0].second.state_dict.count("b"), 0);
}

}  // namespace
}  // namespace belay::exir
