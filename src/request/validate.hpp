#pragma once
#include "pipeline/artifact.hpp"
#include "request/component_files.hpp"
#include "request/proposal.hpp"

namespace omnirt {

class ValidatedRequest;  // request/validated_request.hpp

struct ValidateOptions {
  // The process ends after this run: components release their memory after their last use unless
  // the request says otherwise.
  bool single_run = false;
  bool strict = false;    // warnings about unknown keys and schedulers become errors
  std::string confine{};  // a folder outside which no path of a request may be; "": anywhere
  Files files = Files::always;
  KnownNetworks* networks = nullptr;  // of earlier requests to the same catalogue; null: none
  // Of the same request: a run uses it instead of validating again if it still holds.
  std::shared_ptr<const ValidatedRequest> validated{};
  bool operator==(const ValidateOptions&) const = default;
};

// Settles a request against the catalogue and the model's folder, reading JSON files and image
// headers only. Does not throw for what the request or the folder holds: all findings are in the
// proposal together.
Proposal validate(const Catalogue& catalogue, const GenerateRequest& request,
                  const ValidateOptions& options = {});

// The component that a preview_decoder other than "linear" is loaded as.
inline constexpr const char* preview_component = "preview_decoder";

namespace validation {

// The steps, in order; each adds to the proposal. False: nothing further can be said.
void settle_paths(Proposal& proposal);  // validate_inputs.cpp
// Whether a field ("components.upscaler") names an upscaler, which is found by name as well.
inline bool is_upscaler(const std::string& field) {
  return field == "components.upscaler" || field == "components.hires_upscaler";
}
void settle_resume(Proposal& proposal);      // validate_resume.cpp
bool settle_model(Proposal& proposal);       // validate_model.cpp
bool settle_task(Proposal& proposal);        // validate_model.cpp
void settle_backend(Proposal& proposal);     // validate_model.cpp
void settle_components(Proposal& proposal);  // validate_model.cpp
// What the model says of a component of its own, or of one that it lacks.
WantedComponent wanted_component(const Proposal& proposal, const std::string& name);
void settle_resumed_components(Proposal& proposal);  // validate_resume.cpp
void settle_networks(Proposal& proposal);            // validate_model.cpp
void settle_choices(Proposal& proposal);             // validate_config.cpp
void settle_guider(Proposal& proposal);              // validate_guidance.cpp
void settle_inputs(Proposal& proposal);              // validate_inputs.cpp
// An input that is an image, images, latents or embeddings, of a file or in memory; false where it
// is something else.
bool take_files(Proposal& proposal, const RequestInput& input,
                const Json& value);  // validate_files.cpp
// Generators of a run that draws nothing would be ignored in silence.
void take_noise(Proposal& proposal);     // validate_files.cpp
void check_things(Proposal& proposal);   // validate_things.cpp
void settle_config(Proposal& proposal);  // validate_config.cpp
// The devices of the components that device_map places.
void settle_devices(Proposal& proposal);    // validate_devices.cpp
void check_memory(Proposal& proposal);      // validate_memory.cpp
void settle_storage(Proposal& proposal);    // validate_storage.cpp
void settle_scheduler(Proposal& proposal);  // validate_scheduler.cpp
void check_size(Proposal& proposal);        // validate_size.cpp
void settle_output(Proposal& proposal);     // validate_inputs.cpp
void settle_adapters(Proposal& proposal);   // validate_adapters.cpp
// Whether prompts are read as A1111 reads them.
bool reads_a1111(const Proposal& proposal);  // validate_prompts.cpp
// Whether the family reads an input of this name, or one that replaces it, as texts.
bool is_text(const Proposal& proposal, std::string name);
// Takes <lora:name:0.8> of a1111 prompts out of them, and to the adapters after the given ones.
void take_prompt_adapters(Proposal& proposal);  // validate_prompts.cpp
// The adapters' paths from `first` on, absolute, and where they may be.
void settle_adapter_paths(Proposal& proposal, size_t first);  // validate_inputs.cpp
void settle_preview(Proposal& proposal);                      // validate_preview.cpp
// Whether the network predicts guided results by itself from the scale (latent consistency models):
// then it is evaluated under one condition, as in the reference.
bool takes_guidance_scale(const Proposal& proposal);  // validate_guidance.cpp
// Hides the short keys of guidance that this run does not read.
void hide_unused_guidance(Proposal& proposal);  // validate_guidance.cpp
// Settings of a guider whose scale asks for no guidance are ignored: a warning for each.
void warn_of_unguided(Proposal& proposal);  // validate_guidance.cpp
// The fix for what has no effect without guidance: "raise config.guidance_scale above 1, or remove
// it".
std::string guidance_fix(const Proposal& proposal);  // validate_guidance.cpp
// Takes the network of a component's config among the facts; what is wrong with it is a finding
// once the component is asked for.
void describe(Proposal& proposal, const ComponentFolder& component);  // validate_model.cpp
// The first parent that exists must be a folder that this user may write to; the rest is made when
// the run writes there.
void check_output_dir(Proposal& proposal, const std::string& field,
                      const std::filesystem::path& given);  // validate_inputs.cpp
// An output that is a folder ("dir/", or one that is there) is output_dir by another name.
void take_output_folder(Proposal& proposal);  // validate_output.cpp
// What an output's name holds in braces, and that no file of the request would be written over.
void check_output_names(Proposal& proposal, const std::string& output);  // validate_output.cpp
// A file that this run replaces is a warning at any strictness: it hangs on what is there.
void warn_of_replaced(Proposal& proposal);  // validate_output.cpp
// Refuses what a device's capabilities do not have.
void check_backend_modes(Proposal& proposal);  // validate_backend.cpp
// A seed that asks for a random one ("random", -1) is as good as none.
void settle_seed(Proposal& proposal);  // validate_words.cpp
// A hires_upscaler that is none of the key's names is a network: components.hires_upscaler.
void settle_hires_upscaler(Proposal& proposal);  // validate_words.cpp
// The finding about a config key that is none of `known`: an error where it is known by another
// name, for a step count that is ignored makes another image; else a warning.
void unknown_key(Proposal& proposal, const std::vector<const KeyInfo*>& known,
                 const std::string& where, const std::string& name,
                 const Json& given);  // validate_words.cpp
// The finding about a config key that blocks of the family have, and none that runs: by what
// one of them would.
void key_without_effect(Proposal& proposal, const std::string& where, const std::string& name,
                        const Json& given);  // validate_words.cpp
// The finding about an input that no block of this run reads: which tasks or families take it.
void unknown_input(Proposal& proposal, const std::vector<std::string>& known,
                   const std::string& name, const Json& given);  // validate_words.cpp
// The inputs by which the request could be some task of the family, and is none.
void refuse_inputs(Proposal& proposal, const std::set<std::string>& present);  // validate_words.cpp
// Adds the finding that the state to continue from cannot be that of this run.
void refuse_state(Proposal& proposal, std::string why);  // validate_resume.cpp
// The part of the plan to run; the state's values; whether the state's request is this one.
void settle_part(Proposal& proposal);     // validate_resume.cpp
void restore_values(Proposal& proposal);  // validate_restored.cpp
void compare_record(Proposal& proposal);  // validate_resume.cpp
// The state's values against their ports' shapes, each other, and the request.
void check_restored(Proposal& proposal);  // validate_restored.cpp

}  // namespace validation

// All but the values of the state that a run leaves which stops before the end.
SavedRun begin_saved_run(const Proposal& proposal);
}  // namespace omnirt
