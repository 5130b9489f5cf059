// Whether the parts of a model's folder fit each other is checked on what their configs are read
// as, so that a value written in another way is no way around the check.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "catalogue/findings.hpp"
#include "catalogue/support.hpp"
#include "pipeline/keys.hpp"

namespace omnirt::testing {
namespace {
namespace fs = std::filesystem;
using ::testing::IsEmpty;

// A model's folder with other values in its configs; the rest are links.
class EditedModel {
 public:
  explicit EditedModel(const std::string& model) : place_("fit"), path_(place_.path()) {
    fs::copy(source_path("tests/goldens/pipelines/" + model + "/model"), path_,
             fs::copy_options::recursive);
  }

  EditedModel& set(const std::string& component, const Json& values) {
    fs::path file = path_ / component / "config.json";
    Json config = read_json_file(file);
    config.update(values);
    fs::remove(file);
    std::ofstream(file) << config.dump();
    return *this;
  }
  Json get(const std::string& component, const char* key) const {
    return read_json_file(path_ / component / "config.json")[key];
  }
  std::vector<Finding> errors() const {
    GenerateRequest request;
    request.model = path_.string();
    request.inputs["prompt"] = "a red apple";
    return validate(engine().catalogue(), request).errors;
  }

 private:
  TemporaryPath place_;
  fs::path path_;
};

TEST(Fit, OfAWidthWrittenAsAFractionIsLookedAtAsItIsRead) {
  EditedModel model("sd15");
  auto width = model.get("text_encoder", "hidden_size").get<double>();
  model.set("text_encoder", {{"hidden_size", width}});
  EXPECT_THAT(model.errors(), IsEmpty());
  model.set("unet", {{"cross_attention_dim", 512}});
  EXPECT_THAT(model.errors(), about("text_encoder.hidden_size", "512 wide"));
}

TEST(Fit, OfWidthsGivenByLevelIsLookedAt) {
  EditedModel model("sd15");
  auto width = model.get("unet", "cross_attention_dim").get<int64_t>();
  size_t levels = model.get("unet", "block_out_channels").size();
  model.set("unet", {{"cross_attention_dim", std::vector<int64_t>(levels, width)}});
  EXPECT_THAT(model.errors(), IsEmpty());
  model.set("unet", {{"cross_attention_dim", std::vector<int64_t>(levels, 65536)}});
  EXPECT_THAT(model.errors(), about("text_encoder.hidden_size", "65536 wide"));
  std::vector<int64_t> mixed(levels, width);
  mixed.back() = 65536;
  model.set("unet", {{"cross_attention_dim", mixed}});
  EXPECT_THAT(model.errors(), about("cross_attention_dim", "another level"));
}

TEST(Fit, OfCaptionsIsLookedAt) {
  EditedModel model("pixart_sigma");
  auto width = model.get("text_encoder", "d_model").get<double>();
  model.set("text_encoder", {{"d_model", width}});
  EXPECT_THAT(model.errors(), IsEmpty());
  model.set("transformer", {{"caption_channels", 512}});
  EXPECT_THAT(model.errors(), about("text_encoder.d_model", "512 values"));
}

// What sizes something is a whole number within bounds, or refused by name.
TEST(Fit, RefusesValuesThatAreNoSizes) {
  const std::vector<Json> values{-1,   0,    0.5,  int64_t{1} << 40, 1e300,
                                 "40", true, {40}, {{"a", 1}},       Json()};
  for (const auto& [component, key] : {std::pair{"text_encoder", "hidden_size"},
                                       {"text_encoder", "num_hidden_layers"},
                                       {"unet", "in_channels"},
                                       {"unet", "out_channels"},
                                       {"unet", "cross_attention_dim"},
                                       {"vae", "latent_channels"},
                                       {"vae", "layers_per_block"}}) {
    for (const Json& value : values) {
      EditedModel model("sd15");
      model.set(component, {{key, value}});
      EXPECT_THAT(model.errors(), about(key)) << component << "." << key << " = " << value;
    }
  }
}

TEST(Fit, OfAnImageOfTheModelsOwnSizeIsBounded) {
  EditedModel model("sd15");
  model.set("unet", {{"sample_size", 65536}});
  EXPECT_THAT(model.errors(), about("unet.sample_size"));
}

}  // namespace
}  // namespace omnirt::testing
