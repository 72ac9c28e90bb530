// A small language model for tests: the Llama-style decoder of conformance/models/zoo, with 96
// tokens and a cache of 16 positions.
#ifndef BELAY_RUNTIME_LLM_LLM_TESTING_H_
#define BELAY_RUNTIME_LLM_LLM_TESTING_H_

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "exir/gguf/import_gguf.h"
#include "exir/pipeline.h"
#include "runtime/backend/backend_registry.h"
#include "runtime/kernel_interface/kernel_registry.h"
#include "runtime/program/program.h"

namespace belay::llm {

inline constexpr int64_t kTestVocabulary = 96, kTestContext = 16;

// Folders of the zoo: tokens [1, n] for n in [1, 16] with logits [1, n, 96]; tokens [1, 1].
inline constexpr char kDynamicModel[] = "llama_kv_prefill", kStepModel[] = "llama_kv_decode";

struct TestProgram {
  KernelRegistry kernels;
  BackendRegistry backends;
  std::unique_ptr<Program> program;
};

// Lowers models of the zoo without backends. `methods`: name and folder.
absl::StatusOr<TestProgram> LowerZoo(
    const std::vector<std::pair<std::string, std::string>>& methods,
    exir::PipelineOptions options = {});

// Lowers a program in text form (exir/ir/text.h) as the method "forward", without backends.
absl::StatusOr<TestProgram> LowerText(std::string_view text);

// Imports exir/gguf/testdata/<name>.gguf, of kTestVocabulary tokens, and lowers its methods without
// backends, as `belay import-gguf` and `belay lower` do.
absl::StatusOr<TestProgram> LowerGguf(const std::string& name, const exir::GgufOptions& options);

}  // namespace belay::llm

#endif  // BELAY_RUNTIME_LLM_LLM_TESTING_H_
