#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "catalogue/catalogue.hpp"
#include "catalogue/support.hpp"
#include "engine/describe_networks.hpp"
#include "engine/reference_pages.hpp"
#include "io/file.hpp"
#include "networks/unet_2d_condition_model/model.hpp"
#include "nn/feature_metadata.hpp"

namespace omnirt::testing {
namespace {

TEST(ReferencePages, AreThoseThatTheDeclarationsMake) {
  for (const auto& [name, text] : reference_pages(builtin_catalogue())) {
    auto path = source_path("docs/reference/" + name);
    ASSERT_TRUE(std::filesystem::exists(path)) << "write it: omnirt docs docs/reference";
    EXPECT_TRUE(io::read_file(path, size_t{16} << 20) == text)
        << path.string() << " is stale; write it again: build/release/omnirt docs docs/reference";
  }
}

TEST(ReferencePages, HoldEveryModelKeySchedulerGuiderAndNetwork) {
  Catalogue catalogue = builtin_catalogue();
  auto pages = reference_pages(catalogue);
  for (const std::string& id : catalogue.ids())
    EXPECT_NE(pages["models.md"].find("| `" + id + "` |"), std::string::npos) << id;
  for (const nn::NetworkInfo& info : catalogue.networks)
    EXPECT_NE(pages["networks.md"].find("## " + info.class_name + "\n"), std::string::npos);
  for (const SchedulerInfo& info : catalogue.schedulers)
    EXPECT_NE(pages["schedulers.md"].find("## " + info.class_name + "\n"), std::string::npos);
  for (const GuiderInfo& info : catalogue.guiders)
    EXPECT_NE(pages["guiders.md"].find("## " + info.type + "\n"), std::string::npos);
}

// A class that has no config of its own by default is here with a published one.
Json config_of(const std::string& class_name) {
  // The reference's class has no defaults for these; they are Union 1.0's.
  if (class_name == "ZImageControlNetModel")
    return {{"control_layers_places", {0, 5, 10, 15, 20, 25}}, {"control_in_dim", 16}};
  if (class_name != "Transformer2DModel" && class_name != "PixArtTransformer2DModel")
    return Json::object();
  return read_json_file(source_path("tests/data/configs/pixart-sigma/transformer/config.json"));
}

// Configs that leave in what the class's own leaves out: blocks depend on the config.
std::vector<Json> configs_of(const nn::NetworkInfo& info) {
  std::vector<Json> configs{config_of(info.class_name)};
  if (info.class_name == "IPAdapter") configs.push_back({{"projection", "plus"}});
  for (const auto& entry :
       std::filesystem::directory_iterator(source_path("tests/goldens/networks"))) {
    if (!std::filesystem::exists(entry.path() / "config.json")) continue;
    Json config = read_json_file(entry.path() / "config.json");
    const Json named = config.value("architectures", Json::array({""}));
    if (config.value("_class_name", named.at(0)) == info.class_name) configs.push_back(config);
  }
  return configs;
}

// What the names of a class's metadata are looked up in: the trees that its configs make.
struct Trees {
  std::set<std::string> classes, params;
};

Trees trees_of(const nn::NetworkInfo& info) {
  Trees trees;
  for (const Json& config : configs_of(info)) {
    auto network = info.make(config, info.class_name);
    for (std::string& name : nn::module_classes(*network)) trees.classes.insert(std::move(name));
    for (const Param* param : network->params()) trees.params.insert(param->name);
  }
  return trees;
}

// The names that no tree has.
std::vector<std::string> unresolved(const nn::Metadata& metadata, const Trees& trees) {
  std::vector<std::string> missing;
  for (const char* row : {"_no_split_modules", "_repeated_blocks"}) {
    for (const Json& name : metadata[row]) {
      if (!trees.classes.contains(name.get<std::string>())) missing.push_back(name);
    }
  }
  for (const Json& pattern : metadata["_skip_layerwise_casting_patterns"]) {
    auto matches = [&](const std::string& name) {
      return name.find(pattern.get<std::string>()) != std::string::npos;
    };
    if (std::ranges::none_of(trees.params, matches)) missing.push_back(pattern);
  }
  return missing;
}

// Every name that a class lists is one that its tree, its parameters or its layouts have.
TEST(NetworkMetadata, ResolvesEveryNameOverTheCatalogue) {
  for (const nn::NetworkInfo& info : builtin_catalogue().networks) {
    SCOPED_TRACE(info.class_name);
    auto network = info.make(config_of(info.class_name), info.class_name);
    nn::Metadata metadata = network->metadata();
    EXPECT_EQ(metadata.keys().size(), 10u);
    EXPECT_EQ(metadata.values().size(), metadata.items().size());
    for (const nn::Metadata::Row& row : metadata.items()) {
      EXPECT_TRUE(metadata.contains(row.key));
      EXPECT_FALSE(row.what.empty()) << row.key;
    }
    EXPECT_THAT(unresolved(metadata, trees_of(info)), ::testing::IsEmpty());
    EXPECT_EQ(metadata["_weight_mapping"].size(), network->original_layouts().size());
    for (const nn::OriginalLayout& layout : network->original_layouts()) {
      for (const Param* param : network->params())
        EXPECT_TRUE(nn::original_place(layout, *param)) << layout.name << " " << param->name;
    }
  }
}

TEST(NetworkMetadata, KeepsANameThatNoTreeHasSoThatItIsFoundOut) {
  const nn::NetworkInfo& info = unet_2d_condition_model_info();
  auto network = info.make(Json::object(), info.class_name);
  nn::Metadata metadata =
      nn::feature_metadata(*network, {.no_split_modules = {"ResnetBlock2D", "ResnetBlock3D"},
                                      .skip_layerwise_casting_patterns = {"norm", "nrom"},
                                      .repeated_blocks = {"TransformerBlok"}});
  EXPECT_THAT(unresolved(metadata, trees_of(info)),
              ::testing::ElementsAre("ResnetBlock3D", "TransformerBlok", "nrom"));
}

TEST(NetworkMetadata, IsDescribedForAClassAFolderAndAComponent) {
  Catalogue catalogue = builtin_catalogue();
  EXPECT_EQ(describe_networks(catalogue, "UNet2DConditionModel").size(), 1u);
  std::string emoji = source_path("models/emoji-sd").string();
  EXPECT_EQ(describe_networks(catalogue, emoji).size(), 3u);
  Json unet = describe_networks(catalogue, emoji + "/unet");
  EXPECT_EQ(unet[0]["class"], "UNet2DConditionModel");
  EXPECT_EQ(unet[0]["metadata"][6]["key"], "_weight_mapping");
  EXPECT_EQ(unet[0]["metadata"][6]["value"], Json::array({"ldm"}));
  EXPECT_THROW(describe_networks(catalogue, "UNet3D"), InvalidRequest);
}

TEST(NetworkMetadata, SaysWhichNetworksTakeImagePrompts) {
  std::set<std::string> taking;
  for (const nn::NetworkInfo& info : builtin_catalogue().networks) {
    const auto network = info.make(config_of(info.class_name), info.class_name);
    const nn::Metadata metadata = network->metadata();
    if (metadata["_supports_ip_adapter"] == true) taking.insert(info.class_name);
  }
  EXPECT_THAT(taking,
              ::testing::UnorderedElementsAre("FluxTransformer2DModel", "UNet2DConditionModel"));
}

}  // namespace
}  // namespace omnirt::testing
