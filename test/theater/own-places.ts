// Our own stages: the engine itself, and our Theater server over TCP.
import { manifest, openStage } from "../../src/theater/engine/engine-stage.fixture.ts";
import { remoteStage } from "../../src/theater/remote/index.ts";
import { serveTheater } from "../../src/theater/server/index.ts";
import type { StagePlace } from "./stage-suite.ts";

const of = (guest: string): string =>
  manifest(["runtime", "message-server"]).replace("player.wasm", `${guest}/${guest}.wasm`).replace("player", guest);

export async function enginePlace(): Promise<StagePlace> {
  const on = await openStage();
  return {
    stage: on.stage,
    echoManifest: of("echo"),
    failing: { manifest: of("hostile"), request: "u" },
    [Symbol.asyncDispose]: () => on[Symbol.asyncDispose](),
  };
}

export async function serverPlace(codec: "raw" | "fragmenting"): Promise<StagePlace> {
  const on = await openStage();
  const door = await serveTheater({ stage: on.stage });
  const stage = remoteStage({ port: door.port, codec, limits: { pollMs: 20 } });
  return {
    stage,
    echoManifest: of("echo"),
    failing: { manifest: of("hostile"), request: "u" },
    async [Symbol.asyncDispose]() {
      await stage[Symbol.asyncDispose]();
      await door.close({ graceMs: 0 });
      await on[Symbol.asyncDispose]();
    },
  };
}
