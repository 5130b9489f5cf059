// The declarations of the flags that describe a request.
#include <fmt/format.h>

#include "base/error.hpp"
#include "cli/options.hpp"
#include "cli/value_words.hpp"
#include "pipeline/keys.hpp"

namespace omnirt::cli {
namespace {

std::set<std::string> first_names(const std::vector<const KeyInfo*>& keys) {
  std::set<std::string> names;
  for (const KeyInfo* key : keys) {
    names.insert("--" + key->flag_name());
    if (*key->brief) names.insert(std::string("-") + key->brief);
  }
  return names;
}

}  // namespace

RequestOptions::RequestOptions(RequestCommand& command, const std::vector<const KeyInfo*>& keys)
    : command_(command), aliases_(first_names(keys)), keys_(keys) {
  add_fields();
  add_inputs();
  add_parts();
  for (const KeyInfo* key : keys) add_key(*key);
}

template <class Value>
CLI::Option* RequestOptions::add(const std::string& names, const std::string& field,
                                 const char* type, Value& into, const std::string& help) {
  const size_t first = names.find("--");
  command_.fields.add(field, names.substr(first, names.find(',', first) - first));
  CLI::Option* option = command_.add_option(aliases_.with(names, field), into, help);
  return option->type_name(type)->allow_extra_args(false);
}

void RequestOptions::add_fields() {
  add("-f,--file", "file", "FILE", file_,
      "request (JSON or YAML), or an image that carries one; - reads standard input; flags "
      "override "
      "it");
  add("-m,--model", "model", "ID|FOLDER|FILE", model_,
      "model: an id, a folder, a .safetensors or .gguf");
  add("--task", "task", "text2image|image2image|inpaint|edit|image2video|upscale", task_,
      "default: inferred from the inputs");
  add("--backend", "backend", "auto|cuda|ascend|cpu", backend_,
      "where to run; cuda:1 is the second device of one (omnirt backends)");
  add("--threads", "threads", "INT 1..1024", threads_,
      "threads of the cpu (default: OMP_NUM_THREADS, else one for each core)");
  add("--guider", "guider", "TYPE|JSON", guider_,
      "guidance of another type, as in {\"type\": \"pag\", ...}");
  add("--guider-set", "guider", "KEY=VALUE", guider_settings_,
      "a setting of the guider; repeatable");
  for (const char* field : {"guider", "guider.type"}) command_.fields.add(field, "--guider");
  add("--scheduler-set", "config.scheduler_config", "KEY=VALUE", scheduler_settings_,
      "a setting of the scheduler's config; repeatable");
  add("--set", "config", "KEY=VALUE", settings_, "any config key; repeatable");
  add("--confine", "confine", "FOLDER", confine_,
      "refuse paths of the request outside of this folder (default: OMNIRT_CONFINE)")
      ->envname("OMNIRT_CONFINE");
  command_.add_flag("--strict", strict_, "warnings are errors");
}

void RequestOptions::add_inputs() {
  const char* field = "inputs.";
  auto text = [&](const char* flag, const char* name, const char* help) {
    add(flag, field + std::string(name), "TEXT", texts_[name], help);
  };
  auto path = [&](const char* flag, const char* name, const char* help) {
    add(flag, field + std::string(name), "FILE", paths_[name], help);
  };
  text("-p,--prompt", "prompt", "what the image shows; repeatable");
  text("--prompt-2", "prompt_2", "the prompt for the model's second text encoder");
  text("--negative-prompt", "negative_prompt", "what it does not show");
  text("--negative-prompt-2", "negative_prompt_2", "the same for the second text encoder");
  path("--prompt-embeds", "encoded_prompt",
       "what the prompt means, as diffusers' encode_prompt gives it, in a safetensors file");
  path("-i,--image", "image", "image to start from");
  path("--mask", "mask", "white areas of this image are repainted");
  path("--latents", "latents",
       "initial noise, or with sdxl's image2image the latents of another run, in a "
       "safetensors file");
  path("--control-image", "control_image", "what the ControlNet follows");
  add("--input", "inputs", "NAME=VALUE", inputs_,
      "any other input, a text or a path; repeatable, the same name makes a list");
}

void RequestOptions::add_parts() {
  add("--lora,--adapter", "adapters", "PATH[:SCALE]", adapters_,
      "LoRA or textual inversion: file, name, or JSON {\"path\", \"scale\", ...}; repeatable");
  for (auto [flag, name, help] :
       {std::tuple{"--vae", "vae", "autoencoder in place of the model's"},
        {"--controlnet", "controlnet", "ControlNet, for --control-image"},
        {"--upscaler", "upscaler",
         "ESRGAN or SPAN that makes the images larger: a file or a name"}})
    add(flag, std::string("components.") + name, "FOLDER|FILE", parts_[name], help);
  add("--component", "components", "NAME=PATH", components_,
      "any part in place of the model's; repeatable");
}

void RequestOptions::add_key(const KeyInfo& key) {
  const std::string flag = "--" + key.flag_name();
  const std::string brief = *key.brief ? std::string("-") + key.brief : "";
  if (command_.get_option_no_throw(flag) ||
      (!brief.empty() && command_.get_option_no_throw(brief))) {
    throw InvalidRequest({"config key", key.name,
                          fmt::format("its flag {} is taken by another", flag),
                          "a plug-in that declares it gives it another flag"});
  }
  const std::string field = std::string("config.") + key.name;
  const std::string names = brief.empty() ? flag : brief + "," + flag;
  if (key.type != KeyInfo::Type::boolean) {
    CLI::Option* option = add(names, field, value_words(key).c_str(), values_[key.name], key.help);
    // "--sampler dpmpp_2m --scheduler karras", as other programs have two flags, is one name.
    if (key.name == std::string_view(keys::scheduler.name)) option->join(' ');
    return;
  }
  // What is on unless it is turned off has a flag for that.
  const std::string off = key.fallback_json() == true ? "--no-" + key.flag_name() : "";
  command_.fields.add_switch(field, flag, off);
  std::string all = aliases_.with(names, field);
  if (!off.empty()) all += ",!" + off;
  command_.add_flag(all, flags_[key.name], key.help);
}

}  // namespace omnirt::cli
