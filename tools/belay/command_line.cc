#include "tools/belay/command_line.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <ostream>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

#include "CLI/CLI.hpp"
#include "runtime/core/thread_pool.h"
#include "runtime/schema/release.h"
#include "tools/belay/nearest_name.h"
#include "tools/belay/printing.h"

namespace belay::tools {
namespace {

// Accepts numbers >= `least`; rejects NaN, and signs of unsigned numbers.
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
        problem << "expected a number of at least " << least << ", got " << text;
        return problem.str();
      },
      name.str());
}

// Rejects the empty string, which differs from an omitted option.
CLI::Validator NotEmpty() {
  return CLI::Validator(
      [](std::string& text) {
        return std::string(text.empty() ? "expected a nonempty string" : "");
      },
      "");
}

template <class T>
CLI::Option* AddVariable(CLI::App& app, const Option& option, T& variable) {
  const OptionRules& rules = option.rules;
  if constexpr (std::is_same_v<T, bool>) {
    return app.add_flag(option.name, variable, option.help);
  } else {
    CLI::Option* const added = app.add_option(option.name, variable, option.help);
    if constexpr (std::is_arithmetic_v<T>) {
      // A default outside of the allowed range means "unset".
      if (!rules.least.has_value() || static_cast<double>(variable) >= *rules.least) {
        added->capture_default_str();
      }
      if (rules.most.has_value()) {
        added->check(CLI::Range(static_cast<T>(*rules.least), static_cast<T>(*rules.most)));
      } else if (rules.least.has_value()) {
        added->check(AtLeast(static_cast<T>(*rules.least)));
      }
    } else if constexpr (std::is_same_v<T, std::optional<uint64_t>>) {
      if (rules.least.has_value()) added->check(AtLeast(static_cast<uint64_t>(*rules.least)));
    } else if constexpr (std::is_same_v<T, std::string>) {
      if (!variable.empty()) added->capture_default_str();
    }
    return added;
  }
}

void AddOption(CLI::App& app, const Option& option) {
  CLI::Option* const added = std::visit(
      [&](auto* variable) { return AddVariable(app, option, *variable); }, option.variable);
  const OptionRules& rules = option.rules;
  if (rules.required) added->required();
  if (rules.not_empty) added->check(NotEmpty());
  if (rules.repeatable) added->take_all();
  if (rules.one_value) added->allow_extra_args(false);
  if (rules.most_values > 0) added->expected(1, rules.most_values);
  if (!rules.one_of.empty()) added->check(CLI::IsMember(rules.one_of));
  for (const std::string& other : rules.excludes) added->excludes(app.get_option(other));
}

// Checked before parsing: for an unknown subcommand, CLI11 only reports that one is required.
bool HasSubcommand(const CLI::App& app, const std::string& name) {
  const auto has_name = [&](const CLI::App* subcommand) { return subcommand->get_name() == name; };
  return !app.get_subcommands(has_name).empty();
}

// Returns " (did you mean …?)" if one of the names is similar.
std::string Suggestion(const std::string& wrong, const std::vector<std::string>& names) {
  const std::string nearest = NearestName(wrong, names);
  return nearest.empty() ? "" : " (did you mean " + nearest + "?)";
}

std::vector<std::string> OptionNames(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::string FailureMessage(const CLI::App* parsed, const CLI::Error& problem) {
  std::string what = problem.what();
  const std::vector<CLI::App*> chosen = parsed->get_subcommands();
  if (problem.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError)) {
    // CLI11 lists them in reverse order.
    what = "not expected:";
    for (const std::string& argument : parsed->remaining(/*recurse=*/true)) {
      what += " " + argument;
      if (!argument.starts_with("--") || chosen.empty()) continue;
      what += Suggestion(argument.substr(0, argument.find('=')), OptionNames(*chosen[0]));
    }
  }
  return "belay: " + OneLine(what) + "\n'belay " +
         (chosen.empty() ? "" : chosen[0]->get_name() + " ") + "--help' lists the options.\n";
}

}  // namespace

Option EngineOption(std::string* engine) {
  return {
      "--engine", engine, "kernels: highway or reference", {.one_of = {"highway", "reference"}}};
}

Option ThreadsOption(int* threads) {
  return {"--threads", threads, "number of threads", {.least = 1, .most = ThreadPool::kMaxThreads}};
}

int RunCommandLine(std::vector<std::string> arguments, const std::vector<Command>& commands,
                   std::ostream& out, std::ostream& error) {
  CLI::App app(
      "Lowers PyTorch programs for edge devices and runs the results.\n"
      "Exit status: 0 done, 1 negative result, 2 bad usage, 3 bad input, 4 unsupported.",
      "belay");
  app.set_version_flag("--version", std::string("belay ") + kRelease);
  app.require_subcommand(1);
  for (const Command& command : commands) {
    CLI::App* const subcommand = app.add_subcommand(command.name, command.about);
    for (const Option& option : command.options) AddOption(*subcommand, option);
    subcommand->footer(command.footer);
  }
  if (!arguments.empty() && !arguments[0].starts_with('-') && !HasSubcommand(app, arguments[0])) {
    std::vector<std::string> names;
    for (const Command& command : commands) names.push_back(command.name);
    error << "belay: unknown subcommand " << OneLine(arguments[0])
          << Suggestion(arguments[0], names) << "; expected one of:";
    for (const std::string& name : names) error << " " << name;
    error << "\n";
    return kBadUsage;
  }
  app.failure_message(&FailureMessage);
  try {
    std::reverse(arguments.begin(), arguments.end());  // the order that CLI11 requires
    app.parse(arguments);
  } catch (const CLI::ParseError& problem) {
    return app.exit(problem, out, error) == 0 ? kDone : kBadUsage;
  }
  const auto chosen = std::find_if(commands.begin(), commands.end(), [&](const Command& command) {
    return app.got_subcommand(command.name);
  });
  if (const std::string problem = chosen->problem ? chosen->problem() : ""; !problem.empty()) {
    error << "belay: " << problem << "\n";
    return kBadUsage;
  }
  return chosen->run();
}

}  // namespace belay::tools
