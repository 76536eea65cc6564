import { randomBytes } from "node:crypto";
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { inspect } from "node:util";
import { actor } from "troupe";
import type { Log } from "troupe/contract";
import { LocalEngine } from "troupe/engine";
import { createServer, type Server } from "troupe/server";
import { cast } from "troupe/source";
import { sqliteSessionStores, sqliteStore } from "troupe/store";
import * as z from "zod";

const job = actor("job", {
  description: "A job.",
  per: "handle",
  state: z.object({ steps: z.int().default(0) }),
  tools: {
    step: { description: "Does a step.", run: ({ state }) => `Step ${++state.steps} is done.` },
    spill: {
      description: "Fails.",
      run() {
        throw new TypeError("It was full.");
      },
    },
  },
});

/** 32 secret bytes in a file that only this user can read. */
function secretIn(file: string): Uint8Array {
  if (!existsSync(file)) {
    // Whole or not at all.
    writeFileSync(`${file}.new`, randomBytes(32), { mode: 0o600, flush: true });
    renameSync(`${file}.new`, file);
  }
  return readFileSync(file);
}

export interface Jobs extends AsyncDisposable {
  readonly server: Server;
}

export async function jobsIn(directory: string, log: Log): Promise<Jobs> {
  const kinds = [job];
  const onFault = (error: unknown, about: unknown): void =>
    log("error", { event: "fault", about: JSON.stringify(about), why: inspect(error) });

  await using opened = new AsyncDisposableStack();
  const store = opened.use(sqliteStore({ directory }));
  const stores = opened.use(sqliteSessionStores({ path: join(directory, "sessions.db") }));
  const engine = opened.use(await LocalEngine.start({ kinds, store, onFault }));
  const jobs = cast({ engine, kinds, handles: { secret: secretIn(join(directory, "handles.key")) }, onFault });
  const requestStateKey = secretIn(join(directory, "questions.key"));
  const server = opened.use(createServer("jobs", "1.0.0", { ...stores, sharedSessions: false, requestStateKey, sources: [jobs], log }));

  const all = opened.move();
  return { server, [Symbol.asyncDispose]: () => all.disposeAsync() };
}
