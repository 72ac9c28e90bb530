/* The C interface, from C. Prints what fails, with its line, and exits with 1 if something does. */
#include "runtime/c/belay.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/c/test_programs.h"

static int failures = 0;

#define EXPECT(condition)                                                     \
  do {                                                                        \
    if (!(condition)) {                                                       \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      ++failures;                                                             \
    }                                                                         \
  } while (0)

/* What must be there for the rest to make sense. */
#define REQUIRE(condition) \
  do {                     \
    EXPECT(condition);     \
    if (failures) exit(1); \
  } while (0)

/* Frees the error, which must have this status and say this. */
static void ExpectError(int line, belay_status got, belay_error* error, belay_status status,
                        const char* part) {
  const char* message = belay_error_message(error);
  if (got != status || belay_error_status(error) != status || strstr(message, part) == NULL) {
    fprintf(stderr, "%s:%d: expected %s with '%s', got %s: %s\n", __FILE__, line,
            belay_status_name(status), part, belay_status_name(got), message);
    ++failures;
  }
  belay_error_free(error);
}
#define EXPECT_ERROR(call, status, part)                 \
  do {                                                   \
    belay_error* error = NULL;                           \
    const belay_status got = (call);                     \
    ExpectError(__LINE__, got, error, (status), (part)); \
  } while (0)

static belay_program* Open(void) {
  size_t size = 0;
  const void* bytes = TestProgramBytes(&size);
  belay_program* program = NULL;
  belay_error* error = NULL;
  if (belay_program_open_bytes(bytes, size, NULL, &program, &error) != BELAY_OK) {
    fprintf(stderr, "%s\n", belay_error_message(error));
    exit(1);
  }
  return program;
}

static belay_method* Load(const belay_program* program, const char* name,
                          const belay_method_options* options) {
  belay_method* method = NULL;
  belay_error* error = NULL;
  if (belay_method_load(program, name, options, &method, &error) != BELAY_OK) {
    fprintf(stderr, "%s\n", belay_error_message(error));
    exit(1);
  }
  return method;
}

static void TensorsOfAnySizeWithinTheirBounds(const belay_program* program, int32_t threads) {
  const belay_method_options options = {.struct_size = sizeof options, .num_threads = threads};
  belay_method* method = Load(program, "add", &options);
  REQUIRE(belay_method_num_inputs(method) == 2 && belay_method_num_outputs(method) == 1);
  for (int64_t n = 1; n <= 4; ++n) {
    float x[] = {1, 2, 3, 4}, y[] = {10, 20, 30, 40};
    const belay_tensor a = belay_tensor_contiguous(BELAY_FLOAT32, 1, &n, x);
    const belay_tensor b = belay_tensor_contiguous(BELAY_FLOAT32, 1, &n, y);
    REQUIRE(belay_method_set_tensor(method, 0, &a, NULL) == BELAY_OK);
    REQUIRE(belay_method_set_tensor(method, 1, &b, NULL) == BELAY_OK);
    REQUIRE(belay_method_execute(method, NULL, NULL) == BELAY_OK);
    belay_kind kind = BELAY_KIND_NONE;
    EXPECT(belay_method_output_kind(method, 0, &kind, NULL) == BELAY_OK &&
           kind == BELAY_KIND_TENSOR);
    belay_tensor sum;
    REQUIRE(belay_method_get_tensor(method, 0, &sum, NULL) == BELAY_OK);
    EXPECT(sum.dtype == BELAY_FLOAT32 && sum.rank == 1 && sum.sizes[0] == n && sum.strides[0] == 1);
    for (int64_t i = 0; i < n; ++i) EXPECT(((const float*)sum.data)[i] == x[i] + y[i]);
  }
  belay_method_free(method);
}

static void InputsAreDescribed(const belay_program* program) {
  belay_method* method = Load(program, "add", NULL);
  belay_input_info info;
  REQUIRE(belay_method_input_info(method, 1, &info, NULL) == BELAY_OK);
  EXPECT(strcmp(info.name, "y") == 0 && info.kind == BELAY_KIND_TENSOR);
  EXPECT(info.tensor.dtype == BELAY_FLOAT32 && info.tensor.rank == 1 && info.tensor.sizes[0] == 4);
  EXPECT(info.dynamic_dims == 1 && info.min_sizes[0] == 1 && info.tensor.data == NULL);
  EXPECT_ERROR(belay_method_input_info(method, 2, &info, &error), BELAY_OUT_OF_RANGE,
               "there are 2");
  belay_method_free(method);
}

static void StateStaysUntilItIsReset(const belay_program* program) {
  belay_method* method = Load(program, "count", NULL);
  REQUIRE(belay_method_num_states(method) == 1);
  EXPECT(strcmp(belay_method_state_name(method, 0), "sum") == 0);
  EXPECT(belay_method_state_name(method, 1) == NULL);
  belay_tensor state;
  REQUIRE(belay_method_get_state(method, "sum", &state, NULL) == BELAY_OK);
  float* sum = state.data;
  EXPECT(sum[0] == 10 && sum[1] == 20);
  float step[] = {1, 2};
  const int64_t two = 2;
  const belay_tensor given = belay_tensor_contiguous(BELAY_FLOAT32, 1, &two, step);
  REQUIRE(belay_method_set_tensor(method, 0, &given, NULL) == BELAY_OK);
  REQUIRE(belay_method_execute(method, NULL, NULL) == BELAY_OK);
  REQUIRE(belay_method_execute(method, NULL, NULL) == BELAY_OK);
  EXPECT(sum[0] == 12 && sum[1] == 24);
  belay_method_reset_state(method);
  EXPECT(sum[0] == 10 && sum[1] == 20);
  EXPECT_ERROR(belay_method_get_state(method, "total", &state, &error), BELAY_NOT_FOUND, "'total'");
  belay_method_free(method);
}

static void NumbersGoInAndOut(const belay_program* program) {
  belay_method* method = Load(program, "numbers", NULL);
  REQUIRE(belay_method_set_int(method, 0, -7, NULL) == BELAY_OK);
  REQUIRE(belay_method_set_double(method, 1, 0.5, NULL) == BELAY_OK);
  REQUIRE(belay_method_set_bool(method, 2, 1, NULL) == BELAY_OK);
  REQUIRE(belay_method_execute(method, NULL, NULL) == BELAY_OK);
  int64_t a = 0;
  double b = 0;
  int32_t c = 0;
  EXPECT(belay_method_get_int(method, 0, &a, NULL) == BELAY_OK && a == -7);
  EXPECT(belay_method_get_double(method, 1, &b, NULL) == BELAY_OK && b == 0.5);
  EXPECT(belay_method_get_bool(method, 2, &c, NULL) == BELAY_OK && c == 1);
  EXPECT_ERROR(belay_method_get_int(method, 1, &a, &error), BELAY_INVALID_ARGUMENT,
               "output 1: expected an int, got");
  belay_tensor tensor;
  EXPECT_ERROR(belay_method_get_tensor(method, 0, &tensor, &error), BELAY_INVALID_ARGUMENT,
               "expected a tensor");
  EXPECT_ERROR(belay_method_set_double(method, 0, 1.5, &error), BELAY_INVALID_ARGUMENT, "'a'");
  belay_method_free(method);
}

static void EventsTellWhatHappened(const belay_program* program) {
  belay_event_log* log = NULL;
  REQUIRE(belay_event_log_create(100, &log, NULL) == BELAY_OK);
  const belay_method_options options = {.struct_size = sizeof options, .log = log};
  belay_method* method = Load(program, "count", &options);
  belay_event event;
  REQUIRE(belay_event_log_get(log, 0, &event) == BELAY_OK);
  EXPECT(event.kind == BELAY_EVENT_LOAD && event.depth == 0 && event.end_ns >= event.begin_ns);
  belay_event_log_clear(log);
  EXPECT(belay_event_log_size(log) == 0);
  float step[] = {1, 2};
  const int64_t two = 2;
  const belay_tensor given = belay_tensor_contiguous(BELAY_FLOAT32, 1, &two, step);
  REQUIRE(belay_method_set_tensor(method, 0, &given, NULL) == BELAY_OK);
  REQUIRE(belay_method_execute(method, NULL, NULL) == BELAY_OK);
  EXPECT(belay_event_log_size(log) == 3); /* execute, and in it the sum and the move */
  EXPECT(belay_event_log_get(log, 1, &event) == BELAY_OK && event.kind == BELAY_EVENT_INSTRUCTION &&
         event.depth == 1 && event.id == 0);
  EXPECT(belay_event_log_get(log, 3, &event) == BELAY_OUT_OF_RANGE);
  EXPECT(belay_event_log_dropped(log) == 0);
  belay_method_free(method);
  belay_event_log_free(log);
}

static void* CancelSoon(void* cancellation) {
  belay_cancellation_cancel(cancellation);
  return NULL;
}

static void EndlessLoopsEnd(const belay_program* program) {
  belay_method* method = Load(program, "forever", NULL);
  float x = 1;
  const belay_tensor given = belay_tensor_contiguous(BELAY_FLOAT32, 0, NULL, &x);
  EXPECT_ERROR(belay_method_set_tensor(method, 0, &given, &error), BELAY_INVALID_ARGUMENT, "'x'");
  const int64_t one = 1;
  const belay_tensor right = belay_tensor_contiguous(BELAY_FLOAT32, 1, &one, &x);
  REQUIRE(belay_method_set_tensor(method, 0, &right, NULL) == BELAY_OK);
  belay_execute_options options = {.struct_size = sizeof options, .limit_instructions = 1000};
  EXPECT_ERROR(belay_method_execute(method, &options, &error), BELAY_RESOURCE_EXHAUSTED, "1000");
  options = (belay_execute_options){.struct_size = sizeof options, .timeout_ns = 1};
  EXPECT_ERROR(belay_method_execute(method, &options, &error), BELAY_DEADLINE_EXCEEDED, "forever");
  belay_cancellation* cancellation = belay_cancellation_create();
  REQUIRE(cancellation != NULL);
  options = (belay_execute_options){.struct_size = sizeof options, .cancellation = cancellation};
  pthread_t thread;
  REQUIRE(pthread_create(&thread, NULL, CancelSoon, cancellation) == 0);
  EXPECT_ERROR(belay_method_execute(method, &options, &error), BELAY_CANCELLED, "forever");
  REQUIRE(pthread_join(thread, NULL) == 0);
  belay_tensor tensor;
  EXPECT_ERROR(belay_method_get_tensor(method, 0, &tensor, &error), BELAY_FAILED_PRECONDITION,
               "there are no outputs");
  belay_cancellation_reset(cancellation);
  options.limit_instructions = 10;
  EXPECT_ERROR(belay_method_execute(method, &options, &error), BELAY_RESOURCE_EXHAUSTED, "10");
  belay_cancellation_free(cancellation);
  belay_method_free(method);
}

static void ErrorsSayWhatIsWrong(const belay_program* program) {
  belay_program* opened = NULL;
  EXPECT_ERROR(belay_program_open("no/such/file", NULL, &opened, &error), BELAY_NOT_FOUND,
               "no/such/file");
  EXPECT_ERROR(belay_program_open(NULL, NULL, &opened, &error), BELAY_INVALID_ARGUMENT, "NULL");
  EXPECT_ERROR(belay_program_open_bytes("no program", 10, NULL, &opened, &error), BELAY_DATA_LOSS,
               "");
  EXPECT(opened == NULL);
  size_t size = 0;
  const void* bytes = TestProgramBytes(&size);
  EXPECT_ERROR(belay_program_open_bytes(bytes, size - 1, NULL, &opened, &error), BELAY_DATA_LOSS,
               "");
  belay_open_options limits = {.struct_size = sizeof limits, .limit_file_bytes = 10};
  EXPECT_ERROR(belay_program_open_bytes(bytes, size, &limits, &opened, &error),
               BELAY_RESOURCE_EXHAUSTED, "10");
  limits = (belay_open_options){.struct_size = sizeof limits, .copy = 1};
  EXPECT_ERROR(belay_program_open_bytes(bytes, size, &limits, &opened, &error),
               BELAY_INVALID_ARGUMENT, "copy");

  belay_method* method = NULL;
  EXPECT_ERROR(belay_method_load(program, "subtract", NULL, &method, &error), BELAY_NOT_FOUND,
               "'subtract'");
  belay_method_options options = {.struct_size = sizeof options, .num_threads = 257};
  EXPECT_ERROR(belay_method_load(program, "add", &options, &method, &error), BELAY_INVALID_ARGUMENT,
               "num_threads: expected 0 to 256, got 257");
  EXPECT(method == NULL);

  method = Load(program, "add", NULL);
  EXPECT_ERROR(belay_method_execute(method, NULL, &error), BELAY_FAILED_PRECONDITION, "'x'");
  float x[5] = {0};
  int64_t five = 5;
  belay_tensor tensor = belay_tensor_contiguous(BELAY_FLOAT32, 1, &five, x);
  EXPECT_ERROR(belay_method_set_tensor(method, 0, &tensor, &error), BELAY_OUT_OF_RANGE, "'x'");
  EXPECT_ERROR(belay_method_set_tensor(method, 2, &tensor, &error), BELAY_OUT_OF_RANGE, "2");
  five = 4;
  tensor = belay_tensor_contiguous(BELAY_INT32, 1, &five, x);
  EXPECT_ERROR(belay_method_set_tensor(method, 0, &tensor, &error), BELAY_INVALID_ARGUMENT, "i32");
  tensor.dtype = 99;
  EXPECT_ERROR(belay_method_set_tensor(method, 0, &tensor, &error), BELAY_INVALID_ARGUMENT,
               "dtype: expected one of belay_dtype, got 99");
  tensor.dtype = BELAY_FLOAT32;
  tensor.rank = 17;
  EXPECT_ERROR(belay_method_set_tensor(method, 0, &tensor, &error), BELAY_INVALID_ARGUMENT,
               "rank: expected 0 to 16, got 17");
  tensor.rank = 1;
  tensor.strides[0] = -1;
  EXPECT_ERROR(belay_method_set_tensor(method, 0, &tensor, &error), BELAY_INVALID_ARGUMENT,
               "strides");
  tensor.strides[0] = INT64_MAX;
  EXPECT_ERROR(belay_method_set_tensor(method, 0, &tensor, &error), BELAY_INVALID_ARGUMENT,
               "sizes");
  tensor.strides[0] = 1;
  tensor.data = NULL;
  EXPECT_ERROR(belay_method_set_tensor(method, 0, &tensor, &error), BELAY_INVALID_ARGUMENT, "NULL");
  EXPECT_ERROR(belay_method_set_tensor(method, 0, NULL, &error), BELAY_INVALID_ARGUMENT, "NULL");
  belay_method_free(method);
}

/* Of a caller that was compiled against a header with a field more. */
static void OptionsOfLaterVersions(const belay_program* program) {
  struct {
    belay_method_options known;
    uint64_t later;
  } options = {.known = {.struct_size = sizeof options, .num_threads = 1}};
  belay_method* method = Load(program, "add", &options.known);
  belay_method_free(method);
  method = NULL;
  options.later = 1;
  EXPECT_ERROR(belay_method_load(program, "add", &options.known, &method, &error),
               BELAY_UNIMPLEMENTED, "one of the others is not 0");
  /* And of an earlier one, or of none. */
  options.known.struct_size = sizeof(size_t);
  method = Load(program, "add", &options.known);
  belay_method_free(method);
  options.known.struct_size = 0;
  EXPECT_ERROR(belay_method_load(program, "add", &options.known, &method, &error),
               BELAY_INVALID_ARGUMENT, "struct_size");
}

static void NothingIsTakenAmiss(void) {
  belay_program_free(NULL);
  belay_method_free(NULL);
  belay_event_log_free(NULL);
  belay_cancellation_free(NULL);
  belay_error_free(NULL);
  EXPECT(belay_error_status(NULL) == BELAY_OK && strcmp(belay_error_message(NULL), "") == 0);
  EXPECT(belay_program_num_methods(NULL) == 0 && belay_method_num_inputs(NULL) == 0);
  EXPECT(strcmp(belay_status_name(BELAY_DATA_LOSS), "DATA_LOSS") == 0);
  EXPECT(strcmp(belay_status_name((belay_status)99), "") == 0);
  EXPECT(belay_dtype_size(BELAY_COMPLEX128) == 16 && belay_dtype_size((belay_dtype)99) == 0);
  EXPECT(belay_abi_version() == BELAY_ABI_VERSION);
  EXPECT(belay_tensor_contiguous(BELAY_FLOAT32, 17, NULL, NULL).rank == -1);
}

int main(void) {
  belay_program* program = Open();
  REQUIRE(belay_program_num_methods(program) == 4);
  EXPECT(strcmp(belay_program_method_name(program, 1), "count") == 0);
  EXPECT(belay_program_method_name(program, 4) == NULL);
  TensorsOfAnySizeWithinTheirBounds(program, 0);
  TensorsOfAnySizeWithinTheirBounds(program, 2);
  InputsAreDescribed(program);
  StateStaysUntilItIsReset(program);
  NumbersGoInAndOut(program);
  EventsTellWhatHappened(program);
  EndlessLoopsEnd(program);
  ErrorsSayWhatIsWrong(program);
  OptionsOfLaterVersions(program);
  NothingIsTakenAmiss();
  belay_program_free(program);
  if (failures != 0) fprintf(stderr, "%d failed\n", failures);
  return failures != 0;
}
