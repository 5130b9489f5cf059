// Makes an image with the embedded model and writes its pixels: pixels <image.ppm>
#include <cstdio>

#include "catalogue/make_session.hpp"

int main(int, char** argv) {
  omnirt::GenerateRequest request;
  request.model = "emoji";
  request.inputs = {{"prompt", "a red apple"}};
  request.config = {{"seed", 1}, {"num_inference_steps", 2}};

  omnirt::io::Image image;
  omnirt::SessionHooks hooks;
  hooks.files = omnirt::Files::where_named;  // this request names no output: no file
  hooks.on_artifact = [&](const omnirt::Artifact& made) { image = made.images[0]; };
  hooks.on_progress = [](const omnirt::SessionProgress& at) {
    if (at.steps > 0) std::fprintf(stderr, "step %zu of %zu\n", at.step, at.steps);
  };
  omnirt::CancelToken cancel;  // cancel.cancel() on another thread ends the run within a step
  omnirt::RunReport report;
  try {
    auto session = omnirt::make_session();  // keep it: it holds what is loaded
    session->run(request, /*strict=*/true, cancel, hooks, report);
  } catch (const omnirt::InvalidRequest& refused) {
    for (const omnirt::Finding& finding : refused.findings())
      std::fprintf(stderr, "%s: %s\n", finding.field.c_str(), finding.message.c_str());
    return refused.exit_code();
  } catch (const omnirt::Error& error) {
    std::fprintf(stderr, "%s: %s\n", error.kind().c_str(), error.what());
    return error.exit_code();
  }
  std::fprintf(stderr, "%s, %.0f ms\n", report.model_path.c_str(), report.total_ms);

  std::FILE* file = std::fopen(argv[1], "wb");
  if (!file) return 3;
  std::fprintf(file, "P6 %d %d 255\n", int(image.width), int(image.height));
  std::fwrite(image.pixels.data(), 1, image.pixels.size(), file);
  return std::fclose(file) == 0 ? 0 : 3;
}
