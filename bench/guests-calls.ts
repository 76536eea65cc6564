// A call of a guest and the creation of an instance, in the thread that runs it, compared with jco's glue and Extism.
import { readComponent } from "troupe/wasm";
import type { BenchOptions } from "./options.ts";
import { alone, watched } from "./guests-ours.ts";
import { type Glue, guestPeers, type Plugin } from "./guests-peers.ts";
import { bytes, COUNTER, ECHO, wasm } from "./guests-stage.ts";
import { bursts, compare } from "./guests-table.ts";
import { each, note, rounds } from "./table.ts";

const CALLS = 2_000;
const INSTANCES = 50;
const CALL_US = 5;
const INSTANTIATE_US = 100;

const DATA = bytes("A message to a guest, which has sixty-four bytes, as an example.");
const STATE = bytes('{"count":41}');

const initialized = (make: () => Glue) => () => {
  const glue = make();
  glue.init(STATE);
  return glue;
};

const checkEcho = (who: string, reply: unknown): void => {
  if (!(reply instanceof Uint8Array) || Buffer.compare(DATA, reply) !== 0) throw new Error(`${who} did not echo.`);
};

const closing = async (make: () => Promise<Plugin>): Promise<void> => (await make()).close();

interface Subject {
  readonly name: string;
  readonly wasm: Uint8Array;
  readonly data: Uint8Array;
  /** The same component through jco. Absent: not compared. */
  readonly glue?: () => Glue;
  /** The equivalent plug-in of Extism. */
  readonly plugin?: { readonly make: () => Promise<Plugin>; readonly warm: Plugin };
}

const called = async ({ name, wasm: bytesOf, data, glue, plugin }: Subject, count: number): Promise<void> => {
  const component = readComponent(bytesOf);
  const guest = await alone(component)();
  const inWorker = await watched(component);
  const glued = glue?.();
  if (data === DATA) {
    checkEcho("A guest", await guest.request(DATA));
    checkEcho("A watched guest", await inWorker.request(DATA));
    if (glued !== undefined) checkEcho("jco's glue", glued.request(STATE, DATA));
    if (plugin !== undefined) checkEcho("Extism", await plugin.warm.echo(DATA));
  }
  const [send = [], sendWatched = [], request = [], requestWatched = [], sendGlued = [], requestGlued = [], echoed = []] = await rounds(
    count,
    () => each(CALLS, () => guest.send(data)),
    () => each(CALLS, () => inWorker.send(data)),
    () => each(CALLS, () => guest.request(data)),
    () => each(CALLS, () => inWorker.request(data)),
    ...(glued === undefined ? [] : [() => each(CALLS, () => glued.send(STATE, data)), () => each(CALLS, () => glued.request(STATE, data))]),
    ...(plugin === undefined ? [] : [() => each(CALLS, () => plugin.warm.echo(data))]),
  );
  for (const [what, inAll, bare, theirs] of [
    ["a send to a warm guest", sendWatched, send, sendGlued],
    ["a request to a warm guest", requestWatched, request, requestGlued],
  ] as const) {
    const whole = `${name}: ${what}`;
    bursts(`${whole}, all that its worker does`, inAll, CALL_US);
    bursts(`${whole}, its instance alone`, bare);
    if (glue !== undefined) compare(`${whole}, through jco's glue`, theirs, bare);
  }
  if (plugin !== undefined) compare(`${name}: an Extism plug-in that echoes the same bytes`, echoed, request);
};

const made = async ({ name, wasm: bytesOf, glue, plugin }: Subject, count: number): Promise<void> => {
  const make = alone(readComponent(bytesOf));
  const [ours = [], glued = [], plugins = []] = await rounds(
    count,
    () => each(INSTANCES, make),
    ...(glue === undefined ? [] : [() => each(INSTANCES, glue)]),
    ...(plugin === undefined ? [] : [() => each(INSTANCES, () => closing(plugin.make))]),
  );
  const what = `${name}: an instance and its init`;
  bursts(what, ours, INSTANTIATE_US);
  if (glue !== undefined) compare(`${what}, through jco's glue`, glued, ours);
  if (plugin !== undefined) compare(`${name}: an Extism plug-in of a compiled module, closed again`, plugins, ours);
};

const ECHOING = { name: "echo", wasm: wasm(ECHO), data: DATA };
const COUNTING = { name: "counter", wasm: wasm(COUNTER), data: bytes("add") };

const measured = async (subjects: readonly Subject[], count: number): Promise<void> => {
  for (const subject of subjects) {
    await called(subject, count);
    await made(subject, count);
  }
};

export const calls = async (folder: string, { quick }: BenchOptions): Promise<void> => {
  if (quick) {
    note("jco's glue and Extism are left out, since it was to be quick.");
    await measured([ECHOING, COUNTING], 5);
    return;
  }
  const peers = await guestPeers();
  const make = await peers.extism();
  const warm = await make();
  const glue = async (name: string, path: string): Promise<() => Glue> => initialized(await peers.jco(wasm(path), folder, name));
  const echo = { ...ECHOING, glue: await glue("echo", ECHO), plugin: { make, warm } };
  await measured([echo, { ...COUNTING, glue: await glue("counter", COUNTER) }], 15);
  await warm.close();
};
