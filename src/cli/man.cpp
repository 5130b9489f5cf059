// The manual page, from the program's own declarations.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "cli/commands.hpp"
#include "cli/grammar.hpp"
#include "cli/help.hpp"
#include "cli/say.hpp"

namespace omnirt::cli {
namespace {

struct Entry {
  const char* name;
  const char* text;
};

constexpr std::array examples{
    Entry{"omnirt generate -p \"a red apple\" -o apple.png", "Make an image."},
    Entry{"omnirt generate -m sdxl -p \"a lion\" --steps 30 --scheduler euler-a -n 4 -o "
          "lion_{seed}.png",
          "Four images of a model by its id, named by their seeds."},
    Entry{
        "omnirt generate -m model.safetensors -p \"a castle\" -i sketch.png --strength 0.6 --lora "
        "style.safetensors:0.8 -o castle.png",
        "Change an image, with a checkpoint of one file and a LoRA."},
    Entry{"omnirt generate -f castle.png --seed random -o other.png",
          "What another image was made by, with another seed."},
    Entry{"omnirt validate -f request.yaml", "Check a request without running it."},
    Entry{"omnirt pull sdxl --variant fp16", "Download a model."},
    Entry{"omnirt models", "List the models, those on this machine first."}};

constexpr std::array variables{
    Entry{
        "OMNIRT_MODELS",
        "Folders, separated by ':', in which models, checkpoints and adapters are found by name."},
    Entry{"HF_HUB_CACHE, HF_HOME", "Where the local Hugging Face cache is."},
    Entry{"HF_ENDPOINT, HF_TOKEN, HF_HUB_OFFLINE",
          "Of omnirt pull: another hub than huggingface.co, the token for private and gated "
          "repositories, and (1) that nothing may be fetched."},
    Entry{"OMNIRT_PLUGINS", "Plug-ins to load, separated by ':'."},
    Entry{"OMNIRT_CONFINE", "The folder outside of which no path of a request may lie."},
    Entry{"OMP_NUM_THREADS", "Threads of the cpu; --threads overrides it."},
    Entry{"OMNIRT_CPU_TARGET",
          "The instruction set that the cpu's kernels use at most; omnirt backends lists those of "
          "this machine."},
    Entry{"OMNIRT_ASCEND_PLUGIN, OMNIRT_STUB", "Of the backends ascend and cpu-stub."}};

// Characters that troff takes as commands.
std::string troff(const std::string& text) {
  std::string out;
  for (char c : text) {
    if (c == '\\' || c == '-') out += '\\';
    out += c;
  }
  return out.starts_with('.') || out.starts_with('\'') ? "\\&" + out : out;
}

void print_entry(const std::string& name, const std::string& text) {
  print(".TP\n.B {}\n{}\n", troff(name), troff(text));
}

// Those that all commands of requests have.
std::set<std::string> shared_flags(const CLI::App& app) {
  std::set<std::string> shared;
  for (const CLI::App* command : commands_of(app)) {
    if (!dynamic_cast<const RequestCommand*>(command)) continue;
    std::set<std::string> own, both;
    for (const CLI::Option* option : command->get_options()) own.insert(flag_words(*option));
    std::ranges::set_intersection(shared, own, std::inserter(both, both.end()));
    shared = shared.empty() ? own : both;
  }
  return shared;
}

void print_commands(const CLI::App& app, const std::set<std::string>& shared) {
  print(".SH COMMANDS\n");
  for (const CLI::App* command : commands_of(app)) {
    bool of_request = dynamic_cast<const RequestCommand*>(command);
    print(".SS omnirt {}\n{}{}\n", troff(command->get_name()), troff(command->get_description()),
          of_request ? "; it takes the flags under REQUESTS, and" : "");
    for (const CLI::Option* option : command->get_options()) {
      std::string words = flag_words(*option);
      bool own = !of_request || !shared.contains(words);
      if (own && words != "-h, --help") print_entry(words, option->get_description());
    }
  }
}

void print_requests(const CLI::App& app, const std::set<std::string>& shared) {
  print(".SH REQUESTS\n");
  const CLI::App* command = app.get_subcommand("generate");
  for (const CLI::Option* option : command->get_options()) {
    std::string words = flag_words(*option);
    if (shared.contains(words)) print_entry(words, option->get_description());
  }
}

void print_man(const CLI::App& app) {
  print(
      ".TH OMNIRT 1\n.SH NAME\nomnirt \\- {}\n.SH SYNOPSIS\n.B omnirt\n.I command\n[flags]\n"
      ".SH DESCRIPTION\n",
      troff(app.get_description()));
  print("{}\n", troff("omnirt runs diffusion models on this machine: it reads diffusers' "
                      "folders and checkpoints of one file, and writes images and videos. A "
                      "request is given by flags, by a file (JSON or YAML), or by an image "
                      "that was made before. Everything is checked before any weight is "
                      "read. Each key of a request's config is a flag under its own name, "
                      "too, with '-' or '_'."));
  const std::set<std::string> shared = shared_flags(app);
  print_commands(app, shared);
  print_requests(app, shared);
  print(".SH EXAMPLES\n");
  for (const Entry& each : examples) print_entry(each.name, each.text);
  print(".SH ENVIRONMENT\n");
  for (const Entry& each : variables) print_entry(each.name, each.text);
  print(".SH EXIT STATUS\n0 done; 2 a bad request; 3 a run that failed; 130 interrupted.\n");
}

}  // namespace

void add_man(CLI::App& app, Run& run) {
  CLI::App* command = app.add_subcommand("man", "print the manual page (troff)");
  command->callback([&run, &app] {
    run = [&app] {
      print_man(app);
      return 0;
    };
  });
}

}  // namespace omnirt::cli
