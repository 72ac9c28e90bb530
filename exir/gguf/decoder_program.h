// Builds programs from the tensors of GGUF files.
#ifndef BELAY_EXIR_GGUF_DECODER_PROGRAM_H_
#define BELAY_EXIR_GGUF_DECODER_PROGRAM_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "exir/gguf/decoder_parameters.h"
#include "exir/gguf/gguf_file.h"
#include "exir/ir/exported_program.h"
#include "exir/op_definition/op_registry.h"
#include "runtime/core/dtype.h"

namespace belay::exir {

inline constexpr DTypeSet kCacheTypes = {DType::kFloat32, DType::kFloat16, DType::kBFloat16};

struct DecoderOptions {
  int64_t context_length = 1;  // positions of a cache
  // Above 0: also builds `decode_batch`, for this many sequences.
  int64_t sessions = 0;
  // Above 0: also builds `verify`, for up to this many drafted tokens.
  int64_t speculate = 0;
  // Of keys and values in a cache, which are rounded to it: one of kCacheTypes.
  DType cache_dtype = DType::kFloat32;
};

// The embedding, which every file has.
inline constexpr std::string_view kTokenTable = "token_embd.weight";

// ATen programs by method name.
using DecoderMethods = std::vector<std::pair<std::string, ExportedProgram>>;

// Builds the methods of a decoder-only model. Inputs and outputs, for n tokens:
//
//   forward       tokens          int64 [1, n], 1 <= n <= context_length
//                 cache_position  int64 [n]: their positions, less than context_length
//                 logits          float32 [1, 1, vocabulary], of the last token
//   verify        the same with n <= speculate + 1, and logits [1, n, vocabulary]
//   decode_batch  tokens int64 [sessions, 1], cache_position int64 [sessions]: a token of each
//                 sequence and its position; logits [sessions, 1, vocabulary]
//
// Keys and values are buffers cache.I.keys and cache.I.values [1, kv_heads, context_length,
// head_size] of cache_dtype, initially zeros, which each call mutates; in decode_batch,
// batch.cache.I.keys and batch.cache.I.values [sessions, ...]. A token attends to the positions up
// to its own. The methods share all constants.
//
// Quantized matrices are int8 constants with scales; linear layers use
// dequantize_per_channel_group, the embedding embedding_byte. Without output.weight, the head uses
// the constants of the embedding.
//   kInvalidArgument    a tensor is missing or has other sizes, with the expected ones; or
//                       context_length < 1, sessions < 0, speculate < 0, another cache_dtype
//   kUnimplemented      a tensor that the architecture does not use
//   kResourceExhausted  no memory for the buffers
// Errors name the tensor. O(elements).
absl::StatusOr<DecoderMethods> BuildDecoder(const GgufFile& file,
                                            const DecoderParameters& parameters,
                                            const DecoderOptions& options, const OpRegistry& ops);

}  // namespace belay::exir

#endif  // BELAY_EXIR_GGUF_DECODER_PROGRAM_H_
