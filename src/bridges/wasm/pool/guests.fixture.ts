import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Component } from "../component/component.ts";
import { readComponent } from "../component/read-component.ts";
import type { ImportName } from "../component/world.ts";
import type { GuestCall, GuestHost, GuestLimits, GuestOutcome } from "../sandbox.ts";
import type { WitValue } from "../wit.ts";

const GUESTS = join(import.meta.dirname, "../../../../test/wasm/guests");
const read = (name: string): Component => readComponent(readFileSync(join(GUESTS, name, `${name}.wasm`)));

/** Does what it is told: `spin`, `timing.sleep 5`, `message-server-host.send <actor> <data>`, divided by lines of `&&`. */
export const ASKER = read("asker");
/** Answers each request with how many came before, by a global. */
export const GLOBALS = read("globals");
export const ECHO = read("echo");
/** What the first byte of its message says: test/wasm/guests/hostile. */
export const HOSTILE = read("hostile");

export const LIMITS: GuestLimits = {
  callMs: 10_000,
  memoryBytes: 64 * 65_536,
  hostCalls: 10_000,
  hostBytes: 1_048_576,
  resultBytes: 1_048_576,
};

export const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);

export type Answer = Awaited<ReturnType<GuestHost["call"]>>;
export type Answering = (name: ImportName, args: readonly WitValue[]) => Answer | Promise<Answer>;

const NOTHING: Answering = () => ({ result: { ok: undefined } });

/** A host, and all it was asked. */
export function hostOf(answer: Answering = NOTHING): { readonly host: () => GuestHost; readonly hosts: ImportName[][] } {
  const hosts: ImportName[][] = [];
  const host = (): GuestHost => {
    const asked: ImportName[] = [];
    hosts.push(asked);
    return {
      call: async (name, args) => {
        asked.push(name);
        return answer(name, args);
      },
    };
  };
  return { host, hosts };
}

/** A request to a guest, which says what it is asked to do. */
export function request(guest: string, script: string, more: Partial<GuestCall> & { readonly callMs?: number } = {}): GuestCall {
  const { callMs = LIMITS.callMs, ...rest } = more;
  return {
    guest,
    component: ASKER,
    export: "message-server-client.handle-request",
    state: undefined,
    params: ["r1", utf8(script)],
    at: 1_700_000_000_000,
    seed: "00112233445566778899aabbccddeeff",
    variables: {},
    outstanding: [],
    children: [],
    limits: { ...LIMITS, callMs },
    host: hostOf().host,
    signal: new AbortController().signal,
    ...rest,
  };
}

/** What a request was answered, or how else it ended. */
export function said(outcome: GuestOutcome): string {
  if (outcome.end !== "ok") return `${outcome.end}: ${outcome.message}`;
  return outcome.back instanceof Uint8Array ? new TextDecoder().decode(outcome.back) : "nothing";
}
