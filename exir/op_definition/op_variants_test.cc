#include "exir/op_definition/op_variants.h"

#include <memory>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/str_cat.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr OpDef kOps[] = {
    {.schema = "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"},
    {.schema = "aten::add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor"},
    {.schema = "aten::add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> "
               "Tensor(a!)"},
    {.schema = "aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)"},
    {.schema = "aten::max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor "
               "indices)"},
    {.schema = "aten::max.dim_max(Tensor self, int dim, bool keepdim=False, *, Tensor(a!) max, "
               "Tensor(b!) max_values) -> (Tensor(a!) values, Tensor(b!) indices)"},
    {.schema = "aten::full(SymInt[] size, Scalar fill_value, *, ScalarType? dtype=None, Layout? "
               "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"},
    {.schema = "aten::full.out(int[] size, Scalar fill_value, *, Tensor(a!) out) -> Tensor(a!)"},
    {.schema = "aten::full_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, "
               "Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> "
               "Tensor"},
    {.schema = "aten::full_like.out(Tensor self, *, MemoryFormat? memory_format=None, Tensor(a!) "
               "out) -> Tensor(a!)"},
    {.schema = "aten::names(Tensor self, Tensor other) -> Tensor"},
    {.schema = "aten::names.out(Tensor self, Tensor another, *, Tensor(a!) out) -> Tensor(a!)"},
    {.schema = "aten::names.kw_out(Tensor self, *, Tensor other, Tensor(a!) out) -> Tensor(a!)"},
    {.schema = "aten::relu(Tensor self) -> Tensor"},
    {.schema = "aten::odd(Tensor self, Tensor(a!) other) -> ()"},
    {.schema = "aten::__and__.Tensor(Tensor self, Tensor other) -> Tensor"},
    {.schema = "aten::__iand__.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)"},
    {.schema = "aten::dropout(Tensor input, float p, bool train) -> Tensor"},
    {.schema = "aten::dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)"},
    {.schema = "aten::norm(Tensor input, Tensor(a!) mean) -> Tensor"},
    {.schema = "aten::norm_functional(Tensor input, Tensor mean) -> (Tensor, Tensor mean_out)"},
    {.schema = "aten::view.dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a)"},
    {.schema = "aten::view_copy.dtype(Tensor self, ScalarType dtype) -> Tensor"},
    {.schema = "aten::real(Tensor(a) self) -> Tensor(a)"},
    {.schema = "aten::imag(Tensor(a) self) -> Tensor(a)"},
    {.schema = "aten::imag_copy(Tensor self, int more) -> Tensor"},
    // For each of these, only the name matches the functional variant.
    {.schema = "aten::one(Tensor self, Tensor(a!) mean) -> Tensor"},
    {.schema = "aten::one_functional(Tensor self) -> (Tensor, Tensor)"},
    {.schema = "aten::two(Tensor self, Tensor(a!) mean) -> Tensor"},
    {.schema = "aten::two_functional(Tensor self, Tensor mean) -> Tensor"},
    {.schema = "aten::three(Tensor self, Tensor(a!) mean) -> Tensor"},
    {.schema = "aten::three_functional(Tensor self, Tensor(a!) mean) -> (Tensor, Tensor)"},
    {.schema = "aten::fill_(Tensor(a!) self) -> Tensor(a!)"},
    {.schema = "aten::fill() -> Tensor"},
    {.schema = "higher_order::cond.x(Tensor self) -> Tensor"},
};

class OpVariantsTest : public ::testing::Test {
 protected:
  OpVariantsTest() {
    const absl::Span<const OpDef> tables[] = {kOps};
    ops_ = *OpRegistry::Create(tables);
  }
  std::string Variant(std::string_view name, SchemaKind kind) {
    const auto found = ToVariant(*ops_, ops_->Find(name), kind);
    return found.ok() ? (*found)->name() : std::string(found.status().message());
  }
  std::unique_ptr<OpRegistry> ops_;
};

TEST_F(OpVariantsTest, KindsFollowTheSchema) {
  const auto kind = [&](std::string_view name) { return KindOf(*ops_->Find(name)->schema()); };
  EXPECT_EQ(kind("aten.add.Tensor"), SchemaKind::kFunctional);
  EXPECT_EQ(kind("aten.add.out"), SchemaKind::kOut);
  EXPECT_EQ(kind("aten.add_.Tensor"), SchemaKind::kInplace);
  EXPECT_EQ(kind("aten.odd"), SchemaKind::kMutable);
  const struct {
    std::string_view schema, kind;
  } kCases[] = {
      {"a::f(Tensor self, *, Tensor(a) x) -> Tensor(a)", "functional"},
      {"a::f_(Tensor(a!) self) -> Tensor(a!)", "inplace"},
      {"a::f__(Tensor(a!) self) -> Tensor(a!)", "mutable"},
      {"a::f_(Tensor self, Tensor(a!) other) -> ()", "mutable"},
      {"a::f_(Tensor(a!) self, *, Tensor(b!) out) -> Tensor(b!)", "out"},
      {"a::__if__(Tensor(a!) self) -> Tensor(a!)", "inplace"},
      {"a::__if(Tensor(a!) self) -> Tensor(a!)", "mutable"},
      {"a::__f__(Tensor(a!) self) -> Tensor(a!)", "mutable"},
  };
  for (const auto& [schema, want] : kCases) {
    EXPECT_EQ(SchemaKindName(KindOf(*FunctionSchema::Parse(schema))), want) << schema;
  }
}

TEST_F(OpVariantsTest, OutVariantIsFoundBySignature) {
  EXPECT_EQ(Variant("aten.add.Tensor", SchemaKind::kOut), "aten.add.out");
  EXPECT_EQ(Variant("aten.max.dim", SchemaKind::kOut), "aten.max.dim_max");
  EXPECT_EQ(Variant("aten.full", SchemaKind::kOut), "aten.full.out");
  EXPECT_EQ(Variant("aten.full_like", SchemaKind::kOut), "aten.full_like.out");
  EXPECT_THAT(Variant("aten.names", SchemaKind::kOut), HasSubstr("can't be found"));
}

TEST_F(OpVariantsTest, EdgeAndBackendOverloadsHaveTheirOperatorsVariants) {
  const OpOverload* edge = ops_->ToEdge(ops_->Find("aten.add.Tensor"));
  ASSERT_OK_AND_ASSIGN(const OpOverload* out, ToVariant(*ops_, edge, SchemaKind::kOut));
  EXPECT_EQ(out, ops_->Find("aten.add.out"));
}

TEST_F(OpVariantsTest, VariantOfTheSameKindIsTheOperator) {
  for (const char* name : {"aten.add.Tensor", "aten.relu.default"}) {
    EXPECT_EQ(Variant(name, SchemaKind::kFunctional), name);
  }
  EXPECT_EQ(Variant("aten.add.out", SchemaKind::kOut), "aten.add.out");
}

TEST_F(OpVariantsTest, BothDirections) {
  EXPECT_EQ(Variant("aten.add.out", SchemaKind::kFunctional), "aten.add.Tensor");
  EXPECT_EQ(Variant("aten.add_.Tensor", SchemaKind::kFunctional), "aten.add.Tensor");
  EXPECT_EQ(Variant("aten.add_.Tensor", SchemaKind::kOut), "aten.add.out");
  EXPECT_EQ(Variant("aten.add.out", SchemaKind::kInplace), "aten.add_.Tensor");
  EXPECT_EQ(Variant("aten.full.out", SchemaKind::kFunctional), "aten.full.default");
}

TEST_F(OpVariantsTest, PythonsInPlaceMethodsAreInPlace) {
  EXPECT_EQ(KindOf(*ops_->Find("aten.__iand__.Tensor")->schema()), SchemaKind::kInplace);
  EXPECT_EQ(Variant("aten.__iand__.Tensor", SchemaKind::kFunctional), "aten.__and__.Tensor");
  EXPECT_EQ(Variant("aten.__and__.Tensor", SchemaKind::kInplace), "aten.__iand__.Tensor");
}

TEST_F(OpVariantsTest, InPlaceArgumentMayHaveAnotherName) {
  EXPECT_EQ(Variant("aten.dropout_", SchemaKind::kFunctional), "aten.dropout.default");
  EXPECT_EQ(Variant("aten.dropout", SchemaKind::kInplace), "aten.dropout_.default");
}

TEST_F(OpVariantsTest, FunctionalVariantReturnsTheWrittenValues) {
  EXPECT_EQ(Variant("aten.norm", SchemaKind::kFunctional), "aten.norm_functional.default");
  for (const char* name : {"aten.odd", "aten.one", "aten.two", "aten.three"}) {
    EXPECT_THAT(Variant(name, SchemaKind::kFunctional),
                HasSubstr(std::string("the functional variant of operator ") + name +
                          ".default can't be found"));
  }
  EXPECT_THAT(Variant("aten.norm", SchemaKind::kOut), HasSubstr("the out variant of operator"));
}

TEST_F(OpVariantsTest, OperatorsWithoutArgumentsHaveNoInPlaceVariant) {
  EXPECT_THAT(Variant("aten.fill_", SchemaKind::kFunctional),
              HasSubstr("can't be found; the overloads there are: aten::fill() -> Tensor; "));
  EXPECT_THAT(Variant("aten.fill", SchemaKind::kInplace), HasSubstr("can't be found"));
}

TEST_F(OpVariantsTest, OperatorsWithoutSchemaHaveNoVariants) {
  EXPECT_THAT(Variant("higher_order.cond.x", SchemaKind::kOut),
              ::testing::EndsWith("the overloads there are: higher_order::cond.x(Tensor self) -> "
                                  "Tensor"));
}

TEST_F(OpVariantsTest, CopyOfAView) {
  EXPECT_EQ(ToViewCopy(*ops_, ops_->Find("aten.view.dtype")), ops_->Find("aten.view_copy.dtype"));
  EXPECT_EQ(ToViewCopy(*ops_, ops_->Find("aten.real")), nullptr);
  EXPECT_EQ(ToViewCopy(*ops_, ops_->Find("aten.imag")), nullptr);
}

// Returns the result of DeriveVariant, or its error.
std::string Derived(std::string_view functional, SchemaKind kind) {
  const auto schema = DeriveVariant(*FunctionSchema::Parse(functional), kind);
  return schema.ok() ? schema->ToString() : std::string(schema.status().message());
}

TEST(DeriveVariantTest, InPlace) {
  EXPECT_EQ(Derived("aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
                    SchemaKind::kInplace),
            "aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)");
  EXPECT_EQ(
      Derived("aten::__and__.Scalar(Tensor self, Scalar other) -> Tensor", SchemaKind::kInplace),
      "aten::__iand__.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)");
  EXPECT_EQ(Derived("aten::dropout(Tensor input, float p) -> Tensor", SchemaKind::kInplace),
            "aten::dropout_(Tensor(a!) self, float p) -> Tensor(a!)");
  EXPECT_EQ(Derived("aten::t(Tensor(a) self) -> Tensor(a)", SchemaKind::kInplace),
            "aten::t_(Tensor(a!) self) -> Tensor(a!)");
}

TEST(DeriveVariantTest, Out) {
  EXPECT_EQ(Derived("aten::relu(Tensor self) -> Tensor", SchemaKind::kOut),
            "aten::relu.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)");
  EXPECT_EQ(Derived("aten::add.Scalar(Tensor self, *, Scalar alpha=1) -> Tensor", SchemaKind::kOut),
            "aten::add.Scalar_out(Tensor self, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)");
  EXPECT_EQ(Derived("aten::sort(Tensor self) -> (Tensor values, Tensor indices)", SchemaKind::kOut),
            "aten::sort.out(Tensor self, *, Tensor(a!) values, Tensor(b!) indices) -> (Tensor(a!) "
            "values, Tensor(b!) indices)");
  EXPECT_EQ(Derived("aten::two(Tensor self) -> (Tensor, Tensor)", SchemaKind::kOut),
            "aten::two.out(Tensor self, *, Tensor(a!) out0, Tensor(b!) out1) -> (Tensor(a!), "
            "Tensor(b!))");
}

TEST(DeriveVariantTest, RejectsSchemasWithoutVariant) {
  std::string many = "a::f(Tensor self) -> (Tensor";
  for (int i = 1; i < 26; ++i) many += ", Tensor";
  EXPECT_THAT(Derived(many + ")", SchemaKind::kOut), HasSubstr("Tensor(z!) out25)"));
  const struct {
    std::string schema;
    SchemaKind kind;
  } kCases[] = {
      {"aten::relu_(Tensor(a!) self) -> Tensor(a!)", SchemaKind::kOut},
      {"aten::check(Tensor self) -> ()", SchemaKind::kOut},
      {"aten::item(Tensor self) -> Scalar", SchemaKind::kOut},
      {"aten::list(Tensor self) -> Tensor[]", SchemaKind::kOut},
      {many + ", Tensor)", SchemaKind::kOut},
      {"aten::full(int[] size) -> Tensor", SchemaKind::kInplace},
      {"aten::empty() -> Tensor", SchemaKind::kInplace},
      {"aten::sort(Tensor self) -> (Tensor, Tensor)", SchemaKind::kInplace},
  };
  for (const auto& [schema, kind] : kCases) {
    EXPECT_EQ(Derived(schema, kind),
              absl::StrCat("the schema '", schema, "' has no ", SchemaKindName(kind), " variant"));
  }
}

TEST_F(OpVariantsTest, MissingVariantListsTheOverloads) {
  EXPECT_THAT(
      ToVariant(*ops_, ops_->Find("aten.add.Scalar"), SchemaKind::kOut),
      StatusIs(absl::StatusCode::kNotFound,
               AllOf(HasSubstr("the out variant of operator aten.add.Scalar can't be found"),
                     HasSubstr("aten::add.out("), HasSubstr("aten::add.Scalar("))));
  EXPECT_THAT(ToVariant(*ops_, ops_->FindOrOpaque("mine.op"), SchemaKind::kOut),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("mine.op.default")));
}

TEST_F(OpVariantsTest, FindsVariantsRegisteredLater) {
  const OpOverload* relu = ops_->Find("aten.relu");
  EXPECT_THAT(ToVariant(*ops_, relu, SchemaKind::kOut), StatusIs(absl::StatusCode::kNotFound));
  ASSERT_OK(
      ops_->Define({.schema = "aten::relu.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)"}));
  ASSERT_OK_AND_ASSIGN(const OpOverload* out, ToVariant(*ops_, relu, SchemaKind::kOut));
  EXPECT_EQ(out->name(), "aten.relu.out");
}

TEST_F(OpVariantsTest, ListsAllMissingVariantsOnce) {
  const OpOverload* add = ops_->Find("aten.add.Tensor");
  const OpOverload* scalar = ops_->Find("aten.add.Scalar");
  const OpOverload* relu = ops_->Find("aten.relu");
  EXPECT_THAT(*ToOutVariants(*ops_, {add, add}),
              ElementsAre(ops_->Find("aten.add.out"), ops_->Find("aten.add.out")));
  const absl::Status status = ToOutVariants(*ops_, {scalar, add, relu, scalar}).status();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kNotFound, AllOf(HasSubstr("aten.add.Scalar"),
                                                                  HasSubstr("aten.relu.default"))));
  const std::string text(status.message());
  EXPECT_EQ(text.find("operator aten.add.Scalar"), text.rfind("operator aten.add.Scalar"));
}

}  // namespace
}  // namespace belay::exir
