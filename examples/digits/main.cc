// Lowers the digits classifier, runs it over all test images, and prints the results.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "examples/digits/digits.h"

ABSL_FLAG(std::string, backend, "cpu", "'cpu': delegates to the CPU backend; 'none': only kernels");
ABSL_FLAG(std::string, output, "", "writes the program file to this path");
ABSL_FLAG(std::string, data, "examples/digits/data", "folder with the archive and the test images");

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage(
      "Classifies handwritten digits with a network exported from PyTorch.");
  absl::ParseCommandLine(argc, argv);
  const std::string data = absl::GetFlag(FLAGS_data);
  const std::string backend = absl::GetFlag(FLAGS_backend);
  if (backend != "cpu" && backend != "none") {
    std::fprintf(stderr, "--backend: expected 'cpu' or 'none', got '%s'\n", backend.c_str());
    return 2;
  }
  belay::examples::DigitsOptions options{.archive = data + "/digits_cnn.pt2",
                                         .images = data + "/digits_test_images.npy",
                                         .labels = data + "/digits_test_labels.npy",
                                         .program = absl::GetFlag(FLAGS_output),
                                         .delegate = backend == "cpu"};
  const bool temporary = options.program.empty();
  if (temporary) {
    std::string name = (std::filesystem::temp_directory_path() / "digits.XXXXXX").string();
    const int file = mkstemp(name.data());
    if (file < 0) {
      std::fprintf(stderr, "can't create a temporary file\n");
      return 3;
    }
    close(file);
    options.program = name;
  } else if (const char* directory = std::getenv("BUILD_WORKING_DIRECTORY")) {
    options.program = (std::filesystem::path(directory) / options.program).string();
  }
  const auto result = belay::examples::RunDigits(options);
  if (temporary) std::filesystem::remove(options.program);
  if (!result.ok()) {
    std::fprintf(stderr, "%s\n", result.status().ToString().c_str());
    return 3;
  }

  std::printf("accuracy: %.4f (%d of %zu)\n\n",
              static_cast<double>(result->correct) / result->predicted.size(), result->correct,
              result->predicted.size());
  std::printf("label | predicted 0    1    2    3    4    5    6    7    8    9\n");
  for (int label = 0; label < 10; ++label) {
    std::printf("  %d   |        ", label);
    for (int predicted = 0; predicted < 10; ++predicted)
      std::printf(" %4d", result->confusion[label][predicted]);
    std::printf("\n");
  }
  std::printf("\nlowering: %.1f ms (", result->lower_ms);
  for (const auto& phase : result->lowering.phases) {
    std::printf("%s%s %.1f ms", &phase == &result->lowering.phases.front() ? "" : ", ",
                phase.name.c_str(), 1e3 * phase.seconds);
  }
  std::printf(")\nprogram file: %llu bytes\nload: %.2f ms\n",
              static_cast<unsigned long long>(result->file_bytes), result->load_ms);
  std::printf("latency: %.3f ms for one image, %.2f ms for all %zu at once\n", result->single_ms,
              result->batch_ms, result->predicted.size());
  std::printf("peak memory: %.1f MB\n", result->peak_rss_bytes / 1e6);
  for (const auto& d : result->lowering.delegation) {
    if (d.backend_id.empty()) {
      std::printf("kernels: %zu nodes, %llu bytes of constants\n", d.nodes,
                  static_cast<unsigned long long>(d.constant_bytes));
    } else {
      std::printf("backend %s: %zu nodes in %zu calls, %llu bytes of constants\n",
                  d.backend_id.c_str(), d.nodes, d.delegate_calls,
                  static_cast<unsigned long long>(d.constant_bytes));
    }
  }
  return 0;
}
