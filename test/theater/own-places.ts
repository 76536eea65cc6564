// Our own stages: the engine itself, and our Theater server over TCP.
import { manifest, openStage } from "../../src/bridges/theater/engine/engine-stage.fixture.ts";
import { remoteStage } from "../../src/bridges/theater/remote/remote-stage.ts";
import { serveTheater } from "../../src/bridges/theater/server/serve-theater.ts";
import type { StagePlace } from "./stage-suite.ts";

export const manifestOf = (guest: string): string =>
  manifest(["runtime", "message-server"]).replace("player.wasm", `${guest}/${guest}.wasm`).replace("player", guest);

/** Our Theater server over our engine, with guests that `manifestOf` names. */
export async function openServer() {
  const on = await openStage();
  const door = await serveTheater({ stage: on.stage });
  return {
    door,
    async [Symbol.asyncDispose]() {
      await door.close({ graceMs: 0 });
      await on[Symbol.asyncDispose]();
    },
  };
}

export async function enginePlace(): Promise<StagePlace> {
  const on = await openStage();
  return {
    stage: on.stage,
    echoManifest: manifestOf("echo"),
    failing: { manifest: manifestOf("hostile"), request: "u" },
    [Symbol.asyncDispose]: () => on[Symbol.asyncDispose](),
  };
}

export async function serverPlace(codec: "raw" | "fragmenting"): Promise<StagePlace> {
  const on = await openServer();
  const stage = remoteStage({ port: on.door.port, codec, limits: { pollMs: 20 } });
  return {
    stage,
    echoManifest: manifestOf("echo"),
    failing: { manifest: manifestOf("hostile"), request: "u" },
    async [Symbol.asyncDispose]() {
      await stage[Symbol.asyncDispose]();
      await on[Symbol.asyncDispose]();
    },
  };
}
