#include "exir/op_definition/op_registry.h"

#include <thread>

#include "exir/builder/op_call.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

constexpr MetaFn kMeta = [](MetaContext&) { return absl::OkStatus(); };
constexpr OpDef kOps[] = {
    {.schema = "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
     .meta = kMeta,
     .traits = kPointwise},
    {.schema = "aten::add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
     .meta = kMeta},
    {.schema = "aten::relu(Tensor self) -> Tensor", .meta = kMeta},
};
constexpr OpDef kMore[] = {
    {.schema = "_operator::mul(Scalar a, Scalar b) -> Scalar", .traits = kSymbolic},
    {.schema = "quantized_decomposed::add(Tensor a) -> Tensor", .meta = kMeta},
    {.schema = "quantized_decomposed::no_kernel(Tensor a) -> Tensor"},
    {.schema = "executorch_prim::add.Scalar(Scalar a, Scalar b) -> Scalar", .traits = kComposite},
};

// A composite kernel.
std::vector<Argument> Same(OpBuilder&, const OpCall& call) { return call.arguments(); }

class OpRegistryTest : public ::testing::Test {
 protected:
  const std::unique_ptr<OpRegistry> registry_ = *OpRegistry::Create({kOps, kMore});
};

TEST_F(OpRegistryTest, FindsTheSameOverloadAlways) {
  const OpOverload* add = registry_->Find("aten.add.Tensor");
  ASSERT_NE(add, nullptr);
  EXPECT_EQ(registry_->Find("aten.add.Tensor"), add);
  EXPECT_EQ(registry_->FindText("aten.add.Tensor"), add);
  EXPECT_EQ(registry_->FindOrOpaque("aten.add.Tensor"), add);
  EXPECT_EQ(add->name(), "aten.add.Tensor");
  EXPECT_EQ(add->dialect(), Dialect::kAten);
  EXPECT_EQ(add->schema()->arguments.size(), 3u);
  EXPECT_TRUE(add->known());
  EXPECT_TRUE(add->has_trait(kPointwise));
  EXPECT_EQ(registry_->Find("aten.relu"), registry_->Find("aten.relu.default"));
  EXPECT_EQ(registry_->Find("aten.relu.out"), nullptr);
}

TEST_F(OpRegistryTest, LookupNamesTheMissingPart) {
  EXPECT_OK(registry_->Lookup("aten.relu"));
  EXPECT_THAT(
      registry_->Lookup("atem.relu"),
      StatusIs(absl::StatusCode::kNotFound, ::testing::HasSubstr("unknown namespace 'atem'")));
  EXPECT_THAT(registry_->Lookup("aten.relo"),
              StatusIs(absl::StatusCode::kNotFound,
                       ::testing::HasSubstr("namespace 'aten' has no operator 'relo'")));
  EXPECT_THAT(
      registry_->Lookup("aten.add.out"),
      StatusIs(absl::StatusCode::kNotFound,
               ::testing::HasSubstr("aten.add has no overload 'out'; it has Scalar, Tensor")));
}

TEST_F(OpRegistryTest, EdgeOverloadsWrapAtenOnes) {
  const OpOverload* add = registry_->Find("aten.add.Tensor");
  const OpOverload* edge = registry_->ToEdge(add);
  EXPECT_EQ(registry_->ToEdge(add), edge);
  EXPECT_EQ(registry_->ToEdge(edge), edge);
  EXPECT_EQ(registry_->FindText("edge.aten.add.Tensor"), edge);
  EXPECT_EQ(edge->aten(), add);
  EXPECT_EQ(edge->dialect(), Dialect::kEdge);
  EXPECT_EQ(edge->name(), "aten.add.Tensor");
  EXPECT_EQ(edge->text_name(), "edge.aten.add.Tensor");
  EXPECT_EQ(edge->schema(), add->schema());
  EXPECT_EQ(registry_->FindText("edge.aten.ad.Tensor"), nullptr);
}

TEST_F(OpRegistryTest, BackendOverloadsNeedALibraryAndAKernel) {
  const OpOverload* add = registry_->Find("quantized_decomposed.add");
  ASSERT_OK_AND_ASSIGN(const OpOverload* backend, registry_->ToBackend(registry_->ToEdge(add)));
  EXPECT_EQ(backend->dialect(), Dialect::kBackend);
  EXPECT_EQ(backend->text_name(), "backend.quantized_decomposed.add.default");
  EXPECT_EQ(backend->aten(), add);
  EXPECT_EQ(registry_->FindText("backend.quantized_decomposed.add.default"), backend);
  EXPECT_OK(registry_->ToBackend(registry_->Find("executorch_prim.add.Scalar")));
  EXPECT_THAT(
      registry_->ToBackend(registry_->Find("aten.relu")),
      StatusIs(absl::StatusCode::kInvalidArgument, ::testing::HasSubstr("executorch_prim")));
  for (int i = 0; i < 2; ++i) {  // the second attempt has the same result
    EXPECT_THAT(registry_->ToBackend(registry_->Find("quantized_decomposed.no_kernel")),
                StatusIs(absl::StatusCode::kFailedPrecondition,
                         ::testing::HasSubstr("either a composite explicit, a meta or a composite "
                                              "implicit kernel")));
  }
}

TEST_F(OpRegistryTest, LookupByDialectAndPartsIsStable) {
  ASSERT_OK_AND_ASSIGN(const OpOverload* edge,
                       registry_->LookupIn(Dialect::kEdge, "aten", "add", "Tensor"));
  EXPECT_EQ(edge, registry_->ToEdge(registry_->Find("aten.add.Tensor")));
  ASSERT_OK_AND_ASSIGN(const OpOverload* again,
                       registry_->LookupIn(Dialect::kEdge, "aten", "add", "Tensor"));
  EXPECT_EQ(edge, again);
  ASSERT_OK_AND_ASSIGN(const OpOverload* backend,
                       registry_->LookupIn(Dialect::kBackend, "quantized_decomposed", "add"));
  EXPECT_EQ(backend->dialect(), Dialect::kBackend);
  ASSERT_OK_AND_ASSIGN(const OpPacket* packet,
                       registry_->LookupPacket(Dialect::kEdge, "aten", "add"));
  EXPECT_EQ(packet->name(), "aten.add");
  EXPECT_EQ(packet->text_name(), "edge.aten.add");
  ASSERT_OK_AND_ASSIGN(const OpPacket* packet_again,
                       registry_->LookupPacket(Dialect::kEdge, "aten", "add"));
  EXPECT_EQ(packet, packet_again);
  ASSERT_OK_AND_ASSIGN(const OpPacket* aten,
                       registry_->LookupPacket(Dialect::kAten, "aten", "add"));
  EXPECT_NE(packet, aten);
  EXPECT_EQ(registry_->Overloads("aten", "add").size(), 2u);
}

TEST_F(OpRegistryTest, LookupByDialectAndPartsNamesTheMissingPart) {
  EXPECT_THAT(registry_->LookupIn(Dialect::kEdge, "aten", "nope"),
              StatusIs(absl::StatusCode::kNotFound,
                       ::testing::HasSubstr("'edge.aten.nope': namespace 'aten' has no operator")));
  EXPECT_THAT(registry_->LookupIn(Dialect::kEdge, "aten", "add", "nope"),
              StatusIs(absl::StatusCode::kNotFound,
                       ::testing::HasSubstr("aten.add has no overload 'nope'; it has Scalar")));
  EXPECT_THAT(registry_->LookupIn(Dialect::kBackend, "aten", "add", "Tensor"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       ::testing::HasSubstr("the aten op library does not belong to backend ops")));
  EXPECT_THAT(registry_->LookupIn(Dialect::kBackend, "DO_NOT_USE_TEST_ONLY", "nope"),
              StatusIs(absl::StatusCode::kNotFound,
                       ::testing::HasSubstr("namespace 'DO_NOT_USE_TEST_ONLY' has no operator")));
}

TEST_F(OpRegistryTest, BackendOverloadAppearsWhenItsOperatorGetsAKernel) {
  const auto lookup = [&](std::string_view op) {
    return registry_->LookupIn(Dialect::kBackend, "DO_NOT_USE_TEST_ONLY", op);
  };
  for (const char* schema : {"DO_NOT_USE_TEST_ONLY::with_meta(Tensor x) -> Tensor",
                             "DO_NOT_USE_TEST_ONLY::with_explicit(Tensor x) -> Tensor",
                             "DO_NOT_USE_TEST_ONLY::with_implicit(Tensor x) -> Tensor"}) {
    ASSERT_OK(registry_->Define({.schema = schema}));
  }
  for (const char* op : {"with_meta", "with_explicit", "with_implicit"}) {
    for (int i = 0; i < 3; ++i) {
      EXPECT_THAT(lookup(op), StatusIs(absl::StatusCode::kFailedPrecondition)) << op;
    }
  }
  const OpOverload* edge =
      registry_->ToEdge(registry_->Find("DO_NOT_USE_TEST_ONLY.with_meta.default"));
  EXPECT_FALSE(edge->has_meta_kernel());
  ASSERT_OK(registry_->SetMetaKernel("DO_NOT_USE_TEST_ONLY.with_meta", kMeta));
  EXPECT_TRUE(edge->has_meta_kernel());  // an earlier lookup sees the kernel
  ASSERT_OK(registry_->SetCompositeKernel("DO_NOT_USE_TEST_ONLY.with_explicit",
                                          CompositeKind::kExplicit, Same));
  ASSERT_OK(registry_->SetCompositeKernel("DO_NOT_USE_TEST_ONLY.with_implicit",
                                          CompositeKind::kImplicit, Same));
  for (const char* op : {"with_meta", "with_explicit", "with_implicit"}) {
    ASSERT_OK_AND_ASSIGN(const OpOverload* backend, lookup(op));
    EXPECT_EQ(backend->dialect(), Dialect::kBackend);
    EXPECT_EQ(backend->has_meta_kernel(), op == std::string_view("with_meta"));
    EXPECT_EQ(backend->has_composite_explicit_kernel(), op == std::string_view("with_explicit"));
    EXPECT_EQ(backend->has_composite_implicit_kernel(), op == std::string_view("with_implicit"));
  }
}

TEST_F(OpRegistryTest, CompositeKernelIsSeenInAllDialects) {
  ASSERT_OK(registry_->Define({.schema = "DO_NOT_USE_TEST_ONLY::op(Tensor x) -> Tensor"}));
  const OpOverload* op = registry_->Find("DO_NOT_USE_TEST_ONLY.op.default");
  const OpOverload* before = registry_->ToEdge(op);
  EXPECT_EQ(before->composite_kernel(), nullptr);
  ASSERT_OK(registry_->SetCompositeKernel(op->name(), CompositeKind::kExplicit, Same));
  ASSERT_OK_AND_ASSIGN(const OpOverload* backend, registry_->ToBackend(op));
  ASSERT_NE(op->composite_kernel(), nullptr);
  EXPECT_EQ(before->composite_kernel(), op->composite_kernel());
  EXPECT_EQ(backend->composite_kernel(), op->composite_kernel());
  EXPECT_TRUE(before->has_composite_explicit_kernel());
  // The traits of table rows do not set a composite kernel in the registry.
  const OpOverload* row = registry_->Find("executorch_prim.add.Scalar");
  EXPECT_TRUE(row->has_composite_implicit_kernel());
  EXPECT_EQ(row->composite_kernel(), nullptr);
}

TEST_F(OpRegistryTest, RejectsInvalidCompositeKernels) {
  ASSERT_OK(registry_->Define({.schema = "mine::op(Tensor x) -> Tensor"}));
  ASSERT_OK(registry_->Define({.schema = "mine::write(Tensor(a!) x) -> Tensor(a!)"}));
  ASSERT_OK(registry_->Define({.schema = "mine::view(Tensor(a) x) -> Tensor(a)"}));
  const auto set = [&](std::string_view name, CompositeFn kernel) {
    return registry_->SetCompositeKernel(name, CompositeKind::kImplicit, std::move(kernel));
  };
  EXPECT_THAT(set("mine.nope", Same), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(set("higher_order.cond", Same), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(set("mine.op", nullptr), StatusIs(absl::StatusCode::kInvalidArgument));
  for (const char* name : {"mine.write", "mine.view"}) {
    EXPECT_THAT(set(name, Same), StatusIs(absl::StatusCode::kInvalidArgument,
                                          ::testing::HasSubstr("expected new tensors as results")));
  }
  EXPECT_FALSE(registry_->Find("mine.op")->has_composite_implicit_kernel());
  ASSERT_OK(set("mine.op", Same));
  EXPECT_THAT(set("mine.op", Same), StatusIs(absl::StatusCode::kAlreadyExists));
  EXPECT_THAT(registry_->SetCompositeKernel("mine.op", CompositeKind::kExplicit, Same),
              StatusIs(absl::StatusCode::kAlreadyExists));
  EXPECT_FALSE(registry_->Find("mine.op")->has_composite_explicit_kernel());
  ASSERT_OK(registry_->Define({.schema = "mine::other(Tensor x) -> Tensor"}));
  ASSERT_OK(registry_->SetCompositeKernel("mine.other", CompositeKind::kExplicit, Same));
  EXPECT_THAT(set("mine.other", Same), StatusIs(absl::StatusCode::kAlreadyExists,
                                                "operator 'mine.other' has a composite kernel"));
  // A composite row of a table has its decomposition.
  EXPECT_THAT(set("executorch_prim.add.Scalar", Same), StatusIs(absl::StatusCode::kAlreadyExists));
}

TEST_F(OpRegistryTest, KernelOfATableRowDoesNotChangeTheTable) {
  const OpOverload* op = registry_->Find("quantized_decomposed.no_kernel");
  const OpOverload* edge = registry_->ToEdge(op);
  const OpOverload* other = registry_->ToEdge(registry_->Find("executorch_prim.add.Scalar"));
  ASSERT_OK(registry_->SetMetaKernel("quantized_decomposed.no_kernel", kMeta));
  EXPECT_TRUE(op->has_meta_kernel());
  EXPECT_TRUE(edge->has_meta_kernel());
  EXPECT_FALSE(other->has_meta_kernel());
  EXPECT_OK(registry_->ToBackend(op));
  EXPECT_EQ(kMore[2].meta, nullptr);
}

TEST_F(OpRegistryTest, KernelAppliesToTheNamedOperator) {
  for (const char* schema : {"mine::a(Tensor x) -> Tensor", "mine::b(Tensor x) -> Tensor"}) {
    ASSERT_OK(registry_->Define({.schema = schema}));
  }
  ASSERT_OK(registry_->SetMetaKernel("mine.b", kMeta));
  EXPECT_FALSE(registry_->Find("mine.a")->has_meta_kernel());
  EXPECT_TRUE(registry_->Find("mine.b")->has_meta_kernel());
}

TEST_F(OpRegistryTest, RejectsInvalidOrRepeatedDefinitions) {
  EXPECT_THAT(registry_->Define({.schema = "mine::broken(Tensor"}),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(
      registry_->Define({.schema = "aten::relu(Tensor self) -> Tensor"}),
      StatusIs(absl::StatusCode::kAlreadyExists, ::testing::HasSubstr("aten.relu.default")));
  EXPECT_THAT(registry_->SetMetaKernel("aten.nope", kMeta), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(registry_->SetMetaKernel("aten.relu", nullptr),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(
      registry_->SetMetaKernel("higher_order.cond", kMeta),
      StatusIs(absl::StatusCode::kInvalidArgument,
               ::testing::HasSubstr("expected a meta kernel for an operator with a schema")));
  ASSERT_OK(registry_->SetMetaKernel("quantized_decomposed.no_kernel", kMeta));
  EXPECT_THAT(registry_->SetMetaKernel("quantized_decomposed.no_kernel", kMeta),
              StatusIs(absl::StatusCode::kAlreadyExists));
  EXPECT_THAT(
      registry_->Define({.schema = "mine::flagged(Tensor x) -> Tensor", .traits = kComposite}),
      StatusIs(absl::StatusCode::kInvalidArgument,
               ::testing::HasSubstr("gets its kernel by SetCompositeKernel")));
  EXPECT_EQ(registry_->Find("mine.flagged"), nullptr);
  EXPECT_EQ(registry_->Find("mine.broken"), nullptr);
}

TEST_F(OpRegistryTest, AllowedNamespacesMayGrow) {
  ASSERT_OK(registry_->Define({.schema = "mine::op(Tensor x) -> Tensor", .meta = kMeta}));
  EXPECT_THAT(registry_->LookupIn(Dialect::kBackend, "mine", "op"),
              StatusIs(absl::StatusCode::kInvalidArgument));
  registry_->AllowBackendNamespace("mine");
  registry_->AllowBackendNamespace("mine");
  EXPECT_THAT(registry_->LookupIn(Dialect::kBackend, "aten", "relu"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       ::testing::EndsWith("executorch_prim, quantized_decomposed, mine")));
  EXPECT_OK(registry_->LookupIn(Dialect::kBackend, "mine", "op"));
  EXPECT_NE(registry_->FindText("backend.mine.op.default"), nullptr);
}

TEST_F(OpRegistryTest, ScalarAndHigherOrderFunctionsHaveNoOverload) {
  const OpOverload* mul = registry_->Find("_operator.mul");
  ASSERT_NE(mul, nullptr);
  EXPECT_EQ(mul->dialect(), Dialect::kScalar);
  EXPECT_EQ(mul->name(), "_operator.mul");
  EXPECT_EQ(registry_->ToEdge(mul), mul);
  const OpOverload* cond = registry_->Find("higher_order.cond");
  ASSERT_NE(cond, nullptr);
  EXPECT_EQ(cond->dialect(), Dialect::kHigherOrder);
  EXPECT_TRUE(cond->known());
  EXPECT_EQ(cond->schema(), nullptr);
  EXPECT_EQ(registry_->CallDelegate(), registry_->Find("higher_order.executorch_call_delegate"));
}

TEST_F(OpRegistryTest, NonAtenOperatorsHaveNoOtherOverloads) {
  EXPECT_THAT(registry_->ToBackend(registry_->Find("_operator.mul")),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "operator '_operator.mul' has no backend overload"));
  EXPECT_THAT(registry_->LookupIn(Dialect::kBackend, "higher_order", "cond", ""),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "operator 'higher_order.cond' has no backend overload"));
  for (const char* text :
       {"edge._operator.mul", "edge.higher_order.cond", "edge.nothing", "backend._operator.mul",
        "backend.aten.add.Tensor", "backend.aten.nope", "backend.nothing"}) {
    EXPECT_EQ(registry_->FindText(text), nullptr) << text;
  }
}

TEST_F(OpRegistryTest, ArgumentsHaveNames) {
  const OpOverload* add = registry_->Find("aten.add.Tensor");
  EXPECT_EQ(add->ArgumentIndex("other"), 1);
  EXPECT_EQ(registry_->ToEdge(add)->ArgumentIndex("alpha"), 2);
  EXPECT_EQ(add->ArgumentIndex("weight"), std::nullopt);
  const OpOverload* cond = registry_->Find("higher_order.cond");
  EXPECT_EQ(cond->ArgumentIndex("operands"), 3);
  EXPECT_EQ(cond->ArgumentIndex("rows"), std::nullopt);
  EXPECT_EQ(registry_->CallDelegate()->ArgumentIndex("module"), 0);
  EXPECT_EQ(registry_->CallDelegate()->ArgumentIndex(""), std::nullopt);
  EXPECT_EQ(registry_->FindOrOpaque("mylib.foo")->ArgumentIndex("x"), std::nullopt);
}

TEST_F(OpRegistryTest, UnknownOperatorsAreOpaque) {
  const OpOverload* custom = registry_->FindOrOpaque("mylib.foo");
  EXPECT_FALSE(custom->known());
  EXPECT_EQ(custom->name(), "mylib.foo.default");
  EXPECT_EQ(registry_->FindOrOpaque("mylib.foo.default"), custom);
  EXPECT_EQ(registry_->FindText("mylib.foo.default"), custom);
  EXPECT_EQ(registry_->Find("mylib.foo"), nullptr);
  EXPECT_EQ(registry_->FindText("edge.mylib.foo.default"), registry_->ToEdge(custom));
  EXPECT_EQ(registry_->FindText("edge.otherlib.bar.x"),
            registry_->ToEdge(registry_->FindOrOpaque("otherlib.bar.x")));
  EXPECT_EQ(registry_->FindOrOpaque("#ext:name")->name(), "#ext:name");
  EXPECT_EQ(registry_->FindOrOpaque("higher_order.unknown")->name(), "higher_order.unknown");
}

TEST_F(OpRegistryTest, KnownIsSortedAndComplete) {
  std::vector<std::string> names;
  for (const OpOverload* op : registry_->Known()) names.push_back(op->name());
  EXPECT_EQ(names, (std::vector<std::string>{"_operator.mul", "aten.add.Scalar", "aten.add.Tensor",
                                             "aten.relu.default", "executorch_prim.add.Scalar",
                                             "quantized_decomposed.add.default",
                                             "quantized_decomposed.no_kernel.default"}));
}

TEST_F(OpRegistryTest, ThreadsGetTheSameOverloads) {
  std::vector<const OpOverload*> found(8);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < found.size(); ++i) {
    threads.emplace_back(
        [&, i] { found[i] = registry_->ToEdge(registry_->FindOrOpaque("mylib.foo")); });
  }
  for (std::thread& t : threads) t.join();
  for (const OpOverload* op : found) EXPECT_EQ(op, found[0]);
}

TEST(OpRegistryCreateTest, ListsEveryInvalidRow) {
  static constexpr OpDef kWrong[] = {
      {.schema = "aten::a(Tensor"},
      {.schema = "aten::b(Tensor self) -> Tensor"},
      {.schema = "aten::c(Tensor self) -> Tensor", .dtypes = "self:A"},
      {.schema = "math::d.x(Scalar a) -> Scalar"},
  };
  EXPECT_THAT(
      OpRegistry::Create({kWrong}),
      StatusIs(absl::StatusCode::kInvalidArgument,
               ::testing::AllOf(::testing::HasSubstr("aten::a"), ::testing::HasSubstr("aten::c"),
                                ::testing::HasSubstr("math::d"),
                                ::testing::Not(::testing::HasSubstr("::b")))));
}

TEST(OpRegistryCreateTest, RejectsRepetition) {
  EXPECT_THAT(OpRegistry::Create({kOps, kOps}),
              StatusIs(absl::StatusCode::kAlreadyExists,
                       ::testing::HasSubstr("aten.add.Tensor, aten.add.Scalar")));
}

}  // namespace
}  // namespace belay::exir
