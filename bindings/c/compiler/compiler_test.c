/* Tests of lowering, verifying, inspecting and profiling through the C API. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bindings/c/belay_compiler.h"
#include "bindings/c/test_expectations.h"

#define ZOO "conformance/models/zoo/"

static void* ReadFile(const char* path, size_t* size) {
  FILE* file = fopen(path, "rb");
  REQUIRE(file != NULL && fseek(file, 0, SEEK_END) == 0);
  *size = (size_t)ftell(file);
  rewind(file);
  void* bytes = malloc(*size);
  REQUIRE(bytes != NULL && fread(bytes, 1, *size, file) == *size && fclose(file) == 0);
  return bytes;
}

static belay_lowered* Lower(const belay_archive* archives, size_t count,
                            const belay_lower_options* options) {
  belay_lowered* lowered = NULL;
  belay_error* error = NULL;
  if (belay_lower(archives, count, options, &lowered, &error) != BELAY_OK) {
    fprintf(stderr, "%s\n", belay_error_message(error));
    exit(1);
  }
  return lowered;
}

static belay_program* OpenLowered(const belay_lowered* lowered) {
  belay_program* program = NULL;
  REQUIRE(belay_program_open_bytes(belay_lowered_bytes(lowered), belay_lowered_size(lowered), NULL,
                                   &program, NULL) == BELAY_OK);
  return program;
}

static void CountProgress(const char* phase, double done, void* context) {
  EXPECT(phase[0] != 0 && done >= 0 && done <= 1);
  ++*(int*)context;
}

static void PathsAndBytesGiveTheSameProgram(void) {
  size_t size = 0;
  void* bytes = ReadFile(ZOO "mlp/model.pt2", &size);
  const belay_archive path = {.struct_size = sizeof path, .path = ZOO "mlp/model.pt2"};
  const belay_archive memory = {.struct_size = sizeof memory, .bytes = bytes, .size = size};
  int calls = 0;
  const belay_lower_options options = {.struct_size = sizeof options,
                                       .html = 1,
                                       .progress = CountProgress,
                                       .progress_context = &calls};
  belay_lowered* first = Lower(&path, 1, NULL);
  belay_lowered* second = Lower(&memory, 1, &options);
  free(bytes);
  EXPECT(calls > 0);
  REQUIRE(belay_lowered_size(first) == belay_lowered_size(second));
  EXPECT(memcmp(belay_lowered_bytes(first), belay_lowered_bytes(second),
                belay_lowered_size(first)) == 0);
  EXPECT(strstr(belay_lowered_report_text(first), "cpu: ") != NULL);
  EXPECT(strstr(belay_lowered_report_text(first), "\x1b") == NULL);
  EXPECT(strstr(belay_lowered_report_json(first), "\"delegation\"") != NULL);
  EXPECT(belay_lowered_report_html(first)[0] == 0);
  EXPECT(strstr(belay_lowered_report_html(second), "<html") != NULL);
  belay_lowered_free(first);
  belay_lowered_free(second);
}

static void ConvertsExecuTorchPrograms(void) {
  const char* name = "executorch/reader/testdata/xnn_convnet.pte";
  size_t size = 0;
  void* bytes = ReadFile(name, &size);
  const belay_archive path = {.struct_size = sizeof path, .path = name};
  const belay_archive memory = {.struct_size = sizeof memory, .bytes = bytes, .size = size};
  belay_lowered* first = Lower(&path, 1, NULL);
  belay_lowered* second = Lower(&memory, 1, NULL);
  free(bytes);
  REQUIRE(belay_lowered_size(first) == belay_lowered_size(second));
  EXPECT(memcmp(belay_lowered_bytes(first), belay_lowered_bytes(second),
                belay_lowered_size(first)) == 0);
  EXPECT(strstr(belay_lowered_report_json(first), "\"backend\": \"cpu\"") != NULL);
  belay_program* program = OpenLowered(first);
  belay_method_free(Load(program, "forward", NULL));
  belay_program_free(program);
  belay_lowered_free(first);
  belay_lowered_free(second);
  const belay_lower_options options = {.struct_size = sizeof options, .quantize = "8da4w"};
  belay_lowered* lowered = NULL;
  belay_error* error = NULL;
  EXPECT(belay_lower(&path, 1, &options, &lowered, &error) == BELAY_INVALID_ARGUMENT);
  EXPECT(strstr(belay_error_message(error), "only converted") != NULL);
  belay_error_free(error);
}

static void OpensExecuTorchProgramsCompiled(void) {
  const char* name = "executorch/reader/testdata/xnn_convnet.pte";
  char folder[512];
  const char* temporary = getenv("TEST_TMPDIR");
  snprintf(folder, sizeof folder, "%s/belay_weight_cache_XXXXXX", temporary ? temporary : "/tmp");
  REQUIRE(mkdtemp(folder) != NULL);
  const belay_open_options options = {.struct_size = sizeof options, .weight_cache = folder};
  for (int i = 0; i < 2; ++i) {
    belay_program* program = NULL;
    REQUIRE(belay_program_open_compiled(name, &options, 2, &program, NULL) == BELAY_OK);
    belay_method* method = Load(program, "forward", NULL);
    belay_backend_option threads = {.backend = "cpu", .name = "threads"};
    EXPECT(belay_method_get_backend_option(method, &threads, NULL) == BELAY_OK);
    belay_method_free(method);
    belay_program_free(program);
  }
  /* The runtime part reads the entry. */
  belay_program* program = NULL;
  REQUIRE(belay_program_open(name, &options, &program, NULL) == BELAY_OK);
  belay_method* method = Load(program, "forward", NULL);
  belay_backend_option threads = {.backend = "cpu", .name = "threads"};
  EXPECT(belay_method_get_backend_option(method, &threads, NULL) == BELAY_OK);
  belay_method_free(method);
  belay_program_free(program);
  const belay_open_options missing = {.struct_size = sizeof missing, .weight_cache = "/missing"};
  belay_error* error = NULL;
  EXPECT(belay_program_open(name, &missing, &program, &error) == BELAY_NOT_FOUND);
  EXPECT(strstr(belay_error_message(error), "/missing is not a folder") != NULL);
  belay_error_free(error);
  error = NULL;
  EXPECT(belay_program_open_compiled(name, NULL, 257, &program, &error) == BELAY_INVALID_ARGUMENT);
  EXPECT(strstr(belay_error_message(error), "threads: expected 0 to 256, got 257") != NULL);
  belay_error_free(error);
  EXPECT(belay_program_open_compiled(NULL, NULL, 0, &program, NULL) == BELAY_INVALID_ARGUMENT);
  EXPECT(belay_program_open_compiled(name, NULL, 0, NULL, NULL) == BELAY_INVALID_ARGUMENT);
}

static void MethodsShareAProgram(void) {
  const belay_archive archives[] = {
      {.struct_size = sizeof *archives,
       .method = "prefill",
       .path = ZOO "llama_kv_prefill/model.pt2"},
      {.struct_size = sizeof *archives,
       .method = "decode",
       .path = ZOO "llama_kv_decode/model.pt2"}};
  const char* backends[] = {"none"};
  const char* constants[] = {"max_len=[128, true]"};
  const belay_lower_options options = {.struct_size = sizeof options,
                                       .backends = backends,
                                       .num_backends = 1,
                                       .constant_methods = constants,
                                       .num_constant_methods = 1};
  belay_lowered* lowered = Lower(archives, 2, &options);
  belay_program* program = OpenLowered(lowered);
  REQUIRE(belay_program_num_methods(program) == 3);
  EXPECT(strcmp(belay_program_method_name(program, 0), "decode") == 0);
  belay_method* constant = Load(program, "max_len", NULL);
  belay_value values[2] = {{0}};
  REQUIRE(belay_method_call(constant, NULL, 0, values, 2, NULL, NULL) == BELAY_OK);
  EXPECT(values[0].int_value == 128 && values[1].bool_value == 1);
  belay_method_free(constant);
  belay_state* state = NULL;
  REQUIRE(belay_state_create(program, NULL, 0, &state, NULL) == BELAY_OK);
  EXPECT(belay_state_num_buffers(state) > 0);
  belay_state_free(state);
  belay_program_free(program);
  belay_lowered_free(lowered);
}

static void ActivationsAreInBanks(void) {
  const belay_archive archive = {.struct_size = sizeof archive,
                                 .path = ZOO "digits_cnn/model.pt2"};
  const char* backends[] = {"none"};
  const char* banks[] = {"dtcm=4K", "sram=unlimited:128"};
  belay_lower_options options = {.struct_size = sizeof options,
                                 .backends = backends,
                                 .num_backends = 1,
                                 .banks = banks,
                                 .num_banks = 2};
  belay_lowered* lowered = Lower(&archive, 1, &options);
  belay_program* program = OpenLowered(lowered);
  EXPECT(belay_program_num_banks(program, "forward") == 2);
  belay_bank_info info = {.struct_size = sizeof info};
  REQUIRE(belay_program_bank(program, "forward", 1, &info, NULL) == BELAY_OK);
  EXPECT(strcmp(info.name, "sram") == 0 && info.alignment == 128 && info.bytes > 0);
  belay_program_free(program);
  belay_lowered_free(lowered);
  lowered = NULL;
  options.num_banks = 1;
  EXPECT_ERROR(belay_lower(&archive, 1, &options, &lowered, &error), BELAY_RESOURCE_EXHAUSTED,
               "bank 'dtcm': capacity 4096 bytes, required ");
  banks[0] = "dtcm";
  EXPECT_ERROR(belay_lower(&archive, 1, &options, &lowered, &error), BELAY_INVALID_ARGUMENT,
               "--bank: expected NAME=SIZE");
}

static void RefusalsListNodes(void) {
  const belay_archive archive = {.struct_size = sizeof archive,
                                 .path = ZOO "custom_operator/model.pt2"};
  belay_lowered* lowered = NULL;
  belay_error* error = NULL;
  EXPECT(belay_lower(&archive, 1, NULL, &lowered, &error) == BELAY_UNIMPLEMENTED);
  const char* nodes = belay_error_nodes(error);
  EXPECT(strstr(nodes, "\"operator\":\"zoo.scaled_swish.default\"") != NULL);
  EXPECT(strstr(nodes, "\"source\":\"make_models.py:") != NULL);
  belay_error_free(error);
  EXPECT(lowered == NULL);
}

static void ErrorsOfLowering(void) {
  belay_lowered* lowered = NULL;
  belay_archive archive = {.struct_size = sizeof archive, .bytes = "no archive", .size = 10};
  EXPECT_ERROR(belay_lower(&archive, 1, NULL, &lowered, &error), BELAY_INVALID_ARGUMENT,
               "archive of method 'forward'");
  archive = (belay_archive){.struct_size = sizeof archive, .path = "no/such/file"};
  EXPECT_ERROR(belay_lower(&archive, 1, NULL, &lowered, &error), BELAY_NOT_FOUND, "no/such/file");
  archive.path = NULL;
  EXPECT_ERROR(belay_lower(&archive, 1, NULL, &lowered, &error), BELAY_INVALID_ARGUMENT,
               "expected the path or bytes of the archive of method 'forward', got NULL");
  EXPECT_ERROR(belay_lower(&archive, 0, NULL, &lowered, &error), BELAY_INVALID_ARGUMENT,
               "at least one archive");
  EXPECT_ERROR(belay_lower(NULL, 1, NULL, &lowered, &error), BELAY_INVALID_ARGUMENT, "archives");
  archive.path = ZOO "mlp/model.pt2";
  EXPECT_ERROR(belay_lower(&archive, 1, NULL, NULL, &error), BELAY_INVALID_ARGUMENT,
               "an output pointer");
  const belay_archive twice[] = {archive, archive};
  EXPECT_ERROR(belay_lower(twice, 2, NULL, &lowered, &error), BELAY_INVALID_ARGUMENT,
               "at most one archive without a method name");
  archive.method = "a=b";
  EXPECT_ERROR(belay_lower(&archive, 1, NULL, &lowered, &error), BELAY_INVALID_ARGUMENT,
               "without '='");
  archive.method = "forward";
  const char* unknown[] = {"gpu"};
  belay_lower_options options = {
      .struct_size = sizeof options, .backends = unknown, .num_backends = 1};
  EXPECT_ERROR(belay_lower(&archive, 1, &options, &lowered, &error), BELAY_NOT_FOUND, "gpu");
  options = (belay_lower_options){.struct_size = sizeof options, .num_backends = 1};
  EXPECT_ERROR(belay_lower(&archive, 1, &options, &lowered, &error), BELAY_INVALID_ARGUMENT,
               "backends");
  options = (belay_lower_options){.struct_size = sizeof options, .quantize = "int9"};
  EXPECT_ERROR(belay_lower(&archive, 1, &options, &lowered, &error), BELAY_INVALID_ARGUMENT,
               "int9");
  options = (belay_lower_options){.struct_size = sizeof options, .format = "onnx"};
  EXPECT_ERROR(belay_lower(&archive, 1, &options, &lowered, &error), BELAY_INVALID_ARGUMENT,
               "'onnx'");
  options = (belay_lower_options){.struct_size = sizeof options, .threads = -1};
  EXPECT_ERROR(belay_lower(&archive, 1, &options, &lowered, &error), BELAY_INVALID_ARGUMENT,
               "threads: expected 0 to 1024, got -1");
  options = (belay_lower_options){.struct_size = sizeof options, .limit_nodes = 1};
  EXPECT_ERROR(belay_lower(&archive, 1, &options, &lowered, &error), BELAY_RESOURCE_EXHAUSTED,
               "nodes");
  options = (belay_lower_options){.struct_size = sizeof options, .timeout_ns = 1};
  EXPECT_ERROR(belay_lower(&archive, 1, &options, &lowered, &error), BELAY_DEADLINE_EXCEEDED, "");
  belay_cancellation* cancellation = belay_cancellation_create();
  belay_cancellation_cancel(cancellation);
  options = (belay_lower_options){.struct_size = sizeof options, .cancellation = cancellation};
  EXPECT_ERROR(belay_lower(&archive, 1, &options, &lowered, &error), BELAY_CANCELLED, "");
  belay_cancellation_free(cancellation);
  EXPECT(lowered == NULL);
}

static void LowersWithARecipe(void) {
  const belay_archive archive = {.struct_size = sizeof archive, .path = ZOO "mlp/model.pt2"};
  const belay_lower_options options = {.struct_size = sizeof options, .quantize = "weights-int8"};
  belay_lowered* lowered = Lower(&archive, 1, &options);
  EXPECT(strstr(belay_lowered_report_json(lowered), "\"quantization\"") != NULL);
  EXPECT(strstr(belay_lowered_report_text(lowered), "weights-int8") != NULL);
  belay_lowered_free(lowered);
}

static void QuantizesWithCalibrationData(void) {
  const belay_archive archive = {.struct_size = sizeof archive, .path = ZOO "digits_cnn/model.pt2"};
  const char* const calibration[] = {"forward:" ZOO "digits_cnn/case_0"};
  belay_lower_options options = {.struct_size = sizeof options,
                                 .quantize = "int8-static",
                                 .calibration = calibration,
                                 .num_calibration = 1,
                                 .max_loss = "snr=10"};
  belay_lowered* lowered = Lower(&archive, 1, &options);
  EXPECT(strstr(belay_lowered_report_json(lowered), "\"all_quantized\"") != NULL);
  belay_lowered_free(lowered);
  lowered = NULL;
  options.max_loss = "psnr=10";
  EXPECT_ERROR(belay_lower(&archive, 1, &options, &lowered, &error), BELAY_INVALID_ARGUMENT,
               "psnr=10");
}

static void QuantizeSavesPrograms(void) {
  const belay_archive archive = {.struct_size = sizeof archive, .path = ZOO "digits_cnn/model.pt2"};
  const char* const calibration[] = {ZOO "digits_cnn/case_0"};
  belay_lower_options options = {.struct_size = sizeof options,
                                 .quantize = "int8-static",
                                 .html = 1,
                                 .calibration = calibration,
                                 .num_calibration = 1,
                                 .node_losses = 1};
  belay_lowered* quantized = NULL;
  REQUIRE(belay_quantize(&archive, 1, &options, &quantized, NULL) == BELAY_OK);
  EXPECT(strstr(belay_lowered_report_json(quantized), "\"recipe\": \"int8-static\"") != NULL);
  EXPECT(strstr(belay_lowered_report_json(quantized), "\"node_losses\": {") != NULL);
  EXPECT(strstr(belay_lowered_report_text(quantized), "activations, lowest SNR first") != NULL);
  EXPECT(strstr(belay_lowered_report_html(quantized), "<html") != NULL);
  const belay_archive saved = {.struct_size = sizeof saved,
                               .bytes = belay_lowered_bytes(quantized),
                               .size = belay_lowered_size(quantized)};
  belay_lowered* lowered = Lower(&saved, 1, NULL);
  belay_program* program = OpenLowered(lowered);
  belay_method_free(Load(program, "forward", NULL));
  belay_program_free(program);
  belay_lowered_free(lowered);
  belay_lowered_free(quantized);
  quantized = NULL;
  options.format = "pte";
  EXPECT_ERROR(belay_quantize(&archive, 1, &options, &quantized, &error), BELAY_INVALID_ARGUMENT,
               "belay_quantize: the option format is for belay_lower");
  EXPECT_ERROR(belay_quantize(&archive, 1, NULL, &quantized, &error), BELAY_INVALID_ARGUMENT,
               "quantize, a recipe");
  EXPECT(quantized == NULL);
}

static void VerifyComparesArchiveAndProgram(void) {
  size_t size = 0;
  void* bytes = ReadFile(ZOO "mlp/model.pt2", &size);
  const belay_archive archive = {.struct_size = sizeof archive, .bytes = bytes, .size = size};
  belay_lowered* lowered = Lower(&archive, 1, NULL);
  const belay_file reference = {.struct_size = sizeof reference, .bytes = bytes, .size = size};
  const belay_file program = {.struct_size = sizeof program,
                              .bytes = belay_lowered_bytes(lowered),
                              .size = belay_lowered_size(lowered)};
  int32_t equal = 0;
  belay_bytes* report = NULL;
  REQUIRE(belay_verify(&reference, &program, NULL, &equal, &report, NULL) == BELAY_OK);
  EXPECT(equal == 1 && strstr(belay_bytes_data(report), "\"equal\": true") != NULL);
  belay_bytes_free(report);
  REQUIRE(belay_verify(&reference, &program, NULL, NULL, NULL, NULL) == BELAY_OK);
  const belay_file other = {.struct_size = sizeof other, .path = ZOO "gru/model.pt2"};
  EXPECT_ERROR(belay_verify(&other, &program, NULL, &equal, NULL, &error), BELAY_INVALID_ARGUMENT,
               "the program: the program was lowered from another archive");
  belay_verify_options options = {.struct_size = sizeof options, .calls = -1};
  EXPECT_ERROR(belay_verify(&reference, &program, &options, &equal, NULL, &error),
               BELAY_INVALID_ARGUMENT, "calls: expected at least 0, got -1");
  options = (belay_verify_options){.struct_size = sizeof options, .atol = -1};
  EXPECT_ERROR(belay_verify(&reference, &program, &options, &equal, NULL, &error),
               BELAY_INVALID_ARGUMENT, "atol");
  options = (belay_verify_options){.struct_size = sizeof options, .timeout_ns = 1};
  EXPECT_ERROR(belay_verify(&reference, &program, &options, &equal, NULL, &error),
               BELAY_DEADLINE_EXCEEDED, "");
  EXPECT_ERROR(belay_verify(NULL, &program, NULL, &equal, NULL, &error), BELAY_INVALID_ARGUMENT,
               "the archive");
  free(bytes);
  belay_lowered_free(lowered);
}

static void InspectDescribesArchivesAndPrograms(void) {
  const belay_archive archive = {.struct_size = sizeof archive, .path = ZOO "mlp/model.pt2"};
  belay_lowered* lowered = Lower(&archive, 1, NULL);
  const belay_file files[] = {
      {.struct_size = sizeof *files, .path = archive.path},
      {.struct_size = sizeof *files,
       .bytes = belay_lowered_bytes(lowered),
       .size = belay_lowered_size(lowered)}};
  const char* expected[] = {"\"torch_version\"", "\"delegates\""};
  for (int i = 0; i < 2; ++i) {
    belay_bytes* json = NULL;
    REQUIRE(belay_inspect(&files[i], &json, NULL) == BELAY_OK);
    EXPECT(strstr(belay_bytes_data(json), expected[i]) != NULL);
    EXPECT(strlen(belay_bytes_data(json)) == belay_bytes_size(json));
    belay_bytes_free(json);
  }
  belay_bytes* json = NULL;
  const belay_file none = {.struct_size = sizeof none};
  EXPECT_ERROR(belay_inspect(&none, &json, &error), BELAY_INVALID_ARGUMENT, "the file");
  const belay_file damaged = {.struct_size = sizeof damaged,
                              .bytes = belay_lowered_bytes(lowered),
                              .size = belay_lowered_size(lowered) - 1};
  EXPECT_ERROR(belay_inspect(&damaged, &json, &error), BELAY_DATA_LOSS, "the file");
  EXPECT(json == NULL);
  belay_lowered_free(lowered);
}

static void ProfileMeasuresCalls(const belay_program* program) {
  float x[] = {1, 2};
  const belay_value input = {.kind = BELAY_KIND_TENSOR, .tensor = Floats(2, x)};
  belay_profile_options options = {.struct_size = sizeof options, .method = "count", .runs = 3};
  belay_bytes* json = NULL;
  REQUIRE(belay_profile(program, &input, 1, &options, &json, NULL) == BELAY_OK);
  EXPECT(strstr(belay_bytes_data(json), "\"by_operator\"") != NULL);
  belay_bytes_free(json);
  json = NULL;
  EXPECT_ERROR(belay_profile(program, &input, 0, &options, &json, &error), BELAY_INVALID_ARGUMENT,
               "expected 1 inputs, got 0");
  options.runs = -1;
  EXPECT_ERROR(belay_profile(program, &input, 1, &options, &json, &error), BELAY_INVALID_ARGUMENT,
               "runs: expected 0 to 100000, got -1");
  options = (belay_profile_options){.struct_size = sizeof options, .method = "none"};
  EXPECT_ERROR(belay_profile(program, &input, 1, &options, &json, &error), BELAY_NOT_FOUND, "none");
  EXPECT(json == NULL);
}

static void CommandLineReturnsTheExitStatus(void) {
  const char* usage[] = {"belay", "no-such-command"};
  EXPECT(belay_command_line(2, usage) == 2);
  const char* inspect[] = {"belay", "inspect", ZOO "mlp/model.pt2"};
  EXPECT(belay_command_line(3, inspect) == 0);
}

int main(void) {
  EXPECT(strstr(belay_backends(), "cpu,demo") != NULL);
  PathsAndBytesGiveTheSameProgram();
  ConvertsExecuTorchPrograms();
  OpensExecuTorchProgramsCompiled();
  MethodsShareAProgram();
  ActivationsAreInBanks();
  RefusalsListNodes();
  ErrorsOfLowering();
  LowersWithARecipe();
  QuantizesWithCalibrationData();
  QuantizeSavesPrograms();
  VerifyComparesArchiveAndProgram();
  InspectDescribesArchivesAndPrograms();
  belay_program* program = Open();
  ProfileMeasuresCalls(program);
  belay_program_free(program);
  CommandLineReturnsTheExitStatus();
  return Failed();
}
