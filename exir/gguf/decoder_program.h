// Builds programs from the tensors of GGUF files.
#ifndef BELAY_EXIR_GGUF_DECODER_PROGRAM_H_
#define BELAY_EXIR_GGUF_DECODER_PROGRAM_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "exir/gguf/decoder_parameters.h"
#include "exir/gguf/gguf_file.h"
#include "exir/ir/exported_program.h"
#include "exir/op_definition/op_registry.h"

namespace belay::exir {

// Builds the ATen program of a decoder-only model. Inputs and outputs, for n tokens, 1 <= n <=
// context_length:
//
//   tokens          int64 [1, n]
//   cache_position  int64 [n]: their positions, less than context_length
//   logits          float32 [1, 1, vocabulary], of the last token
//
// Keys and values are buffers [1, kv_heads, context_length, head_size] of float32, initially zeros,
// which each call mutates. A token attends to the positions up to its own.
//
// Quantized matrices are int8 constants with scales; linear layers use
// dequantize_per_channel_group, the embedding embedding_byte. Without output.weight, the head uses
// the constants of the embedding.
//   kInvalidArgument    a tensor is missing or has other sizes, with the expected ones; or
//                       context_length < 1
//   kUnimplemented      a tensor that the architecture does not use
//   kResourceExhausted  no memory for the buffers
// Errors name the tensor. O(elements).
absl::StatusOr<ExportedProgram> BuildDecoder(const GgufFile& file,
                                             const DecoderParameters& parameters,
                                             int64_t context_length, const OpRegistry& ops);

}  // namespace belay::exir

#endif  // BELAY_EXIR_GGUF_DECODER_PROGRAM_H_
