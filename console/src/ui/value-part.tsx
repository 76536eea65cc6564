// Owns: arguments and replies under a heading: on one line where they are short, otherwise as a tree. Does not own: the tree
// (json-tree.tsx).
import type { ComponentChildren } from "preact";
import type { Json } from "../../../src/core/contract/index.ts";
import { isObject } from "../json.ts";
import { JsonTree } from "./json-tree.tsx";
import { lineOf } from "./value-line.ts";
import "./value-part.css";

const SHORT = 90;

/** An event's reply, without the `ok` around it. */
export function ReplyPart({ reply, none }: { readonly reply: Json | undefined; readonly none?: string }) {
  // Replies are objects; this text in place of one is the record of a deferred reply.
  if (reply === "later")
    return (
      <Part label="Reply">
        <p class="dim">Deferred: a later event of this actor sends it.</p>
      </Part>
    );
  const isPlainOk = isObject(reply) && "ok" in reply && Object.keys(reply).length === 1;
  return <ValuePart label="Reply" value={isPlainOk ? reply["ok"] : reply} {...(none === undefined ? {} : { none })} />;
}

const Part = ({ label, children }: { readonly label: string; readonly children: ComponentChildren }) => (
  <div class="value-part">
    <h3>{label}</h3>
    {children}
  </div>
);

const isEmpty = (value: Json | undefined): boolean =>
  value === undefined || value === null || (typeof value === "object" && Object.keys(value).length === 0);

/** Nothing is drawn for an empty value, unless `none` says so. */
export function ValuePart({ label, value, none }: { readonly label: string; readonly value: Json | undefined; readonly none?: string }) {
  if (value === undefined || isEmpty(value))
    return none === undefined ? null : (
      <Part label={label}>
        <p class="dim">{none}</p>
      </Part>
    );
  const line = lineOf(value, SHORT + 1);
  return (
    <Part label={label}>
      {line.length <= SHORT ? <code class="line">{line}</code> : <JsonTree value={value} label={label.toLowerCase()} />}
    </Part>
  );
}
