// Where Theater's MCP face is tried: every stage there is.
import { remoteStage } from "../../src/bridges/theater/remote/remote-stage.ts";
import { startNewMock } from "./new-mock.ts";
import { startOldMock } from "./old-mock.ts";
import { enginePlace, serverPlace } from "./own-places.ts";
import type { StagePlace } from "./stage-suite.ts";

interface Place {
  readonly name: string;
  readonly make: () => Promise<StagePlace>;
  /** What came over a channel comes back over it. */
  readonly channelAnswers: boolean;
}

async function remote(mock: AsyncDisposable & { readonly port: number }): Promise<StagePlace> {
  const stage = remoteStage({ port: mock.port, limits: { pollMs: 20 } });
  return {
    stage,
    echoManifest: 'name = "echo"\n',
    async [Symbol.asyncDispose]() {
      await stage[Symbol.asyncDispose]();
      await mock[Symbol.asyncDispose]();
    },
  };
}

export const PLACES: readonly Place[] = [
  { name: "a Theater server of April 2025", make: async () => remote(await startOldMock()), channelAnswers: true },
  { name: "a newer Theater server", make: async () => remote(await startNewMock()), channelAnswers: true },
  { name: "our engine", make: enginePlace, channelAnswers: false },
  { name: "our Theater server", make: () => serverPlace("fragmenting"), channelAnswers: false },
];
