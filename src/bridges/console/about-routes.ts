// Owns: `GET /`: what this server is, and what the console can show of it.

import { omitUndefined } from "../../core/contract/internal.ts";
import { editsOff } from "../operate/index.ts";
import type { ConsoleData } from "./data.ts";
import type { ConsoleRoute } from "./routes.ts";
import type { About, Ability, KindShape } from "./shapes.ts";

export const aboutRoutes: readonly ConsoleRoute[] = [
  {
    verb: "GET",
    path: "/",
    summary: "What this server is, which kinds of actors it has, and what the console can show of it.",
    answers: "About",
    handle: async (_, data) => await about(data),
  },
];

async function about(data: ConsoleData): Promise<About> {
  const { about: own, running, operate, reader, live } = data;
  const can: Ability[] = [];
  const cannot: Partial<Record<Ability, string>> = {};
  const add = (ability: Ability, present: boolean, why: string): void => {
    if (present) can.push(ability);
    else cannot[ability] = why;
  };
  const offline = "Nothing runs here: this is a history that is only read.";
  add(
    "run",
    running !== undefined,
    operate === undefined ? offline : "These actors run elsewhere: a node's own console shows their tools.",
  );
  add(
    "rewrite",
    operate !== undefined && own.engine !== "restate",
    operate === undefined ? offline : "On a cluster, turns alone write chains.",
  );
  const editable = own.development || data.edit === true;
  add(
    "edit",
    operate !== undefined && own.engine === "sqlite" && editable,
    editable ? "Only the states of actors on disk can be edited." : editsOff().message,
  );
  add("letters", reader.letters !== undefined, "This engine does not list its dead letters.");
  const elsewhere = own.engine === "restate" ? " On a cluster, the Restate server has them: its own page lists them." : "";
  add("timers", reader.due !== undefined, `This engine does not list its timers.${elsewhere}`);
  add("outbox", reader.undelivered !== undefined, `This engine does not list what it has yet to deliver.${elsewhere}`);
  add("indexes", running?.().engine.query !== undefined, running === undefined ? offline : "This engine has no indexes.");
  add("sql", data.sql !== undefined, whyNoSql(own.engine));
  const unrecorded = running === undefined ? offline : "This server does not record its clients: give the console a recorder (recordLive).";
  for (const ability of ["traffic", "sessions", "tasks", "log"] as const) add(ability, live !== undefined, unrecorded);
  add(
    "packets",
    data.packets !== undefined,
    running === undefined ? offline : "No capability is served here: serve a module that has some, or start the server with --packets.",
  );
  add(
    "guests",
    data.guests !== undefined,
    running === undefined
      ? "There are no WebAssembly guests in this history."
      : "No WebAssembly guests run here: start the server with --theater, or with troupe theater.",
  );
  add(
    "act-as",
    running !== undefined && own.development,
    'Calls as another user are possible in "troupe dev" only: here they are made as the operator.',
  );
  add(
    "connect-as",
    data.viewerToken !== undefined && own.development,
    'Only "troupe dev" on this machine connects clients as another user.',
  );
  return {
    ...own,
    ...omitUndefined({ authenticated: data.settings?.authenticated }),
    mode: running === undefined && operate === undefined ? "offline" : "live",
    can,
    cannot,
    kinds: await kindsOf(data),
  };
}

/** Why there are no queries in SQL, and what there is instead. */
export function whyNoSql(engine: About["engine"]): string {
  switch (engine) {
    case "memory":
      return "Actors in memory have no tables: serve them with --data, or filter the actors by an index.";
    case "restate":
      return 'A cluster has no tables here: filter the actors by an index, or ask Restate itself, as in "restate sql".';
    default:
      return "This console was given no SQL: give it sqliteSql({ directory }), or filter the actors by an index.";
  }
}

async function kindsOf({ running, unserved }: ConsoleData): Promise<readonly KindShape[]> {
  const { engine, kinds, indexes } = running?.() ?? NOTHING;
  const served = kinds.map(async ({ kind, version, per, policy }): Promise<KindShape> => ({
    kind,
    version,
    ...omitUndefined({ per }),
    persistence: policy.persistence,
    actors: (await engine?.count({ kind, live: true })) ?? 0,
    served: true,
    indexes: indexes
      .filter((index) => index.kind === kind)
      .map(({ name, fields, order, text }) => ({ name, fields, ...omitUndefined({ order }), text: text !== undefined })),
  }));
  const others = (unserved?.() ?? []).map(({ kind, actors }): KindShape => {
    return { kind, version: 0, persistence: "disk", actors, served: false, indexes: [] };
  });
  return [...(await Promise.all(served)), ...others];
}

const NOTHING = { engine: undefined, kinds: [], indexes: [] };
