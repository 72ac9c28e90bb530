/* Tests of options of backends through the C API. The method "steps" of the test program has a
 * delegate of the test backend "steps" (test_programs.cc). */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bindings/c/belay.h"
#include "bindings/c/test_expectations.h"

static belay_backend_option Named(const char* name) {
  return (belay_backend_option){.backend = "steps", .name = name};
}
static belay_backend_option IntOption(const char* name, int64_t value) {
  belay_backend_option option = Named(name);
  option.kind = BELAY_KIND_INT;
  option.int_value = value;
  return option;
}
static belay_backend_option StringOption(const char* name, const char* value) {
  belay_backend_option option = Named(name);
  option.kind = BELAY_KIND_STRING;
  option.string_value = value;
  return option;
}
static belay_backend_option BoolOption(const char* name, int32_t value) {
  belay_backend_option option = Named(name);
  option.kind = BELAY_KIND_BOOL;
  option.bool_value = value;
  return option;
}

static int64_t Level(belay_method* method) {
  belay_backend_option option = Named("level");
  REQUIRE(belay_method_get_backend_option(method, &option, NULL) == BELAY_OK);
  EXPECT(option.kind == BELAY_KIND_INT);
  return option.int_value;
}

static void OptionsHaveDefaults(const belay_program* program) {
  belay_method* method = Load(program, "steps", NULL);
  EXPECT(Level(method) == 1);
  belay_backend_option option = Named("checks");
  REQUIRE(belay_method_get_backend_option(method, &option, NULL) == BELAY_OK);
  EXPECT(option.kind == BELAY_KIND_BOOL && option.bool_value == 0);
  option = Named("device");
  REQUIRE(belay_method_get_backend_option(method, &option, NULL) == BELAY_OK);
  EXPECT(option.kind == BELAY_KIND_STRING && strcmp(option.string_value, "any") == 0);
  belay_method_free(method);
}

static void LoadSetsOptions(const belay_program* program) {
  const belay_backend_option list[] = {IntOption("level", 3), BoolOption("checks", 1),
                                       StringOption("mode", "fast")};
  const belay_method_options options = {
      .struct_size = sizeof options, .backend_options = list, .num_backend_options = 3};
  belay_method* method = Load(program, "steps", &options);
  EXPECT(Level(method) == 3);
  belay_backend_option option = Named("mode");
  REQUIRE(belay_method_get_backend_option(method, &option, NULL) == BELAY_OK);
  EXPECT(strcmp(option.string_value, "fast") == 0);
  belay_method_free(method);
  /* The same list serves methods without a delegate of the backend. */
  belay_method_free(Load(program, "add", &options));
}

static void OptionsChangeAfterLoading(const belay_program* program) {
  belay_method* method = Load(program, "steps", NULL);
  belay_backend_option option = IntOption("level", 2);
  EXPECT(belay_method_set_backend_option(method, &option, NULL) == BELAY_OK);
  EXPECT(Level(method) == 2);
  option = StringOption("device", "gpu");
  EXPECT(belay_method_set_backend_option(method, &option, NULL) == BELAY_OK);
  option = Named("device");
  REQUIRE(belay_method_get_backend_option(method, &option, NULL) == BELAY_OK);
  EXPECT(strcmp(option.string_value, "gpu") == 0);
  option = BoolOption("checks", 1);
  EXPECT(belay_method_set_backend_option(method, &option, NULL) == BELAY_OK);

  option = IntOption("level", 4);
  EXPECT_ERROR(belay_method_set_backend_option(method, &option, &error), BELAY_INVALID_ARGUMENT,
               "expected int, 0 to 3; got 4");
  option = BoolOption("level", 1);
  EXPECT_ERROR(belay_method_set_backend_option(method, &option, &error), BELAY_INVALID_ARGUMENT,
               "got bool true");
  option = StringOption("mode", "fast");
  EXPECT_ERROR(belay_method_set_backend_option(method, &option, &error), BELAY_FAILED_PRECONDITION,
               "can only be set when the method is loaded");
  option = IntOption("speed", 1);
  EXPECT_ERROR(belay_method_set_backend_option(method, &option, &error), BELAY_INVALID_ARGUMENT,
               "it has level: int, 0 to 3, default 1");
  EXPECT(Level(method) == 2);
  belay_method_free(method);
}

static void ExpectLoadError(const belay_program* program, belay_backend_option option,
                            const char* part) {
  const belay_method_options options = {
      .struct_size = sizeof options, .backend_options = &option, .num_backend_options = 1};
  belay_method* method = NULL;
  EXPECT_ERROR(belay_method_load(program, "add", &options, &method, &error), BELAY_INVALID_ARGUMENT,
               part);
  EXPECT(method == NULL);
}

static void RejectsInvalidOptions(const belay_program* program) {
  ExpectLoadError(program, IntOption("level", -1), "got -1");
  ExpectLoadError(program, IntOption("speed", 1), "has no option 'speed'");
  belay_backend_option option = IntOption("level", 1);
  option.backend = "npu";
  ExpectLoadError(program, option, "'npu', which is not registered");
  option.backend = NULL;
  ExpectLoadError(program, option, "the backend of an option");
  ExpectLoadError(program, IntOption(NULL, 1), "the name of a backend's option");
  ExpectLoadError(program, StringOption("device", NULL), "the string of a backend's option");
  option = IntOption("level", 1);
  option.kind = BELAY_KIND_TENSOR;
  ExpectLoadError(program, option, "expected the kind bool, int or string, got 1");
  /* The CPU backend has "threads". */
  option = IntOption("threads", 0);
  option.backend = "cpu";
  ExpectLoadError(program, option, "expected int, 1 to 256; got 0");

  const belay_backend_option twice[] = {IntOption("level", 1), IntOption("level", 2)};
  belay_method_options options = {
      .struct_size = sizeof options, .backend_options = twice, .num_backend_options = 2};
  belay_method* method = NULL;
  EXPECT_ERROR(belay_method_load(program, "add", &options, &method, &error), BELAY_INVALID_ARGUMENT,
               "option 'level' of backend 'steps' is given twice");
  options.backend_options = NULL;
  EXPECT_ERROR(belay_method_load(program, "add", &options, &method, &error), BELAY_INVALID_ARGUMENT,
               "backend_options");
}

static void RejectsMissingArguments(const belay_program* program) {
  belay_backend_option option = IntOption("level", 1);
  EXPECT_ERROR(belay_method_set_backend_option(NULL, &option, &error), BELAY_INVALID_ARGUMENT,
               "a method");
  EXPECT_ERROR(belay_method_get_backend_option(NULL, &option, &error), BELAY_INVALID_ARGUMENT,
               "a method");
  belay_method* method = Load(program, "add", NULL);
  EXPECT_ERROR(belay_method_set_backend_option(method, NULL, &error), BELAY_INVALID_ARGUMENT,
               "a backend's option");
  EXPECT_ERROR(belay_method_get_backend_option(method, NULL, &error), BELAY_INVALID_ARGUMENT,
               "a backend's option");
  EXPECT_ERROR(belay_method_get_backend_option(method, &option, &error), BELAY_INVALID_ARGUMENT,
               "method 'add' has no delegate of the backend 'steps'; it has delegates of none");
  belay_method_free(method);
}

int main(void) {
  belay_program* program = Open();
  OptionsHaveDefaults(program);
  LoadSetsOptions(program);
  OptionsChangeAfterLoading(program);
  RejectsInvalidOptions(program);
  RejectsMissingArguments(program);
  belay_program_free(program);
  return Failed();
}
