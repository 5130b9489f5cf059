#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/nearest.hpp"
#include "base/path_text.hpp"
#include "pipeline/keys.hpp"
#include "pipeline/run_keys.hpp"
#include "request/model_search.hpp"
#include "request/other_words.hpp"
#include "request/validate.hpp"
#include "request/web_address.hpp"

namespace omnirt::validation {
namespace fs = std::filesystem;
namespace {

constexpr size_t max_texts = 64;

void take_texts(Proposal& proposal, const std::string& name, const Json& value) {
  std::string field = "inputs." + name;
  Json list = value.is_string() ? Json::array({value}) : value;
  if (!list.is_array() || list.empty() ||
      !std::ranges::all_of(list, [](const Json& t) { return t.is_string(); })) {
    proposal.error(
        {field, shown(value), "a text or a list of texts is expected", "give at least one text"});
    return;
  }
  if (list.size() > max_texts) {
    proposal.error({field, fmt::format("{} texts", list.size()),
                    fmt::format("more than {}", max_texts), "send several requests"});
    return;
  }
  proposal.texts[name] = list.get<std::vector<std::string>>();
}

// Less than any image takes; a disk that fills up during the run is reported then.
constexpr uintmax_t least_free = 4096;

void check_folder(Proposal& proposal, const std::string& field, const fs::path& folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) {
    proposal.error({field, path_text(folder), "there is no such folder to write to",
                    "make it, or name another"});
  } else if (access(folder.c_str(), W_OK | X_OK) != 0) {
    proposal.error(
        {field, path_text(folder), "this user may not write there", "name another folder"});
  } else if (fs::space(folder, error).available < least_free && !error) {
    proposal.error(
        {field, path_text(folder), "its disk is full", "free some space, or name another"});
  }
}

void check_latents_file(Proposal& proposal, const fs::path& output) {
  if (output.extension() == ".safetensors") return;
  proposal.error({"config.output", path_text(output), "latents are written as safetensors",
                  "name a file that ends with .safetensors"});
}

// The folder of a file to write is made where it is missing.
void check_folder_of(Proposal& proposal, const std::string& field, const fs::path& file) {
  std::error_code error;
  check_output_dir(proposal, field, fs::absolute(file, error).parent_path());
}

void check_output_file(Proposal& proposal, const fs::path& output) {
  std::error_code error;
  if (fs::exists(output, error) && !fs::is_regular_file(output, error) &&
      !fs::is_directory(output, error)) {
    proposal.error({"config.output", path_text(output), "this is a pipe, socket or device",
                    "name a file, or use output_dir"});
    return;
  }
  check_folder_of(proposal, "config.output", output);
  // Videos: their export block knows their formats, and that frames go to a folder.
  if (proposal.spec->artifact_kind == "video") return;
  if (proposal.config.maybe(keys::output_type) == OutputType::latent)
    return check_latents_file(proposal, output);
  auto format = proposal.config.maybe(keys::output_format);
  if (output.extension().empty() && format) return;
  try {
    auto by_name = io::image_format_from_path(output);
    if (format && *format != by_name) {
      proposal.error(
          {"config.output_format", name_of(*format),
           fmt::format("disagrees with the output's name {}", output.filename().string()),
           "give one of them"});
    }
  } catch (const InvalidRequest& thrown) {
    proposal.take(thrown);
  }
}

}  // namespace

namespace {

bool is_written_as_path(const std::string& given) {
  return given.starts_with("/") || given.find("..") != given.npos;
}

// Upscalers are also found by name, outside of the folder that requests are confined to too. The
// error for a path outside does not depend on whether anything is there.
std::string upscaler_path(const Proposal& proposal, const std::string& field,
                          const std::string& given) {
  if (is_written_as_path(given))
    return find_upscaler(given, proposal.source_of(field, given), field);
  refuse_url(field, given);
  const fs::path at = proposal.reaches(field, given) ? proposal.request.path_of(field, given) : "";
  return find_upscaler(given, at, field);
}

// Paths of the components, in lists of lists too.
void settle_component(const Proposal& proposal, const std::string& field, Json& value) {
  if (value.is_string() && is_upscaler(field)) {
    value = upscaler_path(proposal, field, value.get<std::string>());
    return;
  }
  const std::string given = value.is_string() ? value.get<std::string>() : "";
  if (!given.empty() && !proposal.request.location_of(field, given))
    value = proposal.source_of(field, given);
  if (value.is_array()) {
    for (Json& each : value) settle_component(proposal, field, each);
  }
}

// A name of an adapter that is no file here is looked for by that name.
void settle_adapter_path(const Proposal& proposal, size_t index, Json& adapter) {
  if (!adapter.is_object() || !adapter.contains("path") || !adapter["path"].is_string()) return;
  std::string given = adapter["path"], field = fmt::format("adapters[{}]", index);
  if (proposal.request.location_of(field, given)) return;
  refuse_url(field, given);
  std::error_code error;
  bool file = !given.empty() && proposal.reaches(field, given) &&
              fs::exists(proposal.request.path_of(field, given), error);
  if (file || is_written_as_path(given)) adapter["path"] = proposal.source_of(field, given);
}

// The conditions of a guider without settings; none where it needs some.
std::vector<Condition> usual_conditions(const GuiderInfo& guider) {
  try {
    return guider.make(Json::object())->conditions();
  } catch (const InvalidRequest&) {
    return {};
  }
}

// Whether some guider's conditions put this input in another's place: negative_prompt.
bool stands_in(const Catalogue& catalogue, const std::string& input) {
  for (const GuiderInfo& guider : catalogue.guiders) {
    for (const Condition& condition : usual_conditions(guider)) {
      for (const auto& [replaced, stand_in] : condition.renames)
        if (stand_in == input) return true;
    }
  }
  return false;
}

bool brings_embeds(const Proposal& proposal) {
  return std::ranges::any_of(proposal.plan.inputs, [&](const RequestInput& input) {
    return input.type == typeid(GivenEmbeds) && proposal.facts.inputs.contains(input.name);
  });
}

bool is_path(const KeyInfo& key, const Json& value) {
  if (!value.is_string() || value.get<std::string>().empty()) return false;
  // Words that name no folder.
  return std::string(key.name) != keys::preview_decoder.name ||
         (value != "linear" && value != "tiny");
}

}  // namespace

void settle_adapter_paths(Proposal& proposal, size_t first) {
  for (size_t i = first; i < proposal.request.adapters.size(); ++i) {
    Json& adapter = proposal.request.adapters[i];
    if (adapter.is_string()) adapter = adapter_of_text(adapter.get<std::string>());
    try {
      settle_adapter_path(proposal, i, adapter);
    } catch (const InvalidRequest& thrown) {
      proposal.take(thrown);
    }
  }
}

// Models and parts of models; the others are written to.
bool is_read(const KeyInfo& key) {
  return key.name == keys::model_path.name || key.name == keys::single_file_config.name ||
         key.name == keys::preview_decoder.name;
}

// From here on the request's paths are absolute (but inputs', whose types the model determines),
// and are where they may be.
void settle_paths(Proposal& proposal) {
  auto each = [&](auto&& settle) {
    try {
      settle();
    } catch (const InvalidRequest& thrown) {
      proposal.take(thrown);
    }
  };
  GenerateRequest& request = proposal.request;
  for (const KeyInfo* key : keys::paths()) {
    auto value = request.config.find(key->name);
    if (value == request.config.end() || !is_path(*key, *value)) continue;
    each([&] {
      const std::string field = std::string("config.") + key->name, given = *value;
      *value = is_read(*key) ? proposal.source_of(field, given) : proposal.path_of(field, given);
    });
  }
  for (auto& [name, value] : request.components.items())
    each([&, &name = name, &value = value] {
      settle_component(proposal, "components." + name, value);
    });
  settle_adapter_paths(proposal, 0);
}

void check_output_dir(Proposal& proposal, const std::string& field, const fs::path& given) {
  std::error_code error;
  try {
    proposal.path_of(field, given.native());
  } catch (const InvalidRequest& thrown) {
    return proposal.take(thrown);
  }
  fs::path at = fs::absolute(given, error);
  while (!fs::exists(at, error) && at != at.root_path()) at = at.parent_path();
  check_folder(proposal, field, at);
}

void settle_inputs(Proposal& proposal) {
  take_noise(proposal);
  std::vector<std::string> names;
  for (const RequestInput& input : proposal.plan.inputs) names.push_back(input.name);
  for (const auto& [name, value] : proposal.request.inputs.items()) {
    if (value.is_null()) continue;
    const RequestInput* input = proposal.plan.find_input(name);
    if (input && input->type == typeid(std::vector<std::string>))
      take_texts(proposal, name, value);
    else if (input && proposal.resumed)
      continue;  // images were checked when the state was made
    else if (input && take_files(proposal, *input, value))
      continue;
    else if (brings_embeds(proposal) && is_text(proposal, name)) {
      proposal.error({"inputs." + name, shown(value), "prompts come encoded here",
                      "remove it, or inputs.encoded_prompt"});
    } else if (stands_in(*proposal.catalogue, name)) {
      proposal.warn({"inputs." + name, shown(value), "has no effect without guidance",
                     guidance_fix(proposal)});
    } else {
      unknown_input(proposal, names, name, value);
    }
  }
  for (const RequestInput& input : proposal.plan.inputs) {
    bool given = proposal.facts.inputs.contains(input.name);
    if (input.required && !given) {
      proposal.error({"inputs." + input.name, "", fmt::format("missing: {}", input.help),
                      fmt::format("add inputs.{}", input.name)});
    }
  }
}

void settle_output(Proposal& proposal) {
  auto state = proposal.config.maybe(keys::state);
  if (state) {
    std::error_code error;
    check_folder(proposal, "config.state", fs::absolute(*state, error).parent_path());
  }
  take_output_folder(proposal);
  auto output = proposal.config.maybe(keys::output);
  auto folder = proposal.config.maybe(keys::output_dir);
  const ConfigValue* dir = proposal.config.find(keys::output_dir.name);
  const bool names_folder = dir && dir->origin == Origin::user;
  const bool latents = proposal.config.maybe(keys::output_type) == OutputType::latent &&
                       proposal.files != Files::named_only;
  proposal.writes_files = proposal.files == Files::always || output || names_folder || latents;
  if (!proposal.writes_files) return;
  if (!output && folder) return check_output_dir(proposal, "config.output_dir", *folder);
  if (!output) return;
  check_output_file(proposal, *output);
  check_output_names(proposal, *output);
  if (folder && names_folder) {
    proposal.warn(
        {"config.output_dir", *folder, "has no effect together with output", "give one of them"});
  }
}

}  // namespace omnirt::validation
