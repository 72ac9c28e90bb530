// Tests of the entry points: errors, several methods, backends' replies, threads, size.
#include "exir/backend/to_backend.h"

#include <string>
#include <string_view>
#include <vector>

#include "exir/backend/testing/recording_backend.h"
#include "exir/backend/testing/to_backend_fixture.h"
#include "exir/ir/graph_editor.h"
#include "exir/ir/text.h"
#include "exir/ir/verifier.h"
#include "exir/testing/programs.h"
#include "exir/testing/test_ops.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// --- docs/lowering.md §10 ---

TEST_F(ToBackendTest, UnknownBackendListsTheKnownOnes) {
  TextPartitioner partitioner;
  partitioner.delegation = {{"t0", {"Invalid", {}}}};
  ExpectError(Error(kTwoNodes, partitioner), absl::StatusCode::kNotFound,
              {"tag 't0'", "Backend Invalid was not found", "recorder"});
  ExpectError(ToBackend("FakeBackend", Parse(kTwoNodes), {}, backends_).status(),
              absl::StatusCode::kNotFound, {"Backend FakeBackend was not found", "recorder"});
}

// docs/lowering.md rows 11, 12.
TEST_F(ToBackendTest, RejectsAtenProgramsNamingTheFirstNode) {
  constexpr std::string_view kAten = R"(program aten {
    graph(%x: f32[2] user_input) {
      %a: f32[2] = aten.neg.default(%x)  @"model.py":3
      %b: f32[2] = aten.neg.default(%a)
      return (%b user_output)
    }
  })";
  TextPartitioner partitioner;
  for (const absl::Status& status :
       {Error(kAten, partitioner), ToBackend("recorder", Parse(kAten), {}, backends_).status()}) {
    ExpectError(status, absl::StatusCode::kFailedPrecondition,
                {"expected an edge program, got one of the dialect ATEN",
                 "%a: f32[2] = aten.neg.default(%x) (model.py:3)"});
  }
}

// docs/lowering.md row 10.
TEST_F(ToBackendTest, RejectsUnsupportedDevices) {
  class CudaBackend final : public Backend {
   public:
    std::string_view id() const override { return "cuda_backend"; }
    bool SupportsDevice(const Device& device) const override { return device.type == "cuda"; }
    absl::StatusOr<PreprocessResult> Preprocess(ExportedProgram,
                                                absl::Span<const CompileSpec>) const override {
      return PreprocessResult();
    }
  };
  const CudaBackend cuda;
  ASSERT_OK(backends_.Add(&cuda));
  const std::vector<CompileSpec> on_cuda = {{"target_device", "CUDA:1"}};
  const std::string message =
      "backend recorder does not support the device cuda:1, which the compile spec "
      "'target_device' asks for";
  TextPartitioner partitioner;
  partitioner.delegation = {{"t0", {"recorder", on_cuda}}};
  ExpectError(Error(kTwoNodes, partitioner), absl::StatusCode::kUnimplemented,
              {"tag 't0'", message});
  ExpectError(ToBackend("recorder", Parse(kTwoNodes), on_cuda, backends_).status(),
              absl::StatusCode::kUnimplemented, {message});
  partitioner.delegation = {{"t0", {"cuda_backend", on_cuda}}};
  EXPECT_OK(Error(kTwoNodes, partitioner));
  const std::vector<CompileSpec> on_tpu = {{"target_device", "tpu"}};
  ExpectError(ToBackend("cuda_backend", Parse(kTwoNodes), on_tpu, backends_).status(),
              absl::StatusCode::kUnimplemented, {"cuda_backend does not support the device tpu:0"});
  const std::vector<CompileSpec> nowhere = {{"target_device", "cuda:first"}};
  ExpectError(ToBackend("cuda_backend", Parse(kTwoNodes), nowhere, backends_).status(),
              absl::StatusCode::kInvalidArgument, {"cuda:first"});
}

TEST_F(ToBackendTest, RejectsTwoBackendsWithOneId) {
  const FunctionBackend again("recorder");
  ExpectError(backends_.Add(&again), absl::StatusCode::kAlreadyExists, {"'recorder'"});
}

TEST_F(ToBackendTest, BackendsListIdsAndTargets) {
  class CpuBackend final : public Backend {
   public:
    std::string_view id() const override { return "cpu_backend"; }
    std::string_view target() const override { return "x86"; }
    absl::StatusOr<PreprocessResult> Preprocess(ExportedProgram,
                                                absl::Span<const CompileSpec>) const override {
      return PreprocessResult();
    }
  };
  const CpuBackend cpu;
  ASSERT_OK(backends_.Add(&cpu));
  EXPECT_THAT(backends_.Ids(), ElementsAre("cpu_backend", "recorder"));
  ExpectError(backends_.Find("none").status(), absl::StatusCode::kNotFound,
              {"Backend none was not found; there are: cpu_backend of x86, recorder"});
  ExpectError(BackendSet().Find("none").status(), absl::StatusCode::kNotFound, {"there are: none"});
}

TEST_F(ToBackendTest, ProgramsWithoutNodesOrGraphs) {
  ExpectError(ToBackend("recorder", Parse("program aten { graph() { return () } }"), {}, backends_)
                  .status(),
              absl::StatusCode::kFailedPrecondition,
              {"got one of the dialect ATEN (ToEdge converts it)"});
  MethodPrograms methods;
  methods.emplace_back("none", ExportedProgram(&TestOps()));
  ASSERT_OK_AND_ASSIGN(const NamedDataOutput data, CollectNamedData(methods));
  EXPECT_TRUE(data.empty());
}

TEST_F(ToBackendTest, CycleInOneTagPrintsThePath) {
  const absl::Status status = Error(R"(program edge {
    graph(%x: f32[2] user_input) {
      %a: f32[2] = edge.aten.relu.default(%x)  tag="t"
      %b: f32[2] = edge.aten.neg.default(%a)  @"model.py":12
      %c: f32[2] = edge.aten.add.Tensor(%a, %b)  tag="t"
      return (%c user_output)
    }
  })",
                                    TextPartitioner());
  ExpectError(status, absl::StatusCode::kFailedPrecondition,
              {"method 'forward'", "invalid partition, found dependency cycles", "tag 't'",
               "\n  %a: f32[2] = edge.aten.relu.default(%x)  [tag 't']"
               "\n  %b: f32[2] = edge.aten.neg.default(%a) (model.py:12)"
               "\n  %c: f32[2] = edge.aten.add.Tensor(%a, %b)  [tag 't']"});
}

// Not through %c, although it is the first user of %a.
TEST_F(ToBackendTest, PrintsTheShortestCyclePath) {
  const absl::Status status = Error(R"(program edge {
    graph(%x: f32[2] user_input) {
      %a: f32[2] = edge.aten.relu.default(%x)  tag="t"
      %c: f32[2] = edge.aten.neg.default(%a)
      %b: f32[2] = edge.aten.add.Tensor(%a, %c)
      %d: f32[2] = edge.aten.neg.default(%b)
      %e: f32[2] = edge.aten.relu.default(%d)  tag="t"
      return (%e user_output)
    }
  })",
                                    TextPartitioner());
  ExpectError(status, absl::StatusCode::kFailedPrecondition,
              {"\n  %a: f32[2] = edge.aten.relu.default(%x)  [tag 't']"
               "\n  %b: f32[2] = edge.aten.add.Tensor(%a, %c)"
               "\n  %d: f32[2] = edge.aten.neg.default(%b)"
               "\n  %e: f32[2] = edge.aten.relu.default(%d)  [tag 't']"});
}

TEST_F(ToBackendTest, CycleBetweenTagsNamesTheLaterAndShowsBoth) {
  const absl::Status status = Error(R"(program edge {
    graph(%x: f32[2] user_input) {
      %a: f32[2] = edge.aten.relu.default(%x)  tag="t"
      %b: f32[2] = edge.aten.neg.default(%a)  tag="u"
      %c: f32[2] = edge.aten.relu.default(%x)  tag="u"
      %d: f32[2] = edge.aten.neg.default(%c)  tag="t"
      return (%b user_output, %d user_output)
    }
  })",
                                    TextPartitioner());
  ExpectError(
      status, absl::StatusCode::kFailedPrecondition,
      {"dependency cycles: the results of tag 'u'", "%c: f32[2]", "[tag 't']", "%a: f32[2]"});
}

TEST_F(ToBackendTest, RejectsProgramThatDoesNotVerify) {
  ExportedProgram program = Parse(kTwoNodes);
  program.signature.outputs.clear();
  ExpectError(ToBackend(program, TextPartitioner(), backends_).status(),
              absl::StatusCode::kFailedPrecondition, {"V8"});
}

TEST_F(ToBackendTest, BackendErrorNamesBackendMethodTagAndPartition) {
  const FunctionBackend failing("failing", [](ExportedProgram, absl::Span<const CompileSpec>) {
    return absl::UnimplementedError("aten.cos.default is not supported");
  });
  ASSERT_TRUE(backends_.Add(&failing).ok());
  TextPartitioner partitioner;
  partitioner.delegation = {{"t0", {"failing", {}}}};
  ExpectError(Error(kTwoNodes, partitioner), absl::StatusCode::kUnimplemented,
              {"backend failing: method 'forward', partition 0 (tag 't0'): aten.cos.default is not "
               "supported"});
  ExpectError(ToBackend("failing", Parse(kTwoNodes), {}, backends_).status(),
              absl::StatusCode::kUnimplemented,
              {"backend failing: aten.cos.default is not supported"});
}

TEST_F(ToBackendTest, RejectsPartitionersOfUnknownOrRepeatedMethods) {
  const TextPartitioner partitioner;
  MethodPrograms methods;
  methods.emplace_back("forward", Parse(kTwoNodes));
  ExpectError(ToBackend(methods, {{"nope", &partitioner}}, backends_).status(),
              absl::StatusCode::kInvalidArgument, {"'nope'", "no such method"});
  ExpectError(ToBackend(methods, {{"forward", &partitioner}, {"forward", &partitioner}}, backends_)
                  .status(),
              absl::StatusCode::kInvalidArgument, {"two partitioners for method 'forward'"});
  methods.emplace_back("forward", Parse(kTwoNodes));
  ExpectError(ToBackend(methods, {{"forward", &partitioner}}, backends_).status(),
              absl::StatusCode::kInvalidArgument, {"two methods with the name 'forward'"});
}

// --- Replies ---

class ReplyTest : public ToBackendTest {
 protected:
  absl::Status Reply(const std::function<void(MethodResults&)>& change) {
    const MultimethodBackend backend("multi", [&](MethodPartitions methods) {
      MethodResults results;
      for (const auto& [name, partitions] : methods) {
        results.emplace_back(name, std::vector<PreprocessResult>(partitions.size()));
      }
      change(results);
      return results;
    });
    BackendSet backends;
    EXPECT_TRUE(backends.Add(&backend).ok());
    TextPartitioner partitioner;
    partitioner.delegation = {{"t0", {"multi", {}}}};
    MethodPrograms methods;
    methods.emplace_back("m1", Parse(kTwoNodes));
    methods.emplace_back("m2", Parse(kTwoNodes));
    return ToBackend(methods, {{"m1", &partitioner}, {"m2", &partitioner}}, backends).status();
  }
};

TEST_F(ReplyTest, RejectsRepliesOfWrongShape) {
  EXPECT_TRUE(Reply([](MethodResults&) {}).ok());
  EXPECT_TRUE(Reply([](MethodResults& r) { std::swap(r[0], r[1]); }).ok());
  ExpectError(Reply([](MethodResults& r) { r[1].second.pop_back(); }), absl::StatusCode::kInternal,
              {"backend multi replied with 0 results for the 1 partitions of method 'm2'"});
  ExpectError(Reply([](MethodResults& r) { r[1].second.emplace_back(); }),
              absl::StatusCode::kInternal, {"replied with 2 results for the 1 partitions"});
  ExpectError(Reply([](MethodResults& r) { r.pop_back(); }), absl::StatusCode::kInternal,
              {"did not reply for method 'm2'"});
  ExpectError(Reply([](MethodResults& r) { r[1].first = "m3"; }), absl::StatusCode::kInternal,
              {"replied for method 'm3', which it was not given"});
  ExpectError(Reply([](MethodResults& r) { r[1].first = "m1"; }), absl::StatusCode::kInternal,
              {"replied twice for method 'm1'"});
}

// --- Several methods ---

TEST_F(ToBackendTest, TwoMethodsTwoBackends) {
  std::vector<std::string> calls;
  const auto record = [&calls](std::string id) {
    return [&calls, id](MethodPartitions methods) -> absl::StatusOr<MethodResults> {
      std::string call = id + ":";
      MethodResults results;
      for (const auto& [name, partitions] : methods) {
        absl::StrAppend(&call, " ", name, "[");
        std::vector<PreprocessResult> replies;
        for (const PartitionInput& partition : partitions) {
          absl::StrAppend(&call, partition.tag, partition.compile_specs[0].value, " ");
          replies.push_back({.processed = TextStorage(absl::StrCat(name, replies.size()))});
        }
        call += "]";
        results.emplace_back(name, std::move(replies));
      }
      calls.push_back(call);
      return results;
    };
  };
  const MultimethodBackend first("First", record("First")), second("Second", record("Second"));
  ASSERT_TRUE(backends_.Add(&first).ok());
  ASSERT_TRUE(backends_.Add(&second).ok());
  MethodPrograms methods;
  methods.emplace_back("m1", Parse(R"(program edge {
    graph(%x: f32[2] user_input) {
      %a: f32[2] = edge.aten.add.Tensor(%x, %x)  tag="f"
      %b: f32[2] = edge.aten.neg.default(%a)  tag="s"
      return (%b user_output)
    }
  })"));
  methods.emplace_back("m2", Parse(R"(program edge {
    graph(%x: f32[2] user_input) {
      %b: f32[2] = edge.aten.neg.default(%x)  tag="s"
      %a: f32[2] = edge.aten.add.Tensor(%b, %x)  tag="f"
      return (%a user_output)
    }
  })"));
  methods.emplace_back("m3", Parse(kTwoNodes));
  TextPartitioner partitioner;
  partitioner.delegation = {{"f", {"First", {{"", "1"}}}}, {"s", {"Second", {{"", "2"}}}}};
  ASSERT_OK_AND_ASSIGN(const MethodPrograms lowered,
                       ToBackend(methods, {{"m2", &partitioner}, {"m1", &partitioner}}, backends_));
  EXPECT_THAT(calls, ElementsAre("First: m2[f1 ] m1[f1 ]", "Second: m2[s2 ] m1[s2 ]"));
  ASSERT_EQ(lowered.size(), 3);
  EXPECT_EQ(lowered[0].first, "m1");
  EXPECT_EQ(lowered[2].first, "m3");
  EXPECT_TRUE(Equal(lowered[2].second, methods[2].second));
  const ExportedProgram& m2 = lowered[1].second;
  EXPECT_EQ(m2.lowered_modules[ModuleId(0)]->backend_id, "First");
  EXPECT_EQ(TextOf(m2.lowered_modules[ModuleId(1)]->processed), "m20");
}

TEST_F(ToBackendTest, BackendGetsSubgraphsDepthFirst) {
  std::vector<std::string> order;
  const MultimethodBackend backend("multi", [&](MethodPartitions methods) {
    MethodResults results;
    for (const PartitionInput& partition : methods[0].second) {
      order.push_back(partition.program.top().node(partition.program.top().first()).name);
    }
    results.emplace_back(methods[0].first, std::vector<PreprocessResult>(order.size()));
    return results;
  });
  ASSERT_TRUE(backends_.Add(&backend).ok());
  TextPartitioner partitioner;
  partitioner.delegation = {{"t", {"multi", {}}}};
  const ExportedProgram program = Parse(R"(program edge {
    graph(%p: b8[] user_input, %x: f32[2] user_input) {
      %c: f32[2] = higher_order.cond(%p, graph#3, graph#1, [%p, %x])
      %top: f32[2] = edge.aten.relu.default(%c)  tag="t"
      return (%top user_output)
    }
    graph outer_false(%q: b8[], %y: f32[2]) {
      %outer_f: f32[2] = edge.aten.neg.default(%y)  tag="t"
      return (%outer_f)
    }
    graph inner_true(%y: f32[2]) {
      %inner_t: f32[2] = edge.aten.neg.default(%y)  tag="t"
      return (%inner_t)
    }
    graph outer_true(%q: b8[], %y: f32[2]) {
      %outer_t: f32[2] = edge.aten.neg.default(%y)  tag="t"
      %d: f32[2] = higher_order.cond(%q, graph#2, graph#4, [%outer_t])
      return (%d)
    }
    graph inner_false(%y: f32[2]) {
      %inner_f: f32[2] = edge.aten.neg.default(%y)  tag="t"
      return (%inner_f)
    }
  })");
  ASSERT_OK_AND_ASSIGN(const ExportedProgram lowered, ToBackend(program, partitioner, backends_));
  EXPECT_THAT(order, ElementsAre("top", "outer_t", "inner_t", "inner_f", "outer_f"));
}

TEST_F(ToBackendTest, BackendMayChangeItsProgram) {
  const FunctionBackend changing(
      "changing",
      [](ExportedProgram program,
         absl::Span<const CompileSpec>) -> absl::StatusOr<PreprocessResult> {
        GraphEditor editor(program.top());
        editor.SetOutputs({});
        editor.EraseDeadNodes();
        return PreprocessResult{.processed = TextStorage("x"), .delegate_info = "test"};
      });
  ASSERT_TRUE(backends_.Add(&changing).ok());
  const ExportedProgram program = Parse(kTwoNodes);
  ASSERT_OK_AND_ASSIGN(const auto module, ToBackend("changing", program, {{"k", "v"}}, backends_));
  EXPECT_TRUE(Equal(module->original, program));
  EXPECT_EQ(module->delegate_info, "test");
  EXPECT_EQ(module->compile_specs[0].key, "k");
  EXPECT_EQ(TextOf(module->processed), "x");
}

TEST_F(ToBackendTest, SpecsKeepOrderAndRepetition) {
  TextPartitioner partitioner;
  partitioner.delegation = {
      {"t0", {"recorder", {{"b", std::string("\0x", 2)}, {"a", "1"}, {"b", "2"}}}}};
  ASSERT_OK_AND_ASSIGN(const ExportedProgram lowered,
                       ToBackend(Parse(kTwoNodes), partitioner, backends_));
  EXPECT_EQ(lowered.lowered_modules[ModuleId(0)]->compile_specs,
            partitioner.delegation[0].second.compile_specs);
}

// --- Threads and size ---

// 100 nodes per partition, with an undelegated node between partitions.
ExportedProgram Chain(size_t partitions, size_t nodes_each) {
  ExportedProgram program(&TestOps());
  program.dialect = IrDialect::kEdge;
  program.graphs.push_back(Graph());
  GraphEditor editor(program.top());
  const ValueType type = TensorMeta::Contiguous(DType::kFloat32, {2});
  ValueId value = editor.AddInput("x", type);
  program.signature.inputs.push_back({});
  const OpOverload* neg = TestOps().FindText("edge.aten.neg.default");
  for (size_t p = 0; p < partitions; ++p) {
    for (size_t n = 0; n < nodes_each; ++n) {
      value = editor.InsertOp(NodeId(),
                              {.name = "neg",
                               .target = neg,
                               .arguments = {value},
                               .delegation_tag = n == 0 ? "" : absl::StrCat("t", p)},
                              type);
    }
  }
  editor.SetOutputs({value});
  program.signature.outputs.push_back({});
  return program;
}

TEST_F(ToBackendTest, ResultDoesNotDependOnThreads) {
  const FunctionBackend printer(
      "recorder", [](ExportedProgram program, absl::Span<const CompileSpec>) {
        return PreprocessResult{.processed = TextStorage(PrintProgram(program))};
      });
  BackendSet backends;
  ASSERT_TRUE(backends.Add(&printer).ok());
  const ExportedProgram program = Chain(40, 5);
  ASSERT_OK_AND_ASSIGN(const ExportedProgram one, ToBackend(program, TextPartitioner(), backends));
  ToBackendOptions options;
  options.threads = 4;
  ASSERT_OK_AND_ASSIGN(const ExportedProgram four,
                       ToBackend(program, TextPartitioner(), backends, options));
  EXPECT_EQ(PrintProgram(one), PrintProgram(four));
}

TEST_F(ToBackendTest, FirstErrorDoesNotDependOnThreads) {
  const FunctionBackend failing(
      "recorder",
      [](ExportedProgram program,
         absl::Span<const CompileSpec>) -> absl::StatusOr<PreprocessResult> {
        const Graph& graph = program.top();
        if (graph.node(graph.first()).name < "neg_5") return PreprocessResult();
        return absl::UnimplementedError("no");
      });
  BackendSet backends;
  ASSERT_TRUE(backends.Add(&failing).ok());
  const ExportedProgram program = Chain(40, 5);
  ToBackendOptions options;
  const absl::Status one = ToBackend(program, TextPartitioner(), backends, options).status();
  EXPECT_FALSE(one.ok());
  options.threads = 4;
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(ToBackend(program, TextPartitioner(), backends, options).status(), one);
  }
}

// Compiles the partitions in three rounds.
class RoundsBackend final : public Backend {
 public:
  std::string_view id() const override { return "recorder"; }
  absl::StatusOr<PreprocessResult> Preprocess(ExportedProgram program,
                                              absl::Span<const CompileSpec>) const override {
    const Graph& graph = program.top();
    const std::string& first = graph.node(graph.first()).name;
    if (first == fails) return absl::UnimplementedError(first);
    return PreprocessResult{.processed = TextStorage(absl::StrCat("after ", ended_))};
  }
  absl::StatusOr<MethodResults> PreprocessMultimethod(MethodPartitions methods,
                                                      int threads) const override {
    std::vector<int> rounds;
    for (size_t i = 0; i < methods[0].second.size(); ++i) {
      rounds.push_back(2 - static_cast<int>(i % 3));
    }
    return PreprocessInRounds(std::move(methods), rounds, threads, [this] { ++ended_; });
  }
  std::string fails = {};

 private:
  mutable int ended_ = 0;
};

TEST_F(ToBackendTest, PartitionsOfARoundRunAfterLowerRounds) {
  for (const int threads : {1, 4}) {
    const RoundsBackend rounds;
    BackendSet backends;
    ASSERT_TRUE(backends.Add(&rounds).ok());
    ToBackendOptions options;
    options.threads = threads;
    ASSERT_OK_AND_ASSIGN(const ExportedProgram lowered,
                         ToBackend(Chain(6, 2), TextPartitioner(), backends, options));
    std::vector<std::string> blobs;
    for (size_t i = 0; i < 6; ++i) {
      const Storage& blob = lowered.lowered_modules[ModuleId(i)]->processed;
      blobs.emplace_back(reinterpret_cast<const char*>(blob.bytes.data()), blob.bytes.size());
    }
    EXPECT_THAT(blobs, ::testing::ElementsAre("after 2", "after 1", "after 0", "after 2", "after 1",
                                              "after 0"));
  }
}

TEST_F(ToBackendTest, FailureOfARoundNamesThePartition) {
  RoundsBackend rounds;
  rounds.fails = "neg_9";  // the fifth partition, in the second round
  BackendSet backends;
  ASSERT_TRUE(backends.Add(&rounds).ok());
  EXPECT_THAT(ToBackend(Chain(6, 2), TextPartitioner(), backends).status().message(),
              ::testing::HasSubstr("partition 4 (tag 't4')"));
}

TEST_F(ToBackendTest, HundredThousandNodesInAThousandPartitionsTakeSeconds) {
  const ExportedProgram program = Chain(1000, 100);
  ASSERT_OK_AND_ASSIGN(const ExportedProgram lowered,
                       ToBackend(program, TextPartitioner(), backends_));
  EXPECT_EQ(lowered.lowered_modules.size(), 1000);
  EXPECT_EQ(lowered.top().num_nodes(), 2000);
}

}  // namespace
}  // namespace belay::exir
