// Owns: arguments and replies under a heading: on one line where they are short, otherwise as a tree. Does not own: the tree.
import type { Json } from "../../../src/core/contract/index.ts";
import { JsonTree } from "./json-tree.tsx";
import { lineOf } from "./value-line.ts";
import "./value-part.css";

const SHORT = 90;

/** A reply as people read it: what was answered, without `ok` around it. */
export function replyOf(reply: Json | undefined): Json | undefined {
  if (typeof reply !== "object" || reply === null || Array.isArray(reply)) return reply;
  const entries = Object.entries(reply);
  return entries.length === 1 && entries[0]?.[0] === "ok" ? entries[0][1] : reply;
}

const isEmpty = (value: Json | undefined): boolean =>
  value === undefined || value === null || (typeof value === "object" && Object.keys(value).length === 0);

/** Nothing is drawn for an empty value, unless `none` says so. */
export function ValuePart({ label, value, none }: { readonly label: string; readonly value: Json | undefined; readonly none?: string }) {
  if (value === undefined || isEmpty(value))
    return none === undefined ? null : (
      <div class="value-part">
        <h3>{label}</h3>
        <p class="dim">{none}</p>
      </div>
    );
  const line = lineOf(value, SHORT + 1);
  return (
    <div class="value-part">
      <h3>{label}</h3>
      {line.length <= SHORT ? <code class="line">{line}</code> : <JsonTree value={value} label={label.toLowerCase()} />}
    </div>
  );
}
