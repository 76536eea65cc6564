// A call into a guest, and an instance of one, in the thread that runs it: the same components through jco's glue, an echo in Extism.
import { readComponent } from "troupe/wasm";
import type { Asked } from "./asked.ts";
import { alone, watched } from "./guests-ours.ts";
import { type Glue, guestPeers, type Plugin } from "./guests-peers.ts";
import { bytes, COUNTER, ECHO, wasm } from "./guests-stage.ts";
import { beside, bursts } from "./guests-table.ts";
import { each, rounds } from "./table.ts";

const CALLS = 2_000;
const INSTANCES = 50;
const CALL_US = 5;
const INSTANTIATE_US = 100;

const DATA = bytes("What is said to a guest, in sixty-four bytes, as an example of it");
const STATE = bytes('{"count":41}');

const initialized = (make: () => Glue) => () => {
  const glue = make();
  glue.init(STATE);
  return glue;
};

const echoes = (who: string, said: unknown): void => {
  if (!(said instanceof Uint8Array) || Buffer.compare(DATA, said) !== 0) throw new Error(`${who} did not echo.`);
};

const closing = async (make: () => Promise<Plugin>): Promise<void> => (await make()).close();

interface Subject {
  readonly name: string;
  readonly wasm: Uint8Array;
  readonly data: Uint8Array;
  readonly glue: () => Glue;
  /** What of Extism does the same. */
  readonly plugin?: { readonly make: () => Promise<Plugin>; readonly warm: Plugin };
}

const called = async ({ name, wasm: bytesOf, data, glue, plugin }: Subject, count: number): Promise<void> => {
  const component = readComponent(bytesOf);
  const guest = await alone(component)();
  const inWorker = await watched(component);
  const glued = glue();
  if (plugin !== undefined) {
    echoes("A guest", await guest.request(DATA));
    echoes("A watched guest", await inWorker.request(DATA));
    echoes("jco's glue", glued.request(STATE, DATA));
    echoes("Extism", await plugin.warm.echo(DATA));
  }
  const [send = [], sendWatched = [], sendGlued = [], request = [], requestWatched = [], requestGlued = [], echoed = []] = await rounds(
    count,
    () => each(CALLS, () => guest.send(data)),
    () => each(CALLS, () => inWorker.send(data)),
    () => each(CALLS, () => glued.send(STATE, data)),
    () => each(CALLS, () => guest.request(data)),
    () => each(CALLS, () => inWorker.request(data)),
    () => each(CALLS, () => glued.request(STATE, data)),
    ...(plugin === undefined ? [] : [() => each(CALLS, () => plugin.warm.echo(data))]),
  );
  for (const [what, inAll, bare, theirs] of [
    ["a send to a warm guest", sendWatched, send, sendGlued],
    ["a request to a warm guest", requestWatched, request, requestGlued],
  ] as const) {
    const whole = `${name}: ${what}`;
    bursts(`${whole}, all that its worker does`, inAll, CALL_US);
    bursts(`${whole}, its instance alone`, bare);
    beside(`${whole}, through jco's glue`, theirs, bare);
  }
  if (plugin !== undefined) beside(`${name}: an Extism plug-in that echoes the same bytes`, echoed, request);
};

const made = async ({ name, wasm: bytesOf, glue, plugin }: Subject, count: number): Promise<void> => {
  const make = alone(readComponent(bytesOf));
  const [ours = [], glued = [], plugins = []] = await rounds(
    count,
    () => each(INSTANCES, make),
    () => each(INSTANCES, glue),
    ...(plugin === undefined ? [] : [() => each(INSTANCES, () => closing(plugin.make))]),
  );
  const what = `${name}: an instance and its init`;
  bursts(what, ours, INSTANTIATE_US);
  beside(`${what}, through jco's glue`, glued, ours);
  if (plugin !== undefined) beside(`${name}: an Extism plug-in of a compiled module, closed again`, plugins, ours);
};

export const calls = async (folder: string, { quick }: Asked): Promise<void> => {
  const peers = await guestPeers();
  const make = await peers.extism();
  const warm = await make();
  const glue = async (name: string, path: string): Promise<() => Glue> => initialized(await peers.jco(wasm(path), folder, name));
  const echo: Subject = { name: "echo", wasm: wasm(ECHO), data: DATA, glue: await glue("echo", ECHO), plugin: { make, warm } };
  const counter: Subject = { name: "counter", wasm: wasm(COUNTER), data: bytes("add"), glue: await glue("counter", COUNTER) };
  for (const subject of [echo, counter]) {
    await called(subject, quick ? 5 : 15);
    await made(subject, quick ? 5 : 15);
  }
  await warm.close();
};
