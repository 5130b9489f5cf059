#pragma once
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/json.hpp"
#include "io/sharded.hpp"

namespace omnirt::adapters {

// What a file says of one layer: its tensors by what they are.
struct FileLayer {
  std::string name;              // as in the file, without the tensors' endings
  std::string component;         // that the file's layout names ("unet", "text_encoder_2"), or ""
  std::string layout;            // the notation of its keys, as in ParsedKey
  std::optional<size_t> number;  // of a layout that counts layers
  // "up", "down", "mid", "alpha", "magnitude", "up_bias", "diff", "diff_b", "norm", "hada_w1_a",
  // "lokr_w1",
  // ...; and the file's whole names of them.
  std::map<std::string, io::FoundTensor> parts;
};

// A token that a file brings: a vector for each of its tensor's rows.
struct FileToken {
  std::string token;        // "" where the file does not name it
  std::string encoder;      // "clip_l", "clip_g" where the file distinguishes encoders, or ""
  io::FoundTensor vectors;  // {D} or {n, D}
};

// Ranks and alphas that are stored next to the tensors: PEFT's adapter_config.json, or the same in
// the file's metadata.
struct PeftSettings {
  double rank = 0, alpha = 0;                                 // 0: not said
  std::map<std::string, double> rank_pattern, alpha_pattern;  // by the end of a layer's name
  bool rank_stabilised = false;                               // alpha / sqrt(rank)
};

// An adapter's file, by its header: what is in it, nothing matched with a model yet.
struct AdapterFile {
  std::filesystem::path path;
  // The notations of its keys ("kohya", "diffusers", "peft", "xlabs", "cloneofsimo", "embedding"),
  // joined by "+". Matched with a network, a file may have a layout of its own
  // (Resolution::layout).
  std::string layout;
  std::vector<FileLayer> layers;
  std::vector<FileToken> tokens;
  std::map<std::string, PeftSettings> settings;  // by component; "" for all
  std::map<std::string, std::string> metadata;
  std::vector<Finding> problems;  // keys that no layout has, and what no build applies
  // What says which bytes these are: path, size, time of change.
  std::string identity;

  // "lora", "loha", "lokr", "dora", "diff", "norm", "textual_inversion": all that are in it.
  std::vector<std::string> kinds() const;
};

// Reads the header of a safetensors file, or of the one in an adapter's folder; `file` names one of
// several. Throws InvalidFile or InvalidRequest; what single keys have wrong is in `problems`, each
// under `field`.
AdapterFile open_adapter(const std::filesystem::path& path, const std::string& file,
                         const std::string& field);

// Which kind a layer is of; "" where its tensors are not complete.
std::string kind_of(const FileLayer& layer);

}  // namespace omnirt::adapters
