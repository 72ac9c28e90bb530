#include "exir/ir/text.h"

#include <bit>
#include <complex>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "exir/ir/graph_editor.h"
#include "exir/ir/lowered_backend_module.h"
#include "exir/ir/text_lexer.h"
#include "exir/testing/programs.h"
#include "exir/testing/round_trip.h"
#include "exir/testing/test_ops.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/str_cat.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Parses a program with `body`, two tensors and an int.
ExportedProgram WithBody(std::string_view body) {
  return ParseOrDie(
      absl::StrCat("program aten {\n  graph(%x: f32[2,s0] user_input, %y: f32[2,3] user_input, ",
                   "%n: symint(s0) user_input) {\n", body,
                   "\n    return (%x user_output)\n  }\n}\n"),
      TestOps());
}

// Returns the text of the first node, or of the only one named %r.
std::string Canonical(std::string_view body) {
  const ExportedProgram program = WithBody(body);
  ExpectRoundTrip(program);
  return PrintNode(program.top(), program.top().first());
}

TEST(Text, InputsTellWhereTheyAreStored) {
  const std::string text = R"text(program aten {
  constants {
    state "a": f32[2]
    state "b": f32[2]
    constant "c": f32[2]
  }
  graph(%a: f32[2] parameter "a" replaceable,
        %b: f32[2] buffer "b" nonpersistent replaceable in "one",
        %c: f32[2] tensor_constant "c" in "two") {
    return (%a user_output)
  }
}
)text";
  const ExportedProgram program = ParseOrDie(text, TestOps());
  ExpectRoundTrip(program);
  EXPECT_EQ(PrintProgram(program), text);
  EXPECT_TRUE(program.signature.inputs[1].replaceable);
  EXPECT_EQ(program.signature.inputs[1].file, "one");
  EXPECT_EQ(program.signature.inputs[2].file, "two");
}

TEST(Text, PrintsThisProgramExactly) {
  const std::string text = R"text(program aten {
  ranges { s77: [1, 512] u0: [-inf, inf] }
  hints { s77: 4 }
  in_spec "[1, {\"type\": \"builtins.tuple\"}]"
  out_spec "[1, null]"
  guards {
    "L['x'].size()[0] <= 512"
    "s77 >= 1"
  }
  constants {
    state "fc.tied": f32[32,10]{strides=[1,32]}
    state "fc.weight": f32[10,32] shares state "fc.tied"
    constant "scale": f32[]
    constant "tail": f32[4]{offset=316} shares state "fc.tied"
  }
  graph(%p_fc_weight: f32[10,32]{grad} parameter "fc.weight",
        %b_scale: f32[] buffer "scale" nonpersistent,
        %x: f32[s77,32] user_input,
        %n: const(3) constant_input) {
    %permute: f32[32,10]{strides=[1,32]} = aten.permute.default(%p_fc_weight, [1,0])  @"model.py":12 module="fc" origin="linear@1397" handle=3 tag="t0"
    %mm: f32[s77,10] = aten.mm.default(%x, %permute)  @"model.py":12
    %size: symint(s77) = aten.sym_size.int(%x, 0)
    [%a: f32[s77,4], %b: f32[s77,6]] = aten.split_with_sizes.default(%mm, [4,6], 1) name="split"
    none, %g: f32[10], none = aten.native_layer_norm_backward.default(%a, %a, [10], %a, %a, none, none, [false,true,false]) name="backward"
    aten._assert_scalar.default(%size, "is \"positive\"") name="check"
    %cond: f32[s77,4] = higher_order.cond(true, graph#1, graph#2, [%a])
    %custom: bf16[2*s77 + 1]{device=cuda:1} = zoo.scaled_swish.default(self=%cond, scale=2.5, mode="fast")
    return (%g buffer_mutation "scale", %mm user_output, 3 user_output, none user_output, [%a,%b] user_output)
  }
  graph true_graph_0(%x: f32[s77,4]) {
    return (%x)
  }
  graph false_graph_0(%x: f32[s77,4]) {
    %neg: f32[s77,4] = aten.neg.default(%x)
    return (%neg)
  }
}
)text";
  ASSERT_OK_AND_ASSIGN(const ExportedProgram program, ParseProgram(text, TestOps()));
  EXPECT_EQ(PrintProgram(program), text);
  ExpectRoundTrip(program);
  EXPECT_TRUE(Equal(program, program.Clone()));
}

TEST(Text, OmitsDefaultsAndNamesLaterArguments) {
  EXPECT_EQ(Canonical("%r: f32[2,3] = aten.add.Tensor(other=%y, self=%y, alpha=1)"),
            "%r: f32[2,3] = aten.add.Tensor(%y, %y)");
  EXPECT_EQ(Canonical("%r: f32[2,3] = aten.add.Tensor(%y, %y, alpha=1.0)"),
            "%r: f32[2,3] = aten.add.Tensor(%y, %y, alpha=1.0)");
  EXPECT_EQ(Canonical("%r: f32[2,3] = aten.slice.Tensor(%y, 1, none, 9223372036854775807)"),
            "%r: f32[2,3] = aten.slice.Tensor(%y, 1, end=9223372036854775807)");
  EXPECT_EQ(Canonical("%r: f32[1], %i: i64[1] = aten.max_pool2d_with_indices.default("
                      "%y, [2,2], [], [0,0], [1,1], ceil_mode=true)"),
            "%r: f32[1], %i: i64[1] = aten.max_pool2d_with_indices.default(%y, [2,2], "
            "ceil_mode=true)");
  EXPECT_EQ(Canonical("%r: f32[2,3] = aten.gelu.default(%y, approximate=\"none\")"),
            "%r: f32[2,3] = aten.gelu.default(%y)");
}

TEST(Text, NodesMayStartWithNoneAfterAnnotations) {
  const ExportedProgram program = WithBody(R"(
    %a: f32[] = zoo.op.default()  @"f.py":1 module="m"
    none = zoo.op.default() name="b"
    none, none = zoo.op.default() name="c"
    zoo.op.default() name="d"
    [] = zoo.op.default() name="e" handle=3
    module(%y) name="f"
    name() name="g")");
  EXPECT_EQ(program.top().num_nodes(), 7);
  ExpectRoundTrip(program);
}

TEST(Text, OperatorsMayBeNamedNone) { EXPECT_EQ(Canonical("none(%x) name=\"n\""), "\"none\"(%x)"); }

TEST(Text, ArgumentsWithEmptyNamesArePositional) {
  EXPECT_EQ(Canonical("%r: f32[] = zoo.op.default(\"\"=%x, 1)"),
            "%r: f32[] = zoo.op.default(%x, 1)");
  EXPECT_EQ(Canonical("%r: f32[] = zoo.op.default(a=%x, \"\"=1, b=2)"),
            "%r: f32[] = zoo.op.default(a=%x, 1, b=2)");
}

TEST(Text, LiteralsAreExact) {
  const std::vector<std::string> literals = {"9223372036854775807",
                                             "-9223372036854775808",
                                             "0",
                                             "-1",
                                             "0.1",
                                             "-0.0",
                                             "1e-323",
                                             "1e+20",
                                             "1.7976931348623157e+308",
                                             "inf",
                                             "-inf",
                                             "nan",
                                             "nan:xfff8000000000000",
                                             "nan:x7ff0000000000001",
                                             "true",
                                             "false",
                                             "none",
                                             "\"\"",
                                             "\"a\\\"b\\\\c\\n\\x00é\"",
                                             "(1+2j)",
                                             "(-0-0j)",
                                             "(inf-infj)",
                                             "(1e+20-3.5e-07j)",
                                             "complex:[nan,1.0]",
                                             "dtype:f32",
                                             "dtype:bf16",
                                             "dtype:b8",
                                             "dtype:f8e4m3fn",
                                             "format:contiguous",
                                             "format:channels_last",
                                             "format:channels_last_3d",
                                             "format:preserve",
                                             "layout:strided",
                                             "layout:sparse_coo",
                                             "layout:mkldnn",
                                             "layout:unknown",
                                             "device:cpu",
                                             "device:cuda:1",
                                             "device:\"x y\":-1",
                                             "[]",
                                             "[[],[1,none],[%x,%n]]",
                                             "{}",
                                             "{\"k\": 1, \"k\": [%x], \"\": {\"n\": 2.0}}",
                                             "op:\"aten.add.Tensor\"",
                                             "graph#0",
                                             "%x",
                                             "%n",
                                             "[true,2,3.0,\"4\"]"};
  for (const std::string& literal : literals) {
    const std::string node =
        absl::StrCat("%r: f32[] = zoo.op.default(", literal, ", value=", literal, ")");
    EXPECT_EQ(Canonical(node), node);
  }
}

TEST(Text, NanKeepsItsBits) {
  ExportedProgram program = WithBody("%r: f32[] = zoo.op.default(1)");
  GraphEditor editor(program.top());
  for (uint64_t bits :
       {0x7ff8000000000000u, 0xfff8000000000000u, 0x7ff0000000000001u, 0xffffffffffffffffu}) {
    editor.SetArgument(program.top().first(), 0, std::bit_cast<double>(bits));
    ExpectRoundTrip(program);
    editor.SetArgument(program.top().first(), 0,
                       std::complex<double>(1, std::bit_cast<double>(bits)));
    ExpectRoundTrip(program);
    editor.SetType(FindValue(program.top(), "x"), ConstantType{std::bit_cast<double>(bits)});
    ExpectRoundTrip(program);
  }
}

TEST(Text, TypesRoundTrip) {
  for (const std::string type : {"f32[]",
                                 "f32[2,s0]",
                                 "i64[0]",
                                 "u8[2,3]{strides=[1,2]}",
                                 "f32[2,3]{strides=[0,0],offset=5}",
                                 "f32[2]{offset=s0}",
                                 "f32[2]{device=cuda:0}",
                                 "f32[2]{device=meta,layout=sparse_csr,grad}",
                                 "c64[FloorDiv(s0, 2),Max(2, s0)]",
                                 "f32[2,3]{strides=[1]}",
                                 "c32[1]",
                                 "symint(2*s0)",
                                 "symint(7)",
                                 "symfloat(2.5)",
                                 "symbool(Eq(s0, 2))",
                                 "object(\"a.b.C<int>\")",
                                 "token",
                                 "const(3)",
                                 "const(none)",
                                 "const(2.5)",
                                 "const(true)",
                                 "const(false)",
                                 "const(\"x\\\"\")",
                                 "const(nan)",
                                 "const(-inf)"}) {
    const std::string node = absl::StrCat("%r: ", type, " = zoo.op.default()");
    EXPECT_EQ(Canonical(node), node);
  }
}

// Symbols may have any name; expressions that the parser would cut off are quoted.
TEST(Text, ExpressionsWithBracketsAreQuoted) {
  const auto printed = [](const SymExpr& expr) {
    ExportedProgram program = WithBody("");
    GraphEditor(program.top()).SetType(FindValue(program.top(), "n"), SymIntType{expr});
    GraphEditor(program.top())
        .SetType(FindValue(program.top(), "x"), TensorMeta::Contiguous(DType::kInt8, {expr, 2}));
    ExpectRoundTrip(program);
    return PrintType(SymIntType{expr});
  };
  for (const std::string name :
       {"a[0", "a]", "{", "}", "\"", "a//b", "\n", "\x1f", "(", ")", "),("}) {
    const SymExpr expr = SymExpr::Symbol(name);
    EXPECT_EQ(printed(expr), "symint(" + Quote(expr.ToString()) + ")") << name;
  }
  for (const std::string name : {"s0", "a,b", "a b", " ", "()", "é"}) {
    const SymExpr expr = SymExpr::Symbol(name);
    EXPECT_EQ(printed(expr), "symint(" + expr.ToString() + ")") << name;
  }
  EXPECT_EQ(printed(SymExpr::Function("Max", {SymExpr::Symbol("s0"), 2})), "symint(Max(2, s0))");
}

TEST(Text, QuotesUnusualNames) {
  ExportedProgram program = WithBody("%r: f32[] = zoo.op.default(%y)");
  GraphEditor editor(program.top());
  const ValueId r = FindValue(program.top(), "r");
  for (const std::string name :
       {"return", "none", "a b", "\"", "1", "x.y", "a-b", "\n", "größe", "%", "graph", "module"}) {
    editor.RenameValue(r, name);
    editor.RenameValue(FindValue(program.top(), "y"), absl::StrCat(name, "@"));
    EXPECT_EQ(program.top().value(r).name, name);
    editor.SetArguments(program.top().first(), {3, r, true}, {"", name, "none"});
    editor.SetArguments(program.top().first(), {3, true}, {name, "none"});
    editor.SetDelegationTag(program.top().first(), name);
    editor.SetName(name);
    editor.SetTarget(program.top().first(), TestOps().FindOrOpaque(absl::StrCat("#", name, ":op")));
    program.signature.inputs[0] = {InputKind::kCustomObject, name, false};
    program.signature.outputs[0].target = name;
    program.hints[name] = 3;
    ExpectRoundTrip(program);
    editor.RenameValue(FindValue(program.top(), absl::StrCat(name, "@")), "y");
  }
}

TEST(Text, SignatureKindsRoundTrip) {
  ExportedProgram program(&TestOps());
  Graph graph;
  GraphEditor editor(graph);
  std::vector<Argument> outputs;
  for (int kind = 0; kind <= static_cast<int>(InputKind::kConstantInput); ++kind) {
    const ValueId value = editor.AddInput(absl::StrCat("x", kind), TensorMeta());
    program.signature.inputs.push_back(
        {static_cast<InputKind>(kind), kind % 2 ? "name" : "", kind != 3});
    outputs.push_back(value);
  }
  outputs.push_back(2.5);
  for (int kind = 0; kind <= static_cast<int>(OutputKind::kToken); ++kind) {
    program.signature.outputs.push_back({static_cast<OutputKind>(kind), kind % 2 ? "name" : ""});
  }
  editor.SetOutputs(outputs);
  program.graphs.push_back(std::move(graph));
  ExpectRoundTrip(program);
}

TEST(Text, OperatorsOfAllDialectsRoundTrip) {
  for (const std::string target :
       {"aten.relu.default", "edge.aten.relu.default", "zoo.custom.default",
        "edge.zoo.custom.default", "edge.aten.no_such_op.default", "backend.nowhere.op.default",
        "higher_order.wrap_with_autocast", "higher_order.no_such_op", "_operator.add",
        "_operator.no_such_function", "math.trunc", "single"}) {
    const std::string arguments = target == "_operator.add" ? "%n, 2" : "%y";
    const std::string node = absl::StrCat("%r: f32[] = ", target, "(", arguments, ")");
    EXPECT_EQ(Canonical(node), node);
  }
  EXPECT_EQ(TestOps().FindText("edge.aten.relu.default")->dialect(), Dialect::kEdge);
  EXPECT_EQ(Canonical("%r: f32[] = \"none\"(%y)"), "%r: f32[] = \"none\"(%y)");
}

TEST(Text, SharesStoragesAndDeclaresThemLargeEnough) {
  const ExportedProgram program = ParseOrDie(R"(program aten {
    constants {
      state "a": f32[2]
      state "b": f32[2] shares state "a"
      state "c": f64[4,4]{strides=[4,1],offset=100} shares state "b"
      constant "a": f32[0] shares state "c"
      constant "d": f32[1000000,8]{strides=[0,1]}
    }
    graph() { return () } })",
                                             TestOps());
  const Storage& shared = program.state_dict.at("a").storage();
  EXPECT_EQ(program.state_dict.at("b").storage().bytes.data(), shared.bytes.data());
  EXPECT_EQ(program.state_dict.at("c").storage().bytes.data(), shared.bytes.data());
  EXPECT_EQ(program.constants.at("a").storage().bytes.data(), shared.bytes.data());
  EXPECT_EQ(shared.bytes.size(), (100 + 16) * 8);
  EXPECT_NE(program.constants.at("d").storage().bytes.data(), shared.bytes.data());
  EXPECT_EQ(program.constants.at("d").storage().bytes.size(), 8 * 4);
  for (std::byte b : shared.bytes) EXPECT_EQ(b, std::byte{0});
  ExpectRoundTrip(program);
}

TEST(Text, LoweredModulesRoundTrip) {
  ExportedProgram program =
      WithBody("%r: f32[2] = higher_order.executorch_call_delegate(none, %y)");
  for (const std::string backend : {"demo", "an \"odd\" one"}) {
    auto module = std::make_shared<LoweredBackendModule>(
        backend, WithBody("%r: f32[2,3] = edge.aten.relu.default(%y)"));
    module->processed = Storage::Own({std::byte{0}, std::byte{255}, std::byte{'"'}, std::byte{7}});
    module->compile_specs = {{"k", std::string("\0\xff\n", 3)}, {"k", ""}, {"", "v"}};
    module->named_data.buffers = {Storage::Own({}), Storage::Own(std::vector<std::byte>(1000))};
    module->named_data.program_data["w"] = {
        1, 16, NamedDataEntry::TensorLayout{DType::kInt8, {2, 500}, {1, 0}}};
    module->named_data.program_data["\n"] = {0, ~uint64_t{0}, std::nullopt};
    module->named_data.external_data["tag"]["w"] = {1, 3, std::nullopt};
    module->named_data.external_data["empty"];
    module->debug_handle_map[int64_t{-4}] = {1, 2, 3};
    module->debug_handle_map[std::string("four")] = {};
    module->delegate_info = "two\nlines";
    module->original.lowered_modules = program.lowered_modules;  // nested
    program.lowered_modules.push_back(std::move(module));
  }
  GraphEditor(program.top()).SetArgument(program.top().first(), 0, ModuleId(1));
  ExpectRoundTrip(program);
  EXPECT_THAT(PrintProgram(program), HasSubstr("module#1 backend \"an \\\"odd\\\" one\" specs ["));
}

TEST(Text, DescribeNodeAddsTheSourceLine) {
  const ExportedProgram program =
      WithBody("%r: f32[2,3] = aten.relu.default(%y)  @\"model.py\":12 handle=4");
  EXPECT_EQ(DescribeNode(program.top(), program.top().first()),
            "%r: f32[2,3] = aten.relu.default(%y) (model.py:12)");
  const ExportedProgram unknown = WithBody("%r: f32[2,3] = aten.relu.default(%y)");
  EXPECT_EQ(DescribeNode(unknown.top(), unknown.top().first()),
            "%r: f32[2,3] = aten.relu.default(%y)");
}

TEST(Text, PrintsBrokenGraphsToo) {
  ExportedProgram program = WithBody("%r: f32[2,3] = aten.relu.default(%y)");
  GraphEditor editor(program.top());
  editor.SetArguments(program.top().first(), {3});
  editor.SetTarget(program.top().first(), nullptr);
  EXPECT_EQ(PrintNode(program.top(), program.top().first()), "%r: f32[2,3] = <no operator>(3)");
  EXPECT_EQ(PrintArgument(program.top(), ValueId()), "%<invalid>");
  EXPECT_EQ(PrintArgument(program.top(), ValueId(99)), "%<99>");
  const ValueId y = FindValue(program.top(), "y");
  editor.EraseInput(y);
  EXPECT_EQ(PrintArgument(program.top(), y), absl::StrCat("%<", y.index(), ">"));
  program.lowered_modules.push_back(nullptr);
  EXPECT_THAT(PrintProgram(program), HasSubstr("\n  module#0 none\n"));
}

// Inputs and outputs of the top graph without an entry in the signature have no kind.
TEST(Text, SignaturesMayBeTooShort) {
  const ExportedProgram program = ParseOrDie(
      "program aten { graph(%x: f32[2] user_input, %y: f32[2]) { return (%x user_output, %y) } }",
      TestOps());
  EXPECT_EQ(program.signature.inputs.size(), 1);
  EXPECT_EQ(program.signature.outputs.size(), 1);
  EXPECT_THAT(PrintProgram(program), HasSubstr("return (%x user_output, %y)\n"));
  ExpectRoundTrip(program);
}

TEST(Text, ProvenanceMayBeKnownInPart) {
  ExportedProgram program = WithBody("%r: f32[2,3] = aten.relu.default(%y)");
  const NodeId node = program.top().first();
  const auto notes = [&](const Provenance& from) {
    GraphEditor(program.top()).SetProvenance(node, from);
    ExpectRoundTrip(program);
    const std::string text = PrintProgram(program);
    const size_t begin = text.find("(%y)") + 4;
    return text.substr(begin, text.find('\n', begin) - begin);
  };
  const auto some = std::make_shared<const std::string>("a");
  const auto empty = std::make_shared<const std::string>();
  EXPECT_EQ(notes({}), "");
  EXPECT_EQ(notes({.file = empty, .module = empty, .function = empty}), "");
  EXPECT_EQ(notes({.line = 5}), "  @\"\":5");
  EXPECT_EQ(notes({.file = some}), "  @\"a\":0");
  EXPECT_EQ(notes({.file = empty, .line = 5, .origin = some}), "  @\"\":5 origin=\"a\"");
  EXPECT_EQ(notes({.file = some, .line = 5, .module_type = some}), "  @\"a\":5 module_type=\"a\"");
}

TEST(Text, ConstantsMayReferToStorages) {
  ExportedProgram program = WithBody("");
  const Storage bytes = Storage::Own(std::vector<std::byte>(8));
  for (const char* name : {"a", "b"}) {
    program.state_dict.emplace(name, *ConstantTensor::Contiguous(DType::kInt8, {8}, bytes));
  }
  program.state_dict.emplace("none", *ConstantTensor::Contiguous(DType::kInt8, {0}, Storage()));
  auto module = std::make_shared<LoweredBackendModule>("b", WithBody(""));
  module->named_data.buffers = {bytes, Storage()};
  program.lowered_modules.push_back(std::move(module));
  ExpectRoundTrip(program);
  EXPECT_THAT(
      PrintProgram(program),
      AllOf(HasSubstr("state \"a\": i8[8]\n"), HasSubstr("state \"b\": i8[8] shares state \"a\"\n"),
            HasSubstr("state \"none\": i8[0]\n"), HasSubstr("buffer \"AAAAAAAAAAA=\"\n"),
            HasSubstr("buffer \"\"\n")));
  std::vector<Storage> storages = {Storage::Own(std::vector<std::byte>(1))};
  EXPECT_THAT(
      PrintProgram(program, &storages),
      AllOf(HasSubstr("state \"a\": i8[8] storage#1\n"),
            HasSubstr("state \"b\": i8[8] storage#1\n"), HasSubstr("state \"none\": i8[0]\n"),
            HasSubstr("buffer storage#1\n"), HasSubstr("buffer \"\"\n")));
  EXPECT_EQ(storages.size(), 2);
}

// Returns a random argument of any kind.
Argument RandomArgument(std::mt19937_64& random, const std::vector<ValueId>& values, int depth) {
  switch (random() % (depth > 3 ? 12 : 14)) {
    case 0:
      return None{};
    case 1:
      return values[random() % values.size()];
    case 2:
      return static_cast<int64_t>(random());
    case 3:
      return std::bit_cast<double>(random());
    case 4:
      return random() % 2 == 0;
    case 5:
      return std::complex<double>(std::bit_cast<double>(random()), std::bit_cast<double>(random()));
    case 6: {
      std::string text;
      for (size_t n = random() % 9; n > 0; --n) text += static_cast<char>(random());
      return text;
    }
    case 7:
      return static_cast<DType>(1 + random() % (kNumDTypes - 1));
    case 8:
      return static_cast<MemoryFormat>(1 + random() % 4);
    case 9:
      return static_cast<Layout>(random() % 8);
    case 10:
      return Device{random() % 2 ? "cpu" : "a b",
                    random() % 2 ? std::optional<int64_t>(random() % 9) : std::nullopt};
    case 11:
      return OperatorName{"aten.add.Tensor"};
    case 12: {
      Argument::List list;
      for (size_t n = random() % 4; n > 0; --n)
        list.push_back(RandomArgument(random, values, depth + 1));
      return list;
    }
    default: {
      Dict dict;
      for (size_t n = random() % 4; n > 0; --n) {
        dict.entries.emplace_back(std::to_string(random() % 5),
                                  RandomArgument(random, values, depth + 1));
      }
      return dict;
    }
  }
}

TEST(Text, RandomArgumentsRoundTrip) {
  std::mt19937_64 random(TestSeed());
  for (int round = 0; round < 20; ++round) {
    ExportedProgram program = WithBody("");
    GraphEditor editor(program.top());
    std::vector<ValueId> values = {FindValue(program.top(), "x"), FindValue(program.top(), "n")};
    for (int i = 0; i < 50; ++i) {
      std::vector<Argument> arguments;
      for (size_t n = random() % 5; n > 0; --n)
        arguments.push_back(RandomArgument(random, values, 0));
      values.push_back(editor.InsertOp(NodeId(),
                                       {.name = "v",
                                        .target = TestOps().FindOrOpaque("zoo.op.default"),
                                        .arguments = std::move(arguments)},
                                       TensorMeta::Contiguous(DType::kFloat32, {2, 3})));
    }
    ExpectRoundTrip(program);
  }
}

}  // namespace
}  // namespace belay::exir
