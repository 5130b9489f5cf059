#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "weights/pipeline_folder.hpp"

namespace omnirt {

// Where models are looked for by id, in order: the folders of OMNIRT_MODELS (separated by ':'),
// then share/omnirt/models of the prefix that the program is installed in, or models/ of the
// checkout that it was built in, and the data folder of the omnirt that the program was linked
// with.
std::vector<std::filesystem::path> model_folders();

// Where the vocabulary is that checkpoints of one file are read with, which hold none: CLIP's, in
// one of those folders; empty where it is in none.
std::filesystem::path single_file_tokenizer();

// The pipeline folder of `id` in one of those, or the file of that name there or below
// `checkpoints` (with or without .safetensors or .gguf), or the folder in the Hugging Face cache
// (by `hub_ids` or by `id` itself); empty when there is none.
std::filesystem::path find_model(const std::string& id, const std::vector<std::string>& hub_ids);

// A pipeline's folder; parts of a modular pipeline that are in repositories of their own are looked
// for in the Hugging Face cache. Throws as read_pipeline_folder.
PipelineFolder open_pipeline_folder(const std::filesystem::path& path);

// What is in those folders under a name that find_model takes: folders of pipelines, and files of
// weights there and below `checkpoints`.
struct FoundModel {
  std::string name;
  std::filesystem::path path;
};
std::vector<FoundModel> models_here();

// An adapter's file or folder: the path `at` that the name means, where it is there; a name in one
// of those folders (or in `loras`, `Lora` or `embeddings` below it, or a folder in these; with or
// without .safetensors), or
// "organisation/name" in the Hugging Face cache, a file's name after it where it holds several.
// `at` is "" if only the name counts. Throws InvalidRequest under `field` with the places searched.
std::filesystem::path find_adapter(const std::string& given, const std::filesystem::path& at,
                                   const std::string& field);

// An upscaler's file: `at`, which the name means as a path, where it is there; else a name (with or
// without .safetensors) in `upscalers`, `upscale_models`, `ESRGAN` or `RealESRGAN` below one of
// those folders. `at` is "" if only the name counts. Throws InvalidRequest under `field` if there
// is none.
std::filesystem::path find_upscaler(const std::string& given, const std::filesystem::path& at,
                                    const std::string& field);

// Whether a request's `model` is meant as a path: it is written as one, or means `at`, which
// exists.
bool looks_like_path(const std::string& model, const std::filesystem::path& at);

}  // namespace omnirt
