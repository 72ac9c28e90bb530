// The subcommands of `belay`. Each function takes its options and returns the process's exit
// status. The defining file also declares the command-line options that set them.
#ifndef BELAY_TOOLS_BELAY_COMMAND_H_
#define BELAY_TOOLS_BELAY_COMMAND_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "runtime/llm/sampler.h"
#include "tools/belay/command_limits.h"
#include "tools/belay/command_line.h"

namespace belay::tools {

// Prints "belay: …" on stderr and returns the exit status for the error code.
int Report(const absl::Status& status);
// Prints an error in the options and returns kBadUsage.
int ReportBadUsage(const absl::Status& status);

struct LowerOptions {
  std::string input, output, report, html, dump_after, stage, tokenizer;
  std::string format;                 // "belay" or "pte" (ExecuTorch); "": by the output's suffix
  std::vector<std::string> max_size;  // VALUE or SYMBOL=VALUE: upper bounds of sizes
  int64_t random_seed = 0;            // exir::PipelineOptions::random_seed
  double min_delegated_flops = 0;     // a share; below it the result is kNegative, without a file
  std::vector<std::string> methods;   // name=path, or name=path:model
  std::vector<std::string> backends;  // [METHOD:]NAMES, or "none"; empty: the default of --backend
  std::vector<std::string> compile_specs;       // BACKEND:KEY=VALUE
  std::vector<std::string> constant_methods;    // NAME=VALUE
  std::vector<std::string> external_constants;  // [PATTERN=]NAME
  std::vector<std::string> replaceable;         // patterns
  std::vector<std::string> chat_template;       // files (ReadChatTemplateFiles)
  std::vector<std::string> banks;               // ParseMemoryBanks
  std::vector<std::string> memory_planners;     // [METHOD:]NAME (ParseMemoryPlanners)
  std::vector<std::string> data;                // files (.ptd) of an ExecuTorch program
  int threads = 1;
  bool write_state_in_place = false;
  bool no_fold_constants = false;
  std::optional<uint64_t> fold_budget;  // exir::PipelineOptions::fold_budget
  bool quant_fusion_and_const_prop = false;
  std::string quantize;                  // a recipe (exir/quantize/recipe_file.h); "" for none
  std::vector<std::string> calibration;  // [METHOD:]PATH (ParseCalibration)
  std::string max_loss;                  // exir::ParseMaxLoss; "" for no bound
  bool node_losses = false;              // exir::QuantizeOptions::node_losses
  bool allow_separate_state = false;
  bool json = false;
  CommandLimits limits;
};
int Lower(const LowerOptions& options);

struct ImportGgufOptions {
  std::string input, output;
  int64_t context_length = 0, sessions = 0, speculate = 0;  // exir::GgufOptions
  std::string cache_dtype;  // name of one of exir::kCacheTypes; "" for GgufOptions' default
  CommandLimits limits;
};
// Writes the program of a GGUF file, with its tokenizer and chat template.
int ImportGgufModel(const ImportGgufOptions& options);

struct QuantizeOptions {
  std::string input, output, recipe, html;
  std::vector<std::string> methods;      // as LowerOptions::methods
  std::vector<std::string> backends;     // as LowerOptions::backends
  std::vector<std::string> max_size;     // as LowerOptions::max_size
  std::vector<std::string> calibration;  // as LowerOptions::calibration
  std::string max_loss;                  // as LowerOptions::max_loss
  std::vector<std::string> labels;       // [METHOD:]PATH (MeasureAccuracy)
  std::string metric;                    // a shell command (RunMetric); "" for none
  int threads = 1;                       // execute the calibration data
  bool node_losses = false;              // as LowerOptions::node_losses
  bool times = false;                    // MeasureTimes
  bool json = false;
  CommandLimits limits;
};
// Writes quantized edge programs.
int Quantize(const QuantizeOptions& options);

struct RunOptions {
  std::string program, method = "forward", output_dir, engine = "highway";
  std::string dump;               // a directory; "" for none
  std::vector<std::string> data;  // files
  std::string payloads = "cpu";   // OpenOptionsFor
  std::string weight_cache;       // a folder; "" for none
  std::vector<std::string> inputs;
  std::vector<std::string> sequence;
  std::vector<std::string> backend_options;  // ParseBackendOptions
  std::optional<uint64_t> seed;              // of random inputs
  int repeat = 1;
  int threads = 1;
  bool copy = false;  // the program's files instead of mapping them
  bool json = false;
  CommandLimits limits;
};
int Run(const RunOptions& options);

struct GenerateTextOptions {
  std::string program, tokenizer, prompt, tokens, prefill, decode, draft_model;
  std::string engine = "highway";
  bool chat = false;                       // replies to each line of stdin
  std::string messages, system;            // a JSON file; the first message of `chat`
  std::string chat_variables;              // a JSON object
  std::vector<std::string> chat_template;  // files (ReadChatTemplateFiles); empty: the program's
  int64_t max_tokens = 128, context_length = 0, speculate = 0;
  llm::SamplerOptions sampling = llm::SamplerOptions::Greedy();
  std::vector<std::string> stop, stop_tokens, data;
  bool ignore_end_tokens = false, json = false;
  int threads = 1;
  CommandLimits limits;
};
int GenerateText(const GenerateTextOptions& options);

struct InspectOptions {
  std::string file;
  std::string model_explorer, dot;  // files to write; "" for none
  std::vector<std::string> data;    // files
  bool json = false, graph = false, size = false, verify = false;
  CommandLimits limits;
};
int Inspect(const InspectOptions& options);

struct BundleOptions {
  std::string program, output;
  std::vector<std::string> cases;  // [METHOD=]FOLDER
  std::vector<std::string> data;   // files
  CommandLimits limits;
};
// Writes a bundled program of ExecuTorch.
int BundleProgram(const BundleOptions& options);

struct DiffOptions {
  std::string before, after;
  bool json = false;
  CommandLimits limits;
};
// Compares two program files. kNegative if they differ.
int DiffPrograms(const DiffOptions& options);

struct VerifyOptions {
  std::string archive, program;  // without a program file, the archive is lowered in memory
  std::string method = "forward", engine = "highway";
  std::vector<std::string> data;      // files
  std::string payloads = "cpu";       // OpenOptionsFor
  std::vector<std::string> inputs;    // files; empty: random inputs
  std::vector<std::string> backends;  // names; if empty, those of the program file or "cpu"
  uint64_t seed = 0;
  int calls = 1;                      // on the same state
  std::vector<std::string> max_size;  // as LowerOptions::max_size, if the archive is lowered
  double atol = 1e-5, rtol = 1e-4;
  std::vector<std::string> expected;  // files of expected outputs; without an archive
  std::string reduce, dump, against;  // directories; "" for none
  bool gaps = false;                  // of all nodes
  bool json = false;
  CommandLimits limits;
};
int Verify(const VerifyOptions& options);

struct BenchOptions {
  std::string program, method = "forward", engine = "highway";
  std::vector<std::string> data;    // files
  std::string payloads = "cpu";     // OpenOptionsFor
  std::string weight_cache;         // a folder; "" for none
  std::vector<std::string> inputs;  // files; empty: random inputs
  uint64_t seed = 1;
  int64_t dynamic_size = 4;
  double seconds = 1;
  int threads = 1;
  std::vector<std::string> backend_options;  // ParseBackendOptions
  bool json = false;
  // Of BenchLlm. Numbers of tokens are lists: "128,512".
  bool llm = false;
  bool sessions = false;  // adds rows of all sessions of a batch
  std::string pp = "512", tg = "128", depth = "0";
  int64_t repetitions = 5;
};
int Bench(const BenchOptions& options);

struct ProfileOptions {
  std::string program, method = "forward", engine = "highway";
  std::vector<std::string> data;             // files
  std::string payloads = "cpu";              // OpenOptionsFor
  std::string weight_cache;                  // a folder; "" for none
  std::vector<std::string> inputs;           // files; empty: random inputs
  std::string trace, html, compare, limits;  // files; "" for none
  uint64_t seed = 1;
  int64_t dynamic_size = 4;
  int runs = 30;
  int rows = 15;
  int threads = 1;
  int64_t max_events = 1'000'000;
  bool json = false;
};
int ProfileProgram(const ProfileOptions& options);

struct OpsOptions {
  std::string name;  // substring of the listed names
  bool json = false;
};
// kNegative if no name matches.
int Ops(const OpsOptions& options);

struct BackendsOptions {
  bool json = false;
};
// Lists the backends of --backend.
int Backends(const BackendsOptions& options);

struct StripOptions {
  std::string file, output;  // output "": in place
};
// Removes the debug segment.
int Strip(const StripOptions& options);

struct StressOptions {
  std::string file;
  std::string write;  // output path for the first mutation's bytes
  uint64_t mutations = 1000, seed = 1, first = 0;
  bool json = false;
};
// Reads, loads and executes mutations of a program file, or imports those of an archive.
int Stress(const StressOptions& options);

struct KeygenOptions {
  std::string name;  // NAME.key and NAME.pub
};
int Keygen(const KeygenOptions& options);

struct SignOptions {
  std::string file, key;
};
// Writes FILE.sig.
int SignFile(const SignOptions& options);

struct VerifySignatureOptions {
  std::string file;
  std::vector<std::string> keys;
};
// kNegative if the signature does not match the file, or is of an unknown key.
int VerifySignature(const VerifySignatureOptions& options);

// Command-line descriptions of the subcommands.
Command LowerCommand();
Command ImportGgufCommand();
Command QuantizeCommand();
Command RunCommand();
Command GenerateCommand();
Command InspectCommand();
Command BundleCommand();
Command DiffCommand();
Command VerifyCommand();
Command BenchCommand();
Command ProfileCommand();
Command StripCommand();
Command StressCommand();
Command KeygenCommand();
Command SignCommand();
Command VerifySignatureCommand();
Command OpsCommand();
Command BackendsCommand();

// Returns all commands in the order of the help.
std::vector<Command> AllCommands();

// Runs the command line of a process, whose first argument is the program's name, and returns the
// exit status. May end the process (WithinLimits). Not thread-safe.
int RunProcessCommand(int argc, const char* const* argv);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_BELAY_COMMAND_H_
