// A call into a guest, and an instance of one, in the thread that runs it: the same components through jco's glue, an echo in Extism.
import { type CallOutcome, compile, Instance, type LocalCall, runCall } from "../src/wasm/abi/index.ts";
import { type Component, type ExportName, GUEST_LIMITS, readComponent, type WitValue } from "troupe/wasm";
import { type Glue, guestPeers, type Plugin } from "./guests-peers.ts";
import { beside, bursts } from "./guests-table.ts";
import { bytes, COUNTER, ECHO, wasm } from "./guests-stage.ts";
import { each, rounds } from "./table.ts";

const ROUNDS = 15;
const CALLS = 2_000;
const INSTANCES = 50;
const CALL_US = 5;
const INSTANTIATE_US = 100;

const DATA = bytes("What is said to a guest, in sixty-four bytes, as an example of it");
const STATE = bytes('{"count":41}');

const wait = (): Promise<WitValue> => Promise.reject(new Error("These guests wait for nothing."));

const local = (name: ExportName, state: Uint8Array | undefined, params: readonly WitValue[]): LocalCall => ({
  export: name,
  state,
  params,
  at: 1_700_000_000_000,
  seed: "00112233445566778899aabbccddeeff",
  variables: {},
  outstanding: [],
  children: [],
  limits: GUEST_LIMITS,
});

/** Whatever does not go well is no figure. */
const ok = ({ end, ...rest }: CallOutcome): void => {
  if (end !== "ok") throw new Error(`A guest's call ended ${end}: ${JSON.stringify(rest)}`);
};

const ours = (component: Component) => {
  const module = compile(component.module);
  return async () => {
    const instance = Instance.create(module, component);
    const run = async (name: ExportName, state: Uint8Array | undefined, params: readonly WitValue[]): Promise<void> =>
      ok(await runCall(instance, local(name, state, params), wait));
    await run("actor.init", STATE, ["an-actor"]);
    return {
      send: (data: Uint8Array) => run("message-server-client.handle-send", STATE, [data]),
      request: (data: Uint8Array) => run("message-server-client.handle-request", STATE, ["a-request", data]),
    };
  };
};

const glued = (make: () => Glue) => () => {
  const glue = make();
  glue.init(STATE);
  return glue;
};

const same = (echoed: unknown): boolean => echoed instanceof Uint8Array && Buffer.compare(DATA, echoed) === 0;

const closing = async (make: () => Promise<Plugin>): Promise<void> => (await make()).close();

export const calls = async (folder: string): Promise<void> => {
  const peers = await guestPeers();
  const extism = await peers.extism();
  const plugin = await extism();
  if (!same(await plugin.echo(DATA))) throw new Error("Extism did not echo.");
  for (const [name, path, data] of [
    ["echo", ECHO, DATA],
    ["counter", COUNTER, bytes("add")],
  ] as const) {
    const component = wasm(path);
    const make = ours(readComponent(component));
    const makeGlued = glued(await peers.jco(component, folder, name));
    const guest = await make();
    const glue = makeGlued();
    if (path === ECHO && !same(glue.request(STATE, DATA))) throw new Error("jco's glue did not echo.");
    const [send = [], sendGlued = [], request = [], requestGlued = [], echoed = []] = await rounds(
      ROUNDS,
      () => each(CALLS, () => guest.send(data)),
      () => each(CALLS, () => glue.send(STATE, data)),
      () => each(CALLS, () => guest.request(data)),
      () => each(CALLS, () => glue.request(STATE, data)),
      ...(path === ECHO ? [() => each(CALLS, () => plugin.echo(data))] : []),
    );
    bursts(`${name}: a send to a warm guest, in its thread`, send, CALL_US);
    beside("the same component through jco's glue", sendGlued, send);
    bursts(`${name}: a request to a warm guest, in its thread`, request, CALL_US);
    beside("the same component through jco's glue", requestGlued, request);
    if (path === ECHO) beside("an Extism plug-in that echoes the same bytes", echoed, request);
    const [made = [], madeGlued = [], madePlugins = []] = await rounds(
      ROUNDS,
      () => each(INSTANCES, make),
      () => each(INSTANCES, makeGlued),
      ...(path === ECHO ? [() => each(INSTANCES, () => closing(extism))] : []),
    );
    bursts(`${name}: an instance of a compiled component, and its init`, made, INSTANTIATE_US);
    beside("the same through jco's glue", madeGlued, made);
    if (path === ECHO) beside("an Extism plug-in of a compiled module, closed again", madePlugins, made);
  }
  await plugin.close();
};
