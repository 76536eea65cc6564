// Owns: differences between two states, path by path. Does not own: finding them (the API does).
import { useState } from "preact/hooks";
import type { Json } from "../../../src/core/contract/index.ts";
import type { Difference } from "../json-paths.ts";
import "./diff.css";

const WORDS = ["before", "after"] as const;
/** More are shown on request: a migration may change every path of a large state. */
const FIRST = 40;
/** Longer values are folded. */
const SHORT = 160;

export function Diff({
  differences,
  none = "Nothing differs.",
  words = WORDS,
}: {
  readonly differences: readonly Difference[];
  readonly none?: string;
  /** What the two values are. */
  readonly words?: readonly [before: string, after: string];
}) {
  const [all, setAll] = useState(false);
  if (differences.length === 0) return <p class="dim">{none}</p>;
  const visible = all ? differences : differences.slice(0, FIRST);
  return (
    <>
      <ul class="diff">
        {visible.map((difference) => (
          <Change key={difference.path} difference={difference} words={words} />
        ))}
      </ul>
      {visible.length === differences.length ? null : (
        <button type="button" onClick={() => setAll(true)}>
          Show all {differences.length} differences
        </button>
      )}
    </>
  );
}

function Change({
  difference: { path, before, after },
  words,
}: {
  readonly difference: Difference;
  readonly words: readonly [before: string, after: string];
}) {
  const kind = before === undefined ? "added" : after === undefined ? "removed" : "changed";
  const [from, to] = marked(before, after);
  return (
    <li class={kind}>
      <span class="sign" aria-hidden="true">
        {kind === "added" ? "+" : kind === "removed" ? "−" : "~"}
      </span>
      <span class="path">
        <code>{path === "" ? "(the whole state)" : readablePath(path)}</code> <span class="visually-hidden">{kind}</span>
      </span>
      <span class="values">
        {from === undefined ? null : (
          <del>
            <span class="visually-hidden">{words[0]}: </span>
            <Value parts={from} />
          </del>
        )}
        {from === undefined || to === undefined ? null : (
          <span class="arrow" aria-hidden="true">
            →
          </span>
        )}
        {to === undefined ? null : (
          <ins>
            <span class="visually-hidden">{words[1]}: </span>
            <Value parts={to} />
          </ins>
        )}
      </span>
    </li>
  );
}

/** What both texts begin with, what differs, what both end with. */
type Parts = readonly [start: string, middle: string, end: string];

function Value({ parts: [start, middle, end] }: { readonly parts: Parts }) {
  const [open, setOpen] = useState(false);
  const length = start.length + middle.length + end.length;
  const inside = (
    <>
      {start}
      {start === "" && end === "" ? middle : <mark>{middle}</mark>}
      {end}
    </>
  );
  if (length <= SHORT) return <code>{inside}</code>;
  return (
    <>
      <code class={open ? "" : "folded"}>{open ? inside : around([start, middle, end])}</code>
      <button type="button" class="quiet more" aria-expanded={open} onClick={() => setOpen(!open)}>
        {open ? "less" : `all ${length} characters`}
      </button>
    </>
  );
}

function around([start, middle, end]: Parts) {
  if (start === "" && end === "") return `${middle.slice(0, SHORT)}…`;
  const before = start.length > 40 ? `…${start.slice(-40)}` : start;
  return (
    <>
      {before}
      <mark>{middle.length > 80 ? `${middle.slice(0, 80)}…` : middle}</mark>
      {end.length > 40 ? `${end.slice(0, 40)}…` : end}
    </>
  );
}

/** Two texts, or two long values, are compared by what they begin and end with. */
function marked(before: Json | undefined, after: Json | undefined): readonly [Parts | undefined, Parts | undefined] {
  const from = before === undefined ? undefined : JSON.stringify(before);
  const to = after === undefined ? undefined : JSON.stringify(after);
  if (from === undefined || to === undefined || from.length + to.length < 60) return [whole(from), whole(to)];
  const most = Math.min(from.length, to.length);
  let start = 0;
  while (start < most && from[start] === to[start]) start += 1;
  let end = 0;
  while (end < most - start && from.at(-1 - end) === to.at(-1 - end)) end += 1;
  if (start + end < most / 4) return [whole(from), whole(to)];
  const cut = (text: string): Parts => [text.slice(0, start), text.slice(start, text.length - end), text.slice(text.length - end)];
  return [cut(from), cut(to)];
}

const whole = (text: string | undefined): Parts | undefined => (text === undefined ? undefined : ["", text, ""]);

/** A JSON Pointer as people read it: `/comments/0/text` is `comments[0].text`. */
export function readablePath(pointer: string): string {
  if (!pointer.startsWith("/")) return pointer;
  return pointer
    .slice(1)
    .split("/")
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"))
    .map((part, at) =>
      /^(?:0|[1-9]\d*)$/.test(part)
        ? `[${part}]`
        : /^[A-Za-z_$][\w$-]*$/.test(part)
          ? `${at === 0 ? "" : "."}${part}`
          : `[${JSON.stringify(part)}]`,
    )
    .join("");
}
