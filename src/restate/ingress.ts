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
async function begin(base: string, invocation: Invocation, afterMs = 0): Promise<string> {
  const url = new URL(`${pathOf(invocation)}/send`, base);
  if (afterMs > 0) url.searchParams.set("delay", `${Math.ceil(afterMs)}ms`);
  const answer = await post(url, invocation, undefined);
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

/** Calls handlers, again while the server is away: only those that may be called twice, by their idempotency key or by what they do. */
export class Ingress {
  readonly #options: IngressOptions;

  constructor(options: IngressOptions) {
    this.#options = { ...options, patienceMs: Math.min(options.patienceMs, MOST_PATIENCE_MS) };
  }

  invoke(invocation: Invocation): Promise<unknown> {
    return this.#again(() => invoke(this.#options.base, invocation));
  }

  begin(invocation: Invocation, afterMs?: number): Promise<string> {
    return this.#again(() => begin(this.#options.base, invocation, afterMs));
  }

  async #again<T>(send: () => Promise<T>): Promise<T> {
    const { clock, patienceMs } = this.#options;
    let givesUpAt: number | undefined;
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
      try {
        return await send();
      } catch (error) {
        const unknown = error instanceof EngineError && error.code === "OUTCOME_UNKNOWN";
        // From when the server first did not answer: what it does may take long.
        givesUpAt ??= clock.now() + patienceMs;
        if (!unknown || clock.now() + pauseMs > givesUpAt) throw error;
      }
      await new Promise<void>((resolve) => clock.after(pauseMs, resolve));
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
  // Not told apart further: a handler's own outcome always arrives with status 200.
  return new EngineError("OUTCOME_UNKNOWN", `The Restate server answered ${status}: ${said}`, { applied: "unknown" });
}
