import { remoteStage } from "../../src/bridges/theater/remote/remote-stage.ts";
import { startNewMock } from "./new-mock.ts";
import { startOldMock } from "./old-mock.ts";
import { stageSuite, type StagePlace, type StageTraits } from "./stage-suite.ts";

const echoManifest = 'name = "echo"\n';
const traits: StageTraits = { restart: false, eventsAfterStop: true, greets: false, channelAnswers: true, initialState: true };

async function placeAt(mock: AsyncDisposable & { readonly port: number }): Promise<StagePlace> {
  const stage = remoteStage({ port: mock.port, limits: { pollMs: 20 } });
  return {
    stage,
    echoManifest,
    failing: { manifest: echoManifest, request: "fail" },
    async [Symbol.asyncDispose]() {
      await stage[Symbol.asyncDispose]();
      await mock[Symbol.asyncDispose]();
    },
  };
}

stageSuite("a stage over a Theater server of April 2025", async () => await placeAt(await startOldMock()), traits);
stageSuite("a stage over one that restarts as another", async () => await placeAt(await startOldMock({ restart: "new-id" })), traits);
stageSuite("a stage over a newer Theater server", async () => await placeAt(await startNewMock()), traits);
