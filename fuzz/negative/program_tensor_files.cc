// Classes N: tensors, sizes and offsets.
#include <string>

#include "fuzz/negative/negative_files.h"
#include "fuzz/negative/program_edits.h"

namespace belay::fuzz {
namespace {

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

void AddBank(schema::Method& method, const std::string& name, uint64_t bytes, uint64_t alignment) {
  schema::MemoryBank* bank = method.add_banks();
  bank->set_name(name);
  bank->set_bytes(bytes);
  bank->set_alignment(alignment);
}

const ProgramEdit kEdits[] = {
    {"N1_numel_overflow", "2^62 x 4 elements", kInvalid,
     "tensor.sizes: the tensor's bytes overflow",
     BELAY_EDIT(TensorAt(method, v.total).set_sizes(0, int64_t{1} << 62);
                TensorAt(method, v.total).set_sizes(1, 4))},
    {"N1_nbytes_overflow", "fewer than 2^63 elements, more bytes", kInvalid,
     "tensor.sizes: the tensor's bytes overflow",
     BELAY_EDIT(TensorAt(method, v.total).set_sizes(0, int64_t{1} << 60))},
    {"N1_nbytes_wraps_to_small", "2^32 x 2^32 elements, 0 bytes in 64 bits", kInvalid,
     "tensor.sizes: the tensor's bytes overflow",
     BELAY_EDIT(TensorAt(method, v.total).set_sizes(0, int64_t{1} << 32);
                TensorAt(method, v.total).set_sizes(1, int64_t{1} << 32))},
    {"N2_rank_17", "17 dimensions", kInvalid, "tensor.sizes: rank 17 is above 16",
     BELAY_EDIT(for (int i = 0; i < 15; ++i) TensorAt(method, v.total).add_sizes(1))},
    {"N2_rank_5000", "5000 dimensions", kInvalid, "tensor.sizes: rank 5000 is above 16",
     BELAY_EDIT(for (int i = 0; i < 4998; ++i) TensorAt(method, v.total).add_sizes(1))},
    {"N2_layout_rank", "named data of 20 dimensions", kInvalid,
     "named_data[0].layout.sizes: rank 20 is above 16",
     BELAY_EDIT(schema::TensorLayout* layout = program.mutable_named_data(0)->mutable_layout();
                layout->set_dtype(1); for (int i = 0; i < 20; ++i) layout->add_sizes(1))},
    {"N3_size_negative", "a size of -3", kInvalid, "tensor.sizes[1]: -3 is negative",
     BELAY_EDIT(TensorAt(method, v.total).set_sizes(1, -3))},
    {"N3_size_min", "a size of -2^63", kInvalid, "tensor.sizes[0]: -9223372036854775808",
     BELAY_EDIT(TensorAt(method, v.total).set_sizes(0, INT64_MIN))},
    {"N3_arena_negative", "an arena of -64 bytes", absl::StatusCode::kResourceExhausted,
     "'reserved_bytes'", BELAY_EDIT(method.set_arena_bytes(static_cast<uint64_t>(-64)))},
    {"N3_constraint_negative", "an input of at least -1", kInvalid, "[-1,4] is not inside [0,4]",
     BELAY_EDIT(method.mutable_inputs(0)->mutable_constraints(0)->set_min(-1))},
    {"N4_dim_order_short", "fewer entries than dimensions", kInvalid,
     "tensor.dim_order: has 1 entries, the rank is 2",
     BELAY_EDIT(TensorAt(method, v.total).mutable_dim_order()->pop_back())},
    {"N4_dim_order_long", "more entries than dimensions", kInvalid,
     "tensor.dim_order: has 3 entries",
     BELAY_EDIT(TensorAt(method, v.total).mutable_dim_order()->push_back('\2'))},
    {"N4_dim_order_repeats", "the order {0,0}", kInvalid,
     "tensor.dim_order: {0,0} is not a permutation",
     BELAY_EDIT(TensorAt(method, v.total).set_dim_order(std::string("\0\0", 2)))},
    {"N4_dim_order_out_of_range", "the order {0,255}", kInvalid, "tensor.dim_order: {0,255}",
     BELAY_EDIT(TensorAt(method, v.total).set_dim_order(std::string("\0\xff", 2)))},
    {"N4_dynamic_dim_beyond_rank", "dimension 2 of 2 is dynamic", kInvalid,
     "tensor.dynamic_dims: bits 5", BELAY_EDIT(TensorAt(method, v.sum).set_dynamic_dims(5))},
    {"N5_product_beside_zero", "no elements, but a stride that overflows", kInvalid,
     "tensor.sizes: the tensor's bytes overflow",
     BELAY_EDIT(TensorAt(method, v.total).set_sizes(0, 0);
                TensorAt(method, v.total).set_sizes(1, int64_t{1} << 62))},
    {"N6_constant_index", "a constant that does not exist", kInvalid,
     "tensor.constant: 2 does not exist, there are 2",
     BELAY_EDIT(TensorAt(method, v.weight).set_constant(2))},
    {"N6_constant_wraps", "offset + size of a constant wraps", kInvalid,
     "constants[0]: 24 bytes at",
     BELAY_EDIT(program.mutable_constants(0)->set_offset(~uint64_t{0} - 63))},
    {"N6_constant_segment", "a constant in no segment", kInvalid,
     "constants[0]: segment 5 does not exist, there are 5",
     BELAY_EDIT(program.mutable_constants(0)->set_segment(5))},
    {"N6_constant_in_blob", "a constant in a delegate's blob", kInvalid,
     "constants[0]: segment 2 is of kind DELEGATE, expected CONSTANTS",
     BELAY_EDIT(program.mutable_constants(0)->set_segment(2))},
    {"N7_arena_offset_outside", "a tensor outside of the arena", kInvalid,
     "tensor.arena_offset: 24 bytes at 1048576",
     BELAY_EDIT(TensorAt(method, v.total).set_arena_offset(1 << 20))},
    {"N7_arena_offset_wraps", "offset + size in the arena wraps", kInvalid,
     "tensor.arena_offset: 24 bytes at",
     BELAY_EDIT(TensorAt(method, v.total).set_arena_offset(~uint64_t{0} - 63))},
    {"N7_tensor_across_banks", "a tensor in two banks", kInvalid,
     "tensor.arena_offset: 96 bytes at 128 are not inside the 192 bytes of bank 'fast'",
     BELAY_EDIT(TensorAt(method, v.total).set_sizes(1, 12); AddBank(method, "fast", 192, 64);
                AddBank(method, "slow", method.arena_bytes() - 192, 64))},
    {"N7_banks_below_arena", "banks smaller than the arena", kInvalid,
     "banks: have 64 bytes, the arena 256", BELAY_EDIT(AddBank(method, "fast", 64, 64))},
    {"A1_bank_sizes_wrap", "sizes of banks that wrap to that of the arena", kInvalid,
     "banks[1].bytes: expected a multiple of 64 of at most 64",
     BELAY_EDIT(AddBank(method, "fast", 192, 64); AddBank(method, "slow", ~uint64_t{0} - 63, 64);
                AddBank(method, "last", 128, 64))},
    {"A2_bank_size", "a bank of 100 bytes", kInvalid, "banks[0].bytes: expected a multiple of 64",
     BELAY_EDIT(AddBank(method, "fast", 100, 64))},
    {"A2_bank_alignment_no_power", "a bank aligned to 192", kInvalid,
     "banks[0].alignment: expected a power of two",
     BELAY_EDIT(AddBank(method, "fast", method.arena_bytes(), 192))},
    {"A2_bank_alignment_2_63", "a bank aligned to 2^63", kInvalid,
     "banks[0].alignment: expected a power of two from 64 to 1073741824",
     BELAY_EDIT(AddBank(method, "fast", method.arena_bytes(), uint64_t{1} << 63))},
    {"A2_tensor_misaligned_in_bank", "a tensor at 64 in a bank aligned to 128", kInvalid,
     "tensor.arena_offset: 64 is not a multiple of 128",
     BELAY_EDIT(AddBank(method, "fast", method.arena_bytes(), 128))},
    {"P1_bank_name_repeated", "two banks of one name", kInvalid,
     "banks[1].name: 'fast' is the name of an earlier bank",
     BELAY_EDIT(AddBank(method, "fast", 64, 64); AddBank(method, "fast", 192, 64))},
    {"P1_many_banks", "1000 banks", kInvalid, "banks: expected at most 16 banks, got 1000",
     BELAY_EDIT(for (int i = 0; i < 1000; ++i) AddBank(method, "", 0, 0))},
    {"N7_no_arena", "planned tensors, but no arena", kInvalid, "inside the arena's 0 bytes",
     BELAY_EDIT(method.set_arena_bytes(0))},
    {"N7_no_state", "state, but no memory for it", kInvalid, "inside the state's 0 bytes",
     BELAY_EDIT(method.set_state_bytes(0))},
    {"N7_state_offset_outside", "state outside of its memory", kInvalid,
     "tensor.state_offset: 8 bytes at 4096",
     BELAY_EDIT(TensorAt(method, v.state).set_state_offset(4096))},
    {"N7_state_overlaps", "two buffers at one offset", kInvalid, "state: values 7 and 8 overlap",
     BELAY_EDIT(TensorAt(method, v.other_state).set_state_offset(0))},
    {"N7_input_in_arena", "an input in the arena", kInvalid,
     "inputs[0].value: value 0 is a tensor that is not external",
     BELAY_EDIT(TensorAt(method, v.x).set_arena_offset(0))},
    {"N9_constraint_above_memory", "an input of up to 5 where 4 are planned", kInvalid,
     "[1,5] is not inside [0,4]",
     BELAY_EDIT(method.mutable_inputs(0)->mutable_constraints(0)->set_max(5))},
    {"N9_constraint_inverted", "an input of at least 5 and at most 4", kInvalid,
     "min 5 is above max 4",
     BELAY_EDIT(method.mutable_inputs(0)->mutable_constraints(0)->set_min(5))},
    {"N9_multiplier_zero", "a size that is 0 times a symbol", kInvalid,
     "multiplier: 0 is not positive",
     BELAY_EDIT(method.mutable_inputs(0)->mutable_constraints(0)->set_multiplier(0))},
};

}  // namespace

std::vector<NegativeFile> ProgramTensorFiles() { return FilesOf(kEdits); }

}  // namespace belay::fuzz
