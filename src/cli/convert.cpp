#include <fmt/format.h>

#include <memory>

#include "cli/commands.hpp"
#include "cli/findings.hpp"
#include "cli/say.hpp"
#include "engine/session.hpp"

namespace omnirt::cli {
namespace {

struct ConvertFlags {
  std::string from, to, layout, prediction_type, config_folder, quantize;
  bool json = false;
};

void print_told(const Json& told) {
  say("{}: {} -> {}\n", told["kind"].get<std::string>(), told["from"].get<std::string>(),
      told["to"].get<std::string>());
  if (told.contains("types")) {
    for (const auto& [type, count] : told["types"].items())
      say("  {} tensors of {}\n", count.get<size_t>(), type);
    say("  {:.1f} MB\n", static_cast<double>(told["bytes"].get<uint64_t>()) / 1e6);
  }
  if (told.contains("decided")) {
    for (const Json& each : told["decided"]) {
      say("  {} {}: {}\n", each["what"].get<std::string>(), each["value"].get<std::string>(),
          each["how"].get<std::string>());
    }
  }
  if (told.contains("ignored") && !told["ignored"].get<std::string>().empty())
    say("  of no component: {}\n", told["ignored"].get<std::string>());
  if (told.contains("rest")) {
    say("  kept beside the components for the way back: {} tensors; left out: {}\n",
        told["rest"]["kept"].get<size_t>(), told["rest"]["left_out"].get<size_t>());
  }
}

void warn_of(const Json& told) {
  if (!told.contains("warnings")) return;
  for (const Json& warning : told["warnings"])
    print_warnings({{"", "", warning.get<std::string>(), ""}});
}

int run_convert(const ConvertFlags& flags, const Session& session) {
  Json told = session.convert({flags.from, flags.to, flags.layout, flags.prediction_type,
                               flags.config_folder, flags.quantize});
  warn_of(told);
  if (flags.json)
    say_json(told);
  else
    print_told(told);
  return 0;
}

}  // namespace

void add_convert(CLI::App& app, Run& run, Session& session) {
  auto flags = std::make_shared<ConvertFlags>();
  CLI::App* command = app.add_subcommand(
      "convert",
      "turn a checkpoint of one file into a folder of diffusers', or back, or into GGUF");
  command
      ->add_option("from", flags->from,
                   "a .safetensors or .gguf file, or the folder of a pipeline or a component")
      ->required();
  command->add_option("into", flags->to, "the folder or file to make; must not be there")
      ->required();
  command->add_option("--to", flags->layout, "diffusers or single-file; unset: the other one")
      ->check(CLI::IsMember({"diffusers", "single-file"}));
  command->add_option(
      "--quantize", flags->quantize,
      "what matrices become: in a .gguf q8_0, q4_k, q4_0 and others; in a .safetensors fp8 "
      "or int8_convrot");
  command
      ->add_option("--prediction-type", flags->prediction_type,
                   "what the model predicts, over what the file says or does not say")
      ->check(CLI::IsMember({"epsilon", "v_prediction"}));
  command->add_option("--single-file-config", flags->config_folder,
                      "a pipeline folder whose configs and tokenizers count");
  command->add_flag("--json", flags->json, "print what was done as JSON");
  command->callback([flags, &run, &session] {
    run = [flags, &session] { return run_convert(*flags, session); };
  });
}

}  // namespace omnirt::cli
