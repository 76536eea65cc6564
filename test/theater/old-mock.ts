import { MockActors } from "./mock/actors.ts";
import { mockCommands } from "./mock/commands.ts";
import { startMock, type MockServer } from "./mock/server.ts";

export interface OldMockOptions {
  readonly port?: number;
  /** Those of a server before this one. */
  readonly actors?: MockActors;
  /** `new-id`: it runs again as another. Default `error`. */
  readonly restart?: "new-id" | "error";
}

/** As upstream's server of April 2025: raw frames, ids alone, errors as sentences, no manifests, broken times. */
export async function startOldMock(options: OldMockOptions = {}): Promise<MockServer & { readonly actors: MockActors }> {
  const { port = 0, restart = "error", actors = new MockActors(true) } = options;
  const error = (sentence: string) => ({ Error: { message: sentence } });
  const commands = mockCommands(actors, {
    error: (_name, sentence) => error(sentence),
    list: (running) => [...running].map(({ id }) => id),
    pushed: ({ id }, event) => ({ ActorEvent: { id, event } }),
    start: () => ({ subscribe: false }),
    rejected: error("Error opening channel: Channel rejected by target actor"),
    events: "close",
    manifests: false,
    restart,
  });
  return Object.assign(await startMock({ codec: "raw", port, commands }), { actors });
}
