// Owns: the thread of `troupe dev` that says where the author's code does not end: the main thread could not. Does not own: the main thread's
// sign of life (dev.ts).

import { writeSync } from "node:fs";
import { Session } from "node:inspector";
import { workerData } from "node:worker_threads";
import { isJsonObject, systemClock } from "../../core/contract/index.ts";
import { authorPlace, omitUndefined } from "../../core/contract/internal.ts";
import { serverLog } from "../log.ts";

/** What the thread is started with. */
export interface DevWatch {
  /** The main thread adds to it several times a second. */
  readonly alive: Int32Array;
  readonly json: boolean;
}

const LOOK_MS = 500;
const LONGEST_MS = 5_000;
/** How long it may take to stop the main thread. A regular expression is not stopped. */
const PAUSE_MS = 1_000;

// Not `process.stderr`, whose writes wait for the main thread.
const stderr = { writableLength: 0, write: (text: string): boolean => writeSync(2, text) > 0 };

function watch({ alive, json }: DevWatch): void {
  const log = serverLog("error", json, () => systemClock.now(), undefined, stderr);
  let last = Atomics.load(alive, 0);
  let silentMs = 0;
  setInterval(() => {
    const now = Atomics.load(alive, 0);
    silentMs = now === last ? silentMs + LOOK_MS : 0;
    last = now;
    if (silentMs !== LONGEST_MS) return;
    const what = `Your code has not ended for ${LONGEST_MS / 1_000} seconds. Nothing else runs meanwhile, nor does Ctrl-C: end the process by kill -9 ${process.pid}.`;
    placeOfMain((place) => log("error", "turn-stuck", omitUndefined({ place, what })));
  }, LOOK_MS);
}

/** Which of the author's lines the main thread is at: it is stopped there for a moment. */
function placeOfMain(found: (place: string | undefined) => void): void {
  const session = new Session();
  const urls = new Map<string, string>();
  const late = setTimeout(() => {
    session.disconnect();
    found(undefined);
  }, PAUSE_MS);
  session.connectToMainThread();
  session.on("Debugger.scriptParsed", ({ params: { scriptId, url } }) => void urls.set(scriptId, url));
  session.on("Debugger.paused", ({ params: { callFrames } }) => {
    clearTimeout(late);
    session.disconnect();
    const stack = callFrames.map(({ functionName, location: { scriptId, lineNumber, columnNumber = 0 } }) => {
      return `\n    at ${functionName} (${urls.get(scriptId) ?? ""}:${lineNumber + 1}:${columnNumber + 1})`;
    });
    found(authorPlace({ name: "", message: "", stack: stack.join("") }));
  });
  session.post("Debugger.enable");
  session.post("Debugger.pause");
}

const isWatch = (given: unknown): given is DevWatch => isJsonObject(given) && "alive" in given;

if (isWatch(workerData)) watch(workerData);
