// Owns: what an event came from and what followed from it, across actors, dead letters included. Does not own: how causes are recorded
// (core/chain).

import { readBody, readHeader } from "../../core/chain/index.ts";
import { type CancelSignal, type ChainEvent, type DeadLetter, isJsonObject } from "../../core/contract/index.ts";
import { DELIVERY_ATTEMPTS, omitUndefined } from "../../core/contract/internal.ts";
import { type ActorReader, yieldToEventLoop } from "../operate/index.ts";
import { EVENT_ID, eventOf } from "./chain-routes.ts";
import type { ConsoleData } from "./data.ts";
import { wayTo, withRequest } from "./causing-request.ts";
import { eventRow, inList, pathsIn } from "./event-rows.ts";
import { eachLetter } from "./queue-routes.ts";
import { redactedArgs } from "./requests.ts";
import type { ConsoleRoute } from "./routes.ts";
import type { CauseGraph, CauseNode } from "./shapes.ts";

export const causeRoutes: readonly ConsoleRoute[] = [
  {
    verb: "GET",
    path: "/events/:id/causes",
    summary:
      "The tree that an event is part of: back to the first cause, and all that followed from that. Also of a dead letter, by its id.",
    answers: "CauseGraph",
    handle: async ({ params, disconnected }, data) => await causes(params["id"] ?? "", disconnected, data),
  },
];

const MAX_NODES = 1_000;
const MAX_LETTERS = 10_000;
const LOOKS_AT_ONCE = 25;

type Edge = CauseGraph["edges"][number];

interface Found {
  readonly event: ChainEvent;
  readonly depth: number;
}

async function causes(id: string, disconnected: CancelSignal, data: ConsoleData): Promise<CauseGraph> {
  const { reader } = data;
  const requested = EVENT_ID.test(id) ? undefined : await letterOf(id, disconnected, reader);
  // The path to the requested event is in the graph, even if the graph has too many events.
  const way = await wayTo(await eventOf(requested === undefined ? id : (requested.message.cause ?? ""), reader), reader);
  const found = new Map<string, Found>();
  const edges: Edge[] = [];
  let cut = false;
  const add = (event: ChainEvent, from: Found | undefined): void => {
    if (found.has(event.id)) return;
    found.set(event.id, { event, depth: from === undefined ? 0 : from.depth + 1 });
    if (from !== undefined) edges.push(edgeOf(from.event, event));
  };
  for (const [n, event] of way.entries()) add(event, n === 0 ? undefined : found.get(way[n - 1]?.id ?? ""));
  let looks = 0;
  for (const from of found.values()) {
    for (const effect of await reader.caused(from.event.id)) {
      if (found.size >= MAX_NODES && !found.has(effect.id)) {
        cut = true;
        break;
      }
      add(effect, from);
    }
    looks += 1;
    if (looks % LOOKS_AT_ONCE === 0) await yieldToEventLoop();
  }
  const nodes = [...found.values()].map((one) => withRequest(nodeOf(one, found, edges), data));
  for await (const letter of eachLetter(reader, { most: MAX_LETTERS, disconnected })) {
    const from = found.get(letter.message.cause ?? "");
    if (from === undefined) continue;
    if (nodes.length >= MAX_NODES && letter.message.id !== id) {
      cut = true;
      continue;
    }
    nodes.push(letterNode(letter, from.depth + 1, data));
    edges.push({
      from: from.event.id,
      to: letter.message.id,
      message: letter.message.action,
      waitedMs: waited(from.event, letter.message.at),
    });
  }
  return { of: id, root: way[0]?.id ?? id, nodes, edges, cut };
}

async function letterOf(id: string, disconnected: CancelSignal, reader: ActorReader): Promise<DeadLetter | undefined> {
  for await (const letter of eachLetter(reader, { most: MAX_LETTERS, disconnected })) if (letter.message.id === id) return letter;
  return undefined;
}

// A message is stamped when the event that sends it is committed, or when its timer fires.
const waited = (from: ChainEvent, at: number): number => Math.max(0, at - readHeader(from).at);

function edgeOf(from: ChainEvent, to: ChainEvent): Edge {
  const { type, at } = readHeader(to);
  return { from: from.id, to: to.id, message: type, waitedMs: waited(from, at) };
}

function nodeOf({ event, depth }: Found, found: ReadonlyMap<string, Found>, edges: readonly Edge[]): CauseNode {
  const sent = readBody(event)?.sent ?? [];
  const { life, seq } = readHeader(event);
  // What it sent was stamped at its commit. A timer's message is no such: it has waited.
  const first =
    sent.length === 0 ? undefined : edges.find(({ from, to }) => from === event.id && isSentBy(found.get(to)?.event, `${life}.${seq}.`));
  return { ...eventRow(event, pathsIn(event)), depth, ...omitUndefined({ ms: first?.waitedMs }) };
}

function isSentBy(event: ChainEvent | undefined, prefix: string): boolean {
  const message = event === undefined ? undefined : readBody(event)?.message;
  const id = isJsonObject(message) ? message["id"] : undefined;
  return typeof id === "string" && id.startsWith(prefix);
}

function letterNode(letter: DeadLetter, depth: number, data: ConsoleData): CauseNode {
  const { message, why, at } = letter;
  const { id, to, action, from, cause, viewer, replays = 0 } = message;
  const shown = inList(redactedArgs(data, message));
  return {
    id,
    actor: to,
    seq: 0,
    at,
    type: action,
    life: "",
    sent: 0,
    changed: [],
    depth,
    attempts: DELIVERY_ATTEMPTS * (replays + 1),
    letter: { why, action, to },
    ...(shown.cut && { cut: true as const }),
    ...omitUndefined({ args: shown.value, cause, from, principal: viewer?.principal }),
  };
}
