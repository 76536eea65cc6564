import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Component } from "../component/component.ts";
import { readComponent } from "../component/read-component.ts";
import type { ImportName } from "../component/world.ts";
import type { GuestCall, GuestHost, GuestLimits, GuestOutcome } from "../sandbox.ts";
import type { WitValue } from "../wit.ts";

const GUESTS = join(import.meta.dirname, "../../../../test/wasm/guests");
const read = (name: string): Component => readComponent(readFileSync(join(GUESTS, name, `${name}.wasm`)));

/** Runs the commands of its message: `spin`, `timing.sleep 5`, `message-server-host.send <actor> <data>`, separated by lines of `&&`. */
export const ASKER = read("asker");
/** Answers each request with the number of earlier ones, from a global. */
export const GLOBALS = read("globals");
export const ECHO = read("echo");
/** The first byte of its message selects what it does: test/wasm/guests/hostile. */
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
type AnswerFunction = (name: ImportName, args: readonly WitValue[]) => Answer | Promise<Answer>;

const NOTHING: AnswerFunction = () => ({ result: { ok: undefined } });

/** A host, and the imports called on each attempt. */
export function hostOf(answer: AnswerFunction = NOTHING): { readonly host: () => GuestHost; readonly hosts: ImportName[][] } {
  const hosts: ImportName[][] = [];
  const host = (): GuestHost => {
    const calls: ImportName[] = [];
    hosts.push(calls);
    return {
      call: async (name, args) => {
        calls.push(name);
        return answer(name, args);
      },
    };
  };
  return { host, hosts };
}

/** A request with a script for the guest ASKER. */
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

/** The text of a reply, or how the call ended. */
export function resultOf(outcome: GuestOutcome): string {
  if (outcome.end !== "ok") return `${outcome.end}: ${outcome.message}`;
  return outcome.back instanceof Uint8Array ? new TextDecoder().decode(outcome.back) : "nothing";
}
