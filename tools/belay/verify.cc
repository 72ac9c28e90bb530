// `belay verify`: compares the results of a program file with those of its archive.
#include <iostream>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "runtime/core/status_macros.h"
#include "tools/belay/archive_model.h"
#include "tools/belay/bundled_cases.h"
#include "tools/belay/chosen_backends.h"
#include "tools/belay/command.h"
#include "tools/belay/max_sizes.h"
#include "tools/belay/printing.h"
#include "tools/belay/program_file.h"
#include "tools/belay/verification.h"

namespace belay::tools {
namespace {

// Prints to stderr what the file was compared with. The operators that can't be interpreted are
// listed in the JSON report.
void PrintReference(std::string_view why_edge, const std::set<std::string>& decomposed) {
  std::cerr << "belay: compared with the archive's program";
  if (why_edge.empty() && !decomposed.empty()) {
    std::cerr << ", with the decompositions of " << OneLine(absl::StrJoin(decomposed, ", "));
  }
  if (!why_edge.empty()) {
    std::cerr << ", converted to an edge program because the original can't be interpreted: "
              << OneLine(why_edge.substr(0, why_edge.find('\n')));
  }
  std::cerr << "\n";
}

void PrintFindings(const std::vector<Finding>& findings) {
  for (const Finding& finding : findings) {
    std::cout << "call " << finding.call << ", " << OneLine(finding.difference.where) << ": "
              << OneLine(finding.difference.difference) << "\n";
  }
}

void PrintDeviations(const std::vector<exir::Deviation>& deviations,
                     const exir::Closeness& closeness) {
  for (size_t i = 0; i < deviations.size(); ++i) {
    std::cout << "output " << i << ": largest deviation " << deviations[i].absolute << ", relative "
              << deviations[i].relative << "\n";
  }
  std::cout << "allowed: " << closeness.atol << " + " << closeness.rtol
            << " of the expected value + " << closeness.rtol * exir::Closeness::kOfLargest
            << " of the tensor's largest value, more for float16 and bfloat16\n";
}

// Prints the nodes with a gap, the largest first.
void PrintGaps(const std::vector<NodeGap>& gaps) {
  constexpr size_t kShown = 20;
  size_t different = 0;
  for (const NodeGap& gap : gaps) {
    if (gap.sums.noise == 0 || ++different > kShown) continue;
    std::cout << absl::StrFormat("  %6.1f dB, mse %.3g, cosine %.7f, absolute %.3g: ",
                                 gap.sums.Value(exir::LossMetric::kSnr),
                                 gap.sums.Value(exir::LossMetric::kMse),
                                 gap.sums.Value(exir::LossMetric::kCosine), gap.largest.absolute)
              << (gap.backend.empty() ? std::string("kernel") : OneLine(gap.backend)) << ": "
              << OneLine(gap.node) << "\n";
  }
  if (different > kShown) std::cout << "  " << different - kShown << " more: --json\n";
  std::cout << gaps.size() - different << " of " << gaps.size() << " nodes have no gap\n";
}

void PrintDump(const DumpComparison& against) {
  std::cout << against.compared << " values of the directory were compared";
  if (!against.node.has_value()) {
    std::cout << ", all are close\n";
    return;
  }
  std::cout << ", the first that differs: " << OneLine(*against.node) << "\n  "
            << OneLine(against.difference) << "\n";
}

void PrintOrigin(const Origin& origin) {
  if (origin.node.has_value()) {
    const NodeDifference& node = *origin.node;
    std::cout << "the first node that differs"
              << (node.cut     ? " if the program is cut after it"
                  : node.alone ? " if it is the only additional output"
                               : "")
              << ": " << OneLine(node.node) << "\n  "
              << (node.backend.empty()
                      ? std::string("computed by a kernel")
                      : absl::StrCat("computed by a delegate of ", OneLine(node.backend)))
              << "\n  " << OneLine(node.difference) << "\n";
    if (!origin.reduced.empty()) std::cout << OneLine(origin.reduced) << "\n";
  } else if (origin.edge.has_value()) {
    std::cout << "the difference exists before lowering, in the archive's edge program: "
              << OneLine(origin.edge->difference.where) << ": "
              << OneLine(origin.edge->difference.difference) << "\n";
  } else if (!origin.unknown.empty()) {
    std::cout << "the first node that differs could not be determined: "
              << ForTerminal(origin.unknown) << "\n";
  } else {
    std::cout
        << "every node of the archive's program is correct when lowered now: the file was lowered "
           "from another archive or by another version, or is damaged (belay inspect --verify), "
           "or the state of earlier calls matters\n";
  }
}

void Print(const Verification& result) {
  if (result.against.has_value()) PrintDump(*result.against);
  if (result.findings.empty()) {
    std::cout << "equal: " << result.num_outputs << " results in " << result.calls
              << (result.calls == 1 ? " call\n" : " calls\n");
  }
  PrintFindings(result.findings);
  PrintDeviations(result.deviations, result.closeness);
  if (result.gaps.has_value()) PrintGaps(*result.gaps);
  if (!result.recorded && !result.findings.empty()) PrintOrigin(result.origin);
}

absl::StatusOr<Verification> RunVerification(const VerifyOptions& options,
                                             const MaxSizes& max_sizes,
                                             const Partitioners& partitioners) {
  std::vector<std::string> files = options.inputs;
  const std::string archive = ParseArchiveModel(options.archive).path;
  if (options.expected.empty()) files.push_back(archive);
  if (!options.program.empty()) files.push_back(options.program);
  WithinLimits limits(options.limits, files);
  const auto opened = [&limits](const Program& program) { limits.Add(program); };
  if (!options.expected.empty()) return VerifyWithRecorded(options, opened);
  if (options.program.empty()) {
    const absl::StatusOr<bool> bundled = IsBundledProgramAt(archive);
    if (bundled.ok() && *bundled) return VerifyBundledCases(options.archive, options, opened);
  }
  return VerifyWithArchive(options, max_sizes, partitioners, opened);
}

}  // namespace

int Verify(const VerifyOptions& given) {
  VerifyOptions options = given;
  if (options.backends.empty() && options.program.empty()) {
    options.backends = {"cpu"};  // the default of `belay lower`
  }
  const absl::StatusOr<Partitioners> partitioners = ChooseBackends(options.backends, {});
  if (!partitioners.ok()) return ReportBadUsage(partitioners.status());
  const absl::StatusOr<MaxSizes> max_sizes = ParseMaxSizes(options.max_size);
  if (!max_sizes.ok()) return ReportBadUsage(max_sizes.status());
  const absl::StatusOr<Verification> result = RunVerification(options, *max_sizes, *partitioners);
  if (!result.ok()) return Report(result.status());
  if (result->dumped.has_value()) {
    std::cerr << "belay: wrote " << *result->dumped << " values to " << OneLine(options.dump)
              << "\n";
  }
  if (!result->recorded) {
    PrintReference(result->why_edge, result->decomposed);
  } else if (!options.json) {
    std::cerr << "belay: compared with files\n";
  }
  if (options.json) {
    std::cout << JsonText(VerificationJson(*result));
  } else {
    Print(*result);
  }
  return result->equal() ? kDone : kNegative;
}

Command VerifyCommand() {
  struct Parsed : VerifyOptions {
    std::vector<std::string> files;
    std::string reference;
  };
  const auto verify = std::make_shared<Parsed>();
  return {
      .name = "verify",
      .about =
          "Compares the results of a program file with those of its archive, and names the first "
          "node that differs.",
      .options = WithLimits(
          {{"files",
            &verify->files,
            "the archive (.pt2, FILE or FILE:MODEL), and the program file; without one, the "
            "archive is lowered; or a bundled program (.bpte), whose test cases are executed",
            {.required = true, .most_values = 2}},
           {"--reference", &verify->reference,
            "the archive; the only other file is then the program"},
           {"--method", &verify->method, "the method"},
           {"--input",
            &verify->inputs,
            ".npy files in the order of the method's inputs (repeatable); default: random "
            "numbers",
            {.repeatable = true}},
           {"--random-inputs",
            &verify->seed,
            "the seed of random inputs",
            {.excludes = {"--input"}}},
           {"--calls", &verify->calls, "number of calls, on the same state", {.least = 1}},
           {"--max-size",
            &verify->max_size,
            "as for 'lower', if the archive is lowered",
            {.repeatable = true, .one_value = true}},
           {"--backend",
            &verify->backends,
            "backends to lower with, comma separated; default: those of the program file, and cpu "
            "without one",
            {.one_value = true}},
           {"--expected",
            &verify->expected,
            "a .npy file for each output: compares the program, the only file, with these instead "
            "of an archive (repeatable)",
            {.repeatable = true, .excludes = {"--reference"}}},
           {"--reduce", &verify->reduce,
            "on a difference, writes the smallest part of the program that still differs to this "
            "directory: program.bir, input_<i>.npy, output_<i>.npy"},
           {"--dump", &verify->dump,
            "writes the values of all nodes of the archive's program to this directory, by name"},
           {"--against", &verify->against,
            "compares the values of all nodes with the arrays of these names in this directory"},
           {"--gaps",
            &verify->gaps,
            "also measures the gap of each node's value after lowering (SNR, mean squared error, "
            "cosine), the largest first",
            {.excludes = {"--expected"}}},
           {"--atol", &verify->atol, "allowed absolute difference", {.least = 0}},
           {"--rtol", &verify->rtol, "allowed relative difference", {.least = 0}},
           DataOption(&verify->data),
           PayloadsOption(&verify->payloads),
           EngineOption(&verify->engine),
           {"--json", &verify->json, "prints JSON"}},
          &verify->limits, /*lowers=*/true),
      .footer =
          "Of an archive with several models, uses the model with the method's name, and for\n"
          "'forward' also one named 'model'; FILE:MODEL selects another.\n"
          "Example: belay verify model.pt2 model.belay --input x.npy\n"
          "Exit status 1 on a difference.",
      .owned = verify,
      .run =
          [verify] {
            std::vector<std::string> files = verify->files;
            if (!verify->reference.empty()) files.insert(files.begin(), verify->reference);
            if (!verify->expected.empty()) {
              verify->program = files[0];
            } else {
              verify->archive = files[0];
              if (files.size() == 2) verify->program = files[1];
            }
            return Verify(*verify);
          },
      .problem =
          [verify] {
            if (verify->files.size() < 2) return "";
            if (!verify->expected.empty()) return "verify takes only one file with --expected";
            return verify->reference.empty() ? "" : "verify takes only one file with --reference";
          },
  };
}

}  // namespace belay::tools
