/* Tests of text models, sessions and generation through the C API. */
#include "bindings/c/belay_llm.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bindings/c/belay_compiler.h"
#include "bindings/c/test_expectations.h"

#define ZOO "conformance/models/zoo/"
#define MESSAGES "[{\"role\": \"user\", \"content\": \"w5 w90\"}]"
#define TEMPLATE                                                                           \
  "{\"chat_template\": \"{% for m in messages %}{{ m.content }} {% endfor %}{{ mark }}{{ " \
  "'w1 ' if add_generation_prompt }}\"}"

/* Words "w0 " to "w95 ". */
static char tokenizer[4096];

static void WriteTokenizer(void) {
  char* end = tokenizer;
  end += sprintf(end, "{\"model\":{\"type\":\"WordLevel\",\"vocab\":{");
  for (int t = 0; t < 96; ++t) end += sprintf(end, "%s\"w%d \":%d", t == 0 ? "" : ",", t, t);
  sprintf(end,
          "}},\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"String\":\" \"},"
          "\"behavior\":\"MergedWithPrevious\"},\"decoder\":{\"type\":\"Fuse\"}}");
}

static belay_program* LowerModel(belay_lowered** lowered) {
  belay_archive archives[2] = {{sizeof(belay_archive)}, {sizeof(belay_archive)}};
  archives[0].method = "prefill";
  archives[0].path = ZOO "llama_kv_prefill/model.pt2";
  archives[1].method = "decode";
  archives[1].path = ZOO "llama_kv_decode/model.pt2";
  REQUIRE(belay_lower(archives, 2, NULL, lowered, NULL) == BELAY_OK);
  belay_program* program = NULL;
  REQUIRE(belay_program_open_bytes(belay_lowered_bytes(*lowered), belay_lowered_size(*lowered),
                                   NULL, &program, NULL) == BELAY_OK);
  return program;
}

static belay_text_model* NewModel(const belay_program* program) {
  belay_text_model_options options = {sizeof(options)};
  options.context_length = 16;
  options.tokenizer = tokenizer;
  options.tokenizer_size = strlen(tokenizer);
  options.chat_template = TEMPLATE;
  options.chat_template_size = strlen(TEMPLATE);
  belay_text_model* model = NULL;
  belay_error* error = NULL;
  if (belay_text_model_create(program, &options, &model, &error) != BELAY_OK) {
    fprintf(stderr, "%s\n", belay_error_message(error));
    exit(1);
  }
  return model;
}

static belay_session* NewSession(const belay_text_model* model) {
  belay_session* session = NULL;
  REQUIRE(belay_session_create(model, NULL, &session, NULL) == BELAY_OK);
  return session;
}

/* Generates tokens into `tokens`, and returns their number. */
static size_t Generate(belay_session* session, int64_t most, int32_t* tokens, char* text) {
  belay_generation_options options = {sizeof(options)};
  options.max_tokens = most;
  belay_generation* generation = NULL;
  REQUIRE(belay_generation_create(session, &options, &generation, NULL) == BELAY_OK);
  belay_generated_token token = {sizeof(token)};
  size_t count = 0;
  text[0] = '\0';
  do {
    REQUIRE(belay_generation_next(generation, &token, NULL) == BELAY_OK);
    strncat(text, token.text, token.text_size);
    EXPECT((token.token < 0) == (token.finish != BELAY_FINISH_NONE));
    if (token.token >= 0) tokens[count++] = token.token;
  } while (token.finish == BELAY_FINISH_NONE);
  EXPECT(token.finish == BELAY_FINISH_MAX_TOKENS);
  belay_generation_free(generation);
  return count;
}

static void EncodesDecodesAndRenders(const belay_text_model* model) {
  belay_bytes* bytes = NULL;
  EXPECT(belay_text_model_has_tokenizer(model) && belay_text_model_has_chat_template(model));
  EXPECT(belay_text_model_vocabulary(model) == 96);
  EXPECT(belay_text_model_context_length(model) == 16);
  REQUIRE(belay_text_model_encode(model, "w5 w90 ", 7, 1, &bytes, NULL) == BELAY_OK);
  const int32_t expected[2] = {5, 90};
  EXPECT(belay_bytes_size(bytes) == sizeof(expected) &&
         memcmp(belay_bytes_data(bytes), expected, sizeof(expected)) == 0);
  belay_bytes_free(bytes);
  REQUIRE(belay_text_model_decode(model, expected, 2, 0, &bytes, NULL) == BELAY_OK);
  EXPECT(strcmp(belay_bytes_data(bytes), "w5 w90 ") == 0);
  belay_bytes_free(bytes);
  belay_chat_options options = {sizeof(options)};
  options.variables = "{\"mark\": \"w7 \"}";
  options.no_generation_prompt = 1;
  REQUIRE(belay_text_model_render(model, MESSAGES, &options, &bytes, NULL) == BELAY_OK);
  EXPECT(strcmp(belay_bytes_data(bytes), "w5 w90 w7 ") == 0);
  belay_bytes_free(bytes);
  REQUIRE(belay_text_model_end_tokens(model, &bytes, NULL) == BELAY_OK);
  EXPECT(belay_bytes_size(bytes) == 0);
  belay_bytes_free(bytes);
}

static void SessionsForkCutAndRestore(const belay_text_model* model) {
  belay_session* session = NewSession(model);
  const int32_t prompt[3] = {5, 90, 1};
  REQUIRE(belay_session_append(session, prompt, 3, NULL, NULL) == BELAY_OK);
  belay_session* fork = NULL;
  REQUIRE(belay_session_fork(session, &fork, NULL) == BELAY_OK);
  belay_bytes* saved = NULL;
  REQUIRE(belay_session_save(session, &saved, NULL) == BELAY_OK);

  int32_t tokens[4], again[4];
  char text[256], words[256] = "";
  REQUIRE(Generate(session, 4, tokens, text) == 4);
  for (int i = 0; i < 4; ++i) sprintf(words + strlen(words), "w%d ", tokens[i]);
  EXPECT(strcmp(text, words) == 0);
  EXPECT(belay_session_num_tokens(session) == 7);
  EXPECT(memcmp(belay_session_tokens(session) + 3, tokens, sizeof(tokens)) == 0);
  EXPECT(Generate(fork, 4, again, text) == 4 && memcmp(tokens, again, sizeof(tokens)) == 0);
  REQUIRE(belay_session_cut(session, 3, NULL) == BELAY_OK);
  EXPECT(Generate(session, 4, again, text) == 4 && memcmp(tokens, again, sizeof(tokens)) == 0);
  REQUIRE(belay_session_restore(session, belay_bytes_data(saved), belay_bytes_size(saved), NULL) ==
          BELAY_OK);
  EXPECT(belay_session_num_tokens(session) == 3);
  const float* logits = NULL;
  REQUIRE(belay_session_logits(session, &logits, NULL) == BELAY_OK);
  for (int t = 0; t < 96; ++t) EXPECT(logits[t] <= logits[tokens[0]]);

  /* Messages with the same tokens, then with one more word. */
  size_t evaluated = 9;
  REQUIRE(belay_session_append_messages(session, MESSAGES, NULL, NULL, &evaluated, NULL) ==
          BELAY_OK);
  EXPECT(evaluated == 0);
  REQUIRE(belay_session_append_messages(session,
                                        "[{\"content\": \"w5 w90\"}, {\"content\": \"w3\"}]", NULL,
                                        NULL, &evaluated, NULL) == BELAY_OK);
  EXPECT(evaluated == 2 && belay_session_num_tokens(session) == 4);
  belay_bytes_free(saved);
  belay_session_free(fork);
  belay_session_free(session);
}

/* A session of the model itself drafts the tokens. */
static void ADraftModelGivesTheTokensWithoutIt(const belay_text_model* model) {
  belay_session_options moves = {sizeof(moves), 1};
  belay_session *session = NULL, *draft = NULL;
  REQUIRE(belay_session_create(model, &moves, &session, NULL) == BELAY_OK);
  REQUIRE(belay_session_create(model, &moves, &draft, NULL) == BELAY_OK);
  const int32_t prompt[3] = {5, 90, 1};
  REQUIRE(belay_session_append(session, prompt, 3, NULL, NULL) == BELAY_OK);
  int32_t expected[6];
  char text[256];
  REQUIRE(Generate(session, 6, expected, text) == 6);
  REQUIRE(belay_session_cut(session, 3, NULL) == BELAY_OK);
  belay_generation_options options = {sizeof(options)};
  options.max_tokens = 6;
  options.speculate = 3;
  options.draft = draft;
  belay_generation* generation = NULL;
  REQUIRE(belay_generation_create(session, &options, &generation, NULL) == BELAY_OK);
  belay_generated_token token = {sizeof(token)};
  for (int i = 0; i < 6; ++i) {
    REQUIRE(belay_generation_next(generation, &token, NULL) == BELAY_OK);
    EXPECT(token.token == expected[i]);
  }
  belay_generation_free(generation);
  /* The draft has the prompt and the tokens before the last call. */
  EXPECT(belay_session_num_tokens(draft) > 3);
  EXPECT(memcmp(belay_session_tokens(draft), prompt, sizeof(prompt)) == 0);
  options.speculate = 0;
  EXPECT_ERROR(belay_generation_create(session, &options, &generation, &error),
               BELAY_INVALID_ARGUMENT, "draft: expected `speculate`");
  belay_session_free(session);
  belay_session_free(draft);
}

static void ReportsErrors(const belay_program* program, const belay_text_model* model) {
  belay_session* session = NewSession(model);
  belay_generation* generation = NULL;
  belay_bytes* bytes = NULL;
  EXPECT_ERROR(belay_generation_create(session, NULL, &generation, &error),
               BELAY_FAILED_PRECONDITION, "the session is empty");
  const int32_t bad = 96;
  EXPECT_ERROR(belay_session_append(session, &bad, 1, NULL, &error), BELAY_OUT_OF_RANGE, "[0, 96)");
  EXPECT_ERROR(belay_session_append(session, NULL, 1, NULL, &error), BELAY_INVALID_ARGUMENT,
               "tokens");
  EXPECT_ERROR(belay_session_cut(session, 1, &error), BELAY_OUT_OF_RANGE, "[0, 0]");
  EXPECT_ERROR(belay_session_restore(session, "x", 1, &error), BELAY_INVALID_ARGUMENT,
               "saved session");
  EXPECT_ERROR(belay_text_model_encode(model, "\xff", 1, 0, &bytes, &error), BELAY_INVALID_ARGUMENT,
               "UTF-8");
  EXPECT_ERROR(belay_text_model_render(model, "{}", NULL, &bytes, &error), BELAY_INVALID_ARGUMENT,
               "array of objects");
  belay_cancellation* cancellation = belay_cancellation_create();
  belay_cancellation_cancel(cancellation);
  belay_execute_options cancelled = {sizeof(cancelled)};
  cancelled.cancellation = cancellation;
  const int32_t good = 3;
  EXPECT_ERROR(belay_session_append(session, &good, 1, &cancelled, &error), BELAY_CANCELLED, "");
  EXPECT(belay_session_num_tokens(session) == 0);
  belay_cancellation_free(cancellation);
  REQUIRE(belay_session_append(session, &good, 1, NULL, NULL) == BELAY_OK);
  belay_generation_options options = {sizeof(options)};
  options.temperature = -1;
  EXPECT_ERROR(belay_generation_create(session, &options, &generation, &error),
               BELAY_INVALID_ARGUMENT, "temperature");
  belay_generated_token token = {0};
  EXPECT_ERROR(belay_generation_next(NULL, &token, &error), BELAY_INVALID_ARGUMENT, "struct_size");
  belay_session_free(session);

  belay_text_model_options plain = {sizeof(plain)};
  belay_text_model* other = NULL;
  plain.prefill = "none";
  EXPECT_ERROR(belay_text_model_create(program, &plain, &other, &error), BELAY_NOT_FOUND, "none");
  plain.prefill = NULL;
  plain.num_threads = 300;
  EXPECT_ERROR(belay_text_model_create(program, &plain, &other, &error), BELAY_INVALID_ARGUMENT,
               "num_threads");
  REQUIRE(belay_text_model_create(program, NULL, &other, NULL) == BELAY_OK);
  EXPECT(!belay_text_model_has_tokenizer(other) && !belay_text_model_has_chat_template(other));
  EXPECT_ERROR(belay_text_model_encode(other, "a", 1, 0, &bytes, &error), BELAY_FAILED_PRECONDITION,
               "has no tokenizer");
  EXPECT_ERROR(belay_text_model_render(other, "[]", NULL, &bytes, &error),
               BELAY_FAILED_PRECONDITION, "has no chat template");
  belay_text_model_free(other);
  EXPECT_ERROR(belay_session_create(NULL, NULL, &session, &error), BELAY_INVALID_ARGUMENT,
               "a text model");
}

int main(void) {
  WriteTokenizer();
  belay_lowered* lowered = NULL;
  belay_program* program = LowerModel(&lowered);
  belay_text_model* model = NewModel(program);
  EncodesDecodesAndRenders(model);
  SessionsForkCutAndRestore(model);
  ADraftModelGivesTheTokensWithoutIt(model);
  ReportsErrors(program, model);
  belay_text_model_free(model);
  belay_text_model_free(NULL);
  belay_session_free(NULL);
  belay_generation_free(NULL);
  belay_program_free(program);
  belay_lowered_free(lowered);
  return Failed();
}
