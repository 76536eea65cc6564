// Owns: what a call resulted in: its reply, how long it took, the events that it caused. Does not own: the call.
import type { Json } from "../../../../src/core/contract/index.ts";
import type { CallOutcome, CauseGraph } from "../../../../src/bridges/console/shapes.ts";
import { get } from "../../api.ts";
import { isObject } from "../../json.ts";
import { useResource } from "../../resource.ts";
import { ActorLink, EventLink } from "../../ui/actor-link.tsx";
import { JsonTree } from "../../ui/json-tree.tsx";
import { duration } from "../../ui/time.tsx";

export function CallResult({ outcome: { reply, ms, receipt } }: { readonly outcome: CallOutcome }) {
  const { verdict, level, text, value } = readReply(reply);
  return (
    <section class="call-result" aria-label="Result of the call">
      <div class="row">
        <span class={`badge ${level}`}>{verdict}</span>
        <span class="dim">{duration(ms)}</span>
        {receipt === undefined ? <span class="dim">nothing was committed</span> : null}
      </div>
      {text === undefined ? null : <p class={level === "bad" ? "mistake" : ""}>{text}</p>}
      {value === undefined ? null : <JsonTree value={value} label="the reply" />}
      {receipt === undefined ? null : <Caused key={receipt.head} of={receipt.head} />}
    </section>
  );
}

interface Read {
  readonly verdict: string;
  readonly level: "good" | "bad" | "warning";
  readonly text?: string;
  readonly value?: Json;
}

function readReply(reply: Json): Read {
  if (!isObject(reply)) return { verdict: "done", level: "good", value: reply };
  const { refused, needs, ok } = reply;
  if (isObject(refused)) {
    const { code, message, data } = refused;
    return {
      verdict: typeof code === "string" ? `refused: ${code}` : "refused",
      level: "bad",
      ...(typeof message === "string" ? { text: message } : {}),
      ...(data === undefined ? {} : { value: data }),
    };
  }
  if (needs !== undefined)
    return {
      verdict: "needs an answer",
      level: "warning",
      text: "It asks more often than this page answers.",
      value: needs,
    };
  if (typeof ok === "string") return { verdict: "done", level: "good", text: ok };
  return { verdict: "done", level: "good", ...(ok === undefined || ok === null ? {} : { value: ok }) };
}

/** The event of the call, and what has followed from it so far. */
function Caused({ of }: { readonly of: string }) {
  const graph = useResource<CauseGraph>(of, (signal) => get(`/events/${of}/causes`, {}, signal));
  const nodes = graph.data.value === undefined ? undefined : following(graph.data.value);
  return (
    <div class="caused">
      <div class="row">
        <h3>Events it caused</h3>
        <button type="button" class="small quiet" onClick={graph.reload}>
          Look again
        </button>
      </div>
      {nodes === undefined ? (
        <p>
          <EventLink id={of} />
        </p>
      ) : (
        <ul>
          {nodes.map(({ id, actor, type, letter, depth }) => (
            <li key={id} style={{ paddingLeft: `${depth * 16}px` }}>
              {letter === undefined ? <EventLink id={id} /> : <span class="badge bad">dead letter</span>} <code>{type}</code>{" "}
              <span class="dim">on</span> <ActorLink id={actor} />
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

/** The event that the call began with, and all below it, each with its depth. A reply may come with a later event (`settled`). */
function following({ nodes, edges, root }: CauseGraph): readonly CauseGraph["nodes"][number][] {
  const depths = new Map([[root, 0]]);
  const next = [root];
  for (let id = next.shift(); id !== undefined; id = next.shift())
    for (const { from, to } of edges)
      if (from === id && !depths.has(to)) {
        depths.set(to, (depths.get(id) ?? 0) + 1);
        next.push(to);
      }
  return nodes.flatMap((node) => {
    const depth = depths.get(node.id);
    return depth === undefined ? [] : [{ ...node, depth }];
  });
}
