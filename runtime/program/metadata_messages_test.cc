// The reader's field numbers and types are those of program.proto: what its generated code writes
// is what is read.
#include "runtime/program/metadata_messages.h"

#include <complex>
#include <string>
#include <vector>

#include "runtime/core/testing.h"
#include "runtime/schema/program.pb.h"

namespace belay {
namespace {

// A message's bytes, and what Read makes of them.
template <class Message>
struct Written {
  explicit Written(const google::protobuf::MessageLite& written)
      : bytes(written.SerializeAsString()) {
    EXPECT_OK(Read(message(), MetadataPath(), read));
  }
  WireMessage message() const {
    return {.bytes =
                absl::MakeConstSpan(reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()),
            .nesting = 20,
            .depth = 0};
  }
  std::string bytes;
  Message read;
};

std::string_view Text(absl::Span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
std::vector<uint32_t> Numbers(const WireNumbers& numbers) {
  std::vector<uint32_t> all;
  EXPECT_TRUE(ForEachUint32(numbers, [&](uint32_t n) {
    all.push_back(n);
    return true;
  }));
  return all;
}
using Expected = std::vector<uint32_t>;

TEST(MetadataMessagesTest, Program) {
  schema::Program program;
  program.set_producer("belay");
  program.add_required_features("f");
  program.add_segments()->set_size(1);
  program.add_segments()->set_size(2);
  program.add_constants()->set_size(3);
  program.add_methods()->set_name("m");
  program.add_named_data()->set_key("k");
  program.set_debug_segment(4);
  const Written<ProgramMessage> written(program);
  const ProgramMessage& read = written.read;
  EXPECT_EQ(read.producer, "belay");
  EXPECT_EQ(WireElements(read.required_features).NextText(), "f");
  EXPECT_EQ(read.segments.count, 2u);
  EXPECT_EQ(read.constants.count, 1u);
  MethodMessage method;
  ASSERT_OK(Read(WireElements(read.methods).NextMessage(), MetadataPath(), method));
  EXPECT_EQ(method.name, "m");
  NamedDataMessage data;
  ASSERT_OK(Read(WireElements(read.named_data).NextMessage(), MetadataPath(), data));
  EXPECT_EQ(data.key, "k");
  EXPECT_EQ(read.debug_segment, 4u);
}

TEST(MetadataMessagesTest, SegmentsConstantsNamedData) {
  schema::Segment segment;
  segment.set_kind(schema::Segment::DEBUG);
  segment.set_offset(1);
  segment.set_size(2);
  segment.set_alignment(3);
  segment.set_sha256("sha");
  segment.set_companion("file");
  const Written<SegmentMessage> s(segment);
  EXPECT_EQ(s.read.kind, 4u);
  EXPECT_EQ(s.read.offset, 1u);
  EXPECT_EQ(s.read.size, 2u);
  EXPECT_EQ(s.read.alignment, 3u);
  EXPECT_EQ(Text(s.read.sha256), "sha");
  EXPECT_EQ(s.read.companion, "file");

  schema::Constant constant;
  constant.set_segment(1);
  constant.set_offset(2);
  constant.set_size(3);
  const Written<ConstantMessage> c(constant);
  EXPECT_EQ(c.read.segment, 1u);
  EXPECT_EQ(c.read.offset, 2u);
  EXPECT_EQ(c.read.size, 3u);

  schema::NamedData data;
  data.set_key("key");
  data.set_segment(1);
  data.set_offset(2);
  data.set_size(3);
  data.set_alignment(4);
  EXPECT_FALSE(Written<NamedDataMessage>(data).read.has_layout);
  data.mutable_layout()->set_dtype(7);
  data.mutable_layout()->add_sizes(8);
  data.mutable_layout()->set_dim_order("o");
  const Written<NamedDataMessage> d(data);
  EXPECT_EQ(d.read.key, "key");
  EXPECT_EQ(d.read.segment, 1u);
  EXPECT_EQ(d.read.offset, 2u);
  EXPECT_EQ(d.read.size, 3u);
  EXPECT_EQ(d.read.alignment, 4u);
  ASSERT_TRUE(d.read.has_layout);
  TensorLayoutMessage layout;
  ASSERT_OK(Read(d.read.layout, MetadataPath(), layout));
  EXPECT_EQ(layout.dtype, 7u);
  EXPECT_EQ(Numbers(layout.sizes), Expected{8});
  EXPECT_EQ(Text(layout.dim_order), "o");
}

TEST(MetadataMessagesTest, Method) {
  schema::Method method;
  method.set_name("name");
  method.add_values()->set_int_(1);
  method.add_values()->set_int_(2);
  method.add_inputs()->set_name("x");
  method.add_outputs(1);
  method.add_outputs(300);
  method.add_operators("op");
  for (int i = 0; i < 3; ++i) method.add_delegates()->set_segment(1);
  for (int i = 0; i < 4; ++i) method.add_instructions()->mutable_jump();
  method.set_arena_bytes(8);
  method.set_state_bytes(9);
  for (int i = 0; i < 5; ++i) method.add_state()->set_value(1);
  method.set_in_spec("in");
  method.set_out_spec("out");
  const Written<MethodMessage> written(method);
  const MethodMessage& read = written.read;
  EXPECT_EQ(read.name, "name");
  EXPECT_EQ(read.values.count, 2u);
  EXPECT_EQ(read.inputs.count, 1u);
  EXPECT_EQ(Numbers(read.outputs), (Expected{1, 300}));
  EXPECT_EQ(WireElements(read.operators).NextText(), "op");
  EXPECT_EQ(read.delegates.count, 3u);
  EXPECT_EQ(read.instructions.count, 4u);
  EXPECT_EQ(read.arena_bytes, 8u);
  EXPECT_EQ(read.state_bytes, 9u);
  EXPECT_EQ(read.state.count, 5u);
  EXPECT_EQ(read.in_spec, "in");
  EXPECT_EQ(read.out_spec, "out");
}

TEST(MetadataMessagesTest, InputsConstraintsState) {
  schema::Input input;
  input.set_value(1);
  input.set_name("x");
  input.add_constraints()->set_dim(2);
  input.set_mutated(true);
  const Written<InputMessage> i(input);
  EXPECT_EQ(i.read.value, 1u);
  EXPECT_EQ(i.read.name, "x");
  EXPECT_EQ(i.read.constraints.count, 1u);
  EXPECT_TRUE(i.read.mutated);

  schema::SizeConstraint constraint;
  constraint.set_dim(1);
  constraint.set_min(-2);
  constraint.set_max(3);
  constraint.set_symbol("s0");
  constraint.set_multiplier(4);
  constraint.set_offset(-5);
  const Written<SizeConstraintMessage> c(constraint);
  EXPECT_EQ(c.read.dim, 1u);
  EXPECT_EQ(c.read.min, -2);
  EXPECT_EQ(c.read.max, 3);
  EXPECT_EQ(c.read.symbol, "s0");
  EXPECT_EQ(c.read.multiplier, 4);
  EXPECT_EQ(c.read.offset, -5);

  schema::StateBuffer state;
  state.set_name("cache");
  state.set_value(1);
  state.set_initial(2);
  const Written<StateBufferMessage> s(state);
  EXPECT_EQ(s.read.name, "cache");
  EXPECT_EQ(s.read.value, 1u);
  EXPECT_EQ(s.read.initial, 2u);
}

TEST(MetadataMessagesTest, Literals) {
  schema::Value value;
  EXPECT_EQ(Written<ValueMessage>(value).read.kind, ValueMessage::kMissing);
  value.mutable_none();
  EXPECT_EQ(Written<ValueMessage>(value).read.kind, ValueMessage::kNone);
  value.set_int_(-7);
  EXPECT_EQ(Written<ValueMessage>(value).read.kind, ValueMessage::kInt);
  EXPECT_EQ(Written<ValueMessage>(value).read.int_value, -7);
  value.set_double_(0.5);
  EXPECT_EQ(Written<ValueMessage>(value).read.kind, ValueMessage::kDouble);
  EXPECT_EQ(Written<ValueMessage>(value).read.double_value, 0.5);
  value.set_bool_(true);
  EXPECT_EQ(Written<ValueMessage>(value).read.kind, ValueMessage::kBool);
  EXPECT_TRUE(Written<ValueMessage>(value).read.bool_value);
  value.set_string("text");
  {
    const Written<ValueMessage> written(value);
    EXPECT_EQ(written.read.kind, ValueMessage::kString);
    EXPECT_EQ(written.read.string, "text");
  }
  value.set_dtype(7);
  EXPECT_EQ(Written<ValueMessage>(value).read.kind, ValueMessage::kDType);
  EXPECT_EQ(Written<ValueMessage>(value).read.number, 7u);
  value.set_memory_format(2);
  EXPECT_EQ(Written<ValueMessage>(value).read.kind, ValueMessage::kMemoryFormat);
  EXPECT_EQ(Written<ValueMessage>(value).read.number, 2u);
}

TEST(MetadataMessagesTest, ComplexScalarList) {
  schema::Value value;
  value.mutable_complex()->set_real(1);
  value.mutable_complex()->set_imag(-2);
  const Written<ValueMessage> c(value);
  EXPECT_EQ(c.read.kind, ValueMessage::kComplex);
  std::complex<double> complex;
  ASSERT_OK(ReadComplex(c.read.message, MetadataPath(), complex));
  EXPECT_EQ(complex, std::complex<double>(1, -2));

  value.mutable_scalar()->set_kind(schema::ScalarSlot::BOOL);
  const Written<ValueMessage> s(value);
  EXPECT_EQ(s.read.kind, ValueMessage::kScalar);
  uint32_t kind = 0;
  ASSERT_OK(ReadScalarSlot(s.read.message, MetadataPath(), kind));
  EXPECT_EQ(kind, 3u);

  value.mutable_list()->add_elements(3);
  value.mutable_list()->add_elements(1000);
  const Written<ValueMessage> l(value);
  EXPECT_EQ(l.read.kind, ValueMessage::kList);
  WireNumbers elements;
  ASSERT_OK(ReadList(l.read.message, MetadataPath(), elements));
  EXPECT_EQ(Numbers(elements), (Expected{3, 1000}));
}

TEST(MetadataMessagesTest, Tensors) {
  schema::Tensor tensor;
  EXPECT_EQ(Written<TensorMessage>(tensor).read.location, TensorMessage::kMissing);
  tensor.set_dtype(7);
  tensor.add_sizes(2);
  tensor.add_sizes(3);
  tensor.set_dim_order(std::string("\1\0", 2));
  tensor.set_dynamic_dims(1);
  tensor.set_constant(5);
  {
    const Written<TensorMessage> written(tensor);
    EXPECT_EQ(written.read.layout.dtype, 7u);
    EXPECT_EQ(Numbers(written.read.layout.sizes), (Expected{2, 3}));
    EXPECT_EQ(Text(written.read.layout.dim_order), std::string("\1\0", 2));
    EXPECT_EQ(written.read.dynamic_dims, 1u);
    EXPECT_EQ(written.read.location, TensorMessage::kConstant);
    EXPECT_EQ(written.read.constant, 5u);
  }
  tensor.set_arena_offset(64);
  EXPECT_EQ(Written<TensorMessage>(tensor).read.location, TensorMessage::kArenaOffset);
  EXPECT_EQ(Written<TensorMessage>(tensor).read.offset, 64u);
  tensor.set_state_offset(128);
  EXPECT_EQ(Written<TensorMessage>(tensor).read.location, TensorMessage::kStateOffset);
  EXPECT_EQ(Written<TensorMessage>(tensor).read.offset, 128u);
  tensor.mutable_external();
  EXPECT_EQ(Written<TensorMessage>(tensor).read.location, TensorMessage::kExternal);

  schema::Value value;
  *value.mutable_tensor() = tensor;
  EXPECT_EQ(Written<ValueMessage>(value).read.kind, ValueMessage::kTensor);
}

TEST(MetadataMessagesTest, Delegates) {
  schema::Delegate delegate;
  delegate.set_backend_id("demo");
  delegate.set_segment(2);
  delegate.add_compile_specs()->set_key("k");
  delegate.mutable_compile_specs(0)->set_value("\xff");
  const Written<DelegateMessage> written(delegate);
  EXPECT_EQ(written.read.backend_id, "demo");
  EXPECT_EQ(written.read.segment, 2u);
  CompileSpecMessage spec;
  ASSERT_OK(Read(WireElements(written.read.compile_specs).NextMessage(), MetadataPath(), spec));
  EXPECT_EQ(spec.key, "k");
  EXPECT_EQ(Text(spec.value), "\xff");
}

TEST(MetadataMessagesTest, Instructions) {
  schema::Instruction instruction;
  EXPECT_EQ(Written<InstructionMessage>(instruction).read.kind, InstructionMessage::kMissing);
  const auto call = [](auto* message) {
    message->add_arguments(1);
    message->add_arguments(2);
    message->add_outputs(3);
  };
  call(instruction.mutable_kernel());
  instruction.mutable_kernel()->set_operator_(4);
  {
    const Written<InstructionMessage> written(instruction);
    EXPECT_EQ(written.read.kind, InstructionMessage::kKernel);
    CallMessage read;
    ASSERT_OK(Read(written.read.message, MetadataPath(), read));
    EXPECT_EQ(read.callee, 4u);
    EXPECT_EQ(Numbers(read.arguments), (Expected{1, 2}));
    EXPECT_EQ(Numbers(read.outputs), Expected{3});
  }
  call(instruction.mutable_delegate());
  instruction.mutable_delegate()->set_delegate(5);
  {
    const Written<InstructionMessage> written(instruction);
    EXPECT_EQ(written.read.kind, InstructionMessage::kDelegate);
    CallMessage read;
    ASSERT_OK(Read(written.read.message, MetadataPath(), read));
    EXPECT_EQ(read.callee, 5u);
    EXPECT_EQ(Numbers(read.arguments), (Expected{1, 2}));
    EXPECT_EQ(Numbers(read.outputs), Expected{3});
  }
  instruction.mutable_move()->set_from(6);
  instruction.mutable_move()->set_to(7);
  {
    const Written<InstructionMessage> written(instruction);
    EXPECT_EQ(written.read.kind, InstructionMessage::kMove);
    MoveMessage read;
    ASSERT_OK(Read(written.read.message, MetadataPath(), read));
    EXPECT_EQ(read.from, 6u);
    EXPECT_EQ(read.to, 7u);
  }
  instruction.mutable_jump_if_false()->set_condition(8);
  instruction.mutable_jump_if_false()->set_target(9);
  {
    const Written<InstructionMessage> written(instruction);
    EXPECT_EQ(written.read.kind, InstructionMessage::kJumpIfFalse);
    JumpIfFalseMessage read;
    ASSERT_OK(Read(written.read.message, MetadataPath(), read));
    EXPECT_EQ(read.condition, 8u);
    EXPECT_EQ(read.target, 9u);
  }
  instruction.mutable_jump()->set_target(10);
  {
    const Written<InstructionMessage> written(instruction);
    EXPECT_EQ(written.read.kind, InstructionMessage::kJump);
    JumpMessage read;
    ASSERT_OK(Read(written.read.message, MetadataPath(), read));
    EXPECT_EQ(read.target, 10u);
  }
}

TEST(MetadataMessagesTest, DebugInfo) {
  schema::DebugInfo debug;
  schema::InstructionDebugInfo* instruction = debug.add_methods()->add_instructions();
  instruction->set_node("n");
  instruction->set_source("s");
  instruction->set_module("m");
  const Written<DebugInfoMessage> written(debug);
  MethodDebugInfoMessage method;
  ASSERT_OK(Read(WireElements(written.read.methods).NextMessage(), MetadataPath(), method));
  InstructionDebugInfoMessage read;
  ASSERT_OK(Read(WireElements(method.instructions).NextMessage(), MetadataPath(), read));
  EXPECT_EQ(read.node, "n");
  EXPECT_EQ(read.source, "s");
  EXPECT_EQ(read.module, "m");
}

}  // namespace
}  // namespace belay
