// Classes T, P1 and P2: missing fields, unknown fields and dangling references.
#include <string>

#include "fuzz/negative/negative_files.h"
#include "fuzz/negative/program_edits.h"

namespace belay::fuzz {
namespace {

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kMissing = absl::StatusCode::kNotFound;

const ProgramEdit kEdits[] = {
    // T1: missing optional parts, as in FlatBuffers. In protobuf, a missing list is empty, a
    // missing string is "" and a missing number is 0: errors where something refers to it, or where
    // it is required.
    {"T1_methods_name", "a method without a name", kInvalid, "methods[0].name: is empty",
     BELAY_EDIT(method.clear_name())},
    {"T1_values", "a method without values", kInvalid, "inputs[0].value: value 0 does not exist",
     BELAY_EDIT(method.clear_values())},
    {"T1_value_kind", "a value of no kind", kInvalid, "values[14].kind: is missing or unknown",
     BELAY_EDIT(method.mutable_values(static_cast<int>(v.three))->clear_kind())},
    {"T1_instructions", "a method without instructions, with a delegate", kInvalid,
     "delegates[0]: no instruction calls it", BELAY_EDIT(method.clear_instructions())},
    {"T1_instruction_kind", "an instruction of no kind", kInvalid,
     "instructions[0].kind: is missing", BELAY_EDIT(InstructionAt(method, v.add).clear_kind())},
    {"T1_operators", "a method without operators", kInvalid,
     "kernel.operator: 0 does not exist, there are 0", BELAY_EDIT(method.clear_operators())},
    {"T1_operator_name", "an operator without a name", kInvalid, "operators[0]: is empty",
     BELAY_EDIT(method.set_operators(0, ""))},
    {"T1_operator_without_kernel", "operators that no kernel computes", kMissing, "test.add.Tensor",
     BELAY_EDIT(program.set_producer("valid but for its operators"))},
    {"T1_delegates", "a method without delegates", kInvalid, "delegate.delegate: 0 does not exist",
     BELAY_EDIT(method.clear_delegates())},
    {"T1_backend_id", "a delegate without a backend", kInvalid, "delegates[0].backend_id: is empty",
     BELAY_EDIT(method.mutable_delegates(0)->clear_backend_id())},
    {"T1_dtype", "a tensor without a dtype", kInvalid, "tensor.dtype: 0 is not a dtype",
     BELAY_EDIT(TensorAt(method, v.sum).clear_dtype())},
    {"T1_sizes", "a tensor without sizes", kInvalid,
     "tensor.dim_order: has 2 entries, the rank is 0",
     BELAY_EDIT(TensorAt(method, v.total).clear_sizes())},
    {"T1_dim_order", "a tensor without dim order", kInvalid,
     "tensor.dim_order: has 0 entries, the rank is 2",
     BELAY_EDIT(TensorAt(method, v.total).clear_dim_order())},
    {"T1_location", "a tensor without a location", kInvalid, "tensor.location: is missing",
     BELAY_EDIT(TensorAt(method, v.sum).clear_location())},
    {"T1_constants", "a program without constants", kInvalid,
     "tensor.constant: 0 does not exist, there are 0", BELAY_EDIT(program.clear_constants())},
    {"T1_state", "state without a buffer", kInvalid, "a tensor in the state that is not a buffer",
     BELAY_EDIT(method.clear_state())},
    {"T1_constraints", "a dynamic input without constraints", kInvalid,
     "inputs[0].constraints: dimensions 1 (as bits) are dynamic, constrained: 0",
     BELAY_EDIT(method.mutable_inputs(0)->clear_constraints())},
    {"T1_inputs", "external tensors without inputs", kInvalid,
     "an external tensor that is not an input", BELAY_EDIT(method.clear_inputs())},
    {"T1_segment_kind", "a segment without a kind", kInvalid,
     "segments[0].kind: 0 is not a segment kind",
     BELAY_EDIT(program.mutable_segments(0)->clear_kind())},
    {"T1_digest", "a segment without a digest", kInvalid, "segments[0].sha256: has 0 bytes",
     BELAY_EDIT(program.mutable_segments(0)->clear_sha256())},
    {"T1_layout_dtype", "named data with an empty layout", kInvalid,
     "named_data[0].layout.dtype: 0 is not a dtype",
     BELAY_EDIT(program.mutable_named_data(0)->mutable_layout())},

    // T3: unknown values of enumerations and unions.
    {"T3_segment_kind", "a segment of kind 9", kInvalid,
     "segments[0].kind: 9 is not a segment kind",
     BELAY_EDIT(program.mutable_segments(0)->set_kind(static_cast<schema::Segment::Kind>(9)))},
    {"T3_dtype", "dtype 99", kInvalid, "tensor.dtype: 99 is not a dtype",
     BELAY_EDIT(TensorAt(method, v.sum).set_dtype(99))},
    {"T3_literal_dtype", "a literal dtype 22", kInvalid, "dtype: 22 is not a dtype",
     BELAY_EDIT(method.mutable_values(static_cast<int>(v.dtype))->set_dtype(22))},
    {"T3_memory_format", "memory format 5", kInvalid, "memory_format: 5",
     BELAY_EDIT(method.mutable_values(static_cast<int>(v.memory_format))->set_memory_format(5))},
    {"T3_scalar_kind", "a slot of kind 7", kInvalid, "scalar: 7 is not a scalar kind",
     BELAY_EDIT(method.mutable_values(static_cast<int>(v.flag))
                    ->mutable_scalar()
                    ->set_kind(static_cast<schema::ScalarSlot::Kind>(7)))},
    // An unknown member of a union is an unknown field, so the union has no member.
    {"T3_value_kind", "a value of a kind that does not exist", kInvalid,
     "values[14].kind: is missing or unknown",
     BELAY_EDIT(schema::Value& value = *method.mutable_values(static_cast<int>(v.three));
                value.ParseFromString("\xb8\x01\x05"))},
    {"T3_instruction_kind", "an instruction of a kind that does not exist", kInvalid,
     "instructions[0].kind: is missing",
     BELAY_EDIT(schema::Instruction& instruction = InstructionAt(method, v.add);
                instruction.ParseFromString("\xb8\x01\x05"))},

    // T4: indices.
    {"T4_operator", "an operator that does not exist", kInvalid,
     "kernel.operator: 3 does not exist, there are 3",
     BELAY_EDIT(InstructionAt(method, v.add).mutable_kernel()->set_operator_(3))},
    {"T4_argument", "an argument that does not exist", kInvalid,
     "kernel.arguments[1]: value 500 does not exist",
     BELAY_EDIT(InstructionAt(method, v.add).mutable_kernel()->set_arguments(1, 500))},
    {"T4_result", "a result that does not exist", kInvalid, "kernel.outputs[0]: value 500",
     BELAY_EDIT(InstructionAt(method, v.add).mutable_kernel()->set_outputs(0, 500))},
    {"T4_delegate", "a delegate that does not exist", kInvalid,
     "delegate.delegate: 1 does not exist",
     BELAY_EDIT(InstructionAt(method, v.delegate).mutable_delegate()->set_delegate(1))},
    {"T4_input", "an input that does not exist", kInvalid,
     "inputs[0].value: value 1000 does not exist",
     BELAY_EDIT(method.mutable_inputs(0)->set_value(1000))},
    {"T4_output", "an output that does not exist", kInvalid,
     "outputs[0]: value 1000 does not exist", BELAY_EDIT(method.set_outputs(0, 1000))},
    {"T4_state", "state that does not exist", kInvalid, "state[0].value: value 1000",
     BELAY_EDIT(method.mutable_state(0)->set_value(1000))},
    {"T4_state_initial", "initial state that does not exist", kInvalid,
     "state[0].initial: constant 2 does not exist",
     BELAY_EDIT(method.mutable_state(0)->set_initial(3))},
    {"T4_delegate_segment", "a blob that does not exist", kInvalid,
     "delegates[0].segment: segment 5", BELAY_EDIT(method.mutable_delegates(0)->set_segment(5))},
    {"T4_debug_segment", "debug information that does not exist", kInvalid,
     "debug_segment: segment 5 does not exist", BELAY_EDIT(program.set_debug_segment(6))},

    // T5: lists.
    {"T5_element", "a list of a value that does not exist", kInvalid,
     "list.elements[1]: 999 is not a value before",
     BELAY_EDIT(
         method.mutable_values(static_cast<int>(v.list))->mutable_list()->set_elements(1, 999))},
    {"T5_element_later", "a list with a value defined after it", kInvalid, "is not a value before",
     BELAY_EDIT(method.mutable_values(static_cast<int>(v.list))
                    ->mutable_list()
                    ->set_elements(1, v.complex))},
    {"T5_output_list_of_literal", "results in a list that holds a literal", kInvalid,
     "element 6 of list 12 is not a tensor that may be written",
     BELAY_EDIT(
         method.mutable_values(static_cast<int>(v.list))->mutable_list()->set_elements(0, v.weight);
         InstructionAt(method, v.add).mutable_kernel()->set_outputs(0, v.list))},

    {"P1_dtype_negative", "dtype -1", kInvalid, "tensor.dtype: 4294967295 is not a dtype",
     BELAY_EDIT(TensorAt(method, v.sum).set_dtype(~uint32_t{0}))},
    {"P1_method_twice", "two methods of one name", kInvalid,
     "methods[1].name: 'forward' does not come after 'forward'",
     BELAY_EDIT(program.mutable_methods(1)->set_name("forward"))},
    {"P1_state_twice", "two buffers of one name", kInvalid, "state[1].name: 'counter'",
     BELAY_EDIT(method.mutable_state(1)->set_name("counter"))},
    {"P1_operator_twice", "two operators of one name", kInvalid,
     "operators[3]: 'test.add.Tensor' is there already",
     BELAY_EDIT(method.add_operators(method.operators(0)))},
    {"P2_argument_minus_one", "an argument -1, 'optional' elsewhere", kInvalid,
     "kernel.arguments[1]: value 4294967295",
     BELAY_EDIT(InstructionAt(method, v.add).mutable_kernel()->set_arguments(1, ~uint32_t{0}))},
    {"P2_list_in_itself", "a list that contains itself", kInvalid, "list.elements[0]",
     BELAY_EDIT(
         method.mutable_values(static_cast<int>(v.list))->mutable_list()->set_elements(0, v.list))},
    {"P2_list_of_lists", "a list of lists", kInvalid, "is a list",
     BELAY_EDIT(
         method.mutable_values(static_cast<int>(v.text))->mutable_list()->add_elements(v.list))},
};

}  // namespace

std::vector<NegativeFile> ProgramTableFiles() { return FilesOf(kEdits); }

}  // namespace belay::fuzz
