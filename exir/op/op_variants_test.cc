#include "exir/op/op_variants.h"

#include <memory>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
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
    {.schema = "aten::relu(Tensor self) -> Tensor"},
    {.schema = "aten::odd(Tensor self, Tensor(a!) other) -> ()"},
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
}

TEST_F(OpVariantsTest, OutVariantIsFoundBySignature) {
  EXPECT_EQ(Variant("aten.add.Tensor", SchemaKind::kOut), "aten.add.out");
  EXPECT_EQ(Variant("aten.max.dim", SchemaKind::kOut), "aten.max.dim_max");
  EXPECT_EQ(Variant("aten.full", SchemaKind::kOut), "aten.full.out");
}

TEST_F(OpVariantsTest, EdgeAndBackendOverloadsHaveThoseOfTheirOperator) {
  const OpOverload* edge = ops_->ToEdge(ops_->Find("aten.add.Tensor"));
  ASSERT_OK_AND_ASSIGN(const OpOverload* out, ToVariant(*ops_, edge, SchemaKind::kOut));
  EXPECT_EQ(out, ops_->Find("aten.add.out"));
}

TEST_F(OpVariantsTest, VariantOfTheOwnKindIsTheOperator) {
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

TEST_F(OpVariantsTest, MissingVariantListsTheOverloads) {
  EXPECT_THAT(
      ToVariant(*ops_, ops_->Find("aten.add.Scalar"), SchemaKind::kOut),
      StatusIs(absl::StatusCode::kNotFound,
               AllOf(HasSubstr("the out variant of operator aten.add.Scalar can't be found"),
                     HasSubstr("aten::add.out("), HasSubstr("aten::add.Scalar("))));
  EXPECT_THAT(ToVariant(*ops_, ops_->FindOrOpaque("mine.op"), SchemaKind::kOut),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("mine.op.default")));
}

TEST_F(OpVariantsTest, VariantThatIsRegisteredLaterIsFoundLater) {
  const OpOverload* relu = ops_->Find("aten.relu");
  EXPECT_THAT(ToVariant(*ops_, relu, SchemaKind::kOut), StatusIs(absl::StatusCode::kNotFound));
  ASSERT_OK(
      ops_->Define({.schema = "aten::relu.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)"}));
  ASSERT_OK_AND_ASSIGN(const OpOverload* out, ToVariant(*ops_, relu, SchemaKind::kOut));
  EXPECT_EQ(out->name(), "aten.relu.out");
}

TEST_F(OpVariantsTest, AllMissingOnesAreListedOnce) {
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
