#include "exir/quantize/channel_sites.h"

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "exir/interpreter/interpreter.h"
#include "exir/ir/graph_editor.h"
#include "exir/ir/verifier.h"
#include "exir/ops/standard_ops.h"
#include "exir/passes/constant_input.h"
#include "exir/passes/edge_verifier.h"
#include "exir/quantize/calibration_testing.h"
#include "exir/testing/programs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/kernels/reference/reference_kernels.h"

namespace belay::exir {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class ChannelSitesTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_OK(AddReferenceKernels(kernels_)); }

  ExportedProgram Parse(std::string_view text) const {
    ExportedProgram program = ParseOrDie(text, **ops_);
    uint32_t seed = 1;
    for (auto& [name, tensor] : program.state_dict) {
      tensor = *FloatConstant(tensor.sizes(),
                              PseudoRandom(static_cast<size_t>(tensor.view().numel()), seed++));
    }
    return program;
  }
  std::vector<ChannelSite> SitesOf(ExportedProgram& program) const {
    GraphEditor editor(program.top());
    const WeightUses uses = FindWeightUses(program, ConstantInputs(program, editor, {}));
    return FindChannelSites(program, {}, uses.uses);
  }
  std::vector<float> OutputOf(const ExportedProgram& program, Sizes sizes) const {
    std::vector<float> x = PseudoRandom(static_cast<size_t>(NumElements(sizes)), 99);
    absl::StatusOr<Interpreter> interpreter = Interpreter::Create(program, kernels_);
    EXPECT_OK(interpreter);
    const auto outputs =
        interpreter->Run({EValue(TensorView::Contiguous(DType::kFloat32, sizes, x.data()))});
    EXPECT_OK(outputs);
    const TensorView& y = *(*outputs)[0].tensor();
    return {y.as<float>(), y.as<float>() + y.numel()};
  }
  static int64_t NumElements(const Sizes& sizes) {
    int64_t count = 1;
    for (int64_t size : sizes) count *= size;
    return count;
  }
  // Scales all sites by powers of two, which round nothing, and expects equal outputs. Returns the
  // sites.
  std::vector<ChannelSite> ExpectEqualOutputs(std::string_view text, Sizes input) {
    ExportedProgram program = Parse(text);
    const std::vector<float> expected = OutputOf(program, input);
    std::vector<ChannelSite> sites = SitesOf(program);
    std::vector<std::vector<float>> scales;
    for (const ChannelSite& site : sites) {
      std::vector<float>& list = scales.emplace_back();
      for (int64_t c = 0; c < site.channels; ++c) list.push_back(c % 3 == 0 ? 0.25F : 8.0F);
    }
    ScaledConstants cache;
    EXPECT_OK(ScaleChannels(program, {}, sites, scales, cache));
    EXPECT_OK(Verify(program));
    EXPECT_OK(VerifyEdge(program));
    EXPECT_EQ(OutputOf(program, input), expected);
    for (const ChannelSite& site : sites) {
      const std::string& weight = program.signature.inputs[0].target;
      EXPECT_FALSE(weight.empty() || site.weights.empty());
    }
    return sites;
  }

  absl::StatusOr<std::unique_ptr<OpRegistry>> ops_ = CreateStandardOps();
  KernelRegistry kernels_;
};

TEST_F(ChannelSitesTest, ConvolutionsFoldThroughRelu) {
  const auto sites = ExpectEqualOutputs(R"(program edge {
  constants { state "a": f32[4,2,1,1] state "b": f32[4] state "v": f32[3,4,2,2] }
  graph(%a: f32[4,2,1,1] parameter "a", %b: f32[4] parameter "b",
        %v: f32[3,4,2,2] parameter "v", %x: f32[1,2,3,3] user_input) {
    %y: f32[1,4,3,3] = edge.aten.convolution.default(%x, %a, %b, [1,1], [0,0], [1,1], false, [0,0], 1)
    %r: f32[1,4,3,3] = edge.aten.relu.default(%y)
    %z: f32[1,3,2,2] = edge.aten.convolution.default(%r, %v, none, [1,1], [0,0], [1,1], false, [0,0], 1)
    return (%z user_output) } })",
                                        {1, 2, 3, 3});
  ASSERT_THAT(sites, SizeIs(2));
  EXPECT_FALSE(sites[0].folds());  // the program's input
  EXPECT_THAT(sites[1].producers, SizeIs(2));
  EXPECT_TRUE(sites[1].is_image);
}

TEST_F(ChannelSitesTest, GroupedConvolutionsScaleTheirOwnChannels) {
  const auto sites = ExpectEqualOutputs(R"(program edge {
  constants { state "a": f32[4,2,1,1] state "d": f32[4,1,3,3] state "v": f32[6,2,1,1] }
  graph(%a: f32[4,2,1,1] parameter "a", %d: f32[4,1,3,3] parameter "d",
        %v: f32[6,2,1,1] parameter "v", %x: f32[1,2,3,3] user_input) {
    %y: f32[1,4,3,3] = edge.aten.convolution.default(%x, %a, none, [1,1], [0,0], [1,1], false, [0,0], 1)
    %w: f32[1,4,3,3] = edge.aten.convolution.default(%y, %d, none, [1,1], [1,1], [1,1], false, [0,0], 4)
    %z: f32[1,6,3,3] = edge.aten.convolution.default(%w, %v, none, [1,1], [0,0], [1,1], false, [0,0], 2)
    return (%z user_output) } })",
                                        {1, 2, 3, 3});
  ASSERT_THAT(sites, SizeIs(3));
  EXPECT_TRUE(sites[1].folds() && sites[2].folds());
}

constexpr char kNorm[] = R"(program edge {
  constants { state "a": f32[3,4] state "b": f32[4] state "g": f32[4] state "v": f32[5,4] }
  graph(%a: f32[3,4] parameter "a", %b: f32[4] parameter "b", %g: f32[4] parameter "g",
        %v: f32[5,4] parameter "v", %x: f32[1,2,4] user_input) {
    %n: f32[1,2,4], %m: f32[1,2,1], %s: f32[1,2,1] = edge.aten.native_layer_norm.default(%x, [4], %g, %b, 0.00001)
    %c: f32[2,4] = edge.aten.view_copy.default(%n, [2,4])
    %p: f32[4,3] = edge.aten.permute_copy.default(%a, [1,0])
    %y: f32[2,3] = edge.aten.mm.default(%c, %p)
    %d: f32[2,4] = edge.aten.view_copy.default(%n, [2,4])
    %q: f32[4,5] = edge.aten.permute_copy.default(%v, [1,0])
    %z: f32[2,5] = edge.aten.mm.default(%d, %q)
    %o: f32[2,8] = edge.aten.cat.default([%y, %z], 1)
    return (%o user_output) } })";

TEST_F(ChannelSitesTest, LayersThatShareAnInputScaleTheNormBeforeThem) {
  const auto sites = ExpectEqualOutputs(kNorm, {1, 2, 4});
  ASSERT_THAT(sites, SizeIs(1));
  EXPECT_THAT(sites[0].anchors, SizeIs(2));
  EXPECT_THAT(sites[0].producers, SizeIs(2));
}

TEST_F(ChannelSitesTest, OtherUsersGetTheValueUnscaled) {
  std::string text = kNorm;
  const std::string end = "%o: f32[2,8] = edge.aten.cat.default([%y, %z], 1)";
  text.replace(text.find(end), end.size(), R"(%e: f32[2,4] = edge.aten.view_copy.default(%n, [2,4])
    %f: f32[2,4] = edge.aten.add.Tensor(%n, %n)
    %h: f32[2,4] = edge.aten.view_copy.default(%f, [2,4])
    %o: f32[2,12] = edge.aten.cat.default([%y, %z, %h], 1))");
  text.replace(text.find("%f: f32[2,4]"), 12, "%f: f32[1,2,4]");
  const auto sites = ExpectEqualOutputs(text, {1, 2, 4});
  ASSERT_THAT(sites, SizeIs(1));
  EXPECT_FALSE(sites[0].folds());
  EXPECT_THAT(sites[0].users, SizeIs(2));
}

TEST_F(ChannelSitesTest, ProductsScaleOneFactor) {
  // silu(gate) * up: only `up` is computed by a layer.
  const auto sites = ExpectEqualOutputs(R"(program edge {
  constants { state "a": f32[4,3] state "u": f32[4,3] state "v": f32[2,4] }
  graph(%a: f32[4,3] parameter "a", %u: f32[4,3] parameter "u", %v: f32[2,4] parameter "v",
        %x: f32[2,3] user_input) {
    %p: f32[3,4] = edge.aten.permute_copy.default(%a, [1,0])
    %g: f32[2,4] = edge.aten.mm.default(%x, %p)
    %s: f32[2,4] = edge.aten.sigmoid.default(%g)
    %q: f32[3,4] = edge.aten.permute_copy.default(%u, [1,0])
    %h: f32[2,4] = edge.aten.mm.default(%x, %q)
    %m: f32[2,4] = edge.aten.mul.Tensor(%s, %h)
    %t: f32[4,2] = edge.aten.permute_copy.default(%v, [1,0])
    %y: f32[2,2] = edge.aten.mm.default(%m, %t)
    return (%y user_output) } })",
                                        {2, 3});
  ASSERT_THAT(sites, SizeIs(2));
  EXPECT_THAT(sites[0].anchors, SizeIs(2));
  EXPECT_FALSE(sites[0].folds());
  ASSERT_THAT(sites[1].producers, SizeIs(1));
}

TEST_F(ChannelSitesTest, ExcludesSharedWeights) {
  ExportedProgram program = Parse(R"(program edge {
  constants { state "a": f32[4,4] }
  graph(%a: f32[4,4] parameter "a", %x: f32[2,4] user_input) {
    %p: f32[4,4] = edge.aten.permute_copy.default(%a, [1,0])
    %y: f32[2,4] = edge.aten.mm.default(%x, %p)
    %z: f32[2,4] = edge.aten.mm.default(%y, %p)
    return (%z user_output) } })");
  EXPECT_THAT(SitesOf(program), IsEmpty());
}

TEST_F(ChannelSitesTest, ProgramsThatScaleAlikeShareTheResult) {
  ExportedProgram program = Parse(kNorm);
  const ConstantTensor& weight = program.state_dict.at("a");
  ScaledConstants cache;
  const ScaledConstants::Factors factors = {{{.axis = 1}, {1, 2, 3, 4}}};
  ASSERT_OK_AND_ASSIGN(const ConstantTensor first, cache.Scale(weight, factors));
  ASSERT_OK_AND_ASSIGN(const ConstantTensor second, cache.Scale(weight, factors));
  EXPECT_EQ(first.view().data, second.view().data);
  ASSERT_OK_AND_ASSIGN(const ConstantTensor other,
                       cache.Scale(weight, {{{.axis = 1}, {1, 2, 3, 5}}}));
  EXPECT_NE(first.view().data, other.view().data);
}

TEST(ChannelsOfTest, MapsElementsToChannels) {
  EXPECT_THAT(ChannelsOf({2, 3}, {.axis = 1}), ElementsAre(0, 1, 2, 0, 1, 2));
  EXPECT_THAT(ChannelsOf({2, 3}, {.axis = 0}), ElementsAre(0, 0, 0, 1, 1, 1));
  EXPECT_THAT(ChannelsOf({4, 1, 2}, {.axis = 1, .groups = 2}), ElementsAre(0, 0, 0, 0, 1, 1, 1, 1));
}

}  // namespace
}  // namespace belay::exir
