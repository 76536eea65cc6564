import { request } from "node:http";
import { EngineError, type Clock } from "../contract/index.ts";
import type { Handler } from "./durable-context.ts";
import { isObject } from "./is-object.ts";

/** One call of one handler of one virtual object, or of a service. */
export interface Invocation extends Handler {
  /** JSON. */
  readonly input: unknown;
  /** The server runs a call once for each key, and answers later ones with the first one's outcome, while its retention lasts. */
  readonly idempotencyKey?: string;
}

const MAX_ANSWER_BYTES = 64 * 1_048_576;

const pathOf = ({ object, key, handler }: Handler): string =>
  key === undefined ? `/${object}/${handler}` : `/${object}/${encodeURIComponent(key)}/${handler}`;

/** Calls a handler through Restate's HTTP ingress at `base`. Throws `OUTCOME_UNKNOWN` where it cannot be known what became of it. */
export const invoke = (base: string, invocation: Invocation, signal?: AbortSignal): Promise<unknown> =>
  post(new URL(pathOf(invocation), base), invocation, signal);

/** Settles when the server has durably taken the call, with the invocation's name: the one of that idempotency key, where there is one. */
async function begin(base: string, invocation: Invocation, afterMs = 0, signal?: AbortSignal): Promise<string> {
  const url = new URL(`${pathOf(invocation)}/send`, base);
  if (afterMs > 0) url.searchParams.set("delay", `${Math.ceil(afterMs)}ms`);
  const answer = await post(url, invocation, signal);
  if (isObject(answer) && typeof answer["invocationId"] === "string") return answer["invocationId"];
  throw unanswered(undefined);
}

export interface IngressOptions {
  readonly base: string;
  /** By which the server is tried again. */
  readonly clock: Clock;
  /** For how long. */
  readonly patienceMs: number;
}

/** Longer than this no call is sent again: the server must remember each one's key for longer, and of every call. */
export const MOST_PATIENCE_MS = 60_000;
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1_000;
/** Without an answer for this long, the server is asked whether it is up. */
const ATTEMPT_MS = 15_000;
const PROBE_MS = 3_000;

/** Calls handlers, again while the server is away: only those that may be called twice, by their idempotency key or by what they do. */
export class Ingress {
  readonly #options: IngressOptions;

  constructor(options: IngressOptions) {
    this.#options = { ...options, patienceMs: Math.min(options.patienceMs, MOST_PATIENCE_MS) };
  }

  invoke(invocation: Invocation): Promise<unknown> {
    return this.#again((signal) => invoke(this.#options.base, invocation, signal));
  }

  begin(invocation: Invocation, afterMs?: number): Promise<string> {
    return this.#again((signal) => begin(this.#options.base, invocation, afterMs, signal));
  }

  /** What the server does may take long, so patience counts from when it does not answer at all. */
  async #again<T>(send: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const { clock, patienceMs } = this.#options;
    let givesUpAt: number | undefined;
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
      const attempt = new AbortController();
      const undo = clock.after(ATTEMPT_MS, () => attempt.abort());
      try {
        return await send(attempt.signal);
      } catch (error) {
        const silent = attempt.signal.aborted;
        // It is asked anew for the same invocation: one that hangs, or a network that was cut, says nothing by itself.
        if (silent && (await this.#isUp())) {
          givesUpAt = undefined;
          pauseMs = FIRST_PAUSE_MS;
          continue;
        }
        const unknown = silent || (error instanceof EngineError && error.code === "OUTCOME_UNKNOWN");
        givesUpAt ??= clock.now() + patienceMs;
        if (!unknown) throw error;
        if (clock.now() + pauseMs > givesUpAt) throw silent ? unanswered(error) : error;
      } finally {
        undo();
      }
      await new Promise<void>((resolve) => clock.after(pauseMs, resolve));
    }
  }

  async #isUp(): Promise<boolean> {
    try {
      return (await fetch(new URL("/restate/health", this.#options.base), { signal: AbortSignal.timeout(PROBE_MS) })).ok;
    } catch {
      return false;
    }
  }
}

function post(url: URL, { input, idempotencyKey }: Invocation, signal: AbortSignal | undefined): Promise<unknown> {
  const body = JSON.stringify(input);
  return new Promise((resolve, reject) => {
    const outgoing = request(
      url,
      {
        method: "POST",
        headers: {
          "content-type": "application/json",
          "content-length": Buffer.byteLength(body),
          ...(idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey }),
        },
        ...(signal && { signal }),
      },
      (response) => {
        const chunks: Buffer[] = [];
        let size = 0;
        response.on("data", (chunk: Buffer) => {
          size += chunk.length;
          if (size > MAX_ANSWER_BYTES) response.destroy(new Error(`The answer is longer than ${MAX_ANSWER_BYTES} bytes.`));
          else chunks.push(chunk);
        });
        response.on("error", (error) => reject(signal?.aborted ? left(error) : unanswered(error)));
        response.on("end", () => {
          const text = Buffer.concat(chunks).toString("utf8");
          const status = response.statusCode ?? 0;
          try {
            if (status === 200 || status === 202) resolve(text === "" ? undefined : JSON.parse(text));
            else reject(refused(status, text));
          } catch (error) {
            reject(unanswered(error));
          }
        });
      },
    );
    outgoing.on("error", (error) => reject(signal?.aborted ? left(error) : unanswered(error)));
    outgoing.end(body);
  });
}

const unanswered = (cause: unknown): EngineError =>
  new EngineError(
    "OUTCOME_UNKNOWN",
    "The Restate server went away during the call: call again with the same key to learn what became of it.",
    {
      applied: "unknown",
      cause,
    },
  );

const left = (cause: unknown): EngineError =>
  new EngineError("CANCELLED", "The caller left while the Restate server had the call: it may yet be applied.", {
    applied: "unknown",
    cause,
  });

function refused(status: number, text: string): EngineError {
  const said = text.slice(0, 500);
  if (status === 409) return new EngineError("CANCELLED", "The invocation was cancelled before it was applied.");
  if (status === 404)
    return new EngineError("ENGINE_MISSING", `The Restate server knows no such handler: register the deployment first. It said: ${said}`);
  if (status >= 400 && status < 500 && status !== 408 && status !== 429)
    return new EngineError("NOT_APPLIED", `The Restate server does not take this call (${status}): ${said}`);
  // Not told apart further: a handler's own outcome always arrives with status 200.
  return new EngineError("OUTCOME_UNKNOWN", `The Restate server answered ${status}: ${said}`, { applied: "unknown" });
}
