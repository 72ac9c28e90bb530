// Emits less common programs from text and checks values and instructions.
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "absl/types/span.h"
#include "exir/backend/testing/recording_backend.h"
#include "exir/emit/emitter.h"
#include "exir/emit/testing/print_method.h"
#include "exir/ir/graph_editor.h"
#include "exir/ir/text.h"
#include "exir/ops/standard_ops.h"
#include "exir/testing/programs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const OpRegistry& Ops() {
  static const OpRegistry* const ops = CreateStandardOps()->release();
  return *ops;
}

// Without storage sharing and reordering.
const EmitOptions kAsWritten = {.memory = {.share = false, .reorder = false}};

absl::StatusOr<ProgramImage> EmitForward(std::string_view text,
                                         const EmitOptions& options = kAsWritten) {
  MethodPrograms methods;
  methods.emplace_back("forward", ParseOrDie(text, Ops()));
  return EmitProgram(methods, options);
}

std::vector<std::string> Lines(std::string_view text, const EmitOptions& options = kAsWritten) {
  const absl::StatusOr<ProgramImage> image = EmitForward(text, options);
  EXPECT_OK(image.status());
  return image.ok() ? PrintLines(image->metadata.methods(0)) : std::vector<std::string>();
}

TEST(EmitterTest, CompositeSizesHaveRange) {
  ASSERT_OK_AND_ASSIGN(const ProgramImage image, EmitForward(R"(program edge {
    ranges { s0: [1, 4] s1: [2, 5] }
    graph(%a: f32["2*s0*s1"] user_input, %b: f32["-1*s0 + 10"] user_input) { return () }
  })"));
  std::vector<std::string> constraints;
  for (const schema::Input& input : image.metadata.methods(0).inputs()) {
    const schema::SizeConstraint& c = input.constraints(0);
    constraints.push_back(absl::StrCat("[", c.min(), ", ", c.max(), "] = ", c.multiplier(), "*",
                                       c.symbol(), " + ", c.offset()));
  }
  EXPECT_THAT(constraints, ElementsAre("[4, 40] = 1* + 0", "[6, 9] = 1* + 0"));
}

TEST(EmitterTest, SizesAreNotNegative) {
  ASSERT_OK_AND_ASSIGN(const ProgramImage image, EmitForward(R"(program edge {
    ranges { s0: [0, 4] }
    graph(%a: f32["2*s0 - 1"] user_input) { return (%a user_output) }
  })"));
  const schema::SizeConstraint& c = image.metadata.methods(0).inputs(0).constraints(0);
  EXPECT_EQ(c.min(), 0);
  EXPECT_EQ(c.max(), 7);
}

// Strides without a dimension order: any order is valid, since all users refer to the value.
TEST(EmitterTest, TensorsWithoutDimOrderAreRowMajor) {
  ASSERT_OK_AND_ASSIGN(const ProgramImage image, EmitForward(R"(program edge {
    graph(%a: f32[2,3]{strides=[0,1]} user_input, %b: f32[2,3]{strides=[1,2]} user_input) {
      return ()
    }
  })"));
  const schema::Method& method = image.metadata.methods(0);
  EXPECT_EQ(method.values(0).tensor().dim_order(), std::string("\0\1", 2));
  EXPECT_EQ(method.values(1).tensor().dim_order(), std::string("\1\0", 2));
}

TEST(EmitterTest, ScalarResults) {
  EXPECT_THAT(Lines(R"(program edge {
    graph(%x: f32[2] user_input) {
      %i: symint(u0) = edge.aten.sym_size.int(%x, 0)
      %f: symfloat(zuf0) = edge.aten.neg.default(%x)
      %b: symbool(zub0) = edge.aten.neg.default(%x)
      return (%i user_output, %f user_output, %b user_output)
    }
  })"),
              ElementsAre("int2 = aten.sym_size.int(x0, 0)", "double3 = aten.neg.default(x0)",
                          "bool4 = aten.neg.default(x0)", "return int2, double3, bool4"));
}

// --- State ---

TEST(EmitterTest, StateMayLackInitialContent) {
  const auto initial = [](std::string_view constants) {
    const absl::StatusOr<ProgramImage> image =
        EmitForward(absl::StrCat("program edge { ", constants, R"(
          graph(%b: f32[2] buffer "b", %x: f32[2] user_input) { return (%x buffer_mutation "b") }
        })"));
    EXPECT_OK(image.status());
    return image.ok() ? image->metadata.methods(0).state(0).initial() : 99;
  };
  EXPECT_EQ(initial(R"(constants { state "b": f32[2] })"), 1u);
  EXPECT_EQ(initial(""), 0u);
}

TEST(EmitterTest, MutationsMatchInputKind) {
  EXPECT_THAT(Lines(R"(program edge {
    constants { state "n": f32[2] }
    graph(%p: f32[2] parameter "n", %b: f32[2] buffer "n", %x: f32[2] user_input,
          %y: f32[2] user_input) {
      return (%x buffer_mutation "n", %y parameter_mutation "n")
    }
  })"),
              ElementsAre("s1 = aten.copy_.default(s1, x2, false)",
                          "s0 = aten.copy_.default(s0, x3, false)", "return "));
}

// Subgraph nodes have the same numbers as nodes of the top graph.
TEST(EmitterTest, OnlyTopGraphNodesRunInPlace) {
  EmitOptions options = kAsWritten;
  options.write_state_in_place = true;
  EXPECT_THAT(Lines(R"(program edge {
    constants { state "b": f32[4,2] }
    graph(%b: f32[4,2] buffer "b", %i: i64[1] user_input, %x: f32[1,2] user_input,
          %c: b8[] user_input) {
      %p: f32[4,2] = edge.aten.index_copy.default(%b, 0, %i, %x)
      %y: f32[1,2] = higher_order.cond(%c, graph#1, graph#1, [%x])
      return (%p buffer_mutation "b", %y user_output)
    }
    graph body(%u: f32[1,2]) {
      %n: f32[1,2] = edge.aten.neg.default(%u)
      return (%n)
    }
  })",
                    options),
              ElementsAre("s0 = aten.index_copy_.default(s0, 0, x1, x2)", "unless x3 jump 5",
                          HasSubstr(" = aten.neg.default(x2)"), HasSubstr("a5 = a"), "jump 7",
                          HasSubstr(" = aten.neg.default(x2)"), HasSubstr("a5 = a"), "return a5"));
}

constexpr std::string_view kWrites = R"(program edge {
  constants { state "b": f32[2] storage#0 }
  graph(%b: f32[2] buffer "b", %x: f32[2] user_input) { return (%x buffer_mutation "b") }
})";
constexpr std::string_view kReads = R"(program edge {
  constants { state "b": f32[2] storage#0 }
  graph(%b: f32[2] buffer "b") { return (%b user_output) }
})";

MethodPrograms ReadsAndWrites(const std::string& read, const std::string& written) {
  MethodPrograms methods;
  const Storage storages[] = {TextStorage(read), TextStorage(written)};
  for (int k = 0; k < 2; ++k) {
    absl::StatusOr<ExportedProgram> program =
        ParseProgram(k == 0 ? kReads : kWrites, Ops(), absl::MakeConstSpan(&storages[k], 1));
    EXPECT_OK(program.status());
    if (program.ok()) methods.emplace_back(k == 0 ? "reads" : "writes", *std::move(program));
  }
  return methods;
}

// Buffers with equal name, type and content are one; with different content they are two.
TEST(EmitterTest, BufferWithDifferentContentIsNotState) {
  for (const bool same : {true, false}) {
    const MethodPrograms methods = ReadsAndWrites("12345678", same ? "12345678" : "87654321");
    ASSERT_OK_AND_ASSIGN(const ProgramImage image, EmitProgram(methods, kAsWritten));
    EXPECT_EQ(PrintValue(image.metadata.methods(0), 0), same ? "s0" : "c0");
  }
}

TEST(EmitterTest, PropagatesErrorsOfNameConstant) {
  // The first is the reader's own content, the second the writer's content with that name.
  const MethodPrograms methods = ReadsAndWrites("12345678", "87654321");
  for (const std::string_view broken : {"12345678", "87654321"}) {
    EmitOptions options = kAsWritten;
    options.name_constant = [&](const Storage& bytes,
                                const std::string&) -> absl::StatusOr<std::string> {
      if (TextOf(bytes) == broken) return absl::InternalError("no key");
      return "";
    };
    EXPECT_THAT(EmitProgram(methods, options).status(),
                StatusIs(absl::StatusCode::kInternal, HasSubstr("method 'reads': no key")));
  }
}

TEST(EmitterTest, BufferWithoutInitialContentIsNotShared) {
  MethodPrograms methods = ReadsAndWrites("12345678", "12345678");
  methods[1].second.state_dict.clear();  // the writer lacks initial content
  ASSERT_OK_AND_ASSIGN(const ProgramImage image, EmitProgram(methods, kAsWritten));
  EXPECT_EQ(PrintValue(image.metadata.methods(0), 0), "c0");
  EXPECT_EQ(image.metadata.methods(1).state(0).initial(), 0u);
}

// --- Subgraphs ---

TEST(EmitterTest, LoopsCarryScalars) {
  EXPECT_THAT(Lines(R"(program edge {
    ranges { s0: [0, 9] s1: [0, 9] u0: [0, 9] u1: [0, 9] }
    graph(%i: symint(s0) user_input, %k: symint(s1) user_input) {
      %a: symint(u0), %b: symint(u1) = higher_order.while_loop(graph#1, graph#2, [%i, %k], [])
      return (%a user_output)
    }
    graph test(%u: symint(u0), %v: symint(u1)) {
      %t: symbool(zub0) = edge.executorch_prim.lt.Scalar(%u, %v)
      return (%t)
    }
    graph body(%u: symint(u0), %v: symint(u1)) { return (%v, %u) }
  })"),
              ElementsAre("int2 = int0", "int3 = int1",
                          "bool4 = executorch_prim.lt.Scalar(int2, int3)", "unless bool4 jump 8",
                          "int5 = int2", "int2 = int3", "int3 = int5", "jump 2", "return int2"));
}

// A row size from another operand; non-tensors have no sizes.
TEST(EmitterTest, RowLoopsUseSizesOfAnyOperand) {
  EXPECT_THAT(Lines(R"(program edge {
    ranges { s0: [0, 5] s1: [1, 7] }
    graph(%xs: f32[s0] user_input, %n: symint(s1) user_input, %w: f32[3,s1] user_input) {
      %all: f32[s0,s1] = higher_order.map_impl(graph#1, [%xs], [%n, %w])
      return ()
    }
    graph body(%x: f32[], %m: symint(s1), %k: f32[3,s1]) {
      %r: f32[s1] = edge.aten.select_copy.int(%k, 0, 0)
      return (%r)
    }
  })"),
              Contains(HasSubstr(" = aten.sym_size.int(x2, 1)")));
}

// Sizes computed from operand sizes; required for zero rows.
TEST(EmitterTest, RowLoopsComputeSizesFromOperands) {
  const auto sizes_of = [](const std::string& size) {
    std::vector<std::string> computed;
    for (const std::string& line : Lines(absl::Substitute(R"(program edge {
      ranges { s0: [0, 5] s1: [1, 7] s2: [1, 7] u0: [0, 9] }
      graph(%xs: f32[s0,s1,s2] user_input) {
        %all: f32[s0,"$0"] = higher_order.map_impl(graph#1, [%xs], [])
        return (%all user_output)
      }
      graph body(%x: f32[s1,s2]) {
        %r: f32["$0"] = edge.aten.neg.default(%x)
        return (%r)
      }
    })",
                                                          size))) {
      if (line.find("empty") != std::string::npos) {
        computed.push_back(line.substr(line.find('(')));
        break;
      }
      computed.push_back(line.substr(line.find("= ") + 2));
    }
    return computed;
  };
  EXPECT_THAT(sizes_of("Min(4, s1)"),
              ElementsAre("aten.sym_size.int(x0, 0)", "aten.sym_size.int(x0, 1)",
                          "executorch_prim.sym_min.Scalar(4, int7)", HasSubstr("([int4,int8], ")));
  EXPECT_THAT(sizes_of("Max(4, s1)"),
              Contains(HasSubstr("executorch_prim.sym_max.Scalar(4, int7)")));
  EXPECT_THAT(sizes_of("s1 + s2 + 1"),
              ElementsAre("aten.sym_size.int(x0, 0)", "aten.sym_size.int(x0, 1)",
                          "aten.sym_size.int(x0, 2)", "executorch_prim.add.Scalar(int6, int8)",
                          "executorch_prim.add.Scalar(int9, 1)", HasSubstr("([int4,int10], ")));
  EXPECT_THAT(sizes_of("FloorDiv(s1, 2)"),
              Contains(HasSubstr("executorch_prim.floordiv.Scalar(int6, 2)")));
  EXPECT_THAT(sizes_of("2*s1"), Contains(HasSubstr("executorch_prim.mul.Scalar(")));
  // Data-dependent sizes use their upper bound.
  EXPECT_THAT(sizes_of("u0"), ElementsAre("aten.sym_size.int(x0, 0)", HasSubstr("([int4,9], ")));
}

// --- The order of effects ---

// In the original order, both large tensors are alive at once. If the second use directly follows
// its operand, only one of them is.
TEST(EmitterTest, EffectsKeepTheirOrder) {
  constexpr OpDef kOwn[] = {
      {.schema = "test::make(int n) -> Tensor"},
      {.schema = "test::plain(Tensor self) -> Tensor"},
      {.schema = "test::random(Tensor self) -> Tensor", .traits = kNondeterministic},
      {.schema = "test::effect(Tensor self) -> Tensor", .traits = kSideEffect},
      {.schema = "test::join(Tensor self, Tensor other) -> Tensor"},
  };
  const absl::Span<const OpDef> tables[] = {kOwn};
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<OpRegistry> ops, OpRegistry::Create(tables));
  for (const std::string op : {"plain", "random", "effect"}) {
    MethodPrograms methods;
    methods.emplace_back("m", ParseOrDie(absl::Substitute(R"(program edge {
      graph() {
        %a: f32[1000] = edge.test.make.default(1)
        %b: f32[1000] = edge.test.make.default(2)
        %s: f32[1] = edge.test.$0.default(%b)
        %t: f32[1] = edge.test.$0.default(%a)
        %z: f32[1] = edge.test.join.default(%s, %t)
        return (%z user_output)
      }
    })",
                                                          op),
                                         *ops));
    ASSERT_OK_AND_ASSIGN(const ProgramImage image, EmitProgram(methods));
    std::string order;
    for (const schema::InstructionDebugInfo& info : image.debug.methods(0).instructions()) {
      order += info.node();
    }
    EXPECT_EQ(order.find('t') < order.find('s'), op == "plain") << op << ": " << order;
  }
}

// b is written back last, so both tensors are alive until then. Only properties of the writing
// operator show that it may run before the other one.
TEST(EmitterTest, UnknownOperatorsHaveEffects) {
  constexpr OpDef kOwn[] = {
      {.schema = "test::make(int n) -> Tensor"},
      {.schema = "test::use(Tensor self) -> Tensor"},
      {.schema = "aten::copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)"},
  };
  for (const bool known : {true, false}) {
    const absl::Span<const OpDef> tables[] = {absl::MakeConstSpan(kOwn, known ? 3 : 2)};
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<OpRegistry> ops, OpRegistry::Create(tables));
    MethodPrograms methods;
    methods.emplace_back("m", ParseOrDie(R"(program edge {
      constants { state "p": f32[1000] state "q": f32[1000] }
      graph(%p: f32[1000] buffer "p", %q: f32[1000] buffer "q") {
        %b: f32[1000] = edge.test.make.default(1)
        %t: f32[1] = edge.test.use.default(%b)
        %a: f32[1000] = edge.test.use.default(%t)
        return (%a buffer_mutation "p", %b buffer_mutation "q")
      }
    })",
                                         *ops));
    std::vector<MemoryReport> memory;
    ASSERT_OK(EmitProgram(methods, {}, &memory).status());
    EXPECT_EQ(memory[0].memory.arena_bytes < 8000, known);
  }
}

// --- Delegates ---

TEST(EmitterTest, EqualListTypesShareDelegate) {
  const auto text = [](const std::string& last) {
    return absl::Substitute(R"(program edge {
      graph(%x: f32[2] user_input) {
        [%a: f32[2], %b: f32[3]] = higher_order.executorch_call_delegate(module#0, %x)
        [%c: f32[2], %d: f32[$0]] = higher_order.executorch_call_delegate(module#0, %x)
        return (%a user_output) }
      module#0 backend "demo" specs [] { blob "YQ==" program edge {
        graph(%x: f32[2] user_input) {
          %n: f32[2] = edge.aten.neg.default(%x)
          return (%n user_output) } } } })",
                            last);
  };
  EXPECT_THAT(Lines(text("3")),
              ElementsAre("[a1,a2] = delegate 0(x0)", "[a4,a5] = delegate 0(x0)", "return a1"));
  EXPECT_THAT(Lines(text("4")),
              ElementsAre("[a1,a2] = delegate 0(x0)", "[a4,a5] = delegate 1(x0)", "return a1"));
}

TEST(EmitterTest, DebugInfoHasDelegateHandlesAndNodeModules) {
  ExportedProgram program = ParseOrDie(R"(program edge {
    graph(%x: f32[2] user_input) {
      %a: f32[2] = edge.aten.neg.default(%x)  @"model.py":12 handle=5
      %y: f32[2] = higher_order.executorch_call_delegate(module#0, %a)
      return (%y user_output) }
    module#0 backend "demo" specs [] {
      blob "YQ=="
      handles 7: [2,3]
      handles "matmul": [4]
      program edge {
        graph(%x: f32[2] user_input) {
          %m: f32[2] = edge.aten.neg.default(%x)  @"model.py":20 handle=2
          %n: f32[2] = edge.aten.neg.default(%m)  handle=3
          %o: f32[2] = edge.aten.neg.default(%n)
          return (%o user_output) } } } })",
                                       Ops());
  Provenance provenance = program.top().node(FindNode(program.top(), "a")).provenance;
  provenance.module = std::make_shared<const std::string>("layers.0");
  GraphEditor(program.top()).SetProvenance(FindNode(program.top(), "a"), provenance);
  MethodPrograms methods;
  methods.emplace_back("forward", std::move(program));
  ASSERT_OK_AND_ASSIGN(const ProgramImage image, EmitProgram(methods, kAsWritten));
  const schema::MethodDebugInfo& debug = image.debug.methods(0);
  EXPECT_EQ(debug.instructions(0).source(), "model.py:12");
  EXPECT_EQ(debug.instructions(0).module(), "layers.0");
  EXPECT_THAT(debug.instructions(0).debug_handles(), ElementsAre(5));
  EXPECT_EQ(debug.instructions(1).module(), "");
  EXPECT_THAT(debug.instructions(1).debug_handles(), ElementsAre(2, 3));  // all its nodes
  const schema::DelegateDebugInfo& delegate = debug.delegates(0);
  ASSERT_EQ(delegate.entries_size(), 2);
  EXPECT_EQ(delegate.entries(0).int_id(), 7);
  EXPECT_THAT(delegate.entries(0).debug_handles(), ElementsAre(2, 3));
  EXPECT_EQ(delegate.entries(1).string_id(), "matmul");
  EXPECT_THAT(delegate.entries(1).debug_handles(), ElementsAre(4));
  ASSERT_EQ(delegate.nodes_size(), 2);  // nodes with handles
  EXPECT_EQ(delegate.nodes(0).node(), "m");
  EXPECT_EQ(delegate.nodes(0).source(), "model.py:20");
  EXPECT_EQ(delegate.nodes(0).debug_handle(), 2);
  EXPECT_EQ(delegate.nodes(1).operator_(), "aten.neg.default");
}

}  // namespace
}  // namespace belay::exir
