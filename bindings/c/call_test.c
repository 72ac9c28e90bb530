/* Tests of belay_method_call, information on outputs, and shared state. */
#include <stdint.h>
#include <string.h>

#include "bindings/c/belay.h"
#include "bindings/c/test_expectations.h"

static belay_value Tensor(belay_tensor tensor) {
  return (belay_value){.kind = BELAY_KIND_TENSOR, .tensor = tensor};
}

static void CallReturnsViewsOfOutputs(const belay_program* program) {
  belay_method* method = Load(program, "add", NULL);
  float x[] = {1, 2, 3}, y[] = {10, 20, 30};
  const belay_value inputs[] = {Tensor(Floats(3, x)), Tensor(Floats(3, y))};
  belay_value sum = {0};
  REQUIRE(belay_method_call(method, inputs, 2, &sum, 1, NULL, NULL) == BELAY_OK);
  EXPECT(sum.kind == BELAY_KIND_TENSOR && sum.tensor.rank == 1 && sum.tensor.sizes[0] == 3);
  for (int i = 0; i < 3; ++i) EXPECT(((const float*)sum.tensor.data)[i] == x[i] + y[i]);
  belay_method_free(method);
}

static void CallWritesToTheCallersMemory(const belay_program* program) {
  const char* methods[] = {"add", "steps"}; /* dynamic and static sizes */
  for (int m = 0; m < 2; ++m) {
    belay_method* method = Load(program, methods[m], NULL);
    float x[] = {1, 2}, first[4] = {0}, second[4] = {0};
    const belay_value inputs[] = {Tensor(Floats(2, x)), Tensor(Floats(2, x))};
    const size_t count = belay_method_num_inputs(method);
    const float factor = m == 0 ? 2 : 1;
    belay_value result = Tensor(Floats(4, first));
    REQUIRE(belay_method_call(method, inputs, count, &result, 1, NULL, NULL) == BELAY_OK);
    EXPECT(result.tensor.data == first && result.tensor.sizes[0] == 2);
    EXPECT(result.tensor.strides[0] == 1);
    EXPECT(first[0] == factor && first[1] == 2 * factor);
    x[0] = 5;
    result = Tensor(Floats(4, second));
    REQUIRE(belay_method_call(method, inputs, count, &result, 1, NULL, NULL) == BELAY_OK);
    EXPECT(second[0] == 5 * factor && first[0] == factor);
    /* Later executions do not write to that memory. */
    x[0] = 7;
    REQUIRE(belay_method_execute(method, NULL, NULL) == BELAY_OK);
    EXPECT(second[0] == 5 * factor);
    belay_tensor view;
    REQUIRE(belay_method_get_tensor(method, 0, &view, NULL) == BELAY_OK);
    EXPECT(view.data != second && ((const float*)view.data)[0] == 7 * factor);
    result = (belay_value){0};
    REQUIRE(belay_method_call(method, inputs, count, &result, 1, NULL, NULL) == BELAY_OK);
    EXPECT(result.tensor.data != second && second[0] == 5 * factor);
    belay_method_free(method);
  }
}

static void CallAcceptsAndReturnsScalars(const belay_program* program) {
  belay_method* method = Load(program, "numbers", NULL);
  const belay_value inputs[] = {{.kind = BELAY_KIND_INT, .int_value = -3},
                                {.kind = BELAY_KIND_DOUBLE, .double_value = 0.5},
                                {.kind = BELAY_KIND_BOOL, .bool_value = 1}};
  belay_value outputs[3] = {{0}};
  REQUIRE(belay_method_call(method, inputs, 3, outputs, 3, NULL, NULL) == BELAY_OK);
  EXPECT(outputs[0].kind == BELAY_KIND_INT && outputs[0].int_value == -3);
  EXPECT(outputs[1].kind == BELAY_KIND_DOUBLE && outputs[1].double_value == 0.5);
  EXPECT(outputs[2].kind == BELAY_KIND_BOOL && outputs[2].bool_value == 1);
  belay_method_free(method);

  method = Load(program, "fixed", NULL);
  const belay_value constant = {.kind = BELAY_KIND_NONE};
  REQUIRE(belay_method_call(method, &constant, 1, outputs, 3, NULL, NULL) == BELAY_OK);
  EXPECT(outputs[0].kind == BELAY_KIND_NONE && outputs[1].kind == BELAY_KIND_STRING);
  EXPECT(outputs[2].kind == BELAY_KIND_INT && outputs[2].int_value == 7);
  belay_method_free(method);
}

static void CallRejectsWrongInputs(const belay_program* program) {
  belay_method* method = Load(program, "add", NULL);
  float x[] = {1, 2};
  belay_value inputs[] = {Tensor(Floats(2, x)), Tensor(Floats(1, x))};
  belay_value sum = {0};
  EXPECT_ERROR(belay_method_call(method, inputs, 1, &sum, 1, NULL, &error), BELAY_INVALID_ARGUMENT,
               "expected 2 inputs, got 1");
  EXPECT_ERROR(belay_method_call(method, inputs, 2, &sum, 0, NULL, &error), BELAY_INVALID_ARGUMENT,
               "expected 1 outputs, got 0");
  EXPECT_ERROR(belay_method_call(method, NULL, 2, &sum, 1, NULL, &error), BELAY_INVALID_ARGUMENT,
               "expected inputs, got NULL");
  EXPECT_ERROR(belay_method_call(NULL, inputs, 2, &sum, 1, NULL, &error), BELAY_INVALID_ARGUMENT,
               "a method");
  EXPECT_ERROR(belay_method_call(method, inputs, 2, &sum, 1, NULL, &error), BELAY_INVALID_ARGUMENT,
               "'y'");
  inputs[1].kind = BELAY_KIND_OTHER;
  EXPECT_ERROR(belay_method_call(method, inputs, 2, &sum, 1, NULL, &error), BELAY_INVALID_ARGUMENT,
               "input 1 'y': expected a tensor, an int, a float or a bool, got kind 5");
  inputs[1] = (belay_value){.kind = BELAY_KIND_TENSOR, .tensor = {.dtype = 99}};
  EXPECT_ERROR(belay_method_call(method, inputs, 2, &sum, 1, NULL, &error), BELAY_INVALID_ARGUMENT,
               "input 1 'y': dtype");
  belay_method_free(method);
}

static void OutputsAreDescribedBeforeExecution(const belay_program* program) {
  belay_method* method = Load(program, "add", NULL);
  belay_output_info info = {.struct_size = sizeof info};
  REQUIRE(belay_method_output_info(method, 0, &info, NULL) == BELAY_OK);
  EXPECT(info.struct_size == sizeof info && strcmp(info.name, "0") == 0);
  EXPECT(info.kind == BELAY_KIND_TENSOR && info.tensor.dtype == BELAY_FLOAT32);
  EXPECT(info.tensor.rank == 1 && info.tensor.sizes[0] == 4 && info.tensor.data == NULL);
  EXPECT(info.dynamic_dims == 1 && info.max_bytes == 16);
  EXPECT_ERROR(belay_method_output_info(method, 1, &info, &error), BELAY_OUT_OF_RANGE,
               "output 1 does not exist, there are 1");
  EXPECT_ERROR(belay_method_output_info(method, 0, NULL, &error), BELAY_INVALID_ARGUMENT, "NULL");
  info.struct_size = 0;
  EXPECT_ERROR(belay_method_output_info(method, 0, &info, &error), BELAY_INVALID_ARGUMENT,
               "struct_size");
  /* A caller with an earlier, shorter structure. */
  info = (belay_output_info){.struct_size = offsetof(belay_output_info, max_bytes), .max_bytes = 99};
  REQUIRE(belay_method_output_info(method, 0, &info, NULL) == BELAY_OK);
  EXPECT(info.dynamic_dims == 1 && info.max_bytes == 99);
  EXPECT(strcmp(belay_method_in_spec(method), "") == 0);
  EXPECT(strcmp(belay_method_out_spec(method), "") == 0);
  belay_method_free(method);

  method = Load(program, "fixed", NULL);
  const belay_kind kinds[] = {BELAY_KIND_NONE, BELAY_KIND_STRING, BELAY_KIND_INT};
  for (size_t i = 0; i < 3; ++i) {
    info = (belay_output_info){.struct_size = sizeof info};
    EXPECT(belay_method_output_info(method, i, &info, NULL) == BELAY_OK && info.kind == kinds[i]);
  }
  belay_method_free(method);
  method = Load(program, "numbers", NULL);
  const belay_kind scalars[] = {BELAY_KIND_INT, BELAY_KIND_DOUBLE, BELAY_KIND_BOOL};
  for (size_t i = 0; i < 3; ++i) {
    info = (belay_output_info){.struct_size = sizeof info};
    EXPECT(belay_method_output_info(method, i, &info, NULL) == BELAY_OK && info.kind == scalars[i]);
  }
  belay_method_free(method);
}

static void StateIsSharedSavedAndRestored(const belay_program* program) {
  belay_state* state = NULL;
  REQUIRE(belay_state_create(program, NULL, 0, &state, NULL) == BELAY_OK);
  REQUIRE(belay_state_num_buffers(state) == 1);
  EXPECT(strcmp(belay_state_buffer_name(state, 0), "sum") == 0);
  EXPECT(belay_state_buffer_name(state, 1) == NULL);
  const belay_method_options options = {.struct_size = sizeof options, .state = state};
  belay_method* first = Load(program, "count", &options);
  belay_method* second = Load(program, "count", &options);
  float step[] = {1, 2};
  const belay_value input = Tensor(Floats(2, step));
  belay_value output = {0};
  REQUIRE(belay_method_call(first, &input, 1, &output, 1, NULL, NULL) == BELAY_OK);
  belay_bytes* saved = NULL;
  REQUIRE(belay_state_save(state, &saved, NULL) == BELAY_OK);
  REQUIRE(belay_method_call(second, &input, 1, &output, 1, NULL, NULL) == BELAY_OK);
  belay_tensor sum;
  REQUIRE(belay_state_get(state, "sum", &sum, NULL) == BELAY_OK);
  const float* values = sum.data;
  EXPECT(values[0] == 12 && values[1] == 24);
  REQUIRE(belay_state_restore(state, belay_bytes_data(saved), belay_bytes_size(saved), NULL) ==
          BELAY_OK);
  EXPECT(values[0] == 11 && values[1] == 22);
  EXPECT_ERROR(belay_state_restore(state, belay_bytes_data(saved), 3, &error),
               BELAY_INVALID_ARGUMENT, "3");
  EXPECT_ERROR(belay_state_restore(state, NULL, 3, &error), BELAY_INVALID_ARGUMENT, "bytes");
  EXPECT(values[0] == 11);
  belay_state_reset(state);
  EXPECT(values[0] == 10 && values[1] == 20);
  EXPECT_ERROR(belay_state_get(state, "total", &sum, &error), BELAY_NOT_FOUND, "'total'");
  belay_bytes_free(saved);
  belay_method_free(first);
  belay_method_free(second);
  belay_state_free(state);

  state = NULL;
  const char* unknown = "subtract";
  EXPECT_ERROR(belay_state_create(program, &unknown, 1, &state, &error), BELAY_NOT_FOUND,
               "subtract");
  EXPECT_ERROR(belay_state_create(program, NULL, 1, &state, &error), BELAY_INVALID_ARGUMENT,
               "expected methods, got NULL");
  EXPECT_ERROR(belay_state_create(NULL, NULL, 0, &state, &error), BELAY_INVALID_ARGUMENT,
               "a program");
  EXPECT_ERROR(belay_state_create(program, NULL, 0, NULL, &error), BELAY_INVALID_ARGUMENT,
               "an output pointer");
  EXPECT(state == NULL && belay_state_num_buffers(NULL) == 0);
  EXPECT(belay_bytes_data(NULL) == NULL && belay_bytes_size(NULL) == 0);
}

static void CopiesTensorsOfAnyStrides(const belay_program* program) {
  float from[] = {1, 2, 3, 4, 5, 6}, to[6] = {0};
  const int64_t sizes[] = {2, 3}, swapped[] = {3, 2};
  belay_tensor source = belay_tensor_contiguous(BELAY_FLOAT32, 2, swapped, from);
  source.sizes[0] = 2, source.sizes[1] = 3; /* the transpose */
  source.strides[0] = 1, source.strides[1] = 2;
  belay_tensor target = belay_tensor_contiguous(BELAY_FLOAT32, 2, sizes, to);
  REQUIRE(belay_tensor_copy(&source, &target, NULL) == BELAY_OK);
  const float expected[] = {1, 3, 5, 2, 4, 6};
  EXPECT(memcmp(to, expected, sizeof to) == 0);
  target.dtype = BELAY_INT32;
  EXPECT_ERROR(belay_tensor_copy(&source, &target, &error), BELAY_INVALID_ARGUMENT, "dtype");
  target.dtype = BELAY_FLOAT32;
  target.sizes[1] = 2;
  EXPECT_ERROR(belay_tensor_copy(&source, &target, &error), BELAY_INVALID_ARGUMENT, "");
  EXPECT_ERROR(belay_tensor_copy(&source, NULL, &error), BELAY_INVALID_ARGUMENT, "a tensor");
  belay_method* method = Load(program, "add", NULL);
  EXPECT(belay_method_input_is_mutated(method, 0) == 0);
  EXPECT(belay_method_input_is_mutated(method, 9) == 0);
  belay_method_free(method);
}

int main(void) {
  EXPECT(belay_abi_version() == BELAY_ABI_VERSION);
  EXPECT(strcmp(belay_error_nodes(NULL), "[]") == 0);
  belay_program* program = Open();
  CallReturnsViewsOfOutputs(program);
  CallWritesToTheCallersMemory(program);
  CallAcceptsAndReturnsScalars(program);
  CallRejectsWrongInputs(program);
  OutputsAreDescribedBeforeExecution(program);
  StateIsSharedSavedAndRestored(program);
  CopiesTensorsOfAnyStrides(program);
  belay_program_free(program);
  return Failed();
}
