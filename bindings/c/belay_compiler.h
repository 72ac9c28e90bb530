/* C API that lowers archives to program files, verifies, inspects and profiles them. Since ABI
 * version 2; conventions of ABI, errors and threads: belay.h.
 *
 *   belay_archive archive = {.struct_size = sizeof archive, .path = "model.pt2"};
 *   belay_lowered* lowered = NULL;
 *   belay_error* error = NULL;
 *   if (belay_lower(&archive, 1, NULL, &lowered, &error) != BELAY_OK) {
 *     fprintf(stderr, "%s\n", belay_error_message(error));
 *   }
 *
 * Only libbelay.so has these functions, not libbelay_runtime.so. Archives are untrusted, as program
 * files are. Unless options say otherwise, work and memory are limited in proportion to them
 * (docs/hardening.md, section 5).
 */
#ifndef BELAY_BINDINGS_C_BELAY_COMPILER_H_
#define BELAY_BINDINGS_C_BELAY_COMPILER_H_

#include <stddef.h>
#include <stdint.h>

#include "belay.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A file or its bytes: an archive of torch.export.save (.pt2), saved programs (.bir), or a program
 * file (.belay, .pte). */
typedef struct belay_file {
  size_t struct_size; /* sizeof(belay_file) */
  const char* path;   /* NULL: `bytes` */
  const void* bytes;  /* need only be valid during the call */
  size_t size;
} belay_file;

/* ---- Lowering ---- */

/* An archive that becomes a method. */
typedef struct belay_archive {
  size_t struct_size; /* sizeof(belay_archive) */
  const char* method; /* name of the method; NULL: "forward" */
  const char* path;   /* NULL: `bytes` */
  const void* bytes;  /* need only be valid during the call */
  size_t size;
  /* Model of an archive with several. NULL: the only one, the one with the method's name, or for
   * "forward" the one named "model". */
  const char* model;
} belay_archive;

/* Called on the thread of belay_lower when a phase starts and when a pass ends. `done` is the
 * completed fraction, 0 to 1. Must not call belay_lower. */
typedef void (*belay_progress)(const char* phase, double done, void* context);

typedef struct belay_lower_options {
  size_t struct_size; /* sizeof(belay_lower_options) */
  /* "belay", or "pte" for ExecuTorch 1.5; NULL: "belay". */
  const char* format;
  /* Each as for `belay lower --backend`: NAMES or METHOD:NAMES, comma separated, in order of
   * priority, or "none". None given: "cpu", or with the format "pte" "none". */
  const char* const* backends;
  size_t num_backends;
  /* Each "BACKEND:KEY=VALUE". */
  const char* const* compile_specs;
  size_t num_compile_specs;
  /* Upper bounds of dynamic sizes: each "VALUE" or "SYMBOL=VALUE". */
  const char* const* max_sizes;
  size_t num_max_sizes;
  /* Methods that return constants: each "NAME=VALUE", where VALUE is JSON. */
  const char* const* constant_methods;
  size_t num_constant_methods;
  /* Name of a quantization recipe, or a file of one that ends in .json (docs/quantization.md); NULL:
   * none. */
  const char* quantize;
  int64_t random_seed;
  int32_t threads; /* of the backends' preprocessing; 0: 1 */
  int32_t write_state_in_place, no_fold_constants, quant_fusion_and_const_prop; /* 0 or 1 */
  int32_t html; /* 1: also creates the HTML page */
  /* Limits; 0: in proportion to the archives. */
  uint64_t limit_nodes, limit_memory_bytes, limit_work;
  uint64_t timeout_ns;                    /* 0: no timeout */
  const belay_cancellation* cancellation; /* NULL: none */
  belay_progress progress;                /* NULL: none */
  void* progress_context;
  /* For language models (belay_llm.h). Paths of a tokenizer.json, and of a tokenizer_config.json, a
   * chat template in Jinja, or both, which become part of the program; NULL: none. */
  const char* tokenizer;
  const char* const* chat_templates;
  size_t num_chat_templates;
  /* For `quantize`: paths of calibration data, each "PATH" or "METHOD:PATH" (docs/quantization.md
   * §4). */
  const char* const* calibration;
  size_t num_calibration;
  /* Bound of the loss, "METRIC=VALUE" (docs/quantization.md §5); NULL: none. */
  const char* max_loss;
  /* Memories for activations, from the fastest to the slowest one: each "NAME=SIZE" or
   * "NAME=SIZE:ALIGNMENT", as for `belay lower --bank`. Since version 4. */
  const char* const* banks;
  size_t num_banks;
  /* Data files (.ptd) of a program of ExecuTorch. Since version 4. */
  const char* const* data_files;
  size_t num_data_files;
  /* Memory planners, each "NAME" or "METHOD:NAME", as for `belay lower --memory-planner`. Since
   * version 6. */
  const char* const* memory_planners;
  size_t num_memory_planners;
  /* For `quantize` with `calibration`, 0 or 1: also reports the loss of the result of each node
   * (docs/quantization.md §3). Since version 7. */
  int32_t node_losses;
} belay_lower_options;

/* A lowered program and its reports. */
typedef struct belay_lowered belay_lowered;

/* Lowers archives to a program. `archives` has `num_archives` elements of the first one's
 * `struct_size`. A file of saved programs keeps its methods; it must be the only archive without a
 * method name. NULL options: the defaults. A program of ExecuTorch (.pte) is also accepted as the
 * only archive: it is converted to a program file whose XNNPACK delegates are compiled for the CPU
 * backend; options except data files, limits, timeout and cancellation are INVALID_ARGUMENT.
 *   INVALID_ARGUMENT    invalid options; unknown backends; a malformed archive
 *   OUT_OF_RANGE        a malformed archive: an argument of a node is out of range
 *   NOT_FOUND           no such file or model
 *   DATA_LOSS           a truncated or damaged archive
 *   UNIMPLEMENTED       unsupported content (belay_error_nodes lists its nodes)
 *   RESOURCE_EXHAUSTED, DEADLINE_EXCEEDED, CANCELLED  as set in the options */
BELAY_API belay_status belay_lower(const belay_archive* archives, size_t num_archives,
                                   const belay_lower_options* options, belay_lowered** lowered,
                                   belay_error** error);
/* Quantizes archives by the option `quantize`, which is required, and saves the programs without
 * lowering them, as `belay quantize`: belay_lowered_bytes is a file of saved programs (.bir), which
 * belay_lower, belay_verify and belay_inspect accept. The reports are those of quantization, as JSON
 * that of `belay quantize --json`. Options with an effect only on lowering are INVALID_ARGUMENT:
 * format, compile_specs, constant_methods, banks, data_files, memory_planners, tokenizer,
 * chat_templates, write_state_in_place, no_fold_constants and quant_fusion_and_const_prop. Errors of
 * belay_lower. Since version 7. */
BELAY_API belay_status belay_quantize(const belay_archive* archives, size_t num_archives,
                                      const belay_lower_options* options, belay_lowered** quantized,
                                      belay_error** error);
/* NULL: no-op. */
BELAY_API void belay_lowered_free(belay_lowered* lowered);
/* All valid as long as `lowered`. */
/* The program file, or the file of saved programs. */
BELAY_API const void* belay_lowered_bytes(const belay_lowered* lowered);
BELAY_API size_t belay_lowered_size(const belay_lowered* lowered);
/* The share of each backend, memory, and the most frequent reasons against delegation. */
BELAY_API const char* belay_lowered_report_text(const belay_lowered* lowered);
/* The report of `belay lower --report`. */
BELAY_API const char* belay_lowered_report_json(const belay_lowered* lowered);
/* The page of `belay lower --html` or `belay quantize --html`; "" unless the options request it, and
 * for a converted program. */
BELAY_API const char* belay_lowered_report_html(const belay_lowered* lowered);

/* The names of the backends that can be lowered to, comma separated. A static string. */
BELAY_API const char* belay_backends(void);

/* As belay_program_open, with the XNNPACK delegates of an ExecuTorch program (.pte) compiled for the
 * CPU backend, which is faster than XNNPACK. Delegates that can't be compiled stay with XNNPACK.
 * With `weight_cache`, a later call compiles nothing: an entry that is missing, damaged, or of other
 * content or another release is written. That it can't be written is no error. `threads` compile, 0
 * and 1: only the caller's. Since version 6.
 *   UNIMPLEMENTED, RESOURCE_EXHAUSTED  also of compiling */
BELAY_API belay_status belay_program_open_compiled(const char* path,
                                                   const belay_open_options* options,
                                                   int32_t threads, belay_program** program,
                                                   belay_error** error);

/* ---- Checking and describing ---- */

typedef struct belay_verify_options {
  size_t struct_size; /* sizeof(belay_verify_options) */
  const char* method; /* NULL: "forward" */
  const char* model;  /* as belay_archive */
  /* Seed of random inputs. */
  uint64_t seed;
  int32_t calls;     /* on the same state; 0: 1 */
  double atol, rtol; /* both 0: 1e-5 and 1e-4 */
  uint64_t timeout_ns;
  const belay_cancellation* cancellation;
} belay_verify_options;

/* Compares the results of a program with those of its archive, for random inputs. `*equal` becomes 1
 * or 0, `*report` the JSON of `belay verify --json`, which names the first node that differs.
 * `equal` and `report` may be NULL. NULL options: the defaults. Errors of lowering, opening, loading
 * and executing, and INVALID_ARGUMENT: the inputs of program and archive differ. */
BELAY_API belay_status belay_verify(const belay_file* archive, const belay_file* program,
                                    const belay_verify_options* options, int32_t* equal,
                                    belay_bytes** report, belay_error** error);

/* Describes an archive, saved programs or a program file as `belay inspect --json` does. Errors of
 * opening it; a model that can't be imported is described with its error. */
BELAY_API belay_status belay_inspect(const belay_file* file, belay_bytes** json,
                                     belay_error** error);

typedef struct belay_profile_options {
  size_t struct_size; /* sizeof(belay_profile_options) */
  const char* method; /* NULL: "forward" */
  int32_t runs;       /* calls, after one to warm up; 0: 30; at most 100,000 */
  int32_t num_threads;
  /* As in belay_method_options. Since version 3. */
  const belay_backend_option* backend_options;
  size_t num_backend_options;
} belay_profile_options;

/* Measures calls of a method with these inputs, in a method of its own with its own state. `*json`
 * is that of `belay profile --json`. Errors of belay_method_load and belay_method_call. */
BELAY_API belay_status belay_profile(const belay_program* program, const belay_value* inputs,
                                     size_t num_inputs, const belay_profile_options* options,
                                     belay_bytes** json, belay_error** error);

/* Runs the `belay` command in this process and returns its exit status. `argv[0]` is the program's
 * name. Prints to the standard streams, and ends the process if it exceeds a limit: for a main
 * function. Not thread-safe. */
BELAY_API int belay_command_line(int argc, const char* const* argv);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* BELAY_BINDINGS_C_BELAY_COMPILER_H_ */
