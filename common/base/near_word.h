// The word that somebody may have meant.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace bandana {

// Insertions, deletions, changes and swaps of neighbours that make one of the other, where each
// place is edited once. Upper and lower case are alike, and so are '-' and '_'. Cost: the product
// of the lengths.
int EditDistance(std::string_view a, std::string_view b);

// The nearest of the words, where it is at most a third of the shorter length away; else empty. Of
// equally near ones the first. Given words of more than 64 bytes are nobody's slip: empty.
std::string_view NearestWord(std::string_view given, std::span<const std::string_view> words);

// ": did you mean WORD?" of NearestWord, or nothing.
std::string DidYouMean(std::string_view given, std::span<const std::string_view> words);

}  // namespace bandana
