// The search index: which page has which words.

const STOP = new Set('a an and are as at be by for from in is it of on or that the to was with'.split(' '));

export function wordsOf(text) {
  return (text.toLowerCase().match(/[\p{L}\p{N}]{2,}/gu) ?? []).filter((word) => !STOP.has(word));
}

export function buildIndex(pages) {
  const words = new Map();
  const entries = pages.map((page, number) => {
    const counts = new Map();
    for (const word of wordsOf(`${page.title} ${page.title} ${page.words}`)) {
      counts.set(word, (counts.get(word) ?? 0) + 1);
    }
    for (const [word, count] of counts) {
      if (!words.has(word)) words.set(word, []);
      words.get(word).push([number, count]);
    }
    return { title: page.title, address: page.address };
  });
  const sorted = [...words].sort(([one], [other]) => (one < other ? -1 : 1));
  return { pages: entries, words: Object.fromEntries(sorted) };
}
