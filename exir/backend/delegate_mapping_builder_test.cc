#include "exir/backend/delegate_mapping_builder.h"

#include <string>
#include <vector>

#include "exir/testing/programs.h"
#include "exir/testing/test_ops.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using Identifiers = DelegateMappingBuilder::Identifiers;

class DelegateMappingBuilderTest : public ::testing::Test {
 protected:
  DelegateMappingBuilderTest()
      : program_(ParseOrDie(R"(program edge {
          graph(%x: f32[2] user_input) {
            %a: f32[2] = edge.aten.relu.default(%x)  handle=3
            %b: f32[2] = edge.aten.relu.default(%a)  handle=1
            %c: f32[2] = edge.aten.relu.default(%b)
            return (%c user_output)
          }
        })",
                            TestOps())) {}
  std::vector<NodeId> Nodes(std::vector<uint32_t> indices) {
    std::vector<NodeId> nodes;
    for (uint32_t i : indices) nodes.push_back(NodeId(i));
    return nodes;
  }

  const ExportedProgram program_;
};

TEST_F(DelegateMappingBuilderTest, GeneratedListNodeHandlesAndHandle) {
  DelegateMappingBuilder builder(Identifiers::kGenerated);
  EXPECT_EQ(*builder.InsertNodes(program_.top(), Nodes({0, 1, 0})), DelegateId(0));
  EXPECT_EQ(*builder.InsertNodes(program_.top(), Nodes({1})), DelegateId(1));
  EXPECT_EQ(*builder.InsertHandles({5}), DelegateId(2));
  EXPECT_EQ(*builder.InsertHandles({9, 8}), DelegateId(3));
  EXPECT_THAT(
      builder.mapping(),
      ElementsAre(Pair(DelegateId(0), ElementsAre(1, 3)), Pair(DelegateId(1), ElementsAre(1)),
                  Pair(DelegateId(2), ElementsAre(5)), Pair(DelegateId(3), ElementsAre(8, 9))));
}

TEST_F(DelegateMappingBuilderTest, GivenIntsAndGivenStrings) {
  DelegateMappingBuilder ints, strings;
  EXPECT_TRUE(ints.InsertHandles({4}, DelegateId(22)).ok());
  EXPECT_TRUE(strings.InsertHandles({4, 2}, DelegateId("relu")).ok());
  EXPECT_THAT(ints.mapping(), ElementsAre(Pair(DelegateId(22), ElementsAre(4))));
  EXPECT_THAT(strings.mapping(), ElementsAre(Pair(DelegateId("relu"), ElementsAre(2, 4))));
}

TEST_F(DelegateMappingBuilderTest, RejectsIdentifierIfGenerated) {
  DelegateMappingBuilder builder(Identifiers::kGenerated);
  EXPECT_EQ(builder.InsertHandles({1}, DelegateId(4)).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(*builder.InsertHandles({1}), DelegateId(0));
}

TEST_F(DelegateMappingBuilderTest, RejectsMissingIdentifier) {
  DelegateMappingBuilder builder;
  EXPECT_EQ(builder.InsertHandles({1}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(builder.mapping(), IsEmpty());
}

TEST_F(DelegateMappingBuilderTest, RejectsRepeatedIdentifier) {
  DelegateMappingBuilder builder;
  EXPECT_TRUE(builder.InsertHandles({1}, DelegateId("a")).ok());
  EXPECT_EQ(builder.InsertHandles({2}, DelegateId("a")).status().code(),
            absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(builder.InsertNodes(program_.top(), Nodes({0}), DelegateId("a")).status().code(),
            absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(builder.mapping(), ElementsAre(Pair(DelegateId("a"), ElementsAre(1))));
}

TEST_F(DelegateMappingBuilderTest, FailedInsertUsesNoIdentifier) {
  DelegateMappingBuilder builder(Identifiers::kGenerated);
  EXPECT_EQ(builder.InsertNodes(program_.top(), Nodes({2})).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(builder.InsertHandles({0}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(builder.InsertHandles({-1}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(*builder.InsertNodes(program_.top(), Nodes({2, 0})), DelegateId(0));
  EXPECT_THAT(builder.mapping(), ElementsAre(Pair(DelegateId(0), ElementsAre(3))));
}

TEST_F(DelegateMappingBuilderTest, RejectsMixedIdentifierTypes) {
  DelegateMappingBuilder builder;
  EXPECT_TRUE(builder.InsertHandles({1}, DelegateId("a")).ok());
  EXPECT_EQ(builder.InsertHandles({3}, DelegateId(0)).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace belay::exir
