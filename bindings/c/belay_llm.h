/* C API that generates text with language models. In the full library (libbelay.so.1), since version 2.
 *
 *   belay_text_model_create(program, NULL, &model, &error);
 *   belay_session_create(model, NULL, &session, &error);
 *   belay_session_append_messages(session, "[{\"role\": \"user\", \"content\": \"Hi\"}]", NULL, NULL,
 *                                 NULL, &error);
 *   belay_generation_create(session, NULL, &generation, &error);
 *   belay_generated_token token = {sizeof(belay_generated_token)};
 *   do {
 *     if (belay_generation_next(generation, &token, &error) != BELAY_OK) break;
 *     fwrite(token.text, 1, token.text_size, stdout);
 *   } while (token.finish == BELAY_FINISH_NONE);
 *
 * Conventions, ABI and errors are those of belay.h. A model is thread-safe. A session and its
 * generations are used by one thread at a time; each session has its own cache. Strings are UTF-8.
 * docs/language-models.md describes programs of language models. */
#ifndef BELAY_BINDINGS_C_BELAY_LLM_H_
#define BELAY_BINDINGS_C_BELAY_LLM_H_

#include <stddef.h>
#include <stdint.h>

#include "belay.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Models ---- */

/* A program with methods that evaluate tokens, and its tokenizer and chat template, if it has them. */
typedef struct belay_text_model belay_text_model;

typedef struct belay_text_model_options {
  size_t struct_size; /* sizeof(belay_text_model_options) */
  /* Names of the methods; NULL: "prefill" and "decode", or the only method. */
  const char* prefill;
  const char* decode;
  int64_t context_length; /* positions of the cache; 0: that of the program, if known */
  int32_t num_threads;    /* as in belay_method_options */
  /* Contents of a tokenizer.json and of a tokenizer_config.json with a chat template; NULL: those of
   * the program. */
  const char* tokenizer;
  size_t tokenizer_size;
  const char* chat_template;
  size_t chat_template_size;
} belay_text_model_options;

/* The program must outlive the model. NULL options: the defaults. For a model with an adapter (LoRA),
 * open the program with belay_open_options.data_files; programs of one file share its other weights.
 *   NOT_FOUND           unknown methods
 *   INVALID_ARGUMENT    signatures that differ from those of language models (all differences are
 *                       listed); invalid options, tokenizer or template
 *   UNIMPLEMENTED       a tokenizer or template that is not supported
 *   DATA_LOSS           a damaged tokenizer or template in the program */
BELAY_API belay_status belay_text_model_create(const belay_program* program,
                                               const belay_text_model_options* options,
                                               belay_text_model** model, belay_error** error);
/* Free its sessions first. NULL: no-op. */
BELAY_API void belay_text_model_free(belay_text_model* model);
BELAY_API int64_t belay_text_model_vocabulary(const belay_text_model* model);
/* Maximum number of tokens of a session; 0 if unknown. */
BELAY_API int64_t belay_text_model_context_length(const belay_text_model* model);
BELAY_API int32_t belay_text_model_has_tokenizer(const belay_text_model* model);
BELAY_API int32_t belay_text_model_has_chat_template(const belay_text_model* model);

/* Tokenizes a string; the result has int32_t elements. `special_tokens` 1: adds special tokens, such
 * as beginning-of-sequence. FAILED_PRECONDITION: no tokenizer. INVALID_ARGUMENT: not UTF-8. */
BELAY_API belay_status belay_text_model_encode(const belay_text_model* model, const char* text,
                                               size_t text_size, int32_t special_tokens,
                                               belay_bytes** tokens, belay_error** error);
/* Converts tokens to a string. Special tokens are skipped unless `special_tokens` is 1.
 * FAILED_PRECONDITION: no tokenizer. */
BELAY_API belay_status belay_text_model_decode(const belay_text_model* model, const int32_t* tokens,
                                               size_t num_tokens, int32_t special_tokens,
                                               belay_bytes** text, belay_error** error);
/* Tokens that end a sequence or a turn, as int32_t elements. Empty without a tokenizer. */
BELAY_API belay_status belay_text_model_end_tokens(const belay_text_model* model,
                                                   belay_bytes** tokens, belay_error** error);

typedef struct belay_chat_options {
  size_t struct_size; /* sizeof(belay_chat_options) */
  /* 1: the result ends after the last message. 0: it ends where the reply of the model begins. */
  int32_t no_generation_prompt;
  const char* tools;     /* a JSON array of tool schemas; NULL: none */
  const char* variables; /* a JSON object of variables of the template; NULL: none */
} belay_chat_options;

/* Renders messages, a JSON array of objects such as {"role": "user", "content": "Hi"}, by the chat
 * template. The template's time is the local time. NULL options: the defaults.
 *   FAILED_PRECONDITION  no chat template
 *   INVALID_ARGUMENT     malformed messages; an error that the template raises
 *   UNIMPLEMENTED        a part of the template that is not supported
 *   RESOURCE_EXHAUSTED   the template needs too many steps or too much memory */
BELAY_API belay_status belay_text_model_render(const belay_text_model* model, const char* messages,
                                               const belay_chat_options* options,
                                               belay_bytes** text, belay_error** error);

/* ---- Sessions ---- */

/* A sequence of tokens and the model's cache after them. */
typedef struct belay_session belay_session;

typedef struct belay_session_options {
  size_t struct_size; /* sizeof(belay_session_options) */
  /* 1: cutting only moves the position, in constant time. Correct if the cache is written by
   * position. 0: the same if the program states that by its constant method use_positional_cache;
   * otherwise the next call evaluates the remaining tokens again. */
  int32_t move_position;
} belay_session_options;

/* Creates a session without tokens. The model must outlive it. NULL options: the defaults.
 * RESOURCE_EXHAUSTED: memory, or a limit. */
BELAY_API belay_status belay_session_create(const belay_text_model* model,
                                            const belay_session_options* options,
                                            belay_session** session, belay_error** error);
/* Free its generations first. NULL and sessions of a batch, which belong to it: no-op. */
BELAY_API void belay_session_free(belay_session* session);
BELAY_API size_t belay_session_num_tokens(const belay_session* session);
/* Valid until the next call that changes the session. */
BELAY_API const int32_t* belay_session_tokens(const belay_session* session);

/* Appends tokens and evaluates them. After an error, the session is unchanged. NULL options: the
 * defaults.
 *   OUT_OF_RANGE  a token outside the vocabulary; more tokens than the context length
 *   errors of belay_method_execute */
BELAY_API belay_status belay_session_append(belay_session* session, const int32_t* tokens,
                                            size_t num_tokens, const belay_execute_options* options,
                                            belay_error** error);
/* Replaces the tokens of the session by those of the rendered messages (belay_text_model_render).
 * Evaluates only the tokens after the longest common prefix, and stores their number, unless NULL.
 * If the evaluation fails, the session has the tokens of that prefix. Errors of
 * belay_text_model_render and belay_session_append; FAILED_PRECONDITION: no tokenizer. */
BELAY_API belay_status belay_session_append_messages(belay_session* session, const char* messages,
                                                     const belay_chat_options* chat,
                                                     const belay_execute_options* options,
                                                     size_t* num_evaluated, belay_error** error);
/* Stores the logits of the next token: vocabulary elements, valid until the next call.
 * FAILED_PRECONDITION: the session has no tokens. */
BELAY_API belay_status belay_session_logits(belay_session* session, const float** logits,
                                            belay_error** error);
/* Removes the tokens from `position` on. OUT_OF_RANGE: more than the number of tokens. */
BELAY_API belay_status belay_session_cut(belay_session* session, size_t position,
                                         belay_error** error);
/* Creates an independent session with the same tokens and cache. */
BELAY_API belay_status belay_session_fork(const belay_session* session, belay_session** fork,
                                          belay_error** error);
/* Copies tokens and cache, for belay_session_restore with the same program. */
BELAY_API belay_status belay_session_save(const belay_session* session, belay_bytes** bytes,
                                          belay_error** error);
/* Replaces tokens and cache by saved ones. DATA_LOSS: damaged bytes. INVALID_ARGUMENT: not a saved
 * session, or one of another model. */
BELAY_API belay_status belay_session_restore(belay_session* session, const void* bytes, size_t size,
                                             belay_error** error);

/* ---- Generation ---- */

typedef enum belay_finish BELAY_ANY_INT {
  BELAY_FINISH_NONE = 0, /* not finished */
  BELAY_FINISH_MAX_TOKENS = 1,
  BELAY_FINISH_STOP_TOKEN = 2,
  BELAY_FINISH_STOP_STRING = 3,
  BELAY_FINISH_CONTEXT_FULL = 4
} belay_finish;

typedef struct belay_generation_options {
  size_t struct_size;    /* sizeof(belay_generation_options) */
  int64_t max_tokens;    /* 0: 128 */
  int32_t no_end_tokens; /* 1: does not end at belay_text_model_end_tokens */
  const int32_t* stop_tokens;
  size_t num_stop_tokens;
  const char* const* stop_strings;
  size_t num_stop_strings;
  /* Sampling; 0: off. Temperature 0: the most likely token. */
  double temperature;
  int64_t top_k;
  double top_p, min_p;
  double repetition_penalty, frequency_penalty, presence_penalty;
  uint64_t seed;
  /* Speculative decoding: evaluates up to this many drafted tokens in one call. 0: none. The tokens stay
   * the same. */
  int64_t speculate;
  /* A session of a smaller model with the same tokenizer, whose greedy tokens are the draft. Its tokens
   * are replaced. Must outlive the generation; both sessions are used by one thread at a time. NULL: drafts
   * from earlier occurrences of the last tokens. Since version 3. */
  belay_session* draft;
} belay_generation_options;

typedef struct belay_generation belay_generation;

/* The session must outlive the generation. NULL options: the defaults.
 *   FAILED_PRECONDITION  the session has no tokens
 *   INVALID_ARGUMENT     invalid options; stop strings without a tokenizer; `draft` is the session, is
 *                        without `speculate`, or has an unknown context length
 *   UNIMPLEMENTED        `speculate`, and the model returns only the logits of the last token of a call,
 *                        or its cache, or that of the draft, is not written by position */
BELAY_API belay_status belay_generation_create(belay_session* session,
                                               const belay_generation_options* options,
                                               belay_generation** generation, belay_error** error);
/* NULL: no-op. */
BELAY_API void belay_generation_free(belay_generation* generation);

typedef struct belay_generated_token {
  size_t struct_size; /* set by the caller to sizeof(belay_generated_token) */
  belay_finish finish;
  int32_t token; /* -1 if finished */
  /* Text that this token completes; if finished, the rest. Empty without a tokenizer. Valid until the
   * next call. */
  const char* text;
  size_t text_size;
} belay_generated_token;

/* Generates one token and adds it to the session, or finishes. A failed call changes nothing and may
 * be repeated. NULL options: the defaults.
 *   INVALID_ARGUMENT  logits without a finite value
 *   errors of belay_session_append */
BELAY_API belay_status belay_generation_next(belay_generation* generation,
                                             belay_generated_token* token, belay_error** error);

/* ---- Batches (since version 3) ---- */

/* A fixed number of sessions that advance together: one call evaluates a token of each. A sequence
 * starts with belay_session_append at any time, and ends with belay_session_cut to 0:
 *
 *   belay_generation_next(generations[i], &tokens[i], &error);  for each sequence
 *   belay_batch_step(batch, NULL, &error);                      evaluates these tokens
 *
 * The batch and its sessions are used by one thread at a time: they share memory. Results equal those
 * of single sessions, up to the rounding of methods that evaluate other numbers of tokens. */
typedef struct belay_batch belay_batch;

/* Creates sessions without tokens, which move only the position when they are cut. The model must
 * outlive the batch.
 *   UNIMPLEMENTED       the program has no method "decode_batch" ("belay import-gguf --sessions N")
 *   INVALID_ARGUMENT    the context length is unknown; the caches of "decode_batch" are not those of
 *                       the other methods with a row per session
 *   RESOURCE_EXHAUSTED  memory, or a limit */
BELAY_API belay_status belay_batch_create(const belay_text_model* model, belay_batch** batch,
                                          belay_error** error);
/* Also frees its sessions. Free their generations first. NULL: no-op. */
BELAY_API void belay_batch_free(belay_batch* batch);
/* Number of sessions. */
BELAY_API size_t belay_batch_size(const belay_batch* batch);
/* Belongs to the batch and is valid as long as it; all functions of sessions accept it. A fork is a
 * session of its own. NULL if `i` is out of range. */
BELAY_API belay_session* belay_batch_session(belay_batch* batch, size_t i);
/* Evaluates the last token of each session to which belay_generation_next added one. Other sessions
 * stay as they are. A failed call changes nothing. NULL options: the defaults. Errors of
 * belay_method_execute. */
BELAY_API belay_status belay_batch_step(belay_batch* batch, const belay_execute_options* options,
                                        belay_error** error);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* BELAY_BINDINGS_C_BELAY_LLM_H_ */
