/* Tests of methods through the C API. */
#include "bindings/c/belay.h"

#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include "bindings/c/test_expectations.h"

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
  EXPECT(belay_event_log_size(log) == 3); /* execute, containing the addition and the move */
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
               "no outputs");
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

static void KindsOfInputsAndOutputs(const belay_program* program) {
  belay_method* numbers = Load(program, "numbers", NULL);
  const belay_kind kinds[] = {BELAY_KIND_INT, BELAY_KIND_DOUBLE, BELAY_KIND_BOOL};
  REQUIRE(belay_method_set_int(numbers, 0, 1, NULL) == BELAY_OK);
  REQUIRE(belay_method_set_double(numbers, 1, 2, NULL) == BELAY_OK);
  REQUIRE(belay_method_set_bool(numbers, 2, 0, NULL) == BELAY_OK);
  REQUIRE(belay_method_execute(numbers, NULL, NULL) == BELAY_OK);
  for (size_t i = 0; i < 3; ++i) {
    belay_input_info info;
    EXPECT(belay_method_input_info(numbers, i, &info, NULL) == BELAY_OK && info.kind == kinds[i]);
    belay_kind kind = BELAY_KIND_OTHER;
    EXPECT(belay_method_output_kind(numbers, i, &kind, NULL) == BELAY_OK && kind == kinds[i]);
  }
  double real = 0;
  EXPECT_ERROR(belay_method_get_double(numbers, 0, &real, &error), BELAY_INVALID_ARGUMENT,
               "output 0: expected a float, got int");
  int32_t truth = 0;
  EXPECT_ERROR(belay_method_get_bool(numbers, 0, &truth, &error), BELAY_INVALID_ARGUMENT,
               "output 0: expected a bool, got int");
  belay_method_free(numbers);

  belay_method* fixed = Load(program, "fixed", NULL);
  belay_input_info info;
  EXPECT(belay_method_input_info(fixed, 0, &info, NULL) == BELAY_OK);
  EXPECT(info.kind == BELAY_KIND_OTHER && strcmp(info.name, "mode") == 0);
  REQUIRE(belay_method_execute(fixed, NULL, NULL) == BELAY_OK);
  const belay_kind outputs[] = {BELAY_KIND_NONE, BELAY_KIND_STRING, BELAY_KIND_INT};
  for (size_t i = 0; i < 3; ++i) {
    belay_kind kind = BELAY_KIND_TENSOR;
    EXPECT(belay_method_output_kind(fixed, i, &kind, NULL) == BELAY_OK && kind == outputs[i]);
  }
  const char* text = NULL;
  size_t size = 0;
  REQUIRE(belay_method_get_string(fixed, 1, &text, &size, NULL) == BELAY_OK);
  EXPECT(size == 4 && memcmp(text, "fast", 4) == 0);
  EXPECT_ERROR(belay_method_get_string(fixed, 2, &text, &size, &error), BELAY_INVALID_ARGUMENT,
               "output 2: expected a string, got int");
  EXPECT_ERROR(belay_method_get_string(fixed, 3, &text, &size, &error), BELAY_OUT_OF_RANGE,
               "output 3");
  EXPECT_ERROR(belay_method_get_string(fixed, 1, NULL, &size, &error), BELAY_INVALID_ARGUMENT,
               "NULL");
  EXPECT_ERROR(belay_method_get_string(fixed, 1, &text, NULL, &error), BELAY_INVALID_ARGUMENT,
               "the size of the string");
  EXPECT_ERROR(belay_method_set_int(fixed, 0, 1, &error), BELAY_INVALID_ARGUMENT, "'mode'");
  belay_method_free(fixed);
}

static void OutputsAreOfTheLastExecution(const belay_program* program) {
  belay_method* method = Load(program, "numbers", NULL);
  int64_t value = 0;
  EXPECT_ERROR(belay_method_get_int(method, 0, &value, &error), BELAY_FAILED_PRECONDITION,
               "no outputs");
  REQUIRE(belay_method_set_int(method, 0, 5, NULL) == BELAY_OK);
  REQUIRE(belay_method_set_double(method, 1, 2, NULL) == BELAY_OK);
  REQUIRE(belay_method_set_bool(method, 2, 0, NULL) == BELAY_OK);
  REQUIRE(belay_method_execute(method, NULL, NULL) == BELAY_OK);
  EXPECT_ERROR(belay_method_get_int(method, 3, &value, &error), BELAY_OUT_OF_RANGE,
               "output 3 does not exist, there are 3");
  /* Failed calls changed nothing. */
  EXPECT_ERROR(belay_method_set_int(method, 3, 6, &error), BELAY_OUT_OF_RANGE, "got input 3");
  EXPECT_ERROR(belay_method_set_tensor(method, 0, NULL, &error), BELAY_INVALID_ARGUMENT, "NULL");
  EXPECT(belay_method_get_int(method, 0, &value, NULL) == BELAY_OK && value == 5);
  REQUIRE(belay_method_set_int(method, 0, 6, NULL) == BELAY_OK);
  EXPECT(belay_method_get_int(method, 0, &value, NULL) == BELAY_FAILED_PRECONDITION);
  belay_method_free(method);
}

static void StepsOfDelegatesHaveNames(const belay_program* program) {
  belay_event_log* log = NULL;
  REQUIRE(belay_event_log_create(100, &log, NULL) == BELAY_OK);
  const belay_method_options options = {.struct_size = sizeof options, .log = log};
  belay_method* method = Load(program, "steps", &options);
  float x[] = {1, 2};
  const int64_t two = 2;
  const belay_tensor given = belay_tensor_contiguous(BELAY_FLOAT32, 1, &two, x);
  REQUIRE(belay_method_set_tensor(method, 0, &given, NULL) == BELAY_OK);
  belay_event_log_clear(log);
  REQUIRE(belay_method_execute(method, NULL, NULL) == BELAY_OK);
  REQUIRE(belay_event_log_size(log) == 4); /* execute, the delegate call, its steps */
  belay_event event;
  EXPECT(belay_event_log_get(log, 2, &event) == BELAY_OK && event.kind == BELAY_EVENT_STEP &&
         event.depth == 2);
  EXPECT(event.name != NULL && strcmp(event.name, "copy") == 0);
  EXPECT(belay_event_log_get(log, 3, &event) == BELAY_OK && event.kind == BELAY_EVENT_STEP);
  EXPECT(event.name == NULL && event.id == 7);
  belay_method_free(method);
  belay_event_log_free(log);
  EXPECT_ERROR(belay_event_log_create(SIZE_MAX, &log, &error), BELAY_RESOURCE_EXHAUSTED, "events");
}

static void TensorsSayHowTheyLie(const belay_program* program) {
  belay_method* method = Load(program, "add", NULL);
  int64_t four = 4;
  float x[] = {1, 9, 2, 9, 3, 9, 4, 9}, y[] = {10, 20, 30, 40};
  belay_tensor a = belay_tensor_contiguous(BELAY_FLOAT32, 1, &four, x);
  a.strides[0] = 2;
  const belay_tensor b = belay_tensor_contiguous(BELAY_FLOAT32, 1, &four, y);
  REQUIRE(belay_method_set_tensor(method, 0, &a, NULL) == BELAY_OK);
  REQUIRE(belay_method_set_tensor(method, 1, &b, NULL) == BELAY_OK);
  REQUIRE(belay_method_execute(method, NULL, NULL) == BELAY_OK);
  belay_tensor sum;
  REQUIRE(belay_method_get_tensor(method, 0, &sum, NULL) == BELAY_OK);
  for (int i = 0; i < 4; ++i) EXPECT(((const float*)sum.data)[i] == (i + 1) * 11);
  /* Sizes larger than memory, and empty tensors, whose pointers are not used. */
  a.sizes[0] = -1;
  EXPECT_ERROR(belay_method_set_tensor(method, 0, &a, &error), BELAY_INVALID_ARGUMENT, "sizes");
  const int64_t none[] = {0, 3};
  const belay_tensor empty = belay_tensor_contiguous(BELAY_FLOAT32, 2, none, NULL);
  EXPECT(empty.strides[0] == 3 && empty.strides[1] == 1);
  EXPECT_ERROR(belay_method_set_tensor(method, 0, &empty, &error), BELAY_INVALID_ARGUMENT, "rank");
  a.rank = -1;
  EXPECT_ERROR(belay_method_set_tensor(method, 0, &a, &error), BELAY_INVALID_ARGUMENT,
               "rank: expected 0 to 16, got -1");
  belay_method_free(method);
  EXPECT(belay_tensor_contiguous(BELAY_FLOAT32, 1, NULL, NULL).rank == -1);
  EXPECT(belay_tensor_contiguous(BELAY_FLOAT32, -1, &four, NULL).rank == -1);
  EXPECT(belay_tensor_contiguous(BELAY_FLOAT32, 0, NULL, NULL).rank == 0);
}

int main(void) {
  belay_program* program = Open();
  REQUIRE(belay_program_num_methods(program) == 6);
  EXPECT(strcmp(belay_program_method_name(program, 1), "count") == 0);
  EXPECT(belay_program_method_name(program, 6) == NULL);
  TensorsOfAnySizeWithinTheirBounds(program, 0);
  TensorsOfAnySizeWithinTheirBounds(program, 2);
  InputsAreDescribed(program);
  StateStaysUntilItIsReset(program);
  NumbersGoInAndOut(program);
  EventsTellWhatHappened(program);
  EndlessLoopsEnd(program);
  ErrorsSayWhatIsWrong(program);
  KindsOfInputsAndOutputs(program);
  OutputsAreOfTheLastExecution(program);
  StepsOfDelegatesHaveNames(program);
  TensorsSayHowTheyLie(program);
  belay_program_free(program);
  return Failed();
}
