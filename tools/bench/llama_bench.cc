// Times a GGUF file in llama.cpp. language_models.py compiles it against an installed llama.cpp:
//
//   llama_bench FILE THREADS CONTEXT_LENGTH TESTS GENERATED
//   llama_bench FILE THREADS CONTEXT_LENGTH first PROMPT
//
// TESTS are separated by commas: "pp512" evaluates a prompt of 512 tokens, "tg512" generates
// GENERATED tokens after 512. Prints {"tests": {test: tokens per second}} of one run each, after a
// warm-up. The second form evaluates the prompt and prints the most likely token.
#include <llama.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kBatch = 2048;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

[[noreturn]] void Fail(const char* what) {
  std::fprintf(stderr, "llama_bench: %s\n", what);
  std::exit(1);
}

std::vector<llama_token> RandomTokens(const llama_model* model, int count) {
  const auto words = static_cast<unsigned>(llama_vocab_n_tokens(llama_model_get_vocab(model)));
  std::vector<llama_token> tokens;
  unsigned state = 1;
  for (int i = 0; i < count; ++i) {
    state = state * 1664525 + 1013904223;
    tokens.push_back(static_cast<llama_token>((state >> 8) % words));
  }
  return tokens;
}

void Evaluate(llama_context* context, llama_token* tokens, int count) {
  for (int i = 0; i < count; i += kBatch) {
    const int size = count - i < kBatch ? count - i : kBatch;
    if (llama_decode(context, llama_batch_get_one(tokens + i, size)) != 0) Fail("can't evaluate");
  }
  llama_get_logits_ith(context, -1);  // waits for the result
}

void PrintFirstToken(const llama_model* model, llama_context* context, const char* prompt) {
  const llama_vocab* const vocabulary = llama_model_get_vocab(model);
  const auto size = static_cast<int32_t>(std::strlen(prompt));
  std::vector<llama_token> tokens(static_cast<size_t>(size) + 2);
  const int32_t count = llama_tokenize(vocabulary, prompt, size, tokens.data(),
                                       static_cast<int32_t>(tokens.size()), true, true);
  if (count <= 0) Fail("can't tokenize");
  Evaluate(context, tokens.data(), count);
  const float* const logits = llama_get_logits_ith(context, -1);
  std::printf("%td\n",
              std::max_element(logits, logits + llama_vocab_n_tokens(vocabulary)) - logits);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) Fail("expected FILE THREADS CONTEXT_LENGTH TESTS GENERATED");
  const int threads = std::atoi(argv[2]), length = std::atoi(argv[3]),
            generated = std::atoi(argv[5]);
  llama_log_set([](ggml_log_level, const char*, void*) {}, nullptr);
  llama_backend_init();
  llama_model_params model_params = llama_model_default_params();
  model_params.n_gpu_layers = 0;
  llama_model* const model = llama_model_load_from_file(argv[1], model_params);
  if (model == nullptr) Fail("can't load the file");
  llama_context_params params = llama_context_default_params();
  params.n_ctx = static_cast<uint32_t>(length);
  params.n_batch = kBatch;
  params.n_threads = params.n_threads_batch = threads;
  llama_context* const context = llama_init_from_model(model, params);
  if (context == nullptr) Fail("can't create a context");

  if (std::strcmp(argv[4], "first") == 0) {
    PrintFirstToken(model, context, argv[5]);
    return 0;
  }
  std::vector<llama_token> tokens = RandomTokens(model, length);
  Evaluate(context, tokens.data(), 16);
  std::printf("{\"tests\": {");
  std::istringstream tests(argv[4]);
  std::string test;
  for (bool first = true; std::getline(tests, test, ','); first = false) {
    const int size = std::atoi(test.c_str() + 2);
    llama_memory_clear(llama_get_memory(context), true);
    int count = size;
    Clock::time_point start = Clock::now();
    Evaluate(context, tokens.data(), size);
    if (test.compare(0, 2, "tg") == 0) {
      count = generated;
      start = Clock::now();
      for (int i = 0; i < generated; ++i) Evaluate(context, tokens.data() + size + i, 1);
    }
    std::printf("%s\"%s\": %.2f", first ? "" : ", ", test.c_str(), count / SecondsSince(start));
  }
  std::printf("}}\n");
}
