// exir/backend/test/test_to_backend_multi_method.py and test_backend_with_named_data_map.py.
#include <string>
#include <string_view>
#include <vector>

#include "exir/backend/named_data_store.h"
#include "exir/backend/tests/scenarios/scenario.h"
#include "exir/emit/emitter.h"

namespace belay::exir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr std::string_view kAddSinCosSub = R"(program edge {
  graph(%x: f32[2] user_input) {
    %a: f32[2] = edge.aten.add.Tensor(%x, %x)  tag="t0"
    %s: f32[2] = edge.aten.sin.default(%a)  tag="t1"
    %c: f32[2] = edge.aten.cos.default(%s)
    %u: f32[2] = edge.aten.sub.Tensor(%c, %x)  tag="t2"
    return (%u user_output)
  }
})";
constexpr std::string_view kSinAdd = R"(program edge {
  graph(%x: f32[2] user_input) {
    %s: f32[2] = edge.aten.sin.default(%x)  tag="t0"
    %c: f32[2] = edge.aten.cos.default(%s)
    %a: f32[2] = edge.aten.add.Tensor(%c, %x)  tag="t1"
    return (%a user_output)
  }
})";

class MultiMethodScenarioTest : public ScenarioTest {
 protected:
  using Tags = std::vector<std::pair<std::string, DelegationSpec>>;
  absl::StatusOr<MethodPrograms> Lower(
      const std::vector<std::pair<std::string, std::string_view>>& strings,
      const std::vector<Tags>& tags) {
    MethodPrograms methods;
    MethodPartitioners partitioners;
    std::vector<TextPartitioner> made(strings.size());
    for (size_t i = 0; i < strings.size(); ++i) {
      methods.emplace_back(strings[i].first, Parse(strings[i].second));
      made[i].delegation = tags[i];
      made[i].only_given_delegation = true;
      made[i].tag_constants = true;
      partitioners.emplace_back(strings[i].first, &made[i]);
    }
    ABSL_ASSIGN_OR_RETURN(MethodPrograms lowered, ToBackend(methods, partitioners, backends_));
    for (size_t i = 0; i < methods.size(); ++i) {
      ExpectSameResults(methods[i].second, lowered[i].second);
    }
    return lowered;
  }
  static DelegationSpec First(std::string value) { return {"first", {{"k", std::move(value)}}}; }
  static DelegationSpec Second(std::string value) { return {"second", {{"k", std::move(value)}}}; }
};

TEST_F(MultiMethodScenarioTest, single_method) {
  ASSERT_OK_AND_ASSIGN(const MethodPrograms lowered,
                       Lower({{"forward", kSinAdd}}, {{{"t0", First("1")}}}));
  EXPECT_THAT(Payloads(lowered[0].second), ElementsAre("first#1#aten.sin.default#k=1;"));
}

TEST_F(MultiMethodScenarioTest, two_methods) {
  ASSERT_OK_AND_ASSIGN(
      const MethodPrograms lowered,
      Lower({{"m1", kSinAdd}, {"m2", kSinAdd}}, {{{"t0", First("1")}}, {{"t0", First("2")}}}));
  EXPECT_THAT(Payloads(lowered[0].second), ElementsAre("first#2#aten.sin.default#k=1;"));
  EXPECT_THAT(Payloads(lowered[1].second), ElementsAre("first#2#aten.sin.default#k=2;"));
}

TEST_F(MultiMethodScenarioTest, two_methods_multiple_partitions) {
  ASSERT_OK_AND_ASSIGN(
      const MethodPrograms lowered,
      Lower({{"m1", kSinAdd}, {"m2", kSinAdd}},
            {{{"t0", First("1")}, {"t1", First("2")}}, {{"t0", First("3")}, {"t1", First("4")}}}));
  EXPECT_THAT(Payloads(lowered[0].second),
              ElementsAre("first#4#aten.sin.default#k=1;", "first#4#aten.add.Tensor#k=2;"));
  EXPECT_THAT(Payloads(lowered[1].second),
              ElementsAre("first#4#aten.sin.default#k=3;", "first#4#aten.add.Tensor#k=4;"));
}

TEST_F(MultiMethodScenarioTest, different_partitions) {
  ASSERT_OK_AND_ASSIGN(
      const MethodPrograms lowered,
      Lower({{"m1", kAddSinCosSub}, {"m2", kSinAdd}},
            {{{"t0", First("1")}, {"t1", First("1")}}, {{"t0", First("2")}, {"t1", First("2")}}}));
  EXPECT_THAT(Payloads(lowered[0].second),
              ElementsAre("first#4#aten.add.Tensor#k=1;", "first#4#aten.sin.default#k=1;"));
  EXPECT_THAT(Payloads(lowered[1].second),
              ElementsAre("first#4#aten.sin.default#k=2;", "first#4#aten.add.Tensor#k=2;"));
}

// Module ids are ordered by backend; the calls are in graph order.
TEST_F(MultiMethodScenarioTest, different_backends) {
  ASSERT_OK_AND_ASSIGN(const MethodPrograms lowered,
                       Lower({{"m1", kSinAdd}, {"m2", kAddSinCosSub}},
                             {{{"t0", First("1")}, {"t1", Second("1")}},
                              {{"t0", Second("2")}, {"t1", First("2")}, {"t2", First("3")}}}));
  EXPECT_THAT(Payloads(lowered[0].second),
              ElementsAre("first#3#aten.sin.default#k=1;", "second#2#aten.add.Tensor#k=1;"));
  EXPECT_THAT(Payloads(lowered[1].second),
              ElementsAre("second#2#aten.add.Tensor#k=2;", "first#3#aten.sin.default#k=2;",
                          "first#3#aten.sub.Tensor#k=3;"));
}

// Top graph first, then the subgraphs, true before false.
TEST_F(MultiMethodScenarioTest, control_flow) {
  ASSERT_OK_AND_ASSIGN(const MethodPrograms lowered,
                       Lower({{"forward", R"(program edge {
    graph(%p: b8[] user_input, %x: f32[2] user_input) {
      %a: f32[2] = edge.aten.add.Tensor(%x, %x)  tag="f0"
      %c: f32[2] = higher_order.cond(%p, graph#1, graph#2, [%a])
      %s: f32[2] = edge.aten.sub.Tensor(%c, %x)  tag="f1"
      return (%s user_output)
    }
    graph t(%u: f32[2]) {
      %v: f32[2] = edge.aten.sin.default(%u)  tag="f0"
      %w: f32[2] = edge.aten.neg.default(%v)  tag="s"
      return (%w)
    }
    graph f(%u: f32[2]) {
      %v: f32[2] = edge.aten.cos.default(%u)  tag="f0"
      return (%v)
    }
  })"}},
                             {{{"f0", First("1")}, {"f1", First("2")}, {"s", Second("3")}}}));
  const ExportedProgram& program = lowered[0].second;
  std::vector<std::string> by_number;
  for (const auto& module : program.lowered_modules) by_number.push_back(TextOf(module->processed));
  EXPECT_THAT(by_number,
              ElementsAre("first#4#aten.add.Tensor#k=1;", "first#4#aten.sub.Tensor#k=2;",
                          "first#4#aten.sin.default#k=1;", "first#4#aten.cos.default#k=1;",
                          "second#1#aten.neg.default#k=3;"));
}

TEST_F(MultiMethodScenarioTest, sequential_delegates) {
  ASSERT_OK_AND_ASSIGN(const MethodPrograms lowered,
                       Lower({{"forward", R"(program edge {
    graph(%x: f32[2] user_input, %y: f32[2] user_input, %z: f32[2] user_input) {
      %a: f32[2] = edge.aten.add.Tensor(%x, %x)  tag="one"
      %b: f32[2] = edge.aten.add.Tensor(%y, %y)  tag="one"
      %c: f32[2] = edge.aten.add.Tensor(%z, %z)  tag="one"
      %k: f32[2] = edge.aten.neg.default(%x)
      %d: f32[2] = edge.aten.sub.Tensor(%a, %b)  tag="two"
      %e: f32[2] = edge.aten.sub.Tensor(%d, %c)  tag="two"
      %f: f32[2] = edge.aten.sub.Tensor(%e, %k)  tag="two"
      return (%f user_output)
    }
  })"}},
                             {{{"one", First("1")}, {"two", Second("2")}}}));
  const ExportedProgram& program = lowered[0].second;
  EXPECT_THAT(OpsOf(program), ElementsAre("delegate", "aten.neg.default", "delegate"));
  const DelegateCall second = DelegateCalls(program)[1];
  EXPECT_EQ(program.top().node(second.node).arguments.size(), 5u);  // the module and four values
}

TEST_F(MultiMethodScenarioTest, constants) {
  ASSERT_OK_AND_ASSIGN(const MethodPrograms lowered,
                       Lower({{"forward", R"(program edge {
    constants { state "c": f32[2] }
    graph(%const: f32[2] buffer "c", %x: f32[2] user_input) {
      %a: f32[2] = edge.aten.add.Tensor(%x, %const)  tag="t0"
      %s: f32[2] = edge.aten.sin.default(%a)
      %b: f32[2] = edge.aten.sub.Tensor(%s, %const)  tag="t1"
      return (%b user_output)
    }
  })"}},
                             {{{"t0", First("1")}, {"t1", First("2")}}}));
  EXPECT_THAT(Payloads(lowered[0].second),
              ElementsAre("CONSTconst:first#2#aten.add.Tensor#k=1;",
                          "CONSTconst_copy_0:first#2#aten.sub.Tensor#k=2;"));
}

TEST_F(MultiMethodScenarioTest, not_found) {
  EXPECT_THAT(
      Lower({{"m1", kSinAdd}, {"m2", kSinAdd}}, {{{"t0", First("1")}}, {{"t0", {"Invalid", {}}}}}),
      StatusIs(absl::StatusCode::kNotFound,
               HasSubstr("method 'm2': tag 't0': Backend Invalid was not found")));
}

TEST_F(MultiMethodScenarioTest, end_to_end) {
  MethodPrograms methods;
  MethodPartitioners partitioners;
  const CapabilityPartitioner sin({"recorder", {}}, SupportOps({"aten.sin.default"}));
  for (const char* name : {"m1", "m2"}) {
    methods.emplace_back(name, Parse(kSinAdd));
    partitioners.emplace_back(name, &sin);
  }
  ASSERT_OK_AND_ASSIGN(const MethodPrograms lowered, ToBackend(methods, partitioners, backends_));
  ASSERT_OK_AND_ASSIGN(const ProgramImage image, EmitProgram(lowered));
  ASSERT_EQ(image.metadata.methods_size(), 2);
  ASSERT_EQ(image.metadata.methods(0).delegates_size(), 1);
  ASSERT_EQ(image.metadata.methods(1).delegates_size(), 1);
  EXPECT_EQ(image.metadata.methods(0).delegates(0).segment(),
            image.metadata.methods(1).delegates(0).segment());
  size_t blobs = 0;
  for (const auto& segment : image.segments) blobs += segment.kind == schema::Segment::DELEGATE;
  EXPECT_EQ(blobs, 1u);
}

// --- test_backend_with_named_data_map.py ---

// Stores each operator's name as named data under the same key.
class NamedOpsBackend final : public Backend {
 public:
  std::string_view id() const override { return "named"; }
  absl::StatusOr<PreprocessResult> Preprocess(ExportedProgram program,
                                              absl::Span<const CompileSpec>) const override {
    NamedDataStore store;
    for (NodeId node : program.top().nodes()) {
      const std::string& op = program.top().node(node).target->name();
      ABSL_RETURN_IF_ERROR(store.Add(op, TextStorage(op)));
    }
    return PreprocessResult{.processed = {}, .named_data = store.output()};
  }
};

class NamedDataScenarioTest : public ScenarioTest {
 protected:
  NamedDataScenarioTest() { EXPECT_OK(backends_.Add(&named_)); }
  static std::vector<std::string> Keys(const NamedDataOutput& data) {
    std::vector<std::string> keys;
    for (const auto& [key, entry] : data.program_data) keys.push_back(key);
    return keys;
  }
  absl::StatusOr<NamedDataOutput> Collect(std::string_view text, std::vector<std::string> ops) {
    MethodPrograms methods;
    ABSL_ASSIGN_OR_RETURN(ExportedProgram lowered, LowerOps(Parse(text), std::move(ops), "named"));
    methods.emplace_back("forward", std::move(lowered));
    return CollectNamedData(methods);
  }
  const NamedOpsBackend named_;
};

TEST_F(NamedDataScenarioTest, lowered_module) {
  ASSERT_OK_AND_ASSIGN(const auto module, ToBackend("named", Parse(R"(program edge {
    graph(%x: f32[2] user_input) {
      %a: f32[2] = edge.aten.add.Tensor(%x, %x)
      return (%a user_output)
    }
  })"),
                                                    {}, backends_));
  EXPECT_EQ(module->named_data.buffers.size(), 1u);
  EXPECT_THAT(Keys(module->named_data), ElementsAre("aten.add.Tensor"));
}

TEST_F(NamedDataScenarioTest, with_partitioner) {
  ASSERT_OK_AND_ASSIGN(
      const NamedDataOutput data,
      Collect(kAddSinCosSub, {"aten.add.Tensor", "aten.sin.default", "aten.sub.Tensor"}));
  EXPECT_EQ(data.buffers.size(), 3u);
  EXPECT_THAT(Keys(data), ElementsAre("aten.add.Tensor", "aten.sin.default", "aten.sub.Tensor"));
}

TEST_F(NamedDataScenarioTest, control_flow) {
  ASSERT_OK_AND_ASSIGN(
      const NamedDataOutput data,
      Collect(R"(program edge {
    graph(%p: b8[] user_input, %x: f32[2] user_input) {
      %s: f32[2] = edge.aten.sub.Tensor(%x, %x)
      %c: f32[2] = higher_order.cond(%p, graph#1, graph#2, [%s])
      %d: f32[2] = edge.aten.div.Tensor(%c, %x)
      return (%d user_output)
    }
    graph t(%u: f32[2]) {
      %v: f32[2] = edge.aten.sin.default(%u)
      return (%v)
    }
    graph f(%u: f32[2]) {
      %v: f32[2] = edge.aten.mul.Tensor(%u, %u)
      return (%v)
    }
  })",
              {"aten.sub.Tensor", "aten.div.Tensor", "aten.sin.default", "aten.mul.Tensor"}));
  EXPECT_EQ(data.buffers.size(), 4u);
  EXPECT_THAT(Keys(data), ElementsAre("aten.div.Tensor", "aten.mul.Tensor", "aten.sin.default",
                                      "aten.sub.Tensor"));
}

// xnnpack: weights of two methods are stored once, under their names.
class WeightsBackend final : public Backend {
 public:
  std::string_view id() const override { return "weights"; }
  absl::StatusOr<PreprocessResult> Preprocess(ExportedProgram program,
                                              absl::Span<const CompileSpec>) const override {
    NamedDataStore store;
    for (const auto& [name, tensor] : program.state_dict) {
      ABSL_RETURN_IF_ERROR(store.AddTensor(name, tensor));
    }
    return PreprocessResult{.processed = {}, .named_data = store.output()};
  }
};

TEST_F(NamedDataScenarioTest, weights_of_two_methods_are_stored_once) {
  const WeightsBackend weights;
  ASSERT_OK(backends_.Add(&weights));
  constexpr std::string_view kTwoLinears = R"(program edge {
    constants { state "b1": f32[3] state "b2": f32[5] state "w1": f32[2,3] state "w2": f32[3,5] }
    graph(%w1: f32[2,3] parameter "w1", %b1: f32[3] parameter "b1", %w2: f32[3,5] parameter "w2",
          %b2: f32[5] parameter "b2", %x: f32[1,2] user_input) {
      %a: f32[1,3] = edge.aten.addmm.default(%b1, %x, %w1)
      %b: f32[1,5] = edge.aten.addmm.default(%b2, %a, %w2)
      return (%b user_output)
    }
  })";
  MethodPrograms methods;
  MethodPartitioners partitioners;
  const CapabilityPartitioner all({"weights", {}}, SupportOps({"aten.addmm.default"}));
  for (const char* name : {"encode", "decode"}) {
    methods.emplace_back(name, Parse(kTwoLinears));
    partitioners.emplace_back(name, &all);
  }
  ASSERT_OK_AND_ASSIGN(const MethodPrograms lowered, ToBackend(methods, partitioners, backends_));
  ASSERT_OK_AND_ASSIGN(const NamedDataOutput data, CollectNamedData(lowered));
  EXPECT_THAT(Keys(data), ElementsAre("b1", "b2", "w1", "w2"));
  EXPECT_EQ(data.buffers.size(), 4u);
}

// Also collects from the subgraphs of a while loop (docs/lowering.md §7.11).
TEST_F(NamedDataScenarioTest, while_loop_bodies_count) {
  ASSERT_OK_AND_ASSIGN(const NamedDataOutput data, Collect(R"(program edge {
    graph(%i: i64[] user_input, %x: f32[2] user_input) {
      %j: i64[], %y: f32[2] = higher_order.while_loop(graph#1, graph#2, [%i, %x], [])
      return (%y user_output)
    }
    graph test(%i: i64[], %x: f32[2]) {
      %l: b8[] = edge.aten.lt.Scalar(%i, 3)
      return (%l)
    }
    graph step(%i: i64[], %x: f32[2]) {
      %j: i64[] = edge.aten.add.Scalar(%i, 1)
      %y: f32[2] = edge.aten.sin.default(%x)
      return (%j, %y)
    }
  })",
                                                           {"aten.lt.Scalar", "aten.sin.default"}));
  EXPECT_THAT(Keys(data), ElementsAre("aten.lt.Scalar", "aten.sin.default"));
}

}  // namespace
}  // namespace belay::exir
