// Ways to bring the hostile guest to do what a letter of its README says.
import assert from "node:assert/strict";
import { StageError } from "../../src/bridges/theater/stage.ts";
import { ALL, bytes, componentOf, type Grounds, never, text } from "./grounds.ts";

/** Those that fail at once, those that do not, and those that fail with the next call. */
export const FAIL = "lMruopabndDeEHUGPNXYZ";
export const HARMLESS = "mgSsC";
export const NEXT = "ALVW";

/** What a caller is told: a sentence, and nothing of the host's insides. */
export function assertSentence(message: string, about: string): void {
  assert.match(message, /^\S[^\n]{10,}$/u, about);
  assert.doesNotMatch(message, /\s+at \S+ \(|node:|file:|\.[jt]s\b|\/(?:work|home|tmp|src|usr)\/|\[object|undefined/u, about);
}

/** The stage's error; undefined: there is none. */
export async function refusal(run: () => Promise<unknown>, about: string): Promise<StageError | undefined> {
  try {
    await run();
    return undefined;
  } catch (error) {
    if (!(error instanceof StageError)) throw error;
    assertSentence(error.message, about);
    return error;
  }
}

export interface Scene {
  /** Its state until then, and from then on. */
  readonly before: string;
  readonly act: () => Promise<unknown>;
}

interface Place {
  readonly on: Grounds;
  /** The hostile component: `store:` and a digest. */
  readonly villain: string;
  readonly name: string;
}

const peer = { message: () => undefined, closed: () => undefined };

async function begun({ on, name }: Place): Promise<string> {
  await on.start("hostile", name, "skept");
  return "kept";
}

async function withChannel({ on, name, villain }: Place, state: string): ReturnType<Grounds["stage"]["open"]> {
  await on.start("echo", name, state);
  const channel = await on.stage.open(name, bytes("hello"), peer);
  await on.stage.update(name, villain);
  return channel;
}

/** By handler; each gives how its guest is brought to do what the letter says. */
export const HANDLERS: Readonly<Record<string, (place: Place, letter: string) => Promise<Scene>>> = {
  async send(place, letter) {
    return { before: await begun(place), act: () => place.on.stage.send(place.name, bytes(letter)) };
  },
  async request(place, letter) {
    return { before: await begun(place), act: () => place.on.stage.request(place.name, bytes(letter), never) };
  },
  async "channel-open"(place, letter) {
    return { before: await begun(place), act: () => place.on.stage.open(place.name, bytes(letter), peer) };
  },
  async "channel-message"(place, letter) {
    const channel = await withChannel(place, "kept");
    return { before: "kept", act: () => channel.send(bytes(letter)) };
  },
  async "channel-close"(place, letter) {
    const channel = await withChannel(place, `${letter} kept`);
    return { before: `${letter} kept`, act: () => channel.close() };
  },
  async "child-exit"(place, letter) {
    const child = await parent(place, "kept");
    return { before: "kept", act: () => place.on.stage.send(child, bytes(`runtime.shutdown ${letter}`)) };
  },
  async "child-external-stop"(place, letter) {
    const child = await parent(place, `${letter} kept`);
    return { before: `${letter} kept`, act: () => place.on.stage.stop(child) };
  },
};

/** From then on `store:<label>` is the manifest of a guest, which begins with that state. */
export async function labelled({ contents }: Grounds, label: string, guest: string, state?: string): Promise<void> {
  const named = [`component = "store:${await contents.put(componentOf(guest))}"`];
  if (state !== undefined) named.push(`initial_state = "store:${await contents.put(bytes(state))}"`);
  await contents.label("manifest", label, await contents.put(bytes(`${named.join("\n")}\n${ALL}`)));
}

/** A hostile guest of that state with a child, whose id it gives. */
export async function parent({ on, name, villain }: Place, state: string): Promise<string> {
  await labelled(on, "child", "asker");
  await on.start("asker", name);
  const said = text(await on.stage.request(name, bytes(`supervisor.spawn store:child\n&&\nset ${state}`), never)) ?? "";
  assert.match(said, /^ok [0-9a-f-]{36}\n/u);
  await on.stage.update(name, villain);
  return said.slice(3, 39);
}

/** What fails with the next call, once the guest was told the letter. */
export const AFTERWARDS: Readonly<Record<string, (place: Place, child: string) => Promise<unknown>>> = {
  send: ({ on, name }) => on.stage.send(name, bytes("?")),
  request: ({ on, name }) => on.stage.request(name, bytes("?"), never),
  "channel-open": ({ on, name }) => on.stage.open(name, bytes("?"), peer),
  "child-error": ({ on }, child) => on.stage.send(child, bytes("fail as it was told")),
};
