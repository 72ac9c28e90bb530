#include "runtime/executor/testing/program_builder.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "runtime/core/arena.h"
#include "runtime/core/checked_math.h"
#include "runtime/core/sha256.h"
#include "runtime/core/status_macros.h"
#include "runtime/schema/file_format.h"

namespace belay {
namespace {

uint64_t AlignUp(uint64_t value, uint64_t alignment) {
  return CheckedAlignUp(value, alignment).value_or(0);
}

template <class T>
void Put(std::string& bytes, size_t at, T value) {
  for (size_t i = 0; i < sizeof(T); ++i) bytes[at + i] = static_cast<char>(value >> (8 * i));
}

template <class T>
T Get(const std::string& bytes, size_t at) {
  T value = 0;
  for (size_t i = sizeof(T); i-- > 0;) {
    value = static_cast<T>(value << 8 | static_cast<uint8_t>(bytes[at + i]));
  }
  return value;
}

uint32_t Crc32(std::string_view bytes) {
  return static_cast<uint32_t>(
      crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

absl::Span<const std::byte> AsBytes(std::string_view text) {
  return absl::MakeConstSpan(reinterpret_cast<const std::byte*>(text.data()), text.size());
}

std::string Header(const char (&magic)[8]) {
  std::string header(kHeaderBytes, '\0');
  std::memcpy(header.data(), magic, sizeof(magic));
  Put<uint32_t>(header, 8, kFormatMajor);
  Put<uint32_t>(header, 12, kFormatMinor);
  return header;
}

}  // namespace

uint32_t TestMethod::AddValue(schema::Value value) {
  *method_->add_values() = std::move(value);
  return static_cast<uint32_t>(method_->values_size() - 1);
}

uint32_t TestMethod::LastInstruction() const {
  return static_cast<uint32_t>(method_->instructions_size() - 1);
}

uint32_t TestMethod::None() {
  schema::Value value;
  value.mutable_none();
  return AddValue(value);
}

uint32_t TestMethod::Int(int64_t v) {
  schema::Value value;
  value.set_int_(v);
  return AddValue(value);
}

uint32_t TestMethod::Double(double v) {
  schema::Value value;
  value.set_double_(v);
  return AddValue(value);
}

uint32_t TestMethod::Bool(bool v) {
  schema::Value value;
  value.set_bool_(v);
  return AddValue(value);
}

uint32_t TestMethod::String(std::string v) {
  schema::Value value;
  value.set_string(std::move(v));
  return AddValue(value);
}

uint32_t TestMethod::List(const std::vector<uint32_t>& elements) {
  schema::Value value;
  schema::List* list = value.mutable_list();
  for (const uint32_t element : elements) list->add_elements(element);
  return AddValue(value);
}

uint32_t TestMethod::Slot(schema::ScalarSlot::Kind kind) {
  schema::Value value;
  value.mutable_scalar()->set_kind(kind);
  return AddValue(value);
}

schema::Tensor TestMethod::TensorOf(DType dtype, const Sizes& sizes, const DimOrder& order,
                                    uint32_t dynamic_dims) {
  schema::Tensor tensor;
  tensor.set_dtype(static_cast<uint32_t>(dtype));
  for (const int64_t size : sizes) tensor.add_sizes(size);
  tensor.set_dim_order(std::string(order.begin(), order.end()));
  tensor.set_dynamic_dims(dynamic_dims);
  return tensor;
}

uint32_t TestMethod::Arena(DType dtype, const Sizes& sizes, uint32_t dynamic_dims) {
  return ArenaInOrder(dtype, sizes, ContiguousOrder(sizes.size()), dynamic_dims);
}

uint32_t TestMethod::ArenaInOrder(DType dtype, const Sizes& sizes, const DimOrder& order,
                                  uint32_t dynamic_dims) {
  schema::Value value;
  *value.mutable_tensor() = TensorOf(dtype, sizes, order, dynamic_dims);
  value.mutable_tensor()->set_arena_offset(method_->arena_bytes());
  const uint64_t bytes = static_cast<uint64_t>(*NumElements(sizes)) * DTypeSize(dtype);
  method_->set_arena_bytes(AlignUp(method_->arena_bytes() + bytes, kTensorAlignment));
  return AddValue(value);
}

void TestMethod::Bank(std::string name, uint64_t bytes, uint64_t alignment) {
  schema::MemoryBank* bank = method_->add_banks();
  bank->set_name(std::move(name));
  bank->set_bytes(bytes);
  bank->set_alignment(alignment);
}

uint32_t TestMethod::Constant(uint32_t constant, DType dtype, const Sizes& sizes) {
  schema::Value value;
  *value.mutable_tensor() = TensorOf(dtype, sizes, ContiguousOrder(sizes.size()), 0);
  value.mutable_tensor()->set_constant(constant);
  return AddValue(value);
}

uint32_t TestMethod::State(std::string name, DType dtype, const Sizes& sizes, uint32_t initial) {
  schema::Value value;
  *value.mutable_tensor() = TensorOf(dtype, sizes, ContiguousOrder(sizes.size()), 0);
  value.mutable_tensor()->set_state_offset(method_->state_bytes());
  const uint64_t bytes = static_cast<uint64_t>(*NumElements(sizes)) * DTypeSize(dtype);
  method_->set_state_bytes(AlignUp(method_->state_bytes() + bytes, kTensorAlignment));
  const uint32_t index = AddValue(value);
  schema::StateBuffer* state = method_->add_state();
  state->set_name(std::move(name));
  state->set_value(index);
  state->set_initial(initial);
  return index;
}

uint32_t TestMethod::AddInput(std::string name, uint32_t value,
                              const std::vector<TestConstraint>& constraints) {
  schema::Input* input = method_->add_inputs();
  input->set_name(std::move(name));
  input->set_value(value);
  for (const TestConstraint& c : constraints) {
    schema::SizeConstraint* constraint = input->add_constraints();
    constraint->set_dim(c.dim);
    constraint->set_min(c.min);
    constraint->set_max(c.max);
    constraint->set_symbol(c.symbol);
    constraint->set_multiplier(c.multiplier);
    constraint->set_offset(c.offset);
  }
  return value;
}

uint32_t TestMethod::Input(std::string name, DType dtype, const Sizes& sizes,
                           const std::vector<TestConstraint>& constraints) {
  uint32_t dynamic_dims = 0;
  for (const TestConstraint& c : constraints) dynamic_dims |= uint32_t{1} << c.dim;
  schema::Value value;
  *value.mutable_tensor() = TensorOf(dtype, sizes, ContiguousOrder(sizes.size()), dynamic_dims);
  value.mutable_tensor()->mutable_external();
  return AddInput(std::move(name), AddValue(value), constraints);
}

uint32_t TestMethod::InputInOrder(std::string name, DType dtype, const Sizes& sizes,
                                  const DimOrder& order) {
  schema::Value value;
  *value.mutable_tensor() = TensorOf(dtype, sizes, order, 0);
  value.mutable_tensor()->mutable_external();
  return AddInput(std::move(name), AddValue(value), {});
}

uint32_t TestMethod::MutatedInput(std::string name, DType dtype, const Sizes& sizes) {
  const uint32_t value = Input(std::move(name), dtype, sizes);
  method_->mutable_inputs(method_->inputs_size() - 1)->set_mutated(true);
  return value;
}

uint32_t TestMethod::ScalarInput(std::string name, schema::ScalarSlot::Kind kind,
                                 const std::vector<TestConstraint>& constraints) {
  return AddInput(std::move(name), Slot(kind), constraints);
}

void TestMethod::ConstantInput(std::string name, uint32_t value) {
  AddInput(std::move(name), value, {});
}

uint32_t TestMethod::Call(const std::string& op, const std::vector<uint32_t>& arguments,
                          const std::vector<uint32_t>& outputs) {
  auto& operators = *method_->mutable_operators();
  const auto found = std::find(operators.begin(), operators.end(), op);
  const uint32_t index = static_cast<uint32_t>(found - operators.begin());
  if (found == operators.end()) method_->add_operators(op);
  schema::KernelCall* call = method_->add_instructions()->mutable_kernel();
  call->set_operator_(index);
  for (const uint32_t v : arguments) call->add_arguments(v);
  for (const uint32_t v : outputs) call->add_outputs(v);
  return LastInstruction();
}

uint32_t TestMethod::Delegate(const std::string& backend, uint32_t segment,
                              const std::vector<uint32_t>& arguments,
                              const std::vector<uint32_t>& outputs) {
  schema::DelegateCall* call = method_->add_instructions()->mutable_delegate();
  call->set_delegate(static_cast<uint32_t>(method_->delegates_size()));
  schema::Delegate* delegate = method_->add_delegates();
  delegate->set_backend_id(backend);
  delegate->set_segment(segment);
  for (const uint32_t v : arguments) call->add_arguments(v);
  for (const uint32_t v : outputs) call->add_outputs(v);
  return LastInstruction();
}

uint32_t TestMethod::Move(uint32_t from, uint32_t to) {
  schema::Move* move = method_->add_instructions()->mutable_move();
  move->set_from(from);
  move->set_to(to);
  return LastInstruction();
}

uint32_t TestMethod::JumpIfFalse(uint32_t condition, uint32_t target) {
  schema::JumpIfFalse* jump = method_->add_instructions()->mutable_jump_if_false();
  jump->set_condition(condition);
  jump->set_target(target);
  return LastInstruction();
}

uint32_t TestMethod::Jump(uint32_t target) {
  method_->add_instructions()->mutable_jump()->set_target(target);
  return LastInstruction();
}

void TestMethod::LandHere(uint32_t jump) {
  schema::Instruction* instruction = method_->mutable_instructions(static_cast<int>(jump));
  const uint32_t target = static_cast<uint32_t>(method_->instructions_size());
  if (instruction->has_jump()) {
    instruction->mutable_jump()->set_target(target);
  } else {
    instruction->mutable_jump_if_false()->set_target(target);
  }
}

TestMethod TestProgram::AddMethod(std::string name) {
  schema::Method* method = metadata_.add_methods();
  method->set_name(std::move(name));
  return TestMethod(method);
}

uint32_t TestProgram::AddSegment(schema::Segment::Kind kind, std::string bytes,
                                 std::string companion) {
  schema::Segment* segment = metadata_.add_segments();
  segment->set_kind(kind);
  segment->set_alignment(kSegmentAlignment);
  segment->set_size(bytes.size());
  segment->set_sha256(Sha256(AsBytes(bytes)));
  segment->set_companion(std::move(companion));
  segments_.push_back(std::move(bytes));
  return static_cast<uint32_t>(segments_.size() - 1);
}

uint32_t TestProgram::AddConstantBytes(std::string_view bytes) {
  const uint32_t segment = AddSegment(schema::Segment::CONSTANTS, std::string(bytes));
  schema::Constant* constant = metadata_.add_constants();
  constant->set_segment(segment);
  constant->set_size(bytes.size());
  return static_cast<uint32_t>(metadata_.constants_size() - 1);
}

void TestProgram::AddNamedData(std::string key, std::string bytes) {
  schema::NamedData* data = metadata_.add_named_data();
  data->set_key(std::move(key));
  data->set_size(bytes.size());
  data->set_segment(AddSegment(schema::Segment::NAMED_DATA, std::move(bytes)));
}

void TestProgram::AddNamedTensor(std::string key, std::string bytes, DType dtype,
                                 const Sizes& sizes, bool replaceable) {
  AddNamedData(std::move(key), std::move(bytes));
  schema::NamedData* data = metadata_.mutable_named_data(metadata_.named_data_size() - 1);
  schema::TensorLayout* layout = data->mutable_layout();
  layout->set_dtype(static_cast<uint32_t>(dtype));
  for (int d = 0; d < sizes.size(); ++d) {
    layout->add_sizes(sizes[d]);
    layout->mutable_dim_order()->push_back(static_cast<char>(d));
  }
  data->set_replaceable(replaceable);
}

uint32_t TestProgram::AddNamedConstant(std::string key, uint64_t size) {
  const auto& features = metadata_.required_features();
  if (std::find(features.begin(), features.end(), kNamedConstants) == features.end()) {
    metadata_.add_required_features(kNamedConstants);
  }
  const auto index = static_cast<uint32_t>(metadata_.constants_size());
  schema::Constant* constant = metadata_.add_constants();
  constant->set_size(size);
  constant->set_named_data(std::move(key));
  return index;
}

void TestProgram::AddDebugInfo(const schema::DebugInfo& debug) {
  metadata_.set_debug_segment(AddSegment(schema::Segment::DEBUG, debug.SerializeAsString()) + 1);
}

std::string TestProgram::Serialize(const std::function<void(schema::Program&)>& edit) const {
  schema::Program metadata;
  std::string bytes;
  uint64_t first = 0;
  // Offsets depend on the metadata's size, which depends on the offsets.
  for (size_t size = 0;;) {
    metadata = metadata_;
    first = 0;
    uint64_t end = kHeaderBytes + size;
    for (schema::Segment& segment : *metadata.mutable_segments()) {
      if (!segment.companion().empty()) continue;
      segment.set_offset(AlignUp(end, segment.alignment()));
      end = segment.offset() + segment.size();
      if (first == 0) first = segment.offset();
    }
    for (const schema::Segment& own : metadata_.segments()) {
      if (own.companion().empty()) continue;
      // Same layout as SerializeCompanion().
      uint64_t members = 0;
      for (const schema::Segment& s : metadata_.segments()) {
        members += s.companion() == own.companion();
      }
      uint64_t at = kHeaderBytes + members * kDigestBytes;
      for (schema::Segment& s : *metadata.mutable_segments()) {
        if (s.companion() != own.companion()) continue;
        s.set_offset(AlignUp(at, s.alignment()));
        at = s.offset() + s.size();
      }
    }
    if (edit) edit(metadata);
    bytes = metadata.SerializeAsString();
    if (bytes.size() == size) break;
    size = bytes.size();
  }
  std::string file = Header(kMagic) + bytes;
  for (int i = 0; i < metadata_.segments_size(); ++i) {
    if (!metadata_.segments(i).companion().empty()) continue;
    file.resize(AlignUp(file.size(), metadata_.segments(i).alignment()), '\0');
    file += segments_[i];
  }
  Put<uint64_t>(file, 16, bytes.size());
  Put<uint64_t>(file, 24, first);
  Put<uint64_t>(file, 32, file.size());
  FixHeader(file);
  return file;
}

std::string TestProgram::SerializeCompanion(const std::string& name) const {
  std::string file = Header(kCompanionMagic);
  uint64_t count = 0;
  for (const schema::Segment& segment : metadata_.segments()) {
    if (segment.companion() != name) continue;
    file += segment.sha256();
    ++count;
  }
  for (int i = 0; i < metadata_.segments_size(); ++i) {
    if (metadata_.segments(i).companion() != name) continue;
    file.resize(AlignUp(file.size(), metadata_.segments(i).alignment()), '\0');
    file += segments_[i];
  }
  Put<uint64_t>(file, 16, file.size());
  Put<uint64_t>(file, 24, count);
  FixHeader(file);
  return file;
}

void FixHeader(std::string& file) {
  const bool companion = std::memcmp(file.data(), kCompanionMagic, sizeof(kCompanionMagic)) == 0;
  const uint64_t size =
      companion ? Get<uint64_t>(file, 24) * kDigestBytes : Get<uint64_t>(file, 16);
  Put<uint32_t>(file, 56, Crc32(std::string_view(file).substr(kHeaderBytes, size)));
  Put<uint32_t>(file, 60, Crc32(std::string_view(file).substr(0, 60)));
}

absl::StatusOr<Program> OpenFileBytes(std::string_view file, const Program::Options& options,
                                      size_t misalignment) {
  // AlignedBuffer's alignment is smaller than a segment's.
  absl::StatusOr<AlignedBuffer> buffer =
      AlignedBuffer::Create(kSegmentAlignment + misalignment + file.size());
  ABSL_CHECK(buffer.ok());
  const auto owner = std::make_shared<const AlignedBuffer>(*std::move(buffer));
  const size_t base = reinterpret_cast<uintptr_t>(owner->data()) % kSegmentAlignment;
  std::byte* data = owner->data() + (kSegmentAlignment - base) % kSegmentAlignment + misalignment;
  std::memcpy(data, file.data(), file.size());
  return Program::OpenBytes(owner, absl::MakeConstSpan(data, file.size()), options);
}

}  // namespace belay
