#include "exir/builder/op_call.h"

#include <complex>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "exir/builder/op_shorthand.h"
#include "exir/ops/standard_ops.h"
#include "exir/testing/programs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::string_view kPlain =
    "program aten { ranges { s0: [1, 8] s1: [5, 8] s2: [0, 3] } graph main(%x: f32[2,3] "
    "user_input, "
    "%n: symint(s0) user_input, %f: symfloat(zf0) user_input, %i: i64[3] user_input, "
    "%h: f16[2,3] user_input, %d: f32[s0,3] user_input, %e: f32[s1] user_input, "
    "%g: f32[s2] user_input, %s: f32[] user_input, %w: f32[4] user_input) { return (%x "
    "user_output) } }";

class OpCallTest : public ::testing::Test {
 protected:
  OpCallTest()
      : program_(ParseOrDie(kPlain, *ops_)), editor_(program_.graphs[ExportedProgram::kTop]) {}

  // Returns the status of a new builder after `use`.
  absl::Status After(const std::function<void(OpBuilder&)>& use) {
    OpBuilder b(program_, editor_);
    b.MoveToEnd();
    use(b);
    return b.status();
  }
  Argument Value(std::string_view name) { return FindValue(program_.top(), name); }

  const std::unique_ptr<OpRegistry> ops_ = *CreateStandardOps();
  ExportedProgram program_;
  GraphEditor editor_;
};

TEST_F(OpCallTest, ReadsArgumentsByName) {
  ASSERT_OK_AND_ASSIGN(
      const OpOverload* op,
      ops_->Define({.schema = "mylib::all(SymInt[] ints, SymInt i, float f, bool flag, str? mode, "
                              "ScalarType? dtype, MemoryFormat? format, int? maybe) -> Tensor"}));
  ASSERT_OK(After([&](OpBuilder& b) {
    const OpCall call(b, op,
                      {Argument::List{int64_t{1}, Value("n")}, Value("n"), 2.5, true,
                       std::string("mean"), DType::kInt8, MemoryFormat::kChannelsLast, int64_t{4}});
    EXPECT_THAT(call.SymInts("ints"), ElementsAre(SymInt(1), SymInt::Symbol("s0")));
    EXPECT_EQ(call.List("ints").size(), 2u);
    EXPECT_EQ(call.Sym("i"), SymInt::Symbol("s0"));
    EXPECT_EQ(call.Double("f"), 2.5);
    EXPECT_TRUE(call.Bool("flag"));
    EXPECT_EQ(call.Sym("flag"), SymInt(1));
    EXPECT_EQ(call.String("mode"), "mean");
    EXPECT_EQ(call.DtypeOr("dtype", DType::kFloat32), DType::kInt8);
    EXPECT_EQ(call.MemoryFormatOr("format", MemoryFormat::kContiguous),
              MemoryFormat::kChannelsLast);
    EXPECT_EQ(call.OptionalInt("maybe"), 4);
    EXPECT_EQ(call.Or("maybe", Argument(int64_t{9})), Argument(int64_t{4}));
    const OpCall none(b, op, std::vector<Argument>(8));
    EXPECT_TRUE(none.List("ints").empty());
    EXPECT_EQ(none.String("mode"), "");
    EXPECT_EQ(none.DtypeOr("dtype", DType::kFloat32), DType::kFloat32);
    EXPECT_EQ(none.MemoryFormatOr("format", MemoryFormat::kContiguous), MemoryFormat::kContiguous);
    EXPECT_EQ(none.OptionalInt("maybe"), std::nullopt);
    EXPECT_EQ(none.Or("maybe", Argument(int64_t{9})), Argument(int64_t{9}));
    // Numbers and bools convert to each other, as in Python.
    const OpCall ints(b, op, {Argument::List{int64_t{3}}, int64_t{1}, int64_t{2}, int64_t{0}});
    EXPECT_THAT(ints.Ints("ints"), ElementsAre(3));
    EXPECT_EQ(ints.Double("f"), 2);
    EXPECT_FALSE(ints.Bool("flag"));
    const OpCall truths(b, op, {Argument(), true, true, false});
    EXPECT_EQ(truths.Double("f"), 1);
    EXPECT_EQ(truths.Int("i"), 1);
    const OpCall falsehood(b, op, {Argument(), false, false, false});
    EXPECT_EQ(falsehood.Double("f"), 0);
  }));
}

TEST_F(OpCallTest, ErrorsNameTheArgumentOfWrongType) {
  ASSERT_OK_AND_ASSIGN(const OpOverload* op,
                       ops_->Define({.schema = "mylib::one(Tensor a) -> Tensor"}));
  struct Case {
    Argument argument;
    std::function<void(const OpCall&)> read;
    std::string_view error;
  };
  const Argument text(std::string("t")), number(int64_t{3});
  for (const Case& c : {
           Case{number, [](const OpCall& c) { EXPECT_TRUE(c.List("a").empty()); },
                "mylib.one.default: the argument 'a' is 3, expected a list"},
           Case{Argument::List{number, text},
                [](const OpCall& c) { EXPECT_TRUE(c.SymInts("a").empty()); },
                "expected a list of integers"},
           Case{Argument::List{Value("x")},
                [](const OpCall& c) { EXPECT_TRUE(c.SymInts("a").empty()); },
                "expected a list of integers"},
           Case{Argument::List{number, Value("n")},
                [](const OpCall& c) { EXPECT_TRUE(c.Ints("a").empty()); },
                "'a' is [3,%n], expected a list of numbers"},
           Case{text, [](const OpCall& c) { EXPECT_EQ(c.Sym("a"), SymInt(0)); },
                "expected an integer"},
           Case{2.5, [](const OpCall& c) { EXPECT_EQ(c.Sym("a"), SymInt(0)); },
                "expected an integer"},
           // A subgraph is not a value.
           Case{GraphId(0), [](const OpCall& c) { EXPECT_EQ(c.Sym("a"), SymInt(0)); },
                "expected an integer"},
           Case{Argument::List{GraphId(0)},
                [](const OpCall& c) { EXPECT_TRUE(c.SymInts("a").empty()); },
                "expected a list of integers"},
           Case{Value("n"), [](const OpCall& c) { EXPECT_EQ(c.Int("a"), 0); },
                "'a' is %n, expected a number"},
           Case{text, [](const OpCall& c) { EXPECT_EQ(c.Double("a"), 0); }, "expected a number"},
           Case{text, [](const OpCall& c) { EXPECT_FALSE(c.Bool("a")); }, "expected true or false"},
           Case{number, [](const OpCall& c) { EXPECT_EQ(c.String("a"), ""); }, "expected a string"},
           Case{number,
                [](const OpCall& c) { EXPECT_EQ(c.DtypeOr("a", DType::kBool), DType::kBool); },
                "expected a dtype"},
           Case{number,
                [](const OpCall& c) {
                  EXPECT_EQ(c.MemoryFormatOr("a", MemoryFormat::kContiguous),
                            MemoryFormat::kContiguous);
                },
                "expected a memory format"},
       }) {
    EXPECT_THAT(After([&](OpBuilder& b) { c.read(OpCall(b, op, {c.argument})); }),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(std::string(c.error))));
  }
  for (const std::vector<Argument>& arguments : {std::vector<Argument>{number}, {}}) {
    const std::string name = arguments.empty() ? "a" : "b";
    EXPECT_THAT(After([&](OpBuilder& b) { EXPECT_TRUE(OpCall(b, op, arguments)[name].is_none()); }),
                StatusIs(absl::StatusCode::kInternal,
                         HasSubstr("mylib.one.default has no argument '" + name + "'")));
  }
}

TEST_F(OpCallTest, ChecksListLengths) {
  ASSERT_OK_AND_ASSIGN(
      const OpOverload* op,
      ops_->Define({.schema =
                        "mylib::pool(int[2] kernel_size, int[2] stride=[], int[1] dim=0, "
                        "int[1] output_size=0, int[3] other=0, int[] free=[], int[2] empty=[], "
                        "int[1] padding=0, int[2] ends=[1,2]) -> Tensor"}));
  const auto list = [](int n) {
    return Argument(Argument::List(static_cast<size_t>(n), Argument(int64_t{1})));
  };
  struct Case {
    std::vector<Argument> arguments;
    std::string_view error;  // "" for none
  };
  for (const Case& c : {
           Case{{list(2), list(2), list(1), list(1), list(3), list(5), list(0), list(1)}, ""},
           Case{{list(1), list(0), list(4), list(1), list(3), list(0), list(2)}, ""},
           Case{{Argument(), Argument(), int64_t{1}}, ""},
           Case{{}, ""},
           Case{{list(3)},
                "mylib.pool.default: the argument 'kernel_size' has 3 elements, expected 2"},
           Case{{list(0)}, "'kernel_size' has 0 elements"},
           Case{{list(2), list(3)}, "'stride' has 3 elements"},
           Case{{list(2), list(2), list(1), list(2)}, "'output_size' has 2 elements, expected 1"},
           Case{{list(2), list(2), list(1), list(1), list(1)},
                "'other' has 1 elements, expected 3"},
           Case{{list(2), list(2), list(1), list(1), list(0)}, "'other' has 0 elements"},
           Case{{list(2), list(2), list(1), list(1), list(3), list(1), list(1)},
                "'empty' has 1 elements"},
           Case{{list(2), list(2), list(1), list(1), list(3), list(1), list(2), list(2)},
                "'padding' has 2"},
           Case{{list(2), list(2), list(1), list(1), list(3), list(1), list(2), list(1), list(0)},
                "'ends' has 0 elements, expected 2"},
       }) {
    ASSERT_OK(After([&](OpBuilder& b) {
      const absl::Status status = OpCall(b, op, c.arguments).CheckLists();
      if (c.error.empty()) {
        EXPECT_OK(status);
      } else {
        EXPECT_THAT(status,
                    StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(std::string(c.error))));
      }
    }));
  }
}

// --- op_shorthand.h ---

TEST_F(OpCallTest, NumbersBecomeElementsAsInPyTorch) {
  struct Case {
    Argument number;
    DType dtype;
    Argument want;
    std::string_view error = "";
  };
  const auto i = [](int64_t n) { return Argument(n); };
  for (const Case& c : {
           Case{2.7, DType::kInt32, i(2)},
           Case{-2.7, DType::kInt32, i(-2)},
           Case{2.7, DType::kFloat32, 2.7},
           Case{2.7, DType::kBool, 2.7},
           Case{true, DType::kInt32, true},
           Case{i(INT64_MAX), DType::kInt64, i(INT64_MAX)},
           Case{3.0, DType::kInt64, i(3)},
           Case{i(-128), DType::kInt8, i(-128)},
           Case{i(127), DType::kInt8, i(127)},
           Case{i(128), DType::kInt8, i(128), "128 does not fit into int8"},
           Case{i(-129), DType::kInt8, i(-129), "-129 does not fit into int8"},
           Case{i(255), DType::kUint8, i(255)},
           Case{i(-1), DType::kUint8, i(255)},
           Case{i(-255), DType::kUint8, i(1)},
           Case{i(-256), DType::kUint8, i(-256), "-256 does not fit into uint8"},
           Case{i(256), DType::kUint8, i(256), "256 does not fit into uint8"},
           Case{1e300, DType::kInt64, 1e300, "1e+300 does not fit into int64"},
           Case{std::numeric_limits<double>::quiet_NaN(), DType::kInt32, Argument(),
                "nan does not fit"},
       }) {
    const absl::Status status = After([&](OpBuilder& b) {
      const Argument got = NumberIn(b, c.number, c.dtype);
      if (!c.want.is_none()) EXPECT_EQ(got, c.want);
    });
    if (c.error.empty()) {
      EXPECT_OK(status);
    } else {
      EXPECT_THAT(status,
                  StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(std::string(c.error))));
    }
  }
}

TEST_F(OpCallTest, ResultsHaveThePromotedType) {
  ASSERT_OK(After([&](OpBuilder& b) {
    const Argument x = Value("x"), i = Value("i"), h = Value("h");
    EXPECT_EQ(PromotedDtype(b, i, int64_t{2}), DType::kInt64);
    EXPECT_EQ(PromotedDtype(b, i, 2.5), DType::kFloat32);
    EXPECT_EQ(PromotedDtype(b, i, true), DType::kInt64);
    EXPECT_EQ(PromotedDtype(b, x, std::complex<double>(1, 2)), DType::kComplex64);
    EXPECT_EQ(PromotedDtype(b, i, Value("n")), DType::kInt64);
    EXPECT_EQ(PromotedDtype(b, i, Value("f")), DType::kFloat32);
    EXPECT_EQ(PromotedDtype(b, h, x), DType::kFloat32);
    EXPECT_EQ(b.dtype(PromotedNumber(b, int64_t{2}, i)), DType::kInt64);
    EXPECT_EQ(b.dtype(PromotedNumber(b, 2.5, i)), DType::kFloat32);
    EXPECT_EQ(b.dtype(PromotedNumber(b, int64_t{2}, h)), DType::kFloat16);
    Argument first = h, second = int64_t{2};
    EXPECT_EQ(Promote(b, {&first, &second}, false), DType::kFloat16);
    EXPECT_EQ(b.dtype(first), DType::kFloat32);
    EXPECT_EQ(second, Argument(int64_t{2}));
    first = i;
    EXPECT_EQ(Promote(b, {&first}, true), DType::kFloat32);
    EXPECT_EQ(b.dtype(first), DType::kFloat32);
  }));
  // After an error the result is unspecified.
  EXPECT_THAT(After([&](OpBuilder& b) {
                b.Invalid("before");
                Argument x = Value("x");
                EXPECT_EQ(Promote(b, {&x}, false), DType::kFloat32);
              }),
              StatusIs(absl::StatusCode::kInvalidArgument, "before"));
}

TEST_F(OpCallTest, SizesBroadcastFromTheLast) {
  const auto sizes = [&](const std::vector<std::string_view>& names, std::vector<SymInt>& out) {
    return After([&](OpBuilder& b) {
      std::vector<Argument> tensors;
      for (const std::string_view name : names) tensors.push_back(Value(name));
      out = BroadcastSizes(b, tensors);
    });
  };
  std::vector<SymInt> out;
  ASSERT_OK(sizes({"i", "x"}, out));
  EXPECT_THAT(out, ElementsAre(SymInt(2), SymInt(3)));
  ASSERT_OK(sizes({"s", "x", "s"}, out));
  EXPECT_THAT(out, ElementsAre(SymInt(2), SymInt(3)));
  // An unknown size broadcasts to the other one, which is known to be more than 1.
  ASSERT_OK(sizes({"d", "x"}, out));
  EXPECT_THAT(out, ElementsAre(SymInt(2), SymInt(3)));
  ASSERT_OK(sizes({"x", "d"}, out));
  EXPECT_THAT(out, ElementsAre(SymInt(2), SymInt(3)));
  ASSERT_OK(sizes({"e", "g"}, out));
  EXPECT_THAT(out, ElementsAre(SymInt::Symbol("s1")));
  EXPECT_THAT(sizes({"x", "w"}, out), StatusIs(absl::StatusCode::kInvalidArgument,
                                               HasSubstr("sizes 3 and 4 do not broadcast")));
}

TEST_F(OpCallTest, SizeExpectationsAreAssertedIfTheyMayFail) {
  const auto expect = [&](std::string_view symbol) {
    return After([&](OpBuilder& b) { ExpectAtLeast(b, SymInt::Symbol(symbol), 4, "too small"); });
  };
  const auto count = [&] {
    size_t n = 0;
    for (NodeId id : program_.top().nodes()) n += id.valid() ? 1 : 0;
    return n;
  };
  ASSERT_OK(expect("s1"));
  EXPECT_EQ(count(), 0u);
  EXPECT_THAT(expect("s2"), StatusIs(absl::StatusCode::kUnimplemented, "too small"));
  EXPECT_EQ(count(), 0u);
  ASSERT_OK(expect("s0"));
  EXPECT_EQ(count(), 2u);  // the comparison, the assertion
  EXPECT_THAT(After([&](OpBuilder& b) {
                b.Invalid("before");
                ExpectAtLeast(b, SymInt::Symbol("s2"), 4, "too small");
              }),
              StatusIs(absl::StatusCode::kInvalidArgument, "before"));
}

TEST_F(OpCallTest, TransposesTensorsWithDimensions) {
  ASSERT_OK(After([&](OpBuilder& b) {
    EXPECT_THAT(b.sizes(Transpose(b, Value("x"), 0, -1)), ElementsAre(SymInt(3), SymInt(2)));
    EXPECT_EQ(b.rank(Transpose(b, Value("s"), 0, -1)), 0);
    // A copy if the layout requires it.
    const Argument turned = Transpose(b, Value("x"), 0, 1);
    EXPECT_THAT(b.sizes(Reshape(b, turned, {6})), ElementsAre(SymInt(6)));
    EXPECT_EQ(Contiguous(b, Value("x")), Value("x"));
    EXPECT_TRUE(b.meta(Contiguous(b, turned)).is_contiguous());
  }));
  EXPECT_THAT(
      After([&](OpBuilder& b) { Transpose(b, Value("x"), 0, 5); }),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("dimension 5 of a tensor of rank 2")));
}

}  // namespace
}  // namespace belay::exir
