// Emits programs from text and checks values, instructions and error messages.
#include "exir/emit/emitter.h"

#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/substitute.h"
#include "exir/emit/testing/print_method.h"
#include "exir/ir/refused_node.h"
#include "exir/ops/standard_ops.h"
#include "exir/testing/programs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/dtype.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const OpRegistry& Ops() {
  static const OpRegistry* const ops = CreateStandardOps()->release();
  return *ops;
}

// Without storage sharing and reordering.
const EmitOptions kAsWritten = {.memory = {.share = false, .reorder = false}};

absl::StatusOr<ProgramImage> Emit(
    const std::vector<std::pair<std::string, std::string_view>>& programs,
    const EmitOptions& options = kAsWritten) {
  MethodPrograms methods;
  for (const auto& [name, text] : programs) methods.emplace_back(name, ParseOrDie(text, Ops()));
  return EmitProgram(methods, options);
}

absl::StatusOr<ProgramImage> EmitForward(std::string_view text) {
  return Emit({{"forward", text}});
}

std::vector<std::string> Lines(std::string_view text, const EmitOptions& options = kAsWritten) {
  const absl::StatusOr<ProgramImage> image = Emit({{"forward", text}}, options);
  EXPECT_OK(image.status());
  return image.ok() ? PrintLines(image->metadata.methods(0)) : std::vector<std::string>();
}

// Error message of a program with a single method.
std::string Error(std::string_view text, absl::StatusCode code) {
  const absl::Status status = Emit({{"forward", text}}).status();
  EXPECT_EQ(status.code(), code) << status;
  return std::string(status.message());
}

// --- Inputs ---

TEST(EmitterTest, InputsHaveSizeConstraints) {
  ASSERT_OK_AND_ASSIGN(const ProgramImage image, EmitForward(R"(program edge {
    ranges { s0: [1, 10] s1: [2, 5] }
    graph(%a: f32[s0] user_input, %b: f32[2*s0] user_input, %c: f32[s0 + 3] user_input,
          %d: f32[2*s0 + 3] user_input, %e: f32[s0 + s1] user_input,
          %f: f32[s0*s1] user_input, %g: f32[s0,4,s1] user_input, %n: symint(s0) user_input,
          %h: f32[s0 + s1 + 1] user_input) {
      return (%a user_output)
    }
  })"));
  std::vector<std::string> constraints;
  for (const schema::Input& input : image.metadata.methods(0).inputs()) {
    for (const schema::SizeConstraint& c : input.constraints()) {
      constraints.push_back(absl::StrCat(input.name(), "[", c.dim(), "] in [", c.min(), ", ",
                                         c.max(), "] = ", c.multiplier(), "*", c.symbol(), " + ",
                                         c.offset()));
    }
  }
  EXPECT_THAT(constraints, ElementsAre("a[0] in [1, 10] = 1*s0 + 0", "b[0] in [2, 20] = 2*s0 + 0",
                                       "c[0] in [4, 13] = 1*s0 + 3", "d[0] in [5, 23] = 2*s0 + 3",
                                       // Sizes that are not a linear function of one symbol have a
                                       // range.
                                       "e[0] in [3, 15] = 1* + 0", "f[0] in [2, 50] = 1* + 0",
                                       "g[0] in [1, 10] = 1*s0 + 0", "g[2] in [2, 5] = 1*s1 + 0",
                                       "n[0] in [1, 10] = 1*s0 + 0", "h[0] in [4, 16] = 1* + 0"));
}

TEST(EmitterTest, NonTensorInputs) {
  ASSERT_OK_AND_ASSIGN(const ProgramImage image, EmitForward(R"(program edge {
    graph(%a: symfloat(zf0) user_input, %b: symbool(zb0) user_input,
          %c: const(3) constant_input, %d: const(2.5) constant_input,
          %e: const(true) constant_input, %f: const("text") constant_input,
          %g: const(none) constant_input, %t: token token) {
      return (%t token, %c user_output)
    }
  })"));
  const schema::Method& method = image.metadata.methods(0);
  std::vector<std::string> forms;
  for (const schema::Input& input : method.inputs()) {
    forms.push_back(absl::StrCat(input.name(), "=", PrintValue(method, input.value())));
  }
  // The token does not exist at run time.
  EXPECT_THAT(forms,
              ElementsAre("a=double0", "b=bool1", "c=3", "d=2.5d", "e=true", "f='text'", "g=none"));
  EXPECT_THAT(PrintLines(method), ElementsAre("return 3"));
}

TEST(EmitterTest, RejectsInputsAndOutputsWithoutRuntimeForm) {
  EXPECT_EQ(Error(R"(program edge {
    graph(%x: f32[2] user_input, %o: object("Queue") custom_obj "queue",
          %p: object("Stack") user_input) {
      return (%x gradient_to_user_input "x", %x loss_output)
    }
  })",
                  absl::StatusCode::kUnimplemented),
            "method 'forward': unsupported:\n"
            "  input 'o': custom object queue\n  input 'p': object(\"Stack\")\n"
            "  output 0: of kind gradient_to_user_input\n  output 1: of kind loss_output");
}

TEST(EmitterTest, RejectsInvalidConstants) {
  EXPECT_THAT(Error(R"(program edge {
    graph(%p: symint(s0) parameter "p") { return () }
  })",
                    absl::StatusCode::kInvalidArgument),
              HasSubstr("constant 'p' is not a tensor"));
  EXPECT_THAT(Error(R"(program edge {
    graph(%p: f32[2] parameter "p") { return () }
  })",
                    absl::StatusCode::kInvalidArgument),
              HasSubstr("constant 'p' has no tensor in the program"));
}

TEST(EmitterTest, RejectsDynamicState) {
  EXPECT_THAT(Error(R"(program edge {
    ranges { s0: [1, 4] }
    graph(%b: f32[s0] buffer "b", %x: f32[s0] user_input) { return (%x buffer_mutation "b") }
  })",
                    absl::StatusCode::kInvalidArgument),
              HasSubstr("buffer 'b' has a dynamic size: f32[s0]"));
}

TEST(EmitterTest, RejectsNonStridedTensors) {
  EXPECT_THAT(Error(R"(program edge {
    graph(%x: f32[2]{layout=sparse_coo} user_input) { return (%x user_output) }
  })",
                    absl::StatusCode::kUnimplemented),
              HasSubstr("'x' is not a strided tensor"));
}

TEST(EmitterTest, RejectsUnboundedSizes) {
  const std::string error = Error(R"(program edge {
    ranges { s0: [1, inf] u0: [0, inf] s1: [1, 4] }
    graph(%x: f32[s1,s0] user_input, %y: f32[s0] user_input, %z: f32[s1 + u0] user_input) {
      return (%x user_output)
    }
  })",
                                  absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(error, AllOf(HasSubstr("method 'forward': cannot plan memory"),
                           HasSubstr("'x': dimension 1 is s0"),
                           HasSubstr("export with Dim(..., max=...) for s0"),
                           HasSubstr("pass --max-size u0=VALUE, or call torch._check")));
  EXPECT_EQ(error.find("'y'"), std::string::npos) << "a symbol is reported once";
  // Unknown operators and unbounded sizes are reported together.
  EXPECT_THAT(Error(R"(program edge {
    ranges { s0: [1, inf] }
    graph(%x: f32[s0] user_input) {
      %y: f32[s0] = my.own.op(%x)
      return (%y user_output)
    }
  })",
                    absl::StatusCode::kUnimplemented),
              AllOf(HasSubstr("unknown operator my.own.op, used 1 time"),
                    HasSubstr("'x': dimension 0 is s0")));
}

// --- State and outputs ---

TEST(EmitterTest, WritesBackMutatedBuffersAtTheEnd) {
  constexpr std::string_view kText = R"(program edge {
    constants { state "b": f32[2] state "p": f32[2] }
    graph(%b: f32[2] buffer "b", %p: f32[2] parameter "p", %x: f32[2] user_input) {
      %y: f32[2] = edge.aten.add.Tensor(%b, %x)
      %z: f32[2] = edge.aten.mul.Tensor(%y, %p)
      return (%y buffer_mutation "b", %z parameter_mutation "p", %y user_input_mutation "x",
              %z user_output)
    }
  })";
  EXPECT_THAT(Lines(kText),
              ElementsAre("a4 = aten.add.Tensor(s0, x2, 1)", "a5 = aten.mul.Tensor(a4, s1)",
                          "s0 = aten.copy_.default(s0, a4, false)",
                          "s1 = aten.copy_.default(s1, a5, false)",
                          "x2 = aten.copy_.default(x2, a4, false)", "return a5"));
}

// Swaps two buffers; the old content is also a result.
TEST(EmitterTest, SavesOverwrittenValuesFirst) {
  EXPECT_THAT(Lines(R"(program edge {
    constants { state "a": f32[2] state "b": f32[2] state "c": f32[2] }
    graph(%a: f32[2] buffer "a", %b: f32[2] buffer "b", %c: f32[2] buffer "c") {
      return (%b buffer_mutation "a", %a buffer_mutation "b", %c buffer_mutation "c",
              %a user_output, %c user_output)
    }
  })"),
              ElementsAre("a3 = s1", "a4 = s0", "s0 = aten.copy_.default(s0, a3, false)",
                          "s1 = aten.copy_.default(s1, a4, false)", "return a4, s2"));
}

TEST(EmitterTest, InPlaceUpdatesNeedNoCopy) {
  constexpr std::string_view kText = R"(program edge {
    constants { state "b": f32[4,2] }
    graph(%b: f32[4,2] buffer "b", %i: i64[1] user_input, %x: f32[1,2] user_input) {
      %p: f32[4,2] = edge.aten.index_copy.default(%b, 0, %i, %x)
      return (%p buffer_mutation "b")
    }
  })";
  EmitOptions options = kAsWritten;
  EXPECT_THAT(Lines(kText, options),
              ElementsAre("a4 = aten.index_copy.default(s0, 0, x1, x2)",
                          "s0 = aten.copy_.default(s0, a4, false)", "return "));
  options.write_state_in_place = true;
  EXPECT_THAT(Lines(kText, options),
              ElementsAre("s0 = aten.index_copy_.default(s0, 0, x1, x2)", "return "));
}

// The source program writes in place, too.
TEST(EmitterTest, CacheUpdatesAreAlwaysInPlace) {
  EXPECT_THAT(Lines(R"(program edge {
    constants { state "b": f32[1,4,1,2] }
    graph(%b: f32[1,4,1,2] buffer "b", %x: f32[1,1,1,2] user_input) {
      %p: f32[1,4,1,2] = edge.llama.update_cache_functional.default(%b, %x, 3)
      return (%p buffer_mutation "b")
    }
  })",
                    kAsWritten),
              ElementsAre("s0 = belay.update_cache_.default(s0, x1, 3, none)", "return "));
}

// A buffer that one method writes is state in another that reads it, if it is the same tensor.
TEST(EmitterTest, BufferMutatedByAnotherMethodIsState) {
  constexpr std::string_view kWrites = R"(program edge {
    constants { state "b": f32[2] }
    graph(%b: f32[2] buffer "b", %x: f32[2] user_input) { return (%x buffer_mutation "b") }
  })";
  const auto form_in_reader = [&](std::string_view type, std::string_view kind) {
    const std::string section = kind == "tensor_constant" ? "constant" : "state";
    const std::string reads =
        absl::StrCat("program edge { constants { ", section, R"( "b": )", type,
                     " } graph(%b: ", type, " ", kind, R"( "b") { return (%b user_output) } })");
    const absl::StatusOr<ProgramImage> image = Emit({{"reads", reads}, {"writes", kWrites}});
    EXPECT_OK(image.status());
    return image.ok() ? PrintValue(image->metadata.methods(0), 0) : "";
  };
  EXPECT_EQ(form_in_reader("f32[2]", "buffer"), "s0");
  EXPECT_EQ(form_in_reader("f32[3]", "buffer"), "c0");  // only the name is equal
  EXPECT_EQ(form_in_reader("i32[2]", "buffer"), "c0");
  EXPECT_EQ(form_in_reader("f32[2]", "tensor_constant"), "c0");
}

// --- Methods ---

TEST(EmitterTest, RequiresEdgeProgramsWithUniqueNames) {
  constexpr std::string_view kEdge = "program edge { graph() { return () } }";
  EXPECT_THAT(Emit({{"", kEdge}}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, "method '': a method has a name"));
  EXPECT_THAT(Emit({{"\xff", kEdge}}).status(), StatusIs(absl::StatusCode::kInvalidArgument,
                                                         "method '\\xff': the name is not UTF-8"));
  EXPECT_THAT(Emit({{"a", kEdge}, {"b", kEdge}, {"a", kEdge}}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, "two methods are named 'a'"));
  EXPECT_THAT(Emit({{"a", "program aten { graph() { return () } }"}}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "method 'a' is of the ATEN dialect; only edge programs can be emitted"));
  const absl::StatusOr<ProgramImage> image = Emit({{"b", kEdge}, {"a", kEdge}});
  ASSERT_OK(image.status());
  ASSERT_EQ(image->metadata.methods_size(), 2);
  EXPECT_EQ(image->metadata.methods(0).name(), "a");
}

TEST(EmitterTest, ListsUnknownOperatorsOfAllMethods) {
  std::string nodes;
  for (int i = 0; i < 21; ++i) absl::StrAppend(&nodes, "%y", i, ": f32[2] = my.own.op(%x)\n");
  const std::string many = absl::StrCat("program edge { graph(%x: f32[2] user_input) {\n", nodes,
                                        "return (%y20 user_output) } }");
  const absl::Status status = Emit({{"b", many}, {"a", R"(program edge {
    graph(%x: f32[2] user_input) {
      %y: f32[2] = higher_order.strange(%x)
      %z: f32[2] = my.other.op(%y)
      return (%z user_output)
    }
  })"}})
                                  .status();
  EXPECT_THAT(status,
              StatusIs(absl::StatusCode::kUnimplemented,
                       AllOf(HasSubstr("method 'a': unsupported:\n  unknown operator "
                                       "higher_order.strange, used 1 time"),
                             HasSubstr("unknown operator my.other.op"),
                             HasSubstr("method 'b': unsupported:\n  unknown operator my.own.op, "
                                       "used 21 times"),
                             HasSubstr("node 'y19', …"))));
  EXPECT_EQ(status.message().find("'y20'"), std::string::npos);
  const std::vector<RefusedNode> refused = RefusedNodesOf(status);
  ASSERT_EQ(refused.size(), 2 + 20);
  EXPECT_EQ(refused[0], (RefusedNode{"a", "y", "higher_order.strange", "",
                                     "unknown operator higher_order.strange"}));
  EXPECT_EQ(
      refused.back(),
      (RefusedNode{"b", "y19", "my.own.op", "",
                   "unknown operator my.own.op; define it as examples/custom_operator does"}));
}

TEST(EmitterTest, EmitsEveryKindOfArgument) {
  EXPECT_THAT(Lines(R"(program edge {
    graph(%x: f32[2] user_input) {
      %a: f32[2] = edge.aten.clone.default(%x, memory_format=format:contiguous)
      %b: c64[2] = edge.aten.full.default([2], (1+2j), dtype=dtype:c64, layout=layout:strided, device=device:cpu, pin_memory=false)
      %c: f32[2] = edge.aten.div.Tensor_mode(%x, %x, rounding_mode="floor")
      %d: f32[2] = edge.aten.add.Scalar(%x, 2.5)
      return (%a user_output, %b user_output, %c user_output, %d user_output)
    }
  })"),
              ElementsAre("a2 = aten.clone.default(x0, format1)",
                          "a9 = aten.full.default([2], 1+2j, dtype:c64, none, none, false)",
                          HasSubstr("= aten.div.Tensor_mode(x0, x0, 'floor')"),
                          HasSubstr("= aten.add.Scalar(x0, 2.5d, 1)"), HasSubstr("return ")));
  EXPECT_THAT(Error(R"(program edge {
    graph(%x: f32[2] user_input) {
      %a: f32[2] = edge.aten.add.Scalar(%x, {"k": 1})
      return (%a user_output)
    }
  })",
                    absl::StatusCode::kUnimplemented),
              HasSubstr("the argument {\"k\": 1} has no run-time form"));
  EXPECT_THAT(Error(R"(program edge {
    graph(%x: f32[2] user_input) {
      %a: object("Queue") = edge.aten.neg.default(%x)
      return ()
    }
  })",
                    absl::StatusCode::kUnimplemented),
              HasSubstr("a result of type object(\"Queue\") has no run-time form"));
}

// --- Subgraphs ---

constexpr char kCond[] = R"(program edge {
  graph(%p: b8[] user_input, %x: f32[2] user_input) {
    %y: f32[2] = higher_order.cond($0)
    return (%y user_output)
  }
  graph yes(%u: f32[2]$1) {
    %n: f32[2] = edge.aten.neg.default(%u)
    return (%n$2)
  }
  graph no(%u: f32[2]) { return (%u) }
})";

TEST(EmitterTest, BranchesMoveTheirResults) {
  EXPECT_THAT(Lines(absl::Substitute(kCond, "%p, graph#1, graph#2, [%x]", "", "")),
              ElementsAre("unless x0 jump 4", "a3 = aten.neg.default(x1)", "a2 = a3", "jump 5",
                          "a2 = x1", "return a2"));
  const std::tuple<std::string, std::string, std::string, std::string> wrong[] = {
      {"%p, graph#1, graph#2", "", "", "cond takes 4 arguments"},
      {"%p, 1, graph#2, [%x]", "", "", "cond without two bodies"},
      {"%p, graph#1, 2, [%x]", "", "", "cond without two bodies"},
      {"%p, graph#1, graph#2, %x", "", "", "operands must be a list"},
      {"%p, graph#1, graph#2, []", "", "", "body 'yes' takes 1 operands, the call has 0"},
      {"%p, graph#1, graph#2, [%x]", ", %v: f32[2]", "",
       "body 'yes' takes 2 operands, the call has 1"},
      {"%p, graph#1, graph#2, [%x]", "", ", %n", "a branch returns 2 values, cond 1"},
  };
  for (const auto& [call, input, output, message] : wrong) {
    EXPECT_THAT(
        Error(absl::Substitute(kCond, call, input, output), absl::StatusCode::kInvalidArgument),
        AllOf(HasSubstr(message), HasSubstr("%y: f32[2] = higher_order.cond")));
  }
}

constexpr char kWhile[] = R"(program edge {
  graph(%x: f32[2] user_input, %y: f32[2] user_input, %w: f32[2] user_input) {
    $0 = higher_order.while_loop($1)
    return (%a user_output)
  }
  graph test(%u: f32[2], %v: f32[2], %k: f32[2]) {
    %t: b8[] = edge.aten.any.default(%u)
    return (%t$2)
  }
  graph body(%u: f32[2], %v: f32[2], %k: f32[2]) {
    %s: f32[2] = edge.aten.add.Tensor(%u, %k)
    return ($3)
  }
})";

TEST(EmitterTest, LoopsCarryTheirResults) {
  const std::string results = "%a: f32[2], %b: f32[2]", call = "graph#1, graph#2, [%x, %y], [%w]";
  EXPECT_THAT(Lines(absl::Substitute(kWhile, results, call, "", "%s, %v")),
              ElementsAre("a3 = x0", "a4 = x1", "a5 = aten.any.default(a3)", "unless a5 jump 7",
                          "a7 = aten.add.Tensor(a3, x2, 1)", "a3 = a7", "jump 2", "return a3"));
  // Swapped values are read before either is written.
  EXPECT_THAT(Lines(absl::Substitute(kWhile, results, call, "", "%v, %u")),
              ElementsAre("a3 = x0", "a4 = x1", "a5 = aten.any.default(a3)", "unless a5 jump 9",
                          "a7 = aten.add.Tensor(a3, x2, 1)", "a8 = a3", "a3 = a4", "a4 = a8",
                          "jump 2", "return a3"));
  const std::tuple<std::string, std::string, std::string, std::string, std::string> wrong[] = {
      {results, "graph#1, graph#2, [%x, %y]", "", "%s, %v", "while_loop takes 4 arguments"},
      {results, "1, graph#2, [%x, %y], [%w]", "", "%s, %v", "while_loop without two bodies"},
      {results, "graph#1, 2, [%x, %y], [%w]", "", "%s, %v", "while_loop without two bodies"},
      {results, "graph#1, graph#2, %x, [%w]", "", "%s, %v", "operands must be a list"},
      {"%a: f32[2]", call, "", "%s, %v", "while_loop carries 2 values and has 1 results"},
      {results, call, ", %t", "%s, %v", "the loop's condition is not one value"},
      {results, call, "", "%s", "the loop's body returns 1 values, the loop carries 2"},
  };
  for (const auto& [declared, arguments, tested, returned, message] : wrong) {
    EXPECT_THAT(Error(absl::Substitute(kWhile, declared, arguments, tested, returned),
                      absl::StatusCode::kInvalidArgument),
                HasSubstr(message));
  }
}

constexpr char kScan[] = R"(program edge {
  ranges { s0: [0, 5] s1: [1, 7] }
  graph(%h: f32[2] user_input, %xs: f32[s0,s1] user_input, %w: f32[2] user_input) {
    $0 = higher_order.$1
    return ()
  }
  graph body($2) { return ($3) }
})";

TEST(EmitterTest, RowLoopsReadAndWriteRows) {
  EXPECT_THAT(
      Lines(absl::Substitute(kScan, "%last: f32[2], %all: f32[s0,s1]",
                             "scan(graph#1, [%h], [%xs], [%w])",
                             "%c: f32[2], %x: f32[s1], %k: f32[2]", "%c, %x")),
      ElementsAre("int6 = aten.sym_size.int(x1, 0)", "a7 = x0", "int9 = aten.sym_size.int(x1, 1)",
                  "a8 = aten.empty.memory_format([int6,int9], dtype:f32, none, none, none, none)",
                  "int12 = 0", "bool14 = executorch_prim.lt.Scalar(int12, int6)",
                  "unless bool14 jump 12", "a15 = aten.select_copy.int(x1, 0, int12)",
                  "a8 = belay.set_row_.default(a8, a15, int12, int6)",
                  "int13 = executorch_prim.add.Scalar(int12, 1)", "int12 = int13", "jump 5",
                  "return "));
  // A size that is neither an operand's nor computed: planned with its upper bound.
  EXPECT_THAT(Lines(absl::Substitute(kScan, "%all: f32[s0,\"Mod(s1, 5)\",3]",
                                     "map_impl(graph#1, [%xs], [])", "%x: f32[s1]", "%x"))[1],
              HasSubstr("aten.empty.memory_format([int6,4,3], "));
  const std::string inputs = "%c: f32[2], %x: f32[s1], %k: f32[2]",
                    results = "%last: f32[2], %all: f32[s0,s1]";
  const std::tuple<std::string, std::string, std::string, std::string, std::string> wrong[] = {
      {results, "scan(graph#1, [%h], [%xs])", inputs, "%c, %x", "scan takes 4 arguments"},
      {results, "map_impl(graph#1, [%xs])", inputs, "%c, %x", "map_impl takes 3 arguments"},
      {results, "scan(1, [%h], [%xs], [%w])", inputs, "%c, %x", "a loop without a body"},
      {results, "scan(graph#1, [%h], [], [%w])", inputs, "%c, %x", "a row loop without tensors"},
      {"", "scan(graph#1, [%h], [%xs], [%w])", inputs, "%c, %x",
       "the loop carries 1 values and has 0 results"},
      {results, "scan(graph#1, [%h], [%xs], [])", inputs, "%c, %x",
       "body 'body' takes 3 operands, the call has 2"},
      {"%last: f32[2], %all: f32[]", "scan(graph#1, [%h], [%xs], [%w])", inputs, "%c, %x",
       "a result of a row loop is not a tensor with rows"},
      {"%last: f32[2], %all: symint(s0)", "scan(graph#1, [%h], [%xs], [%w])", inputs, "%c, %x",
       "a result of a row loop is not a tensor with rows"},
      {results, "scan(graph#1, [%h], [%xs], [%w])", inputs, "%c",
       "the loop's body returns 1 values, the loop has 2 results"},
  };
  for (const auto& [declared, call, taken, returned, message] : wrong) {
    std::string text = absl::Substitute(kScan, declared, call, taken, returned);
    if (declared.empty()) text = absl::StrReplaceAll(text, {{" = higher_order", "higher_order"}});
    EXPECT_THAT(Error(text, absl::StatusCode::kInvalidArgument), HasSubstr(message));
  }
}

TEST(EmitterTest, WithEffectsEmitsWrappedOperator) {
  const auto text = [](std::string_view results, std::string_view arguments) {
    return absl::StrCat("program edge { graph(%t: token token, %x: f32[2] user_input) {\n", results,
                        " = higher_order.with_effects(", arguments, ")\n return () } }");
  };
  EXPECT_THAT(Lines(text("%u: token, %y: f32[2]", "%t, op:\"aten.add.Tensor\", %x, %x")),
              ElementsAre("a3 = aten.add.Tensor(x1, x1, 1)", "return "));
  EXPECT_THAT(Lines(text("%u: token, %y: f32[2]", "%t, op:\"aten.add.Tensor\", %x, %x, alpha=3")),
              ElementsAre("a3 = aten.add.Tensor(x1, x1, 3)", "return "));
  // An operator without results has "none" after the token.
  EXPECT_THAT(
      Lines(text("%u: token, none", "%t, op:\"aten._assert_async.msg\", %x, \"must hold\"")),
      ElementsAre(" = aten._assert_async.msg(x1, 'must hold')", "return "));
  EXPECT_THAT(Error(text("%u: token, %y: f32[2]", "%t, op:\"my.own.op\", %x"),
                    absl::StatusCode::kUnimplemented),
              HasSubstr("unknown operator my.own.op, used 1 time"));
  EXPECT_THAT(Error(text("%u: token, %y: f32[2]", "%t, 3, %x"), absl::StatusCode::kUnimplemented),
              HasSubstr("unknown operator higher_order.with_effects, used 1 time"));
  EXPECT_THAT(Error(text("%u: token", "%t, op:\"aten.add.Tensor\", %x, %x"),
                    absl::StatusCode::kInvalidArgument),
              HasSubstr("aten.add.Tensor has more results than the call"));
}

// --- Delegates ---

TEST(EmitterTest, DelegateCallsReferToModulesWithUtf8Specs) {
  const auto text = [](std::string_view module, std::string_view key) {
    return absl::StrCat(R"(program edge { graph(%x: f32[2] user_input) {
      %y: f32[2] = higher_order.executorch_call_delegate()",
                        module, R"(, %x)
      return (%y user_output) }
      module#0 backend "demo" specs [")",
                        key, R"(": "\xff"] { blob "YQ==" program edge {
        graph(%x: f32[2] user_input) {
          %n: f32[2] = edge.aten.neg.default(%x)
          return (%n user_output) } } } })");
  };
  ASSERT_OK_AND_ASSIGN(const ProgramImage image, EmitForward(text("module#0", "key")));
  EXPECT_THAT(PrintLines(image.metadata.methods(0)),
              ElementsAre("a1 = delegate 0(x0)", "return a1"));
  const schema::Delegate& delegate = image.metadata.methods(0).delegates(0);
  EXPECT_EQ(delegate.backend_id(), "demo");
  EXPECT_EQ(delegate.compile_specs(0).key(), "key");
  EXPECT_EQ(delegate.compile_specs(0).value(), "\xff");
  EXPECT_THAT(Error(text("module#0", "\\xff"), absl::StatusCode::kInvalidArgument),
              HasSubstr("module#0 (backend demo): the key '\\xff' of a compile spec is not UTF-8"));
  EXPECT_THAT(Error(text("0", "key"), absl::StatusCode::kInvalidArgument),
              HasSubstr("a delegate call without a lowered module"));
}

TEST(EmitterTest, ReportsTheMemoryOfEachMethod) {
  MethodPrograms methods;
  methods.emplace_back("m", ParseOrDie(R"(program edge {
    constants { state "b": f32[3] }
    graph(%b: f32[3] buffer "b", %x: f32[100] user_input) {
      %y: f32[100] = edge.aten.neg.default(%x)
      %z: f32[3] = edge.aten.neg.default(%b)
      return (%y user_output, %z buffer_mutation "b")
    }
  })",
                                       Ops()));
  std::vector<MemoryReport> memory;
  EmitOptions options;
  options.debug_info = false;
  ASSERT_OK_AND_ASSIGN(const ProgramImage image, EmitProgram(methods, options, &memory));
  ASSERT_EQ(memory.size(), 1u);
  EXPECT_EQ(memory[0].method, "m");
  EXPECT_EQ(memory[0].state_bytes, 64u);
  EXPECT_EQ(memory[0].memory.arena_bytes, 448u);  // the second one is dead immediately

  EXPECT_EQ(image.debug.methods_size(), 0);
}

TEST(EmitterTest, DebugInfoNamesNodesOfInstructionsAndDelegates) {
  ASSERT_OK_AND_ASSIGN(const ProgramImage image, EmitForward(R"(program edge {
    graph(%x: f32[2] user_input) {
      %a: f32[2] = edge.aten.neg.default(%x)
      %y: f32[2] = higher_order.executorch_call_delegate(module#0, %a)
      return (%y user_output) }
    module#0 backend "demo" specs [] { blob "YQ==" program edge {
      graph(%x: f32[2] user_input) {
        %n: f32[2] = edge.aten.neg.default(%x)
        return (%n user_output) } } } })"));
  ASSERT_EQ(image.debug.methods_size(), 1);
  const schema::MethodDebugInfo& debug = image.debug.methods(0);
  ASSERT_EQ(debug.instructions_size(), 2);
  EXPECT_EQ(debug.instructions(0).node(), "a");
  EXPECT_EQ(debug.instructions(1).node(), "y");
  // Nodes without a handle cannot be looked up.
  ASSERT_EQ(debug.delegates_size(), 1);
  EXPECT_EQ(debug.delegates(0).nodes_size(), 0);
}

// A delegate is initialized for its operand types, so other types need another delegate.
TEST(EmitterTest, DifferentOperandTypesCreateSeparateDelegates) {
  ASSERT_OK_AND_ASSIGN(const ProgramImage image, EmitForward(R"(program edge {
    graph(%x: f32[2] user_input, %y: f32[3] user_input, %z: f32[2] user_input) {
      %a: f32[2] = higher_order.executorch_call_delegate(module#0, %x)
      %b: f32[3] = higher_order.executorch_call_delegate(module#0, %y)
      %c: f32[2] = higher_order.executorch_call_delegate(module#0, %z)
      return (%a user_output, %b user_output, %c user_output) }
    module#0 backend "demo" specs [] { blob "YQ==" program edge {
      graph(%x: f32[2] user_input) {
        %n: f32[2] = edge.aten.neg.default(%x)
        return (%n user_output) } } } })"));
  EXPECT_THAT(PrintLines(image.metadata.methods(0)),
              ElementsAre("a3 = delegate 0(x0)", "a4 = delegate 1(x1)", "a5 = delegate 0(x2)",
                          "return a3, a4, a5"));
  EXPECT_EQ(image.segments.size(), 1u);
}

TEST(EmitterTest, MarksMutatedInputs) {
  ASSERT_OK_AND_ASSIGN(const ProgramImage image, EmitForward(R"(program edge {
    graph(%x: f32[2] user_input, %y: f32[2] user_input) {
      %z: f32[2] = edge.aten.neg.default(%y)
      return (%z user_input_mutation "x", %z user_output)
    }
  })"));
  const schema::Method& method = image.metadata.methods(0);
  ASSERT_EQ(method.inputs_size(), 2);
  EXPECT_TRUE(method.inputs(0).mutated());
  EXPECT_FALSE(method.inputs(1).mutated());
}

}  // namespace
}  // namespace belay::exir
