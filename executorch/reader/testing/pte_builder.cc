#include "executorch/reader/testing/pte_builder.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "executorch/format/file_header.h"
#include "executorch/reader/open_program.h"
#include "runtime/core/arena.h"
#include "runtime/core/status_macros.h"

namespace belay::pte {
namespace {

constexpr size_t kConstantAlignment = 16;

size_t AlignUp(size_t size, size_t alignment) {
  return (size + alignment - 1) / alignment * alignment;
}

template <class T>
void Append(std::string& out, T number) {
  out.append(reinterpret_cast<const char*>(&number), sizeof(number));
}

std::string_view Bytes(const std::vector<float>& elements) {
  return {reinterpret_cast<const char*>(elements.data()), elements.size() * sizeof(float)};
}

// Inserts a header after the identifier, as if it were a part of the buffer.
std::string WithHeader(std::string_view buffer, std::string header) {
  header.resize(AlignUp(header.size(), kHeaderAlignment));
  uint32_t root = 0;
  std::memcpy(&root, buffer.data(), sizeof(root));
  std::string file;
  Append<uint32_t>(file, root + static_cast<uint32_t>(header.size()));
  file.append(buffer.substr(4, 4));
  file.append(header);
  file.append(buffer.substr(8));
  return file;
}

}  // namespace

PteBuilder::PteBuilder() {
  auto plan = std::make_unique<ExecutionPlanT>();
  plan->name = "forward";
  plan->non_const_buffer_sizes = {0, 0};
  plan->chains.push_back(std::make_unique<ChainT>());
  program_.execution_plan.push_back(std::move(plan));
  program_.constant_segment = std::make_unique<SubsegmentOffsetsT>();
  program_.constant_segment->offsets = {0};
}

int32_t PteBuilder::Add(EValueT value) {
  method().values.push_back(std::make_unique<EValueT>(std::move(value)));
  return static_cast<int32_t>(method().values.size() - 1);
}

template <class Content>
int32_t PteBuilder::AddContent(Content content) {
  EValueT value;
  value.val.Set(std::move(content));
  return Add(std::move(value));
}

template <class Content, class Field, class Value>
int32_t PteBuilder::AddField(Field Content::* field, Value value) {
  Content content;
  content.*field = std::move(value);
  return AddContent(std::move(content));
}

int32_t PteBuilder::Null() { return AddContent(NullT()); }
int32_t PteBuilder::Int(int64_t number) { return AddField(&IntT::int_val, number); }
int32_t PteBuilder::Double(double number) { return AddField(&DoubleT::double_val, number); }
int32_t PteBuilder::Bool(bool truth) { return AddField(&BoolT::bool_val, truth); }
int32_t PteBuilder::String(std::string text) {
  return AddField(&StringT::string_val, std::move(text));
}
int32_t PteBuilder::IntList(std::vector<int64_t> values) {
  return AddField(&IntListT::items, std::move(values));
}
int32_t PteBuilder::TensorList(std::vector<int32_t> values) {
  return AddField(&TensorListT::items, std::move(values));
}
int32_t PteBuilder::OptionalTensorList(std::vector<int32_t> values) {
  return AddField(&OptionalTensorListT::items, std::move(values));
}

TensorT PteBuilder::NewTensor(std::vector<int32_t> sizes, int8_t scalar_type) const {
  TensorT tensor;
  tensor.scalar_type = scalar_type;
  for (size_t d = 0; d < sizes.size(); ++d) tensor.dim_order.push_back(static_cast<uint8_t>(d));
  tensor.sizes = std::move(sizes);
  return tensor;
}

uint32_t PteBuilder::Place(const TensorT& tensor) {
  int64_t bytes = tensor.scalar_type == kLongType ? 8 : tensor.scalar_type == kBoolType ? 1 : 4;
  for (const int32_t size : tensor.sizes) bytes *= size;
  int64_t& pool = method().non_const_buffer_sizes[1];
  const int64_t offset = pool;
  pool = static_cast<int64_t>(AlignUp(static_cast<size_t>(offset + bytes), kConstantAlignment));
  return static_cast<uint32_t>(offset);
}

int32_t PteBuilder::Tensor(std::vector<int32_t> sizes, int8_t scalar_type) {
  TensorT tensor = NewTensor(std::move(sizes), scalar_type);
  tensor.allocation_info = std::make_unique<AllocationDetailsT>();
  tensor.allocation_info->memory_id = 1;
  tensor.allocation_info->memory_offset_low = Place(tensor);
  EValueT value;
  value.val.Set(std::move(tensor));
  return Add(std::move(value));
}

int32_t PteBuilder::Unplanned(std::vector<int32_t> sizes, int8_t scalar_type) {
  EValueT value;
  value.val.Set(NewTensor(std::move(sizes), scalar_type));
  return Add(std::move(value));
}

int32_t PteBuilder::External(std::vector<int32_t> sizes, std::string name) {
  const int32_t index = Unplanned(std::move(sizes));
  auto& extra = tensor(index).extra_tensor_info;
  extra = std::make_unique<ExtraTensorInfoT>();
  extra->location = TensorDataLocation::EXTERNAL;
  extra->fully_qualified_name = std::move(name);
  return index;
}

int32_t PteBuilder::Constant(std::vector<int32_t> sizes, const std::vector<float>& elements) {
  const int32_t index = Unplanned(std::move(sizes));
  constants_.resize(AlignUp(constants_.size(), kConstantAlignment));
  tensor(index).data_buffer_idx = static_cast<uint32_t>(program_.constant_segment->offsets.size());
  program_.constant_segment->offsets.push_back(constants_.size());
  constants_.append(Bytes(elements));
  return index;
}

int32_t PteBuilder::Buffer(std::vector<int32_t> sizes, const std::vector<float>& elements) {
  const int32_t index = Tensor(std::move(sizes));
  tensor(index).data_buffer_idx = 1;
  auto offsets = std::make_unique<SubsegmentOffsetsT>();
  offsets->segment_index = AddSegment(Bytes(elements));
  offsets->offsets = {0, 0};
  program_.mutable_data_segments.push_back(std::move(offsets));
  return index;
}

InstructionT& PteBuilder::AddInstruction() {
  auto& list = method().chains[0]->instructions;
  list.push_back(std::make_unique<InstructionT>());
  return *list.back();
}

int32_t PteBuilder::next_instruction() {
  return static_cast<int32_t>(method().chains[0]->instructions.size());
}

KernelCallT& PteBuilder::Call(std::string name, std::string overload, std::vector<int32_t> args) {
  auto op = std::make_unique<OperatorT>();
  op->name = std::move(name);
  op->overload = std::move(overload);
  KernelCallT call;
  call.op_index = static_cast<int32_t>(method().operators.size());
  call.args = std::move(args);
  method().operators.push_back(std::move(op));
  InstructionT& instruction = AddInstruction();
  instruction.instr_args.Set(std::move(call));
  return *instruction.instr_args.AsKernelCall();
}

void PteBuilder::Move(int32_t from, int32_t to) {
  MoveCallT move;
  move.move_from = from;
  move.move_to = to;
  AddInstruction().instr_args.Set(std::move(move));
}

int32_t PteBuilder::JumpFalse(int32_t condition, int32_t destination) {
  JumpFalseCallT jump;
  jump.cond_value_index = condition;
  jump.destination_instruction = destination;
  AddInstruction().instr_args.Set(std::move(jump));
  return next_instruction() - 1;
}

void PteBuilder::Free(int32_t value) {
  FreeCallT free;
  free.value_index = value;
  AddInstruction().instr_args.Set(std::move(free));
}

void PteBuilder::Delegate(std::string id, std::string_view blob, std::vector<int32_t> args) {
  auto delegate = std::make_unique<BackendDelegateT>();
  delegate->id = std::move(id);
  delegate->processed = std::make_unique<BackendDelegateDataReferenceT>();
  delegate->processed->location = DataLocation::SEGMENT;
  delegate->processed->index = AddSegment(blob);
  DelegateCallT call;
  call.delegate_index = static_cast<int32_t>(method().delegates.size());
  call.args = std::move(args);
  method().delegates.push_back(std::move(delegate));
  AddInstruction().instr_args.Set(std::move(call));
}

uint32_t PteBuilder::AddSegment(std::string_view bytes) {
  segments_.emplace_back(bytes);
  return static_cast<uint32_t>(segments_.size());
}

void PteBuilder::AddNamedData(std::string key, std::string_view bytes) {
  auto named = std::make_unique<NamedDataT>();
  named->key = std::move(key);
  named->segment_index = AddSegment(bytes);
  program_.named_data.push_back(std::move(named));
}

std::string PteBuilder::Serialize() const {
  std::string data;
  // Packing reads only the objects; the segments are added to a copy.
  flatbuffers::FlatBufferBuilder builder;
  builder.ForceVectorAlignment(0, 1, 16);
  auto* program = const_cast<ProgramT*>(&program_);
  program->segments.clear();
  const auto add = [&](const std::string& bytes) {
    data.resize(AlignUp(data.size(), kSegmentAlignment));
    auto segment = std::make_unique<DataSegmentT>();
    segment->offset = data.size();
    segment->size = bytes.size();
    program->segments.push_back(std::move(segment));
    data.append(bytes);
  };
  add(constants_);
  for (const std::string& segment : segments_) add(segment);
  FinishProgramBuffer(builder, pte::Program::Pack(builder, program));
  const std::string_view buffer(reinterpret_cast<const char*>(builder.GetBufferPointer()),
                                builder.GetSize());
  if (data.empty()) return std::string(buffer);
  const uint64_t size = buffer.size() + AlignUp(kProgramHeaderSize, kHeaderAlignment);
  const uint64_t base = AlignUp(size, kSegmentAlignment);
  std::string header(kProgramHeaderMagic);
  Append<uint32_t>(header, kProgramHeaderSize);
  Append<uint64_t>(header, size);
  Append<uint64_t>(header, base);
  Append<uint64_t>(header, data.size());
  std::string file = WithHeader(buffer, std::move(header));
  file.resize(base);
  file.append(data);
  return file;
}

std::string SerializeData(const ptd::FlatTensorT& root, std::string_view segments) {
  flatbuffers::FlatBufferBuilder builder;
  ptd::FinishFlatTensorBuffer(builder, ptd::FlatTensor::Pack(builder, &root));
  const std::string_view buffer(reinterpret_cast<const char*>(builder.GetBufferPointer()),
                                builder.GetSize());
  const uint64_t size = buffer.size() + AlignUp(kFlatTensorHeaderSize, kHeaderAlignment);
  const uint64_t base = AlignUp(size, kSegmentAlignment);
  std::string header(kFlatTensorHeaderMagic);
  Append<uint32_t>(header, kFlatTensorHeaderSize);
  Append<uint64_t>(header, 0);
  Append<uint64_t>(header, size);
  Append<uint64_t>(header, base);
  Append<uint64_t>(header, segments.size());
  std::string file = WithHeader(buffer, std::move(header));
  file.resize(base);
  file.append(segments);
  return file;
}

std::string DataFileOf(const std::vector<std::pair<std::string, std::vector<float>>>& tensors) {
  ptd::FlatTensorT root;
  std::string segments;
  for (const auto& [key, elements] : tensors) {
    segments.resize(AlignUp(segments.size(), kSegmentAlignment));
    auto segment = std::make_unique<ptd::DataSegmentT>();
    segment->offset = segments.size();
    segment->size = Bytes(elements).size();
    segments.append(Bytes(elements));
    auto named = std::make_unique<ptd::NamedDataT>();
    named->key = key;
    named->segment_index = static_cast<uint32_t>(root.segments.size());
    named->tensor_layout = std::make_unique<ptd::TensorLayoutT>();
    named->tensor_layout->scalar_type = kFloatType;
    named->tensor_layout->sizes = {static_cast<int32_t>(elements.size())};
    named->tensor_layout->dim_order = {0};
    root.segments.push_back(std::move(segment));
    root.named_data.push_back(std::move(named));
  }
  return SerializeData(root, segments);
}

absl::StatusOr<belay::Program> OpenPte(std::string_view file,
                                       const belay::Program::Options& options,
                                       const DataFiles& data) {
  absl::StatusOr<AlignedBuffer> copy = AlignedBuffer::Create(file.size());
  ABSL_CHECK(copy.ok());
  std::copy(file.begin(), file.end(), reinterpret_cast<char*>(copy->data()));
  auto owner = std::make_shared<AlignedBuffer>(*std::move(copy));
  const absl::Span<const std::byte> bytes = absl::MakeConstSpan(owner->data(), file.size());
  return OpenProgramBytes(std::move(owner), bytes, data, options);
}

}  // namespace belay::pte
