// Classes I: instructions with invalid reads, writes or jumps.
#include <string>

#include "fuzz/negative/negative_files.h"
#include "fuzz/negative/program_edits.h"

namespace belay::fuzz {
namespace {

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kExhausted = absl::StatusCode::kResourceExhausted;

const ProgramEdit kEdits[] = {
    {"I1_condition_index", "a condition that does not exist", kInvalid,
     "jump_if_false.condition: value 500",
     BELAY_EDIT(InstructionAt(method, v.branch).mutable_jump_if_false()->set_condition(500))},
    {"I1_condition_null", "a condition that is None", kInvalid, "is neither a bool",
     BELAY_EDIT(InstructionAt(method, v.branch).mutable_jump_if_false()->set_condition(v.none))},
    {"I1_condition_int", "a condition that is an int", kInvalid, "is neither a bool",
     BELAY_EDIT(InstructionAt(method, v.branch).mutable_jump_if_false()->set_condition(v.three))},
    {"I1_condition_float_tensor", "a condition of floats", kInvalid, "is neither a bool",
     BELAY_EDIT(
         InstructionAt(method, v.branch).mutable_jump_if_false()->set_condition(v.bool_tensor);
         TensorAt(method, v.bool_tensor).set_dtype(7))},
    {"I1_condition_of_two", "a condition of two elements", kInvalid, "is neither a bool",
     BELAY_EDIT(
         InstructionAt(method, v.branch).mutable_jump_if_false()->set_condition(v.bool_tensor);
         TensorAt(method, v.bool_tensor).set_sizes(0, 2))},
    {"I1_target", "a jump beyond the end", kInvalid,
     "jump_if_false.target: 8 is beyond the 7 instructions",
     BELAY_EDIT(InstructionAt(method, v.branch).mutable_jump_if_false()->set_target(8))},
    {"I1_jump_target", "an unconditional jump to 2^32 - 1", kInvalid,
     "jump.target: 4294967295 is beyond the 7",
     BELAY_EDIT(InstructionAt(method, v.jump).mutable_jump()->set_target(~uint32_t{0}))},
    {"I4_move_from_index", "a move from a value that does not exist", kInvalid,
     "move.from: value 500",
     BELAY_EDIT(InstructionAt(method, v.move).mutable_move()->set_from(500))},
    {"I4_move_to_index", "a move to a value that does not exist", kInvalid, "move.to: value 500",
     BELAY_EDIT(InstructionAt(method, v.move).mutable_move()->set_to(500))},
    {"I4_move_int_to_tensor", "an int moved into a tensor", kInvalid,
     "are not tensors of one dtype and rank",
     BELAY_EDIT(InstructionAt(method, v.move).mutable_move()->set_from(v.three))},
    {"I4_move_int_to_list", "an int moved into a list", kInvalid, "move.to: value 12",
     BELAY_EDIT(InstructionAt(method, v.move).mutable_move()->set_from(v.three);
                InstructionAt(method, v.move).mutable_move()->set_to(v.list))},
    {"I4_move_list_to_slot", "a list moved into a bool", kInvalid, "are not of one kind",
     BELAY_EDIT(InstructionAt(method, v.move).mutable_move()->set_from(v.list);
                InstructionAt(method, v.move).mutable_move()->set_to(v.flag))},
    {"I4_move_int_to_bool", "an int moved into a bool", kInvalid, "are not of one kind",
     BELAY_EDIT(InstructionAt(method, v.move).mutable_move()->set_from(v.three);
                InstructionAt(method, v.move).mutable_move()->set_to(v.flag))},
    {"I4_move_other_dtype", "floats moved into bools", kInvalid,
     "are not tensors of one dtype and rank",
     BELAY_EDIT(InstructionAt(method, v.move).mutable_move()->set_to(v.bool_tensor))},
    {"I4_move_other_size", "3 elements moved into 2", kInvalid,
     "dimension 1 is 3 of value 6 and 2 of value 11",
     BELAY_EDIT(InstructionAt(method, v.move).mutable_move()->set_from(v.weight);
                InstructionAt(method, v.move).mutable_move()->set_to(v.total);
                TensorAt(method, v.total).set_sizes(1, 2))},
    {"I4_move_to_constant", "a move into a constant", kInvalid,
     "move.to: value 6 may not be written",
     BELAY_EDIT(InstructionAt(method, v.move).mutable_move()->set_to(v.weight))},
    {"I4_move_overlaps", "a move between tensors that overlap", kInvalid, "overlaps",
     BELAY_EDIT(TensorAt(method, v.copy).set_arena_offset(0))},
    {"I5_result_twice", "a call that writes one tensor twice", kInvalid,
     "kernel: value 9 is written and is also another operand",
     BELAY_EDIT(InstructionAt(method, v.add).mutable_kernel()->add_outputs(v.sum))},
    {"I5_result_is_constant", "a call that writes a constant", kInvalid,
     "kernel.outputs[0]: value 6 may not be written",
     BELAY_EDIT(InstructionAt(method, v.add).mutable_kernel()->set_outputs(0, v.weight))},
    {"I5_result_is_argument", "a call that writes what it reads", kInvalid,
     "value 9 is written and is also another operand",
     BELAY_EDIT(InstructionAt(method, v.add).mutable_kernel()->set_arguments(0, v.sum))},
    {"I5_result_overlaps_argument", "a call whose result overlaps its argument", kInvalid,
     "value 9 is written and overlaps value 10",
     BELAY_EDIT(TensorAt(method, v.copy).set_arena_offset(0);
                InstructionAt(method, v.add).mutable_kernel()->set_arguments(0, v.copy))},
    {"I5_delegate_calls_differ", "two calls of one delegate, with other arguments", kInvalid,
     "arguments: are 0, but 1 in the first call of the delegate",
     BELAY_EDIT(*method.add_instructions() = method.instructions(static_cast<int>(v.delegate));
                InstructionAt(method, 7).mutable_delegate()->clear_arguments())},
};

std::string Loop(void (*build)(TestMethod&)) {
  TestProgram program;
  TestMethod method = program.AddMethod("forward");
  build(method);
  return program.Serialize();
}

std::string Add(size_t arguments, size_t outputs) {
  TestProgram program;
  const uint32_t constant = program.AddConstant<float>({1, 2});
  TestMethod method = program.AddMethod("forward");
  std::vector<uint32_t> operands = {method.Constant(constant, DType::kFloat32, {2}),
                                    method.Constant(constant, DType::kFloat32, {2}), method.Int(1),
                                    method.Int(1)};
  operands.resize(arguments);
  std::vector<uint32_t> results;
  for (size_t i = 0; i < outputs; ++i) results.push_back(method.Arena(DType::kFloat32, {2}));
  method.Call("aten.add.Tensor", operands, results);
  return program.Serialize();
}

constexpr NegativeBytes kLoops[] = {
    {"I2_jump_to_itself", "a jump to itself", kExhausted, "'executed_instructions'",
     [] { return Loop([](TestMethod& method) { method.Jump(0); }); }},
    {"I2_loop_of_moves", "a loop without end", kExhausted, "'executed_instructions'",
     [] {
       return Loop([](TestMethod& method) {
         const uint32_t slot = method.Slot(schema::ScalarSlot::INT);
         method.Move(method.Int(1), slot);
         method.Jump(0);
       });
     }},
    {"I2_conditional_loop", "a conditional jump to itself", kExhausted, "'executed_instructions'",
     [] { return Loop([](TestMethod& method) { method.JumpIfFalse(method.Bool(false), 0); }); }},
    {"I5_no_arguments", "aten.add.Tensor without arguments", kInvalid, "aten.add.Tensor",
     [] { return Add(0, 1); }},
    {"I5_one_argument", "aten.add.Tensor of one tensor", kInvalid, "aten.add.Tensor",
     [] { return Add(1, 1); }},
    {"I5_four_arguments", "aten.add.Tensor with an argument too many", kInvalid, "aten.add.Tensor",
     [] { return Add(4, 1); }},
    {"I5_no_results", "aten.add.Tensor without a result", kInvalid, "aten.add.Tensor",
     [] { return Add(3, 0); }},
    {"I5_two_results", "aten.add.Tensor with two results", kInvalid, "aten.add.Tensor",
     [] { return Add(3, 2); }},
};

}  // namespace

std::vector<NegativeFile> ProgramInstructionFiles() {
  std::vector<NegativeFile> files = FilesOf(kEdits);
  Append(files, FilesOf(kLoops, NegativeReader::kProgram, ".belay"));
  return files;
}

}  // namespace belay::fuzz
