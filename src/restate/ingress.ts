import { request } from "node:http";
import { EngineError } from "../contract/index.ts";

/** One call of one handler of one virtual object. */
export interface Invocation {
  readonly object: string;
  readonly key: string;
  readonly handler: string;
  /** JSON. */
  readonly input: unknown;
  /** The server runs a call once for each key, and answers later ones with the first one's outcome, while its retention lasts. */
  readonly idempotencyKey?: string;
}

const MAX_ANSWER_BYTES = 64 * 1_048_576;

/** Calls a handler through Restate's HTTP ingress at `base`. Throws `OUTCOME_UNKNOWN` where it cannot be known what became of it. */
export function invoke(base: string, { object, key, handler, input, idempotencyKey }: Invocation, signal?: AbortSignal): Promise<unknown> {
  const url = new URL(`/${object}/${encodeURIComponent(key)}/${handler}`, base);
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
            if (status === 200) resolve(text === "" ? undefined : JSON.parse(text));
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
  if (status === 404)
    return new EngineError("ENGINE_MISSING", `The Restate server knows no such handler: register the deployment first. It said: ${said}`);
  // Not told apart further: a handler's own outcome always arrives with status 200.
  return new EngineError("OUTCOME_UNKNOWN", `The Restate server answered ${status}: ${said}`, { applied: "unknown" });
}
