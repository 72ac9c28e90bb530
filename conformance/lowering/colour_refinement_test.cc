#include "conformance/lowering/colour_refinement.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace belay::conformance {
namespace {

using ::testing::ElementsAre;

TEST(MatchVerticesTest, WhatSurroundsAVertexTellsItFromOthers) {
  ColouredGraph a, b;
  for (const char* label : {"x", "op", "op", "out"}) a.AddVertex(label);
  a.AddEdge(1, 0, "first");
  a.AddEdge(2, 1, "first");
  a.AddEdge(3, 2, "first");
  for (const char* label : {"out", "op", "x", "op"}) b.AddVertex(label);
  b.AddEdge(1, 2, "first");
  b.AddEdge(3, 1, "first");
  b.AddEdge(0, 3, "first");
  EXPECT_THAT(MatchVertices(a, b), ElementsAre(3, 1, 0, 2));
}

TEST(MatchVerticesTest, LabelsAndDirectionsOfEdgesCount) {
  ColouredGraph a, b;
  for (const char* label : {"f", "f", "x", "y"}) a.AddVertex(label);
  a.AddEdge(0, 2, "first");
  a.AddEdge(0, 3, "second");
  a.AddEdge(1, 2, "second");
  a.AddEdge(1, 3, "first");
  for (const char* label : {"f", "f", "x", "y"}) b.AddVertex(label);
  b.AddEdge(1, 2, "first");
  b.AddEdge(1, 3, "second");
  b.AddEdge(0, 2, "second");
  b.AddEdge(0, 3, "first");
  EXPECT_THAT(MatchVertices(a, b), ElementsAre(1, 0, 2, 3));
}

// What goes with one of several that are alike decides what its neighbours go with.
TEST(MatchVerticesTest, ChoicesBetweenEqualsFitTogether) {
  ColouredGraph a, b;
  for (const char* label : {"p", "p", "p", "q", "q", "q"}) {
    a.AddVertex(label);
    b.AddVertex(label);
  }
  for (size_t i = 0; i < 3; ++i) {
    a.AddEdge(i, 3 + i, "e");
    b.AddEdge(i, 3 + (i + 1) % 3, "e");
  }
  EXPECT_THAT(MatchVertices(a, b), ElementsAre(0, 1, 2, 5, 3, 4));
}

TEST(MatchVerticesTest, HintsDecideBetweenEqualsOnly) {
  ColouredGraph a, b;
  a.AddVertex("f", "one");
  a.AddVertex("f", "two");
  a.AddVertex("g", "two");
  b.AddVertex("f", "two");
  b.AddVertex("f", "one");
  b.AddVertex("g", "three");
  EXPECT_THAT(MatchVertices(a, b), ElementsAre(1, 0, 2));
}

TEST(MatchVerticesTest, OfDifferentGraphsWhatIsMostAlikeGoesTogether) {
  ColouredGraph a, b;
  for (const char* label : {"x", "sin", "sin", "cos"}) a.AddVertex(label);
  a.AddEdge(1, 0, "first");
  a.AddEdge(2, 1, "first");
  a.AddEdge(3, 2, "first");
  for (const char* label : {"x", "sin", "sin", "tan"}) b.AddVertex(label);
  b.AddEdge(1, 2, "first");
  b.AddEdge(2, 0, "first");
  b.AddEdge(3, 1, "first");
  EXPECT_THAT(MatchVertices(a, b), ElementsAre(0, 2, 1, kNoPartner));
}

TEST(MatchVerticesTest, ManyEqualVerticesArePairedInTheirOrder) {
  ColouredGraph a, b;
  for (size_t i = 0; i < 300; ++i) {
    a.AddVertex("f");
    b.AddVertex("f");
  }
  const std::vector<size_t> partner = MatchVertices(a, b);
  for (size_t i = 0; i < partner.size(); ++i) EXPECT_EQ(partner[i], i);
}

}  // namespace
}  // namespace belay::conformance
