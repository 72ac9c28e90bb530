#include "runtime/program/metadata_messages.h"

namespace belay {

// The numbers are those of program.proto; metadata_messages_test compares them with what its
// generated code writes.

absl::Status Read(const WireMessage& message, const MetadataPath& path, ProgramMessage& program) {
  WireReader fields(message);
  while (fields.Next()) {
    switch (fields.number()) {
      case 1:
        fields.Read(program.producer);
        break;
      case 2:
        fields.AddText(program.required_features);
        break;
      case 3:
        fields.AddMessage(program.segments);
        break;
      case 4:
        fields.AddMessage(program.constants);
        break;
      case 5:
        fields.AddMessage(program.methods);
        break;
      case 6:
        fields.AddMessage(program.named_data);
        break;
      case 7:
        fields.Read(program.debug_segment);
        break;
    }
  }
  return fields.Finish(path);
}

absl::Status Read(const WireMessage& message, const MetadataPath& path, SegmentMessage& segment) {
  WireReader fields(message);
  while (fields.Next()) {
    switch (fields.number()) {
      case 1:
        fields.Read(segment.kind);
        break;
      case 2:
        fields.Read(segment.offset);
        break;
      case 3:
        fields.Read(segment.size);
        break;
      case 4:
        fields.Read(segment.alignment);
        break;
      case 5:
        fields.Read(segment.sha256);
        break;
      case 6:
        fields.Read(segment.companion);
        break;
    }
  }
  return fields.Finish(path);
}

absl::Status Read(const WireMessage& message, const MetadataPath& path, ConstantMessage& constant) {
  WireReader fields(message);
  while (fields.Next()) {
    switch (fields.number()) {
      case 1:
        fields.Read(constant.segment);
        break;
      case 2:
        fields.Read(constant.offset);
        break;
      case 3:
        fields.Read(constant.size);
        break;
    }
  }
  return fields.Finish(path);
}

absl::Status Read(const WireMessage& message, const MetadataPath& path, NamedDataMessage& data) {
  WireReader fields(message);
  while (fields.Next()) {
    switch (fields.number()) {
      case 1:
        fields.Read(data.key);
        break;
      case 2:
        fields.Read(data.segment);
        break;
      case 3:
        fields.Read(data.offset);
        break;
      case 4:
        fields.Read(data.size);
        break;
      case 5:
        fields.Read(data.alignment);
        break;
      case 6:
        data.has_layout = true;
        fields.Read(data.layout);
        break;
    }
  }
  return fields.Finish(path);
}

absl::Status Read(const WireMessage& message, const MetadataPath& path,
                  TensorLayoutMessage& layout) {
  WireReader fields(message);
  while (fields.Next()) {
    switch (fields.number()) {
      case 1:
        fields.Read(layout.dtype);
        break;
      case 2:
        fields.Read(layout.sizes);
        break;
      case 3:
        fields.Read(layout.dim_order);
        break;
    }
  }
  return fields.Finish(path);
}

absl::Status Read(const WireMessage& message, const MetadataPath& path, MethodMessage& method) {
  WireReader fields(message);
  while (fields.Next()) {
    switch (fields.number()) {
      case 1:
        fields.Read(method.name);
        break;
      case 2:
        fields.AddMessage(method.values);
        break;
      case 3:
        fields.AddMessage(method.inputs);
        break;
      case 4:
        fields.Read(method.outputs);
        break;
      case 5:
        fields.AddText(method.operators);
        break;
      case 6:
        fields.AddMessage(method.delegates);
        break;
      case 7:
        fields.AddMessage(method.instructions);
        break;
      case 8:
        fields.Read(method.arena_bytes);
        break;
      case 9:
        fields.Read(method.state_bytes);
        break;
      case 10:
        fields.AddMessage(method.state);
        break;
      case 11:
        fields.Read(method.in_spec);
        break;
      case 12:
        fields.Read(method.out_spec);
        break;
    }
  }
  return fields.Finish(path);
}

absl::Status Read(const WireMessage& message, const MetadataPath& path, InputMessage& input) {
  WireReader fields(message);
  while (fields.Next()) {
    switch (fields.number()) {
      case 1:
        fields.Read(input.value);
        break;
      case 2:
        fields.Read(input.name);
        break;
      case 3:
        fields.AddMessage(input.constraints);
        break;
      case 4:
        fields.Read(input.mutated);
        break;
    }
  }
  return fields.Finish(path);
}

absl::Status Read(const WireMessage& message, const MetadataPath& path,
                  SizeConstraintMessage& constraint) {
  WireReader fields(message);
  while (fields.Next()) {
    switch (fields.number()) {
      case 1:
        fields.Read(constraint.dim);
        break;
      case 2:
        fields.Read(constraint.min);
        break;
      case 3:
        fields.Read(constraint.max);
        break;
      case 4:
        fields.Read(constraint.symbol);
        break;
      case 5:
        fields.Read(constraint.multiplier);
        break;
      case 6:
        fields.Read(constraint.offset);
        break;
    }
  }
  return fields.Finish(path);
}

absl::Status Read(const WireMessage& message, const MetadataPath& path, StateBufferMessage& state) {
  WireReader fields(message);
  while (fields.Next()) {
    switch (fields.number()) {
      case 1:
        fields.Read(state.name);
        break;
      case 2:
        fields.Read(state.value);
        break;
      case 3:
        fields.Read(state.initial);
        break;
    }
  }
  return fields.Finish(path);
}

absl::Status Read(const WireMessage& message, const MetadataPath& path, ValueMessage& value) {
  WireReader fields(message);
  while (fields.Next()) {
    switch (fields.number()) {
      case ValueMessage::kNone:
      case ValueMessage::kTensor:
      case ValueMessage::kList:
      case ValueMessage::kComplex:
      case ValueMessage::kScalar:
        fields.ReadMember(value.kind, value.message);
        break;
      case ValueMessage::kInt:
        fields.ReadMember(value.kind, value.int_value);
        break;
      case ValueMessage::kDouble:
        fields.ReadMember(value.kind, value.double_value);
        break;
      case ValueMessage::kBool:
        fields.ReadMember(value.kind, value.bool_value);
        break;
      case ValueMessage::kString:
        fields.ReadMember(value.kind, value.string);
        break;
      case ValueMessage::kDType:
      case ValueMessage::kMemoryFormat:
        fields.ReadMember(value.kind, value.number);
        break;
    }
  }
  return fields.Finish(path);
}

absl::Status Read(const WireMessage& message, const MetadataPath& path, TensorMessage& tensor) {
  WireReader fields(message);
  while (fields.Next()) {
    switch (fields.number()) {
      case 1:
        fields.Read(tensor.layout.dtype);
        break;
      case 2:
        fields.Read(tensor.layout.sizes);
        break;
      case 3:
        fields.Read(tensor.layout.dim_order);
        break;
      case 4:
        fields.Read(tensor.dynamic_dims);
        break;
      case TensorMessage::kConstant:
        fields.ReadMember(tensor.location, tensor.constant);
        break;
      case TensorMessage::kArenaOffset:
      case TensorMessage::kStateOffset:
        fields.ReadMember(tensor.location, tensor.offset);
        break;
      case TensorMessage::kExternal: {
        WireMessage empty;
        fields.ReadMember(tensor.location, empty);
        break;
      }
    }
  }
  return fields.Finish(path);
}

absl::Status Read(const WireMessage& message, const MetadataPath& path, DelegateMessage& delegate) {
  WireReader fields(message);
  while (fields.Next()) {
    switch (fields.number()) {
      case 1:
        fields.Read(delegate.backend_id);
        break;
      case 2:
        fields.Read(delegate.segment);
        break;
      case 3:
        fields.AddMessage(delegate.compile_specs);
        break;
    }
  }
  return fields.Finish(path);
}

absl::Status Read(const WireMessage& message, const MetadataPath& path, CompileSpecMessage& spec) {
  WireReader fields(message);
  while (fields.Next()) {
    switch (fields.number()) {
      case 1:
        fields.Read(spec.key);
        break;
      case 2:
        fields.Read(spec.value);
        break;
    }
  }
  return fields.Finish(path);
}

absl::Status Read(const WireMessage& message, const MetadataPath& path,
                  InstructionMessage& instruction) {
  WireReader fields(message);
  while (fields.Next()) {
    switch (fields.number()) {
      case InstructionMessage::kKernel:
      case InstructionMessage::kDelegate:
      case InstructionMessage::kMove:
      case InstructionMessage::kJumpIfFalse:
      case InstructionMessage::kJump:
        fields.ReadMember(instruction.kind, instruction.message);
        break;
    }
  }
  return fields.Finish(path);
}

absl::Status Read(const WireMessage& message, const MetadataPath& path, CallMessage& call) {
  WireReader fields(message);
  while (fields.Next()) {
    switch (fields.number()) {
      case 1:
        fields.Read(call.callee);
        break;
      case 2:
        fields.Read(call.arguments);
        break;
      case 3:
        fields.Read(call.outputs);
        break;
    }
  }
  return fields.Finish(path);
}

absl::Status Read(const WireMessage& message, const MetadataPath& path, MoveMessage& move) {
  WireReader fields(message);
  while (fields.Next()) {
    switch (fields.number()) {
      case 1:
        fields.Read(move.from);
        break;
      case 2:
        fields.Read(move.to);
        break;
    }
  }
  return fields.Finish(path);
}

absl::Status Read(const WireMessage& message, const MetadataPath& path, JumpIfFalseMessage& jump) {
  WireReader fields(message);
  while (fields.Next()) {
    switch (fields.number()) {
      case 1:
        fields.Read(jump.condition);
        break;
      case 2:
        fields.Read(jump.target);
        break;
    }
  }
  return fields.Finish(path);
}

absl::Status Read(const WireMessage& message, const MetadataPath& path, JumpMessage& jump) {
  WireReader fields(message);
  while (fields.Next()) {
    switch (fields.number()) {
      case 1:
        fields.Read(jump.target);
        break;
    }
  }
  return fields.Finish(path);
}

absl::Status Read(const WireMessage& message, const MetadataPath& path, DebugInfoMessage& debug) {
  WireReader fields(message);
  while (fields.Next()) {
    switch (fields.number()) {
      case 1:
        fields.AddMessage(debug.methods);
        break;
    }
  }
  return fields.Finish(path);
}

absl::Status Read(const WireMessage& message, const MetadataPath& path,
                  MethodDebugInfoMessage& method) {
  WireReader fields(message);
  while (fields.Next()) {
    switch (fields.number()) {
      case 1:
        fields.AddMessage(method.instructions);
        break;
    }
  }
  return fields.Finish(path);
}

absl::Status Read(const WireMessage& message, const MetadataPath& path,
                  InstructionDebugInfoMessage& instruction) {
  WireReader fields(message);
  while (fields.Next()) {
    switch (fields.number()) {
      case 1:
        fields.Read(instruction.node);
        break;
      case 2:
        fields.Read(instruction.source);
        break;
      case 3:
        fields.Read(instruction.module);
        break;
    }
  }
  return fields.Finish(path);
}

absl::Status ReadComplex(const WireMessage& message, const MetadataPath& path,
                         std::complex<double>& complex) {
  double real = 0, imag = 0;
  WireReader fields(message);
  while (fields.Next()) {
    switch (fields.number()) {
      case 1:
        fields.Read(real);
        break;
      case 2:
        fields.Read(imag);
        break;
    }
  }
  complex = {real, imag};
  return fields.Finish(path);
}

absl::Status ReadScalarSlot(const WireMessage& message, const MetadataPath& path, uint32_t& kind) {
  WireReader fields(message);
  while (fields.Next()) {
    if (fields.number() == 1) fields.Read(kind);
  }
  return fields.Finish(path);
}

absl::Status ReadList(const WireMessage& message, const MetadataPath& path, WireNumbers& elements) {
  WireReader fields(message);
  while (fields.Next()) {
    if (fields.number() == 1) fields.Read(elements);
  }
  return fields.Finish(path);
}

}  // namespace belay
