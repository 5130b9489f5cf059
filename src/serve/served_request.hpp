#pragma once
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "request/request.hpp"
#include "serve/job.hpp"
#include "serve/multipart.hpp"

namespace omnirt::serve {

inline constexpr int64_t max_deadline_ms = int64_t{7} * 24 * 3600 * 1000;

// What requests may ask for, and what their names mean here.
struct ServedModels {
  std::map<std::string, std::string> models;  // {id: as the engine is given it}
  std::string first;                          // of a request that names none
  std::vector<std::filesystem::path> lora_folders;
  std::filesystem::path controlnets{};  // has a folder for each; "": there are none
};

// A file that came with a request: what it holds is an image, by its own bytes.
struct SentFile {
  std::string name;  // to be written as; "input-0.png"
  std::string bytes;
};

// A request from outside, made one that runs here.
struct ServedRequest {
  GenerateRequest request;  // models, adapters and files by their names, never by paths
  std::string model;        // the request's model as the engine is given it: an id, or a path
  std::vector<SentFile> files;
  bool async = false;
  bool strict = false;
  // A config key without effect is an error: the fields of other programs' requests mean something.
  bool all_take_effect = false;
  std::set<std::string> may_lack_effect{};  // keys for which it is a warning all the same
  // Sizes are rounded down to what the model makes, as stable-diffusion-webui does.
  bool rounds_sizes = false;
  Priority priority = Priority::normal;
  int64_t deadline_in_ms = 0;

  // The request as the engine runs it, with its files, and those that the run writes, in `folder`.
  GenerateRequest in_folder(const std::filesystem::path& folder) const;
};

// Reads a body: the JSON request form (docs/requests.md), with `async`, `strict`, `priority` and
// `deadline_ms`. Images stand in inputs as {"data": BASE64}, as "data:" URLs, or as {"part": NAME}
// of a multipart body. Nothing in it can name a path of this machine: paths, and models,
// adapters and components that are not among `models` are findings. Throws InvalidRequest with all
// of them.
ServedRequest read_served_request(std::string_view json, const std::vector<Part>& parts,
                                  const ServedModels& models);
// The body of either kind, by its Content-Type.
ServedRequest read_served_body(std::string_view content_type, std::string_view body,
                               const ServedModels& models);

}  // namespace omnirt::serve
