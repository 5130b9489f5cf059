#include "weights/adapters/layouts.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

namespace omnirt::adapters {
namespace {

using namespace std::string_view_literals;

struct Ending {
  std::string_view text;
  std::string_view part;
  std::string_view layout{};  // of which it is a sign; "": of several
};

// An ending that is part of another one comes after it.
constexpr auto endings = std::to_array<Ending>({
    // kohya and LyCORIS
    {".lora_up.weight", "up"},
    {".lora_down.weight", "down"},
    {".lora_mid.weight", "mid"},
    {".lora_up.bias", "up_bias"},
    {".alpha", "alpha"},
    {".dora_scale", "dora_scale"},
    {".diff", "diff"},
    {".diff_b", "diff_b"},
    {".w_norm", "diff"},
    {".b_norm", "diff_b"},
    // PEFT, and diffusers since it builds on it
    {".lora_B.weight", "up"},
    {".lora_A.weight", "down"},
    {".lora_B.bias", "up_bias"},
    {".lora_magnitude_vector", "magnitude"},
    {".lora_magnitude_vector.weight", "magnitude"},
    // diffusers before
    {".lora_linear_layer.up.weight", "up"},
    {".lora_linear_layer.down.weight", "down"},
    {".lora.up.weight", "up"},
    {".lora.down.weight", "down"},
    {".lora.up.bias", "up_bias"},
    {".lora.alpha", "alpha"},
    {"_lora.up.weight", "up"},
    {"_lora.down.weight", "down"},
    {"_lora.alpha", "alpha"},
    // XLabs, whose processors number what they change: "qkv_lora1"
    {".up.weight", "up", "xlabs"},
    {".down.weight", "down", "xlabs"},
});

// The names of LoHa's and LoKr's tensors are the same in LyCORIS and PEFT.
constexpr auto lycoris_parts = std::to_array<std::string_view>(
    {"hada_w1_a", "hada_w1_b", "hada_w2_a", "hada_w2_b", "hada_t1", "hada_t2", "lokr_w1",
     "lokr_w1_a", "lokr_w1_b", "lokr_w2", "lokr_w2_a", "lokr_w2_b", "lokr_t2"});

// What a control LoRA brings in place of a norm's weight, in diffusers' names and the original's.
constexpr auto norms = std::to_array<std::string_view>(
    {".norm_q.weight", ".norm_k.weight", ".norm_added_q.weight", ".norm_added_k.weight",
     ".query_norm.scale", ".key_norm.scale"});

struct Beginning {
  std::string_view text;
  std::string_view component;
  std::string_view layout;
};

// The first that fits counts. Those that end in an underscore go before names whose dots are
// underscores too.
constexpr auto beginnings = std::to_array<Beginning>({
    {"lora_unet_", denoiser_component, "kohya"},
    {"lora_transformer_", denoiser_component, "kohya"},
    {"lora_te1_", "text_encoder", "kohya"},
    {"lora_te2_", "text_encoder_2", "kohya"},
    {"lora_te3_", "text_encoder_3", "kohya"},
    {"lora_te_", "text_encoder", "kohya"},
    {"lycoris_", "", "kohya"},
    {"unet.", denoiser_component, "diffusers"},
    {"transformer.", denoiser_component, "diffusers"},
    {"text_encoder.", "text_encoder", "diffusers"},
    {"text_encoder_2.", "text_encoder_2", "diffusers"},
    {"text_encoder_3.", "text_encoder_3", "diffusers"},
    // As single-file tools write them.
    {"model.diffusion_model.", denoiser_component, "original"},
    {"diffusion_model.", denoiser_component, "original"},
    {"text_encoders.clip_l.transformer.", "text_encoder", "original"},
    {"text_encoders.clip_g.transformer.", "text_encoder_2", "original"},
});

struct Unapplied {
  std::string_view part;
  std::string_view what;
};

constexpr auto unapplied = std::to_array<Unapplied>({
    {".oft_", "OFT, which turns weights"},
    {".boft_", "BOFT, which turns weights"},
    {".hra_u", "HRA, which reflects weights"},
    {".a1.weight", "GLoRA"},
    {".a2.weight", "GLoRA"},
    {".b1.weight", "GLoRA"},
    {".b2.weight", "GLoRA"},
    {".on_input", "(IA)^3"},
    {".ia3_l", "(IA)^3"},
    {".vera_", "VeRA"},
    {".lora_E", "AdaLoRA"},
    {".lora_embedding_", "a LoRA of an embedding table"},
    {".bias_indices", "sparse residues"},
    {".bias_values", "sparse residues"},
    {".bias_size", "sparse residues"},
    {".set_weight", "a weight in place of the model's"},
    {".reshape_weight", "a weight of another shape"},
    {"_ip.", "an IP-Adapter"},
    {"to_k_custom_diffusion", "Custom Diffusion"},
    {"to_v_custom_diffusion", "Custom Diffusion"},
});

std::optional<size_t> whole_number(std::string_view text) {
  size_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// "unet:12:up" (cloneofsimo/lora).
std::optional<ParsedKey> parse_numbered(const std::string& key) {
  size_t first = key.find(':'), last = key.rfind(':');
  if (first == key.npos || first == last) return std::nullopt;
  std::string component = key.substr(0, first), part = key.substr(last + 1);
  auto number = whole_number(std::string_view(key).substr(first + 1, last - first - 1));
  bool known = component == "unet" || component.starts_with("text_encoder");
  if (!number || !known || (part != "up" && part != "down" && part != "alpha")) return std::nullopt;
  return ParsedKey{key.substr(0, last), part, component == "unet" ? denoiser_component : component,
                   "cloneofsimo", number};
}

// PEFT puts the adapter's own name into keys: ".lora_A.style.weight".
std::string without_adapter_name(const std::string& key) {
  for (const char* part : {".lora_A.", ".lora_B.", ".lora_magnitude_vector."}) {
    size_t at = key.rfind(part);
    if (at == key.npos) continue;
    size_t begin = at + std::string_view(part).size(), end = key.find('.', begin);
    if (end != key.npos && key.find('.', end + 1) == key.npos)
      return key.substr(0, begin) + key.substr(end + 1);
  }
  return key;
}

// Cuts the ending off `parsed.layer`, and sets what it means. False where it is not known.
bool take_ending(ParsedKey& parsed) {
  std::string& name = parsed.layer;
  if (std::ranges::any_of(norms, [&](std::string_view norm) { return name.ends_with(norm); })) {
    name.resize(name.rfind('.'));
    parsed.part = "norm";
    return true;
  }
  for (const Ending& ending : endings) {
    if (!name.ends_with(ending.text)) continue;
    name.resize(name.size() - ending.text.size());
    parsed.part = ending.part;
    if (!ending.layout.empty()) parsed.layout = ending.layout;
    return true;
  }
  size_t dot = name.rfind('.');
  if (dot == name.npos) return false;
  std::string part = name.substr(dot + 1);
  if (std::ranges::find(lycoris_parts, part) == lycoris_parts.end()) return false;
  name.resize(dot);
  parsed.part = part;
  return true;
}

}  // namespace

std::optional<ParsedKey> parse_key(const std::string& key) {
  if (auto numbered = parse_numbered(key)) return numbered;
  ParsedKey parsed{without_adapter_name(key), "", "", "diffusers", std::nullopt};
  if (!take_ending(parsed)) return std::nullopt;
  constexpr std::string_view peft = "base_model.model.";
  if (parsed.layer.starts_with(peft)) {
    parsed.layer.erase(0, peft.size());
    parsed.layout = "peft";
  }
  for (const Beginning& beginning : beginnings) {
    if (!parsed.layer.starts_with(beginning.text)) continue;
    parsed.layer.erase(0, beginning.text.size());
    parsed.component = beginning.component;
    if (parsed.layout != "peft") parsed.layout = beginning.layout;
    break;
  }
  // Attention processors were modules of their own.
  constexpr std::string_view processor = ".processor.";
  if (size_t at = parsed.layer.find(processor); at != parsed.layer.npos)
    parsed.layer.replace(at, processor.size(), ".");
  // Some files of FLUX.2 lost the first letters (diffusers reads them so, too).
  constexpr std::string_view cut = "sformer_blocks.";
  if (parsed.layer.starts_with(cut)) parsed.layer.insert(0, "tran");
  return parsed;
}

const std::vector<std::string>& all_kinds() {
  static const std::vector<std::string> kinds = [] {
    std::vector<std::string> all = layer_kinds();
    all.emplace_back("textual_inversion");
    return all;
  }();
  return kinds;
}

const std::vector<std::string>& layer_kinds() {
  static const std::vector<std::string> kinds{"lora", "loha", "lokr", "dora", "diff", "norm"};
  return kinds;
}

std::string not_applied(const std::string& key) {
  auto found = std::ranges::find_if(
      unapplied, [&](const Unapplied& each) { return key.find(each.part) != key.npos; });
  return found == unapplied.end() ? "" : std::string(found->what);
}

}  // namespace omnirt::adapters
