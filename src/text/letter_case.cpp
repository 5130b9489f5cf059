#include "text/letter_case.hpp"

#include <utf8proc.h>

#include <algorithm>
#include <iterator>

#include "text/unicode.hpp"

namespace omnirt::text {
namespace {

using enum LetterCase;

struct CaseRange {
  char32_t first, last;
  LetterCase value;
};

// Where utf8proc of Unicode 15.0 to 18.0 differs from the reference's Unicode 16 and the classes of
// unicode_pins.hpp do not show it. Sorted.
constexpr CaseRange cases[] = {
    {0x0295, 0x0295, lower},    {0x05C8, 0x05C9, none},     {0x0897, 0x0897, either},
    {0x0B53, 0x0B54, none},     {0x1ACF, 0x1AF0, none},     {0x1C89, 0x1C89, upper},
    {0x1C8A, 0x1C8A, lower},    {0xA7CB, 0xA7CC, upper},    {0xA7CD, 0xA7CD, lower},
    {0xA7DA, 0xA7DA, upper},    {0xA7DB, 0xA7DB, lower},    {0xA7DC, 0xA7DC, upper},
    {0x105C0, 0x105F3, either}, {0x10D4A, 0x10D4F, either}, {0x10D50, 0x10D65, upper},
    {0x10D69, 0x10D6D, either}, {0x10D6F, 0x10D6F, either}, {0x10D70, 0x10D85, lower},
    {0x10EC2, 0x10EC4, either}, {0x10ECB, 0x10ECF, none},   {0x10EF0, 0x10EFB, none},
    {0x10EFC, 0x10EFC, either}, {0x11380, 0x11389, either}, {0x1138B, 0x1138B, either},
    {0x1138E, 0x1138E, either}, {0x11390, 0x113B5, either}, {0x113B7, 0x113C0, either},
    {0x113C2, 0x113C2, either}, {0x113C5, 0x113C5, either}, {0x113C7, 0x113CA, either},
    {0x113CC, 0x113D3, either}, {0x113E1, 0x113E2, either}, {0x11B60, 0x11B67, none},
    {0x11BC0, 0x11BE0, either}, {0x11DF0, 0x11DF1, none},   {0x11F5A, 0x11F5A, either},
    {0x13460, 0x143FA, either}, {0x16100, 0x1612F, either}, {0x16D40, 0x16D6C, either},
    {0x16FF2, 0x16FF6, none},   {0x18CFF, 0x18CFF, either}, {0x1D127, 0x1D128, none},
    {0x1D250, 0x1D252, none},   {0x1D25B, 0x1D25C, none},   {0x1D25F, 0x1D25F, none},
    {0x1D280, 0x1D281, none},   {0x1E5D0, 0x1E5F0, either}, {0x1E6E0, 0x1E6F5, none},
    {0x2EBF0, 0x2EE5D, either},
};

}  // namespace

LetterCase letter_case(char32_t c) {
  if (c < 0x80) {
    if (c >= U'A' && c <= U'Z') return upper;
    return c >= U'a' && c <= U'z' ? lower : none;
  }
  const CaseRange* pin =
      std::lower_bound(std::begin(cases), std::end(cases), c,
                       [](const CaseRange& range, char32_t value) { return range.last < value; });
  if (pin != std::end(cases) && pin->first <= c) return pin->value;
  utf8proc_category_t category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
  if (category >= UTF8PROC_CATEGORY_MN && category <= UTF8PROC_CATEGORY_ME) return either;
  if (char_class(c) != CharClass::letter) return none;
  if (category == UTF8PROC_CATEGORY_LU || category == UTF8PROC_CATEGORY_LT) return upper;
  return category == UTF8PROC_CATEGORY_LL ? lower : either;
}

}  // namespace omnirt::text
