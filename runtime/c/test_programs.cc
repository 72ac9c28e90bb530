#include "runtime/c/test_programs.h"

#include <cstring>
#include <string>
#include <utility>
#include <vector>

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

  TestMethod forever = program.AddMethod("forever");
  forever.Output(forever.Input("x", kF32, {1}));
  forever.Jump(0);

  TestMethod numbers = program.AddMethod("numbers");
  numbers.Output(numbers.ScalarInput("a", schema::ScalarSlot::INT));
  numbers.Output(numbers.ScalarInput("b", schema::ScalarSlot::DOUBLE));
  numbers.Output(numbers.ScalarInput("c", schema::ScalarSlot::BOOL));
  return program.Serialize();
}

AlignedBuffer Aligned(const std::string& file) {
  absl::StatusOr<AlignedBuffer> buffer = AlignedBuffer::Create(file.size());
  ABSL_CHECK(buffer.ok());
  std::memcpy(buffer->data(), file.data(), file.size());
  return *std::move(buffer);
}

}  // namespace
}  // namespace belay

const void* TestProgramBytes(size_t* size) {
  static const auto* bytes = new belay::AlignedBuffer(belay::Aligned(belay::File()));
  *size = bytes->size();
  return bytes->data();
}
