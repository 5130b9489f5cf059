#include "io/carried_text.hpp"

#include <gtest/gtest.h>

#include "io/file.hpp"
#include "io/image.hpp"
#include "io/temp_folder.hpp"
#include "io/video.hpp"

namespace omnirt::io {
namespace {
using omnirt::testing::TempFolder;

const ImageMetadata carried{{request_metadata_key, std::string(700, 'x') + " \xc3\xa4 \"end\""}};

std::vector<Image> frames() {
  std::vector<Image> made(3, Image::zeros(32, 16, 3));
  for (size_t i = 0; i < made.size(); ++i) made[i].pixels[i * 30] = 200;
  return made;
}

TEST(CarriedText, ComesBackFromEveryFormatThatIsWritten) {
  TempFolder folder;
  for (const char* name : {"a.png", "a.jpg", "a.webp"}) {
    write_image(folder / name, frames().front(), carried);
    auto read = read_carried_text(folder / name);
    ASSERT_TRUE(read) << name;
    EXPECT_EQ(read->text, carried.at(request_metadata_key)) << name;
  }
  for (VideoFormat format :
       {VideoFormat::gif, VideoFormat::webp, VideoFormat::frames, VideoFormat::mp4}) {
    if (video_format_missing(format)) continue;
    auto path = folder / ("video" + std::string(name_of(format)) + video_extension(format));
    write_video(path, frames(), format, carried, {});
    auto read = read_carried_text(path);
    ASSERT_TRUE(read) << name_of(format);
    EXPECT_EQ(read->text, carried.at(request_metadata_key)) << name_of(format);
  }
}

TEST(CarriedText, IsNothingWhereImagesCarryNoneAndInOtherFiles) {
  TempFolder folder;
  write_image(folder / "a.png", frames().front());
  EXPECT_EQ(read_carried_text(folder / "a.png")->text, std::nullopt);
  write_video(folder / "a.gif", frames(), VideoFormat::gif, {}, {});
  EXPECT_EQ(read_carried_text(folder / "a.gif")->text, std::nullopt);
  write_file(folder / "a.json", "{}");
  EXPECT_FALSE(read_carried_text(folder / "a.json"));
  EXPECT_FALSE(read_carried_text(folder / "absent"));
}

TEST(CarriedText, ParametersComeBackFromEveryImageFormat) {
  TempFolder folder;
  const ImageMetadata both{{request_metadata_key, "{}"},
                           {parameters_metadata_key, "an \xc3\xa4pple \xf0\x9f\x8d\x8e\nSteps: 4"}};
  for (const char* name : {"a.png", "a.jpg", "a.webp"}) {
    write_image(folder / name, frames().front(), both);
    auto read = read_carried_text(folder / name);
    ASSERT_TRUE(read) << name;
    EXPECT_EQ(read->parameters, both.at(parameters_metadata_key)) << name;
    EXPECT_EQ(read->text, "{}") << name;
  }
}

TEST(CarriedText, ParametersThatNoSegmentHoldsAreLeftOutOfAJpeg) {
  TempFolder folder;
  write_image(folder / "a.jpg", frames().front(),
              {{request_metadata_key, "{}"}, {parameters_metadata_key, std::string(40000, 'x')}});
  auto read = read_carried_text(folder / "a.jpg");
  EXPECT_EQ(read->parameters, std::nullopt);
  EXPECT_EQ(read->text, "{}");
}

TEST(CarriedText, OfACutOrDamagedVideoIsNothingOrAsItWas) {
  TempFolder folder;
  for (VideoFormat format : {VideoFormat::gif, VideoFormat::mp4}) {
    if (video_format_missing(format)) continue;
    std::string whole = encode_video(frames(), format, carried, {});
    for (size_t cut = 0; cut < whole.size(); cut += 1 + cut / 50) {
      write_file(folder / "cut", std::string_view(whole).substr(0, cut));
      EXPECT_NO_THROW(read_carried_text(folder / "cut")) << cut;
      std::string damaged = whole;
      damaged[cut] = static_cast<char>(damaged[cut] ^ 0x81);
      write_file(folder / "damaged", damaged);
      EXPECT_NO_THROW(read_carried_text(folder / "damaged")) << cut;
    }
  }
}

}  // namespace
}  // namespace omnirt::io
