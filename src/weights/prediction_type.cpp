#include "weights/single_file_kind.hpp"

namespace omnirt {
namespace {

const std::string* find(const io::FileMetadata& metadata, const char* key) {
  auto it = metadata.find(key);
  return it == metadata.end() ? nullptr : &it->second;
}

}  // namespace

SingleFileDecision prediction_type_of(const SingleFileFacts& facts,
                                      const SingleFileDecision& fallback) {
  auto told = [](const char* value, const std::string& how) {
    return SingleFileDecision{"prediction_type", value, how};
  };
  if (const std::string* asked = find(facts.metadata, asked_prediction_type))
    return told(asked->c_str(), "asked for");
  // https://github.com/Stability-AI/ModelSpec: prediction_type is "epsilon" or "v".
  if (const std::string* said = find(facts.metadata, "modelspec.prediction_type")) {
    if (*said == "v" || *said == "v_prediction")
      return told("v_prediction", "the file's metadata modelspec.prediction_type");
    if (*said == "epsilon") return told("epsilon", "the file's metadata modelspec.prediction_type");
  }
  if (facts.shapes.has("v_pred")) return told("v_prediction", "the file holds a tensor 'v_pred'");
  if (const std::string* said = find(facts.metadata, "modelspec.architecture")) {
    if (said->starts_with("stable-diffusion-v2-768-v"))
      return told("v_prediction", "the file's metadata modelspec.architecture");
    if (said->starts_with("stable-diffusion-v2-512") || said->starts_with("stable-diffusion-v1"))
      return told("epsilon", "the file's metadata modelspec.architecture");
  }
  return fallback;
}

}  // namespace omnirt
