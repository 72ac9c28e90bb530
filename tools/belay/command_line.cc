#include "tools/belay/command_line.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <ostream>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

#include "CLI/CLI.hpp"
#include "tools/belay/printing.h"

namespace belay::tools {
namespace {

// A number that is at least `least`; NaN is none, and a number without a sign has none.
template <class T>
CLI::Validator AtLeast(T least) {
  std::ostringstream name;
  name << ">=" << least;
  return CLI::Validator(
      [least](std::string& text) {
        T value;
        const bool fits = std::is_signed_v<T> || text.find('-') == std::string::npos;
        if (fits && CLI::detail::lexical_cast(text, value) && value >= least &&
            value <= std::numeric_limits<T>::max()) {
          return std::string();
        }
        std::ostringstream problem;
        problem << "takes a number of at least " << least << ", not " << text;
        return problem.str();
      },
      name.str());
}

// A text whose absence means something else than an empty one.
CLI::Validator NotEmpty() {
  return CLI::Validator(
      [](std::string& text) { return std::string(text.empty() ? "takes a name" : ""); }, "");
}

CLI::Option* AddEngine(CLI::App* app, std::string& engine) {
  return app->add_option("--engine", engine, "kernels: highway or reference")
      ->check(CLI::IsMember({"highway", "reference"}));
}

// Asked before parsing: CLI11 says of an unknown one that a subcommand is required.
bool HasSubcommand(const CLI::App& app, const std::string& name) {
  const auto has_name = [&](const CLI::App* subcommand) { return subcommand->get_name() == name; };
  return !app.get_subcommands(has_name).empty();
}

std::string FailureMessage(const CLI::App* parsed, const CLI::Error& problem) {
  std::string what = problem.what();
  if (problem.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError)) {
    // CLI11 names them in the opposite order.
    what = "not expected:";
    for (const std::string& argument : parsed->remaining(/*recurse=*/true)) what += " " + argument;
  }
  const std::vector<CLI::App*> chosen = parsed->get_subcommands();
  return "belay: " + OneLine(what) + "\n'belay " +
         (chosen.empty() ? "" : chosen[0]->get_name() + " ") + "--help' says what there is.\n";
}

}  // namespace

int RunCommandLine(std::vector<std::string> arguments, const Commands& commands, std::ostream& out,
                   std::ostream& error) {
  CLI::App app(
      "Lowers PyTorch programs for edge devices and runs what it makes.\n"
      "Exit status: 0 done, 1 negative result, 2 bad usage, 3 bad input, 4 unsupported.",
      "belay");
  app.require_subcommand(1);
  int status = kDone;

  LowerOptions lower;
  CLI::App* lower_app =
      app.add_subcommand("lower", "Lowers exported programs (.pt2) to one program file.");
  lower_app
      ->add_option("archive", lower.input,
                   "FILE or FILE:MODEL: the archive that becomes the method 'forward'")
      ->check(NotEmpty());
  lower_app->add_option("-o,--output", lower.output, "the program file to write")
      ->required()
      ->check(NotEmpty());
  lower_app
      ->add_option("--method", lower.methods,
                   "NAME=FILE or NAME=FILE:MODEL: one more method (repeatable)")
      ->take_all();
  lower_app->add_option("--backend", lower.backends,
                        "backends in order of priority, comma separated; 'none' for none");
  lower_app
      ->add_option("--compile-spec", lower.compile_specs,
                   "BACKEND:KEY=VALUE, given to the backend (repeatable)")
      ->take_all();
  lower_app
      ->add_option("--external-constants", lower.external_constants,
                   "writes the constants to NAME-DIGEST.data beside the program file")
      ->check(NotEmpty());
  lower_app->add_option("--report", lower.report, "writes a JSON report to this file")
      ->check(NotEmpty());
  lower_app
      ->add_option("--max-size", lower.max_size,
                   "the most that a size may be which the program gives no upper bound")
      ->check(AtLeast<int64_t>(1));
  lower_app
      ->add_option(
          "--min-delegated-flops", lower.min_delegated_flops,
          "the least share of the floating-point operations (products, convolutions, "
          "attention) that delegates must compute, 0 to 1; with less, status 1 and no file")
      ->check(CLI::Range(0.0, 1.0));
  CLI::Option* dump_after = lower_app
                                ->add_option("--dump-after", lower.dump_after,
                                             "prints the program as it is after this pass")
                                ->check(NotEmpty());
  lower_app->add_option("--threads", lower.threads, "threads for backends' preprocessing")
      ->check(CLI::Range(1, 1024));
  lower_app->add_flag("--write-state-in-place", lower.write_state_in_place,
                      "updates buffers where they are; a call that fails leaves them half written");
  lower_app->add_flag("--quant-fusion-and-const-prop", lower.quant_fusion_and_const_prop,
                      "computes on quantized numbers where there is an operator for it, and now "
                      "what depends on constants alone");
  lower_app->add_flag("--json", lower.json, "prints the report as JSON")->excludes(dump_after);
  lower_app->footer(
      "Of an archive with several models, --method NAME=FILE takes the one called NAME, and an\n"
      "archive without a name the one called 'forward' or 'model'; FILE:MODEL takes MODEL.\n"
      "Example: belay lower model.pt2 -o model.belay --backend demo --report report.json\n"
      "         belay lower --method prefill=llm.pt2 --method decode=llm.pt2:step -o llm.belay");
  lower_app->callback([&] { status = commands.lower(lower); });

  RunOptions run;
  CLI::App* run_app = app.add_subcommand("run", "Executes a method of a program file.");
  run_app->add_option("program", run.program, "the program file")->required();
  run_app->add_option("--method", run.method, "the method");
  CLI::Option* input =
      run_app
          ->add_option("--input", run.inputs,
                       ".npy files in the order of the method's inputs (repeatable); those of "
                       "inputs fixed at export all or none")
          ->take_all();
  CLI::Option* seed =
      run_app->add_option("--random-inputs", run.seed, "draws the inputs with this seed instead")
          ->excludes(input);
  run_app
      ->add_option("--sequence", run.sequence,
                   "folders with input_<i>.npy for input i, DIR or METHOD=DIR: one call each, all "
                   "on the same state")
      ->take_all()
      ->excludes(input)
      ->excludes(seed);
  run_app->add_option("--output-dir", run.output_dir, "writes the results there as 0.npy, 1.npy, …")
      ->check(NotEmpty());
  run_app->add_option("--repeat", run.repeat, "executes so many times")->check(AtLeast(1));
  AddEngine(run_app, run.engine);
  run_app->add_flag("--json", run.json, "prints a report as JSON");
  run_app->footer("Example: belay run model.belay --input x.npy --output-dir results");
  run_app->callback([&] {
    run.random_inputs = seed->count() > 0;
    status = commands.run(run);
  });

  InspectOptions inspect;
  CLI::App* inspect_app = app.add_subcommand(
      "inspect", "Shows what is in an archive (.pt2) or a program file (.belay).");
  inspect_app->add_option("file", inspect.file, "the file")->required();
  inspect_app->add_flag("--json", inspect.json, "prints JSON");
  inspect_app->add_flag("--graph", inspect.graph,
                        "prints an archive's programs in text form, or a program file's values and "
                        "instructions");
  inspect_app->add_flag("--size", inspect.size, "accounts for every byte of the file");
  inspect_app->add_flag("--verify", inspect.verify,
                        "checks the digest of every segment of a program file, or the checksum of "
                        "every entry of an archive");
  inspect_app->footer(
      "All models of an archive are shown; exit status 4 when one is of a version that can't be\n"
      "imported.\n"
      "Example: belay inspect model.belay --size");
  inspect_app->callback([&] { status = commands.inspect(inspect); });

  VerifyOptions verify;
  std::string reference;
  CLI::App* verify_app = app.add_subcommand(
      "verify",
      "Compares what a program file computes with what its archive means, and names the first node "
      "that differs.");
  std::vector<std::string> verify_files;
  verify_app
      ->add_option("files", verify_files,
                   "the archive (.pt2, FILE or FILE:MODEL), and the program file; without one, the "
                   "archive is lowered")
      ->expected(1, 2)
      ->required();
  verify_app->add_option("--reference", reference,
                         "the archive; then the one file named is the program");
  verify_app->add_option("--method", verify.method, "the method");
  CLI::Option* verify_input =
      verify_app
          ->add_option(
              "--input", verify.inputs,
              ".npy files in the order of the method's inputs (repeatable); random numbers "
              "without it")
          ->take_all();
  verify_app->add_option("--random-inputs", verify.seed, "the seed of random inputs")
      ->excludes(verify_input);
  verify_app->add_option("--calls", verify.calls, "how many calls, on the same state")
      ->check(AtLeast(1));
  verify_app
      ->add_option("--max-size", verify.max_size,
                   "the most that a size may be which the archive gives no upper bound, when it is "
                   "lowered")
      ->check(AtLeast<int64_t>(1));
  verify_app->add_option("--backend", verify.backends,
                         "backends to lower with, comma separated; those of the program file else");
  verify_app->add_option("--atol", verify.atol, "the absolute difference that is allowed")
      ->check(AtLeast(0.0));
  verify_app->add_option("--rtol", verify.rtol, "the relative difference that is allowed")
      ->check(AtLeast(0.0));
  AddEngine(verify_app, verify.engine);
  verify_app->add_flag("--json", verify.json, "prints JSON");
  verify_app->footer(
      "Of an archive with several models, the one called like the method is meant, and for\n"
      "'forward' also one called 'model'; FILE:MODEL names another.\n"
      "Example: belay verify model.pt2 model.belay --input x.npy\n"
      "Exit status 1 when something differs.");
  verify_app->callback([&] {
    if (!reference.empty() && verify_files.size() == 2) {
      error << "belay: verify takes one file besides --reference\n";
      status = kBadUsage;
      return;
    }
    verify.archive = reference.empty() ? verify_files[0] : reference;
    if (!reference.empty()) verify.program = verify_files[0];
    if (verify_files.size() == 2) verify.program = verify_files[1];
    status = commands.verify(verify);
  });

  BenchOptions bench;
  CLI::App* bench_app =
      app.add_subcommand("bench", "Measures loading and executing a method with random inputs.");
  bench_app->add_option("program", bench.program, "the program file")->required();
  bench_app->add_option("--method", bench.method, "the method");
  bench_app->add_option("--seconds", bench.seconds, "how long to measure")->check(AtLeast(0.001));
  bench_app->add_option("--threads", bench.threads, "threads to execute with");
  AddEngine(bench_app, bench.engine);
  bench_app->add_flag("--json", bench.json, "prints JSON");
  bench_app->footer("Example: belay bench model.belay --seconds 3 --json");
  bench_app->callback([&] { status = commands.bench(bench); });

  StripOptions strip;
  CLI::App* strip_app =
      app.add_subcommand("strip", "Removes the debug information from a program file.");
  strip_app->add_option("program", strip.file, "the program file")->required();
  strip_app->add_option("-o,--output", strip.output, "where to; by default the file is replaced")
      ->check(NotEmpty());
  strip_app->footer("Example: belay strip model.belay -o model.stripped.belay");
  strip_app->callback([&] { status = commands.strip(strip); });

  StressOptions stress;
  CLI::App* stress_app = app.add_subcommand(
      "stress",
      "Breaks a program file (.belay) or an archive (.pt2) in many ways, and reads, loads and "
      "executes what comes out: each mutation is an error or stays within limits.");
  stress_app->add_option("file", stress.file, "the file, which is not changed")->required();
  stress_app->add_option("--mutations", stress.mutations, "how many")->check(AtLeast<uint64_t>(1));
  stress_app->add_option("--seed", stress.seed, "what the mutations depend on");
  stress_app->add_option("--first", stress.first, "the index of the first mutation");
  stress_app->add_option("--write", stress.write, "writes the first mutation to this file")
      ->check(NotEmpty());
  stress_app->add_flag("--json", stress.json, "prints JSON");
  stress_app->footer("Example: belay stress model.belay --mutations 20000 --seed 7");
  stress_app->callback([&] { status = commands.stress(stress); });

  KeygenOptions keygen;
  CLI::App* keygen_app = app.add_subcommand("keygen", "Makes a key pair: NAME.key and NAME.pub.");
  keygen_app->add_option("name", keygen.name, "where to")->required();
  keygen_app->footer("Example: belay keygen release");
  keygen_app->callback([&] { status = commands.keygen(keygen); });

  SignOptions sign;
  CLI::App* sign_app = app.add_subcommand("sign", "Signs a file: writes FILE.sig beside it.");
  sign_app->add_option("file", sign.file, "the file")->required();
  sign_app->add_option("--key", sign.key, "the secret key, from keygen")->required();
  sign_app->footer("Example: belay sign model.belay --key release.key");
  sign_app->callback([&] { status = commands.sign(sign); });

  VerifySignatureOptions verify_signature;
  CLI::App* verify_signature_app = app.add_subcommand(
      "verify-signature", "Checks FILE.sig, and for programs the digests of companion files.");
  verify_signature_app->add_option("file", verify_signature.file, "the file")->required();
  verify_signature_app
      ->add_option("--key", verify_signature.keys, "public keys that are trusted (repeatable)")
      ->required()
      ->take_all();
  verify_signature_app->footer("Example: belay verify-signature model.belay --key release.pub");
  verify_signature_app->callback([&] { status = commands.verify_signature(verify_signature); });

  OpsOptions ops;
  CLI::App* ops_app = app.add_subcommand("ops", "Lists every operator and what supports it.");
  ops_app->add_flag("--json", ops.json, "prints JSON");
  ops_app->footer("Example: belay ops --json");
  ops_app->callback([&] { status = commands.ops(ops); });

  if (!arguments.empty() && !arguments[0].starts_with('-') && !HasSubcommand(app, arguments[0])) {
    error << "belay: there is no subcommand " << OneLine(arguments[0]) << "; there are:";
    for (const CLI::App* subcommand : app.get_subcommands(nullptr)) {
      error << " " << subcommand->get_name();
    }
    error << "\n";
    return kBadUsage;
  }
  app.failure_message(&FailureMessage);
  try {
    std::reverse(arguments.begin(), arguments.end());  // as CLI11 wants them
    app.parse(arguments);
  } catch (const CLI::ParseError& problem) {
    return app.exit(problem, out, error) == 0 ? kDone : kBadUsage;
  }
  return status;
}

}  // namespace belay::tools
