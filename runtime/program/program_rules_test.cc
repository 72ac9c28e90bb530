#include "runtime/program/program_validator.h"

#include <cmath>
#include <ostream>
#include <string>
#include <utility>

#include "runtime/core/testing.h"
#include "runtime/executor/testing/program_builder.h"
#include "runtime/executor/testing/sample_program.h"

namespace belay {
namespace {

using ::testing::HasSubstr;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kNewer = absl::StatusCode::kUnimplemented;

// --- One case per rule of the metadata ---

struct RuleCase {
  const char* name;
  void (*edit)(schema::Program& program, schema::Method& method, const SampleIndices& v);
  absl::StatusCode code;
  const char* message;
};
void PrintTo(const RuleCase& c, std::ostream* out) { *out << c.name; }

#define EDIT(...) \
  [](schema::Program& program, schema::Method& method, const SampleIndices& v) { __VA_ARGS__; }

schema::Tensor& TensorAt(schema::Method& method, uint32_t value) {
  return *method.mutable_values(static_cast<int>(value))->mutable_tensor();
}
schema::Instruction& At(schema::Method& method, uint32_t instruction) {
  return *method.mutable_instructions(static_cast<int>(instruction));
}

// Calls the delegate twice, with different scalars.
void CallWithNumbers(schema::Method& method, const SampleIndices& v, double first, double second) {
  *method.add_instructions() = At(method, v.delegate);
  for (const auto& [call, number] :
       {std::pair(static_cast<int>(v.delegate), first), {method.instructions_size() - 1, second}}) {
    method.mutable_instructions(call)->mutable_delegate()->set_arguments(
        0, static_cast<uint32_t>(method.values_size()));
    method.add_values()->set_double_(number);
  }
}

// Moves an int or bool to a slot of the same kind, or of another.
void MoveLiteral(schema::Method& method, const SampleIndices& v, bool truth, bool alike) {
  schema::Value& three = *method.mutable_values(static_cast<int>(v.three));
  truth ? three.set_bool_(true) : three.set_double_(3);
  method.mutable_values(static_cast<int>(v.flag))
      ->mutable_scalar()
      ->set_kind(truth == alike ? schema::ScalarSlot::BOOL : schema::ScalarSlot::DOUBLE);
  At(method, v.branch).mutable_jump_if_false()->set_condition(v.bool_tensor);
  At(method, v.move).mutable_move()->set_from(v.three);
  At(method, v.move).mutable_move()->set_to(v.flag);
}

// Calls the delegate twice, with lists of one or two tensors.
void CallWithLists(schema::Method& method, const SampleIndices& v, int first, int second) {
  *method.add_instructions() = At(method, v.delegate);
  for (const auto& [call, length] :
       {std::pair(static_cast<int>(v.delegate), first), {method.instructions_size() - 1, second}}) {
    method.mutable_instructions(call)->mutable_delegate()->set_arguments(
        0, static_cast<uint32_t>(method.values_size()));
    schema::List* list = method.add_values()->mutable_list();
    for (int i = 0; i < length; ++i) list->add_elements(v.weight);
  }
}

// Calls the delegate twice: with `total`, and with a tensor changed by `edit`.
void CallWithTensors(schema::Method& method, const SampleIndices& v,
                     void (*edit)(schema::Tensor& tensor)) {
  schema::Tensor& copy = TensorAt(method, v.copy);
  const uint64_t place = copy.arena_offset();
  copy = TensorAt(method, v.total);
  copy.set_arena_offset(place);
  edit(copy);
  At(method, v.move).mutable_move()->set_from(v.weight);
  At(method, v.move).mutable_move()->set_to(v.total);
  *method.add_instructions() = At(method, v.delegate);
  At(method, static_cast<uint32_t>(method.instructions_size() - 1))
      .mutable_delegate()
      ->set_outputs(0, v.copy);
}

// Makes the first instruction an elementwise operator whose argument has the offset of its result.
void PutCopyOverSum(schema::Method& method, const SampleIndices& v) {
  method.set_operators(static_cast<int>(At(method, v.add).kernel().operator_()), "aten.add.Tensor");
  *method.mutable_values(static_cast<int>(v.copy)) = method.values(static_cast<int>(v.sum));
  At(method, v.add).mutable_kernel()->set_arguments(0, v.copy);
  At(method, v.move).mutable_move()->set_from(v.weight);
  At(method, v.move).mutable_move()->set_to(v.total);
}

const RuleCase kRuleCases[] = {
    {"UnknownRequiredFeature", EDIT(program.add_required_features("time travel")), kNewer,
     "'time travel'"},
    {"ManyUnknownRequiredFeatures",
     EDIT(for (int i = 0; i < 50'000; ++i) program.add_required_features("magic")), kNewer,
     "'magic', and 49968 more"},

    // Segments.
    {"T3SegmentKindMissing", EDIT(program.mutable_segments(0)->set_kind(schema::Segment::UNKNOWN)),
     kInvalid, "segments[0].kind: 0 is not a segment kind"},
    {"T3SegmentKindUnknown",
     EDIT(program.mutable_segments(0)->set_kind(static_cast<schema::Segment::Kind>(9))), kInvalid,
     "segments[0].kind: 9 is not a segment kind"},
    {"SegmentAlignmentZero", EDIT(program.mutable_segments(0)->set_alignment(0)), kInvalid,
     "segments[0].alignment: 0"},
    {"SegmentAlignmentNoPower", EDIT(program.mutable_segments(0)->set_alignment(192)), kInvalid,
     "segments[0].alignment: 192"},
    {"SegmentAlignmentSmall", EDIT(program.mutable_segments(0)->set_alignment(64)), kInvalid,
     "segments[0].alignment: 64"},
    {"A1SegmentAlignmentHuge", EDIT(program.mutable_segments(1)->set_alignment(uint64_t{1} << 63)),
     kInvalid, "segments[1].offset"},
    {"SegmentMisaligned",
     EDIT(program.mutable_segments(1)->set_offset(program.segments(1).offset() + 64)), kInvalid,
     "segments[1].offset"},
    {"C4SegmentOffsetNearMax", EDIT(program.mutable_segments(4)->set_offset(~uint64_t{0} - 127)),
     kInvalid, "segments[4].offset"},
    {"C3SegmentSizeWraps", EDIT(program.mutable_segments(4)->set_size(~uint64_t{0} - 63)), kInvalid,
     "segments[4]: 18446744073709551552 bytes at"},
    {"SegmentTooLong", EDIT(program.mutable_segments(4)->set_size(program.segments(4).size() + 1)),
     kInvalid, "segments[4]:"},
    {"SegmentTooShort", EDIT(program.mutable_segments(4)->set_size(program.segments(4).size() - 1)),
     kInvalid, "segments: they end at"},
    {"SegmentsOverlap", EDIT(program.mutable_segments(1)->set_offset(program.segments(0).offset())),
     kInvalid, "segments[1].offset"},
    {"SegmentsOutOfOrder", EDIT(program.mutable_segments()->SwapElements(0, 1)), kInvalid,
     "segments[0].offset"},
    {"SegmentInsideHeader", EDIT(program.mutable_segments(0)->set_offset(0)), kInvalid,
     "segments[0].offset: is 0"},
    {"T1SegmentsAbsent", EDIT(program.clear_segments()), kInvalid, "segments: they end at"},
    {"DigestMissing", EDIT(program.mutable_segments(0)->clear_sha256()), kInvalid,
     "segments[0].sha256: has 0 bytes"},
    {"DigestTooLong", EDIT(program.mutable_segments(0)->mutable_sha256()->push_back('x')), kInvalid,
     "segments[0].sha256: has 33 bytes"},
    {"P3CompanionOutsideRoot", EDIT(program.mutable_segments(0)->set_companion("../weights")),
     kInvalid, "segments[0].companion"},
    {"P3CompanionAbsolute", EDIT(program.mutable_segments(0)->set_companion("/etc/passwd")),
     kInvalid, "segments[0].companion"},
    {"P3CompanionDotDot", EDIT(program.mutable_segments(0)->set_companion("..")), kInvalid,
     "segments[0].companion"},
    {"P3CompanionWithNul", EDIT(program.mutable_segments(0)->set_companion(std::string("a\0b", 3))),
     kInvalid, "segments[0].companion"},
    {"P3CompanionNameTooLong",
     EDIT(program.mutable_segments(0)->set_companion(std::string(256, 'a'))), kInvalid,
     "segments[0].companion"},

    // Constants.
    {"N6ConstantSegmentOutOfRange", EDIT(program.mutable_constants(0)->set_segment(5)), kInvalid,
     "constants[0]: segment 5 does not exist, there are 5"},
    {"ConstantInDelegateSegment", EDIT(program.mutable_constants(0)->set_segment(2)), kInvalid,
     "constants[0]: segment 2 is of kind DELEGATE, expected CONSTANTS"},
    {"N6ConstantOffsetWraps", EDIT(program.mutable_constants(0)->set_offset(~uint64_t{0} - 63)),
     kInvalid, "constants[0]: 24 bytes at"},
    {"ConstantMisaligned", EDIT(program.mutable_constants(0)->set_offset(4)), kInvalid,
     "constants[0].offset: 4 is not a multiple of 64"},
    {"N6ConstantTooLong", EDIT(program.mutable_constants(0)->set_size(25)), kInvalid,
     "constants[0]: 25 bytes at 0 are not inside the 24"},
    {"ConstantTooShortForTensor", EDIT(program.mutable_constants(0)->set_size(20)), kInvalid,
     "values[6].tensor.constant: constant 0 has 20 bytes, the tensor float32[2,3] has 24"},

    // Named data.
    {"NamedDataKeyEmpty", EDIT(program.mutable_named_data(0)->clear_key()), kInvalid,
     "named_data[0].key: is empty"},
    {"P1NamedDataDuplicate", EDIT(*program.add_named_data() = program.named_data(0)), kInvalid,
     "named_data[1].key: 'lookup' does not come after 'lookup'"},
    {"NamedDataUnsorted",
     EDIT(*program.add_named_data() = program.named_data(0);
          program.mutable_named_data(1)->set_key("a")),
     kInvalid, "named_data[1].key"},
    {"NamedDataSegmentOutOfRange", EDIT(program.mutable_named_data(0)->set_segment(77)), kInvalid,
     "named_data[0]: segment 77"},
    {"NamedDataOfWrongSegment", EDIT(program.mutable_named_data(0)->set_segment(0)), kInvalid,
     "named_data[0]: segment 0 is of kind CONSTANTS"},
    {"C4NamedDataRangeWraps",
     EDIT(program.mutable_named_data(0)->set_offset(~uint64_t{0});
          program.mutable_named_data(0)->set_size(2)),
     kInvalid, "named_data[0]: 2 bytes at"},
    {"NamedDataAlignmentAboveSegment",
     EDIT(program.mutable_named_data(0)->set_alignment(uint64_t{1} << 30)), kInvalid,
     "named_data[0].alignment"},
    {"NamedDataMisaligned",
     EDIT(program.mutable_named_data(0)->set_alignment(8);
          program.mutable_named_data(0)->set_offset(1); program.mutable_named_data(0)->set_size(1)),
     kInvalid, "named_data[0].alignment: offset 1"},
    {"NamedDataLayoutOfOtherSize",
     EDIT(schema::TensorLayout* layout = program.mutable_named_data(0)->mutable_layout();
          layout->set_dtype(1); layout->add_sizes(12); layout->set_dim_order(std::string("\0", 1))),
     kInvalid, "named_data[0].layout: a tensor of 12 bytes, the data has 11"},
    {"NamedDataReplaceableWithoutLayout",
     EDIT(program.mutable_named_data(0)->set_replaceable(true)), kInvalid,
     "named_data[0].layout.dtype: 0 is not a dtype"},
    {"NamedDataLayoutWithoutDtype", EDIT(program.mutable_named_data(0)->mutable_layout()), kInvalid,
     "named_data[0].layout.dtype: 0 is not a dtype"},
    {"NamedDataLayoutMalformed",
     EDIT(ASSERT_TRUE(program.mutable_named_data(0)->mutable_layout()->MergeFromString(
         std::string("\x0a\0", 2)))),  // a bytes field as dtype
     absl::StatusCode::kDataLoss, "named_data[0].layout, field 1: it has another wire type"},
    {"DebugSegmentOutOfRange", EDIT(program.set_debug_segment(6)), kInvalid,
     "debug_segment: segment 5 does not exist"},
    {"DebugSegmentOfWrongKind", EDIT(program.set_debug_segment(1)), kInvalid,
     "debug_segment: segment 0 is of kind CONSTANTS, expected DEBUG"},

    // Methods.
    {"MethodNameEmpty", EDIT(method.clear_name()), kInvalid, "methods[0].name: is empty"},
    {"MethodDuplicate", EDIT(program.mutable_methods(1)->set_name("forward")), kInvalid,
     "methods[1].name: 'forward' does not come after 'forward'"},
    {"MethodsUnsorted", EDIT(program.mutable_methods(1)->set_name("a")), kInvalid,
     "methods[1].name"},
    {"OperatorNameEmpty", EDIT(method.set_operators(0, "")), kInvalid,
     "methods[0].operators[0]: is empty"},
    {"OperatorDuplicate", EDIT(method.add_operators(method.operators(0))), kInvalid,
     "methods[0].operators[3]: 'test.add.Tensor' is there already"},

    // Values.
    {"T1ValueKindMissing", EDIT(method.mutable_values(static_cast<int>(v.three))->clear_kind()),
     kInvalid, "values[14].kind: is missing or unknown"},
    {"T3DtypeUnknown", EDIT(TensorAt(method, v.sum).set_dtype(99)), kInvalid,
     "tensor.dtype: 99 is not a dtype"},
    {"T3DtypeMissing", EDIT(TensorAt(method, v.sum).clear_dtype()), kInvalid,
     "tensor.dtype: 0 is not a dtype"},
    {"T3LiteralDtypeUnknown", EDIT(method.mutable_values(static_cast<int>(v.dtype))->set_dtype(22)),
     kInvalid, "dtype: 22 is not a dtype"},
    {"T3MemoryFormatUnknown",
     EDIT(method.mutable_values(static_cast<int>(v.memory_format))->set_memory_format(5)), kInvalid,
     "memory_format: 5"},
    {"T3MemoryFormatMissing",
     EDIT(method.mutable_values(static_cast<int>(v.memory_format))->set_memory_format(0)), kInvalid,
     "memory_format: 0 is not a memory format"},
    {"T3ScalarKindUnknown",
     EDIT(method.mutable_values(static_cast<int>(v.flag))->mutable_scalar()->clear_kind()),
     kInvalid, "scalar: 0 is not a scalar kind"},
    {"N2RankAboveLimit", EDIT(for (int i = 0; i < 15; ++i) TensorAt(method, v.total).add_sizes(1)),
     kInvalid, "tensor.sizes: rank 17 is above 16"},
    {"N3SizeNegative", EDIT(TensorAt(method, v.total).set_sizes(1, -3)), kInvalid,
     "tensor.sizes[1]: -3 is negative"},
    {"N1SizesOverflow",
     EDIT(TensorAt(method, v.total).set_sizes(0, int64_t{1} << 62);
          TensorAt(method, v.total).set_sizes(1, 4)),
     kInvalid, "tensor.sizes: the tensor's bytes overflow"},
    {"N1BytesOverflow", EDIT(TensorAt(method, v.total).set_sizes(0, int64_t{1} << 60)), kInvalid,
     "tensor.sizes: the tensor's bytes overflow"},
    {"N5SizesOverflowWithoutElements",
     EDIT(TensorAt(method, v.total).set_sizes(0, 0);
          TensorAt(method, v.total).set_sizes(1, int64_t{1} << 62)),
     kInvalid, "tensor.sizes: the tensor's bytes overflow"},
    {"N4DimOrderMissing", EDIT(TensorAt(method, v.total).clear_dim_order()), kInvalid,
     "tensor.dim_order: has 0 entries, the rank is 2"},
    {"N4DimOrderTooLong", EDIT(TensorAt(method, v.total).mutable_dim_order()->push_back('\2')),
     kInvalid, "tensor.dim_order: has 3 entries"},
    {"N4DimOrderRepeats", EDIT(TensorAt(method, v.total).set_dim_order(std::string("\0\0", 2))),
     kInvalid, "tensor.dim_order: {0,0} is not a permutation"},
    {"N4DimOrderOutOfRange",
     EDIT(TensorAt(method, v.total).set_dim_order(std::string("\0\xff", 2))), kInvalid,
     "tensor.dim_order: {0,255}"},
    {"DynamicDimBeyondRank", EDIT(TensorAt(method, v.sum).set_dynamic_dims(5)), kInvalid,
     "tensor.dynamic_dims: bits 5"},
    {"T1LocationMissing", EDIT(TensorAt(method, v.sum).clear_location()), kInvalid,
     "tensor.location: is missing"},
    {"N6ConstantIndexOutOfRange", EDIT(TensorAt(method, v.weight).set_constant(2)), kInvalid,
     "tensor.constant: 2 does not exist, there are 2"},
    {"ConstantDynamic", EDIT(TensorAt(method, v.weight).set_dynamic_dims(1)), kInvalid,
     "tensor.constant: a constant can't have dynamic sizes"},
    {"N7ArenaOffsetOutside", EDIT(TensorAt(method, v.total).set_arena_offset(1 << 20)), kInvalid,
     "tensor.arena_offset: 24 bytes at 1048576"},
    {"N7ArenaOffsetWraps", EDIT(TensorAt(method, v.total).set_arena_offset(~uint64_t{0} - 63)),
     kInvalid, "tensor.arena_offset: 24 bytes at"},
    {"N7ArenaMisaligned", EDIT(TensorAt(method, v.total).set_arena_offset(8)), kInvalid,
     "tensor.arena_offset: 8 is not a multiple of 64"},
    {"N7NoArena", EDIT(method.set_arena_bytes(0)), kInvalid, "inside the arena's 0 bytes"},
    {"N7ArenaTensorGrows", EDIT(TensorAt(method, v.bool_tensor).set_sizes(0, 65)), kInvalid,
     "65 bytes at"},
    {"StateOffsetOutside", EDIT(TensorAt(method, v.state).set_state_offset(4096)), kInvalid,
     "tensor.state_offset: 8 bytes at 4096"},
    {"StateMisaligned", EDIT(TensorAt(method, v.state).set_state_offset(4)), kInvalid,
     "tensor.state_offset: 4 is not a multiple"},
    {"StateDynamic", EDIT(TensorAt(method, v.state).set_dynamic_dims(1)), kInvalid,
     "tensor.state_offset: state can't have dynamic sizes"},
    {"T5ListElementOutOfRange",
     EDIT(method.mutable_values(static_cast<int>(v.list))->mutable_list()->set_elements(1, 999)),
     kInvalid, "list.elements[1]: 999 is not a value before"},
    {"P2ListContainsItself",
     EDIT(method.mutable_values(static_cast<int>(v.list))->mutable_list()->set_elements(0, v.list)),
     kInvalid, "list.elements[0]"},
    {"P2ListOfLists",
     EDIT(method.mutable_values(static_cast<int>(v.text))->mutable_list()->add_elements(v.list)),
     kInvalid, "is a list"},

    // Inputs, outputs, state.
    {"T4InputOutOfRange", EDIT(method.mutable_inputs(0)->set_value(1000)), kInvalid,
     "inputs[0].value: value 1000 does not exist"},
    {"InputTwice", EDIT(method.mutable_inputs(1)->set_value(v.x)), kInvalid,
     "inputs[1].value: value 0 is another input already"},
    {"InputInArena", EDIT(TensorAt(method, v.x).set_arena_offset(0)), kInvalid,
     "inputs[0].value: value 0 is a tensor that is not external"},
    {"InputIsList", EDIT(method.mutable_inputs(4)->set_value(v.list)), kInvalid,
     "inputs[4].value: value 12 can't be an input"},
    {"ScalarInputMutated", EDIT(method.mutable_inputs(2)->set_mutated(true)), kInvalid,
     "inputs[2].mutated"},
    {"ExternalTensorIsNotAnInput", EDIT(TensorAt(method, v.total).mutable_external()), kInvalid,
     "an external tensor that is not an input"},
    {"ConstraintMissing", EDIT(method.mutable_inputs(0)->clear_constraints()), kInvalid,
     "inputs[0].constraints: dimensions 1 (as bits) are dynamic, constrained: 0"},
    {"ConstraintTwice",
     EDIT(*method.mutable_inputs(0)->add_constraints() = method.inputs(0).constraints(0)), kInvalid,
     "inputs[0].constraints[1].dim: 0 has an earlier constraint"},
    {"ConstraintOnStaticDim", EDIT(method.mutable_inputs(0)->mutable_constraints(0)->set_dim(1)),
     kInvalid, "inputs[0].constraints[0].dim: 1 is not a dynamic dimension"},
    {"ConstraintDimHuge",
     EDIT(method.mutable_inputs(0)->mutable_constraints(0)->set_dim(4000000000u)), kInvalid,
     "inputs[0].constraints[0].dim"},
    {"ConstraintMinAboveMax", EDIT(method.mutable_inputs(0)->mutable_constraints(0)->set_min(5)),
     kInvalid, "min 5 is above max 4"},
    {"ConstraintMinNegative", EDIT(method.mutable_inputs(0)->mutable_constraints(0)->set_min(-1)),
     kInvalid, "[-1,4] is not inside [0,4]"},
    {"N9ConstraintAboveMemory", EDIT(method.mutable_inputs(0)->mutable_constraints(0)->set_max(5)),
     kInvalid, "[1,5] is not inside [0,4]"},
    {"ConstraintMultiplierZero",
     EDIT(method.mutable_inputs(0)->mutable_constraints(0)->set_multiplier(0)), kInvalid,
     "multiplier: 0 is not positive"},
    {"ConstraintOnFloat", EDIT(method.mutable_inputs(4)->add_constraints()), kInvalid,
     "inputs[4].constraints"},
    {"ConstraintTwiceOnInt",
     EDIT(*method.mutable_inputs(2)->add_constraints() = method.inputs(2).constraints(0)), kInvalid,
     "inputs[2].constraints: an int has at most one"},
    {"ConstraintDimOfInt", EDIT(method.mutable_inputs(2)->mutable_constraints(0)->set_dim(1)),
     kInvalid, "inputs[2].constraints[0].dim"},
    {"T4OutputOutOfRange", EDIT(method.set_outputs(0, 1000)), kInvalid,
     "outputs[0]: value 1000 does not exist"},
    {"OutputIsList", EDIT(method.set_outputs(0, v.list)), kInvalid, "outputs[0]: value 12"},
    {"StateNameEmpty", EDIT(method.mutable_state(0)->clear_name()), kInvalid,
     "state[0].name: is empty"},
    {"StateNameTwice", EDIT(method.mutable_state(1)->set_name("counter")), kInvalid,
     "state[1].name: 'counter'"},
    {"StateValueOutOfRange", EDIT(method.mutable_state(0)->set_value(1000)), kInvalid,
     "state[0].value: value 1000"},
    {"StateValueInArena", EDIT(method.mutable_state(0)->set_value(v.sum)), kInvalid,
     "state[0].value: value 9 is not a tensor in the state"},
    {"StateValueTwice", EDIT(method.mutable_state(1)->set_value(v.state)), kInvalid,
     "state[1].value: value 7 is that of an earlier buffer"},
    {"StateWithoutBuffer", EDIT(method.mutable_state()->RemoveLast()), kInvalid,
     "values[8]: a tensor in the state that is not a buffer"},
    {"StateOverlaps", EDIT(TensorAt(method, v.other_state).set_state_offset(0)), kInvalid,
     "state: values 7 and 8 overlap"},
    {"StateInitialOutOfRange", EDIT(method.mutable_state(0)->set_initial(3)), kInvalid,
     "state[0].initial: constant 2 does not exist"},
    {"StateInitialOfOtherSize", EDIT(method.mutable_state(0)->set_initial(1)), kInvalid,
     "state[0].initial: constant 0 has 24 bytes, the buffer has 8"},

    // Delegates.
    {"T1BackendIdMissing", EDIT(method.mutable_delegates(0)->clear_backend_id()), kInvalid,
     "delegates[0].backend_id: is empty"},
    {"D2DelegateSegmentOutOfRange", EDIT(method.mutable_delegates(0)->set_segment(5)), kInvalid,
     "delegates[0].segment: segment 5"},
    {"DelegateSegmentOfWrongKind", EDIT(method.mutable_delegates(0)->set_segment(0)), kInvalid,
     "delegates[0].segment: segment 0 is of kind CONSTANTS, expected DELEGATE"},
    {"DelegateNeverCalled", EDIT(*method.add_delegates() = method.delegates(0)), kInvalid,
     "delegates[1]: no instruction calls it"},
    {"DelegateCalledWithFewerArguments",
     EDIT(*method.add_instructions() = method.instructions(static_cast<int>(v.delegate));
          At(method, 7).mutable_delegate()->clear_arguments()),
     kInvalid,
     "instructions[7].delegate.arguments: are 0, but 1 in the first call of the delegate"},
    {"DelegateCalledWithATensorOfAnotherSize",
     EDIT(*method.add_instructions() = method.instructions(static_cast<int>(v.delegate));
          At(method, 7).mutable_delegate()->set_outputs(0, v.copy)),
     kInvalid,
     "instructions[7].delegate.outputs: value 10 differs in kind or size from value 11 of the "
     "first"},
    {"DelegateCalledWithAnotherKind",
     EDIT(*method.add_instructions() = method.instructions(static_cast<int>(v.delegate));
          At(method, 7).mutable_delegate()->set_arguments(0, v.n)),
     kInvalid, "delegate.arguments: value 2 differs in kind"},
    {"DelegateCalledWithATensorOfAnotherDType",
     EDIT(CallWithTensors(method, v, [](schema::Tensor& t) { t.set_dtype(4); })), kInvalid,
     "instructions[7].delegate.outputs: value 10 differs in kind or size from value 11"},
    {"DelegateCalledWithATensorOfAnotherOrder",
     EDIT(CallWithTensors(method, v,
                          [](schema::Tensor& t) { t.set_dim_order(std::string("\1\0", 2)); })),
     kInvalid, "instructions[7].delegate.outputs: value 10 differs in kind or size from value 11"},
    {"DelegateCalledWithATensorOfDynamicSizes",
     EDIT(CallWithTensors(method, v, [](schema::Tensor& t) { t.set_dynamic_dims(1); })), kInvalid,
     "instructions[7].delegate.outputs: value 10 differs in kind or size from value 11"},
    {"DelegateCalledWithZeroOfAnotherSign", EDIT(CallWithNumbers(method, v, 0.0, -0.0)), kInvalid,
     "instructions[7].delegate.arguments: value 21 differs"},
    {"DelegateIndexOutOfRange", EDIT(At(method, v.delegate).mutable_delegate()->set_delegate(1)),
     kInvalid, "delegate.delegate: 1 does not exist"},

    // Instructions.
    {"T1InstructionKindMissing", EDIT(At(method, v.add).clear_kind()), kInvalid,
     "instructions[0].kind: is missing"},
    {"T4OperatorOutOfRange", EDIT(At(method, v.add).mutable_kernel()->set_operator_(3)), kInvalid,
     "instructions[0].kernel.operator: 3 does not exist, there are 3"},
    {"T4ArgumentOutOfRange", EDIT(At(method, v.add).mutable_kernel()->set_arguments(1, 500)),
     kInvalid, "instructions[0].kernel.arguments[1]: value 500 does not exist"},
    {"T4ArgumentOutOfRangeBeforeAList",
     EDIT(At(method, v.add).mutable_kernel()->set_arguments(0, 500);
          At(method, v.add).mutable_kernel()->set_arguments(1, v.list)),
     kInvalid, "instructions[0].kernel.arguments[0]: value 500 does not exist"},
    {"P2ArgumentMinusOne", EDIT(At(method, v.add).mutable_kernel()->set_arguments(1, ~uint32_t{0})),
     kInvalid, "kernel.arguments[1]: value 4294967295"},
    {"T4OutputOfKernelOutOfRange", EDIT(At(method, v.add).mutable_kernel()->set_outputs(0, 500)),
     kInvalid, "kernel.outputs[0]: value 500"},
    {"OutputIsConstant", EDIT(At(method, v.add).mutable_kernel()->set_outputs(0, v.weight)),
     kInvalid, "kernel.outputs[0]: value 6 may not be written"},
    {"OutputIsLiteral", EDIT(At(method, v.add).mutable_kernel()->set_outputs(0, v.three)), kInvalid,
     "kernel.outputs[0]: value 14 may not be written"},
    {"OutputIsInput", EDIT(At(method, v.add).mutable_kernel()->set_outputs(0, v.x)), kInvalid,
     "kernel.outputs[0]: value 0 may not be written"},
    {"OutputIsScalarInput", EDIT(At(method, v.less).mutable_kernel()->set_outputs(0, v.n)),
     kInvalid, "kernel.outputs[0]: value 2 may not be written"},
    {"OutputListHoldsConstant",
     EDIT(
         method.mutable_values(static_cast<int>(v.list))->mutable_list()->set_elements(0, v.weight);
         At(method, v.add).mutable_kernel()->set_outputs(0, v.list)),
     kInvalid, "element 6 of list 12 is not a tensor that may be written"},
    {"OutputListHoldsScalar",
     EDIT(schema::Value slot; slot.mutable_scalar()->set_kind(schema::ScalarSlot::INT);
          *method.mutable_values(static_cast<int>(v.copy)) = slot;
          At(method, v.move).mutable_move()->set_to(v.sum);
          At(method, v.move).mutable_move()->set_from(v.x);
          At(method, v.add).mutable_kernel()->set_outputs(0, v.list)),
     kInvalid, "element 10 of list 12"},
    {"OutputTwice", EDIT(At(method, v.add).mutable_kernel()->add_outputs(v.sum)), kInvalid,
     "kernel: value 9 is written and is also another operand"},
    // More outputs than values.
    {"OutputManyTimes",
     EDIT(for (int i = 0; i < 100; ++i) At(method, v.add).mutable_kernel()->add_outputs(v.sum)),
     kInvalid, "kernel: value 9 is written and is also another operand"},
    {"OutputsOverlap",
     EDIT(TensorAt(method, v.copy).set_arena_offset(0);
          At(method, v.add).mutable_kernel()->add_outputs(v.copy)),
     kInvalid, "overlaps value"},
    {"OutputOverlapsArgument",
     EDIT(TensorAt(method, v.copy).set_arena_offset(0);
          At(method, v.add).mutable_kernel()->set_arguments(0, v.copy)),
     kInvalid, "value 9 is written and overlaps value 10"},
    {"OutputOverlapsListElement", EDIT(At(method, v.add).mutable_kernel()->add_arguments(v.list)),
     kInvalid, "value 9 is written and is also another operand"},
    {"OutputIsArgumentOfPureOperator",
     EDIT(At(method, v.add).mutable_kernel()->set_arguments(0, v.sum)), kInvalid,
     "value 9 is written and is also another operand"},
    {"ElementwiseOutputOverArgumentOfOtherSizes",
     EDIT(PutCopyOverSum(method, v); TensorAt(method, v.copy).mutable_sizes()->SwapElements(0, 1)),
     kInvalid, "value 9 is written and overlaps value 10"},
    {"ElementwiseOutputOverArgumentOfOtherOrder",
     EDIT(PutCopyOverSum(method, v);
          TensorAt(method, v.copy).set_dim_order(std::string("\1\0", 2))),
     kInvalid, "value 9 is written and overlaps value 10"},
    {"ElementwiseOutputOverArgumentOfOtherDynamicSizes",
     EDIT(PutCopyOverSum(method, v); TensorAt(method, v.copy).set_dynamic_dims(2)), kInvalid,
     "value 9 is written and overlaps value 10"},
    {"ElementwiseOutputOverTheEndOfAnArgument",
     EDIT(PutCopyOverSum(method, v);
          for (const uint32_t value : {v.sum, v.copy}) TensorAt(method, value).set_sizes(0, 8);
          TensorAt(method, v.sum).set_arena_offset(TensorAt(method, v.copy).arena_offset() + 64)),
     kInvalid, "value 9 is written and overlaps value 10"},
    {"ElementwiseOutputOverArgumentOfFewerBytes",
     EDIT(method.set_operators(At(method, v.add).kernel().operator_(), "aten.add.Tensor");
          TensorAt(method, v.copy).set_arena_offset(TensorAt(method, v.sum).arena_offset());
          TensorAt(method, v.copy).clear_sizes(); TensorAt(method, v.copy).add_sizes(1);
          TensorAt(method, v.copy).set_dim_order(std::string("\0", 1));
          At(method, v.add).mutable_kernel()->set_arguments(0, v.copy)),
     kInvalid, "is written and overlaps value"},
    {"SameBytesOutputOverStaticArgumentOfFewerBytes",
     EDIT(method.set_operators(At(method, v.add).kernel().operator_(), "aten.view_copy.default");
          TensorAt(method, v.copy).set_arena_offset(TensorAt(method, v.sum).arena_offset());
          TensorAt(method, v.copy).set_dynamic_dims(0); TensorAt(method, v.copy).clear_sizes();
          TensorAt(method, v.copy).add_sizes(1);
          TensorAt(method, v.copy).set_dim_order(std::string("\0", 1));
          At(method, v.add).mutable_kernel()->set_arguments(0, v.copy)),
     kInvalid, "is written and overlaps value"},
    {"ElementwiseOutputOverArgumentOfOtherDType",
     EDIT(method.set_operators(At(method, v.add).kernel().operator_(), "aten.add.Tensor");
          *method.mutable_values(static_cast<int>(v.copy)) = method.values(static_cast<int>(v.sum));
          TensorAt(method, v.copy).set_dtype(4);
          At(method, v.add).mutable_kernel()->set_arguments(0, v.copy)),
     kInvalid, "is written and overlaps value"},
    {"OutputOverArgumentOfOtherOperator",
     EDIT(method.set_operators(At(method, v.add).kernel().operator_(), "aten.mm.default");
          *method.mutable_values(static_cast<int>(v.copy)) = method.values(static_cast<int>(v.sum));
          At(method, v.add).mutable_kernel()->set_arguments(0, v.copy)),
     kInvalid, "is written and overlaps value"},
    {"InPlaceArgumentTwice", EDIT(At(method, v.in_place).mutable_kernel()->set_arguments(1, v.m)),
     kInvalid, "value 3 is written and is also another operand"},
    {"DelegateOutputIsArgument",
     EDIT(At(method, v.delegate).mutable_delegate()->set_arguments(0, v.total)), kInvalid,
     "delegate: value 11 is written"},
    {"I4MoveFromOutOfRange", EDIT(At(method, v.move).mutable_move()->set_from(500)), kInvalid,
     "move.from: value 500"},
    {"I4MoveToOutOfRange", EDIT(At(method, v.move).mutable_move()->set_to(500)), kInvalid,
     "move.to: value 500"},
    {"I4MoveOfOtherKind", EDIT(At(method, v.move).mutable_move()->set_from(v.three)), kInvalid,
     "are not tensors of one dtype and rank"},
    {"I4MoveOfOtherScalar",
     EDIT(At(method, v.move).mutable_move()->set_from(v.three);
          At(method, v.move).mutable_move()->set_to(v.flag)),
     kInvalid, "are not of one kind"},
    {"MoveOfNumberToTruthValue", EDIT(MoveLiteral(method, v, /*truth=*/false, /*alike=*/false)),
     kInvalid, "are not of one kind"},
    {"MoveOfTruthValueToNumber", EDIT(MoveLiteral(method, v, /*truth=*/true, /*alike=*/false)),
     kInvalid, "are not of one kind"},
    {"DelegateCalledWithListsOfOtherLengths", EDIT(CallWithLists(method, v, 1, 2)), kInvalid,
     "of the first call of the delegate"},
    {"MoveOfListToScalar",
     EDIT(At(method, v.move).mutable_move()->set_from(v.list);
          At(method, v.move).mutable_move()->set_to(v.flag)),
     kInvalid, "are not of one kind"},
    {"MoveOfOtherDtype", EDIT(At(method, v.move).mutable_move()->set_to(v.bool_tensor)), kInvalid,
     "are not tensors of one dtype and rank"},
    {"MoveOfOtherSize",
     EDIT(At(method, v.move).mutable_move()->set_from(v.weight);
          At(method, v.move).mutable_move()->set_to(v.total);
          TensorAt(method, v.total).set_sizes(1, 2)),
     kInvalid, "dimension 1 is 3 of value 6 and 2 of value 11"},
    {"MoveToConstant", EDIT(At(method, v.move).mutable_move()->set_to(v.weight)), kInvalid,
     "move.to: value 6 may not be written"},
    {"MoveToItself", EDIT(At(method, v.move).mutable_move()->set_to(v.sum)), kInvalid,
     "value 9 is written"},
    {"MoveOverlaps", EDIT(TensorAt(method, v.copy).set_arena_offset(0)), kInvalid, "overlaps"},
    {"I1ConditionOutOfRange",
     EDIT(At(method, v.branch).mutable_jump_if_false()->set_condition(500)), kInvalid,
     "jump_if_false.condition: value 500"},
    {"I1ConditionIsNone", EDIT(At(method, v.branch).mutable_jump_if_false()->set_condition(v.none)),
     kInvalid, "is neither a bool"},
    {"I1ConditionIsInt", EDIT(At(method, v.branch).mutable_jump_if_false()->set_condition(v.three)),
     kInvalid, "is neither a bool"},
    {"I1ConditionIsLargeTensor",
     EDIT(At(method, v.branch).mutable_jump_if_false()->set_condition(v.bool_tensor);
          TensorAt(method, v.bool_tensor).set_sizes(0, 2)),
     kInvalid, "is neither a bool"},
    {"I1ConditionIsFloatTensor",
     EDIT(At(method, v.branch).mutable_jump_if_false()->set_condition(v.bool_tensor);
          TensorAt(method, v.bool_tensor).set_dtype(7)),
     kInvalid, "is neither a bool"},
    {"I1ConditionIsDynamicTensor",
     EDIT(At(method, v.branch).mutable_jump_if_false()->set_condition(v.bool_tensor);
          TensorAt(method, v.bool_tensor).set_dynamic_dims(1)),
     kInvalid, "is neither a bool"},
    {"I1TargetOutOfRange", EDIT(At(method, v.branch).mutable_jump_if_false()->set_target(8)),
     kInvalid, "jump_if_false.target: 8 is beyond the 7 instructions"},
    {"JumpTargetOutOfRange", EDIT(At(method, v.jump).mutable_jump()->set_target(8)), kInvalid,
     "jump.target: 8 is beyond the 7"},
};

class RuleTest : public ::testing::TestWithParam<RuleCase> {};

TEST_P(RuleTest, IsEnforced) {
  SampleIndices v;
  const TestProgram sample = SampleProgram(&v);
  const std::string file = sample.Serialize(
      [&](schema::Program& program) { GetParam().edit(program, *program.mutable_methods(0), v); });
  EXPECT_THAT(OpenFileBytes(file), StatusIs(GetParam().code, HasSubstr(GetParam().message)));
}

INSTANTIATE_TEST_SUITE_P(Rules, RuleTest, ::testing::ValuesIn(kRuleCases),
                         [](const auto& info) { return info.param.name; });

// --- Unterminated lists of integers ---

TEST(NumbersTest, T2ListNumbersMustTerminate) {
  constexpr uint32_t kLast = 0x7e;  // last byte of the broken list
  const std::pair<void (*)(schema::Method& method, const SampleIndices& v), const char*> lists[] = {
      {[](schema::Method& method, const SampleIndices& v) {
         At(method, v.add).mutable_kernel()->add_arguments(kLast);
       },
       "instructions[0].kernel.arguments"},
      {[](schema::Method& method, const SampleIndices& v) {
         At(method, v.add).mutable_kernel()->add_outputs(kLast);
       },
       "instructions[0].kernel.outputs"},
      {[](schema::Method& method, const SampleIndices& v) {
         TensorAt(method, v.bool_tensor).add_sizes(kLast);
       },
       "tensor.sizes"},
      {[](schema::Method& method, const SampleIndices& v) {
         method.mutable_values(static_cast<int>(v.list))->mutable_list()->add_elements(kLast);
       },
       "list.elements"},
  };
  for (const auto& [edit, message] : lists) {
    SCOPED_TRACE(message);
    SampleIndices v;
    std::string file = SampleProgram(&v).Serialize(
        [&edit = edit, &v](schema::Program& program) { edit(*program.mutable_methods(0), v); });
    const size_t at = file.find(static_cast<char>(kLast), kHeaderBytes);
    ASSERT_NE(at, std::string::npos);
    file[at] = '\x80';
    FixHeader(file);
    EXPECT_THAT(OpenFileBytes(file), StatusIs(absl::StatusCode::kDataLoss, HasSubstr(message)));
  }
}

// --- Valid variations ---

struct AllowedCase {
  const char* name;
  void (*edit)(schema::Program& program, schema::Method& method, const SampleIndices& v);
};
void PrintTo(const AllowedCase& c, std::ostream* out) { *out << c.name; }

const AllowedCase kAllowedCases[] = {
    {"OutputNoneIsDropped", EDIT(At(method, v.add).mutable_kernel()->set_outputs(0, v.none))},
    {"OutputsInAnyOrder", EDIT(At(method, v.add).mutable_kernel()->set_outputs(0, v.total);
                               At(method, v.add).mutable_kernel()->add_outputs(v.copy);
                               At(method, v.add).mutable_kernel()->add_outputs(v.sum))},
    {"OutputIsState", EDIT(At(method, v.add).mutable_kernel()->set_outputs(0, v.state))},
    {"OutputIsMutatedInput", EDIT(At(method, v.add).mutable_kernel()->set_outputs(0, v.m))},
    {"DelegateCalledTwiceWithNaN", EDIT(CallWithNumbers(method, v, std::nan("1"), -std::nan("2")))},
    {"DelegateCalledTwiceWithCompatibleTensors",
     EDIT(CallWithTensors(method, v, [](schema::Tensor&) {}))},
    {"ArgumentIsAListOfNumbersAndTensors",
     EDIT(At(method, v.add)
              .mutable_kernel()
              ->add_arguments(static_cast<uint32_t>(method.values_size()));
          schema::List* list = method.add_values()->mutable_list(); list->add_elements(v.three);
          list->add_elements(v.weight))},
    {"ArgumentTwice", EDIT(At(method, v.add).mutable_kernel()->set_arguments(1, v.x))},
    {"ElementwiseOutputOverArgument", EDIT(PutCopyOverSum(method, v))},
    {"OutputOfOtherShapeOverSameBytes",
     EDIT(method.set_operators(At(method, v.add).kernel().operator_(), "aten.view_copy.default");
          *method.mutable_values(static_cast<int>(v.copy)) = method.values(static_cast<int>(v.sum));
          TensorAt(method, v.copy).add_sizes(1);
          TensorAt(method, v.copy)
              .mutable_dim_order()
              ->push_back(static_cast<char>(TensorAt(method, v.copy).sizes_size() - 1));
          At(method, v.move).mutable_move()->set_from(v.weight);
          At(method, v.move).mutable_move()->set_to(v.total);
          At(method, v.add).mutable_kernel()->set_arguments(0, v.copy))},
    {"MoveOfLiteral",
     EDIT(method.mutable_values(static_cast<int>(v.flag))
              ->mutable_scalar()
              ->set_kind(schema::ScalarSlot::INT);
          At(method, v.branch).mutable_jump_if_false()->set_condition(v.bool_tensor);
          At(method, v.move).mutable_move()->set_from(v.three);
          At(method, v.move).mutable_move()->set_to(v.flag))},
    {"MoveOfNumber", EDIT(MoveLiteral(method, v, /*truth=*/false, /*alike=*/true))},
    {"MoveOfTruthValue", EDIT(MoveLiteral(method, v, /*truth=*/true, /*alike=*/true))},
    {"DelegateCalledTwiceWithLists", EDIT(CallWithLists(method, v, 2, 2))},
    {"JumpBackwards", EDIT(At(method, v.jump).mutable_jump()->set_target(0))},
    {"ArenaReuse",
     EDIT(TensorAt(method, v.total).set_arena_offset(TensorAt(method, v.sum).arena_offset()))},
    {"EmptyTensorAnywhere",
     EDIT(TensorAt(method, v.total).set_sizes(0, 0); TensorAt(method, v.total).set_arena_offset(0);
          At(method, v.add).mutable_kernel()->add_outputs(v.total))},
    {"NamedDataWithLayout",
     EDIT(schema::TensorLayout* layout = program.mutable_named_data(0)->mutable_layout();
          layout->set_dtype(1); layout->add_sizes(11); layout->set_dim_order(std::string("\0", 1));
          program.mutable_named_data(0)->set_alignment(128))},
    {"NamedDataSorted", EDIT(*program.add_named_data() = program.named_data(0);
                             program.mutable_named_data(1)->set_key("lookup2"))},
    {"RankZero", EDIT(TensorAt(method, v.bool_tensor).clear_sizes();
                      TensorAt(method, v.bool_tensor).clear_dim_order())},
};

class AllowedTest : public ::testing::TestWithParam<AllowedCase> {};

TEST_P(AllowedTest, IsAccepted) {
  SampleIndices v;
  const std::string file = SampleProgram(&v).Serialize(
      [&](schema::Program& program) { GetParam().edit(program, *program.mutable_methods(0), v); });
  EXPECT_OK(OpenFileBytes(file));
}

INSTANTIATE_TEST_SUITE_P(Rules, AllowedTest, ::testing::ValuesIn(kAllowedCases),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace belay
