// A guest in the calling thread: its instance alone, and with all that its worker does for a call.
import { type CallOutcome, type LocalCall, runCall } from "../src/bridges/wasm/abi/run-call.ts";
import { compile } from "../src/bridges/wasm/abi/webassembly.ts";
import { Instance } from "../src/bridges/wasm/abi/instance.ts";
import { CpuMeter, CpuMeterReader } from "../src/bridges/wasm/pool/cpu-limit.ts";
import type { Ending } from "../src/bridges/wasm/pool/worker-protocol.ts";
import { CallRecorder, CallRecorderReader } from "../src/bridges/wasm/pool/call-recorder.ts";
import { WorkerHost } from "../src/bridges/wasm/pool/worker-host.ts";
import { type Component, type ExportName, GUEST_LIMITS, type WitValue } from "troupe/wasm";
import { bytes } from "./guests-stage.ts";

const STATE = bytes('{"count":41}');

const wait = (): Promise<WitValue> => Promise.reject(new Error("These guests wait for nothing."));

const local = (name: ExportName, params: readonly WitValue[]): LocalCall => ({
  export: name,
  state: STATE,
  params,
  at: 1_700_000_000_000,
  seed: "00112233445566778899aabbccddeeff",
  variables: {},
  outstanding: [],
  children: [],
  limits: GUEST_LIMITS,
});

/** The result of a call. Throws if it failed. */
const resultOf = (ended: CallOutcome | Ending): WitValue => {
  if (ended.end !== "ok") throw new Error(`A guest's call ended: ${JSON.stringify(ended)}`);
  return ended.back;
};

const guest = (run: (call: LocalCall) => Promise<CallOutcome | Ending>) => ({
  init: async (): Promise<WitValue> => resultOf(await run(local("actor.init", ["an-actor"]))),
  send: async (data: Uint8Array): Promise<WitValue> => resultOf(await run(local("message-server-client.handle-send", [data]))),
  request: async (data: Uint8Array): Promise<WitValue> =>
    resultOf(await run(local("message-server-client.handle-request", ["a-request", data]))),
});

/** Returns a function that makes an instance of the compiled component and runs its init. */
export const alone = (component: Component) => {
  const module = compile(component.module);
  return async () => {
    const instance = new Instance(module, component);
    const made = guest((call) => runCall(instance, call, wait));
    await made.init();
    return made;
  };
};

/** All that a worker does for a call, without its messages. */
export const watched = async (component: Component) => {
  let ended: (ending: Ending) => void = () => undefined;
  const meter = new CpuMeter(new CpuMeterReader().shared);
  const recorder = new CallRecorder(new CallRecorderReader().shared);
  const room = new WorkerHost(meter, recorder, (message) => message.kind === "end" && ended(message.ending));
  room.handle({ kind: "module", key: "bench", module: compile(component.module), component });
  let calls = 0;
  const made = guest(
    (call) =>
      new Promise((resolve) => {
        ended = resolve;
        room.handle({ kind: "call", call: (calls += 1), guest: "guest/bench", key: "bench", local: call });
      }),
  );
  await made.init();
  return made;
};
