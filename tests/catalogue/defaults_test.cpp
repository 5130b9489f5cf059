// What a request gets for what it omits is what the reference's pipelines have: every pipeline's
// call (tests/goldens/call_defaults.json, tools/goldens/call_defaults.py) against what validation
// settles, for every model and task.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "catalogue/findings.hpp"
#include "catalogue/support.hpp"
#include "pipeline/keys.hpp"
#include "small_models.hpp"

namespace omnirt::testing {
namespace {

// A reference pipeline, and the request that runs what it runs.
struct Case {
  std::string pipeline;
  std::string id;
  std::string task;
  std::string component{};  // given with the model: "controlnet"
  std::string guider{};
};

void PrintTo(const Case& each, std::ostream* out) {
  *out << each.pipeline << "_" << each.id << "_" << each.task;
}

struct Difference {
  std::set<std::string> ids;  // empty: of all models
  std::string key;
  Json ours;
  const char* reason;
};

// The lines of the reference's instruction.
std::string sana_instruction() {
  const Json table = read_json_file(source_path("tests/goldens/call_defaults.json"));
  std::string text;
  for (const Json& line : table["pipelines"]["SanaPipeline"]["complex_human_instruction"])
    text += (text.empty() ? "" : "\n") + line.get<std::string>();
  return text;
}

// Values that are others than the reference's on purpose.
const std::vector<Difference>& differences() {
  const std::set<std::string> klein{"flux2.klein-4b", "flux2.klein-9b", "flux2.klein-9b-kv"};
  const std::set<std::string> qwen{"qwen-image", "qwen-image-2512"};
  const std::set<std::string> edits{"qwen-image-edit", "qwen-image-edit-2509",
                                    "qwen-image-edit-2511", "qwen-image-layered"};
  const std::set<std::string> schnell{"flux1.schnell"};
  static const std::vector<Difference> all{
      {{"emoji-sd"}, "num_inference_steps", 20, "the model's own: it is made by this project"},
      {{"emoji-sd"}, "guidance_scale", 5.0, "the model's own"},
      {{"emoji"}, "num_inference_steps", 8, "the model's own: it is made by this project"},
      {{"emoji"}, "guidance_scale", 1.0, "trained without guidance"},
      {{"emoji"}, "max_sequence_length", 32, "the longest text that it was trained with"},
      {{"emoji"}, "width", 128, "the size that it was trained with"},
      {{"emoji"}, "height", 128, "the size that it was trained with"},
      {{"sdxl-turbo"},
       "num_inference_steps",
       1,
       "distilled to one step, as its model card runs it"},
      {{"sdxl-turbo"}, "num_inference_steps", 2, "half of them at strength 0.5, as its card says"},
      {{"sdxl-turbo"}, "guidance_scale", 0.0, "distilled without guidance"},
      {{"sdxl-turbo"}, "strength", 0.5, "one of two steps, as its model card runs it"},
      {klein, "num_inference_steps", 4, "distilled to four steps, as its model card runs it"},
      {klein, "guidance_scale", 1.0, "distilled without guidance: the reference ignores a scale"},
      {qwen, "num_inference_steps", 30, "as DiffSynth-Studio runs it; preset quality has 50"},
      {qwen, "guidance_scale", 4.0, "the reference calls it true_cfg_scale"},
      {edits, "guidance_scale", 4.0, "the reference calls it true_cfg_scale"},
      {qwen, "width", 1328, "the size that it was trained with"},
      {qwen, "height", 1328, "the size that it was trained with"},
      {schnell, "num_inference_steps", 4, "distilled to four steps, as its model card runs it"},
      {schnell, "guidance_scale", nullptr, "its network takes none: the reference ignores a scale"},
      {schnell, "max_sequence_length", 256, "as its model card runs it"},
      {{"z-image-turbo"},
       "num_inference_steps",
       8,
       "distilled to eight steps, as the reference's example runs it"},
      {{"z-image-turbo"}, "guidance_scale", 0.0, "distilled without guidance"},
      {{"krea-2-turbo"},
       "num_inference_steps",
       8,
       "distilled to eight steps, as the reference's example runs it"},
      {{"krea-2-turbo"}, "guidance_scale", 0.0, "distilled without guidance"},
      {{"qwen-image-2.1-turbo"},
       "num_inference_steps",
       4,
       "as many as the levels (sample_sigmas) of the folder"},
      {{"sd3.5-large-turbo"},
       "num_inference_steps",
       4,
       "distilled to four steps, as its model card runs it"},
      {{"sd3.5-large-turbo"}, "guidance_scale", 0.0, "distilled without guidance"},
      {{"lumina-image-2"}, "cfg_normalization", 1.0, "the same as True"},
      {{"lumina-image-2"},
       "system_prompt",
       "You are an assistant designed to generate superior images with the superior degree of "
       "image-text alignment based on textual prompts or user prompts.",
       "what the reference takes for none"},
      {{"sana", "sana-sprint"},
       "complex_human_instruction",
       sana_instruction(),
       "the reference's list as one text, with line breaks between its lines"},
      {{"flux3.klein", "flux3.klein-base"},
       "max_sequence_length",
       4096,
       "the most that a request may ask for"},
      {{}, "cfg_normalization", 0.0, "the same as False"},
      {{}, "clip_skip", 0, "the same as none"},
      {{},
       "clean_caption",
       false,
       "not implemented; the reference leaves it where ftfy is missing"},
  };
  return all;
}

// Parameters of calls that are no config here.
const std::map<std::string, const char*>& no_config() {
  const char* input = "a request's input";
  const char* made = "made by blocks; runs can be cut there";
  const char* python = "of the call in Python";
  static const std::map<std::string, const char*> all{
      {"prompt", input},
      {"prompt_2", input},
      {"negative_prompt", input},
      {"negative_prompt_2", input},
      {"prompt_3", input},
      {"negative_prompt_3", input},
      {"image", input},
      {"image_reference", input},
      {"mask_image", input},
      {"control_image", input},
      {"ip_adapter_image", input},
      {"ip_adapter_image_embeds", made},
      {"latents", made},
      {"masked_image_latents", made},
      {"prompt_embeds", made},
      {"negative_prompt_embeds", made},
      {"prompt_embeds_mask", made},
      {"negative_prompt_embeds_mask", made},
      {"pooled_prompt_embeds", made},
      {"negative_pooled_prompt_embeds", made},
      {"prompt_attention_mask", made},
      {"negative_prompt_attention_mask", made},
      {"true_cfg_scale", "guidance_scale"},
      {"generator", "seed"},
      {"timesteps", "the scheduler's; its config chooses them"},
      {"sigmas", "the scheduler's; its config chooses them"},
      {"output_type", python},
      {"return_dict", python},
      {"callback", python},
      {"callback_steps", python},
      {"callback_on_step_end", python},
      {"callback_on_step_end_tensor_inputs", python},
      {"cross_attention_kwargs", "adapters' scales stand with the adapters"},
      {"joint_attention_kwargs", "adapters' scales stand with the adapters"},
      {"attention_kwargs", "adapters' scales stand with the adapters"},
      {"text_encoder_out_layers", "the encoder's states that the models were trained with"},
      {"padding_mask_crop", "a key that is unset, as here"},
      {"max_timesteps", "the scheduler's, of Sana-Sprint's training"},
      {"intermediate_timesteps", "the scheduler's, of Sana-Sprint's training"},
      {"_auto_resize", "auto_resize"},
      {"output_resolution", "width and height; of edits a key"},
      {"use_kv_cache", "what no step changes is always made once per run"},
  };
  return all;
}

bool is_xl(const std::string& id) {
  return id.starts_with("sdxl");
}

std::string reference_of(const std::string& id, const std::string& task, const std::string& part) {
  if (id == "pixart-alpha") return "PixArtAlphaPipeline";
  if (id == "pixart-sigma") return "PixArtSigmaPipeline";
  if (id == "flux2.dev") return "Flux2Pipeline";
  if (id == "flux2.klein-9b-kv") return "Flux2KleinKVPipeline";
  if (id == "flux3.klein") return "Flux3DistilledAutoBlocks";
  if (id == "flux3.klein-base") return "Flux3AutoBlocks";
  if (id.starts_with("flux2") || id == "emoji")
    return task == "inpaint" ? "Flux2KleinInpaintPipeline" : "Flux2KleinPipeline";
  if (id == "qwen-image-2.1") return "QwenImage21Pipeline";
  if (id == "qwen-image-2.1-turbo") return "QwenImage21TurboAutoBlocks";
  if (id == "qwen-image-layered") return "QwenImageLayeredPipeline";
  if (id == "qwen-image-edit")
    return task == "inpaint" ? "QwenImageEditInpaintPipeline" : "QwenImageEditPipeline";
  if (id.starts_with("qwen-image-edit")) return "QwenImageEditPlusPipeline";
  if (id.starts_with("qwen-image")) {
    std::string kind = task == "image2image" ? "Img2Img" : task == "inpaint" ? "Inpaint" : "";
    return "QwenImage" + kind + "Pipeline";
  }
  if (id == "flux1.fill-dev") return "FluxFillPipeline";
  if (id == "flux1.kontext-dev")
    return task == "inpaint" ? "FluxKontextInpaintPipeline" : "FluxKontextPipeline";
  if (id.starts_with("flux1")) {
    std::string kind = task == "image2image" ? "Img2Img" : task == "inpaint" ? "Inpaint" : "";
    bool control = id == "flux1.depth-dev" || id == "flux1.canny-dev";
    return (control ? "FluxControl" : "Flux") + kind + "Pipeline";
  }
  if (id.starts_with("chroma")) {
    std::string kind = task == "image2image" ? "Img2Img" : task == "inpaint" ? "Inpaint" : "";
    return "Chroma" + kind + "Pipeline";
  }
  if (id.starts_with("krea-2")) return "Krea2Pipeline";
  if (id == "z-image-omni") return "ZImageOmniPipeline";
  if (id.starts_with("z-image")) {
    return task == "inpaint"       ? "ZImageInpaintPipeline"
           : task == "image2image" ? "ZImageImg2ImgPipeline"
                                   : "ZImagePipeline";
  }
  if (id.starts_with("sd3")) {
    std::string kind = task == "image2image" ? "Img2Img" : task == "inpaint" ? "Inpaint" : "";
    return "StableDiffusion3" + kind + "Pipeline";
  }
  if (id == "aura-flow") return "AuraFlowPipeline";
  if (id == "lumina-image-2") return "Lumina2Pipeline";
  if (id == "sana") return "SanaPipeline";
  if (id == "sana-sprint")
    return task == "image2image" ? "SanaSprintImg2ImgPipeline" : "SanaSprintPipeline";
  if (id.starts_with("svd")) return "StableVideoDiffusionPipeline";
  std::string form = task == "image2image" ? "Img2Img" : task == "inpaint" ? "Inpaint" : "";
  return std::string("StableDiffusion") + (is_xl(id) ? "XL" : "") + part + form + "Pipeline";
}

// Every entry of the registry by itself; and with the parts that have pipelines of their own.
std::vector<Case> cases() {
  std::vector<Case> all;
  for (const Family& family : engine().catalogue().families) {
    for (const ModelSpec& entry : family.entries) {
      const auto& [id, task] = std::tie(entry.id, entry.task);
      if (!entry.alias_of.empty() || task == "upscale") continue;
      all.push_back({reference_of(id, task, ""), id, task});
      if (id == "sana") all.push_back({"SanaControlNetPipeline", id, task, "controlnet"});
      if (id == "sd3-medium" && task == "inpaint")
        all.push_back({"StableDiffusion3ControlNetInpaintingPipeline", id, task, "controlnet"});
      if (family.name != "sd" && family.name != "sdxl") continue;
      all.push_back({reference_of(id, task, "ControlNet"), id, task, "controlnet"});
      if (task != "text2image") continue;
      all.push_back({reference_of(id, task, "Adapter"), id, task, "t2i_adapter"});
      all.push_back({reference_of(id, task, "PAG"), id, task, "", "pag"});
    }
  }
  return all;
}

GenerateRequest request_of(const Case& each) {
  GenerateRequest request;
  request.model = each.id;
  request.task = each.task;
  request.config[keys::model_path.name] = small_model(each.id);
  auto picture = [](const char* name) {
    return source_path(std::string("tests/goldens/pipelines/inputs/") + name).string();
  };
  if (each.task != "image2video") request.inputs["prompt"] = "a red apple";
  if (each.task != "text2image") request.inputs["image"] = picture("image.png");
  if (each.task == "inpaint") request.inputs["mask"] = picture("mask.png");
  std::string parts =
      is_xl(each.id) ? "tests/goldens/control/parts_xl/" : "tests/goldens/control/parts/";
  if (each.component == "controlnet") {
    const std::string networks = "tests/goldens/networks/";
    const bool by_mask = each.id.starts_with("sd3");
    request.components["controlnet"] = source_path(each.id == "sana" ? networks + "sana_controlnet"
                                                   : by_mask ? networks + "sd3_controlnet_inpaint"
                                                             : parts + "controlnet_a")
                                           .string();
    if (!by_mask) request.inputs["control_image"] = picture("image.png");
  } else if (each.component == "t2i_adapter") {
    request.components["t2i_adapter"] =
        source_path(parts + (is_xl(each.id) ? "t2i_xl" : "t2i_full")).string();
    request.inputs["adapter_image"] = picture("image.png");
  }
  if (!each.guider.empty()) request.guider["type"] = each.guider;
  return request;
}

// What a run would use; nullopt where nothing takes the key.
std::optional<ConfigValue> settled(const Proposal& proposal, const Case& each,
                                   const std::string& key) {
  const GuiderInfo* guider =
      each.guider.empty() ? nullptr : engine().catalogue().find_guider(each.guider);
  if (guider) {
    for (const KeyInfo* own : guider->keys) {
      const Json& model = proposal.spec->default_config;
      if (key == own->name)
        return ConfigValue{model.value(key, own->fallback_json()), Origin::model};
    }
  }
  if (const ConfigValue* value = proposal.config.find(key)) return *value;
  auto known =
      std::ranges::any_of(proposal.plan.keys, [&](const KeyInfo* own) { return key == own->name; });
  return known ? std::optional(ConfigValue{nullptr, Origin::fallback}) : std::nullopt;
}

bool is_wanted(const Case& each, const std::string& key, const Json& ours) {
  return std::ranges::any_of(differences(), [&](const Difference& one) {
    return one.key == key && one.ours == ours && (one.ids.empty() || one.ids.contains(each.id));
  });
}

class Defaults : public ::testing::TestWithParam<Case> {};

TEST_P(Defaults, AreTheReferences) {
  static const Json table = read_json_file(source_path("tests/goldens/call_defaults.json"));
  const Case& each = GetParam();
  ASSERT_TRUE(table["pipelines"].contains(each.pipeline)) << each.pipeline;
  Proposal proposal = validate(engine().catalogue(), request_of(each));
  ASSERT_FALSE(proposal.config.all().empty());
  for (const auto& [key, reference] : table["pipelines"][each.pipeline].items()) {
    if (no_config().contains(key)) continue;
    auto value = settled(proposal, each, key);
    if (!value) {
      // What nothing takes must be what it would be without it.
      bool idle = reference.is_null() || reference == 0.0 || reference == false ||
                  key == "aesthetic_score" || key == "negative_aesthetic_score" ||
                  key == "crops_coords_top_left" || key == "negative_crops_coords_top_left" ||
                  // The reference does not read it.
                  (key == "max_sequence_length" && each.id.starts_with("qwen-image-edit")) ||
                  // The image's size takes its place.
                  (key == "max_area" && each.pipeline == "FluxKontextInpaintPipeline");
      EXPECT_TRUE(idle) << key << " = " << reference << " is no key here";
      continue;
    }
    // Unset in the reference: it is inferred from the model, as here.
    bool told = reference.is_null() &&
                (value->value.is_null() || value->origin == Origin::derived ||
                 (value->origin == Origin::model && !proposal.spec->default_config.contains(key)));
    // An edit has the size of the image that it begins with.
    const bool of_image = each.task == "edit" && (key == "width" || key == "height") &&
                          value->origin == Origin::derived;
    if (told || of_image || value->value == reference) continue;
    bool unset = value->value.is_null() && (reference == Json({0, 0}) || reference == 0.0);
    EXPECT_TRUE(unset || is_wanted(each, key, value->value))
        << key << " is " << value->value << ", in the reference " << reference;
  }
}

INSTANTIATE_TEST_SUITE_P(Pipelines, Defaults, ::testing::ValuesIn(cases()), [](const auto& info) {
  std::string name = info.param.pipeline + info.param.id + info.param.task;
  std::erase_if(name, [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); });
  return name;
});

TEST(DefaultsTable, OfEveryPipelineAreHeld) {
  const Json table = read_json_file(source_path("tests/goldens/call_defaults.json"));
  std::set<std::string> held;
  for (const Case& each : cases()) held.insert(each.pipeline);
  for (const auto& [pipeline, defaults] : table["pipelines"].items())
    EXPECT_TRUE(held.contains(pipeline)) << pipeline;
}

TEST(Registry, NamesSchedulersThatSuitWhatTheModelPredicts) {
  for (const Family& family : engine().catalogue().families) {
    for (const ModelSpec& entry : family.entries) {
      if (!entry.alias_of.empty() || entry.task == "upscale") continue;
      EXPECT_FALSE(entry.supported_schedulers.empty()) << entry.id;
      for (const std::string& name : entry.supported_schedulers) {
        const SchedulerInfo* info = engine().catalogue().find_scheduler(name);
        ASSERT_TRUE(info) << name;
        const bool flow =
            family.name.starts_with("flux") || family.name.starts_with("qwen_image") ||
            family.name.starts_with("z_image") || family.name == "sd3" || family.name == "chroma" ||
            family.name == "lumina2" || family.name == "aura_flow" || family.name == "krea2";
        // Sana's own is a solver for diffusion over the noise levels of a flow.
        EXPECT_TRUE(family.name == "sana" || info->made_for == (flow ? SchedulerFor::flow_matching
                                                                     : SchedulerFor::diffusion))
            << entry.id << " " << name;
        // Each is compared with the reference's trajectories.
        EXPECT_TRUE(
            std::filesystem::exists(source_path("tests/goldens/schedulers/" + name + ".json")))
            << name;
      }
    }
  }
}

std::vector<Finding> warnings_of(const std::string& model, const std::string& scheduler) {
  GenerateRequest request = request_of({"", model, "text2image"});
  request.config["scheduler"] = scheduler;
  return validate(engine().catalogue(), request).warnings;
}

TEST(Registry, WarnsOfSchedulersThatDoNotSuit) {
  for (const char* model : {"emoji-sd", "sd15", "sd21", "sdxl", "pixart-sigma"}) {
    EXPECT_THAT(warnings_of(model, "flow-match-euler"), about("config.scheduler", "flow matching"))
        << model;
    EXPECT_THAT(warnings_of(model, "lcm"), about("config.scheduler", "distilled")) << model;
    EXPECT_THAT(warnings_of(model, "tcd"), about("config.scheduler", "distilled")) << model;
    EXPECT_THAT(warnings_of(model, "edm-euler"), about("config.scheduler", "preconditioning"))
        << model;
    const bool pixart = std::string(model).starts_with("pixart");
    if (pixart)
      EXPECT_THAT(warnings_of(model, "sa_solver"), about("config.scheduler", "no run of"));
    else
      EXPECT_THAT(warnings_of(model, "sa_solver"), ::testing::Not(about("config.scheduler")))
          << model;
    EXPECT_THAT(warnings_of(model, "euler"), ::testing::Not(about("config.scheduler"))) << model;
  }
}

// A model that takes the guidance scale as input is distilled for consistency.
TEST(Registry, TakesTheConsistencySchedulerForDistilledModels) {
  GenerateRequest request = request_of({"", "sd15", "text2image"});
  request.config[keys::model_path.name] = source_path("tests/goldens/pipelines/lcm/model").string();
  request.config["scheduler"] = "lcm";
  EXPECT_THAT(validate(engine().catalogue(), request).warnings,
              ::testing::Not(about("config.scheduler")));
}

TEST(Registry, RefusesKindsOfAdaptersThatAModelDoesNotTake) {
  for (const char* model : {"pixart-sigma", "emoji-sd"}) {
    GenerateRequest request = request_of({"", model, "text2image"});
    request.adapters = Json::array(
        {Json{{"path", source_path("tests/goldens/adapters/files/token.safetensors").string()}}});
    Proposal proposal = validate(engine().catalogue(), request);
    bool refused = std::ranges::any_of(proposal.errors, [](const Finding& finding) {
      return finding.message.find("does not take") != std::string::npos;
    });
    EXPECT_EQ(refused, std::string(model) == "pixart-sigma") << model;
  }
}

}  // namespace
}  // namespace omnirt::testing
