#include "networks/originals.hpp"

#include <gtest/gtest.h>

#include "source_paths.hpp"
#include "tensor/weight.hpp"
#include "weights/adapters/layer_change.hpp"
#include "weights/adapters/resolve.hpp"
#include "weights/loader.hpp"

namespace omnirt::testing {

OriginalFile::OriginalFile(const std::string& case_folder)
    : folder(source_path(case_folder)),
      network(make_network(read_json(folder / "config.json"))),
      file(io::TensorFiles::open_file(folder / "original.safetensors")),
      layout(network->original_layouts().at(0)),
      store(open_original_weights(file, *network, layout, "", "original")) {}

Tensors expect_weights_of_folder(const OriginalFile& original) {
  Tensors expected = read_tensors(original.folder / "diffusion_pytorch_model.safetensors");
  EXPECT_EQ(original.store->all().size(), original.network->params().size());
  for (const auto& [name, weight] : original.store->all())
    EXPECT_TRUE(weight->view().equal(expected.at(name))) << name;
  return expected;
}

void expect_written_as_read(const OriginalFile& original) {
  auto sources = original_tensors(*original.store, *original.network, original.layout, "");
  EXPECT_EQ(sources.size(), original.file.names().size());
  for (const io::TensorSource& source : sources) {
    std::vector<std::byte> bytes;
    source.produce([&](std::span<const std::byte> part) {
      bytes.insert(bytes.end(), part.begin(), part.end());
    });
    auto found = original.file.find(source.name);
    ASSERT_TRUE(found) << source.name;
    EXPECT_EQ(source.shape, found->entry->shape) << source.name;
    EXPECT_TRUE(std::ranges::equal(bytes, found->data())) << source.name;
  }
}

Shapes shapes_in(const Tensors& tensors) {
  Shapes shapes;
  for (const auto& [name, tensor] : tensors) shapes[name] = tensor.sizes().vec();
  return shapes;
}

Shapes original_shapes(const nn::Network& network) {
  nn::OriginalLayout layout = network.original_layouts().at(0);
  Shapes shapes;
  for (const Param* param : network.params()) {
    auto place = nn::original_place(layout, *param);
    EXPECT_TRUE(place) << param->name;
    if (place) shapes[place->name] = place->shape;
  }
  return shapes;
}

void expect_same_parameters(const nn::Network& made, const nn::Network& wanted) {
  ASSERT_EQ(made.params().size(), wanted.params().size());
  for (size_t i = 0; i < made.params().size(); ++i) {
    EXPECT_EQ(made.params()[i]->name, wanted.params()[i]->name);
    EXPECT_EQ(made.params()[i]->shape, wanted.params()[i]->shape);
  }
}

void expect_changes_of_reference(const nn::Network& network, const std::string& case_folder,
                                 const std::string& name, size_t least) {
  std::vector<adapters::Targets> targets;
  targets.emplace_back("transformer", network, /*denoiser=*/true);
  const std::filesystem::path folder = source_path(case_folder);
  adapters::AdapterFile file =
      adapters::open_adapter(folder / (name + ".safetensors"), "", "adapters[0]");
  adapters::ResolveOptions options;
  options.field = "adapters[0]";
  adapters::Resolution resolved = adapters::resolve(file, targets, options);
  for (const Finding& finding : resolved.findings)
    ADD_FAILURE() << finding.value << ": " << finding.message << " " << finding.way_out;
  std::map<std::string, Tensor> made;
  for (const adapters::LayerChange& change : resolved.changes) {
    made[change.param->name] = adapters::delta(change);
    auto beside = adapters::side_term(change);
    EXPECT_EQ(beside.has_value(), change.kind == "lora") << change.param->name;
    if (!beside) continue;
    Tensor product = beside->up.matmul(beside->down) * beside->scale;
    EXPECT_LT(difference(product, made[change.param->name]), 1e-6) << change.param->name;
  }
  Tensors expected = read_tensors(folder / (name + "_deltas.safetensors"));
  EXPECT_GE(expected.size(), least);
  for (const auto& [layer, delta] : expected) {
    ASSERT_TRUE(made.contains(layer + ".weight")) << layer;
    EXPECT_LT(difference(made.at(layer + ".weight"), delta), 1e-6) << layer;
  }
}

}  // namespace omnirt::testing
