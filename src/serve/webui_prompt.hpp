#pragma once
#include <string>

#include "base/json.hpp"

namespace omnirt::serve {

// A prompt of stable-diffusion-webui as one of ours.
struct WebuiPrompt {
  std::string text;
  Json adapters = Json::array();  // of its <lora:name:0.8>
};

// Takes <lora:...> out of a prompt. Where the model's prompts have no weights (`weighs_words` is
// false), the text has the words alone, and weights are refused. Throws InvalidRequest under
// `field`.
WebuiPrompt read_webui_prompt(const std::string& prompt, const std::string& field,
                              bool weighs_words);

}  // namespace omnirt::serve
