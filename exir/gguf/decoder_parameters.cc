#include "exir/gguf/decoder_parameters.h"

#include <cmath>
#include <optional>
#include <string_view>

#include "runtime/core/printable.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"

namespace belay::exir {
namespace {

// Differences of the architectures.
struct ArchitectureRow {
  std::string_view name;
  bool permuted_rows, has_head_norms, is_gemma;
};
constexpr ArchitectureRow kArchitectures[] = {
    {"llama", true, false, false},
    {"qwen3", false, true, false},
    {"gemma3", false, true, true},
};

constexpr int64_t kMostSize = int64_t{1} << 24;

// Reads keys "<architecture>.<name>".
class KeyReader {
 public:
  KeyReader(const GgufFile& file, std::string_view architecture)
      : file_(file), prefix_(absl::StrCat(architecture, ".")) {}

  absl::StatusOr<int64_t> Size(std::string_view name,
                               std::optional<int64_t> fallback = std::nullopt) const {
    const std::string key = Key(name);
    ABSL_ASSIGN_OR_RETURN(const int64_t size, file_.Int(key, fallback));
    if (size >= 1 && size <= kMostSize) return size;
    return Error(name, absl::StrCat("expected 1 to ", kMostSize, ", got ", size));
  }
  // A number above 0.
  absl::StatusOr<double> Factor(std::string_view name,
                                std::optional<double> fallback = std::nullopt) const {
    ABSL_ASSIGN_OR_RETURN(const double factor, file_.Float(Key(name), fallback));
    if (factor > 0 && std::isfinite(factor)) return factor;
    return Error(name, absl::StrCat("expected a positive number, got ", factor));
  }
  absl::Status Error(std::string_view name, std::string_view problem,
                     absl::StatusCode code = absl::StatusCode::kInvalidArgument) const {
    return absl::Status(code, absl::StrCat("key '", Key(name), "': ", problem));
  }
  std::string Key(std::string_view name) const { return absl::StrCat(prefix_, name); }

 private:
  const GgufFile& file_;
  const std::string prefix_;
};

// Scaling of all positions by a factor.
absl::Status ReadRopeScaling(const GgufFile& file, const KeyReader& keys, DecoderParameters& p) {
  constexpr std::string_view kName = "rope.scaling.type";
  ABSL_ASSIGN_OR_RETURN(const std::string_view type, file.String(keys.Key(kName), "none"));
  if (type == "none") return absl::OkStatus();
  if (type != "linear") {
    return keys.Error(kName, absl::StrCat("expected 'none' or 'linear', got '", type, "'"),
                      absl::StatusCode::kUnimplemented);
  }
  ABSL_ASSIGN_OR_RETURN(const double factor, keys.Factor("rope.scaling.factor"));
  p.rope_scale = 1 / factor;
  return absl::OkStatus();
}

absl::Status ReadGemma(const KeyReader& keys, DecoderParameters& p) {
  constexpr int64_t kLayersOf27B = 62;
  p.has_post_norms = true;
  p.has_gelu = true;
  p.embedding_scale = std::sqrt(static_cast<double>(p.width));
  if (p.layers == kLayersOf27B) {
    p.attention_scale = 1 / std::sqrt(static_cast<double>(p.width) / static_cast<double>(p.heads));
  }
  ABSL_ASSIGN_OR_RETURN(p.window, keys.Size("attention.sliding_window"));
  ABSL_ASSIGN_OR_RETURN(p.window_pattern, keys.Size("attention.sliding_window_pattern", 6));
  ABSL_ASSIGN_OR_RETURN(p.window_rope_base, keys.Factor("rope.freq_base_swa", 10000));
  return absl::OkStatus();
}

absl::StatusOr<DecoderParameters> Read(const GgufFile& file) {
  constexpr std::string_view kArchitecture = "general.architecture";
  ABSL_ASSIGN_OR_RETURN(const std::string_view name, file.String(kArchitecture));
  const ArchitectureRow* row = nullptr;
  for (const ArchitectureRow& candidate : kArchitectures) {
    if (candidate.name == name) row = &candidate;
  }
  if (row == nullptr) {
    return absl::UnimplementedError(absl::StrCat(
        "key '", kArchitecture, "': expected 'llama', 'qwen3' or 'gemma3', got '", name, "'"));
  }
  const KeyReader keys(file, name);
  DecoderParameters p = {.architecture = std::string(name),
                         .permuted_rows = row->permuted_rows,
                         .has_head_norms = row->has_head_norms};
  ABSL_ASSIGN_OR_RETURN(p.layers, keys.Size("block_count"));
  ABSL_ASSIGN_OR_RETURN(p.width, keys.Size("embedding_length"));
  ABSL_ASSIGN_OR_RETURN(p.feed_forward, keys.Size("feed_forward_length"));
  ABSL_ASSIGN_OR_RETURN(p.context_length, keys.Size("context_length"));
  ABSL_ASSIGN_OR_RETURN(p.heads, keys.Size("attention.head_count"));
  ABSL_ASSIGN_OR_RETURN(p.kv_heads, keys.Size("attention.head_count_kv", p.heads));
  if (p.heads % p.kv_heads != 0) {
    return keys.Error("attention.head_count_kv",
                      absl::StrCat("expected a divisor of ", p.heads, ", got ", p.kv_heads));
  }
  if (!file.Has(keys.Key("attention.key_length")) && p.width % p.heads != 0) {
    return keys.Error("attention.head_count",
                      absl::StrCat("expected a divisor of ", p.width, ", got ", p.heads));
  }
  ABSL_ASSIGN_OR_RETURN(p.head_size, keys.Size("attention.key_length", p.width / p.heads));
  if (p.head_size % 2 != 0) {
    return keys.Error("attention.key_length",
                      absl::StrCat("expected an even number, got ", p.head_size));
  }
  for (std::string_view same : {"attention.value_length", "rope.dimension_count"}) {
    ABSL_ASSIGN_OR_RETURN(const int64_t size, keys.Size(same, p.head_size));
    if (size == p.head_size) continue;
    return keys.Error(same, absl::StrCat("expected the head size, ", p.head_size, ", got ", size),
                      absl::StatusCode::kUnimplemented);
  }
  ABSL_ASSIGN_OR_RETURN(p.eps, keys.Factor("attention.layer_norm_rms_epsilon"));
  ABSL_ASSIGN_OR_RETURN(p.rope_base, keys.Factor("rope.freq_base", 10000));
  ABSL_RETURN_IF_ERROR(ReadRopeScaling(file, keys, p));
  p.attention_scale = 1 / std::sqrt(static_cast<double>(p.head_size));
  if (row->is_gemma) ABSL_RETURN_IF_ERROR(ReadGemma(keys, p));
  return p;
}

}  // namespace

absl::StatusOr<DecoderParameters> ReadDecoderParameters(const GgufFile& file) {
  absl::StatusOr<DecoderParameters> parameters = Read(file);
  if (!parameters.ok()) return Printable(parameters.status());
  return parameters;
}

}  // namespace belay::exir
