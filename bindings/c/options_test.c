/* Tests of files, options and limits through the C API. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bindings/c/belay.h"
#include "bindings/c/test_expectations.h"

/* A caller compiled against a header with an additional field. */
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
               BELAY_UNIMPLEMENTED, "the others must be 0");
  /* A caller compiled against an earlier header, and an invalid size. */
  options.known.struct_size = sizeof(size_t);
  method = Load(program, "add", &options.known);
  belay_method_free(method);
  options.known.struct_size = 0;
  EXPECT_ERROR(belay_method_load(program, "add", &options.known, &method, &error),
               BELAY_INVALID_ARGUMENT, "struct_size");
}

/* Writes a file to the test's directory. The returned path is valid for the life of the process. */
static const char* Write(const char* name, const void* bytes, size_t size) {
  static char paths[24][4096];
  static size_t count = 0;
  const char* directory = getenv("TEST_TMPDIR");
  if (directory == NULL) directory = "/tmp";
  REQUIRE(count < sizeof paths / sizeof paths[0]);
  char* path = paths[count++];
  const int length = snprintf(path, sizeof paths[0], "%s/%s", directory, name);
  REQUIRE(length > 0 && (size_t)length < sizeof paths[0]);
  FILE* file = fopen(path, "wb");
  REQUIRE(file != NULL);
  REQUIRE(fwrite(bytes, 1, size, file) == size && fclose(file) == 0);
  return path;
}
static const char* WriteFile(const char* name, TestFile content) {
  size_t size = 0;
  const void* bytes = TestFileBytes(content, &size);
  return Write(name, bytes, size);
}

static belay_program* OpenAt(const char* path, const belay_open_options* options) {
  belay_program* program = NULL;
  belay_error* error = NULL;
  if (belay_program_open(path, options, &program, &error) != BELAY_OK) {
    fprintf(stderr, "%s: %s\n", path, belay_error_message(error));
    exit(1);
  }
  return program;
}

/* Checks that its method "add" adds. */
static void ExpectSums(const belay_program* program) {
  belay_method* method = Load(program, "add", NULL);
  float x[] = {1, 2}, y[] = {10, 20};
  const belay_tensor a = Floats(2, x), b = Floats(2, y);
  REQUIRE(belay_method_set_tensor(method, 0, &a, NULL) == BELAY_OK);
  REQUIRE(belay_method_set_tensor(method, 1, &b, NULL) == BELAY_OK);
  REQUIRE(belay_method_execute(method, NULL, NULL) == BELAY_OK);
  belay_tensor sum;
  REQUIRE(belay_method_get_tensor(method, 0, &sum, NULL) == BELAY_OK);
  EXPECT(((const float*)sum.data)[0] == 11 && ((const float*)sum.data)[1] == 22);
  belay_method_free(method);
}

static void FilesAreMappedOrCopied(void) {
  size_t size = 0;
  const void* bytes = TestProgramBytes(&size);
  const char* path = Write("model.belay", bytes, size);
  belay_program* mapped = OpenAt(path, NULL);
  EXPECT(belay_program_num_methods(mapped) == 6);
  ExpectSums(mapped);
  belay_program_free(mapped);
  /* A copy is independent of the file. */
  const belay_open_options copy = {.struct_size = sizeof copy, .copy = 1};
  belay_program* copied = OpenAt(path, &copy);
  Write("model.belay", "", 0);
  ExpectSums(copied);
  belay_program_free(copied);
}

static void CompanionsAreWhereTheOptionsSay(void) {
  const char* path = WriteFile("with_companion.belay", TEST_PROGRAM_WITH_COMPANION);
  belay_program* program = NULL;
  EXPECT_ERROR(belay_program_open(path, NULL, &program, &error), BELAY_NOT_FOUND, "'weights'");
  WriteFile("weights", TEST_COMPANION);
  belay_program_free(OpenAt(path, NULL));
  const belay_open_options elsewhere = {.struct_size = sizeof elsewhere,
                                        .companion_root = "no/such/folder"};
  EXPECT_ERROR(belay_program_open(path, &elsewhere, &program, &error), BELAY_NOT_FOUND,
               "'weights'");
  size_t size = 0;
  const void* bytes = TestFileBytes(TEST_PROGRAM_WITH_COMPANION, &size);
  EXPECT_ERROR(belay_program_open_bytes(bytes, size, NULL, &program, &error), BELAY_NOT_FOUND,
               "companion_root");
  EXPECT(program == NULL);
}

static void ProgramsOfExecuTorchFindTheirDataFiles(void) {
  belay_program* relu = OpenAt(WriteFile("relu.pte", TEST_PTE_PROGRAM), NULL);
  belay_method* method = Load(relu, "forward", NULL);
  const int64_t sizes[] = {2, 3};
  float x[] = {-1, 2, -3, 4, -5, 6};
  const belay_tensor given = belay_tensor_contiguous(BELAY_FLOAT32, 2, sizes, x);
  REQUIRE(belay_method_set_tensor(method, 0, &given, NULL) == BELAY_OK);
  REQUIRE(belay_method_execute(method, NULL, NULL) == BELAY_OK);
  belay_tensor result;
  REQUIRE(belay_method_get_tensor(method, 0, &result, NULL) == BELAY_OK);
  for (int i = 0; i < 6; ++i) EXPECT(((const float*)result.data)[i] == (x[i] < 0 ? 0 : x[i]));
  belay_method_free(method);
  belay_program_free(relu);

  const char* path = WriteFile("external.pte", TEST_PTE_EXTERNAL);
  belay_program* program = NULL;
  EXPECT_ERROR(belay_program_open(path, NULL, &program, &error), BELAY_NOT_FOUND, "'w'");
  const char* names[] = {WriteFile("weights.ptd", TEST_PTD)};
  belay_open_options options = {
      .struct_size = sizeof options, .data_files = names, .num_data_files = 1};
  program = OpenAt(path, &options);
  method = Load(program, "forward", NULL);
  REQUIRE(belay_method_execute(method, NULL, NULL) == BELAY_OK);
  REQUIRE(belay_method_get_tensor(method, 0, &result, NULL) == BELAY_OK);
  EXPECT(((const float*)result.data)[0] == 5 && ((const float*)result.data)[1] == 6);
  belay_method_free(method);
  belay_program_free(program);

  program = NULL;
  size_t size = 0;
  const void* bytes = TestFileBytes(TEST_PTE_EXTERNAL, &size);
  EXPECT_ERROR(belay_program_open_bytes(bytes, size, &options, &program, &error),
               BELAY_INVALID_ARGUMENT, "no copy, data_files or weight_cache");
  names[0] = NULL;
  EXPECT_ERROR(belay_program_open(path, &options, &program, &error), BELAY_INVALID_ARGUMENT,
               "data_files[0]");
  options.data_files = NULL;
  EXPECT_ERROR(belay_program_open(path, &options, &program, &error), BELAY_INVALID_ARGUMENT,
               "data_files");
  EXPECT(program == NULL);
}

static void DataFilesReplaceParameters(void) {
  const char* path = WriteFile("parameter.belay", TEST_PROGRAM_WITH_PARAMETER);
  struct {
    const char* name;
    TestFile file;
    float first;
  } files[] = {{"own.params", TEST_PARAMETERS, 7}, {"own.ptd", TEST_PTD, 5}};
  for (int i = 0; i < 2; ++i) {
    const char* names[] = {WriteFile(files[i].name, files[i].file), NULL};
    belay_open_options options = {
        .struct_size = sizeof options, .data_files = names, .num_data_files = 1};
    belay_program* program = OpenAt(path, &options);
    belay_method* method = Load(program, "w", NULL);
    REQUIRE(belay_method_execute(method, NULL, NULL) == BELAY_OK);
    belay_tensor result;
    REQUIRE(belay_method_get_tensor(method, 0, &result, NULL) == BELAY_OK);
    EXPECT(((const float*)result.data)[0] == files[i].first);
    belay_method_free(method);
    belay_program_free(program);
    program = NULL;
    names[1] = names[0];
    options.num_data_files = 2;
    EXPECT_ERROR(belay_program_open(path, &options, &program, &error), BELAY_INVALID_ARGUMENT,
                 "parameter 'w' is in ");
  }
}

static void LimitsAreThoseOfTheOptions(void) {
  size_t size = 0;
  const void* bytes = TestProgramBytes(&size);
  belay_open_options limits = {.struct_size = sizeof limits, .limit_arena_bytes = 1};
  belay_program* program = NULL;
  EXPECT_ERROR(belay_program_open_bytes(bytes, size, &limits, &program, &error),
               BELAY_RESOURCE_EXHAUSTED, "arena");
  limits = (belay_open_options){
      .struct_size = sizeof limits, .limit_instructions = 500, .limit_work = 100};
  REQUIRE(belay_program_open_bytes(bytes, size, &limits, &program, NULL) == BELAY_OK);
  belay_method* method = Load(program, "forever", NULL);
  float x[] = {1, 2, 3, 4};
  const belay_tensor given = Floats(1, x), all = Floats(4, x);
  REQUIRE(belay_method_set_tensor(method, 0, &given, NULL) == BELAY_OK);
  EXPECT_ERROR(belay_method_execute(method, NULL, &error), BELAY_RESOURCE_EXHAUSTED, "500");
  belay_method_free(method);
  method = Load(program, "add", NULL);
  REQUIRE(belay_method_set_tensor(method, 0, &all, NULL) == BELAY_OK);
  REQUIRE(belay_method_set_tensor(method, 1, &all, NULL) == BELAY_OK);
  EXPECT_ERROR(belay_method_execute(method, NULL, &error), BELAY_RESOURCE_EXHAUSTED, "100");
  belay_method_free(method);
  belay_program_free(program);
}

static void ExecutionsTakeTheirOptions(const belay_program* program) {
  belay_method* method = Load(program, "numbers", NULL);
  REQUIRE(belay_method_set_int(method, 0, 1, NULL) == BELAY_OK);
  REQUIRE(belay_method_set_double(method, 1, 2, NULL) == BELAY_OK);
  REQUIRE(belay_method_set_bool(method, 2, 0, NULL) == BELAY_OK);
  belay_execute_options options = {.struct_size = sizeof options, .timeout_ns = UINT64_MAX};
  EXPECT(belay_method_execute(method, &options, NULL) == BELAY_OK);
  options.struct_size = 1;
  EXPECT_ERROR(belay_method_execute(method, &options, &error), BELAY_INVALID_ARGUMENT,
               "struct_size: expected sizeof the structure, got 1");
  belay_method_free(method);
  belay_method_options threads = {.struct_size = sizeof threads, .num_threads = -1};
  method = NULL;
  EXPECT_ERROR(belay_method_load(program, "add", &threads, &method, &error), BELAY_INVALID_ARGUMENT,
               "num_threads: expected 0 to 256, got -1");
  const belay_open_options options_of_none = {.struct_size = 0};
  belay_program* opened = NULL;
  EXPECT_ERROR(belay_program_open("x", &options_of_none, &opened, &error), BELAY_INVALID_ARGUMENT,
               "struct_size");
  EXPECT_ERROR(belay_program_open_bytes("x", 1, &options_of_none, &opened, &error),
               BELAY_INVALID_ARGUMENT, "struct_size");
}

static void WhatMustBeGivenIsNamed(const belay_program* program) {
  EXPECT_ERROR(belay_program_open("x", NULL, NULL, &error), BELAY_INVALID_ARGUMENT,
               "an output pointer for the program");
  EXPECT_ERROR(belay_program_open_bytes("x", 1, NULL, NULL, &error), BELAY_INVALID_ARGUMENT,
               "an output pointer for the program");
  belay_program* opened = NULL;
  EXPECT_ERROR(belay_program_open_bytes(NULL, 1, NULL, &opened, &error), BELAY_INVALID_ARGUMENT,
               "expected bytes, got NULL");
  EXPECT_ERROR(belay_event_log_create(1, NULL, &error), BELAY_INVALID_ARGUMENT,
               "an output pointer for the log");
  belay_method* method = NULL;
  EXPECT_ERROR(belay_method_load(NULL, "add", NULL, &method, &error), BELAY_INVALID_ARGUMENT,
               "a program");
  EXPECT_ERROR(belay_method_load(program, NULL, NULL, &method, &error), BELAY_INVALID_ARGUMENT,
               "the name of a method");
  EXPECT_ERROR(belay_method_load(program, "add", NULL, NULL, &error), BELAY_INVALID_ARGUMENT,
               "an output pointer for the method");
  belay_input_info info;
  EXPECT_ERROR(belay_method_input_info(NULL, 0, &info, &error), BELAY_INVALID_ARGUMENT, "a method");
  EXPECT_ERROR(belay_method_set_int(NULL, 0, 1, &error), BELAY_INVALID_ARGUMENT, "a method");
  EXPECT_ERROR(belay_method_execute(NULL, NULL, &error), BELAY_INVALID_ARGUMENT, "a method");
  belay_kind kind;
  EXPECT_ERROR(belay_method_output_kind(NULL, 0, &kind, &error), BELAY_INVALID_ARGUMENT,
               "a method");
  belay_tensor tensor;
  EXPECT_ERROR(belay_method_get_state(NULL, "sum", &tensor, &error), BELAY_INVALID_ARGUMENT,
               "a method");
  method = Load(program, "count", NULL);
  EXPECT_ERROR(belay_method_get_state(method, NULL, &tensor, &error), BELAY_INVALID_ARGUMENT,
               "the name of a state");
  EXPECT_ERROR(belay_method_input_info(method, 0, NULL, &error), BELAY_INVALID_ARGUMENT,
               "an output pointer for the result");
  EXPECT_ERROR(belay_method_get_state(method, "sum", NULL, &error), BELAY_INVALID_ARGUMENT,
               "an output pointer for the result");
  belay_method_free(method);
  method = Load(program, "fixed", NULL);
  REQUIRE(belay_method_execute(method, NULL, NULL) == BELAY_OK);
  EXPECT_ERROR(belay_method_output_kind(method, 0, NULL, &error), BELAY_INVALID_ARGUMENT,
               "an output pointer for the result");
  EXPECT_ERROR(belay_method_get_int(method, 2, NULL, &error), BELAY_INVALID_ARGUMENT,
               "an output pointer for the result");
  belay_method_free(method);
  belay_event event;
  EXPECT(belay_event_log_get(NULL, 0, &event) == BELAY_OUT_OF_RANGE);
  EXPECT(belay_event_log_get(NULL, 0, NULL) == BELAY_INVALID_ARGUMENT);
}

static void NumbersHaveNames(void) {
  static const char* const kNames[] = {"OK",
                                       "CANCELLED",
                                       "UNKNOWN",
                                       "INVALID_ARGUMENT",
                                       "DEADLINE_EXCEEDED",
                                       "NOT_FOUND",
                                       "ALREADY_EXISTS",
                                       "PERMISSION_DENIED",
                                       "RESOURCE_EXHAUSTED",
                                       "FAILED_PRECONDITION",
                                       "ABORTED",
                                       "OUT_OF_RANGE",
                                       "UNIMPLEMENTED",
                                       "INTERNAL",
                                       "UNAVAILABLE",
                                       "DATA_LOSS",
                                       "UNAUTHENTICATED"};
  for (int status = BELAY_OK; status <= BELAY_UNAUTHENTICATED; ++status) {
    EXPECT(strcmp(belay_status_name((belay_status)status), kNames[status]) == 0);
  }
  EXPECT(strcmp(belay_status_name((belay_status)99), "") == 0);
  EXPECT(belay_dtype_size(BELAY_COMPLEX128) == 16 && belay_dtype_size(BELAY_BOOL) == 1);
  EXPECT(belay_dtype_size((belay_dtype)0) == 0 && belay_dtype_size((belay_dtype)99) == 0);
  /* Not a dtype, although its lowest byte is the value of one. */
  EXPECT(belay_dtype_size((belay_dtype)(256 + BELAY_FLOAT32)) == 0);
}

static void NothingIsTakenAmiss(void) {
  belay_program_free(NULL);
  belay_method_free(NULL);
  belay_event_log_free(NULL);
  belay_cancellation_free(NULL);
  belay_error_free(NULL);
  EXPECT(belay_error_status(NULL) == BELAY_OK && strcmp(belay_error_message(NULL), "") == 0);
  EXPECT(belay_program_num_methods(NULL) == 0 && belay_method_num_inputs(NULL) == 0);
  EXPECT(belay_method_num_outputs(NULL) == 0 && belay_method_num_states(NULL) == 0);
  EXPECT(belay_program_method_name(NULL, 0) == NULL && belay_method_state_name(NULL, 0) == NULL);
  EXPECT(belay_event_log_size(NULL) == 0 && belay_event_log_dropped(NULL) == 0);
  belay_event_log_clear(NULL);
  belay_method_reset_state(NULL);
  belay_cancellation_cancel(NULL);
  belay_cancellation_reset(NULL);
  EXPECT(belay_abi_version() == BELAY_ABI_VERSION);
  EXPECT(belay_tensor_contiguous(BELAY_FLOAT32, 17, NULL, NULL).rank == -1);
}

int main(void) {
  belay_program* program = Open();
  OptionsOfLaterVersions(program);
  FilesAreMappedOrCopied();
  CompanionsAreWhereTheOptionsSay();
  ProgramsOfExecuTorchFindTheirDataFiles();
  DataFilesReplaceParameters();
  LimitsAreThoseOfTheOptions();
  ExecutionsTakeTheirOptions(program);
  WhatMustBeGivenIsNamed(program);
  NumbersHaveNames();
  NothingIsTakenAmiss();
  belay_program_free(program);
  return Failed();
}
