// Owns: how readable the prose of one Markdown page is. Does not own: which pages are measured, and how the result is printed.
import { flesch } from "flesch";
import type { Nodes, Paragraph } from "mdast";
import { syllable } from "syllable";
import { AVOIDED_WORDS } from "../../scripts/avoided-words.ts";
import { parseMarkdown } from "./markdown.ts";

/** A place that should be rewritten. `line` is that of its paragraph. */
export interface Finding {
  readonly line: number;
  readonly text: string;
}
export interface LongSentence extends Finding {
  readonly words: number;
}
export interface LongParagraph extends Finding {
  readonly lines: number;
}

export interface Prose {
  readonly words: number;
  readonly sentences: number;
  /** Words in a sentence. */
  readonly meanSentence: number;
  readonly longestSentence: number;
  /** Flesch reading ease: 60 and more is plain English, 30 is hard. 100 for a page without prose. */
  readonly flesch: number;
  /** Sentences of more than 25 words, the longest first. */
  readonly longSentences: readonly LongSentence[];
  /** Paragraphs of more than five lines. */
  readonly longParagraphs: readonly LongParagraph[];
  /** Words to avoid. `text` is the word. */
  readonly avoided: readonly Finding[];
}

/** Characters in a line of prose, as long as those of the sources. */
const LINE = 110;
const MOST_LINES = 5;
const LONG_SENTENCE = 25;

const SENTENCES = new Intl.Segmenter("en", { granularity: "sentence" });
/** Stands for code in a sentence. It is upper-case: a lower-case word after a full stop would not begin a sentence. */
const CODE = "\u023B";
const WORD = /[\p{L}\p{N}][\p{L}\p{N}'’-]*/gu;

/** Measures paragraphs and list items. Headings, tables, code blocks and HTML are left out. Code within a sentence counts as one short word, a link as its text. */
export function measureProse(markdown: string): Prose {
  const longSentences: LongSentence[] = [];
  const longParagraphs: LongParagraph[] = [];
  const avoided: Finding[] = [];
  let words = 0;
  let syllables = 0;
  let sentences = 0;
  let longestSentence = 0;
  for (const paragraph of paragraphsOf(parseMarkdown(markdown))) {
    const line = paragraph.position?.start.line ?? 1;
    const codes: string[] = [];
    const marked = textOf(paragraph, codes);
    const lines = Math.ceil((marked.length + codes.join("").length - codes.length) / LINE);
    if (lines > MOST_LINES) longParagraphs.push({ line, lines, text: excerpt(marked, codes) });
    for (const { segment } of SENTENCES.segment(marked)) {
      const codesHere = codes.splice(0, segment.split(CODE).length - 1);
      const found = segment.match(WORD) ?? [];
      if (found.length === 0) continue;
      sentences += 1;
      words += found.length;
      longestSentence = Math.max(longestSentence, found.length);
      if (found.length > LONG_SENTENCE) longSentences.push({ line, words: found.length, text: excerpt(segment, codesHere) });
      for (const word of found) {
        syllables += Math.max(1, syllable(word)); // A number has none.
        if (AVOIDED_WORDS.has(word.toLowerCase())) avoided.push({ line, text: word });
      }
    }
  }
  return {
    words,
    sentences,
    meanSentence: sentences === 0 ? 0 : round(words / sentences),
    longestSentence,
    flesch: sentences === 0 ? 100 : round(flesch({ sentence: sentences, word: words, syllable: syllables })),
    longSentences: longSentences.toSorted((a, b) => b.words - a.words),
    longParagraphs,
    avoided,
  };
}

function paragraphsOf(node: Nodes): readonly Paragraph[] {
  if (node.type === "paragraph") return [node];
  return node.type !== "table" && "children" in node ? node.children.flatMap((child) => paragraphsOf(child)) : [];
}

/** The text of inline nodes. Each piece of code is `CODE`, and is appended to `codes`. */
function textOf(node: Nodes, codes: string[]): string {
  if (node.type === "inlineCode") {
    codes.push(node.value);
    return CODE;
  }
  if (node.type === "text") return node.value.replaceAll("\n", " ");
  if (node.type === "break") return " ";
  return "children" in node ? node.children.map((child) => textOf(child, codes)).join("") : "";
}

function excerpt(marked: string, codes: readonly string[]): string {
  const pieces = marked.split(CODE);
  const text = pieces
    .flatMap((piece, index) => (index === 0 ? [piece] : [`\`${codes[index - 1] ?? ""}\``, piece]))
    .join("")
    .trim();
  return text.length > 160 ? `${text.slice(0, 157).trim()}…` : text;
}

const round = (value: number): number => Math.round(value * 10) / 10;
