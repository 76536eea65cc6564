// Owns: an event as lists show it: who, what, the paths that it changed. Does not own: reading events (chain-routes.ts).

import { apply, diffStates, readBody, readHeader } from "../../core/chain/index.ts";
import { type ActorId, type ChainEvent, isJsonObject, isList, type Json, type JsonObject } from "../../core/contract/index.ts";
import { charactersIn, isAddress, omitUndefined, pointerStep } from "../../core/contract/internal.ts";
import { type ActorReader, stateAfter, yieldToEventLoop } from "../operate/index.ts";
import type { EventRow } from "./shapes.ts";

const MAX_PATHS = 20;
/** Of arguments or a reply in a list, in characters of its JSON. */
const MAX_TEXT = 4_096;
/** Larger states are not compared for a list. */
const MAX_COMPARED = 262_144;
/** So many characters are read between two turns of the event loop. */
const SLICE = 262_144;

/** `whole`: arguments and reply, however long they are. */
export function eventRow(event: ChainEvent, changed: readonly string[], whole = false): EventRow {
  const { actor, seq, at, type, life, cause } = readHeader(event);
  const body = readBody(event);
  const common = { id: event.id, actor, seq, at, type, life, changed, ...omitUndefined({ cause }) };
  if (body === undefined) return { ...common, sent: 0, erased: true };
  const message: JsonObject = isJsonObject(body.message) ? body.message : {};
  const { viewer, from } = message;
  const principal = isJsonObject(viewer) ? viewer["principal"] : undefined;
  const args = inList(message["args"], whole);
  const reply = inList(body.reply, whole);
  return {
    ...common,
    ...(typeof principal === "string" && { principal }),
    ...(isAddress(from) && { from }),
    ...omitUndefined({ args: args.value, reply: reply.value }),
    ...((args.cut || reply.cut) && { cut: true }),
    sent: body.sent.length,
  };
}

/** Arguments or a reply as lists have them. `whole`: however long they are. */
export function inList(value: Json | undefined, whole = false): { readonly value: Json | undefined; readonly cut: boolean } {
  const fits = whole || value === undefined || JSON.stringify(value).length <= MAX_TEXT;
  return { value: fits ? value : undefined, cut: !fits };
}

/**
 * Events in order, with the paths that each changed: at most 20. An event that holds a whole state is compared with the one before it,
 * which is read once for these events.
 */
export async function eventRows(
  reader: Pick<ActorReader, "events" | "state">,
  events: readonly ChainEvent[],
): Promise<readonly EventRow[]> {
  const rows: EventRow[] = [];
  /** After the last event; undefined: not known, or not followed. */
  let state: Json | undefined;
  let following = false;
  let last = 0;
  let characters = 0;
  for (const event of events) {
    characters += charactersIn([event]);
    if (characters > SLICE) {
      characters = 0;
      await yieldToEventLoop();
    }
    const { actor, seq, parent, type } = readHeader(event);
    // A filter left out the events between.
    if (seq !== last + 1) [state, following] = [undefined, false];
    last = seq;
    const body = readBody(event);
    if (body === undefined) {
      state = undefined;
      rows.push(eventRow(event, []));
      continue;
    }
    if (body.state === undefined) {
      rows.push(eventRow(event, body.patch === undefined ? [] : pathsOf(body.patch)));
      if (state !== undefined && body.patch !== undefined) state = apply(state, body.patch);
      continue;
    }
    const isLarge = (event.body?.length ?? 0) > MAX_COMPARED;
    if (parent === null || isLarge) {
      rows.push(eventRow(event, parent === null ? [""] : []));
    } else {
      if (!following || state === undefined) state = await stateBefore(reader, actor, seq);
      following = true;
      rows.push(eventRow(event, state === undefined ? [] : changedIn(state, body.state, type)));
    }
    state = isLarge ? undefined : body.state;
    following = !isLarge;
  }
  return rows;
}

/** The paths that one event changed. */
export async function changedBy(reader: Pick<ActorReader, "events" | "state">, event: ChainEvent): Promise<readonly string[]> {
  const [row] = await eventRows(reader, [event]);
  return row?.changed ?? [];
}

/** Undefined: its body was erased, or it is not stored. */
async function stateBefore(reader: Pick<ActorReader, "events" | "state">, id: ActorId, seq: number): Promise<Json | undefined> {
  try {
    return (await stateAfter(reader, id, seq - 1)).state;
  } catch {
    return undefined;
  }
}

const changedIn = (before: Json, after: Json, type: string): readonly string[] =>
  type === "checkpoint" ? [] : diffStates(before, after, MAX_PATHS).map(({ path }) => path);

// ── the paths of a patch (its form: docs/design/chain.md) ───────────────────

const REMOVED = 0;
const STEPS = 0;
const MOVED = 1;

/** JSON Pointers (RFC 6901) to what a patch replaces, adds or removes. At most 20. */
export function pathsOf(patch: Json): readonly string[] {
  const paths: string[] = [];
  collect(patch, "", paths);
  return paths;
}

function collect(node: Json, path: string, paths: string[]): void {
  if (paths.length >= MAX_PATHS) return;
  if (isJsonObject(node)) {
    for (const [key, value] of Object.entries(node)) collect(value, path + pointerStep(key), paths);
    return;
  }
  if (node === REMOVED || !isList(node) || node.length < 2) {
    paths.push(path);
    return;
  }
  const [kind, ...rest] = node;
  if (kind === MOVED) {
    const [inner = null] = rest;
    if (inner === null) paths.push(path);
    else collect(inner, path, paths);
  } else if (kind === STEPS) {
    for (const step of rest) collectStep(step, path, paths);
  }
}

/** `[index, node]`: that item changes; `[index, removed, items]`: a splice. */
function collectStep(step: Json, path: string, paths: string[]): void {
  if (paths.length >= MAX_PATHS || !isList(step)) return;
  const [index, node = null] = step;
  const place = `${path}/${typeof index === "number" ? index : 0}`;
  if (step.length === 2) collect(node, place, paths);
  else paths.push(place);
}

/** The paths that the event itself tells; none of one that holds a whole state. */
export function pathsIn(event: ChainEvent): readonly string[] {
  const patch = readBody(event)?.patch;
  return patch === undefined ? [] : pathsOf(patch);
}
