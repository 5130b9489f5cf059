#pragma once
#include <filesystem>
#include <string>

namespace omnirt::hub {

// Where the local cache of the Hugging Face hub is (huggingface_hub's constants.py): HF_HUB_CACHE,
// HF_HOME/hub, XDG_CACHE_HOME/huggingface/hub or ~/.cache/huggingface/hub; empty where none is set.
std::filesystem::path cache_folder();
// Throws InvalidRequest naming the variable where `cache` is empty, or there is something else than
// a folder that can be read; one that does not exist is made when something is downloaded.
void check_cache_folder(const std::filesystem::path& cache);

// What huggingface_hub reads from the environment, under its names.
struct Settings {
  std::string endpoint;  // HF_ENDPOINT, without a slash at its end
  std::string token;     // HF_TOKEN, or the file that `hf auth login` writes; "": none
  std::filesystem::path cache;
  bool offline = false;  // HF_HUB_OFFLINE

  // Throws InvalidRequest naming the variable: an endpoint that is no http or https address, a
  // token of other characters than a header can hold, or one that would travel unencrypted.
  static Settings of_environment();
};

}  // namespace omnirt::hub
