#include "tools/belay/module_losses.h"

#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace belay::tools {
namespace {

using ::testing::ElementsAre;

exir::QuantizedNode Node(std::string name, std::string module, double signal, double noise) {
  exir::QuantizedNode node;
  node.node = std::move(name);
  node.module = std::move(module);
  node.loss.signal = signal;
  node.loss.noise = noise;
  node.bytes_before = 400;
  node.bytes_after = 100;
  return node;
}

std::vector<std::string> NamesOf(const std::vector<ModuleLoss>& modules) {
  std::vector<std::string> names;
  for (const ModuleLoss& module : modules) names.push_back(module.module);
  return names;
}

TEST(SumByModuleTest, OuterModulesHaveTheSums) {
  std::vector<exir::QuantizedNode> nodes = {Node("a", "layers.0.q", 100, 1),
                                            Node("b", "layers.0.k", 100, 9),
                                            Node("c", "layers.10", 50, 5), Node("d", "", 1, 1)};
  const std::vector<ModuleLoss> modules = SumByModule(nodes, nullptr);
  EXPECT_THAT(NamesOf(modules),
              ElementsAre("layers", "layers.0", "layers.0.q", "layers.0.k", "layers.10"));
  EXPECT_EQ(modules[0].operators, 3);
  EXPECT_EQ(modules[0].weights.signal, 250);
  EXPECT_EQ(modules[0].weights.noise, 15);
  EXPECT_EQ(modules[0].bytes_before, 1200);
  EXPECT_EQ(modules[1].operators, 2);
  EXPECT_EQ(modules[1].bytes_after, 200);
  EXPECT_FALSE(modules[1].result.has_value());
}

TEST(SumByModuleTest, SharedWeightsCountOnce) {
  std::vector<exir::QuantizedNode> nodes = {Node("a", "m.a", 100, 1), Node("b", "m.b", 100, 1)};
  nodes[1].shares_with = "a";
  const std::vector<ModuleLoss> modules = SumByModule(nodes, nullptr);
  EXPECT_EQ(modules[0].operators, 2);
  EXPECT_EQ(modules[0].weights.noise, 1);
  EXPECT_EQ(modules[0].bytes_before, 400);
}

TEST(SumByModuleTest, ResultIsThatOfTheLastNode) {
  const std::vector<exir::QuantizedNode> nodes = {Node("a", "m.a", 100, 1),
                                                  Node("b", "m.b", 100, 1)};
  exir::NodeLosses losses;
  for (const char* module : {"m.a", "m.b", "m", "other"}) {
    exir::NodeLoss& loss = losses.nodes.emplace_back();
    loss.module = module;
    loss.sums.noise = static_cast<double>(losses.nodes.size());
  }
  const std::vector<ModuleLoss> modules = SumByModule(nodes, &losses);
  EXPECT_THAT(NamesOf(modules), ElementsAre("m", "m.a", "m.b"));
  EXPECT_EQ(modules[0].result->noise, 3);
  EXPECT_EQ(modules[1].result->noise, 1);
  EXPECT_EQ(modules[2].result->noise, 2);
}

}  // namespace
}  // namespace belay::tools
