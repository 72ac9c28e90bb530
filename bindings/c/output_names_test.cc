#include <string>
#include <vector>

#include "bindings/c/handles.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace belay::c {
namespace {

using ::testing::ElementsAre;

constexpr char kLeaf[] = R"({"type": null, "context": null, "children_spec": []})";

std::string Node(const std::string& type, const std::string& context,
                 const std::vector<std::string>& children) {
  std::string list;
  for (const std::string& child : children) list += (list.empty() ? "" : ", ") + child;
  return R"({"type": "builtins.)" + type + R"(", "context": ")" + context +
         R"(", "children_spec": [)" + list + "]}";
}

std::string Spec(const std::string& node) { return "[1, " + node + "]"; }

TEST(OutputNamesTest, KeysAndIndicesAreJoined) {
  const std::string pair = Node("tuple", "null", {kLeaf, kLeaf});
  const std::string dict = Node("dict", R"([\"logits\", \"aux\"])", {kLeaf, pair});
  EXPECT_THAT(OutputNames(Spec(dict), 3), ElementsAre("logits", "aux.0", "aux.1"));
  EXPECT_THAT(OutputNames(Spec(pair), 2), ElementsAre("0", "1"));
}

TEST(OutputNamesTest, SingleTensorIsOutput) {
  EXPECT_THAT(OutputNames(Spec(kLeaf), 1), ElementsAre("output"));
}

TEST(OutputNamesTest, WrongSpecsGiveIndices) {
  std::string deep = kLeaf;
  for (int i = 0; i < 100; ++i) deep = Node("tuple", "null", {deep});
  const std::vector<std::string> specs = {"",
                                          "[",
                                          "[1]",
                                          "[1, 2]",
                                          Spec(kLeaf),
                                          Spec(Node("tuple", "null", {kLeaf, kLeaf, kLeaf})),
                                          Spec(deep),
                                          Spec("[]"),
                                          Spec("{}"),
                                          "{}",
                                          Spec(R"({"type": "x", "children_spec": 3})")};
  for (const std::string& spec : specs) {
    EXPECT_THAT(OutputNames(spec, 2), ElementsAre("0", "1")) << spec;
  }
  EXPECT_THAT(OutputNames(Spec(Node("dict", "[", {kLeaf, kLeaf})), 2), ElementsAre("0", "1"));
  EXPECT_THAT(OutputNames(Spec(Node("dict", "[1, 2]", {kLeaf, kLeaf})), 2), ElementsAre("0", "1"));
}

}  // namespace
}  // namespace belay::c
