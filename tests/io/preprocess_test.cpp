#include "io/preprocess.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "io/file.hpp"
#include "io/image_edges.hpp"
#include "io/image_resize.hpp"
#include "source_paths.hpp"

namespace omnirt::io {
namespace {
namespace fs = std::filesystem;

const fs::path folder = source_path("tests/goldens/preprocess");

Json cases() {
  const fs::path file = folder / "cases.json";
  return parse_json(read_file(file, size_t{1} << 20), file.string());
}

// OpenCV's and Pillow's (tools/goldens/preprocess.py), bit for bit.
TEST(Preprocess, GivesTheReferencesImage) {
  const Json all = cases();
  for (const auto& [name, each] : all.items()) {
    SCOPED_TRACE(name);
    const Image image = read_image(folder / (each["image"].get<std::string>() + ".png"));
    const Image expected = read_image(folder / (name + ".png"));
    const Image made = preprocessed(image, read_preprocess(each["how"], "how"));
    EXPECT_EQ(made.channels, expected.channels);
    EXPECT_EQ(made, expected);
  }
}

TEST(Preprocess, DropsAlpha) {
  Image image = Image::zeros(3, 2, 4);
  for (size_t i = 0; i < image.pixels.size(); ++i) image.pixels[i] = static_cast<uint8_t>(9 * i);
  for (const char* kind : ChoiceNames<PreprocessKind>::names) {
    const Preprocess how = read_preprocess(kind, "how");
    EXPECT_EQ(preprocessed(image, how), preprocessed(to_rgb(image), how)) << kind;
  }
}

TEST(Preprocess, TakesImagesOfOnePixel) {
  const Image dot = Image::zeros(1, 1, 3);
  for (const char* kind : ChoiceNames<PreprocessKind>::names) {
    const Image made = preprocessed(dot, read_preprocess(kind, "how"));
    EXPECT_EQ(made.width, 1) << kind;
  }
  EXPECT_EQ(preprocessed(dot, read_preprocess({{"type", "tile"}, {"rate", 8}}, "how")), dot);
}

// Field, value and fix of what is refused.
std::string refusal_of(const Json& given) {
  try {
    read_preprocess(given, "config.control_preprocess");
  } catch (const InvalidRequest& refused) {
    const Finding& first = refused.findings().front();
    return first.field + ": " + first.message;
  }
  return "";
}

TEST(Preprocess, RefusesWhatItDoesNotKnowByName) {
  EXPECT_EQ(refusal_of("cany"), "config.control_preprocess: no kind of preprocessing");
  EXPECT_EQ(refusal_of(7), "config.control_preprocess: no kind of preprocessing");
  EXPECT_EQ(refusal_of({{"low", 3}}), "config.control_preprocess.type: no kind of preprocessing");
  EXPECT_EQ(refusal_of({{"type", "canny"}, {"lo", 3}}),
            "config.control_preprocess.lo: canny has no such option");
  EXPECT_EQ(refusal_of({{"type", "invert"}, {"low", 3}}),
            "config.control_preprocess.low: invert has no such option");
  for (const Json& low : {Json(-1), Json(2041), Json(0.5), Json("a"), Json()})
    EXPECT_EQ(refusal_of({{"type", "canny"}, {"low", low}}),
              "config.control_preprocess.low: out of range");
  for (const Json& rate : {Json(0.5), Json(8.5)})
    EXPECT_EQ(refusal_of({{"type", "tile"}, {"rate", rate}}),
              "config.control_preprocess.rate: out of range");
  EXPECT_EQ(refusal_of({{"type", "canny"}, {"low", 0}, {"high", 2040}}), "");
}

TEST(ResizeArea, IsRefusedToALargerSize) {
  EXPECT_THROW(resize_area(Image::zeros(4, 4, 3), 5, 4), InvalidRequest);
  EXPECT_THROW(resize_area(Image::zeros(4, 4, 3), 0, 4), InvalidRequest);
}

}  // namespace
}  // namespace omnirt::io
