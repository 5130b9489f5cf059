#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "base/site_plan.hpp"
#include "nn/module.hpp"
#include "nn/original_layout.hpp"

namespace omnirt::nn {

// What a network class says of itself, as rows of (attribute, value, what to set to change it).
class Metadata {
 public:
  struct Row {
    std::string key;
    Json value;
    std::string what;  // what it means, and what to set
  };
  Metadata() = default;
  explicit Metadata(std::vector<Row> rows) : rows_(std::move(rows)) {}
  bool contains(const std::string& key) const;
  // Throws InternalError for an unknown key.
  const Json& operator[](const std::string& key) const&;
  const Json& operator[](const std::string& key) const&& = delete;  // it would dangle
  std::vector<std::string> keys() const;
  std::vector<Json> values() const;
  const std::vector<Row>& items() const { return rows_; }
  // A table; `verbose` adds an indented line under each row.
  std::string describe(const std::string& title, bool verbose = false) const;

 private:
  std::vector<Row> rows_;
};

// A change of parameter names between a file's layout and the network's: the first `from` found is
// replaced by `to`.
struct Rename {
  std::string from;
  std::string to;
  bool at_start = false;  // only where the name begins with `from`
};

// How names in checkpoints differ from the topology's. Rules apply in order, each once, to every
// name in the file.
struct WeightMap {
  std::vector<Rename> renames;
  std::vector<std::string>
      ignored;  // names that files hold and inference does not need (buffers); exact
};

// How adapter files name a network's layers, in addition to the network's own names and those of
// its original layouts.
struct AdapterNames {
  std::vector<std::string> prefixes{};  // that files may put before a name: "text_model."
  // A layer's name, and another one that old files have in its place: {"q_proj", "to_q"}.
  std::vector<std::pair<std::string, std::string>> old_names{};
  // Files that number layers instead of naming them count those below modules of some classes,
  // which they may name; in the order of torch's members, which `member_order` lists by class where
  // it is not the topology's.
  struct NumberedClass {
    std::string theirs;  // as files name it
    std::string ours;
    bool by_default = true;  // where a file names none
  };
  std::vector<NumberedClass> numbered_classes{};
  std::map<std::string, std::vector<std::string>> member_order{};
  // Layouts that adapters alone are written in, in addition to the network's original ones.
  std::vector<OriginalLayout> layouts{};
  // The parameter that holds a vector for each token; "": tokens cannot be added.
  std::string token_table{};
};

// The root of a network's tree: a self-contained class built from its config.json.
class Network : public Module {
 public:
  const char* class_name() const override = 0;  // "UNet2DConditionModel"
  virtual Metadata metadata() const = 0;
  virtual WeightMap weight_map() const { return {}; }
  // How original checkpoints, of one file, hold this network; empty where there are none.
  virtual std::vector<OriginalLayout> original_layouts() const { return {}; }
  virtual AdapterNames adapter_names() const { return {}; }
  const Json& config() const { return config_; }

 protected:
  explicit Network(Json config) : config_(std::move(config)) {}

 private:
  Json config_;  // as in the file; a network reads its own struct from it
};

// How a class is recognised that is published as one file of tensors without a config.
struct FromTensors {
  std::string signs{};  // in words: "an IP-Adapter (whose tensors are named ...)"
  // The config inferred from names and shapes, with its class's name; null for files of other
  // classes. Throws Unsupported under `where` for kinds that are not implemented.
  std::function<Json(const std::map<std::string, std::vector<int64_t>>& shapes,
                     const std::string& where)>
      config{};
  // The original layout that names of these shapes are in; none, or "": the network's own.
  std::function<std::string(const std::map<std::string, std::vector<int64_t>>& shapes)> layout{};
  // Prefixes that each name may have; `config` is shown names without.
  std::vector<std::string> prefixes{""};
  // Config keys that tensors do not tell and that the model's own component is asked for, in files
  // of any layout or only in those with the network's own names; the first of them is needed if
  // `needs_first`.
  std::vector<std::string> from_model{};
  bool only_own_names = false;
  bool needs_first = false;
};

// What a GGUF file of a network names as its general.architecture, by a part of a tensor's name: as
// other writers have it (city96's and molbal's ComfyUI-GGUF, llama.cpp), which loaders expect.
struct GgufArchitecture {
  std::string sign;
  std::string name;
};

// What errors call a file that has a tensor of this name, or, if the name ends with a dot, any
// whose name begins so: a file that holds the network and cannot be used where it was given.
struct FileMark {
  std::string name;
  std::string what;  // "a Flux transformer"
};

// A layer by which adapters join further inputs to the latents: where a control LoRA's is twice as
// wide as the model's, the model's becomes as wide.
struct InputWidening {
  std::string key;       // of the config: how many channels are read
  int64_t usual;         // where the config does not say
  std::string made;      // of the config: how many are made; absent: as many as are read
  std::string layer;     // that reads them
  std::string original;  // the same in original files
};

// NetworkInfo::make of a network whose constructor takes its config, read by `read`, and the JSON.
template <class Made, auto read>
std::unique_ptr<Network> network_of(const Json& json, const std::string& where) {
  return std::make_unique<Made>(read(json, where), json);
}

// A network class as the catalogue lists it.
struct NetworkInfo {
  std::string class_name;  // _class_name (diffusers) or architectures[0] (transformers)
  // Throws Unsupported naming each config value that is not implemented; `where` is the config
  // file.
  std::function<std::unique_ptr<Network>(const Json& config, const std::string& where)> make;
  std::string summary;
  std::string weights_base;        // "diffusion_pytorch_model" or "model"
  std::string role;                // "denoiser", "autoencoder", "text_encoder": what it can replace
  FromTensors from_tensors{};      // empty: its folders have a config
  std::string published_prefix{};  // before each name in the files of published folders
  std::vector<GgufArchitecture> gguf{};  // the first whose sign a file has; empty: "none"
  std::optional<InputWidening> widening{};
  std::vector<FileMark> marks{};
};

// The modules of a network that a site plan can name, in order of construction.
std::vector<Site> sites_of(const Network& network);

}  // namespace omnirt::nn
