#include "weights/adapters/adapter_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <set>

#include "base/nearest.hpp"
#include "base/path_text.hpp"
#include "io/file.hpp"
#include "io/utf8.hpp"
#include "weights/adapters/layouts.hpp"
#include "weights/adapters/limits.hpp"
#include "weights/adapters/peft_settings.hpp"

namespace omnirt::adapters {
namespace fs = std::filesystem;
namespace {

constexpr size_t most_layers = 100'000;
constexpr size_t most_problems = 12;  // reported one by one; the others are counted

bool is_file(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

bool is_safetensors(const fs::path& file) {
  std::string suffix = file.extension().string();
  std::ranges::transform(suffix, suffix.begin(), [](unsigned char c) { return std::tolower(c); });
  return suffix == ".safetensors";
}

std::vector<fs::path> weights_in(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (is_safetensors(entry.path())) found.push_back(entry.path());
  }
  std::ranges::sort(found);
  return found;
}

// The file of an adapter's folder that holds its tensors.
fs::path file_in(const fs::path& folder, const std::string& field) {
  for (const char* name : {"adapter_model.safetensors", "pytorch_lora_weights.safetensors",
                           "learned_embeds.safetensors"}) {
    if (is_file(folder / name)) return folder / name;
  }
  std::vector<fs::path> found = weights_in(folder);
  if (found.size() == 1) return found.front();
  if (found.empty()) {
    throw InvalidRequest({field + ".path", path_text(folder), "the folder has no .safetensors file",
                          "name an adapter's file or folder; convert a .bin or .pt in Python: "
                          "safetensors.torch.save_file(torch.load(PATH, weights_only=True), NEW)"});
  }
  std::vector<std::string> names;
  for (const fs::path& path : found) names.push_back(path.filename().string());
  throw InvalidRequest({field + ".path", path_text(folder),
                        fmt::format("the folder has several files: {}", fmt::join(names, ", ")),
                        "name one of them in `file`"});
}

std::string identity_of(const fs::path& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return path.native();
  return fmt::format("{}|{}|{}.{}|{}", path.native(), status.st_size, status.st_mtim.tv_sec,
                     status.st_mtim.tv_nsec, status.st_ino);
}

// How a tensor that is a token's vectors is named, or nullopt where it is none.
std::optional<FileToken> parse_token(const std::string& key, const io::FoundTensor& tensor,
                                     bool beside_layers,
                                     const std::map<std::string, std::string>& metadata) {
  size_t rank = tensor.entry->shape.size();
  if (rank < 1 || rank > 2) return std::nullopt;
  FileToken token{"", "", tensor};
  std::string rest = key;
  constexpr std::string_view bundle = "bundle_emb.";
  bool bundled = key.starts_with(bundle);
  if (bundled) {
    size_t dot = key.find('.', bundle.size());
    if (dot == key.npos) return std::nullopt;
    token.token = key.substr(bundle.size(), dot - bundle.size());
    rest = key.substr(dot + 1);
  }
  if (rest == "emb_params" || rest == "string_to_param.*") return token;
  // Of pivotal tuning for Stable Diffusion XL (cog-sdxl's embeddings.pti) the second names.
  for (const auto& [name, encoder] : {std::pair{"clip_l", "clip_l"},
                                      {"clip_g", "clip_g"},
                                      {"text_encoders_0", "clip_l"},
                                      {"text_encoders_1", "clip_g"}}) {
    if (rest != name) continue;
    token.encoder = encoder;
    return token;
  }
  auto said = metadata.find(key);
  bool marked = key.starts_with('<') || (said != metadata.end() && said->second == "<embed>");
  if (bundled || (beside_layers ? !marked : !marked && key.find('.') != key.npos))
    return std::nullopt;
  token.token = key;
  return token;
}

class Reader {
 public:
  Reader(AdapterFile& file, const io::TensorFiles& tensors, std::string field)
      : file_(file), tensors_(tensors), field_(std::move(field)) {}

  void read() {
    std::vector<std::string> others;
    std::set<std::string> layouts;
    for (const std::string& key : tensors_.names()) {
      auto parsed = parse_key(key);
      if (parsed && not_applied(key).empty()) {
        layouts.insert(parsed->layout);
        take(key, *parsed);
      } else {
        others.push_back(key);
      }
    }
    for (const std::string& key : others) take_other(key);
    file_.layout = fmt::format("{}", fmt::join(layouts, "+"));
    if (file_.layers.empty() && !file_.tokens.empty()) file_.layout = "embedding";
    for (const FileLayer& layer : file_.layers) check(layer);
    finish();
  }

 private:
  void take(const std::string& key, const ParsedKey& parsed) {
    auto [at, fresh] = places_.try_emplace({parsed.component, parsed.layer}, file_.layers.size());
    if (fresh) {
      if (file_.layers.size() == most_layers)
        throw InvalidFile({path_text(file_.path), "", "more layers than any adapter has", ""});
      file_.layers.push_back({parsed.layer, parsed.component, parsed.layout, parsed.number, {}});
    }
    auto found = tensors_.find(key);
    if (!file_.layers[at->second].parts.emplace(parsed.part, *found).second)
      problem(key, "a second tensor for the same part of a layer", "");
  }

  void take_other(const std::string& key) {
    std::string known = not_applied(key);
    if (!known.empty()) {
      problem(key, fmt::format("belongs to {}, which this build does not apply", known),
              "merge it into the checkpoint beforehand");
      return;
    }
    auto token = parse_token(key, *tensors_.find(key), !file_.layers.empty(), file_.metadata);
    if (token && token->token.size() > max_token_bytes)
      name_too_long(key, token->token.size());
    else if (token)
      take_token(*token);
    else
      problem(key, "no adapter layout has such a key", "");
  }

  void take_token(const FileToken& token) {
    if (file_.tokens.size() == max_tokens) {
      throw InvalidFile({path_text(file_.path), "", fmt::format("more than {} tokens", max_tokens),
                         "give some of them in a file of their own"});
    }
    file_.tokens.push_back(token);
    has_tokens_ = true;
  }

  void name_too_long(const std::string& key, size_t bytes) {
    problem(key, fmt::format("a token of {} bytes; the limit is {}", bytes, max_token_bytes),
            "give it a shorter name");
    has_tokens_ = true;
  }

  void check(const FileLayer& layer) {
    if (!kind_of(layer).empty()) return;
    std::vector<std::string> there;
    for (const auto& [part, tensor] : layer.parts) there.push_back(part);
    problem(layer.name, fmt::format("not complete: it has only {}", fmt::join(there, ", ")),
            "download the file again");
  }

  void problem(const std::string& key, std::string message, std::string way_out) {
    if (count_++ >= most_problems) return;
    file_.problems.push_back({fmt::format("{} ({})", field_, file_.path.filename().string()), key,
                              std::move(message), std::move(way_out)});
  }

  void finish() {
    if (count_ > most_problems) {
      file_.problems.push_back({field_, path_text(file_.path),
                                fmt::format("and {} more such keys", count_ - most_problems), ""});
    }
    if (!file_.layers.empty() || has_tokens_) return;
    if (tensors_.size() == 0)
      throw InvalidFile({path_text(file_.path), "", "no adapter: it holds no tensors", ""});
    file_.problems = {{field_ + ".path", path_text(file_.path),
                       fmt::format("no adapter: none of its {} tensors is a part of one (the first "
                                   "is {})",
                                   tensors_.size(), io::shown_name(tensors_.names().front())),
                       "a component's whole weights go into `components`, a model's into `model`"}};
    std::string known = not_applied(tensors_.names().front());
    if (!known.empty())
      file_.problems[0].message =
          fmt::format("an adapter of a kind that is not applied: {}", known);
  }

  AdapterFile& file_;
  const io::TensorFiles& tensors_;
  std::string field_;
  std::map<std::pair<std::string, std::string>, size_t> places_;
  size_t count_ = 0;
  bool has_tokens_ = false;
};

}  // namespace

std::string kind_of(const FileLayer& layer) {
  auto has = [&](const char* part) { return layer.parts.contains(part); };
  auto has_pair = [&](const char* whole, const char* a, const char* b) {
    return has(whole) || (has(a) && has(b));
  };
  std::string kind;
  if (has("up") && has("down"))
    kind = "lora";
  else if (has("hada_w1_a") && has("hada_w1_b") && has("hada_w2_a") && has("hada_w2_b") &&
           has("hada_t1") == has("hada_t2"))
    kind = "loha";
  else if (has_pair("lokr_w1", "lokr_w1_a", "lokr_w1_b") &&
           has_pair("lokr_w2", "lokr_w2_a", "lokr_w2_b"))
    kind = "lokr";
  else if (has("diff") || has("diff_b"))
    kind = "diff";
  else if (has("norm"))
    kind = "norm";
  if (kind == "lora" && (has("magnitude") || has("dora_scale"))) kind = "dora";
  return kind;
}

std::vector<std::string> AdapterFile::kinds() const {
  std::set<std::string> found;
  for (const FileLayer& layer : layers) {
    std::string kind = kind_of(layer);
    if (!kind.empty()) found.insert(kind);
  }
  if (!tokens.empty()) found.insert("textual_inversion");
  return {found.begin(), found.end()};
}

AdapterFile open_adapter(const fs::path& path, const std::string& file, const std::string& field) {
  std::error_code error;
  bool folder = fs::is_directory(path, error);
  if (!file.empty() && (file.find('/') != file.npos || !folder)) {
    throw InvalidRequest({field + ".file", file, "no file's name in an adapter's folder",
                          "give path the folder, and file a name in it"});
  }
  AdapterFile adapter;
  adapter.path = !folder ? path : file.empty() ? file_in(path, field) : path / file;
  adapter.identity = identity_of(adapter.path);
  auto tensors = io::TensorFiles::open_file(adapter.path);
  for (const auto& opened : tensors.files())
    adapter.metadata.insert(opened->metadata().begin(), opened->metadata().end());
  fs::path config = adapter.path.parent_path() / "adapter_config.json";
  if (adapter.path.filename() == "adapter_model.safetensors" && is_file(config)) {
    adapter.settings[""] = read_peft_config(config);
    adapter.identity += "|" + identity_of(config);
  }
  auto said = adapter.metadata.find("lora_adapter_metadata");
  if (said != adapter.metadata.end())
    read_peft_metadata(said->second, path_text(adapter.path), adapter.settings);
  Reader(adapter, tensors, field).read();
  return adapter;
}

}  // namespace omnirt::adapters
