#include <gtest/gtest.h>

#include "io/sharded.hpp"
#include "networks/support.hpp"
#include "weights/loader.hpp"

namespace omnirt::testing {
namespace {

std::map<std::string, std::vector<int64_t>> parameters(const nn::Network& network) {
  std::map<std::string, std::vector<int64_t>> shapes;
  for (const Param* param : network.params()) shapes[param->name] = param->shape;
  return shapes;
}

// tests/data/configs/README.md says where configs and lists are from. What a network knows by name
// and does not load (a vision tower) is in the lists, too.
TEST(Topology, HasTheReferencesParametersForEveryStockConfig) {
  auto folder = source_path("tests/data/configs");
  size_t compared = 0;
  Json index = read_json(folder / "index.json");
  for (const auto& [component, list] : index.items()) {
    SCOPED_TRACE(component);
    auto network = make_network(read_json(folder / component / "config.json"), component);
    decltype(parameters(*network)) expected;
    const Json reference = read_json(folder / list.get<std::string>());
    for (const auto& [name, shape] : reference.items()) {
      const std::string ours = mapped_name(network->weight_map(), name);
      if (!ours.empty()) expected[ours] = shape.get<std::vector<int64_t>>();
    }
    EXPECT_EQ(parameters(*network), expected);
    EXPECT_EQ(network->params().size(), expected.size());
    ++compared;
  }
  EXPECT_GE(compared, 40u);
}

TEST(Topology, MatchesTheEmbeddedModelsCheckpoint) {
  for (const char* component : {"text_encoder", "unet", "vae"}) {
    auto folder = source_path("models/emoji-sd") / component;
    auto network = make_network(read_json(folder / "config.json"), component);
    std::vector<std::string> bases{"diffusion_pytorch_model", "model"};
    auto store = open_weights(io::TensorFiles::open(folder, bases), *network, component);
    EXPECT_EQ(store->all().size(), network->params().size()) << component;
  }
}

TEST(Topology, NumbersParametersByTheirPlace) {
  auto network = make_network({{"_class_name", "UNet2DConditionModel"}});
  for (size_t i = 0; i < network->params().size(); ++i) {
    EXPECT_EQ(network->params()[i]->index, i);
  }
}

}  // namespace
}  // namespace omnirt::testing
