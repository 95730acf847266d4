//! Word lists for rules. The lists use little memory, which matters because the whole memory of a guest is copied for each event.

use super::text::Text;
use serde::de::{Deserialize, Deserializer, Error};
use serde::{Serialize, Serializer};

/// Maximum length of a word in a list, in bytes. The length is stored as a character, and the code points after this number are surrogates,
/// which are not characters.
const MAX_WORD_BYTES: usize = 0xD7FF;

/// A list of words in one string. Before each word, there is a character whose code is the length of the word in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Words(Text);

impl Words {
    /// # Errors
    /// Returns an error if a word is longer than `MAX_WORD_BYTES`, because no character could represent its length.
    pub(crate) fn new(words: &[String]) -> Result<Self, String> {
        let mut list = String::new();
        match words.iter().find(|word| push(&mut list, word).is_none()) {
            Some(word) => {
                Err(format!("a word of {} bytes is more than the {MAX_WORD_BYTES} that a rule's may have", word.len()))
            }
            None => Ok(Self(Text::new(&list))),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns true if the list contains the word.
    pub(crate) fn has(&self, word: &str) -> bool {
        self.has_as(word, |one, other| one == other)
    }

    /// Returns true if the list contains the word in upper or lower case.
    pub(crate) fn has_in_any_case(&self, word: &str) -> bool {
        self.has_as(word, <[u8]>::eq_ignore_ascii_case)
    }

    fn has_as(&self, word: &str, is_same: impl Fn(&[u8], &[u8]) -> bool) -> bool {
        let word = word.as_bytes();
        self.any(|other| other.len() == word.len() && is_same(other, word))
    }

    /// Calls `is` with the bytes of each word. Returns true if one of the calls returns true.
    #[inline]
    pub(crate) fn any(&self, mut is: impl FnMut(&[u8]) -> bool) -> bool {
        let list = self.0.as_bytes();
        let mut begin = 0;
        while let Some((length, width)) = self.length_at(begin) {
            begin += width;
            let end = begin + length;
            if list.get(begin..end).is_some_and(&mut is) {
                return true;
            }
            begin = end;
        }
        false
    }

    /// Returns the length of the word at `begin` and the number of bytes that encode it.
    fn length_at(&self, begin: usize) -> Option<(usize, usize)> {
        match self.0.as_bytes().get(begin)? {
            byte if byte.is_ascii() => Some((usize::from(*byte), 1)),
            _ => self.0[begin..].chars().next().map(|c| (c as usize, c.len_utf8())),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &'static str> + Clone + use<> {
        let mut rest = self.0.as_str();
        std::iter::from_fn(move || {
            let (length, begin) = match rest.as_bytes().first()? {
                byte if byte.is_ascii() => (usize::from(*byte), 1),
                _ => rest.chars().next().map(|c| (c as usize, c.len_utf8()))?,
            };
            let (word, next) = rest[begin..].split_at(length);
            rest = next;
            Some(word)
        })
    }
}

impl Words {
    /// Returns true if `text` contains one of the words in upper or lower case, or if the list is empty.
    pub(crate) fn occurs_in(&self, text: &str) -> bool {
        if self.is_empty() {
            return true;
        }
        // This runs for each pattern and each word of a command, so a fast check comes first. Most texts of the list are longer than the
        // word or have a letter that the word does not have.
        let bytes = text.bytes().fold(0, |bytes, byte| bytes | bit(byte));
        let is_there = |byte: &u8| bytes & bit(*byte) != 0;
        self.any(|part| part.len() <= text.len() && part.iter().all(is_there) && contains(text.as_bytes(), part))
    }

    /// Like [`Words::occurs_in`], for a text whose pairs are known.
    pub(crate) fn occurs_with(&self, text: &str, pairs: &Pairs) -> bool {
        self.is_empty() || self.any(|part| pairs.may_hold(part) && contains(text.as_bytes(), part))
    }
}

impl Serialize for Words {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

/// Reads a list of strings from the config. In an embedded catalogue, the list is already one string in the form of [`Words`].
impl<'de: 'static> Deserialize<'de> for Words {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            Self::new(&Vec::deserialize(deserializer)?).map_err(D::Error::custom)
        } else {
            Text::deserialize(deserializer).map(Self)
        }
    }
}

/// A map from a name and an inner name to numbers, in three blocks of memory. An inner name is stored as a hash of a few bits, so
/// [`Numbers::of`] may also return numbers of another inner name.
#[derive(Debug, Default)]
pub(crate) struct Index {
    /// The sorted names, one after the other.
    names: Box<str>,
    /// For each name, the index at which the name ends and the index at which its numbers end.
    ends: Box<[(u32, u32)]>,
    numbers: Box<[Numbered]>,
}

/// A number with the hash of the inner name in its upper bits.
type Numbered = u32;

/// Number of bits for the number itself. A guest's memory cannot hold more items than fit into these bits.
const NUMBER_BITS: u32 = 20;
const NUMBERS: u32 = (1 << NUMBER_BITS) - 1;

/// Returns the hash of an inner name, shifted to the bits above the number. If there is no inner name, returns 0, which is never the hash
/// of a name.
fn bits_of(inner: Option<&str>) -> Numbered {
    let Some(inner) = inner else { return 0 };
    let hash = inner.bytes().fold(0x811C_9DC5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    (1 + (hash ^ (hash >> 15)) % (u32::MAX >> NUMBER_BITS)) << NUMBER_BITS
}

/// The numbers of a name.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Numbers<'a>(&'a [Numbered]);

impl<'a> Numbers<'a> {
    /// Returns the numbers of an inner name, and the numbers of other inner names with the same hash. `None` means that there is no inner
    /// name.
    pub(crate) fn of(self, inner: Option<&str>) -> impl Iterator<Item = u32> + use<'a> {
        let bits = bits_of(inner);
        let begin = self.0.partition_point(|number| *number < bits);
        self.0[begin..].iter().map(move |number| number ^ bits).take_while(|number| *number <= NUMBERS)
    }

    /// Returns all numbers.
    pub(crate) fn all(self) -> impl Iterator<Item = u32> + use<'a> {
        self.0.iter().map(|number| number & NUMBERS)
    }
}

impl Index {
    /// Returns the numbers of a name. An unknown name has no numbers.
    pub(crate) fn get(&self, name: &str) -> Numbers<'_> {
        let begin = |at: usize| at.checked_sub(1).map_or((0, 0), |before| self.ends[before]);
        let (mut low, mut high) = (0, self.ends.len());
        while low < high {
            let middle = usize::midpoint(low, high);
            let (from, to) = (begin(middle), self.ends[middle]);
            let written = &self.names.as_bytes()[from.0 as usize..to.0 as usize];
            if name.as_bytes() < written {
                high = middle;
            } else if name.as_bytes() == written {
                return Numbers(&self.numbers[from.1 as usize..to.1 as usize]);
            } else {
                low = middle + 1;
            }
        }
        Numbers(&[])
    }

    /// Makes an index. `pairs` is called for each possible first byte of a name (see [`first`]). It returns the names with this first byte,
    /// each with an optional inner name and a number.
    ///
    /// Because a guest's memory never shrinks, only the names with one first byte are sorted at a time, and each block is allocated at its
    /// final size.
    pub(crate) fn new<'a, I: Iterator<Item = (&'a str, Option<&'a str>, u32)>>(
        firsts: impl Iterator<Item = u8>,
        pairs: impl Fn(u8) -> I,
    ) -> Self {
        let mut begins = [false; 256];
        firsts.for_each(|first| begins[usize::from(first)] = true);
        let mut sorted = Vec::new();
        let (mut bytes, mut names, mut numbers) = (0, 0, 0);
        let mut each_sorted = |act: &mut dyn FnMut(&[Entry<'a>])| {
            for first in (0..=u8::MAX).filter(|first| begins[usize::from(*first)]) {
                sorted.clear();
                sorted.extend(pairs(first).map(|(name, inner, number)| Entry {
                    begin: beginning(name),
                    name,
                    number: bits_of(inner) | number.min(NUMBERS),
                }));
                sorted.sort_unstable();
                sorted.dedup();
                sorted.chunk_by(|one, other| one.begin == other.begin && one.name == other.name).for_each(&mut *act);
            }
        };
        each_sorted(&mut |named| {
            bytes += named[0].name.len();
            names += 1;
            numbers += named.len();
        });
        // The largest block is allocated first, while the most space is free.
        let numbers = Vec::with_capacity(numbers);
        let mut index = (String::with_capacity(bytes), Vec::with_capacity(names), numbers);
        let small = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        each_sorted(&mut |named| {
            let (names, ends, numbers) = &mut index;
            names.push_str(named[0].name);
            numbers.extend(named.iter().map(|entry| entry.number));
            ends.push((small(names.len()), small(numbers.len())));
        });
        let (names, ends, numbers) = index;
        Self { names: names.into(), ends: ends.into(), numbers: numbers.into() }
    }
}

/// A name for an index, with its sort key. The key contains the first bytes of the name as one number, which distinguishes most names.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Entry<'a> {
    begin: u32,
    name: &'a str,
    number: Numbered,
}

/// Returns the first bytes of a name as a number that sorts like the name.
fn beginning(name: &str) -> u32 {
    let mut bytes = [0; 4];
    let length = name.len().min(bytes.len());
    bytes[..length].copy_from_slice(&name.as_bytes()[..length]);
    u32::from_be_bytes(bytes)
}

/// Returns the first byte of a name, or 0 if the name is empty.
pub(crate) fn first(name: &str) -> u8 {
    name.bytes().next().unwrap_or(0)
}

/// A text to search for in other texts, in upper or lower case.
#[derive(Debug)]
pub(crate) struct Part {
    text: Text,
    /// The first and last pair of bytes of the text, or `None` if the text is shorter than two bytes.
    ends: Option<[Pair; 2]>,
}

impl Part {
    pub(crate) fn new(text: &str) -> Self {
        let bytes = text.as_bytes();
        let ends = bytes.first_chunk().zip(bytes.last_chunk());
        Self { ends: ends.map(|(first, last)| [Pair::of(*first), Pair::of(*last)]), text: Text::new(text) }
    }

    /// Returns true if `text` contains the part. `pairs` must be the pairs of `text`.
    pub(crate) fn is_in(&self, text: &str, pairs: &Pairs) -> bool {
        let may_be = self.ends.is_none_or(|[first, last]| pairs.may_have(first) && pairs.may_have(last));
        may_be && pairs.may_hold(self.text.as_bytes()) && contains(text.as_bytes(), self.text.as_bytes())
    }
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    let Some(first) = part.first() else { return true };
    let (lower, upper) = (first.to_ascii_lowercase(), first.to_ascii_uppercase());
    let begins = |at: usize| text[at..].get(..part.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(part));
    let mut bytes = text.iter().enumerate();
    bytes.any(|(at, byte)| (*byte == lower || *byte == upper) && begins(at))
}

/// The set of pairs of adjacent bytes in a text, with ASCII letters in lower case. It may contain pairs that the text does not have.
#[derive(Debug)]
pub(crate) struct Pairs {
    pairs: [u64; 16],
    /// The set of single bytes in the text. It may contain bytes that the text does not have.
    bytes: u64,
}

impl Pairs {
    pub(crate) fn of(text: &str) -> Self {
        let mut all = Self { pairs: [0; 16], bytes: text.bytes().next_back().map_or(0, bit) };
        for pair in text.as_bytes().array_windows() {
            let Pair(place) = Pair::of(*pair);
            all.pairs[usize::from(place / 64)] |= 1 << (place % 64);
            all.bytes |= bit(pair[0]);
        }
        all
    }

    fn may_hold(&self, part: &[u8]) -> bool {
        match part {
            [byte] => self.bytes & bit(*byte) != 0,
            [first, ..] if self.bytes & bit(*first) == 0 => false,
            part => part.array_windows().all(|pair| self.may_have(Pair::of(*pair))),
        }
    }

    fn may_have(&self, Pair(place): Pair) -> bool {
        self.pairs[usize::from(place / 64)] & (1 << (place % 64)) != 0
    }
}

/// Returns the bit of a byte in a set of 64 bits.
fn bit(byte: u8) -> u64 {
    1 << (byte.to_ascii_lowercase() % 64)
}

/// The index of a pair in the set, below 1 024.
#[derive(Clone, Copy, Debug)]
struct Pair(u16);

impl Pair {
    fn of(pair: [u8; 2]) -> Self {
        let [first, second] = pair;
        Self((u16::from(first.to_ascii_lowercase()) * 37 + u16::from(second.to_ascii_lowercase())) % 1024)
    }
}

/// Appends a word to a list. Returns `None` if the word is too long.
fn push(list: &mut String, word: &str) -> Option<()> {
    let length = u32::try_from(word.len()).ok().filter(|_| word.len() <= MAX_WORD_BYTES).and_then(char::from_u32)?;
    list.push(length);
    list.push_str(word);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::{Index, NUMBERS, Pairs, Part, Words, bits_of, first};
    use std::collections::BTreeMap;

    #[test]
    fn a_list_gives_back_its_words() {
        let words = |words: &[&str]| Words::new(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
        let given = |of: &[&str]| words(of).unwrap().iter().map(str::to_owned).collect::<Vec<_>>();
        assert!(words(&[]).unwrap().is_empty());
        assert_eq!(given(&[]), Vec::<String>::new());
        let long = "é".repeat(0x6B00);
        let all = ["system prune", "", "a\nb", &long];
        assert_eq!(given(&all), all);
        assert!(all.iter().all(|word| words(&all).unwrap().has(word)));
        assert!(
            !["system", "a", "é", "a\n"].iter().any(|word| words(&all).unwrap().has(word))
                && !words(&[]).unwrap().has("")
        );
        let error = words(&[&"x".repeat(0xD800)]).unwrap_err();
        assert_eq!(error, "a word of 55296 bytes is more than the 55295 that a rule's may have");
    }

    type Pair<'a> = (&'a str, Option<&'a str>, u32);

    fn of_pairs(pairs: &[Pair<'_>]) -> Index {
        let firsts = pairs.iter().map(|(name, ..)| first(name));
        Index::new(firsts, |byte| pairs.iter().copied().filter(move |(name, ..)| first(name) == byte))
    }

    #[test]
    fn an_index_gives_the_numbers_of_each_name_in_order() {
        let (push, pull, none) = (Some("push"), Some("pull"), None);
        let pairs = [
            ("git", none, 3),
            ("git", push, 2),
            ("a", none, 7),
            ("git", none, 1),
            ("git", none, 3),
            ("é", push, 0),
            ("g", pull, 4),
        ];
        let index = of_pairs(&pairs);
        let of = |name, inner| index.get(name).of(inner).collect::<Vec<_>>();
        assert_eq!((of("git", none), of("git", push), of("a", none)), (vec![1, 3], vec![2], vec![7]));
        assert_eq!((of("é", push), of("g", pull)), (vec![0], vec![4]));
        for name in ["", "g", "gi", "gitt", "b", "ê", "aa", "é"] {
            assert!(of(name, none).is_empty() && Index::default().get(name).all().next().is_none(), "{name}");
        }
        for (name, inner) in
            [("git", "pusha"), ("git", "pus"), ("git", ""), ("gi", "t"), ("a", "push"), ("g", "push"), ("", "")]
        {
            assert!(of(name, Some(inner)).is_empty(), "{name} {inner}");
        }
    }

    /// The numbers range from the smallest to the greatest, and each name is the beginning of another name.
    #[test]
    fn an_index_says_what_a_map_would_and_may_add_what_is_within_the_same_name() {
        let names = ["", "-", ".", "a", "a-b", "a.b", "aa", "ab", "b", "git", "git-x", "gitt", "z", "é", "\u{1}"];
        let mut map: BTreeMap<(&str, Option<&str>), Vec<u32>> = BTreeMap::new();
        for (number, name) in (0..).zip(names) {
            for (at, inner) in names.iter().enumerate().filter(|(at, _)| (at + number as usize).is_multiple_of(3)) {
                map.entry((name, Some(*inner).filter(|_| at > 2))).or_default().extend([number, NUMBERS - number]);
            }
        }
        let pairs =
            map.iter().flat_map(|((name, inner), numbers)| numbers.iter().map(|number| (*name, *inner, *number)));
        let index = of_pairs(&pairs.rev().collect::<Vec<_>>());
        for name in names {
            for inner in names.map(Some).into_iter().chain([None]) {
                let mut expected = map.get(&(name, inner)).cloned().unwrap_or_default();
                expected.sort_unstable();
                expected.dedup();
                let found = index.get(name).of(inner).collect::<Vec<_>>();
                let is_shared = names
                    .iter()
                    .any(|other| inner.is_some_and(|inner| inner != *other) && bits_of(Some(*other)) == bits_of(inner));
                assert!(
                    found == expected || (is_shared && expected.iter().all(|number| found.contains(number))),
                    "{name:?} {inner:?}"
                );
            }
            let mut all = index.get(name).all().collect::<Vec<_>>();
            all.sort_unstable();
            let mut expected: Vec<u32> =
                map.iter().filter(|((other, _), _)| *other == name).flat_map(|(_, numbers)| numbers.clone()).collect();
            expected.sort_unstable();
            assert_eq!(all, expected, "{name:?}");
        }
    }

    #[test]
    fn names_within_a_name_are_rarely_taken_for_each_other() {
        let words: Vec<String> = (0..200).map(|number| format!("word{number}")).collect();
        let shared = words.iter().enumerate().flat_map(|(at, one)| words[..at].iter().map(move |other| (one, other)));
        let shared = shared.filter(|(one, other)| bits_of(Some(one)) == bits_of(Some(other))).count();
        // There are 19 900 pairs, and by chance, one of 4 095 pairs has the same hash.
        assert!(shared < 15, "{shared}");
        assert!(words.iter().all(|word| bits_of(Some(word)) != bits_of(None)));
    }

    #[test]
    fn a_part_is_found_in_any_case_wherever_it_is() {
        let is_in = |part: &str, text: &str| Part::new(part).is_in(text, &Pairs::of(text));
        assert!(is_in("DROP table", "xx drop TABLE"));
        assert!(is_in("=", "a=b") && is_in("", "") && is_in("ab", "AB") && is_in("é", "caf\u{e9}"));
        assert!(is_in("@", "A@") && is_in("a", "xA") && !is_in("@", "\0") && !is_in("@", ""));
        assert!(!is_in("ab", "ba") && !is_in("abc", "abxbc") && !is_in("=", "") && !is_in("ab", "a"));
    }
}
