/* Tests of batches of sessions through the C API. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bindings/c/belay_compiler.h"
#include "bindings/c/belay_llm.h"
#include "bindings/c/test_expectations.h"

#define SESSIONS 3
#define MOST 6

static const int32_t prompts[SESSIONS][3] = {{36, 24, 67}, {5, 90, 1}, {11, 12, 13}};

/* Imports the test model with a method for batches, and lowers it. */
static belay_program* LowerModel(belay_lowered** lowered) {
  char path[1024];
  snprintf(path, sizeof(path), "%s/llama.bir", getenv("TEST_TMPDIR"));
  const char* import[] = {"belay", "import-gguf", "exir/gguf/testdata/llama.gguf",
                          "-o",    path,          "--sessions",
                          "3"};
  REQUIRE(belay_command_line(7, import) == 0);
  belay_archive archive = {sizeof(archive)};
  archive.path = path;
  REQUIRE(belay_lower(&archive, 1, NULL, lowered, NULL) == BELAY_OK);
  belay_program* program = NULL;
  REQUIRE(belay_program_open_bytes(belay_lowered_bytes(*lowered), belay_lowered_size(*lowered),
                                   NULL, &program, NULL) == BELAY_OK);
  return program;
}

static belay_generation* NewGeneration(belay_session* session, int64_t max_tokens) {
  belay_generation_options options = {sizeof(options)};
  options.max_tokens = max_tokens;
  options.no_end_tokens = 1;
  belay_generation* generation = NULL;
  REQUIRE(belay_generation_create(session, &options, &generation, NULL) == BELAY_OK);
  return generation;
}

/* Returns the next token; -1 at the end. */
static int32_t Next(belay_generation* generation) {
  belay_generated_token token = {sizeof(token)};
  REQUIRE(belay_generation_next(generation, &token, NULL) == BELAY_OK);
  return token.token;
}

/* Tokens that a session of its own generates. */
static void GenerateAlone(const belay_text_model* model, const int32_t* prompt, int32_t* tokens) {
  belay_session* session = NULL;
  REQUIRE(belay_session_create(model, NULL, &session, NULL) == BELAY_OK);
  REQUIRE(belay_session_append(session, prompt, 3, NULL, NULL) == BELAY_OK);
  belay_generation* generation = NewGeneration(session, MOST);
  for (int i = 0; i < MOST; ++i) tokens[i] = Next(generation);
  EXPECT(Next(generation) == -1);
  belay_generation_free(generation);
  belay_session_free(session);
}

/* Sequence i arrives after i steps. */
static void ArrivalsInTheMiddleGiveTheTokensOfSingleSessions(const belay_text_model* model) {
  belay_batch* batch = NULL;
  REQUIRE(belay_batch_create(model, &batch, NULL) == BELAY_OK);
  REQUIRE(belay_batch_size(batch) == SESSIONS);
  belay_generation* generations[SESSIONS] = {NULL};
  for (int step = 0; step < MOST + SESSIONS; ++step) {
    if (step < SESSIONS) {
      belay_session* session = belay_batch_session(batch, (size_t)step);
      REQUIRE(belay_session_append(session, prompts[step], 3, NULL, NULL) == BELAY_OK);
      generations[step] = NewGeneration(session, MOST);
    }
    for (int i = 0; i < SESSIONS && i <= step; ++i) Next(generations[i]);
    EXPECT(belay_batch_step(batch, NULL, NULL) == BELAY_OK);
  }
  for (int i = 0; i < SESSIONS; ++i) {
    int32_t expected[MOST];
    GenerateAlone(model, prompts[i], expected);
    const belay_session* session = belay_batch_session(batch, (size_t)i);
    REQUIRE(belay_session_num_tokens(session) == 3 + MOST);
    EXPECT(memcmp(belay_session_tokens(session) + 3, expected, sizeof(expected)) == 0);
    belay_generation_free(generations[i]);
  }
  belay_batch_free(batch);
}

static void SessionsBelongToTheBatch(const belay_text_model* model) {
  belay_batch* batch = NULL;
  REQUIRE(belay_batch_create(model, &batch, NULL) == BELAY_OK);
  belay_session* session = belay_batch_session(batch, 1);
  REQUIRE(belay_session_append(session, prompts[0], 3, NULL, NULL) == BELAY_OK);
  belay_session* fork = NULL;
  REQUIRE(belay_session_fork(session, &fork, NULL) == BELAY_OK);
  belay_session_free(session); /* no effect */
  EXPECT(belay_batch_session(batch, 1) == session && belay_session_num_tokens(session) == 3);
  EXPECT(belay_session_cut(session, 0, NULL) == BELAY_OK);
  belay_batch_free(batch);
  /* Outlives the batch. */
  belay_generation* generation = NewGeneration(fork, 1);
  EXPECT(Next(generation) >= 0);
  belay_generation_free(generation);
  belay_session_free(fork);
}

static void FailedStepsChangeNothing(const belay_text_model* model) {
  belay_batch* batch = NULL;
  REQUIRE(belay_batch_create(model, &batch, NULL) == BELAY_OK);
  EXPECT(belay_batch_step(batch, NULL, NULL) == BELAY_OK); /* nothing to evaluate */
  belay_session* session = belay_batch_session(batch, 0);
  REQUIRE(belay_session_append(session, prompts[0], 3, NULL, NULL) == BELAY_OK);
  int32_t expected[MOST];
  GenerateAlone(model, prompts[0], expected);
  belay_generation* generation = NewGeneration(session, MOST);
  EXPECT(Next(generation) == expected[0]);
  belay_cancellation* cancellation = belay_cancellation_create();
  belay_cancellation_cancel(cancellation);
  belay_execute_options options = {sizeof(options)};
  options.cancellation = cancellation;
  EXPECT_ERROR(belay_batch_step(batch, &options, &error), BELAY_CANCELLED, "");
  options = (belay_execute_options){sizeof(options), .timeout_ns = 1};
  EXPECT_ERROR(belay_batch_step(batch, &options, &error), BELAY_DEADLINE_EXCEEDED, "");
  belay_cancellation_free(cancellation);
  EXPECT(belay_session_num_tokens(session) == 4);
  EXPECT(belay_batch_step(batch, NULL, NULL) == BELAY_OK);
  EXPECT(Next(generation) == expected[1]);
  belay_generation_free(generation);
  belay_batch_free(batch);
}

static void ReportsErrors(const belay_text_model* model) {
  belay_batch* batch = NULL;
  EXPECT_ERROR(belay_batch_create(NULL, &batch, &error), BELAY_INVALID_ARGUMENT, "a text model");
  EXPECT_ERROR(belay_batch_create(model, NULL, &error), BELAY_INVALID_ARGUMENT,
               "an output pointer for the batch");
  EXPECT_ERROR(belay_batch_step(NULL, NULL, &error), BELAY_INVALID_ARGUMENT, "a batch");
  EXPECT(belay_batch_size(NULL) == 0 && belay_batch_session(NULL, 0) == NULL);
  REQUIRE(belay_batch_create(model, &batch, NULL) == BELAY_OK);
  EXPECT(belay_batch_session(batch, SESSIONS) == NULL);
  belay_batch_free(batch);
  belay_batch_free(NULL);

  belay_lowered* lowered = NULL;
  belay_archive archive = {sizeof(archive)};
  archive.path = "conformance/models/zoo/llama_kv_prefill/model.pt2";
  REQUIRE(belay_lower(&archive, 1, NULL, &lowered, NULL) == BELAY_OK);
  belay_program* single = NULL;
  REQUIRE(belay_program_open_bytes(belay_lowered_bytes(lowered), belay_lowered_size(lowered), NULL,
                                   &single, NULL) == BELAY_OK);
  belay_text_model* other = NULL;
  REQUIRE(belay_text_model_create(single, NULL, &other, NULL) == BELAY_OK);
  EXPECT_ERROR(belay_batch_create(other, &batch, &error), BELAY_UNIMPLEMENTED,
               "expected a method 'decode_batch'");
  belay_text_model_free(other);
  belay_program_free(single);
  belay_lowered_free(lowered);
}

int main(void) {
  belay_lowered* lowered = NULL;
  belay_program* program = LowerModel(&lowered);
  belay_text_model* model = NULL;
  REQUIRE(belay_text_model_create(program, NULL, &model, NULL) == BELAY_OK);
  ArrivalsInTheMiddleGiveTheTokensOfSingleSessions(model);
  SessionsBelongToTheBatch(model);
  FailedStepsChangeNothing(model);
  ReportsErrors(model);
  belay_text_model_free(model);
  belay_program_free(program);
  belay_lowered_free(lowered);
  return Failed();
}
