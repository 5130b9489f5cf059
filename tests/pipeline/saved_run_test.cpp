// States of runs whose digest is right and whose contents are not what this program writes.
#include "pipeline/saved_run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "io/safetensors_writer.hpp"
#include "io/sha256.hpp"
#include "io/temp_folder.hpp"
#include "pipeline/value_codec.hpp"

namespace omnirt::testing {
namespace {
using ::testing::HasSubstr;
using ::testing::Not;

std::string refusal(const std::string& json) {
  TempFolder folder;
  io::Sha256 sha;
  sha.add_counted(json);
  io::write_safetensors(folder / "state", {},
                        {{"omnirt.state", json}, {"omnirt.sha256", sha.hex()}});
  return message_of<InvalidFile>([&] { read_saved_run(folder / "state"); });
}

TEST(SavedRun, NamesTheMemberThatIsMissingOrOfAnotherType) {
  const std::string head = R"({"format": 1, "version": "x", "request": {}, "model_path": "")";
  const std::string rest = R"(, "workflow": [], "after": "", "origins": {}, "files": {})";
  struct Case {
    std::string json, names;
  };
  const Case cases[] = {
      {"[]", "'format'"},
      {"{}", "'format'"},
      {R"({"format": []})", "'format' = []"},
      {R"({"format": 1, "version": {}})", "'version' = {}"},
      {head + "}", "'workflow'"},
      {head + R"(, "workflow": [1]})", "'workflow' = [1]"},
      {head + R"(, "workflow": [], "after": "", "origins": {"a": 1}})", "'origins'"},
      {head + rest + R"(, "components": {"unet": 5}, "values": []})", "'class'"},
      {head + rest + R"(, "components": {}, "values": [7]})", "'condition'"},
      {head + rest + R"(, "components": {}, "values": [{"condition": null}]})",
       "'condition' = null"},
      {head + rest +
           R"(, "components": {}, "values": [{"condition": "", "name": "a", "type": "b", "json": {},
           "tensors": {"x": {"tensor": "y", "axes": "z"}}}]})",
       "tensor 'y'"},
      {"{", "line 1, column 2"}};
  for (const Case& each : cases) {
    const std::string message = refusal(each.json);
    EXPECT_THAT(message, HasSubstr(each.names)) << each.json;
    EXPECT_THAT(message, Not(HasSubstr("json.exception"))) << each.json;
  }
}

TEST(SavedValue, DoesNotQuoteTheLibrary) {
  const SavedValue value{Json{{"value", "text"}}};
  EXPECT_THAT(message_of<InvalidFile>([&] { (void)value.get<int64_t>("value"); }),
              HasSubstr("type must be number, but is string"));
  EXPECT_THAT(message_of<InvalidFile>([&] { (void)value.get<int64_t>("other"); }),
              HasSubstr("key 'other' not found"));
}

}  // namespace
}  // namespace omnirt::testing
