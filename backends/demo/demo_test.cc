#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "backends/demo/demo_backend.h"
#include "backends/demo/demo_blob.h"
#include "backends/demo/demo_partitioner.h"
#include "backends/demo/demo_runtime.h"
#include "exir/backend/to_backend.h"
#include "exir/ir/text.h"
#include "exir/ops/standard_ops.h"
#include "exir/testing/programs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/budget.h"
#include "runtime/core/memory_budget.h"
#include "runtime/core/test_named_data.h"
#include "runtime/core/testing.h"
#include "runtime/kernel_interface/test_outputs.h"

namespace belay::demo {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const exir::OpRegistry& Ops() {
  static const exir::OpRegistry& ops = *exir::CreateStandardOps()->release();
  return ops;
}

absl::StatusOr<exir::ExportedProgram> Lower(const exir::ExportedProgram& program) {
  const DemoBackend backend;
  exir::BackendSet backends;
  ABSL_RETURN_IF_ERROR(backends.Add(&backend));
  return exir::ToBackend(program, *CreateDemoPartitioner({}), backends);
}

// Initializes with these arguments and outputs; their sizes are upper bounds.
absl::StatusOr<std::unique_ptr<DelegateHandle>> InitBlob(absl::Span<const std::byte> blob,
                                                         const std::vector<EValue>& bounds,
                                                         const std::vector<EValue>& output_bounds) {
  std::vector<const EValue*> arguments, outputs;
  for (const EValue& bound : bounds) arguments.push_back(&bound);
  for (const EValue& bound : output_bounds) outputs.push_back(&bound);
  const TestNamedData data;
  MemoryBudget memory("delegate_bytes", uint64_t{1} << 30);
  return DemoRuntime().Init({.method = "forward",
                             .compile_specs = {},
                             .named_data = &data,
                             .arguments = arguments,
                             .outputs = outputs,
                             .memory = &memory},
                            blob);
}

// Initializes with arguments and one output with upper-bound sizes, and calls with `inputs`.
absl::StatusOr<std::vector<float>> RunBlob(absl::Span<const std::byte> blob,
                                           std::vector<EValue> bounds, EValue output_bound,
                                           std::vector<EValue> inputs) {
  ABSL_ASSIGN_OR_RETURN(const std::unique_ptr<DelegateHandle> handle,
                        InitBlob(blob, bounds, {output_bound}));
  std::vector<EValue*> arguments;
  for (EValue& input : inputs) arguments.push_back(&input);
  EValue output = output_bound;
  EValue* outputs[] = {&output};
  FreshOutputs allocator;
  KernelContext context(arguments, outputs, &allocator, {});
  ABSL_RETURN_IF_ERROR(handle->Execute(context));
  const TensorView& view = *output.get_if<TensorView>();
  return std::vector<float>(view.as<float>(), view.as<float>() + view.numel());
}

EValue Tensor(absl::Span<const int64_t> sizes, std::vector<float>* data = nullptr) {
  return TensorView::Contiguous(DType::kFloat32, sizes, data == nullptr ? nullptr : data->data());
}

constexpr std::string_view kMlp = R"(program edge {
  ranges { s0: [1, 4] }
  constants { state "b": f32[2]  state "w": f32[3,2] }
  graph(%w: f32[3,2] parameter "w", %b: f32[2] parameter "b", %x: f32[s0,3] user_input) {
    %h: f32[s0,2] = edge.aten.addmm.default(%b, %x, %w, beta=2, alpha=0.5)  handle=4
    %r: f32[s0,2] = edge.aten.relu.default(%h)  handle=5
    %s: f32[s0,2] = edge.aten.sub.Tensor(%r, %h, alpha=3)
    return (%s user_output)
  }
})";

exir::ExportedProgram Mlp() {
  exir::ExportedProgram program = exir::ParseOrDie(kMlp, Ops());
  const auto set = [&](const char* name, Sizes sizes, const std::vector<float>& values) {
    const auto* bytes = reinterpret_cast<const std::byte*>(values.data());
    auto tensor = exir::ConstantTensor::Contiguous(
        DType::kFloat32, sizes, exir::Storage::Own({bytes, bytes + 4 * values.size()}));
    program.state_dict.at(name) = *tensor;
  };
  set("w", {3, 2}, {1, 2, 3, 4, 5, 6});
  set("b", {2}, {10, -20});
  return program;
}

TEST(DemoTest, LowersAndComputesAtEverySize) {
  ASSERT_OK_AND_ASSIGN(const exir::ExportedProgram lowered, Lower(Mlp()));
  EXPECT_EQ(lowered.top().num_nodes(), 1);
  ASSERT_EQ(lowered.lowered_modules.size(), 1);
  const exir::LoweredBackendModule& module = *lowered.lowered_modules[exir::ModuleId(0)];
  EXPECT_EQ(module.backend_id, "demo");
  EXPECT_THAT(module.debug_handle_map,
              ElementsAre(testing::Pair(exir::DelegateId(0), ElementsAre(4)),
                          testing::Pair(exir::DelegateId(1), ElementsAre(5))));
  std::vector<float> x = {1, 0, 0, -1, -1, -1};
  // h = 2 b + 0.5 x w; relu(h) - 3 h
  ASSERT_OK_AND_ASSIGN(
      const std::vector<float> one,
      RunBlob(module.processed.bytes, {Tensor({4, 3})}, Tensor({4, 2}), {Tensor({1, 3}, &x)}));
  EXPECT_THAT(one, ElementsAre(-41, 117));
  ASSERT_OK_AND_ASSIGN(
      const std::vector<float> two,
      RunBlob(module.processed.bytes, {Tensor({4, 3})}, Tensor({4, 2}), {Tensor({2, 3}, &x)}));
  EXPECT_THAT(two, ElementsAre(-41, 117, -31, 138));
}

TEST(DemoTest, RejectionsNameTheAttribute) {
  const exir::ExportedProgram program = exir::ParseOrDie(R"(program edge {
    graph(%x: f32[2,3] user_input, %i: i32[2] user_input, %t: f32[2,3]{strides=[1,2]} user_input) {
      %a: i32[2] = edge.aten.add.Tensor(%i, %i)
      %b: f32[2,3] = edge.aten.relu.default(%t)
      %c: f32[2,3] = edge.aten.neg.default(%x)
      %d: f32[2,3] = edge.aten.relu.default(%x)
      return (%a user_output, %b user_output, %c user_output, %d user_output)
    }
  })",
                                                         Ops());
  ASSERT_OK_AND_ASSIGN(const exir::PartitionResult result,
                       CreateDemoPartitioner({})->Partition(program));
  std::vector<std::string> reasons;
  for (const auto& rejection : result.rejections) reasons.push_back(rejection.reason);
  EXPECT_THAT(reasons, ElementsAre("'self' is i32[2], not a contiguous f32",
                                   "'self' is f32[2,3]{strides=[1,2]}, not a contiguous f32",
                                   "operator aten.neg.default is not supported"));
  EXPECT_EQ(result.nodes.size(), 1);
}

TEST(DemoTest, PartitionsAroundOtherOperatorsAreConvex) {
  const exir::ExportedProgram program = exir::ParseOrDie(R"(program edge {
    graph(%x: f32[2] user_input) {
      %a: f32[2] = edge.aten.relu.default(%x)
      %b: f32[2] = edge.aten.neg.default(%a)
      %c: f32[2] = edge.aten.add.Tensor(%a, %b)
      %d: f32[2] = edge.aten.tanh.default(%x)
      return (%c user_output, %d user_output)
    }
  })",
                                                         Ops());
  ASSERT_OK_AND_ASSIGN(const exir::ExportedProgram lowered, Lower(program));
  EXPECT_EQ(lowered.lowered_modules.size(), 2);
  EXPECT_EQ(lowered.top().num_nodes(), 3);
}

TEST(DemoTest, BackendRejectsUnsupportedNodes) {
  const DemoBackend backend;
  const exir::ExportedProgram program = exir::ParseOrDie(R"(program edge {
    graph(%x: f32[2] user_input) {
      %b: f32[2] = edge.aten.neg.default(%x)
      return (%b user_output)
    }
  })",
                                                         Ops());
  const absl::Status status = backend.Preprocess(program.Clone(), {}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(status.message()), HasSubstr("edge.aten.neg.default(%x)"));
  const exir::CompileSpec spec{"k", "v"};
  EXPECT_EQ(backend.Preprocess(program.Clone(), absl::MakeConstSpan(&spec, 1)).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(DemoTest, ReturnsValuesTwiceOrUnchanged) {
  DemoProgram program;
  program.set_num_arguments(1);
  program.add_outputs(0);
  std::vector<float> x = {1, 2};
  ASSERT_OK_AND_ASSIGN(
      const std::vector<float> y,
      RunBlob(WriteDemoBlob(program, {}), {Tensor({2})}, Tensor({2}), {Tensor({2}, &x)}));
  EXPECT_THAT(y, ElementsAre(1, 2));
}

TEST(DemoTest, RejectsMalformedBlobs) {
  DemoProgram good;
  good.set_num_arguments(1);
  DemoInstruction& add = *good.add_instructions();
  add.set_op(DEMO_OP_ADD);
  add.add_operands(0);
  add.add_operands(0);
  add.set_alpha(1);
  good.add_outputs(1);
  std::vector<float> x = {1, 2};
  const auto run = [&](const DemoProgram& program) {
    return RunBlob(WriteDemoBlob(program, {}), {Tensor({2})}, Tensor({2}), {Tensor({2}, &x)})
        .status();
  };
  EXPECT_TRUE(run(good).ok()) << run(good);
  const auto changed = [&](auto change) {
    DemoProgram program = good;
    change(program);
    return run(program).code();
  };
  using absl::StatusCode;
  EXPECT_EQ(changed([](DemoProgram& p) { p.set_num_arguments(2); }), StatusCode::kInvalidArgument);
  EXPECT_EQ(changed([](DemoProgram& p) { p.set_outputs(0, 7); }), StatusCode::kDataLoss);
  EXPECT_EQ(changed([](DemoProgram& p) { p.add_outputs(0); }), StatusCode::kInvalidArgument);
  EXPECT_EQ(changed([](DemoProgram& p) { p.mutable_instructions(0)->set_operands(0, 1); }),
            StatusCode::kDataLoss);
  EXPECT_EQ(changed([](DemoProgram& p) { p.mutable_instructions(0)->add_operands(0); }),
            StatusCode::kDataLoss);
  EXPECT_EQ(changed([](DemoProgram& p) { p.mutable_instructions(0)->set_op(DEMO_OP_MM); }),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(
      changed([](DemoProgram& p) { p.mutable_instructions(0)->set_op(static_cast<DemoOp>(99)); }),
      StatusCode::kUnimplemented);
  EXPECT_EQ(changed([](DemoProgram& p) { p.add_constants()->add_sizes(1); }),
            StatusCode::kDataLoss);
  EXPECT_EQ(changed([](DemoProgram& p) { p.add_constants()->add_sizes(-1); }),
            StatusCode::kDataLoss);
  EXPECT_EQ(changed([](DemoProgram& p) {
              for (int i = 0; i < 40; ++i) p.add_constants()->add_sizes(INT64_MAX);
            }),
            StatusCode::kDataLoss);

  const std::vector<std::byte> blob = WriteDemoBlob(good, {});
  for (size_t size = 0; size < blob.size(); ++size) {
    EXPECT_FALSE(RunBlob(absl::MakeConstSpan(blob.data(), size), {Tensor({2})}, Tensor({2}),
                         {Tensor({2}, &x)})
                     .ok())
        << size;
  }
  for (size_t i = 0; i < blob.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::vector<std::byte> flipped = blob;
      flipped[i] ^= static_cast<std::byte>(1 << bit);
      RunBlob(flipped, {Tensor({2})}, Tensor({2}), {Tensor({2}, &x)}).status().IgnoreError();
    }
  }
}

TEST(DemoTest, RejectsArgumentsBeyondThePlan) {
  ASSERT_OK_AND_ASSIGN(const exir::ExportedProgram lowered, Lower(Mlp()));
  const exir::Storage& blob = lowered.lowered_modules[exir::ModuleId(0)]->processed;
  std::vector<float> x(64);
  const auto run = [&](EValue input) {
    return RunBlob(blob.bytes, {Tensor({4, 3})}, Tensor({4, 2}), {input}).status().code();
  };
  EXPECT_EQ(run(Tensor({4, 3}, &x)), absl::StatusCode::kOk);
  EXPECT_EQ(run(Tensor({5, 3}, &x)), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(run(Tensor({4, 2}, &x)), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(run(Tensor({3}, &x)), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(run(EValue(int64_t{3})), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(run(TensorView::Contiguous(DType::kInt32, {4, 3}, x.data())),
            absl::StatusCode::kInvalidArgument);
  // Calls that do not match the blob.
  const auto made = [&](EValue argument, EValue output) {
    return RunBlob(blob.bytes, {argument}, output, {Tensor({4, 3}, &x)}).status();
  };
  const auto refusal = [](const char* message) {
    return StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(message));
  };
  EXPECT_THAT(made(EValue(int64_t{3}), Tensor({4, 2})), refusal("argument 0 is int, expected"));
  EXPECT_THAT(made(TensorView::Contiguous(DType::kInt32, {4, 3}, nullptr), Tensor({4, 2})),
              refusal("expected a tensor of f32"));
  EXPECT_THAT(made(Tensor({4, 3}), EValue(int64_t{3})), refusal("output 0 is int, expected"));
  EXPECT_THAT(made(Tensor({4, 3}), TensorView::Contiguous(DType::kInt32, {4, 2}, nullptr)),
              refusal("expected a tensor of f32 of rank 2"));
  EXPECT_THAT(made(Tensor({4, 3}), Tensor({4})), refusal("expected a tensor of f32 of rank 2"));
  EXPECT_THAT(RunBlob(blob.bytes, {Tensor({4, 3})}, Tensor({4, 2}), {}).status(),
              refusal("expected 1 arguments"));
}

DemoInstruction& Add(DemoProgram& program, DemoOp op, std::vector<uint32_t> operands) {
  DemoInstruction& added = *program.add_instructions();
  added.set_op(op);
  added.set_alpha(1);
  for (uint32_t operand : operands) added.add_operands(operand);
  return added;
}

TEST(DemoTest, ConstantsMayBeMisaligned) {
  DemoProgram program;
  program.set_num_arguments(1);
  program.add_constants()->add_sizes(2);
  DemoConstant& second = *program.add_constants();
  second.add_sizes(1);
  second.set_offset(8);
  Add(program, DEMO_OP_ADD, {0, 1});
  Add(program, DEMO_OP_MUL, {3, 2});
  program.add_outputs(4);
  const float constants[] = {10, 20, 3};
  const auto* elements = reinterpret_cast<const std::byte*>(constants);
  const std::vector<std::byte> blob =
      WriteDemoBlob(program, std::vector<std::byte>(elements, elements + sizeof(constants)));
  std::vector<float> x = {1, 2};
  for (size_t at : {0, 1, 2, 3, 4}) {
    std::vector<std::byte> moved(at);
    moved.insert(moved.end(), blob.begin(), blob.end());
    EXPECT_THAT(RunBlob(absl::MakeConstSpan(moved).subspan(at), {Tensor({2})}, Tensor({2}),
                        {Tensor({2}, &x)})
                    .value(),
                ElementsAre(33, 66))
        << at;
  }
  const auto refused = [&](const DemoProgram& changed) {
    EXPECT_THAT(
        RunBlob(WriteDemoBlob(changed, std::vector<std::byte>(elements, elements + 12)),
                {Tensor({2})}, Tensor({2}), {Tensor({2}, &x)}),
        StatusIs(absl::StatusCode::kDataLoss, HasSubstr("constant 1 is outside of the blob")));
  };
  second.set_offset(2);  // misaligned
  refused(program);
  second.set_offset(12);
  refused(program);
  second.set_offset(0);
  for (int i = 0; i < 17; ++i) second.add_sizes(1);
  refused(program);
}

TEST(DemoTest, ResultsMayBeReturnedTwice) {
  DemoProgram program;
  program.set_num_arguments(1);
  Add(program, DEMO_OP_RELU, {0});
  for (int i = 0; i < 2; ++i) program.add_outputs(1);
  const EValue bound = Tensor({2});
  ASSERT_OK_AND_ASSIGN(const auto handle,
                       InitBlob(WriteDemoBlob(program, {}), {bound}, {bound, bound}));
  std::vector<float> x = {-1, 2};
  EValue argument = Tensor({2}, &x), first = Tensor({2}), second = Tensor({2});
  EValue *arguments_of_call[] = {&argument}, *outputs_of_call[] = {&first, &second};
  FreshOutputs allocator;
  KernelContext context(arguments_of_call, outputs_of_call, &allocator, {});
  ASSERT_OK(handle->Execute(context));
  EXPECT_THAT(ToVector<float>(*first.get_if<TensorView>()), ElementsAre(0, 2));
  EXPECT_THAT(ToVector<float>(*second.get_if<TensorView>()), ElementsAre(0, 2));
}

TEST(DemoTest, OutputsMayBeUnallocated) {
  class None final : public OutputAllocator {
   public:
    absl::Status Resize(TensorView&, absl::Span<const int64_t>) override {
      return absl::ResourceExhaustedError("none is left");
    }
  } allocator;
  // Computed by an instruction, or copied.
  for (const bool computed : {true, false}) {
    DemoProgram program;
    program.set_num_arguments(1);
    if (computed) Add(program, DEMO_OP_RELU, {0});
    program.add_outputs(computed ? 1 : 0);
    const EValue bound = Tensor({2});
    ASSERT_OK_AND_ASSIGN(const auto handle, InitBlob(WriteDemoBlob(program, {}), {bound}, {bound}));
    std::vector<float> x = {-1, 2};
    EValue argument = Tensor({2}, &x), output = Tensor({2});
    EValue *arguments_of_call[] = {&argument}, *outputs_of_call[] = {&output};
    KernelContext context(arguments_of_call, outputs_of_call, &allocator, {});
    EXPECT_THAT(handle->Execute(context),
                StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("none is left")));
  }
}

TEST(DemoTest, RejectsResultsLargerThanPlanned) {
  DemoProgram program;
  program.set_num_arguments(1);
  Add(program, DEMO_OP_RELU, {0});
  Add(program, DEMO_OP_RELU, {1});
  program.add_outputs(2);
  std::vector<float> x(8, 1);
  const auto run = [&](std::vector<int64_t> sizes) {
    return RunBlob(WriteDemoBlob(program, {}), {Tensor({2, 2})}, Tensor({2, 2}),
                   {Tensor(sizes, &x)})
        .status();
  };
  EXPECT_OK(run({1, 4}));
  EXPECT_THAT(run({1, 5}),
              StatusIs(absl::StatusCode::kOutOfRange,
                       HasSubstr("the result [1,5] has more than the 4 elements planned for")));
}

TEST(DemoTest, ResultsAreBounded) {
  // x · x' of [2^20, 1] and its transpose: 2^40 elements between two instructions.
  DemoProgram program;
  program.set_num_arguments(2);
  Add(program, DEMO_OP_MUL, {0, 1});
  Add(program, DEMO_OP_RELU, {2});
  program.add_outputs(3);
  const int64_t many = int64_t{1} << 20;
  const auto init = [&](int64_t size) {
    return RunBlob(WriteDemoBlob(program, {}), {Tensor({size, 1}), Tensor({1, size})},
                   Tensor({size, size}), {})
        .status();
  };
  EXPECT_THAT(init(many), StatusIs(absl::StatusCode::kResourceExhausted,
                                   HasSubstr("intermediate results need more than")));
  EXPECT_THAT(init(many * many),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("instruction 0: the result")));
  EXPECT_EQ(init(int64_t{1} << 31).code(), absl::StatusCode::kResourceExhausted);
}

// Work of instructions is charged to the call's budget: 2 · 3 · 4 multiply-adds and 8 elements.
TEST(DemoTest, ChargesWorkToTheBudget) {
  DemoProgram program;
  program.set_num_arguments(2);
  Add(program, DEMO_OP_MM, {0, 1});
  Add(program, DEMO_OP_RELU, {2});
  program.add_outputs(3);
  ASSERT_OK_AND_ASSIGN(
      const auto handle,
      InitBlob(WriteDemoBlob(program, {}), {Tensor({2, 3}), Tensor({3, 4})}, {Tensor({2, 4})}));
  std::vector<float> x(12, 1);
  for (const uint64_t allowed : {31, 32}) {
    EValue a = Tensor({2, 3}, &x), b = Tensor({3, 4}, &x), y = Tensor({2, 4});
    EValue *arguments_of_call[] = {&a, &b}, *outputs_of_call[] = {&y};
    FreshOutputs allocator;
    KernelContext context(arguments_of_call, outputs_of_call, &allocator, {});
    Budget budget;
    budget.work.allowed = allowed;
    EXPECT_EQ(handle->ExecuteWithin(context, budget).code(),
              allowed < 32 ? absl::StatusCode::kResourceExhausted : absl::StatusCode::kOk);
  }
}

TEST(DemoTest, PartitionerNamesInvalidOperands) {
  const exir::ExportedProgram program = exir::ParseOrDie(R"(program edge {
    ranges { s0: [1, 4] }
    graph(%x: f32[2] user_input, %n: symint(s0) user_input) {
      %a: f32[2] = edge.aten.add.Tensor(%n, %x)
      %b: f32[2] = edge.aten.add.Tensor(%x, 3)
      %c: f32[2] = edge.aten.add.Tensor(%x, %x, alpha=%n)
      %d: i64[2] = edge.aten.relu.default(%x)
      %e: symint(s0) = edge.aten.relu.default(%x)
      return (%a user_output, %b user_output, %c user_output, %d user_output)
    }
  })",
                                                         Ops());
  std::vector<std::string> reasons;
  for (exir::NodeId id : program.top().nodes())
    reasons.push_back(UnsupportedByDemoReason(program.top(), id));
  EXPECT_THAT(
      reasons,
      ElementsAre("'self' is not a tensor", "'other' is not a tensor", "'alpha' is not a scalar",
                  "the result is i64[2], not a contiguous f32", "the result is not a tensor"));
}

TEST(DemoTest, BackendRequiresFloat32ConstantsAndTensorResults) {
  const DemoBackend backend;
  const auto compile = [&](std::string_view text) {
    return backend.Preprocess(exir::ParseOrDie(text, Ops()), {}).status();
  };
  EXPECT_THAT(compile(R"(program edge {
    constants { state "w": i64[2] }
    graph(%w: i64[2] parameter "w", %x: f32[2] user_input) {
      %y: f32[2] = edge.aten.relu.default(%x)
      return (%y user_output)
    }
  })"),
              StatusIs(absl::StatusCode::kUnimplemented,
                       HasSubstr("constant %w is not a tensor of float32")));
  EXPECT_THAT(compile(R"(program edge {
    constants { state "w": f32[2] }
    graph(%w: f32[2] buffer "w", %x: f32[2] user_input) {
      %y: f32[2] = edge.aten.add.Tensor(%w, %x)
      return (%y buffer_mutation "w", %y user_output)
    }
  })"),
              StatusIs(absl::StatusCode::kUnimplemented,
                       HasSubstr("output 0 is a buffer_mutation; only tensors that are returned")));
  EXPECT_THAT(compile(R"(program edge {
    graph(%x: f32[2] user_input) {
      %y: f32[2] = edge.aten.relu.default(%x)
      return (%y user_output, 3 user_output)
    }
  })"),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("output 1 is a user_output")));
}

}  // namespace
}  // namespace belay::demo
