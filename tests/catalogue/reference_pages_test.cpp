#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "catalogue/catalogue.hpp"
#include "catalogue/support.hpp"
#include "engine/describe_networks.hpp"
#include "engine/reference_pages.hpp"
#include "io/file.hpp"

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

// A class that has no config of its own by default stands here with a published one.
Json config_of(const std::string& class_name) {
  if (class_name != "Transformer2DModel" && class_name != "PixArtTransformer2DModel")
    return Json::object();
  return read_json_file(source_path("tests/data/configs/pixart-sigma/transformer/config.json"));
}

// Every name that a class gives is one that its tree, its parameters or its layouts have.
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
    std::set<std::string> classes;
    network->visit([&](const nn::Module& module) { classes.insert(module.class_name()); });
    for (const char* row : {"_no_split_modules", "_repeated_blocks"}) {
      for (const Json& name : metadata[row])
        EXPECT_TRUE(classes.contains(name.get<std::string>())) << row << " " << name;
    }
    for (const Json& pattern : metadata["_skip_layerwise_casting_patterns"]) {
      EXPECT_TRUE(std::ranges::any_of(network->params(), [&](const Param* param) {
        return param->name.find(pattern.get<std::string>()) != std::string::npos;
      })) << pattern;
    }
    EXPECT_EQ(metadata["_weight_mapping"].size(), network->original_layouts().size());
    for (const nn::OriginalLayout& layout : network->original_layouts()) {
      for (const Param* param : network->params())
        EXPECT_TRUE(nn::original_place(layout, *param)) << layout.name << " " << param->name;
    }
  }
}

TEST(NetworkMetadata, IsDescribedForAClassAFolderAndAComponent) {
  Catalogue catalogue = builtin_catalogue();
  EXPECT_EQ(describe_networks(catalogue, "UNet2DConditionModel").size(), 1u);
  std::string emoji = source_path("models/emoji").string();
  EXPECT_EQ(describe_networks(catalogue, emoji).size(), 3u);
  Json unet = describe_networks(catalogue, emoji + "/unet");
  EXPECT_EQ(unet[0]["class"], "UNet2DConditionModel");
  EXPECT_EQ(unet[0]["metadata"][6]["key"], "_weight_mapping");
  EXPECT_EQ(unet[0]["metadata"][6]["value"], Json::array({"ldm"}));
  EXPECT_THROW(describe_networks(catalogue, "UNet3D"), InvalidRequest);
}

}  // namespace
}  // namespace omnirt::testing
