// Owns: the imports of one call: dispatching them to their interface if they are granted. Does not own: imports answered in the worker (abi/imports.ts).
import { type ImportName, isImportInterface } from "../component/world.ts";
import { isGranted } from "../manifest/grants.ts";
import type { CallEnvironment, Import, ImportContext } from "./call-environment.ts";
import { CallEffects } from "./call-effects.ts";
import { directoryOf, callFilesystem } from "./filesystem.ts";
import { runtime, wait } from "./runtime.ts";
import type { GuestHost, HostCall, ImportResult } from "../sandbox.ts";
import type { WitValue } from "../wit.ts";
import { messageOf } from "../wasm-error.ts";
import { sendHttp } from "./http-client.ts";
import { messages } from "./messages.ts";
import { store } from "./store.ts";
import { supervisor } from "./supervisor.ts";

const BY_NAME: Readonly<Record<string, Readonly<Record<string, Import>>>> = {
  runtime,
  "message-server-host": messages,
  supervisor,
  store,
};

/** Handles the imports of one attempt. A retry has a new one, and effects of the old one are dropped. */
export class CallHost implements GuestHost, ImportContext {
  readonly environment: CallEnvironment;
  readonly effects = new CallEffects();
  /** Host calls that had, or may have had, a lasting effect. */
  readonly lastingCalls: HostCall[] = [];
  readonly #running = new Set<Promise<unknown>>();

  constructor(environment: CallEnvironment) {
    this.environment = environment;
  }

  async call(name: ImportName, args: readonly WitValue[]): Promise<ImportResult> {
    const doing = this.#callAndRecord(name, args);
    this.#running.add(doing);
    try {
      return await doing;
    } finally {
      this.#running.delete(doing);
    }
  }

  /** Resolves when no host call is in flight. */
  async whenIdle(): Promise<void> {
    while (this.#running.size > 0) await Promise.allSettled(this.#running);
  }

  async #callAndRecord(name: ImportName, args: readonly WitValue[]): Promise<ImportResult> {
    try {
      const given = await this.#perform(name, args);
      if (given.lasting === true) this.lastingCalls.push({ name, args, result: given.result });
      return given;
    } catch (error) {
      // It may have had an effect before it was aborted.
      if (this.environment.context.signal.aborted && !needsNoRecord(name))
        this.lastingCalls.push({ name, args, result: { err: messageOf(error) } });
      throw error;
    }
  }

  async #perform(name: ImportName, args: readonly WitValue[]): Promise<ImportResult> {
    const dot = name.indexOf(".");
    const into = name.slice(0, dot);
    const what = name.slice(dot + 1);
    const { manifest, options, context } = this.environment;
    const { grants } = manifest;
    if (into === "filesystem" && grants.filesystem !== undefined)
      return callFilesystem(what, args, directoryOf(this.environment, grants.filesystem));
    if (into === "http-client" && grants.httpClient !== undefined)
      return sendHttp(args[0], grants.httpClient.allowed, options.http ?? {}, options.clock, context.signal);
    if (into === "timing" && grants.timing !== undefined) return wait(what, args[0], grants.timing, options.clock, context.signal);
    const run = isImportInterface(into) && isGranted(into, grants) ? BY_NAME[into]?.[what] : undefined;
    if (run === undefined) throw new Error(`${name} is not granted: add its handler to the manifest, then start the actor again.`);
    return run(this, args);
  }
}

/** A sleep has no effect, and a request is recorded in the receiver's chain. */
const needsNoRecord = (name: ImportName): boolean => name.startsWith("timing.") || name === "message-server-host.request";
