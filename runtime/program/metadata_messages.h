// The messages of runtime/schema/program.proto as the runtime reads them: numbers are copied, text,
// lists and messages inside are where they are in the file. Reading one looks at its own fields
// only, checks that they are well-formed, and leaves all rules about their values to the
// validators.
//
// Each Read function fills in a message that was default-constructed; `path` says where it is.
// Errors are WireReader's.
#ifndef BELAY_RUNTIME_PROGRAM_METADATA_MESSAGES_H_
#define BELAY_RUNTIME_PROGRAM_METADATA_MESSAGES_H_

#include <complex>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "runtime/program/metadata_path.h"
#include "runtime/program/wire_reader.h"

namespace belay {

struct ProgramMessage {
  std::string_view producer;
  WireList required_features;  // text
  WireList segments, constants, methods, named_data;
  uint32_t debug_segment = 0;
};
struct SegmentMessage {
  uint32_t kind = 0;
  uint64_t offset = 0, size = 0, alignment = 0;
  absl::Span<const std::byte> sha256;
  std::string_view companion;
};
struct ConstantMessage {
  uint32_t segment = 0;
  uint64_t offset = 0, size = 0;
};
struct NamedDataMessage {
  std::string_view key;
  uint32_t segment = 0;
  uint64_t offset = 0, size = 0, alignment = 0;
  bool has_layout = false;
  WireMessage layout;
};
struct TensorLayoutMessage {
  uint32_t dtype = 0;
  WireNumbers sizes;  // int64
  absl::Span<const std::byte> dim_order;
};
struct MethodMessage {
  std::string_view name;
  WireList values, inputs;
  WireNumbers outputs;  // uint32
  WireList operators;   // text
  WireList delegates, instructions;
  uint64_t arena_bytes = 0, state_bytes = 0;
  WireList state;
  std::string_view in_spec, out_spec;
};
struct InputMessage {
  uint32_t value = 0;
  std::string_view name;
  WireList constraints;
  bool mutated = false;
};
struct SizeConstraintMessage {
  uint32_t dim = 0;
  int64_t min = 0, max = 0;
  std::string_view symbol;
  int64_t multiplier = 0, offset = 0;
};
struct StateBufferMessage {
  std::string_view name;
  uint32_t value = 0, initial = 0;
};
struct ValueMessage {
  // Numbers of the fields of the oneof.
  enum Kind : uint32_t {
    kMissing = 0,
    kNone = 1,
    kInt = 2,
    kDouble = 3,
    kBool = 4,
    kString = 5,
    kTensor = 6,
    kList = 7,
    kDType = 8,
    kMemoryFormat = 9,
    kComplex = 10,
    kScalar = 11,
  };
  uint32_t kind = kMissing;
  int64_t int_value = 0;
  double double_value = 0;
  bool bool_value = false;
  std::string_view string;
  uint32_t number = 0;  // kDType, kMemoryFormat
  WireMessage message;  // kTensor, kList, kComplex, kScalar
};
struct TensorMessage {
  enum Location : uint32_t {
    kMissing = 0,
    kConstant = 5,
    kArenaOffset = 6,
    kStateOffset = 7,
    kExternal = 8,
  };
  TensorLayoutMessage layout;
  uint32_t dynamic_dims = 0;
  uint32_t location = kMissing;
  uint32_t constant = 0;
  uint64_t offset = 0;  // kArenaOffset, kStateOffset
};
struct DelegateMessage {
  std::string_view backend_id;
  uint32_t segment = 0;
  WireList compile_specs;
};
struct CompileSpecMessage {
  std::string_view key;
  absl::Span<const std::byte> value;
};
struct InstructionMessage {
  enum Kind : uint32_t {
    kMissing = 0,
    kKernel = 1,
    kDelegate = 2,
    kMove = 3,
    kJumpIfFalse = 4,
    kJump = 5,
  };
  uint32_t kind = kMissing;
  WireMessage message;
};
// KernelCall and DelegateCall.
struct CallMessage {
  uint32_t callee = 0;             // an operator, a delegate
  WireNumbers arguments, outputs;  // uint32
};
struct MoveMessage {
  uint32_t from = 0, to = 0;
};
struct JumpIfFalseMessage {
  uint32_t condition = 0, target = 0;
};
struct JumpMessage {
  uint32_t target = 0;
};
// What of DebugInfo the runtime prints. The lists hold MethodDebugInfo and InstructionDebugInfo.
struct DebugInfoMessage {
  WireList methods;
};
struct MethodDebugInfoMessage {
  WireList instructions;
};
struct InstructionDebugInfoMessage {
  std::string_view node, source, module;
};

absl::Status Read(const WireMessage& message, const MetadataPath& path, ProgramMessage& program);
absl::Status Read(const WireMessage& message, const MetadataPath& path, SegmentMessage& segment);
absl::Status Read(const WireMessage& message, const MetadataPath& path, ConstantMessage& constant);
absl::Status Read(const WireMessage& message, const MetadataPath& path, NamedDataMessage& data);
absl::Status Read(const WireMessage& message, const MetadataPath& path,
                  TensorLayoutMessage& layout);
absl::Status Read(const WireMessage& message, const MetadataPath& path, MethodMessage& method);
absl::Status Read(const WireMessage& message, const MetadataPath& path, InputMessage& input);
absl::Status Read(const WireMessage& message, const MetadataPath& path,
                  SizeConstraintMessage& constraint);
absl::Status Read(const WireMessage& message, const MetadataPath& path, StateBufferMessage& state);
absl::Status Read(const WireMessage& message, const MetadataPath& path, ValueMessage& value);
absl::Status Read(const WireMessage& message, const MetadataPath& path, TensorMessage& tensor);
absl::Status Read(const WireMessage& message, const MetadataPath& path, DelegateMessage& delegate);
absl::Status Read(const WireMessage& message, const MetadataPath& path, CompileSpecMessage& spec);
absl::Status Read(const WireMessage& message, const MetadataPath& path,
                  InstructionMessage& instruction);
absl::Status Read(const WireMessage& message, const MetadataPath& path, CallMessage& call);
absl::Status Read(const WireMessage& message, const MetadataPath& path, MoveMessage& move);
absl::Status Read(const WireMessage& message, const MetadataPath& path, JumpIfFalseMessage& jump);
absl::Status Read(const WireMessage& message, const MetadataPath& path, JumpMessage& jump);
absl::Status Read(const WireMessage& message, const MetadataPath& path, DebugInfoMessage& debug);
absl::Status Read(const WireMessage& message, const MetadataPath& path,
                  MethodDebugInfoMessage& method);
absl::Status Read(const WireMessage& message, const MetadataPath& path,
                  InstructionDebugInfoMessage& instruction);

// The content of a value of kind kComplex, kScalar (the kind of scalar) and kList.
absl::Status ReadComplex(const WireMessage& message, const MetadataPath& path,
                         std::complex<double>& complex);
absl::Status ReadScalarSlot(const WireMessage& message, const MetadataPath& path, uint32_t& kind);
absl::Status ReadList(const WireMessage& message, const MetadataPath& path, WireNumbers& elements);

}  // namespace belay

#endif  // BELAY_RUNTIME_PROGRAM_METADATA_MESSAGES_H_
