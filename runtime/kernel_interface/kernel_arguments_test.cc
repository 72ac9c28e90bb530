#include "runtime/kernel_interface/kernel_arguments.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;

class KernelArgumentsTest : public testing::Test {
 protected:
  KernelContext Context(std::vector<EValue> arguments, std::vector<EValue> outputs = {None{}}) {
    arguments_ = std::move(arguments);
    outputs_ = std::move(outputs);
    argument_slots_.clear();
    output_slots_.clear();
    for (EValue& v : arguments_) argument_slots_.push_back(&v);
    for (EValue& v : outputs_) output_slots_.push_back(&v);
    return KernelContext(argument_slots_, output_slots_, nullptr, {});
  }

  std::vector<EValue> arguments_, outputs_;
  std::vector<EValue*> argument_slots_, output_slots_;
};

TEST_F(KernelArgumentsTest, AreFoundByName) {
  const KernelContext context = Context({int64_t{7}, true, None{}, 0.5});
  const KernelArguments arguments(context, "dim keepdim dtype eps");
  EXPECT_OK(arguments.CheckArity());
  EXPECT_EQ(arguments.StaticInt("dim").value(), 7);
  EXPECT_EQ(arguments.Int("dim").value().value(), 7);
  EXPECT_TRUE(arguments.Bool("keepdim").value());
  EXPECT_TRUE(arguments.IsNone("dtype"));
  EXPECT_EQ(arguments.DtypeOr("dtype", DType::kInt8).value(), DType::kInt8);
  EXPECT_EQ(arguments.OptionalInt("dtype").value(), std::nullopt);
  EXPECT_EQ(arguments.OptionalDouble("eps").value(), 0.5);
}

TEST_F(KernelArgumentsTest, ErrorsNameTheArgument) {
  const KernelContext context = Context({int64_t{7}, true});
  const KernelArguments arguments(context, "dim keepdim");
  EXPECT_THAT(arguments.Bool("dim"),
              StatusIs(kInvalid, HasSubstr("argument 'dim': expected bool, got int")));
  EXPECT_THAT(arguments.Tensor("keepdim"),
              StatusIs(kInvalid, HasSubstr("argument 'keepdim': expected tensor, got bool")));
  EXPECT_THAT(arguments.StaticIntList("keepdim"), StatusIs(kInvalid, HasSubstr("'keepdim'")));
}

TEST_F(KernelArgumentsTest, TensorsHaveOneOfTheAllowedDtypes) {
  TensorView view;
  view.dtype = DType::kInt64;
  const KernelContext context = Context({view, None{}});
  const KernelArguments arguments(context, "self weight");
  EXPECT_EQ(arguments.Tensor("self").value(), arguments_[0].get_if<TensorView>());
  EXPECT_THAT(arguments.Tensor("self", kFloatTypes),
              StatusIs(kInvalid, HasSubstr("self: expected one of")));
  EXPECT_EQ(arguments.OptionalTensor("weight").value(), nullptr);
}

TEST_F(KernelArgumentsTest, UnknownNameIsInternalError) {
  const KernelContext context = Context({int64_t{7}});
  const KernelArguments arguments(context, "dim");
  EXPECT_FALSE(arguments.Has("keepdim"));
  EXPECT_TRUE(arguments.IsNone("keepdim"));
  EXPECT_THAT(arguments.Bool("keepdim"),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("'keepdim'")));
}

TEST_F(KernelArgumentsTest, CountsMustMatchSignature) {
  const KernelContext context = Context({int64_t{7}, true}, {None{}, None{}});
  EXPECT_OK(KernelArguments(context, "dim keepdim -> 2").CheckArity());
  EXPECT_THAT(KernelArguments(context, "dim keepdim").CheckArity(), StatusIs(kInvalid));
  EXPECT_THAT(KernelArguments(context, "dim -> 2").CheckArity(), StatusIs(kInvalid));
}

TEST_F(KernelArgumentsTest, ReadsIntLists) {
  EValue one(int64_t{3}), two(int64_t{4});
  EValue* elements[] = {&one, &two};
  const KernelContext context = Context({EValue(ListView{elements}), int64_t{5}});
  const KernelArguments arguments(context, "size lone");
  EXPECT_THAT(arguments.StaticIntList("size").value(), ElementsAre(3, 4));
  EXPECT_EQ(arguments.ListSize("size").value(), 2);
  EXPECT_EQ(arguments.ListInt("size", 1).value().value(), 4);
  EXPECT_THAT(arguments.ListInt("size", 2), StatusIs(kInvalid));
  EXPECT_THAT(arguments.StaticIntList("lone").value(), ElementsAre(5));
}

TEST_F(KernelArgumentsTest, LongIntListsHaveAnyLength) {
  std::vector<EValue> values(kMaxRank + 1, EValue(int64_t{3}));
  values[1] = 0.5;
  std::vector<EValue*> elements;
  for (EValue& value : values) elements.push_back(&value);
  elements[2] = nullptr;
  const KernelContext context = Context({EValue(ListView{elements}), int64_t{5}, true});
  const KernelArguments arguments(context, "sizes lone flag");
  const KernelArguments::LongIntListRef list = arguments.LongIntList("sizes").value();
  ASSERT_EQ(KernelArguments::CountOf(list), kMaxRank + 1);
  EXPECT_EQ(KernelArguments::IntOf(list, kMaxRank).value().value(), 3);
  EXPECT_THAT(KernelArguments::IntOf(list, 1),
              StatusIs(kInvalid, HasSubstr("element 1 of the list: expected int, got float")));
  EXPECT_THAT(KernelArguments::IntOf(list, 2), StatusIs(kInvalid, HasSubstr("got nothing")));
  const KernelArguments::LongIntListRef lone = arguments.LongIntList("lone").value();
  ASSERT_EQ(KernelArguments::CountOf(lone), 1);
  EXPECT_EQ(KernelArguments::IntOf(lone, 0).value().value(), 5);
  EXPECT_THAT(arguments.LongIntList("flag"), StatusIs(kInvalid, HasSubstr("'flag'")));
}

TEST_F(KernelArgumentsTest, MissingArgumentIsNone) {
  TensorView view;
  const KernelContext context =
      Context({None{}, None{}, view, int64_t{3}, 0.5, DType::kInt8, None{}});
  const KernelArguments arguments(context, "none weight tensor int float dtype missing");
  EXPECT_EQ(arguments.OptionalTensor("weight").value(), nullptr);
  EXPECT_EQ(arguments.OptionalTensor("tensor").value(), context.argument(2).get_if<TensorView>());
  EXPECT_THAT(arguments.OptionalTensor("int"),
              StatusIs(kInvalid, HasSubstr("argument 'int': expected tensor, got int")));
  EXPECT_EQ(arguments.OptionalInt("int").value(), 3);
  EXPECT_THAT(arguments.OptionalInt("float"),
              StatusIs(kInvalid, HasSubstr("argument 'float': expected int, got float")));
  EXPECT_EQ(arguments.OptionalDouble("none").value(), std::nullopt);
  EXPECT_THAT(arguments.OptionalDouble("dtype"),
              StatusIs(kInvalid, HasSubstr("argument 'dtype': expected float, got dtype")));
  EXPECT_EQ(arguments.DtypeOr("dtype", DType::kInt16).value(), DType::kInt8);
  EXPECT_THAT(arguments.DtypeOr("int", DType::kInt16),
              StatusIs(kInvalid, HasSubstr("argument 'int': expected dtype, got int")));
  EXPECT_THAT(arguments.Int("dtype"), StatusIs(kInvalid, HasSubstr("argument 'dtype'")));
  EXPECT_THAT(arguments.IntList("float"), StatusIs(kInvalid, HasSubstr("argument 'float'")));
}

TEST_F(KernelArgumentsTest, MutableArgumentHasItsPosition) {
  TensorView view;
  const KernelContext context = Context({int64_t{1}, view});
  const KernelArguments arguments(context, "dim self");
  EXPECT_EQ(arguments.Mutable("self")->position, 1);
  EXPECT_THAT(arguments.Mutable("out"),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("no argument 'out'")));
  EXPECT_THAT(arguments.Operand("out"), StatusIs(absl::StatusCode::kInternal));
}

TEST_F(KernelArgumentsTest, NamesAfterTheCallsArgumentsAreAbsent) {
  const KernelContext context = Context({int64_t{1}});
  const KernelArguments arguments(context, "dim keepdim");
  EXPECT_TRUE(arguments.Has("dim"));
  EXPECT_FALSE(arguments.Has("keepdim"));
  EXPECT_THAT(arguments.CheckArity(),
              StatusIs(kInvalid, HasSubstr("expected 2 arguments and 1 outputs")));
}

TEST_F(KernelArgumentsTest, InvalidSignaturesMatchNoCall) {
  const KernelContext context = Context({int64_t{1}}, {});
  EXPECT_THAT(KernelArguments(context, "dim -> many").CheckArity(), StatusIs(kInvalid));
  // The maximum number of names, whatever follows them.
  std::string names;
  for (int i = 0; i < 30; ++i) absl::StrAppend(&names, i == 0 ? "" : " ", "a", i);
  EXPECT_THAT(KernelArguments(context, names).CheckArity(),
              StatusIs(kInvalid, HasSubstr("expected 24 arguments")));
}

TEST_F(KernelArgumentsTest, ListElementsHaveTheirKind) {
  EValue yes(true), no(false), one(int64_t{1}), half(0.5);
  EValue *bools[] = {&yes, &no, &yes}, *mixed[] = {&yes, &one, nullptr},
         *holes[] = {nullptr, &half};
  const KernelContext context = Context(
      {EValue(ListView{bools}), EValue(ListView{mixed}), EValue(ListView{holes}), int64_t{7}});
  const KernelArguments arguments(context, "mask mixed holes lone");
  EXPECT_EQ(arguments.BoolMask("mask", 3).value(), 5u);
  EXPECT_THAT(arguments.BoolMask("mask", 2),
              StatusIs(kInvalid, HasSubstr("argument 'mask': expected 2 bools, got 3")));
  EXPECT_THAT(arguments.BoolMask("mixed", 3),
              StatusIs(kInvalid, HasSubstr("argument 'mixed': expected a list of bools, got int")));
  EXPECT_THAT(
      arguments.BoolMask("holes", 2),
      StatusIs(kInvalid, HasSubstr("argument 'holes': expected a list of bools, got none")));
  EXPECT_THAT(arguments.BoolMask("lone", 1), StatusIs(kInvalid, HasSubstr("argument 'lone'")));
  EXPECT_EQ(arguments.ListDouble("holes", 1).value(), 0.5);
  for (const int k : {-1, 0, 2}) {
    EXPECT_THAT(arguments.ListDouble("holes", k),
                StatusIs(kInvalid, absl::StrCat("argument 'holes': element ", k,
                                                " of the list is not a float")));
  }
  EXPECT_THAT(arguments.ListDouble("mask", 0), StatusIs(kInvalid, HasSubstr("is not a float")));
  EXPECT_THAT(arguments.ListDouble("lone", 0), StatusIs(kInvalid, HasSubstr("argument 'lone'")));
  EXPECT_EQ(arguments.ListInt("lone", 0).value().value(), 7);
  EXPECT_EQ(arguments.ListInt("mixed", 1).value().value(), 1);
  for (const int k : {-1, 0, 2, 3}) {
    EXPECT_THAT(arguments.ListInt("mixed", k),
                StatusIs(kInvalid, absl::StrCat("argument 'mixed': element ", k,
                                                " of the list is not an int")));
  }
  EXPECT_EQ(arguments.ListSize("lone").value(), 1);
  EXPECT_THAT(arguments.ListSize("none"), StatusIs(absl::StatusCode::kInternal));
  EXPECT_THAT(arguments.ListInt("none", 0), StatusIs(absl::StatusCode::kInternal));
}

TEST_F(KernelArgumentsTest, MasksHaveAtMost32Bits) {
  EValue yes(true);
  const std::vector<EValue*> many(33, &yes);
  const absl::Span<EValue* const> all = many;
  const KernelContext context = Context({EValue(ListView{all.first(32)}), EValue(ListView{all})});
  const KernelArguments arguments(context, "most more");
  EXPECT_EQ(arguments.BoolMask("most", 32).value(), UINT32_MAX);
  EXPECT_THAT(arguments.BoolMask("more", 33), StatusIs(kInvalid, HasSubstr("argument 'more'")));
}

// A call that is parsed by name, run, queried and measured.
TEST_F(KernelArgumentsTest, OperandsAreTensorsOrScalars) {
  TensorView view;
  view.dtype = DType::kInt8;
  const KernelContext context = Context({view, 2.5, None{}});
  const KernelArguments arguments(context, "self other alpha");
  const KernelArguments::OperandRef self = arguments.Operand("self").value();
  EXPECT_EQ(self.tensor, context.argument(0).get_if<TensorView>());
  EXPECT_EQ(self.dtype, DType::kInt8);
  const KernelArguments::OperandRef other = arguments.Operand("other").value();
  EXPECT_EQ(other.tensor, nullptr);
  EXPECT_EQ(other.value, &context.argument(1));
  EXPECT_EQ(other.dtype, DType::kFloat32);
  EXPECT_EQ(arguments.Number("other").value().value, other.value);
  EXPECT_THAT(arguments.Operand("alpha").status(),
              StatusIs(kInvalid, HasSubstr("argument 'alpha': expected tensor or number")));
  EXPECT_THAT(arguments.Number("self").status(),
              StatusIs(kInvalid, HasSubstr("argument 'self': expected number, got tensor")));
  EXPECT_THAT(arguments.ArgumentError("self", "too long"),
              StatusIs(kInvalid, HasSubstr("argument 'self': too long")));
}

TEST_F(KernelArgumentsTest, MemoryFormatsHaveAFallback) {
  const KernelContext context = Context({MemoryFormat::kChannelsLast, None{}, int64_t{1}});
  const KernelArguments arguments(context, "given none int");
  EXPECT_EQ(arguments.MemoryFormatOr("given", MemoryFormat::kContiguous).value(),
            MemoryFormat::kChannelsLast);
  EXPECT_EQ(arguments.MemoryFormatOr("none", MemoryFormat::kPreserve).value(),
            MemoryFormat::kPreserve);
  EXPECT_THAT(arguments.MemoryFormatOr("int", MemoryFormat::kPreserve).status(),
              StatusIs(kInvalid, HasSubstr("argument 'int': expected memory format, got int")));
}

struct ScaleCall {
  int64_t factor = 0;
  static absl::StatusOr<ScaleCall> Read(const KernelArguments& arguments) {
    ScaleCall call;
    absl::StatusOr<int64_t> factor = arguments.StaticInt("factor");
    if (!factor.ok()) return factor.status();
    call.factor = *factor;
    return call;
  }
};
absl::Status Scale(KernelContext& context, const ScaleCall& call) {
  context.SetScalarOutput(0, call.factor * 10);
  return absl::OkStatus();
}
bool TakesEven(const KernelContext&, const ScaleCall& call) { return call.factor % 2 == 0; }
uint64_t Room(const KernelContext&, const ScaleCall& call) {
  return static_cast<uint64_t>(call.factor) * 3;
}
constexpr Kernel kScale =
    KernelRow<&Scale, &TakesEven, &Room>("test.scale", "factor", "Scale", KernelEngine::kReference);

TEST_F(KernelArgumentsTest, RowParsesCallForEachQuery) {
  KernelContext context = Context({int64_t{4}});
  EXPECT_TRUE(kScale.Accepts(context));
  EXPECT_EQ(kScale.ScratchBytes(context), 12u);
  EXPECT_OK(kScale.Run(context));
  EXPECT_EQ(*outputs_[0].get_if<int64_t>(), 40);
  KernelContext odd = Context({int64_t{3}});
  EXPECT_FALSE(kScale.Accepts(odd));
}

TEST_F(KernelArgumentsTest, RowWithoutAcceptsTakesEveryCall) {
  constexpr Kernel kPlain =
      KernelRow<&Scale>("test.scale", "factor", "Plain", KernelEngine::kReference);
  const KernelContext context = Context({true, true});
  EXPECT_TRUE(kPlain.Accepts(context));
  EXPECT_EQ(kPlain.ScratchBytes(context), 0u);
}

TEST_F(KernelArgumentsTest, UnparsableCallIsNotAcceptedAndFailsAtRunTime) {
  KernelContext context = Context({true, true});
  EXPECT_FALSE(kScale.Accepts(context));
  EXPECT_EQ(kScale.ScratchBytes(context), 0u);
  EXPECT_THAT(kScale.Run(context), StatusIs(kInvalid, HasSubstr("expected 1 arguments")));
}

}  // namespace
}  // namespace belay
