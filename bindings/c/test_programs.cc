#include "bindings/c/test_programs.h"

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backends/runtime_backends.h"
#include "executorch/reader/testing/pte_builder.h"
#include "runtime/core/arena.h"
#include "runtime/core/status_macros.h"
#include "runtime/executor/testing/program_builder.h"

namespace belay {
namespace {

constexpr DType kF32 = DType::kFloat32;

std::string File() {
  TestProgram program;
  TestMethod add = program.AddMethod("add");
  const std::vector<TestConstraint> up_to_4 = {{.dim = 0, .min = 1, .max = 4, .symbol = "n"}};
  const uint32_t x = add.Input("x", kF32, {4}, up_to_4), y = add.Input("y", kF32, {4}, up_to_4);
  const uint32_t sum = add.Arena(kF32, {4}, /*dynamic_dims=*/1);
  add.Call("aten.add.Tensor", {x, y, add.Int(1)}, {sum});
  add.Output(sum);

  TestMethod count = program.AddMethod("count");
  const uint32_t step = count.Input("step", kF32, {2});
  const uint32_t state = count.State("sum", kF32, {2}, program.AddConstant<float>({10, 20}) + 1);
  const uint32_t next = count.Arena(kF32, {2});
  count.Call("aten.add.Tensor", {state, step, count.Int(1)}, {next});
  count.Move(next, state);
  count.Output(next);
  count.Bank("fast", 64, 128);

  TestMethod fixed = program.AddMethod("fixed");
  const uint32_t mode = fixed.String("fast");
  fixed.ConstantInput("mode", mode);
  fixed.Output(fixed.None());
  fixed.Output(mode);
  fixed.Output(fixed.Int(7));

  TestMethod forever = program.AddMethod("forever");
  forever.Output(forever.Input("x", kF32, {1}));
  forever.Jump(0);

  TestMethod numbers = program.AddMethod("numbers");
  numbers.Output(numbers.ScalarInput("a", schema::ScalarSlot::INT));
  numbers.Output(numbers.ScalarInput("b", schema::ScalarSlot::DOUBLE));
  numbers.Output(numbers.ScalarInput("c", schema::ScalarSlot::BOOL));

  TestMethod steps = program.AddMethod("steps");
  const uint32_t in = steps.Input("x", kF32, {2}), out = steps.Arena(kF32, {2});
  steps.Delegate("steps", program.AddSegment(schema::Segment::DELEGATE, "x"), {in}, {out});
  steps.Output(out);
  return program.Serialize();
}

// out = x; logs steps with and without a name.
class StepsHandle final : public DelegateHandle {
 public:
  StepsHandle(EventSink events, const OptionValues& options)
      : events_(events), copy_(events.Name("copy")), options_(options) {}
  absl::Status Execute(KernelContext& context) override {
    const int64_t begin = events_.Begin();
    ABSL_ASSIGN_OR_RETURN(const TensorView* x, context.Tensor(0));
    ABSL_ASSIGN_OR_RETURN(const TensorView* out, context.Output(0, x->sizes));
    std::memcpy(out->data, x->data, x->nbytes());
    events_.Step(copy_, begin);
    events_.Step({.id = 7}, events_.Begin());
    return absl::OkStatus();
  }
  OptionValue GetOption(std::string_view name) const override {
    return options_.find(name)->second;
  }
  void SetOption(std::string_view name, const OptionValue& value) override {
    options_.find(name)->second = value;
  }

 private:
  EventSink events_;
  StepId copy_;
  OptionValues options_;
};

class StepsBackend final : public BackendRuntime {
 public:
  std::string_view id() const override { return "steps"; }
  BackendOptionTable options() const override {
    static const BackendOption table[] = {
        {.name = "level",
         .about = "a number",
         .default_value = int64_t{1},
         .min = 0,
         .max = 3,
         .changeable = true},
        {.name = "checks", .about = "a flag", .default_value = false, .changeable = true},
        {.name = "device",
         .about = "a name",
         .default_value = std::string("any"),
         .changeable = true},
        {.name = "mode", .about = "a fixed name", .default_value = std::string("plain")}};
    return table;
  }
  absl::StatusOr<std::unique_ptr<DelegateHandle>> Init(const DelegateInitContext& context,
                                                       absl::Span<const std::byte>) const override {
    ABSL_ASSIGN_OR_RETURN(const OptionValues defaults, ResolveOptions(id(), options(), {}));
    return std::make_unique<StepsHandle>(context.events,
                                         context.options == nullptr ? defaults : *context.options);
  }
};

TestProgram WithCompanion() {
  TestProgram program;
  program.AddSegment(schema::Segment::NAMED_DATA, "w", "weights");
  TestMethod same = program.AddMethod("same");
  same.Output(same.Input("x", kF32, {1}));
  return program;
}

// Adds the replaceable tensor "w".
void AddParameter(const std::vector<float>& elements, TestProgram& program) {
  const std::string_view bytes(reinterpret_cast<const char*>(elements.data()),
                               elements.size() * sizeof(float));
  program.AddNamedTensor("w", std::string(bytes), kF32, {static_cast<int64_t>(elements.size())});
}

std::string WithParameter() {
  TestProgram program;
  AddParameter({1, 2}, program);
  program.AddNamedConstant("w", 8);
  TestMethod method = program.AddMethod("w");
  method.Output(method.Constant(0, kF32, {2}));
  return program.Serialize();
}

std::string ParameterFile() {
  TestProgram program;
  AddParameter({7, 8}, program);
  return program.Serialize();
}

std::string Content(TestFile file) {
  switch (file) {
    case TEST_PROGRAM_WITH_PARAMETER:
      return WithParameter();
    case TEST_PARAMETERS:
      return ParameterFile();
    case TEST_PROGRAM_WITH_COMPANION:
      return WithCompanion().Serialize();
    case TEST_COMPANION:
      return WithCompanion().SerializeCompanion("weights");
    case TEST_PTE_PROGRAM:
      return pte::Relu().Serialize();
    case TEST_PTE_EXTERNAL: {
      pte::PteBuilder builder;
      builder.Output(builder.External({2}, "w"));
      return builder.Serialize();
    }
    case TEST_PTD:
      return pte::DataFileOf({{"w", {5, 6}}});
  }
  return "";
}

AlignedBuffer Aligned(const std::string& file) {
  absl::StatusOr<AlignedBuffer> buffer = AlignedBuffer::Create(file.size());
  ABSL_CHECK(buffer.ok());
  std::memcpy(buffer->data(), file.data(), file.size());
  return *std::move(buffer);
}

}  // namespace

// The runtime's backends and StepsBackend.
std::vector<const BackendRuntime*> MoreRuntimes() {
  static const StepsBackend backend;
  return {&backend};
}

}  // namespace belay

const void* TestProgramBytes(size_t* size) {
  static const auto* bytes = new belay::AlignedBuffer(belay::Aligned(belay::File()));
  *size = bytes->size();
  return bytes->data();
}

const void* TestFileBytes(TestFile file, size_t* size) {
  static auto* files = new std::vector<belay::AlignedBuffer>;
  files->push_back(belay::Aligned(belay::Content(file)));
  *size = files->back().size();
  return files->back().data();
}
