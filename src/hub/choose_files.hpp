#pragma once
#include <functional>
#include <string>
#include <vector>

#include "hub/listing.hpp"

namespace omnirt::hub {

// Which files of a repository are wanted.
struct Choice {
  std::vector<std::string> patterns;  // files by name or pattern ("*.safetensors"); empty: what a
                                      // run needs
  std::string variant;                // weights of this variant ("fp16") where there are any
  bool all = false;                   // every file
};

// A small file's text; fetched, where it is not here.
using ReadFile = std::function<std::string(const RemoteFile&)>;

// The files that `choice` means, each once:
// * of a pipeline (model_index.json): the index, each component's JSON files and vocabularies, and
//   its weights in one form: safetensors, one variant, a single file or its shards
//   (io/weight_choice.hpp). Of a safety checker no weights: nothing here runs one.
// * of one component (config.json with weights beside it): the same of the top folder.
// * of a repository with one .safetensors or .gguf file at its top: that one.
// Throws InvalidRequest where that leaves none, or a choice; the message lists what is there.
std::vector<RemoteFile> choose_files(const Listing& listing, const Choice& choice,
                                     const ReadFile& read);

}  // namespace omnirt::hub
