// Makes an image with the embedded model, which is in the installed package's data folder.
// embedding <image.png> [plugin.so]
#include <cstdio>
#include <memory>

#include "catalogue/catalogue.hpp"
#include "engine/engine.hpp"
#include "engine/plugins.hpp"
#include "engine/session.hpp"

int main(int argc, char** argv) {
  try {
    omnirt::Catalogue catalogue = omnirt::builtin_catalogue();
    if (argc > 2) omnirt::load_plugin(catalogue, argv[2]);
    omnirt::Session session(std::make_unique<omnirt::Engine>(std::move(catalogue)));
    omnirt::GenerateRequest request;
    request.model = "emoji";
    request.inputs["prompt"] = "a red apple";
    request.config = {{"seed", 1}, {"num_inference_steps", 2}, {"output", argv[1]}};
    omnirt::CancelToken cancel;
    omnirt::RunReport report;
    session.run(request, /*strict=*/true, cancel, {}, report);
    std::printf("%s from %s\n", report.artifacts.at(0).path.c_str(), report.model_path.c_str());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
