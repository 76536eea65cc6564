// A call into a guest, and an instance of one, in the thread that runs it: the same components through jco's glue, an echo in Extism.
import { readComponent } from "troupe/wasm";
import { alone, watched } from "./guests-ours.ts";
import { type Glue, guestPeers, type Plugin } from "./guests-peers.ts";
import { bytes, COUNTER, ECHO, wasm } from "./guests-stage.ts";
import { beside, bursts } from "./guests-table.ts";
import { each, rounds } from "./table.ts";

const ROUNDS = 15;
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

const called = async ({ name, wasm: bytesOf, data, glue, plugin }: Subject): Promise<void> => {
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
    ROUNDS,
    () => each(CALLS, () => guest.send(data)),
    () => each(CALLS, () => inWorker.send(data)),
    () => each(CALLS, () => glued.send(STATE, data)),
    () => each(CALLS, () => guest.request(data)),
    () => each(CALLS, () => inWorker.request(data)),
    () => each(CALLS, () => glued.request(STATE, data)),
    ...(plugin === undefined ? [] : [() => each(CALLS, () => plugin.warm.echo(data))]),
  );
  bursts(`${name}: a send to a warm guest, all that its worker does`, sendWatched, CALL_US);
  bursts("  its instance alone", send);
  beside("the same component through jco's glue", sendGlued, send);
  bursts(`${name}: a request to a warm guest, all that its worker does`, requestWatched, CALL_US);
  bursts("  its instance alone", request);
  beside("the same component through jco's glue", requestGlued, request);
  if (plugin !== undefined) beside("an Extism plug-in that echoes the same bytes", echoed, request);
};

const made = async ({ name, wasm: bytesOf, glue, plugin }: Subject): Promise<void> => {
  const make = alone(readComponent(bytesOf));
  const [ours = [], glued = [], plugins = []] = await rounds(
    ROUNDS,
    () => each(INSTANCES, make),
    () => each(INSTANCES, glue),
    ...(plugin === undefined ? [] : [() => each(INSTANCES, () => closing(plugin.make))]),
  );
  bursts(`${name}: an instance of a compiled component, and its init`, ours, INSTANTIATE_US);
  beside("the same through jco's glue", glued, ours);
  if (plugin !== undefined) beside("an Extism plug-in of a compiled module, closed again", plugins, ours);
};

export const calls = async (folder: string): Promise<void> => {
  const peers = await guestPeers();
  const make = await peers.extism();
  const warm = await make();
  const glue = async (name: string, path: string): Promise<() => Glue> => initialized(await peers.jco(wasm(path), folder, name));
  const echo: Subject = { name: "echo", wasm: wasm(ECHO), data: DATA, glue: await glue("echo", ECHO), plugin: { make, warm } };
  const counter: Subject = { name: "counter", wasm: wasm(COUNTER), data: bytes("add"), glue: await glue("counter", COUNTER) };
  for (const subject of [echo, counter]) {
    await called(subject);
    await made(subject);
  }
  await warm.close();
};
