import { createServer, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { until, type SimulatedClock } from "../../testing/index.ts";
import { onLoopback } from "../../../test/on-loopback.ts";

/** A request to the ingress. */
interface ReceivedRequest {
  readonly path: string;
  readonly key: string | undefined;
  readonly input: unknown;
}

interface Call extends ReceivedRequest {
  /** Starts at 1. */
  readonly nth: number;
  readonly response: ServerResponse;
  /** Cuts the connection. */
  readonly lose: () => void;
}

export interface FakeIngress extends AsyncDisposable {
  readonly base: string;
  /** All calls, in order. */
  readonly requests: readonly ReceivedRequest[];
  /** How often its health was requested. */
  probes: number;
  /** True: it answers probes. False: it cuts the connection. */
  up: boolean;
}

/** An ingress that answers each call with `answer`; by default never. */
export async function fakeIngress(answer: (call: Call) => void | Promise<void> = () => undefined): Promise<FakeIngress> {
  const requests: ReceivedRequest[] = [];
  const server = createServer((request, response) => {
    void (async () => {
      const path = request.url ?? "";
      const lose = (): void => void request.socket.destroy();
      if (path === "/restate/health") {
        fake.probes += 1;
        if (fake.up) response.end("{}");
        else lose();
        return;
      }
      const key = request.headers["idempotency-key"];
      const input: unknown = JSON.parse(await text(request));
      const call = { path, key: typeof key === "string" ? key : undefined, input };
      requests.push(call);
      await answer({ ...call, nth: requests.length, response, lose });
    })();
  });
  const loopback = await onLoopback(server);
  const fake: FakeIngress = {
    base: loopback.url,
    requests,
    probes: 0,
    up: true,
    [Symbol.asyncDispose]: () => loopback[Symbol.asyncDispose](),
  };
  return fake;
}

/** Every pause between attempts is a multiple of it. */
const STEP_MS = 50;

/** The result, while time passes only when a further attempt is pending, in addition to the timer of the running one. */
export async function patiently<T>(clock: SimulatedClock, asking: Promise<T>): Promise<PromiseSettledResult<T>> {
  const over = new AbortController();
  const settled = Promise.allSettled([asking]).then(([result]) => {
    over.abort();
    return result;
  });
  while (!over.signal.aborted) {
    await until("a pause, or the end", () => over.signal.aborted || clock.pending > 1);
    if (!over.signal.aborted) await clock.advance(STEP_MS);
  }
  return settled;
}
