// Owns: the routes about WebAssembly guests. Does not own: their actors (actor-routes.ts), or running them (bridges/wasm).

import { type ActorId, isJsonObject, isList, type Json, type JsonObject } from "../../core/contract/index.ts";
import { isActorId, keyIn, omitUndefined } from "../../core/contract/internal.ts";
import { type ActorState, yieldToEventLoop } from "../operate/index.ts";
import type { ConsoleData, GuestsData } from "./data.ts";
import { choiceIn, notAvailable, notFound, numberIn, pageLimit, textIn } from "./requests.ts";
import { type ConsoleRequest, type ConsoleRoute, LONG_TEXT } from "./routes.ts";
import type { Collected, Done, GuestCheck, GuestDetail, GuestRow, PageOf } from "./shapes.ts";

const STATUSES = ["running", "paused", "failed", "stopped"] as const satisfies readonly GuestRow["status"][];
const PAGE = 100;
/** A page that finds nothing must end. */
const MAX_EXAMINED = 5_000;
/** Calls that differ: more are counted only. */
const MOST_MISMATCHES = 200;

export const guestRoutes: readonly ConsoleRoute[] = [
  {
    verb: "GET",
    path: "/guests",
    summary: "WebAssembly guests, by name: what each runs, whether it is paused and why, its calls, its memory.",
    query: {
      status: { description: "Only with this status. Without it: all that have not stopped.", schema: { type: "string", enum: STATUSES } },
      search: { description: "Text in the name of the guest or of its manifest, in any letter case." },
      after: { description: "`next` of the page before.", schema: LONG_TEXT },
      limit: pageLimit(500, PAGE),
    },
    answers: "PageOf<GuestRow>",
    handle: list,
  },
  {
    verb: "GET",
    path: "/guests/:key",
    summary: "One guest with its manifest, its limits and what it is granted.",
    answers: "GuestDetail",
    handle: detail,
  },
  {
    verb: "POST",
    path: "/guests/:key/restart",
    summary: "Ends a guest's pause, or loads it again from the state of its last call.",
    body: { type: "object", properties: {}, additionalProperties: false },
    answers: "Done",
    handle: async (request, data): Promise<Done> => {
      await operation(data, "guest-restart", { actor: guestId(request, data) });
      return { ok: true };
    },
  },
  {
    verb: "POST",
    path: "/guests/:key/check",
    summary: "Runs the calls of its chain again, each in a fresh instance, and compares.",
    body: { type: "object", properties: {}, additionalProperties: false },
    answers: "GuestCheck",
    handle: async (request, data) => checkOf(await operation(data, "reexecute", { actor: guestId(request, data) })),
  },
  {
    verb: "POST",
    path: "/guests/collect",
    summary: "Drops contents that no label, no manifest and no live guest's state names. What old events name is dropped, too.",
    body: { type: "object", properties: {}, additionalProperties: false },
    answers: "Collected",
    handle: async (_, data) => collectedOf(await operation(data, "collect", {})),
  },
];

function guestsOf({ guests }: ConsoleData): GuestsData {
  if (guests !== undefined) return guests;
  throw notAvailable("There are no guests here: GET /console/api says why.");
}

async function operation(data: ConsoleData, name: string, args: { readonly actor?: ActorId }): Promise<Json> {
  guestsOf(data);
  if (data.operate === undefined || data.running === undefined) throw notAvailable("Nothing runs here: guests are only read.");
  return await data.operate(name, { ...args });
}

/** Throws `NOT_FOUND`. */
function guestId({ params }: ConsoleRequest, data: ConsoleData): ActorId {
  const id = `${guestsOf(data).kind}/${encodeURIComponent(params["key"] ?? "")}`;
  if (isActorId(id)) return id;
  throw notFound("There is no such guest: GET /console/api/guests lists them.");
}

async function list(request: ConsoleRequest, data: ConsoleData): Promise<PageOf<GuestRow>> {
  const { kind } = guestsOf(data);
  const status = choiceIn(request, "status", STATUSES);
  const search = textIn(request, "search")?.toLowerCase();
  const limit = numberIn(request, "limit") ?? PAGE;
  const given = textIn(request, "after");
  let after = isActorId(given) ? given : undefined;
  const items: GuestRow[] = [];
  for (let examined = 0; examined < MAX_EXAMINED;) {
    const live = status === "stopped" ? undefined : true;
    const page = await data.reader.list({ kind, limit: PAGE, ...omitUndefined({ after, live }) }, () => undefined);
    for (const { id } of page) {
      examined += 1;
      after = id;
      const found = await data.reader.state(id);
      const row = found === undefined ? undefined : rowOf(id, found, data);
      if (row === undefined || (status !== undefined && row.status !== status)) continue;
      if (search !== undefined && !`${row.key}\n${row.name}`.toLowerCase().includes(search)) continue;
      items.push(row);
      if (items.length === limit) return { items, ...omitUndefined({ next: after }) };
    }
    if (page.length < PAGE) return { items };
    await yieldToEventLoop();
  }
  return { items, ...omitUndefined({ next: after }) };
}

function rowOf(id: ActorId, found: ActorState, data: ConsoleData): GuestRow | undefined {
  const guest = guestsOf(data).read(id, found.state);
  if (guest === undefined) return undefined;
  const { status, createdAt, lastMessageAt, messageCount, uid } = found;
  const { facts, paused } = guest;
  return {
    id,
    key: keyIn(id) ?? id,
    uid,
    status: status === "stopped" ? "stopped" : status === "failed" ? "failed" : paused ? "paused" : "running",
    ...facts,
    calls: messageCount,
    createdAt,
    lastAt: lastMessageAt,
    ...omitUndefined({ queued: data.running?.().engine.queued?.(id) }),
  };
}

async function detail(request: ConsoleRequest, data: ConsoleData): Promise<GuestDetail> {
  const id = guestId(request, data);
  const found = await data.reader.state(id);
  const row = found === undefined ? undefined : rowOf(id, found, data);
  if (found === undefined || row === undefined) throw notFound(`There is no guest ${id}: GET /console/api/guests lists them.`);
  return { ...row, ...omitUndefined({ manifestOf: await guestsOf(data).manifest?.(found.state) }) };
}

function checkOf(done: Json): GuestCheck {
  const { run, mismatches, taken } = isJsonObject(done) ? done : {};
  const all = isList(mismatches) ? mismatches : [];
  return {
    run: Number(run ?? 0),
    mismatches: all.slice(0, MOST_MISMATCHES).flatMap((one) => (isJsonObject(one) ? [mismatchOf(one)] : [])),
    more: Math.max(0, all.length - MOST_MISMATCHES),
    taken: isJsonObject(taken) ? Object.fromEntries(Object.entries(taken).map(([why, count]) => [why, Number(count)])) : {},
  };
}

function mismatchOf({ seq, event, what, recorded, now }: JsonObject): GuestCheck["mismatches"][number] {
  return {
    seq: Number(seq ?? 0),
    event: typeof event === "string" ? event : "",
    what: typeof what === "string" ? what : "",
    ...omitUndefined({ recorded, now }),
  };
}

function collectedOf(done: Json): Collected {
  const { kept, dropped, bytes } = isJsonObject(done) ? done : {};
  return { retained: Number(kept ?? 0), dropped: Number(dropped ?? 0), bytes: Number(bytes ?? 0) };
}
