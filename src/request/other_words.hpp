#pragma once
#include <span>
#include <string>
#include <string_view>

namespace omnirt {

// A word by which users of other programs (A1111's web UI, ComfyUI, diffusers,
// stable-diffusion.cpp, Kohya's scripts) know a field of this program's request, or something that
// it does not do.
struct OtherWord {
  enum class Meaning {
    same,  // the flag --word is the field's own flag, too
    near,  // means nearly this, or is used with other values: named in errors only
    none,  // there is no such thing here: `note` says what there is instead
  };
  std::string_view word;   // with '_' between its parts
  std::string_view field;  // "config.guidance_scale", "inputs.image", "components.vae", "model"
  Meaning meaning = Meaning::same;
  std::string_view note = {};  // of near and none: what to know
};

// All of them, in no order that matters.
std::span<const OtherWord> other_words();

// The entry of a word, written with '-' or '_' and in small or capital letters (of one letter: as
// it is written); null where there is none.
const OtherWord* find_other_word(std::string_view word);

// The field that a word at this place of a request ("", "config", "inputs") means: by the table, or
// a field's own name at the wrong place ("prompt" for inputs.prompt). "" where it is not known.
std::string field_meant(std::string_view place, std::string_view word);

}  // namespace omnirt
