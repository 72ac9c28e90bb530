// Hyperparameters of a decoder-only language model, from the metadata of a GGUF file.
#ifndef BELAY_EXIR_GGUF_DECODER_PARAMETERS_H_
#define BELAY_EXIR_GGUF_DECODER_PARAMETERS_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "exir/gguf/gguf_file.h"

namespace belay::exir {

struct DecoderParameters {
  std::string architecture;
  int64_t layers = 0, width = 0, feed_forward = 0;
  int64_t heads = 0, kv_heads = 0, head_size = 0;
  int64_t context_length = 0;  // for which the model was trained
  double eps = 0;              // of RMS norms
  // Rotary embedding: angle i of position p is p * rope_scale / rope_base^(2 i / head_size).
  double rope_base = 0, rope_scale = 1;
  // Layers with a sliding window: keys of the last `window` positions, and their own rotary base.
  // Layer i has none if (i + 1) % window_pattern == 0. window 0: no layer has one.
  int64_t window = 0, window_pattern = 0;
  double window_rope_base = 0;
  double attention_scale = 0;
  double embedding_scale = 1;

  bool permuted_rows = false;   // of q and k: pairs of rotated elements are neighbors
  bool has_head_norms = false;  // RMS norms of q and k
  bool has_post_norms = false;  // RMS norms after attention and after the MLP
  bool has_gelu = false;        // the gate is GELU with tanh, otherwise SiLU

  bool HasWindow(int64_t layer) const { return window != 0 && (layer + 1) % window_pattern != 0; }
};

// Reads the parameters of the architectures llama, qwen3 and gemma3.
//   kInvalidArgument  a key is missing, has another type, or a value that the others exclude
//   kUnimplemented    another architecture; a parameter of it that is not supported
// Errors name the key.
absl::StatusOr<DecoderParameters> ReadDecoderParameters(const GgufFile& file);

}  // namespace belay::exir

#endif  // BELAY_EXIR_GGUF_DECODER_PARAMETERS_H_
