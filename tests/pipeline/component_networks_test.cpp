#include "pipeline/component_networks.hpp"

#include <gtest/gtest.h>

namespace omnirt {
namespace {

class Plain final : public nn::Network {
 public:
  explicit Plain(Json config) : Network(std::move(config)) {}
  const char* class_name() const override { return "Plain"; }
  nn::Metadata metadata() const override { return {}; }
};

// A catalogue that counts how often it builds a network.
struct Counted {
  Counted() {
    catalogue.networks.push_back(
        {.class_name = "Plain", .make = [this](const Json& config, const std::string& where) {
           ++made;
           if (config.contains("odd"))
             throw Unsupported({where, "odd", "is not implemented", "remove it"});
           return std::make_unique<Plain>(config);
         }});
  }
  std::shared_ptr<const nn::Network> describe(Json config, const char* file = "a/config.json",
                                              const char* class_name = "Plain") {
    return known.describe(catalogue, {.name = "unet",
                                      .class_name = class_name,
                                      .folder = "a",
                                      .config_file = file,
                                      .config = std::move(config)});
  }
  Catalogue catalogue;
  KnownNetworks known;
  int made = 0;
};

TEST(KnownNetworks, AreBuiltOncePerConfig) {
  Counted counted;
  auto first = counted.describe({{"layers", 2}});
  EXPECT_EQ(counted.describe({{"layers", 2}}), first);
  EXPECT_EQ(counted.made, 1);
  EXPECT_NE(counted.describe({{"layers", 3}}), first);
  EXPECT_EQ(counted.describe({{"layers", 3}})->config()["layers"], 3);
  EXPECT_NE(counted.describe({{"layers", 3}}, "b/config.json"), first);
  EXPECT_EQ(counted.made, 3);
}

TEST(KnownNetworks, KeepNothingOfWhatIsRefusedOrNoNetwork) {
  Counted counted;
  for (int time = 1; time <= 2; ++time) {
    EXPECT_THROW(counted.describe({{"odd", 1}}), Unsupported);
    EXPECT_EQ(counted.made, time);
  }
  EXPECT_EQ(counted.describe({}, "a/config.json", "Tokenizer"), nullptr);
  // A config that is larger than those that are kept.
  const Json large = {{"notes", std::string(20'000, ' ')}};
  EXPECT_NE(counted.describe(large), counted.describe(large));
}

}  // namespace
}  // namespace omnirt
