#pragma once
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "guiders/guider.hpp"
#include "nn/network.hpp"
#include "pipeline/block.hpp"
#include "pipeline/image_processor.hpp"
#include "pipeline/keys.hpp"
#include "runtime/resolve.hpp"
#include "schedulers/scheduler.hpp"
#include "schedulers/scheduler_names.hpp"
#include "text/tokenizer.hpp"
#include "weights/adapters/layouts.hpp"
#include "weights/pipeline_folder.hpp"
#include "weights/single_file_kind.hpp"

namespace omnirt {

// About what a usual request of the stock model takes at least, in GB: on the device where that has
// memory of its own, else in the machine's. Less of it free is a warning; what refuses a run is
// what its calls are predicted to need (backends/cpu/planned_calls.hpp).
struct ResourceHint {
  double min_vram_gb = 0;
  double min_ram_gb = 0;
};

// What a model's folder has that distinguishes workflows, for those that describe it without the
// folder.
struct UsualFolder {
  std::map<std::string, Json> components{};  // their configs, with _class_name
  Json index = Json::object();
};

// A registry entry, keyed (id, task). Inputs and config keys come from the blocks; this adds what
// blocks cannot know.
struct ModelSpec {
  std::string id;
  std::string task;
  std::string default_backend = "auto";
  ResourceHint resource_hint;
  Json default_config = Json::object();
  // What holds in place of these where the pipeline has a component: the reference's pipelines with
  // a ControlNet have defaults of their own.
  std::map<std::string, Json> default_config_with{};
  // What presets set for this model, over what they set for all.
  std::map<Preset, Json> presets{};
  // Class names of the schedulers that suit what the model predicts; another is a warning. Empty:
  // it is not said.
  std::vector<std::string> supported_schedulers;
  // The kinds of adapters that are taken. Those of layers are matched with any network; a textual
  // inversion needs text encoders that take tokens.
  std::vector<std::string> adapter_kinds = adapters::layer_kinds();
  // The family's other tasks are refused, since its weights were not trained for them.
  bool trained_for_its_tasks_only = false;
  std::string artifact_kind = "image";
  std::string maturity = "experimental";  // experimental | beta | stable
  std::string summary;
  std::string example;               // a command line
  std::string alias_of;              // another id that this one means
  std::vector<std::string> hub_ids;  // where its weights may be in the local Hugging Face cache
  UsualFolder usual;

  // default_config of a pipeline with these components.
  Json defaults(const PipelineFolder& folder) const;
};

// A task of a family, and which of the inputs that distinguish its tasks it takes. A task that is
// done from one of several inputs is in the list once for each; the first is the usual one.
struct TaskInputs {
  std::string task;
  std::set<std::string> inputs;
};

// A scheduler taken over for a task: `own` when it is of the class that the folder names, whose
// defaults then count.
struct SchedulerAdoption {
  std::string task;
  const SchedulerInfo& info;
  bool own = true;
};

// What identifies an adapter's file: a part of a layer's name, which is "component:name" with dots
// written as underscores ("denoiser:down_blocks_0_..."), and the second dimension of one of its
// tensors; 0 is any.
struct AdapterMark {
  std::string layer;
  int64_t width = 0;
};

// A kind of model, as adapters for it are distinguished from those for others.
struct AdapterFamily {
  std::string name;                       // "Stable Diffusion 1.x"
  std::vector<std::string> ids;           // registry ids of its models
  std::vector<AdapterMark> marks;         // any of them suffices
  std::vector<std::string> metadata;      // how a trainer's name of the base model begins
  std::vector<int64_t> embedding_widths;  // of the vectors of a textual inversion, all of them
};

// A text encoder and the tokenizer that makes its ids: tokens that an adapter brings are added to
// both.
struct TextEncoderParts {
  std::string encoder, tokenizer;  // components
  std::string in_files{};          // what files of embeddings call it: "clip_l"
};

// How latents are shown during a run, without the autoencoder.
struct PreviewMeans {
  // Red, green and blue of each latent channel, -1..1 of latents as denoisers see them.
  std::vector<std::array<double, 3>> colours;
  std::array<double, 3> bias{};
  // A tiny autoencoder of the same latents: its hub id, or a component of the model; "" : none is
  // known.
  std::string tiny;
};
// guidance_scale and guidance_rescale.
std::vector<const KeyInfo*> default_guider_keys();

// Models that share a block list.
struct Family {
  std::string name;
  std::vector<TaskInputs> tasks;
  BlockList blocks;
  std::vector<ModelSpec> entries;
  std::vector<std::string> pipeline_classes;  // _class_name in model_index.json
  // The id of the entry that a folder is a variant of.
  std::function<std::string(const PipelineFolder&)> variant_of;
  // What the reference's pipelines change in a scheduler's config as they take it over; may be
  // empty.
  std::function<void(const SchedulerAdoption& adoption, Json& config)> adopt_scheduler;
  // The scheduler of folders that have none, as its config; null: they must have one.
  Json usual_scheduler{};
  // Checkpoints of one file that are this family's; may be empty.
  std::vector<SingleFileKind> single_files{};
  // Its blocks set how far the scheduler shifts for the size of the image (StepPlan::mu).
  bool shifts_by_size = false;
  // An autoencoder whose config says force_upcast computes in fp32, whatever the dtype.
  bool upcasts_autoencoder = false;
  std::vector<AdapterFamily> adapter_families{};
  std::vector<TextEncoderParts> text_encoders{{"text_encoder", "tokenizer"}};
  std::map<std::string, PreviewMeans> previews{};  // by an entry's id; "" : the others
  // The guider of requests that name none, and the config keys that are the short way to say its
  // settings, by the same names.
  std::string guider = "cfg";
  std::vector<const KeyInfo*> guider_keys = default_guider_keys();

  // How latents of this entry are shown; null where nothing is declared.
  const PreviewMeans* preview_means(const std::string& id) const;
};

// All that this build holds. The only thing that names families, networks, tokenizers, image
// processors and backends is catalogue/catalogue.cpp.
struct Catalogue {
  std::vector<Family> families;
  std::vector<nn::NetworkInfo> networks;
  std::vector<text::TokenizerInfo> tokenizers;
  std::vector<ImageProcessorInfo> image_processors{};
  std::vector<BackendInfo> backends;
  std::string default_model;
  // Kinds of models that no family here serves, so that their adapters are refused by name.
  std::vector<AdapterFamily> foreign_adapters{};
  std::vector<SchedulerInfo> schedulers = all_schedulers();
  std::vector<GuiderInfo> guiders = all_guiders();

  // The family of this name, to edit its blocks. Throws InvalidRequest with the nearest name.
  Family& family(const std::string& name);
  const nn::NetworkInfo* find_network(const std::string& class_name) const;
  // By class name or short name, case folded.
  const SchedulerInfo* find_scheduler(const std::string& name) const;
  // The one that a name as people type it means, next to the model's own (scheduler_names.hpp).
  NamedScheduler named_scheduler(const std::string& name, const ComponentFolder& own) const;
  const GuiderInfo* find_guider(const std::string& type) const;
  const text::TokenizerInfo* find_tokenizer(const std::string& class_name) const;
  const ImageProcessorInfo* find_image_processor(const std::string& class_name) const;
  // The entry of (id, task), aliases followed; task "" takes the id's first. Null when there is
  // none.
  const ModelSpec* find_entry(const std::string& id, const std::string& task) const;
  const Family* family_of(const ModelSpec& spec) const;
  const Family* family_of_class(const std::string& pipeline_class) const;
  std::vector<std::string> ids() const;
  std::vector<std::string> tasks_of(const std::string& id) const;
};

inline const std::vector<std::string>& task_names() {
  static const std::vector<std::string> names{"text2image",  "image2image", "inpaint",
                                              "edit",        "text2video",  "image2video",
                                              "video2video", "upscale"};
  return names;
}

}  // namespace omnirt
